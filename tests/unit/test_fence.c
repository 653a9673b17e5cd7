/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The fence engine, run as whole trees inside one process. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"
#include "lib/rdzv/runs.h"
#include "tests/unit/fence_sim.h"

static void every_tree_gathers_all_blobs(void **state)
{
    for (uint32_t n = 1; n <= MAX_NODES; n++) {
        struct sim *s = sim_new(n, 1 + n % 4, n);

        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(sim_join(s, (i + n / 2) % n, 0, all_of(s)), 0);
        }
        sim_run(s);
        assert_complete(s, 0, all_of(s));
        assert_nothing_open(s);
        sim_free(s);
    }
}

static uint64_t random_set(struct sim *s)
{
    uint64_t set = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        set |= (uint64_t)(rand_r(&s->seed) % 3 == 0) << i;
    }
    return set != 0 ? set : 1;
}

/* Several fences over random subsets, joined in any order while messages are
 * already travelling. */
static void overlapping_subsets_do_not_mix(void **state)
{
    for (unsigned seed = 1; seed <= 60; seed++) {
        struct sim *s = sim_new(1 + seed, 1 + seed % 5, seed);
        uint64_t set[MAX_KEYS], todo[MAX_KEYS], left = 0;

        for (int k = 0; k < MAX_KEYS; k++) {
            todo[k] = set[k] = random_set(s);
            left |= todo[k];
        }
        while (left != 0) {
            int k = rand_r(&s->seed) % MAX_KEYS;
            uint32_t i = (uint32_t)rand_r(&s->seed) % s->n;

            if (todo[k] >> i & 1) {
                todo[k] &= ~((uint64_t)1 << i);
                assert_int_equal(sim_join(s, i, k, set[k]), 0);
            } else {
                (void)sim_step(s);
            }
            left = 0;
            for (int j = 0; j < MAX_KEYS; j++) {
                left |= todo[j];
            }
        }
        sim_run(s);
        for (int k = 0; k < MAX_KEYS; k++) {
            assert_complete(s, k, set[k]);
        }
        assert_nothing_open(s);
        sim_free(s);
    }
}

static void a_key_serves_again_after_its_answer(void **state)
{
    struct sim *s = sim_new(20, 3, 5);

    for (int round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < s->n; i++) {
            assert_int_equal(sim_join(s, i, 0, all_of(s)), 0);
        }
        sim_run(s);
        assert_complete(s, 0, all_of(s));
        forget(s, 0);
    }
    sim_free(s);
}

static void children_may_arrive_long_before_their_parent(void **state)
{
    struct sim *s = sim_new(13, 3, 7);

    for (uint32_t i = s->n; i-- > 1;) {
        assert_int_equal(sim_join(s, i, 0, all_of(s)), 0);
        sim_run(s);
        assert_int_equal(s->node[i].outcome[0].n, 0);
    }
    assert_int_equal(sim_join(s, 0, 0, all_of(s)), 0);
    sim_run(s);
    assert_complete(s, 0, all_of(s));
    sim_free(s);
}

static void a_fence_goes_no_higher_than_it_must(void **state)
{
    struct sim *s = sim_new(14, 2, 7);
    uint32_t list[MAX_NODES];
    uint64_t below = 0;

    for (uint32_t i = subtree(s, 1, list); i-- > 0;) {
        below |= (uint64_t)1 << list[i];
    }
    for (uint32_t i = 0; i < s->n; i++) {
        if (below >> i & 1) {
            assert_int_equal(sim_join(s, i, 0, below), 0);
        }
    }
    sim_run(s);
    assert_complete(s, 0, below);
    assert_int_equal(s->ups, 0);
    sim_free(s);
}

static void a_second_contribution_is_refused(void **state)
{
    struct sim *s = sim_new(3, 2, 7);

    assert_int_equal(sim_join(s, 0, 0, all_of(s)), 0);
    assert_int_equal(sim_join(s, 0, 0, all_of(s)), HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(sim_join(s, 1, 0, all_of(s)), 0);
    assert_int_equal(sim_join(s, 2, 0, all_of(s)), 0);
    sim_run(s);
    assert_complete(s, 0, all_of(s));
    sim_free(s);
}

static void other_participants_for_the_same_key_are_refused(void **state)
{
    struct sim *s = sim_new(3, 2, 7);
    uint32_t nodes[] = {0, 1};

    assert_int_equal(sim_join(s, 2, 0, all_of(s)), 0);
    assert_int_equal(hb_fence_from_child(s->node[0].engine, 2,
                                         text_bytes("0"),
                                         (uint32_t[]){0, 1, 2}, 3,
                                         text_bytes(""), NULL), 0);
    assert_int_equal(hb_fence_join(s->node[0].engine, text_bytes("0"), nodes,
                                   2, text_bytes("x"), NULL),
                     HPCBOOT_ERR_PROTOCOL);
    sim_free(s);
}

static void malformed_contributions_are_refused(void **state)
{
    struct sim *s = sim_new(6, 2, 7);
    struct hb_fence_engine *e = s->node[0].engine;
    static const unsigned char foreign[] = {0, 0, 0, 1, 0, 0, 0, 1, 'x'};
    static const uint32_t all[] = {0, 1, 2, 3, 4, 5}, unsorted[] = {2, 0};
    struct hb_bytes key = text_bytes("0"), none = {NULL, 0};

    assert_int_equal(hb_fence_from_child(e, 5, key, all, 6, none, NULL),
                     HPCBOOT_ERR_PROTOCOL); /* not its child */
    assert_int_equal(hb_fence_from_child(e, 2, key, unsorted, 2, none, NULL),
                     HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(hb_fence_from_child(e, 2, key, all, 0, none, NULL),
                     HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(hb_fence_from_child(e, 2, none, all, 6, none, NULL),
                     HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(hb_fence_from_child(e, 2, key, all, 6,
                                         text_bytes("short"), NULL),
                     HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(hb_fence_from_child(e, 2, key, all, 6,
                                         (struct hb_bytes){foreign,
                                                           sizeof(foreign)},
                                         NULL),
                     HPCBOOT_ERR_PROTOCOL); /* node 1 is not below 2 */
    assert_int_equal(hb_fence_join(e, key, all + 1, 5, none, NULL),
                     HPCBOOT_ERR_PROTOCOL); /* without itself */
    assert_int_equal(hb_fence_from_parent(e, key, 0, none, NULL),
                     HPCBOOT_ERR_PROTOCOL); /* not asked for */
    assert_int_equal(hb_fence_open_count(e), 0);
    sim_free(s);
}

static void a_fence_with_an_unknown_node_fails(void **state)
{
    struct sim *s = sim_new(3, 3, 7);

    assert_int_equal(sim_join(s, 0, 0, 0x9), 0);
    sim_run(s);
    assert_int_equal(s->node[0].outcome[0].n, 1);
    assert_int_equal(s->node[0].outcome[0].status, HPCBOOT_ERR_NOT_FOUND);
    sim_free(s);
}

/* As the job does it: the lost node's parent notices, the path up is told. */
static void lose(struct sim *s, uint32_t lost)
{
    uint32_t list[MAX_NODES], n = subtree(s, lost, list);
    uint32_t at = lost;

    while (at != HB_FENCE_ROOT) {
        at = s->node[at].parent;
        for (uint32_t i = 0; i < n; i++) {
            hb_fence_node_lost(at == HB_FENCE_ROOT ? s->root.engine
                                                   : s->node[at].engine,
                               list[i]);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        drop_messages(&s->node[list[i]].up);
        drop_messages(&s->node[list[i]].down);
    }
}

static void drop_dead_traffic(struct sim *s, uint64_t dead)
{
    for (uint32_t i = 0; i < s->n; i++) {
        if (dead >> i & 1) {
            drop_messages(&s->node[i].down);
            drop_messages(&s->node[i].up);
        }
    }
}

/* At any moment of a fence a random node and all below it vanish. Every
 * survivor gets exactly one answer, whether it joins before or after. */
static void a_lost_node_ends_its_fences(void **state)
{
    for (unsigned seed = 1; seed <= 300; seed++) {
        struct sim *s = sim_new(2 + seed % 40, 1 + seed % 4, seed);
        uint32_t list[MAX_NODES];
        uint32_t victim = (uint32_t)rand_r(&s->seed) % s->n;
        uint32_t when = (uint32_t)rand_r(&s->seed) % (s->n + 1);
        uint64_t dead = 0;

        for (uint32_t i = 0; i <= s->n; i++) {
            if (i == when) {
                lose(s, victim);
                for (uint32_t k = subtree(s, victim, list); k-- > 0;) {
                    dead |= (uint64_t)1 << list[k];
                }
            }
            if (i < s->n && !(dead >> i & 1)) {
                assert_int_equal(sim_join(s, i, 0, all_of(s)), 0);
            }
            drop_dead_traffic(s, dead);
            (void)sim_step(s);
            drop_dead_traffic(s, dead);
        }
        do {
            drop_dead_traffic(s, dead);
        } while (sim_step(s));
        assert_int_equal(s->broken, 0);
        for (uint32_t i = 0; i < s->n; i++) {
            struct outcome *o = &s->node[i].outcome[0];

            if (!(dead >> i & 1)) {
                assert_int_equal(o->n, 1);
                assert_true(o->status == HPCBOOT_ERR_PEER_DEAD ||
                            o->from == all_of(s));
            }
        }
        sim_free(s);
    }
}

static void fences_without_the_lost_node_go_on(void **state)
{
    struct sim *s = sim_new(9, 2, 3);
    uint64_t others = all_of(s) & ~((uint64_t)1 << 8);

    lose(s, 8);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(sim_join(s, i, 0, others), 0);
    }
    sim_run(s);
    assert_complete(s, 0, others);
    sim_free(s);
}

/* Its part is there: the fence waits for another's, and then completes. */
static void a_node_that_is_through_may_go(void **state)
{
    struct sim *s = sim_new(3, 1, 3); /* a chain: launcher, 0, 1, 2 */

    assert_int_equal(sim_join(s, 2, 0, all_of(s)), 0);
    assert_int_equal(sim_join(s, 1, 0, all_of(s)), 0);
    sim_run(s);
    for (uint32_t i = 0; i < 2; i++) {
        hb_fence_node_over(s->node[i].engine, 2);
        hb_fence_node_lost(s->node[i].engine, 2);
    }
    sim_run(s);
    assert_int_equal(s->node[1].outcome[0].n, 0);
    assert_int_equal(sim_join(s, 0, 0, all_of(s)), 0);
    sim_run(s);
    assert_complete(s, 0, all_of(s));
    sim_free(s);
}

static void a_child_learnt_late_completes_the_fence(void **state)
{
    struct sim *s = sim_new(3, 1, 3); /* a chain: launcher, 0, 1, 2 */
    uint32_t list[] = {1, 2};

    assert_int_equal(sim_join(s, 0, 0, all_of(s)), 0);
    assert_int_equal(sim_join(s, 1, 0, all_of(s)), 0);
    assert_int_equal(hb_fence_set_child(s->node[0].engine, 1, list, 2, NULL),
                     0);
    assert_int_equal(sim_join(s, 2, 0, all_of(s)), 0);
    sim_run(s);
    assert_complete(s, 0, all_of(s));
    sim_free(s);
}

/* At any moment before it has joined a random node is gone, with others below
 * it or not, and another takes its place; or, in the end, a second one. */
static void who_takes_a_place_is_waited_for(void **state)
{
    for (unsigned seed = 1; seed <= 400; seed++) {
        struct sim *s = sim_new(2 + seed % 40, 1 + seed % 4, seed);
        uint32_t victim = (uint32_t)rand_r(&s->seed) % s->n;
        uint32_t first = (uint32_t)rand_r(&s->seed) % s->n;
        uint32_t when = (uint32_t)rand_r(&s->seed) % s->n;

        for (uint32_t i = 0; i < s->n; i++) {
            uint32_t at = (first + i) % s->n;

            if (i == when) {
                sim_part(s, victim, 1);
            }
            if (at != victim) {
                assert_int_equal(sim_join(s, at, 0, all_of(s)), 0);
            }
            for (int k = rand_r(&s->seed) % 3; k > 0; k--) {
                (void)sim_step(s);
            }
        }
        sim_run(s);
        if (seed % 3 == 0) {
            sim_part(s, victim, 1);
        }
        assert_int_equal(s->node[first].outcome[0].n, 0);
        assert_int_equal(sim_join(s, victim, 0, all_of(s)), 0);
        sim_run(s);
        assert_complete(s, 0, all_of(s));
        assert_nothing_open(s);
        sim_free(s);
    }
}

/* The launcher alone knows that nobody takes its place. */
static void whose_place_stays_empty_ends_fences(void **state)
{
    for (unsigned seed = 1; seed <= 200; seed++) {
        struct sim *s = sim_new(2 + seed % 40, 1 + seed % 4, seed);
        uint32_t victim = (uint32_t)rand_r(&s->seed) % s->n;
        uint32_t when = (uint32_t)rand_r(&s->seed) % s->n;

        for (uint32_t i = 0; i < s->n; i++) {
            if (i == when) {
                sim_part(s, victim, 0);
            }
            if (i != victim) {
                assert_int_equal(sim_join(s, i, 0, all_of(s)), 0);
            }
            (void)sim_step(s);
        }
        sim_run(s);
        for (uint32_t i = 0; i < s->n; i++) {
            assert_int_equal(s->node[i].outcome[0].n, i != victim);
            assert_true(i == victim || s->node[i].outcome[0].status ==
                                           HPCBOOT_ERR_PEER_DEAD);
        }
        assert_nothing_open(s);
        sim_free(s);
    }
}

static void a_node_that_was_lost_lives_again(void **state)
{
    struct sim *s = sim_new(4, 4, 3);
    static const uint32_t two[] = {2};

    hb_fence_node_lost(s->root.engine, 2);
    for (uint32_t i = 0; i < 4; i++) {
        if (i != 2) {
            assert_int_equal(sim_join(s, i, 0, all_of(s)), 0);
        }
    }
    sim_run(s);
    assert_int_equal(s->node[0].outcome[0].status, HPCBOOT_ERR_PEER_DEAD);
    assert_int_equal(hb_fence_set_child(s->root.engine, 2, two, 1, NULL), 0);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(sim_join(s, i, 1, all_of(s)), 0);
    }
    sim_run(s);
    assert_complete(s, 1, all_of(s));
    sim_free(s);
}

/* What was on its way when the root learnt that the node had moved. */
static void who_spoke_for_a_node_that_moved_is_not_blamed(void **state)
{
    struct sim *s = sim_new(3, 1, 3); /* a chain: launcher, 0, 1, 2 */
    static const uint32_t two[] = {2};

    assert_int_equal(sim_join(s, 2, 0, 0x4 | 0x1), 0);
    while (s->node[1].up == NULL) {
        assert_int_equal(sim_step(s), 1);
    }
    hb_fence_moved(s->node[0].engine, two, 1);
    sim_run(s);
    assert_int_equal(s->node[0].outcome[0].n, 0);
    assert_int_equal(sim_join(s, 0, 0, 0x4 | 0x1), 0);
    sim_run(s);
    assert_complete(s, 0, 0x4 | 0x1);
    sim_free(s);
}

/* Answers of an engine that is looked at alone: to which children, and how
 * often each node's blob is in the data. */
struct answers {
    unsigned downs[4], blobs[4];
    int status;
};

static void answers_up(void *arg, struct hb_bytes key, const uint32_t *nodes,
                       uint32_t n_nodes, struct hb_bytes data)
{
    fail_msg("the root has no parent");
}

static void answers_down(void *arg, uint32_t child, struct hb_bytes key,
                         int status, struct hb_bytes data)
{
    struct answers *a = arg;
    struct hb_buf view;
    struct hb_bytes blob;
    uint32_t from;

    a->downs[child]++;
    a->status = status;
    memset(a->blobs, 0, sizeof a->blobs);
    hb_buf_view(&view, data.data, data.len);
    while (hb_fence_data_next(&view, &from, &blob) > 0) {
        a->blobs[from]++;
    }
}

static void contribute(struct hb_fence_engine *e, uint32_t child,
                       const uint32_t *of, uint32_t n_of)
{
    static const uint32_t all[] = {0, 1, 2, 3};
    struct hb_buf data;

    hb_buf_init(&data, 1000);
    for (uint32_t i = 0; i < n_of; i++) {
        hb_buf_put_u32(&data, of[i]);
        hb_buf_put_blob(&data, "b", 1);
    }
    assert_int_equal(hb_fence_from_child(e, child, text_bytes("k"), all, 4,
                                         (struct hb_bytes){data.data,
                                                           data.len},
                                         NULL), 0);
    hb_buf_destroy(&data);
}

/* Of children 0 (with 1 and 2 below it) and 3, node 2 comes to the root itself,
 * before or after child 0 has spoken for it. */
static void a_node_that_moved_contributes_again(void **state)
{
    static const struct hb_fence_ops ops = {answers_up, answers_down, NULL};
    static const uint32_t below[] = {0, 1, 2}, two[] = {2}, three[] = {3};

    for (int spoken_before = 0; spoken_before < 2; spoken_before++) {
        struct answers a = {0};
        struct hb_fence_engine *e;

        hb_fence_engine_create(&e, HB_FENCE_ROOT, 1, &ops, &a, NULL);
        hb_fence_set_child(e, 0, below, 3, NULL);
        hb_fence_set_child(e, 3, three, 1, NULL);
        if (spoken_before) {
            contribute(e, 0, below, 3);
        }
        assert_int_equal(hb_fence_set_child(e, 2, two, 1, NULL), 0);
        contribute(e, 3, three, 1);
        assert_true(hb_fence_is_open(e, text_bytes("k")));
        contribute(e, 2, two, 1);
        if (!spoken_before) { /* it had left the parent before that died */
            contribute(e, 0, below, 3);
        }
        assert_false(hb_fence_is_open(e, text_bytes("k")));
        assert_int_equal(a.status, 0);
        assert_int_equal(a.downs[0] + a.downs[2] + a.downs[3], 3);
        assert_int_equal(a.blobs[1], 1);
        assert_int_equal(a.blobs[2], 2);
        hb_fence_engine_destroy(e);
    }
}

/* Through a frame, as FENCE_UP takes them. */
static int through_runs(const uint32_t *nodes, uint32_t n, uint32_t *n_runs,
                        uint32_t **back, uint32_t *n_back)
{
    struct hb_msg_fence_up m = {.key = {"k", 1}, .data = {"", 0}};
    struct hb_frame frame;
    struct hb_buf b;
    uint32_t *runs;
    int rc;

    *n_runs = m.nodes.n = hb_runs_of_nodes(nodes, n, &runs);
    m.nodes.v = runs;
    hb_buf_init(&b, HB_WIRE_FRAME);
    assert_int_equal(hb_wire_put_fence_up(&b, 0, 0, 0, &m, NULL), 0);
    assert_int_equal(hb_wire_next(&b, &frame, NULL), 1);
    assert_int_equal(hb_wire_get_fence_up(&frame, &m, NULL), 0);
    rc = hb_runs_to_nodes(&m.nodes, back, n_back, NULL);
    hb_buf_destroy(&b);
    free(runs);
    return rc;
}

static void participants_are_the_same_as_runs(void **state)
{
    struct sim *s = sim_new(MAX_NODES, 4, 5);

    for (int round = 0; round < 200; round++) {
        uint64_t set = round == 0 ? all_of(s) : random_set(s);
        uint32_t nodes[MAX_NODES], n = 0, n_runs, *back, n_back;

        for (uint32_t i = 0; i < s->n; i++) {
            if (set >> i & 1) {
                nodes[n++] = i;
            }
        }
        assert_int_equal(through_runs(nodes, n, &n_runs, &back, &n_back), 0);
        assert_int_equal(n_back, n);
        assert_memory_equal(back, nodes, n * sizeof *nodes);
        assert_true(round > 0 || n_runs == 2);
        free(back);
    }
    sim_free(s);
}

static void numbers_that_are_no_runs_are_refused(void **state)
{
    static const unsigned char bad[][16] = {
        {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 1},    /* empty */
        {0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1},    /* touching */
        {0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1},    /* backwards */
        {0, 0, 0, 1, 0, 0, 0, 1, 0, 16, 0, 0, 0, 0, 0, 1},   /* too far */
        {0, 0, 0, 0, 0, 0, 0, 1, 255, 255, 255, 255, 0, 0, 0, 2},
    };
    struct hb_wire_u32s runs = {.n = 3, .raw = {bad[0], 12}};
    uint32_t *nodes, n;

    assert_int_equal(hb_runs_to_nodes(&runs, &nodes, &n, NULL),
                     HPCBOOT_ERR_PROTOCOL); /* half a run */
    runs.n = 4;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        runs.raw = (struct hb_bytes){bad[i], sizeof bad[i]};
        assert_int_equal(hb_runs_to_nodes(&runs, &nodes, &n, NULL),
                         HPCBOOT_ERR_PROTOCOL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tree_gathers_all_blobs),
        cmocka_unit_test(overlapping_subsets_do_not_mix),
        cmocka_unit_test(a_key_serves_again_after_its_answer),
        cmocka_unit_test(children_may_arrive_long_before_their_parent),
        cmocka_unit_test(a_fence_goes_no_higher_than_it_must),
        cmocka_unit_test(a_second_contribution_is_refused),
        cmocka_unit_test(other_participants_for_the_same_key_are_refused),
        cmocka_unit_test(malformed_contributions_are_refused),
        cmocka_unit_test(a_fence_with_an_unknown_node_fails),
        cmocka_unit_test(a_lost_node_ends_its_fences),
        cmocka_unit_test(fences_without_the_lost_node_go_on),
        cmocka_unit_test(a_node_that_is_through_may_go),
        cmocka_unit_test(a_child_learnt_late_completes_the_fence),
        cmocka_unit_test(who_takes_a_place_is_waited_for),
        cmocka_unit_test(whose_place_stays_empty_ends_fences),
        cmocka_unit_test(a_node_that_was_lost_lives_again),
        cmocka_unit_test(who_spoke_for_a_node_that_moved_is_not_blamed),
        cmocka_unit_test(a_node_that_moved_contributes_again),
        cmocka_unit_test(participants_are_the_same_as_runs),
        cmocka_unit_test(numbers_that_are_no_runs_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
