/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Schedules that let each node work in its shared memory, and send between
 * nodes through one rank of each, its leader: the first of the node, or the
 * root on the root's own node.
 *
 *   barrier         node, leaders, node
 *   bcast           leaders, node; large ones in segments, so that a node
 *                   takes one while the next is on its way
 *   reduce          node, leaders
 *                   Both, where one rank cannot fill the node's wire (the
 *                   model says), in slices: each of the first ranks of a node
 *                   carries one between nodes
 *   allreduce       node, leaders, node. Large: each rank of a node folds a
 *                   slice, carries it between nodes with those of its place
 *                   on the others, and shares the result
 *   gather ...      the blocks of a node travel as one; so for scatter,
 *                   allgather, reduce_scatter, and small blocks of alltoall
 *   scan, exscan    node; what the nodes before hold; node. Pods that share a
 *                   machine's few cores: a chain of all ranks
 *
 * Rows of blocks, and ops that do not commute, need nodes whose ranks follow
 * one another; a call that wants the same bits on any layout takes the flat
 * way, as does what does not fit, and what is short where pods share a
 * machine's few cores. */

#include "config.h"

#include "lib/coll/net_node.h"

#include <stdlib.h>

/* Blocks that are worth the way through a leader. */
#define BLOCK_MOST ((size_t)32 << 10)
#define ALLTOALL_MOST ((size_t)4 << 10)
/* Of a leader, for the vectors of its ranks: as they came and went, twice. */
#define ALLTOALL_ROOMS 4
#define ALLTOALL_ROOM ((size_t)64 << 20)
/* A vector that one leader hands on in segments. */
#define SEGMENTS_FROM ((size_t)256 << 10)
#define SEGMENT ((size_t)64 << 10)

/* Of a scan by a chain of all ranks. */
#define CHAIN_MOST ((size_t)64 << 10)

static const struct hb_at SEND = {HB_MEM_SEND, 0}, RECV = {HB_MEM_RECV, 0};
static const struct hb_at NOWHERE = {HB_MEM_ROOM, 0};

static int count_of(const struct hb_layout *l, int node)
{
    return l->first[node + 1] - l->first[node];
}

/* `root`: a rank that leads its own node, or -1. */
static bool begin(struct nodes *n, struct hb_sched *s,
                  const struct hb_call *c, int root)
{
    const struct hb_layout *l = c->layout;
    int node = l->node_of[c->rank];
    *n = (struct nodes){.s = s, .c = c, .l = l, .node = node,
                        .me = l->place[c->rank], .count = count_of(l, node),
                        .first = l->ranks[l->first[node]]};
    n->lead = malloc((size_t)l->nodes * sizeof *n->lead);
    if (n->lead == NULL) {
        s->failed = true;
        return false;
    }
    for (int i = 0; i < l->nodes; i++) {
        n->lead[i] = l->ranks[l->first[i]];
    }
    if (root >= 0) {
        n->lead[l->node_of[root]] = root;
    }
    n->leader = l->place[n->lead[node]];
    n->leads = n->lead[node] == c->rank;
    n->g = (struct hb_group){n->lead, l->nodes, node, l->leaf};
    return true;
}

/* Blocks of whole nodes, where those of the ranks lie in a row. */
struct node_rows {
    size_t *len, *off;
    struct hb_blocks b;
};

/* `len`: of the blocks, by rank; NULL: all alike. */
static bool node_rows(struct nodes *n, struct node_rows *r,
                      const size_t *len, struct hb_at base)
{
    const struct hb_layout *l = n->l;
    size_t nodes = (size_t)l->nodes, at = 0;
    r->len = malloc(2 * nodes * sizeof *r->len);
    if (r->len == NULL) {
        n->s->failed = true;
        return false;
    }
    r->off = r->len + nodes;
    for (int i = 0; i < l->nodes; i++) {
        r->off[i] = at;
        for (int j = l->first[i]; len != NULL && j < l->first[i + 1]; j++) {
            at += len[j];
        }
        at += len == NULL ? (size_t)count_of(l, i) * n->c->bytes : 0;
        r->len[i] = at - r->off[i];
    }
    r->b = (struct hb_blocks){r->len, r->off, 0, base};
    return true;
}

static void local(struct nodes *n, enum hpcboot_coll coll, int root,
                  struct hb_at from, struct hb_at to, size_t bytes)
{
    hb_sched_local(n->s, coll, root, from, to, bytes);
    hb_sched_wait(n->s);
}

static void barrier(struct nodes *n)
{
    struct hb_choice how = hb_choose(n->c, n->c->coll, n->l->nodes, 0);
    local(n, HPCBOOT_COLL_BARRIER, 0, NOWHERE, NOWHERE, 0);
    if (n->leads) {
        hb_sched_barrier(n->s, &n->g, &how);
    }
    local(n, HPCBOOT_COLL_BARRIER, 0, NOWHERE, NOWHERE, 0);
}

/* From the root's node to all: leaders, then each node. */
static void spread(struct nodes *n, int root_node, struct hb_at at,
                   size_t bytes)
{
    struct hb_choice how = hb_choose(n->c, HPCBOOT_COLL_BCAST, n->l->nodes,
                                     bytes);
    if (how.alg == HB_ALG_KNOMIAL && bytes >= SEGMENTS_FROM) {
        how.alg = HB_ALG_PIPELINE;
        how.segment = SEGMENT;
    }
    if (n->leads) {
        hb_sched_bcast(n->s, &n->g, root_node, at, bytes, &how, n->leader);
    } else {
        hb_sched_bcast_local(n->s, at, bytes, &how, n->leader);
    }
}

static void bcast(struct nodes *n)
{
    if (hb_slices_bcast(n)) {
        return;
    }
    spread(n, n->l->node_of[n->c->root], RECV, n->c->bytes);
}

static void reduce(struct nodes *n)
{
    const struct hb_call *c = n->c;
    if (hb_slices_reduce(n)) {
        return;
    }
    int root_node = n->l->node_of[c->root], to = c->ordered ? 0 : root_node;
    bool here = c->rank == c->root && to == root_node;
    struct hb_choice how = hb_choose(c, c->coll, n->l->nodes, c->total);
    struct hb_vector v = {.at = RECV, .bytes = c->total,
                          .esize = c->esize, .ordered = c->ordered};
    if (n->leads && !here) {
        v.at = hb_sched_room(n->s, c->total);
    }
    local(n, c->coll, n->leader, SEND, n->leads ? v.at : NOWHERE, c->total);
    if (n->leads) {
        hb_sched_reduce(n->s, &n->g, to, &v, &how);
        hb_sched_wait(n->s);
    }
    if (to != root_node && c->rank == n->lead[to]) {
        hb_sched_send(n->s, c->root, v.at, c->total);
    } else if (to != root_node && c->rank == c->root) {
        hb_sched_recv(n->s, n->lead[to], RECV, c->total);
        hb_sched_wait(n->s);
    }
    if (c->rank == c->root) {
        hb_sched_scale(n->s, c, RECV, c->total);
    }
}

static void allreduce(struct nodes *n)
{
    const struct hb_call *c = n->c;
    if (hb_slices_allreduce(n)) {
        return;
    }
    local(n, HPCBOOT_COLL_REDUCE, n->leader, SEND, n->leads ? RECV : NOWHERE,
          c->total);
    if (n->leads) {
        struct hb_vector v = {.at = RECV, .bytes = c->total,
                              .esize = c->esize, .ordered = c->ordered};
        struct hb_choice how = hb_choose(c, c->coll, n->l->nodes, c->total);
        hb_sched_allreduce(n->s, &n->g, &v, &how);
        hb_sched_scale(n->s, c, RECV, c->total);
    }
    local(n, HPCBOOT_COLL_BCAST, n->leader, RECV, RECV, c->total);
}

/* ---- blocks ---- */

static size_t node_bytes(const struct nodes *n)
{
    return (size_t)n->count * n->c->bytes;
}

static void gather(struct nodes *n)
{
    const struct hb_call *c = n->c;
    struct hb_choice how = {.alg = HB_ALG_KNOMIAL, .radix = HB_RADIX_MOST};
    struct node_rows r;
    if (!node_rows(n, &r, NULL, RECV)) {
        return;
    }
    struct hb_at mine = c->rank == c->root ? hb_block(&r.b, n->node)
                        : n->leads ? hb_sched_room(n->s, node_bytes(n))
                                   : NOWHERE;
    local(n, HPCBOOT_COLL_GATHER, n->leader, SEND, mine, c->bytes);
    if (n->leads) {
        hb_sched_gather(n->s, &n->g, n->l->node_of[c->root], &r.b, mine,
                        &how);
    }
    free(r.len);
}

static void scatter(struct nodes *n)
{
    const struct hb_call *c = n->c;
    /* In the mean: nodes of other sizes choose alike. */
    struct hb_choice how = hb_choose(c, c->coll, n->l->nodes,
                                     c->total / (size_t)n->l->nodes);
    struct node_rows r;
    if (!node_rows(n, &r, NULL, SEND)) {
        return;
    }
    struct hb_at mine = c->rank == c->root ? hb_block(&r.b, n->node)
                        : n->leads ? hb_sched_room(n->s, node_bytes(n))
                                   : NOWHERE;
    struct hb_at to = RECV;
    if (c->rank == c->root && c->in_place) {
        to = hb_plus(SEND, (size_t)c->rank * c->bytes);
    }
    if (n->leads) {
        hb_sched_scatter(n->s, &n->g, n->l->node_of[c->root], &r.b, mine,
                         &how);
        hb_sched_wait(n->s);
    }
    local(n, HPCBOOT_COLL_SCATTER, n->leader, mine, to, c->bytes);
    free(r.len);
}

/* Whether this rank's blocks lie one after the other. Other ranks' blocks may
 * not, so nothing but the addresses in this rank's memory may depend on it. */
static bool in_a_row(const struct hb_call *c)
{
    size_t at = 0;
    for (int j = 0; c->recv_off != NULL && j < c->layout->size; j++) {
        if (c->recv_off[j] != at) {
            return false;
        }
        at += c->recv_len[j];
    }
    return true;
}

static void to_places(struct nodes *n, struct hb_at from)
{
    const struct hb_call *c = n->c;
    for (int j = 0; j < n->l->size; j++) {
        hb_sched_copy(n->s, from, hb_plus(RECV, c->recv_off[j]),
                      c->recv_len[j]);
        from = hb_plus(from, c->recv_len[j]);
    }
}

static void allgather(struct nodes *n)
{
    const struct hb_call *c = n->c;
    struct node_rows r;
    bool rows = c->coll == HPCBOOT_COLL_ALLGATHERV, row = in_a_row(c);
    struct hb_at all = row ? RECV : hb_sched_room(n->s, c->total);
    if (!node_rows(n, &r, c->recv_len, all)) {
        return;
    }
    struct hb_step *step = hb_sched_add(n->s, HB_STEP_LOCAL);
    step->coll = rows ? HPCBOOT_COLL_GATHERV : HPCBOOT_COLL_GATHER;
    step->cut = rows ? HB_CUT_TEAM : HB_CUT_EVEN;
    step->peer = n->leader;
    step->from = SEND;
    step->to = hb_block(&r.b, n->node);
    step->bytes = rows ? c->recv_len[c->rank] : c->bytes;
    hb_sched_wait(n->s);
    if (n->leads) {
        struct hb_choice how = hb_choose(c, c->coll, n->l->nodes,
                                         c->total / (size_t)n->l->nodes);
        hb_sched_allgather(n->s, &n->g, &r.b, &how);
    }
    local(n, HPCBOOT_COLL_BCAST, n->leader, all, all, c->total);
    if (!row) {
        to_places(n, all);
    }
    free(r.len);
}

static void reduce_scatter(struct nodes *n)
{
    const struct hb_call *c = n->c;
    struct node_rows r;
    struct hb_at all = NOWHERE, mine = NOWHERE;
    if (!node_rows(n, &r, c->send_len, SEND)) {
        return;
    }
    if (n->leads) {
        all = hb_sched_room(n->s, c->total);
        mine = hb_sched_room(n->s, r.len[n->node]);
    }
    local(n, HPCBOOT_COLL_REDUCE, n->leader, SEND, all, c->total);
    if (n->leads) {
        struct hb_vector v = {.at = all, .bytes = c->total,
                              .esize = c->esize, .ordered = c->ordered};
        struct hb_choice how =
            hb_choose(c, c->coll, n->l->nodes,
                      c->total / (size_t)n->l->nodes);
        hb_sched_reduce_scatter(n->s, &n->g, &v, &r.b, mine, &how);
        hb_sched_scale(n->s, c, mine, r.len[n->node]);
    }
    struct hb_step *step = hb_sched_add(n->s, HB_STEP_LOCAL);
    bool rows = c->coll == HPCBOOT_COLL_REDUCE_SCATTER;
    step->coll = rows ? HPCBOOT_COLL_SCATTERV : HPCBOOT_COLL_SCATTER;
    step->cut = rows ? HB_CUT_TEAM : HB_CUT_EVEN;
    step->peer = n->leader;
    step->from = mine;
    step->to = RECV;
    step->bytes = rows ? c->send_len[c->rank] : c->bytes;
    free(r.len);
}

/* A leader has the whole vectors of its ranks, and sends each node what its
 * own ranks have for that one's, rank by rank; what it gets in the same form
 * it turns round, by rank that wants it. */
static void alltoall_leaders(struct nodes *n, struct hb_at all,
                             struct hb_at turned)
{
    const struct hb_layout *l = n->l;
    size_t each = n->c->bytes, vector = (size_t)l->size * each;
    size_t mine = (size_t)n->count, share = mine * vector;
    struct hb_at out = hb_sched_room(n->s, share);
    struct hb_at in = hb_sched_room(n->s, share);
    size_t at = 0;
    for (int i = 0; i < l->nodes; i++) {
        size_t row = (size_t)count_of(l, i) * each;
        hb_sched_rows(n->s, hb_plus(all, (size_t)l->first[i] * each), vector,
                      hb_plus(out, at), row, row, mine);
        at += mine * row;
    }
    size_t *off = malloc(2 * (size_t)l->nodes * sizeof *off);
    if (off == NULL) {
        n->s->failed = true;
        return;
    }
    size_t *len = off + l->nodes;
    for (int i = 0; i < l->nodes; i++) {
        off[i] = mine * (size_t)l->first[i] * each;
        len[i] = mine * (size_t)count_of(l, i) * each;
    }
    struct hb_blocks from = {len, off, 0, out}, to = {len, off, 0, in};
    struct hb_choice how = hb_choose(n->c, HPCBOOT_COLL_ALLTOALLV,
                                     l->nodes, share / (size_t)l->nodes);
    hb_sched_alltoall(n->s, &n->g, &from, &to, &how);
    /* From node i came, for each of its ranks, what it has for each of ours.
     */
    for (int i = 0; i < l->nodes; i++) {
        size_t theirs = (size_t)count_of(l, i);
        for (size_t j = 0; j < mine; j++) {
            hb_sched_rows(n->s, hb_plus(in, off[i] + j * each), mine * each,
                          hb_plus(turned,
                                  j * vector + (size_t)l->first[i] * each),
                          each, each, theirs);
        }
    }
    free(off);
}

static void alltoall(struct nodes *n)
{
    size_t vector = n->c->total;
    struct hb_at all = NOWHERE, turned = NOWHERE;
    if (n->leads) {
        all = hb_sched_room(n->s, (size_t)n->count * vector);
        turned = hb_sched_room(n->s, (size_t)n->count * vector);
    }
    local(n, HPCBOOT_COLL_GATHER, n->leader, SEND, all, vector);
    if (n->leads) {
        alltoall_leaders(n, all, turned);
    }
    local(n, HPCBOOT_COLL_SCATTER, n->leader, turned, RECV, vector);
}

/* Exscan: the last rank of a node has the fold of the ranks before it; with its
 * own vector it makes that of the whole node. */
static void fold_of_node(struct nodes *n, struct hb_at own)
{
    const struct hb_call *c = n->c;
    if (n->me > 0 && !c->in_place) {
        hb_sched_fold(n->s, HB_STEP_FOLD, RECV, SEND, own, c->total);
    } else if (n->me > 0) {
        hb_sched_do(n->s, HB_STEP_FOLD, RECV, own, c->total);
    }
}

/* The last of each node has the fold of all its ranks: what it makes of it
 * between nodes is its own result of a scan. */
static void scan(struct nodes *n)
{
    const struct hb_call *c = n->c;
    struct hb_sched *s = n->s;
    size_t bytes = c->total;
    bool last = n->me == n->count - 1, inclusive =
        c->coll == HPCBOOT_COLL_SCAN;
    struct hb_at below = hb_sched_room(s, bytes), own = RECV;
    if (last && !inclusive) {
        own = hb_sched_room(s, bytes);
        if (n->me == 0 || c->in_place) {
            hb_sched_copy(s, SEND, own, bytes);
        }
    }
    local(n, c->coll, 0, SEND, RECV, bytes);
    if (last && !inclusive) {
        fold_of_node(n, own);
    }
    if (last) {
        struct hb_vector v = {.at = own, .bytes = bytes,
                              .esize = c->esize, .ordered = c->ordered};
        struct hb_choice how = hb_choose(c, c->coll, n->l->nodes, bytes);
        for (int i = 0; i < n->l->nodes; i++) {
            n->lead[i] = n->l->ranks[n->l->first[i + 1] - 1];
        }
        hb_sched_scan(s, &n->g, &v, below, HB_SCAN_BELOW | HB_SCAN_AT, &how);
    }
    if (n->node > 0) {
        local(n, HPCBOOT_COLL_BCAST, n->count - 1, below, below, bytes);
        if (!inclusive && n->me == 0) {
            hb_sched_copy(s, below, RECV, bytes);
        } else if (!inclusive || !last) {
            hb_sched_do(s, HB_STEP_FOLD, below, RECV, bytes);
        }
    }
    if (inclusive || c->rank > 0) {
        hb_sched_scale(s, c, RECV, bytes);
    }
}

/* ---- what fits ---- */

static enum hb_flat always(const struct hb_call *c)
{
    return HB_FLAT_NOT;
}

static enum hb_flat in_order(const struct hb_call *c)
{
    return c->layout->in_order ? HB_FLAT_NOT : HB_FLAT_ORDER;
}

/* An element that fits in no slot of the shared memory is never cut. */
static enum hb_flat folds(const struct hb_call *c)
{
    if (c->same_bits) {
        return HB_FLAT_SAME_BITS;
    }
    if (c->esize > HB_SHM_PIECE) {
        return HB_FLAT_ELEMENT;
    }
    return c->ordered ? in_order(c) : HB_FLAT_NOT;
}

static enum hb_flat folds_in_order(const struct hb_call *c)
{
    enum hb_flat why = folds(c);
    return why == HB_FLAT_NOT ? in_order(c) : why;
}

/* Where ranks share few cores a chain of all of them is cheapest. It crosses
 * from node to node as rarely as can be by itself, and no rank waits twice; a
 * long vector passes through the memory of a node in larger pieces. */
static enum hb_flat scans(const struct hb_call *c)
{
    enum hb_flat why = folds_in_order(c);
    bool chain = c->wish->hierarchy != 1 && c->model->cpus > 0 &&
                 c->total <= CHAIN_MOST &&
                 hb_choose(c, c->coll, c->layout->size, c->total).alg ==
                     HB_ALG_LINEAR;
    return why == HB_FLAT_NOT && chain ? HB_FLAT_CHAIN : why;
}

static const struct {
    enum hb_flat (*fits)(const struct hb_call *c);
    void (*make)(struct nodes *n);
    bool root_leads;
    size_t block_most; /* 0: any */
} by_nodes[HPCBOOT_COLLS] = {
    [HPCBOOT_COLL_BARRIER] = {always, barrier, false, 0},
    [HPCBOOT_COLL_BCAST] = {always, bcast, true, 0},
    [HPCBOOT_COLL_REDUCE] = {folds, reduce, true, 0},
    [HPCBOOT_COLL_ALLREDUCE] = {folds, allreduce, false, 0},
    [HPCBOOT_COLL_GATHER] = {in_order, gather, true, BLOCK_MOST},
    [HPCBOOT_COLL_SCATTER] = {in_order, scatter, true, BLOCK_MOST},
    [HPCBOOT_COLL_ALLGATHER] = {in_order, allgather, false, 0},
    [HPCBOOT_COLL_ALLGATHERV] = {in_order, allgather, false, 0},
    [HPCBOOT_COLL_REDUCE_SCATTER] = {folds_in_order, reduce_scatter, false,
                                     0},
    [HPCBOOT_COLL_REDUCE_SCATTER_BLOCK] = {folds_in_order, reduce_scatter,
                                           false, 0},
    [HPCBOOT_COLL_ALLTOALL] = {in_order, alltoall, false, ALLTOALL_MOST},
    [HPCBOOT_COLL_SCAN] = {scans, scan, false, 0},
    [HPCBOOT_COLL_EXSCAN] = {scans, scan, false, 0},
};

size_t hb_sched_block_most(enum hpcboot_coll coll)
{
    return by_nodes[coll].block_most;
}

/* Nodes may differ, and all ranks have to choose alike. */
static bool leaders_have_room(const struct hb_call *c)
{
    size_t most = 0;
    for (int i = 0; i < c->layout->nodes; i++) {
        size_t here = (size_t)count_of(c->layout, i);
        most = here > most ? here : most;
    }
    return c->coll != HPCBOOT_COLL_ALLTOALL ||
           c->total <= ALLTOALL_ROOM / ALLTOALL_ROOMS / most;
}

enum hb_flat hb_sched_flat(const struct hb_call *c)
{
    size_t most = hb_sched_block_most(c->coll);
    struct hb_crowd crowd;
    if (c->layout->nodes == c->layout->size) {
        return HB_FLAT_SINGLE;
    }
    if (c->wish->hierarchy == 0) {
        return HB_FLAT_WISH;
    }
    if (by_nodes[c->coll].fits == NULL) {
        return HB_FLAT_NO_WAY;
    }
    enum hb_flat why = by_nodes[c->coll].fits(c);
    if (why != HB_FLAT_NOT) {
        return why;
    }
    if (most > 0 && c->bytes > most) {
        return HB_FLAT_LONG;
    }
    if (!leaders_have_room(c)) {
        return HB_FLAT_ROOM;
    }
    crowd = hb_crowd_prices(c);
    return c->wish->hierarchy < 0 && crowd.flat_ns < crowd.nodes_ns
               ? HB_FLAT_CROWD : HB_FLAT_NOT;
}

bool hb_sched_nodes(struct hb_sched *s, const struct hb_call *c)
{
    struct nodes n;
    if (hb_sched_flat(c) != HB_FLAT_NOT) {
        return false;
    }
    if (begin(&n, s, c, by_nodes[c->coll].root_leads ? c->root : -1)) {
        by_nodes[c->coll].make(&n);
        free(n.lead);
    }
    return true;
}
