/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* See sched_data.h. The reference is computed from the formula that fills
 * the ranks' vectors, without any schedule. */

#include "config.h"

#include "sched_data.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/coll/coll.h"

#define UNTOUCHED 0x5a

struct element { /* of eight bytes; of four, `a` alone */
    uint32_t a, b;
};

static struct element compose(struct element x, struct element y, bool map)
{
    struct element z = {x.a + y.a, 0};
    if (map) {
        z = (struct element){x.a * y.a, x.b * y.a + y.b};
    }
    return z;
}

/* Element i of what rank r sends. */
static struct element value(int r, size_t i)
{
    uint32_t x = (uint32_t)r * 2654435761u + (uint32_t)i * 40503u + 12345u;
    x ^= x >> 15;
    return (struct element){x | 1, x * 2246822519u};
}

static struct element load(const char *at, size_t esize)
{
    struct element e = {0, 0};
    memcpy(&e, at, esize);
    return e;
}

static bool is_wide(const struct hb_call *c, int size, int rank, bool sends)
{
    switch (c->coll) {
    case HPCBOOT_COLL_SCATTER:
        return sends;
    case HPCBOOT_COLL_GATHER:
    case HPCBOOT_COLL_ALLGATHER:
        return !sends;
    case HPCBOOT_COLL_ALLTOALL:
        return true;
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
        return sends;
    default:
        return false;
    }
}

void sched_data_make(struct sched_data *d, const struct hb_call *c, int size,
                     int rank, size_t room)
{
    size_t wide = (size_t)size * c->bytes;
    d->esize = c->esize;
    d->size[HB_MEM_SEND] = is_wide(c, size, rank, true) ? wide : c->bytes;
    d->size[HB_MEM_RECV] = is_wide(c, size, rank, false) ? wide : c->bytes;
    d->size[HB_MEM_ROOM] = room;
    for (int i = 0; i < HB_MEMS; i++) {
        d->mem[i] = malloc(d->size[i] + 1);
        memset(d->mem[i], UNTOUCHED, d->size[i] + 1);
    }
    if (c->in_place) {
        free(d->mem[HB_MEM_SEND]);
        d->mem[HB_MEM_SEND] = d->mem[HB_MEM_RECV];
    }
    bool root = c->coll == HPCBOOT_COLL_BCAST && rank == c->root;
    char *from = d->mem[root ? HB_MEM_RECV : HB_MEM_SEND];
    for (size_t i = 0; i < d->size[HB_MEM_SEND] / c->esize; i++) {
        struct element e = value(rank, i);
        memcpy(from + i * c->esize, &e, c->esize);
    }
}

void sched_data_free(struct sched_data *d)
{
    if (d->mem[HB_MEM_SEND] != d->mem[HB_MEM_RECV]) {
        free(d->mem[HB_MEM_SEND]);
    }
    free(d->mem[HB_MEM_RECV]);
    free(d->mem[HB_MEM_ROOM]);
}

static char *place(const struct sched_data *d, struct hb_at at, size_t bytes)
{
    if (at.off + bytes > d->size[at.mem]) {
        printf("a step goes to byte %zu of %zu in memory %d\n",
               at.off + bytes, d->size[at.mem], (int)at.mem);
        abort();
    }
    return d->mem[at.mem] + at.off;
}

char *sched_data_get(const struct sched_data *d, struct hb_at at,
                     size_t bytes)
{
    char *copy = malloc(bytes + 1);
    if (bytes > 0) {
        memcpy(copy, place(d, at, bytes), bytes);
    }
    return copy;
}

void sched_data_put(struct sched_data *d, struct hb_at at, const char *bytes,
                    size_t n)
{
    if (n > 0) {
        memcpy(place(d, at, n), bytes, n);
    }
}

static void copy(struct sched_data *d, const struct hb_step *s)
{
    for (uint32_t i = 0; i < s->rows; i++) {
        memmove(place(d, hb_plus(s->to, i * s->to_stride), s->bytes),
                place(d, hb_plus(s->from, i * s->from_stride), s->bytes),
                s->bytes);
    }
}

static void fold(struct sched_data *d, const struct hb_step *s)
{
    size_t n = s->kind == HB_STEP_FOLD_ALL ? s->rows : 1;
    const char *from = place(d, s->from, n * s->bytes);
    const char *with = place(d, s->with, s->bytes);
    char *to = place(d, s->to, s->bytes);
    bool map = d->esize == 8;
    for (size_t i = 0; i < s->bytes; i += d->esize) {
        struct element x = load(from + i, d->esize);
        struct element y = load(with + i, d->esize);
        if (s->kind == HB_STEP_FOLD_ALL) {
            for (size_t j = 1; j < n; j++) {
                x = compose(x, load(from + j * s->bytes + i, d->esize), map);
            }
        } else {
            x = s->kind == HB_STEP_FOLD ? compose(x, y, map)
                                        : compose(y, x, map);
        }
        memcpy(to + i, &x, d->esize);
    }
}

void sched_data_do(struct sched_data *d, const struct hb_step *s)
{
    if (s->kind == HB_STEP_COPY) {
        copy(d, s);
    } else if (s->kind != HB_STEP_NONE) {
        fold(d, s);
    }
}

/* The fold of element i of ranks [0, n). */
static struct element folded(const struct hb_call *c, int n, size_t i)
{
    struct element x = value(0, i);
    for (int r = 1; r < n; r++) {
        x = compose(x, value(r, i), c->esize == 8);
    }
    return x;
}

/* Element i of what rank r receives; false: anything. */
static bool expected(const struct hb_call *c, int size, int r, size_t i,
                     struct element *out)
{
    size_t each = c->bytes / c->esize;
    int block = each > 0 ? (int)(i / each) : 0;
    size_t in = each > 0 ? i % each : 0;
    switch (c->coll) {
    case HPCBOOT_COLL_BARRIER:
        return false;
    case HPCBOOT_COLL_BCAST:
        *out = value(c->root, i);
        return true;
    case HPCBOOT_COLL_SCATTER:
        *out = value(c->root, (size_t)r * each + i);
        return true;
    case HPCBOOT_COLL_GATHER:
    case HPCBOOT_COLL_ALLGATHER:
        *out = value(block, in);
        return c->coll == HPCBOOT_COLL_ALLGATHER || r == c->root;
    case HPCBOOT_COLL_ALLTOALL:
        *out = value(block, (size_t)r * each + in);
        return true;
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
        *out = folded(c, size, (size_t)r * each + i);
        return true;
    case HPCBOOT_COLL_SCAN:
        *out = folded(c, r + 1, i);
        return true;
    case HPCBOOT_COLL_EXSCAN:
        *out = r > 0 ? folded(c, r, i) : value(r, i);
        return r > 0 || c->in_place;
    default:
        *out = folded(c, size, i);
        return c->coll == HPCBOOT_COLL_ALLREDUCE || r == c->root;
    }
}

bool sched_data_right(const struct sched_data *d, const struct hb_call *c,
                      int size, int rank)
{
    for (size_t i = 0; i < d->size[HB_MEM_RECV] / c->esize; i++) {
        struct element want;
        if (!expected(c, size, rank, i, &want)) {
            return true;
        }
        if (memcmp(d->mem[HB_MEM_RECV] + i * c->esize, &want, c->esize)) {
            printf("%s of %zu bytes, root %d: rank %d of %d has a wrong "
                   "element %zu\n", hb_coll_name(c->coll), c->bytes, c->root,
                   rank, size, i);
            return false;
        }
    }
    return true;
}
