/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Schedules that let each node work in its shared memory, and send between
 * nodes through one rank of each, its leader: the first of the node, or the
 * root on the root's own node.
 *
 *   barrier     node, leaders, node
 *   bcast       leaders, node
 *   reduce      node, leaders
 *   allreduce   node, leaders up and down, node
 *
 * Reductions over nodes go from lower to higher ranks only where the ranks of
 * each node follow one another; otherwise an op that does not commute takes
 * the flat way, as does a call that wants the same bits on any layout. */

#include "config.h"

#include "lib/coll/net.h"

#include <stdlib.h>

#include "lib/base/error.h"

static bool nodes_in_order(const struct hb_coll_team *t)
{
    for (int r = 1; r < t->size; r++) {
        if (t->node_of[r] < t->node_of[r - 1]) {
            return false;
        }
    }
    return true;
}

static bool fits(const struct hb_coll_team *t, const struct hb_op *op,
                 const struct hb_net_op *n)
{
    bool commutes = op->op < HPCBOOT_OP_USER || op->user.commutative;
    switch (op->coll) {
    case HPCBOOT_COLL_BARRIER:
    case HPCBOOT_COLL_BCAST:
        return t->size > t->nodes;
    case HPCBOOT_COLL_REDUCE:
    case HPCBOOT_COLL_ALLREDUCE:
        /* An element that fits in no slot is never cut. */
        return t->size > t->nodes && !n->in_order &&
               op->esize <= HB_SHM_PIECE && (commutes || nodes_in_order(t));
    default:
        return false;
    }
}

/* The leaders, by node; `root` (a team rank or -1) leads its own. */
static int leaders(struct hb_coll_team *t, int root, int *lead)
{
    for (int i = 0; i < t->nodes; i++) {
        lead[i] = -1;
    }
    for (int r = 0; r < t->size; r++) {
        int *l = &lead[t->node_of[r]];
        *l = *l < 0 || r == root ? r : *l;
    }
    return lead[t->node_of[t->rank]];
}

static void local(struct hb_net_op *n, enum hpcboot_coll coll, int root,
                  const char *from, char *to, size_t bytes)
{
    hb_net_add(n, (struct hb_net_step){.kind = HB_NET_LOCAL, .coll = coll,
                                       .peer = root, .from = from, .to = to,
                                       .bytes = bytes});
}

/* Between leaders, to `first` (a node), whose place becomes 0 in the order;
 * an op that does not commute goes to node 0, and from there. */
static void reduce_leaders(struct hb_coll_team *t, struct hb_op *op,
                           struct hb_net_op *n, const int *lead, char *acc,
                           char *room)
{
    struct hb_net_group g = {lead, t->nodes, t->node_of[t->rank]};
    hb_net_reduce(n, &g, acc, room, op->bytes);
}

static void scaled(struct hb_op *op, struct hb_net_op *n)
{
    if (n->scales) {
        hb_net_do(n, HB_NET_SCALE, NULL, op->recv, op->bytes);
    }
}

static int reduce(struct hb_coll_team *t, struct hb_op *op,
                  struct hb_net_op *n, const int *lead, int leader,
                  struct hpcboot_error *err)
{
    int root = op->coll == HPCBOOT_COLL_REDUCE ? op->root : -1;
    int my_node = t->node_of[t->rank];
    int root_node = root >= 0 ? t->node_of[root] : 0;
    int rc = hb_net_scratch(op, 2 * op->bytes, err);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    char *acc = op->scratch, *room = op->scratch + op->bytes;
    local(n, HPCBOOT_COLL_REDUCE, t->local_of[leader], op->send, acc,
          op->bytes);
    if (t->rank == leader) {
        reduce_leaders(t, op, n, lead, acc, room);
    }
    if (root >= 0 && root_node != 0 && t->rank == lead[0]) {
        hb_net_send(n, root, acc, op->bytes);
    }
    if (t->rank == root && root_node != 0) {
        hb_net_recv(n, lead[0], op->recv, op->bytes);
        hb_net_do(n, HB_NET_WAIT, NULL, NULL, 0);
    } else if (t->rank == lead[0] && my_node == 0 && root_node == 0) {
        hb_net_do(n, HB_NET_COPY, acc, op->recv, op->bytes);
    }
    if (t->rank == root) {
        scaled(op, n);
    }
    return rc;
}

static int plan(struct hb_coll_team *t, struct hb_op *op,
                struct hb_net_op *n, int *lead, struct hpcboot_error *err)
{
    bool rooted = op->coll == HPCBOOT_COLL_BCAST ||
                  op->coll == HPCBOOT_COLL_REDUCE;
    int leader = leaders(t, rooted ? op->root : -1, lead), rc = HPCBOOT_OK;
    int local_leader = t->local_of[leader];
    struct hb_net_group g = {lead, t->nodes, t->node_of[t->rank]};
    bool leads = t->rank == leader;
    switch (op->coll) {
    case HPCBOOT_COLL_BARRIER:
        local(n, HPCBOOT_COLL_BARRIER, 0, NULL, NULL, 0);
        if (leads) {
            hb_net_barrier(n, &g);
        }
        local(n, HPCBOOT_COLL_BARRIER, 0, NULL, NULL, 0);
        return HPCBOOT_OK;
    case HPCBOOT_COLL_BCAST:
        if (leads) {
            hb_net_bcast(n, &g, t->node_of[op->root], op->recv, op->bytes);
        }
        local(n, HPCBOOT_COLL_BCAST, local_leader, NULL, op->recv, op->bytes);
        return HPCBOOT_OK;
    case HPCBOOT_COLL_REDUCE:
        return reduce(t, op, n, lead, leader, err);
    default:
        rc = reduce(t, op, n, lead, leader, err);
        if (leads) {
            hb_net_bcast(n, &g, 0, op->recv, op->bytes);
        }
        local(n, HPCBOOT_COLL_BCAST, local_leader, NULL, op->recv, op->bytes);
        scaled(op, n);
        return rc;
    }
}

int hb_net_plan_node(struct hb_coll_team *t, struct hb_op *op,
                     struct hb_net_op *n, bool *done_out,
                     struct hpcboot_error *err)
{
    if (!fits(t, op, n)) {
        return HPCBOOT_OK;
    }
    int *lead = malloc((size_t)t->nodes * sizeof *lead);
    if (lead == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "%s: no memory for %d leaders",
                       hb_coll_name(op->coll), t->nodes);
    }
    int rc = plan(t, op, n, lead, err);
    free(lead);
    *done_out = true;
    return rc;
}
