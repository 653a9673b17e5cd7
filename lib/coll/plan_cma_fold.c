/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Collectives that fold, on one node, by reading what the peers have where it
 * is; plan_cma.c asks whether all can be read.
 *
 * Each rank folds from all ranks' vectors, block by block and in rank order:
 * all of it in an allreduce of two ranks, its own block in a
 * reduce_scatter_block. The closing round says that nobody reads any more. Who
 * has its vector where the result goes reads all of the other's first, and
 * folds when that round is over. */

#include "config.h"

#include "lib/coll/plan_cma.h"

#include <stdlib.h>

/* What is read before anything is folded is to stay in a cache. */
#define IN_PLACE_MOST ((size_t)1 << 20)

static bool has_blocks(const struct hb_op *op)
{
    return op->coll == HPCBOOT_COLL_REDUCE_SCATTER_BLOCK;
}

/* A peer reads what this rank would overwrite. */
static bool is_late(const struct hb_op *op)
{
    return op->own_placed && op->coll == HPCBOOT_COLL_ALLREDUCE;
}

bool hb_cma_can_fold(const struct hb_coll_team *t, const struct hb_op *op)
{
    return op->esize <= hb_model_cma_block(t->p);
}

/* Of whole elements; ops of the user's have room for no more. */
static size_t block_of(const struct hb_coll_team *t, const struct hb_op *op)
{
    return hb_model_cma_block(t->p) / op->esize * op->esize;
}

/* What is held of each of the others. */
static size_t held_of(const struct hb_coll_team *t, const struct hb_op *op)
{
    return is_late(op) ? op->bytes : block_of(t, op);
}

static bool has_room(struct hb_coll_team *t, const struct hb_op *op)
{
    struct hb_cma_team *c = &t->cma;
    size_t need = held_of(t, op) * (size_t)(t->p - 1);
    need = (need + HB_SHM_LINE) / HB_SHM_LINE * HB_SHM_LINE;
    if (c->room_size < need) {
        free(c->room);
        c->room = aligned_alloc(HB_SHM_LINE, need);
        c->room_size = c->room != NULL ? need : 0;
    }
    return c->room != NULL;
}

bool hb_cma_fold_ready(struct hb_coll_team *t, const struct hb_op *op)
{
    return (!is_late(op) || op->bytes <= IN_PLACE_MOST) && has_room(t, op);
}

static char *room_of(struct hb_coll_team *t, const struct hb_op *op, int turn)
{
    return t->cma.room + (size_t)turn * held_of(t, op);
}

/* n bytes at `at` of all other vectors. */
static int read_all(struct hb_coll_team *t, struct hb_op *op, size_t at,
                    size_t n)
{
    while (op->cma.turn < t->p - 1) {
        int j = hb_cma_peer(t, op->cma.turn);
        int rc = hb_cma_read(t, op, j, room_of(t, op, op->cma.turn),
                             hb_cma_places(t, j).at + at, n);
        if (rc != HPCBOOT_OK) {
            return rc;
        }
        op->cma.turn++;
    }
    op->cma.turn = 0;
    return HPCBOOT_OK;
}

static size_t next_len(const struct hb_coll_team *t, const struct hb_op *op)
{
    return hb_min(block_of(t, op), op->bytes - op->cma.folded);
}

/* The next block, which is at `own` of this rank's vector and at `held` of what
 * has been read of each of the others. */
static void fold_next(struct hb_coll_team *t, struct hb_op *op, size_t own,
                      size_t held)
{
    size_t n = next_len(t, op);
    for (int turn = 0; turn < t->p - 1; turn++) {
        t->src[hb_cma_peer(t, turn)] = room_of(t, op, turn) + held;
    }
    t->src[t->me] = op->send + own;
    hb_fold_out(t, op, op->recv + op->cma.folded, t->p, n);
    op->cma.folded += n;
}

static int fold_blocks(struct hb_coll_team *t, struct hb_op *op)
{
    size_t from = has_blocks(op) ? (size_t)t->me * op->bytes : 0;
    while (op->cma.folded < op->bytes) {
        size_t at = from + op->cma.folded;
        int rc = read_all(t, op, at, next_len(t, op));
        if (rc != HPCBOOT_OK) {
            return rc;
        }
        fold_next(t, op, at, 0);
        if (op->cma.folded < op->bytes && hb_cma_must_look(t, op)) {
            return hb_cma_look_up(t);
        }
    }
    return HPCBOOT_OK;
}

/* Nobody reads this rank's vector any more. */
static int fold_late(struct hb_coll_team *t, struct hb_op *op)
{
    while (op->cma.folded < op->bytes) {
        fold_next(t, op, op->cma.folded, op->cma.folded);
    }
    return HPCBOOT_OK;
}

static const struct hb_plan closing_late = {
    .put = hb_cma_close_put, .get = hb_cma_close_get, .tail = fold_late,
    .awaited = true};

int hb_cma_fold(struct hb_coll_team *t, struct hb_op *op)
{
    int rc = is_late(op) ? read_all(t, op, 0, op->bytes) : fold_blocks(t, op);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    return hb_plan_close(t, op, is_late(op) ? &closing_late
                                        : &hb_cma_closing);
}
