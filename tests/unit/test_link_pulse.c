/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* When a link beats, and what its peer's silence means. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "bin/link/pulse.h"

#define MS ((int64_t)1000000)
#define BEAT_MS 100
#define DEAD_MS 500
#define START (7000 * MS) /* somewhere on the clock */

static struct hb_pulse started(uint32_t beat_ms, uint32_t dead_ms)
{
    struct hb_pulse p = {0};

    hb_pulse_start(&p, beat_ms, dead_ms, START);
    return p;
}

/* Comes whenever it is due, up to `until`: all that was to be done. */
static unsigned run(struct hb_pulse *p, int64_t until)
{
    unsigned todo = 0;
    int64_t due = hb_pulse_due_ns(p);

    while (due != 0 && due <= until && !(todo & HB_PULSE_DEAD)) {
        todo |= hb_pulse_step(p, due);
        due = hb_pulse_due_ns(p);
    }
    return todo;
}

static void off_is_never_due(void **state)
{
    struct hb_pulse p = started(0, 0);

    assert_true(hb_pulse_due_ns(&p) == 0);
    assert_int_equal(hb_pulse_step(&p, START + 1000 * MS), 0);
}

static void a_beat_is_due_every_period(void **state)
{
    struct hb_pulse p = started(BEAT_MS, 0);

    assert_true(hb_pulse_due_ns(&p) == START + BEAT_MS * MS);
    assert_int_equal(hb_pulse_step(&p, START + 99 * MS), 0);
    assert_int_equal(hb_pulse_step(&p, START + 100 * MS), HB_PULSE_BEAT);
    assert_true(hb_pulse_due_ns(&p) == START + 200 * MS);
}

static void a_beat_out_of_turn_leaves_the_watch_alone(void **state)
{
    struct hb_pulse p = started(BEAT_MS, DEAD_MS);

    assert_false(hb_pulse_beat(&p, START + 99 * MS));
    assert_true(hb_pulse_beat(&p, START + 400 * MS));
    assert_false(hb_pulse_beat(&p, START + 401 * MS));
    assert_int_equal(hb_pulse_silent_ms(&p, START + 400 * MS), 400);
}

static void a_silent_peer_is_suspected_once_and_dies(void **state)
{
    struct hb_pulse p = started(0, DEAD_MS);

    assert_int_equal(run(&p, START + 299 * MS), 0);
    assert_int_equal(run(&p, START + 404 * MS), HB_PULSE_SUSPECT);
    assert_int_equal(run(&p, START + 499 * MS), 0);
    assert_int_equal(run(&p, START + 501 * MS), HB_PULSE_DEAD);
}

static void a_word_ends_suspicion(void **state)
{
    struct hb_pulse p = started(0, DEAD_MS);

    (void)run(&p, START + 404 * MS);
    assert_int_equal(hb_pulse_heard(&p, START + 450 * MS), 1);
    assert_int_equal(hb_pulse_heard(&p, START + 451 * MS), 0);
    assert_int_equal(run(&p, START + 700 * MS), 0);
}

static void silence_is_not_blamed_on_a_peer_by_one_who_slept(void **state)
{
    struct hb_pulse p = started(0, DEAD_MS);

    assert_int_equal(hb_pulse_step(&p, START + 60000 * MS), 0);
    assert_int_equal(run(&p, START + 60400 * MS), HB_PULSE_SUSPECT);
}

static void a_silent_peer_dies_though_its_watcher_sleeps_again_and_again(
    void **state)
{
    struct hb_pulse p = started(0, DEAD_MS);
    unsigned todo = 0;

    for (int i = 1; i <= 5; i++) {
        todo |= hb_pulse_step(&p, START + 250 * i * MS);
    }
    assert_int_equal(todo, HB_PULSE_SUSPECT);
    assert_int_equal(hb_pulse_step(&p, START + 1500 * MS), HB_PULSE_DEAD);
}

static void a_word_between_two_sleeps_is_enough(void **state)
{
    struct hb_pulse p = started(0, DEAD_MS);

    for (int i = 1; i <= 20; i++) {
        assert_int_equal(hb_pulse_step(&p, START + 250 * i * MS), 0);
        (void)hb_pulse_heard(&p, START + 250 * i * MS);
    }
}

static void one_who_slept_knows_how_long_until_the_next_look(void **state)
{
    struct hb_pulse p = started(0, DEAD_MS);

    assert_int_equal(hb_pulse_away_ms(&p, START + 150 * MS), 0);
    assert_int_equal(hb_pulse_away_ms(&p, START + 6000 * MS), 6000);
    (void)hb_pulse_step(&p, START + 6000 * MS);
    assert_int_equal(hb_pulse_away_ms(&p, START + 6001 * MS), 6000);
    (void)run(&p, START + 6102 * MS);
    assert_int_equal(hb_pulse_away_ms(&p, START + 6103 * MS), 0);
}

static void the_earlier_of_beat_and_watch_is_due(void **state)
{
    struct hb_pulse p = started(1000, DEAD_MS);

    assert_true(hb_pulse_due_ns(&p) == START + 101 * MS);
    assert_int_equal(hb_pulse_step(&p, START + 101 * MS), 0);
    assert_true(hb_pulse_due_ns(&p) == START + 202 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_is_never_due),
        cmocka_unit_test(a_beat_is_due_every_period),
        cmocka_unit_test(a_beat_out_of_turn_leaves_the_watch_alone),
        cmocka_unit_test(a_silent_peer_is_suspected_once_and_dies),
        cmocka_unit_test(a_word_ends_suspicion),
        cmocka_unit_test(silence_is_not_blamed_on_a_peer_by_one_who_slept),
        cmocka_unit_test(
            a_silent_peer_dies_though_its_watcher_sleeps_again_and_again),
        cmocka_unit_test(a_word_between_two_sleeps_is_enough),
        cmocka_unit_test(one_who_slept_knows_how_long_until_the_next_look),
        cmocka_unit_test(the_earlier_of_beat_and_watch_is_due),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
