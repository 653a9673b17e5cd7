/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What a way costs: a number of rounds and of bytes that a rank puts (writes
 * where peers have read), gets (reads what a peer has written), folds and
 * copies. Where ranks share cores, a round costs a turn of each of them, and
 * bytes that many times more.
 *
 * What the kernel copies is in model_cma.c. */

#include "config.h"

#include "lib/coll/model_impl.h"

/* A rank that only puts runs ahead of its peers, mostly by so many rounds, and
 * each of its rounds costs AHEAD of one in which ranks wait for each other: a
 * line on its way. A shared reduce makes the root wait in every call, and so is
 * charged the rounds that it loses. */
#define AHEAD_ROUNDS 16
#define AHEAD_IN_TURN 64 /* where ranks take turns on a core */
#define AHEAD 0.6
/* Putting takes so many times longer in the small ring, where peers' caches
 * still hold the lines of the pieces before (region.h), */
#define SMALL_RING 4.0
/* and in the rings of three ranks or more that are short enough to stay in
 * their peers' second-level caches. */
#define HELD_RING 3.0
/* Getting takes so many times longer from such rings, where all ranks get from
 * all, or one rank from all others. */
#define ALL_FROM_ALL 2.5
#define ONE_FROM_ALL 2.0
/* Ranks that take turns on a core have their caches emptied by each other. */
#define IN_TURNS 1.4
/* In a reduce by slices no rank can run ahead of the root: all wait for each
 * other, and ranks that share cores wait for a turn of each. */
#define NOT_AHEAD 1.6

/* What one way does, at its slowest rank. */
struct work {
    double put, get, fold, copy; /* bytes */
    size_t cut;   /* what is cut into pieces */
    int rounds;   /* for each piece */
    bool rooted;  /* some only put, others only get: they overlap */
};

/* What a rank puts, gets, and does on its own (folds, copies), in
 * picoseconds. */
struct spent {
    double put, get, own;
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
        /* The last rank folds what all before it have put; ranks that share
         * cores share that. */
        w.get = w.fold = own_cores ? all : all / 2;
        if (p == 2 && own_cores) { /* one of them folds */
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

/* Ranks that take turns on a core run ahead in a call in which they only send
 * or only get, as long as the blocks of all ranks together are no longer than
 * TURNS_MOST. A cma call makes them wait for each other, which costs so many
 * turns. */
#define TURNS_MOST ((size_t)256 << 10)
#define TURNS 4
/* Where the buffers are in no cache, what is put has to come from memory. */
#define COLD_PUT 3.0
/* Each of two ranks finds in its caches what of the heap it has read before
 * and the other has not written since, and no piece waits for another. */
#define READ_AGAIN 0.6

/* One round says where buffers are, another that nobody reads any more. */
static struct work cma(enum hpcboot_coll coll, double p, size_t bytes)
{
    struct work w = whole(coll, p, bytes, true);
    /* which the root does meanwhile */
    bool meanwhile = hb_model_gathers(coll) || hb_model_scatters(coll);
    return (struct work){.fold = hb_model_cma_folds(coll) ? w.fold : 0,
                         .copy = meanwhile ? 0 : w.copy, .rounds = 2};
}

static struct work work_of(enum hb_way way, const struct hb_model_call *c)
{
    enum hpcboot_coll coll = c->coll;
    double p = c->p;
    size_t bytes = c->bytes;
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
        return whole(coll, p, bytes, c->share <= 1);
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

/* A rank that only sends is one call ahead of those that only get, while what
 * it sends is no longer than CALL_AHEAD: they find their first piece there, and
 * wait for it in a tenth of the calls alone. The root of a bcast does nothing
 * else and is ahead by twice as much; one of two ranks, whose rings are long,
 * by several calls. */
#define CALL_AHEAD ((size_t)32 << 10)
#define CALL_AHEAD_OF_TWO ((size_t)512 << 10)
#define ALONE 0.1

static bool moves(enum hpcboot_coll coll)
{
    return hb_model_gathers(coll) || hb_model_sends_root(coll);
}

static bool allgathers(enum hpcboot_coll coll)
{
    return coll == HPCBOOT_COLL_ALLGATHER || coll == HPCBOOT_COLL_ALLGATHERV;
}

/* Where one rank writes, and all others read, or the other way round, each on
 * a core of its own: the slower of the two, in picoseconds. The root of a
 * gather or a scatter moves its own block too. Of two ranks each is as fast as
 * the other lets it: the probe has measured both at once. */
static double rooted(const struct hb_model_call *c, enum hb_way way,
                     struct spent ps, double rounds)
{
    bool writes = way == HB_WAY_WHOLE && c->coll == HPCBOOT_COLL_BCAST;
    if (way == HB_WAY_WHOLE && c->p == 2) {
        ps.put = ps.get = (double)c->bytes * c->m->stream_ps;
    }
    *(hb_model_scatters(c->coll) ? &ps.put : &ps.get) += ps.own;
    double first = (ps.put < ps.get ? ps.put : ps.get) / rounds;
    double slow = ps.put > ps.get ? ps.put : ps.get;
    size_t ahead = c->p == 2 ? CALL_AHEAD_OF_TWO
                             : CALL_AHEAD * (writes ? 2 : 1);
    bool finds = moves(c->coll) || c->p == 2;
    if (way == HB_WAY_WHOLE && finds && c->bytes <= ahead) {
        first *= ALONE;
    }
    return slow + first;
}

/* A byte that all ranks read: of those on a core, one gets it from elsewhere,
 * and the others find it in the core's caches. Of each, in picoseconds. */
static double read_by_all(const struct hb_model_call *c, double first_ps)
{
    return (first_ps + (c->share - 1) * c->m->copy_ps) / c->share;
}

static double round_ns(const struct hb_model_call *c)
{
    return c->share > 1 ? c->share * c->m->switch_ns : c->m->round_ns;
}

/* One rank folds, while the others wait for it. Who shares a core gets the
 * result on its next turn. */
static double last_ns(const struct hb_model_call *c, double bytes)
{
    const struct hb_coll_model *m = c->m;
    double p = c->p, round = round_ns(c);
    double one = (p - c->share) * m->get_ps + (c->share - 1) * m->copy_ps +
                 (p - 1) * m->fold_ps;
    double all = c->share * (m->put_ps + read_by_all(c, m->get_ps));
    return (c->share > 1 ? round : 2 * round) + bytes * (all + one) / 1000;
}

/* One rank puts, and ranks take turns on the cores. It fills the ring that all
 * share, and then each of the others empties it: a turn of each for as many
 * calls as the ring has room for. They get all of it from the third-level
 * cache, or, where that is too small, from memory. */
static double in_turns(const struct hb_model_call *c, const struct work *w,
                       struct spent ps, double rounds)
{
    double room = (double)hb_model_room(c->m, c->p);
    ps.put *= room > 0 && w->put + c->p * w->get > room ? COLD_PUT : 1;
    double fits = (double)HB_SHM_SHARED / w->put;
    fits = fits < HB_SHM_CELLS / rounds ? fits : HB_SHM_CELLS / rounds;
    double turns = fits > 1 ? round_ns(c) / fits : round_ns(c);
    return turns +
           IN_TURNS * (ps.put + ps.own + (c->share - 1) * ps.get) / 1000;
}

/* Whether peers' second-level caches hold the rings. */
static bool is_held(const struct hb_model_call *c)
{
    return !hb_model_one_puts(c->coll) && c->p > 2 && c->share <= 1 &&
           HB_SHM_RINGS / (size_t)c->p <= (size_t)c->m->l2_kib << 10;
}

static bool is_cold(const struct hb_model_call *c)
{
    return hb_model_is_cold(c->m, c->coll, c->p, c->bytes);
}

static double put_ps(const struct hb_model_call *c, enum hb_way way,
                     size_t piece, const struct work *w)
{
    bool small = !hb_model_one_puts(c->coll) && piece <= hb_model_small(c->p);
    double again = small && w->cut > piece ? SMALL_RING
                   : is_held(c)            ? HELD_RING
                                           : 1;
    double put = w->put * c->m->put_ps * again;
    if (way == HB_WAY_WHOLE && is_cold(c)) {
        return put * COLD_PUT;
    }
    if (way == HB_WAY_SHARED && c->coll == HPCBOOT_COLL_BCAST) {
        return put / c->share; /* one of those on a core does */
    }
    bool pair = c->coll == HPCBOOT_COLL_ALLREDUCE && c->p == 2;
    return way == HB_WAY_SHARED && pair ? put * READ_AGAIN : put;
}

/* Whole: from the rings. */
static double get_whole_ps(const struct hb_model_call *c, const struct work *w)
{
    double get = w->get * c->m->get_ps;
    double by_all = w->get * read_by_all(c, c->m->get_ps);
    if (c->coll == HPCBOOT_COLL_ALLREDUCE) {
        return by_all;
    }
    if (allgathers(c->coll) && is_cold(c)) { /* as a bcast of each */
        get = by_all;
    }
    if (is_held(c) && allgathers(c->coll)) {
        return get * ALL_FROM_ALL;
    }
    return is_held(c) && hb_model_gathers(c->coll) ? get * ONE_FROM_ALL : get;
}

/* Of the buffer of another rank, which is read in place as the kernel reads it:
 * get_ps is that of lines that a peer has just written, the kernel's figure
 * that of lines that stay, and for the same lines it is not the sooner one. */
static double buffer_ps(const struct hb_coll_model *m)
{
    return m->cma_ps > 0 && m->cma_ps < m->get_ps ? m->cma_ps : m->get_ps;
}

/* Shared: from the buffers of others. */
static double get_shared_ps(const struct hb_model_call *c, const struct work *w)
{
    double one = buffer_ps(c->m), get = w->get * one;
    if (c->coll == HPCBOOT_COLL_BCAST) {
        get = w->get * read_by_all(c, one);
        return get - (double)hb_model_cma_part(c->m, c->coll, c->p, c->bytes) *
                         one;
    }
    return c->coll == HPCBOOT_COLL_ALLREDUCE && c->p == 2 ? get * READ_AGAIN
                                                          : get;
}

static struct spent spent_on(const struct hb_model_call *c, enum hb_way way,
                             size_t piece, const struct work *w)
{
    const struct hb_coll_model *m = c->m;
    return (struct spent){
        .put = put_ps(c, way, piece, w),
        .get = way == HB_WAY_WHOLE    ? get_whole_ps(c, w)
               : way == HB_WAY_SHARED ? get_shared_ps(c, w)
                                      : w->get * m->get_ps,
        .own = w->fold * m->fold_ps + w->copy * m->copy_ps +
               (way == HB_WAY_CMA
                    ? hb_model_calls(m, c->coll, c->p, c->bytes) : 0),
    };
}

/* Rounds that a way costs beside those it has, since nobody runs ahead. */
static double rounds_lost(const struct hb_model_call *c, enum hb_way way)
{
    if (way == HB_WAY_SHARED && c->coll == HPCBOOT_COLL_REDUCE) {
        return c->share > 1 ? AHEAD_IN_TURN : AHEAD_ROUNDS;
    }
    return way == HB_WAY_CMA && c->share > 1 && moves(c->coll) &&
                   c->bytes <= TURNS_MOST / (size_t)c->p
               ? TURNS : 0;
}

/* The last rank of a chain begins when a piece has come through all before it:
 * that of a short call did while it was in the call before. Where ranks take
 * turns on a core, its turn is after theirs anyway. */
static double chain_waits(const struct hb_model_call *c)
{
    return c->share > 1 ? 0
                        : (c->p - 2) * (c->bytes <= CALL_AHEAD ? ALONE : 1);
}

double hb_model_cost(const struct hb_model_call *c, enum hb_way way,
                     size_t piece)
{
    struct work w = work_of(way, c);
    double rounds = (double)rounds_of(way, &w, piece) + rounds_lost(c, way);
    struct spent ps = spent_on(c, way, piece, &w);
    if (way == HB_WAY_WHOLE && hb_model_one_puts(c->coll) && c->share > 1) {
        return in_turns(c, &w, ps, rounds);
    }
    if (w.rooted && c->share <= 1) {
        return round_ns(c) * (1 + rounds * AHEAD) +
               rooted(c, way, ps, rounds) / 1000;
    }
    if (way == HB_WAY_LAST) {
        return last_ns(c, w.put);
    }
    if (way == HB_WAY_WHOLE && hb_model_gathers(c->coll)) {
        /* the root's, alone */
        return rounds * round_ns(c) +
               (c->share * ps.put + ps.get + ps.own) / 1000;
    }
    double ns = rounds * round_ns(c) +
                c->share * (ps.put + ps.get + ps.own) / 1000;
    if (way == HB_WAY_SLICES && c->coll == HPCBOOT_COLL_REDUCE) {
        return ns * NOT_AHEAD * (c->share > 1 ? c->p : 1);
    }
    return way == HB_WAY_CHAIN ? ns * (1 + chain_waits(c) / rounds) : ns;
}

uint64_t hb_model_rounds(const struct hb_model_call *c, enum hb_way way,
                         size_t piece, bool *is_cut_out)
{
    struct work w = work_of(way, c);
    *is_cut_out = !is_uncut(way) && w.cut > HB_PIECE_LEAST;
    return rounds_of(way, &w, piece);
}
