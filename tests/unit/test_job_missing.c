/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Hosts that did not come up, grouped by what is wrong with them. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bin/job/missing.h"

static const struct hb_boot_reason no_name = {HB_WHY_NO_NAME, "port 22"};
static const struct hb_boot_reason refused = {HB_WHY_REFUSED, "port 22"};
static const struct hb_boot_reason both = {HB_WHY_REFUSED,
                                           "ports 22 and 2222"};
static const struct hb_boot_reason nowhere = {HB_WHY_SILENT, ""};

static void expect(const struct hb_missing *m, size_t n, const char *wanted)
{
    struct hb_str text = HB_STR_INIT;

    hb_missing_text(m, n, &text);
    assert_string_equal(hb_str_text(&text), wanted);
    hb_str_destroy(&text);
}

static void groups_are_told_in_the_order_of_the_way_up(void **state)
{
    const struct hb_missing m[] = {
        {"d", &refused}, {"a", &no_name}, {"b", &no_name}, {"c", &no_name},
    };

    expect(m, 4, "3 hosts do not resolve: a, b, c; 1 refuses port 22: d");
    expect(m, 1, "1 host refuses port 22: d");
    expect(m, 0, "");
}

static void a_port_makes_a_group_of_its_own(void **state)
{
    const struct hb_missing m[] = {
        {"a", &refused}, {"b", &both}, {"c", &refused},
    };

    expect(m, 3, "2 hosts refuse port 22: a, c; "
           "1 refuses ports 22 and 2222: b");
}

static void a_port_that_is_not_known_is_still_a_sentence(void **state)
{
    const struct hb_missing m[] = {{"a", &nowhere}};

    expect(m, 1, "1 host gives no answer on its port: a");
}

static void many_names_become_ranges(void **state)
{
    struct hb_missing m[200];
    char names[200][16];

    for (size_t i = 0; i < 200; i++) {
        snprintf(names[i], sizeof names[i], "w-%zu", i);
        m[i] = (struct hb_missing){names[i], &no_name};
    }
    expect(m, 200, "200 hosts do not resolve: w-[0-199]");
}

static void names_that_make_no_ranges_are_cut(void **state)
{
    struct hb_missing m[100];
    char names[100][16];
    struct hb_str text = HB_STR_INIT;

    for (size_t i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "h%zux%zu", i * 7, i * 3);
        m[i] = (struct hb_missing){names[i], &no_name};
    }
    hb_missing_text(m, 100, &text);
    assert_true(text.len < 240);
    assert_non_null(strstr(hb_str_text(&text), " more"));
    hb_str_destroy(&text);
}

static void every_reason_has_words_and_a_key(void **state)
{
    for (int why = 0; why < HB_WHY_N; why++) {
        const struct hb_boot_reason reason = {(enum hb_boot_why)why, "port 9"};
        const struct hb_missing m[] = {{"a", &reason}, {"b", &reason}};
        struct hb_str text = HB_STR_INIT;

        hb_missing_text(m, 2, &text);
        assert_non_null(strstr(hb_str_text(&text), ": a, b"));
        assert_true(strlen(hb_missing_key(reason.why)) > 0);
        hb_str_destroy(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_told_in_the_order_of_the_way_up),
        cmocka_unit_test(a_port_makes_a_group_of_its_own),
        cmocka_unit_test(a_port_that_is_not_known_is_still_a_sentence),
        cmocka_unit_test(many_names_become_ranges),
        cmocka_unit_test(names_that_make_no_ranges_are_cut),
        cmocka_unit_test(every_reason_has_words_and_a_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
