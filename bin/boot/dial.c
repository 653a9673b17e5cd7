/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Connecting to a host. Addresses are tried in the order of getaddrinfo, with
 * the families taking turns from the second on, so that a host whose IPv6 is
 * announced and dead costs a quarter of a second and not a deadline. Attempts
 * that were begun go on until one wins; there is no deadline of its own here:
 * the owner has one and destroys the dial when it passes. */
#include "config.h"

#include "bin/boot/dial.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

#define EXPLAINED 160u /* bytes of text after which addresses are counted */
#define STAGGER_MS 250 /* the delay RFC 8305 recommends */

struct attempt {
    struct hb_dial *dial;
    struct sockaddr_storage addr;
    socklen_t addr_len;
    int fd;
    int error; /* errno of the failure, 0: none yet */
    int begun;
    struct event *event;
};

struct hb_dial {
    struct event_base *base;
    struct hb_dial_events events;
    void *arg;
    int port;
    struct attempt attempts[HB_DIAL_ADDRS_MAX];
    size_t n, next;
    struct event *timer; /* begins the next attempt */
};

static void address_text(const struct attempt *a, char *text, size_t size)
{
    if (getnameinfo((const struct sockaddr *)&a->addr, a->addr_len, text,
                    (socklen_t)size, NULL, 0, NI_NUMERICHOST) != 0) {
        snprintf(text, size, "?");
    }
}

static void drop(struct attempt *a)
{
    if (a->event) {
        event_free(a->event);
        a->event = NULL;
    }
    hb_fd_close(&a->fd);
}

static void set_port(struct sockaddr_storage *addr, int port)
{
    if (addr->ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)addr)->sin6_port = htons((uint16_t)port);
    } else {
        ((struct sockaddr_in *)addr)->sin_port = htons((uint16_t)port);
    }
}

/* The first address from `list` on that has the wanted family (0: either of
 * the two) and has not been taken. */
static const struct addrinfo *pick(const struct addrinfo *list, int family,
                                   const struct addrinfo *const *taken,
                                   size_t n)
{
    for (; list; list = list->ai_next) {
        int known = list->ai_family == AF_INET || list->ai_family == AF_INET6;
        size_t i = 0;

        while (i < n && taken[i] != list) {
            i++;
        }
        if (known && i == n && (family == 0 || list->ai_family == family)) {
            return list;
        }
    }
    return NULL;
}

static void take_addresses(struct hb_dial *dial, const struct addrinfo *list)
{
    const struct addrinfo *taken[HB_DIAL_ADDRS_MAX], *last = NULL;

    while (dial->n < HB_DIAL_ADDRS_MAX) {
        int other = !last ? 0 : last->ai_family == AF_INET ? AF_INET6 : AF_INET;
        const struct addrinfo *ai = pick(list, other, taken, dial->n);
        struct attempt *a = &dial->attempts[dial->n];

        ai = ai ? ai : pick(list, 0, taken, dial->n);
        if (!ai) {
            break;
        }
        memcpy(&a->addr, ai->ai_addr, ai->ai_addrlen);
        a->addr_len = ai->ai_addrlen;
        set_port(&a->addr, dial->port);
        a->dial = dial;
        a->fd = -1;
        taken[dial->n++] = ai;
        last = ai;
    }
}

static void wait_ms(struct hb_dial *dial, int ms)
{
    struct timeval time = {ms / 1000, ms % 1000 * 1000};

    evtimer_add(dial->timer, &time);
}

int hb_dial_refused(const struct hb_dial *dial)
{
    int refused = 0;

    for (size_t i = 0; i < dial->n; i++) {
        refused |= dial->attempts[i].error == ECONNREFUSED;
    }
    return refused;
}

/* An attempt has ended without a connection: the next one need not wait. */
static void attempt_failed(struct attempt *a, int error)
{
    struct hb_dial *dial = a->dial;

    a->error = error;
    drop(a);
    if (dial->next < dial->n) {
        wait_ms(dial, 0);
        return;
    }
    for (size_t i = 0; i < dial->n; i++) {
        if (dial->attempts[i].error == 0) {
            return;
        }
    }
    dial->events.failed(dial->arg, hb_dial_refused(dial));
}

static void attempt_cb(evutil_socket_t fd, short what, void *arg)
{
    struct attempt *a = arg;
    struct hb_dial *dial = a->dial;
    char address[INET6_ADDRSTRLEN + 32];
    int error = 0, won;
    socklen_t len = sizeof error;

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) {
        error = errno;
    }
    if (error != 0) {
        attempt_failed(a, error);
        return;
    }
    address_text(a, address, sizeof address);
    won = a->fd;
    a->fd = -1;
    for (size_t i = 0; i < dial->n; i++) {
        drop(&dial->attempts[i]);
    }
    evtimer_del(dial->timer);
    dial->events.connected(dial->arg, won, address);
}

static void begin(struct attempt *a)
{
    struct hb_dial *dial = a->dial;
    int on = 1;

    a->begun = 1;
    a->fd = socket(a->addr.ss_family,
                   SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (a->fd < 0) {
        attempt_failed(a, errno);
        return;
    }
    setsockopt(a->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(a->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    if (connect(a->fd, (struct sockaddr *)&a->addr, a->addr_len) != 0
        && errno != EINPROGRESS && errno != EINTR) {
        attempt_failed(a, errno);
        return;
    }
    a->event = event_new(dial->base, a->fd, EV_WRITE, attempt_cb, a);
    if (!a->event || event_add(a->event, NULL) != 0) {
        attempt_failed(a, ENOMEM);
        return;
    }
    if (dial->next < dial->n) {
        wait_ms(dial, STAGGER_MS);
    }
}

static void timer_cb(evutil_socket_t fd, short what, void *arg)
{
    struct hb_dial *dial = arg;

    if (dial->next < dial->n) {
        begin(&dial->attempts[dial->next++]);
    }
}

int hb_dial_start(struct hb_dial **out, struct event_base *base,
                  const struct addrinfo *list, int port,
                  const struct hb_dial_events *events, void *arg,
                  struct hpcboot_error *err)
{
    struct hb_dial *dial = hb_xcalloc(1, sizeof *dial);

    dial->base = base;
    dial->events = *events;
    dial->arg = arg;
    dial->port = port;
    take_addresses(dial, list);
    dial->timer = evtimer_new(base, timer_cb, dial);
    if (dial->n == 0 || !dial->timer) {
        int none = dial->n == 0;

        hb_dial_destroy(dial);
        return none ? hb_fail(err, HPCBOOT_ERR_HOST, "it has no IP address")
                    : hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for an event");
    }
    wait_ms(dial, 0);
    *out = dial;
    return HPCBOOT_OK;
}

void hb_dial_again(struct hb_dial *dial, int port)
{
    dial->port = port;
    dial->next = 0;
    for (size_t i = 0; i < dial->n; i++) {
        struct attempt *a = &dial->attempts[i];

        drop(a);
        a->error = a->begun = 0;
        set_port(&a->addr, port);
    }
    wait_ms(dial, 0);
}

#define NO_DEVICE "a link-local address needs the device that leads " \
                  "there, as fe80::1%eth0"
/* "Cannot assign requested address", which sounds as if it were the other's. */
#define NO_PORT "this host has no port left to call from (of net.ipv4." \
                "ip_local_port_range), or no address of that family"

static int lacks_device(const struct attempt *a)
{
    const struct sockaddr_in6 *at = (const struct sockaddr_in6 *)&a->addr;

    return a->error == EINVAL && a->addr.ss_family == AF_INET6 &&
           IN6_IS_ADDR_LINKLOCAL(&at->sin6_addr) && at->sin6_scope_id == 0;
}

static const char *words_for(const struct attempt *a)
{
    return lacks_device(a)             ? NO_DEVICE
           : a->error == EADDRNOTAVAIL ? NO_PORT
                                       : strerror(a->error);
}

static void explain_one(const struct hb_dial *dial, const struct attempt *a,
                        struct hb_str *o)
{
    char address[INET6_ADDRSTRLEN + 32];

    address_text(a, address, sizeof address);
    if (a->error == ECONNREFUSED) {
        hb_str_putf(o, "%s refuses port %d", address, dial->port);
    } else if (a->error) {
        hb_str_putf(o, "%s port %d: %s", address, dial->port, words_for(a));
    } else {
        hb_str_putf(o, "%s port %d gives no answer", address, dial->port);
    }
}

void hb_dial_explain(const struct hb_dial *dial, struct hb_str *o)
{
    size_t first = o->len;
    unsigned more = 0;

    for (size_t i = 0; i < dial->n; i++) {
        if (!dial->attempts[i].begun) {
            continue;
        }
        if (o->len - first >= EXPLAINED) {
            more++;
            continue;
        }
        hb_str_put(o, o->len > first ? "; " : "");
        explain_one(dial, &dial->attempts[i], o);
    }
    if (more > 0) {
        hb_str_putf(o, "; and %u more address%s", more, more == 1 ? "" : "es");
    }
}

void hb_dial_destroy(struct hb_dial *dial)
{
    if (!dial) {
        return;
    }
    for (size_t i = 0; i < dial->n; i++) {
        drop(&dial->attempts[i]);
    }
    if (dial->timer) {
        event_free(dial->timer);
    }
    free(dial);
}
