/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A LOCAL step: a collective among the ranks of this node, on their shared
 * memory (shm.c), as part of a larger one. Where the node has one rank of the
 * team, its own bytes are moved and nothing else happens. */

#include "config.h"

#include "lib/coll/net.h"

#include <stdlib.h>

#include "lib/base/error.h"

static bool reduces(enum hpcboot_coll coll)
{
    return coll == HPCBOOT_COLL_REDUCE || coll == HPCBOOT_COLL_SCAN ||
           coll == HPCBOOT_COLL_EXSCAN ||
           coll == HPCBOOT_COLL_REDUCE_SCATTER;
}

/* Lengths of the blocks of local ranks, and where they begin. */
static int make_rows(struct hb_coll_team *t, struct hb_op *op,
                     struct hb_net_op *n, const struct hb_step *s)
{
    size_t p = (size_t)t->p, at = 0;
    const size_t *team = op->send_len != NULL ? op->send_len : op->recv_len;
    if (n->rows == NULL) {
        n->rows = malloc(2 * p * sizeof *n->rows);
    }
    if (n->rows == NULL) {
        return hb_fail(&t->step_error, HPCBOOT_ERR_NOMEM,
                       "no memory for %d counts", t->p);
    }
    for (int j = 0; j < t->p; j++) {
        int leaders = (int)s->rows;
        size_t slice = j < leaders
                           ? hb_slice(s->bytes, op->esize, leaders, j + 1) -
                                 hb_slice(s->bytes, op->esize, leaders, j)
                           : 0;
        n->rows[j] = s->cut == HB_CUT_TEAM ? team[t->local[j]] : slice;
        n->rows[p + (size_t)j] = at;
        at += n->rows[j];
    }
    return HPCBOOT_OK;
}

/* Which of the two vectors the blocks are of. */
static void use_rows(struct hb_coll_team *t, struct hb_op *l,
                     const size_t *rows)
{
    size_t *len = (size_t *)(uintptr_t)rows, *off = len + t->p;
    bool sends = l->coll == HPCBOOT_COLL_REDUCE_SCATTER ||
                 l->coll == HPCBOOT_COLL_SCATTERV;
    l->send_len = sends ? len : NULL;
    l->send_off = sends ? off : NULL;
    l->recv_len = sends ? NULL : len;
    l->recv_off = sends ? NULL : off;
}

/* A rank whose own block lies where it belongs. */
static bool is_placed(struct hb_coll_team *t, const struct hb_op *l)
{
    switch (l->coll) {
    case HPCBOOT_COLL_GATHER:
    case HPCBOOT_COLL_GATHERV:
        return t->me == l->root && hb_recv_at(l, t->me) == l->send;
    case HPCBOOT_COLL_ALLGATHERV:
        return hb_recv_at(l, t->me) == l->send;
    case HPCBOOT_COLL_SCATTER:
    case HPCBOOT_COLL_SCATTERV:
        return t->me == l->root && hb_send_at(l, t->me) == l->recv;
    default:
        return false;
    }
}

static int begin(struct hb_coll_team *t, struct hb_op *op,
                 struct hb_net_op *n, const struct hb_step *s)
{
    struct hb_op *l = &n->local;
    *l = *op;
    l->scratch = NULL;
    l->rows = NULL;
    l->net = NULL;
    l->finish = NULL;
    l->send_len = l->send_off = l->recv_len = l->recv_off = NULL;
    l->coll = (enum hpcboot_coll)s->coll;
    l->root = s->peer;
    l->send = n->base[s->from.mem] + s->from.off;
    l->recv = n->base[s->to.mem] + s->to.off;
    l->bytes = l->total = s->bytes;
    l->k = l->rounds = 0;
    l->getting = l->tiny = l->wide = l->tells = false;
    l->hands_on = hb_op_hands_on(t, l->coll);
    l->loose = l->coll == HPCBOOT_COLL_GATHERV ||
               l->coll == HPCBOOT_COLL_SCATTERV;
    l->area = 0;
    l->plan = NULL;
    if (s->cut != HB_CUT_EVEN) {
        int rc = make_rows(t, op, n, s);
        if (rc != HPCBOOT_OK) {
            return rc;
        }
        use_rows(t, l, n->rows);
    }
    if (s->cut == HB_CUT_SLICES && l->loose) { /* of these, its own block */
        l->bytes = l->total = n->rows[t->me];
    }
    l->own_placed = is_placed(t, l);
    if (l->coll == HPCBOOT_COLL_REDUCE) { /* of a call that may be another */
        l->choice = hb_model_choose(t->engine->model, l->coll, t->p, l->bytes);
    }
    if (reduces(l->coll)) {
        return hb_plan_reduce(t, l, &t->step_error);
    }
    l->esize = 1;
    hb_plan_move(t, l);
    return HPCBOOT_OK;
}

/* The only rank of the team on its node. */
static void alone(struct hb_net_op *n, const struct hb_step *s)
{
    char *to = n->base[s->to.mem] + s->to.off;
    const char *from = n->base[s->from.mem] + s->from.off;
    bool moves = s->coll != HPCBOOT_COLL_BARRIER &&
                 s->coll != HPCBOOT_COLL_BCAST &&
                 s->coll != HPCBOOT_COLL_EXSCAN;
    if (moves && s->bytes > 0 && to != from) {
        memmove(to, from, s->bytes);
    }
}

int hb_net_local(struct hb_coll_team *t, struct hb_op *op,
                 struct hb_net_op *n, const struct hb_step *s)
{
    if (t->p == 1) {
        alone(n, s);
        return HPCBOOT_OK;
    }
    int rc = n->local_begun ? HPCBOOT_OK : begin(t, op, n, s);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    n->local_begun = true;
    rc = hb_shm_step(t, &n->local);
    if (rc == HPCBOOT_OK) {
        if (n->local.finish != NULL) {
            n->local.finish(t, &n->local);
        }
        hb_op_clear(&n->local);
        n->local_begun = false;
    }
    return rc;
}
