/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_KINDS_H
#define HB_COLL_KINDS_H

/* What kinds of collectives there are, for args.c and op.c: sets of them, and
 * how many bytes a call of each touches at this rank. */

#include "lib/coll/impl.h"

#define BIT(c) (1u << HPCBOOT_COLL_##c)
enum {
    ROOTED = BIT(BCAST) | BIT(SCATTER) | BIT(SCATTERV) | BIT(GATHER) |
             BIT(GATHERV) | BIT(REDUCE),
    REDUCES = BIT(REDUCE) | BIT(ALLREDUCE) | BIT(REDUCE_SCATTER) |
              BIT(REDUCE_SCATTER_BLOCK) | BIT(SCAN) | BIT(EXSCAN),
    SCATTERS = BIT(SCATTER) | BIT(SCATTERV),
    GATHERS = BIT(GATHER) | BIT(GATHERV),
    BLOCKS = BIT(SCATTER) | BIT(GATHER) | BIT(ALLGATHER) | BIT(ALLTOALL) |
             BIT(REDUCE_SCATTER_BLOCK),
    SEND_ROWS = BIT(SCATTERV) | BIT(ALLTOALLV),
    RECV_ROWS = BIT(GATHERV) | BIT(ALLGATHERV) | BIT(ALLTOALLV) |
                BIT(REDUCE_SCATTER),
    NO_COUNT = BIT(BARRIER) | BIT(REDUCE_SCATTER) | BIT(ALLTOALLV),
    LOOSE = BIT(SCATTERV) | BIT(GATHERV) | BIT(ALLTOALLV)
};

static inline bool hb_in(enum hpcboot_coll coll, unsigned set)
{
    return (set >> coll & 1) != 0;
}

/* Bytes that this rank reads at `send` and writes at `recv`; of rows with
 * displacements, without the gaps. */
struct hb_extent {
    size_t send, recv;
};
struct hb_extent hb_extent_of(const struct hb_coll_team *t,
                              const struct hpcboot_coll_args *a);
size_t hb_row_sum(const size_t *counts, int n); /* NULL: 0 */

#endif
