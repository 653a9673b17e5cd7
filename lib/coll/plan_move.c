/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Collectives that move blocks, on one node: barrier, bcast, scatter(v),
 * gather(v), allgather(v), alltoall(v). Each is a put and a get (impl.h).
 *
 * Blocks are cut into pieces, one per round. Where blocks differ and not all
 * ranks know how long they are (the v-kinds but allgatherv), the first round
 * carries the number of rounds in the cell's word, beside the first pieces:
 * the root's for gatherv and scatterv, the largest of all for alltoallv. It
 * also tells how long each block is that is sent, so that who expects another
 * length finds out: gatherv in the word, else in the line of the flag or, for
 * many ranks, behind the pieces.
 *
 * In place: a piece is put before anything of its round is got, so a block
 * that is overwritten has been copied out. */

#include "config.h"

#include "lib/coll/impl.h"

/* No two pieces share a line, nor a pair of lines. */
#define ALIGN_PIECE 64
#define ALIGN_AREA HB_SHM_LINE

uint64_t hb_rounds_for(size_t bytes, size_t piece)
{
    return bytes / piece + (bytes % piece != 0);
}

void hb_plan_cut(struct hb_op *op, size_t longest, size_t blocks)
{
    size_t n = blocks > 0 ? blocks : 1, unit = op->esize;
    size_t most = unit > op->choice.piece ? HB_SHM_PIECE : op->choice.piece;
    size_t aligned = (longest + ALIGN_PIECE - 1) & ~(size_t)(ALIGN_PIECE - 1);
    longest = longest > unit ? longest : unit;
    op->tiny = longest <= HB_SHM_INLINE / n;
    if (op->tiny) {
        op->piece = op->stride = longest;
        return;
    }
    if (aligned != 0 && longest <= most && aligned <= HB_SHM_SLOT / n) {
        op->piece = longest;
        op->stride = aligned;
    } else {
        op->stride = hb_min(most, HB_SHM_BIG / n) /
                     ALIGN_PIECE * ALIGN_PIECE;
        op->piece = op->stride / unit * unit;
    }
    op->area = (op->stride * n + ALIGN_AREA - 1) & ~(size_t)(ALIGN_AREA - 1);
}

/* Where rank j tells, in the round whose cell is given, how long its blocks
 * are, in the order of hb_place. */
static char *told_by(struct hb_coll_team *t, const struct hb_op *op, int j,
                     uint64_t round)
{
    size_t n = (size_t)t->p - 1;
    return n * sizeof(uint64_t) <= HB_SHM_INLINE
               ? (char *)hb_shm_cell(t, j, round)->bytes
               : hb_shm_ring(t, j, op->at) + n * op->stride;
}

static void tell(struct hb_coll_team *t, const struct hb_op *op, int j)
{
    uint64_t bytes = hb_send_len(op, j);
    if (op->tells && op->k == 0) {
        memcpy(told_by(t, op, t->me, t->round + 1) +
                   hb_place(t, t->me, j) * sizeof bytes, &bytes, sizeof bytes);
    }
}

static uint64_t told(struct hb_coll_team *t, const struct hb_op *op, int j)
{
    uint64_t bytes;
    if (op->coll == HPCBOOT_COLL_GATHERV) {
        return hb_word_of(t, j);
    }
    memcpy(&bytes, told_by(t, op, j, t->round) +
                       hb_place(t, j, t->me) * sizeof bytes, sizeof bytes);
    return bytes;
}

bool hb_plan_lengths_agree(struct hb_coll_team *t, struct hb_op *op)
{
    bool gathers = op->coll == HPCBOOT_COLL_GATHERV;
    bool all = op->from == HB_ALL;
    for (int j = 0; j < t->p; j++) {
        if (j == t->me || (!all && j != op->from) ||
            (gathers && t->me != op->root)) {
            continue;
        }
        uint64_t sent = told(t, op, j), expected = hb_recv_len(op, j);
        if (sent != expected) {
            t->want = j;
            t->lengths = (struct hb_lengths){t->local[j], sent, expected};
            return false;
        }
    }
    return true;
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
    hb_put(t, hb_mine(t, op), op->recv + op->k * op->piece,
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

/* gather(v): `rounds` is the root's; of gatherv the others are told. */

static int gather_put(struct hb_coll_team *t, struct hb_op *op)
{
    bool tells = op->coll == HPCBOOT_COLL_GATHERV && op->k == 0;
    if (t->me == op->root) {
        op->from = HB_ALL;
        if (!tells) {
            return HB_NONE;
        }
        op->word = op->rounds;
        return HB_ALL;
    }
    op->word = tells ? op->bytes : op->word;
    op->from = tells ? op->root : HB_NONE;
    hb_put(t, hb_mine(t, op), op->send + op->k * op->piece,
         hb_piece(op->bytes, op->piece, op->k));
    return op->root;
}

static void gather_get(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    if (t->me != op->root) {
        if (op->from == op->root) {
            op->rounds = hb_word_of(t, op->root);
        }
        return;
    }
    for (int j = 0; j < t->p; j++) {
        size_t bytes = hb_piece(hb_recv_len(op, j), op->piece, op->k);
        if (j != t->me) {
            hb_get(op, hb_recv_at(op, j) + at, hb_theirs(t, op, j), bytes);
        } else if (!op->own_placed) {
            hb_get(op, hb_recv_at(op, j) + at, op->send + at, bytes);
        }
    }
}

static const struct hb_plan gather = {gather_put, gather_get};

/* scatter(v): the mirror of gather. */

static int scatter_put(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    if (t->me != op->root) {
        op->from = op->root;
        return HB_NONE;
    }
    op->from = HB_NONE;
    op->word = op->loose ? op->rounds : op->word;
    for (int j = 0; j < t->p; j++) {
        size_t bytes = hb_piece(hb_send_len(op, j), op->piece, op->k);
        if (j != t->me) {
            hb_put(t, hb_mine(t, op) + hb_place(t, t->me, j) * op->stride,
                 hb_send_at(op, j) + at, bytes);
            tell(t, op, j);
        }
    }
    return HB_ALL;
}

static void scatter_get(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    if (t->me == op->root) {
        if (!op->own_placed) {
            hb_get(op, op->recv + at, hb_send_at(op, t->me) + at,
                 hb_piece(hb_send_len(op, t->me), op->piece, op->k));
        }
        return;
    }
    if (op->loose) {
        op->rounds = hb_word_of(t, op->root);
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
    hb_put(t, hb_mine(t, op), op->send + op->k * op->piece,
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
            hb_get(op, hb_recv_at(op, j) + at, op->send + at, bytes);
        }
    }
}

const struct hb_plan hb_plan_allgather = {allgather_put, allgather_get};

/* alltoall(v) */

static int alltoall_put(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    char *mine = hb_mine(t, op);
    op->from = HB_ALL;
    op->word = op->loose ? op->rounds : op->word;
    for (int i = 1; i < t->p; i++) {
        int j = t->me + i < t->p ? t->me + i : t->me + i - t->p;
        hb_put(t, mine + hb_place(t, t->me, j) * op->stride,
             hb_send_at(op, j) + at,
             hb_piece(hb_send_len(op, j), op->piece, op->k));
        tell(t, op, j);
    }
    return HB_ALL;
}

static void alltoall_get(struct hb_coll_team *t, struct hb_op *op)
{
    size_t at = op->k * op->piece;
    uint64_t most = op->rounds;
    for (int i = 0; i < t->p; i++) {
        int j = t->me + i < t->p ? t->me + i : t->me + i - t->p;
        size_t bytes = hb_piece(hb_recv_len(op, j), op->piece, op->k);
        if (i > 0) {
            uint64_t his = op->loose && op->k == 0 ? hb_word_of(t, j) : 0;
            most = his > most ? his : most;
            hb_get(op, hb_recv_at(op, j) + at,
                 hb_theirs(t, op, j) + hb_place(t, j, t->me) * op->stride,
                 bytes);
        } else if (!op->own_placed) {
            hb_get(op, hb_recv_at(op, j) + at, hb_send_at(op, j) + at, bytes);
        }
    }
    op->rounds = most;
}

static const struct hb_plan alltoall = {alltoall_put, alltoall_get};

/* The longest block of a row of `n`. */
static size_t longest(const size_t *len, int n)
{
    size_t most = 0;
    for (int j = 0; j < n; j++) {
        most = len[j] > most ? len[j] : most;
    }
    return most;
}

/* A cut that only the number of ranks decides. Lengths that do not fit
 * beside the flag lie behind the pieces. */
static void cut_blindly(struct hb_op *op, size_t blocks)
{
    size_t lengths = blocks * sizeof(uint64_t);
    hb_plan_cut(op, HB_SHM_BIG, blocks);
    if (lengths > HB_SHM_INLINE) {
        size_t room = (HB_SHM_BIG - lengths) / blocks / ALIGN_PIECE *
                      ALIGN_PIECE;
        op->piece = op->stride = hb_min(op->stride, room);
        op->area = (op->stride * blocks + lengths + ALIGN_AREA - 1) &
                   ~(size_t)(ALIGN_AREA - 1);
    }
}

static void plan_rooted(struct hb_coll_team *t, struct hb_op *op,
                        const struct hb_plan *plan, size_t blocks,
                        const size_t *len)
{
    bool known = op->coll == HPCBOOT_COLL_SCATTER ||
                 op->coll == HPCBOOT_COLL_GATHER;
    op->plan = plan;
    if (known) {
        hb_plan_cut(op, op->bytes, blocks);
        op->rounds = hb_rounds_for(op->bytes, op->piece);
        return;
    }
    cut_blindly(op, blocks);
    op->rounds = 1;
    if (t->me == op->root) {
        uint64_t n = hb_rounds_for(longest(len, t->p), op->piece);
        op->rounds = n > 0 ? n : 1;
    }
}

static void plan_alltoallv(struct hb_coll_team *t, struct hb_op *op)
{
    op->plan = &alltoall;
    cut_blindly(op, (size_t)t->p - 1);
    uint64_t n = hb_rounds_for(longest(op->send_len, t->p), op->piece);
    op->rounds = n > 0 ? n : 1;
}

void hb_plan_move(struct hb_coll_team *t, struct hb_op *op)
{
    size_t others = (size_t)t->p - 1, most = op->bytes;
    switch (op->coll) {
    case HPCBOOT_COLL_BARRIER:
        op->plan = &barrier;
        op->rounds = 1;
        return;
    case HPCBOOT_COLL_SCATTER:
    case HPCBOOT_COLL_SCATTERV:
        plan_rooted(t, op, &scatter, others, op->send_len);
        return;
    case HPCBOOT_COLL_GATHER:
    case HPCBOOT_COLL_GATHERV:
        plan_rooted(t, op, &gather, 1, op->recv_len);
        return;
    case HPCBOOT_COLL_ALLTOALLV:
        plan_alltoallv(t, op);
        return;
    case HPCBOOT_COLL_ALLTOALL:
        op->plan = &alltoall;
        hb_plan_cut(op, op->bytes, others);
        break;
    case HPCBOOT_COLL_BCAST:
        op->plan = &bcast;
        hb_plan_cut(op, op->bytes, 1);
        break;
    default: /* allgather(v) */
        op->plan = &hb_plan_allgather;
        most = op->recv_len != NULL ? longest(op->recv_len, t->p) : most;
        hb_plan_cut(op, most, 1);
    }
    op->rounds = hb_rounds_for(most, op->piece);
}
