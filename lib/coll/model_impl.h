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

/* model_cma.c */
/* Whether all that the ranks send and receive is more than caches hold. */
bool hb_model_is_cold(const struct hb_coll_model *m, enum hpcboot_coll coll,
                      int p, size_t bytes);
/* What the kernel does for the busiest rank, in picoseconds. */
double hb_model_calls(const struct hb_coll_model *m, enum hpcboot_coll coll,
                      int p, size_t bytes);

#endif
