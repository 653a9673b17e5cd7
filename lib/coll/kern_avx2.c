/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Kernels for x86-64 with AVX2: vectors of 32 bytes, two-byte floats
 * converted by the processor. kern.c calls them where the processor has it;
 * nothing else of the library is compiled for it. */

#include "config.h"

#include "lib/coll/kern_sets.h"

#ifdef __x86_64__
#include <immintrin.h>

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,f16c"))),         \
                             apply_to = function)
#else
#pragma GCC optimize("O3")
#pragma GCC target("avx2,f16c")
#endif

enum { LANES = 8 };

static void f16_load(float *to, const void *from, size_t m)
{
    const char *p = from;
    size_t i = 0;
    for (; i + LANES <= m; i += LANES) {
        __m128i h = _mm_loadu_si128((const __m128i *)(p + 2 * i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(h));
    }
    for (; i < m; i++) {
        uint16_t h;
        memcpy(&h, p + 2 * i, sizeof h);
        to[i] = _cvtsh_ss(h);
    }
}

static void f16_store(void *to, const float *from, size_t m)
{
    char *p = to;
    size_t i = 0;
    for (; i + LANES <= m; i += LANES) {
        __m128i h = _mm256_cvtps_ph(_mm256_loadu_ps(from + i),
                                    _MM_FROUND_TO_NEAREST_INT);
        _mm_storeu_si128((__m128i *)(p + 2 * i), h);
    }
    for (; i < m; i++) {
        uint16_t h = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
        memcpy(p + 2 * i, &h, sizeof h);
    }
}

#define HB_KERN_TABLE hb_kern_avx2
#define HB_KERN_COPY hb_kern_copy_avx2
#include "lib/coll/kern_impl.inc"

#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
