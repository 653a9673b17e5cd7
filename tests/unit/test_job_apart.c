/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which host is given up where some do not reach each other. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bin/job/apart.h"

#define HOSTS 6u
#define N(v) (sizeof(v) / sizeof *(v))

static void of_two_that_complain_the_last(void **state)
{
    struct hb_apart v[] = {{1, 2}, {2, 1}};

    assert_int_equal(hb_apart_worst(v, N(v), HOSTS, HOSTS), 2);
    assert_int_equal(hb_apart_worst(v, N(v), HOSTS, 1), 2);
}

static void not_the_launchers_own(void **state)
{
    struct hb_apart v[] = {{5, 2}, {2, 5}};

    assert_int_equal(hb_apart_worst(v, N(v), HOSTS, 5), 2);
}

static void of_two_the_one_that_is_complained_of(void **state)
{
    struct hb_apart v[] = {{4, 1}, {4, 1}};

    assert_int_equal(hb_apart_worst(v, N(v), HOSTS, HOSTS), 1);
}

/* It complains of all, and they have not noticed yet. */
static void the_one_that_is_apart_from_most(void **state)
{
    struct hb_apart v[] = {{0, 3}, {0, 4}, {0, 5}, {5, 0}};

    assert_int_equal(hb_apart_worst(v, N(v), HOSTS, HOSTS), 0);
}

static void many_ranks_of_a_pair_are_one_pair(void **state)
{
    struct hb_apart v[] = {{4, 5}, {4, 5}, {4, 5}, {5, 4}, {1, 2}, {3, 1}};

    assert_int_equal(hb_apart_worst(v, N(v), HOSTS, HOSTS), 1);
}

/* Whatever the order of the complaints: those who decide alike end alike. */
static void the_order_of_complaints_does_not_matter(void **state)
{
    const struct hb_apart all[] = {{0, 1}, {1, 0}, {2, 3}, {3, 2}, {4, 3}};

    for (size_t first = 0; first < N(all); first++) {
        struct hb_apart v[N(all)];

        for (size_t i = 0; i < N(all); i++) {
            v[i] = all[(first + i) % N(all)];
        }
        assert_int_equal(hb_apart_worst(v, N(v), HOSTS, HOSTS), 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_that_complain_the_last),
        cmocka_unit_test(not_the_launchers_own),
        cmocka_unit_test(of_two_the_one_that_is_complained_of),
        cmocka_unit_test(the_one_that_is_apart_from_most),
        cmocka_unit_test(many_ranks_of_a_pair_are_one_pair),
        cmocka_unit_test(the_order_of_complaints_does_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
