/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_OWN_OUTPUT_H
#define HB_CLI_OWN_OUTPUT_H

#include <sys/stat.h>

/* STDOUT_FILENO or STDERR_FILENO where it leads to this regular file, whatever
 * the name; else -1. */
int hb_own_output(const struct stat *st);

#endif
