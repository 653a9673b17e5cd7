/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_MPI4PY_H
#define HB_PM_MPI4PY_H

#include "bin/pm/libpath.h"

/* The mpi4py extension modules (mpi4py/MPI*.so) that a Python interpreter
 * would find: in PYTHONPATH, its virtual environment, the user's and the
 * system's packages. `interpreter` is its path as found, links not followed.
 * Only those of the first place that has any. */
void hb_mpi4py_find(const struct hb_place *place, const char *interpreter,
                    struct hb_strv *out);

/* Whether a Python command line speaks of mpi4py: in its words, or in the
 * script it names. `args` begin behind the interpreter. */
int hb_mpi4py_named(const struct hb_place *place, char *const *args);

#endif
