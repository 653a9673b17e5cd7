/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Ports that a framework is to listen at on this host, and the address under
 * which others reach it.
 *
 * A port is taken by binding a socket that never listens, which is closed when
 * the ranks are started. The wanted port comes first, then those that follow
 * it, then any. Between that and the moment when a rank listens, seconds later,
 * the port looks free to all, and two such sockets may even share it: so agents
 * claim a port among each other by a name in the same network namespace, until
 * the ranks have ended. Nothing stays of a name whose holder is gone.
 *
 * The address is the one that others of the job know already, where this host
 * has been there before and still has it; else the one that the launcher logged
 * in to; where there was no login, the one that packets to another host of the
 * job leave from. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "bin/hpcbootd/agent.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

/* Ports tried after the wanted one: as many ranks as a host may have. */
#define NEIGHBOURS 1024
#define ANY_TRIES 64 /* the kernel may offer what another job has claimed */
#define PORT_MASK 0xffffu

static uint32_t port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } a;
    socklen_t len = sizeof a;

    if (getsockname(fd, &a.any, &len) < 0) {
        return 0;
    }
    return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port
                                             : a.v4.sin_port);
}

static int bind_v6(int fd, uint16_t port)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6,
                             .sin6_port = htons(port)};
    int no = 0;

    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    return bind(fd, (const struct sockaddr *)&a, sizeof a);
}

static int bind_v4(int fd, uint16_t port)
{
    const struct sockaddr_in a = {.sin_family = AF_INET,
                                  .sin_port = htons(port)};

    return bind(fd, (const struct sockaddr *)&a, sizeof a);
}

/* A socket bound to the port in both families, or -1 and errno. */
static int take_port_of(int family, uint16_t port)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int yes = 1;

    if (fd < 0) {
        return -1;
    }
    /* What a job before left in TIME_WAIT is no listener. */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if ((family == AF_INET6 ? bind_v6(fd, port) : bind_v4(fd, port)) < 0) {
        int e = errno;

        hb_fd_close(&fd);
        errno = e;
    }
    return fd;
}

/* Where there is no IPv6 an error of that family says so. */
static int take_port(uint16_t port)
{
    int fd = take_port_of(AF_INET6, port);

    return fd < 0 && errno != EADDRINUSE ? take_port_of(AF_INET, port) : fd;
}

/* The name, or -1 and errno. */
static int claim(uint32_t port)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int n = snprintf(at.sun_path + 1, sizeof at.sun_path - 1,
                     "hpcbootd-port/%u", port);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && bind(fd, (const struct sockaddr *)&at,
                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                                    1 + (size_t)n)) < 0) {
        hb_fd_close(&fd); /* errno stays */
    }
    return fd;
}

static int is_held(const struct agent *a, uint32_t port)
{
    for (size_t i = 0; i < a->n_held; i++) {
        if (a->held[i].port == port) {
            return 1;
        }
    }
    return 0;
}

/* 0, or -1 and errno. 0 is any port. A claim that fails for another reason
 * than that somebody has it is done without. */
static int hold(struct agent *a, uint16_t wanted)
{
    struct held_port h = {.fd = take_port(wanted)};

    if (h.fd < 0) {
        return -1;
    }
    h.port = port_of(h.fd);
    h.claim = claim(h.port);
    if (is_held(a, h.port) || (h.claim < 0 && errno == EADDRINUSE)) {
        hb_fd_close(&h.fd);
        hb_fd_close(&h.claim);
        errno = EADDRINUSE;
        return -1;
    }
    a->held = hb_xrealloc(a->held, (a->n_held + 1) * sizeof *a->held);
    a->held[a->n_held++] = h;
    return 0;
}

/* The port, or an error. */
static int find_port(struct agent *a, uint32_t wanted,
                     struct hpcboot_error *err)
{
    uint32_t first = wanted & PORT_MASK;
    int rc = -1;

    if (wanted & HB_PORT_MUST) {
        rc = hold(a, (uint16_t)first);
        return rc == 0 ? (int)first
                       : hb_fail_errno(err, HPCBOOT_ERR_HOST, "cannot listen "
                                       "on port %u, which was asked for",
                                       first);
    }
    for (uint32_t p = first; first > 0 && rc < 0 && p <= PORT_MASK &&
         p < first + NEIGHBOURS; p++) {
        rc = hold(a, (uint16_t)p);
    }
    for (int i = 0; i < ANY_TRIES && rc < 0; i++) {
        rc = hold(a, 0);
    }
    return rc == 0 ? (int)a->held[a->n_held - 1].port
                   : hb_fail_errno(err, HPCBOOT_ERR_HOST, "there is no port "
                                   "to listen at");
}

void agent_ports_release(struct agent *a)
{
    for (size_t i = 0; i < a->n_held; i++) {
        hb_fd_close(&a->held[i].fd);
    }
}

void agent_ports_destroy(struct agent *a)
{
    agent_ports_release(a);
    for (size_t i = 0; i < a->n_held; i++) {
        hb_fd_close(&a->held[i].claim);
    }
    free(a->held);
    a->held = NULL;
    a->n_held = 0;
}

/* --- the address ------------------------------------------------------- */

/* "CLIENT PORT SERVER PORT", as sshd says it. */
static char *address_of_login(void)
{
    const char *text = getenv("SSH_CONNECTION");
    unsigned char bytes[sizeof(struct in6_addr)];
    char *address;

    for (int i = 0; text != NULL && i < 2; i++) {
        text = strchr(text, ' ');
        if (text != NULL) {
            text++;
        }
    }
    if (text == NULL) {
        return NULL;
    }
    address = hb_xstrndup(text, strcspn(text, " "));
    if ((inet_pton(AF_INET, address, bytes) != 1 &&
         inet_pton(AF_INET6, address, bytes) != 1) ||
        hb_is_loopback(address)) {
        free(address);
        return NULL;
    }
    return address;
}

static char *source_towards(const struct addrinfo *to)
{
    char text[NI_MAXHOST];
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    int fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char *address = NULL;

    if (fd >= 0 && connect(fd, to->ai_addr, to->ai_addrlen) == 0 &&
        getsockname(fd, (struct sockaddr *)&from, &len) == 0 &&
        getnameinfo((const struct sockaddr *)&from, len, text, sizeof text,
                    NULL, 0, NI_NUMERICHOST) == 0) {
        address = hb_xstrdup(text);
    }
    hb_fd_close(&fd);
    return address;
}

/* No packet is sent: a datagram socket only asks for the way. */
static char *address_towards(const char *host)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *list = NULL;
    char *address = NULL;

    if (getaddrinfo(host, "9", &hints, &list) != 0) {
        return NULL;
    }
    for (const struct addrinfo *i = list; i != NULL && address == NULL;
         i = i->ai_next) {
        address = source_towards(i);
    }
    freeaddrinfo(list);
    return address;
}

/* NULL: neither of IPv4 nor of IPv6. */
static const void *bytes_of(const struct sockaddr *sa, size_t *len)
{
    if (sa != NULL && sa->sa_family == AF_INET) {
        *len = sizeof(struct in_addr);
        return &((const struct sockaddr_in *)(const void *)sa)->sin_addr;
    }
    if (sa != NULL && sa->sa_family == AF_INET6) {
        *len = sizeof(struct in6_addr);
        return &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr;
    }
    return NULL;
}

static int is_among(const struct ifaddrs *all, const struct sockaddr *sought)
{
    size_t len = 0, n;
    const void *wanted = bytes_of(sought, &len);

    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        const void *bytes = bytes_of(i->ifa_addr, &n);

        if ((i->ifa_flags & IFF_UP) && bytes != NULL && wanted != NULL &&
            n == len && memcmp(bytes, wanted, n) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Binding a socket would not tell: with ip_nonlocal_bind, as hosts of
 * keepalived have it, that can be done to any address. */
static int has_address(const char *text)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM,
                                   .ai_flags = AI_NUMERICHOST};
    struct addrinfo *sought = NULL;
    struct ifaddrs *all = NULL;
    int yes;

    if (getaddrinfo(text, NULL, &hints, &sought) != 0) {
        return 0;
    }
    yes = getifaddrs(&all) == 0 && is_among(all, sought->ai_addr);
    freeifaddrs(all);
    freeaddrinfo(sought);
    return yes;
}

static int is_link_local(const void *bytes, size_t len)
{
    const unsigned char *b = bytes;

    return len == sizeof(struct in6_addr)
               ? IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)bytes)
               : b[0] == 169 && b[1] == 254;
}

/* The first that others may call: where only the launcher knows a way to them,
 * as a tunnel, or a name that it alone resolves. Bridges without anybody are
 * up, and do not run. */
static char *first_address(void)
{
    char text[NI_MAXHOST], *found = NULL;
    struct ifaddrs *all = NULL;
    size_t len;

    if (getifaddrs(&all) != 0) {
        return NULL;
    }
    for (const struct ifaddrs *i = all; i != NULL && found == NULL;
         i = i->ifa_next) {
        const void *bytes = bytes_of(i->ifa_addr, &len);

        if (bytes != NULL && (i->ifa_flags & IFF_UP) &&
            (i->ifa_flags & IFF_RUNNING) && !(i->ifa_flags & IFF_LOOPBACK) &&
            !is_link_local(bytes, len) &&
            inet_ntop(i->ifa_addr->sa_family, bytes, text, sizeof text)) {
            found = hb_xstrdup(text);
        }
    }
    freeifaddrs(all);
    return found;
}

static char *own_address(const char *towards, const char *known)
{
    char *address;

    if (*known != '\0' && has_address(known)) {
        return hb_xstrdup(known);
    }
    if (*towards == '\0') {
        return hb_xstrdup("127.0.0.1");
    }
    address = address_of_login();
    if (address == NULL) {
        address = address_towards(towards);
    }
    return address != NULL ? address : first_address();
}

int agent_ports(struct agent *a, const struct hb_frame *f,
                struct hpcboot_error *err)
{
    struct hpcboot_error why = {0};
    struct hb_msg_ports m;
    uint32_t *ports;
    char *address;
    int rc = hb_wire_get_ports(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    agent_ports_destroy(a); /* asked again: a host was lost meanwhile */
    ports = hb_xcalloc(m.wanted.n + 1, sizeof *ports);
    for (uint32_t i = 0; rc >= 0 && i < m.wanted.n; i++) {
        rc = find_port(a, hb_wire_u32s_at(&m.wanted, i), &why);
        ports[i] = rc < 0 ? 0 : (uint32_t)rc;
    }
    address = own_address(m.towards, m.known);
    if (address == NULL && rc >= 0) {
        rc = hb_fail(&why, HPCBOOT_ERR_HOST, "it has no address that leads to "
                     "%s, so that others of the job could reach it",
                     m.towards);
    }
    AGENT_SEND(a, ports_found, .ports = {.v = ports, .n = m.wanted.n},
               .address = address, .text = rc < 0 ? why.text : "");
    free(address);
    free(ports);
    return 0;
}
