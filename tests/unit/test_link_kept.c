/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What was said is kept until it is known to have come, and said again in its
 * order. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bin/link/kept.h"
#include "lib/wire/wire.h"

/* Signals number their ranks, so that they can be told apart. */
static void say(struct hb_kept *k, uint32_t rank)
{
    const struct hb_msg_signal m = {.rank = rank, .signo = 1};
    struct hb_buf b;

    hb_buf_init(&b, 1000);
    assert_int_equal(hb_wire_put_signal(&b, 0, HB_NODE_LAUNCHER, 7, &m, NULL),
                     0);
    hb_kept_said(k, (struct hb_bytes){b.data, b.len});
    hb_buf_destroy(&b);
}

/* The ranks of what is said again are first, first + 1, ... last. */
static void assert_repeats(const struct hb_kept *k, uint32_t first,
                           uint32_t last)
{
    struct hb_msg_signal m;
    struct hb_frame f;
    struct hb_buf out;

    hb_buf_init(&out, 100000);
    hb_kept_repeat(k, &out);
    for (uint32_t r = first; r <= last; r++) {
        assert_int_equal(hb_wire_next(&out, &f, NULL), 1);
        assert_int_equal(hb_wire_get_signal(&f, &m, NULL), 0);
        assert_int_equal(m.rank, r);
    }
    assert_int_equal(hb_buf_left(&out), 0);
    hb_buf_destroy(&out);
}

static void what_is_not_confirmed_is_said_again(void **state)
{
    struct hb_kept k = {0};

    hb_kept_open(&k);
    for (uint32_t r = 1; r <= 10; r++) {
        say(&k, r);
    }
    assert_repeats(&k, 1, 10);
    assert_int_equal(hb_kept_known(&k, 4, NULL), 0);
    assert_repeats(&k, 5, 10);
    assert_int_equal(hb_kept_known(&k, 2, NULL), 0); /* an older word */
    assert_repeats(&k, 5, 10);
    say(&k, 11);
    assert_int_equal(hb_kept_known(&k, 11, NULL), 0);
    assert_repeats(&k, 1, 0);
    hb_kept_close(&k);
}

static void more_than_was_said_is_refused(void **state)
{
    struct hb_kept k = {0};

    hb_kept_open(&k);
    say(&k, 1);
    assert_int_equal(hb_kept_known(&k, 2, NULL), HPCBOOT_ERR_PROTOCOL);
    assert_repeats(&k, 1, 1);
    hb_kept_close(&k);
}

/* Data for one frame; of these, more than are kept. */
#define LARGE ((size_t)1 << 20)
#define TOO_MANY 65u

static void say_too_much(struct hb_kept *k)
{
    void *data = calloc(1, LARGE);
    const struct hb_msg_output m = {.data = {data, LARGE}};
    struct hb_buf b;

    hb_buf_init(&b, 2 * LARGE);
    assert_int_equal(hb_wire_put_output(&b, 0, 7, HB_NODE_LAUNCHER, &m, NULL),
                     0);
    for (unsigned i = 0; i < TOO_MANY; i++) {
        hb_kept_said(k, (struct hb_bytes){b.data, b.len});
    }
    hb_buf_destroy(&b);
    free(data);
}

static void what_outgrows_it_goes_on_and_is_not_resumed(void **state)
{
    struct hb_kept k = {0};

    hb_kept_open(&k);
    say_too_much(&k);
    assert_int_equal(hb_kept_confirmed(&k, 3, NULL), 0);
    say(&k, 1);
    assert_int_equal(hb_kept_confirmed(&k, TOO_MANY + 1, NULL), 0);
    assert_int_equal(hb_kept_confirmed(&k, TOO_MANY + 2, NULL),
                     HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(hb_kept_known(&k, TOO_MANY + 1, NULL),
                     HPCBOOT_ERR_LIMIT);
    hb_kept_close(&k);
}

static void what_concerns_one_link_is_not_counted(void **state)
{
    const struct hb_msg_fence_down m = {.status = 0};
    struct hb_kept k = {0};
    struct hb_buf b;

    hb_kept_open(&k);
    hb_buf_init(&b, 1000);
    assert_int_equal(hb_wire_put_fence_down(&b, 0, 1, 2, &m, NULL), 0);
    hb_kept_said(&k, (struct hb_bytes){b.data, b.len});
    hb_buf_destroy(&b);
    assert_int_equal(k.said, 0);
    assert_int_equal(hb_kept_came(&k, HB_MSG_FENCE_UP), 0);
    assert_int_equal(k.came, 0);
    hb_kept_close(&k);
}

static void what_came_is_confirmed_now_and_then(void **state)
{
    struct hb_kept k = {0};
    unsigned told = 0;

    hb_kept_open(&k);
    for (unsigned i = 0; i < 1000; i++) {
        told += (unsigned)hb_kept_came(&k, HB_MSG_OUTPUT);
    }
    assert_int_equal(k.came, 1000);
    assert_in_range(told, 5, 100);
    hb_kept_close(&k);
}

static void one_that_is_not_open_keeps_nothing(void **state)
{
    struct hb_kept k = {0};

    say(&k, 1);
    assert_int_equal(hb_kept_came(&k, HB_MSG_OUTPUT), 0);
    assert_int_equal(k.said + k.came, 0);
    assert_repeats(&k, 1, 0);
    hb_kept_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_confirmed_is_said_again),
        cmocka_unit_test(more_than_was_said_is_refused),
        cmocka_unit_test(what_outgrows_it_goes_on_and_is_not_resumed),
        cmocka_unit_test(what_concerns_one_link_is_not_counted),
        cmocka_unit_test(what_came_is_confirmed_now_and_then),
        cmocka_unit_test(one_that_is_not_open_keeps_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
