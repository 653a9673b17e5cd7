/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_PERF_LOOP_H
#define HB_HPCBOOT_PERF_LOOP_H

/* How long a collective takes: one loop, whoever makes the calls. It uses
 * nothing of hpcboot's, so that tests/bench compiles it with any MPI too. */

#include <stddef.h>
#include <stdint.h>

#include "hpcboot/coll.h"

/* Beside the collectives: a message from the first rank to the last and back
 * again, whose time is halved. */
#define HB_PERF_PINGPONG HPCBOOT_COLLS
#define HB_PERF_KINDS (HPCBOOT_COLLS + 1)
const char *hb_perf_name(int kind); /* NULL: there is no such kind */

/* One call. `bytes` is what one rank gives, or in calls with a block for each
 * rank (alltoall, gather and the like) one block. Elements are floats where
 * bytes are a multiple of four, else unsigned bytes; reductions are sums; the
 * root is rank 0. */
struct hb_perf_call {
    int kind;    /* enum hpcboot_coll, or HB_PERF_PINGPONG */
    size_t bytes;
    int rank, size;
    int sync;          /* a barrier before each call that is timed */
    void *send, *recv; /* hb_perf_room bytes each; not read by a barrier */
};

struct hb_perf_ops {
    void (*call)(void *ctx, const struct hb_perf_call *c);
    /* Every value becomes its mean over the ranks, the same at all. */
    void (*mean)(void *ctx, double *values, int n);
};

struct hb_perf_row {
    int kind;
    unsigned ranks;
    uint64_t bytes;
    double min_us, median_us, avg_us, p99_us, max_us;
    uint64_t calls;  /* that were timed */
    uint64_t wrong;  /* elements that were not what they should be */
};

size_t hb_perf_room(int kind, size_t bytes, int size);

/* Checks what a call gives, warms up, measures for about time_us, checks
 * again. Called by all ranks. A sample is the time of one call, or of as many
 * as take some microseconds, divided by their number; it is the mean over the
 * ranks. Without `sync` calls follow each other, and a rank that waits for
 * nobody runs ahead; with it all begin together, each is timed alone, and the
 * barrier does not count. */
void hb_perf_measure(const struct hb_perf_ops *ops, void *ctx,
                     const struct hb_perf_call *c, double time_us,
                     struct hb_perf_row *out);

/* Binds this process to the CPU of this number among those it may use, round
 * and round. 0, or -1 with errno. */
int hb_perf_pin(int number);

/* One line without its end: collective,ranks,bytes,min_us,median_us,avg_us,
 * p99_us,max_us,calls,wrong. Writes at most `size` bytes, NUL included. */
#define HB_PERF_CSV_HEAD \
    "collective,ranks,bytes,min_us,median_us,avg_us,p99_us,max_us,calls,wrong"
#define HB_PERF_CSV_MAX 256
void hb_perf_csv(const struct hb_perf_row *row, char *out, size_t size);

#endif
