/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_KERN_SETS_H
#define HB_COLL_KERN_SETS_H

/* The tables of each instruction set; see kern_impl.inc. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/coll/kern.h"

extern const hb_fold_table hb_kern_base;
void hb_kern_copy_base(void *dst, const void *src, size_t bytes);
#ifdef __x86_64__
extern const hb_fold_table hb_kern_avx2;
extern const hb_fold_table hb_kern_avx512;
void hb_kern_copy_avx2(void *dst, const void *src, size_t bytes);
void hb_kern_copy_avx512(void *dst, const void *src, size_t bytes);
#endif

#endif
