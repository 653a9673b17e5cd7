/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The loop of `hpcboot perf` for an MPI: compiled with its mpicc, together
 * with bin/hpcboot/perf_loop.c, and started by its own launcher. Rows come out
 * as those of `hpcboot perf --csv --pin`.
 *
 * usage: mpiperf TIME_MS COLLECTIVE[:BYTES],... [free] [sync]
 *   free: ranks are not bound to CPUs
 *   sync: a barrier before each call, which is timed alone */

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/hpcboot/perf_loop.h"

static int *counts, *displs;

static void rows(int size, int n)
{
    for (int i = 0; i < size; i++) {
        counts[i] = n;
        displs[i] = n * i;
    }
}

static void ping_pong(const struct hb_perf_call *c, int n, MPI_Datatype t)
{
    MPI_Comm w = MPI_COMM_WORLD;
    int last = c->size - 1;

    if (c->rank == 0) {
        MPI_Send(c->send, n, t, last, 1, w);
        MPI_Recv(c->recv, n, t, last, 1, w, MPI_STATUS_IGNORE);
    } else if (c->rank == last) {
        MPI_Recv(c->recv, n, t, 0, 1, w, MPI_STATUS_IGNORE);
        MPI_Send(c->recv, n, t, 0, 1, w);
    }
}

static void call(void *ctx, const struct hb_perf_call *c)
{
    int words = c->bytes % sizeof(float) == 0;
    MPI_Datatype t = words ? MPI_FLOAT : MPI_UNSIGNED_CHAR;
    int n = (int)(words ? c->bytes / sizeof(float) : c->bytes);
    MPI_Comm w = MPI_COMM_WORLD;
    void *s = c->send, *d = c->recv;

    (void)ctx;
    rows(c->size, n);
    switch (c->kind) {
    case HPCBOOT_COLL_BARRIER: MPI_Barrier(w); break;
    case HPCBOOT_COLL_BCAST: MPI_Bcast(d, n, t, 0, w); break;
    case HPCBOOT_COLL_SCATTER: MPI_Scatter(s, n, t, d, n, t, 0, w); break;
    case HPCBOOT_COLL_SCATTERV:
        MPI_Scatterv(s, counts, displs, t, d, n, t, 0, w);
        break;
    case HPCBOOT_COLL_GATHER: MPI_Gather(s, n, t, d, n, t, 0, w); break;
    case HPCBOOT_COLL_GATHERV:
        MPI_Gatherv(s, n, t, d, counts, displs, t, 0, w);
        break;
    case HPCBOOT_COLL_ALLGATHER: MPI_Allgather(s, n, t, d, n, t, w); break;
    case HPCBOOT_COLL_ALLGATHERV:
        MPI_Allgatherv(s, n, t, d, counts, displs, t, w);
        break;
    case HPCBOOT_COLL_REDUCE: MPI_Reduce(s, d, n, t, MPI_SUM, 0, w); break;
    case HPCBOOT_COLL_ALLREDUCE: MPI_Allreduce(s, d, n, t, MPI_SUM, w); break;
    case HPCBOOT_COLL_REDUCE_SCATTER:
        MPI_Reduce_scatter(s, d, counts, t, MPI_SUM, w);
        break;
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
        MPI_Reduce_scatter_block(s, d, n, t, MPI_SUM, w);
        break;
    case HPCBOOT_COLL_ALLTOALL: MPI_Alltoall(s, n, t, d, n, t, w); break;
    case HPCBOOT_COLL_ALLTOALLV:
        MPI_Alltoallv(s, counts, displs, t, d, counts, displs, t, w);
        break;
    case HPCBOOT_COLL_SCAN: MPI_Scan(s, d, n, t, MPI_SUM, w); break;
    case HPCBOOT_COLL_EXSCAN: MPI_Exscan(s, d, n, t, MPI_SUM, w); break;
    default: ping_pong(c, n, t);
    }
}

/* Reduced at one rank and told to all, so that all have the same bits. */
static void mean(void *ctx, double *values, int n)
{
    double *sums = malloc((size_t)n * sizeof *sums);
    int size;

    (void)ctx;
    if (sums == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Reduce(values, sums, n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Bcast(sums, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        values[i] = sums[i] / size;
    }
    free(sums);
}

static int kind_of(const char *name)
{
    for (int k = 0; k < HB_PERF_KINDS; k++) {
        if (strcmp(hb_perf_name(k), name) == 0) {
            return k;
        }
    }
    fprintf(stderr, "mpiperf: there is no collective %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return -1;
}

static void measure(struct hb_perf_call *c, char *word, double time_us)
{
    static const struct hb_perf_ops ops = {.call = call, .mean = mean};
    char *colon = strchr(word, ':'), line[HB_PERF_CSV_MAX];
    struct hb_perf_row row;

    if (colon != NULL) {
        *colon = '\0';
    }
    c->bytes = colon != NULL ? strtoull(colon + 1, NULL, 10) : 0;
    c->kind = kind_of(word);
    size_t room = hb_perf_room(c->kind, c->bytes, c->size);
    c->send = malloc(room + 1);
    c->recv = malloc(room + 1);
    if (c->send == NULL || c->recv == NULL || room > INT_MAX) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    hb_perf_measure(&ops, NULL, c, time_us, &row);
    if (c->rank == 0) {
        hb_perf_csv(&row, line, sizeof line);
        printf("%s\n", line);
        fflush(stdout);
    }
    free(c->send);
    free(c->recv);
}

static int asked(int argc, char **argv, const char *word)
{
    int found = 0;

    for (int i = 3; i < argc; i++) {
        found |= strcmp(argv[i], word) == 0;
    }
    return found;
}

int main(int argc, char **argv)
{
    struct hb_perf_call c = {0};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c.size);
    counts = calloc((size_t)c.size, sizeof *counts);
    displs = calloc((size_t)c.size, sizeof *displs);
    if (argc < 3 || counts == NULL || displs == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    c.sync = asked(argc, argv, "sync");
    if (!asked(argc, argv, "free")) {
        hb_perf_pin(c.rank);
    }
    for (char *word = strtok(argv[2], ","); word != NULL;
         word = strtok(NULL, ",")) {
        measure(&c, word, atof(argv[1]) * 1000);
    }
    MPI_Finalize();
    free(counts);
    free(displs);
    return 0;
}
