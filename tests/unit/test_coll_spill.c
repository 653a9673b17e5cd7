/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Whether a rank writes past its caches: what surely fits and what cannot fit
 * is decided, what lies between is tried, and the faster way is taken. The
 * times are made up. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/coll/impl.h"

#define MIB ((size_t)1 << 20)
#define ROUND 512 /* calls until it is tried again */
#define TRIED 8

static struct hb_coll_model model;
static struct hb_coll_engine engine;
static struct hb_coll_team team;
static struct hb_op op;

/* Two ranks, whose buffers may have 8 MiB of caches that seem to be 32. */
static void start(void)
{
    model = (struct hb_coll_model){.l3_kib = 8 << 10, .l3s = 1, .cpus = 2};
    engine = (struct hb_coll_engine){.model = &model};
    team = (struct hb_coll_team){
        .engine = &engine, .rank = 0, .size = 2, .me = 0, .p = 2, .nodes = 1};
}

/* Of an allgather of so many bytes from each, which takes three times that. */
static void set_up(size_t bytes)
{
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_ALLGATHER;
    a.type = HPCBOOT_BYTE;
    a.count = bytes;
    op = (struct hb_op){.coll = a.coll};
    hb_spill_setup(&team, &op, &a);
}

/* A call, which takes so many seconds as it goes. 1: past the caches. */
static int call(int64_t kept_s, int64_t past_s)
{
    hb_spill_begin(&op);
    op.spill->began_ns -= (op.spills ? past_s : kept_s) * 1000000000;
    hb_spill_end(&op);
    return op.spills;
}

static int calls(int n, int64_t kept_s, int64_t past_s)
{
    int past = 0;
    for (int i = 0; i < n; i++) {
        past += call(kept_s, past_s);
    }
    return past;
}

static void test_what_is_not_tried(void **state)
{
    start();
    set_up(MIB);
    assert_true(!op.spills && op.spill == NULL);
    set_up(16 * MIB);
    assert_true(op.spills);
    assert_null(op.spill);
    model.cache_kib = 1 << 10; /* the user knows */
    set_up(2 * MIB);
    assert_true(op.spills);
    assert_null(op.spill);
    model.cache_kib = 0;
    model.cpus = 1; /* times would tell of turns on the core */
    set_up(2 * MIB);
    assert_true(op.spills);
    assert_null(op.spill);
}

static void test_the_faster_way_is_taken(void **state)
{
    for (int past = 0; past < 2; past++) {
        int64_t kept_s = past ? 5 : 2, past_s = past ? 3 : 4;
        start();
        set_up(2 * MIB);
        assert_non_null(op.spill);
        assert_int_equal(calls(TRIED, kept_s, past_s), TRIED / 2);
        assert_int_equal(calls(ROUND - TRIED, kept_s, past_s),
                         past * (ROUND - TRIED));
        set_up(2 * MIB);
        assert_int_equal(op.spills, past);
    }
}

static void test_it_is_tried_again(void **state)
{
    start();
    set_up(2 * MIB);
    (void)calls(ROUND, 2, 4);
    assert_int_equal(calls(TRIED, 6, 4), TRIED / 2);
    assert_int_equal(call(6, 4), 1);
}

/* The first calls of a way pay for what the other has left in the caches, and
 * one that is late for another reason tells nothing. */
static void test_one_fast_call_tells(void **state)
{
    start();
    set_up(2 * MIB);
    (void)calls(TRIED / 4, 9, 1);
    (void)calls(TRIED / 4, 9, 3);
    (void)calls(TRIED / 4, 9, 9);
    (void)calls(TRIED / 4 - 1, 8, 9);
    (void)calls(1, 2, 9);
    assert_int_equal(call(9, 9), 0);
}

/* Each size learns, also by turns, and sizes that are alike do together. */
static void test_sizes_by_turns(void **state)
{
    int past[2] = {0, 0};
    start();
    for (int i = 0; i < TRIED + 1; i++) {
        set_up(2 * MIB + (i & 1) * 64);
        past[0] = call(2, 4);
        set_up(4 * MIB - (i & 1) * 64);
        past[1] = call(8, 6);
    }
    assert_int_equal(past[0], 0);
    assert_int_equal(past[1], 1);
}

/* In the same time more bytes are faster. */
static void test_times_are_of_a_byte(void **state)
{
    start();
    for (int i = 0; i < TRIED; i++) {
        set_up(i < TRIED / 2 ? 2 * MIB : 2 * MIB + MIB / 2);
        (void)call(5, 5);
    }
    assert_int_equal(call(5, 5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_tried),
        cmocka_unit_test(test_the_faster_way_is_taken),
        cmocka_unit_test(test_it_is_tried_again),
        cmocka_unit_test(test_one_fast_call_tells),
        cmocka_unit_test(test_sizes_by_turns),
        cmocka_unit_test(test_times_are_of_a_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
