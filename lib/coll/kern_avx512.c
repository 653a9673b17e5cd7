/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Kernels for x86-64 with AVX512: vectors of 64 bytes, two-byte floats
 * converted by the processor. kern.c calls them where the processor has it;
 * nothing else of the library is compiled for it. */

#include "config.h"

#include "lib/coll/kern_sets.h"

#ifdef __x86_64__
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(                                              \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c"))),    \
    apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,f16c")
#pragma GCC target("prefer-vector-width=512")
#endif

enum { LANES = 16 };

static void f16_load(float *to, const void *from, size_t m)
{
    const char *p = from;
    for (size_t i = 0; i < m; i += LANES) {
        __mmask16 k = m - i < LANES ? (1u << (m - i)) - 1 : 0xffff;
        __m256i h = _mm256_maskz_loadu_epi16(k, p + 2 * i);
        _mm512_mask_storeu_ps(to + i, k, _mm512_cvtph_ps(h));
    }
}

static void f16_store(void *to, const float *from, size_t m)
{
    char *p = to;
    for (size_t i = 0; i < m; i += LANES) {
        __mmask16 k = m - i < LANES ? (1u << (m - i)) - 1 : 0xffff;
        __m256i h = _mm512_cvtps_ph(_mm512_maskz_loadu_ps(k, from + i),
                                    _MM_FROUND_TO_NEAREST_INT);
        _mm256_mask_storeu_epi16(p + 2 * i, k, h);
    }
}

#define HB_KERN_TABLE hb_kern_avx512
#define HB_KERN_COPY hb_kern_copy_avx512
#include "lib/coll/kern_impl.inc"

#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
