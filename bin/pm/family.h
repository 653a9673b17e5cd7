/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_FAMILY_H
#define HB_PM_FAMILY_H

#include "bin/pm/pm.h"

/* Which process-management family a program needs, told by its ELF file and
 * what it links, through scripts and interpreters as far as that goes. Reads
 * files only, runs nothing. */
enum hb_mpi_flavour {
    HB_MPI_UNKNOWN, HB_MPI_NONE, HB_MPI_OPENMPI4, HB_MPI_OPENMPI5,
    HB_MPI_MPICH, HB_MPI_INTEL, HB_MPI_MVAPICH
};

struct hb_family_choice {
    enum hb_pm_family family;
    enum hb_mpi_flavour flavour;
    int links_mpi;   /* an MPI library was found in the program */
    int certain;     /* 0: a stated rule was used, `why` says it */
    int found;       /* the program file was found on this host */
    char why[512];   /* one sentence for --explain */
};

/* argv[0] is looked up as execvp would with PATH of `env`, relative to wdir. */
int hb_family_detect(char *const *argv, const char *wdir, char *const *env,
                     struct hb_family_choice *out, struct hpcboot_error *err);
const char *hb_mpi_flavour_name(enum hb_mpi_flavour flavour);
int hb_mpi_flavour_parse(const char *name, enum hb_mpi_flavour *out);

#endif
