/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Collectives that move blocks as long as all ranks know, on one node:
 * barrier, bcast, scatter, gather, allgather(v), alltoall. Each is a put and a
 * get (impl.h); blocks are cut into pieces, one per round.
 *
 * In place: a piece is put before anything of its round is got, so a block
 * that is overwritten has been copied out. */

#include "config.h"

#include "lib/coll/pieces.h"

/* No two pieces share a line, nor a pair of lines. */
#define ALIGN_PIECE 64
#define ALIGN_AREA HB_SHM_LINE
#define GAP_MOST ((size_t)8 << 10)
#define GAP_BLOCKS ((size_t)2 << 10) /* where there are several in a round */
#define GAP ((size_t)768)

uint64_t hb_rounds_for(size_t bytes, size_t piece)
{
    return bytes / piece + (bytes % piece != 0);
}

/* Messages of up to a few kilobytes leave a gap behind them: a reader's
 * processor fetches what comes after the one that is read, and takes it from
 * who is writing it. */
static size_t gap_after(const struct hb_coll_team *t, size_t bytes, size_t n)
{
    size_t most = n > 1 ? GAP_BLOCKS : t->take_turns ? 0 : GAP_MOST;
    return bytes > HB_SHM_INLINE && bytes <= most ? GAP : 0;
}

void hb_plan_cut(const struct hb_coll_team *t, struct hb_op *op,
                 size_t longest, size_t blocks)
{
    size_t n = blocks > 0 ? blocks : 1, unit = op->esize;
    size_t most = unit > op->choice.piece ? HB_SHM_PIECE : op->choice.piece;
    size_t aligned = (longest + ALIGN_PIECE - 1) & ~(size_t)(ALIGN_PIECE - 1);
    longest = longest > unit ? longest : unit;
    op->tiny = longest <= HB_SHM_INLINE / n;
    op->wide = op->tiny && hb_is_wide(t, n * longest);
    if (op->tiny) {
        /* what needs the next line, and fits there, has it alone */
        op->beside_at = n * longest > HB_SHM_FIRST &&
                                n * longest <= HB_CACHE_LINE
                            ? HB_SHM_FIRST : 0;
        op->piece = op->stride = longest;
        return;
    }
    if (aligned != 0 && longest <= most && aligned <= HB_SHM_SLOT / n) {
        op->piece = longest;
        op->stride = aligned + gap_after(t, aligned, n);
        op->stride = op->stride <= HB_SHM_SLOT / n ? op->stride : aligned;
    } else {
        op->stride = hb_min(most, HB_SHM_BIG / n) /
                     ALIGN_PIECE * ALIGN_PIECE;
        op->piece = op->stride / unit * unit;
    }
    op->area = (op->stride * n + ALIGN_AREA - 1) & ~(size_t)(ALIGN_AREA - 1);
}

/* barrier */

static int barrier_put(struct hb_coll_team *t, struct hb_op *op)
{
    op->from = HB_ALL;
    return HB_ALL; /* they read that it is a barrier */
}

static void nothing(struct hb_coll_team *t, struct hb_op *op)
{
}

static const struct hb_plan barrier = {barrier_put, nothing};

/* bcast */

static int bcast_put(struct hb_coll_team *t, struct hb_op *op)
{
    if (t->me != op->root) {
        op->from = op->root;
        return HB_NONE;
    }
    op->from = HB_NONE;
    hb_put(t, op, hb_mine(t, op), op->recv + op->k * op->piece,
           hb_piece(op->bytes, op->piece, op->k));
    return HB_ALL;
}

static void bcast_get(struct hb_coll_team *t, struct hb_op *op)
{
    if (t->me != op->root) {
        hb_get(op, op->recv + op->k * op->piece, hb_theirs(t, op, op->root),
             hb_piece(op->bytes, op->piece, op->k));
    }
}

static const struct hb_plan bcast = {bcast_put, bcast_get};

/* gather */

static int gather_put(struct hb_coll_team *t, struct hb_op *op)
{
    op->from = t->me == op->root ? HB_ALL : HB_NONE;
    if (t->me == op->root) {
        return HB_NONE;
    }
    hb_put(t, op, hb_mine(t, op), op->send + op->k * op->piece,
           hb_piece(op->bytes, op->piece, op->k));
    return op->root;
}

static void gather_get(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    size_t bytes = hb_piece(op->bytes, op->piece, op->k);
    for (int j = 0; t->me == op->root && j < t->p; j++) {
        if (j != t->me) {
            hb_get(op, hb_recv_at(op, j) + at, hb_theirs(t, op, j), bytes);
        } else if (!op->own_placed) {
            hb_move(op, hb_recv_at(op, j) + at, op->send + at, bytes);
        }
    }
}

static const struct hb_plan gather = {gather_put, gather_get};

/* scatter: the mirror of gather. */

static int scatter_put(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    if (t->me != op->root) {
        op->from = op->root;
        return HB_NONE;
    }
    op->from = HB_NONE;
    for (int j = 0; j < t->p; j++) {
        if (j != t->me) {
            hb_put(t, op, hb_mine(t, op) + hb_place(t, t->me, j) * op->stride,
                   hb_send_at(op, j) + at,
                   hb_piece(op->bytes, op->piece, op->k));
        }
    }
    return HB_ALL;
}

static void scatter_get(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    if (t->me == op->root) {
        if (!op->own_placed) {
            hb_move(op, op->recv + at, hb_send_at(op, t->me) + at,
                 hb_piece(op->bytes, op->piece, op->k));
        }
        return;
    }
    hb_get(op, op->recv + at,
         hb_theirs(t, op, op->root) +
             hb_place(t, op->root, t->me) * op->stride,
         hb_piece(op->bytes, op->piece, op->k));
}

static const struct hb_plan scatter = {scatter_put, scatter_get};

/* allgather(v) */

static int allgather_put(struct hb_coll_team *t, struct hb_op *op)
{
    op->from = HB_ALL;
    hb_put(t, op, hb_mine(t, op), op->send + op->k * op->piece,
           hb_piece(hb_recv_len(op, t->me), op->piece, op->k));
    return HB_ALL;
}

static void allgather_get(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    for (int i = 0; i < t->p; i++) {
        int j = t->me + i < t->p ? t->me + i : t->me + i - t->p;
        size_t bytes = hb_piece(hb_recv_len(op, j), op->piece, op->k);
        if (i > 0) {
            hb_get(op, hb_recv_at(op, j) + at, hb_theirs(t, op, j), bytes);
        } else if (!op->own_placed) {
            hb_move(op, hb_recv_at(op, j) + at, op->send + at, bytes);
        }
    }
}

const struct hb_plan hb_plan_allgather = {allgather_put, allgather_get};

/* alltoall */

static int alltoall_put(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    char *mine = hb_mine(t, op);
    op->from = HB_ALL;
    for (int i = 1; i < t->p; i++) {
        int j = t->me + i < t->p ? t->me + i : t->me + i - t->p;
        hb_put(t, op, mine + hb_place(t, t->me, j) * op->stride,
               hb_send_at(op, j) + at,
               hb_piece(op->bytes, op->piece, op->k));
    }
    return HB_ALL;
}

static void alltoall_get(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    size_t bytes = hb_piece(op->bytes, op->piece, op->k);
    for (int i = 0; i < t->p; i++) {
        int j = t->me + i < t->p ? t->me + i : t->me + i - t->p;
        if (i > 0) {
            hb_get(op, hb_recv_at(op, j) + at,
                   hb_theirs(t, op, j) + hb_place(t, j, t->me) * op->stride,
                   bytes);
        } else if (!op->own_placed) {
            hb_move(op, hb_recv_at(op, j) + at, hb_send_at(op, j) + at, bytes);
        }
    }
}

static const struct hb_plan alltoall = {alltoall_put, alltoall_get};

/* The longest block of a row of `n`. */
size_t hb_longest(const size_t *len, int n)
{
    size_t most = 0;
    for (int j = 0; j < n; j++) {
        most = len[j] > most ? len[j] : most;
    }
    return most;
}

void hb_plan_move(struct hb_coll_team *t, struct hb_op *op)
{
    size_t others = (size_t)t->p - 1, most = op->bytes;
    switch (op->coll) {
    case HPCBOOT_COLL_BARRIER:
        op->plan = &barrier;
        op->rounds = 1;
        return;
    case HPCBOOT_COLL_SCATTERV:
    case HPCBOOT_COLL_GATHERV:
    case HPCBOOT_COLL_ALLTOALLV:
        hb_plan_rows(t, op);
        return;
    case HPCBOOT_COLL_SCATTER:
        op->plan = &scatter;
        hb_plan_cut(t, op, op->bytes, others);
        break;
    case HPCBOOT_COLL_GATHER:
        op->plan = &gather;
        hb_plan_cut(t, op, op->bytes, 1);
        break;
    case HPCBOOT_COLL_ALLTOALL:
        op->plan = &alltoall;
        hb_plan_cut(t, op, op->bytes, others);
        break;
    case HPCBOOT_COLL_BCAST:
        op->plan = &bcast;
        hb_plan_cut(t, op, op->bytes, 1);
        break;
    default: /* allgather(v) */
        op->plan = &hb_plan_allgather;
        most = op->recv_len != NULL ? hb_longest(op->recv_len, t->p) : most;
        hb_plan_cut(t, op, most, 1);
    }
    op->rounds = hb_rounds_for(most, op->piece);
}
