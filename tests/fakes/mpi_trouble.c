/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * An MPI program in which rank 1 makes trouble while the others wait:
 *   mpi_trouble abort    calls MPI_Abort with code 7
 *   mpi_trouble leave    exits with status 0 without MPI_Finalize
 *   mpi_trouble exit     exits with status 3
 *   mpi_trouble segv     dies of SIGSEGV
 *   mpi_trouble wait     says so and waits, to be killed from outside
 *   mpi_trouble stay     each rank says what it is and stays for three seconds
 *   mpi_trouble noinit   no rank calls MPI_Init; all end well
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ABORT_CODE 7
#define EXIT_STATUS 3
#define LONG_S 1000
#define STAY_S 3

static void stay(void)
{
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d stays\n", rank, size);
    sleep(STAY_S);
    MPI_Finalize();
}

static void trouble(const char *kind)
{
    if (strcmp(kind, "abort") == 0) {
        MPI_Abort(MPI_COMM_WORLD, ABORT_CODE);
    } else if (strcmp(kind, "leave") == 0) {
        _exit(0);
    } else if (strcmp(kind, "exit") == 0) {
        exit(EXIT_STATUS);
    } else if (strcmp(kind, "wait") == 0) {
        printf("rank 1 waits\n");
        fflush(stdout);
        sleep(LONG_S);
    } else {
        raise(SIGSEGV);
    }
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "abort";
    int rank;

    if (strcmp(kind, "noinit") == 0) {
        return 0;
    }
    MPI_Init(&argc, &argv);
    if (strcmp(kind, "stay") == 0) {
        stay();
        return 0;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        trouble(kind);
    }
    sleep(LONG_S);
    MPI_Finalize();
    return 0;
}
