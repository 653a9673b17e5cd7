/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_NET_NODE_H
#define HB_COLL_NET_NODE_H

#include "lib/coll/net.h"

/* Of schedules that work node by node (net_node.c), as one rank makes them. */
struct nodes {
    struct hb_sched *s;
    const struct hb_call *c;
    const struct hb_layout *l;
    int node, me, count; /* this rank's; ranks on the node */
    int first;           /* lowest rank of the node */
    int leader;          /* of this node, by place on it */
    int *lead;           /* [nodes] */
    struct hb_group g;   /* the leaders, where this rank is one */
    bool leads;
};

/* net_slices.c: with several leaders on a node; false: that does not pay, or
 * does not fit. */
bool hb_slices_bcast(struct nodes *n);
bool hb_slices_reduce(struct nodes *n);
bool hb_slices_allreduce(struct nodes *n);

#endif
