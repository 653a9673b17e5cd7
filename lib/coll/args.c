/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The arguments of a call: what is wrong with them, said in a sentence. What
 * is left to op.c has been found right here; what other ranks pass is compared
 * when they meet. */

#include "config.h"

#include "lib/coll/kinds.h"

#include "lib/base/error.h"

size_t hb_row_sum(const size_t *counts, int n)
{
    size_t sum = 0;
    for (int j = 0; counts != NULL && j < n; j++) {
        sum += counts[j];
    }
    return sum;
}

struct hb_extent hb_extent_of(const struct hb_coll_team *t,
                               const struct hpcboot_coll_args *a)
{
    size_t e = hb_coll_type_size(a->type), one = a->count * e;
    size_t all = one * (size_t)t->size;
    bool root = t->rank == a->root;
    struct hb_extent x = {one, one};
    switch (a->coll) {
    case HPCBOOT_COLL_BARRIER:
        return (struct hb_extent){0, 0};
    case HPCBOOT_COLL_BCAST:
        return (struct hb_extent){0, one};
    case HPCBOOT_COLL_SCATTER:
        return (struct hb_extent){root ? all : 0, one};
    case HPCBOOT_COLL_SCATTERV:
        return (struct hb_extent){
            root ? hb_row_sum(a->send_counts, t->size) * e : 0, one};
    case HPCBOOT_COLL_GATHER:
        return (struct hb_extent){one, root ? all : 0};
    case HPCBOOT_COLL_GATHERV:
        return (struct hb_extent){
            one, root ? hb_row_sum(a->recv_counts, t->size) * e : 0};
    case HPCBOOT_COLL_ALLGATHER:
        return (struct hb_extent){one, all};
    case HPCBOOT_COLL_ALLGATHERV:
        return (struct hb_extent){one, hb_row_sum(a->recv_counts, t->size) * e};
    case HPCBOOT_COLL_REDUCE:
        return (struct hb_extent){one, root ? one : 0};
    case HPCBOOT_COLL_REDUCE_SCATTER:
        return (struct hb_extent){hb_row_sum(a->recv_counts, t->size) * e,
                               a->recv_counts[t->rank] * e};
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
        return (struct hb_extent){all, one};
    case HPCBOOT_COLL_ALLTOALL:
        return (struct hb_extent){all, all};
    case HPCBOOT_COLL_ALLTOALLV:
        return (struct hb_extent){
            a->send == HPCBOOT_IN_PLACE
                ? 0 : hb_row_sum(a->send_counts, t->size) * e,
            hb_row_sum(a->recv_counts, t->size) * e};
    default:
        return x;
    }
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

bool hb_coll_takes_op(enum hpcboot_coll coll)
{
    return (unsigned)coll < HPCBOOT_COLLS && hb_in(coll, REDUCES);
}

bool hb_coll_takes_count(enum hpcboot_coll coll)
{
    return (unsigned)coll < HPCBOOT_COLLS && !hb_in(coll, NO_COUNT);
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
    if (!hb_coll_op_defined(a->op, a->type)) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                       "%s: %s is not defined for %s", hb_coll_name(a->coll),
                       hb_coll_op_name(a->op), hb_coll_type_name(a->type));
    }
    return HPCBOOT_OK;
}

static bool may_be_in_place(const struct hb_coll_team *t,
                            const struct hpcboot_coll_args *a)
{
    if (a->coll == HPCBOOT_COLL_BARRIER || a->coll == HPCBOOT_COLL_BCAST) {
        return false;
    }
    return !hb_in(a->coll, ROOTED) || t->rank == a->root;
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
    bool to = hb_in(a->coll, SEND_ROWS), from = hb_in(a->coll, RECV_ROWS);
    if (hb_in(a->coll, ROOTED) && t->rank != a->root) {
        return false;
    }
    struct hb_side s = side_of(a->send, to ? a->send_counts : NULL,
                            a->send_displs, &a->count, t->size, e);
    struct hb_side r = side_of(a->recv, from ? a->recv_counts : NULL,
                            a->recv_displs, &a->count, t->size, e);
    return hb_sides_overlap(&s, &r);
}

/* The one buffer that is left; what is folded is in it before, whatever comes
 * back. */
static int check_in_place(const struct hb_coll_team *t,
                          const struct hpcboot_coll_args *a,
                          const struct hb_extent *x, struct hpcboot_error *err)
{
    bool scatters = hb_in(a->coll, SCATTERS);
    bool has = scatters ? x->send > 0
                        : x->recv > 0 || (hb_in(a->coll, REDUCES) &&
                                          x->send > 0);
    if (!may_be_in_place(t, a)) {
        return wrong(a, err, "HPCBOOT_IN_PLACE is for the root alone");
    }
    if (has && (scatters ? a->send : a->recv) == NULL) {
        return wrong(a, err, scatters ? "send is NULL, and it has elements"
                                      : "recv is NULL, and it has elements");
    }
    return HPCBOOT_OK;
}

static int check_buffers(const struct hb_coll_team *t,
                         const struct hpcboot_coll_args *a,
                         struct hpcboot_error *err)
{
    bool scatters = hb_in(a->coll, SCATTERS);
    bool sends = a->coll != HPCBOOT_COLL_BARRIER &&
                 a->coll != HPCBOOT_COLL_BCAST;
    bool in_place = sends &&
                    (scatters ? a->recv : a->send) == HPCBOOT_IN_PLACE;
    struct hb_extent x = hb_extent_of(t, a);
    const char *s = a->send, *r = a->recv;
    if ((scatters ? a->send : a->recv) == HPCBOOT_IN_PLACE && x.recv > 0) {
        return wrong(a, err,
                     a->coll == HPCBOOT_COLL_BCAST
                         ? "buffer is HPCBOOT_IN_PLACE, which is no buffer"
                     : scatters ? "HPCBOOT_IN_PLACE stands for recv, not send"
                                : "HPCBOOT_IN_PLACE stands for send, not "
                                  "recv");
    }
    if (in_place) {
        return check_in_place(t, a, &x, err);
    }
    if ((x.send > 0 && s == NULL) || (x.recv > 0 && r == NULL)) {
        if (a->coll == HPCBOOT_COLL_BCAST) {
            return wrong(a, err, "buffer is NULL, and count is not 0");
        }
        return wrong(a, err, x.send > 0 && s == NULL
                                 ? "send is NULL, and it has elements"
                                 : "recv is NULL, and it has elements");
    }
    bool rows = hb_in(a->coll, SEND_ROWS | BIT(GATHERV) | BIT(ALLGATHERV));
    if (rows ? rows_overlap(t, a)
             : x.send > 0 && x.recv > 0 && s < r + x.recv &&
                   r < s + x.send) {
        return wrong(a, err, "send and recv overlap; HPCBOOT_IN_PLACE is for "
                             "one buffer that is both");
    }
    return HPCBOOT_OK;
}

/* The blocks of one side. Where a block is empty its place does not matter. */
static int check_row(const struct hpcboot_coll_args *a, bool sent,
                     const size_t *displs, int n, struct hpcboot_error *err)
{
    const size_t *counts = sent ? a->send_counts : a->recv_counts;
    const char *side = sent ? "send" : "recv";
    const size_t widest = 16; /* bytes of a type */
    size_t most = SIZE_MAX / widest / (size_t)n;
    if (counts == NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: %s_counts is NULL",
                       hb_coll_name(a->coll), side);
    }
    for (int j = 0; j < n; j++) {
        if (counts[j] > most) {
            return hb_fail(err, HPCBOOT_ERR_USAGE,
                           "%s: %s_counts[%d] is negative or beyond all "
                           "memory", hb_coll_name(a->coll), side, j);
        }
        if (displs != NULL && counts[j] > 0 && displs[j] > most) {
            return hb_fail(err, HPCBOOT_ERR_USAGE,
                           "%s: %s_displs[%d] is negative or beyond all "
                           "memory", hb_coll_name(a->coll), side, j);
        }
    }
    return HPCBOOT_OK;
}

/* What is written: no block may lie in another. */
static int check_written(const struct hpcboot_coll_args *a, int n,
                         struct hpcboot_error *err)
{
    int one, other;
    const size_t *displs = a->recv_displs;
    if (a->coll == HPCBOOT_COLL_REDUCE_SCATTER) {
        displs = NULL; /* its blocks follow one another, whatever is there */
    }
    int rc = check_row(a, false, displs, n, err);
    if (rc == HPCBOOT_OK &&
        hb_blocks_overlap(a->recv_counts, displs, n, &one, &other)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s: the blocks of recv overlap: those of rank %d and "
                       "rank %d", hb_coll_name(a->coll), one, other);
    }
    return rc;
}

/* What a rank sends itself is as long as what it gets of itself. */
static int check_own(const struct hb_coll_team *t,
                     const struct hpcboot_coll_args *a,
                     struct hpcboot_error *err)
{
    bool both = a->coll == HPCBOOT_COLL_ALLTOALLV;
    bool to = hb_in(a->coll, BIT(SCATTERV));
    if (a->coll == HPCBOOT_COLL_REDUCE_SCATTER ||
        a->send == HPCBOOT_IN_PLACE || a->recv == HPCBOOT_IN_PLACE) {
        return HPCBOOT_OK;
    }
    size_t count = both ? a->send_counts[t->rank] : a->count;
    size_t listed = (to ? a->send_counts : a->recv_counts)[t->rank];
    if (listed == count) {
        return HPCBOOT_OK;
    }
    if (both) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s: send_counts[%d] is %zu, and recv_counts[%d] %zu, "
                       "both of what this rank sends itself",
                       hb_coll_name(a->coll), t->rank, count, t->rank, listed);
    }
    return hb_fail(err, HPCBOOT_ERR_USAGE,
                   "%s: count is %zu, and %s_counts[%d], which is this "
                   "rank's, is %zu", hb_coll_name(a->coll), count,
                   to ? "send" : "recv", t->rank, listed);
}

int hb_args_rows(const struct hb_coll_team *t, struct hpcboot_coll_args *a,
                 const size_t **rows[4])
{
    int n = 0;
    if (hb_in(a->coll, ROOTED) && t->rank != a->root) {
        return 0;
    }
    if (hb_in(a->coll, SEND_ROWS) && !(a->coll == HPCBOOT_COLL_ALLTOALLV &&
                                       a->send == HPCBOOT_IN_PLACE)) {
        rows[n++] = &a->send_counts;
        rows[n++] = &a->send_displs;
    }
    if (hb_in(a->coll, RECV_ROWS)) {
        rows[n++] = &a->recv_counts;
    }
    if (hb_in(a->coll, RECV_ROWS & ~BIT(REDUCE_SCATTER))) {
        rows[n++] = &a->recv_displs;
    }
    return n;
}

static int check_rows(const struct hb_coll_team *t,
                      const struct hpcboot_coll_args *a,
                      struct hpcboot_error *err)
{
    int rc = HPCBOOT_OK;
    if (hb_in(a->coll, ROOTED) && t->rank != a->root) {
        return rc;
    }
    if (hb_in(a->coll, SEND_ROWS) && !(a->coll == HPCBOOT_COLL_ALLTOALLV &&
                                       a->send == HPCBOOT_IN_PLACE)) {
        rc = check_row(a, true, a->send_displs, t->size, err);
    }
    if (rc == HPCBOOT_OK && hb_in(a->coll, RECV_ROWS)) {
        rc = check_written(a, t->size, err);
    }
    return rc == HPCBOOT_OK ? check_own(t, a, err) : rc;
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
    if (hb_in(a->coll, ROOTED) && (a->root < 0 || a->root >= t->size)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s: root is %d, and the team has ranks 0 to %d",
                       hb_coll_name(a->coll), a->root, t->size - 1);
    }
    if (!hb_in(a->coll, NO_COUNT) &&
        a->count > SIZE_MAX / 16 / (size_t)t->size) {
        return wrong(a, err, "count is negative or beyond all memory");
    }
    int rc = HPCBOOT_OK;
    if (hb_in(a->coll, SEND_ROWS | RECV_ROWS)) {
        rc = check_rows(t, a, err);
    }
    if (rc == HPCBOOT_OK && hb_in(a->coll, REDUCES)) {
        rc = check_op(t, a, user, err);
    }
    return rc == HPCBOOT_OK ? check_buffers(t, a, err) : rc;
}

/* Bytes to the end of the last block. */
static size_t row_span(const size_t *counts, const size_t *displs, int n,
                       size_t e)
{
    size_t end = displs == NULL ? hb_row_sum(counts, n) : 0;
    for (int j = 0; displs != NULL && j < n; j++) {
        if (counts[j] > 0 && displs[j] + counts[j] > end) {
            end = displs[j] + counts[j];
        }
    }
    return end * e;
}

/* Whether there may be gaps between what comes. */
static bool has_gaps(const struct hb_coll_team *t,
                     const struct hpcboot_coll_args *a)
{
    return hb_in(a->coll, RECV_ROWS & ~BIT(REDUCE_SCATTER)) &&
           (!hb_in(a->coll, ROOTED) || t->rank == a->root) &&
           a->recv_displs != NULL;
}

int hb_coll_spans(const struct hb_coll_team *t,
                  const struct hpcboot_coll_args *a,
                  const struct hb_coll_user_op *user,
                  struct hb_coll_spans *out, struct hpcboot_error *err)
{
    int rc = hb_args_check(t, a, user, err);
    if (rc < 0) {
        return rc;
    }
    size_t e = hb_coll_type_size(a->type);
    struct hb_extent x = hb_extent_of(t, a);
    bool root = !hb_in(a->coll, ROOTED) || t->rank == a->root;
    if (hb_in(a->coll, SEND_ROWS) && root && a->send != HPCBOOT_IN_PLACE) {
        x.send = row_span(a->send_counts, a->send_displs, t->size, e);
    }
    if (has_gaps(t, a)) {
        x.recv = row_span(a->recv_counts, a->recv_displs, t->size, e);
    } else if (a->coll == HPCBOOT_COLL_EXSCAN && t->rank == 0) {
        x.recv = 0; /* it stays as it is */
    }
    *out = (struct hb_coll_spans){
        .send = x.send, .recv = x.recv, .recv_out = true};
    if (a->coll == HPCBOOT_COLL_BCAST) {
        out->recv_in = root;
        out->recv_out = !root;
    } else if (a->send == HPCBOOT_IN_PLACE) {
        out->send = 0;
        out->recv_in = true;
        if (hb_in(a->coll, REDUCES)) {
            out->recv = x.send; /* its input, which may be longer */
        }
    } else if (a->recv == HPCBOOT_IN_PLACE) {
        out->recv = 0;
    }
    return HPCBOOT_OK;
}

size_t hb_coll_recv_blocks(const struct hb_coll_team *t,
                           const struct hpcboot_coll_args *a,
                           const struct hb_coll_spans *spans,
                           struct hb_coll_block *out)
{
    size_t e = hb_coll_type_size(a->type), n = 0;
    if (!has_gaps(t, a)) {
        out[0] = (struct hb_coll_block){0, spans->recv};
        return 1;
    }
    for (int j = 0; j < t->size; j++) {
        struct hb_coll_block b = {a->recv_displs[j] * e,
                                  a->recv_counts[j] * e};
        if (n > 0 && b.at == out[n - 1].at + out[n - 1].bytes) {
            out[n - 1].bytes += b.bytes;
        } else if (b.bytes > 0) {
            out[n++] = b;
        }
    }
    return n;
}
