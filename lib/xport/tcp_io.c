/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Bytes of a connection: heads and bodies, written from the sender's buffer
 * and read into the receiver's where one is known. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/xport/tcp_impl.h"

#define READS_IN_A_ROW 16 /* then other connections have their turn */

void hb_tcp_arm(struct hb_tcp_conn *c, uint32_t events)
{
    struct epoll_event e = {.events = events, .data = {.ptr = c}};

    if (c->armed != events) {
        epoll_ctl(c->tcp->epoll_fd, c->armed ? EPOLL_CTL_MOD : EPOLL_CTL_ADD,
                  c->fd, &e);
        c->armed = events;
    }
}

void hb_tcp_queue(struct hb_tcp_conn *c, const struct hb_tcp_head *head,
                  const char *data, size_t size, struct hb_xport_req *req)
{
    struct hb_tcp_item *i = hb_xcalloc(1, sizeof *i);

    i->head = *head;
    i->data = data;
    i->size = size;
    i->req = req;
    *c->end = i;
    c->end = &i->next;
    c->tcp->n_unwritten++;
}

static ssize_t write_item(struct hb_tcp_conn *c, struct hb_tcp_item *i)
{
    struct iovec v[2];
    struct msghdr m = {.msg_iov = v};
    size_t in_head = i->done < sizeof i->head ? sizeof i->head - i->done : 0;
    size_t sent = i->done > sizeof i->head ? i->done - sizeof i->head : 0;

    if (in_head > 0) {
        v[m.msg_iovlen++] = (struct iovec){(char *)&i->head + i->done,
                                           in_head};
    }
    if (i->size > sent) {
        v[m.msg_iovlen++] = (struct iovec){
            (void *)(uintptr_t)(i->data + sent), i->size - sent};
    }
    return sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void item_written(struct hb_tcp_conn *c)
{
    struct hb_tcp_item *i = c->first;

    c->first = i->next;
    if (c->first == NULL) {
        c->end = &c->first;
    }
    c->tcp->n_unwritten--;
    if (i->req != NULL) {
        hb_req_finish(i->req, 0);
    }
    free(i);
}

int hb_tcp_write(struct hb_tcp_conn *c)
{
    int moved = 0;

    if (c->state != HB_TCP_READY) { /* who connects waits for other events */
        return 0;
    }
    if (c->by == HB_BY_UCX) {
        return hb_ucx_write(c);
    }
    while (c->first != NULL) {
        struct hb_tcp_item *i = c->first;
        ssize_t n = write_item(c, i);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            hb_tcp_arm(c, EPOLLIN | EPOLLOUT);
            return moved;
        }
        if (n < 0) {
            return -errno;
        }
        moved = 1;
        i->done += (size_t)n;
        if (i->done == sizeof i->head + i->size) {
            item_written(c);
        }
    }
    hb_tcp_arm(c, EPOLLIN);
    return moved;
}

/* Where the next bytes of a body go; what has no place is thrown away. */
static char *place_of(struct hb_inbound *in, size_t *room)
{
    static char nowhere[65536];
    struct hb_xport_req *r = in->req;

    *room = (size_t)(in->size - in->got);
    if (in->own != NULL) {
        return in->own + in->got;
    }
    if (r != NULL && r->buffer != NULL && in->got < r->size) {
        size_t fits = r->size - (size_t)in->got;

        *room = *room < fits ? *room : fits;
        return r->buffer + in->got;
    }
    *room = *room < sizeof nowhere ? *room : sizeof nowhere;
    return nowhere;
}

/* 1: the body is whole; 0: not yet; negative errno. */
static int read_body(struct hb_tcp_conn *c)
{
    struct hb_inbound *in = c->body;

    while (in->got < in->size) {
        size_t room;
        char *to = place_of(in, &room);
        ssize_t n = recv(c->fd, to, room, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n == 0 ? -ECONNRESET : errno == EAGAIN ? 0 : -errno;
        }
        in->got += (size_t)n;
    }
    return 1;
}

int hb_tcp_read(struct hb_tcp_conn *c)
{
    int moved = 0;

    for (int i = 0; i < READS_IN_A_ROW; i++) {
        int rc;

        if (c->body == NULL) {
            ssize_t n = recv(c->fd, (char *)&c->head + c->got,
                             sizeof c->head - c->got, MSG_DONTWAIT);

            if (n <= 0) {
                return n == 0 ? -ECONNRESET
                       : errno == EAGAIN || errno == EINTR ? moved : -errno;
            }
            moved = 1;
            c->got += (size_t)n;
            if (c->got < sizeof c->head) {
                continue;
            }
            c->got = 0;
            rc = hb_tcp_on_head(c);
            if (rc < 0) {
                return rc;
            }
        }
        if (c->body != NULL) {
            rc = read_body(c);
            if (rc <= 0) {
                return rc < 0 ? rc : moved;
            }
            hb_tcp_on_body(c);
            moved = 1;
        }
    }
    return moved;
}
