/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Making and unmaking a team: who its ranks are, which of them are on this
 * node, and the memory that those share. Local; nothing is exchanged. */

#include "config.h"

#include "lib/coll/engine.h"

#include <stdlib.h>

#include "lib/base/error.h"

/* A slot has room for a piece of 128 bytes for each of so many peers. */
#define LOCAL_MOST 1024

static int fill_ranks(struct hb_coll_team *t,
                      const struct hb_coll_team_args *a,
                      struct hpcboot_error *err)
{
    t->me = -1;
    for (int r = 0; r < t->size; r++) {
        t->local_of[r] = -1;
    }
    for (int i = 0; i < t->p; i++) {
        int r = a->local_ranks != NULL ? a->local_ranks[i] : i;
        if (r < 0 || r >= t->size) {
            return hb_fail(err, HPCBOOT_ERR_INTERNAL,
                           "a team of %d has no rank %d", t->size, r);
        }
        t->local[i] = r;
        t->local_of[r] = i;
        t->me = r == t->rank ? i : t->me;
    }
    for (int r = 0; t->node_of != NULL && r < t->size; r++) {
        t->node_of[r] = a->node_of[r];
        t->nodes = a->node_of[r] >= t->nodes ? a->node_of[r] + 1 : t->nodes;
    }
    if (t->me < 0) {
        return hb_fail(err, HPCBOOT_ERR_INTERNAL,
                       "rank %d of a team is not among its local ranks",
                       t->rank);
    }
    return HPCBOOT_OK;
}

/* Of nodes, which have been counted. */
static int fill_leaves(struct hb_coll_team *t,
                       const struct hb_coll_team_args *a,
                       struct hpcboot_error *err)
{
    if (a->leaf_of == NULL || t->nodes < 2) {
        return HPCBOOT_OK;
    }
    t->leaf_of = calloc((size_t)t->nodes, sizeof *t->leaf_of);
    if (t->leaf_of == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for the leaves of "
                       "%d nodes", t->nodes);
    }
    memcpy(t->leaf_of, a->leaf_of, (size_t)t->nodes * sizeof *t->leaf_of);
    return HPCBOOT_OK;
}

static int make_region(struct hb_coll_team *t, struct hpcboot_error *err)
{
    size_t size = hb_coll_region_least(t->p);
    t->own_region = aligned_alloc(HB_SHM_LINE, size);
    if (t->own_region == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for a team of one");
    }
    memset(t->own_region, 0, sizeof *t->head + sizeof *t->ranks);
    return hb_shm_attach(t, t->own_region, size, err);
}

static int build(struct hb_coll_team *t, const struct hb_coll_team_args *a,
                 struct hpcboot_error *err)
{
    size_t n = (size_t)t->size;
    t->local = calloc((size_t)t->p, sizeof *t->local);
    t->local_of = calloc(n, sizeof *t->local_of);
    t->node_of = a->node_of != NULL ? calloc(n, sizeof *t->node_of) : NULL;
    t->seen = calloc((size_t)t->p, sizeof *t->seen);
    t->src = calloc(n, sizeof *t->src);
    t->cma.card = calloc((size_t)t->p, sizeof *t->cma.card);
    if (t->local == NULL || t->cma.card == NULL || t->local_of == NULL ||
        t->seen == NULL || t->src == NULL ||
        (a->node_of != NULL && t->node_of == NULL)) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for a team of %d",
                       t->size);
    }
    int rc = fill_ranks(t, a, err);
    rc = rc == HPCBOOT_OK ? fill_leaves(t, a, err) : rc;
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    if (t->p > 1) {
        return hb_shm_attach(t, a->region, a->region_size, err);
    }
    return make_region(t, err);
}

int hb_coll_team_create(struct hb_coll_engine *engine,
                        const struct hb_coll_team_args *args,
                        struct hb_coll_team **team_out,
                        struct hpcboot_error *err)
{
    int p = args->local_ranks != NULL ? args->local_size : args->size;
    if (args->size < 1 || args->rank < 0 || args->rank >= args->size ||
        p < 1 || p > LOCAL_MOST || (p > 1 && args->region == NULL)) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT,
                       "a team of %d ranks, %d of them on this node: there "
                       "may be 1 to %d, sharing memory", args->size, p,
                       LOCAL_MOST);
    }
    struct hb_coll_team *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for a team");
    }
    t->engine = engine;
    t->rank = args->rank;
    t->size = args->size;
    t->p = p;
    t->nodes = 1;
    t->net = args->net;
    t->net_facts = args->net_facts;
    t->ctx = args->team_ctx;
    t->timeout_ms = args->timeout_ms;
    t->deterministic = args->deterministic;
    t->want = -1;
    int rc = build(t, args, err);
    if (rc != HPCBOOT_OK) {
        hb_coll_team_destroy(t);
        return rc;
    }
    *team_out = t;
    return HPCBOOT_OK;
}

void hb_coll_team_destroy(struct hb_coll_team *team)
{
    if (team == NULL) {
        return;
    }
    struct hpcboot_error gone = {.code = HPCBOOT_ERR_USAGE,
                                 .text = "the team has been destroyed"};
    hb_cma_teardown(team);
    hb_team_fail(team, &gone, NULL);
    for (int i = 0; i < HB_KEPT; i++) {
        hb_op_clear(&team->kept[i]);
    }
    hb_net_team_destroy(team);
    free(team->local);
    free(team->local_of);
    free(team->node_of);
    free(team->leaf_of);
    free(team->seen);
    free(team->src);
    free(team->cma.card);
    free(team->fold_room);
    free(team->own_region);
    free(team);
}

void hb_coll_team_set(struct hb_coll_team *team, int64_t timeout_ms,
                      bool deterministic)
{
    team->timeout_ms = timeout_ms;
    team->deterministic = deterministic;
}

static const struct hb_op *op_of(const struct hb_coll_team *t)
{
    return t->first != NULL ? &t->first->op : t->running;
}

bool hb_coll_team_waits(const struct hb_coll_team *team,
                        struct hb_coll_stuck *out)
{
    const struct hb_coll_team *t = team;
    const struct hb_op *op = op_of(t);
    bool sends = false;
    if (op == NULL) {
        return false;
    }
    int on = t->want >= 0        ? t->local[t->want]
             : op->net != NULL ? hb_net_waits_for(op->net, &sends) : -1;
    *out = (struct hb_coll_stuck){
        .coll = (int)hb_team_call(t, op), .on = on, .sends = sends,
        .calls = t->first != NULL ? t->first->number : t->calls};
    return true;
}

uint64_t hb_coll_team_calls(const struct hb_coll_team *team)
{
    return team->calls;
}

bool hb_coll_team_made(const struct hb_coll_team *team, uint64_t call,
                       struct hb_coll_made *out)
{
    bool known = team->nodes > 1 && call <= team->calls &&
                 team->calls - call < HB_MADE;
    if (known) {
        *out = team->made[call % HB_MADE];
    }
    return known;
}

bool hb_coll_team_met_other(const struct hb_coll_team *team, int *from_out,
                            int *call_out)
{
    const struct hb_op *op = op_of(team);

    return op != NULL && op->net != NULL &&
           hb_net_met_other(team, op->net, from_out, call_out);
}

void hb_coll_team_break(struct hb_coll_team *team,
                        const struct hpcboot_error *why)
{
    (void)hb_team_fail(team, why, NULL);
}
