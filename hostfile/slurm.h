/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_SLURM_H
#define HB_HOSTFILE_SLURM_H

#include <stddef.h>

#include "lib/base/error.h"

/* "8(x3),4,2": the numbers of the first n nodes; more are not looked at. The
 * text's errors are placed in the variable `what`. ERR_PARSE, too, when there
 * are fewer than n. */
int hb_slurm_counts(const char *what, const char *text, int *counts, size_t n,
                    struct hpcboot_error *err);

#endif
