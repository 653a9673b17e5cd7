/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The loop of hpcboot perf, of one rank whose calls are only written down, by a
 * clock that goes on by what they are to take. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "bin/hpcboot/perf_loop.h"

#define BARRIER_NS 2000000
#define BCAST_NS 1000

static int64_t clock_ns;

/* In the place of the C library's. */
int clock_gettime(clockid_t id, struct timespec *t)
{
    (void)id;
    *t = (struct timespec){clock_ns / 1000000000, clock_ns % 1000000000};
    return 0;
}

struct calls {
    int last;               /* the kind of the one before */
    unsigned long barriers, bcasts;
    unsigned long together; /* bcasts with a barrier before them */
};

static void call(void *ctx, const struct hb_perf_call *c)
{
    struct calls *n = ctx;

    if (c->kind == HPCBOOT_COLL_BARRIER) {
        n->barriers++;
        clock_ns += BARRIER_NS;
    } else {
        n->bcasts++;
        clock_ns += BCAST_NS;
        n->together += n->last == HPCBOOT_COLL_BARRIER;
    }
    n->last = c->kind;
}

static void mean(void *ctx, double *values, int n)
{
}

static struct hb_perf_row measure(int sync, struct calls *n)
{
    static const struct hb_perf_ops ops = {.call = call, .mean = mean};
    unsigned char send[64], recv[64];
    struct hb_perf_call c = {.kind = HPCBOOT_COLL_BCAST, .bytes = 64,
                             .size = 1, .sync = sync, .send = send,
                             .recv = recv};
    struct hb_perf_row row;

    *n = (struct calls){.last = -1};
    hb_perf_measure(&ops, n, &c, 1000, &row);
    return row;
}

static void with_sync_a_barrier_is_before_each_call_and_does_not_count(
    void **state)
{
    struct calls n;
    struct hb_perf_row row = measure(1, &n);

    assert_int_equal(row.wrong, 0);
    assert_true(row.calls > 0 && row.calls <= n.bcasts);
    assert_int_equal(n.together, n.bcasts);
    assert_true(n.barriers >= n.bcasts);
    assert_true(row.min_us > 0.99 && row.max_us < 1.01);
}

static void without_it_calls_follow_each_other(void **state)
{
    struct calls n;
    struct hb_perf_row row = measure(0, &n);

    assert_int_equal(row.wrong, 0);
    assert_true(row.calls > 1 && row.calls <= n.bcasts);
    assert_true(n.together <= n.barriers);
    assert_true(n.barriers < n.bcasts / 2);
    assert_true(row.min_us > 0.99 && row.max_us < 1.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            with_sync_a_barrier_is_before_each_call_and_does_not_count),
        cmocka_unit_test(without_it_calls_follow_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
