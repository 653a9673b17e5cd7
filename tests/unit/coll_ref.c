/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The reference of the tests of collectives. Every rank's input is a function
 * of (seed, rank, position), so that each rank can say alone what it must
 * get. Reductions are folded from the left in rank order, in the precision
 * the public header promises, and compared bit by bit.
 *
 * Layout of all kinds: "block (from, to)" is what rank `from` has for rank
 * `to`; an input is the row of blocks of its rank, an output a row of blocks
 * of several ranks. */

#include "config.h"

#include "coll_ref.h"

#include <stdlib.h>
#include <string.h>

#include "coll_world.h"

#define GUARD 64
#define GUARD_BYTE 0x5a
#define HOLE 3 /* elements between blocks that have displacements */

uint64_t coll_ref_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t hash(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t s = seed ^ (a * 0x9e3779b97f4a7c15u) ^ (b << 32 | b >> 32);
    return coll_ref_random(&s);
}

/* One element of rank's input. Floats are small eighths: sums are exact or
 * rounded, never NaN; pairs have few values, so that ties are frequent. */
static void element(const struct coll_case *c, int rank, size_t i, char *to)
{
    uint64_t h = hash(c->seed, (uint64_t)rank, i);
    double d = (double)(h % 199) / 8 - 12;
    float f = (float)d;
    uint16_t half = c->type == HPCBOOT_FLOAT16 ? coll_ref_half_bits(f)
                                               : coll_ref_bf_bits(f);
    size_t e = hb_coll_type_size(c->type);
    memset(to, 0, e);
    switch (c->type) {
    case HPCBOOT_FLOAT16:
    case HPCBOOT_BFLOAT16:
        memcpy(to, &half, 2);
        return;
    case HPCBOOT_FLOAT_COMPLEX:
        memcpy(to + 4, &f, 4);
        f = (float)(h >> 32 & 7) - 3;
        memcpy(to, &f, 4);
        return;
    case HPCBOOT_FLOAT:
        memcpy(to, &f, 4);
        return;
    case HPCBOOT_DOUBLE_COMPLEX:
        memcpy(to + 8, &d, 8);
        d = (double)(h >> 32 & 7) - 3;
        memcpy(to, &d, 8);
        return;
    case HPCBOOT_DOUBLE:
        memcpy(to, &d, 8);
        return;
    case HPCBOOT_FLOAT_INT:
        f = (float)(h % 5);
        memcpy(to, &f, 4);
        memcpy(to + 4, &(int32_t){(int32_t)(h >> 40 & 1023)}, 4);
        return;
    case HPCBOOT_DOUBLE_INT:
        d = (double)(h % 5);
        memcpy(to, &d, 8);
        memcpy(to + 8, &(int32_t){(int32_t)(h >> 40 & 1023)}, 4);
        return;
    case HPCBOOT_INT32_INT:
        memcpy(to, &(int32_t){(int32_t)(h % 5) - 2}, 4);
        memcpy(to + 4, &(int32_t){(int32_t)(h >> 40 & 1023)}, 4);
        return;
    case HPCBOOT_INT64_INT:
        memcpy(to, &(int64_t){(int64_t)(h % 5) - 2}, 8);
        memcpy(to + 8, &(int32_t){(int32_t)(h >> 40 & 1023)}, 4);
        return;
    default:
        memcpy(to, &h, e);
        if (h >> 60 == 0) {
            memset(to, 0, e); /* the logical ops want zeros */
        }
    }
}

static bool is_v(enum hpcboot_coll coll)
{
    return coll == HPCBOOT_COLL_SCATTERV || coll == HPCBOOT_COLL_GATHERV ||
           coll == HPCBOOT_COLL_ALLGATHERV || coll == HPCBOOT_COLL_ALLTOALLV ||
           coll == HPCBOOT_COLL_REDUCE_SCATTER;
}

size_t coll_ref_count(const struct coll_case *c, int from, int to)
{
    if (!is_v(c->coll)) {
        return c->count;
    }
    /* scatterv: of `to`; gatherv, allgatherv: of `from`; in place alltoallv
     * must be symmetric. */
    int a = from, b = to;
    if (c->coll == HPCBOOT_COLL_SCATTERV ||
        c->coll == HPCBOOT_COLL_REDUCE_SCATTER) {
        a = b = to;
    } else if (c->coll != HPCBOOT_COLL_ALLTOALLV) {
        a = b = from;
    } else if (c->in_place && a > b) {
        a = to;
        b = from;
    }
    uint64_t h = hash(c->seed ^ 77, (uint64_t)a + 1, (uint64_t)b + 1);
    size_t n = h % 4 == 0 ? 0 : h % (2 * c->count + 1);
    return c->op >= HPCBOOT_OP_USER ? n & ~(size_t)1 : n;
}

/* How a rank's input or output lies in memory: `n` blocks. */
struct row {
    int n;
    size_t count[64], displ[64], end; /* elements */
};

static void row_add(struct row *r, size_t count, bool holes)
{
    r->displ[r->n] = r->end;
    r->count[r->n++] = count;
    r->end += count + (holes ? HOLE : 0);
}

static void rows_of(const struct coll_case *c, int rank, struct row *in,
                    struct row *out)
{
    bool root = rank == c->root;
    in->n = out->n = 0;
    in->end = out->end = 0;
    for (int j = 0; j < c->ranks; j++) {
        size_t to = coll_ref_count(c, rank, j);
        size_t from = coll_ref_count(c, j, rank);
        switch (c->coll) {
        case HPCBOOT_COLL_SCATTER:
        case HPCBOOT_COLL_SCATTERV:
            if (root) {
                row_add(in, to, c->coll == HPCBOOT_COLL_SCATTERV);
            }
            break;
        case HPCBOOT_COLL_GATHER:
        case HPCBOOT_COLL_GATHERV:
            if (root) {
                row_add(out, from, c->coll == HPCBOOT_COLL_GATHERV);
            }
            break;
        case HPCBOOT_COLL_ALLGATHER:
        case HPCBOOT_COLL_ALLGATHERV:
            row_add(out, from, c->coll == HPCBOOT_COLL_ALLGATHERV);
            break;
        case HPCBOOT_COLL_REDUCE_SCATTER:
        case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
            row_add(in, to, false);
            break;
        case HPCBOOT_COLL_ALLTOALL:
        case HPCBOOT_COLL_ALLTOALLV:
            row_add(in, to, c->coll == HPCBOOT_COLL_ALLTOALLV);
            row_add(out, from, c->coll == HPCBOOT_COLL_ALLTOALLV);
            break;
        default:
            break;
        }
    }
    size_t own = coll_ref_count(c, rank, rank);
    if (c->coll == HPCBOOT_COLL_BCAST) {
        row_add(out, own, false);
    } else if (c->coll != HPCBOOT_COLL_BARRIER) {
        if (in->n == 0 && c->coll != HPCBOOT_COLL_SCATTER &&
            c->coll != HPCBOOT_COLL_SCATTERV) {
            row_add(in, own, false);
        }
        bool gathers = c->coll == HPCBOOT_COLL_GATHER ||
                       c->coll == HPCBOOT_COLL_GATHERV ||
                       c->coll == HPCBOOT_COLL_REDUCE;
        if (out->n == 0 && (!gathers || root)) {
            row_add(out, own, false);
        }
    }
}

/* Element i of block `to` of rank `from`, wherever it lies. */
static void input(const struct coll_case *c, int from, int to, size_t i,
                  char *at)
{
    bool blocks = c->coll == HPCBOOT_COLL_SCATTER ||
                  c->coll == HPCBOOT_COLL_SCATTERV ||
                  c->coll == HPCBOOT_COLL_REDUCE_SCATTER ||
                  c->coll == HPCBOOT_COLL_REDUCE_SCATTER_BLOCK ||
                  c->coll == HPCBOOT_COLL_ALLTOALL ||
                  c->coll == HPCBOOT_COLL_ALLTOALLV;
    element(c, from, i + (blocks ? (size_t)to << 32 : 0), at);
}

static void fill_in(const struct coll_case *c, int rank, const struct row *r,
                    char *at)
{
    size_t e = hb_coll_type_size(c->type);
    for (int j = 0; j < r->n; j++) {
        for (size_t i = 0; i < r->count[j]; i++) {
            input(c, rank, j, i, at + (r->displ[j] + i) * e);
        }
    }
}

static void expect_fold(const struct coll_case *c, int rank, int n, char *to,
                        size_t count)
{
    size_t e = hb_coll_type_size(c->type);
    char buf[64][16];
    const char *src[64];
    bool user = c->op >= HPCBOOT_OP_USER;
    size_t step = user ? 2 : 1;
    for (size_t i = 0; n > 0 && i < count; i += step) {
        for (int s = 0; s < n; s++) {
            for (size_t k = 0; k < step; k++) {
                input(c, s, rank, i + k, buf[s] + k * e);
            }
            src[s] = buf[s];
        }
        if (user) {
            for (int s = n - 2; s >= 0; s--) {
                coll_ref_user.fn(buf[s], buf[s + 1], 2, c->type, NULL);
                memcpy(buf[s], buf[s + 1], 2);
            }
            memcpy(to + i, buf[0], 2);
        } else {
            coll_ref_fold(c, src, n, to + i * e);
        }
    }
}

static void expect(const struct coll_case *c, int rank, const struct row *out,
                   char *to)
{
    size_t e = hb_coll_type_size(c->type);
    for (int j = 0; j < out->n; j++) {
        char *at = to + out->displ[j] * e;
        size_t n = out->count[j];
        switch (c->coll) {
        case HPCBOOT_COLL_BCAST:
        case HPCBOOT_COLL_SCATTER:
        case HPCBOOT_COLL_SCATTERV:
            for (size_t i = 0; i < n; i++) {
                input(c, c->root, rank, i, at + i * e);
            }
            break;
        case HPCBOOT_COLL_SCAN:
            expect_fold(c, rank, rank + 1, at, n);
            break;
        case HPCBOOT_COLL_EXSCAN:
            expect_fold(c, rank, rank, at, n);
            break;
        case HPCBOOT_COLL_REDUCE:
        case HPCBOOT_COLL_ALLREDUCE:
        case HPCBOOT_COLL_REDUCE_SCATTER:
        case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
            expect_fold(c, rank, c->ranks, at, n);
            break;
        default:
            for (size_t i = 0; i < n; i++) {
                input(c, j, rank, i, at + i * e);
            }
        }
    }
}

static bool is_root_kind(enum hpcboot_coll coll)
{
    return coll <= HPCBOOT_COLL_GATHERV || coll == HPCBOOT_COLL_REDUCE;
}

/* With some seeds only at some of the ranks. */
static bool in_place_here(const struct coll_case *c, int rank)
{
    bool all = hash(c->seed ^ 78, 0, 0) % 2 == 0;
    return c->in_place && c->coll > HPCBOOT_COLL_BCAST &&
           (all || hash(c->seed ^ 78, (uint64_t)rank, 1) % 2 == 0) &&
           (!is_root_kind(c->coll) || rank == c->root);
}

static void set_rows(const struct coll_case *c, const struct row *in,
                     const struct row *out, struct coll_buffers *b)
{
    size_t n = (size_t)c->ranks;
    struct hpcboot_coll_args *a = &b->args;
    b->rows = calloc(4 * n + 1, sizeof *b->rows);
    if (!is_v(c->coll)) {
        return;
    }
    for (size_t j = 0; j < n; j++) {
        b->rows[j] = j < (size_t)in->n ? in->count[j] : 0;
        b->rows[n + j] = j < (size_t)in->n ? in->displ[j] : 0;
        b->rows[2 * n + j] = j < (size_t)out->n ? out->count[j] : 0;
        b->rows[3 * n + j] = j < (size_t)out->n ? out->displ[j] : 0;
    }
    if (c->coll == HPCBOOT_COLL_REDUCE_SCATTER) {
        a->recv_counts = b->rows;
        return;
    }
    a->send_counts = b->rows;
    a->send_displs = b->rows + n;
    a->recv_counts = b->rows + 2 * n;
    a->recv_displs = b->rows + 3 * n;
}

void coll_ref_make(const struct coll_case *c, int rank, char *heap,
                   struct coll_buffers *b)
{
    struct row in, out;
    size_t e = hb_coll_type_size(c->type);
    memset(b, 0, sizeof *b);
    rows_of(c, rank, &in, &out);
    bool placed = in_place_here(c, rank);
    size_t more = placed && in.end > out.end ? in.end : out.end;
    b->send_bytes = in.end * e + GUARD;
    b->recv_bytes = more * e + GUARD;
    b->recv = heap != NULL ? heap : malloc(b->recv_bytes);
    b->send = heap != NULL ? heap + (b->recv_bytes + 127) / 128 * 128
                           : malloc(b->send_bytes);
    b->expected = malloc(b->recv_bytes);
    b->send_before = malloc(b->send_bytes);
    b->args = (struct hpcboot_coll_args)HPCBOOT_COLL_ARGS_INIT;
    b->args.coll = c->coll;
    b->args.type = c->type;
    b->args.op = c->op;
    b->args.root = c->root;
    b->args.count = coll_ref_count(c, rank, rank);
    b->args.send = b->send;
    b->args.recv = b->recv;
    set_rows(c, &in, &out, b);
    if (placed) {
        bool scatters = c->coll == HPCBOOT_COLL_SCATTER ||
                        c->coll == HPCBOOT_COLL_SCATTERV;
        *(scatters ? &b->args.recv : (void **)&b->args.send) =
            HPCBOOT_IN_PLACE;
    }
    coll_ref_fill(c, rank, b);
}

/* In place, the input stands in recv: where depends on the kind. */
static void fill_placed(const struct coll_case *c, int rank,
                        const struct row *in, const struct row *out,
                        char *recv)
{
    size_t e = hb_coll_type_size(c->type);
    switch (c->coll) {
    case HPCBOOT_COLL_GATHER:
    case HPCBOOT_COLL_GATHERV:
    case HPCBOOT_COLL_ALLGATHER:
    case HPCBOOT_COLL_ALLGATHERV:
        for (size_t i = 0; i < out->count[rank]; i++) {
            input(c, rank, rank, i, recv + (out->displ[rank] + i) * e);
        }
        return;
    case HPCBOOT_COLL_SCATTER:
    case HPCBOOT_COLL_SCATTERV:
        return;
    default:
        fill_in(c, rank, in, recv);
    }
}

void coll_ref_fill(const struct coll_case *c, int rank,
                   struct coll_buffers *b)
{
    struct row in, out;
    bool placed = in_place_here(c, rank);
    bool scatters = c->coll == HPCBOOT_COLL_SCATTER ||
                    c->coll == HPCBOOT_COLL_SCATTERV;
    rows_of(c, rank, &in, &out);
    memset(b->recv, GUARD_BYTE, b->recv_bytes);
    memset(b->send, GUARD_BYTE, b->send_bytes);
    fill_in(c, rank, &in, b->send);
    if (c->coll == HPCBOOT_COLL_BCAST && rank == c->root) {
        fill_in(c, rank, &out, b->recv);
    }
    if (placed) {
        fill_placed(c, rank, &in, &out, b->recv);
    }
    memcpy(b->expected, b->recv, b->recv_bytes);
    memcpy(b->send_before, b->send, b->send_bytes);
    if (!(placed && scatters)) {
        expect(c, rank, &out, b->expected);
    }
}

static bool block_scatter(enum hpcboot_coll coll)
{
    return coll == HPCBOOT_COLL_REDUCE_SCATTER ||
           coll == HPCBOOT_COLL_REDUCE_SCATTER_BLOCK;
}

const char *coll_ref_compare(const struct coll_case *c, int rank,
                             const struct coll_buffers *b)
{
    size_t n = b->recv_bytes;
    if (in_place_here(c, rank) && block_scatter(c->coll)) {
        /* What lay behind the result may have been used for anything. */
        n = coll_ref_count(c, rank, rank) * hb_coll_type_size(c->type);
    }
    size_t at = 0;
    while (at < n && b->recv[at] == b->expected[at]) {
        at++;
    }
    if (at == n && memcmp(b->send, b->send_before, b->send_bytes) == 0) {
        return NULL;
    }
    return coll_text("%s of %zu %s, %s, root %d, %d ranks%s, seed %llu: %s "
                     "byte %zu of %zu is %02x, not %02x",
                     hb_coll_name(c->coll), c->count,
                     hb_coll_type_name(c->type), hb_coll_op_name(c->op),
                     c->root, c->ranks, c->in_place ? ", in place" : "",
                     (unsigned long long)c->seed, at == n ? "send changed;"
                                                          : "recv",
                     at, n, at == n ? 0 : b->recv[at] & 255,
                     at == n ? 0 : b->expected[at] & 255);
}

void coll_ref_free(struct coll_buffers *b, bool heap)
{
    free(b->rows);
    free(b->expected);
    free(b->send_before);
    if (!heap) {
        free(b->send);
        free(b->recv);
    }
}
