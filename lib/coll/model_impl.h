/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_MODEL_IMPL_H
#define HB_COLL_MODEL_IMPL_H

/* What the files of the model share. */

#include "lib/coll/impl.h"

static inline bool hb_model_gathers(enum hpcboot_coll coll)
{
    return coll == HPCBOOT_COLL_GATHER || coll == HPCBOOT_COLL_GATHERV;
}

static inline bool hb_model_scatters(enum hpcboot_coll coll)
{
    return coll == HPCBOOT_COLL_SCATTER || coll == HPCBOOT_COLL_SCATTERV;
}

/* The root alone puts. */
static inline bool hb_model_one_puts(enum hpcboot_coll coll)
{
    return coll == HPCBOOT_COLL_BCAST || hb_model_scatters(coll);
}

static inline bool hb_model_sends_root(enum hpcboot_coll coll)
{
    return hb_model_one_puts(coll) || coll == HPCBOOT_COLL_EXSCAN;
}

static inline double hb_model_share(const struct hb_coll_model *m, int p)
{
    double ranks = p, cpus = m->cpus > 0 ? (double)m->cpus : ranks;
    return ranks > cpus ? ranks / cpus : 1;
}

/* A call whose ways are compared. */
struct hb_model_call {
    const struct hb_coll_model *m;
    enum hpcboot_coll coll;
    int p;        /* ranks on the node */
    size_t bytes; /* of the vector, or of a block */
    double share; /* ranks on each core, 1 at least */
};

static inline struct hb_model_call hb_model_call_of(
    const struct hb_coll_model *m, enum hpcboot_coll coll, int p, size_t bytes)
{
    return (struct hb_model_call){m, coll, p, bytes, hb_model_share(m, p)};
}

/* model_cost.c: what a way costs in pieces of that length, in nanoseconds, and
 * in how many rounds; *is_cut_out: whether the length of pieces matters. */
double hb_model_cost(const struct hb_model_call *c, enum hb_way way,
                     size_t piece);
uint64_t hb_model_rounds(const struct hb_model_call *c, enum hb_way way,
                         size_t piece, bool *is_cut_out);

/* model_cma.c */
/* Whether all that the ranks send and receive is more than caches hold. */
bool hb_model_is_cold(const struct hb_coll_model *m, enum hpcboot_coll coll,
                      int p, size_t bytes);
/* What the kernel does for the busiest rank, in picoseconds. */
double hb_model_calls(const struct hb_coll_model *m, enum hpcboot_coll coll,
                      int p, size_t bytes);

#endif
