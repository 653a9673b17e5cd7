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
#define FSRM (1u << 4)     /* of leaf 7, edx */
#define FAMILY_IS_LARGE 15 /* another field counts on from there */
#define ZEN5 0x1a

/* What string instructions are the fastest for. */
enum strings {
    STRINGS_UNKNOWN, /* not asked yet */
    STRINGS_NONE,
    STRINGS_PUT, /* what is written where another core has read */
    STRINGS_COPY, /* and whole buffers */
};

static bool is_made_by(unsigned signature_b, unsigned signature_c)
{
    unsigned a, b = 0, c = 0, d;

    return __get_cpuid(0, &a, &b, &c, &d) != 0 && b == signature_b &&
           c == signature_c;
}

static bool begins_strings_fast(void)
{
    unsigned a, b, c, d = 0;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & FSRM) != 0;
}

static unsigned family(void)
{
    unsigned a = 0, b, c, d;

    (void)__get_cpuid(1, &a, &b, &c, &d);
    unsigned base = a >> 8 & 0xf;
    return base == FAMILY_IS_LARGE ? base + (a >> 20 & 0xff) : base;
}

/* A string instruction takes whole lines from another core without asking what
 * is in them, so that who reads is not held up as much. It is known of Intel's
 * processors since strings begin fast there, where lines that another core has
 * written are got more slowly by it. AMD's of the fifth generation (Zen 5) copy
 * whole buffers sooner with it, too; but from a ring as long as a cache, while
 * another core writes there, they get in 0.8 of the time in one process and in
 * three times as long in the next. Some before them are slow where source and
 * destination are at about the same place of a page. */
static enum strings ask_for_strings(void)
{
    if (!begins_strings_fast()) {
        return STRINGS_NONE;
    }
    if (is_made_by(signature_INTEL_ebx, signature_INTEL_ecx)) {
        return STRINGS_PUT;
    }
    return is_made_by(signature_AMD_ebx, signature_AMD_ecx) &&
                   family() >= ZEN5 ? STRINGS_COPY : STRINGS_NONE;
}

/* With fewer bytes it takes longer to begin than it saves. */
#define STRING_LEAST ((size_t)12 << 10)

/* Copies by a string instruction where that is the fastest for `what`. */
static bool copy_string(void *dst, const void *src, size_t bytes,
                        enum strings what)
{
    static _Atomic int known;
    int fast = atomic_load_explicit(&known, memory_order_relaxed);

    if (bytes < STRING_LEAST) {
        return false;
    }
    if (fast == STRINGS_UNKNOWN) {
        fast = (int)ask_for_strings();
        atomic_store_explicit(&known, fast, memory_order_relaxed);
    }
    if (fast < (int)what) {
        return false;
    }
    __asm__ volatile("rep movsb"
                     : "+D"(dst), "+S"(src), "+c"(bytes) : : "memory");
    return true;
}
#else
enum strings { STRINGS_PUT, STRINGS_COPY };

static bool copy_string(void *dst, const void *src, size_t bytes,
                        enum strings what)
{
    return false;
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

void hb_kern_get(void *dst, const void *src, size_t bytes)
{
    if (bytes < COPY_OWN) {
        memcpy(dst, src, bytes);
    } else {
        best()->copy(dst, src, bytes);
    }
}

void hb_kern_copy(void *dst, const void *src, size_t bytes)
{
    if (!copy_string(dst, src, bytes, STRINGS_COPY)) {
        hb_kern_get(dst, src, bytes);
    }
}

void hb_kern_put(void *dst, const void *src, size_t bytes)
{
    if (!copy_string(dst, src, bytes, STRINGS_PUT)) {
        hb_kern_get(dst, src, bytes);
    }
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
