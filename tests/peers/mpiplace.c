/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Says where each rank may run after MPI_Init, so that an MPI that bound its
 * ranks itself would show: "rank 0 cpus 0 xml 1", xml: HWLOC_XMLFILE names a
 * file that can be read. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *xml = getenv("HWLOC_XMLFILE");
    char cpus[256] = "";
    cpu_set_t set;
    int rank, n = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sched_getaffinity(0, sizeof set, &set);
    for (int i = 0; i < CPU_SETSIZE && n < 240; i++) {
        if (CPU_ISSET(i, &set)) {
            n += snprintf(cpus + n, sizeof cpus - (size_t)n, "%s%d",
                          n > 0 ? "," : "", i);
        }
    }
    printf("rank %d cpus %s xml %d\n", rank, cpus,
           xml != NULL && access(xml, R_OK) == 0);
    MPI_Finalize();
    return 0;
}
