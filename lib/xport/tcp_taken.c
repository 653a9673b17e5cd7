/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Descriptors of the TCP carrier that the program, or a library of it, has
 * closed, as closefrom(3) does, and may have given to something else since: of
 * what is left, what is a TCP socket is closed. It says nothing of a peer or of
 * the way to it, so no cut is complained of; the peers hear that their
 * connections have ended. */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

#include "lib/base/fd.h"
#include "lib/xport/tcp_impl.h"

#define BY_WHOM "has been closed by the program or one of its libraries " \
                "after hpcboot_init"

int hb_tcp_is_taken(int error)
{
    return error == EBADF || error == ENOTSOCK;
}

void hb_tcp_tell_taken(struct hb_tcp_conn *c, struct hpcboot_error *why)
{
    const struct hb_xport_job *job = &c->tcp->x->job;

    hb_fail(why, HPCBOOT_ERR_SYSTEM, "descriptor %d, by which this rank talks "
            "to rank %u on %s, " BY_WHOM, c->fd, c->peer,
            job->host(job->ctx, c->peer));
    c->fd = -1;
}

static int is_tcp(int fd)
{
    struct tcp_info i;
    socklen_t len = sizeof i;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len) == 0;
}

void hb_tcp_close(const struct hb_tcp *t, int *fd)
{
    if (!t->taken || is_tcp(*fd)) {
        hb_fd_close(fd);
    }
    *fd = -1;
}

int hb_tcp_has_lost_its_port(const struct hb_tcp *t)
{
    return t->listen_fd >= 0 && !is_tcp(t->listen_fd);
}

static void give_up(struct hb_tcp *t, uint32_t peer)
{
    if (t->out[peer] == NULL) {
        t->out[peer] = hb_tcp_conn_new(t, -1, 1);
        t->out[peer]->peer = peer;
    }
    while (t->out[peer]->state != HB_TCP_DEAD) { /* else by the next call */
        struct hb_tcp_conn *c = t->out[peer];

        c->code = HPCBOOT_ERR_SYSTEM;
        snprintf(c->why, sizeof c->why, "descriptor %d, by which this rank "
                 "hears of messages, " BY_WHOM, t->epoll_fd);
        hb_tcp_give_up(c);
    }
}

void hb_tcp_without_events(struct hb_tcp *t)
{
    const struct hb_xport_job *job = &t->x->job;

    t->taken = 1;
    for (uint32_t i = 0; i < job->size; i++) {
        if (job->node_of[i] != job->node) {
            give_up(t, i);
        }
    }
    t->epoll_fd = -1;
}
