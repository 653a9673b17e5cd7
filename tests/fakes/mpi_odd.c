/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * An MPI program that does what few do. Rank 1 is the odd one, by
 * HPCBOOT_RANK where MPI is not initialised yet:
 *   mpi_odd absent    rank 1 exits with status 0 and never calls MPI_Init
 *   mpi_odd early     rank 1 exits with status 4 before MPI_Init
 *   mpi_odd names     rank 0 publishes a name, all look it up
 *   mpi_odd universe  rank 0 says what MPI_UNIVERSE_SIZE is
 *   mpi_odd wdir      rank 0 says what MPI_INFO_ENV has of it
 *   mpi_odd fatal     rank 1 makes an error that MPI ends the job for
 *   mpi_odd starts COMMAND   rank 0 runs it, the others wait
 *   mpi_odd traps     floating-point exceptions end it, from before MPI_Init on
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORT "tag#0$connentry#1$"
#define EARLY_STATUS 4

static int rank, size;

static int leaves(const char *kind)
{
    const char *own = getenv("HPCBOOT_RANK");

    return own != NULL && atoi(own) == 1 &&
           (strcmp(kind, "absent") == 0 || strcmp(kind, "early") == 0);
}

static void names(void)
{
    char port[MPI_MAX_PORT_NAME] = "";

    if (rank == 0) {
        MPI_Publish_name("hb-odd", MPI_INFO_NULL, PORT);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Lookup_name("hb-odd", MPI_INFO_NULL, port);
    printf("rank %d found %s\n", rank, strcmp(port, PORT) == 0 ? "it" : port);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Unpublish_name("hb-odd", MPI_INFO_NULL, PORT);
    }
}

static void wdir(void)
{
    char value[4096] = "";
    int found = 0;

    if (rank == 0) {
        MPI_Info_get(MPI_INFO_ENV, "wdir", sizeof value - 1, value, &found);
        printf("wdir %s\n", found ? value : "unknown");
    }
}

static void universe(void)
{
    int *total = NULL, found = 0;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &total, &found);
    if (rank == 0) {
        printf("universe of %d\n", found ? *total : 0);
    }
}

static void starts(const char *command)
{
    if (rank == 0) {
        printf("it ended with %d\n", system(command));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "";

    if (leaves(kind)) {
        return strcmp(kind, "early") == 0 ? EARLY_STATUS : 0;
    }
    if (strcmp(kind, "traps") == 0) { /* as gfortran -ffpe-trap does */
        feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(kind, "names") == 0) {
        names();
    } else if (strcmp(kind, "universe") == 0) {
        universe();
    } else if (strcmp(kind, "wdir") == 0) {
        wdir();
    } else if (strcmp(kind, "starts") == 0 && argc > 2) {
        starts(argv[2]);
    } else if (strcmp(kind, "fatal") == 0 && rank == 1) {
        MPI_Send(&rank, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    } else if (strcmp(kind, "fatal") == 0) {
        sleep(1000);
    }
    MPI_Finalize();
    return 0;
}
