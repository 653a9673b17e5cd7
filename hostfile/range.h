/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_RANGE_H
#define HB_HOSTFILE_RANGE_H

#include <stddef.h>

#include "lib/base/str.h"
#include "lib/base/strv.h"

/* Ranges in host names, as Slurm and Flux write them: "n[01-03,7]-ib",
 * several brackets give all combinations, the rightmost running fastest.
 * Zero padding is that of a range's first number. */

/* The most names that any caller allows, as the message says. */
#define HB_RANGE_MAX (1u << 20)

/* Appends the names behind one expression (no commas outside brackets), at
 * most `max` of them. On failure nothing stays appended, *at_out is the
 * offset of what is wrong and *expected_out what should stand there. */
int hb_range_expand(const char *expr, size_t max, struct hb_strv *out,
                    size_t *at_out, const char **expected_out);

/* 1 when the text has a bracket that begins a range (not an IPv6 literal). */
int hb_range_is(const char *expr);

/* Writes names as a list with ranges: neighbours in order that differ in their
 * last number share a bracket. Expanding it again gives the same names in
 * order. */
void hb_range_compress(char *const *names, size_t n, struct hb_str *out);

#endif
