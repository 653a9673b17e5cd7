/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * A plain MPI program: each rank says where it runs, and all of them add up
 * their numbers, which tells whether they really found each other. Compiled
 * with any MPI's mpicc; nothing in it knows hpcboot.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    char host[MPI_MAX_PROCESSOR_NAME];
    int rank, size, length, sum = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d on %s\n", rank, size, host);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        int expected = size * (size - 1) / 2;
        printf("sum of all ranks: %d, expected %d: %s\n", sum, expected,
               sum == expected ? "right" : "WRONG");
    }
    MPI_Finalize();
    return sum == size * (size - 1) / 2 ? EXIT_SUCCESS : EXIT_FAILURE;
}
