/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What one life of a job leaves to the next, and whether there is one. */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bin/job/lives.h"

static struct hb_verdict failed(enum hb_cause_kind kind, int code)
{
    struct hb_verdict v = {0};
    const struct hb_cause c = {
        .kind = kind, .time_ns = 1, .host = "pod-1", .code = code,
    };

    hb_verdict_add(&v, &c);
    return v;
}

static void the_wait_doubles_up_to_a_minute(void **state)
{
    const struct hb_backoff b = {.first_ms = 1000, .max = 100};

    assert_int_equal(hb_backoff_ms(&b, 0), 1000);
    assert_int_equal(hb_backoff_ms(&b, 1), 2000);
    assert_int_equal(hb_backoff_ms(&b, 5), 32000);
    assert_int_equal(hb_backoff_ms(&b, 6), 60000);
    assert_int_equal(hb_backoff_ms(&b, UINT32_MAX), 60000);
}

static void no_wait_stays_no_wait(void **state)
{
    const struct hb_backoff b = {.first_ms = 0, .max = 100};

    assert_int_equal(hb_backoff_ms(&b, UINT32_MAX), 0);
}

static void a_job_lives_again_as_often_as_it_may(void **state)
{
    const struct hb_backoff b = {.first_ms = 10, .max = 2};
    struct hb_verdict v = failed(HB_CAUSE_EXIT, 3);
    struct hb_lives l = {0};

    assert_int_equal(hb_lives_again(&l, &b, &v), 1);
    assert_int_equal(l.epoch, 1);
    assert_int_equal(l.delay_ms, 10);
    assert_int_equal(hb_lives_again(&l, &b, &v), 1);
    assert_int_equal(l.delay_ms, 20);
    assert_int_equal(hb_lives_again(&l, &b, &v), 0);
    assert_int_equal(l.restarts, 2);
    hb_lives_clear(&l);
}

static void only_failures_that_may_pass_are_tried_again(void **state)
{
    static const struct {
        enum hb_cause_kind kind;
        int curable;
    } rows[] = {
        {HB_CAUSE_NONE, 0}, {HB_CAUSE_EXIT, 1}, {HB_CAUSE_SIGNAL, 1},
        {HB_CAUSE_ABORT, 1}, {HB_CAUSE_NO_INIT, 1},
        {HB_CAUSE_NO_FINALIZE, 1}, {HB_CAUSE_HOST, 1},
        {HB_CAUSE_TIMEOUT, 0}, {HB_CAUSE_USER, 0}, {HB_CAUSE_OUTPUT, 0},
        {HB_CAUSE_USAGE, 0}, {HB_CAUSE_INTERNAL, 0},
        {HB_CAUSE_START, 0}, /* as a program that is not there */
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hb_verdict v = failed(rows[i].kind, 1);

        assert_int_equal(hb_lives_curable(&v), rows[i].curable);
    }
}

static void a_lost_host_is_lost_until_it_is_seen(void **state)
{
    struct hb_lives l = {0};

    hb_lives_note_seen(&l, "pod-2", 4, 1500);
    hb_lives_note_lost(&l, "pod-2");
    hb_lives_note_lost(&l, "pod-2");
    assert_int_equal(l.lost.n, 1);
    assert_true(hb_lives_was_lost(&l, "pod-2"));
    assert_false(hb_lives_was_lost(&l, "pod-20"));
    assert_int_equal(hb_lives_find(&l, "pod-2")->slots, 4);
    hb_lives_note_seen(&l, "pod-2", 8, 0);
    assert_false(hb_lives_was_lost(&l, "pod-2"));
    assert_int_equal(hb_lives_find(&l, "pod-2")->slots, 8);
    assert_int_equal(l.n_known, 1);
    assert_null(hb_lives_find(&l, "pod-3"));
    hb_lives_clear(&l);
}

static void the_last_agent_that_was_lost_is_known(void **state)
{
    struct hb_lives l = {0};

    assert_string_equal(hb_lives_former(&l, "pod-1"), "");
    hb_lives_note_former(&l, "pod-1", "first");
    hb_lives_note_former(&l, "pod-2", "other");
    hb_lives_note_former(&l, "pod-1", "second");
    assert_string_equal(hb_lives_former(&l, "pod-1"), "second");
    assert_string_equal(hb_lives_former(&l, "pod-2"), "other");
    assert_int_equal(l.n_formers, 2);
    hb_lives_clear(&l);
}

static void policies_have_names(void **state)
{
    struct hpcboot_error err = {0};
    enum hb_on_failure p;

    assert_int_equal(hb_on_failure_parse(NULL, &p, &err), 0);
    assert_int_equal(p, HB_FAIL_ABORT);
    assert_int_equal(hb_on_failure_parse("restart-job", &p, &err), 0);
    assert_int_equal(p, HB_FAIL_RESTART);
    assert_int_equal(hb_on_failure_parse("restart", &p, &err),
                     HPCBOOT_ERR_USAGE);
    assert_non_null(strstr(err.text, "restart-job"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wait_doubles_up_to_a_minute),
        cmocka_unit_test(no_wait_stays_no_wait),
        cmocka_unit_test(a_job_lives_again_as_often_as_it_may),
        cmocka_unit_test(only_failures_that_may_pass_are_tried_again),
        cmocka_unit_test(a_lost_host_is_lost_until_it_is_seen),
        cmocka_unit_test(the_last_agent_that_was_lost_is_known),
        cmocka_unit_test(policies_have_names),
    };

    return cmocka_run_group_tests_name("job_lives", tests, NULL, NULL);
}
