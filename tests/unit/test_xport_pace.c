/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which rail a part is for, by how fast they are. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/xport/tcp_pair.h"

#define MB 1e6
#define PART HB_CUT_PART
#define DRAWS 20000
#define SEED 7u

static void a_slow_rail_takes_nothing_that_a_fast_one_brings_sooner(
    void **state)
{
    const struct hb_pace v[] = {{0, 1000 * MB, 1000 * MB}, {0, MB, MB}};

    (void)state;
    assert_true(hb_pace_is_worth(v, 2, 0, 8 * PART));
    assert_false(hb_pace_is_worth(v, 2, 1, 8 * PART));
    assert_true(hb_pace_is_worth(v, 2, 1, 2000 * PART));
}

static void what_a_rail_has_to_carry_already_counts(void **state)
{
    const struct hb_pace v[] = {{9 * PART, 100 * MB, 100 * MB},
                                {0, 50 * MB, 50 * MB}};

    (void)state;
    assert_true(hb_pace_is_worth(v, 2, 1, PART));
    assert_false(hb_pace_is_worth(v, 2, 0, PART));
}

static void rails_of_one_rate_share_all(void **state)
{
    const struct hb_pace v[] = {{0, MB, MB}, {PART, MB, MB}};

    (void)state;
    assert_true(hb_pace_is_worth(v, 2, 0, 2 * PART));
    assert_true(hb_pace_is_worth(v, 2, 1, 2 * PART));
}

static void who_is_not_known_takes_part(void **state)
{
    const struct hb_pace v[] = {{9 * PART, 0, MB}, {0, 1000 * MB, 1000 * MB},
                                {0, 0, 0}};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        assert_true(hb_pace_is_worth(v, 3, i, PART));
    }
}

static double drawn(double most)
{
    return (double)rand() / (double)RAND_MAX * most;
}

/* Else all would wait for each other. */
static void one_rail_at_least_takes_what_is_left(void **state)
{
    (void)state;
    srand(SEED);
    for (int k = 0; k < DRAWS; k++) {
        struct hb_pace v[HB_PAIR_SLOTS] = {{0, 0, 0}};
        unsigned n = 2 + (unsigned)rand() % (HB_PAIR_SLOTS - 1), worth = 0;

        for (unsigned i = 0; i < n; i++) {
            v[i].queued = (uint64_t)drawn(20.0 * (double)PART);
            v[i].rate = rand() % 4 == 0 ? 0 : MB + drawn(1000 * MB);
            v[i].least = v[i].rate > 0 ? drawn(v[i].rate) : drawn(1000 * MB);
        }
        for (unsigned i = 0; i < n; i++) {
            worth += (unsigned)hb_pace_is_worth(
                v, n, i, (uint64_t)(1 + rand() % 30) * PART);
        }
        assert_true(worth > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_slow_rail_takes_nothing_that_a_fast_one_brings_sooner),
        cmocka_unit_test(what_a_rail_has_to_carry_already_counts),
        cmocka_unit_test(rails_of_one_rate_share_all),
        cmocka_unit_test(who_is_not_known_takes_part),
        cmocka_unit_test(one_rail_at_least_takes_what_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
