/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Teams that span nodes: a call becomes a schedule (net.h), and this file
 * carries schedules out. Messages of a call bear its number, which is the
 * same at all ranks; between two ranks they are sent and received in the same
 * order, so that no further tag is needed.
 *
 * Where the ranks of a node can do a phase among themselves, the schedule has
 * a LOCAL step, which runs on the node's shared memory (shm.c). */

#include "config.h"

#include "lib/coll/net.h"

#include <stdlib.h>

#include "lib/base/error.h"

#define TAG_KIND_BITS 8

void hb_net_add(struct hb_net_op *n, struct hb_net_step step)
{
    if (n->count == n->room) {
        int room = n->room == 0 ? 16 : 2 * n->room;
        struct hb_net_step *s =
            realloc(n->steps, (size_t)room * sizeof *s);
        if (s == NULL) {
            n->failed = true;
            return;
        }
        n->steps = s;
        n->room = room;
    }
    n->steps[n->count++] = step;
}

int hb_net_scratch(struct hb_op *op, size_t bytes, struct hpcboot_error *err)
{
    free(op->scratch);
    op->scratch = malloc(bytes + 1);
    if (op->scratch == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM,
                       "%s: no memory for %zu bytes on their way",
                       hb_coll_name(op->coll), bytes);
    }
    return HPCBOOT_OK;
}

static int keep(struct hb_net_op *n, void *req)
{
    if (n->under_way == n->reqs_room) {
        int room = n->reqs_room == 0 ? 16 : 2 * n->reqs_room;
        void **r = realloc(n->reqs, (size_t)room * sizeof *r);
        if (r == NULL) {
            return HPCBOOT_ERR_NOMEM;
        }
        n->reqs = r;
        n->reqs_room = room;
    }
    n->reqs[n->under_way++] = req;
    return HPCBOOT_OK;
}

static int message(struct hb_coll_team *t, struct hb_net_op *n,
                   const struct hb_net_step *s)
{
    void *req = NULL;
    int rc = s->kind == HB_NET_SEND
                 ? t->net->send(t->ctx, s->peer, n->tag, s->from, s->bytes,
                                &req, &t->step_error)
                 : t->net->recv(t->ctx, s->peer, n->tag, s->to, s->bytes,
                                &req, &t->step_error);
    if (rc < 0 || req == NULL) {
        return rc < 0 ? rc : HPCBOOT_OK;
    }
    return keep(n, req);
}

/* 0 when nothing is under way any more. */
static int await(struct hb_coll_team *t, struct hb_net_op *n)
{
    int left = 0, rc = HPCBOOT_OK;
    for (int i = 0; i < n->under_way; i++) {
        int done = rc < 0 ? 0 : t->net->test(t->ctx, n->reqs[i],
                                             &t->step_error);
        if (done < 0) {
            rc = done;
        } else if (done == 0) {
            n->reqs[left++] = n->reqs[i];
        }
    }
    n->under_way = left;
    return rc < 0 ? rc : left > 0 ? HB_AGAIN : HPCBOOT_OK;
}

/* In stretches that an op of the user has room for. */
static void fold(struct hb_coll_team *t, struct hb_op *op,
                 const struct hb_net_step *s)
{
    int n = s->kind == HB_NET_FOLD_ALL ? s->peer : 2;
    size_t most = (HB_SHM_BIG > op->esize ? HB_SHM_BIG : op->esize) /
                  op->esize * op->esize;
    for (size_t at = 0; at < s->bytes; at += most) {
        if (s->kind == HB_NET_FOLD_ALL) {
            for (int j = 0; j < n; j++) {
                t->src[j] = s->from + (size_t)j * s->bytes + at;
            }
        } else {
            bool low = s->kind == HB_NET_FOLD;
            t->src[0] = (low ? s->from : s->to) + at;
            t->src[1] = (low ? s->to : s->from) + at;
        }
        hb_op_fold(t, op, s->to + at, n, hb_min(most, s->bytes - at));
    }
}

static void scale(struct hb_op *op, const struct hb_net_step *s)
{
    hb_fold_fn avg = hb_kern_fold(HPCBOOT_AVG, op->type);
    const void *src = s->to;
    avg(s->to, &src, 1, s->bytes / op->esize, op->ranks);
}

static void begin_local(struct hb_coll_team *t, struct hb_op *op,
                        struct hb_net_op *n, const struct hb_net_step *s)
{
    n->local = *op;
    n->local.scratch = NULL;
    n->local.rows = NULL;
    n->local.net = NULL;
    n->local.finish = NULL;
    n->local.coll = s->coll;
    n->local.root = s->peer;
    n->local.send = s->from;
    n->local.recv = s->to;
    n->local.bytes = s->bytes;
    n->local.k = n->local.rounds = 0;
    n->local.getting = n->local.tiny = false;
    n->local.area = 0;
    n->local.plan = NULL;
    if (s->coll == HPCBOOT_COLL_REDUCE) {
        hb_plan_reduce(t, &n->local, NULL);
    } else {
        n->local.esize = 1;
        hb_plan_move(t, &n->local);
    }
    n->local_begun = true;
}

static int local(struct hb_coll_team *t, struct hb_op *op,
                 struct hb_net_op *n, const struct hb_net_step *s)
{
    if (!n->local_begun) {
        begin_local(t, op, n, s);
    }
    int rc = hb_shm_step(t, &n->local);
    n->local_begun = rc != HPCBOOT_OK;
    return rc;
}

static int take(struct hb_coll_team *t, struct hb_op *op, struct hb_net_op *n)
{
    const struct hb_net_step *s = &n->steps[n->at];
    switch (s->kind) {
    case HB_NET_SEND:
    case HB_NET_RECV:
        return message(t, n, s);
    case HB_NET_WAIT:
        return await(t, n);
    case HB_NET_COPY:
        memmove(s->to, s->from, s->bytes);
        return HPCBOOT_OK;
    case HB_NET_FOLD:
    case HB_NET_FOLD_R:
    case HB_NET_FOLD_ALL:
        fold(t, op, s);
        return HPCBOOT_OK;
    case HB_NET_SCALE:
        scale(op, s);
        return HPCBOOT_OK;
    default:
        return local(t, op, n, s);
    }
}

static int net_step(struct hb_coll_team *t, struct hb_op *op)
{
    struct hb_net_op *n = op->net;
    t->want = -1;
    while (n->at < n->count) {
        int rc = take(t, op, n);
        if (rc < 0) {
            t->step_error.code = rc;
        }
        if (rc != HPCBOOT_OK) {
            return rc;
        }
        n->at++;
    }
    return HPCBOOT_OK;
}

int hb_net_setup(struct hb_coll_team *t, struct hb_op *op,
                 struct hpcboot_error *err)
{
    struct hb_net_op *n = calloc(1, sizeof *n);
    bool done = false;
    if (n == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "%s: no memory for a schedule",
                       hb_coll_name(op->coll));
    }
    op->net = n;
    op->step = net_step;
    n->team = t;
    n->tag = ++t->net_calls << TAG_KIND_BITS | op->coll;
    n->in_order = (t->deterministic ||
                   (op->flags & HPCBOOT_DETERMINISTIC) != 0) &&
                  op->coll < HPCBOOT_COLL_SCAN;
    n->scales = op->op == HPCBOOT_AVG && op->fold != NULL && !n->in_order;
    if (n->scales) {
        op->fold = hb_kern_fold(HPCBOOT_SUM, op->type);
    }
    int rc = hb_net_plan_node(t, op, n, &done, err);
    if (rc == HPCBOOT_OK && !done) {
        rc = hb_net_plan_flat(t, op, n, err);
    }
    hb_net_do(n, HB_NET_WAIT, NULL, NULL, 0);
    if (rc == HPCBOOT_OK && n->failed) {
        rc = hb_fail(err, HPCBOOT_ERR_NOMEM, "%s: no memory for a schedule",
                     hb_coll_name(op->coll));
    }
    return rc;
}

void hb_net_clear(void *net)
{
    struct hb_net_op *n = net;
    if (n == NULL) {
        return;
    }
    for (int i = 0; i < n->under_way; i++) {
        n->team->net->cancel(n->team->ctx, n->reqs[i]);
    }
    free(n->steps);
    free(n->reqs);
    free(n);
}
