/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_RANKSET_H
#define HB_PM_RANKSET_H

#include <stdint.h>

#include "lib/base/str.h"

/* Sets of ranks or nodes as ascending arrays, for what names a fence. */

/* Sorts and drops what is there twice; the new number of entries. */
uint32_t hb_rankset_unique(uint32_t *list, uint32_t n);

/* Appends a name of the set that every node makes alike: the list itself,
 * or, where that is long, its digest. */
void hb_rankset_name(struct hb_str *out, const uint32_t *list, uint32_t n);

#endif
