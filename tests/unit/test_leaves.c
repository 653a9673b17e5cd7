/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How often messages go from leaf to leaf of a network, algorithm by
 * algorithm, against the least that would do. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/coll/coll.h"
#include "sched_sim.h"

#define LEAVES_MOST 32

/* Hosts of each leaf, to 0. */
static const int networks[][LEAVES_MOST + 1] = {
    {16, 16, 16, 16, 16, 16, 16, 16},
    {18, 18, 18, 18, 18, 18, 18, 18},
    {24, 24, 24, 24, 24, 24},
    {10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10},
    {13, 20, 7, 16, 18, 9, 20, 11},
    {9, 9},
    {1, 5, 1, 3},
};
#define NETWORKS (sizeof networks / sizeof networks[0])

struct network {
    int *leaf, nodes, leaves;
};

static struct network network_of(size_t i)
{
    struct network w = {.leaf = malloc(1024 * sizeof(int))};
    for (; networks[i][w.leaves] > 0; w.leaves++) {
        for (int j = 0; j < networks[i][w.leaves]; j++) {
            w.leaf[w.nodes++] = w.leaves;
        }
    }
    return w;
}

struct wanted {
    enum hpcboot_coll coll;
    const char *wish;
    bool commutes;
};

static struct sched_stats play(const struct network *w, int per_node,
                               const struct wanted *t, int root, bool knows)
{
    struct sched_case c = {.size = w->nodes * per_node, .per_node = per_node,
                           .model = &hb_model_tcp, .wish = t->wish,
                           .leaf = w->leaf, .knows_leaves = knows,
                           .bytes = per_node == 1};
    size_t esize = t->commutes ? 4 : 8;
    struct sched_stats s;
    c.call = (struct hb_call){.coll = t->coll, .root = root, .bytes = 4800,
                              .total = 4800, .esize = esize,
                              .ordered = !t->commutes};
    if (t->coll == HPCBOOT_COLL_ALLGATHER) {
        c.call.total *= (size_t)c.size;
    }
    if (sched_sim_run(&c, &s) != 0) {
        fail_msg("%s on %d nodes, root %d", t->wish, w->nodes, root);
    }
    return s;
}

/* Whoever the root is, and whether ops commute or not: what the simulator
 * moves is compared with the reference, too. */
static void trees_cross_once_a_leaf(void **state)
{
    static const struct wanted trees[] = {
        {HPCBOOT_COLL_BCAST, "bcast=knomial:2", true},
        {HPCBOOT_COLL_BCAST, "bcast=knomial:4", true},
        {HPCBOOT_COLL_REDUCE, "reduce=knomial:2", true},
        {HPCBOOT_COLL_REDUCE, "reduce=knomial:8", true},
    };
    for (size_t i = 0; i < NETWORKS * 4; i++) {
        struct network w = network_of(i / 4);
        for (int root = 0; root < w.nodes; root += 7) {
            struct sched_stats s = play(&w, 1, &trees[i % 4], root, true);
            assert_int_equal(s.crossings, w.leaves - 1);
            assert_int_equal(s.messages, w.nodes - 1);
        }
        free(w.leaf);
    }
}

static void ops_that_do_not_commute_keep_their_order(void **state)
{
    static const struct wanted trees[] = {
        {HPCBOOT_COLL_REDUCE, "reduce=knomial:2", false},
        {HPCBOOT_COLL_REDUCE, "reduce=knomial:3", false},
        {HPCBOOT_COLL_ALLREDUCE, "allreduce=knomial:4", false},
    };
    for (size_t i = 0; i < NETWORKS * 3; i++) {
        struct network w = network_of(i / 3);
        struct sched_stats s = play(&w, 1, &trees[i % 3], 0, true);
        int once = trees[i % 3].coll == HPCBOOT_COLL_REDUCE ? 1 : 2;
        assert_int_equal(s.crossings, once * (w.leaves - 1));
        (void)play(&w, 1, &trees[i % 3], w.nodes - 1, true);
        free(w.leaf);
    }
}

/* Leaders of nodes are a group like any other. */
static void leaders_of_nodes_know_leaves(void **state)
{
    static const struct wanted trees[] = {
        {HPCBOOT_COLL_BCAST, "bcast=knomial:2", true},
        {HPCBOOT_COLL_REDUCE, "reduce=knomial:2", true},
        {HPCBOOT_COLL_ALLREDUCE, "allreduce=knomial:2", true},
    };
    for (size_t i = 0; i < NETWORKS * 3; i++) {
        struct network w = network_of(i / 3);
        struct sched_stats s = play(&w, 4, &trees[i % 3], w.nodes + 1, true);
        int once = trees[i % 3].coll == HPCBOOT_COLL_ALLREDUCE ? 2 : 1;
        assert_int_equal(s.crossings, once * (w.leaves - 1));
        free(w.leaf);
    }
}

/* What leaves change nothing of: rings cross once a leaf as hosts lie, and a
 * tree in segments, which is in order, not often more than that. */
static void rings_and_trees_in_segments_cross_rarely(void **state)
{
    static const struct wanted rows[] = {
        {HPCBOOT_COLL_ALLREDUCE, "allreduce=ring", true},
        {HPCBOOT_COLL_ALLGATHER, "allgather=ring", true},
        {HPCBOOT_COLL_BCAST, "bcast=pipeline:8192", true},
        {HPCBOOT_COLL_BCAST, "bcast=double_tree:8192", true},
        {HPCBOOT_COLL_REDUCE, "reduce=double_tree:8192", true},
    };
    for (size_t i = 0; i < NETWORKS * 5; i++) {
        struct network w = network_of(i / 5);
        const struct wanted *t = &rows[i % 5];
        struct sched_stats s = play(&w, 1, t, 0, true);
        uint64_t rounds = (uint64_t)w.nodes - 1, least = (uint64_t)w.leaves;
        uint64_t copies = t->coll == HPCBOOT_COLL_ALLREDUCE ? 2 * rounds
                          : t->coll == HPCBOOT_COLL_ALLGATHER ? rounds
                          : i % 5 == 2 ? 4 : 8;
        assert_true(s.crossings <= copies * least);
        free(w.leaf);
    }
}

static void the_counts_are_printed(void **state)
{
    static const struct wanted rows[] = {
        {HPCBOOT_COLL_BCAST, "bcast=knomial:2", true},
        {HPCBOOT_COLL_BCAST, "bcast=knomial:4", true},
        {HPCBOOT_COLL_BCAST, "bcast=pipeline:8192", true},
        {HPCBOOT_COLL_REDUCE, "reduce=knomial:2", true},
        {HPCBOOT_COLL_ALLREDUCE, "allreduce=doubling", true},
        {HPCBOOT_COLL_ALLREDUCE, "allreduce=halving", true},
        {HPCBOOT_COLL_ALLREDUCE, "allreduce=ring", true},
        {HPCBOOT_COLL_ALLGATHER, "allgather=bruck", true},
        {HPCBOOT_COLL_ALLGATHER, "allgather=ring", true},
    };
    print_message("messages between leaves, root 5: by the order of hosts "
                  "alone, and with their leaves\n");
    for (size_t i = 0; i < NETWORKS * 9; i++) {
        struct network w = network_of(i / 9);
        struct sched_stats by_order = play(&w, 1, &rows[i % 9], 5, false);
        struct sched_stats by_leaf = play(&w, 1, &rows[i % 9], 5, true);
        print_message("%4d hosts, %2d leaves, %-20s %6llu %6llu of %6llu\n",
                      w.nodes, w.leaves, rows[i % 9].wish,
                      (unsigned long long)by_order.crossings,
                      (unsigned long long)by_leaf.crossings,
                      (unsigned long long)by_leaf.messages);
        assert_true(by_leaf.crossings <= by_order.crossings);
        free(w.leaf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_cross_once_a_leaf),
        cmocka_unit_test(ops_that_do_not_commute_keep_their_order),
        cmocka_unit_test(leaders_of_nodes_know_leaves),
        cmocka_unit_test(rings_and_trees_in_segments_cross_rarely),
        cmocka_unit_test(the_counts_are_printed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
