/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_SPILL_H
#define HB_COLL_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hpcboot/coll.h"

/* Of a team's calls of a kind whose buffers may or may not fit in the caches;
 * spill.c. */
struct hb_spill {
    size_t bytes;   /* of this rank; others begin anew */
    unsigned calls;
    int64_t began_ns, least_ns[2]; /* of a call; [1]: past the caches */
    bool past;                     /* is the faster */
};

struct hb_coll_team;
struct hb_op;

/* Whether a call with these arguments writes past the caches (op->spills), or
 * tries it (op->tries_spill); */
void hb_spill_setup(struct hb_coll_team *t, struct hb_op *op,
                    const struct hpcboot_coll_args *a);
/* around a blocking one that tries. */
void hb_spill_begin(struct hb_coll_team *t, struct hb_op *op);
void hb_spill_end(struct hb_coll_team *t, const struct hb_op *op);

#endif
