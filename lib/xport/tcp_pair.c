/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Two ranks whose hosts share several networks (rails.c): one connection over
 * each. Both know from the cards that they are such a pair.
 *
 * What must stay in order goes by one connection, t->out[peer]: short messages,
 * offers, takes. The others are called by the lower rank, when the peer's first
 * word, which each says at once, tells that it knows of the pair, too, or,
 * where they would take too many descriptors, when the first long message is
 * due; and carry parts of long messages only (tcp_cut.c). A rail that cannot be
 * had is no rail.
 *
 * A rail that ends is not the end of the pair while another is left. So what
 * has been written in order is kept until the peer has told, in its next head,
 * that it came; and
 *
 *   - whoever notices the end closes its side, and says LOST with how much has
 *     come in order, over what is left; whoever hears it does the same;
 *   - who has sent in order by the one that ended chooses another, and waits
 *     for the peer's LOST: then it sends again what has not come, and goes on;
 *   - a message that had come in part is begun anew, in the same place;
 *   - when one more ends, all LOSTs are said again: some may be lost as well.
 *
 * A rail that is lost stays so. */
#include "config.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lib/base/str.h"
#include "lib/xport/tcp_pair.h"

/* Shorter messages are there before a second rail would have helped. */
#define OPEN_FROM (2 * HB_CUT_PART)
/* Before that only where connections to all ranks, over all rails, are no more
 * than this part of the descriptors that the process may have. */
#define FDS_SHARE 2u
/* What is kept at most for a peer that sends nothing itself. */
#define TELL_AFTER 64u
#define TELL_BYTES ((uint64_t)1 << 20)
/* What the system takes ahead of the wire: a slow rail shall not swallow what
 * a fast one would carry. */
#define NOT_SENT ((int)(4 * HB_CUT_PART))

static int in_order(const struct hb_tcp_item *i)
{
    return i->head.kind < HB_TCP_PART || i->head.kind == HB_TCP_DONE;
}

static struct hb_tcp_conn *first_of(const struct hb_tcp_pair *p)
{
    return p->tcp->out[p->peer];
}

/* ---- begin and end ---- */

static void insert(struct hb_tcp_conn *c, struct hb_tcp_item **at,
                   struct hb_tcp_item *i)
{
    i->next = *at;
    *at = i;
    if (i->next == NULL) {
        c->end = &i->next;
    }
}

static int read_card(struct hb_tcp *t, uint32_t rank, struct hb_endpoint *out)
{
    const struct hb_xport_job *job = &t->x->job;
    struct hb_buf b;
    size_t len;
    const void *card = job->address(job->ctx, rank, &len);

    hb_buf_view(&b, card, len);
    return hb_endpoint_get(&b, NULL, out);
}

void hb_pair_tune(const struct hb_tcp_conn *c)
{
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){NOT_SENT},
                     sizeof(int));
}

/* A first word that is short, ahead of all others: where the first network
 * takes none but short packets, a long one would leave the peer without the
 * rails by which it could come. */
static void greet(struct hb_tcp_conn *c)
{
    struct hb_tcp_item *i = hb_xcalloc(1, sizeof *i);

    i->head = (struct hb_tcp_head){.kind = HB_TCP_HEARD,
                                   .source = c->tcp->x->job.rank};
    insert(c, &c->first, i);
    c->tcp->n_unwritten++;
}

void hb_pair_begin(struct hb_tcp_conn *c)
{
    struct hb_tcp *t = c->tcp;
    uint32_t me = t->x->job.rank;
    struct hb_endpoint low, high;
    struct hb_rail rail[HB_RAILS_MOST];
    struct hb_tcp_pair *p;
    unsigned n;

    if (read_card(t, me < c->peer ? me : c->peer, &low) < 0 ||
        read_card(t, me < c->peer ? c->peer : me, &high) < 0 ||
        (n = hb_rails_between(&low, &high, rail)) < 2) {
        return;
    }
    p = hb_xcalloc(1, sizeof *p);
    p->tcp = t;
    p->peer = c->peer;
    memcpy(p->rail, rail, sizeof rail);
    p->n_rails = n;
    p->is_early = (uint64_t)t->x->job.size * n <=
                  hb_tcp_fds_most() / FDS_SHARE;
    p->awaits = -1;
    p->kept_end = &p->kept;
    p->slot[0] = c;
    c->pair = t->pairs[c->peer] = p;
    hb_pair_tune(c);
    if (p->is_early) {
        greet(c);
    }
}

static void free_items(struct hb_tcp_item *i)
{
    while (i != NULL) {
        struct hb_tcp_item *next = i->next;

        free(i);
        i = next;
    }
}

static void free_cuts(struct hb_cut *k)
{
    while (k != NULL) {
        struct hb_cut *next = k->next;

        if (k->req != NULL) {
            hb_back_free(k->req);
        }
        free(k);
        k = next;
    }
}

static void drop_half(struct hb_tcp_pair *p)
{
    if (p->half != NULL) {
        hb_match_forget(p->tcp->x, p->half);
        free(p->half->own);
        free(p->half);
        p->half = NULL;
    }
}

void hb_pair_end(struct hb_tcp_pair *p)
{
    if (p == NULL) {
        return;
    }
    if (p->half != NULL && p->half->req != NULL) {
        hb_back_free(p->half->req);
    }
    drop_half(p);
    free_items(p->kept);
    free_cuts(p->out);
    free_cuts(p->in);
    free(p);
}

/* Of a rail that has nothing in order. */
static void drop_items(struct hb_tcp_conn *c)
{
    for (const struct hb_tcp_item *i = c->first; i != NULL; i = i->next) {
        c->tcp->n_unwritten--;
    }
    free_items(c->first);
    c->first = NULL;
    c->end = &c->first;
}

void hb_pair_bury(struct hb_tcp *t, uint32_t peer,
                  const struct hpcboot_error *why)
{
    struct hb_tcp_pair *p = t->pairs[peer];

    if (p == NULL) {
        return;
    }
    t->pairs[peer] = NULL;
    for (unsigned i = 0; i < HB_PAIR_SLOTS; i++) {
        struct hb_tcp_conn *c = p->slot[i];

        if (c != NULL) {
            c->pair = NULL;
        }
        if (c != NULL && c != t->out[peer]) {
            drop_items(c);
            hb_tcp_fail_body(c, why);
            hb_tcp_discard(c);
        }
    }
    hb_cut_fail(p, why);
    if (p->half != NULL && p->half->req != NULL) {
        p->half->req->err = *why;
        hb_req_finish(p->half->req, why->code);
        p->half->req = NULL;
    }
    hb_pair_end(p);
}

/* ---- rails ---- */

/* The one that was there first is one of them, perhaps. */
static int is_used(const struct hb_tcp_pair *p, const struct hb_rail *rail)
{
    int is_low = p->tcp->x->job.rank < p->peer;
    struct sockaddr_storage here, there;
    socklen_t here_len = sizeof here, there_len = sizeof there;

    return p->slot[0] != NULL &&
           getsockname(p->slot[0]->fd, (struct sockaddr *)&here,
                       &here_len) == 0 &&
           getpeername(p->slot[0]->fd, (struct sockaddr *)&there,
                       &there_len) == 0 &&
           (hb_sockaddr_same(&here, is_low ? &rail->low : &rail->high) ||
            hb_sockaddr_same(&there, is_low ? &rail->high : &rail->low));
}

void hb_pair_open(struct hb_tcp_pair *p, uint64_t size)
{
    struct hb_tcp *t = p->tcp;
    struct hb_endpoint card;

    if (p->is_open || size < OPEN_FROM || t->x->job.rank > p->peer ||
        read_card(t, p->peer, &card) < 0) {
        return;
    }
    p->is_open = 1;
    card.n = 1;
    for (unsigned i = 0; i < p->n_rails; i++) {
        struct hb_tcp_conn *c;

        if (is_used(p, &p->rail[i])) {
            continue;
        }
        c = hb_tcp_conn_new(t, -1, 1);
        c->peer = p->peer;
        c->pair = p;
        c->slot = i + 1;
        card.at[0] = p->rail[i].high;
        c->endpoint = card;
        c->next = t->in;
        t->in = c;
        p->slot[c->slot] = c;
        hb_tcp_call(c, &p->rail[i].low);
    }
}

int hb_pair_join(struct hb_tcp_conn *c, unsigned slot)
{
    struct hb_tcp_pair *p = c->tcp->pairs[c->peer];

    if (p == NULL || slot == 0 || slot > p->n_rails ||
        (p->slot[slot] != NULL && p->slot[slot] != c) ||
        (p->gone >> slot & 1) != 0) {
        return 0;
    }
    p->slot[slot] = c;
    c->pair = p;
    c->slot = slot;
    hb_pair_tune(c);
    return 1;
}

struct hb_tcp_conn *hb_pair_other(const struct hb_tcp *t, uint32_t peer,
                                  unsigned slot)
{
    const struct hb_tcp_pair *p = t->pairs[peer];
    struct hb_tcp_conn *c = p != NULL ? p->slot[slot] : NULL;

    return c != t->out[peer] ? c : NULL;
}

void hb_pair_text(const struct hb_tcp_pair *p, char *text, size_t size)
{
    size_t len = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < HB_PAIR_SLOTS && len < size; i++) {
        const struct hb_tcp_conn *c = p->slot[i];
        struct sockaddr_storage at;
        socklen_t at_len = sizeof at;
        char one[64];

        if (c != NULL && c->state == HB_TCP_READY &&
            getpeername(c->fd, (struct sockaddr *)&at, &at_len) == 0) {
            hb_sockaddr_text(&at, one, sizeof one);
            len += (size_t)snprintf(text + len, size - len, "%s%s",
                                    len > 0 ? " + " : "", one);
        }
    }
}

/* ---- order ---- */

int hb_pair_may(struct hb_tcp_conn *c, struct hb_tcp_item *i)
{
    struct hb_tcp_pair *p = c->pair;

    if (i->done > 0) {
        return 1;
    }
    if (p->awaits >= 0 && in_order(i)) {
        return 0;
    }
    i->head.seq = p->told = p->got;
    p->untold = 0;
    return 1;
}

int hb_pair_keep(struct hb_tcp_pair *p, struct hb_tcp_item *i)
{
    if (!in_order(i)) {
        return 0;
    }
    if (i->size > 0) { /* its bytes are the user's again */
        const char *data = i->data;
        struct hb_tcp_item *own = hb_xmalloc(sizeof *own + i->size);

        *own = *i;
        own->data = memcpy(own + 1, data, i->size);
        free(i);
        i = own;
    }
    i->next = NULL;
    i->req = NULL;
    i->done = 0;
    *p->kept_end = i;
    p->kept_end = &i->next;
    return 1;
}

/* The peer has so much. */
static void acked(struct hb_tcp_pair *p, uint32_t n)
{
    while (p->kept != NULL && (int32_t)(n - p->acked) > 0) {
        struct hb_tcp_item *i = p->kept;

        p->kept = i->next;
        free(i);
        p->acked++;
    }
    if (p->kept == NULL) {
        p->kept_end = &p->kept;
    }
}

void hb_pair_came(struct hb_tcp_pair *p, uint64_t size)
{
    struct hb_tcp_head head = {.kind = HB_TCP_HEARD,
                               .source = p->tcp->x->job.rank};

    p->got++;
    p->untold += size;
    if (p->got - p->told >= TELL_AFTER || p->untold >= TELL_BYTES) {
        p->told = p->got;
        p->untold = 0;
        hb_tcp_queue(first_of(p), &head, NULL, 0, NULL);
        (void)hb_tcp_write(first_of(p));
    }
}

void hb_pair_heard(struct hb_tcp_conn *c)
{
    const struct hb_tcp_item head = {.head = c->head};

    acked(c->pair, c->head.seq);
    if (in_order(&head) && c->head.kind != HB_TCP_MESSAGE) {
        hb_pair_came(c->pair, 0);
    }
    if (c->pair->is_early) {
        c->pair->is_early = 0;
        hb_pair_open(c->pair, OPEN_FROM);
    }
}

struct hb_inbound *hb_pair_half(struct hb_tcp_pair *p)
{
    struct hb_inbound *in = p->half;

    p->half = NULL;
    return in;
}

/* ---- losses ---- */

/* Ahead of all that has not begun. */
static void tell_lost(struct hb_tcp_pair *p)
{
    struct hb_tcp_conn *c = first_of(p);

    for (unsigned slot = 0; slot < HB_PAIR_SLOTS; slot++) {
        struct hb_tcp_item *i;

        if ((p->gone >> slot & 1) == 0) {
            continue;
        }
        i = hb_xcalloc(1, sizeof *i);
        i->head = (struct hb_tcp_head){
            .kind = HB_TCP_LOST, .source = p->tcp->x->job.rank, .id = slot,
            .size = p->got};
        insert(c, c->first != NULL && c->first->done > 0 ? &c->first->next
                                                         : &c->first, i);
        p->tcp->n_unwritten++;
    }
}

/* What has not left: goes by `to` if it is in order, or is made anew. */
static void move_items(struct hb_tcp_conn *c, struct hb_tcp_conn *to)
{
    while (c->first != NULL) {
        struct hb_tcp_item *i = c->first;

        c->first = i->next;
        if (in_order(i)) {
            i->done = 0;
            i->next = NULL;
            *to->end = i;
            to->end = &i->next;
        } else {
            c->tcp->n_unwritten--;
            free(i);
        }
    }
    c->end = &c->first;
}

static void keep_half(struct hb_tcp_pair *p, struct hb_tcp_conn *c)
{
    struct hb_inbound *in = c->body;

    c->body = NULL;
    if (in != NULL && in->is_part) {
        free(in);
    } else if (in != NULL) {
        in->got = 0;
        p->half = in;
    }
}

static struct hb_tcp_conn *any_ready(const struct hb_tcp_pair *p,
                                     const struct hb_tcp_conn *but)
{
    for (unsigned i = 0; i < HB_PAIR_SLOTS; i++) {
        struct hb_tcp_conn *c = p->slot[i];

        if (c != NULL && c != but && c->state == HB_TCP_READY &&
            c->broken == 0) {
            return c;
        }
    }
    return NULL;
}

static void go_by(struct hb_tcp_pair *p, struct hb_tcp_conn *next)
{
    struct hb_tcp_conn *c = first_of(p);

    hb_tcp_leave_incoming(next);
    p->tcp->out[p->peer] = next;
    move_items(c, next);
    p->awaits = p->awaits >= 0 ? p->awaits : (int)c->slot;
}

int hb_pair_lost(struct hb_tcp_conn *c)
{
    struct hb_tcp_pair *p = c->pair;
    struct hb_tcp_conn *next = any_ready(p, c);

    if (first_of(p) == c && next == NULL) {
        return 0;
    }
    p->slot[c->slot] = NULL;
    c->pair = NULL;
    if (c->state == HB_TCP_READY) {
        p->gone |= 1u << c->slot;
        hb_cut_recall(p, c->slot);
        keep_half(p, c);
        if (first_of(p) == c) {
            go_by(p, next);
        } else {
            drop_items(c);
        }
        tell_lost(p);
    }
    hb_tcp_discard(c);
    for (unsigned i = 0; i < HB_PAIR_SLOTS; i++) {
        if (p->slot[i] != NULL) {
            (void)hb_tcp_write(p->slot[i]);
        }
    }
    return 1;
}

/* The peer says what has come; the rest follows. */
static void go_on(struct hb_tcp_pair *p, uint32_t got)
{
    struct hb_tcp_conn *c = first_of(p);
    struct hb_tcp_item **at = &c->first;

    p->awaits = -1;
    acked(p, got);
    while (*at != NULL && !in_order(*at)) {
        at = &(*at)->next;
    }
    while (p->kept != NULL) {
        struct hb_tcp_item *i = p->kept;

        p->kept = i->next;
        insert(c, at, i);
        at = &i->next;
        p->tcp->n_unwritten++;
    }
    p->kept_end = &p->kept;
    (void)hb_tcp_write(c);
}

int hb_pair_on_lost(struct hb_tcp_conn *c)
{
    struct hb_tcp_pair *p = c->pair;
    struct hb_tcp_conn *lost;

    if (c->head.id >= HB_PAIR_SLOTS || p->slot[c->head.id] == c) {
        return -EPROTO;
    }
    lost = p->slot[c->head.id];
    if (lost != NULL && !hb_pair_lost(lost)) {
        return -EPROTO;
    }
    if (p->awaits == (int)c->head.id) {
        go_on(p, (uint32_t)c->head.size);
    }
    return 0;
}
