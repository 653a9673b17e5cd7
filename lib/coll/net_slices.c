/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Several leaders on each node: its first ranks carry a slice of the vector
 * each, between nodes with those of their place on the others.
 *
 *   bcast      the root's node cuts the vector, slices travel, each node puts
 *              them together
 *   reduce     each node folds slices, they are folded between nodes, the
 *              root's node puts them together
 *   allreduce  the same, and each node puts them together
 *
 * That costs the node two phases, and pays where one rank cannot fill the wire
 * of its node. */

#include "config.h"

#include "lib/coll/net_node.h"

/* From here on each rank of a node folds a slice, which pays by itself. */
#define LEADERS_FROM ((size_t)64 << 10)

static const struct hb_at SEND = {HB_MEM_SEND, 0}, RECV = {HB_MEM_RECV, 0};
static const struct hb_at NOWHERE = {HB_MEM_ROOM, 0};

/* How many ranks of a node carry a slice each, where that is cheaper: two
 * phases of the node and a shared wire, against one of each. */
static int leaders_that_pay(const struct hb_call *c)
{
    const struct hb_model *m = c->model;
    struct hb_model shared = *m;
    struct hb_call sliced = *c;
    size_t most = hb_min((size_t)c->layout->least, c->total / c->esize);
    double phase = m->node + (double)c->total * m->copy, one, many, n;
    if (c->wish->leaders > 0 || most < 2) {
        return most < 2 ? 1 : (int)hb_min(most, (size_t)c->wish->leaders);
    }
    if (m->wire <= 0 || m->wire >= m->byte) {
        return 1;
    }
    n = m->byte / m->wire < (double)most ? m->byte / m->wire : (double)most;
    shared.byte = n * m->wire > m->byte ? n * m->wire : m->byte;
    sliced.model = &shared;
    one = phase +
          hb_choose(c, c->coll, c->layout->nodes, c->total).cost_ns;
    many = 2 * phase + hb_choose(&sliced, c->coll, c->layout->nodes,
                                 c->total / (size_t)n).cost_ns;
    return n >= 2 && many < one ? (int)n : 1;
}

/* This rank's slice, and those of its place on the other nodes. */
struct slice {
    bool carries;
    size_t at, len;
};

static struct slice slice_of(struct nodes *n, int leaders)
{
    const struct hb_call *c = n->c;
    struct slice me = {.carries = n->me < leaders};
    if (me.carries) {
        me.at = hb_slice(c->total, c->esize, leaders, n->me);
        me.len = hb_slice(c->total, c->esize, leaders, n->me + 1) - me.at;
        for (int i = 0; i < n->l->nodes; i++) {
            n->lead[i] = n->l->ranks[n->l->first[i] + n->me];
        }
    }
    return me;
}

static void slices(struct nodes *n, enum hpcboot_coll coll, int leaders,
                   struct hb_at from, struct hb_at to)
{
    struct hb_step *step = hb_sched_add(n->s, HB_STEP_LOCAL);
    step->coll = (uint8_t)coll;
    step->cut = HB_CUT_SLICES;
    step->rows = (uint32_t)leaders;
    step->peer = n->leader;
    step->from = from;
    step->to = to;
    step->bytes = n->c->total;
    hb_sched_wait(n->s);
}

bool hb_slices_bcast(struct nodes *n)
{
    const struct hb_call *c = n->c;
    int leaders = leaders_that_pay(c);
    if (leaders < 2) {
        return false;
    }
    int root_node = n->l->node_of[c->root];
    struct slice me = slice_of(n, leaders);
    struct hb_at mine = me.carries ? hb_plus(RECV, me.at) : NOWHERE;
    if (n->node == root_node) {
        slices(n, HPCBOOT_COLL_SCATTERV, leaders, RECV, mine);
    }
    if (me.carries) {
        struct hb_choice how = hb_choose(c, c->coll, n->l->nodes, me.len);
        hb_sched_bcast(n->s, &n->g, root_node, mine, me.len, &how, -1);
        hb_sched_wait(n->s);
    }
    slices(n, HPCBOOT_COLL_ALLGATHERV, leaders, mine, RECV);
    return true;
}

bool hb_slices_reduce(struct nodes *n)
{
    const struct hb_call *c = n->c;
    int leaders = c->ordered ? 1 : leaders_that_pay(c);
    if (leaders < 2) {
        return false;
    }
    int root_node = n->l->node_of[c->root];
    struct slice me = slice_of(n, leaders);
    struct hb_at mine = me.carries ? hb_sched_room(n->s, me.len) : NOWHERE;
    slices(n, HPCBOOT_COLL_REDUCE_SCATTER, leaders, SEND, mine);
    if (me.carries) {
        struct hb_vector v = {.at = mine, .bytes = me.len,
                              .esize = c->esize};
        struct hb_choice how = hb_choose(c, c->coll, n->l->nodes, me.len);
        hb_sched_reduce(n->s, &n->g, root_node, &v, &how);
        hb_sched_wait(n->s);
    }
    if (n->node == root_node) {
        slices(n, HPCBOOT_COLL_GATHERV, leaders, mine,
               c->rank == c->root ? RECV : NOWHERE);
    }
    if (c->rank == c->root) {
        hb_sched_scale(n->s, c, RECV, c->total);
    }
    return true;
}

static int leaders_of(const struct hb_call *c)
{
    size_t elements = c->total / c->esize;
    int most = c->layout->least;
    if (c->wish->leaders > 0) {
        most = c->wish->leaders < most ? c->wish->leaders : most;
    } else if (c->total < LEADERS_FROM) {
        most = 1;
    }
    return elements < (size_t)most ? 1 : most;
}

/* Each of the first ranks of a node has a slice. The slice is folded into
 * room, since in place it may still be read. */
bool hb_slices_allreduce(struct nodes *n)
{
    const struct hb_call *c = n->c;
    int leaders = leaders_of(c);
    if (leaders < 2) {
        return false;
    }
    struct slice me = slice_of(n, leaders);
    struct hb_at mine = me.carries ? hb_sched_room(n->s, me.len) : NOWHERE;
    slices(n, HPCBOOT_COLL_REDUCE_SCATTER, leaders, SEND, mine);
    if (me.carries) {
        struct hb_vector v = {.at = mine, .bytes = me.len,
                              .esize = c->esize, .ordered = c->ordered};
        struct hb_choice how = hb_choose(c, c->coll, n->l->nodes, me.len);
        hb_sched_allreduce(n->s, &n->g, &v, &how);
        hb_sched_scale(n->s, c, mine, me.len);
    }
    slices(n, HPCBOOT_COLL_ALLGATHERV, leaders, mine, RECV);
    return true;
}
