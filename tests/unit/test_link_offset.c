/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The offset of a peer's clock: which answers are believed. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "bin/link/offset.h"

#define MS 1000000
#define S (1000 * (int64_t)MS)

static void a_guess_gives_way_to_the_first_answer(void **state)
{
    struct hb_offset o = {0};

    hb_offset_guess(&o, 7 * S);
    hb_offset_measure(&o, 10 * S, 15 * S + 50 * MS, 10 * S + 100 * MS);
    assert_true(o.ns == 5 * S);
    assert_true(o.error_ns == 50 * MS);
}

static void a_slow_answer_does_not_replace_a_quick_one(void **state)
{
    struct hb_offset o = {0};

    hb_offset_measure(&o, 10 * S, 15 * S, 10 * S + 2 * MS);
    hb_offset_measure(&o, 11 * S, 19 * S, 12 * S);
    assert_true(o.ns == 5 * S - MS);
}

static void an_old_answer_loses_against_one_nearly_as_quick(void **state)
{
    struct hb_offset o = {0};

    hb_offset_measure(&o, 10 * S, 15 * S, 10 * S + 2 * MS);
    hb_offset_measure(&o, 1000 * S, 1006 * S, 1000 * S + 4 * MS);
    assert_true(o.ns == 6 * S - 2 * MS);
}

static void an_answer_to_the_future_is_none(void **state)
{
    struct hb_offset o = {0};

    hb_offset_measure(&o, 20 * S, 15 * S, 10 * S);
    assert_true(o.ns == 0 && o.measured_ns == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guess_gives_way_to_the_first_answer),
        cmocka_unit_test(a_slow_answer_does_not_replace_a_quick_one),
        cmocka_unit_test(an_old_answer_loses_against_one_nearly_as_quick),
        cmocka_unit_test(an_answer_to_the_future_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
