/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Exit policy: which cause wins, which status and sentence come of it. */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bin/job/verdict.h"

#define SECOND 1000000000LL
#define MS 1000000LL

static struct hb_cause cause(enum hb_cause_kind kind, int64_t t, int code)
{
    struct hb_cause c = {
        .kind = kind, .time_ns = t, .rank = 3, .host = "pod-1", .code = code,
    };

    return c;
}

static void earliest_cause_wins_whatever_comes_in_first(void **state)
{
    struct hb_verdict v = {0};
    struct hb_cause late = cause(HB_CAUSE_EXIT, 5 * SECOND, 9);
    struct hb_cause early = cause(HB_CAUSE_EXIT, 4 * SECOND, 3);

    assert_int_equal(hb_verdict_add(&v, &late), 1);
    assert_int_equal(hb_verdict_add(&v, &early), 1);
    assert_int_equal(v.status, 3);
    assert_int_equal(hb_verdict_add(&v, &late), 0);
    assert_int_equal(v.status, 3);
    assert_int_equal(v.n_causes, 3);
}

static void a_signal_outranks_an_exit_of_the_same_moment(void **state)
{
    struct hb_verdict v = {0};
    struct hb_cause ex = cause(HB_CAUSE_EXIT, SECOND, 1);
    struct hb_cause sig = cause(HB_CAUSE_SIGNAL, SECOND + 5 * MS, SIGSEGV);

    hb_verdict_add(&v, &ex);
    hb_verdict_add(&v, &sig);
    assert_int_equal(v.status, 128 + SIGSEGV);
    hb_verdict_add(&v, &ex);
    assert_int_equal(v.status, 128 + SIGSEGV);
}

static void an_abort_that_follows_a_loss_is_not_its_cause(void **state)
{
    struct hb_cause lost = cause(HB_CAUSE_HOST, SECOND, 0);
    struct hb_cause later = cause(HB_CAUSE_ABORT, SECOND + 10 * MS, 15);
    struct hb_cause before = cause(HB_CAUSE_ABORT, SECOND - 10 * MS, 15);
    struct hb_verdict v = {0};

    hb_verdict_add(&v, &lost);
    assert_int_equal(hb_verdict_add(&v, &later), 0);
    assert_int_equal(v.status, HB_EXIT_RETRY);
    assert_int_equal(hb_verdict_add(&v, &before), 1);
    assert_int_equal(v.status, 15);
}

static void a_kill_of_the_same_moment_explains_an_exit(void **state)
{
    struct hb_verdict v = {0};
    struct hb_cause ex = cause(HB_CAUSE_EXIT, SECOND, 1);
    struct hb_cause kill = cause(HB_CAUSE_SIGNAL, SECOND + 5 * MS, SIGKILL);
    struct hb_cause late = cause(HB_CAUSE_SIGNAL, SECOND + 50 * MS, SIGKILL);
    struct hb_cause pipe = cause(HB_CAUSE_SIGNAL, SECOND + 5 * MS, SIGPIPE);

    hb_verdict_add(&v, &ex);
    assert_true(hb_verdict_explained_by(&v, &kill));
    assert_false(hb_verdict_explained_by(&v, &late));
    assert_false(hb_verdict_explained_by(&v, &pipe));
    hb_verdict_add(&v, &kill);
    assert_int_equal(v.status, 128 + SIGKILL);
}

static void an_exit_long_before_a_signal_stays_first(void **state)
{
    struct hb_verdict v = {0};
    struct hb_cause ex = cause(HB_CAUSE_EXIT, SECOND, 1);
    struct hb_cause sig = cause(HB_CAUSE_SIGNAL, 2 * SECOND, SIGTERM);

    hb_verdict_add(&v, &ex);
    hb_verdict_add(&v, &sig);
    assert_int_equal(v.status, 1);
}

static void what_a_job_has_gone_on_from_stays_its_cause(void **state)
{
    struct hb_cause other = cause(HB_CAUSE_HOST, SECOND, 0);
    struct hb_cause user = cause(HB_CAUSE_USER, SECOND + 5 * MS, SIGTERM);
    struct hb_verdict v = {0};

    hb_verdict_add(&v, &other);
    v.outlived = 1;
    assert_false(hb_verdict_yields_to(&v, &user));
    assert_int_equal(hb_verdict_add(&v, &user), 0);
    assert_int_equal(v.status, HB_EXIT_RETRY);
}

static void what_hbrun_was_told_outranks_what_others_were(void **state)
{
    static const enum hb_cause_kind others[] = {HB_CAUSE_HOST, HB_CAUSE_EXIT,
                                                HB_CAUSE_SIGNAL};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct hb_cause other = cause(others[i], SECOND, SIGTERM);
        struct hb_cause user = cause(HB_CAUSE_USER, SECOND + 5 * MS, SIGTERM);
        struct hb_cause late = cause(HB_CAUSE_USER, SECOND + 50 * MS, SIGINT);
        struct hb_verdict v = {0};

        hb_verdict_add(&v, &other);
        assert_false(hb_verdict_yields_to(&v, &late));
        assert_int_equal(hb_verdict_add(&v, &late), 0);
        assert_true(hb_verdict_yields_to(&v, &user));
        assert_int_equal(hb_verdict_add(&v, &user), 1);
        assert_false(hb_verdict_yields_to(&v, &user));
        assert_int_equal(hb_verdict_add(&v, &other), 0);
        assert_int_equal(v.kind, HB_CAUSE_USER);
        assert_int_equal(v.status, 128 + SIGTERM);
    }
}

static void statuses_are_the_documented_ones(void **state)
{
    static const struct {
        enum hb_cause_kind kind;
        int code, sys_errno, status;
    } rows[] = {
        {HB_CAUSE_EXIT, 7, 0, 7},
        {HB_CAUSE_EXIT, 256, 0, 1},
        {HB_CAUSE_ABORT, 7, 0, 7},
        {HB_CAUSE_ABORT, 0, 0, 1},
        {HB_CAUSE_SIGNAL, SIGKILL, 0, 137},
        {HB_CAUSE_USER, SIGINT, 0, 130},
        {HB_CAUSE_NO_INIT, 0, 0, 1},
        {HB_CAUSE_NO_FINALIZE, 0, 0, 1},
        {HB_CAUSE_START, 0, ENOENT, 127},
        {HB_CAUSE_START, 0, EACCES, 126},
        {HB_CAUSE_START, 0, EMFILE, 75},
        {HB_CAUSE_START, 0, EAGAIN, 75},
        {HB_CAUSE_HOST, 0, 0, 75},
        {HB_CAUSE_TIMEOUT, 0, 0, 124},
        {HB_CAUSE_OUTPUT, EPIPE, 0, 128 + SIGPIPE},
        {HB_CAUSE_OUTPUT, ENOSPC, 0, 74},
        {HB_CAUSE_USAGE, 0, 0, 2},
        {HB_CAUSE_INTERNAL, 0, 0, 70},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hb_verdict v = {0};
        struct hb_cause c = cause(rows[i].kind, SECOND, rows[i].code);

        c.sys_errno = rows[i].sys_errno;
        hb_verdict_add(&v, &c);
        assert_int_equal(v.status, rows[i].status);
    }
}

static void the_sentence_names_rank_host_signal_and_evidence(void **state)
{
    struct hb_verdict v = {0};
    struct hb_cause c = cause(HB_CAUSE_SIGNAL, SECOND, SIGKILL);

    c.evidence = "out of memory";
    hb_verdict_add(&v, &c);
    assert_string_equal(v.text, "rank 3 on pod-1 was ended by signal 9: "
                        "SIGKILL (Killed); out of memory");
}

static void an_abort_carries_its_own_words(void **state)
{
    struct hb_verdict v = {0};
    struct hb_cause c = cause(HB_CAUSE_ABORT, SECOND, 7);

    c.text = "grid too small";
    hb_verdict_add(&v, &c);
    assert_string_equal(v.text, "rank 3 on pod-1 aborted the job with code 7: "
                        "grid too small");
}

/* A step that is cancelled, a pod that is deleted: SIGKILL to all of it. */
static void a_host_that_is_lost_explains_its_killed_rank(void **state)
{
    struct hb_verdict v = {0};
    struct hb_cause killed = cause(HB_CAUSE_SIGNAL, SECOND, SIGKILL);
    struct hb_cause other = cause(HB_CAUSE_HOST, 2 * SECOND, 0);
    struct hb_cause lost = cause(HB_CAUSE_HOST, 3 * SECOND, 0);

    other.host = "pod-2";
    other.text = lost.text = "its link was closed";
    hb_verdict_add(&v, &killed);
    assert_int_equal(hb_verdict_add(&v, &other), 0);
    assert_int_equal(hb_verdict_add(&v, &lost), 1);
    assert_int_equal(v.status, 75);
    assert_string_equal(v.text, "host pod-1: its link was closed");
}

static void a_host_that_is_lost_long_after_explains_nothing(void **state)
{
    struct hb_verdict v = {0};
    struct hb_cause killed = cause(HB_CAUSE_SIGNAL, SECOND, SIGKILL);
    struct hb_cause host = cause(HB_CAUSE_HOST, 600 * SECOND, 0);

    hb_verdict_add(&v, &killed);
    assert_false(hb_verdict_explained_by(&v, &host));
    assert_int_equal(hb_verdict_add(&v, &host), 0);
    assert_int_equal(v.status, 128 + SIGKILL);
}

static void a_host_that_is_lost_later_explains_nothing_else(void **state)
{
    struct hb_cause lost = cause(HB_CAUSE_HOST, 3 * SECOND, 0);
    struct hb_cause oom = cause(HB_CAUSE_SIGNAL, SECOND, SIGKILL);
    struct hb_cause fault = cause(HB_CAUSE_SIGNAL, SECOND, SIGSEGV);
    struct hb_verdict v = {0}, w = {0};

    oom.evidence = "out of memory";
    hb_verdict_add(&v, &oom);
    assert_int_equal(hb_verdict_add(&v, &lost), 0);
    hb_verdict_add(&w, &fault);
    assert_int_equal(hb_verdict_add(&w, &lost), 0);
}

/* What its launcher says is a sentence already. */
static void a_spawned_job_ends_the_job_with_its_own_status(void **state)
{
    struct hb_verdict v = {0};
    struct hb_cause ex = cause(HB_CAUSE_EXIT, 2 * SECOND, 1);
    struct hb_cause spawned = cause(HB_CAUSE_SPAWNED, SECOND, 7);

    spawned.text = "job 2: rank 0 on a exited with status 7";
    hb_verdict_add(&v, &ex);
    assert_int_equal(hb_verdict_add(&v, &spawned), 1);
    assert_int_equal(v.status, 7);
    assert_string_equal(v.text, spawned.text);
}

static void a_change_of_size_yields_to_what_ends_the_job_for_good(void **state)
{
    const enum hb_cause_kind for_good[] = {
        HB_CAUSE_TIMEOUT, HB_CAUSE_USER, HB_CAUSE_OUTPUT, HB_CAUSE_INTERNAL,
    };
    struct hb_cause resize = cause(HB_CAUSE_RESIZE, SECOND, 0);
    struct hb_cause late = cause(HB_CAUSE_EXIT, 2 * SECOND, 1);

    for (size_t i = 0; i < sizeof for_good / sizeof *for_good; i++) {
        struct hb_cause c = cause(for_good[i], 3 * SECOND, SIGTERM);
        struct hb_verdict v = {0};

        hb_verdict_add(&v, &resize);
        assert_int_equal(hb_verdict_add(&v, &late), 0);
        assert_true(hb_verdict_yields_to(&v, &c));
        assert_int_equal(hb_verdict_add(&v, &c), 1);
        assert_int_equal(v.kind, for_good[i]);
        assert_int_equal(hb_verdict_add(&v, &late), 0);
    }
}

static void no_cause_is_success(void **state)
{
    struct hb_verdict v = {0};

    assert_int_equal(v.status, 0);
    assert_string_equal(v.text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(earliest_cause_wins_whatever_comes_in_first),
        cmocka_unit_test(a_signal_outranks_an_exit_of_the_same_moment),
        cmocka_unit_test(an_abort_that_follows_a_loss_is_not_its_cause),
        cmocka_unit_test(a_kill_of_the_same_moment_explains_an_exit),
        cmocka_unit_test(an_exit_long_before_a_signal_stays_first),
        cmocka_unit_test(what_hbrun_was_told_outranks_what_others_were),
        cmocka_unit_test(what_a_job_has_gone_on_from_stays_its_cause),
        cmocka_unit_test(statuses_are_the_documented_ones),
        cmocka_unit_test(the_sentence_names_rank_host_signal_and_evidence),
        cmocka_unit_test(an_abort_carries_its_own_words),
        cmocka_unit_test(a_host_that_is_lost_explains_its_killed_rank),
        cmocka_unit_test(a_host_that_is_lost_later_explains_nothing_else),
        cmocka_unit_test(a_host_that_is_lost_long_after_explains_nothing),
        cmocka_unit_test(a_spawned_job_ends_the_job_with_its_own_status),
        cmocka_unit_test(
            a_change_of_size_yields_to_what_ends_the_job_for_good),
        cmocka_unit_test(no_cause_is_success),
    };

    return cmocka_run_group_tests_name("job_verdict", tests, NULL, NULL);
}
