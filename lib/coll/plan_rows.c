/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Collectives of blocks whose lengths not all ranks know, on one node:
 * gatherv, scatterv, alltoallv.
 *
 * Where a round lies in the ring must be known to all, so the first has a room
 * that follows from the number of ranks and of CPUs. It is a small one: most
 * calls need no second. The cell's word says how long the longest block is (the
 * root's for scatterv, the largest of all for alltoallv); the number of further
 * rounds, and the room of each, follow from that.
 *
 * gatherv has one round, or who sends little would have to wait until the
 * root says how many there are. The rest of a long block is a tail, between
 * its sender and the root alone: the sender counts the pieces that it has
 * put, the root those that it has got, the first round's among them. That one
 * counts when the root has seen every rank in this round, so whatever
 * was in the sender's ring before has been read by then; the sender begins
 * sooner where it sees that itself, which it mostly does: a tail lies behind
 * the one before, and who only sends is calls ahead. Where the kernel writes
 * for the sender (plan_cma.c), the tail is one piece, which needs no ring.
 *
 * The first round also tells how long each block is that is sent, so that who
 * expects another length finds out: of gatherv in the word, else in the line of
 * the flag or, for many ranks, behind the pieces. Once two ranks agree about
 * the length of a block, both know whether it is short enough to lie beside
 * the flag.
 *
 * Where the kernel reads sooner than rounds copy, a rank lends what the first
 * round would not hold: a block's place there has its address. The word also
 * says whether its rank lends, since then a round closes the call; that rank
 * puts nothing in the rounds between. plan_cma.c has the reading.
 *
 * In place: a piece is put before anything of its round is got. A rank's block
 * for itself takes no part in the rounds. */

#include "config.h"

#include "lib/coll/pieces.h"

#define ALIGN_PIECE 64
/* What the first round has for a block, of few ranks; and where one of two
 * ranks only sends, and is calls ahead: with less it writes lines that the
 * other has long read. */
#define FIRST_MOST ((size_t)16 << 10)
#define FIRST_AHEAD ((size_t)8 << 10)

/* How many blocks a rank puts in a round. */
static size_t blocks_of(const struct hb_coll_team *t, const struct hb_op *op)
{
    return op->coll == HPCBOOT_COLL_GATHERV || t->p == 1 ? 1
                                                         : (size_t)t->p - 1;
}

/* Lengths that are told one by one take so much. */
static size_t lengths_room(const struct hb_coll_team *t,
                           const struct hb_op *op)
{
    return op->coll == HPCBOOT_COLL_GATHERV
               ? 0 : blocks_of(t, op) * sizeof(uint64_t);
}

/* Of two ranks both know it; one that expects another length hears so before it
 * reads. */
static size_t only_block(const struct hb_coll_team *t, const struct hb_op *op)
{
    return t->me != op->root ? op->bytes
           : op->coll == HPCBOOT_COLL_GATHERV ? hb_recv_len(op, 1 - t->me)
                                              : hb_send_len(op, 1 - t->me);
}

/* Where ranks take turns, a second round costs another turn of each. */
static void cut_first(struct hb_coll_team *t, struct hb_op *op)
{
    size_t n = blocks_of(t, op), lengths = lengths_room(t, op);
    size_t behind = lengths > HB_SHM_INLINE ? lengths : 0;
    bool cross = op->coll == HPCBOOT_COLL_ALLTOALLV;
    size_t room = cross && t->take_turns ? HB_SHM_SLOT : HB_SHM_SMALL;
    room = behind < room ? room - behind : 0;
    bool ahead = t->p == 2 && !cross && only_block(t, op) <= FIRST_AHEAD;
    size_t most = ahead ? FIRST_AHEAD : FIRST_MOST;
    size_t each = hb_min(room / n, most) / ALIGN_PIECE * ALIGN_PIECE;
    op->first = op->stride = each > 0 ? each : ALIGN_PIECE;
    op->beside = behind > 0 ? 0 : (HB_SHM_INLINE - lengths) / n;
    op->area = (op->stride * n + behind + HB_SHM_LINE - 1) &
               ~(size_t)(HB_SHM_LINE - 1);
}

/* Of the word of scatterv and alltoallv; the rest is the longest block. */
#define LENDS ((uint64_t)1)

static size_t piece_most(const struct hb_op *op, size_t blocks)
{
    return hb_min(op->choice.piece, HB_SHM_BIG / blocks) / ALIGN_PIECE *
           ALIGN_PIECE;
}

/* After the first round, of blocks of `most` bytes at most; mostly it was the
 * last. */
static inline void cut_rest(struct hb_coll_team *t, struct hb_op *op,
                            size_t most)
{
    if (HB_LIKELY(op->k > 0 || most <= op->first)) {
        return;
    }
    size_t n = blocks_of(t, op), rest = most - op->first;
    size_t least = hb_rounds_for(rest, piece_most(op, n));
    size_t each = (rest + least - 1) / least;
    op->piece = op->stride = (each + ALIGN_PIECE - 1) / ALIGN_PIECE *
                             ALIGN_PIECE;
    op->rounds = 1 + hb_rounds_for(rest, op->piece);
    op->area = (op->stride * n + HB_SHM_LINE - 1) & ~(size_t)(HB_SHM_LINE - 1);
}

/* Where in a block the piece of this round begins, and how long it is. */
static size_t piece_at(const struct hb_op *op)
{
    return op->k == 0 ? 0 : op->first + (size_t)(op->k - 1) * op->piece;
}

static size_t piece_of(const struct hb_op *op, size_t bytes)
{
    size_t at = piece_at(op);
    return at >= bytes ? 0
                       : hb_min(op->k == 0 ? op->first : op->piece,
                                bytes - at);
}

/* Whether a round whose longest block has `bytes` bytes fits beside the flags,
 * so that the ring is not used. */
static bool is_dry(const struct hb_op *op, size_t bytes)
{
    return op->k == 0 && op->beside > 0 && bytes <= op->beside;
}

/* Where, in a round, a block of so many bytes from one rank to another is. */
static char *spot(struct hb_coll_team *t, const struct hb_op *op,
                  uint64_t round, int from, int to, size_t bytes)
{
    bool one = op->coll == HPCBOOT_COLL_GATHERV;
    size_t place = one ? 0 : hb_place(t, from, to);
    if (op->k == 0 && bytes <= op->beside) {
        return (char *)hb_shm_cell(t, from, round)->bytes +
               lengths_room(t, op) + place * op->beside;
    }
    return hb_shm_ring(t, from, op->at) + place * op->stride;
}

/* Where rank j tells, in the round whose cell is given, how long its blocks
 * are, in the order of hb_place. */
static char *told_by(struct hb_coll_team *t, const struct hb_op *op, int j,
                     uint64_t round)
{
    return lengths_room(t, op) <= HB_SHM_INLINE
               ? (char *)hb_shm_cell(t, j, round)->bytes
               : hb_shm_ring(t, j, op->at) + blocks_of(t, op) * op->stride;
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

/* From the first byte to the last that peers read. */
static bool are_readable(struct hb_coll_team *t, const struct hb_op *op)
{
    const char *begin = NULL, *end = NULL;
    for (int j = 0; j < t->p; j++) {
        const char *at = hb_send_at(op, j);
        size_t len = hb_send_len(op, j);
        if (len > 0 && j != t->me) {
            begin = begin == NULL || at < begin ? at : begin;
            end = end == NULL || at + len > end ? at + len : end;
        }
    }
    return begin == NULL ||
           hb_cma_is_readable(t, begin, (size_t)(end - begin));
}

/* In the first round. What an alltoallv has in place is overwritten while
 * peers would read it. */
static void begin_lending(struct hb_coll_team *t, struct hb_op *op)
{
    struct hb_cma_op *c = &op->cma;
    c->turn = 0;
    c->done = 0;
    c->refused_ns = 0;
    c->lends = c->on && c->pays &&
               (op->coll == HPCBOOT_COLL_SCATTERV || !op->own_placed) &&
               are_readable(t, op);
    op->word = (uint64_t)op->longest << 1 | (c->lends ? LENDS : 0);
    op->rounds = c->lends ? 1 : op->rounds; /* at least */
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

/* Puts this round's piece of a block for local rank j. */
static void put_piece(struct hb_coll_team *t, struct hb_op *op, int j,
                      const char *block, size_t bytes)
{
    hb_put(t, op, spot(t, op, t->round + 1, t->me, j, bytes),
           block + piece_at(op), piece_of(op, bytes));
}

static void lend_block(struct hb_coll_team *t, const struct hb_op *op, int j)
{
    uint64_t at = (uint64_t)(uintptr_t)hb_send_at(op, j);
    if (op->k == 0) {
        memcpy(spot(t, op, t->round + 1, t->me, j, sizeof at), &at, sizeof at);
    }
}

/* For local rank j. */
static void put_block(struct hb_coll_team *t, struct hb_op *op, int j)
{
    uint64_t bytes = hb_send_len(op, j);
    if (op->cma.lends && bytes > op->first) {
        lend_block(t, op, j);
    } else {
        put_piece(t, op, j, hb_send_at(op, j), bytes);
    }
    if (op->k == 0 && op->tells) {
        memcpy(told_by(t, op, t->me, t->round + 1) +
                   hb_place(t, t->me, j) * sizeof bytes, &bytes, sizeof bytes);
    }
}

static void get_piece(struct hb_coll_team *t, struct hb_op *op, int j,
                      char *block, size_t bytes)
{
    hb_get(op, block + piece_at(op), spot(t, op, t->round, j, t->me, bytes),
           piece_of(op, bytes));
}

/* Whether local rank j's block is lent; where it is, is kept. */
static bool is_borrowed(struct hb_coll_team *t, struct hb_op *op, int j,
                        size_t bytes)
{
    uint64_t *at = hb_lent_by(op, j);
    if (op->k == 0) {
        *at = 0;
        if (bytes > op->first && (hb_word_of(t, j) & LENDS) != 0) {
            memcpy(at, spot(t, op, t->round, j, t->me, sizeof *at),
                   sizeof *at);
        }
    }
    return *at != 0;
}

static void get_block(struct hb_coll_team *t, struct hb_op *op, int j,
                      char *block, size_t bytes)
{
    if (!(op->cma.borrows && is_borrowed(t, op, j, bytes))) {
        get_piece(t, op, j, block, bytes);
    }
}

static void own_block(struct hb_coll_team *t, struct hb_op *op,
                      const char *from)
{
    if (op->k == 0 && !op->own_placed) {
        hb_move(op, hb_recv_at(op, t->me), from, hb_recv_len(op, t->me));
    }
}

/* gatherv */

/* Whether the tail of a block goes to the root's buffer at once. */
static bool is_written(const struct hb_coll_team *t, const struct hb_op *op,
                       size_t bytes)
{
    return op->cma.on && bytes > op->first &&
           hb_model_cma(t->engine->model, op->coll, t->p, bytes);
}

/* Where the block of a rank goes, and how long the root expects it to be: who
 * sends another length must not write. */
struct place {
    uint64_t at, bytes; /* at 0: it cannot be reached */
};

/* The root tells of all ranks, in its cell; of many, in its ring. */
static struct place *places(struct hb_coll_team *t, const struct hb_op *op,
                            uint64_t round)
{
    struct hb_shm_cell *cell = hb_shm_cell(t, op->root, round);
    return (size_t)t->p <= HB_SHM_INLINE / sizeof(struct place)
               ? (struct place *)(void *)cell->bytes
               : (struct place *)(void *)hb_shm_ring(t, op->root, op->at);
}

static void tell_places(struct hb_coll_team *t, struct hb_op *op)
{
    struct place *to = places(t, op, t->round + 1);
    const char *begin = NULL, *end = NULL;
    for (int j = 0; j < t->p; j++) {
        const char *block = hb_recv_at(op, j);
        size_t len = hb_recv_len(op, j);
        to[j] = (struct place){(uint64_t)(uintptr_t)block + op->first, len};
        if (j != t->me && is_written(t, op, len)) {
            begin = begin == NULL || block < begin ? block : begin;
            end = end == NULL || block + len > end ? block + len : end;
        }
    }
    op->cma.part = begin != NULL &&
                   hb_cma_is_readable(t, begin, (size_t)(end - begin));
    for (int j = 0; op->cma.part == 0 && j < t->p; j++) {
        to[j].at = 0;
    }
}

/* Whether this rank writes its tail to the root. */
static bool writes(struct hb_coll_team *t, const struct hb_op *op)
{
    const struct place *to = &places(t, op, t->round)[t->me];
    return op->from == op->root && to->at != 0 && to->bytes == op->bytes;
}

static int gatherv_put(struct hb_coll_team *t, struct hb_op *op)
{
    op->tail = 0;
    op->tail_from = 0;
    op->cma.done = 0;
    op->cma.refused_ns = 0;
    if (t->me == op->root) {
        op->from = HB_ALL;
        if (op->cma.on) {
            tell_places(t, op);
        }
        return HB_NONE;
    }
    op->word = op->tells ? op->bytes : op->word;
    op->from = is_written(t, op, op->bytes) ? op->root : HB_NONE;
    op->dry = is_dry(op, op->bytes);
    put_piece(t, op, op->root, op->send, op->bytes);
    if (op->bytes > op->first) {
        memcpy(hb_shm_cell(t, t->me, t->round + 1)->bytes, &t->tails,
               sizeof t->tails);
        t->tails++;
    }
    return op->root;
}

/* What rank j had counted before this call. */
static uint64_t tails_before(struct hb_coll_team *t, int j)
{
    uint64_t n;
    memcpy(&n, hb_shm_cell(t, j, t->round)->bytes, sizeof n);
    return n;
}

static void gatherv_get(struct hb_coll_team *t, struct hb_op *op)
{
    for (int j = 0; t->me == op->root && j < t->p; j++) {
        if (j == t->me) {
            own_block(t, op, op->send);
            continue;
        }
        get_piece(t, op, j, hb_recv_at(op, j), hb_recv_len(op, j));
        if (hb_recv_len(op, j) > op->first) {
            hb_shm_count(t, &t->ranks[j].tail_got, tails_before(t, j) + 1);
        }
    }
}

/* How many bytes of a block are in piece k of its tail, which is what did not
 * fit into the first round; 0: the tail has no such piece. */
static size_t tail_len(const struct hb_op *op, size_t bytes, uint64_t k)
{
    return bytes > op->first ? hb_piece(bytes - op->first, HB_SHM_PIECE, k)
                             : 0;
}

/* As one piece. */
static int tail_write(struct hb_coll_team *t, struct hb_op *op)
{
    int rc = hb_cma_write(t, op, op->root, places(t, op, t->round)[t->me].at,
                          op->send + op->first, op->bytes - op->first);
    if (rc == HPCBOOT_OK) {
        hb_shm_count(t, &t->ranks[t->me].tail_put, ++t->tails);
    }
    return rc;
}

static int tail_send(struct hb_coll_team *t, struct hb_op *op)
{
    struct hb_shm_rank *mine = &t->ranks[t->me];
    size_t room = hb_shm_tail_room(t), len;
    uint64_t before = t->tails - op->tail; /* and the first round's piece */
    uint64_t first = hb_shm_tail_first(before - 1);
    for (; (len = tail_len(op, op->bytes, op->tail)) > 0; op->tail++) {
        uint64_t again = op->tail < room ? 0 : op->tail - room + 1;
        size_t at = hb_shm_tail_at(t, first + op->tail);
        if (!(again == 0 && hb_shm_tail_is_free(t, first + op->tail)) &&
            !hb_shm_has_counted(t, op->root, &mine->tail_got,
                                before + again)) {
            return HB_AGAIN;
        }
        hb_put(t, op, hb_shm_ring(t, t->me, at),
               op->send + op->first + op->tail * HB_SHM_PIECE, len);
        hb_shm_tail_use(t, at, op->root);
        hb_shm_count(t, &mine->tail_put, ++t->tails);
        t->moves++;
    }
    return HPCBOOT_OK;
}

/* One piece of rank j's tail. */
static int tail_take(struct hb_coll_team *t, struct hb_op *op, int j,
                     size_t len)
{
    struct hb_shm_rank *his = &t->ranks[j];
    uint64_t before = tails_before(t, j), n = before + 2 + op->tail;
    size_t at = hb_shm_tail_at(t, hb_shm_tail_first(before) + op->tail);
    if (!hb_shm_has_counted(t, j, &his->tail_put, n)) {
        return HB_AGAIN;
    }
    hb_get(op, hb_recv_at(op, j) + op->first + op->tail * HB_SHM_PIECE,
           hb_shm_ring(t, j, at), len);
    hb_shm_count(t, &his->tail_got, n);
    t->moves++;
    return HPCBOOT_OK;
}

/* It has been written to its place, with its first piece. */
static int tail_await(struct hb_coll_team *t, struct hb_op *op, int j)
{
    uint64_t n = tails_before(t, j) + 2;
    if (op->tail > 0) {
        return HPCBOOT_OK;
    }
    if (!hb_shm_has_counted(t, j, &t->ranks[j].tail_put, n)) {
        return HB_AGAIN;
    }
    hb_shm_count(t, &t->ranks[j].tail_got, n);
    return HPCBOOT_OK;
}

/* From each in turn. */
static int tail_recv(struct hb_coll_team *t, struct hb_op *op)
{
    for (bool more = op->longest > op->first; more; op->tail++) {
        for (; op->tail_from < t->p; op->tail_from++) {
            int j = op->tail_from;
            size_t len = j == t->me
                             ? 0 : tail_len(op, hb_recv_len(op, j), op->tail);
            int rc = len == 0 ? HPCBOOT_OK
                     : op->cma.part && is_written(t, op, hb_recv_len(op, j))
                         ? tail_await(t, op, j) : tail_take(t, op, j, len);
            if (rc != HPCBOOT_OK) {
                return rc;
            }
        }
        op->tail_from = 0;
        more = tail_len(op, op->longest, op->tail + 1) > 0;
    }
    return HPCBOOT_OK;
}

static int gatherv_tail(struct hb_coll_team *t, struct hb_op *op)
{
    if (t->me == op->root) {
        return tail_recv(t, op);
    }
    return writes(t, op) ? tail_write(t, op) : tail_send(t, op);
}

static const struct hb_plan gatherv = {gatherv_put, gatherv_get,
                                       gatherv_tail};

/* What copying takes rounds for, of what a rank has said; whether somebody
 * lends is noted. */
static size_t hear(struct hb_op *op, uint64_t word)
{
    bool lends = (word & LENDS) != 0;
    op->cma.borrows |= lends;
    return lends ? 0 : word >> 1;
}

/* scatterv: the mirror of gatherv; nobody but the root has anything to say. */

static int scatterv_put(struct hb_coll_team *t, struct hb_op *op)
{
    if (op->k == 0) {
        begin_lending(t, op);
    }
    if (t->me != op->root) {
        op->from = op->root;
        return HB_NONE;
    }
    op->from = HB_NONE;
    op->dry = is_dry(op, op->longest);
    for (int j = 0; j < t->p; j++) {
        if (j != t->me) {
            put_block(t, op, j);
        }
    }
    return HB_ALL;
}

static void scatterv_get(struct hb_coll_team *t, struct hb_op *op)
{
    bool root = t->me == op->root;
    size_t most = 0;
    if (op->k == 0) {
        op->cma.borrows = false;
        most = hear(op, root ? op->word : hb_word_of(t, op->root));
    }
    if (!root) {
        get_block(t, op, op->root, op->recv, op->bytes);
    } else if (op->k == 0 && !op->own_placed) {
        hb_move(op, op->recv, hb_send_at(op, t->me), hb_send_len(op, t->me));
    }
    cut_rest(t, op, most);
}

static const struct hb_plan scatterv = {scatterv_put, scatterv_get,
                                        hb_plan_borrow};

/* alltoallv */

static int alltoallv_put(struct hb_coll_team *t, struct hb_op *op)
{
    op->from = HB_ALL;
    if (op->k == 0) {
        begin_lending(t, op);
    }
    op->dry = is_dry(op, op->longest);
    for (int i = 1; i < t->p; i++) {
        put_block(t, op, t->me + i < t->p ? t->me + i : t->me + i - t->p);
    }
    return HB_ALL;
}

static size_t hear_all(struct hb_coll_team *t, struct hb_op *op)
{
    op->cma.borrows = false;
    size_t most = hear(op, op->word);
    for (int j = 0; j < t->p; j++) {
        size_t his = j == t->me ? 0 : hear(op, hb_word_of(t, j));
        most = his > most ? his : most;
    }
    return most;
}

static void alltoallv_get(struct hb_coll_team *t, struct hb_op *op)
{
    size_t most = op->k == 0 ? hear_all(t, op) : 0;
    own_block(t, op, hb_send_at(op, t->me));
    for (int i = 1; i < t->p; i++) {
        int j = t->me + i < t->p ? t->me + i : t->me + i - t->p;
        get_block(t, op, j, hb_recv_at(op, j), hb_recv_len(op, j));
    }
    cut_rest(t, op, most);
}

static const struct hb_plan alltoallv = {alltoallv_put, alltoallv_get,
                                         hb_plan_borrow};

void hb_plan_rows(struct hb_coll_team *t, struct hb_op *op)
{
    bool root = t->me == op->root;
    cut_first(t, op);
    if (op->coll == HPCBOOT_COLL_ALLTOALLV) {
        op->plan = &alltoallv;
        op->longest = hb_longest(op->send_len, t->p);
    } else if (op->coll == HPCBOOT_COLL_GATHERV) {
        op->plan = &gatherv;
        op->longest = root ? hb_longest(op->recv_len, t->p) : 0;
    } else {
        op->plan = &scatterv;
        op->longest = root ? hb_longest(op->send_len, t->p) : 0;
    }
    bool more = op->plan != &gatherv && op->longest > op->first;
    op->rounds = more ? 2 : 1; /* at least */
    hb_op_set_wide(t, op, lengths_room(t, op), blocks_of(t, op));
}
