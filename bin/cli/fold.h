/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_FOLD_H
#define HB_CLI_FOLD_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/str.h"
#include "lib/base/strv.h"

/* Python tracebacks of many ranks. The first rank that shows one is let
 * through; those of the others are kept back, because they mostly say that the
 * first one is gone. What is kept is bounded, of each rank the last one first;
 * no I/O. */
struct hb_fold;

void hb_fold_create(struct hb_fold **out, uint32_t n_ranks);
void hb_fold_destroy(struct hb_fold *f); /* NULL-safe */
/* What of a piece of a rank's standard error is to be shown: appended to
 * *shown. Pieces are whole lines, or parts of a long one. */
void hb_fold_take(struct hb_fold *f, uint32_t rank, const char *data,
                  size_t len, struct hb_str *shown);
/* The rank whose traceback was let through; UINT32_MAX: there was none. */
uint32_t hb_fold_first(const struct hb_fold *f);
/* At the end: the traceback of the rank that failed first, where it was kept
 * back ("" otherwise), and a line for each last line that ranks had, one for
 * those that differ in numbers alone. */
const char *hb_fold_text(const struct hb_fold *f, uint32_t rank);
void hb_fold_summary(const struct hb_fold *f, struct hb_strv *lines);

#endif
