/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_PLAN_HEAP_H
#define HB_COLL_PLAN_HEAP_H

/* For a plan that asks its peers for more than where in the heap they are. */

#include "lib/coll/impl.h"

/* Offsets of both buffers in the heap, + 1; 0: not there. */
struct hb_heap_places {
    uint64_t send, recv;
};
struct hb_heap_places hb_heap_places(struct hb_coll_team *t, struct hb_op *op);
/* A step: what a rank does when all are there; goes on with a closing round. */
int hb_heap_direct(struct hb_coll_team *t, struct hb_op *op,
                   const struct hb_plan *round);
/* A step: one more round, of that plan. */
int hb_plan_close(struct hb_coll_team *t, struct hb_op *op,
                  const struct hb_plan *round);

#endif
