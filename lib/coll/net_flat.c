/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A call in which every rank of the team is like any other: where its vector
 * lies, which algorithm takes it, and what is left to do with the result.
 *
 * Where the same bits are wanted on every run and any layout, one rank
 * collects all vectors and folds them in rank order in one go. */

#include "config.h"

#include "lib/coll/net.h"

static const struct hb_at SEND = {HB_MEM_SEND, 0}, RECV = {HB_MEM_RECV, 0};

static struct hb_blocks send_blocks(const struct hb_call *c)
{
    return (struct hb_blocks){c->send_len, c->send_off, c->bytes, SEND};
}

static struct hb_blocks recv_blocks(const struct hb_call *c)
{
    return (struct hb_blocks){c->recv_len, c->recv_off, c->bytes, RECV};
}

static struct hb_group everyone(const struct hb_call *c)
{
    const struct hb_layout *l = c->layout;
    return (struct hb_group){NULL, l->size, c->rank,
                             l->nodes == l->size ? l->leaf : NULL};
}

static void scatter(struct hb_sched *s, const struct hb_call *c)
{
    struct hb_group g = everyone(c);
    struct hb_blocks b = send_blocks(c);
    struct hb_choice how = {.alg = HB_ALG_LINEAR};
    struct hb_at own = RECV;
    if (c->coll == HPCBOOT_COLL_SCATTER) {
        how = hb_choose(c, c->coll, g.size, c->bytes);
    } else if (c->rank != c->root) {
        b = (struct hb_blocks){NULL, NULL, c->bytes, SEND};
    }
    if (c->rank == c->root && c->in_place) {
        own = hb_block(&b, c->rank);
    }
    hb_sched_scatter(s, &g, c->root, &b, own, &how);
}

static void gather(struct hb_sched *s, const struct hb_call *c)
{
    struct hb_group g = everyone(c);
    struct hb_blocks b = recv_blocks(c);
    struct hb_choice how = {.alg = HB_ALG_LINEAR};
    struct hb_at own = SEND;
    if (c->coll == HPCBOOT_COLL_GATHER) {
        how = hb_choose(c, c->coll, g.size, c->bytes);
    } else if (c->rank != c->root) {
        b = (struct hb_blocks){NULL, NULL, c->bytes, RECV};
    }
    if (c->rank == c->root && c->in_place) {
        own = hb_block(&b, c->rank);
    }
    hb_sched_gather(s, &g, c->root, &b, own, &how);
}

static void allgather(struct hb_sched *s, const struct hb_call *c)
{
    struct hb_group g = everyone(c);
    struct hb_blocks b = recv_blocks(c);
    size_t each = c->coll == HPCBOOT_COLL_ALLGATHER
                      ? c->bytes : c->total / (size_t)g.size;
    struct hb_choice how = hb_choose(c, c->coll, g.size, each);
    if (!c->in_place) {
        hb_sched_copy(s, SEND, hb_block(&b, c->rank),
                      hb_block_len(&b, c->rank));
    }
    hb_sched_allgather(s, &g, &b, &how);
}

/* In place, what is sent is taken away first. */
static void alltoall(struct hb_sched *s, const struct hb_call *c)
{
    struct hb_group g = everyone(c);
    struct hb_blocks from = send_blocks(c), to = recv_blocks(c);
    struct hb_choice how = {.alg = HB_ALG_PAIRWISE};
    if (c->coll == HPCBOOT_COLL_ALLTOALL) {
        how = hb_choose(c, c->coll, g.size, c->bytes);
    }
    if (c->in_place) {
        size_t end = 0;
        for (int j = 0; j < g.size; j++) {
            size_t e = hb_block(&to, j).off + hb_block_len(&to, j);
            end = hb_block_len(&to, j) > 0 && e > end ? e : end;
        }
        from = to;
        from.base = hb_sched_room(s, end);
        hb_sched_copy(s, RECV, from.base, end);
    }
    hb_sched_alltoall(s, &g, &from, &to, &how);
}

/* So many vectors, one after the other, in rank order. */
static void fold_all(struct hb_sched *s, const struct hb_call *c,
                     struct hb_at from, int rows, struct hb_at to)
{
    if (c->total > 0) {
        struct hb_step *step = hb_sched_add(s, HB_STEP_FOLD_ALL);
        step->from = from;
        step->to = to;
        step->rows = (uint32_t)rows;
        step->bytes = c->total;
    }
}

/* All vectors to `root`, folded there in rank order, to `to`. */
static void collect(struct hb_sched *s, const struct hb_call *c, int root,
                    struct hb_at to)
{
    struct hb_group g = everyone(c);
    struct hb_choice how = {.alg = HB_ALG_LINEAR};
    struct hb_blocks b = {NULL, NULL, c->total, {HB_MEM_ROOM, 0}};
    if (c->rank == root) {
        b.base = hb_sched_room(s, (size_t)g.size * c->total);
    }
    hb_sched_gather(s, &g, root, &b, SEND, &how);
    hb_sched_wait(s);
    if (c->rank == root) {
        fold_all(s, c, b.base, g.size, to);
    }
}

/* This rank's own vector, to be folded into `at`. */
static struct hb_vector vector(const struct hb_call *c, struct hb_at at)
{
    return (struct hb_vector){
        .at = at, .bytes = c->total, .esize = c->esize,
        .ordered = c->ordered, .own = SEND,
        .apart = !(c->in_place && at.mem == HB_MEM_RECV)};
}

static struct hb_vector copied(struct hb_sched *s, const struct hb_call *c,
                               struct hb_at at)
{
    struct hb_vector v = vector(c, at);
    if (v.apart) {
        hb_sched_copy(s, SEND, at, c->total);
        v.apart = false;
    }
    return v;
}

static void reduce(struct hb_sched *s, const struct hb_call *c)
{
    struct hb_group g = everyone(c);
    int to = c->ordered ? 0 : c->root;
    if (c->same_bits) {
        collect(s, c, c->root, RECV);
        return;
    }
    struct hb_choice how = hb_choose(c, c->coll, g.size, c->total);
    bool here = c->rank == to && to == c->root;
    struct hb_vector v =
        vector(c, here ? RECV : hb_sched_room(s, c->total));
    hb_sched_reduce(s, &g, to, &v, &how);
    hb_sched_wait(s);
    if (c->rank == to && to != c->root) {
        hb_sched_send(s, c->root, v.at, c->total);
    } else if (c->rank == c->root && to != c->root) {
        hb_sched_recv(s, to, RECV, c->total);
        hb_sched_wait(s);
    }
    if (c->rank == c->root) {
        hb_sched_scale(s, c, RECV, c->total);
    }
}

static void allreduce(struct hb_sched *s, const struct hb_call *c)
{
    struct hb_group g = everyone(c);
    if (c->same_bits) {
        struct hb_choice down = hb_choose(c, HPCBOOT_COLL_BCAST, g.size,
                                          c->total);
        collect(s, c, 0, RECV);
        hb_sched_bcast(s, &g, 0, RECV, c->total, &down, -1);
        return;
    }
    struct hb_choice how = hb_choose(c, c->coll, g.size, c->total);
    struct hb_vector v = vector(c, RECV);
    hb_sched_allreduce(s, &g, &v, &how);
    hb_sched_scale(s, c, RECV, c->total);
}

static void reduce_scatter(struct hb_sched *s, const struct hb_call *c)
{
    struct hb_group g = everyone(c);
    struct hb_blocks b = send_blocks(c);
    struct hb_choice how = hb_choose(c, c->coll, g.size,
                                     c->total / (size_t)g.size);
    if (c->same_bits) {
        how.alg = HB_ALG_PAIRWISE;
    }
    /* Pairwise, a vector is only read. */
    bool reads = how.alg == HB_ALG_PAIRWISE;
    struct hb_vector v = {.at = SEND, .bytes = c->total, .esize = c->esize,
                          .ordered = c->ordered};
    if (!reads) {
        v = vector(c, hb_sched_room(s, c->total));
    }
    hb_sched_reduce_scatter(s, &g, &v, &b, RECV, &how);
    hb_sched_scale(s, c, RECV, hb_block_len(&b, c->rank));
}

/* Everybody has all vectors, and folds those up to its own. */
static void scan_in_one_go(struct hb_sched *s, const struct hb_call *c)
{
    struct hb_group g = everyone(c);
    struct hb_choice how = hb_choose(c, HPCBOOT_COLL_ALLGATHER, g.size,
                                     c->total);
    int rows = c->rank + (c->coll == HPCBOOT_COLL_SCAN);
    struct hb_blocks all = {NULL, NULL, c->total, {HB_MEM_ROOM, 0}};
    all.base = hb_sched_room(s, (size_t)g.size * c->total);
    hb_sched_copy(s, SEND, hb_plus(all.base, (size_t)c->rank * c->total),
                  c->total);
    hb_sched_allgather(s, &g, &all, &how);
    hb_sched_wait(s);
    if (rows > 0) {
        fold_all(s, c, all.base, rows, RECV);
    }
}

/* What comes is folded where it lies, unless this rank's own lies there. */
static void scan_to(struct hb_sched *s, const struct hb_call *c,
                    const struct hb_group *g, const struct hb_choice *how)
{
    struct hb_vector v = vector(c, RECV);
    struct hb_at below = v.apart ? RECV : hb_sched_room(s, c->total);
    hb_sched_scan(s, g, &v, below, HB_SCAN_AT, how);
}

/* Only who gets something and passes it on folds. */
static void scan_below(struct hb_sched *s, const struct hb_call *c,
                       const struct hb_group *g, const struct hb_choice *how)
{
    bool folds = c->rank > 0 && c->rank + 1 < g->size;
    struct hb_at room = hb_sched_room(s, folds ? c->total : 0);
    struct hb_vector v = folds && c->in_place ? copied(s, c, room)
                                              : vector(c, room);
    hb_sched_scan(s, g, &v, RECV, HB_SCAN_BELOW, how);
}

static void scan(struct hb_sched *s, const struct hb_call *c)
{
    if (c->same_bits && !c->folds_on) {
        scan_in_one_go(s, c);
        return;
    }
    struct hb_group g = everyone(c);
    struct hb_choice how = hb_choose(c, c->coll, g.size, c->total);
    if (c->same_bits) {
        how.alg = HB_ALG_LINEAR;
    }
    bool inclusive = c->coll == HPCBOOT_COLL_SCAN;
    if (inclusive) {
        scan_to(s, c, &g, &how);
    } else {
        scan_below(s, c, &g, &how);
    }
    if (inclusive || c->rank > 0) {
        hb_sched_scale(s, c, RECV, c->total);
    }
}

static void barrier(struct hb_sched *s, const struct hb_call *c)
{
    struct hb_group g = everyone(c);
    struct hb_choice how = hb_choose(c, c->coll, g.size, 0);
    hb_sched_barrier(s, &g, &how);
}

static void bcast(struct hb_sched *s, const struct hb_call *c)
{
    struct hb_group g = everyone(c);
    struct hb_choice how = hb_choose(c, c->coll, g.size, c->bytes);
    hb_sched_bcast(s, &g, c->root, RECV, c->bytes, &how, -1);
}

static void (*const flat[HPCBOOT_COLLS])(struct hb_sched *,
                                         const struct hb_call *) = {
    [HPCBOOT_COLL_BARRIER] = barrier,
    [HPCBOOT_COLL_BCAST] = bcast,
    [HPCBOOT_COLL_SCATTER] = scatter,
    [HPCBOOT_COLL_SCATTERV] = scatter,
    [HPCBOOT_COLL_GATHER] = gather,
    [HPCBOOT_COLL_GATHERV] = gather,
    [HPCBOOT_COLL_ALLGATHER] = allgather,
    [HPCBOOT_COLL_ALLGATHERV] = allgather,
    [HPCBOOT_COLL_REDUCE] = reduce,
    [HPCBOOT_COLL_ALLREDUCE] = allreduce,
    [HPCBOOT_COLL_REDUCE_SCATTER] = reduce_scatter,
    [HPCBOOT_COLL_REDUCE_SCATTER_BLOCK] = reduce_scatter,
    [HPCBOOT_COLL_ALLTOALL] = alltoall,
    [HPCBOOT_COLL_ALLTOALLV] = alltoall,
    [HPCBOOT_COLL_SCAN] = scan,
    [HPCBOOT_COLL_EXSCAN] = scan,
};

void hb_sched_make(struct hb_sched *s, const struct hb_call *c)
{
    if (!hb_sched_nodes(s, c)) {
        flat[c->coll](s, c);
    }
    hb_sched_wait(s);
}
