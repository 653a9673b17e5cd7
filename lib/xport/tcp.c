/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The TCP carrier's messages: short ones are sent at once; a long one is
 * offered, and leaves when a receive has taken the offer, straight into that
 * receive's buffer. Connections are tcp_conn.c's. */
#include "config.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/xport/tcp_impl.h"

#define EVENTS 64
#define LOOK_NS ((int64_t)500 * 1000 * 1000)
/* The others have their turn after so many looks at the one that is awaited; or
 * after so many messages of its, where it is all that leads to its peer, so
 * that no others bring parts of the same. */
#define HOT_LOOKS 3u
#define HOT_MESSAGES 30u
/* An address that drops packets is given up; another may answer. */
#define CONNECT_NS ((int64_t)5 * 1000 * 1000 * 1000)
#define ARM_TRIES 3 /* what arming meets is often gone after one progress */
#define PATIENCE_MOST 4u /* doublings of that for an answer */
#define UNANSWERED 3u /* questions in a row */

static int put(struct hb_tcp *t, uint32_t peer, const struct hb_tcp_head *head,
               const char *data, size_t size, struct hb_xport_req *req,
               struct hpcboot_error *err)
{
    struct hb_tcp_conn *c = hb_tcp_conn_to(t, peer, err);

    if (c == NULL) {
        return HPCBOOT_ERR_HOST;
    }
    if (c->state == HB_TCP_DEAD) {
        return hb_fail(err, c->code != 0 ? c->code : HPCBOOT_ERR_PEER_DEAD,
                       "rank %u on %s cannot be reached: %s", peer,
                       t->x->job.host(t->x->job.ctx, peer), c->why);
    }
    hb_tcp_queue(c, head, data, size, req);
    (void)hb_tcp_write(c);
    return 0;
}

/* A rank may have a hundred thousand of them under way; they come off in the
 * order in which they were put on, mostly. */
static void put_on(struct hb_row rows[HB_MATCH_ROWS], struct hb_xport_req *r)
{
    hb_row_append(&rows[r->id % HB_MATCH_ROWS], &r->posted[HB_POSTED_ALL], r);
}

int hb_tcp_send(struct hb_tcp *t, struct hb_xport_req *req,
                struct hpcboot_error *err)
{
    struct hb_tcp_head head = {
        .kind = HB_TCP_MESSAGE, .source = t->x->job.rank,
        .context = req->context, .tag = req->tag, .size = req->size,
    };
    uint64_t weight = hb_xport_weight(req->size);
    int rc;

    if (req->size <= HB_TCP_EAGER &&
        t->ahead[req->peer] + weight <= HB_TCP_AHEAD) {
        t->ahead[req->peer] += weight;
        return put(t, (uint32_t)req->peer, &head, req->data, req->size, req,
                   err);
    }
    head.kind = HB_TCP_OFFER;
    head.id = req->id = ++t->x->next_id;
    put_on(t->offers, req);
    rc = put(t, (uint32_t)req->peer, &head, NULL, 0, NULL, err);
    if (rc < 0) {
        (void)hb_tcp_take_off(t->offers, req->id, (uint32_t)req->peer);
    }
    return rc;
}

/* The sender is told whenever a quarter of what it may send ahead has been
 * received, over the connection that is there. Without one the sum is kept for
 * a later message: a sender that is too far ahead is not stuck, but offers. */
void hb_tcp_received(struct hb_tcp *t, uint32_t source, uint64_t weight)
{
    struct hb_tcp_head head = {.kind = HB_TCP_CREDIT,
                               .source = t->x->job.rank};
    const struct hb_tcp_conn *c = t->out[source];

    t->owed[source] += weight;
    if (t->owed[source] >= HB_TCP_AHEAD / 4 && c != NULL &&
        c->state == HB_TCP_READY) {
        head.size = t->owed[source];
        t->owed[source] = 0;
        (void)put(t, source, &head, NULL, 0, NULL, NULL);
    }
}

void hb_tcp_on_credit(struct hb_tcp *t, uint32_t peer,
                      const struct hb_tcp_head *head)
{
    t->ahead[peer] -= head->size < t->ahead[peer] ? head->size
                                                  : t->ahead[peer];
}

int hb_tcp_is_with(const struct hb_xport_req *r, uint32_t peer)
{
    return (r->is_recv ? r->info.source : r->peer) == (int)peer;
}

struct hb_xport_req *hb_tcp_take_off(struct hb_row rows[HB_MATCH_ROWS],
                                     uint64_t id, uint32_t peer)
{
    struct hb_row *row = &rows[id % HB_MATCH_ROWS];

    for (const struct hb_link *l = row->first; l != NULL; l = l->next) {
        struct hb_xport_req *r = l->of;

        if (r->id == id && hb_tcp_is_with(r, peer)) {
            hb_row_take_out(row, l);
            return r;
        }
    }
    return NULL;
}

void hb_tcp_accept_offer(struct hb_tcp *t, struct hb_inbound *in,
                         struct hb_xport_req *req)
{
    struct hb_tcp_head head = {
        .kind = HB_TCP_TAKE, .source = t->x->job.rank, .id = in->offer_id,
    };
    int rc;

    head.take = req->id = ++t->x->next_id;
    req->info = (struct hb_xport_info){(int)in->source, in->tag,
                                       (size_t)in->size};
    put_on(t->takes, req);
    rc = put(t, in->source, &head, NULL, 0, NULL, &req->err);
    if (rc < 0) {
        (void)hb_tcp_take_off(t->takes, req->id, in->source);
        hb_req_finish(req, rc);
    } else {
        if (t->pairs[in->source] != NULL) {
            hb_pair_open(t->pairs[in->source], in->size);
        }
        hb_tcp_received(t, in->source, 0); /* who offers may lack credit */
    }
    free(in);
}

/* To take it as nobody: receives have numbers from 1. */
void hb_tcp_decline_offer(struct hb_tcp *t, struct hb_inbound *in)
{
    struct hb_tcp_head head = {
        .kind = HB_TCP_TAKE, .source = t->x->job.rank, .id = in->offer_id,
    };

    hb_xport_dropped(t->x, in);
    (void)put(t, in->source, &head, NULL, 0, NULL, NULL);
    hb_tcp_received(t, in->source, 0); /* who offers may lack credit */
    free(in);
}

/* Somebody takes what was offered to it, or never will. */
int hb_tcp_on_take(struct hb_tcp *t, uint32_t peer,
                   const struct hb_tcp_head *taken)
{
    struct hb_xport_req *r = hb_tcp_take_off(t->offers, taken->id, peer);
    struct hb_tcp_head head = {
        .kind = HB_TCP_DATA, .source = t->x->job.rank, .take = taken->take,
    };
    int rc;

    if (r == NULL) {
        return -EPROTO;
    }
    if (taken->take == 0) {
        hb_req_finish(r, 0);
        return 0;
    }
    if (t->pairs[peer] != NULL) {
        return hb_cut_send(t->pairs[peer], r, taken->take);
    }
    head.size = r->size;
    rc = put(t, peer, &head, r->copy != NULL ? r->copy : r->data, r->size, r,
             &r->err);
    if (rc < 0) {
        hb_req_finish(r, rc);
    }
    return 0;
}

static struct hb_inbound *inbound_of(uint32_t peer,
                                     const struct hb_tcp_head *head)
{
    struct hb_inbound *in = hb_xcalloc(1, sizeof *in);

    in->source = peer;
    in->context = head->context;
    in->tag = head->tag;
    in->size = head->size;
    return in;
}

void hb_tcp_on_offer(struct hb_tcp *t, uint32_t peer,
                     const struct hb_tcp_head *head)
{
    struct hb_inbound *in = inbound_of(peer, head);
    struct hb_xport_req *r;

    in->is_offer = 1;
    in->offer_id = head->id;
    if (hb_match_is_over(t->x, head->context)) {
        hb_tcp_decline_offer(t, in);
        return;
    }
    r = hb_match_posted(t->x, in);
    if (r == NULL) {
        hb_match_keep(t->x, in);
    } else {
        hb_tcp_accept_offer(t, in, r);
    }
}

/* It had begun to come by a rail that is lost. */
static int begin_anew(struct hb_tcp_conn *c, struct hb_inbound *in)
{
    c->body = in;
    return in->size == c->head.size && in->context == c->head.context &&
                   in->tag == c->head.tag ? 0 : -EPROTO;
}

static int on_message(struct hb_tcp_conn *c)
{
    struct hb_inbound *in = c->pair != NULL ? hb_pair_half(c->pair) : NULL;

    if (in != NULL) {
        return begin_anew(c, in);
    }
    if (c->head.size > HB_TCP_EAGER) {
        return -EPROTO;
    }
    if (c->head.take != 0) {
        hb_tcp_answer(c);
    }
    in = inbound_of(c->peer, &c->head);
    in->req = hb_match_posted(c->tcp->x, in);
    if (in->req == NULL) {
        in->own = hb_xmalloc((size_t)in->size + 1);
        hb_match_keep(c->tcp->x, in);
    } else {
        hb_tcp_received(c->tcp, c->peer, hb_xport_weight(in->size));
    }
    c->body = in;
    return 0;
}

struct hb_inbound *hb_tcp_on_data(struct hb_tcp *t, uint32_t peer,
                                  const struct hb_tcp_head *head)
{
    struct hb_xport_req *r = hb_tcp_take_off(t->takes, head->take, peer);
    struct hb_inbound *in;

    if (r == NULL) {
        return NULL;
    }
    in = inbound_of(peer, head);
    in->tag = r->info.tag;
    in->req = r;
    in->size = r->info.size;
    return in;
}

static int on_data(struct hb_tcp_conn *c)
{
    c->body = hb_tcp_on_data(c->tcp, c->peer, &c->head);
    return c->body == NULL || c->body->size != c->head.size ? -EPROTO : 0;
}

static int on_rail_head(struct hb_tcp_conn *c)
{
    switch (c->head.kind) {
    case HB_TCP_PART:
        return hb_cut_on_part(c);
    case HB_TCP_DONE:
        hb_cut_on_done(c);
        return 0;
    case HB_TCP_LOST:
        return hb_pair_on_lost(c);
    case HB_TCP_HEARD:
        return 0;
    default:
        return -EPROTO;
    }
}

int hb_tcp_on_head(struct hb_tcp_conn *c)
{
    if (c->by == HB_BY_UCX && (c->outgoing || c->head.kind != HB_TCP_BYE)) {
        return -EPROTO; /* all else comes by UCX */
    }
    if (c->state == HB_TCP_ANSWERED && hb_tcp_confirmed(c) < 0) {
        return -EPROTO;
    }
    c->heard = 1;
    if (c->pair != NULL) {
        hb_pair_heard(c);
    }
    switch (c->head.kind) {
    case HB_TCP_MESSAGE:
        return on_message(c);
    case HB_TCP_OFFER:
        hb_tcp_on_offer(c->tcp, c->peer, &c->head);
        return 0;
    case HB_TCP_TAKE:
        return hb_tcp_on_take(c->tcp, c->peer, &c->head);
    case HB_TCP_DATA:
        return on_data(c);
    case HB_TCP_CREDIT:
        hb_tcp_on_credit(c->tcp, c->peer, &c->head);
        return 0;
    case HB_TCP_BYE:
        c->said_bye = 1;
        c->bye = c->head.size;
        return 0;
    default:
        return c->pair != NULL ? on_rail_head(c) : -EPROTO;
    }
}

void hb_tcp_on_body(struct hb_tcp_conn *c)
{
    struct hb_inbound *in = c->body;

    c->body = NULL;
    if (in->is_part) {
        hb_cut_part_came(c, in);
        return;
    }
    if (c->pair != NULL) {
        hb_pair_came(c->pair, in->size);
    }
    in->complete = 1;
    c->met = in->req != NULL;
    if (c->met) {
        hb_inbound_finish(in);
    }
}

/* What comes before messages can. */
static int on_early_event(struct hb_tcp_conn *c)
{
    if (c->state == HB_TCP_CONNECTING) {
        return hb_tcp_connected(c);
    }
    if (c->state == HB_TCP_HELD) { /* its end is all that may come; an event */
        if (!hb_tcp_has_hung_up(c)) { /* of its greeting may be older */
            return 0;
        }
        hb_tcp_discard(c);
        return 1;
    }
    if (c->outgoing) {
        (void)hb_tcp_read_answer(c);
        return c->state == HB_TCP_READY ? 1 + hb_tcp_write(c) : 1;
    }
    return hb_tcp_read_greeting(c);
}

static int on_event(struct hb_tcp_conn *c, uint32_t events)
{
    int rc = 0;

    if (c->state == HB_TCP_DEAD) {
        return 0;
    }
    if (c->state != HB_TCP_READY && c->state != HB_TCP_ANSWERED) {
        return on_early_event(c);
    }
    if (c->by == HB_BY_TCP) {
        c->tcp->hot = c;
    }
    if (events & EPOLLOUT) {
        rc = hb_tcp_write(c);
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        int got = hb_tcp_read(c);

        if (got < 0) {
            hb_tcp_lost(c, -got);
        }
        rc += got != 0;
    }
    return rc;
}

/* ETIMEDOUT where what was sent is acknowledged by nobody: then the peer's host
 * is gone, or the way there. A peer that only does not read still answers, also
 * when it has no room left and is only asked for some. The system asks ever
 * more rarely, and one question may be on its way: several are not. Of a socket
 * that the program has closed no event tells, either; 0: all is well. */
static int end_of(const struct hb_tcp_conn *c)
{
    struct tcp_info i;
    socklen_t len = sizeof i;

    if (c->state == HB_TCP_CONNECTING || c->state == HB_TCP_DEAD) {
        return 0;
    }
    if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &i, &len) < 0) {
        return hb_tcp_is_taken(errno) ? errno : 0;
    }
    return (i.tcpi_retransmits > 0 || i.tcpi_probes >= UNANSWERED) &&
           i.tcpi_last_ack_recv > c->tcp->limit_s * 1000u ? ETIMEDOUT : 0;
}

static void look_at_connecting(struct hb_tcp_conn *c, int64_t now)
{
    unsigned doubled = c->rounds < PATIENCE_MOST ? c->rounds : PATIENCE_MOST;
    int64_t waited = now - c->since_ns;

    if (c->state == HB_TCP_CONNECTING && c->fd < 0) {
        hb_tcp_again(c);
    } else if (c->state == HB_TCP_CONNECTING && waited > CONNECT_NS) {
        hb_tcp_lost(c, ETIMEDOUT);
    } else if (c->state == HB_TCP_GREETING &&
               waited > CONNECT_NS << doubled && hb_tcp_may_hang_up(c)) {
        hb_tcp_silent(c);
    }
}

static void look_at_conn(struct hb_tcp_conn *c, int64_t now)
{
    int error = c != NULL ? end_of(c) : 0;

    if (error != 0) {
        hb_tcp_lost(c, error);
    } else if (c != NULL) {
        look_at_connecting(c, now);
    }
}

static void look_at_clock(struct hb_tcp *t)
{
    int64_t now = hb_now_ns();

    if (now - t->looked_ns < LOOK_NS) {
        return;
    }
    t->looked_ns = now;
    for (uint32_t i = 0; i < t->x->job.size; i++) {
        for (unsigned s = 0; s < HB_PAIR_SLOTS && t->pairs[i] != NULL; s++) {
            look_at_conn(hb_pair_other(t, i, s), now);
        }
        look_at_conn(t->out[i], now);
    }
}

static int look_at_events(struct hb_tcp *t)
{
    struct epoll_event events[EVENTS];
    int moved = 0, n = epoll_wait(t->epoll_fd, events, EVENTS, 0);

    if (n < 0 && (hb_tcp_is_taken(errno) || errno == EINVAL)) {
        hb_tcp_without_events(t);
    }
    for (int i = 0; i < n; i++) {
        if (events[i].data.ptr == NULL) {
            hb_tcp_accept(t);
            moved = 1;
        } else {
            moved += on_event(events[i].data.ptr, events[i].events);
        }
    }
    return moved;
}

void hb_tcp_await(struct hb_tcp *t, uint32_t source)
{
    struct hb_tcp_conn *c = t->out[source];

    if (c != NULL && c->state == HB_TCP_READY && c->by == HB_BY_TCP) {
        t->hot = c;
    }
}

/* Who is awaited, or spoke last, is who speaks next, mostly: its socket is
 * looked at first, and at the others every few turns. */
static int look_at_hot(struct hb_tcp *t)
{
    int rc, several;

    if (t->hot == NULL || t->hot_turns >= HOT_MESSAGES) {
        t->hot_turns = 0;
        return 0;
    }
    several = t->hot->pair != NULL || t->hot->last == 0;
    rc = hb_tcp_read(t->hot);
    t->hot_turns += rc == 0 || several ? HOT_MESSAGES / HOT_LOOKS : 1;
    if (rc < 0) {
        hb_tcp_lost(t->hot, -rc);
    }
    return rc != 0 ? 1 : -1;
}

int hb_tcp_progress(struct hb_tcp *t)
{
    int moved;

    hb_tcp_free_gone(t);
    moved = look_at_hot(t);
    if (moved == 0) {
        moved = look_at_events(t);
        look_at_clock(t); /* who always has something to read hears of a cut */
    }
    moved = moved < 0 ? 0 : moved;
    if (t->ucx != NULL) {
        moved += hb_ucx_progress(t->ucx);
    }
    if (t->n_dying > 0) {
        hb_tcp_look_at_dying(t);
    }
    if (t->n_broken > 0) {
        hb_tcp_look_at_broken(t);
    }
    return moved;
}

enum hb_idle hb_tcp_arm_idle(struct hb_tcp *t, int fds[2])
{
    fds[0] = t->epoll_fd;
    fds[1] = t->ucx != NULL ? hb_ucx_event_fd(t->ucx) : -1;
    for (int i = 0; t->ucx != NULL && i < ARM_TRIES; i++) {
        if (hb_ucx_progress(t->ucx) > 0) {
            return HB_IDLE_NOT;
        }
        if (fds[1] >= 0 && hb_ucx_arm(t->ucx)) {
            return HB_IDLE_LONG;
        }
    }
    return t->ucx == NULL ? HB_IDLE_LONG : HB_IDLE_BRIEFLY;
}

/* The connection that we opened; else the one that the peer has. */
static struct hb_tcp_conn *any_conn(const struct hb_tcp *t, uint32_t rank)
{
    struct hb_tcp_conn *c = t->out[rank];

    if (c == NULL || c->state != HB_TCP_READY) {
        for (c = t->in; c != NULL && !(c->state == HB_TCP_READY &&
                                       c->peer == rank); c = c->next) {
        }
    }
    return c;
}

const char *hb_tcp_transport(struct hb_tcp *t, uint32_t rank, char *detail,
                             size_t size)
{
    struct hb_tcp_conn *c = any_conn(t, rank);
    struct sockaddr_storage at;
    socklen_t len = sizeof at;
    char text[HB_PAIR_SLOTS * 64], why[sizeof t->ucx_why];

    if (c == NULL) {
        return hb_carrier_name(HB_BY_NONE);
    }
    if (c->by == HB_BY_UCX && c->ep != NULL) {
        hb_ucx_text(c, detail, size);
    } else if (c->by == HB_BY_TCP &&
               getpeername(c->fd, (struct sockaddr *)&at, &len) == 0) {
        if (c->pair != NULL) {
            hb_pair_text(c->pair, text, sizeof text);
        } else {
            hb_sockaddr_text(&at, text, sizeof text);
        }
        hb_tcp_why_not_ucx(t, rank, why, sizeof why);
        snprintf(detail, size, "%s%s%s", text,
                 why[0] != '\0' ? "; not by UCX: " : "", why);
    }
    return hb_carrier_name(c->by);
}

int hb_tcp_busy(const struct hb_tcp *t)
{
    return t->n_unwritten > 0;
}
