/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Whether ranks that crowd the CPUs of one machine, in more nodes than it has
 * CPUs, go to the ranks of their own node first. Of groups of processes that
 * share a core a kernel lets one burn it by yielding while another has work to
 * do, so a phase of the node is dear: messages wake whom they are for. */

#include "config.h"

#include "lib/coll/sched.h"

/* What a phase of the node costs where ranks take turns on the cores: several
 * of those that find nothing come before the one that is waited for. */
#define CROWDED_PHASE_NS 9000
/* Where all wait for all, a phase that hands on more than a cell holds costs
 * this for each other rank of the node, and each that takes turns on a core. */
#define CROWDED_TURN_NS 10000
#define CELL_MOST ((size_t)64)

/* most: bytes beyond which nodes come first whatever it costs: trees hand on
 * rows of several blocks, what comes to a root is in memory that it has to make
 * before it is awaited, and sockets are full of what goes to all. */
static const struct {
    size_t most;
    bool all_wait;
} kinds[HPCBOOT_COLLS] = {
    [HPCBOOT_COLL_BARRIER] = {0, true},
    [HPCBOOT_COLL_BCAST] = {16384, false},
    [HPCBOOT_COLL_SCATTER] = {16384, false},
    [HPCBOOT_COLL_GATHER] = {2048, false},
    [HPCBOOT_COLL_REDUCE] = {2048, false},
    [HPCBOOT_COLL_ALLREDUCE] = {32768, true},
    [HPCBOOT_COLL_ALLGATHER] = {131072, true},
    [HPCBOOT_COLL_ALLGATHERV] = {131072, true},
    [HPCBOOT_COLL_REDUCE_SCATTER] = {131072, true},
    [HPCBOOT_COLL_REDUCE_SCATTER_BLOCK] = {131072, true},
    [HPCBOOT_COLL_ALLTOALL] = {131072, true},
};

/* All that a group of p sends for a call, and how many phases a node has
 * beside it where the group is one of leaders, who exchange what all ranks
 * send up a tree and down again while it is short. */
static struct work {
    double messages, bytes;
    int phases;
} work_of(const struct hb_call *c, double p)
{
    bool leads = p <= c->layout->nodes;
    double n = (double)c->total, log = hb_log_up(p, 2);
    double both = leads || c->total > HB_CROWDED_TREE_MOST ? p * log
                                                           : 2 * (p - 1);
    switch (c->coll) {
    case HPCBOOT_COLL_BCAST:
        return (struct work){p - 1, (p - 1) * (double)c->bytes, 1};
    case HPCBOOT_COLL_SCATTER:
        return (struct work){p - 1, n / 2 * log, 1};
    case HPCBOOT_COLL_GATHER:
        return (struct work){p - 1, n, 1};
    case HPCBOOT_COLL_REDUCE:
        return (struct work){p - 1, (p - 1) * n, 1};
    case HPCBOOT_COLL_BARRIER:
        return (struct work){both, 0, 2};
    case HPCBOOT_COLL_ALLREDUCE:
        return (struct work){both, both * n, 2};
    case HPCBOOT_COLL_REDUCE_SCATTER:
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
    case HPCBOOT_COLL_ALLGATHER:
    case HPCBOOT_COLL_ALLGATHERV:
        return (struct work){p * log, (p - 1) * n, 2};
    case HPCBOOT_COLL_ALLTOALL:
        return (struct work){p * (p - 1), (p - 1) * n * c->layout->size / p, 2};
    default:
        return (struct work){0};
    }
}

static double work_price(const struct hb_model *m, const struct work *w)
{
    double each = m->latency + m->overhead + m->receive;
    return w->messages * each + w->bytes * (m->byte + m->fold);
}

static double phase_price(const struct hb_call *c)
{
    double turns = c->layout->size / c->model->cpus;
    double others = (double)c->layout->size / c->layout->nodes - 1;
    return kinds[c->coll].all_wait && c->total > CELL_MOST
               ? CROWDED_TURN_NS * turns * others : CROWDED_PHASE_NS;
}

/* Leaders have the same place on their nodes, and thus, mostly, the same core;
 * all ranks have all of them. With a CPU for each leader that is no loss. Who
 * only gives runs ahead of the root by what sockets hold, and of a leader by
 * the few cells of its node. */
struct hb_crowd hb_crowd_prices(const struct hb_call *c)
{
    const struct hb_model *m = c->model;
    struct work all = work_of(c, c->layout->size);
    struct work few = work_of(c, c->layout->nodes);
    if (m->cpus <= 0 || c->layout->nodes <= m->cpus || all.phases == 0 ||
        c->ordered || c->total > kinds[c->coll].most) {
        return (struct hb_crowd){0};
    }
    return (struct hb_crowd){
        work_price(m, &all) / m->cpus,
        work_price(m, &few) + few.phases * phase_price(c)};
}
