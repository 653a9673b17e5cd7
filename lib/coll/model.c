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

#include "lib/coll/model_impl.h"

/* A rank that puts ahead of its peers, by so many rounds mostly, pays so much
 * for each; where buffers are asked for, nobody is ahead. */
#define AHEAD_ROUNDS 16
#define AHEAD_IN_TURN 64 /* where ranks take turns on a core */
#define AHEAD_NS 40.0
/* Pieces of the small ring go where peers still hold the lines of those before:
 * to put them takes several times longer (region.h). */
#define SMALL_RING 4.0
/* So do all pieces of several ranks whose rings their peers' second-level
 * caches hold. */
#define HELD_RING 3.0
/* And what all of several ranks get from all, or one from all, comes so much
 * later. */
#define ALL_FROM_ALL 2.5
#define ONE_FROM_ALL 2.0
/* Ranks whose core others had meanwhile find less in its caches. */
#define IN_TURNS 1.4
/* All ranks wait for each other in a reduce by slices, where they would run
 * ahead of the root else; those that share cores, for turns of all. */
#define NOT_AHEAD 1.6
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
        .stream_ps = 24, .fold_ps = 14, .copy_ps = 14, .far_ns = HB_FAR_NS,
        .source = HB_MODEL_TYPICAL};
}

size_t hb_model_small(int p)
{
    return p == 2 ? HB_SHM_SMALL_OF_TWO : HB_SHM_SMALL;
}

/* What one way does, at its slowest rank. */
struct work {
    double put, get, fold, copy; /* bytes */
    size_t cut;   /* what is cut into pieces */
    int rounds;   /* for each piece */
    bool rooted;  /* some only put, others only get: they overlap */
};

static struct work whole(enum hpcboot_coll coll, double p, size_t bytes,
                         bool own_cores)
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
        w = (struct work){.put = all, .get = n, .copy = n, .cut = bytes,
                          .rounds = 1, .rooted = true};
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
    case HPCBOOT_COLL_REDUCE_SCATTER:
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
        w.put = w.fold = all;
        break;
    case HPCBOOT_COLL_REDUCE:
    case HPCBOOT_COLL_ALLREDUCE:
        w.fold = all;
        w.rooted = coll == HPCBOOT_COLL_REDUCE;
        break;
    case HPCBOOT_COLL_SCAN:
    case HPCBOOT_COLL_EXSCAN:
        w.get = w.fold = all / 2;
        if (p == 2 && own_cores) { /* one of them folds */
            w.get = n;
            w.fold = coll == HPCBOOT_COLL_SCAN ? n : 0;
            w.rooted = true;
        }
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

/* Of every rank; what the one that folds does beside is in last_ns. */
static struct work last(size_t bytes)
{
    return (struct work){.put = (double)bytes, .cut = bytes, .rounds = 1};
}

static struct work shared(enum hpcboot_coll coll, double p, size_t bytes)
{
    double n = (double)bytes, part = n * (p - 1) / p;
    struct work w = whole(coll, p, bytes, true);
    w.put = 0;
    w.rounds = 2; /* in all: the second says that nobody reads any more */
    w.rooted = false;
    if (coll == HPCBOOT_COLL_ALLREDUCE || coll == HPCBOOT_COLL_REDUCE) {
        w.get = w.fold = part;
        w.put = coll == HPCBOOT_COLL_ALLREDUCE ? part : n / p;
    }
    return w;
}

/* Ranks that take turns, and only send or only get, run ahead while what the
 * root has for all of them is so much; else each call costs them turns. */
#define TURNS_MOST ((size_t)256 << 10)
#define TURNS 4
/* Where buffers are in no cache, pieces for peers are read from memory, too. */
#define COLD_PUT 3.0
/* Of a pair's halves in the heap lines that the other has not written since are
 * still there, and no piece has to come before the next. */
#define READ_AGAIN 0.6

/* Of the v-kinds a rank's own count says nothing of the others'. */
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
           coll == HPCBOOT_COLL_ALLTOALL || coll == HPCBOOT_COLL_ALLTOALLV;
}

size_t hb_model_room(const struct hb_coll_model *m, int p)
{
    return m->cache_kib > 0 ? (size_t)m->cache_kib << 10
                            : ((size_t)m->l3_kib << 10) *
                                  hb_min(m->l3s, (size_t)p);
}

/* One round says where buffers are, another that nobody reads any more. */
static struct work cma(enum hpcboot_coll coll, double p, size_t bytes)
{
    struct work w = whole(coll, p, bytes, true);
    /* which the root does meanwhile */
    bool meanwhile = hb_model_gathers(coll) || hb_model_scatters(coll);
    return (struct work){.copy = meanwhile ? 0 : w.copy, .rounds = 2};
}

static bool is_possible(enum hb_way way, enum hpcboot_coll coll, int p,
                        size_t bytes)
{
    switch (way) {
    case HB_WAY_CMA:
        return bytes >= SHARED_LEAST && can_read(coll) &&
               (p == 2 || coll != HPCBOOT_COLL_EXSCAN);
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

static struct work work_of(enum hb_way way, enum hpcboot_coll coll, double p,
                           size_t bytes, bool own_cores)
{
    switch (way) {
    case HB_WAY_SLICES:
        return slices(p, bytes);
    case HB_WAY_CHAIN:
        return chain(bytes);
    case HB_WAY_LAST:
        return last(bytes);
    case HB_WAY_SHARED:
        return shared(coll, p, bytes);
    case HB_WAY_CMA:
        return cma(coll, p, bytes);
    default:
        return whole(coll, p, bytes, own_cores);
    }
}

static bool is_uncut(enum hb_way way)
{
    return way == HB_WAY_LAST || way == HB_WAY_SHARED || way == HB_WAY_CMA;
}

static uint64_t rounds_of(enum hb_way way, const struct work *w, size_t piece)
{
    uint64_t n = w->cut > piece ? hb_rounds_for(w->cut, piece) : 1;
    return is_uncut(way) ? (uint64_t)w->rounds : n * (uint64_t)w->rounds;
}

/* Who only sends so much is a call ahead of who only gets, and that one does
 * not wait for its first piece; but in some calls, which stand alone. The root
 * of a bcast, which has nothing else to do, is ahead by twice as much; of two
 * ranks, whose rings are long, each by several calls. */
#define CALL_AHEAD ((size_t)32 << 10)
#define CALL_AHEAD_OF_TWO ((size_t)512 << 10)
#define ALONE 0.1

static bool moves(enum hpcboot_coll coll)
{
    return hb_model_gathers(coll) || hb_model_sends_root(coll);
}

/* Where one rank writes, and all others read, or the other way round, each on
 * a core of its own: the slower of the two, in picoseconds. The root of a
 * gather or a scatter moves its own block too. */
static double rooted(const struct hb_coll_model *m, enum hpcboot_coll coll,
                     int p, size_t bytes, enum hb_way way, double put,
                     double get, double own, double rounds)
{
    bool writes = way == HB_WAY_WHOLE && coll == HPCBOOT_COLL_BCAST;
    if (way == HB_WAY_WHOLE && p == 2 && moves(coll)) {
        get = (double)bytes * m->stream_ps;
    }
    *(hb_model_scatters(coll) ? &put : &get) += own;
    double first = (put < get ? put : get) / rounds;
    double slow = put > get ? put : get;
    size_t ahead = p == 2 ? CALL_AHEAD_OF_TWO : CALL_AHEAD * (writes ? 2 : 1);
    if (way == HB_WAY_WHOLE && moves(coll) && bytes <= ahead) {
        first *= ALONE;
    }
    return slow + first;
}

/* A byte that all ranks read: of those on a core, one gets it from elsewhere,
 * and the others find it in the core's caches. Of each, in picoseconds. */
static double read_by_all(const struct hb_coll_model *m, double share)
{
    return (m->get_ps + (share - 1) * m->copy_ps) / share;
}

/* One rank folds, while the others wait for it. Who shares a core gets the
 * result on its next turn. */
static double last_ns(const struct hb_coll_model *m, double p, double share,
                      double round, double bytes)
{
    double one = (p - share) * m->get_ps + (share - 1) * m->copy_ps +
                 (p - 1) * m->fold_ps;
    double all = share * (m->put_ps + read_by_all(m, share));
    return (share > 1 ? round : 2 * round) + bytes * (all + one) / 1000;
}

/* Where ranks take turns, it fills the ring that all share, then each of the
 * others on its core empties it: a turn of each for as many calls as fit. All
 * of it comes from the third-level cache, or is too much for that one. */
static double in_turns(const struct hb_coll_model *m, int p, double round,
                       const struct work *w, double rounds, double put,
                       double get, double own)
{
    double share = hb_model_share(m, p), room = (double)hb_model_room(m, p);
    put *= room > 0 && w->put + p * w->get > room ? COLD_PUT : 1;
    double fits = (double)HB_SHM_SHARED / w->put;
    fits = fits < HB_SHM_CELLS / rounds ? fits : HB_SHM_CELLS / rounds;
    double turns = fits > 1 ? round / fits : round;
    return turns + IN_TURNS * (put + own + (share - 1) * get) / 1000;
}

/* What a rank puts and gets, in picoseconds. */
static void moved(const struct hb_coll_model *m, enum hpcboot_coll coll, int p,
                  size_t bytes, enum hb_way way, size_t piece,
                  const struct work *w, double *put_out, double *get_out)
{
    double share = hb_model_share(m, p);
    bool alone = hb_model_one_puts(coll);
    bool small = !alone && piece <= hb_model_small(p);
    bool held = !alone && p > 2 && share <= 1 &&
                HB_SHM_RINGS / (size_t)p <= (size_t)m->l2_kib << 10;
    double again = small && w->cut > piece ? SMALL_RING : held ? HELD_RING : 1;
    double put = w->put * m->put_ps * again, get = w->get * m->get_ps;
    if (way == HB_WAY_SHARED && coll == HPCBOOT_COLL_BCAST && share > 1) {
        get = w->get * read_by_all(m, share);
        put /= share; /* one of them does */
    }
    if (way == HB_WAY_WHOLE && coll == HPCBOOT_COLL_ALLREDUCE) {
        get = w->get * read_by_all(m, share);
    }
    if (way == HB_WAY_WHOLE && held &&
        (coll == HPCBOOT_COLL_ALLGATHER || coll == HPCBOOT_COLL_ALLGATHERV)) {
        get *= ALL_FROM_ALL;
    } else if (way == HB_WAY_WHOLE && held && hb_model_gathers(coll)) {
        get *= ONE_FROM_ALL;
    }
    if (way == HB_WAY_WHOLE && hb_model_is_cold(m, coll, p, bytes)) {
        put *= COLD_PUT;
        if (coll == HPCBOOT_COLL_ALLGATHER ||
            coll == HPCBOOT_COLL_ALLGATHERV) { /* as a bcast of each */
            get = w->get * read_by_all(m, share) * (held ? ALL_FROM_ALL : 1);
        }
    }
    if (way == HB_WAY_SHARED && coll == HPCBOOT_COLL_ALLREDUCE && p == 2) {
        get *= READ_AGAIN;
        put *= READ_AGAIN;
    }
    if (way == HB_WAY_SHARED && coll == HPCBOOT_COLL_BCAST) {
        get -= (double)hb_model_cma_part(m, coll, p, bytes) * m->get_ps;
    }
    *put_out = put;
    *get_out = get;
}

static double cost(const struct hb_coll_model *m, enum hpcboot_coll coll,
                   int p, size_t bytes, enum hb_way way, size_t piece)
{
    double share = hb_model_share(m, p);
    struct work w = work_of(way, coll, p, bytes, share <= 1);
    double rounds = (double)rounds_of(way, &w, piece);
    double round = share > 1 ? share * m->switch_ns : m->round_ns;
    if (way == HB_WAY_SHARED && coll == HPCBOOT_COLL_REDUCE) {
        rounds += share > 1 ? AHEAD_IN_TURN : AHEAD_ROUNDS;
    }
    if (way == HB_WAY_CMA && share > 1 &&
        (hb_model_gathers(coll) || hb_model_sends_root(coll)) &&
        bytes <= TURNS_MOST / (size_t)p) {
        rounds += TURNS;
    }
    double put, get;
    moved(m, coll, p, bytes, way, piece, &w, &put, &get);
    double own = w.fold * m->fold_ps + w.copy * m->copy_ps +
                 (way == HB_WAY_CMA ? hb_model_calls(m, coll, p, bytes) : 0);
    if (way == HB_WAY_WHOLE && hb_model_one_puts(coll) && share > 1) {
        return in_turns(m, p, round, &w, rounds, put, get, own);
    }
    if (w.rooted && share <= 1) {
        return round + rounds * AHEAD_NS +
               rooted(m, coll, p, bytes, way, put, get, own, rounds) / 1000;
    }
    if (way == HB_WAY_LAST) {
        return last_ns(m, p, share, round, w.put);
    }
    if (way == HB_WAY_WHOLE && hb_model_gathers(coll)) { /* the root's, alone */
        return rounds * round + (share * put + get + own) / 1000;
    }
    double ns = rounds * round + share * (put + get + own) / 1000;
    if (way == HB_WAY_SLICES && coll == HPCBOOT_COLL_REDUCE) {
        return ns * NOT_AHEAD * (share > 1 ? p : 1);
    }
    /* The last begins when a piece has come through all before it; where they
     * take turns on a core, it has its turn after them in any case. */
    return way == HB_WAY_CHAIN && share <= 1 ? ns * (1 + (p - 2) / rounds)
                                             : ns;
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
    c->cma = way == HB_WAY_CMA && is_possible(way, coll, p, bytes);
    if (way < HB_WAY_SHARED && is_possible(way, coll, p, bytes)) {
        c->way = way;
    }
}

static bool cma_is_cheaper(const struct hb_coll_model *m,
                           enum hpcboot_coll coll, int p, size_t bytes,
                           double than)
{
    return m->cma_ns > 0 && is_possible(HB_WAY_CMA, coll, p, bytes) &&
           cost(m, coll, p, bytes, HB_WAY_CMA, piece_of(coll, 0)) < than;
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
    c.cma = has_one_length(coll) && cma_is_cheaper(m, coll, p, bytes, least);
    const struct hb_coll_rule *rule = rule_for(m, coll, bytes);
    if (rule != NULL) {
        obey(rule, coll, p, bytes, &c);
    }
    return c;
}

bool hb_model_cma(const struct hb_coll_model *m, enum hpcboot_coll coll, int p,
                  size_t bytes)
{
    const struct hb_coll_rule *rule;
    size_t piece;
    if (m == NULL || p < 2 || !is_possible(HB_WAY_CMA, coll, p, bytes)) {
        return false;
    }
    rule = rule_for(m, coll, bytes);
    return rule != NULL ? rule->way == HB_WAY_CMA
                        : cma_is_cheaper(m, coll, p, bytes,
                                         best_piece(m, coll, p, bytes,
                                                    HB_WAY_WHOLE, &piece));
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

static bool add(const struct hb_coll_model *m, enum hpcboot_coll coll,
                int p, size_t bytes, struct hb_candidate *out)
{
    struct work w = work_of(out->way, coll, p, bytes,
                            hb_model_share(m, p) <= 1);
    out->ns = cost(m, coll, p, bytes, out->way, out->piece);
    out->rounds = rounds_of(out->way, &w, out->piece);
    if (is_uncut(out->way) || w.cut <= HB_PIECE_LEAST) {
        out->piece = 0;
    }
    return out->piece != 0 && has_one_length(coll);
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
            if (!add(m, coll, p, bytes, now)) {
                now->chosen = way == taken;
                break;
            }
        }
    }
    return n;
}
