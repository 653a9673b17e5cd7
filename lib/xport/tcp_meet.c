/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How two ranks meet. A rank listens on one port; whoever has something for it
 * connects when the first message is due, shows the secret that only the job
 * knows and whom it means, and is answered before any message leaves: an
 * address that belongs to somebody else is noticed, and the next one tried.
 *
 * Messages by TCP go both ways over one connection: the system tells with the
 * data of one way how far it has read the other. Which one, where both call at
 * once, the lower rank of the two decides:
 *
 *   - it uses the first of these: its own call, answered; or the other's,
 *     which it answers and gives up its own for;
 *   - the higher rank answers, and goes on calling;
 *   - the caller's first message, which it has as it would not call otherwise,
 *     says that this call is used. Then whoever answered uses it too, and
 *     closes others. Until then it may be the call of a caller that lost its
 *     patience, whose end means nothing;
 *   - a call that comes when another is used waits for its caller to close it.
 *
 * So the lower rank never uses its call when it has answered the other's, and
 * both use the same. Messages wait in one queue, whose calls may change until
 * one is used; none is sent before, so that none is lost or comes twice.
 *
 * By UCX each side has a call of its own, which carries the address of the
 * other's worker, and later only says that its caller lives.
 *
 * Who has connected and says nothing is a stranger (a scanner, a health check,
 * a host that is gone), or a peer that computes, for as long as it likes. No
 * deadline tells the two apart, so there is none: of those who are silent a
 * fixed number may wait, the one that came first gives way to the next, and is
 * told to call again, which a peer does. */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/xport/tcp_impl.h"

#define MAGIC 0x6870634254435031ull /* says the order of bytes too */
struct greeting {
    uint64_t magic;
    unsigned char token[HB_ADDRESS_TOKEN];
    uint32_t from, to;
    struct hb_caps caps;
    uint32_t rail; /* 0: the pair's first connection */
};

/* `len` bytes follow: the address of UCX's worker, or why there is no way. */
struct answer {
    uint64_t magic;
    uint32_t by, len;
};
#define ANSWER_MAX 32768u /* UCX's addresses grow with its devices */
#define BY_NO_FD 255u     /* by: none is left, in words */
#define BY_CROWD 254u     /* by: it has been silent, and is to call again */
/* More than a rank has peers that connect and do not greet at once, mostly; and
 * no more than an eighth of the descriptors that a process may have, as the
 * program, and UCX, have use for them too. */
#define SILENT_MOST 128u
#define SILENT_SHARE 8u
/* Of calls to a peer of which several addresses take them, and are silent. */
#define ROUNDS_MOST 4u
/* Of those who call at one time: then the messages of others have their turn.
 * Who calls faster than it is accepted holds up no rank so. */
#define ACCEPTS_IN_A_ROW 64
_Static_assert(sizeof(struct greeting) <=
                       sizeof ((struct hb_tcp_conn *)0)->hello &&
                   sizeof(struct answer) <=
                       sizeof ((struct hb_tcp_conn *)0)->hello,
               "conn.hello holds either");

static int accept_one(const struct hb_tcp *t)
{
    return accept4(t->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* Of the callers that have not greeted the one that came first; NULL: none. */
static struct hb_tcp_conn *longest_silent(const struct hb_tcp *t,
                                          unsigned *n_out)
{
    struct hb_tcp_conn *first = NULL;

    *n_out = 0;
    for (struct hb_tcp_conn *c = t->in; c != NULL; c = c->next) {
        if (!c->outgoing && c->state == HB_TCP_GREETING) {
            first = c; /* new ones are put in front */
            (*n_out)++;
        }
    }
    return first;
}

static int say(const struct hb_tcp_conn *c, uint32_t by, const void *more,
               size_t len)
{
    struct answer a = {.magic = MAGIC, .by = by, .len = (uint32_t)len};
    struct iovec v[2] = {{&a, sizeof a}, {(void *)(uintptr_t)more, len}};
    struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};

    return len <= ANSWER_MAX &&
           sendmsg(c->fd, &m, MSG_NOSIGNAL) == (ssize_t)(sizeof a + len);
}

static void send_away(struct hb_tcp_conn *c)
{
    (void)say(c, BY_CROWD, NULL, 0);
    hb_tcp_discard(c);
}

/* One of more than `most` that are silent goes. Its greeting may be here by
 * now: then it is not silent, and the next is looked at. */
static void send_one_away(struct hb_tcp *t, unsigned most)
{
    struct hb_tcp_conn *c;
    unsigned n;

    while ((c = longest_silent(t, &n)) != NULL && n > most) {
        (void)hb_tcp_read_greeting(c);
        if (c->state == HB_TCP_GREETING) {
            send_away(c);
            return;
        }
    }
}

/* A greeting that is here stays unread, as it may change whose call is used. */
int hb_tcp_make_room(struct hb_tcp *t)
{
    struct hb_tcp_conn *first = NULL;
    char byte;

    for (struct hb_tcp_conn *c = t->in; c != NULL; c = c->next) {
        if (!c->outgoing && c->state == HB_TCP_GREETING &&
            recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) <= 0) {
            first = c;
        }
    }
    if (first != NULL) {
        send_away(first);
    }
    return first != NULL;
}

static unsigned silent_most(void)
{
    uint64_t share = hb_tcp_fds_most() / SILENT_SHARE;

    return share < SILENT_MOST ? (unsigned)share : SILENT_MOST;
}

/* The system asks for a descriptor before it looks whether anybody calls. */
static int somebody_calls(const struct hb_tcp *t)
{
    struct pollfd p = {.fd = t->listen_fd, .events = POLLIN};

    return poll(&p, 1, 0) > 0;
}

/* Where descriptors have run out, that of one who is silent is worth more to
 * who calls. */
static int accept_next(struct hb_tcp *t)
{
    int fd = accept_one(t);

    if (fd < 0 && hb_tcp_is_without_fd(errno) && somebody_calls(t)) {
        send_one_away(t, 0);
        fd = accept_one(t);
    }
    return fd;
}

/* A caller that is never accepted would wait for ever. So one descriptor is
 * kept in reserve: where all others are used up, it serves to accept the call
 * and to tell the caller so. */
static int accept_by_reserve(struct hb_tcp *t)
{
    int fd;

    if (!hb_tcp_is_without_fd(errno) || t->reserve_fd < 0) {
        return -1;
    }
    hb_fd_close(&t->reserve_fd);
    fd = accept_one(t);
    if (fd < 0) {
        hb_tcp_take_reserve(t);
    }
    return fd;
}

void hb_tcp_accept(struct hb_tcp *t)
{
    int fd, by_reserve;

    for (int i = 0; i < ACCEPTS_IN_A_ROW &&
         ((by_reserve = 0, fd = accept_next(t)) >= 0 ||
          (by_reserve = 1, fd = accept_by_reserve(t)) >= 0); i++) {
        struct hb_tcp_conn *c = hb_tcp_conn_new(t, fd, 0);

        c->by_reserve = by_reserve;
        hb_tcp_be_quick(t, fd);
        hb_tcp_be_far(t, fd);
        c->state = HB_TCP_GREETING;
        c->next = t->in;
        t->in = c;
        hb_tcp_arm(c, EPOLLIN);
        send_one_away(t, silent_most());
    }
}

/* Who calls must know our secret, which the job's rendezvous told it. */
static int greeting_holds(const struct hb_tcp_conn *c)
{
    const struct hb_xport_job *job = &c->tcp->x->job;
    struct greeting g;

    memcpy(&g, c->hello, sizeof g);
    return g.magic == MAGIC && g.to == job->rank && g.from < job->size &&
           hb_secret_equal(g.token, c->tcp->token, sizeof g.token);
}

static void tell_ours(const struct hb_tcp *t, char *text, size_t size)
{
    uint32_t v = t->caps.ucx_version;
    size_t len = (size_t)snprintf(
        text, size, "%s%s%s", t->wish.from[0] != '\0' ? t->wish.from : "any",
        t->ucx_why[0] != '\0' ? ": " : "", t->ucx_why);

    if (v != 0 && len < size) {
        snprintf(text + len, size - len, ", UCX %u.%u", HB_UCX_MAJOR(v),
                 HB_UCX_MINOR(v));
    }
}

/* Which way messages come from there, and what the caller needs for it. */
static int answer(struct hb_tcp_conn *c)
{
    struct hb_tcp *t = c->tcp;
    char none[768];
    size_t len = 0;
    const void *more = NULL;

    if (c->by == HB_BY_UCX) {
        more = hb_ucx_address(t->ucx, &len);
    } else if (c->by == HB_BY_NONE) {
        tell_ours(t, none, sizeof none);
        more = none;
        len = strlen(none);
    }
    return say(c, c->by, more, len) && c->by != HB_BY_NONE;
}

/* Why the pair has been given up for want of descriptors; NULL: it has not. */
static const char *given_up(const struct hb_tcp_conn *c)
{
    const struct hpcboot_error *why = c->tcp->lost[c->peer];

    return why != NULL && why->code == HPCBOOT_ERR_SYSTEM ? why->text : NULL;
}

/* In words, as a call that just ends looks like a peer that is dead. */
static void refuse(struct hb_tcp_conn *c)
{
    char text[HPCBOOT_ERROR_TEXT_MAX + 32];

    if (given_up(c) != NULL) {
        snprintf(text, sizeof text, "has given up: %s", given_up(c));
    } else {
        hb_tcp_tell_no_fd(text, sizeof text);
    }
    (void)say(c, BY_NO_FD, text, strlen(text));
    hb_tcp_discard(c);
}

int hb_tcp_has_hung_up(const struct hb_tcp_conn *c)
{
    char byte;
    ssize_t n = recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* What becomes of a call by TCP: 1 it is answered; 0 it waits, as we have got
 * through to the caller ourselves, who hangs up when it notices that; -1 there
 * is no sense in it. */
static int is_welcome(const struct hb_tcp_conn *c)
{
    const struct hb_tcp_conn *ours = c->tcp->out[c->peer];

    return ours == NULL || (ours->state != HB_TCP_READY &&
                            ours->state != HB_TCP_DEAD)
               ? 1 : ours->state == HB_TCP_READY ? 0 : -1;
}

/* The lower rank gives up its own call for one that it answers. */
static void settle(struct hb_tcp_conn *c)
{
    struct hb_tcp *t = c->tcp;
    const struct hb_tcp_conn *ours = t->out[c->peer];

    c->state = HB_TCP_ANSWERED;
    if (ours == NULL || (ours->outgoing && t->x->job.rank < c->peer)) {
        hb_tcp_keep(c);
    }
}

static void on_rail(struct hb_tcp_conn *c, uint32_t rail)
{
    if (c->by != HB_BY_TCP || c->by_reserve || !hb_pair_join(c, rail)) {
        hb_tcp_discard(c);
    } else if (!answer(c)) {
        hb_tcp_lost(c, 0);
    } else {
        c->state = HB_TCP_READY;
        (void)hb_tcp_write(c);
    }
}

static void on_greeting(struct hb_tcp_conn *c, const struct greeting *g)
{
    int welcome;

    c->peer = g->from;
    c->by = hb_carry_by(&c->tcp->caps, &g->caps);
    if (g->rail != 0) {
        on_rail(c, g->rail);
        return;
    }
    welcome = c->by == HB_BY_TCP ? is_welcome(c) : 1;
    if ((welcome > 0 && c->by_reserve) ||
        (welcome < 0 && given_up(c) != NULL)) {
        refuse(c);
    } else if (welcome == 0) {
        c->state = HB_TCP_HELD;
    } else if (welcome < 0 || !answer(c)) {
        hb_tcp_discard(c);
    } else if (c->by == HB_BY_TCP) {
        settle(c);
    } else {
        c->state = HB_TCP_READY;
    }
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
    c->got = 0;
    memcpy(&g, c->hello, sizeof g);
    if (n <= 0 || !greeting_holds(c) ||
        hb_tcp_has_hung_up(c)) { /* its patience has ended; it calls again */
        hb_tcp_discard(c);
    } else {
        on_greeting(c, &g);
    }
    return 1;
}

int hb_tcp_confirmed(struct hb_tcp_conn *c)
{
    const struct hb_tcp_conn *ours = c->tcp->out[c->peer];

    if (ours != c && ours != NULL && (ours->state == HB_TCP_READY ||
                                      ours->state == HB_TCP_DEAD)) {
        return -EPROTO;
    }
    hb_tcp_keep(c);
    c->state = HB_TCP_READY;
    hb_pair_begin(c);
    (void)hb_tcp_write(c);
    return 0;
}

int hb_tcp_connected(struct hb_tcp_conn *c)
{
    struct greeting g = {.magic = MAGIC, .from = c->tcp->x->job.rank,
                         .to = c->peer, .caps = c->tcp->caps,
                         .rail = c->slot};
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
    hb_tcp_be_far(c->tcp, c->fd);
    c->state = HB_TCP_GREETING;
    hb_tcp_arm(c, EPOLLIN);
    return 1;
}

/* Who answers at an address that this host has, too, says nothing of another
 * one; but two nodes may be on one host, and have no others. */
int hb_tcp_is_answer(const struct hb_tcp_conn *c, int error)
{
    const struct hb_endpoint *e = &c->endpoint;
    unsigned others = 0;

    if (error != 0 && error != ECONNREFUSED && error != ECONNRESET) {
        return 0;
    }
    for (unsigned i = 0; i < e->n; i++) {
        others += !hb_interfaces_have(&c->tcp->ours, &e->at[i]);
    }
    return others == 0 ||
           !hb_interfaces_have(&c->tcp->ours, &e->at[c->attempt]);
}

/* Whether who has taken the call, and is silent, may be left for another
 * address: one that is not tried yet, or has taken a call as well, as all of a
 * peer that computes do; after some rounds the first of these is the peer. A
 * call that its caller closes keeps its place in the row of those that the peer
 * has not accepted, until that is full, and a call that finds it so looks like
 * a cut. A rail is no use later. */
int hb_tcp_may_hang_up(const struct hb_tcp_conn *c)
{
    return c->pair != NULL || !hb_tcp_is_answer(c, 0) ||
           (c->rounds == 0 && c->attempt + 1 < c->endpoint.n) ||
           (c->rounds < ROUNDS_MOST &&
            (c->silent_at & ~(1u << c->attempt)) != 0);
}

/* The answer is whole; what follows it is in c->blob. */
static void answered(struct hb_tcp_conn *c, const struct answer *a)
{
    c->by = a->by == BY_NO_FD ? HB_BY_NONE : (enum hb_carrier)a->by;
    c->got = 0;
    if (a->by == BY_CROWD) { /* this time the greeting is there at once */
        c->by = HB_BY_NONE;
        hb_tcp_silent(c);
        return;
    }
    if (c->pair != NULL && c->by != HB_BY_TCP) { /* a rail of it */
        hb_tcp_lost(c, 0);
        return;
    }
    if (a->by == BY_NO_FD) {
        c->code = HPCBOOT_ERR_SYSTEM;
        snprintf(c->why, sizeof c->why, "it %s", c->blob);
        hb_tcp_give_up(c);
        return;
    }
    if (c->by == HB_BY_NONE) {
        char ours[256];

        tell_ours(c->tcp, ours, sizeof ours);
        c->code = HPCBOOT_ERR_UNSUPPORTED;
        snprintf(c->why, sizeof c->why, "no transport is allowed at both ends "
                 "(here: %s; there: %s)", ours, c->blob);
        hb_tcp_give_up(c);
        return;
    }
    c->state = HB_TCP_READY;
    hb_endpoint_answered(&c->endpoint, c->attempt, &c->tcp->ours);
    if (c->by == HB_BY_UCX && hb_ucx_connect(c, c->blob) < 0) {
        hb_tcp_give_up(c);
    } else if (c->pair != NULL) {
        hb_pair_tune(c);
    } else if (c->by == HB_BY_TCP) {
        hb_pair_begin(c);
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
    return a->magic == MAGIC && a->len <= ANSWER_MAX &&
           (a->by == HB_BY_NONE || a->by == BY_NO_FD || a->by == BY_CROWD ||
            (a->by <= HB_BY_UCX && (c->tcp->caps.may >> a->by & 1))) &&
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
