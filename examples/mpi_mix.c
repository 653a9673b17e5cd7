/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* MPI and libhpcboot in one program: MPI starts the ranks and does what it
 * always did; a reduction in the inner loop goes through libhpcboot.
 *
 *   mpicc mpi_mix.c $(pkg-config --cflags --libs hpcboot) -o mpi_mix
 *   hbrun -n 4 ./mpi_mix        (or mpirun, mpiexec, srun)
 */
#include <mpi.h>
#include <stdio.h>

#include <hpcboot/hpcboot.h>
#include <hpcboot/mpi.h>

#define ROUNDS 100

int main(int argc, char **argv)
{
    struct hpcboot_error err = {0};
    MPI_Comm comm;
    int rank, rc;
    double mine, theirs = 0, ours = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    rc = hpcboot_init_mpi(&comm, NULL, &err);
    for (int i = 0; rc == 0 && i < ROUNDS; i++) {
        mine = rank + i;
        rc = hpcboot_allreduce(&mine, &ours, 1, HPCBOOT_DOUBLE, HPCBOOT_SUM,
                               hpcboot_world(), &err);
        MPI_Allreduce(&mine, &theirs, 1, MPI_DOUBLE, MPI_SUM, comm);
        if (rc == 0 && ours != theirs) {
            fprintf(stderr, "round %d: %g is not %g\n", i, ours, theirs);
            MPI_Abort(comm, 1);
        }
    }
    if (rc == 0 && rank == 0) {
        printf("%d ranks by %s: both say %g\n", hpcboot_size(),
               hpcboot_launcher(), ours);
    }
    if (rc == 0) {
        rc = hpcboot_finalize(&err);
    }
    if (rc < 0) {
        fprintf(stderr, "mpi_mix: %s\n", err.text);
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return rc < 0;
}
