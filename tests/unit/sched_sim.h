/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef SCHED_SIM_H
#define SCHED_SIM_H

/* Plays the schedules of all ranks of a team in one process, as LogGP prices
 * them, and with bytes where they are wanted. */

#include "lib/coll/sched.h"

struct sched_case {
    struct hb_call call;  /* rank, layout, model and wish are filled in */
    int size, per_node;   /* ranks one after the other; 1: a node each */
    const int *node_of;   /* [size]; NULL: by per_node */
    const struct hb_model *model;
    const char *wish;
    const int *leaf;      /* [nodes] of the network; NULL: one leaf */
    bool knows_leaves;    /* and the schedules know them */
    bool bytes;           /* move them, and compare with the reference */
};

/* Over all ranks: the most of one, or the sum. */
struct sched_stats {
    double us;            /* until the last is done */
    uint64_t messages, bytes_sent;
    uint64_t crossings;   /* messages from leaf to leaf */
    int most_messages, most_endpoints, most_steps;
    uint64_t most_bytes;  /* sent by one */
    size_t most_room;
};

/* A call with vectors, or blocks for each rank, of so many bytes. */
struct hb_call sched_sim_call(enum hpcboot_coll coll, int size, size_t bytes,
                              size_t esize);
/* Rows of such collectives are known rank by rank: none is played here. */
bool sched_sim_has_rows(enum hpcboot_coll coll);

/* 0; else printed: what is stuck or wrong. */
int sched_sim_run(const struct sched_case *c, struct sched_stats *out);

#endif
