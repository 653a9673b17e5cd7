/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What a short message over TCP costs at either end: two sockets of this
 * thread, over the loopback device, one message after the other, to and fro.
 * Between pods of one machine a message goes a like way through the kernel, a
 * longer one (sched_choose.c); between hosts a device takes the place of the
 * other end's share.
 *
 * The middle of many samples counts: it is what calls of a program meet, and
 * it does not mind that others use the machine now and then. Nothing here can
 * wait for anybody: sockets do not block, and polls end at the deadline. */

#include "config.h"

#include "lib/coll/impl.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"

#define SAMPLES 96
#define WARM 16      /* first samples, of cold caches */
#define MESSAGE 64   /* a head, and some bytes */

struct pair {
    int end[2];
    int64_t deadline_ns;
    uint32_t send[SAMPLES], recv[SAMPLES];
};

static bool await(const struct pair *p, int fd, short events)
{
    struct pollfd f = {.fd = fd, .events = events};
    int64_t left = (p->deadline_ns - hb_now_ns()) / 1000000;
    return left >= 0 && poll(&f, 1, (int)left + 1) == 1 &&
           (f.revents & events) != 0;
}

static int socket_here(struct sockaddr_in *at)
{
    socklen_t len = sizeof *at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *at = (struct sockaddr_in){.sin_family = AF_INET,
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
    if (fd >= 0 && (bind(fd, (struct sockaddr *)at, len) < 0 ||
                    getsockname(fd, (struct sockaddr *)at, &len) < 0)) {
        hb_fd_close(&fd);
    }
    return fd;
}

/* Whether who has called is our own end: the port was open to others, too. */
static bool is(int fd, const struct sockaddr_in *peer)
{
    struct sockaddr_in at;
    socklen_t len = sizeof at;
    return fd >= 0 && getpeername(fd, (struct sockaddr *)&at, &len) == 0 &&
           at.sin_port == peer->sin_port &&
           at.sin_addr.s_addr == peer->sin_addr.s_addr;
}

static bool join(struct pair *p)
{
    struct sockaddr_in at, own;
    const int one = 1;
    int listener = socket_here(&at);
    p->end[0] = socket_here(&own);
    if (listener >= 0 && p->end[0] >= 0 && listen(listener, 1) == 0) {
        (void)connect(p->end[0], (struct sockaddr *)&at, sizeof at);
        if (await(p, listener, POLLIN) && await(p, p->end[0], POLLOUT)) {
            p->end[1] = accept4(listener, NULL, NULL,
                                SOCK_CLOEXEC | SOCK_NONBLOCK);
        }
    }
    hb_fd_close(&listener);
    for (int i = 0; i < 2 && p->end[i] >= 0; i++) {
        (void)setsockopt(p->end[i], IPPROTO_TCP, TCP_NODELAY, &one,
                         sizeof one);
    }
    return is(p->end[1], &own);
}

/* To and fro, so that each message carries the last one's acknowledgement. */
static int samples(struct pair *p)
{
    char bytes[MESSAGE] = {0};
    int n = 0;
    while (n < SAMPLES && hb_now_ns() < p->deadline_ns) {
        int from = p->end[n % 2], to = p->end[1 - n % 2];
        int64_t begun = hb_now_ns();
        if (send(from, bytes, MESSAGE, MSG_NOSIGNAL) != MESSAGE) {
            return 0;
        }
        int64_t sent = hb_now_ns();
        if (!await(p, to, POLLIN)) {
            return 0;
        }
        int64_t came = hb_now_ns();
        if (recv(to, bytes, MESSAGE, 0) != MESSAGE) {
            return 0;
        }
        p->send[n] = (uint32_t)(sent - begun);
        p->recv[n++] = (uint32_t)(hb_now_ns() - came);
    }
    return n;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static uint32_t middle(uint32_t *ns, int n)
{
    qsort(ns, (size_t)n, sizeof *ns, compare);
    return ns[n / 2] > 0 ? ns[n / 2] : 1;
}

int hb_net_probe(struct hb_coll_model *m, struct hpcboot_error *err)
{
    struct pair p = {.end = {-1, -1}};
    p.deadline_ns = hb_now_ns() + (int64_t)HB_NET_PROBE_MS * 1000000;
    int n = join(&p) ? samples(&p) : 0;
    if (n > 2 * WARM) {
        m->send_ns = middle(p.send + WARM, n - WARM);
        m->recv_ns = middle(p.recv + WARM, n - WARM);
    }
    hb_fd_close(&p.end[0]);
    hb_fd_close(&p.end[1]);
    return n > 2 * WARM
               ? HPCBOOT_OK
               : hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                         "messages over 127.0.0.1 cannot be measured: there "
                         "is no loopback device, or it is too slow");
}
