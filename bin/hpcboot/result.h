/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_RESULT_H
#define HB_HPCBOOT_RESULT_H

#include <stddef.h>

#include "lib/base/error.h"

/* Writes a result to stdout (path NULL or "-"), or to a file in one step: a
 * reader sees the file that was there before or the new one whole, and on
 * failure the old one stays. What is no regular file, takes this program's own
 * output, or is where nothing can be put (a mount, in a folder that may not be
 * written) is written to as it is. */
int hb_result_write(const char *path, const char *data, size_t len,
                    struct hpcboot_error *err);

/* Whether it could be written there now: for who works for long before. */
int hb_result_check(const char *path, struct hpcboot_error *err);

#endif
