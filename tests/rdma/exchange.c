/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Ranks pass buffers of 1 byte to 1 MiB around a ring, check every byte, and
 * add up their ranks. Exit status 1 when anything is wrong. */

#include <mpi.h>
#include <stdio.h>

#define LARGEST (1 << 20)
#define STEP 32
#define ROUNDS 3

static unsigned char out[LARGEST], in[LARGEST];

static int pass(int rank, int n, int size, int round)
{
    int to = (rank + 1) % n, from = (rank + n - 1) % n, bad = 0;

    for (int i = 0; i < size; i++) {
        out[i] = (unsigned char)(i * 7 + rank + round + size);
    }
    MPI_Sendrecv(out, size, MPI_BYTE, to, round, in, size, MPI_BYTE, from,
                 round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < size; i++) {
        bad += in[i] != (unsigned char)(i * 7 + from + round + size);
    }
    return bad;
}

int main(int argc, char **argv)
{
    int rank, n, bad = 0, sum = 0, all = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int size = 1; size <= LARGEST; size *= STEP) {
        for (int round = 0; round < ROUNDS; round++) {
            bad += pass(rank, n, size, round);
        }
    }
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    bad += sum != n * (n - 1) / 2;
    MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d ranks, %d bytes wrong\n", n, all);
    }
    MPI_Finalize();
    return all != 0;
}
