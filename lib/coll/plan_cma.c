/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Collectives that move long blocks, on one node, by reading them where they
 * are: cma.c has the reading, and whether it is allowed.
 *
 * One round says where each buffer is, then each rank reads what is meant for
 * it, and a closing round says that nobody reads any more. Of rooted kinds the
 * root alone says so: of bcast and scatter the others read there, of a gather
 * they write. A rank whose buffer the kernel would not touch, or that would
 * overwrite what it sends, says 0: then the plan that copies begins anew.
 *
 * What is to be folded is read piece by piece: plan_cma_fold.c.
 *
 * The root of a bcast writes a part of it to each of the others, if they have
 * said where: op->cma.writes.
 *
 * Buffers that turn out to be in the heap need no kernel; plan_heap.c.
 *
 * Of alltoallv and scatterv not all know the lengths: the first round tells for
 * each block where it is, or has the first piece of it. A gatherv has tails:
 * plan_rows.c. */

#include "config.h"

#include "lib/coll/plan_cma.h"

#include "lib/coll/pieces.h"

/* Of unequal lengths, which not all ranks know: plan_rows.c. */
static bool has_rows(const struct hb_op *op)
{
    return op->coll == HPCBOOT_COLL_ALLTOALLV ||
           op->coll == HPCBOOT_COLL_SCATTERV ||
           op->coll == HPCBOOT_COLL_GATHERV;
}

/* As a bcast, from one buffer to another: with two ranks, exscan is that. */
static bool has_root(const struct hb_op *op)
{
    return op->coll == HPCBOOT_COLL_BCAST || op->coll == HPCBOOT_COLL_EXSCAN ||
           op->coll == HPCBOOT_COLL_SCATTER ||
           op->coll == HPCBOOT_COLL_SCATTERV ||
           op->coll == HPCBOOT_COLL_GATHER;
}

struct hb_cma_places hb_cma_places(struct hb_coll_team *t, int j)
{
    struct hb_cma_places c;
    memcpy(&c, hb_shm_cell(t, j, t->round)->bytes, sizeof c);
    return c;
}

/* The plan that copies, from its beginning. */
static void copy_instead(struct hb_op *op)
{
    op->plan = op->cma.plan;
    op->rounds = op->cma.rounds;
    op->stride = op->cma.stride;
    op->area = op->cma.area;
}

#define ANEW UINT64_MAX /* of k, before it is counted up */

/* Whom this rank waits for in a round. */
static void await(struct hb_coll_team *t, struct hb_op *op, bool all)
{
    bool root = t->me == op->root;
    op->from = !has_root(op) || (root && all) ? HB_ALL
               : root                         ? HB_NONE
                                              : op->root;
}

int hb_cma_close_put(struct hb_coll_team *t, struct hb_op *op)
{
    await(t, op, true);
    if (has_root(op) && t->me != op->root && op->cma.part == 0) {
        op->from = HB_NONE;
    }
    return HB_NONE;
}

void hb_cma_close_get(struct hb_coll_team *t, struct hb_op *op)
{
}

const struct hb_plan hb_cma_closing = {
    .put = hb_cma_close_put, .get = hb_cma_close_get, .awaited = true};

/* Blocks whose lengths all know */

/* What peers read or write of this rank's; NULL: nothing. */
static const char *lent(struct hb_coll_team *t, const struct hb_op *op,
                        size_t *bytes_out)
{
    bool root = t->me == op->root;
    size_t all = op->bytes * (size_t)t->p;
    *bytes_out = all;
    switch (op->coll) {
    case HPCBOOT_COLL_BCAST:
        *bytes_out = op->bytes;
        return root || op->cma.part > 0 ? op->recv : NULL;
    case HPCBOOT_COLL_EXSCAN:
        *bytes_out = op->bytes;
        return root ? op->send : op->cma.part > 0 ? op->recv : NULL;
    case HPCBOOT_COLL_SCATTER:
        return root ? op->send : NULL;
    case HPCBOOT_COLL_GATHER:
        return root ? op->recv : NULL;
    case HPCBOOT_COLL_ALLTOALL:
        return op->own_placed ? NULL : op->send;
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK: /* the result is placed later */
        return op->send;
    case HPCBOOT_COLL_ALLREDUCE:
        *bytes_out = op->bytes;
        return op->send;
    default: /* allgather(v) */
        *bytes_out = hb_recv_len(op, t->me);
        return op->send;
    }
}

static int ask_put(struct hb_coll_team *t, struct hb_op *op)
{
    struct hb_cma_places c = {{0, 0}, 0};
    size_t bytes;
    const char *at = lent(t, op, &bytes);
    op->cma.turn = 0;
    op->cma.done = op->cma.folded = 0;
    op->cma.refused_ns = 0;
    if (op->choice.ask) {
        c.heap = hb_heap_places(t, op);
    }
    if (at != NULL && hb_cma_is_readable(t, at, bytes) &&
        (!hb_model_cma_folds(op->coll) || hb_cma_fold_ready(t, op))) {
        c.at = (uint64_t)(uintptr_t)at;
    }
    memcpy(hb_shm_cell(t, t->me, t->round + 1)->bytes, &c, sizeof c);
    await(t, op, op->cma.part > 0);
    return !has_root(op) || t->me == op->root ? HB_ALL
           : op->cma.part > 0                 ? op->root
                                              : HB_NONE;
}

static int take_in_heap(struct hb_coll_team *t, struct hb_op *op)
{
    return hb_heap_direct(t, op, &hb_cma_closing);
}

static const struct hb_plan in_heap = {NULL, NULL, take_in_heap};

static void ask_get(struct hb_coll_team *t, struct hb_op *op)
{
    bool heap = op->choice.ask, reachable = true, root = has_root(op);
    for (int j = 0; j < t->p; j++) {
        struct hb_cma_places c = hb_cma_places(t, j);
        bool counts = !root || j == op->root;
        heap = heap && (!counts || (c.heap.recv != 0 &&
                                    (root || c.heap.send != 0)));
        reachable = reachable && (!counts || c.at != 0);
    }
    if (heap) {
        op->plan = &in_heap;
    } else if (!reachable) {
        copy_instead(op);
        op->k = ANEW;
    }
}

/* How much of a bcast the root writes to local rank j, whose buffer may be one
 * that cannot be reached. */
static size_t part_for(struct hb_coll_team *t, const struct hb_op *op, int j)
{
    return op->cma.writes > 0 && hb_cma_places(t, j).at != 0 ? op->cma.writes
                                                             : 0;
}

static int read_block(struct hb_coll_team *t, struct hb_op *op, int j)
{
    uint64_t at = hb_cma_places(t, j).at;
    bool own = op->coll == HPCBOOT_COLL_ALLTOALL ||
               op->coll == HPCBOOT_COLL_SCATTER;
    char *to = has_root(op) ? op->recv : hb_recv_at(op, j);
    return hb_cma_read(t, op, j, to,
                       own ? at + (size_t)t->me * op->bytes : at,
                       hb_recv_len(op, j) - part_for(t, op, t->me));
}

/* To the root of a gather, or the end of a bcast to local rank j. */
static int write_block(struct hb_coll_team *t, struct hb_op *op, int j)
{
    uint64_t to = hb_cma_places(t, j).at;
    bool bcast = op->coll == HPCBOOT_COLL_BCAST;
    if (op->coll == HPCBOOT_COLL_GATHER) {
        return hb_cma_write(t, op, j, to + (size_t)t->me * op->bytes, op->send,
                            op->bytes);
    }
    size_t part = part_for(t, op, j), at = op->bytes - part;
    return hb_cma_write(t, op, j, to + at,
                        (bcast ? op->recv : op->send) + at, part);
}

static void copy_own(struct hb_coll_team *t, struct hb_op *op)
{
    switch (op->coll) {
    case HPCBOOT_COLL_BCAST:
    case HPCBOOT_COLL_EXSCAN:
        return;
    case HPCBOOT_COLL_SCATTER:
        hb_move(op, op->recv, hb_send_at(op, t->me), op->bytes);
        return;
    case HPCBOOT_COLL_ALLTOALL:
        hb_move(op, hb_recv_at(op, t->me), hb_send_at(op, t->me), op->bytes);
        return;
    default: /* gather, allgather(v) */
        hb_move(op, hb_recv_at(op, t->me), op->send, hb_recv_len(op, t->me));
    }
}

/* With each, from the next rank on. */
static int with_all(struct hb_coll_team *t, struct hb_op *op,
                    int (*move)(struct hb_coll_team *, struct hb_op *, int))
{
    while (op->cma.turn < t->p - 1) {
        int rc = move(t, op, hb_cma_peer(t, op->cma.turn));
        if (rc != HPCBOOT_OK) {
            return rc;
        }
        op->cma.turn++;
    }
    return HPCBOOT_OK;
}

static int with_root(struct hb_coll_team *t, struct hb_op *op,
                     int (*move)(struct hb_coll_team *, struct hb_op *, int))
{
    int rc = op->cma.turn == 0 ? move(t, op, op->root) : HPCBOOT_OK;
    op->cma.turn += rc == HPCBOOT_OK;
    return rc;
}

static int take(struct hb_coll_team *t, struct hb_op *op)
{
    bool root = t->me == op->root, gather = op->coll == HPCBOOT_COLL_GATHER;
    int rc = HPCBOOT_OK;
    if (hb_model_cma_folds(op->coll)) {
        return hb_cma_fold(t, op);
    }
    if (!has_root(op)) {
        rc = with_all(t, op, read_block);
    } else if (!root) {
        rc = with_root(t, op, gather ? write_block : read_block);
    } else if (op->cma.writes > 0) {
        rc = with_all(t, op, write_block);
    }
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    if (!op->own_placed && (root || !has_root(op))) {
        copy_own(t, op);
    }
    return hb_plan_close(t, op, &hb_cma_closing);
}

static const struct hb_plan asking = {ask_put, ask_get, take};

/* Rows: plan_rows.c has heard who lends what. */

static int borrow(struct hb_coll_team *t, struct hb_op *op, int j)
{
    bool one = has_root(op);
    uint64_t at = *hb_lent_by(op, j);
    return at == 0 ? HPCBOOT_OK
                   : hb_cma_read(t, op, j, one ? op->recv : hb_recv_at(op, j),
                                 at, one ? op->bytes : hb_recv_len(op, j));
}

int hb_plan_borrow(struct hb_coll_team *t, struct hb_op *op)
{
    int rc = HPCBOOT_OK;
    if (!op->cma.borrows) {
        return HPCBOOT_OK;
    }
    if (!has_root(op)) {
        rc = with_all(t, op, borrow);
    } else if (t->me != op->root) {
        rc = with_root(t, op, borrow);
    }
    op->area = 0;
    return rc == HPCBOOT_OK ? hb_plan_close(t, op, &hb_cma_closing) : rc;
}

/* What all of them begin with. */
static int cma_step(struct hb_coll_team *t, struct hb_op *op)
{
    int rc = hb_cma_meet(t, op);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    if (op->k == 0 && !op->getting) {
        op->cma.on = t->cma.state == HB_CMA_YES;
        if (!op->cma.on && op->plan == &asking) {
            copy_instead(op);
        }
    }
    return hb_shm_step(t, op);
}

static bool pays(const struct hb_coll_team *t, const struct hb_op *op)
{
    const struct hb_coll_model *m = t->engine->model;
    switch (op->coll) {
    case HPCBOOT_COLL_ALLTOALLV:
    case HPCBOOT_COLL_SCATTERV:
    case HPCBOOT_COLL_GATHERV: /* it may, once lengths are known */
        return hb_model_knows_cma(m, op->coll);
    case HPCBOOT_COLL_ALLGATHERV:
        return hb_model_cma(m, op->coll, t->p, op->total / (size_t)t->p);
    case HPCBOOT_COLL_EXSCAN:
        return op->choice.cma && hb_plan_folds_on(op);
    default:
        return op->choice.cma;
    }
}

void hb_plan_cma(struct hb_coll_team *t, struct hb_op *op)
{
    op->cma = (struct hb_cma_op){.plan = op->plan, .rounds = op->rounds,
                                 .stride = op->stride, .area = op->area};
    op->cma.part = hb_model_cma_part(t->engine->model, op->coll, t->p,
                                     op->bytes);
    op->cma.writes = hb_model_cma_writes(t->engine->model, op->coll, t->p,
                                         op->bytes);
    if (t->p == 1 || hb_plan_collects(op) || !pays(t, op) ||
        (hb_model_cma_folds(op->coll) && !hb_cma_can_fold(t, op))) {
        return;
    }
    op->step = cma_step;
    if (has_rows(op)) {
        op->cma.pays = op->longest > op->first &&
                       hb_model_cma(t->engine->model, op->coll, t->p,
                                    op->longest);
    } else {
        op->plan = &asking;
        op->rounds = 1;
        op->area = 0;
        op->root = op->coll == HPCBOOT_COLL_EXSCAN ? 0 : op->root;
    }
}
