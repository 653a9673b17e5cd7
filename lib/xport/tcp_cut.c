/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Long messages of a pair with rails go in parts of one length. A rail that
 * has nothing else to write takes the next part: so each carries as much as
 * its rate is, and a short message waits for one part at most. What is left is
 * not for a rail that would take longer for a part than another one for all.
 *
 * The receiver says DONE when all parts are there; until then the sender's
 * buffer is in use, since what a rail had taken goes by another when it is
 * lost. So a part may come twice: the second goes nowhere. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/xport/tcp_pair.h"

static struct hb_cut *new_cut(struct hb_cut **list, struct hb_xport_req *r,
                              uint64_t size)
{
    uint64_t n = size > 0 ? (size + HB_CUT_PART - 1) / HB_CUT_PART : 1;
    struct hb_cut *k = hb_xcalloc(1, sizeof *k + (size_t)n);

    k->req = r;
    k->size = size;
    k->n = k->left = n;
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = k;
    return k;
}

static uint64_t part_size(const struct hb_cut *k, uint64_t i)
{
    return i + 1 < k->n ? HB_CUT_PART : k->size - i * HB_CUT_PART;
}

static void take_out(struct hb_cut **list, struct hb_cut *k)
{
    while (*list != k) {
        list = &(*list)->next;
    }
    *list = k->next;
}

struct hb_xport_req *hb_cut_req(const struct hb_cut *k)
{
    return k->req;
}

/* ---- the sender ---- */

int hb_cut_send(struct hb_tcp_pair *p, struct hb_xport_req *r, uint64_t take)
{
    struct hb_cut *k = new_cut(&p->out, r, r->size);

    k->id = r->id;
    k->take = take;
    p->n_left += k->left;
    p->tcp->n_unwritten++; /* until it is done */
    hb_pair_open(p, r->size);
    (void)hb_cut_spread(p);
    return 0;
}

static const char *bytes_of(const struct hb_xport_req *r)
{
    return r->copy != NULL ? r->copy : r->data;
}

static int queue_next(struct hb_tcp_conn *c)
{
    struct hb_cut *k = c->pair->out;
    struct hb_tcp_head head = {.kind = HB_TCP_PART,
                               .source = c->tcp->x->job.rank};
    uint64_t i = 0;

    while (k != NULL && k->left == 0) {
        k = k->next;
    }
    if (k == NULL) {
        return 0;
    }
    while (k->part[i] != 0) {
        i++;
    }
    k->part[i] = (unsigned char)(c->slot + 1);
    k->left--;
    c->pair->n_left--;
    head.id = k->id;
    head.take = k->take;
    head.tag = i * HB_CUT_PART;
    head.size = part_size(k, i);
    hb_tcp_queue(c, &head,
                 head.size > 0 ? bytes_of(k->req) + head.tag : NULL,
                 (size_t)head.size, NULL);
    return 1;
}

static int is_usable(const struct hb_tcp_conn *c)
{
    return c != NULL && c->state == HB_TCP_READY && c->broken == 0;
}

/* All 0 where there is nothing to choose from; also while what is in order
 * waits, as its rail takes no part then, fast as it may be. */
static int look_at_paces(const struct hb_tcp_pair *p,
                         struct hb_pace pace[HB_PAIR_SLOTS])
{
    unsigned n = 0;

    memset(pace, 0, HB_PAIR_SLOTS * sizeof *pace);
    for (unsigned i = 0; i < HB_PAIR_SLOTS; i++) {
        n += (unsigned)is_usable(p->slot[i]);
    }
    if (n < 2 || p->awaits >= 0) {
        return 0;
    }
    for (unsigned i = 0; i < HB_PAIR_SLOTS; i++) {
        if (is_usable(p->slot[i])) {
            hb_pace_look(p->slot[i], &pace[i]);
        }
    }
    return 1;
}

static int takes_part(const struct hb_tcp_pair *p, unsigned slot,
                      const struct hb_pace pace[HB_PAIR_SLOTS])
{
    struct hb_tcp_conn *c = p->slot[slot];

    return is_usable(c) && c->first == NULL &&
           hb_pace_is_worth(pace, HB_PAIR_SLOTS, slot,
                            p->n_left * HB_CUT_PART) &&
           queue_next(c);
}

/* One each in turn: a rail whose system takes all at once shall not. */
int hb_cut_spread(struct hb_tcp_pair *p)
{
    struct hb_pace pace[HB_PAIR_SLOTS];
    int moved = 0, more, looked;

    if (p->spreading || p->n_left == 0) {
        return 0;
    }
    p->spreading = 1;
    looked = look_at_paces(p, pace);
    do {
        more = 0;
        for (unsigned i = 0; i < HB_PAIR_SLOTS && p->n_left > 0; i++) {
            if (takes_part(p, i, pace)) {
                p->slot[i]->pace.has_part |= looked;
                pace[i].queued += HB_CUT_PART;
                if (looked) { /* of one that is tried again, one */
                    pace[i].rate = p->slot[i]->pace.rate;
                }
                moved += hb_tcp_write(p->slot[i]);
                more = 1;
            }
        }
    } while (more);
    p->spreading = 0;
    return moved;
}

void hb_cut_recall(struct hb_tcp_pair *p, unsigned slot)
{
    for (struct hb_cut *k = p->out; k != NULL; k = k->next) {
        for (uint64_t i = 0; i < k->n; i++) {
            if (k->part[i] == slot + 1) {
                k->part[i] = 0;
                k->left++;
                p->n_left++;
            }
        }
    }
}

/* A part that is being written; it is the first of its queue. */
static struct hb_tcp_item *part_of(const struct hb_tcp_conn *c, uint64_t id)
{
    struct hb_tcp_item *i = c != NULL ? c->first : NULL;

    while (i != NULL && (i->head.kind != HB_TCP_PART || i->head.id != id)) {
        i = i->next;
    }
    return i;
}

/* The rest of it has bytes of its own from now on. */
static void detach(struct hb_tcp_conn *c, struct hb_tcp_item *i)
{
    struct hb_tcp_item **at = &c->first, *own;

    own = hb_xmalloc(sizeof *own + i->size);
    *own = *i;
    own->data = memcpy(own + 1, i->data, i->size);
    while (*at != i) {
        at = &(*at)->next;
    }
    *at = own;
    if (own->next == NULL) {
        c->end = &own->next;
    }
    free(i);
}

void hb_cut_on_done(struct hb_tcp_conn *c)
{
    struct hb_tcp_pair *p = c->pair;
    struct hb_pace pace[HB_PAIR_SLOTS];
    struct hb_cut *k = p->out;

    while (k != NULL && k->id != c->head.id) {
        k = k->next;
    }
    if (k == NULL) {
        return;
    }
    (void)look_at_paces(p, pace); /* before they have nothing to carry */
    for (unsigned s = 0; s < HB_PAIR_SLOTS; s++) {
        struct hb_tcp_item *i = part_of(p->slot[s], k->id);

        if (i != NULL && i->size > 0) { /* it comes twice */
            detach(p->slot[s], i);
        }
    }
    take_out(&p->out, k);
    p->n_left -= k->left;
    p->tcp->n_unwritten--;
    hb_req_finish(k->req, 0);
    free(k);
}

void hb_cut_recopy(struct hb_tcp_pair *p, const struct hb_xport_req *r)
{
    for (unsigned s = 0; s < HB_PAIR_SLOTS; s++) {
        struct hb_tcp_item *i = part_of(p->slot[s], r->id);

        if (i != NULL && i->size > 0) {
            i->data = r->copy + i->head.tag;
        }
    }
}

/* ---- the receiver ---- */

static struct hb_cut *cut_of(struct hb_tcp_conn *c)
{
    struct hb_tcp_pair *p = c->pair;
    struct hb_cut *k = p->in;
    struct hb_xport_req *r;

    while (k != NULL && k->take != c->head.take) {
        k = k->next;
    }
    if (k != NULL) {
        return k;
    }
    r = hb_tcp_take_off(c->tcp->takes, c->head.take, c->peer);
    if (r == NULL) {
        return NULL;
    }
    k = new_cut(&p->in, r, r->info.size);
    k->id = c->head.id;
    k->take = c->head.take;
    return k;
}

int hb_cut_on_part(struct hb_tcp_conn *c)
{
    struct hb_cut *k = cut_of(c);
    uint64_t i = c->head.tag / HB_CUT_PART;
    struct hb_inbound *in;

    if (c->head.size > HB_CUT_PART ||
        (k != NULL && (c->head.tag % HB_CUT_PART != 0 || i >= k->n ||
                       c->head.size != part_size(k, i)))) {
        return -EPROTO;
    }
    in = hb_xcalloc(1, sizeof *in);
    in->source = c->peer;
    in->size = c->head.size;
    in->is_part = 1;
    in->at = c->head.tag;
    in->cut = k != NULL && k->part[i] == 0 ? k : NULL;
    c->body = in;
    return 0;
}

static void finish(struct hb_tcp_pair *p, struct hb_cut *k)
{
    struct hb_inbound *in = hb_xcalloc(1, sizeof *in);
    struct hb_tcp_head head = {.kind = HB_TCP_DONE, .id = k->id,
                               .source = p->tcp->x->job.rank};

    for (unsigned s = 0; s < HB_PAIR_SLOTS; s++) {
        if (p->slot[s] != NULL && p->slot[s]->body != NULL &&
            p->slot[s]->body->cut == k) {
            p->slot[s]->body->cut = NULL;
        }
    }
    in->source = p->peer;
    in->tag = k->req->info.tag;
    in->size = in->got = k->size;
    in->req = k->req;
    hb_inbound_finish(in);
    take_out(&p->in, k);
    free(k);
    hb_tcp_queue(p->tcp->out[p->peer], &head, NULL, 0, NULL);
    (void)hb_tcp_write(p->tcp->out[p->peer]);
}

void hb_cut_part_came(struct hb_tcp_conn *c, struct hb_inbound *in)
{
    struct hb_cut *k = in->cut;
    uint64_t i = in->at / HB_CUT_PART;

    free(in);
    if (k != NULL && k->part[i] == 0) {
        k->part[i] = 1;
        k->left--;
        if (k->left == 0) {
            finish(c->pair, k);
        }
    }
}

/* ---- the end ---- */

static void fail_all(struct hb_cut *k, const struct hpcboot_error *why)
{
    for (; k != NULL; k = k->next) {
        k->req->err = *why;
        hb_req_finish(k->req, why->code);
        k->req = NULL;
    }
}

void hb_cut_fail(struct hb_tcp_pair *p, const struct hpcboot_error *why)
{
    for (const struct hb_cut *k = p->out; k != NULL; k = k->next) {
        p->tcp->n_unwritten--;
    }
    fail_all(p->out, why);
    fail_all(p->in, why);
}
