/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A rank does not know which of its host's addresses another host reaches, so
 * it names all of them, and the caller tries those of a subnet that both are
 * in first. A subnet may be a wrong one all the same: a filter lets logins
 * through and nothing else, or two hosts have a network of the same number and
 * no wire in between. Who calls there waits in vain; so that this is not so for
 * each peer in turn, such a subnet comes last once another one has led to the
 * same host. That two hosts may have the same address (bridges of container
 * engines) is settled by the secret: who answers must be who was meant. */
#include "config.h"

#include "lib/xport/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hpcboot/status.h"

#define FAMILY_4 4
#define FAMILY_6 6
#define CAPS 1 /* no address: what carries its messages */
#define NETWORK 2 /* no address: where the one before is */
#define COSTS 3 /* no address: what its messages cost */
#define BYTES_4 4u
#define BYTES_6 16u

static const void *bytes_of(const struct sockaddr_storage *a, size_t *len)
{
    if (a->ss_family == AF_INET6) {
        *len = BYTES_6;
        return &((const struct sockaddr_in6 *)a)->sin6_addr;
    }
    *len = BYTES_4;
    return &((const struct sockaddr_in *)a)->sin_addr;
}

socklen_t hb_sockaddr_len(const struct sockaddr_storage *a)
{
    return a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                    : sizeof(struct sockaddr_in);
}

/* How much of an address's name is its device's: "br0:1" is br0's. */
static int device_name(const char *name)
{
    return (int)strcspn(name, ":");
}

static int is_of(const struct ifaddrs *i, const char *device)
{
    size_t len = (size_t)device_name(i->ifa_name);

    return device == NULL || (strlen(device) == len &&
                              memcmp(device, i->ifa_name, len) == 0);
}

static int is_link_local(const struct sockaddr_storage *a)
{
    size_t len;
    const void *bytes = bytes_of(a, &len);

    return len == BYTES_6 && IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)
                                                   bytes);
}

static int is_usable(const struct ifaddrs *i, const char *device)
{
    if (i->ifa_addr == NULL || i->ifa_netmask == NULL ||
        !(i->ifa_flags & IFF_UP) || !is_of(i, device)) {
        return 0;
    }
    return i->ifa_addr->sa_family == AF_INET ||
           i->ifa_addr->sa_family == AF_INET6;
}

static int is_bridge(const char *name)
{
    char path[sizeof "/sys/class/net//bridge" + IF_NAMESIZE];

    snprintf(path, sizeof path, "/sys/class/net/%.*s/bridge",
             device_name(name), name);
    return access(path, F_OK) == 0;
}

/* In the order in which they are named. A container engine makes a bridge for
 * each of its networks, which mostly leads to no other host: where there is no
 * room for all, those wait for the others. What is link-local means nothing
 * without the device of whoever calls, and counts where nothing else is
 * there. */
enum kind { OTHER, BRIDGE, LINK_LOCAL, LOOPBACK, KINDS };

static enum kind kind_of(const struct ifaddrs *i, const char *device,
                         int is_full)
{
    if (!is_usable(i, device)) {
        return KINDS;
    }
    if ((i->ifa_flags & IFF_LOOPBACK) != 0) {
        return LOOPBACK;
    }
    if (is_link_local((const void *)i->ifa_addr)) {
        return LINK_LOCAL;
    }
    return is_full && is_bridge(i->ifa_name) ? BRIDGE : OTHER;
}

static uint8_t prefix_of(const struct sockaddr_storage *mask)
{
    size_t len;
    const unsigned char *bytes = bytes_of(mask, &len);
    uint8_t bits = 0;

    while (bits < 8 * len && (bytes[bits / 8] & 0x80u >> bits % 8) != 0) {
        bits++;
    }
    return bits;
}

/* The number of the device that has the next address, whose name is kept. */
static uint8_t device_of(const struct hb_interfaces *out,
                         char names[][IF_NAMESIZE], const char *name)
{
    uint8_t most = 0;

    snprintf(names[out->n], IF_NAMESIZE, "%.*s", device_name(name), name);
    for (unsigned i = 0; i < out->n; i++) {
        if (strcmp(names[i], names[out->n]) == 0) {
            return out->list[i].net.device;
        }
        most = out->list[i].net.device > most ? out->list[i].net.device : most;
    }
    return (uint8_t)(most + 1);
}

static void add(struct hb_interfaces *out, char names[][IF_NAMESIZE],
                const struct ifaddrs *i, enum kind kind)
{
    struct hb_interface *to = &out->list[out->n];
    size_t len = i->ifa_addr->sa_family == AF_INET6
                     ? sizeof(struct sockaddr_in6)
                     : sizeof(struct sockaddr_in);

    memset(to, 0, sizeof *to);
    memcpy(&to->at, i->ifa_addr, len);
    memcpy(&to->mask, i->ifa_netmask, len);
    to->mask.ss_family = to->at.ss_family;
    if (kind != LOOPBACK && kind != LINK_LOCAL) {
        to->net.prefix = prefix_of(&to->mask);
        to->net.device = device_of(out, names, i->ifa_name);
        to->net.mbps = hb_net_mbps("", i->ifa_name);
    }
    out->n++;
}

void hb_interfaces_read(const char *device, struct hb_interfaces *out)
{
    char names[HB_ADDRESS_MOST][IF_NAMESIZE];
    struct ifaddrs *all = NULL;
    unsigned n = 0;

    out->n = 0;
    if (getifaddrs(&all) < 0) {
        return;
    }
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        n += kind_of(i, device, 0) == OTHER;
    }
    for (int kind = OTHER; kind < KINDS; kind++) {
        for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
            if (out->n < HB_ADDRESS_MOST && (kind != LINK_LOCAL || n == 0) &&
                kind_of(i, device, n > HB_ADDRESS_MOST) == (enum kind)kind) {
                add(out, names, i, (enum kind)kind);
            }
        }
    }
    freeifaddrs(all);
}

int hb_interfaces_have(const struct hb_interfaces *ours,
                       const struct sockaddr_storage *at)
{
    for (unsigned i = 0; i < ours->n; i++) {
        if (hb_sockaddr_same(&ours->list[i].at, at)) {
            return 1;
        }
    }
    return 0;
}

void hb_endpoint_put(struct hb_buf *b, const struct hb_interfaces *ours,
                     uint16_t port, const unsigned char *token)
{
    hb_buf_put_u16(b, port);
    hb_buf_put_raw(b, token, HB_ADDRESS_TOKEN);
    for (unsigned i = 0; i < ours->n; i++) {
        size_t len;
        const void *bytes = bytes_of(&ours->list[i].at, &len);

        hb_buf_put_u8(b, len == BYTES_6 ? FAMILY_6 : FAMILY_4);
        hb_buf_put_raw(b, bytes, len);
        if (ours->list[i].net.device != 0) {
            hb_buf_put_u8(b, NETWORK);
            hb_buf_put_u8(b, ours->list[i].net.prefix);
            hb_buf_put_u8(b, ours->list[i].net.device);
            hb_buf_put_u32(b, ours->list[i].net.mbps);
        }
    }
}

void hb_endpoint_put_caps(struct hb_buf *b, const struct hb_caps *caps)
{
    hb_buf_put_u8(b, CAPS);
    hb_buf_put_u32(b, caps->may);
    hb_buf_put_u32(b, caps->ucx_kind);
    hb_buf_put_u32(b, caps->ucx_mbps);
    hb_buf_put_u32(b, caps->tcp_mbps);
    hb_buf_put_u32(b, caps->ucx_version);
}

void hb_endpoint_put_costs(struct hb_buf *b, const struct hb_costs *costs)
{
    hb_buf_put_u8(b, COSTS);
    hb_buf_put_u32(b, costs->send_ns);
    hb_buf_put_u32(b, costs->recv_ns);
    hb_buf_put_u32(b, costs->cpus);
    hb_buf_put_u64(b, costs->machine);
}

static void get_costs(struct hb_buf *b, struct hb_costs *costs)
{
    costs->send_ns = hb_buf_get_u32(b);
    costs->recv_ns = hb_buf_get_u32(b);
    costs->cpus = hb_buf_get_u32(b);
    costs->machine = hb_buf_get_u64(b);
}

static void get_caps(struct hb_buf *b, struct hb_caps *caps)
{
    caps->may = hb_buf_get_u32(b);
    caps->ucx_kind = hb_buf_get_u32(b);
    caps->ucx_mbps = hb_buf_get_u32(b);
    caps->tcp_mbps = hb_buf_get_u32(b);
    caps->ucx_version = hb_buf_get_u32(b);
}

/* Which of ours is in its subnet; ours->n: none. */
static unsigned near(const struct sockaddr_storage *a,
                     const struct hb_interfaces *ours)
{
    for (unsigned i = 0; i < ours->n; i++) {
        const struct hb_interface *o = &ours->list[i];
        const unsigned char *x, *y, *m;
        size_t len, same = 0;

        if (o->at.ss_family != a->ss_family) {
            continue;
        }
        x = bytes_of(a, &len);
        y = bytes_of(&o->at, &len);
        m = bytes_of(&o->mask, &len);
        while (same < len && ((x[same] ^ y[same]) & m[same]) == 0) {
            same++;
        }
        if (same == len) {
            return i;
        }
    }
    return ours->n;
}

static void set(struct sockaddr_storage *to, int family, const void *bytes,
                uint16_t port)
{
    memset(to, 0, sizeof *to);
    if (family == FAMILY_6) {
        struct sockaddr_in6 *a = (struct sockaddr_in6 *)to;

        a->sin6_family = AF_INET6;
        a->sin6_port = htons(port);
        memcpy(&a->sin6_addr, bytes, BYTES_6);
    } else {
        struct sockaddr_in *a = (struct sockaddr_in *)to;

        a->sin_family = AF_INET;
        a->sin_port = htons(port);
        memcpy(&a->sin_addr, bytes, BYTES_4);
    }
}

/* Loopback is near to everybody, and another host's is not ours. */
int hb_sockaddr_is_loopback(const struct sockaddr_storage *a)
{
    size_t len;
    const unsigned char *bytes = bytes_of(a, &len);

    return len == BYTES_4
               ? bytes[0] == IN_LOOPBACKNET
               : IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)bytes);
}

static int get_network(struct hb_buf *b, struct hb_endpoint *e)
{
    struct hb_network *net = &e->net[e->n - (e->n > 0)];

    net->prefix = hb_buf_get_u8(b);
    net->device = hb_buf_get_u8(b);
    net->mbps = hb_buf_get_u32(b);
    return e->n > 0 && net->device <= HB_ADDRESS_MOST;
}

static int get_address(struct hb_buf *b, int family, uint16_t port,
                       struct hb_endpoint *e)
{
    struct hb_bytes a =
        hb_buf_get_raw(b, family == FAMILY_6 ? BYTES_6 : BYTES_4);

    if (e->n == HB_ADDRESS_MOST || hb_buf_failed(b) ||
        (family != FAMILY_4 && family != FAMILY_6)) {
        return 0;
    }
    set(&e->at[e->n++], family, a.data, port);
    return 1;
}

/* As the card has it. */
static int get_card(struct hb_buf *b, struct hb_endpoint *out)
{
    uint16_t port = hb_buf_get_u16(b);
    struct hb_bytes token = hb_buf_get_raw(b, HB_ADDRESS_TOKEN);
    int ok = 1;

    memset(out, 0, sizeof *out);
    while (ok && !hb_buf_failed(b) && hb_buf_left(b) > 0) {
        int family = hb_buf_get_u8(b);

        if (family == CAPS) {
            get_caps(b, &out->caps);
        } else if (family == COSTS) {
            get_costs(b, &out->costs);
        } else {
            ok = family == NETWORK ? get_network(b, out)
                                   : get_address(b, family, port, out);
        }
    }
    if (!ok || hb_buf_failed(b) || out->n == 0) {
        return HPCBOOT_ERR_PROTOCOL;
    }
    memcpy(out->token, token.data, HB_ADDRESS_TOKEN);
    return 0;
}

/* How early an address is tried. */
static uint64_t merit(const struct hb_endpoint *e, unsigned i,
                      const struct hb_interfaces *ours)
{
    unsigned o = near(&e->at[i], ours);
    uint64_t kind = hb_sockaddr_is_loopback(&e->at[i]) ? 0
                    : o == ours->n ? 2
                    : ours->list[o].is_mute ? 1 : 3;

    return kind << 32 | (kind == 3 ? e->net[i].mbps : 0);
}

/* It is reached by the device on which we have such an address. */
static void set_scope(struct sockaddr_storage *a,
                      const struct hb_interfaces *ours)
{
    unsigned o = is_link_local(a) ? near(a, ours) : ours->n;

    if (o < ours->n) {
        ((struct sockaddr_in6 *)a)->sin6_scope_id =
            ((const struct sockaddr_in6 *)&ours->list[o].at)->sin6_scope_id;
    }
}

/* Equals stay in their order. */
static void sort(struct hb_endpoint *e, const struct hb_interfaces *ours)
{
    for (unsigned i = 1; i < e->n; i++) {
        for (unsigned j = i; j > 0 && merit(e, j, ours) >
                                          merit(e, j - 1, ours); j--) {
            struct sockaddr_storage at = e->at[j];
            struct hb_network net = e->net[j];

            e->at[j] = e->at[j - 1];
            e->net[j] = e->net[j - 1];
            e->at[j - 1] = at;
            e->net[j - 1] = net;
        }
    }
}

int hb_endpoint_get(struct hb_buf *b, const struct hb_interfaces *ours,
                    struct hb_endpoint *out)
{
    int rc = get_card(b, out);

    if (rc == 0 && ours != NULL) {
        sort(out, ours);
        for (unsigned i = 0; i < out->n; i++) {
            set_scope(&out->at[i], ours);
        }
    }
    return rc;
}

void hb_endpoint_answered(const struct hb_endpoint *e, unsigned at,
                          struct hb_interfaces *ours)
{
    for (unsigned i = 0; i <= at; i++) {
        unsigned o = near(&e->at[i], ours);

        if (o < ours->n) {
            ours->list[o].is_mute = i < at;
        }
    }
}

void hb_sockaddr_text(const struct sockaddr_storage *a, char *text,
                      size_t size)
{
    char host[INET6_ADDRSTRLEN] = "?";
    size_t len;
    const unsigned char *bytes = bytes_of(a, &len);
    int is_mapped = len == BYTES_6 &&
                    IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)bytes);

    inet_ntop(is_mapped ? AF_INET : a->ss_family,
              bytes + (is_mapped ? BYTES_6 - BYTES_4 : 0), host, sizeof host);
    if (is_mapped) {
        snprintf(text, size, "%s:%u", host,
                 ntohs(((const struct sockaddr_in6 *)a)->sin6_port));
    } else if (a->ss_family == AF_INET6) {
        snprintf(text, size, "[%s]:%u", host,
                 ntohs(((const struct sockaddr_in6 *)a)->sin6_port));
    } else {
        snprintf(text, size, "%s:%u", host,
                 ntohs(((const struct sockaddr_in *)a)->sin_port));
    }
}
