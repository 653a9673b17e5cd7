/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The arguments of a call: what is wrong with them, said in a sentence, and
 * what an operation (struct hb_op) makes of them: lengths in bytes, in-place
 * resolved, rows of blocks for the v-kinds, and the plan chosen. The choice
 * depends on what all ranks know alike: never on a rank's own buffers. */

#include "config.h"

#include "lib/coll/impl.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"

#define BIT(c) (1u << HPCBOOT_COLL_##c)
enum {
    ROOTED = BIT(BCAST) | BIT(SCATTER) | BIT(SCATTERV) | BIT(GATHER) |
             BIT(GATHERV) | BIT(REDUCE),
    REDUCES = BIT(REDUCE) | BIT(ALLREDUCE) | BIT(REDUCE_SCATTER) |
              BIT(REDUCE_SCATTER_BLOCK) | BIT(SCAN) | BIT(EXSCAN),
    SCATTERS = BIT(SCATTER) | BIT(SCATTERV),
    GATHERS = BIT(GATHER) | BIT(GATHERV),
    BLOCKS = BIT(SCATTER) | BIT(GATHER) | BIT(ALLGATHER) | BIT(ALLTOALL) |
             BIT(REDUCE_SCATTER_BLOCK),
    SEND_ROWS = BIT(SCATTERV) | BIT(ALLTOALLV),
    RECV_ROWS = BIT(GATHERV) | BIT(ALLGATHERV) | BIT(ALLTOALLV) |
                BIT(REDUCE_SCATTER),
    NO_COUNT = BIT(BARRIER) | BIT(REDUCE_SCATTER) | BIT(ALLTOALLV),
    LOOSE = BIT(SCATTERV) | BIT(GATHERV) | BIT(ALLTOALLV)
};

static bool in(enum hpcboot_coll coll, unsigned set)
{
    return (set >> coll & 1) != 0;
}

static int wrong(const struct hpcboot_coll_args *a, struct hpcboot_error *err,
                 const char *what)
{
    return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: %s", hb_coll_name(a->coll),
                   what);
}

/* An op on elements of several bytes never gets a part of one. */
static int check_elements(const struct hb_coll_team *t,
                          const struct hpcboot_coll_args *a, size_t element,
                          struct hpcboot_error *err)
{
    bool row = a->coll == HPCBOOT_COLL_REDUCE_SCATTER;
    if (a->type != HPCBOOT_BYTE || element <= 1) {
        return HPCBOOT_OK;
    }
    for (int j = 0; j < (row ? t->size : 1); j++) {
        size_t count = row ? a->recv_counts[j] : a->count;
        if (count % element != 0) {
            return hb_fail(err, HPCBOOT_ERR_USAGE,
                           "%s: %zu bytes are no whole number of the op's "
                           "elements of %zu bytes", hb_coll_name(a->coll),
                           count, element);
        }
    }
    return HPCBOOT_OK;
}

static int check_op(const struct hb_coll_team *t,
                    const struct hpcboot_coll_args *a,
                    const struct hb_coll_user_op *user,
                    struct hpcboot_error *err)
{
    if (a->op >= HPCBOOT_OP_USER) {
        if (user == NULL || user->fn == NULL) {
            return wrong(a, err, "no such op");
        }
        return check_elements(t, a, user->element_bytes, err);
    }
    if (a->op < 0 || a->op >= HPCBOOT_OPS) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: there is no op %d",
                       hb_coll_name(a->coll), a->op);
    }
    if (hb_kern_fold(a->op, a->type) == NULL) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                       "%s: %s is not defined for %s", hb_coll_name(a->coll),
                       hb_coll_op_name(a->op), hb_coll_type_name(a->type));
    }
    return HPCBOOT_OK;
}

/* Whether this rank reads `send` and writes `recv`, and how many blocks. */
struct extent {
    size_t send, recv; /* bytes; of the v-kinds: 0 or 1 */
};

static size_t row_sum(const size_t *counts, int n)
{
    size_t sum = 0;
    for (int j = 0; counts != NULL && j < n; j++) {
        sum += counts[j];
    }
    return sum;
}

static struct extent extent_of(const struct hb_coll_team *t,
                               const struct hpcboot_coll_args *a)
{
    size_t e = hb_coll_type_size(a->type), one = a->count * e;
    size_t all = one * (size_t)t->size;
    bool root = t->rank == a->root;
    struct extent x = {one, one};
    switch (a->coll) {
    case HPCBOOT_COLL_BARRIER:
        return (struct extent){0, 0};
    case HPCBOOT_COLL_BCAST:
        return (struct extent){0, one};
    case HPCBOOT_COLL_SCATTER:
        return (struct extent){root ? all : 0, one};
    case HPCBOOT_COLL_SCATTERV:
        return (struct extent){
            root ? row_sum(a->send_counts, t->size) * e : 0, one};
    case HPCBOOT_COLL_GATHER:
        return (struct extent){one, root ? all : 0};
    case HPCBOOT_COLL_GATHERV:
        return (struct extent){
            one, root ? row_sum(a->recv_counts, t->size) * e : 0};
    case HPCBOOT_COLL_ALLGATHER:
        return (struct extent){one, all};
    case HPCBOOT_COLL_ALLGATHERV:
        return (struct extent){one, row_sum(a->recv_counts, t->size) * e};
    case HPCBOOT_COLL_REDUCE:
        return (struct extent){one, root ? one : 0};
    case HPCBOOT_COLL_REDUCE_SCATTER:
        return (struct extent){row_sum(a->recv_counts, t->size) * e,
                               a->recv_counts[t->rank] * e};
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
        return (struct extent){all, one};
    case HPCBOOT_COLL_ALLTOALL:
        return (struct extent){all, all};
    case HPCBOOT_COLL_ALLTOALLV:
        return (struct extent){row_sum(a->send_counts, t->size) * e,
                               row_sum(a->recv_counts, t->size) * e};
    default:
        return x;
    }
}

static bool may_be_in_place(const struct hb_coll_team *t,
                            const struct hpcboot_coll_args *a)
{
    if (a->coll == HPCBOOT_COLL_BARRIER || a->coll == HPCBOOT_COLL_BCAST) {
        return false;
    }
    return !in(a->coll, ROOTED) || t->rank == a->root;
}

static struct hb_side side_of(const void *base, const size_t *counts,
                           const size_t *displs, const size_t *count, int n,
                           size_t e)
{
    return counts != NULL ? (struct hb_side){base, counts, displs, e, n}
                          : (struct hb_side){base, count, NULL, e, 1};
}

static bool rows_overlap(const struct hb_coll_team *t,
                         const struct hpcboot_coll_args *a)
{
    size_t e = hb_coll_type_size(a->type);
    bool to = in(a->coll, SEND_ROWS), from = in(a->coll, RECV_ROWS);
    if (in(a->coll, ROOTED) && t->rank != a->root) {
        return false;
    }
    struct hb_side s = side_of(a->send, to ? a->send_counts : NULL,
                            a->send_displs, &a->count, t->size, e);
    struct hb_side r = side_of(a->recv, from ? a->recv_counts : NULL,
                            a->recv_displs, &a->count, t->size, e);
    return hb_sides_overlap(&s, &r);
}

static int check_buffers(const struct hb_coll_team *t,
                         const struct hpcboot_coll_args *a,
                         struct hpcboot_error *err)
{
    bool scatters = in(a->coll, SCATTERS);
    bool in_place = (scatters ? a->recv : a->send) == HPCBOOT_IN_PLACE;
    struct extent x = extent_of(t, a);
    const char *s = a->send, *r = a->recv;
    if ((scatters ? a->send : a->recv) == HPCBOOT_IN_PLACE && x.recv > 0) {
        return wrong(a, err, scatters ? "IN_PLACE goes to recv"
                                      : "IN_PLACE goes to send");
    }
    if (in_place) {
        return may_be_in_place(t, a)
                   ? HPCBOOT_OK
                   : wrong(a, err, "IN_PLACE is for the root alone");
    }
    if ((x.send > 0 && s == NULL) || (x.recv > 0 && r == NULL)) {
        return wrong(a, err, x.send > 0 && s == NULL
                                 ? "send is NULL, and its count is not 0"
                                 : "recv is NULL, and its count is not 0");
    }
    bool rows = in(a->coll, SEND_ROWS | BIT(GATHERV) | BIT(ALLGATHERV));
    if (rows ? rows_overlap(t, a)
             : x.send > 0 && x.recv > 0 && s < r + x.recv &&
                   r < s + x.send) {
        return wrong(a, err, "send and recv overlap; HPCBOOT_IN_PLACE is for "
                             "one buffer that is both");
    }
    return HPCBOOT_OK;
}

/* The blocks of one side. Where a block is empty its place does not matter. */
static int check_row(const struct hpcboot_coll_args *a, const size_t *counts,
                     const size_t *displs, int n, struct hpcboot_error *err)
{
    const size_t widest = 16; /* bytes of a type */
    size_t most = SIZE_MAX / widest / (size_t)n;
    if (counts == NULL) {
        return wrong(a, err, "the row of counts is NULL");
    }
    for (int j = 0; j < n; j++) {
        if (counts[j] > most) {
            return hb_fail(err, HPCBOOT_ERR_USAGE,
                           "%s: the count for rank %d is negative or beyond "
                           "all memory", hb_coll_name(a->coll), j);
        }
        if (displs != NULL && counts[j] > 0 && displs[j] > most) {
            return hb_fail(err, HPCBOOT_ERR_USAGE,
                           "%s: the displacement for rank %d is negative or "
                           "beyond all memory", hb_coll_name(a->coll), j);
        }
    }
    return HPCBOOT_OK;
}

static int check_rows(const struct hb_coll_team *t,
                      const struct hpcboot_coll_args *a,
                      struct hpcboot_error *err)
{
    bool root = !in(a->coll, ROOTED) || t->rank == a->root;
    bool to = in(a->coll, SEND_ROWS) && root &&
              !(a->coll == HPCBOOT_COLL_ALLTOALLV &&
                a->send == HPCBOOT_IN_PLACE);
    bool from = in(a->coll, RECV_ROWS) && root;
    int rc = HPCBOOT_OK;
    if (to) {
        rc = check_row(a, a->send_counts, a->send_displs, t->size, err);
    }
    if (rc == HPCBOOT_OK && from) {
        rc = check_row(a, a->recv_counts, a->recv_displs, t->size, err);
    }
    if (rc < 0) {
        return rc;
    }
    bool own = in(a->coll, BIT(SCATTERV) | BIT(GATHERV) | BIT(ALLGATHERV));
    bool in_place = a->send == HPCBOOT_IN_PLACE || a->recv == HPCBOOT_IN_PLACE;
    const size_t *row = to ? a->send_counts : a->recv_counts;
    if (own && root && !in_place && row[t->rank] != a->count) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s: count is %zu, and the row says %zu for this rank",
                       hb_coll_name(a->coll), a->count, row[t->rank]);
    }
    return HPCBOOT_OK;
}

int hb_args_check(const struct hb_coll_team *t,
                  const struct hpcboot_coll_args *a,
                  const struct hb_coll_user_op *user,
                  struct hpcboot_error *err)
{
    if (a->struct_size < sizeof *a || (unsigned)a->coll >= HPCBOOT_COLLS) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "there is no collective %d",
                       (int)a->coll);
    }
    if (a->coll == HPCBOOT_COLL_BARRIER) {
        return HPCBOOT_OK;
    }
    size_t e = hb_coll_type_size(a->type);
    if (e == 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: there is no type %d",
                       hb_coll_name(a->coll), (int)a->type);
    }
    if (in(a->coll, ROOTED) && (a->root < 0 || a->root >= t->size)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s: root is %d, and the team has ranks 0 to %d",
                       hb_coll_name(a->coll), a->root, t->size - 1);
    }
    if (!in(a->coll, NO_COUNT) &&
        a->count > SIZE_MAX / 16 / (size_t)t->size) {
        return wrong(a, err, "count is negative or beyond all memory");
    }
    int rc = HPCBOOT_OK;
    if (in(a->coll, SEND_ROWS | RECV_ROWS)) {
        rc = check_rows(t, a, err);
    }
    if (rc == HPCBOOT_OK && in(a->coll, REDUCES)) {
        rc = check_op(t, a, user, err);
    }
    return rc == HPCBOOT_OK ? check_buffers(t, a, err) : rc;
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
    bool root = !in(a->coll, ROOTED) || t->rank == a->root;
    if (!root) {
        return HPCBOOT_OK;
    }
    op->rows = malloc(4 * n * sizeof *op->rows);
    if (op->rows == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "%s: no memory for %d counts",
                       hb_coll_name(a->coll), t->size);
    }
    if (a->coll == HPCBOOT_COLL_REDUCE_SCATTER) {
        op->send_len = op->rows;
        op->send_off = op->rows + n;
        fill_row(op->send_len, op->send_off, a->recv_counts, NULL, t->size, e);
        return HPCBOOT_OK;
    }
    if (in(a->coll, RECV_ROWS)) {
        op->recv_len = op->rows;
        op->recv_off = op->rows + n;
        fill_row(op->recv_len, op->recv_off, a->recv_counts, a->recv_displs,
                 t->size, e);
    }
    if (in(a->coll, SEND_ROWS) && op->own_placed &&
        a->coll == HPCBOOT_COLL_ALLTOALLV) {
        op->send_len = op->recv_len;
        op->send_off = op->recv_off;
    } else if (in(a->coll, SEND_ROWS)) {
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

bool hb_call_folds(enum hpcboot_coll coll)
{
    return in(coll, REDUCES);
}

bool hb_call_is_loose(enum hpcboot_coll coll)
{
    return in(coll, LOOSE);
}

bool hb_call_is_rooted(enum hpcboot_coll coll)
{
    return in(coll, ROOTED);
}

bool hb_call_has_row(enum hpcboot_coll coll)
{
    return in(coll, RECV_ROWS & ~LOOSE);
}

static void sign(const struct hb_coll_team *t, struct hb_op *op,
                 const struct hpcboot_coll_args *a)
{
    op->sign = hb_call_sign(a) & ((1u << HB_SIGN_BITS) - 1);
    if (hb_call_has_row(a->coll)) {
        op->sign |= hb_row_sign(a->recv_counts, t->size);
    }
    op->loose = op->tells = in(a->coll, LOOSE);
    op->word = op->loose ? 0 : op->total;
}

static void reset(struct hb_op *op, const struct hpcboot_coll_args *a)
{
    op->coll = a->coll;
    op->type = a->type;
    op->op = a->op;
    op->root = a->root;
    op->getting = op->tiny = op->own_placed = false;
    op->k = op->rounds = 0;
    op->area = 0;
    op->send = a->send;
    op->recv = a->recv;
    op->send_len = op->send_off = op->recv_len = op->recv_off = NULL;
    op->rows = NULL;
    op->fold = NULL;
    op->scratch = op->result = NULL;
    op->finish = NULL;
    op->net = NULL;
    op->flags = a->flags;
    op->esize = 1;
}

static int setup_fold(struct hb_coll_team *t, struct hb_op *op,
                      const struct hb_coll_user_op *user,
                      struct hpcboot_error *err)
{
    op->esize = hb_coll_type_size(op->type);
    op->ranks = t->size;
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
    return len != NULL ? row_sum(len, t->size) : op->bytes;
}

/* Whether the buffers of all ranks are more than their caches hold. */
static bool spills(const struct hb_coll_team *t,
                   const struct hpcboot_coll_args *a)
{
    struct extent x = extent_of(t, a);
    size_t all = x.send + x.recv, room = hb_stream_room(t);
    if (in(a->coll, SCATTERS | GATHERS)) { /* the root's part is all others' */
        all = 2 * a->count * hb_coll_type_size(a->type);
    }
    return room > 0 && all > room / (size_t)t->p;
}

/* Whether the next call may be like this one: nothing of it was made for this
 * run alone, and where buffers lie follows from the arguments. */
static void keep(const struct hb_coll_team *t, struct hb_op *op,
                 const struct hpcboot_coll_args *a)
{
    struct hb_again *g = &op->again;
    g->kept = t->nodes == 1 && op->rows == NULL && op->scratch == NULL &&
              a->op < HPCBOOT_OP_USER && !in(a->coll, LOOSE) &&
              !op->own_placed;
    if (g->kept) {
        struct extent x = extent_of(t, a);
        g->count = a->count;
        g->send_bytes = x.send;
        g->recv_bytes = x.recv;
        g->plan = op->plan;
        g->rounds = op->rounds;
    }
}

int hb_op_setup(struct hb_coll_team *t, struct hb_op *op,
                const struct hpcboot_coll_args *a,
                const struct hb_coll_user_op *user,
                struct hpcboot_error *err)
{
    int rc = HPCBOOT_OK;
    reset(op, a);
    op->bytes = in(a->coll, NO_COUNT)
                    ? 0 : a->count * hb_coll_type_size(a->type);
    op->own_placed = a->send == HPCBOOT_IN_PLACE ||
                     (a->recv == HPCBOOT_IN_PLACE && in(a->coll, SCATTERS));
    if (in(a->coll, SEND_ROWS | RECV_ROWS)) {
        rc = setup_rows(t, op, a, err);
    }
    if (rc == HPCBOOT_OK && op->own_placed) {
        place(t, op);
    }
    if (rc == HPCBOOT_OK && in(a->coll, REDUCES)) {
        rc = setup_fold(t, op, user, err);
    }
    op->total = total_of(t, op);
    op->spills = t->nodes == 1 && spills(t, a);
    op->choice = hb_model_choose(t->engine->model, op->coll, t->p, op->bytes);
    sign(t, op, a);
    if (rc == HPCBOOT_OK && t->nodes > 1) {
        rc = hb_net_setup(t, op, err);
    } else if (rc == HPCBOOT_OK && in(a->coll, REDUCES)) {
        op->step = hb_shm_step;
        rc = hb_plan_reduce(t, op, err);
    } else if (rc == HPCBOOT_OK) {
        op->step = hb_shm_step;
        hb_plan_move(t, op);
    }
    if (rc == HPCBOOT_OK && t->nodes == 1) {
        hb_plan_heap(t, op);
    }
    op->again.kept = false;
    if (rc == HPCBOOT_OK) {
        keep(t, op, a);
    } else {
        hb_op_clear(op);
    }
    return rc;
}

bool hb_op_again(struct hb_op *op, const struct hpcboot_coll_args *a)
{
    const struct hb_again *g = &op->again;
    const char *s = a->send, *r = a->recv;
    if (!g->kept || a->struct_size < sizeof *a || a->coll != op->coll) {
        return false;
    }
    if (a->coll != HPCBOOT_COLL_BARRIER &&
        (a->count != g->count || a->type != op->type || a->op != op->op ||
         a->root != op->root || a->flags != op->flags ||
         s == HPCBOOT_IN_PLACE || r == HPCBOOT_IN_PLACE ||
         (g->send_bytes > 0 && s == NULL) ||
         (g->recv_bytes > 0 && r == NULL) ||
         (g->send_bytes > 0 && g->recv_bytes > 0 && s < r + g->recv_bytes &&
          r < s + g->send_bytes))) {
        return false;
    }
    op->send = s;
    op->recv = a->recv;
    op->getting = false;
    op->k = 0;
    op->plan = g->plan;
    op->rounds = g->rounds;
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
