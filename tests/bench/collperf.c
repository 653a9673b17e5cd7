/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* One loop around a collective of lib/coll alone, among ranks that it makes
 * itself: rank r on the r-th CPU of those allowed, round and round.
 *
 * usage: collperf [-n RANKS] [-b BLOCK_US] [-h] [-r REGION_KIB]
 *                 COLLECTIVE:BYTES ...
 *
 * A block is a barrier and as many calls as fill BLOCK_US; the time of a call
 * is the mean over the ranks of a block's time over its calls. Printed: the
 * collective, bytes, and minimum, median and maximum over the blocks in
 * microseconds. -h takes buffers that ranks share (hpcboot_alloc), -r another
 * size of the team's shared memory. Reductions are sums of floats (of bytes
 * below four). */

#include "config.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/coll/coll.h"

#define BLOCKS 9
#define CALIBRATE 3
#define ROOM ((size_t)40 << 20) /* each buffer: 16 MiB, and more for blocks */

enum kind {
    BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, ALLTOALL,
    REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, ALLGATHERV, ALLTOALLV, GATHERV,
    SCATTERV, REDUCE_SCATTER, KINDS
};
static const char *const names[KINDS] = {
    "barrier", "bcast", "reduce", "allreduce", "gather", "scatter",
    "allgather", "alltoall", "reduce_scatter_block", "scan", "exscan",
    "allgatherv", "alltoallv", "gatherv", "scatterv", "reduce_scatter",
};

struct run {
    int rank, size, heap;
    size_t region_kib; /* 0: what the team wants */
    double block_us;
    char *send, *recv;
    enum kind kind;
    size_t bytes;
};

static struct hb_coll_team *team;
static size_t counts[1024];

static void must(int rc, const struct hpcboot_error *err)
{
    if (rc != 0) {
        fprintf(stderr, "collperf: %s\n", err->text);
        _exit(1);
    }
}

static const enum hpcboot_coll colls[KINDS] = {
    HPCBOOT_COLL_BARRIER, HPCBOOT_COLL_BCAST, HPCBOOT_COLL_REDUCE,
    HPCBOOT_COLL_ALLREDUCE, HPCBOOT_COLL_GATHER, HPCBOOT_COLL_SCATTER,
    HPCBOOT_COLL_ALLGATHER, HPCBOOT_COLL_ALLTOALL,
    HPCBOOT_COLL_REDUCE_SCATTER_BLOCK, HPCBOOT_COLL_SCAN,
    HPCBOOT_COLL_EXSCAN, HPCBOOT_COLL_ALLGATHERV, HPCBOOT_COLL_ALLTOALLV,
    HPCBOOT_COLL_GATHERV, HPCBOOT_COLL_SCATTERV,
    HPCBOOT_COLL_REDUCE_SCATTER,
};

static void call(struct run *r)
{
    struct hpcboot_error err;
    bool words = r->bytes % 4 == 0;
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = colls[r->kind];
    a.type = words ? HPCBOOT_FLOAT : HPCBOOT_INT8;
    a.op = HPCBOOT_SUM;
    a.send = r->send;
    a.recv = r->recv;
    a.count = r->bytes / (words ? 4 : 1);
    if (r->kind >= ALLGATHERV) {
        for (int j = 0; j < r->size; j++) {
            counts[j] = a.count;
        }
        a.send_counts = a.recv_counts = counts;
    }
    must(r->kind == BARRIER ? hb_coll_barrier(team, &err)
                            : hb_coll_run(team, &a, NULL, &err), &err);
}

/* Over the ranks, the same at all. */
static void mean(struct run *r, double *value)
{
    struct hpcboot_error err;
    double in = *value, sum = 0;
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_ALLREDUCE;
    a.type = HPCBOOT_DOUBLE;
    a.send = &in;
    a.recv = &sum;
    a.count = 1;
    must(hb_coll_run(team, &a, NULL, &err), &err);
    *value = sum / r->size;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void pin(int rank)
{
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    int nth = rank % CPU_COUNT(&all);
    for (int c = 0; c < CPU_SETSIZE; c++) {
        if (CPU_ISSET(c, &all) && nth-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(c, &one);
            sched_setaffinity(0, sizeof one, &one);
            return;
        }
    }
}

static double block(struct run *r, long calls)
{
    struct run sync = *r;
    sync.kind = BARRIER;
    call(&sync);
    double t = now_us();
    for (long i = 0; i < calls; i++) {
        call(r);
    }
    t = (now_us() - t) / (double)calls;
    mean(r, &t);
    return t;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void row(struct run *r, char *spec)
{
    char *colon = strchr(spec, ':');
    double us[BLOCKS];
    r->bytes = colon != NULL ? strtoull(colon + 1, NULL, 10) : 0;
    r->kind = BARRIER;
    for (int k = 0; k < KINDS; k++) {
        size_t len = colon != NULL ? (size_t)(colon - spec) : strlen(spec);
        if (strlen(names[k]) == len && strncmp(names[k], spec, len) == 0) {
            r->kind = (enum kind)k;
        }
    }
    double once = block(r, CALIBRATE);
    once = block(r, once * 50 < r->block_us ? 50 : CALIBRATE);
    long calls = (long)(r->block_us / once);
    calls = calls < 1 ? 1 : calls;
    for (int i = 0; i < BLOCKS; i++) {
        us[i] = block(r, calls);
    }
    qsort(us, BLOCKS, sizeof *us, compare);
    if (r->rank == 0) {
        printf("%s %zu %.4f %.4f %.4f\n", names[r->kind], r->bytes, us[0],
               us[BLOCKS / 2], us[BLOCKS - 1]);
        fflush(stdout);
    }
}

static void rows_of(struct run *r, char **spec)
{
    memset(r->send, 1, ROOM);
    memset(r->recv, 1, ROOM);
    for (; *spec != NULL; spec++) {
        row(r, *spec);
    }
}

static char *map(size_t bytes, int fd)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void be_rank(struct run *r, char **spec, int fd, size_t region)
{
    struct hpcboot_error err;
    size_t heap = (size_t)r->size * 2 * ROOM;
    char *m = map(4096 + region + heap, fd);
    struct hb_coll_config c = HB_COLL_CONFIG_INIT;
    struct hb_coll_team_args a = HB_COLL_TEAM_INIT;
    struct hb_coll_engine *engine;
    c.page = (void *)m;
    c.heap = (struct hb_coll_heap){m + 4096 + region, heap};
    c.node_rank = r->rank;
    c.node_size = r->size;
    must(hb_coll_create(&c, &engine, &err), &err);
    a.rank = r->rank;
    a.size = r->size;
    a.region = m + 4096;
    a.region_size = region;
    must(hb_coll_team_create(engine, &a, &team, &err), &err);
    r->send = map(ROOM, -1);
    r->recv = map(ROOM, -1);
    if (r->heap) {
        r->send = m + 4096 + region + (size_t)r->rank * 2 * ROOM;
        r->recv = r->send + ROOM;
    }
    rows_of(r, spec);
    hb_coll_team_destroy(team);
    hb_coll_destroy(engine);
}

static int run_all(struct run *r, char **spec)
{
    cpu_set_t all;
    struct hpcboot_error err;
    size_t region = r->region_kib > 0 ? r->region_kib << 10
                                      : hb_coll_region_size(r->size);
    int fd = memfd_create("collperf", 0), bad = 0;
    size_t heap = (size_t)r->size * 2 * ROOM;
    sched_getaffinity(0, sizeof all, &all);
    if (fd < 0 || ftruncate(fd, (off_t)(4096 + region + heap)) != 0) {
        return perror("collperf: memfd"), 1;
    }
    struct hb_coll_node_page *page = (void *)map(4096, fd);
    page->wait_mode = r->size > CPU_COUNT(&all) ? HB_COLL_WAIT_YIELD
                                                : HB_COLL_WAIT_SPIN;
    if (hb_coll_model_share(page, r->size, &err) < 0) {
        return fprintf(stderr, "collperf: %s\n", err.text), 1;
    }
    for (r->rank = 0; r->rank < r->size; r->rank++) {
        if (fork() == 0) {
            pin(r->rank);
            be_rank(r, spec, fd, region);
            _exit(0);
        }
    }
    for (int status = 0; wait(&status) > 0;) {
        bad |= status;
    }
    return bad != 0;
}

int main(int argc, char **argv)
{
    struct run r = {.size = 2, .block_us = 2000};
    for (int o; (o = getopt(argc, argv, "n:b:hr:")) != -1;) {
        if (o == 'n') {
            r.size = atoi(optarg);
        } else if (o == 'b') {
            r.block_us = atof(optarg);
        } else if (o == 'r') {
            r.region_kib = strtoull(optarg, NULL, 10);
        } else if (o == 'h') {
            r.heap = 1;
        } else {
            return 2;
        }
    }
    return run_all(&r, argv + optind);
}
