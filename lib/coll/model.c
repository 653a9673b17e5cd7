/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The model: what a way costs is a number of rounds and of bytes that a rank
 * puts (writes where peers have read), gets (reads what a peer has written),
 * folds and copies. Where ranks share cores, a round costs a turn of each of
 * them, and bytes that many times more.
 *
 * Everything here is a function of its arguments: all ranks of a node have the
 * same page, and so choose alike. */

#include "config.h"

#include "lib/coll/impl.h"

/* A rank that puts ahead of its peers pays so much for a round of its own. */
#define AHEAD_NS 25.0
/* Pieces of the small ring go where peers still hold the lines of those before:
 * to put them takes several times longer (impl.h). */
#define SMALL_RING 4.0
/* Below this, no choice is worth the time of choosing, but whether ranks that
 * share cores read one line or those of all below them. */
#define CHOOSE_LEAST ((size_t)1 << 10)
/* The cell's bytes say where buffers are, so there is an area beside them. */
#define SHARED_LEAST ((size_t)4 << 10)
#define PIECES 4

void hb_model_typical(struct hb_coll_model *m)
{
    *m = (struct hb_coll_model){
        .round_ns = 90, .switch_ns = 1500, .put_ps = 22, .get_ps = 30,
        .fold_ps = 14, .copy_ps = 14, .far_ns = HB_FAR_NS,
        .source = HB_MODEL_TYPICAL};
}

/* What one way does, at its slowest rank. */
struct work {
    double put, get, fold, copy; /* bytes */
    size_t cut;   /* what is cut into pieces */
    int rounds;   /* for each piece */
    bool rooted;  /* some only put, others only get: they overlap */
};

static struct work whole(enum hpcboot_coll coll, double p, size_t bytes)
{
    double n = (double)bytes, others = p - 1, all = others * n;
    struct work w = {.put = n, .get = all, .cut = bytes, .rounds = 1};
    switch (coll) {
    case HPCBOOT_COLL_BCAST:
        w.get = n;
        w.rooted = true;
        break;
    case HPCBOOT_COLL_SCATTER:
    case HPCBOOT_COLL_SCATTERV:
        w.put = all;
        w.get = n;
        w.rooted = true;
        break;
    case HPCBOOT_COLL_GATHER:
    case HPCBOOT_COLL_GATHERV:
        w.copy = n;
        w.rooted = true;
        break;
    case HPCBOOT_COLL_ALLGATHER:
    case HPCBOOT_COLL_ALLGATHERV:
        w.copy = n;
        break;
    case HPCBOOT_COLL_ALLTOALL:
    case HPCBOOT_COLL_ALLTOALLV:
        w.put = all;
        w.copy = n;
        break;
    case HPCBOOT_COLL_REDUCE:
        w.fold = all;
        w.rooted = true;
        break;
    case HPCBOOT_COLL_REDUCE_SCATTER:
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
        w.put = w.fold = all;
        break;
    case HPCBOOT_COLL_ALLREDUCE:
        w.fold = all;
        break;
    case HPCBOOT_COLL_SCAN:
    case HPCBOOT_COLL_EXSCAN:
        w.get = w.fold = all / 2;
        break;
    default: /* barrier */
        w = (struct work){.rounds = 1};
    }
    return w;
}

static struct work slices(double p, size_t bytes)
{
    double n = (double)bytes, part = n * (p - 1) / p;
    return (struct work){.put = n, .get = 2 * part, .fold = part,
                         .cut = bytes / (size_t)p + 1, .rounds = 2};
}

/* Of a rank in the middle: all of them are at work at a time. */
static struct work chain(size_t bytes)
{
    double n = (double)bytes;
    return (struct work){.put = n, .get = n, .fold = n, .copy = n,
                         .cut = bytes, .rounds = 1};
}

static struct work shared(enum hpcboot_coll coll, double p, size_t bytes)
{
    double n = (double)bytes, part = n * (p - 1) / p;
    struct work w = whole(coll, p, bytes);
    w.put = 0;
    w.rounds = 2; /* in all: the second says that nobody reads any more */
    w.rooted = false;
    if (coll == HPCBOOT_COLL_ALLREDUCE || coll == HPCBOOT_COLL_REDUCE) {
        w.get = w.fold = part;
        w.put = coll == HPCBOOT_COLL_ALLREDUCE ? part : n / p;
    }
    return w;
}

static bool is_possible(enum hb_way way, enum hpcboot_coll coll, int p,
                        size_t bytes)
{
    switch (way) {
    case HB_WAY_SLICES:
        return coll == HPCBOOT_COLL_ALLREDUCE && p > 2;
    case HB_WAY_CHAIN:
        return p > 2 && (coll == HPCBOOT_COLL_SCAN ||
                         coll == HPCBOOT_COLL_EXSCAN);
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

static struct work work_of(enum hb_way way, enum hpcboot_coll coll, double p,
                           size_t bytes)
{
    switch (way) {
    case HB_WAY_SLICES:
        return slices(p, bytes);
    case HB_WAY_CHAIN:
        return chain(bytes);
    case HB_WAY_SHARED:
        return shared(coll, p, bytes);
    default:
        return whole(coll, p, bytes);
    }
}

static uint64_t rounds_of(enum hb_way way, const struct work *w, size_t piece)
{
    uint64_t n = w->cut > piece ? hb_rounds_for(w->cut, piece) : 1;
    return way == HB_WAY_SHARED ? (uint64_t)w->rounds
                                : n * (uint64_t)w->rounds;
}

static double cost(const struct hb_coll_model *m, enum hpcboot_coll coll,
                   int p, size_t bytes, enum hb_way way, size_t piece)
{
    double ranks = p, cpus = m->cpus > 0 ? (double)m->cpus : ranks;
    double share = ranks > cpus ? ranks / cpus : 1;
    struct work w = work_of(way, coll, ranks, bytes);
    double rounds = (double)rounds_of(way, &w, piece);
    double round = share > 1 ? share * m->switch_ns : m->round_ns;
    /* Who only sends is ahead of the root by as many rounds as there are
     * cells; where buffers are asked for, all wait for each other. */
    if (way == HB_WAY_SHARED && coll == HPCBOOT_COLL_REDUCE) {
        rounds += share > 1 ? HB_SHM_CELLS_CROWDED : HB_SHM_CELLS;
    }
    double again = piece <= HB_SHM_SMALL && w.cut > piece ? SMALL_RING : 1;
    double put = w.put * m->put_ps * again, get = w.get * m->get_ps;
    double own = w.fold * m->fold_ps + w.copy * m->copy_ps;
    if (w.rooted && share <= 1) {
        double first = (put < get + own ? put : get + own) / rounds;
        double slow = put > get + own ? put : get + own;
        return round + rounds * AHEAD_NS + (slow + first) / 1000;
    }
    double ns = rounds * round + share * (put + get + own) / 1000;
    /* The last begins when a piece has come through all before it; where they
     * take turns on a core, it has its turn after them in any case. */
    return way == HB_WAY_CHAIN && share <= 1 ? ns * (1 + (ranks - 2) / rounds)
                                             : ns;
}

/* Of the v-kinds a rank's own count says nothing of the others'. */
static bool has_one_length(enum hpcboot_coll coll)
{
    return coll != HPCBOOT_COLL_SCATTERV && coll != HPCBOOT_COLL_GATHERV &&
           coll != HPCBOOT_COLL_ALLGATHERV &&
           coll != HPCBOOT_COLL_ALLTOALLV &&
           coll != HPCBOOT_COLL_REDUCE_SCATTER;
}

static size_t piece_of(enum hpcboot_coll coll, int i)
{
    return has_one_length(coll) ? HB_PIECE_LEAST << i : HB_SHM_PIECE;
}

/* The cheapest piece of a way, and what it costs. */
static double best_piece(const struct hb_coll_model *m,
                         enum hpcboot_coll coll, int p, size_t bytes,
                         enum hb_way way, size_t *piece_out)
{
    double least = 0;
    for (int i = PIECES - 1; i >= 0; i--) {
        double ns = cost(m, coll, p, bytes, way, piece_of(coll, i));
        if (i == PIECES - 1 || ns < least) {
            least = ns;
            *piece_out = piece_of(coll, i);
        }
    }
    return least;
}

static const struct hb_coll_rule *rule_for(const struct hb_coll_model *m,
                                           enum hpcboot_coll coll,
                                           size_t bytes)
{
    for (uint32_t i = m->n_rules; i-- > 0;) { /* the last word counts */
        const struct hb_coll_rule *r = &m->rules[i];
        if (r->coll == (uint32_t)coll && bytes >= r->least &&
            bytes <= r->most) {
            return r;
        }
    }
    return NULL;
}

static void obey(const struct hb_coll_rule *r, enum hpcboot_coll coll, int p,
                 size_t bytes, struct hb_way_choice *c)
{
    enum hb_way way = r->way;
    if (r->piece != 0 && has_one_length(coll)) {
        c->piece = r->piece;
    }
    c->ruled = true;
    c->ask = way == HB_WAY_SHARED && is_possible(way, coll, p, bytes);
    if (way != HB_WAY_SHARED && is_possible(way, coll, p, bytes)) {
        c->way = way;
    }
}

struct hb_way_choice hb_model_choose(const struct hb_coll_model *m,
                                 enum hpcboot_coll coll, int p, size_t bytes)
{
    struct hb_coll_model typical;
    struct hb_way_choice c = {.way = HB_WAY_WHOLE, .piece = HB_SHM_PIECE};
    double least, ns;
    size_t piece;
    if (p < 2 || (bytes < CHOOSE_LEAST &&
                  !is_possible(HB_WAY_CHAIN, coll, p, bytes))) {
        return c;
    }
    if (m == NULL) {
        hb_model_typical(&typical);
        m = &typical;
    }
    least = best_piece(m, coll, p, bytes, HB_WAY_WHOLE, &c.piece);
    for (enum hb_way way = HB_WAY_SLICES; way < HB_WAY_SHARED; way++) {
        if (is_possible(way, coll, p, bytes) &&
            (ns = best_piece(m, coll, p, bytes, way, &piece)) < least) {
            least = ns;
            c.way = way;
            c.piece = piece;
        }
    }
    c.ask = is_possible(HB_WAY_SHARED, coll, p, bytes) &&
            cost(m, coll, p, bytes, HB_WAY_SHARED, piece_of(coll, 0)) < least;
    const struct hb_coll_rule *rule = rule_for(m, coll, bytes);
    if (rule != NULL) {
        obey(rule, coll, p, bytes, &c);
    }
    return c;
}

static size_t add(const struct hb_coll_model *m, enum hpcboot_coll coll,
                  int p, size_t bytes, struct hb_candidate *out)
{
    struct work w = work_of(out->way, coll, p, bytes);
    out->ns = cost(m, coll, p, bytes, out->way, out->piece);
    out->rounds = rounds_of(out->way, &w, out->piece);
    if (out->way == HB_WAY_SHARED || w.cut <= HB_PIECE_LEAST) {
        out->piece = 0;
    }
    return 1;
}

size_t hb_model_candidates(const struct hb_coll_model *m,
                           enum hpcboot_coll coll, int p, size_t bytes,
                           bool alloc, struct hb_candidate *out)
{
    struct hb_way_choice c = hb_model_choose(m, coll, p, bytes);
    bool direct = alloc && c.ask;
    size_t n = 0;
    for (enum hb_way way = 0; way < HB_WAYS; way++) {
        if (!is_possible(way, coll, p, bytes) ||
            (way == HB_WAY_SHARED && !alloc)) {
            continue;
        }
        for (int i = 0; i < PIECES; i++) {
            out[n] = (struct hb_candidate){.way = way,
                                           .piece = piece_of(coll, i)};
            out[n].chosen = way == HB_WAY_SHARED
                                ? direct
                                : !direct && way == c.way &&
                                      out[n].piece == c.piece;
            n += add(m, coll, p, bytes, &out[n]);
            if (out[n - 1].piece == 0 || !has_one_length(coll)) {
                out[n - 1].chosen = way == HB_WAY_SHARED
                                        ? direct : !direct && way == c.way;
                break;
            }
        }
    }
    return n;
}
