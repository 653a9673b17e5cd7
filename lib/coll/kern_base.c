/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Kernels for any processor: SSE2 on x86-64, NEON on AArch64, what the
 * compiler has elsewhere. Two-byte floats are converted by integer
 * arithmetic, without a branch, which compilers turn into vector code. */

#include "config.h"

#include "lib/coll/kern_sets.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

static inline float f16_value(uint32_t h)
{
    uint32_t sign = (h & 0x8000) << 16, rest = (h & 0x7fff) << 13;
    uint32_t special = (h & 0x7c00) == 0x7c00 ? 0x70000000u : 0;
    float scaled, magnitude = 0x1p112f;
    /* Read with a binary32's exponent the number is 2^112 too small; a
     * multiplication sets that right, for subnormal numbers too. */
    memcpy(&scaled, &rest, sizeof scaled);
    scaled *= magnitude;
    uint32_t bits;
    memcpy(&bits, &scaled, sizeof bits);
    bits = special ? (rest | 0x7f800000u) : bits;
    bits |= sign;
    memcpy(&scaled, &bits, sizeof scaled);
    return scaled;
}

/* To the nearest, to even where two are as near. */
static inline uint16_t f16_bits(float f)
{
    uint32_t u, sign, out;
    memcpy(&u, &f, sizeof u);
    sign = (u >> 16) & 0x8000;
    u &= 0x7fffffff;
    uint32_t nan = 0x7e00 | ((u >> 13) & 0x3ff);
    /* Below 2^-14 the result is subnormal: adding a half aligns the bits so
     * that the adder of the processor rounds. */
    float small, half = 0.5f;
    memcpy(&small, &u, sizeof small);
    small += half;
    uint32_t sub;
    memcpy(&sub, &small, sizeof sub);
    sub -= 0x3f000000;
    uint32_t norm = (u - (112u << 23) + 0xfff + ((u >> 13) & 1)) >> 13;
    out = u < (113u << 23) ? sub : norm;
    out = u >= (143u << 23) ? 0x7c00 : out;
    out = u > 0x7f800000 ? nan : out;
    return (uint16_t)(out | sign);
}

static void f16_load(float *to, const void *from, size_t m)
{
    for (size_t i = 0; i < m; i++) {
        uint16_t h;
        memcpy(&h, (const char *)from + 2 * i, sizeof h);
        to[i] = f16_value(h);
    }
}

static void f16_store(void *to, const float *from, size_t m)
{
    for (size_t i = 0; i < m; i++) {
        uint16_t h = f16_bits(from[i]);
        memcpy((char *)to + 2 * i, &h, sizeof h);
    }
}

#define HB_KERN_TABLE hb_kern_base
#define HB_KERN_COPY hb_kern_copy_base
#include "lib/coll/kern_impl.inc"
