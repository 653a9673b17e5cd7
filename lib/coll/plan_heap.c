/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Buffers in the node's shared heap (hpcboot_alloc) need no copy in between:
 * peers read and write them where they are.
 *
 * Whether a buffer is in the heap only its owner knows, so the first round
 * tells: the cell, whose bytes a large collective does not use, carries the
 * places of both buffers. A rank whose buffers are not in the heap puts its
 * first piece in that round as if nothing had been asked. When all are, each
 * takes what it needs in one go, and a closing round says that nobody reads any
 * more. When some are, the copying plan begins anew. The question holds up
 * whoever would run ahead, the sender of a reduce above all; so where the
 * answer has been no, calls of that kind and length go by unasked, the more of
 * them the longer it has been so.
 *
 * A rank whose team fails has its buffers back at once, while others may be at
 * them: what they have read of it by then is good, all else is dropped, and
 * before they write they say so, as cma.c does, so that it waits for the end.
 *
 * bcast asks nothing: the root's word is enough. Where ranks have a core each,
 * the others say where they want it, too, and the root writes each of them a
 * part: two copy at a time. */

#include "config.h"

#include "lib/coll/plan_heap.h"

#include "lib/coll/pieces.h"

/* A block that is folded, and then written to peers from the cache. */
#define FOLD_BLOCK ((size_t)16 << 10)
#define ALIGN_SLICE 64
/* Of the own block, between two looks at the peers. */
#define OWN_PIECE ((size_t)8 << 10)
/* What is written to peers at a time: one that leaves waits so long. */
#define WRITE_SPAN (8 * FOLD_BLOCK)
/* A part that takes longer to copy than the root waits to be told where to. */
#define PART_LEAST ((size_t)16 << 10)

static uint64_t place_of(const struct hb_coll_heap *h, const void *p,
                         size_t bytes)
{
    uintptr_t base = (uintptr_t)h->base, at = (uintptr_t)p;
    if (h->size == 0 || at < base || bytes > h->size ||
        at - base > h->size - bytes) {
        return 0;
    }
    return at - base + 1;
}

static struct hb_heap_places places_of(struct hb_coll_team *t, int j)
{
    struct hb_heap_places x;
    memcpy(&x, hb_shm_cell(t, j, t->round)->bytes, sizeof x);
    return x;
}

static char *at_place(struct hb_coll_team *t, uint64_t place)
{
    return (char *)t->engine->config.heap.base + (place - 1);
}

/* Bytes of `send` and `recv` that peers may touch. */
static void extents(const struct hb_coll_team *t, const struct hb_op *op,
                    size_t *send, size_t *recv)
{
    size_t all = op->bytes * (size_t)t->p;
    *send = *recv = op->bytes;
    switch (op->coll) {
    case HPCBOOT_COLL_ALLGATHER:
        *recv = all;
        break;
    case HPCBOOT_COLL_ALLTOALL:
        *send = *recv = all;
        break;
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
        *send = all;
        break;
    default:
        break;
    }
}

struct hb_heap_places hb_heap_places(struct hb_coll_team *t, struct hb_op *op)
{
    const struct hb_coll_heap *h = &t->engine->config.heap;
    size_t send, recv;
    extents(t, op, &send, &recv);
    struct hb_heap_places x = {place_of(h, op->send, send),
                       place_of(h, op->recv, recv)};
    /* A peer would read what has been overwritten. */
    if (op->own_placed && (op->coll == HPCBOOT_COLL_ALLTOALL ||
                           op->coll == HPCBOOT_COLL_REDUCE_SCATTER_BLOCK)) {
        x.send = 0;
    }
    if (op->coll == HPCBOOT_COLL_REDUCE && t->me != op->root) {
        x.recv = x.send;
    }
    return x;
}

/* The last round: whoever has posted it reads no more. */
static int close_put(struct hb_coll_team *t, struct hb_op *op)
{
    op->from = HB_ALL;
    return HB_NONE;
}

static void close_get(struct hb_coll_team *t, struct hb_op *op)
{
}

static const struct hb_plan closing = {
    .put = close_put, .get = close_get, .awaited = true};

/* The own block of allgather and alltoall takes its rank alone: it is copied
 * while peers are awaited, and what is left of it at the end. */

static void copy_own(struct hb_coll_team *t, struct hb_op *op, size_t n)
{
    const char *from = op->coll == HPCBOOT_COLL_ALLTOALL
                           ? hb_send_at(op, t->me) : op->send;
    hb_move(op, hb_recv_at(op, t->me) + op->own_done, from + op->own_done, n);
    op->own_done += n;
}

static size_t own_left(const struct hb_op *op)
{
    return op->own_placed ? 0 : op->bytes - op->own_done;
}

static bool own_piece(struct hb_coll_team *t, struct hb_op *op)
{
    size_t n = hb_min(own_left(op), OWN_PIECE);
    copy_own(t, op, n);
    return n > 0;
}

static void own_rest(struct hb_coll_team *t, struct hb_op *op)
{
    copy_own(t, op, own_left(op));
}

static const struct hb_plan closing_own = {
    .put = close_put, .get = own_rest, .meanwhile = own_piece,
    .awaited = true};

static bool moves_blocks(const struct hb_op *op)
{
    return op->coll == HPCBOOT_COLL_ALLGATHER ||
           op->coll == HPCBOOT_COLL_ALLTOALL;
}

static bool parts_are_written(const struct hb_op *op)
{
    return op->cma.part >= PART_LEAST;
}

/* How much of a bcast, its end, the root writes to local rank j, whose buffer
 * may be elsewhere. */
static size_t part_for(struct hb_coll_team *t, const struct hb_op *op, int j)
{
    return parts_are_written(op) && places_of(t, j).recv != 0 ? op->cma.part
                                                             : 0;
}

/* Whether this rank is at a buffer of local rank j, which then waits for it. */
static bool is_at(struct hb_coll_team *t, const struct hb_op *op, int j)
{
    return op->coll != HPCBOOT_COLL_BCAST || j == op->root ||
           (t->me == op->root && part_for(t, op, j) > 0);
}

/* Announces that this rank is about to write to others' buffers, and returns
 * whether it may: not once one of them has left the call. Whoever leaves waits
 * until the announcement is taken back. One that is not waited for has left as
 * others do whose call is over. */
static bool may_write(struct hb_coll_team *t, const struct hb_op *op)
{
    bool all = true;
    atomic_store_explicit(&t->ranks[t->me].writes_to, HB_WRITES_HEAPS,
                          memory_order_relaxed);
    if (!t->engine->asymmetric) { /* else who leaves pays for the fence */
        atomic_thread_fence(memory_order_seq_cst);
    }
    atomic_signal_fence(memory_order_seq_cst);
    for (int j = 0; j < t->p; j++) {
        all = all && !(atomic_load(&t->ranks[j].gone) && is_at(t, op, j));
    }
    return all;
}

static void has_written(struct hb_coll_team *t)
{
    atomic_store_explicit(&t->ranks[t->me].writes_to, 0, memory_order_release);
}

/* What each collective does when every buffer is in the heap */

static void allgather(struct hb_coll_team *t, struct hb_op *op)
{
    for (int i = 1; i < t->p; i++) {
        int j = t->me + i < t->p ? t->me + i : t->me + i - t->p;
        hb_move(op, hb_recv_at(op, j), at_place(t, places_of(t, j).send),
               op->bytes);
    }
}

static void alltoall(struct hb_coll_team *t, struct hb_op *op)
{
    for (int i = 1; i < t->p; i++) {
        int j = t->me + i < t->p ? t->me + i : t->me + i - t->p;
        hb_move(op, hb_recv_at(op, j),
               at_place(t, places_of(t, j).send) + (size_t)t->me * op->bytes,
               op->bytes);
    }
}

static void reduce_scatter(struct hb_coll_team *t, struct hb_op *op)
{
    size_t step = FOLD_BLOCK / op->esize * op->esize;
    for (size_t at = 0; at < op->bytes; at += step) {
        for (int j = 0; j < t->p; j++) {
            t->src[j] = at_place(t, places_of(t, j).send) +
                        (size_t)t->me * op->bytes + at;
        }
        hb_op_fold(t, op, op->recv + at, t->p, hb_min(step, op->bytes - at));
    }
}

/* Folds from all, and writes to all (reduce: the root). */
static void fold_block(struct hb_coll_team *t, struct hb_op *op, size_t at,
                       size_t n)
{
    bool all = op->coll == HPCBOOT_COLL_ALLREDUCE;
    int first = all ? t->me : op->root;
    for (int j = 0; j < t->p; j++) {
        t->src[j] = at_place(t, places_of(t, j).send) + at;
    }
    char *to = at_place(t, places_of(t, first).recv) + at;
    hb_op_fold(t, op, to, t->p, n);
    for (int i = 1; all && i < t->p; i++) {
        int j = t->me + i < t->p ? t->me + i : t->me + i - t->p;
        hb_move(op, at_place(t, places_of(t, j).recv) + at, to, n);
    }
}

/* Each does a slice of it. */
static void reduce(struct hb_coll_team *t, struct hb_op *op)
{
    size_t p = (size_t)t->p, step = FOLD_BLOCK / op->esize * op->esize;
    size_t unit = ALIGN_SLICE % op->esize == 0 ? ALIGN_SLICE : op->esize;
    size_t units = (op->bytes + unit - 1) / unit;
    size_t each = (units + p - 1) / p * unit;
    size_t at = hb_min(each * (size_t)t->me, op->bytes);
    size_t end = hb_min(at + each, op->bytes);
    while (at < end && may_write(t, op)) {
        size_t stop = hb_min(end, at + WRITE_SPAN / step * step);
        for (; at < stop; at += step) {
            fold_block(t, op, at, hb_min(step, stop - at));
        }
        has_written(t);
    }
    has_written(t);
}

static void (*direct_of(enum hpcboot_coll coll))(struct hb_coll_team *,
                                                 struct hb_op *)
{
    switch (coll) {
    case HPCBOOT_COLL_ALLGATHER:
        return allgather;
    case HPCBOOT_COLL_ALLTOALL:
        return alltoall;
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
        return reduce_scatter;
    case HPCBOOT_COLL_REDUCE:
    case HPCBOOT_COLL_ALLREDUCE:
        return reduce;
    default:
        return NULL;
    }
}

static void write_part(struct hb_coll_team *t, struct hb_op *op, int j)
{
    size_t at = op->bytes - part_for(t, op, j);
    while (at < op->bytes && may_write(t, op)) {
        size_t n = hb_min(WRITE_SPAN, op->bytes - at);
        hb_move(op, at_place(t, places_of(t, j).recv) + at, op->recv + at, n);
        has_written(t);
        at += n;
    }
    has_written(t);
}

static void bcast(struct hb_coll_team *t, struct hb_op *op)
{
    uint64_t from = places_of(t, op->root).recv;
    if (t->me != op->root) {
        hb_move(op, op->recv, at_place(t, from),
               op->bytes - part_for(t, op, t->me));
        return;
    }
    for (int j = 0; j < t->p; j++) {
        if (j != t->me) {
            write_part(t, op, j);
        }
    }
}

/* A rank that has left while this one was at its buffer; or -1. */
static int who_left(struct hb_coll_team *t, const struct hb_op *op)
{
    atomic_thread_fence(memory_order_acquire); /* after what was read */
    for (int j = 0; j < t->p; j++) {
        if (atomic_load(&t->ranks[j].gone) && is_at(t, op, j)) {
            return j;
        }
    }
    return -1;
}

int hb_plan_close(struct hb_coll_team *t, struct hb_op *op,
                  const struct hb_plan *round)
{
    op->plan = round;
    op->area = 0; /* who only reads may come by before its root */
    op->rounds++;
    return hb_shm_step(t, op);
}

int hb_heap_direct(struct hb_coll_team *t, struct hb_op *op,
                   const struct hb_plan *round)
{
    if (op->cma.turn == 0) {
        (op->coll == HPCBOOT_COLL_BCAST ? bcast : direct_of(op->coll))(t, op);
        op->cma.turn = 1;
    }
    int left = who_left(t, op);
    if (left >= 0) {
        return hb_cma_left(t, op, left);
    }
    return hb_plan_close(t, op, moves_blocks(op) ? &closing_own : round);
}

/* The round that asks. What is learned from it all ranks learn, and one call of
 * a team is over before the next begins: so all of them ask, or none does. */

/* One more is asked: an odd number, so that of two buffers that take turns
 * neither is always passed over. */
#define PASS_MOST 14u

static struct hb_asked *asked_of(struct hb_coll_team *t, const struct hb_op *op)
{
    struct hb_asked *a = &t->asked[op->coll];
    if (a->bytes != op->bytes) {
        *a = (struct hb_asked){.bytes = op->bytes};
    }
    return a;
}

static bool goes_by(struct hb_coll_team *t, const struct hb_op *op)
{
    struct hb_asked *a = asked_of(t, op);
    bool by = a->pass > 0;
    a->pass -= by;
    return by;
}

static void learn(struct hb_coll_team *t, const struct hb_op *op, bool direct)
{
    struct hb_asked *a = asked_of(t, op);
    unsigned pass = (1u << a->vain) - 1; /* 0, 1, 3, 7 .. */
    a->pass = direct ? 0 : hb_min(2 * pass, PASS_MOST);
    a->vain = direct ? 0 : a->vain + (a->pass < PASS_MOST);
}

static void say_place(struct hb_coll_team *t, struct hb_op *op,
                      const struct hb_heap_places *x)
{
    op->cma.turn = 0;
    memcpy(hb_shm_cell(t, t->me, t->round + 1)->bytes, x, sizeof *x);
}

static int take(struct hb_coll_team *t, struct hb_op *op)
{
    return hb_heap_direct(t, op, &closing);
}

static const struct hb_plan direct = {NULL, NULL, take};

static int ask_put(struct hb_coll_team *t, struct hb_op *op)
{
    if (goes_by(t, op)) {
        op->plan = op->inner;
        return op->inner->put(t, op);
    }
    struct hb_heap_places x = hb_heap_places(t, op);
    say_place(t, op, &x);
    if (x.send == 0 || x.recv == 0) {
        op->inner->put(t, op);
    }
    op->from = HB_ALL;
    return HB_ALL;
}

static void ask_get(struct hb_coll_team *t, struct hb_op *op)
{
    int there = 0;
    for (int j = 0; j < t->p; j++) {
        struct hb_heap_places x = places_of(t, j);
        there += x.send != 0 && x.recv != 0;
    }
    op->plan = op->inner;
    learn(t, op, there == t->p);
    if (there == t->p) {
        op->plan = &direct;
        op->rounds = 1;
    } else if (there == 0) {
        op->plan->get(t, op);
    } else {
        op->k--; /* the next round is the first again */
    }
}

static bool ask_meanwhile(struct hb_coll_team *t, struct hb_op *op)
{
    struct hb_heap_places mine = places_of(t, t->me);
    return moves_blocks(op) && mine.send != 0 && mine.recv != 0 &&
           own_piece(t, op);
}

static const struct hb_plan asking = {ask_put, ask_get, NULL, ask_meanwhile};

/* bcast: the root tells in its first round where the buffer is, and where it
 * writes a part, the others theirs. */

/* Whoever has posted the second round reads and writes no more. */
static int direct_bcast_close(struct hb_coll_team *t, struct hb_op *op)
{
    op->from = t->me == op->root            ? HB_ALL
               : part_for(t, op, t->me) > 0 ? op->root
                                            : HB_NONE;
    return HB_NONE;
}

static int direct_bcast_put(struct hb_coll_team *t, struct hb_op *op)
{
    struct hb_heap_places x = hb_heap_places(t, op);
    bool shares = parts_are_written(op);
    say_place(t, op, &x);
    if (t->me != op->root) {
        op->from = op->root;
        return shares ? op->root : HB_NONE;
    }
    if (x.recv == 0) {
        op->plan = op->inner;
        return op->inner->put(t, op);
    }
    op->from = shares ? HB_ALL : HB_NONE;
    return HB_ALL;
}

static const struct hb_plan bcast_closing = {
    .put = direct_bcast_close, .get = close_get, .awaited = true};

static int take_bcast(struct hb_coll_team *t, struct hb_op *op)
{
    return hb_heap_direct(t, op, &bcast_closing);
}

static const struct hb_plan direct_from_root = {NULL, NULL, take_bcast};

static void direct_bcast_get(struct hb_coll_team *t, struct hb_op *op)
{
    if (places_of(t, op->root).recv == 0) {
        op->plan = op->inner;
        op->inner->get(t, op);
        return;
    }
    op->plan = &direct_from_root;
    op->rounds = 1;
}

static const struct hb_plan direct_bcast = {direct_bcast_put,
                                            direct_bcast_get};

void hb_plan_heap(struct hb_coll_team *t, struct hb_op *op)
{
    if (t->engine->config.heap.size == 0 || !op->choice.ask ||
        op->tiny || t->p == 1 || hb_plan_collects(op)) {
        return;
    }
    if (op->coll == HPCBOOT_COLL_BCAST) {
        op->inner = op->plan;
        op->plan = &direct_bcast;
    } else if (direct_of(op->coll) != NULL && op->esize <= FOLD_BLOCK) {
        op->inner = op->plan;
        op->plan = &asking;
    }
}
