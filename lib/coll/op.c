/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What an operation (struct hb_op) makes of a call whose arguments are right:
 * lengths in bytes, in-place resolved, rows of blocks for the v-kinds, and the
 * plan chosen. The choice depends on what all ranks know alike: never on a
 * rank's own buffers.
 *
 * A blocking call just like the one before runs with what that one has set up
 * (hb_op_again): of rows the content is compared, and the buffers must be the
 * same, so that all that has been checked still holds. */

#include "config.h"

#include "lib/coll/kinds.h"

#include <stdlib.h>

#include "lib/base/error.h"

bool hb_call_folds(enum hpcboot_coll coll)
{
    return hb_in(coll, REDUCES);
}

bool hb_call_is_loose(enum hpcboot_coll coll)
{
    return hb_in(coll, LOOSE);
}

bool hb_call_is_rooted(enum hpcboot_coll coll)
{
    return hb_in(coll, ROOTED);
}

bool hb_call_has_row(enum hpcboot_coll coll)
{
    return hb_in(coll, RECV_ROWS & ~LOOSE);
}

/* counts and displacements of `n` blocks to bytes */
static void fill_row(size_t *len, size_t *off, const size_t *counts,
                     const size_t *displs, int n, size_t e)
{
    size_t at = 0;
    for (int j = 0; j < n; j++) {
        len[j] = counts[j] * e;
        off[j] = displs != NULL ? displs[j] * e : at;
        at += len[j];
    }
}

static int setup_rows(struct hb_coll_team *t, struct hb_op *op,
                      const struct hpcboot_coll_args *a,
                      struct hpcboot_error *err)
{
    size_t n = (size_t)t->size, e = hb_coll_type_size(a->type);
    bool root = !hb_in(a->coll, ROOTED) || t->rank == a->root;
    if (!root) {
        return HPCBOOT_OK;
    }
    op->rows = malloc(n * (4 * sizeof *op->rows + sizeof *op->lent));
    if (op->rows == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "%s: no memory for %d counts",
                       hb_coll_name(a->coll), t->size);
    }
    op->lent = (uint64_t *)(void *)(op->rows + 4 * n);
    if (a->coll == HPCBOOT_COLL_REDUCE_SCATTER) {
        op->send_len = op->rows;
        op->send_off = op->rows + n;
        fill_row(op->send_len, op->send_off, a->recv_counts, NULL, t->size, e);
        return HPCBOOT_OK;
    }
    if (hb_in(a->coll, RECV_ROWS)) {
        op->recv_len = op->rows;
        op->recv_off = op->rows + n;
        fill_row(op->recv_len, op->recv_off, a->recv_counts, a->recv_displs,
                 t->size, e);
    }
    if (hb_in(a->coll, SEND_ROWS) && op->own_placed &&
        a->coll == HPCBOOT_COLL_ALLTOALLV) {
        op->send_len = op->recv_len;
        op->send_off = op->recv_off;
    } else if (hb_in(a->coll, SEND_ROWS)) {
        op->send_len = op->rows + 2 * n;
        op->send_off = op->rows + 3 * n;
        fill_row(op->send_len, op->send_off, a->send_counts, a->send_displs,
                 t->size, e);
    }
    return HPCBOOT_OK;
}

/* Where the rank's own contribution lies when it is in place. */
static void place(struct hb_coll_team *t, struct hb_op *op)
{
    switch (op->coll) {
    case HPCBOOT_COLL_SCATTER:
    case HPCBOOT_COLL_SCATTERV:
        break;
    case HPCBOOT_COLL_GATHER:
    case HPCBOOT_COLL_GATHERV:
    case HPCBOOT_COLL_ALLGATHER:
    case HPCBOOT_COLL_ALLGATHERV:
        op->send = hb_recv_at(op, t->rank);
        break;
    default:
        op->send = op->recv;
    }
}

static void sign(const struct hb_coll_team *t, struct hb_op *op,
                 const struct hpcboot_coll_args *a)
{
    op->sign = hb_call_sign(a) & ((1u << HB_SIGN_BITS) - 1);
    if (hb_call_has_row(a->coll)) {
        op->sign |= hb_row_sign(a->recv_counts, t->size);
    }
    op->loose = op->tells = hb_in(a->coll, LOOSE);
    op->word = op->loose ? 0 : op->total;
}

static void reset(struct hb_op *op, const struct hpcboot_coll_args *a,
                  int ranks)
{
    op->coll = a->coll;
    op->type = a->type;
    op->op = a->op;
    op->root = a->root;
    op->getting = op->tiny = op->wide = op->own_placed = op->dry = false;
    op->k = op->rounds = 0;
    op->area = op->own_done = 0;
    op->send = a->send;
    op->recv = a->recv;
    op->send_len = op->send_off = op->recv_len = op->recv_off = NULL;
    free(op->rows); /* of a call that was kept */
    op->rows = NULL;
    op->fold = NULL;
    op->scratch = op->result = NULL;
    op->finish = NULL;
    op->net = NULL;
    op->flags = a->flags;
    op->ranks = ranks;
    op->esize = 1;
}

static int setup_fold(struct hb_coll_team *t, struct hb_op *op,
                      const struct hb_coll_user_op *user,
                      struct hpcboot_error *err)
{
    op->esize = hb_coll_type_size(op->type);
    if (op->op < HPCBOOT_OP_USER) {
        op->fold = hb_kern_fold(op->op, op->type);
        return HPCBOOT_OK;
    }
    op->user = *user;
    if (op->type == HPCBOOT_BYTE && user->element_bytes > 1) {
        op->esize = user->element_bytes;
    }
    size_t need = op->esize > HB_SHM_BIG ? op->esize : HB_SHM_BIG;
    if (t->fold_room_size < need) {
        char *room = realloc(t->fold_room, need);
        if (room == NULL) {
            return hb_fail(err, HPCBOOT_ERR_NOMEM,
                           "%s: no memory to apply the op in",
                           hb_coll_name(op->coll));
        }
        t->fold_room = room;
        t->fold_room_size = need;
    }
    return HPCBOOT_OK;
}

static size_t total_of(const struct hb_coll_team *t, const struct hb_op *op)
{
    const size_t *len = op->coll == HPCBOOT_COLL_REDUCE_SCATTER ? op->send_len
                        : op->coll == HPCBOOT_COLL_ALLGATHERV   ? op->recv_len
                                                                : NULL;
    if (op->coll == HPCBOOT_COLL_REDUCE_SCATTER_BLOCK) {
        return op->bytes * (size_t)t->size;
    }
    return len != NULL ? hb_row_sum(len, t->size) : op->bytes;
}

/* Whether the next call may be like this one: nothing of it was made for this
 * run alone, and where buffers lie follows from the arguments. */
static void keep(const struct hb_coll_team *t, struct hb_op *op,
                 const struct hpcboot_coll_args *a)
{
    struct hb_again *g = &op->again;
    g->kept = t->nodes == 1 && op->scratch == NULL &&
              a->op < HPCBOOT_OP_USER && !op->own_placed;
    if (g->kept) {
        struct hb_extent x = hb_extent_of(t, a);
        g->count = a->count;
        g->esize = hb_coll_type_size(op->type);
        g->send_bytes = x.send;
        g->recv_bytes = x.recv;
        g->plan = op->plan;
        g->rounds = op->rounds;
        g->stride = op->stride;
        g->area = op->area;
    }
}

/* Pieces up to this are handed on in less time than their readers save. That is
 * so for a root that sends to all, though it may run ahead, since they wait for
 * it; less so for a rank that sends to one and runs ahead of it, and never for
 * the first of an exscan. Ranks that take turns on a core have its cache in
 * common. */
#define HANDS_ON ((size_t)1 << 10)
#define HANDS_ON_AHEAD ((size_t)512)

size_t hb_op_hands_on(const struct hb_coll_team *t, enum hpcboot_coll coll)
{
    unsigned ahead = GATHERS | BIT(REDUCE) | BIT(SCAN);
    return t->take_turns || coll == HPCBOOT_COLL_EXSCAN ? 0
           : hb_in(coll, ahead) ? HANDS_ON_AHEAD : HANDS_ON;
}

void hb_op_set_wide(const struct hb_coll_team *t, struct hb_op *op,
                    size_t before, size_t n)
{
    size_t last = op->longest > op->bytes ? op->longest : op->bytes;
    last = hb_min(last, op->beside);
    op->wide = hb_is_wide(t, before + (n - 1) * op->beside + last);
}

int hb_op_setup(struct hb_coll_team *t, struct hb_op *op,
                const struct hpcboot_coll_args *a,
                const struct hb_coll_user_op *user,
                struct hpcboot_error *err)
{
    int rc = HPCBOOT_OK;
    reset(op, a, t->size);
    op->bytes = hb_in(a->coll, NO_COUNT)
                    ? 0 : a->count * hb_coll_type_size(a->type);
    op->own_placed =
        a->send == HPCBOOT_IN_PLACE ||
        (a->recv == HPCBOOT_IN_PLACE && hb_in(a->coll, SCATTERS));
    if (hb_in(a->coll, SEND_ROWS | RECV_ROWS)) {
        rc = setup_rows(t, op, a, err);
    }
    if (rc == HPCBOOT_OK && op->own_placed) {
        place(t, op);
    }
    if (rc == HPCBOOT_OK && hb_in(a->coll, REDUCES)) {
        rc = setup_fold(t, op, user, err);
    }
    op->total = total_of(t, op);
    hb_spill_setup(t, op, a);
    op->choice = hb_model_choose(t->engine->model, op->coll, t->p, op->bytes);
    sign(t, op, a);
    if (rc == HPCBOOT_OK && t->nodes > 1) {
        rc = hb_net_setup(t, op, err);
    } else if (rc == HPCBOOT_OK && hb_in(a->coll, REDUCES)) {
        op->step = hb_shm_step;
        rc = hb_plan_reduce(t, op, err);
    } else if (rc == HPCBOOT_OK) {
        op->step = hb_shm_step;
        hb_plan_move(t, op);
    }
    if (rc == HPCBOOT_OK && t->nodes == 1) {
        hb_plan_heap(t, op);
        hb_plan_cma(t, op);
    }
    op->hands_on = hb_op_hands_on(t, op->coll);
    op->again.kept = false;
    if (rc == HPCBOOT_OK) {
        keep(t, op, a);
    } else {
        hb_op_clear(op);
    }
    return rc;
}

static bool is_row(const size_t *len, const size_t *off, const size_t *counts,
                   const size_t *displs, int n, size_t e)
{
    size_t at = 0;
    for (int j = 0; counts != NULL && j < n; j++) {
        if (counts[j] > SIZE_MAX / 16 || len[j] != counts[j] * e ||
            off[j] != (displs != NULL ? displs[j] * e : at)) {
            return false;
        }
        at += len[j];
    }
    return counts != NULL;
}

/* Of a call that has rows at this rank. */
static bool has_same_rows(const struct hb_op *op,
                          const struct hpcboot_coll_args *a)
{
    size_t e = op->again.esize;
    bool blocks = a->coll == HPCBOOT_COLL_REDUCE_SCATTER;
    if (a->send != op->send || a->recv != op->recv) {
        return false;
    }
    if (blocks) {
        return is_row(op->send_len, op->send_off, a->recv_counts, NULL,
                      op->ranks, e);
    }
    return (op->send_len == NULL ||
            is_row(op->send_len, op->send_off, a->send_counts, a->send_displs,
                   op->ranks, e)) &&
           (op->recv_len == NULL ||
            is_row(op->recv_len, op->recv_off, a->recv_counts, a->recv_displs,
                   op->ranks, e));
}

/* Buffers that are right with the counts of the call before. */
static bool has_good_buffers(const struct hb_again *g,
                             const struct hpcboot_coll_args *a)
{
    const char *s = a->send, *r = a->recv;
    return s != HPCBOOT_IN_PLACE && r != HPCBOOT_IN_PLACE &&
           (g->send_bytes == 0 || s != NULL) &&
           (g->recv_bytes == 0 || r != NULL) &&
           (g->send_bytes == 0 || g->recv_bytes == 0 ||
            s >= r + g->recv_bytes || r >= s + g->send_bytes);
}

/* A field that has just been written, read as it was written. Joined with its
 * neighbour in one load, it would wait until both have left the store buffer,
 * and so until what was written for other ranks before has reached them. */
#define ALONE(field) (*(const volatile __typeof__(field) *)&(field))

bool hb_op_again(struct hb_op *op, const struct hpcboot_coll_args *a)
{
    const struct hb_again *g = &op->again;
    if (!g->kept || a->struct_size < sizeof *a || ALONE(a->coll) != op->coll) {
        return false;
    }
    if (op->coll != HPCBOOT_COLL_BARRIER &&
        (a->count != g->count || ALONE(a->type) != op->type ||
         ALONE(a->op) != op->op || ALONE(a->root) != op->root ||
         ALONE(a->flags) != op->flags ||
         !(op->rows != NULL ? has_same_rows(op, a)
                            : has_good_buffers(g, a)))) {
        return false;
    }
    op->send = a->send;
    op->recv = a->recv;
    op->getting = false;
    op->k = 0;
    op->own_done = 0;
    op->plan = g->plan;
    op->rounds = g->rounds;
    op->stride = g->stride;
    op->area = g->area;
    return true;
}

void hb_op_clear(struct hb_op *op)
{
    free(op->rows);
    free(op->scratch);
    hb_net_clear(op->net);
    op->rows = NULL;
    op->scratch = NULL;
    op->net = NULL;
}
