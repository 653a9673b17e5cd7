/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Net devices: what they are from sysfs, their addresses from the kernel (of a
 * captured host from a file), and which of them the default route takes. A
 * speed that the driver does not know reads as -1 or EINVAL. */

#include "config.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/fabric/sysread.h"

#define CLASS "/sys/class/net"
#define SPEED_MAX 10000000 /* Mb/s; what is above is no speed */
#define FILE_MAX_BYTES (1u << 20)

static void find_lower(const char *root, const char *name,
                       struct hb_netdev *d)
{
    struct hb_strv entries = HB_STRV_INIT;

    hb_sys_list(&entries, root, CLASS "/%s", name);
    for (size_t i = 0; i < entries.n; i++) {
        if (hb_starts_with(entries.v[i], "lower_") && d->lower[0] == '\0') {
            hb_copy(d->lower, sizeof d->lower, entries.v[i] + 6);
        }
    }
    hb_strv_destroy(&entries);
}

static void read_netdev(const char *root, const char *name,
                        struct hb_netdev *d)
{
    char dir[PATH_MAX], oper[32];
    int64_t speed = hb_sys_number(0, root, CLASS "/%s/speed", name);
    uint64_t flags = (uint64_t)hb_sys_number(0, root, CLASS "/%s/flags", name);

    hb_copy(d->name, sizeof d->name, name);
    snprintf(dir, sizeof dir, CLASS "/%s/device", name);
    hb_sys_place(&d->at, root, dir);
    hb_sys_link(d->driver, sizeof d->driver, root, "%s/driver", dir);
    hb_sys_link(d->master, sizeof d->master, root, CLASS "/%s/master", name);
    d->index = (uint32_t)hb_sys_number(0, root, CLASS "/%s/ifindex", name);
    d->mtu = (uint32_t)hb_sys_number(0, root, CLASS "/%s/mtu", name);
    d->type = (uint32_t)hb_sys_number(0, root, CLASS "/%s/type", name);
    hb_sys_text(oper, sizeof oper, root, CLASS "/%s/operstate", name);
    d->up = (flags & IFF_UP) != 0 && strcmp(oper, "down") != 0 &&
            strcmp(oper, "lowerlayerdown") != 0;
    d->speed_mbps = speed > 0 && speed < SPEED_MAX ? (uint32_t)speed : 0;
    find_lower(root, name, d);
}

static struct hb_netdev *find(struct hb_fabric *f, const char *name)
{
    for (uint32_t i = 0; i < f->n_net; i++) {
        if (strcmp(f->net[i].name, name) == 0) {
            return &f->net[i];
        }
    }
    return NULL;
}

static void add(struct hb_netdev *d, const struct hb_netaddr *a)
{
    d->addrs = hb_xrealloc(d->addrs, (d->n_addrs + 1) * sizeof *d->addrs);
    d->addrs[d->n_addrs++] = *a;
}

static uint32_t bits(const uint8_t *mask, size_t n)
{
    uint32_t count = 0;

    for (size_t i = 0; i < n; i++) {
        for (unsigned b = mask[i]; b != 0; b &= b - 1) {
            count++;
        }
    }
    return count;
}

/* Where a socket address keeps its bytes; NULL: another family. */
static const uint8_t *bytes_of(const struct sockaddr *sa, uint32_t *family)
{
    if (sa != NULL && sa->sa_family == AF_INET) {
        *family = 4;
        return (const uint8_t *)&((const struct sockaddr_in *)(const void *)sa)
            ->sin_addr;
    }
    if (sa != NULL && sa->sa_family == AF_INET6) {
        *family = 6;
        return (const uint8_t *)&((const struct sockaddr_in6 *)(const void *)sa)
            ->sin6_addr;
    }
    return NULL;
}

static void ask_kernel(struct hb_fabric *f)
{
    struct ifaddrs *list = NULL;

    if (getifaddrs(&list) != 0) {
        return;
    }
    for (const struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        struct hb_netaddr a = {0};
        struct hb_netdev *d = find(f, i->ifa_name);
        uint32_t family;
        const uint8_t *raw = bytes_of(i->ifa_addr, &a.family);
        const uint8_t *mask = bytes_of(i->ifa_netmask, &family);
        size_t n = a.family == 4 ? 4 : 16;

        if (d != NULL && raw != NULL && mask != NULL) {
            memcpy(a.raw, raw, n);
            a.prefix = bits(mask, n);
            add(d, &a);
        }
    }
    freeifaddrs(list);
}

/* "eth0 10.0.0.1/24" */
static void take_line(struct hb_fabric *f, char *line)
{
    char *address = strchr(line, ' '), *slash;
    struct hb_netaddr a = {0};
    struct hb_netdev *d;
    uint64_t prefix;

    if (address == NULL || (slash = strchr(address, '/')) == NULL) {
        return;
    }
    *address++ = '\0';
    *slash++ = '\0';
    a.family = strchr(address, ':') != NULL ? 6 : 4;
    d = find(f, line);
    if (d != NULL && hb_parse_u64(slash, 0, 128, &prefix) >= 0 &&
        inet_pton(a.family == 6 ? AF_INET6 : AF_INET, address, a.raw) == 1) {
        a.prefix = (uint32_t)prefix;
        add(d, &a);
    }
}

/* Calls `take` for each line of a file. */
static void each_line(const char *root, const char *name, struct hb_fabric *f,
                      void (*take)(struct hb_fabric *f, char *line))
{
    char *path = hb_xasprintf("%s%s", root, name), *text = NULL;
    size_t len;

    if (hb_file_read(path, FILE_MAX_BYTES, &text, &len, NULL) >= 0) {
        for (char *line = text, *next; line != NULL; line = next) {
            next = strchr(line, '\n');
            if (next != NULL) {
                *next++ = '\0';
            }
            take(f, line);
        }
    }
    free(text);
    free(path);
}

static void read_addresses(const char *root, struct hb_fabric *out)
{
    if (root[0] == '\0') {
        ask_kernel(out);
    } else {
        each_line(root, "/etc/addresses", out, take_line);
    }
}

static void add_route(struct hb_fabric *f, const char *device, int is_default,
                      unsigned flags)
{
    struct hb_netdev *d = find(f, device);

    if (d != NULL) {
        d->is_default |= is_default != 0;
        d->has_gateway |= (flags & RTF_GATEWAY) != 0;
    }
}

/* Of /proc/net/route: device, destination, gateway, flags, the 8th the
 * mask. */
static void take_route(struct hb_fabric *f, char *line)
{
    char name[HB_FABRIC_NAME];
    unsigned long to, mask;
    unsigned flags;

    if (sscanf(line, "%39s %lx %*x %x %*d %*d %*d %lx", name, &to, &flags,
               &mask) == 4) {
        add_route(f, name, to == 0 && mask == 0, flags);
    }
}

/* Of /proc/net/ipv6_route: destination, prefix, ..., flags, device. The reject
 * route that stands for "none" is lo's. */
static void take_route6(struct hb_fabric *f, char *line)
{
    char to[33], name[HB_FABRIC_NAME];
    unsigned prefix, flags;

    if (sscanf(line, "%32s %x %*s %*x %*s %*x %*x %*x %x %39s", to, &prefix,
               &flags, name) == 4 && strcmp(name, "lo") != 0) {
        add_route(f, name, prefix == 0 && strspn(to, "0") == 32, flags);
    }
}

static int by_index(const void *va, const void *vb)
{
    const struct hb_netdev *a = va, *b = vb;

    return (a->index > b->index) - (a->index < b->index);
}

/* A sysfs that was mounted in another network namespace shows its devices. On
 * this host the kernel is asked which there are, and what sysfs would say of
 * those that it does not show. */
static void ask_names(struct hb_strv *names)
{
    struct if_nameindex *list = if_nameindex();

    for (struct if_nameindex *i = list; i != NULL && i->if_index != 0; i++) {
        hb_strv_push(names, i->if_name);
    }
    if_freenameindex(list);
}

static int is_shown(const char *root, const char *name)
{
    int64_t index = hb_sys_number(-1, root, CLASS "/%s/ifindex", name);

    return root[0] != '\0' ? index >= 0
                           : index == (int64_t)if_nametoindex(name);
}

static void ask_about(const char *name, struct hb_netdev *d)
{
    struct ifreq req = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    hb_copy(d->name, sizeof d->name, name);
    d->index = if_nametoindex(name);
    d->at.numa = -1;
    hb_copy(req.ifr_name, sizeof req.ifr_name, name);
    if (fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &req) == 0) {
        d->up = (req.ifr_flags & IFF_UP) != 0 &&
                (req.ifr_flags & IFF_RUNNING) != 0;
        d->type = req.ifr_flags & IFF_LOOPBACK ? ARPHRD_LOOPBACK
                                               : ARPHRD_ETHER;
    }
    if (fd >= 0 && ioctl(fd, SIOCGIFMTU, &req) == 0) {
        d->mtu = (uint32_t)req.ifr_mtu;
    }
    hb_fd_close(&fd);
}

void hb_sys_netdevs(const char *root, struct hb_fabric *out)
{
    struct hb_strv names = HB_STRV_INIT;

    if (root[0] == '\0') {
        ask_names(&names);
    } else {
        hb_sys_list(&names, root, CLASS);
    }
    out->net = hb_xcalloc(names.n + 1, sizeof *out->net);
    for (size_t i = 0; i < names.n; i++) {
        if (is_shown(root, names.v[i])) {
            read_netdev(root, names.v[i], &out->net[out->n_net++]);
        } else if (root[0] == '\0') {
            ask_about(names.v[i], &out->net[out->n_net++]);
        }
    }
    hb_strv_destroy(&names);
    qsort(out->net, out->n_net, sizeof *out->net, by_index);
    read_addresses(root, out);
    each_line(root, "/proc/net/route", out, take_route);
    each_line(root, "/proc/net/ipv6_route", out, take_route6);
}
