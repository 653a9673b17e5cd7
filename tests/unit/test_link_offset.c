/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The offset of a peer's clock: which of its words are believed. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "bin/link/offset.h"

#define MS ((int64_t)1000000)
#define S (1000 * MS)
#define AHEAD (5 * S) /* their clock */

/* They speak at `at_ns` of our clock, which takes `delay_ns`. */
static void speak(struct hb_offset *o, int64_t at_ns, int64_t delay_ns)
{
    hb_offset_heard(o, (uint64_t)(at_ns + AHEAD), at_ns + delay_ns);
}

static void a_quick_word_replaces_a_slow_one(void **state)
{
    struct hb_offset o = {0};

    assert_true(hb_offset_at(&o, 10 * S) == 0);
    speak(&o, 10 * S, 300 * MS);
    assert_true(o.ns == AHEAD - 300 * MS);
    speak(&o, 11 * S, 2 * MS);
    assert_true(o.ns == AHEAD - 2 * MS);
}

static void a_slow_word_does_not_replace_a_quick_one(void **state)
{
    struct hb_offset o = {0};

    speak(&o, 10 * S, 2 * MS);
    speak(&o, 11 * S, 1 * S);
    assert_true(o.ns == AHEAD - 2 * MS);
}

static void an_old_word_loses_against_one_nearly_as_quick(void **state)
{
    struct hb_offset o = {0};

    speak(&o, 10 * S, 2 * MS);
    speak(&o, 1000 * S, 4 * MS);
    assert_true(o.ns == AHEAD - 4 * MS);
}

static void an_offset_loses_what_clocks_part_meanwhile(void **state)
{
    struct hb_offset o = {0};

    hb_offset_heard(&o, (uint64_t)(10 * S + AHEAD), 10 * S);
    assert_true(hb_offset_at(&o, 10 * S) == AHEAD);
    assert_true(hb_offset_at(&o, 110 * S) == AHEAD - 10 * MS);
}

/* One host's word takes long at the beginning, and then the other's. What
 * happens there happens 1 ms after this process has passed on what it heard
 * from here. */
static void what_follows_from_a_word_is_never_dated_before_it(void **state)
{
    static const int64_t delays[] = {0, 1 * MS, 30 * MS, 400 * MS};

    for (int i = 0; i < 16; i++) {
        struct hb_offset here = {0}, there = {0};
        int64_t first = 20 * S, heard = first + 3 * MS, next = heard + 1 * MS;

        speak(&here, 10 * S, delays[i % 4]);
        speak(&there, 10 * S, delays[i / 4]);
        speak(&here, first, heard - first);
        speak(&there, next, 2 * MS);
        assert_true(first + AHEAD - here.ns <= heard);
        assert_true(next + AHEAD - there.ns >= next);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quick_word_replaces_a_slow_one),
        cmocka_unit_test(a_slow_word_does_not_replace_a_quick_one),
        cmocka_unit_test(an_old_word_loses_against_one_nearly_as_quick),
        cmocka_unit_test(an_offset_loses_what_clocks_part_meanwhile),
        cmocka_unit_test(what_follows_from_a_word_is_never_dated_before_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
