/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_SPILL_H
#define HB_COLL_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hpcboot/coll.h"

/* Of a team's calls of a kind and a size whose buffers may or may not fit in
 * the caches; spill.c. All zero: nothing has been tried. */
struct hb_spill {
    unsigned calls;
    int64_t began_ns;   /* the one that is tried */
    double least_ns[2]; /* of a byte; [1]: past the caches */
    bool stays;         /* in the caches, which is faster */
};
#define HB_SPILL_SIZES 4 /* powers of two; what is tried has two or three */

struct hb_coll_team;
struct hb_op;

/* Whether a call with these arguments writes past the caches (op->spills), and
 * whether that is tried (op->spill); */
void hb_spill_setup(struct hb_coll_team *t, struct hb_op *op,
                    const struct hpcboot_coll_args *a);
/* around a blocking one that has op->spill. */
void hb_spill_begin(struct hb_op *op);
void hb_spill_end(const struct hb_op *op);

#endif
