/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The loop that times collectives. Calls follow each other as in a program
 * that does nothing else; what is waited for in between is only what the
 * collective itself waits for. So a root that sends may run ahead as far as
 * the library lets it, for every library alike.
 *
 * Reading the clock costs some ten nanoseconds, a small collective some
 * hundred: short calls are timed in groups. How many calls there are is
 * computed from means over the ranks, so that all ranks make the same.
 *
 * Numbers in the buffers tell where they come from, so that a wrong block, a
 * wrong place and a rank that was left out of a sum all show. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "bin/hpcboot/perf_loop.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLES_LEAST 10     /* of a call however long */
#define SAMPLES_MOST 4096    /* 41 of them are above the 99th percentile */
#define GROUP_US 8.0         /* hundreds of times what the clock takes */
#define WARM_CALLS 8u
#define WARM_US 2000.0       /* caches, pages, clock rates, waiting modes */
#define WARM_CALLS_MOST 65536u
#define VALUES 7             /* a prime: no power of two is a multiple */

static const char *const names[HB_PERF_KINDS] = {
    [HPCBOOT_COLL_BARRIER] = "barrier",
    [HPCBOOT_COLL_BCAST] = "bcast",
    [HPCBOOT_COLL_SCATTER] = "scatter",
    [HPCBOOT_COLL_SCATTERV] = "scatterv",
    [HPCBOOT_COLL_GATHER] = "gather",
    [HPCBOOT_COLL_GATHERV] = "gatherv",
    [HPCBOOT_COLL_ALLGATHER] = "allgather",
    [HPCBOOT_COLL_ALLGATHERV] = "allgatherv",
    [HPCBOOT_COLL_REDUCE] = "reduce",
    [HPCBOOT_COLL_ALLREDUCE] = "allreduce",
    [HPCBOOT_COLL_REDUCE_SCATTER] = "reduce_scatter",
    [HPCBOOT_COLL_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
    [HPCBOOT_COLL_ALLTOALL] = "alltoall",
    [HPCBOOT_COLL_ALLTOALLV] = "alltoallv",
    [HPCBOOT_COLL_SCAN] = "scan",
    [HPCBOOT_COLL_EXSCAN] = "exscan",
    [HB_PERF_PINGPONG] = "pingpong",
};

const char *hb_perf_name(int kind)
{
    return kind >= 0 && kind < HB_PERF_KINDS ? names[kind] : NULL;
}

/* ---- what is in the buffers ---- */

enum shape {
    WHOLE,   /* a vector of one rank: bcast, pingpong */
    SUM,     /* of all vectors */
    PREFIX,  /* the sum of those up to this rank's */
    BEFORE,  /* the sum of those before it */
    SPREAD,  /* block j of the root's vector goes to rank j */
    COLLECT, /* a block of each rank */
    CROSS,   /* block j of rank i goes to place i of rank j */
    SLICE    /* block j of the sum goes to rank j */
};

static enum shape shape_of(int kind)
{
    switch (kind) {
    case HPCBOOT_COLL_REDUCE:
    case HPCBOOT_COLL_ALLREDUCE: return SUM;
    case HPCBOOT_COLL_SCAN: return PREFIX;
    case HPCBOOT_COLL_EXSCAN: return BEFORE;
    case HPCBOOT_COLL_SCATTER:
    case HPCBOOT_COLL_SCATTERV: return SPREAD;
    case HPCBOOT_COLL_GATHER:
    case HPCBOOT_COLL_GATHERV:
    case HPCBOOT_COLL_ALLGATHER:
    case HPCBOOT_COLL_ALLGATHERV: return COLLECT;
    case HPCBOOT_COLL_ALLTOALL:
    case HPCBOOT_COLL_ALLTOALLV: return CROSS;
    case HPCBOOT_COLL_REDUCE_SCATTER:
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK: return SLICE;
    default: return WHOLE;
    }
}

size_t hb_perf_room(int kind, size_t bytes, int size)
{
    return kind == HPCBOOT_COLL_BARRIER ? 0
           : shape_of(kind) >= SPREAD   ? bytes * (size_t)size
                                        : bytes;
}

/* Element k of the vector that rank r sends. */
static unsigned value(unsigned r, size_t k)
{
    return (unsigned)((r + k) % VALUES) + 1;
}

/* Element k of the sum of the vectors of the first n ranks. */
static unsigned sum_of(unsigned n, size_t k)
{
    unsigned sum = 0;

    for (unsigned r = 0; r < n; r++) {
        sum += value(r, k);
    }
    return sum;
}

static size_t elements(const struct hb_perf_call *c)
{
    return c->bytes % sizeof(float) == 0 ? c->bytes / sizeof(float) : c->bytes;
}

static void put(const struct hb_perf_call *c, void *buffer, size_t i,
                unsigned v)
{
    if (c->bytes % sizeof(float) == 0) {
        ((float *)buffer)[i] = (float)v;
    } else {
        ((uint8_t *)buffer)[i] = (uint8_t)v;
    }
}

static int is(const struct hb_perf_call *c, size_t i, unsigned v)
{
    return c->bytes % sizeof(float) == 0
               ? ((const float *)c->recv)[i] == (float)v
               : ((const uint8_t *)c->recv)[i] == (uint8_t)v;
}

static void fill(const struct hb_perf_call *c)
{
    size_t room = hb_perf_room(c->kind, c->bytes, c->size);
    size_t n = c->bytes > 0 ? room / c->bytes * elements(c) : 0;

    if (room > 0) {
        memset(c->recv, 0, room);
    }
    for (size_t i = 0; i < n; i++) {
        put(c, c->send, i, value((unsigned)c->rank, i));
        if (c->kind == HPCBOOT_COLL_BCAST && c->rank == 0) {
            put(c, c->recv, i, value(0, i));
        }
    }
}

/* Whether this rank is to have something. */
static int receives(const struct hb_perf_call *c)
{
    switch (c->kind) {
    case HPCBOOT_COLL_BARRIER: return 0;
    case HPCBOOT_COLL_REDUCE:
    case HPCBOOT_COLL_GATHER:
    case HPCBOOT_COLL_GATHERV: return c->rank == 0;
    case HPCBOOT_COLL_EXSCAN: return c->rank > 0;
    case HB_PERF_PINGPONG: return c->rank == 0 || c->rank == c->size - 1;
    default: return 1;
    }
}

/* What element k of block b should be; vectors are a block 0. */
static unsigned wanted(const struct hb_perf_call *c, enum shape shape,
                       size_t b, size_t k, const unsigned *sums)
{
    size_t slice = (size_t)c->rank * elements(c) + k;

    switch (shape) {
    case SPREAD: return value(0, slice);
    case COLLECT: return value((unsigned)b, k);
    case CROSS: return value((unsigned)b, slice);
    case SLICE: return sums[slice % VALUES];
    case WHOLE: return value(0, k);
    default: return sums[k % VALUES];
    }
}

static uint64_t check(const struct hb_perf_call *c)
{
    enum shape shape = shape_of(c->kind);
    size_t blocks = shape == COLLECT || shape == CROSS ? (size_t)c->size : 1;
    unsigned upto = shape == PREFIX   ? (unsigned)c->rank + 1
                    : shape == BEFORE ? (unsigned)c->rank : (unsigned)c->size;
    unsigned sums[VALUES];
    uint64_t wrong = 0;

    if (!receives(c)) {
        return 0;
    }
    for (size_t k = 0; k < VALUES; k++) {
        sums[k] = sum_of(upto, k);
    }
    for (size_t b = 0; b < blocks; b++) {
        for (size_t k = 0; k < elements(c); k++) {
            wrong += !is(c, b * elements(c) + k,
                         wanted(c, shape, b, k, sums));
        }
    }
    return wrong;
}

/* ---- the loop ---- */

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void meet(const struct hb_perf_ops *ops, void *ctx,
                 const struct hb_perf_call *c)
{
    struct hb_perf_call barrier = *c;

    barrier.kind = HPCBOOT_COLL_BARRIER;
    ops->call(ctx, &barrier);
}

/* Microseconds that the calls took here; barriers between them do not count. */
static double group(const struct hb_perf_ops *ops, void *ctx,
                    const struct hb_perf_call *c, unsigned calls)
{
    double us = 0, begun = now_us();

    if (!c->sync) {
        for (unsigned i = 0; i < calls; i++) {
            ops->call(ctx, c);
        }
        return now_us() - begun;
    }
    for (unsigned i = 0; i < calls; i++) {
        meet(ops, ctx, c);
        begun = now_us();
        ops->call(ctx, c);
        us += now_us() - begun;
    }
    return us;
}

/* Microseconds of a call, with the barrier before it where there is one; the
 * same number at every rank. */
static double warm_up(const struct hb_perf_ops *ops, void *ctx,
                      const struct hb_perf_call *c)
{
    double us = 0;

    for (unsigned n = WARM_CALLS;; n *= 2) {
        meet(ops, ctx, c);
        us = now_us();
        group(ops, ctx, c, n);
        us = now_us() - us;
        ops->mean(ctx, &us, 1);
        if (us >= WARM_US || n >= WARM_CALLS_MOST) {
            return us / n;
        }
    }
}

static uint64_t wrong_of(const struct hb_perf_ops *ops, void *ctx,
                         const struct hb_perf_call *c)
{
    double wrong;

    fill(c);
    meet(ops, ctx, c);
    ops->call(ctx, c);
    wrong = (double)check(c);
    ops->mean(ctx, &wrong, 1);
    return (uint64_t)(wrong * c->size + 0.5);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void summarize(double *us, int n, struct hb_perf_row *out)
{
    double sum = 0;

    qsort(us, (size_t)n, sizeof *us, compare);
    for (int i = 0; i < n; i++) {
        sum += us[i];
    }
    out->min_us = us[0];
    out->median_us = n % 2 == 1 ? us[n / 2] : (us[n / 2 - 1] + us[n / 2]) / 2;
    out->avg_us = sum / n;
    out->p99_us = us[(n * 99 + 99) / 100 - 1];
    out->max_us = us[n - 1];
}

/* What the mean over all ranks is to be multiplied with: in a ping-pong two
 * ranks have a time, which is that of two messages. */
static double scale_of(const struct hb_perf_call *c)
{
    return c->kind == HB_PERF_PINGPONG ? c->size / 2.0 / 2.0 : 1;
}

static int clamp(double n, int least, int most)
{
    return n < least ? least : n > most ? most : (int)n;
}

void hb_perf_measure(const struct hb_perf_ops *ops, void *ctx,
                     const struct hb_perf_call *c, double time_us,
                     struct hb_perf_row *out)
{
    double us[SAMPLES_MOST];
    uint64_t wrong = wrong_of(ops, ctx, c);
    double once = warm_up(ops, ctx, c);
    double least = time_us / SAMPLES_MOST;
    unsigned calls = (unsigned)clamp(
        (least > GROUP_US ? least : GROUP_US) / once, 1, 1 << 20);
    int n = clamp(time_us / (once * calls), SAMPLES_LEAST, SAMPLES_MOST);
    int takes_part = c->kind != HB_PERF_PINGPONG || receives(c);

    meet(ops, ctx, c);
    for (int i = 0; i < n; i++) {
        us[i] = group(ops, ctx, c, calls) / calls;
        us[i] *= takes_part ? scale_of(c) : 0;
    }
    ops->mean(ctx, us, n);
    *out = (struct hb_perf_row){
        .kind = c->kind, .ranks = (unsigned)c->size, .bytes = c->bytes,
        .calls = (uint64_t)n * calls};
    summarize(us, n, out);
    out->wrong = wrong + wrong_of(ops, ctx, c);
}

int hb_perf_pin(int number)
{
    cpu_set_t all, one;

    if (sched_getaffinity(0, sizeof all, &all) != 0) {
        return -1;
    }
    int nth = number % CPU_COUNT(&all), cpu = 0;
    while (!CPU_ISSET(cpu, &all) || nth-- > 0) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one);
}

void hb_perf_csv(const struct hb_perf_row *row, char *out, size_t size)
{
    snprintf(out, size, "%s,%u,%llu,%.4f,%.4f,%.4f,%.4f,%.4f,%llu,%llu",
             names[row->kind], row->ranks, (unsigned long long)row->bytes,
             row->min_us, row->median_us, row->avg_us, row->p99_us,
             row->max_us, (unsigned long long)row->calls,
             (unsigned long long)row->wrong);
}
