/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which kernels this processor runs. Asked once; the answer is kept in a
 * word that any thread may set, to the same value. */

#include "config.h"

#include "lib/coll/kern.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <emmintrin.h>
#endif
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/coll/kern_sets.h"

static bool always(void)
{
    return true;
}

#ifdef __x86_64__
/* Not every compiler's __builtin_cpu_supports knows of it. The state that the
 * system has to save is AVX's, which has_avx2 asks for. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && has_f16c();
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

/* Sanitizers do not see what a string instruction touches. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) &&               \
    !defined(__SANITIZE_THREAD__)
#define STRINGS
#define STRINGS_KNOWN 1
#define STRINGS_FAST 2
#define FSRM (1u << 4) /* of leaf 7, edx */

/* Where a string instruction takes whole lines from another core without
 * asking what is in them, so that who reads is not held up as much. It is known
 * of Intel's processors since strings begin fast there. */
static bool has_fast_strings(void)
{
    static _Atomic int known;
    int is = atomic_load_explicit(&known, memory_order_relaxed);
    if (is == 0) {
        unsigned a = 0, b = 0, c = 0, d = 0;
        bool intel = __get_cpuid(0, &a, &b, &c, &d) != 0 &&
                     b == signature_INTEL_ebx && c == signature_INTEL_ecx;
        bool fast = intel && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
                    (d & FSRM) != 0;
        is = STRINGS_KNOWN | (fast ? STRINGS_FAST : 0);
        atomic_store_explicit(&known, is, memory_order_relaxed);
    }
    return (is & STRINGS_FAST) != 0;
}
#endif

/* The better, the later. */
static const struct {
    struct hb_kern_set set;
    bool (*runs)(void);
} sets[] = {
    {{"base", &hb_kern_base, hb_kern_copy_base}, always},
#ifdef __x86_64__
    {{"avx2", &hb_kern_avx2, hb_kern_copy_avx2}, has_avx2},
    {{"avx512", &hb_kern_avx512, hb_kern_copy_avx512}, has_avx512},
#endif
};
enum { SETS = sizeof sets / sizeof sets[0] };

const struct hb_kern_set *hb_kern_set(int i)
{
    for (int s = 0; s < SETS; s++) {
        if (sets[s].runs() && i-- == 0) {
            return &sets[s].set;
        }
    }
    return NULL;
}

static const struct hb_kern_set *best(void)
{
    static const struct hb_kern_set *_Atomic chosen;
    const struct hb_kern_set *t =
        atomic_load_explicit(&chosen, memory_order_relaxed);
    if (t == NULL) {
        for (int s = 0; s < SETS; s++) {
            t = sets[s].runs() ? &sets[s].set : t;
        }
        atomic_store_explicit(&chosen, t, memory_order_relaxed);
    }
    return t;
}

/* Fewer bytes are the C library's: it is inlined, or takes no string
 * instruction for them. */
#define COPY_OWN 1024

void hb_kern_copy(void *dst, const void *src, size_t bytes)
{
    if (bytes < COPY_OWN) {
        memcpy(dst, src, bytes);
    } else {
        best()->copy(dst, src, bytes);
    }
}

/* With fewer bytes a string instruction takes longer to begin than it saves. */
#define PUT_STRING ((size_t)12 << 10)

void hb_kern_put(void *dst, const void *src, size_t bytes)
{
#ifdef STRINGS
    if (bytes >= PUT_STRING && has_fast_strings()) {
        __asm__ volatile("rep movsb"
                         : "+D"(dst), "+S"(src), "+c"(bytes) : : "memory");
        return;
    }
#endif
    hb_kern_copy(dst, src, bytes);
}

#ifdef __x86_64__
#define LINE ((size_t)64)

/* Whole lines: four stores fill the buffer that goes to memory as one. */
static void stream_lines(char *to, const char *from, size_t lines)
{
    for (; lines > 0; lines--, to += LINE, from += LINE) {
        const __m128i *s = (const void *)from;
        __m128i *d = (void *)to;
        __m128i a = _mm_loadu_si128(s), b = _mm_loadu_si128(s + 1);
        __m128i c = _mm_loadu_si128(s + 2), e = _mm_loadu_si128(s + 3);
        _mm_stream_si128(d, a);
        _mm_stream_si128(d + 1, b);
        _mm_stream_si128(d + 2, c);
        _mm_stream_si128(d + 3, e);
    }
    _mm_sfence();
}

void hb_kern_stream(void *dst, const void *src, size_t bytes)
{
    char *to = dst;
    const char *from = src;
    size_t head = -(uintptr_t)to % LINE;
    head = head < bytes ? head : bytes;
    size_t whole = (bytes - head) / LINE * LINE;
    memcpy(to, from, head);
    stream_lines(to + head, from + head, whole / LINE);
    memcpy(to + head + whole, from + head + whole, bytes - head - whole);
}
#else
void hb_kern_stream(void *dst, const void *src, size_t bytes)
{
    hb_kern_copy(dst, src, bytes);
}
#endif

hb_fold_fn hb_kern_fold(int op, enum hpcboot_type type)
{
    if (op < 0 || op >= HPCBOOT_OPS || (unsigned)type >= HPCBOOT_TYPES) {
        return NULL;
    }
    return (*best()->fold)[op][type];
}
