/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The native rendezvous, of native_world.h. */
#include "config.h"

#include "tests/unit/native_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/collected.h"

static void test_hello_brings_the_memory(void **state)
{
    struct world *w = *state;

    hello_all(w);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(w->ranks[r].answers, 1);
        assert_int_equal(w->ranks[r].status, 0);
        assert_true(w->ranks[r].fd >= 0);
    }
}

static void test_hello_waits_for_all_of_the_node(void **state)
{
    struct world *w = *state;

    assert_int_equal(say(w, 0, HB_NATIVE_HELLO, HB_NATIVE_VERSION, 0, "", ""),
                     0);
    assert_int_equal(w->nodes[0].joined, 0);
    assert_int_equal(w->ranks[0].answers, 0);
}

/* Once, but not of who is dead (3), is here (1), or is nobody. */
static void test_lost_connections_are_told(void **state)
{
    struct hb_segment m = HB_SEGMENT_INIT;
    struct world *w = *state;
    struct node *n = w->nodes;

    hello_all(w);
    assert_int_equal(hb_segment_attach(&m, dup(w->ranks[0].fd), NULL), 0);
    hb_native_peer_dead(n->server, 3, "it was killed");
    for (uint32_t lost = 1; lost <= RANKS; lost++) {
        hb_segment_mark_lost(&m, 0, lost, "not heard");
    }
    hb_native_look(n->server);
    hb_native_look(n->server);
    assert_int_equal(n->losses, 1);
    hb_segment_close(&m);
}

static void test_values_with_and_without_collecting(void **state)
{
    struct world *w = *state;

    hello_all(w);
    assert_int_equal(say(w, 2, HB_NATIVE_PUT, 0, 0, "key", "one"), 0);
    fence_all(w, 1);
    assert_int_equal(say(w, 0, HB_NATIVE_GET, 2, 0, "key", NULL), 0);
    assert_string_equal(w->ranks[0].value, "one");
    assert_int_equal(say(w, 2, HB_NATIVE_PUT, 0, 0, "key", "two"), 0);
    fence_all(w, 0);
    assert_int_equal(say(w, 0, HB_NATIVE_GET, 2, 0, "key", NULL), 0);
    assert_int_equal(w->nodes[0].modexes, 1);
    assert_int_equal(w->nodes[0].modex_rank, 2);
    struct hb_buf b;
    hb_buf_init(&b, HB_FENCE_DATA_MAX);
    assert_int_equal(hb_native_modex_serve(w->nodes[1].server, 2, &b), 0);
    hb_native_modex_done(w->nodes[0].server, w->nodes[0].modex_id, 0,
                         (struct hb_bytes){b.data, b.len});
    hb_buf_destroy(&b);
    assert_string_equal(w->ranks[0].value, "two");
    assert_int_equal(say(w, 1, HB_NATIVE_GET, 3, 0, "none", NULL), 0);
    assert_int_equal(w->nodes[0].modexes, 2);
}

static void test_a_value_of_the_node_stays_there(void **state)
{
    struct world *w = *state;

    hello_all(w);
    assert_int_equal(say(w, 0, HB_NATIVE_PUT, 1, 0, "near", "here"), 0);
    assert_int_equal(say(w, 0, HB_NATIVE_FENCE, 1, 0, NULL, NULL), 0);
    assert_int_equal(say(w, 1, HB_NATIVE_FENCE, 1, 0, NULL, NULL), 0);
    assert_int_equal(w->nodes[0].joined, 0);
    assert_int_equal(say(w, 1, HB_NATIVE_GET, 0, 0, "near", NULL), 0);
    assert_string_equal(w->ranks[1].value, "here");
    fence_all(w, 1);
    assert_int_equal(say(w, 2, HB_NATIVE_GET, 0, 0, "near", NULL), 0);
    assert_int_equal(w->ranks[2].status, HPCBOOT_ERR_NOT_FOUND);
}

static void test_different_fences_are_a_mistake(void **state)
{
    struct world *w = *state;

    hello_all(w);
    assert_int_equal(say(w, 0, HB_NATIVE_FENCE, 1, 0, NULL, NULL), 0);
    assert_int_equal(say(w, 1, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(w->ranks[0].status, HPCBOOT_ERR_USAGE);
    assert_int_equal(w->ranks[1].status, HPCBOOT_ERR_USAGE);
    assert_string_equal(w->ranks[1].text, "the ranks of left do not wait for "
                        "the same: rank 0 is in hpcboot_fence of the node, "
                        "rank 1 in hpcboot_fence");
}

/* The others, of other nodes as well, hear that they wait in vain, and come
 * there, too. */
static void test_who_finalizes_waits_for_those_in_a_fence(void **state)
{
    struct world *w = *state;

    hello_all(w);
    for (uint32_t r = 1; r < RANKS; r++) {
        assert_int_equal(say(w, r, HB_NATIVE_FENCE, 0, 1, NULL, NULL), 0);
    }
    assert_int_equal(say(w, 0, HB_NATIVE_FINALIZE, 0, 0, NULL, NULL), 0);
    complete(w);
    for (uint32_t r = 1; r < RANKS; r++) {
        assert_int_equal(w->ranks[r].status, HPCBOOT_ERR_USAGE);
        assert_string_equal(w->ranks[r].text, "the ranks of left do not wait "
                            "for the same: rank 0 is in hpcboot_finalize, "
                            "rank 1 in hpcboot_fence");
        assert_int_equal(say(w, r, HB_NATIVE_FINALIZE, 0, 0, NULL, NULL), 0);
    }
    assert_int_equal(w->ranks[0].answers, 1);
    complete(w);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(w->ranks[r].status, 0);
        assert_int_equal(w->ranks[r].answers, r == 0 ? 2 : 3);
    }
}

/* What was put before is not lost with the fence that failed. */
static void test_a_fence_after_one_that_failed_brings_all(void **state)
{
    struct world *w = *state;

    hello_all(w);
    assert_int_equal(say(w, 2, HB_NATIVE_PUT, 0, 0, "key", "value"), 0);
    assert_int_equal(say(w, 0, HB_NATIVE_FENCE, 1, 0, NULL, NULL), 0);
    for (uint32_t r = 1; r < RANKS; r++) {
        assert_int_equal(say(w, r, HB_NATIVE_FENCE, 0, 1, NULL, NULL), 0);
    }
    complete(w);
    assert_int_equal(w->ranks[3].status, HPCBOOT_ERR_USAGE);
    fence_all(w, 1);
    assert_int_equal(w->ranks[0].status, 0);
    assert_int_equal(say(w, 0, HB_NATIVE_GET, 2, 0, "key", NULL), 0);
    assert_int_equal(w->nodes[0].modexes, 1); /* its node is asked */
}

static void test_a_death_fails_who_waits_and_is_marked(void **state)
{
    struct world *w = *state;

    hello_all(w);
    assert_int_equal(say(w, 0, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    hb_native_rank_gone(w->nodes[0].server, 1, "rank 1 died");
    assert_int_equal(w->ranks[0].status, HPCBOOT_ERR_PEER_DEAD);
    assert_int_equal(w->nodes[0].alarms, 1);
    hb_native_peer_dead(w->nodes[1].server, 1, "rank 1 died");
    assert_int_equal(w->nodes[1].alarms, 1);
    assert_int_equal(say(w, 2, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(w->ranks[2].status, HPCBOOT_ERR_PEER_DEAD);
}

/* Its host may live, and answer; of one that is lost the launcher says so. */
static void test_a_question_about_the_dead_waits_for_its_answer(void **state)
{
    struct world *w = *state;
    struct node *n = &w->nodes[0];
    struct hb_buf b;

    hello_all(w);
    assert_int_equal(say(w, 2, HB_NATIVE_PUT, 0, 0, "key", "one"), 0);
    fence_all(w, 0);
    hb_buf_init(&b, HB_FENCE_DATA_MAX);
    assert_int_equal(hb_native_modex_serve(w->nodes[1].server, 2, &b), 0);
    assert_int_equal(say(w, 0, HB_NATIVE_GET, 2, 0, "key", NULL), 0);
    hb_native_peer_dead(n->server, 2, "rank 2 died");
    hb_native_modex_done(n->server, n->modex_id, 0,
                         (struct hb_bytes){b.data, b.len});
    assert_int_equal(w->ranks[0].status, 0);
    assert_string_equal(w->ranks[0].value, "one");
    hb_buf_destroy(&b);
    assert_int_equal(say(w, 0, HB_NATIVE_GET, 3, 0, "key", NULL), 0);
    hb_native_peer_dead(n->server, 3, "rank 3 is lost");
    hb_native_modex_done(n->server, n->modex_id, HPCBOOT_ERR_PEER_DEAD,
                         (struct hb_bytes){NULL, 0});
    assert_int_equal(w->ranks[0].status, HPCBOOT_ERR_PEER_DEAD);
    assert_string_equal(w->ranks[0].text,
                        "rank 3 is lost; \"key\" is gone with it");
}

static void test_fences_go_on_without_those_the_world_shrank_by(void **state)
{
    struct world *w = *state;

    hello_all(w);
    assert_int_equal(say(w, 2, HB_NATIVE_PUT, 0, 0, "key", "one"), 0);
    assert_int_equal(say(w, 2, HB_NATIVE_FENCE, 0, 1, NULL, NULL), 0);
    assert_int_equal(say(w, 3, HB_NATIVE_FENCE, 0, 1, NULL, NULL), 0);
    assert_int_equal(w->nodes[1].joined, 1);
    hb_native_rank_gone(w->nodes[0].server, 1, "rank 1 died");
    hb_native_peer_dead(w->nodes[1].server, 1, "rank 1 died");
    assert_int_equal(w->ranks[2].status, HPCBOOT_ERR_PEER_DEAD);
    assert_int_equal(say(w, 0, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(w->ranks[0].status, HPCBOOT_ERR_PEER_DEAD);
    w->nodes[1].joined = 0; /* a fence that nobody waits for */
    w->members = 17;
    w->out = 1;
    for (uint32_t r = 0; r < RANKS; r += r == 0 ? 2 : 1) {
        assert_int_equal(say(w, r, HB_NATIVE_FENCE, 0, 1, NULL, NULL), 0);
    }
    complete(w);
    assert_int_equal(w->ranks[0].status, 0);
    assert_int_equal(w->ranks[3].status, 0);
    /* What was collected in vain is asked for. */
    assert_int_equal(say(w, 0, HB_NATIVE_GET, 2, 0, "key", NULL), 0);
    assert_true(strcmp(w->ranks[0].value, "one") == 0 ||
                w->nodes[0].modexes == 1);
    hb_native_peer_dead(w->nodes[1].server, 0, "rank 0 died");
    assert_int_equal(say(w, 2, HB_NATIVE_FENCE, 0, 1, NULL, NULL), 0);
    assert_int_equal(w->ranks[2].status, HPCBOOT_ERR_PEER_DEAD);
}

static void test_an_answer_that_nobody_waits_for_is_nobodys(void **state)
{
    struct world *w = *state;
    struct hb_bytes old = {"native/0/0/3/0/0", 16}, none = {NULL, 0};

    hello_all(w);
    assert_int_equal(say(w, 2, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    hb_native_fence_done(w->nodes[1].server, none, 0, none); /* opened: none */
    assert_int_equal(w->ranks[2].answers, 1); /* hello */
    assert_int_equal(say(w, 3, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(w->nodes[1].key.len, old.len);
    assert_memory_equal(w->nodes[1].key.data, old.data, old.len);
    hb_native_peer_dead(w->nodes[1].server, 1, "rank 1 died");
    w->members = 17;
    w->out = 1;
    assert_int_equal(say(w, 2, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(say(w, 3, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    hb_native_fence_done(w->nodes[1].server, old, 0, none);
    assert_int_equal(w->ranks[2].answers, 2); /* hello and the first fence */
}

static void test_the_living_finalize_without_the_dead(void **state)
{
    struct world *w = *state;

    hello_all(w);
    hb_native_rank_gone(w->nodes[0].server, 0, "rank 0 died");
    hb_native_rank_gone(w->nodes[0].server, 1, "rank 1 died");
    assert_false(say(w, 1, HB_NATIVE_FINALIZE, 0, 0, NULL, NULL)); /* late */
    assert_int_equal(say(w, 2, HB_NATIVE_FINALIZE, 0, 0, NULL, NULL), 0);
    assert_int_equal(say(w, 3, HB_NATIVE_FINALIZE, 0, 0, NULL, NULL), 0);
    complete(w);
    assert_int_equal(w->ranks[2].status, 0);
    assert_int_equal(w->ranks[3].status, 0);
    assert_int_equal(w->nodes[0].joined, 0);
}

static void test_a_second_program_begins_anew(void **state)
{
    struct world *w = *state;

    for (int turn = 0; turn < 2; turn++) {
        hello_all(w);
        for (uint32_t r = 0; r < RANKS; r++) {
            assert_false(say(w, r, HB_NATIVE_FINALIZE, 0, 0, NULL, NULL));
        }
        complete(w);
    }
    assert_int_equal(w->ranks[3].answers, 4);
}

static void test_questions_out_of_turn_are_cut_off(void **state)
{
    struct world *w = *state;

    assert_true(say(w, 0, HB_NATIVE_GET, 0, 0, "key", NULL) < 0);
    assert_true(say(w, 1, HB_NATIVE_HELLO, 99, 0, "", "") < 0);
}

static void test_a_fence_can_be_withdrawn_and_asked_for_again(void **state)
{
    struct world *w = *state;
    struct rank *r = &w->ranks[0];

    hello_all(w);
    assert_int_equal(say(w, 0, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(say(w, 0, HB_NATIVE_WITHDRAW, 0, 0, NULL, NULL), 0);
    assert_int_equal(r->answers, 2);
    assert_int_equal(r->status, HPCBOOT_ERR_TIMED_OUT);
    assert_string_equal(r->text, "hpcboot_fence: rank 1 of this host has not "
                        "come before the deadline");
    assert_int_equal(say(w, 1, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(say(w, 1, HB_NATIVE_WITHDRAW, 0, 0, NULL, NULL), 0);
    assert_string_equal(w->ranks[1].text, "hpcboot_fence: rank 0 of this host "
                        "has come and given up before the deadline");
    fence_all(w, 0);
    assert_int_equal(r->answers, 3);
    assert_int_equal(r->status, 0);
}

/* This node has said to the others that it has come. */
static void test_who_withdraws_late_is_in_the_same_fence_again(void **state)
{
    struct world *w = *state;

    hello_all(w);
    for (uint32_t r = 0; r < 2; r++) {
        assert_int_equal(say(w, r, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    }
    for (uint32_t r = 0; r < 2; r++) {
        assert_int_equal(say(w, r, HB_NATIVE_WITHDRAW, 0, 0, NULL, NULL), 0);
        assert_int_equal(w->ranks[r].status, HPCBOOT_ERR_TIMED_OUT);
        assert_string_equal(w->ranks[r].text, "hpcboot_fence: all ranks of "
                            "this host have come, and not all of the others "
                            "before the deadline");
    }
    fence_all(w, 0);
    assert_int_equal(w->ranks[0].status, 0);
    assert_int_equal(w->ranks[3].status, 0);
}

/* All are in it, as the rank has not come back before the others were. */
static void test_a_fence_that_ends_meanwhile_is_the_next_one(void **state)
{
    struct world *w = *state;
    struct rank *r = &w->ranks[0];

    hello_all(w);
    assert_int_equal(say(w, 0, HB_NATIVE_PUT, 0, 0, "k", "early"), 0);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(say(w, i, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    }
    assert_int_equal(say(w, 0, HB_NATIVE_WITHDRAW, 0, 0, NULL, NULL), 0);
    assert_int_equal(r->status, HPCBOOT_ERR_TIMED_OUT);
    /* Those of the other scope do not count. */
    assert_int_equal(say(w, 0, HB_NATIVE_FENCE, 1, 0, NULL, NULL), 0);
    assert_int_equal(say(w, 0, HB_NATIVE_WITHDRAW, 0, 0, NULL, NULL), 0);
    complete(w);
    assert_int_equal(w->ranks[1].status, 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(say(w, i, HB_NATIVE_FENCE, 1, 0, NULL, NULL), 0);
    }
    assert_int_equal(say(w, 0, HB_NATIVE_PUT, 0, 0, "k", "late"), 0);
    assert_int_equal(say(w, 0, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(r->answers, 7);
    assert_int_equal(r->status, 0);
    assert_int_equal(say(w, 1, HB_NATIVE_GET, 0, 0, "k", NULL), 0);
    assert_string_equal(w->ranks[1].value, "early");
    fence_all(w, 0);
    assert_int_equal(r->answers, 8);
    assert_int_equal(say(w, 1, HB_NATIVE_GET, 0, 0, "k", NULL), 0);
    assert_string_equal(w->ranks[1].value, "late");
}

static void test_a_fence_that_fails_meanwhile_is_the_next_one(void **state)
{
    struct world *w = *state;
    struct rank *r = &w->ranks[0];

    hello_all(w);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(say(w, i, HB_NATIVE_FENCE, i == 3, 0, NULL, NULL), 0);
    }
    assert_int_equal(say(w, 0, HB_NATIVE_WITHDRAW, 0, 0, NULL, NULL), 0);
    complete(w);
    assert_int_equal(w->ranks[1].status, HPCBOOT_ERR_USAGE);
    assert_int_equal(say(w, 0, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(r->status, HPCBOOT_ERR_USAGE);
    assert_string_equal(r->text, w->ranks[1].text);
    fence_all(w, 0);
    assert_int_equal(r->status, 0);
}

static void test_what_is_answered_is_not_withdrawn(void **state)
{
    struct world *w = *state;

    hello_all(w);
    fence_all(w, 0);
    assert_int_equal(say(w, 1, HB_NATIVE_WITHDRAW, 0, 0, NULL, NULL), 0);
    assert_int_equal(w->ranks[1].answers, 2);
}

static void test_a_note_is_passed_on_and_not_answered(void **state)
{
    struct world *w = *state;

    hello_all(w);
    assert_int_equal(say(w, 3, HB_NATIVE_NOTE, 0, 0, "it is slow", NULL), 0);
    assert_string_equal(w->nodes[1].note, "3: it is slow");
    assert_int_equal(w->ranks[3].answers, 1);
}

static void test_a_stranger_needs_the_token(void **state)
{
    struct world *w = *state;

    hb_native_conn_close(w->ranks[0].conn);
    w->ranks[0].conn = hb_native_conn_open(w->nodes[0].server, -1,
                                           &w->ranks[0]);
    assert_true(say(w, 0, HB_NATIVE_HELLO, HB_NATIVE_VERSION, 0, "wrong",
                    "") < 0);
    assert_int_equal(say(w, 0, HB_NATIVE_HELLO, HB_NATIVE_VERSION, 0, "secret",
                         ""), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void test_those_who_wait_meet_by_the_grown_map(void **state)
{
    struct world *w = *state;
    struct node *n = &w->nodes[0];
    static const char key[] = "native/5/0/";
    const uint32_t begins = RANKS;
    struct hb_jobmap *grown;

    assert_int_equal(hb_jobmap_grow(w->map, "third", 1, &grown, NULL), 0);
    for (uint32_t r = 0; r < 2; r++) {
        assert_int_equal(say(w, r, HB_NATIVE_HELLO, HB_NATIVE_VERSION, 0, "",
                             "address"), 0);
    }
    n->joined = 0;
    hb_buf_clear(&n->key);
    hb_native_grown(n->server, grown, 5, &begins, 1);
    assert_int_equal(n->joined, 1);
    assert_true(n->key.len > strlen(key));
    assert_memory_equal(n->key.data, key, strlen(key));
    hb_native_server_destroy(n->server);
    n->server = NULL;
    hb_jobmap_destroy(grown);
}

static void test_a_generation_ends_as_it_began(void **state)
{
    struct world *w = *state;
    struct node *n = &w->nodes[0];
    const uint32_t begins = RANKS;
    struct hb_jobmap *grown;

    assert_int_equal(hb_jobmap_grow(w->map, "third", 1, &grown, NULL), 0);
    hello_all(w);
    hb_native_grown(n->server, grown, 5, &begins, 1);
    fence_all(w, 0);
    hb_native_server_destroy(n->server);
    n->server = NULL;
    hb_jobmap_destroy(grown);
}

static int64_t world_of(const char *key)
{
    return hb_native_fence_world((struct hb_bytes){key, strlen(key)});
}

static void test_a_key_says_its_world(void **state)
{
    assert_int_equal(world_of("native/5/0/0/1/2"), 5);
    assert_int_equal(world_of("native/4294967295/0/0/1/2"), UINT32_MAX);
    assert_int_equal(world_of("pmix/5/0/0/1/2"), -1);
    assert_int_equal(world_of("native/"), -1);
    assert_int_equal(world_of("native/five/0"), -1);
    assert_int_equal(world_of("native/99999999999999999999999/0"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_key_says_its_world),
        TEST(test_hello_brings_the_memory),
        TEST(test_those_who_wait_meet_by_the_grown_map),
        TEST(test_a_generation_ends_as_it_began),
        TEST(test_lost_connections_are_told),
        TEST(test_hello_waits_for_all_of_the_node),
        TEST(test_values_with_and_without_collecting),
        TEST(test_a_value_of_the_node_stays_there),
        TEST(test_different_fences_are_a_mistake),
        TEST(test_who_finalizes_waits_for_those_in_a_fence),
        TEST(test_a_fence_after_one_that_failed_brings_all),
        TEST(test_a_death_fails_who_waits_and_is_marked),
        TEST(test_a_question_about_the_dead_waits_for_its_answer),
        TEST(test_fences_go_on_without_those_the_world_shrank_by),
        TEST(test_an_answer_that_nobody_waits_for_is_nobodys),
        TEST(test_the_living_finalize_without_the_dead),
        TEST(test_a_second_program_begins_anew),
        TEST(test_questions_out_of_turn_are_cut_off),
        TEST(test_a_fence_can_be_withdrawn_and_asked_for_again),
        TEST(test_who_withdraws_late_is_in_the_same_fence_again),
        TEST(test_a_fence_that_ends_meanwhile_is_the_next_one),
        TEST(test_a_fence_that_fails_meanwhile_is_the_next_one),
        TEST(test_what_is_answered_is_not_withdrawn),
        TEST(test_a_note_is_passed_on_and_not_answered),
        TEST(test_a_stranger_needs_the_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
