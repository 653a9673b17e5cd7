/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Connections of the TCP carrier: how they are opened, and how they end. What
 * both sides say before the first message is tcp_meet.c's.
 *
 * t->out[peer] is where messages for a peer wait and leave: a call of our own,
 * or one of the peer's that has been taken for the pair. It stays when it has
 * ended, so that later messages learn why. All others are on t->in.
 *
 * A connection that ends before the job does means a dead peer: what was to
 * go there, and receives that name it, fail. One that no word has come by was
 * given up by an impatient caller, and means nothing.
 *
 * Nothing is freed while events are looked at: they may tell of it. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/xport/tcp_impl.h"

/* What a peer sent last may come after the end of its connection. */
#define DYING_NS ((int64_t)20 * 1000 * 1000)
#define NS_PER_S ((int64_t)1000 * 1000 * 1000)
#define BYE_NS (HB_TCP_LIMIT_S * NS_PER_S)

static void drop_body(struct hb_tcp_conn *c)
{
    if (c->body != NULL) {
        hb_match_forget(c->tcp->x, c->body);
        free(c->body->own);
        free(c->body);
        c->body = NULL;
    }
}

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
    if (c->body != NULL && c->body->req != NULL) {
        hb_back_free(c->body->req);
    }
    drop_body(c);
    hb_tcp_close(c->tcp, &c->fd);
    free(c->blob);
    free(c);
}

static void free_conns(struct hb_tcp_conn **at)
{
    while (*at != NULL) {
        struct hb_tcp_conn *c = *at;

        *at = c->next;
        conn_free(c);
    }
}

void hb_tcp_free_gone(struct hb_tcp *t)
{
    free_conns(&t->gone);
}

static void free_rows(struct hb_row rows[HB_MATCH_ROWS])
{
    for (unsigned i = 0; i < HB_MATCH_ROWS; i++) {
        while (rows[i].first != NULL) {
            struct hb_xport_req *r = rows[i].first->of;

            hb_row_take_out(&rows[i], rows[i].first);
            hb_back_free(r);
        }
    }
}

void hb_tcp_destroy(struct hb_tcp *t)
{
    if (t == NULL) {
        return;
    }
    t->ends = 1;
    t->taken |= hb_tcp_has_lost_its_port(t);
    for (uint32_t i = 0; t->out != NULL && i < t->x->job.size; i++) {
        if (t->out[i] != NULL) {
            conn_free(t->out[i]);
            t->out[i] = NULL;
        }
    }
    free_conns(&t->in);
    free_conns(&t->gone);
    free_rows(t->offers);
    free_rows(t->takes);
    hb_ucx_close(t->ucx);
    hb_tcp_close(t, &t->listen_fd);
    hb_tcp_close(t, &t->reserve_fd);
    hb_tcp_close(t, &t->epoll_fd);
    for (uint32_t i = 0; t->pairs != NULL && i < t->x->job.size; i++) {
        hb_pair_end(t->pairs[i]);
        free(t->lost[i]);
    }
    free(t->lost);
    free(t->pairs);
    free(t->out);
    free(t->ahead);
    free(t->owed);
    free(t->ports);
    free(t);
}

struct hb_tcp_conn *hb_tcp_conn_new(struct hb_tcp *t, int fd, int outgoing)
{
    struct hb_tcp_conn *c = hb_xcalloc(1, sizeof *c);

    c->tcp = t;
    c->fd = fd;
    c->outgoing = outgoing;
    c->end = &c->first;
    c->answers = 1; /* the greeting */
    return c;
}

/* ---- which one is used ---- */

static void shut(struct hb_tcp_conn *c)
{
    struct hb_tcp *t = c->tcp;

    t->hot = t->hot == c ? NULL : t->hot;
    t->n_broken -= c->broken != 0;
    c->broken = 0;
    t->n_joining -= (unsigned)c->joins;
    c->joins = 0;
    if (c->fd >= 0) { /* a child of the user's may hold the socket open */
        epoll_ctl(t->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
        hb_tcp_close(c->tcp, &c->fd);
    }
    c->armed = 0;
    hb_tcp_keep_reserve(c);
}

void hb_tcp_leave_incoming(struct hb_tcp_conn *c)
{
    struct hb_tcp_conn **at = &c->tcp->in;

    while (*at != NULL && *at != c) {
        at = &(*at)->next;
    }
    if (*at == c) {
        *at = c->next;
    }
}

void hb_tcp_discard(struct hb_tcp_conn *c)
{
    hb_tcp_leave_incoming(c);
    shut(c);
    c->state = HB_TCP_DEAD;
    c->next = c->tcp->gone;
    c->tcp->gone = c;
}

void hb_tcp_keep(struct hb_tcp_conn *c)
{
    struct hb_tcp_conn **home = &c->tcp->out[c->peer], *before = *home;

    if (before == c) {
        return;
    }
    hb_tcp_leave_incoming(c);
    *home = c;
    if (before != NULL && before->first != NULL) {
        c->first = before->first;
        c->end = before->end;
        before->first = NULL;
        before->end = &before->first;
    }
    if (before != NULL) {
        hb_tcp_discard(before);
    }
}

/* One of the peer's calls that we have answered, and do not use yet. */
static struct hb_tcp_conn *spare_of(const struct hb_tcp *t, uint32_t peer)
{
    struct hb_tcp_conn *c = t->in;

    while (c != NULL && (c->state != HB_TCP_ANSWERED || c->peer != peer)) {
        c = c->next;
    }
    return c;
}

/* ---- connecting ---- */

/* Requests that concern a dead peer. */
static void fail_row(struct hb_row *row, uint32_t peer,
                     const struct hpcboot_error *why)
{
    const struct hb_link *next;

    for (const struct hb_link *l = row->first; l != NULL; l = next) {
        struct hb_xport_req *r = l->of;

        next = l->next;
        if (hb_tcp_is_with(r, peer)) {
            hb_row_take_out(row, l);
            r->err = *why;
            hb_req_finish(r, why->code);
        }
    }
}

static void fail_peer(struct hb_tcp *t, uint32_t peer,
                      const struct hpcboot_error *why)
{
    const struct hb_xport_job *job = &t->x->job;

    for (unsigned i = 0; i < HB_MATCH_ROWS; i++) {
        fail_row(&t->offers[i], peer, why);
        fail_row(&t->takes[i], peer, why);
    }
    hb_pair_bury(t, peer, why);
    hb_match_lost(t->x, peer, why);
    if (t->lost[peer] == NULL) {
        t->lost[peer] = hb_xmalloc(sizeof *why);
        *t->lost[peer] = *why;
        if (job->lost != NULL) {
            job->lost(job->ctx, peer, why);
        }
    }
}

const struct hpcboot_error *hb_tcp_why_lost(const struct hb_tcp *t,
                                            uint32_t peer)
{
    return t->lost[peer];
}

void hb_tcp_fail_body(struct hb_tcp_conn *c, const struct hpcboot_error *why)
{
    if (c->body != NULL && c->body->req != NULL) {
        c->body->req->err = *why;
        hb_req_finish(c->body->req, why->code);
    }
    drop_body(c);
}

/* What was to go there fails, and so does all that follows. */
static void bury(struct hb_tcp_conn *c, const struct hpcboot_error *why)
{
    hb_tcp_leave_incoming(c);
    c->state = HB_TCP_DEAD;
    hb_ucx_disconnect(c);
    shut(c);
    while (c->first != NULL) {
        struct hb_tcp_item *i = c->first;

        c->first = i->next;
        c->tcp->n_unwritten--;
        if (i->req != NULL) {
            i->req->err = *why;
            hb_req_finish(i->req, why->code);
        }
        free(i);
    }
    c->end = &c->first;
    hb_tcp_fail_body(c, why);
    fail_peer(c->tcp, c->peer, why);
}

void hb_tcp_give_up(struct hb_tcp_conn *c)
{
    struct hb_tcp_conn *spare = spare_of(c->tcp, c->peer);
    struct hb_xport *x = c->tcp->x;
    struct hpcboot_error why;

    /* There is a way, if not this one. */
    if (spare != NULL && c->code != HPCBOOT_ERR_UNSUPPORTED) {
        hb_tcp_keep(spare);
        return;
    }
    hb_fail(&why, c->code != 0 ? c->code : HPCBOOT_ERR_PEER_DEAD,
            "rank %u on %s cannot be reached: %s", c->peer,
            x->job.host(x->job.ctx, c->peer),
            c->why[0] != '\0' ? c->why : "the connection is lost");
    bury(c, &why);
}

/* The other side has a part of a message whose rest there is no memory for:
 * nothing that follows would be right. */
void hb_tcp_break(struct hb_tcp *t, const struct hb_xport_req *req)
{
    uint32_t peer = (uint32_t)req->peer;
    struct hpcboot_error why;

    hb_fail(&why, HPCBOOT_ERR_NOMEM, "the connection to rank %u on %s was "
            "closed: a message of %zu bytes was given up while it was sent, "
            "and there was no memory to keep its rest", peer,
            t->x->job.host(t->x->job.ctx, peer), req->size);
    if (t->out[peer] != NULL) {
        bury(t->out[peer], &why);
    } else {
        fail_peer(t, peer, &why);
    }
}

/* `from` NULL: the system chooses. */
void hb_tcp_call(struct hb_tcp_conn *c, const struct sockaddr_storage *from)
{
    const struct sockaddr_storage *at = &c->endpoint.at[c->attempt];

    c->fd = hb_tcp_socket(c->tcp, at->ss_family);
    c->armed = 0;
    c->got = 0;
    c->state = HB_TCP_CONNECTING;
    c->since_ns = hb_now_ns();
    if (c->fd < 0 && hb_tcp_call_without_fd(c)) {
        return;
    }
    if (c->fd >= 0) {
        hb_tcp_be_near(c->tcp, c->fd);
    }
    if (c->fd < 0 ||
        (from != NULL && hb_tcp_bind(c->fd, from) < 0) ||
        (connect(c->fd, (const struct sockaddr *)at,
                 hb_sockaddr_len(at)) < 0 && errno != EINPROGRESS)) {
        hb_tcp_lost(c, errno);
        return;
    }
    hb_tcp_be_quick(c->tcp, c->fd);
    hb_tcp_arm(c, EPOLLOUT);
}

/* No address has answered at all: that may be a cut, which costs nothing when
 * it is over within the time that a connection would have waited. */
static int may_heal(const struct hb_tcp_conn *c)
{
    return !c->was_refused && spare_of(c->tcp, c->peer) == NULL &&
           hb_now_ns() - c->begun_ns < c->tcp->limit_s * NS_PER_S;
}

static void try_next(struct hb_tcp_conn *c)
{
    hb_tcp_close(c->tcp, &c->fd);
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
        hb_tcp_call(c, NULL);
    } else if (may_heal(c)) {
        c->attempt = 0;
        c->state = HB_TCP_CONNECTING; /* hb_tcp_again calls */
        c->since_ns = hb_now_ns();
    } else {
        if (c->no_port) { /* that says nothing of the peer */
            c->code = HPCBOOT_ERR_SYSTEM;
            hb_tcp_tell_no_port(c->why, sizeof c->why);
        }
        hb_tcp_give_up(c);
    }
}

void hb_tcp_again(struct hb_tcp_conn *c)
{
    c->why[0] = '\0';
    c->no_port = 0;
    hb_tcp_call(c, NULL);
}

void hb_tcp_silent(struct hb_tcp_conn *c)
{
    c->was_silent = 1;
    c->silent_at |= 1u << c->attempt;
    c->begun_ns = hb_now_ns(); /* the way was good until now */
    hb_tcp_lost(c, ETIMEDOUT);
}

static struct hb_tcp_conn *new_call(struct hb_tcp *t, uint32_t peer,
                                    struct hpcboot_error *err)
{
    struct hb_xport *x = t->x;
    struct hb_tcp_conn *c = hb_tcp_conn_new(t, -1, 1);
    struct hb_buf b;
    size_t len;
    const void *address = x->job.address(x->job.ctx, peer, &len);

    hb_buf_view(&b, address, len);
    c->peer = peer;
    c->begun_ns = hb_now_ns();
    if (hb_endpoint_get(&b, &t->ours, &c->endpoint) < 0) {
        hb_fail(err, HPCBOOT_ERR_HOST, "rank %u on %s has told no address",
                peer, x->job.host(x->job.ctx, peer));
        conn_free(c);
        return NULL;
    }
    return c;
}

struct hb_tcp_conn *hb_tcp_conn_to(struct hb_tcp *t, uint32_t peer,
                                   struct hpcboot_error *err)
{
    if (t->out[peer] == NULL) {
        struct hb_tcp_conn *c = new_call(t, peer, err);

        if (c == NULL) {
            return NULL;
        }
        t->out[peer] = c;
        hb_tcp_call(c, NULL);
    }
    return t->out[peer];
}

/* Loopback is called last, and in vain unless both nodes are on one host: that
 * it fails says nothing of the way to a peer that has other addresses. */
static int is_telling(const struct hb_endpoint *e, unsigned attempt)
{
    return !hb_sockaddr_is_loopback(&e->at[attempt]) ||
           hb_sockaddr_is_loopback(&e->at[0]);
}

static void attempt_failed(struct hb_tcp_conn *c, int error)
{
    char at[64];
    size_t len = strlen(c->why);

    c->was_refused |= hb_tcp_is_answer(c, error);
    c->no_port |= hb_tcp_is_without_port(error, &c->endpoint.at[c->attempt]);
    hb_sockaddr_text(&c->endpoint.at[c->attempt], at, sizeof at);
    if (is_telling(&c->endpoint, c->attempt)) {
        snprintf(c->why + len, sizeof c->why - len, "%s%s: %s",
                 len > 0 ? ", " : "", at,
                 error != 0 ? strerror(error) : "somebody else answers there");
    }
    try_next(c);
}

/* It has hung up before it knew of our answer, and may be calling again. What
 * waits here for its first word does not wait for that. */
static void hung_up(struct hb_tcp_conn *c)
{
    struct hb_tcp *t = c->tcp;
    struct hb_tcp_conn *next = spare_of(t, c->peer);
    struct hpcboot_error why;

    if (t->out[c->peer] != c) {
        hb_tcp_discard(c);
    } else if (next != NULL) {
        hb_tcp_keep(next);
    } else if (c->first == NULL) {
        t->out[c->peer] = NULL;
        hb_tcp_discard(c);
    } else if ((next = new_call(t, c->peer, &why)) != NULL) {
        hb_tcp_keep(next);
        hb_tcp_call(next, NULL);
    } else {
        bury(c, &why);
    }
}

static void closed_error(struct hb_tcp_conn *c, int error,
                         struct hpcboot_error *why)
{
    struct hb_xport *x = c->tcp->x;

    if (hb_tcp_is_taken(error)) {
        hb_tcp_tell_taken(c, why);
        return;
    }
    hb_fail(why, HPCBOOT_ERR_PEER_DEAD, "rank %u on %s %s: %s", c->peer,
            x->job.host(x->job.ctx, c->peer),
            error == ETIMEDOUT ? "is not heard any more"
                               : "has closed its connection",
            strerror(error));
}

/* Of a peer that sends by UCX. */
static void one_way_ended(struct hb_tcp_conn *c, int error)
{
    struct hpcboot_error why;

    if (!c->heard && hb_ucx_count(c->tcp->ucx, c->peer) == 0) {
        hb_tcp_discard(c);
        return;
    }
    if (!c->dying) { /* not all of it is here, perhaps */
        c->dying = 1;
        c->error = error;
        c->since_ns = hb_now_ns();
        c->tcp->n_dying++;
        epoll_ctl(c->tcp->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
        return;
    }
    c->tcp->n_dying--;
    closed_error(c, error, &why);
    fail_peer(c->tcp, c->peer, &why);
    hb_tcp_discard(c);
}

void hb_tcp_lost(struct hb_tcp_conn *c, int error)
{
    struct hpcboot_error why;

    c->tcp->taken |= hb_tcp_is_taken(error);
    if (c->pair != NULL && hb_pair_lost(c)) {
        return;
    }
    if (c->outgoing && c->state != HB_TCP_READY) {
        attempt_failed(c, error);
    } else if (c->state == HB_TCP_ANSWERED) {
        hung_up(c);
    } else if (c->state != HB_TCP_READY) {
        hb_tcp_discard(c);
    } else if (c->by == HB_BY_UCX && !c->outgoing) {
        one_way_ended(c, error);
    } else {
        if (error != 0) {
            snprintf(c->why, sizeof c->why, "%s", strerror(error));
        }
        if (c->by == HB_BY_UCX) {
            hb_tcp_give_up(c);
            return;
        }
        closed_error(c, error, &why);
        bury(c, &why);
    }
}

static void end_broken(struct hb_tcp_conn *c)
{
    if (c != NULL && c->broken != 0 && hb_tcp_read(c) <= 0) {
        hb_tcp_lost(c, c->broken);
    }
}

void hb_tcp_look_at_broken(struct hb_tcp *t)
{
    for (uint32_t i = 0; i < t->x->job.size && t->n_broken > 0; i++) {
        for (unsigned s = 0; s < HB_PAIR_SLOTS && t->pairs[i] != NULL; s++) {
            end_broken(hb_pair_other(t, i, s));
        }
        end_broken(t->out[i]);
    }
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
