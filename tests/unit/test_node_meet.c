/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Ranks of a node that no agent serves meet in its memory: nobody goes on
 * before all have come, whoever takes back in between that it has, and who
 * waits works for the others and hears of the dead. */
#include "config.h"

#include "lib/rdzv/foreign.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/clock.h"

#define RANKS 3
#define TURNS 20000
#define STRETCH 500 /* turns; each gives way to whatever else runs */
#define HANGS_S 60  /* a stretch that takes so long never ends */

static struct hb_segment memory;
static _Atomic int came[RANKS];
static _Atomic int too_soon, worked;

static int make_memory(void **state)
{
    static const uint32_t node_of[RANKS], local_rank[RANKS] = {0, 1, 2};
    char name[] = "here", *names[] = {name};
    const struct hb_segment_spec spec = {
        .n_ranks = RANKS, .n_nodes = 1, .n_local = RANKS, .node_of = node_of,
        .local_rank = local_rank, .names = names, .region_bytes = 4096,
        .heap_bytes = 4096,
    };

    memory = (struct hb_segment)HB_SEGMENT_INIT;
    return hb_segment_create(&memory, &spec, NULL);
}

static int close_memory(void **state)
{
    hb_segment_close(&memory);
    return 0;
}

/* Two of the ranks take back again and again that they have come. */
static void *take_turns(void *arg)
{
    struct hb_rdzv r = {.size = RANKS, .memory = memory};
    uint64_t dice;

    r.rank = (uint32_t)((_Atomic int *)arg - came);
    dice = r.rank;
    for (int turn = 1; turn <= TURNS; turn++) {
        if (r.rank == 0 && turn % STRETCH == 0) {
            alarm(HANGS_S);
        }
        atomic_fetch_add(&came[r.rank], 1);
        for (int rc = -1; rc < 0;) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            rc = hb_node_meet(&r, r.rank > 0 && (dice >> 60) > 0 ? 0 : HB_NEVER,
                              NULL);
        }
        for (int i = 0; i < RANKS; i++) {
            too_soon |= atomic_load(&came[i]) < turn;
        }
    }
    return NULL;
}

static void test_nobody_goes_on_too_soon(void **state)
{
    pthread_t threads[RANKS];

    alarm(HANGS_S);
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(
            pthread_create(&threads[i], NULL, take_turns, &came[i]), 0);
    }
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    alarm(0);
    assert_int_equal(too_soon, 0);
}

static int notice_a_death(void)
{
    if (atomic_fetch_add(&worked, 1) == 2) {
        hb_segment_mark_dead(&memory, 0, 2, "rank 2 is gone");
    }
    return 0;
}

static void test_who_waits_works_and_hears_of_the_dead(void **state)
{
    struct hb_rdzv r = {.size = RANKS, .memory = memory,
                        .work = notice_a_death};
    struct hpcboot_error err;

    assert_int_equal(hb_node_meet(&r, 0, &err), HPCBOOT_ERR_TIMED_OUT);
    assert_int_equal(hb_node_meet(&r, HB_NEVER, &err), HPCBOOT_ERR_PEER_DEAD);
    assert_string_equal(err.text, "rank 2 is gone");
    assert_true(worked > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nobody_goes_on_too_soon,
                                        make_memory, close_memory),
        cmocka_unit_test_setup_teardown(
            test_who_waits_works_and_hears_of_the_dead, make_memory,
            close_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
