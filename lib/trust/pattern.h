/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TRUST_PATTERN_H
#define HB_TRUST_PATTERN_H

#include <stddef.h>

/* Host patterns of OpenSSH's files: `*`, `?`, and `!` in front for "not".
 * Letters of both cases are the same. */

/* 1: it matches. Takes time in the product of the lengths at most. */
int hb_pattern_match(const char *text, const char *pattern, size_t len);

/* A list, separated by any of `separators`: 1 when one pattern matches and no
 * negated one does, -1 when a negated one does, else 0. */
int hb_pattern_list(const char *text, const char *list, size_t len,
                    const char *separators);
/* The same where letters of both cases are not the same. */
int hb_pattern_list_cased(const char *text, const char *list, size_t len,
                          const char *separators);

#endif
