/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Connections of the TCP carrier. A rank listens on one port; whoever has
 * something for it connects when the first message is due, shows the secret
 * that only the job knows and whom it means, and is acknowledged before any
 * message leaves: an address that belongs to somebody else is noticed, and
 * the next one tried.
 *
 * A connection that ends before the job does means a dead peer: what was to
 * go there, and receives that name it, fail. */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/xport/tcp_impl.h"

#define MAGIC 0x6870634254435031ull /* says the order of bytes too */
#define BACKLOG 1024

struct greeting {
    uint64_t magic;
    unsigned char token[HB_ADDRESS_TOKEN];
    uint32_t from, to;
};
_Static_assert(sizeof(struct greeting) == 32, "conn.hello holds one");

/* ---- listening ---- */

static int listen_on(int family, uint16_t *port_out)
{
    struct sockaddr_storage at = {.ss_family = (sa_family_t)family};
    socklen_t len = hb_sockaddr_len(&at);
    int off = 0;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return -1;
    }
    if (family == AF_INET6) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0) {
        hb_fd_close(&fd);
        return -1;
    }
    *port_out = ntohs(family == AF_INET6
                          ? ((struct sockaddr_in6 *)&at)->sin6_port
                          : ((struct sockaddr_in *)&at)->sin_port);
    return fd;
}

int hb_tcp_open(struct hb_tcp **out, struct hb_buf *address,
                struct hpcboot_error *err)
{
    struct hb_tcp *t = hb_xcalloc(1, sizeof *t);
    struct epoll_event e = {.events = EPOLLIN};
    uint16_t port = 0;

    t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    t->listen_fd = listen_on(AF_INET6, &port);
    if (t->listen_fd < 0) {
        t->listen_fd = listen_on(AF_INET, &port);
    }
    if (t->epoll_fd < 0 || t->listen_fd < 0 ||
        getrandom(t->token, sizeof t->token, 0) != sizeof t->token ||
        epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, t->listen_fd, &e) < 0) {
        hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "no TCP port for ranks of other "
                      "nodes");
        hb_tcp_destroy(t);
        return HPCBOOT_ERR_SYSTEM;
    }
    hb_interfaces_read(&t->ours);
    hb_endpoint_put(address, &t->ours, port, t->token);
    *out = t;
    return 0;
}

int hb_tcp_join(struct hb_tcp *t, struct hb_xport *x,
                struct hpcboot_error *err)
{
    t->x = x;
    t->out = hb_xcalloc(x->job.size, sizeof *t->out);
    return 0;
}

static void conn_free(struct hb_tcp_conn *c)
{
    while (c->first != NULL) {
        struct hb_tcp_item *i = c->first;

        c->first = i->next;
        if (i->req != NULL && i->req->orphan) {
            free(i->req->copy);
            free(i->req);
        }
        free(i);
    }
    if (c->body != NULL) {
        hb_match_forget(c->tcp->x, c->body);
        free(c->body->own);
        free(c->body);
    }
    hb_fd_close(&c->fd);
    free(c);
}

void hb_tcp_destroy(struct hb_tcp *t)
{
    if (t == NULL) {
        return;
    }
    for (uint32_t i = 0; t->out != NULL && i < t->x->job.size; i++) {
        if (t->out[i] != NULL) {
            conn_free(t->out[i]);
        }
    }
    while (t->in != NULL) {
        struct hb_tcp_conn *c = t->in;

        t->in = c->next;
        conn_free(c);
    }
    hb_fd_close(&t->listen_fd);
    hb_fd_close(&t->epoll_fd);
    free(t->out);
    free(t);
}

static struct hb_tcp_conn *conn_new(struct hb_tcp *t, int fd, int outgoing)
{
    struct hb_tcp_conn *c = hb_xcalloc(1, sizeof *c);

    c->tcp = t;
    c->fd = fd;
    c->outgoing = outgoing;
    c->end = &c->first;
    return c;
}

static void be_quick(int fd)
{
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void hb_tcp_accept(struct hb_tcp *t)
{
    int fd;

    while ((fd = accept4(t->listen_fd, NULL, NULL,
                         SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        struct hb_tcp_conn *c = conn_new(t, fd, 0);

        be_quick(fd);
        c->state = HB_TCP_GREETING;
        c->next = t->in;
        t->in = c;
        hb_tcp_arm(c, EPOLLIN);
    }
}

static void drop_incoming(struct hb_tcp_conn *c)
{
    struct hb_tcp_conn **at = &c->tcp->in;

    while (*at != c) {
        at = &(*at)->next;
    }
    *at = c->next;
    conn_free(c);
}

/* Who calls must know our secret, which the job's rendezvous told it. */
static int greeting_holds(const struct hb_tcp_conn *c)
{
    const struct hb_xport_job *job = &c->tcp->x->job;
    struct greeting g;

    memcpy(&g, c->hello, sizeof g);
    return g.magic == MAGIC && g.to == job->rank && g.from < job->size &&
           memcmp(g.token, c->tcp->token, sizeof g.token) == 0;
}

int hb_tcp_read_greeting(struct hb_tcp_conn *c)
{
    const uint64_t ack = MAGIC;
    struct greeting g;
    ssize_t n = recv(c->fd, c->hello + c->got, sizeof c->hello - c->got,
                     MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    c->got += n > 0 ? (size_t)n : 0;
    if (n > 0 && c->got < sizeof c->hello) {
        return 1;
    }
    if (n <= 0 || !greeting_holds(c) ||
        send(c->fd, &ack, sizeof ack, MSG_NOSIGNAL) != sizeof ack) {
        drop_incoming(c);
        return 1;
    }
    memcpy(&g, c->hello, sizeof g);
    c->got = 0;
    c->peer = g.from;
    c->state = HB_TCP_READY;
    return 1;
}

/* ---- connecting ---- */

/* Requests of a list that concern a dead peer. */
static void fail_list(struct hb_xport_req **at, uint32_t peer,
                      const struct hpcboot_error *why)
{
    while (*at != NULL) {
        struct hb_xport_req *r = *at;

        if (r->peer == (int)peer || (r->is_recv &&
                                     r->info.source == (int)peer)) {
            *at = r->next;
            r->err = *why;
            hb_req_finish(r, why->code);
        } else {
            at = &r->next;
        }
    }
}

static void fail_peer(struct hb_tcp *t, uint32_t peer,
                      const struct hpcboot_error *why)
{
    fail_list(&t->offers, peer, why);
    fail_list(&t->takes, peer, why);
    hb_match_lost(t->x, peer, why);
}

static void give_up(struct hb_tcp_conn *c)
{
    struct hpcboot_error why;
    struct hb_xport *x = c->tcp->x;

    hb_fail(&why, HPCBOOT_ERR_PEER_DEAD, "rank %u on %s cannot be reached: %s",
            c->peer, x->job.host(x->job.ctx, c->peer),
            c->why[0] != '\0' ? c->why : "the connection is lost");
    c->state = HB_TCP_DEAD;
    hb_fd_close(&c->fd);
    c->armed = 0;
    while (c->first != NULL) {
        struct hb_tcp_item *i = c->first;

        c->first = i->next;
        c->tcp->n_unwritten--;
        if (i->req != NULL) {
            i->req->err = why;
            hb_req_finish(i->req, why.code);
        }
        free(i);
    }
    c->end = &c->first;
    fail_peer(c->tcp, c->peer, &why);
}

static void start_connect(struct hb_tcp_conn *c)
{
    const struct sockaddr_storage *at = &c->endpoint.at[c->attempt];

    c->fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                   0);
    c->armed = 0;
    c->got = 0;
    c->state = HB_TCP_CONNECTING;
    c->since_ns = hb_now_ns();
    if (c->fd < 0 || (connect(c->fd, (const struct sockaddr *)at,
                              hb_sockaddr_len(at)) < 0 &&
                      errno != EINPROGRESS)) {
        hb_tcp_lost(c, errno);
        return;
    }
    be_quick(c->fd);
    hb_tcp_arm(c, EPOLLOUT);
}

static void try_next(struct hb_tcp_conn *c)
{
    hb_fd_close(&c->fd);
    c->armed = 0;
    if (++c->attempt < c->endpoint.n) {
        start_connect(c);
    } else {
        c->tcp->n_connecting--;
        give_up(c);
    }
}

/* An attempt that failed, or a connection that has ended. */
void hb_tcp_lost(struct hb_tcp_conn *c, int error)
{
    struct hb_xport *x = c->tcp->x;
    struct hpcboot_error why;
    char at[64];
    size_t len;

    if (c->outgoing && c->state != HB_TCP_READY) {
        hb_sockaddr_text(&c->endpoint.at[c->attempt], at, sizeof at);
        len = strlen(c->why);
        snprintf(c->why + len, sizeof c->why - len, "%s%s: %s",
                 len > 0 ? ", " : "", at,
                 error != 0 ? strerror(error)
                            : "somebody else answers there");
        try_next(c);
        return;
    }
    hb_fail(&why, HPCBOOT_ERR_PEER_DEAD, "rank %u on %s has closed its "
            "connection: %s", c->peer, x->job.host(x->job.ctx, c->peer),
            strerror(error));
    if (c->outgoing) {
        snprintf(c->why, sizeof c->why, "%s", strerror(error));
        give_up(c);
        return;
    }
    if (c->body != NULL && c->body->req != NULL) {
        c->body->req->err = why;
        hb_req_finish(c->body->req, why.code);
    }
    fail_peer(c->tcp, c->peer, &why);
    drop_incoming(c);
}

int hb_tcp_connected(struct hb_tcp_conn *c)
{
    struct greeting g = {.magic = MAGIC, .from = c->tcp->x->job.rank,
                         .to = c->peer};
    int error = 0;
    socklen_t len = sizeof error;

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0) {
        error = errno;
    }
    memcpy(g.token, c->endpoint.token, sizeof g.token);
    if (error == 0 && send(c->fd, &g, sizeof g, MSG_NOSIGNAL) != sizeof g) {
        error = errno;
    }
    if (error != 0) {
        hb_tcp_lost(c, error);
        return 1;
    }
    c->state = HB_TCP_GREETING;
    hb_tcp_arm(c, EPOLLIN);
    return 1;
}

/* A port that answers with other bytes is somebody else's. */
int hb_tcp_read_ack(struct hb_tcp_conn *c)
{
    uint64_t ack;
    ssize_t n = recv(c->fd, c->hello + c->got, sizeof ack - c->got,
                     MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (n > 0) {
        c->got += (size_t)n;
        if (c->got < sizeof ack) {
            return 1;
        }
        memcpy(&ack, c->hello, sizeof ack);
        if (ack == MAGIC) {
            c->state = HB_TCP_READY;
            c->tcp->n_connecting--;
            return 1;
        }
    }
    hb_tcp_lost(c, n < 0 ? errno : 0);
    return 1;
}

struct hb_tcp_conn *hb_tcp_conn_to(struct hb_tcp *t, uint32_t peer,
                                   struct hpcboot_error *err)
{
    struct hb_xport *x = t->x;
    struct hb_tcp_conn *c = t->out[peer];
    struct hb_buf b;
    size_t len;
    const void *address;

    if (c != NULL) {
        return c;
    }
    address = x->job.address(x->job.ctx, peer, &len);
    hb_buf_view(&b, address, len);
    c = conn_new(t, -1, 1);
    c->peer = peer;
    if (hb_endpoint_get(&b, &t->ours, &c->endpoint) < 0) {
        hb_fail(err, HPCBOOT_ERR_HOST, "rank %u on %s has told no address",
                peer, x->job.host(x->job.ctx, peer));
        conn_free(c);
        return NULL;
    }
    t->out[peer] = c;
    t->n_connecting++;
    start_connect(c);
    return c;
}

