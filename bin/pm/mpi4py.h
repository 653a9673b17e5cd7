/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_MPI4PY_H
#define HB_PM_MPI4PY_H

#include "bin/pm/libpath.h"

/* The mpi4py extension modules (mpi4py/MPI*.so) that a Python interpreter
 * would find: in PYTHONPATH, its virtual environment, the user's and the
 * system's packages. `interpreter` is its path as found, links not followed;
 * `args` begin behind it, as its options say what it looks at. Only those of
 * the first place that has any, of these the one that MPI4PY_MPIABI names.
 *
 * *library_out: the MPI library that an mpi4py with a module per MPI (the
 * wheels of mpi4py 4) would load: of MPI4PY_LIBMPI, of the environment the
 * interpreter stands in, of the user, of the system. NULL: it is not of that
 * kind, leaves the search to the loader (MPI4PY_MPIABI), or finds none. free()
 * it.
 *
 * 0: they may be another version's, as the interpreter's cannot be told. */
int hb_mpi4py_find(const struct hb_place *place, const char *interpreter,
                   char *const *args, struct hb_strv *modules,
                   char **library_out);

/* Whether a Python command line speaks of mpi4py: in its words, or in the
 * script it names. `args` begin behind the interpreter. */
int hb_mpi4py_named(const struct hb_place *place, char *const *args);

#endif
