/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* An allreduce of a short vector among ranks that share cores.
 *
 * Where each folds for itself, ranks that take turns on a core do the same work
 * one after the other; where each folds a slice, every rank needs another turn
 * for the second round. Here each puts its vector, and whoever first finds that
 * all have come folds them: mostly the last to come, which needs no further
 * turn for that. The result takes the place of its own vector. The others get
 * it on their next turn, in which they also put what the next call sends.
 *
 * A longer vector would go round the large ring, where folds find no line in a
 * cache: slices are sooner.
 *
 * A round is folded once: `taken` is set by one rank alone, and a rank that is
 * in this round is in no later one, so that nobody can have taken a later on.
 * Vectors are folded in rank order whoever does it: the bits are the same. */

#include "config.h"

#include "lib/coll/pieces.h"

static int put_vector(struct hb_coll_team *t, struct hb_op *op)
{
    op->from = HB_ALL;
    hb_put(t, op, hb_mine(t, op), op->send, op->bytes);
    return HB_ALL;
}

static void all_are_there(struct hb_coll_team *t, struct hb_op *op)
{
}

/* Who folds this round; this rank, if nobody has taken it on. */
static int folder(struct hb_coll_team *t)
{
    _Atomic uint64_t *taken = &t->head->taken;
    uint64_t none = t->round * (uint64_t)t->p;
    uint64_t now = atomic_load_explicit(taken, memory_order_acquire);
    while (now < none) {
        if (atomic_compare_exchange_weak(taken, &now,
                                         none + (uint64_t)t->me)) {
            return t->me;
        }
    }
    return (int)(now - none);
}

static void fold_all(struct hb_coll_team *t, struct hb_op *op)
{
    char *mine = hb_shm_ring(t, t->me, op->at);
    for (int j = 0; j < t->p; j++) {
        t->src[j] = hb_theirs(t, op, j);
    }
    hb_op_fold(t, op, mine, t->p, op->bytes);
    hb_shm_count(t, &t->head->folded, t->round);
}

static int share_result(struct hb_coll_team *t, struct hb_op *op)
{
    int j = folder(t);
    if (j == t->me) {
        fold_all(t, op);
    } else if (!hb_shm_has_counted(t, j, &t->head->folded, t->round)) {
        return HB_AGAIN;
    }
    hb_get(op, op->recv, hb_theirs(t, op, j), op->bytes);
    return HPCBOOT_OK;
}

static const struct hb_plan last = {put_vector, all_are_there, share_result};

bool hb_plan_last(struct hb_coll_team *t, struct hb_op *op)
{
    if (t->p < 3 || op->bytes > HB_SHM_SMALL) {
        return false;
    }
    size_t piece = op->choice.piece;
    op->choice.piece = HB_SHM_SMALL;
    hb_plan_cut(t, op, op->bytes, 1);
    op->choice.piece = piece;
    op->rounds = 1;
    op->plan = &last;
    return !op->tiny && op->piece >= op->bytes;
}
