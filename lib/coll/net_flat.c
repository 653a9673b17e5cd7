/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Schedules in which every rank of a group is like any other: dissemination,
 * binomial trees, a ring, pairwise exchange. Reductions combine neighbouring
 * ranges of ranks, lower with higher, so an op need not commute; where the
 * same bits are wanted on every run and any layout, one rank collects all
 * vectors and folds them in rank order. */

#include "config.h"

#include "lib/coll/net.h"

#include "lib/base/error.h"

/* Messages of an exchange of all with all that are under way at once. */
#define EXCHANGE_WINDOW 16

static void wait_all(struct hb_net_op *n)
{
    hb_net_do(n, HB_NET_WAIT, NULL, NULL, 0);
}

static void copy(struct hb_net_op *n, const char *from, char *to,
                 size_t bytes)
{
    if (bytes > 0 && from != to) {
        hb_net_do(n, HB_NET_COPY, from, to, bytes);
    }
}

void hb_net_barrier(struct hb_net_op *n, const struct hb_net_group *g)
{
    for (int d = 1; d < g->size; d *= 2) {
        int to = (g->me + d) % g->size;
        int from = (g->me - d + g->size) % g->size;
        hb_net_recv(n, hb_net_rank(g, from), n->byte, 1);
        hb_net_send(n, hb_net_rank(g, to), n->byte + 1, 1);
        wait_all(n);
    }
}

void hb_net_bcast(struct hb_net_op *n, const struct hb_net_group *g, int root,
                  char *buf, size_t bytes)
{
    int v = (g->me - root + g->size) % g->size, d = 1;
    while (d < g->size && (v & d) == 0) {
        d *= 2;
    }
    if (v != 0) {
        hb_net_recv(n, hb_net_rank(g, (v - d + root) % g->size), buf, bytes);
        wait_all(n);
    }
    for (d /= 2; d > 0; d /= 2) {
        if (v + d < g->size) {
            hb_net_send(n, hb_net_rank(g, (v + d + root) % g->size), buf,
                        bytes);
        }
    }
    wait_all(n);
}

void hb_net_reduce(struct hb_net_op *n, const struct hb_net_group *g,
                   char *acc, char *room, size_t bytes)
{
    for (int d = 1; d < g->size; d *= 2) {
        if (g->me & d) {
            hb_net_send(n, hb_net_rank(g, g->me - d), acc, bytes);
            wait_all(n);
            return;
        }
        if (g->me + d < g->size) {
            hb_net_recv(n, hb_net_rank(g, g->me + d), room, bytes);
            wait_all(n);
            hb_net_do(n, HB_NET_FOLD_R, room, acc, bytes);
        }
    }
}

static void gather(struct hb_coll_team *t, struct hb_op *op,
                   struct hb_net_op *n)
{
    if (t->rank != op->root) {
        hb_net_send(n, op->root, op->send, op->bytes);
        return;
    }
    for (int j = 0; j < t->size; j++) {
        if (j != t->rank) {
            hb_net_recv(n, j, hb_recv_at(op, j), hb_recv_len(op, j));
        } else if (!op->own_placed) {
            copy(n, op->send, hb_recv_at(op, j), hb_recv_len(op, j));
        }
    }
}

static void scatter(struct hb_coll_team *t, struct hb_op *op,
                    struct hb_net_op *n)
{
    if (t->rank != op->root) {
        hb_net_recv(n, op->root, op->recv, op->bytes);
        return;
    }
    for (int j = 0; j < t->size; j++) {
        if (j != t->rank) {
            hb_net_send(n, j, hb_send_at(op, j), hb_send_len(op, j));
        } else if (!op->own_placed) {
            copy(n, hb_send_at(op, j), op->recv, hb_send_len(op, j));
        }
    }
}

static void allgather(struct hb_coll_team *t, struct hb_op *op,
                      struct hb_net_op *n)
{
    int next = (t->rank + 1) % t->size;
    int before = (t->rank - 1 + t->size) % t->size;
    if (!op->own_placed) {
        copy(n, op->send, hb_recv_at(op, t->rank), hb_recv_len(op, t->rank));
    }
    for (int i = 0; i < t->size - 1; i++) {
        int out = (t->rank - i + t->size) % t->size;
        int in = (t->rank - i - 1 + t->size) % t->size;
        hb_net_recv(n, before, hb_recv_at(op, in), hb_recv_len(op, in));
        hb_net_send(n, next, hb_recv_at(op, out), hb_recv_len(op, out));
        wait_all(n);
    }
}

/* In place, what is sent is taken away first. */
static int take_away(struct hb_coll_team *t, struct hb_op *op,
                     struct hb_net_op *n, struct hpcboot_error *err)
{
    size_t end = 0;
    for (int j = 0; j < t->size; j++) {
        size_t e = (size_t)(hb_recv_at(op, j) - op->recv) + hb_recv_len(op, j);
        end = e > end ? e : end;
    }
    int rc = hb_net_scratch(op, end, err);
    if (rc == HPCBOOT_OK) {
        copy(n, op->recv, op->scratch, end);
        op->send = op->scratch;
    }
    return rc;
}

static int alltoall(struct hb_coll_team *t, struct hb_op *op,
                    struct hb_net_op *n, struct hpcboot_error *err)
{
    int rc = op->own_placed ? take_away(t, op, n, err) : HPCBOOT_OK;
    copy(n, hb_send_at(op, t->rank), hb_recv_at(op, t->rank),
         hb_recv_len(op, t->rank));
    for (int i = 1; i < t->size; i++) {
        int to = (t->rank + i) % t->size;
        int from = (t->rank - i + t->size) % t->size;
        hb_net_recv(n, from, hb_recv_at(op, from), hb_recv_len(op, from));
        hb_net_send(n, to, hb_send_at(op, to), hb_send_len(op, to));
        if (i % EXCHANGE_WINDOW == 0) {
            wait_all(n);
        }
    }
    return rc;
}

/* All vectors to `root`, folded there in rank order, to `to`. */
static int collect(struct hb_coll_team *t, struct hb_op *op,
                   struct hb_net_op *n, int root, char *to,
                   struct hpcboot_error *err)
{
    if (t->rank != root) {
        hb_net_send(n, root, op->send, op->total);
        wait_all(n);
        return HPCBOOT_OK;
    }
    int rc = hb_net_scratch(op, ((size_t)t->size + 1) * op->total, err);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    for (int j = 0; j < t->size; j++) {
        char *at = op->scratch + (size_t)j * op->total;
        if (j != t->rank) {
            hb_net_recv(n, j, at, op->total);
        } else {
            copy(n, op->send, at, op->total);
        }
    }
    wait_all(n);
    to = to != NULL ? to : op->scratch + (size_t)t->size * op->total;
    hb_net_add(n, (struct hb_net_step){.kind = HB_NET_FOLD_ALL,
                                       .peer = t->size, .from = op->scratch,
                                       .to = to, .bytes = op->total});
    return rc;
}

/* The folded vector ends in scratch of rank 0, or in `to` there. */
static int reduce_to_first(struct hb_coll_team *t, struct hb_op *op,
                           struct hb_net_op *n, char **at_out,
                           struct hpcboot_error *err)
{
    struct hb_net_group all = {NULL, t->size, t->rank};
    if (n->in_order) {
        int rc = collect(t, op, n, 0, NULL, err);
        *at_out = op->scratch + (size_t)t->size * op->total;
        return rc;
    }
    int rc = hb_net_scratch(op, 2 * op->total, err);
    if (rc == HPCBOOT_OK) {
        copy(n, op->send, op->scratch, op->total);
        hb_net_reduce(n, &all, op->scratch, op->scratch + op->total,
                      op->total);
    }
    *at_out = op->scratch;
    return rc;
}

static void scaled(struct hb_net_op *n, char *to, size_t bytes)
{
    if (n->scales) {
        hb_net_do(n, HB_NET_SCALE, NULL, to, bytes);
    }
}

static int reduce(struct hb_coll_team *t, struct hb_op *op,
                  struct hb_net_op *n, struct hpcboot_error *err)
{
    char *at = NULL;
    int rc = reduce_to_first(t, op, n, &at, err);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    if (t->rank == 0 && op->root != 0) {
        hb_net_send(n, op->root, at, op->total);
    } else if (t->rank == op->root && op->root != 0) {
        hb_net_recv(n, 0, op->recv, op->total);
        wait_all(n);
    } else if (t->rank == op->root) {
        copy(n, at, op->recv, op->total);
    }
    if (t->rank == op->root) {
        scaled(n, op->recv, op->total);
    }
    return rc;
}

static int allreduce(struct hb_coll_team *t, struct hb_op *op,
                     struct hb_net_op *n, struct hpcboot_error *err)
{
    struct hb_net_group all = {NULL, t->size, t->rank};
    char *at = NULL;
    int rc = reduce_to_first(t, op, n, &at, err);
    if (rc == HPCBOOT_OK) {
        if (t->rank == 0) {
            copy(n, at, op->recv, op->total);
        }
        hb_net_bcast(n, &all, 0, op->recv, op->total);
        scaled(n, op->recv, op->total);
    }
    return rc;
}

static int reduce_scatter(struct hb_coll_team *t, struct hb_op *op,
                          struct hb_net_op *n, struct hpcboot_error *err)
{
    char *at = NULL;
    int rc = reduce_to_first(t, op, n, &at, err);
    size_t own = hb_send_len(op, t->rank);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    if (t->rank != 0) {
        hb_net_recv(n, 0, op->recv, own);
        wait_all(n);
    } else {
        for (int j = 0; j < t->size; j++) {
            const char *from = at + (hb_send_at(op, j) - op->send);
            if (j != 0) {
                hb_net_send(n, j, from, hb_send_len(op, j));
            } else {
                copy(n, from, op->recv, own);
            }
        }
        wait_all(n);
    }
    scaled(n, op->recv, own);
    return rc;
}

/* A chain: what comes from below is folded before one's own and passed on. */
static int scan(struct hb_coll_team *t, struct hb_op *op,
                struct hb_net_op *n, struct hpcboot_error *err)
{
    int rc = hb_net_scratch(op, 2 * op->total, err);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    char *below = op->scratch, *acc = op->scratch + op->total;
    copy(n, op->send, acc, op->total);
    if (t->rank > 0) {
        hb_net_recv(n, t->rank - 1, below, op->total);
        wait_all(n);
        hb_net_do(n, HB_NET_FOLD, below, acc, op->total);
    }
    if (t->rank + 1 < t->size) {
        hb_net_send(n, t->rank + 1, acc, op->total);
        wait_all(n);
    }
    if (op->coll == HPCBOOT_COLL_SCAN || t->rank > 0) {
        copy(n, op->coll == HPCBOOT_COLL_SCAN ? acc : below, op->recv,
             op->total);
        scaled(n, op->recv, op->total);
    }
    return rc;
}

int hb_net_plan_flat(struct hb_coll_team *t, struct hb_op *op,
                     struct hb_net_op *n, struct hpcboot_error *err)
{
    struct hb_net_group all = {NULL, t->size, t->rank};
    switch (op->coll) {
    case HPCBOOT_COLL_BARRIER:
        hb_net_barrier(n, &all);
        return HPCBOOT_OK;
    case HPCBOOT_COLL_BCAST:
        hb_net_bcast(n, &all, op->root, op->recv, op->bytes);
        return HPCBOOT_OK;
    case HPCBOOT_COLL_SCATTER:
    case HPCBOOT_COLL_SCATTERV:
        scatter(t, op, n);
        return HPCBOOT_OK;
    case HPCBOOT_COLL_GATHER:
    case HPCBOOT_COLL_GATHERV:
        gather(t, op, n);
        return HPCBOOT_OK;
    case HPCBOOT_COLL_ALLGATHER:
    case HPCBOOT_COLL_ALLGATHERV:
        allgather(t, op, n);
        return HPCBOOT_OK;
    case HPCBOOT_COLL_REDUCE:
        return reduce(t, op, n, err);
    case HPCBOOT_COLL_ALLREDUCE:
        return allreduce(t, op, n, err);
    case HPCBOOT_COLL_REDUCE_SCATTER:
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
        return reduce_scatter(t, op, n, err);
    case HPCBOOT_COLL_ALLTOALL:
    case HPCBOOT_COLL_ALLTOALLV:
        return alltoall(t, op, n, err);
    default:
        return scan(t, op, n, err);
    }
}
