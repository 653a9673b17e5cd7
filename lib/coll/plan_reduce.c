/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Collectives that reduce, on one node. Whatever the plan, an element of the
 * result is folded from the ranks' elements in rank order, in one go: the
 * bits are the same on every path, at every rank, on every run, and an op
 * that does not commute is right.
 *
 *   small allreduce   each rank puts its vector, and folds all of them
 *   large allreduce   each puts all slices but its own, folds its own slice
 *                     from all, puts the result, gets the others' (2 rounds)
 *   last              each puts its vector, the last to come folds them, and
 *                     all get the result: plan_last.c
 *   reduce            the root folds what the others put; or, of many ranks,
 *                     as a large allreduce whose result the root alone gets
 *   reduce_scatter    as the first half of a large allreduce
 *   scan, exscan      a rank folds what the ranks below it have put; or, in a
 *                     chain, adds its own to what the one before it has put
 *   collect           for an op of the user whose elements fit in no slot:
 *                     all vectors are gathered, then folded in private */

#include "config.h"

#include "lib/coll/pieces.h"

#include <stdlib.h>

#include "lib/base/error.h"

#define ALIGN_SLICE 64
/* What is folded at once before it goes past the cache: it stays in the
 * first-level one. */
#define OUT_BLOCK 8192

_Atomic unsigned hb_coll_folding;
static _Thread_local bool folding;

bool hb_coll_is_folding(void)
{
    return folding;
}

/* An op of the user changes its second operand: from the last rank down, in a
 * room of its own, since `dst` may be one of the sources. */
static void fold_user(struct hb_coll_team *t, struct hb_op *op, void *dst,
                      int n, size_t bytes)
{
    size_t count = bytes / hb_coll_type_size(op->type);

    memcpy(t->fold_room, t->src[n - 1], bytes);
    folding = true;
    atomic_fetch_add_explicit(&hb_coll_folding, 1, memory_order_relaxed);
    for (int s = n - 2; s >= 0; s--) {
        op->user.fn(t->src[s], t->fold_room, count, op->type, op->user.arg);
    }
    atomic_fetch_sub_explicit(&hb_coll_folding, 1, memory_order_relaxed);
    folding = false;
    memcpy(dst, t->fold_room, bytes);
}

void hb_op_fold(struct hb_coll_team *t, struct hb_op *op, void *dst, int n,
                size_t bytes)
{
    if (bytes == 0 || n == 0) {
        return;
    }
    if (op->fold != NULL) {
        op->fold(dst, t->src, n, bytes / op->esize, op->ranks);
    } else {
        fold_user(t, op, dst, n, bytes);
    }
}

/* Not where it is kept in another type, or divided at its end, nor does an op
 * of the user promise it. */
bool hb_plan_folds_on(const struct hb_op *op)
{
    return op->fold != NULL && op->op != HPCBOOT_AVG &&
           op->type != HPCBOOT_FLOAT16 && op->type != HPCBOOT_BFLOAT16;
}

void hb_fold_out(struct hb_coll_team *t, struct hb_op *op, char *dst, int n,
                 size_t bytes)
{
    _Alignas(ALIGN_SLICE) char block[OUT_BLOCK];
    size_t step = OUT_BLOCK / op->esize * op->esize;
    if (n == 1 && hb_plan_folds_on(op)) {
        hb_get(op, dst, t->src[0], bytes);
        return;
    }
    if (!op->spills || op->fold == NULL) {
        hb_op_fold(t, op, dst, n, bytes);
        return;
    }
    for (size_t at = 0; n > 0 && at < bytes; at += step) {
        size_t len = hb_min(step, bytes - at);
        hb_op_fold(t, op, block, n, len);
        hb_kern_stream(dst + at, block, len);
        for (int j = 0; j < n; j++) {
            t->src[j] = (const char *)t->src[j] + len;
        }
    }
}

/* Points t->src at the vectors of ranks [0, n), this rank's at `own`. */
static void point(struct hb_coll_team *t, struct hb_op *op, int n,
                  const char *own)
{
    for (int j = 0; j < n; j++) {
        t->src[j] = j == t->me ? own : hb_theirs(t, op, j);
    }
}

/* small allreduce, and reduce */

static int put_piece(struct hb_coll_team *t, struct hb_op *op)
{
    hb_put(t, op, hb_mine(t, op), op->send + op->k * op->piece,
           hb_piece(op->bytes, op->piece, op->k));
    return HB_ALL;
}

static int all_put(struct hb_coll_team *t, struct hb_op *op)
{
    op->from = HB_ALL;
    return put_piece(t, op);
}

static void all_get(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    point(t, op, t->p, op->send + at);
    hb_fold_out(t, op, op->recv + at, t->p,
                hb_piece(op->bytes, op->piece, op->k));
}

static const struct hb_plan all_fold_all = {all_put, all_get};

static int reduce_put(struct hb_coll_team *t, struct hb_op *op)
{
    if (t->me == op->root) {
        op->from = HB_ALL;
        return HB_NONE;
    }
    op->from = HB_NONE;
    put_piece(t, op);
    return op->root;
}

static void reduce_get(struct hb_coll_team *t, struct hb_op *op)
{
    if (t->me == op->root) {
        all_get(t, op);
    }
}

static const struct hb_plan reduce = {reduce_put, reduce_get};

/* large allreduce: two rounds for each stretch of p slices */

struct slices {
    size_t base, each, total;
};

static struct slices slices_of(const struct hb_coll_team *t,
                               const struct hb_op *op)
{
    size_t stretch = op->piece * (size_t)t->p;
    size_t base = op->k / 2 * stretch, left = op->bytes - base;
    struct slices s = {base, op->piece, op->bytes};
    if (left < stretch) {
        size_t unit = op->esize > ALIGN_SLICE ? op->esize : ALIGN_SLICE;
        unit = unit % op->esize == 0 ? unit : op->esize;
        size_t units = (left + unit - 1) / unit;
        s.each = (units + (size_t)t->p - 1) / (size_t)t->p * unit;
    }
    return s;
}

static size_t slice_at(const struct slices *s, int j)
{
    return hb_min(s->base + (size_t)j * s->each, s->total);
}

static size_t slice_len(const struct slices *s, int j)
{
    return hb_min(s->each, s->total - slice_at(s, j));
}

static int slices_put(struct hb_coll_team *t, struct hb_op *op)
{
    struct slices s = slices_of(t, op);
    char *mine = hb_mine(t, op);
    op->from = HB_ALL;
    if (op->k % 2 == 1) {
        hb_put(t, op, mine, op->recv + slice_at(&s, t->me),
               slice_len(&s, t->me));
        return HB_ALL;
    }
    for (int j = 0; j < t->p; j++) {
        if (j != t->me) {
            hb_put(t, op, mine + hb_place(t, t->me, j) * op->stride,
                   op->send + slice_at(&s, j), slice_len(&s, j));
        }
    }
    return HB_ALL;
}

static void slices_get(struct hb_coll_team *t, struct hb_op *op)
{
    struct slices s = slices_of(t, op);
    if (op->k % 2 == 0) {
        for (int j = 0; j < t->p; j++) {
            t->src[j] = hb_theirs(t, op, j) +
                        hb_place(t, j, t->me) * op->stride;
        }
        t->src[t->me] = op->send + slice_at(&s, t->me);
        hb_op_fold(t, op, op->recv + slice_at(&s, t->me), t->p,
                   slice_len(&s, t->me));
        return;
    }
    for (int i = 1; i < t->p; i++) {
        int j = t->me + i < t->p ? t->me + i : t->me + i - t->p;
        hb_get(op, op->recv + slice_at(&s, j), hb_theirs(t, op, j),
             slice_len(&s, j));
    }
}

static const struct hb_plan slices = {slices_put, slices_get};

/* Large reduce of many ranks. A rank that is not the root has no buffer for its
 * slice of the result. So it does not fold in the round in which the others'
 * parts have come, but when it is to put the result, straight into its ring,
 * where the root gets it. The parts are still there: nobody overwrites them
 * until all have posted this round. */

static void fold_slice(struct hb_coll_team *t, const struct slices *s,
                       struct hb_op *op, char *dst)
{
    for (int j = 0; j < t->p; j++) {
        t->src[j] = hb_shm_ring(t, j, op->before) +
                    hb_place(t, j, t->me) * op->stride;
    }
    t->src[t->me] = op->send + slice_at(s, t->me);
    hb_op_fold(t, op, dst, t->p, slice_len(s, t->me));
}

static int to_root_put(struct hb_coll_team *t, struct hb_op *op)
{
    struct slices s = slices_of(t, op);
    if (op->k % 2 == 0) {
        return slices_put(t, op);
    }
    if (t->me == op->root) {
        fold_slice(t, &s, op, op->recv + slice_at(&s, t->me));
        op->from = HB_ALL;
        return HB_NONE;
    }
    fold_slice(t, &s, op, hb_mine(t, op));
    op->from = HB_NONE;
    return op->root;
}

static void to_root_get(struct hb_coll_team *t, struct hb_op *op)
{
    if (op->k % 2 == 0) {
        op->before = op->at;
    } else if (t->me == op->root) {
        slices_get(t, op);
    }
}

static const struct hb_plan to_root = {to_root_put, to_root_get};

/* reduce_scatter(_block): block j of every rank goes to rank j. In place, the
 * result waits in `scratch` until no block below it is needed. */

static int scatter_put(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    op->from = HB_ALL;
    for (int j = 0; j < t->p; j++) {
        if (j != t->me) {
            hb_put(t, op, hb_mine(t, op) + hb_place(t, t->me, j) * op->stride,
                   hb_send_at(op, j) + at,
                   hb_piece(hb_send_len(op, j), op->piece, op->k));
        }
    }
    return HB_ALL;
}

static void scatter_get(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    for (int j = 0; j < t->p; j++) {
        t->src[j] = hb_theirs(t, op, j) + hb_place(t, j, t->me) * op->stride;
    }
    t->src[t->me] = hb_send_at(op, t->me) + at;
    hb_fold_out(t, op, op->recv + at, t->p,
                hb_piece(hb_send_len(op, t->me), op->piece, op->k));
}

static const struct hb_plan reduce_scatter = {scatter_put, scatter_get};

static void place_block(struct hb_coll_team *t, struct hb_op *op)
{
    hb_move(op, op->result, op->scratch, hb_send_len(op, t->me));
}

/* scan, exscan

 * What the ranks below have in all is folded anew by each of them, or comes
 * from the rank before, which has it. The bits are the same, since a fold goes
 * through the ranks in order and keeps what it has in the type of the
 * elements. A chain has less to read by as many times as there are ranks, and
 * whoever is late holds up only those behind it. */

static int scan_put(struct hb_coll_team *t, struct hb_op *op)
{
    op->from = HB_BELOW;
    if (t->me == t->p - 1) {
        return HB_NONE;
    }
    return put_piece(t, op);
}

static void scan_get(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    int n = op->coll == HPCBOOT_COLL_SCAN ? t->me + 1 : t->me;
    point(t, op, n, op->send + at);
    hb_fold_out(t, op, op->recv + at, n,
                hb_piece(op->bytes, op->piece, op->k));
}

static const struct hb_plan scan = {scan_put, scan_get};

/* What rank me - 1 puts in the round that this rank has yet to post. */
static const char *from_below(struct hb_coll_team *t, const struct hb_op *op)
{
    return op->tiny ? hb_beside(t, op, t->me - 1, t->round + 1)
                    : hb_shm_ring(t, t->me - 1, op->at);
}

/* Whoever is in the middle has its share before it posts the round. */
static int chain_put(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    size_t bytes = hb_piece(op->bytes, op->piece, op->k);
    op->from = t->me > 0 ? t->me - 1 : HB_NONE;
    if (t->me == 0) {
        put_piece(t, op);
        return 1;
    }
    if (t->me == t->p - 1) {
        return HB_NONE;
    }
    if (!hb_shm_has_put(t, t->me - 1)) {
        return HB_LATER;
    }
    t->src[0] = from_below(t, op);
    t->src[1] = op->send + at;
    hb_op_fold(t, op, hb_mine(t, op), 2, bytes);
    hb_get(op, op->recv + at,
           op->coll == HPCBOOT_COLL_SCAN ? hb_mine(t, op) : from_below(t, op),
           bytes);
    return t->me + 1;
}

static void chain_get(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    int n = op->coll == HPCBOOT_COLL_SCAN;
    if (t->me > 0 && t->me < t->p - 1) {
        return;
    }
    if (t->me > 0) {
        t->src[0] = hb_theirs(t, op, t->me - 1);
        n++;
    }
    if (op->coll == HPCBOOT_COLL_SCAN) {
        t->src[n - 1] = op->send + at;
    }
    hb_fold_out(t, op, op->recv + at, n,
                hb_piece(op->bytes, op->piece, op->k));
}

static const struct hb_plan chain = {chain_put, chain_get};

static void plan_scan(struct hb_op *op)
{
    bool on = op->choice.way == HB_WAY_CHAIN && hb_plan_folds_on(op);
    op->plan = on ? &chain : &scan;
}

/* collect */

static void fold_collected(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = 0, bytes = op->total;
    int n = t->p;
    bool block = op->coll == HPCBOOT_COLL_REDUCE_SCATTER ||
                 op->coll == HPCBOOT_COLL_REDUCE_SCATTER_BLOCK;
    if (op->coll == HPCBOOT_COLL_REDUCE && t->me != op->root) {
        return;
    }
    if (op->coll == HPCBOOT_COLL_SCAN || op->coll == HPCBOOT_COLL_EXSCAN) {
        n = t->me + (op->coll == HPCBOOT_COLL_SCAN);
    }
    if (block) {
        bytes = op->send_len != NULL ? op->send_len[t->me]
                                     : op->total / (size_t)t->p;
        at = op->send_off != NULL ? op->send_off[t->me]
                                  : (size_t)t->me * bytes;
    }
    for (size_t done = 0; done < bytes; done += op->esize) {
        for (int j = 0; j < n; j++) {
            t->src[j] = op->scratch + (size_t)j * op->total + at + done;
        }
        hb_op_fold(t, op, op->result + done, n, op->esize);
    }
}

static int plan_collect(struct hb_coll_team *t, struct hb_op *op,
                        struct hpcboot_error *err)
{
    op->scratch = malloc(op->total * (size_t)t->p + 1);
    if (op->scratch == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM,
                       "%s: no memory for %d vectors of %zu bytes, whose "
                       "elements of %zu bytes cannot be cut",
                       hb_coll_name(op->coll), t->p, op->total, op->esize);
    }
    op->plan = &hb_plan_allgather;
    op->result = op->recv;
    op->recv = op->scratch;
    op->finish = fold_collected;
    op->bytes = op->total; /* what is gathered of each, */
    op->own_placed = false; /* of this rank too */
    op->piece = op->stride = HB_SHM_PIECE;
    op->area = HB_SHM_PIECE;
    op->tiny = false;
    op->rounds = hb_rounds_for(op->total, op->piece);
    return HPCBOOT_OK;
}

static int plan_blocks(struct hb_coll_team *t, struct hb_op *op,
                       struct hpcboot_error *err)
{
    size_t most = op->bytes;
    for (int j = 0; op->send_len != NULL && j < t->p; j++) {
        most = j == 0 || op->send_len[j] > most ? op->send_len[j] : most;
    }
    op->plan = &reduce_scatter;
    hb_plan_cut(t, op, most, (size_t)t->p - 1);
    if (op->piece == 0) {
        return HPCBOOT_OK;
    }
    op->rounds = hb_rounds_for(most, op->piece);
    if (!op->own_placed) {
        return HPCBOOT_OK;
    }
    op->scratch = malloc(hb_send_len(op, t->me) + 1);
    if (op->scratch == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "%s: no memory for a block",
                       hb_coll_name(op->coll));
    }
    op->result = op->recv;
    op->recv = op->scratch;
    op->finish = place_block;
    return HPCBOOT_OK;
}

/* false: a round has no room for an element from each. */
static bool plan_slices(struct hb_coll_team *t, struct hb_op *op,
                        const struct hb_plan *plan)
{
    size_t p = (size_t)t->p, each = (op->bytes + p - 1) / p;
    each = (each + ALIGN_SLICE - 1) & ~(size_t)(ALIGN_SLICE - 1);
    each = (each + op->esize - 1) / op->esize * op->esize;
    op->plan = plan;
    hb_plan_cut(t, op, each, p - 1);
    if (op->piece == 0) {
        op->area = 0;
        return false;
    }
    op->rounds = 2 * hb_rounds_for(op->bytes, p * op->piece);
    return true;
}

static void plan_allreduce(struct hb_coll_team *t, struct hb_op *op)
{
    if (op->choice.way == HB_WAY_LAST && hb_plan_last(t, op)) {
        return;
    }
    if (op->choice.way == HB_WAY_SLICES && plan_slices(t, op, &slices)) {
        return;
    }
    op->plan = &all_fold_all;
    hb_plan_cut(t, op, op->bytes, 1);
    op->rounds = op->piece == 0 ? 0 : hb_rounds_for(op->bytes, op->piece);
}

/* What lies beside the flags is gone with the next round. */
static bool plan_to_root(struct hb_coll_team *t, struct hb_op *op)
{
    return op->choice.way == HB_WAY_SLICES && plan_slices(t, op, &to_root) &&
           !op->tiny;
}

int hb_plan_reduce(struct hb_coll_team *t, struct hb_op *op,
                   struct hpcboot_error *err)
{
    int rc = HPCBOOT_OK;
    switch (op->coll) {
    case HPCBOOT_COLL_ALLREDUCE:
        plan_allreduce(t, op);
        break;
    case HPCBOOT_COLL_REDUCE_SCATTER:
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
        rc = plan_blocks(t, op, err);
        break;
    default: /* reduce, scan, exscan */
        if (op->coll == HPCBOOT_COLL_REDUCE && plan_to_root(t, op)) {
            break;
        }
        op->plan = &reduce;
        if (op->coll != HPCBOOT_COLL_REDUCE) {
            plan_scan(op);
        }
        hb_plan_cut(t, op, op->bytes, 1);
        op->rounds = op->piece == 0 ? 0 : hb_rounds_for(op->bytes, op->piece);
    }
    if (rc == HPCBOOT_OK && op->piece == 0) {
        rc = plan_collect(t, op, err);
    }
    return rc;
}
