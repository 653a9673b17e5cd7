/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_PLAN_CMA_H
#define HB_COLL_PLAN_CMA_H

/* What plan_cma.c, which asks who may be read, and plan_cma_fold.c share. */

#include "lib/coll/plan_heap.h"

/* In the cell of the round that asks. */
struct hb_cma_places {
    struct hb_heap_places heap;
    uint64_t at; /* of the buffer in its rank; 0: it is copied */
};
struct hb_cma_places hb_cma_places(struct hb_coll_team *t, int j);

/* The closing round: whoever has posted it reads and writes no more. */
int hb_cma_close_put(struct hb_coll_team *t, struct hb_op *op);
void hb_cma_close_get(struct hb_coll_team *t, struct hb_op *op);
extern const struct hb_plan hb_cma_closing;

/* Each of the others, from the next rank on. */
static inline int hb_cma_peer(const struct hb_coll_team *t, int turn)
{
    int j = t->me + 1 + turn;
    return j < t->p ? j : j - t->p;
}

/* plan_cma_fold.c */
/* Elements that are never cut fit in what is read at a time. */
bool hb_cma_can_fold(const struct hb_coll_team *t, const struct hb_op *op);
/* Whether this rank has memory to read to. */
bool hb_cma_fold_ready(struct hb_coll_team *t, const struct hb_op *op);
/* A step: when all are ready; goes on with further rounds. */
int hb_cma_fold(struct hb_coll_team *t, struct hb_op *op);

#endif
