/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Bytes of a connection: heads and bodies, written from the sender's buffer
 * and read into the receiver's where one is known.
 *
 * The kernel copies what is sent. MSG_ZEROCOPY was measured between pods (veth,
 * 1 MiB a send): the kernel copies all the same, each notification says so,
 * and the rate falls by a third.
 *
 * Each call that sends costs a packet's way through both systems, which is ten
 * times what the copy of a short message costs. A rank that waits for nobody
 * (the root of broadcasts in a row) is ahead of its peers anyway: what it
 * sends then is left to the system to join while an earlier packet is not
 * acknowledged (Nagle's rule), and such messages say so, that their receiver
 * acknowledges what it reads at once. The rank lets go as soon as it awaits a
 * message itself: somebody may wait for what it has sent.
 *
 * For two short messages that are read at once the system sends an ACK, which
 * takes as long as a message does. Of ranks that speak by turns, one that is
 * late finds two, and others wait for it: so it reads one, if that is what it
 * waits for, and what it then sends acknowledges both. */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/xport/tcp_impl.h"

/* What is copied once more is no longer than that: short messages follow short
 * ones, and many of them are worth one look at the socket. */
#define BEHIND ((size_t)16 << 10)
#define BEHIND_LONG ((size_t)4 << 10)
#define LONG ((size_t)8 << 10) /* a message that is read to where it belongs */
/* A body that is cheaper copied than told of, and one that may be joined. */
#define COPIED ((size_t)4 << 10)
#define JOINED ((size_t)1 << 10)
#define READS_IN_A_ROW 16 /* then other connections have their turn */
/* One call hands the kernel no more than goes in one packet before it is cut
 * into segments (64 KiB with its heads), or, of what is long, in three. A
 * little more makes a full packet and a short one behind it, and all of a
 * megabyte fills the other end's window: between pods (veth) both took two to
 * ten times as long. */
#define WRITE_MOST ((size_t)62 << 10)
#define WRITE_LONG (3 * WRITE_MOST)

/* So many short messages to a peer, and none awaited: this rank is ahead. */
#define AHEAD 8u
#define AHEAD_TOLD 4u /* from then on ACKs are asked for */

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

static void set_joins(struct hb_tcp_conn *c, int joins)
{
    int is_quick = !joins; /* set, it also sends what is held */

    if (setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &is_quick,
                   sizeof is_quick) == 0 || !joins) {
        c->tcp->n_joining += (unsigned)joins - (unsigned)c->joins;
        c->joins = joins;
    }
}

void hb_tcp_part(struct hb_tcp *t)
{
    t->waits++;
    for (uint32_t i = 0; t->n_joining > 0 && i < t->x->job.size; i++) {
        if (t->out[i] != NULL && t->out[i]->joins) {
            set_joins(t->out[i], 0);
        }
    }
}

void hb_tcp_answer(struct hb_tcp_conn *c)
{
    if (c->answers) {
        c->answers = 0;
        (void)setsockopt(c->fd, IPPROTO_TCP, TCP_QUICKACK, &(int){1},
                         sizeof(int));
    }
}

/* Before the first byte of an item. */
static void join_or_part(struct hb_tcp_conn *c, struct hb_tcp_item *i)
{
    int is_short = i->head.kind == HB_TCP_MESSAGE && i->size <= JOINED &&
                   c->pair == NULL;

    c->answers = 1;
    c->spoke |= i->head.kind == HB_TCP_MESSAGE;
    if (c->waits != c->tcp->waits) {
        c->waits = c->tcp->waits;
        c->n_ahead = 0;
    }
    if (is_short && ++c->n_ahead >= AHEAD_TOLD) {
        i->head.take = 1;
    }
    if (c->joins != (is_short && c->n_ahead >= AHEAD)) {
        set_joins(c, !c->joins);
    }
}

/* Short messages are sent and received by the system call itself: send() and
 * recv() end a thread that is cancelled, here with a lock in its hands, and to
 * be ready for that they take a tenth of the time that a short message has on
 * this side of the kernel. */
static ssize_t send_now(const struct hb_tcp_conn *c, const void *bytes,
                        size_t n)
{
    int flags = MSG_NOSIGNAL | MSG_DONTWAIT;

    return c->tcp->direct ? syscall(SYS_sendto, c->fd, bytes, n, flags, NULL, 0)
                          : send(c->fd, bytes, n, flags);
}

static ssize_t recv_now(const struct hb_tcp_conn *c, void *bytes, size_t n)
{
    int flags = MSG_DONTWAIT;

    return c->tcp->direct
               ? syscall(SYS_recvfrom, c->fd, bytes, n, flags, NULL, NULL)
               : recv(c->fd, bytes, n, flags);
}

static ssize_t write_joined(struct hb_tcp_conn *c, const struct hb_tcp_item *i)
{
    char both[sizeof i->head + COPIED];

    memcpy(both, &i->head, sizeof i->head);
    if (i->size > 0) {
        memcpy(both + sizeof i->head, i->data, i->size);
    }
    return send_now(c, both, sizeof i->head + i->size);
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
        size_t left = i->size - sent;
        size_t room = (left > WRITE_LONG ? WRITE_LONG : WRITE_MOST) - in_head;

        v[m.msg_iovlen++] = (struct iovec){
            (void *)(uintptr_t)(i->data + sent), left < room ? left : room};
    }
    return sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void item_written(struct hb_tcp_conn *c)
{
    struct hb_tcp_item *i = c->first;
    struct hb_xport_req *req = i->req;

    c->first = i->next;
    if (c->first == NULL) {
        c->end = &c->first;
    }
    c->tcp->n_unwritten--;
    if (c->pair == NULL || !hb_pair_keep(c->pair, i)) {
        free(i);
    }
    if (req != NULL) {
        hb_req_finish(req, 0);
    }
}

int hb_tcp_write(struct hb_tcp_conn *c)
{
    int moved = 0;

    if (c->state != HB_TCP_READY || c->broken != 0) {
        return 0; /* who connects waits for other events */
    }
    if (c->by == HB_BY_UCX) {
        return hb_ucx_write(c);
    }
    while (c->first != NULL) {
        struct hb_tcp_item *i = c->first;
        ssize_t n;

        if (c->pair != NULL && !hb_pair_may(c, i)) {
            break;
        }
        if (i->done == 0) {
            join_or_part(c, i);
        }
        n = i->done == 0 && i->size <= COPIED ? write_joined(c, i)
                                              : write_item(c, i);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            hb_tcp_arm(c, EPOLLIN | EPOLLOUT);
            return moved;
        }
        if (n < 0) {
            c->broken = errno;
            c->tcp->n_broken++;
            return moved;
        }
        moved = 1;
        i->done += (size_t)n;
        if (i->done == sizeof i->head + i->size) {
            item_written(c);
        }
    }
    hb_tcp_arm(c, EPOLLIN);
    return moved + (c->pair != NULL ? hb_cut_spread(c->pair) : 0);
}

/* The item of a send, if its bytes have begun to leave or are about to. */
static struct hb_tcp_item *item_of(struct hb_tcp *t,
                                   const struct hb_xport_req *req)
{
    struct hb_tcp_conn *c = t->out[req->peer];
    struct hb_tcp_item *i = c != NULL ? c->first : NULL;

    while (i != NULL && i->req != req) {
        i = i->next;
    }
    return i;
}

int hb_tcp_cancel(struct hb_tcp *t, struct hb_xport_req *req)
{
    struct hb_tcp_item *i;

    if (t->ucx != NULL) {
        hb_ucx_reclaim(t->ucx, req);
    }
    if (req->is_recv || req->done) {
        return req->done; /* else its bytes are on their way to nowhere */
    }
    req->copy = malloc(req->size + 1);
    if (req->copy == NULL) {
        hb_tcp_break(t, req);
        return 1;
    }
    if (req->size > 0) {
        memcpy(req->copy, req->data, req->size);
    }
    i = item_of(t, req);
    if (i != NULL) {
        i->data = req->copy;
    }
    if (t->pairs[req->peer] != NULL) {
        hb_cut_recopy(t->pairs[req->peer], req);
    }
    return 0;
}

/* Where the next bytes of a body go; what has no place is thrown away. */
static char *place_of(struct hb_inbound *in, size_t *room)
{
    static char nowhere[65536];
    struct hb_xport_req *r = in->cut != NULL ? hb_cut_req(in->cut) : in->req;

    *room = (size_t)(in->size - in->got);
    if (in->own != NULL) {
        return in->own + in->got;
    }
    if (r != NULL && r->buffer != NULL && in->at + in->got < r->size) {
        size_t fits = r->size - (size_t)(in->at + in->got);

        *room = *room < fits ? *room : fits;
        return r->buffer + in->at + in->got;
    }
    *room = *room < sizeof nowhere ? *room : sizeof nowhere;
    return nowhere;
}

static void body_got(struct hb_tcp_conn *c, size_t n)
{
    c->body->got += n;
    if (c->body->got == c->body->size) {
        hb_tcp_on_body(c);
    }
}

static size_t length_of(const struct hb_tcp_head *head)
{
    return head->kind == HB_TCP_MESSAGE && head->size <= COPIED
               ? sizeof *head + head->size : 0;
}

/* Whether to read no more than one message as long as the last. Not from a
 * connection that is about to end, or that is one of a pair's several. */
static int reads_one(const struct hb_tcp_conn *c)
{
    return c->spoke && c->last > 0 && c->body == NULL && c->got == 0 &&
           c->broken == 0 && c->pair == NULL;
}

/* One read may bring more than was asked for: further heads, and beginnings of
 * bodies. All of these bytes are consumed here. */
static int consume(struct hb_tcp_conn *c, const char *bytes, size_t len)
{
    while (len > 0) {
        size_t n, room;
        int rc;

        if (c->body != NULL) {
            char *to = place_of(c->body, &room);

            n = room < len ? room : len;
            memcpy(to, bytes, n);
            body_got(c, n);
        } else {
            room = sizeof c->head - c->got;
            n = room < len ? room : len;
            memcpy((char *)&c->head + c->got, bytes, n);
            c->got += n;
            if (c->got == sizeof c->head) {
                c->got = 0;
                c->last = length_of(&c->head);
                rc = hb_tcp_on_head(c);
                if (rc < 0) {
                    return rc;
                }
                if (c->body != NULL && c->body->size == 0) {
                    hb_tcp_on_body(c);
                }
            }
        }
        bytes += n;
        len -= n;
    }
    return 0;
}

/* One look at the socket takes short messages whole; the bytes of a longer one
 * go where they belong, and what comes behind them into `behind`. */
int hb_tcp_read(struct hb_tcp_conn *c)
{
    char behind[BEHIND];
    int moved = 0;

    for (int i = 0; i < READS_IN_A_ROW; i++) {
        struct iovec v[2];
        int parts = 0, rc;
        int one = i == 0 && reads_one(c);
        size_t room = 0, most = one                   ? c->last
                                : c->head.size > LONG ? BEHIND_LONG : BEHIND;
        ssize_t n;

        if (c->body != NULL) {
            char *to = place_of(c->body, &room);

            v[parts++] = (struct iovec){to, room};
        }
        v[parts++] = (struct iovec){behind, most};
        n = parts > 1 ? readv(c->fd, v, parts)
                      : recv_now(c, behind, most);
        if (n <= 0) {
            return n == 0 ? -ECONNRESET
                   : errno == EAGAIN || errno == EINTR ? moved : -errno;
        }
        moved = 1;
        c->spoke = c->met = 0;
        if (room > 0) {
            body_got(c, (size_t)n < room ? (size_t)n : room);
        }
        rc = (size_t)n > room ? consume(c, behind, (size_t)n - room) : 0;
        if (rc < 0) {
            return rc;
        }
        if ((size_t)n < room + most && c->body == NULL) {
            return 1; /* that was all */
        }
        if (one && c->met && c->body == NULL && c->got == 0) {
            return 1; /* more would be acknowledged at once */
        }
    }
    return moved;
}
