/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Deadlines of calls: who was missing when one passed, whichever call it is
 * of, and that nothing is late which has come by the last look. */

#include "config.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "coll_world.h"
#include "lib/base/clock.h"
#include "lib/coll/engine.h"

static const char *come_late(struct coll_rank *r)
{
    struct hpcboot_error err = {0};
    if (r->rank == 1) {
        return NULL;
    }
    int rc = hb_coll_barrier(r->team, &err);
    if (rc != HPCBOOT_ERR_TIMED_OUT || strstr(err.text, "rank 1") == NULL ||
        strstr(err.text, "barrier") == NULL) {
        return coll_text("%d: %s", rc, err.text);
    }
    return hb_coll_barrier(r->team, NULL) == rc ? NULL : "the team lived on";
}

static void a_deadline_names_who_was_missing(void **state)
{
    struct coll_world w = {.ranks = 2, .timeout_ms = 30};
    assert_int_equal(coll_world_run(&w, come_late, NULL), 0);
}

/* Behind one that has time, on a team whose rank 1 does not come. */
static const char *come_late_to_the_second(struct coll_rank *r)
{
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    struct hpcboot_error err = {0};
    struct hb_coll_req *first = NULL;
    int64_t value = 1, sum;
    if (r->rank == 1) {
        return NULL;
    }
    a.coll = HPCBOOT_COLL_BARRIER;
    int rc = hb_coll_init(r->team, &a, NULL, &first, &err);
    rc = rc < 0 ? rc : hb_coll_start(first, &err);
    a.coll = HPCBOOT_COLL_ALLREDUCE;
    a.type = HPCBOOT_INT64;
    a.send = &value;
    a.recv = &sum;
    a.count = 1;
    a.timeout_ms = 30;
    rc = rc < 0 ? rc : hb_coll_run(r->team, &a, NULL, &err);
    hb_coll_req_destroy(first);
    return rc == HPCBOOT_ERR_TIMED_OUT && strstr(err.text, "allreduce") != NULL
               ? NULL : coll_text("%d: %s", rc, err.text);
}

static void a_deadline_holds_behind_a_call_that_has_time(void **state)
{
    struct coll_world w = {.ranks = 2};
    assert_int_equal(coll_world_run(&w, come_late_to_the_second, NULL), 0);
}

/* What comes between a look and the clock, which says that it is too late. */
static int at_the_second_look(void *arg)
{
    int *looks = arg;
    return ++*looks == 2;
}

static const char *look_once_more(struct coll_rank *r)
{
    int looks = 0;
    int rc = hb_coll_wait_until(r->engine, at_the_second_look, &looks, 1,
                                NULL);
    return rc == 1 ? NULL : coll_text("%d after %d looks", rc, looks);
}

static void a_deadline_that_has_passed_looks_once_more(void **state)
{
    struct coll_world w = {.ranks = 1};
    assert_int_equal(coll_world_run(&w, look_once_more, NULL), 0);
}

/* Rank 1 comes between a look of rank 0 and the clock. */
#define LATE_MS 1000
struct meeting {
    _Atomic int go, came;
    int64_t late_ns;
};

static int let_the_other_come(void *ctx, void *team, struct hpcboot_error *err)
{
    struct coll_rank *r = ctx;
    struct meeting *m = r->arg;
    if (r->rank == 0 && !m->go) {
        while (hb_now_ns() <= m->late_ns) {
            sched_yield();
        }
        m->go = 1;
        while (!m->came) {
            sched_yield();
        }
    }
    return HPCBOOT_OK;
}

static const char *start_late(struct coll_rank *r)
{
    struct meeting *m = r->arg;
    int in = 1, out = 0, rc;
    struct hpcboot_coll_args a = coll_sum_of(&in, &out, 1);
    struct hb_coll_req *q = NULL;
    a.timeout_ms = r->rank == 0 ? LATE_MS : 0;
    hb_coll_init(r->team, &a, NULL, &q, NULL);
    while (r->rank == 1 && !m->go) {
        sched_yield();
    }
    hb_coll_start(q, NULL);
    if (r->rank == 0) {
        m->late_ns = hb_deadline_in_ms(LATE_MS);
        hb_coll_node_changed(r->page);
    }
    m->came = r->rank;
    rc = hb_coll_wait(q, 0, NULL);
    hb_coll_req_destroy(q);
    return rc == 0 && out == 2 ? NULL : coll_text("%d %d", rc, out);
}

static void what_has_come_by_the_time_of_the_look_is_not_late(void **state)
{
    struct coll_world w = {.ranks = 2, .alive = let_the_other_come};
    struct meeting m = {0};
    assert_int_equal(coll_world_run(&w, start_late, &m), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_names_who_was_missing),
        cmocka_unit_test(a_deadline_holds_behind_a_call_that_has_time),
        cmocka_unit_test(a_deadline_that_has_passed_looks_once_more),
        cmocka_unit_test(what_has_come_by_the_time_of_the_look_is_not_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
