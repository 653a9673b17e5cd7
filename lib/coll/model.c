/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The choice between the ways of a call: the cheapest by model_cost.c, in the
 * cheapest pieces, unless a rule of the user's says otherwise.
 *
 * Everything here is a function of its arguments: all ranks of a node have the
 * same page, and so choose alike. */

#include "config.h"

#include "lib/coll/model_impl.h"

/* Below this a choice costs more than it gains; but a chain saves ranks that
 * share cores from reading a line of every rank below them. */
#define CHOOSE_LEAST ((size_t)1 << 10)
/* Shorter calls use the bytes of the cell for data; a shared one needs them
 * to tell where its buffers are. */
#define SHARED_LEAST ((size_t)4 << 10)
#define PIECES 4

void hb_model_typical(struct hb_coll_model *m)
{
    *m = (struct hb_coll_model){
        .round_ns = 90, .switch_ns = 1500, .put_ps = 22, .get_ps = 30,
        .stream_ps = 24, .fold_ps = 14, .copy_ps = 14, .far_ns = HB_FAR_NS,
        .source = HB_MODEL_TYPICAL};
}

size_t hb_model_small(int p)
{
    return p == 2 ? HB_SHM_SMALL_OF_TWO : HB_SHM_SMALL;
}

/* The v-kinds have none: a rank's own count says nothing of the others'. */
static bool has_one_length(enum hpcboot_coll coll)
{
    return coll != HPCBOOT_COLL_SCATTERV && coll != HPCBOOT_COLL_GATHERV &&
           coll != HPCBOOT_COLL_ALLGATHERV &&
           coll != HPCBOOT_COLL_ALLTOALLV &&
           coll != HPCBOOT_COLL_REDUCE_SCATTER;
}

static bool can_read(enum hpcboot_coll coll)
{
    return hb_model_gathers(coll) || hb_model_sends_root(coll) ||
           coll == HPCBOOT_COLL_ALLGATHER ||
           coll == HPCBOOT_COLL_ALLGATHERV ||
           coll == HPCBOOT_COLL_ALLTOALL || coll == HPCBOOT_COLL_ALLTOALLV ||
           hb_model_cma_folds(coll);
}

size_t hb_model_room(const struct hb_coll_model *m, int p)
{
    return m->cache_kib > 0 ? (size_t)m->cache_kib << 10
                            : ((size_t)m->l3_kib << 10) *
                                  hb_min(m->l3s, (size_t)p);
}

static bool is_possible(enum hb_way way, enum hpcboot_coll coll, int p,
                        size_t bytes)
{
    switch (way) {
    case HB_WAY_CMA:
        return bytes >= SHARED_LEAST && can_read(coll) &&
               (p == 2 || (coll != HPCBOOT_COLL_EXSCAN &&
                           coll != HPCBOOT_COLL_ALLREDUCE));
    case HB_WAY_SLICES:
        return p > 2 && (coll == HPCBOOT_COLL_ALLREDUCE ||
                         coll == HPCBOOT_COLL_REDUCE);
    case HB_WAY_CHAIN:
        return p > 2 && (coll == HPCBOOT_COLL_SCAN ||
                         coll == HPCBOOT_COLL_EXSCAN);
    case HB_WAY_LAST:
        return coll == HPCBOOT_COLL_ALLREDUCE && p > 2 &&
               bytes <= HB_SHM_SMALL;
    case HB_WAY_SHARED:
        return bytes >= SHARED_LEAST &&
               (coll == HPCBOOT_COLL_BCAST || coll == HPCBOOT_COLL_REDUCE ||
                coll == HPCBOOT_COLL_ALLREDUCE ||
                coll == HPCBOOT_COLL_ALLGATHER ||
                coll == HPCBOOT_COLL_ALLTOALL ||
                coll == HPCBOOT_COLL_REDUCE_SCATTER_BLOCK);
    default:
        return true;
    }
}

static size_t piece_of(enum hpcboot_coll coll, int i)
{
    return has_one_length(coll) ? HB_PIECE_LEAST << i : HB_SHM_PIECE;
}

/* The cheapest piece of a way, and what it costs. */
static double best_piece(const struct hb_model_call *c, enum hb_way way,
                         size_t *piece_out)
{
    double least = 0;
    for (int i = PIECES - 1; i >= 0; i--) {
        double ns = hb_model_cost(c, way, piece_of(c->coll, i));
        if (i == PIECES - 1 || ns < least) {
            least = ns;
            *piece_out = piece_of(c->coll, i);
        }
    }
    return least;
}

static const struct hb_coll_rule *rule_for(const struct hb_model_call *c)
{
    for (uint32_t i = c->m->n_rules; i-- > 0;) { /* the last word counts */
        const struct hb_coll_rule *r = &c->m->rules[i];
        if (r->coll == (uint32_t)c->coll && c->bytes >= r->least &&
            c->bytes <= r->most) {
            return r;
        }
    }
    return NULL;
}

static void obey(const struct hb_coll_rule *r, const struct hb_model_call *c,
                 struct hb_way_choice *io)
{
    enum hb_way way = r->way;
    bool possible = is_possible(way, c->coll, c->p, c->bytes);
    if (r->piece != 0 && has_one_length(c->coll)) {
        io->piece = r->piece;
    }
    io->ruled = true;
    io->ask = way == HB_WAY_SHARED && possible;
    io->cma = way == HB_WAY_CMA && possible;
    if (way < HB_WAY_SHARED && possible) {
        io->way = way;
    }
}

/* A way whose pieces have no length of their own. */
static bool uncut_is_cheaper(const struct hb_model_call *c, enum hb_way way,
                             double than)
{
    return is_possible(way, c->coll, c->p, c->bytes) &&
           hb_model_cost(c, way, HB_PIECE_LEAST) < than;
}

struct hb_way_choice hb_model_choose(const struct hb_coll_model *m,
                                 enum hpcboot_coll coll, int p, size_t bytes)
{
    struct hb_coll_model typical;
    struct hb_way_choice choice = {.way = HB_WAY_WHOLE, .piece = HB_SHM_PIECE};
    double least, ns;
    size_t piece;
    if (p < 2 || (bytes < CHOOSE_LEAST &&
                  !is_possible(HB_WAY_CHAIN, coll, p, bytes))) {
        return choice;
    }
    if (m == NULL) {
        hb_model_typical(&typical);
        m = &typical;
    }
    struct hb_model_call c = hb_model_call_of(m, coll, p, bytes);
    least = best_piece(&c, HB_WAY_WHOLE, &choice.piece);
    for (enum hb_way way = HB_WAY_SLICES; way < HB_WAY_SHARED; way++) {
        if (is_possible(way, coll, p, bytes) &&
            (ns = best_piece(&c, way, &piece)) < least) {
            least = ns;
            choice.way = way;
            choice.piece = piece;
        }
    }
    choice.ask = uncut_is_cheaper(&c, HB_WAY_SHARED, least);
    choice.cma = has_one_length(coll) && m->cma_ns > 0 &&
                 uncut_is_cheaper(&c, HB_WAY_CMA, least);
    const struct hb_coll_rule *rule = rule_for(&c);
    if (rule != NULL) {
        obey(rule, &c, &choice);
    }
    return choice;
}

bool hb_model_cma(const struct hb_coll_model *m, enum hpcboot_coll coll, int p,
                  size_t bytes)
{
    size_t piece;
    if (m == NULL || p < 2 || !is_possible(HB_WAY_CMA, coll, p, bytes)) {
        return false;
    }
    struct hb_model_call c = hb_model_call_of(m, coll, p, bytes);
    const struct hb_coll_rule *rule = rule_for(&c);
    if (rule != NULL) {
        return rule->way == HB_WAY_CMA;
    }
    return m->cma_ns > 0 &&
           uncut_is_cheaper(&c, HB_WAY_CMA,
                            best_piece(&c, HB_WAY_WHOLE, &piece));
}

bool hb_model_knows_cma(const struct hb_coll_model *m, enum hpcboot_coll coll)
{
    bool ruled = false;
    for (uint32_t i = 0; m != NULL && i < m->n_rules; i++) {
        const struct hb_coll_rule *r = &m->rules[i];
        ruled = ruled || (r->coll == (uint32_t)coll && r->way == HB_WAY_CMA);
    }
    return can_read(coll) && m != NULL && (m->cma_ns > 0 || ruled);
}

/* Whether another piece would cost something else. */
static bool add(const struct hb_model_call *c, struct hb_candidate *out)
{
    bool is_cut;
    out->ns = hb_model_cost(c, out->way, out->piece);
    out->rounds = hb_model_rounds(c, out->way, out->piece, &is_cut);
    if (!is_cut) {
        out->piece = 0;
    }
    return is_cut && has_one_length(c->coll);
}

size_t hb_model_candidates(const struct hb_coll_model *m,
                           enum hpcboot_coll coll, int p, size_t bytes,
                           bool alloc, struct hb_candidate *out)
{
    struct hb_way_choice c = hb_model_choose(m, coll, p, bytes);
    bool by_cma = has_one_length(coll) ? c.cma
                                       : hb_model_cma(m, coll, p, bytes);
    enum hb_way taken = alloc && c.ask ? HB_WAY_SHARED
                        : by_cma       ? HB_WAY_CMA
                                       : c.way;
    struct hb_model_call call = hb_model_call_of(m, coll, p, bytes);
    size_t n = 0;
    for (enum hb_way way = 0; way < HB_WAYS; way++) {
        if (!is_possible(way, coll, p, bytes) ||
            (way == HB_WAY_SHARED && !alloc) ||
            (way == HB_WAY_CMA && m->cma_ns == 0 && !by_cma)) {
            continue;
        }
        for (int i = 0; i < PIECES; i++) {
            struct hb_candidate *now = &out[n++];
            *now = (struct hb_candidate){.way = way,
                                         .piece = piece_of(coll, i)};
            now->chosen = way == taken && now->piece == c.piece;
            if (!add(&call, now)) {
                now->chosen = way == taken;
                break;
            }
        }
    }
    return n;
}
