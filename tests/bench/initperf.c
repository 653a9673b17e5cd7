/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How long a rank is in its first call of the library, and how much memory is
 * its own then and after some collectives: for an MPI (compiled by its mpicc
 * with -DBENCH_MPI), and for libhpcboot. The first rank prints one line:
 * RANKS INIT_MS PRIVATE_KIB THEN_KIB, each the most of all ranks.
 *
 * Private is what /proc says is mapped by nobody else: with the memory that
 * ranks share only the sum would say more. */

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEYS 3
#define SMALL 1
#define LARGE 16384 /* doubles: 128 KiB */

#ifdef BENCH_MPI
#include <mpi.h>

static void begin(int *rank, int *size)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
}

static void most(double *in, double *out, int n)
{
    MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static void end(void)
{
    MPI_Finalize();
}
#else
#include <hpcboot/hpcboot.h>

static void must(int rc, const struct hpcboot_error *err)
{
    if (rc < 0) {
        fprintf(stderr, "initperf: %s\n", err->text);
        exit(1);
    }
}

static void begin(int *rank, int *size)
{
    struct hpcboot_error err;

    must(hpcboot_init(NULL, &err), &err);
    *rank = hpcboot_rank();
    *size = hpcboot_size();
}

static void most(double *in, double *out, int n)
{
    struct hpcboot_error err;

    must(hpcboot_allreduce(in, out, (size_t)n, HPCBOOT_DOUBLE, HPCBOOT_MAX,
                           hpcboot_world(), &err), &err);
}

static void end(void)
{
    struct hpcboot_error err;

    must(hpcboot_finalize(&err), &err);
}
#endif

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double private_kib(void)
{
    char line[256];
    double sum = 0;
    FILE *f = fopen("/proc/self/smaps_rollup", "re");

    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, "Private_", 8) == 0) {
            sum += strtod(strchr(line, ':') + 1, NULL);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return sum;
}

int main(void)
{
    static double in[LARGE], out[LARGE];
    double mine[KEYS], all[KEYS], before = now_ms();
    int rank, size;

    memset(in, 1, sizeof in); /* its pages are there before any is counted */
    memset(out, 1, sizeof out);
    begin(&rank, &size);
    mine[0] = now_ms() - before;
    mine[1] = private_kib();
    most(in, out, SMALL);
    most(in, out, LARGE);
    mine[2] = private_kib();
    most(mine, all, KEYS);
    if (rank == 0) {
        printf("%d %.3f %.0f %.0f\n", size, all[0], all[1], all[2]);
    }
    end();
    return 0;
}
