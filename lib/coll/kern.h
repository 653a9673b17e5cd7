/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_KERN_H
#define HB_COLL_KERN_H

/* Reduction kernels: element by element, `n` >= 1 vectors to one. */

#include <stddef.h>

#include "hpcboot/coll.h"

/* dst[i] = src[0][i] op src[1][i] op ... src[n-1][i], applied from the left;
 * two-byte floats are rounded once, at the end. `dst` may be one of the
 * sources, and overlaps none in any other way. `ranks` is the divisor of AVG.
 * Nothing need be aligned. */
typedef void (*hb_fold_fn)(void *dst, const void *const *src, int n,
                           size_t count, int ranks);

typedef hb_fold_fn hb_fold_table[HPCBOOT_OPS][HPCBOOT_TYPES];

/* The fastest that this processor runs; NULL where op is not defined on
 * type. */
hb_fold_fn hb_kern_fold(int op, enum hpcboot_type type);

/* As memcpy, while another core writes what comes next. */
void hb_kern_get(void *dst, const void *src, size_t bytes);

/* As memcpy, for whole buffers: this core's or another's. */
void hb_kern_copy(void *dst, const void *src, size_t bytes);

/* As memcpy, to where another core will read, and has read what was there. */
void hb_kern_put(void *dst, const void *src, size_t bytes);

/* As memcpy, past this core's cache: when it returns, the bytes are on their
 * way to memory before any later store. Without such stores: a copy. */
void hb_kern_stream(void *dst, const void *src, size_t bytes);

/* For tests: the tables of all instruction sets that this processor runs.
 * NULL past the last. */
struct hb_kern_set {
    const char *name; /* "avx2" */
    const hb_fold_table *fold;
    void (*copy)(void *dst, const void *src, size_t bytes);
};
const struct hb_kern_set *hb_kern_set(int i);

#endif
