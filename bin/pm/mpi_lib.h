/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_MPI_LIB_H
#define HB_PM_MPI_LIB_H

#include "bin/pm/family.h"
#include "bin/pm/libpath.h"

/* What an ELF file links that is of interest here. */
struct hb_mpi_link {
    enum hb_pm_family family; /* HB_PM_NONE: nothing was found */
    enum hb_mpi_flavour flavour;
    int links_mpi;
    uint32_t n_libraries; /* that were looked at */
    char what[128];       /* "libmpi.so.40", "PMI_FD in it" */
    char where[256];      /* the library's file; "" when it was not found */
    char missing[128];    /* the first library that was not found, or "" */
};

/* Walks what the file needs. HPCBOOT_ERR_PARSE: it is no ELF file. */
int hb_mpi_link_find(struct hb_mpi_link *out, const struct hb_place *place,
                     const char *path, struct hpcboot_error *err);

/* Whether a client is linked statically into the file; *out then says which. */
int hb_mpi_link_inside(struct hb_mpi_link *out, const char *path);

/* Whether a file of that name is an MPI's library, and not a layer on it. */
int hb_mpi_is_library(const char *path);

/* Which MPI the library itself is, by its name and what it needs. */
void hb_mpi_link_library(struct hb_mpi_link *out, const char *path);

#endif
