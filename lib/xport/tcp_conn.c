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
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/xport/tcp_impl.h"

#define MAGIC 0x6870634254435031ull /* says the order of bytes too */
/* What a peer sent last may come after the end of its connection. */
#define DYING_NS ((int64_t)20 * 1000 * 1000)
/* A round trip that does not leave a site. */
#define NEAR_US 2000
#define BYE_NS ((int64_t)HB_TCP_LIMIT_S * 1000 * 1000 * 1000)

struct greeting {
    uint64_t magic;
    unsigned char token[HB_ADDRESS_TOKEN];
    uint32_t from, to;
    struct hb_caps caps;
};

/* `len` bytes follow: the address of UCX's worker, or why there is no way. */
struct answer {
    uint64_t magic;
    uint32_t by, len;
};
#define ANSWER_MAX 32768u /* UCX's addresses grow with its devices */
_Static_assert(sizeof(struct greeting) <=
                       sizeof ((struct hb_tcp_conn *)0)->hello &&
                   sizeof(struct answer) <=
                       sizeof ((struct hb_tcp_conn *)0)->hello,
               "conn.hello holds either");

static void conn_free(struct hb_tcp_conn *c)
{
    hb_ucx_disconnect(c);
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
        free(c->body->req);
        free(c->body->own);
        free(c->body);
    }
    hb_fd_close(&c->fd);
    free(c->blob);
    free(c);
}

static void free_list(struct hb_xport_req *r)
{
    while (r != NULL) {
        struct hb_xport_req *next = r->next;

        free(r->copy);
        free(r);
        r = next;
    }
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
    free_list(t->offers);
    free_list(t->takes);
    hb_ucx_close(t->ucx);
    hb_fd_close(&t->listen_fd);
    hb_fd_close(&t->epoll_fd);
    free(t->out);
    free(t->ahead);
    free(t->owed);
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

/* And sure of the other end: who is asked and does not answer is gone. */
static void be_quick(const struct hb_tcp *t, int fd)
{
    int limit_s = (int)t->limit_s;
    const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, limit_s / 3},
        {IPPROTO_TCP, TCP_KEEPINTVL, limit_s < 5 ? 1 : limit_s / 5},
        {IPPROTO_TCP, TCP_KEEPCNT, 3},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        (void)setsockopt(fd, options[i].level, options[i].name,
                         &options[i].value, sizeof options[i].value);
    }
}

/* Congestion controls that pace by a rate they estimate are made for long
 * paths: within a site BBR, the default of many images, sends at half of what
 * the way takes. There the socket gets another one, of those that the system
 * allows everybody; where it allows none, it stays as it is. */
static void be_near(int fd)
{
    static const char *const others[] = {"cubic", "reno"};
    char name[16] = ""; /* TCP_CA_NAME_MAX */
    struct tcp_info i = {0};
    socklen_t len = sizeof name - 1, info_len = sizeof i;

    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) < 0 ||
        strncmp(name, "bbr", 3) != 0 ||
        getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &info_len) < 0 ||
        i.tcpi_rtt > NEAR_US) {
        return;
    }
    for (size_t n = 0; n < sizeof others / sizeof *others; n++) {
        if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, others[n],
                       (socklen_t)strlen(others[n])) == 0) {
            return;
        }
    }
}

void hb_tcp_accept(struct hb_tcp *t)
{
    int fd;

    while ((fd = accept4(t->listen_fd, NULL, NULL,
                         SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        struct hb_tcp_conn *c = conn_new(t, fd, 0);

        be_quick(t, fd);
        be_near(fd);
        c->state = HB_TCP_GREETING;
        c->next = t->in;
        t->in = c;
        hb_tcp_arm(c, EPOLLIN);
    }
}

static void drop_incoming(struct hb_tcp_conn *c)
{
    c->tcp->hot = c->tcp->hot == c ? NULL : c->tcp->hot;
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

/* Which way messages come from there, and what the caller needs for it. */
static int answer(struct hb_tcp_conn *c, const struct hb_caps *theirs)
{
    struct hb_tcp *t = c->tcp;
    struct answer a = {.magic = MAGIC};
    char none[768];
    size_t len = 0;
    const void *more = NULL;
    struct iovec v[2];
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};

    c->by = hb_carry_by(&t->caps, theirs);
    if (c->by == HB_BY_UCX) {
        more = hb_ucx_address(t->ucx, &len);
    } else if (c->by == HB_BY_NONE) {
        snprintf(none, sizeof none, "%s%s%s", t->wish.from,
                 t->wish.from[0] != '\0' && t->ucx_why[0] != '\0' ? ": " : "",
                 t->ucx_why);
        more = none;
        len = strlen(none);
    }
    a.by = c->by;
    a.len = (uint32_t)len;
    v[0] = (struct iovec){&a, sizeof a};
    v[1] = (struct iovec){(void *)(uintptr_t)more, len};
    return len <= ANSWER_MAX && sendmsg(c->fd, &m, MSG_NOSIGNAL) ==
                                    (ssize_t)(sizeof a + len) &&
           c->by != HB_BY_NONE;
}

int hb_tcp_has_hung_up(const struct hb_tcp_conn *c)
{
    char byte;
    ssize_t n = recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

int hb_tcp_read_greeting(struct hb_tcp_conn *c)
{
    struct greeting g;
    ssize_t n = recv(c->fd, c->hello + c->got, sizeof g - c->got,
                     MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    c->got += n > 0 ? (size_t)n : 0;
    if (n > 0 && c->got < sizeof g) {
        return 1;
    }
    memcpy(&g, c->hello, sizeof g);
    if (n <= 0 || !greeting_holds(c) ||
        hb_tcp_has_hung_up(c) || /* its patience has ended; it calls again */
        !answer(c, &g.caps)) {
        drop_incoming(c);
        return 1;
    }
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

    hb_fail(&why, c->code != 0 ? c->code : HPCBOOT_ERR_PEER_DEAD,
            "rank %u on %s cannot be reached: %s", c->peer,
            x->job.host(x->job.ctx, c->peer),
            c->why[0] != '\0' ? c->why : "the connection is lost");
    c->state = HB_TCP_DEAD;
    hb_ucx_disconnect(c);
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
    be_quick(c->tcp, c->fd);
    hb_tcp_arm(c, EPOLLOUT);
}

static void try_next(struct hb_tcp_conn *c)
{
    hb_fd_close(&c->fd);
    c->armed = 0;
    free(c->blob);
    c->blob = NULL;
    if (++c->attempt == c->endpoint.n && c->was_silent) {
        c->attempt = 0;
        c->was_silent = 0;
        c->rounds++;
        c->why[0] = '\0';
    }
    if (c->attempt < c->endpoint.n) {
        start_connect(c);
    } else {
        give_up(c);
    }
}

void hb_tcp_silent(struct hb_tcp_conn *c)
{
    c->was_silent = 1;
    hb_tcp_lost(c, ETIMEDOUT);
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
        if (error != 0) {
            snprintf(c->why, sizeof c->why, "%s", strerror(error));
        }
        give_up(c);
        return;
    }
    if (!c->heard && (c->by != HB_BY_UCX ||
                      hb_ucx_count(c->tcp->ucx, c->peer) == 0)) {
        drop_incoming(c); /* it has hung up before it knew of our answer */
        return;
    }
    if (c->by == HB_BY_UCX && !c->dying) { /* not all of it is here, perhaps */
        c->dying = 1;
        c->tcp->hot = c->tcp->hot == c ? NULL : c->tcp->hot;
        c->error = error;
        c->since_ns = hb_now_ns();
        c->tcp->n_dying++;
        epoll_ctl(c->tcp->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
        return;
    }
    c->tcp->n_dying -= c->dying;
    if (c->body != NULL && c->body->req != NULL) {
        c->body->req->err = why;
        hb_req_finish(c->body->req, why.code);
        c->body->req = NULL;
    }
    fail_peer(c->tcp, c->peer, &why);
    drop_incoming(c);
}

int hb_tcp_connected(struct hb_tcp_conn *c)
{
    struct greeting g = {.magic = MAGIC, .from = c->tcp->x->job.rank,
                         .to = c->peer, .caps = c->tcp->caps};
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
    be_near(c->fd);
    c->state = HB_TCP_GREETING;
    hb_tcp_arm(c, EPOLLIN);
    return 1;
}

void hb_tcp_bye(struct hb_tcp *t)
{
    for (uint32_t i = 0; t->out != NULL && i < t->x->job.size; i++) {
        struct hb_tcp_conn *c = t->out[i];
        struct hb_tcp_head head = {.kind = HB_TCP_BYE,
                                   .source = t->x->job.rank};

        if (c != NULL && c->state == HB_TCP_READY && c->by == HB_BY_UCX) {
            head.size = c->n_sent;
            (void)!send(c->fd, &head, sizeof head,
                        MSG_NOSIGNAL | MSG_DONTWAIT);
        }
    }
}

/* What UCX still brings of a peer that has ended, or no more. */
void hb_tcp_look_at_dying(struct hb_tcp *t)
{
    int64_t now = hb_now_ns();
    struct hb_tcp_conn *next;

    for (struct hb_tcp_conn *c = t->in; c != NULL; c = next) {
        next = c->next;
        if (c->dying &&
            (now - c->since_ns > (c->said_bye ? BYE_NS : DYING_NS) ||
             (c->said_bye && hb_ucx_count(t->ucx, c->peer) >= c->bye))) {
            hb_tcp_lost(c, c->error);
        }
    }
}

/* The answer is whole; what follows it is in c->blob. */
static void answered(struct hb_tcp_conn *c, const struct answer *a)
{
    c->by = (enum hb_carrier)a->by;
    c->got = 0;
    if (c->by == HB_BY_NONE) {
        c->code = HPCBOOT_ERR_UNSUPPORTED;
        snprintf(c->why, sizeof c->why, "no transport is allowed at both ends "
                 "(here: %s; there: %s)",
                 c->tcp->wish.from[0] != '\0' ? c->tcp->wish.from
                                              : "any", c->blob);
        give_up(c);
        return;
    }
    c->state = HB_TCP_READY;
    if (c->by == HB_BY_UCX && hb_ucx_connect(c, c->blob) < 0) {
        give_up(c);
    }
}

/* 0: not all is here; 1: it is; -1: the connection is lost. */
static int read_some(struct hb_tcp_conn *c, char *to, size_t from,
                     size_t size)
{
    ssize_t n;

    if (c->got >= from + size) {
        return 1;
    }
    n = recv(c->fd, to + (c->got - from), from + size - c->got, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (n <= 0) {
        hb_tcp_lost(c, n < 0 ? errno : 0);
        return -1;
    }
    c->got += (size_t)n;
    return c->got == from + size;
}

static int answer_holds(const struct hb_tcp_conn *c, const struct answer *a)
{
    return a->magic == MAGIC && a->len <= ANSWER_MAX && a->by <= HB_BY_UCX &&
           (a->by == HB_BY_NONE || (c->tcp->caps.may >> a->by & 1)) &&
           (a->by != HB_BY_UCX || a->len > 0);
}

/* A port that answers with other bytes is somebody else's. */
int hb_tcp_read_answer(struct hb_tcp_conn *c)
{
    struct answer a;
    int rc = read_some(c, (char *)c->hello, 0, sizeof a);

    if (rc <= 0) {
        return 1;
    }
    memcpy(&a, c->hello, sizeof a);
    if (!answer_holds(c, &a)) {
        hb_tcp_lost(c, 0);
        return 1;
    }
    if (c->blob == NULL) {
        c->blob = hb_xcalloc(1, a.len + 1);
    }
    if (read_some(c, c->blob, sizeof a, a.len) > 0) {
        answered(c, &a);
    }
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
    start_connect(c);
    return c;
}

