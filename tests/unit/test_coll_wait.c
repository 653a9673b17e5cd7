/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* When a rank that tests instead of waiting yields: where it shares its core.
 * When a rank that waits for the network sleeps, and for how long: where it
 * shares its core with other nodes of the machine, and yields find nobody to
 * run, soon; where its own node's ranks may need the core, or would not wake
 * it, not before, and not for long. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/coll/engine.h"

/* A machine that has much else to do may put the test off its core in the
 * midst of a wait, which ends the row of yields; so there are several. */
#define WAITS 200

/* Longer than from one tick of the clock to the next. */
#define LONG_NS (4 * 1000 * 1000)

static unsigned naps;
static int64_t shortest_ns, longest_ns;
static unsigned yields;
static struct hb_coll_engine *looked; /* the engine of vain looks, or NULL */

/* In the place of the C library's: nobody else is there to run. */
int sched_yield(void)
{
    yields++;
    if (looked != NULL && looked->locking) { /* other threads get in */
        assert_int_equal(pthread_mutex_trylock(&looked->lock), 0);
        pthread_mutex_unlock(&looked->lock);
    }
    return 0;
}

static bool is_put_off; /* again and again, as the system says */

/* In the place of the C library's. */
int getrusage(__rusage_who_t who, struct rusage *u)
{
    static long switches;
    (void)who;
    memset(u, 0, sizeof *u);
    u->ru_nivcsw = switches += is_put_off ? 1000 : 0;
    return 0;
}

static void idle(void *ctx, int64_t ns)
{
    (void)ctx;
    naps++;
    shortest_ns = ns < shortest_ns ? ns : shortest_ns;
    longest_ns = ns > longest_ns ? ns : longest_ns;
}

static int nothing_has_come(void *ctx)
{
    (void)ctx;
    return 0;
}

struct place {
    int node_size;
    enum hb_coll_wait mode;
    bool outnumbered;
    bool threads;
    int64_t deadline_ns;
};

/* The longest row of yields before a sleep. */
static unsigned most_vain(const struct place *p)
{
    static struct hb_coll_node_page page;
    struct hb_coll_config c = HB_COLL_CONFIG_INIT;
    struct hb_coll_engine *e = NULL;
    unsigned most = 0;
    shortest_ns = INT64_MAX;
    longest_ns = 0;
    memset(&page, 0, sizeof page);
    page.wait_mode = (uint32_t)p->mode;
    c.page = &page;
    c.node_size = p->node_size;
    c.idle = idle;
    c.progress = nothing_has_come;
    c.threads = p->threads;
    assert_int_equal(hb_coll_create(&c, &e, NULL), 0);
    e->outnumbered = p->outnumbered;
    hb_engine_enter(e);
    for (int i = 0; i < WAITS; i++) {
        struct hb_wait w = {0};
        w.deadline_ns = p->deadline_ns > 0 ? hb_now_ns() + p->deadline_ns : 0;
        int rc = 0;
        for (naps = 0; naps == 0 && rc == 0;) {
            rc = hb_wait_pause(&w, e, NULL, NULL);
        }
        /* Off its core for so long, it may miss a deadline. */
        assert_true(rc == 0 ||
                    (rc == HPCBOOT_ERR_TIMED_OUT && p->deadline_ns > 0));
        most = w.vain > most ? w.vain : most;
    }
    (void)hb_engine_leave(e, 0);
    hb_coll_destroy(e);
    return most;
}

static void one_rank_of_a_crowd_of_nodes_sleeps_soon(void **state)
{
    struct place p = {1, HB_COLL_WAIT_YIELD, true, false, 0};
    assert_int_equal(most_vain(&p), 32);
}

static void one_of_several_of_such_a_node_does_as_well(void **state)
{
    struct place p = {2, HB_COLL_WAIT_SPIN, true, false, 0};
    assert_int_equal(most_vain(&p), 32);
}

/* Nothing that it waits for comes without waking it. */
static void the_only_rank_of_a_node_sleeps_for_long(void **state)
{
    struct place p = {1, HB_COLL_WAIT_YIELD, true, false, 0};
    (void)most_vain(&p);
    assert_true(shortest_ns > LONG_NS && longest_ns > 0);
    p.deadline_ns = LONG_NS;
    (void)most_vain(&p);
    assert_in_range(longest_ns, 1, LONG_NS);
}

/* A rank of its node, or another thread, may have it meanwhile. Who has been
 * off its core for long already sleeps longer, too. */
static void who_may_not_be_woken_sleeps_briefly(void **state)
{
    struct place p = {2, HB_COLL_WAIT_SPIN, true, false, 0};
    (void)most_vain(&p);
    assert_true(shortest_ns < LONG_NS);
    p = (struct place){1, HB_COLL_WAIT_YIELD, true, true, 0};
    (void)most_vain(&p);
    assert_true(shortest_ns < LONG_NS);
}

static void ranks_that_crowd_their_own_node_yield_their_time(void **state)
{
    struct place p = {2, HB_COLL_WAIT_YIELD, false, false, 0};
    assert_true(most_vain(&p) > 32);
    p.outnumbered = true; /* its own node's ranks take turns as well */
    assert_true(most_vain(&p) > 32);
}

static void a_rank_with_a_core_of_its_own_yields_its_time(void **state)
{
    struct place p = {1, HB_COLL_WAIT_SPIN, false, false, 0};
    assert_true(most_vain(&p) > 32);
}

static uint64_t moves, step;

static uint64_t something_moves(void *ctx)
{
    (void)ctx;
    return moves += step;
}

/* A rank alone on its node, with messages of other calls. */
static struct hb_coll_config with_messages(void)
{
    static struct hb_coll_node_page page = {.wait_mode = HB_COLL_WAIT_YIELD};
    struct hb_coll_config c = HB_COLL_CONFIG_INIT;
    c.page = &page;
    c.node_size = 1;
    c.idle = idle;
    c.progress = nothing_has_come;
    c.moves = something_moves;
    return c;
}

/* Though it is not what the call waits for: pieces of a long message come each
 * when who sends them has had its turn. */
static void who_sees_messages_move_does_not_sleep(void **state)
{
    struct hb_coll_config c = with_messages();
    struct hb_coll_engine *e = NULL;
    assert_int_equal(hb_coll_create(&c, &e, NULL), 0);
    e->outnumbered = true;
    hb_engine_enter(e);
    for (step = 2; step-- > 0;) {
        struct hb_wait w = {0};
        naps = 0;
        for (int i = 0; i < 1000; i++) {
            assert_int_equal(hb_wait_pause(&w, e, NULL, NULL), 0);
        }
        assert_true(step > 0 ? naps == 0 : naps > 0);
    }
    (void)hb_engine_leave(e, 0);
    hb_coll_destroy(e);
}

static unsigned told;

static int count_told(void *ctx, void *team, const struct hb_coll_stuck *what,
                      struct hpcboot_error *err)
{
    (void)ctx;
    (void)team;
    (void)err;
    told += what != NULL;
    return 0;
}

/* What it waits for may never come all the same. */
static void who_sees_messages_move_is_seen_to_wait(void **state)
{
    struct hb_coll_config c = with_messages();
    struct hb_coll_engine *e = NULL;
    struct hb_wait w = {0};
    time_t begun = time(NULL);
    c.stuck = count_told;
    assert_int_equal(hb_coll_create(&c, &e, NULL), 0);
    hb_engine_enter(e);
    step = 1;
    told = naps = 0;
    while (told < 3 && time(NULL) < begun + 30) {
        assert_int_equal(hb_wait_pause(&w, e, NULL, NULL), 0);
    }
    assert_int_equal(told, 3);
    assert_int_equal(naps, 0);
    hb_wait_over(e);
    (void)hb_engine_leave(e, 0);
    hb_coll_destroy(e);
}

static unsigned look_in_vain(struct hb_coll_engine *e, unsigned n)
{
    looked = e;
    yields = 0;
    hb_coll_look_found();
    for (unsigned i = 0; i < n; i++) {
        hb_coll_vain_look(e);
    }
    looked = NULL;
    return yields;
}

/* How often a program that tests N times in vain gives its core away. */
static unsigned yields_of(const struct place *p, unsigned n)
{
    static struct hb_coll_node_page page;
    struct hb_coll_config c = HB_COLL_CONFIG_INIT;
    struct hb_coll_engine *e = NULL;
    unsigned seen;
    memset(&page, 0, sizeof page);
    page.wait_mode = (uint32_t)p->mode;
    c.page = &page;
    c.node_size = p->node_size;
    c.threads = p->threads;
    assert_int_equal(hb_coll_create(&c, &e, NULL), 0);
    e->outnumbered = p->outnumbered;
    seen = look_in_vain(e, n);
    hb_coll_destroy(e);
    return seen;
}

static void who_tests_on_a_shared_core_lets_others_run(void **state)
{
    struct place p = {2, HB_COLL_WAIT_YIELD, false, false, 0};
    assert_in_range(yields_of(&p, 1000), 10, 500);
    p.threads = true;
    assert_in_range(yields_of(&p, 1000), 10, 500);
    p.mode = HB_COLL_WAIT_PARK;
    assert_in_range(yields_of(&p, 1000), 10, 500);
    p = (struct place){1, HB_COLL_WAIT_SPIN, true, false, 0};
    assert_in_range(yields_of(&p, 1000), 10, 500);
}

static void who_tests_on_its_own_core_keeps_it(void **state)
{
    struct place p = {2, HB_COLL_WAIT_SPIN, false, false, 0};
    assert_int_equal(yields_of(&p, 1000), 0);
}

static struct hb_coll_engine *rank_on(struct hb_coll_node_page *page)
{
    struct hb_coll_config c = HB_COLL_CONFIG_INIT;
    struct hb_coll_engine *e = NULL;
    c.page = page;
    c.node_size = 2;
    c.idle = idle;
    c.progress = nothing_has_come;
    assert_int_equal(hb_coll_create(&c, &e, NULL), 0);
    return e;
}

/* Until what it looks for has come. */
static void who_tests_for_long_on_a_shared_core_sleeps(void **state)
{
    static struct hb_coll_node_page page;
    struct hb_coll_engine *e;
    page.wait_mode = HB_COLL_WAIT_YIELD;
    e = rank_on(&page);
    naps = 0;
    longest_ns = 0;
    hb_coll_look_found();
    looked = e;
    for (unsigned i = 0; i < 100000000 && naps == 0; i++) {
        hb_coll_vain_look(e);
    }
    looked = NULL;
    assert_int_equal(naps, 1);
    assert_in_range(longest_ns, 1, 1000 * 1000);
    assert_int_equal(look_in_vain(e, 16), 1);
    assert_int_equal(naps, 1);
    hb_coll_destroy(e);
}

/* It waits until it has found that, and no longer: it would go on to find that
 * its yields let nobody run, and take it back. */
static void put_off(struct hb_coll_engine *e)
{
    uint32_t before = e->crowded;
    is_put_off = true;
    hb_engine_enter(e);
    for (int i = 0; i < WAITS && e->crowded == before; i++) {
        struct hb_wait w = {0};
        for (naps = 0; naps == 0 && e->crowded == before;) {
            assert_int_equal(hb_wait_pause(&w, e, NULL, NULL), 0);
        }
    }
    (void)hb_engine_leave(e, 0);
    is_put_off = false;
    assert_int_not_equal(e->crowded, before);
}

static void a_death_makes_room_until_the_others_find_none(void **state)
{
    static struct hb_coll_node_page page;
    struct hb_coll_engine *dies, *lives, *third;
    page.wait_mode = HB_COLL_WAIT_SPIN;
    dies = rank_on(&page);
    lives = rank_on(&page);
    third = rank_on(&page);
    put_off(dies);
    assert_true(look_in_vain(third, 1000) > 0);
    hb_coll_node_changed(&page); /* nobody takes back what it has said */
    assert_int_equal(look_in_vain(third, 1000), 0);
    put_off(lives);
    assert_true(look_in_vain(third, 1000) > 0);
    hb_coll_destroy(dies); /* or it does, late: it counts no more */
    assert_true(look_in_vain(third, 1000) > 0);
    hb_coll_destroy(lives);
    assert_int_equal(look_in_vain(third, 1000), 0);
    hb_coll_destroy(third);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_of_a_crowd_of_nodes_sleeps_soon),
        cmocka_unit_test(one_of_several_of_such_a_node_does_as_well),
        cmocka_unit_test(the_only_rank_of_a_node_sleeps_for_long),
        cmocka_unit_test(who_may_not_be_woken_sleeps_briefly),
        cmocka_unit_test(ranks_that_crowd_their_own_node_yield_their_time),
        cmocka_unit_test(a_rank_with_a_core_of_its_own_yields_its_time),
        cmocka_unit_test(who_sees_messages_move_does_not_sleep),
        cmocka_unit_test(who_sees_messages_move_is_seen_to_wait),
        cmocka_unit_test(who_tests_on_a_shared_core_lets_others_run),
        cmocka_unit_test(who_tests_on_its_own_core_keeps_it),
        cmocka_unit_test(who_tests_for_long_on_a_shared_core_sleeps),
        cmocka_unit_test(a_death_makes_room_until_the_others_find_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
