/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Ranges in host names, both ways. */

#include "config.h"

#include "hostfile/range.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))
#define LIMIT 1000

static char *joined(const struct hb_strv *v)
{
    struct hb_str o = HB_STR_INIT;

    hb_str_put(&o, "");
    for (size_t i = 0; i < v->n; i++) {
        hb_str_putf(&o, "%s%s", i > 0 ? " " : "", v->v[i]);
    }
    return hb_str_steal(&o);
}

static void expressions_expand(void **state)
{
    static const char *const cases[][2] = {
        {"n1", "n1"},
        {"n[1-3]", "n1 n2 n3"},
        {"n[08-11]", "n08 n09 n10 n11"},
        {"n[1,3,7-8]", "n1 n3 n7 n8"},
        {"r[0-1]n[0-1]", "r0n0 r0n1 r1n0 r1n1"},
        {"n[001-002]-ib", "n001-ib n002-ib"},
        {"n[5]", "n5"},
        {"n[9-11]", "n9 n10 n11"},
        {"[1-2]x", "1x 2x"},
        {"n[98-101]", "n98 n99 n100 n101"},
    };

    for (size_t i = 0; i < N_OF(cases); i++) {
        struct hb_strv v = HB_STRV_INIT;
        const char *expected;
        char *text;
        size_t at;
        assert_int_equal(hb_range_expand(cases[i][0], LIMIT, &v, &at,
                                         &expected), HPCBOOT_OK);
        text = joined(&v);
        assert_string_equal(text, cases[i][1]);
        free(text);
        hb_strv_destroy(&v);
    }
}

static void wrong_expressions_say_where(void **state)
{
    static const struct {
        const char *text;
        size_t at;
    } cases[] = {
        {"", 0}, {"n[3-1]", 4}, {"n[1", 3}, {"n]", 1}, {"n[]", 2},
        {"n[1-]", 4}, {"n[a]", 2}, {"n[1;2]", 3}, {"n[0-1000]", 0},
        {"a[0-99]b[0-99]", 0}, {"n[0-18446744073709551615]", 4},
        {"n[1][", 5},
        {"[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]", 48},
    };

    for (size_t i = 0; i < N_OF(cases); i++) {
        struct hb_strv v = HB_STRV_INIT;
        const char *expected = NULL;
        size_t at = 999;
        assert_int_equal(hb_range_expand(cases[i].text, LIMIT, &v, &at,
                                         &expected), HPCBOOT_ERR_PARSE);
        assert_int_equal(at, cases[i].at);
        assert_non_null(expected);
        assert_int_equal(v.n, 0);
        hb_strv_destroy(&v);
    }
}

/* 18 ranges of 10^18 numbers, and one that makes them 2^64. */
static void ranges_that_are_more_than_can_be_counted_are_refused(void **state)
{
    struct hb_str text = HB_STR_INIT;
    struct hb_strv v = HB_STRV_INIT;
    const char *expected = NULL;
    size_t at = 999;

    hb_str_put(&text, "n[");
    for (int i = 0; i < 18; i++) {
        hb_str_put(&text, "0-999999999999999999,");
    }
    hb_str_put(&text, "0-446744073709551615]x");
    assert_int_equal(hb_range_expand(hb_str_text(&text), LIMIT, &v, &at,
                                     &expected), HPCBOOT_ERR_PARSE);
    assert_int_equal(at, 0);
    assert_int_equal(v.n, 0);
    hb_str_destroy(&text);
    hb_strv_destroy(&v);
}

static void names_compress_and_expand_to_the_same(void **state)
{
    static const char *const cases[][2] = {
        {"n1 n2 n3", "n[1-3]"},
        {"n08 n09 n10", "n[08-10]"},
        {"n9 n10 n11", "n[9-11]"},
        {"n0 n01", "n[0,01]"},
        {"n1 n3", "n[1,3]"},
        {"n1 n3 n7 n8 m2", "n[1,3,7-8],m2"},
        {"n08 n09 n10 n12 n100", "n[08-10,12,100]"},
        {"r0n0 r0n1 r1n0 r1n1", "r0n[0-1],r1n[0-1]"},
        {"a1 a2-ib a3", "a1,a2-ib,a3"},
        {"a b", "a,b"},
        {"n1-ib n2-ib x", "n[1-2]-ib,x"},
        {"n2 n1", "n[2,1]"},
        {"w-0.sub w-1.sub", "w-[0-1].sub"},
        {"n999999999999999999 n1000000000000000000",
         "n999999999999999999,n1000000000000000000"},
    };

    for (size_t i = 0; i < N_OF(cases); i++) {
        struct hb_strv names = HB_STRV_INIT;
        struct hb_str o = HB_STR_INIT;
        char *copy = hb_xstrdup(cases[i][0]), *save = NULL;
        for (char *w = strtok_r(copy, " ", &save); w != NULL;
             w = strtok_r(NULL, " ", &save)) {
            hb_strv_push(&names, w);
        }
        hb_range_compress(names.v, names.n, &o);
        assert_string_equal(hb_str_text(&o), cases[i][1]);
        free(copy);
        hb_str_destroy(&o);
        hb_strv_destroy(&names);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_expand),
        cmocka_unit_test(wrong_expressions_say_where),
        cmocka_unit_test(ranges_that_are_more_than_can_be_counted_are_refused),
        cmocka_unit_test(names_compress_and_expand_to_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
