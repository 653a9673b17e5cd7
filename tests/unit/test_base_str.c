/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Strings, numbers and durations out of text, string vectors, environments.
 */
#include "config.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "lib/base/strv.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void a_string_grows_by_every_kind_of_put(void **state)
{
    struct hb_str o = HB_STR_INIT;
    char *s;
    int i;

    assert_string_equal(hb_str_text(&o), "");
    hb_str_put(&o, "a");
    hb_str_putc(&o, 'b');
    hb_str_putn(&o, "cde", 2);
    hb_str_putf(&o, "-%d-%s", 7, "x");
    assert_string_equal(hb_str_text(&o), "abcd-7-x");
    for (i = 0; i < 1000; i++) {
        hb_str_putf(&o, "%s", "0123456789");
    }
    assert_int_equal(o.len, 8 + 10000);
    s = hb_str_steal(&o);
    assert_int_equal(strlen(s), 10008);
    assert_string_equal(hb_str_text(&o), "");
    free(s);
    hb_str_destroy(&o);
}

static void stealing_nothing_gives_an_empty_string(void **state)
{
    struct hb_str o = HB_STR_INIT;
    char *s = hb_str_steal(&o);

    assert_string_equal(s, "");
    free(s);
}

static void numbers_take_the_whole_text_or_nothing(void **state)
{
    static const char *const wrong[] = {
        "", " 1", "1 ", "+1", "-1", "1x", "0x1", "18446744073709551616",
        "99999999999999999999999", "101", "9",
    };
    uint64_t v = 5;
    size_t i;

    for (i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(hb_parse_u64(wrong[i], 10, 100, &v),
                         HPCBOOT_ERR_PARSE);
    }
    assert_int_equal(hb_parse_u64(NULL, 0, 9, &v), HPCBOOT_ERR_PARSE);
    assert_true(v == 5);
    assert_int_equal(hb_parse_u64("0100", 10, 100, &v), HPCBOOT_OK);
    assert_true(v == 100);
    assert_int_equal(hb_parse_u64("18446744073709551615", 0, UINT64_MAX, &v),
                     HPCBOOT_OK);
    assert_true(v == UINT64_MAX);
}

static void signed_numbers_reach_both_ends(void **state)
{
    static const char *const wrong[] = {
        "2147483648", "-2147483649", "-", "--1", "", "- 1",
    };
    int v = 5;
    size_t i;

    assert_int_equal(hb_parse_int("-2147483648", INT_MIN, INT_MAX, &v), 0);
    assert_int_equal(v, INT_MIN);
    assert_int_equal(hb_parse_int("2147483647", INT_MIN, INT_MAX, &v), 0);
    assert_int_equal(v, INT_MAX);
    for (i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(hb_parse_int(wrong[i], INT_MIN, INT_MAX, &v),
                         HPCBOOT_ERR_PARSE);
    }
    assert_int_equal(hb_parse_int("-1", 0, 9, &v), HPCBOOT_ERR_PARSE);
    assert_int_equal(hb_parse_int(NULL, 0, 9, &v), HPCBOOT_ERR_PARSE);
    assert_int_equal(v, INT_MAX);
}

static void durations_have_units(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"30", 30000}, {"30s", 30000},   {"5m", 300000}, {"1h", 3600000},
        {"250ms", 250}, {"1.5", 1500},   {"0", 0},       {"0.25s", 250},
        {"1.5m", 90000}, {"0.0004", 0},
    };
    int64_t ms;
    size_t i;

    for (i = 0; i < COUNT(cases); i++) {
        ms = -1;
        assert_int_equal(hb_parse_duration_ms(cases[i].text, &ms), 0);
        assert_true(ms == cases[i].ms);
    }
}

static void durations_without_sense_are_refused(void **state)
{
    static const char *const wrong[] = {
        "", "s", ".5", "1.", "1.s", "-1", "1d", "1 s", "1.5.5", "1e3",
        "1.0000000001", "1000000001", "99999999999999999999",
    };
    int64_t ms = 5;
    size_t i;

    for (i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(hb_parse_duration_ms(wrong[i], &ms),
                         HPCBOOT_ERR_PARSE);
    }
    assert_int_equal(hb_parse_duration_ms(NULL, &ms), HPCBOOT_ERR_PARSE);
    assert_true(ms == 5);
}

static void the_nearest_word_is_found(void **state)
{
    static const char *const words[] = {"hostfile", "host", "timeout", "np"};

    assert_string_equal(hb_nearest("hostfil", words, 4), "hostfile");
    assert_string_equal(hb_nearest("hotsfile", words, 4), "hostfile");
    assert_string_equal(hb_nearest("timeuot", words, 4), "timeout");
    assert_string_equal(hb_nearest("hots", words, 4), "host");
    assert_string_equal(hb_nearest("host", words, 4), "host");
    assert_string_equal(hb_nearest("pn", words, 4), "np");
    assert_string_equal(hb_nearest("TIMEOUT", words, 4), "timeout");
    assert_string_equal(hb_nearest("Hotsfile", words, 4), "hostfile");
}

static void nothing_is_near_a_stranger(void **state)
{
    static const char *const words[] = {"hostfile", "np"};
    char longest[300];

    memset(longest, 'h', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_null(hb_nearest("verbose", words, 2));
    assert_null(hb_nearest("x", words, 2));
    assert_null(hb_nearest("", words, 2));
    assert_null(hb_nearest(longest, words, 2));
    assert_null(hb_nearest(NULL, words, 2));
}

static void an_assignment_begins_with_a_name(void **state)
{
    assert_int_equal(hb_assigned_name("A_1=b=c"), 3);
    assert_int_equal(hb_assigned_name("1A=b"), 0);
    assert_int_equal(hb_assigned_name("./A=b"), 0);
    assert_int_equal(hb_assigned_name("=b"), 0);
}

static void comparisons_know_null_and_ends(void **state)
{
    assert_true(hb_streq(NULL, NULL));
    assert_false(hb_streq(NULL, ""));
    assert_true(hb_streq("a", "a"));
    assert_true(hb_starts_with("OMPI_COMM", "OMPI_"));
    assert_false(hb_starts_with("OM", "OMPI_"));
    assert_true(hb_ends_with("a.conf", ".conf"));
    assert_false(hb_ends_with("conf", ".conf"));
    assert_string_equal(hb_base_name("/usr/bin/env"), "env");
    assert_string_equal(hb_base_name("env"), "env");
    assert_string_equal(hb_base_name("bin/"), "");
}

static void octal_bytes_are_put_back_and_others_stay(void **state)
{
    char text[] = "/a\\040b\\134\\400\\04\\8\\";

    (void)state;
    hb_unescape_octal(text);
    assert_string_equal(text, "/a b\\\\400\\04\\8\\");
}

static void addresses_of_the_loopback_device_are_known(void **state)
{
    static const char *const yes[] = {
        "127.0.0.1", "127.255.3.4", "::1", "0:0:0:0:0:0:0:1",
        "::ffff:127.0.0.1",
    };
    static const char *const no[] = {
        "", "127.", "127.0.0.1 ", "127.example.org", "128.0.0.1", "::",
        "::ffff:10.0.0.1", "fe80::1", "localhost", "10.127.0.1",
    };

    for (size_t i = 0; i < COUNT(yes); i++) {
        assert_true(hb_is_loopback(yes[i]));
    }
    for (size_t i = 0; i < COUNT(no); i++) {
        assert_false(hb_is_loopback(no[i]));
    }
}

static void secrets_are_equal_when_every_byte_is(void **state)
{
    const unsigned char a[4] = {1, 0, 2, 3}, first[4] = {2, 0, 2, 3};
    const unsigned char last[4] = {1, 0, 2, 0x83}, same[4] = {1, 0, 2, 3};

    assert_true(hb_secret_equal(a, same, sizeof a));
    assert_false(hb_secret_equal(a, first, sizeof a));
    assert_false(hb_secret_equal(a, last, sizeof a));
    assert_true(hb_secret_equal(a, last, sizeof a - 1));
    assert_true(hb_secret_streq("t7", "t7"));
    assert_true(hb_secret_streq("", ""));
    assert_false(hb_secret_streq("t7", "t8"));
    assert_false(hb_secret_streq("t7", "t71"));
    assert_false(hb_secret_streq("t71", "t7"));
}

static void a_vector_is_always_null_terminated(void **state)
{
    struct hb_strv s = HB_STRV_INIT;
    static char *const more[] = {(char *)"c", (char *)"d", NULL};
    int i;

    assert_null(hb_strv_view(&s)[0]);
    hb_strv_push(&s, "a");
    hb_strv_pushf(&s, "b%d", 1);
    hb_strv_extend(&s, more);
    hb_strv_extend(&s, NULL);
    assert_int_equal(s.n, 4);
    assert_null(s.v[4]);
    hb_strv_remove(&s, 1);
    hb_strv_remove(&s, 7);
    assert_int_equal(s.n, 3);
    assert_string_equal(hb_strv_view(&s)[1], "c");
    assert_null(s.v[3]);
    for (i = 0; i < 100; i++) {
        hb_strv_push(&s, "x");
        assert_null(s.v[s.n]);
    }
    hb_strv_destroy(&s);
    hb_strv_destroy(&s);
}

static void a_name_occurs_once_in_an_environment(void **state)
{
    struct hb_strv env = HB_STRV_INIT;

    hb_env_put(&env, "A=1");
    hb_env_put(&env, "AB=2");
    hb_env_set(&env, "A", "x=y");
    hb_env_setf(&env, "RANK", "%d", 3);
    hb_env_put(&env, "RANK=4");
    assert_int_equal(env.n, 3);
    assert_string_equal(hb_env_get(&env, "A"), "x=y");
    assert_string_equal(hb_env_get(&env, "AB"), "2");
    assert_string_equal(hb_env_get(&env, "RANK"), "4");
    assert_null(hb_env_get(&env, "RAN"));
    hb_env_unset(&env, "A");
    hb_env_unset(&env, "A");
    assert_null(hb_env_get(&env, "A"));
    assert_int_equal(env.n, 2);
    hb_env_set(&env, "EMPTY", "");
    assert_string_equal(hb_env_get(&env, "EMPTY"), "");
    hb_strv_destroy(&env);
}

static void pieces_that_are_empty_are_passed_over(void **state)
{
    const char *text = ";a;;bc;";
    char *a = hb_next_piece(&text, ';'), *bc = hb_next_piece(&text, ';');

    assert_string_equal(a, "a");
    assert_string_equal(bc, "bc");
    assert_null(hb_next_piece(&text, ';'));
    assert_null(hb_next_piece(&text, ';'));
    assert_string_equal(text, "");
    free(a);
    free(bc);
}

static void controls_are_masked_and_other_letters_stay(void **state)
{
    char text[] = "a\n\x1b[1m\x7f \x9b" "2J \xc2\x9b" "2J gr\xc3\xbc\xc3\x9f"
        "e \xe2\x82\xac \xc2\xa0\xc2";

    hb_mask_controls(text);
    assert_string_equal(text, "a??[1m? ?2J ??2J gr\xc3\xbc\xc3\x9f"
                        "e \xe2\x82\xac \xc2\xa0?");
}

/* Also where the memory was somebody's before. */
static void what_is_zeroed_is_zero(void **state)
{
    static const size_t sizes[] = {0, 1, 100, 1032, 1033, 5000};

    for (size_t i = 0; i < COUNT(sizes); i++) {
        char *p = malloc(sizes[i] + 1);

        assert_non_null(p);
        memset(p, 0xff, sizes[i] + 1);
        free(p);
        p = i % 2 == 0 ? hb_zalloc(sizes[i]) : hb_xcalloc(sizes[i], 1);
        assert_non_null(p);
        for (size_t k = 0; k < sizes[i]; k++) {
            assert_int_equal(p[k], 0);
        }
        free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_string_grows_by_every_kind_of_put),
        cmocka_unit_test(stealing_nothing_gives_an_empty_string),
        cmocka_unit_test(what_is_zeroed_is_zero),
        cmocka_unit_test(numbers_take_the_whole_text_or_nothing),
        cmocka_unit_test(signed_numbers_reach_both_ends),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(pieces_that_are_empty_are_passed_over),
        cmocka_unit_test(durations_without_sense_are_refused),
        cmocka_unit_test(the_nearest_word_is_found),
        cmocka_unit_test(nothing_is_near_a_stranger),
        cmocka_unit_test(an_assignment_begins_with_a_name),
        cmocka_unit_test(comparisons_know_null_and_ends),
        cmocka_unit_test(octal_bytes_are_put_back_and_others_stay),
        cmocka_unit_test(addresses_of_the_loopback_device_are_known),
        cmocka_unit_test(secrets_are_equal_when_every_byte_is),
        cmocka_unit_test(a_vector_is_always_null_terminated),
        cmocka_unit_test(controls_are_masked_and_other_letters_stay),
        cmocka_unit_test(a_name_occurs_once_in_an_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
