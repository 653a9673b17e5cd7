/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_API_HOP_H
#define HB_API_HOP_H

#include "lib/api/api.h"

/* Who waits in which call for whom, as the ranks tell each other (ask.c). What
 * is no collective has a number of its own: a fence of the job (context 0) or
 * of a node (1) its own among these; a shrink the number that this rank would
 * give to a new team; a receive how many messages of that rank have come. */
enum { HB_IN_RECV = -1, HB_IN_FENCE = -2, HB_IN_SHRINK = -3 };

struct hb_hop {
    int32_t rank, coll; /* enum hpcboot_coll, or as above */
    uint32_t context, size;
    uint64_t call;
    int32_t tag, on;    /* rank in the world; -1: all, or not known */
};

/* The wait that this rank is in. */
struct hb_own_wait {
    struct hpcboot_team *team; /* NULL: no team's */
    const struct hb_coll_stuck *what;
};

#define HB_ASK_CONTEXT 6u /* below are those of the world and the node team */

struct hb_hop hb_hop_of(const struct hpcboot_team *team,
                         const struct hb_coll_stuck *what);
/* 1: *out is the wait that this rank is in, which those alone can end whom it
 * is for. */
int hb_hop_own(const struct hb_own_wait *w, struct hb_hop *out);
int hb_hop_is_own(const struct hb_own_wait *w, const struct hb_hop *h);
/* Whether one that is in no collective waits for something that this rank has
 * not done. */
int hb_hop_is_kept(const struct hb_hop *h);
/* Ends this rank's own; what its caller is to return. */
int hb_hop_end(const struct hpcboot_error *why, struct hpcboot_error *err);
/* "rank 1 waits in barrier of the world (its call 3)"; bytes as snprintf. */
size_t hb_hop_put(char *out, size_t size, const struct hb_hop *h);

#endif
