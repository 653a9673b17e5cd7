/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What hpcboot perf takes for a row among the lines that ranks print. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "bin/hpcboot/perf.h"

static int parses(const char *median)
{
    struct hb_perf_row row;
    char line[HB_PERF_CSV_MAX];

    snprintf(line, sizeof line, "bcast,2,8,1.5,%s,2.5,3,4e3,7,0\n", median);
    return hb_perf_row_parse(&row, line);
}

static void a_line_of_numbers_is_a_row(void **state)
{
    struct hb_perf_row row = {0};

    (void)state;
    assert_true(parses("2"));
    assert_true(parses("0"));
    assert_true(hb_perf_row_parse(&row, "barrier,3,0,1,2,3,4,5,6,7\r\n"));
    assert_int_equal(row.ranks, 3);
    assert_int_equal(row.wrong, 7);
    assert_true(row.median_us > 1.9 && row.median_us < 2.1);
}

static void what_can_be_no_time_is_no_row(void **state)
{
    static const char *const texts[] = {"inf", "-inf", "1e999", "nan", "-1",
                                        ""};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_false(parses(texts[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_of_numbers_is_a_row),
        cmocka_unit_test(what_can_be_no_time_is_no_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
