/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Reductions in which all members take part alike: recursive doubling and
 * halving, ring, pairwise exchange, scans.
 *
 * Where the number of members is no power of two, neighbours fold first: of
 * the first 2r members each even one gives its vector to the odd one behind
 * it and takes the result from there. What a member holds is always the fold
 * of a row of members, and rows meet their neighbours, so an op need not
 * commute; ring and halving of blocks are for ops that do.
 *
 * Large messages come in segments: one is folded while the next are on their
 * way. */

#include "config.h"

#include "lib/coll/sched.h"

/* What TCP sends without asking, and of longer exchanges, where the asking is
 * less than what many messages cost, what caches keep. */
#define SEGMENT ((size_t)64 << 10)
#define SEGMENT_LONG ((size_t)256 << 10)
#define UNDER_WAY 4
#define WINDOW 16 /* blocks of a pairwise exchange under way */

/* Places among 2^k members that are left when neighbours have folded. */
struct half {
    int size, extra; /* 2^k, r */
    int v;           /* -1: given to the neighbour */
};

static struct half half_of(const struct hb_group *g)
{
    struct half h = {.size = 1};
    while (2 * h.size <= g->size) {
        h.size *= 2;
    }
    h.extra = g->size - h.size;
    h.v = g->me >= 2 * h.extra ? g->me - h.extra
          : g->me % 2 == 1     ? g->me / 2
                               : -1;
    return h;
}

static int peer_at(const struct half *h, const struct hb_group *g, int v)
{
    return hb_member(g, v < h->extra ? 2 * v + 1 : v + h->extra);
}

static size_t segment_of(size_t bytes, size_t esize)
{
    size_t segment = bytes > SEGMENT_LONG ? SEGMENT_LONG : SEGMENT;
    return segment > esize ? segment / esize * esize : esize;
}

/* Room for what comes to be folded: a segment's place is used again when it
 * has been. */
static struct hb_at fold_room(struct hb_sched *s, size_t bytes, size_t esize)
{
    size_t most = UNDER_WAY * segment_of(bytes, esize);
    return hb_sched_room(s, bytes < most ? bytes : most);
}

struct range {
    size_t at, len;
};

/* What two members exchange: out_len bytes from `out` on, and in_len for `to`;
 * where they are folded on their way, they come to `room`. */
struct swap {
    int peer;
    struct hb_at out, to;
    size_t out_len, in_len, segment;
    enum hb_step_kind fold; /* NONE: what comes is kept */
    struct hb_at room, with;
};

static size_t piece(size_t len, size_t at, size_t segment)
{
    return at >= len ? 0 : len - at < segment ? len - at : segment;
}

/* Where segment i comes to. */
static struct hb_at landing(const struct swap *x, size_t i)
{
    return x->fold == HB_STEP_NONE
               ? hb_plus(x->to, i * x->segment)
               : hb_plus(x->room, i % UNDER_WAY * x->segment);
}

static void post(struct hb_sched *s, const struct swap *x, size_t i)
{
    size_t at = i * x->segment;
    size_t in = piece(x->in_len, at, x->segment);
    size_t out = piece(x->out_len, at, x->segment);
    if (in > 0) {
        hb_sched_recv(s, x->peer, landing(x, i), in);
    }
    if (out > 0) {
        hb_sched_send(s, x->peer, hb_plus(x->out, at), out);
    }
}

/* A few segments are under way at a time. One is folded when it has come and
 * its like has left, which may be folded into. */
static void segments(struct hb_sched *s, const struct swap *x)
{
    size_t most = x->in_len > x->out_len ? x->in_len : x->out_len;
    int marks[UNDER_WAY] = {0};
    for (size_t i = 0; i < UNDER_WAY; i++) {
        post(s, x, i);
        marks[i] = s->count;
    }
    for (size_t i = 0; i * x->segment < most; i++) {
        size_t at = i * x->segment;
        s->after = marks[i % UNDER_WAY];
        if (x->fold != HB_STEP_NONE) {
            hb_sched_fold(s, x->fold, landing(x, i), hb_plus(x->with, at),
                          hb_plus(x->to, at),
                          piece(x->in_len, at, x->segment));
        }
        post(s, x, i + UNDER_WAY);
        marks[i % UNDER_WAY] = s->count;
    }
    hb_sched_wait(s);
}

/* A vector on its way: what is folded next, or sent, is at `now`; that is the
 * member's own until it has folded something. */
struct folding {
    struct hb_sched *s;
    const struct hb_group *g;
    const struct hb_vector *v;
    struct hb_at room, now;
};

static struct folding folding_of(struct hb_sched *s, const struct hb_group *g,
                                 const struct hb_vector *v)
{
    return (struct folding){.s = s, .g = g, .v = v, .now = hb_vector_own(v)};
}

/* `low`: what comes is of lower members. */
static void exchange(struct folding *f, int peer, struct range out,
                     struct range in, bool low)
{
    size_t most = in.len > out.len ? in.len : out.len; /* at either end */
    struct swap x = {
        .peer = peer, .out = hb_plus(f->now, out.at), .out_len = out.len,
        .to = hb_plus(f->v->at, in.at), .in_len = in.len,
        .segment = segment_of(most, f->v->esize), .room = f->room,
        .with = hb_plus(f->now, in.at),
        .fold = low ? HB_STEP_FOLD : HB_STEP_FOLD_R};
    segments(f->s, &x);
    f->now = f->v->at;
}

/* What comes is kept. */
static void swap(struct hb_sched *s, int peer, struct hb_at base,
                 struct range out, struct range in)
{
    size_t most = in.len > out.len ? in.len : out.len;
    struct swap x = {.peer = peer, .out = hb_plus(base, out.at),
                     .out_len = out.len, .to = hb_plus(base, in.at),
                     .in_len = in.len, .segment = segment_of(most, 1),
                     .fold = HB_STEP_NONE};
    segments(s, &x);
}

/* Neighbours fold; after the rounds the result goes back. */
static void fold_extra(struct folding *f, const struct half *h)
{
    const struct hb_group *g = f->g;
    struct range all = {0, f->v->bytes}, none = {0, 0};
    if (h->v < 0) {
        exchange(f, hb_member(g, g->me + 1), all, none, false);
    } else if (h->v < h->extra) {
        exchange(f, hb_member(g, g->me - 1), none, all, true);
    }
}

static void give_back(const struct folding *f, const struct half *h)
{
    const struct hb_group *g = f->g;
    struct range all = {0, f->v->bytes}, none = {0, 0};
    if (h->v < 0) {
        swap(f->s, hb_member(g, g->me + 1), f->v->at, none, all);
    } else if (h->v < h->extra) {
        swap(f->s, hb_member(g, g->me - 1), f->v->at, all, none);
    }
}

static void doubling(struct hb_sched *s, const struct hb_group *g,
                     const struct hb_vector *v)
{
    struct half h = half_of(g);
    struct folding f = folding_of(s, g, v);
    struct range all = {0, v->bytes};
    f.room = fold_room(s, v->bytes, v->esize);
    fold_extra(&f, &h);
    for (int d = 1; h.v >= 0 && d < h.size; d *= 2) {
        int peer = h.v ^ d;
        exchange(&f, peer_at(&h, g, peer), all, all, peer < h.v);
    }
    give_back(&f, &h);
}

/* The slices [lo, hi) that place v holds before round i; neighbours first,
 * so that rows of members grow. */
static void slices_at(int v, int size, int round, int *lo, int *hi)
{
    *lo = 0;
    *hi = size;
    for (int i = 0; i < round; i++) {
        int mid = (*lo + *hi) / 2;
        *lo = v >> i & 1 ? mid : *lo;
        *hi = v >> i & 1 ? *hi : mid;
    }
}

static struct range held(const struct hb_vector *v, int place, int size,
                         int round)
{
    int lo, hi;
    slices_at(place, size, round, &lo, &hi);
    size_t from = hb_slice(v->bytes, v->esize, size, lo);
    return (struct range){from, hb_slice(v->bytes, v->esize, size, hi) - from};
}

static void halving(struct hb_sched *s, const struct hb_group *g,
                    const struct hb_vector *v)
{
    struct half h = half_of(g);
    struct folding f = folding_of(s, g, v);
    int rounds = hb_log2_up(h.size);
    /* Slices that are an element longer are the first: the lower half is. */
    f.room = fold_room(s, h.extra > 0 ? v->bytes : held(v, 0, h.size, 1).len,
                       v->esize);
    fold_extra(&f, &h);
    for (int i = 0; h.v >= 0 && i < rounds; i++) {
        int peer = h.v ^ 1 << i;
        exchange(&f, peer_at(&h, g, peer), held(v, peer, h.size, i + 1),
                 held(v, h.v, h.size, i + 1), peer < h.v);
    }
    for (int i = rounds - 1; h.v >= 0 && i >= 0; i--) {
        int peer = h.v ^ 1 << i;
        swap(s, peer_at(&h, g, peer), v->at, held(v, h.v, h.size, i + 1),
             held(v, peer, h.size, i + 1));
    }
    give_back(&f, &h);
}

static struct range slice(const struct hb_vector *v, int p, int i)
{
    size_t from = hb_slice(v->bytes, v->esize, p, i);
    return (struct range){from, hb_slice(v->bytes, v->esize, p, i + 1) - from};
}

/* Each slice is folded once by each member on its way round. */
static void ring(struct hb_sched *s, const struct hb_group *g,
                 const struct hb_vector *v)
{
    int p = g->size, next = hb_member(g, (g->me + 1) % p);
    int before = hb_member(g, (g->me - 1 + p) % p);
    struct hb_at room = hb_sched_room(s, slice(v, p, 0).len);
    struct hb_at own = hb_vector_own(v);
    for (int i = 0; i < 2 * (p - 1); i++) {
        struct range out = slice(v, p, (g->me - i + 2 * p) % p);
        struct range in = slice(v, p, (g->me - i - 1 + 2 * p) % p);
        bool folds = i < p - 1;
        hb_sched_recv(s, before, folds ? room : hb_plus(v->at, in.at),
                      in.len);
        hb_sched_send(s, next, hb_plus(i == 0 ? own : v->at, out.at),
                      out.len);
        hb_sched_wait(s);
        if (folds) {
            hb_sched_fold(s, HB_STEP_FOLD, room, hb_plus(own, in.at),
                          hb_plus(v->at, in.at), in.len);
        }
    }
}

void hb_sched_allreduce(struct hb_sched *s, const struct hb_group *g,
                        const struct hb_vector *v,
                        const struct hb_choice *how)
{
    hb_sched_note(s, HPCBOOT_COLL_ALLREDUCE, g->size, v->bytes, how);
    if (g->size == 1) {
        hb_sched_copy(s, hb_vector_own(v), v->at, v->bytes);
        return;
    }
    if (how->alg == HB_ALG_DOUBLING) {
        doubling(s, g, v);
    } else if (how->alg == HB_ALG_HALVING) {
        halving(s, g, v);
    } else if (how->alg == HB_ALG_RING && !v->ordered) {
        ring(s, g, v);
    } else {
        s->within++;
        hb_sched_reduce(s, g, 0, v, how);
        hb_sched_wait(s);
        hb_sched_bcast(s, g, 0, v->at, v->bytes, how, -1);
        s->within--;
    }
    hb_sched_wait(s);
}

/* ---- reduce_scatter ---- */

/* Blocks lie one after the other in the folded vector. */
static size_t row_at(const struct hb_blocks *b, int i)
{
    return b->off != NULL ? b->off[i] : (size_t)i * b->each;
}

static size_t row_end(const struct hb_blocks *b, int n)
{
    return n == 0 ? 0 : row_at(b, n - 1) + hb_block_len(b, n - 1);
}

/* Blocks of places [lo, hi) among 2^k. */
static struct range blocks_of(const struct half *h, const struct hb_blocks *b,
                              int lo, int hi)
{
    int first = lo < h->extra ? 2 * lo : lo + h->extra;
    int last = hi < h->extra ? 2 * hi : hi + h->extra;
    size_t from = row_end(b, first);
    return (struct range){from, row_end(b, last) - from};
}

/* The farthest first: rows of blocks are halved; for ops that commute. */
static void scatter_halving(struct hb_sched *s, const struct hb_group *g,
                            const struct hb_vector *v,
                            const struct hb_blocks *b, struct hb_at own)
{
    struct half h = half_of(g);
    struct folding f = folding_of(s, g, v);
    int lo = 0, hi = h.size;
    f.room = fold_room(s, v->bytes, v->esize);
    fold_extra(&f, &h);
    for (int d = h.size / 2; h.v >= 0 && d > 0; d /= 2) {
        int mid = lo + d, peer = h.v ^ d;
        struct range low = blocks_of(&h, b, lo, mid);
        struct range high = blocks_of(&h, b, mid, hi);
        struct range keep = h.v & d ? high : low, give = h.v & d ? low : high;
        exchange(&f, peer_at(&h, g, peer), give, keep, peer < h.v);
        lo = h.v & d ? mid : lo;
        hi = h.v & d ? hi : mid;
    }
    size_t mine = hb_block_len(b, g->me);
    if (h.v < 0) {
        hb_sched_recv(s, hb_member(g, g->me + 1), own, mine);
    } else {
        if (h.v < h.extra) {
            hb_sched_send(s, hb_member(g, g->me - 1),
                          hb_plus(f.now, row_at(b, g->me - 1)),
                          hb_block_len(b, g->me - 1));
        }
        hb_sched_copy(s, hb_plus(f.now, row_at(b, g->me)), own, mine);
    }
}

/* Each block goes to its member, who folds all of them in order. */
static void scatter_pairwise(struct hb_sched *s, const struct hb_group *g,
                             const struct hb_vector *v,
                             const struct hb_blocks *b, struct hb_at own)
{
    int p = g->size;
    size_t mine = hb_block_len(b, g->me);
    struct hb_at room = hb_sched_room(s, (size_t)p * mine);
    hb_sched_copy(s, hb_plus(v->at, row_at(b, g->me)),
                  hb_plus(room, (size_t)g->me * mine), mine);
    for (int i = 1; i < p; i++) {
        int to = (g->me + i) % p, from = (g->me - i + p) % p;
        hb_sched_recv(s, hb_member(g, from),
                      hb_plus(room, (size_t)from * mine), mine);
        hb_sched_send(s, hb_member(g, to), hb_plus(v->at, row_at(b, to)),
                      hb_block_len(b, to));
        if (i % WINDOW == 0) {
            hb_sched_wait(s);
        }
    }
    hb_sched_wait(s);
    if (mine > 0) {
        struct hb_step *step = hb_sched_add(s, HB_STEP_FOLD_ALL);
        step->from = room;
        step->to = own;
        step->rows = (uint32_t)p;
        step->bytes = mine;
    }
}

void hb_sched_reduce_scatter(struct hb_sched *s, const struct hb_group *g,
                             const struct hb_vector *v,
                             const struct hb_blocks *b, struct hb_at own,
                             const struct hb_choice *how)
{
    hb_sched_note(s, HPCBOOT_COLL_REDUCE_SCATTER, g->size,
                  hb_blocks_mean(b, g->size), how);
    if (how->alg == HB_ALG_HALVING && !v->ordered) {
        scatter_halving(s, g, v, b, own);
    } else if (how->alg == HB_ALG_PAIRWISE) {
        scatter_pairwise(s, g, v, b, own);
    } else {
        struct hb_blocks folded = *b;
        folded.base = v->at;
        s->within++;
        hb_sched_reduce(s, g, 0, v, how);
        hb_sched_wait(s);
        hb_sched_scatter(s, g, 0, &folded, own, how);
        s->within--;
    }
    hb_sched_wait(s);
}

/* ---- scans ---- */

/* Whether v->at is to be written at a member behind which nobody waits for it
 * (or only those within `next`). */
static bool folds(const struct hb_group *g, int wants, int64_t next)
{
    return (wants & HB_SCAN_AT) != 0 || g->me + next < g->size;
}

/* In segments down the row: one is passed on when it has been folded. */
static void scan_chain(struct hb_sched *s, const struct hb_group *g,
                       const struct hb_vector *v, struct hb_at below,
                       int wants)
{
    size_t seg = segment_of(HB_CHAIN_SEGMENT, v->esize);
    struct hb_at own = hb_vector_own(v), upto = g->me > 0 ? v->at : own;
    int first = s->count;
    for (size_t at = 0; g->me > 0 && at < v->bytes; at += seg) {
        hb_sched_recv(s, hb_member(g, g->me - 1), hb_plus(below, at),
                      v->bytes - at < seg ? v->bytes - at : seg);
    }
    int i = 0;
    for (size_t at = 0; at < v->bytes; at += seg, i++) {
        size_t len = v->bytes - at < seg ? v->bytes - at : seg;
        if (g->me > 0 && folds(g, wants, 1)) {
            s->after = first + i + 1;
            hb_sched_fold(s, HB_STEP_FOLD, hb_plus(below, at),
                          hb_plus(own, at), hb_plus(v->at, at), len);
        }
        if (g->me + 1 < g->size) {
            hb_sched_send(s, hb_member(g, g->me + 1), hb_plus(upto, at),
                          len);
        }
    }
}

/* Rounds of doubling distance. What comes in the only round of one is for
 * `below` itself. */
static void scan_doubling(struct hb_sched *s, const struct hb_group *g,
                          const struct hb_vector *v, struct hb_at below,
                          int wants)
{
    struct hb_at now = hb_vector_own(v),
                 in = g->me > 1 ? hb_sched_room(s, v->bytes) : below;
    for (int64_t d = 1; d < g->size; d *= 2) {
        int from = (int)(g->me - d);
        if (from >= 0) {
            hb_sched_recv(s, hb_member(g, from), in, v->bytes);
        }
        if (g->me + d < g->size) {
            hb_sched_send(s, hb_member(g, (int)(g->me + d)), now, v->bytes);
        }
        hb_sched_wait(s);
        if (from >= 0 && (wants & HB_SCAN_BELOW) != 0) {
            if (d == 1) {
                hb_sched_copy(s, in, below, v->bytes);
            } else {
                hb_sched_do(s, HB_STEP_FOLD, in, below, v->bytes);
            }
        }
        if (from >= 0 && folds(g, wants, 2 * d)) {
            hb_sched_fold(s, HB_STEP_FOLD, in, now, v->at, v->bytes);
            now = v->at;
        }
    }
}

void hb_sched_scan(struct hb_sched *s, const struct hb_group *g,
                   const struct hb_vector *v, struct hb_at below, int wants,
                   const struct hb_choice *how)
{
    hb_sched_note(s, HPCBOOT_COLL_SCAN, g->size, v->bytes, how);
    if (how->alg == HB_ALG_DOUBLING) {
        scan_doubling(s, g, v, below, wants);
    } else {
        scan_chain(s, g, v, below, wants);
    }
    if (g->me == 0 && (wants & HB_SCAN_AT) != 0) {
        hb_sched_copy(s, hb_vector_own(v), v->at, v->bytes);
    }
    hb_sched_wait(s);
}
