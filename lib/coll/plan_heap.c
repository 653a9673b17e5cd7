/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Buffers in the node's shared heap (hpcboot_alloc) need no copy in between:
 * peers read and write them where they are.
 *
 * Whether a buffer is in the heap only its owner knows, so the first round
 * tells: the cell, whose bytes a large collective does not use, carries the
 * places of both buffers. A rank whose buffers are not in the heap puts its
 * first piece in that round as if nothing had been asked; when no rank's are,
 * the question has cost nothing. When all are, each takes what it needs in
 * one go, and a closing round says that nobody reads any more. When some are,
 * the copying plan begins anew.
 *
 * bcast asks nothing: the root's word is enough. Where ranks have a core each,
 * the others say where they want it, too, and the root writes each of them a
 * part: two copy at a time. */

#include "config.h"

#include "lib/coll/impl.h"

/* A block that is folded, and then written to peers from the cache. */
#define FOLD_BLOCK ((size_t)16 << 10)
#define ALIGN_SLICE 64
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

static const struct hb_plan closing = {close_put, close_get};

/* What each collective does when every buffer is in the heap */

static void allgather(struct hb_coll_team *t, struct hb_op *op)
{
    for (int i = 0; i < t->p; i++) {
        int j = t->me + i < t->p ? t->me + i : t->me + i - t->p;
        if (i > 0 || !op->own_placed) {
            hb_get(op, hb_recv_at(op, j), at_place(t, places_of(t, j).send),
                   op->bytes);
        }
    }
}

static void alltoall(struct hb_coll_team *t, struct hb_op *op)
{
    for (int i = 0; i < t->p; i++) {
        int j = t->me + i < t->p ? t->me + i : t->me + i - t->p;
        hb_get(op, hb_recv_at(op, j),
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

/* Each folds a slice from all, and writes it to all (reduce: the root). */
static void reduce(struct hb_coll_team *t, struct hb_op *op)
{
    size_t p = (size_t)t->p, step = FOLD_BLOCK / op->esize * op->esize;
    size_t unit = ALIGN_SLICE % op->esize == 0 ? ALIGN_SLICE : op->esize;
    size_t units = (op->bytes + unit - 1) / unit;
    size_t each = (units + p - 1) / p * unit;
    size_t at = hb_min(each * (size_t)t->me, op->bytes);
    size_t end = hb_min(at + each, op->bytes);
    bool all = op->coll == HPCBOOT_COLL_ALLREDUCE;
    int first = all ? t->me : op->root;
    for (; at < end; at += step) {
        size_t n = hb_min(step, end - at);
        for (int j = 0; j < t->p; j++) {
            t->src[j] = at_place(t, places_of(t, j).send) + at;
        }
        char *to = at_place(t, places_of(t, first).recv) + at;
        hb_op_fold(t, op, to, t->p, n);
        for (int i = 1; all && i < t->p; i++) {
            int j = t->me + i < t->p ? t->me + i : t->me + i - t->p;
            hb_get(op, at_place(t, places_of(t, j).recv) + at, to, n);
        }
    }
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

static void bcast(struct hb_coll_team *t, struct hb_op *op)
{
    uint64_t from = places_of(t, op->root).recv;
    if (t->me != op->root) {
        hb_get(op, op->recv, at_place(t, from),
               op->bytes - part_for(t, op, t->me));
        return;
    }
    for (int j = 0; j < t->p; j++) {
        size_t part = j != t->me ? part_for(t, op, j) : 0;
        if (part > 0) {
            size_t at = op->bytes - part;
            hb_get(op, at_place(t, places_of(t, j).recv) + at, op->recv + at,
                   part);
        }
    }
}

void hb_heap_direct(struct hb_coll_team *t, struct hb_op *op)
{
    if (op->coll == HPCBOOT_COLL_BCAST) {
        bcast(t, op);
    } else {
        direct_of(op->coll)(t, op);
    }
}

/* The round that asks */

static int ask_put(struct hb_coll_team *t, struct hb_op *op)
{
    struct hb_heap_places x = hb_heap_places(t, op);
    memcpy(hb_shm_cell(t, t->me, t->round + 1)->bytes, &x, sizeof x);
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
    if (there == t->p) {
        direct_of(op->coll)(t, op);
        op->plan = &closing;
        op->rounds = 2;
    } else if (there == 0) {
        op->plan->get(t, op);
    } else {
        op->k--; /* the next round is the first again */
    }
}

static const struct hb_plan asking = {ask_put, ask_get};

/* bcast: the root tells in its first round where the buffer is, and where it
 * writes a part, the others theirs. */

static void say_place(struct hb_coll_team *t, const struct hb_heap_places *x)
{
    memcpy(hb_shm_cell(t, t->me, t->round + 1)->bytes, x, sizeof *x);
}

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
    if (op->k > 0) {
        return direct_bcast_close(t, op);
    }
    struct hb_heap_places x = hb_heap_places(t, op);
    bool shares = parts_are_written(op);
    if (t->me != op->root) {
        if (shares) {
            say_place(t, &x);
        }
        op->from = op->root;
        return shares ? op->root : HB_NONE;
    }
    say_place(t, &x);
    if (x.recv == 0) {
        op->plan = op->inner;
        return op->inner->put(t, op);
    }
    op->rounds = 2;
    op->from = shares ? HB_ALL : HB_NONE;
    return HB_ALL;
}

static void direct_bcast_get(struct hb_coll_team *t, struct hb_op *op)
{
    if (op->k > 0) {
        return;
    }
    if (places_of(t, op->root).recv == 0) {
        op->plan = op->inner;
        op->inner->get(t, op);
        return;
    }
    bcast(t, op);
    op->rounds = 2;
}

static const struct hb_plan direct_bcast = {direct_bcast_put,
                                            direct_bcast_get};

void hb_plan_heap(struct hb_coll_team *t, struct hb_op *op)
{
    if (t->engine->config.heap.size == 0 || !op->choice.ask ||
        op->tiny || t->p == 1 || op->finish != NULL) {
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
