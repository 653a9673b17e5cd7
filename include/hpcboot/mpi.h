/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HPCBOOT_MPI_H
#define HPCBOOT_MPI_H

/* Ranks of an MPI program that use libhpcboot too: include <mpi.h> and this,
 * and call hpcboot_init_mpi between MPI_Init and MPI_Finalize. All of it is in
 * this header, so that the library knows no MPI and works with each. */
#include <mpi.h>
#include <stdio.h>

#include "hpcboot/job.h"

static inline int hpcboot_mpi_allgather_(void *arg, const void *send,
                                         void *recv, size_t size_bytes)
{
    const MPI_Comm *comm = (const MPI_Comm *)arg;
    const size_t most = (size_t)1 << 30; /* what an int can count */
    char *out = (char *)recv;
    int size, rc = MPI_Comm_size(*comm, &size);

    if (rc == MPI_SUCCESS && size_bytes <= most) {
        return MPI_Allgather((void *)send, (int)size_bytes, MPI_BYTE, out,
                             (int)size_bytes, MPI_BYTE, *comm) != MPI_SUCCESS;
    }
    return 1;
}

/* As hpcboot_init, for the ranks of `comm`, in its order. One of two groups
 * is ERR_USAGE. `comm` is borrowed until hpcboot_finalize, which comes before
 * MPI_Finalize; nobody else may use it meanwhile (MPI_Comm_dup makes one for
 * this). */
static inline int hpcboot_init_mpi(const MPI_Comm *comm,
                                   const struct hpcboot_init_options *options,
                                   struct hpcboot_error *err)
{
    struct hpcboot_bootstrap b = HPCBOOT_BOOTSTRAP_INIT;
    int two = 0; /* groups; an allgather would bring the other's bytes */

    if (*comm == MPI_COMM_NULL ||
        MPI_Comm_rank(*comm, &b.rank) != MPI_SUCCESS ||
        MPI_Comm_size(*comm, &b.size) != MPI_SUCCESS ||
        MPI_Comm_test_inter(*comm, &two) != MPI_SUCCESS || two) {
        if (err != NULL) {
            err->code = HPCBOOT_ERR_USAGE;
            err->sys_errno = 0;
            snprintf(err->text, sizeof err->text, "hpcboot_init_mpi: %s",
                     two ? "the communicator joins two groups; "
                           "MPI_Intercomm_merge makes one of them"
                         : "MPI does not know the communicator; pass one "
                           "that this rank is in");
        }
        return HPCBOOT_ERR_USAGE;
    }
    b.name = "mpi";
    b.allgather = hpcboot_mpi_allgather_;
    b.arg = (void *)comm;
    return hpcboot_init_with(&b, options, err);
}

#endif
