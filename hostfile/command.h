/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_COMMAND_H
#define HB_HOSTFILE_COMMAND_H

#include <stddef.h>

#include "lib/base/error.h"

/* Runs a command of a batch system (found in PATH) in the environment `env`
 * and takes what it writes to stdout, NUL-terminated; free() it. It is killed
 * when it takes longer than a user would wait for an answer. */
int hb_command_output(char *const *argv, char *const *env, size_t max_bytes,
                      char **text_out, size_t *len_out,
                      struct hpcboot_error *err);

#endif
