/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Elastic Horovod: who is who after ranks were lost or have come. The
 * job of these tests has ranks 0 and 1 on host a, 2 and 3 on host b. */
#include "config.h"

#include "bin/recipe/elastic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int begin(void **state)
{
    return hb_elastic_create((struct hb_elastic **)state,
                             "a:0\na:1\nb:0\nb:1\n", NULL);
}

static int finish(void **state)
{
    hb_elastic_destroy(*state);
    return 0;
}

static void is(struct hb_elastic *e, uint32_t rank, const char *numbers)
{
    struct hb_str text = HB_STR_INIT;

    hb_elastic_numbers(e, rank, &text);
    assert_string_equal(hb_str_text(&text), numbers);
    hb_str_destroy(&text);
}

static void a_new_world_waits_for_all_that_are_left(void **state)
{
    struct hb_elastic *e = *state;

    assert_int_equal(hb_elastic_ask(e, "a:0"), 0);
    assert_int_equal(hb_elastic_ask(e, "b:1"), 3);
    hb_elastic_lose(e, 2);
    assert_int_equal(hb_elastic_turn(e, 1), 0);
    assert_int_equal(hb_elastic_ask(e, "a:1"), 1);
    assert_int_equal(hb_elastic_turn(e, 1), 1);
    assert_int_equal(hb_elastic_size(e), 3);
    is(e, 0, "0,3,0,2,0,2");
    is(e, 1, "1,3,1,2,0,1");
    is(e, 3, "2,3,0,1,1,2");
}

static void a_rank_is_called_as_in_the_last_world(void **state)
{
    struct hb_elastic *e = *state;

    hb_elastic_lose(e, 2);
    (void)hb_elastic_ask(e, "a:0");
    (void)hb_elastic_ask(e, "a:1");
    (void)hb_elastic_ask(e, "b:1");
    assert_int_equal(hb_elastic_turn(e, 1), 1);
    assert_int_equal(hb_elastic_ask(e, "b:0"), 3);
    assert_int_equal(hb_elastic_ask(e, "b:1"), -1);
}

static void who_hangs_up_does_not_wait(void **state)
{
    struct hb_elastic *e = *state;

    for (uint32_t i = 1; i < 4; i++) {
        hb_elastic_lose(e, i);
    }
    (void)hb_elastic_ask(e, "a:0");
    hb_elastic_unask(e, 0);
    assert_int_equal(hb_elastic_turn(e, 1), 0);
}

static void strangers_and_the_lost_have_no_number(void **state)
{
    struct hb_elastic *e = *state;

    hb_elastic_lose(e, 3);
    hb_elastic_lose(e, 99);
    assert_int_equal(hb_elastic_ask(e, "b:1"), -1);
    assert_int_equal(hb_elastic_ask(e, "c:0"), -1);
    assert_int_equal(hb_elastic_ask(e, "a"), -1);
    assert_int_equal(hb_elastic_ask(e, "a:x"), -1);
    is(e, 3, "-1,-1,-1,-1,-1,-1");
}

static void when_all_are_lost_there_is_no_world(void **state)
{
    struct hb_elastic *e = *state;

    for (uint32_t i = 0; i < 4; i++) {
        hb_elastic_lose(e, i);
    }
    assert_int_equal(hb_elastic_turn(e, 1), 0);
}

static void all_ask(struct hb_elastic *e)
{
    static const char *const keys[] = {"a:0", "a:1", "b:0", "b:1"};

    for (uint32_t i = 0; i < 4; i++) {
        (void)hb_elastic_ask(e, keys[i]);
    }
}

static void one_that_comes_is_known_to_nobody_before_the_next_world(
    void **state)
{
    struct hb_elastic *e = *state;

    assert_int_equal(hb_elastic_grows(e), 0);
    assert_int_equal(hb_elastic_ask(e, "4/c:0"), 4);
    assert_int_equal(hb_elastic_grows(e), 1);
    assert_int_equal(hb_elastic_ask(e, "c:0"), -1);
    assert_int_equal(hb_elastic_turn(e, 1), 0);
    all_ask(e);
    assert_int_equal(hb_elastic_turn(e, 1), 1);
    assert_int_equal(hb_elastic_grows(e), 0);
    is(e, 4, "4,5,0,1,2,3");
    assert_int_equal(hb_elastic_ask(e, "c:0"), 4);
}

static void ranks_may_come_in_any_order(void **state)
{
    struct hb_elastic *e = *state;

    (void)hb_elastic_ask(e, "5/c:1");
    all_ask(e);
    (void)hb_elastic_ask(e, "4/c:0");
    assert_int_equal(hb_elastic_turn(e, 1), 1);
    is(e, 4, "4,6,0,2,2,3");
    is(e, 5, "5,6,1,2,2,3");
}

static void the_place_of_a_lost_rank_goes_to_the_next(void **state)
{
    struct hb_elastic *e = *state;

    hb_elastic_lose(e, 2);
    all_ask(e);
    assert_int_equal(hb_elastic_turn(e, 1), 1);
    is(e, 3, "2,3,0,1,1,2");
    assert_int_equal(hb_elastic_ask(e, "2/b:0"), 2);
    assert_int_equal(hb_elastic_ask(e, "b:0"), 3);
    all_ask(e);
    assert_int_equal(hb_elastic_turn(e, 1), 1);
    is(e, 2, "2,4,0,2,1,2");
    is(e, 3, "3,4,1,2,1,2");
}

static void a_rank_that_was_started_again_elsewhere_keeps_its_number(
    void **state)
{
    struct hb_elastic *e = *state;

    assert_int_equal(hb_elastic_ask(e, "3/c:0"), 3);
    all_ask(e);
    assert_int_equal(hb_elastic_turn(e, 1), 1);
    is(e, 3, "3,4,0,1,2,3");
}

static void a_world_of_too_few_does_not_begin(void **state)
{
    struct hb_elastic *e = *state;

    hb_elastic_lose(e, 1);
    all_ask(e);
    assert_int_equal(hb_elastic_turn(e, 4), 0);
    (void)hb_elastic_ask(e, "1/c:0");
    assert_int_equal(hb_elastic_turn(e, 4), 1);
}

static void no_rank_is_beyond_all_numbers(void **state)
{
    struct hb_elastic *e = *state;

    assert_int_equal(hb_elastic_ask(e, "65536/c:0"), -1);
    assert_int_equal(hb_elastic_ask(e, "x/c:0"), -1);
    assert_int_equal(hb_elastic_ask(e, "4/c"), -1);
}

static void slots_that_are_none_are_refused(void **state)
{
    struct hb_elastic *e;

    assert_int_equal(hb_elastic_create(&e, "a\n", NULL), HPCBOOT_ERR_PARSE);
    assert_int_equal(hb_elastic_create(&e, "a:0\n:1\n", NULL),
                     HPCBOOT_ERR_PARSE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_new_world_waits_for_all_that_are_left),
        TEST(a_rank_is_called_as_in_the_last_world),
        TEST(who_hangs_up_does_not_wait),
        TEST(strangers_and_the_lost_have_no_number),
        TEST(when_all_are_lost_there_is_no_world),
        TEST(one_that_comes_is_known_to_nobody_before_the_next_world),
        TEST(ranks_may_come_in_any_order),
        TEST(the_place_of_a_lost_rank_goes_to_the_next),
        TEST(a_rank_that_was_started_again_elsewhere_keeps_its_number),
        TEST(a_world_of_too_few_does_not_begin),
        TEST(no_rank_is_beyond_all_numbers),
        TEST(slots_that_are_none_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
