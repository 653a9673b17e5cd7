/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Reduction kernels of every instruction set that this processor runs,
 * against the reference: every op on every type, odd counts and addresses,
 * the result in place of any source, and the values that go wrong first. */

#include "config.h"

#include "lib/coll/kern.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coll_ref.h"

#define SOURCES 5
#define COUNT_MOST 600
#define ROOM ((COUNT_MOST + 1) * 16)

static bool is_half(int type)
{
    return type == HPCBOOT_FLOAT16 || type == HPCBOOT_BFLOAT16;
}

static bool is_float(int type)
{
    return type == HPCBOOT_FLOAT || type == HPCBOOT_DOUBLE;
}

/* Any bits for integers and halves; floats of one magnitude, now and then
 * infinite, so that nothing depends on which NaN two NaNs make. */
static void fill(int type, char *to, size_t count, uint64_t *rng)
{
    size_t e = hb_coll_type_size((enum hpcboot_type)type);
    for (size_t i = 0; i < count; i++) {
        uint64_t h = coll_ref_random(rng);
        float f = (float)((int)(h % 2001) - 1000) / 16;
        double d = h % 61 == 0 ? INFINITY : (double)f * 1.1;
        f = h % 61 == 0 ? INFINITY : f * 1.1f;
        char *at = to + i * e;
        memset(at, 0, e);
        if (type == HPCBOOT_FLOAT || type == HPCBOOT_FLOAT_INT) {
            memcpy(at, &f, 4);
        } else if (type == HPCBOOT_DOUBLE || type == HPCBOOT_DOUBLE_INT) {
            memcpy(at, &d, 8);
        } else if (type == HPCBOOT_FLOAT_COMPLEX) {
            float z[2] = {(float)(h % 7) - 3, (float)(h >> 8 & 7) - 4};
            memcpy(at, z, 8);
        } else if (type == HPCBOOT_DOUBLE_COMPLEX) {
            double z[2] = {(double)(h % 7) - 3, (double)(h >> 8 & 7) - 4};
            memcpy(at, z, 16);
        } else if (type == HPCBOOT_INT64_INT) {
            memcpy(at, &(int64_t){(int64_t)(h % 5)}, 8);
            memcpy(at + 8, &(int32_t){(int32_t)(h >> 40 & 7)}, 4);
        } else {
            memcpy(at, &h, e);
        }
    }
}

static bool nan_of(int type, const char *at)
{
    uint16_t h;
    float f;
    double d;
    memcpy(&h, at, 2);
    if (type == HPCBOOT_BFLOAT16) {
        return (h & 0x7fff) > 0x7f80;
    }
    if (type == HPCBOOT_FLOAT16) {
        return (h & 0x7fff) > 0x7c00;
    }
    if (type == HPCBOOT_FLOAT) {
        memcpy(&f, at, 4);
        return isnan(f);
    }
    memcpy(&d, at, 8);
    return isnan(d);
}

static void check_one(const struct hb_kern_set *set, int op, int type,
                      size_t count, int n, int alias, uint64_t *rng)
{
    static char room[SOURCES + 1][ROOM];
    size_t e = hb_coll_type_size((enum hpcboot_type)type);
    size_t off = (size_t)(count % 5); /* no address is aligned for long */
    struct coll_case c = {.type = (enum hpcboot_type)type, .op = op,
                          .ranks = n};
    const void *src[SOURCES];
    char *dst = alias < n ? room[alias] + off : room[SOURCES] + off;
    char *want = malloc(count * e + 1);
    for (int s = 0; s < n; s++) {
        fill(type, room[s] + off, count, rng);
        src[s] = room[s] + off;
    }
    for (size_t i = 0; i < count; i++) {
        const char *at[SOURCES];
        for (int s = 0; s < n; s++) {
            at[s] = (const char *)src[s] + i * e;
        }
        coll_ref_fold(&c, at, n, want + i * e);
    }
    dst[count * e] = 0x77;
    (*set->fold)[op][type](dst, src, n, count, n);
    for (size_t i = 0; i < count; i++) {
        bool nan = (is_half(type) || is_float(type)) &&
                   nan_of(type, want + i * e) && nan_of(type, dst + i * e);
        if (!nan && memcmp(dst + i * e, want + i * e, e) != 0) {
            fail_msg("%s, %s of %s: element %zu of %zu from %d sources",
                     set->name, hb_coll_op_name(op),
                     hb_coll_type_name((enum hpcboot_type)type), i, count, n);
        }
    }
    assert_int_equal(dst[count * e], 0x77);
    free(want);
}

static void all_sets_fold_as_the_reference(void **state)
{
    static const size_t counts[] = {0, 1, 3, 7, 16, 31, 64, 65, 511, 513, 600};
    uint64_t rng = 7;
    const struct hb_kern_set *set;
    for (int k = 0; (set = hb_kern_set(k)) != NULL; k++) {
        for (int op = 0; op < HPCBOOT_OPS; op++) {
            for (int type = 0; type < HPCBOOT_TYPES; type++) {
                if ((*set->fold)[op][type] == NULL) {
                    continue;
                }
                for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
                    int n = 1 + (int)(coll_ref_random(&rng) % SOURCES);
                    int alias = (int)(coll_ref_random(&rng) % (SOURCES + 1));
                    check_one(set, op, type, counts[i], n, alias, &rng);
                }
            }
        }
    }
}

static void all_sets_define_the_same(void **state)
{
    const struct hb_kern_set *base = hb_kern_set(0), *set;
    for (int k = 1; (set = hb_kern_set(k)) != NULL; k++) {
        for (int i = 0; i < HPCBOOT_OPS * HPCBOOT_TYPES; i++) {
            int op = i / HPCBOOT_TYPES, type = i % HPCBOOT_TYPES;
            assert_int_equal((*base->fold)[op][type] != NULL,
                             (*set->fold)[op][type] != NULL);
        }
    }
}

/* Every binary16 survives being read and written; a signalling NaN may come
 * back quiet. */
static void every_half_is_kept(void **state)
{
    static uint16_t in[65536], out[65536];
    const void *src[1] = {in};
    const struct hb_kern_set *set;
    for (int i = 0; i < 65536; i++) {
        in[i] = (uint16_t)i;
    }
    for (int k = 0; (set = hb_kern_set(k)) != NULL; k++) {
        for (int t = HPCBOOT_FLOAT16; t <= HPCBOOT_BFLOAT16; t++) {
            uint16_t quiet = t == HPCBOOT_FLOAT16 ? 0x200 : 0x40;
            (*set->fold)[HPCBOOT_SUM][t](out, src, 1, 65536, 1);
            for (int i = 0; i < 65536; i++) {
                bool nan = nan_of(t, (const char *)&in[i]);
                assert_int_equal(nan ? out[i] | quiet : out[i],
                                 nan ? in[i] | quiet : in[i]);
            }
        }
    }
}

/* What may lie half-way between two halves, or beyond the last one. */
static void halves_are_rounded_to_even(void **state)
{
    static const uint16_t pairs[][2] = {
        {0x3c00, 0x1000}, {0x3c01, 0x1000}, {0x7bff, 0x5000}, {0x7bff, 0x4fff},
        {0x0001, 0x0001}, {0x03ff, 0x0001}, {0x8001, 0x0001}, {0x7bff, 0x7bff},
        {0x7c00, 0xfc00}, {0x0400, 0x8001}, {0x6400, 0x3800}, {0x6401, 0x3800},
    };
    const struct hb_kern_set *set;
    for (int k = 0; (set = hb_kern_set(k)) != NULL; k++) {
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
            const void *src[2] = {&pairs[i][0], &pairs[i][1]};
            float exact = coll_ref_half_value(pairs[i][0]) +
                          coll_ref_half_value(pairs[i][1]);
            uint16_t want = coll_ref_half_bits(exact), got = 0;
            (*set->fold)[HPCBOOT_SUM][HPCBOOT_FLOAT16](&got, src, 2, 1, 1);
            if (isnan(exact)) {
                assert_true((got & 0x7fff) > 0x7c00);
            } else {
                assert_int_equal(got, want);
            }
        }
    }
}

static void copies_are_copies(void **state)
{
    static char from[5000], to[5000];
    const struct hb_kern_set *set;
    uint64_t rng = 3;
    for (int k = 0; (set = hb_kern_set(k)) != NULL; k++) {
        for (size_t n = 0; n < 4000; n += 1 + n / 7) {
            fill(HPCBOOT_UINT8, from, sizeof from, &rng);
            memset(to, 0x11, sizeof to);
            set->copy(to + n % 9, from + n % 13, n);
            assert_memory_equal(to + n % 9, from + n % 13, n);
            assert_int_equal(to[n % 9 + n], 0x11);
        }
    }
}

/* Short ones and long ones go different ways. */
static void copied_by(void (*copy)(void *, const void *, size_t))
{
    static char from[40000], to[40000];
    uint64_t rng = 5;
    fill(HPCBOOT_UINT8, from, sizeof from, &rng);
    for (size_t n = 0; n < 39000; n += 1 + n / 7) {
        memset(to, 0x11, sizeof to);
        size_t at = 1 + n % 67;
        copy(to + at, from + n % 13, n);
        assert_memory_equal(to + at, from + n % 13, n);
        assert_int_equal(to[at - 1], 0x11);
        assert_int_equal(to[at + n], 0x11);
    }
}

static void puts_are_copies(void **state)
{
    copied_by(hb_kern_put);
    copied_by(hb_kern_get);
    copied_by(hb_kern_copy);
}

/* Nothing beside the bytes is touched, wherever lines begin. */
static void streams_are_copies(void **state)
{
    static char from[5000], to[5000];
    uint64_t rng = 4;
    for (size_t n = 0; n < 4000; n += 1 + n / 7) {
        fill(HPCBOOT_UINT8, from, sizeof from, &rng);
        memset(to, 0x11, sizeof to);
        size_t at = 1 + n % 67;
        hb_kern_stream(to + at, from + n % 13, n);
        assert_memory_equal(to + at, from + n % 13, n);
        assert_int_equal(to[at - 1], 0x11);
        assert_int_equal(to[at + n], 0x11);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_sets_fold_as_the_reference),
        cmocka_unit_test(all_sets_define_the_same),
        cmocka_unit_test(every_half_is_kept),
        cmocka_unit_test(halves_are_rounded_to_even),
        cmocka_unit_test(copies_are_copies),
        cmocka_unit_test(puts_are_copies),
        cmocka_unit_test(streams_are_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
