/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What is chosen where pods and ranks crowd the CPUs of one machine. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/coll/coll.h"
#include "sched_sim.h"

/* Among so many ranks of so many pods of one machine. */
static struct hb_choice among_ranks(enum hpcboot_coll coll, int ranks,
                                    int pods, uint32_t cpus, size_t bytes)
{
    const struct hb_layout l = {.size = ranks, .nodes = pods};
    const struct hb_coll_net_facts f = {
        .kind = HB_COLL_NET_TCP, .send_ns = 1500, .recv_ns = 300,
        .one_machine = true, .cpus = cpus};
    struct hb_model m = hb_model_of(&f);
    struct hb_wish none;
    assert_int_equal(hb_wish_parse(NULL, &none, NULL), 0);
    struct hb_call c = {.model = &m, .wish = &none, .layout = &l};
    return hb_choose(&c, coll, ranks, bytes);
}

static struct hb_choice among_pods(enum hpcboot_coll coll, int pods,
                                   uint32_t cpus, size_t bytes)
{
    return among_ranks(coll, pods, pods, cpus, bytes);
}

/* Two trees do not halve what one rank has to send to another, and what need
 * not be asked for is not cut; what must be is cut into what need not. */
static void between_two_ranks_a_message_stays_whole(void **state)
{
    static const enum hpcboot_coll colls[] = {HPCBOOT_COLL_BCAST,
                                              HPCBOOT_COLL_REDUCE};
    for (size_t i = 0; i < sizeof colls / sizeof colls[0]; i++) {
        for (size_t n = 8; n <= 65536; n *= 2) {
            assert_int_equal(among_pods(colls[i], 2, 2, n).alg,
                             HB_ALG_KNOMIAL);
        }
        for (size_t n = 131072; n <= 262144; n *= 2) {
            assert_int_equal(among_pods(colls[i], 2, 2, n).segment, 65536);
        }
    }
}

/* The root of a binary tree sends once; where each rank has a CPU, or the
 * vector is longer than what is read at once, its way down is too long. */
static void where_ranks_take_turns_trees_are_of_few_messages(void **state)
{
    enum hpcboot_coll bcast = HPCBOOT_COLL_BCAST;
    for (size_t n = 8; n <= 8192; n *= 2) {
        struct hb_choice how = among_pods(bcast, 4, 2, n);
        assert_int_equal(how.alg, HB_ALG_PIPELINE);
        assert_true(how.segment >= n);
        assert_int_equal(among_pods(bcast, 4, 4, n).alg, HB_ALG_KNOMIAL);
    }
    /* All bytes are work of the same CPUs, however they are cut. */
    for (size_t n = 65536; n <= (size_t)4 << 20; n *= 2) {
        assert_int_equal(among_pods(bcast, 4, 2, n).alg, HB_ALG_KNOMIAL);
        assert_int_equal(among_pods(HPCBOOT_COLL_REDUCE, 4, 2, n).alg,
                         HB_ALG_KNOMIAL);
    }
    assert_int_equal(among_pods(bcast, 4, 4, (size_t)4 << 20).alg,
                     HB_ALG_DOUBLE_TREE);
    /* Messages within a node wake nobody who could take turns. */
    assert_int_equal(among_ranks(bcast, 8, 4, 2, 8).alg, HB_ALG_KNOMIAL);
}

/* 8 ranks in pods of so many each, of a machine with so many CPUs, whose
 * messages cost as much as on the machine the model was fitted on. */
static struct sched_stats in_pods(struct hb_call call, int each,
                                  uint32_t cpus, const char *wish)
{
    const struct hb_coll_net_facts f = {
        .kind = HB_COLL_NET_TCP, .send_ns = 1500, .recv_ns = 300,
        .one_machine = true, .cpus = cpus};
    struct hb_model m = hb_model_of(&f);
    struct sched_case c = {.size = 8, .per_node = each, .model = &m,
                           .wish = wish, .call = call};
    struct sched_stats s;
    assert_int_equal(sched_sim_run(&c, &s), 0);
    return s;
}

static uint64_t messages_in_pods(enum hpcboot_coll coll, size_t bytes,
                                 int each, uint32_t cpus, const char *wish)
{
    return in_pods(sched_sim_call(coll, 8, bytes, 4), each, cpus, wish)
        .messages;
}

/* In the tree of all 8 ranks each gets one; by nodes, each leader. */
static void short_calls_of_a_crowd_have_no_leaders(void **state)
{
    const char *tree = "nodes,bcast=knomial:2";
    enum hpcboot_coll c = HPCBOOT_COLL_BCAST;
    assert_int_equal(messages_in_pods(c, 1024, 2, 2, NULL), 7);
    assert_int_equal(messages_in_pods(c, 1024, 2, 2, tree), 3);
    assert_int_equal(messages_in_pods(c, 65536, 2, 2, NULL), 3);
    /* Each leader has a CPU, each rank has one, or nobody knows. */
    assert_int_equal(messages_in_pods(c, 1024, 4, 2, NULL), 1);
    assert_int_equal(messages_in_pods(c, 1024, 2, 8, NULL), 3);
    assert_int_equal(messages_in_pods(c, 1024, 2, 0, NULL), 3);
    assert_int_equal(messages_in_pods(HPCBOOT_COLL_SCATTER, 1024, 2, 2, NULL),
                     7);
    assert_int_equal(messages_in_pods(HPCBOOT_COLL_SCATTER, 4096, 2, 2, NULL),
                     3);
    assert_int_equal(messages_in_pods(HPCBOOT_COLL_GATHER, 8, 2, 2, NULL), 7);
    assert_int_equal(messages_in_pods(HPCBOOT_COLL_GATHER, 1024, 2, 2, NULL),
                     3);
    assert_int_equal(messages_in_pods(HPCBOOT_COLL_REDUCE, 8, 2, 2, NULL), 7);
    assert_int_equal(messages_in_pods(HPCBOOT_COLL_REDUCE, 4096, 2, 2, NULL),
                     3);
    /* An op that does not commute may need another algorithm. */
    struct hb_call ordered = sched_sim_call(HPCBOOT_COLL_ALLREDUCE, 8, 8, 4);
    ordered.ordered = true;
    assert_int_equal(in_pods(ordered, 2, 2, NULL).messages, 8);
}

/* Where all wait for all, a turn on the node costs more than messages, which
 * wake whom they are for: each of 8 exchanges with 3, by nodes each leader
 * with 2. */
static void what_all_wait_for_has_no_leaders_in_a_crowd(void **state)
{
    const enum hpcboot_coll fold = HPCBOOT_COLL_ALLREDUCE,
                            all[] = {HPCBOOT_COLL_ALLGATHER,
                                     HPCBOOT_COLL_REDUCE_SCATTER_BLOCK};
    assert_int_equal(messages_in_pods(fold, 8192, 2, 2, NULL), 24);
    assert_int_equal(messages_in_pods(fold, 32768, 2, 2, NULL),
                     messages_in_pods(fold, 32768, 2, 2, "flat"));
    assert_int_equal(messages_in_pods(fold, 65536, 2, 2, NULL),
                     messages_in_pods(fold, 65536, 2, 2, "nodes"));
    assert_int_equal(messages_in_pods(fold, 8192, 2, 8, NULL), 8);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        for (size_t n = 128; n <= 8192; n *= 2) {
            assert_int_equal(messages_in_pods(all[i], n, 2, 2, NULL),
                             messages_in_pods(all[i], n, 2, 2, "flat"));
        }
        assert_int_equal(messages_in_pods(all[i], 65536, 2, 2, NULL),
                         messages_in_pods(all[i], 65536, 2, 2, "nodes"));
        assert_int_equal(messages_in_pods(all[i], 1024, 2, 8, NULL),
                         messages_in_pods(all[i], 1024, 2, 8, "nodes"));
    }
    assert_int_equal(messages_in_pods(HPCBOOT_COLL_ALLTOALL, 1024, 2, 2, NULL),
                     messages_in_pods(HPCBOOT_COLL_ALLTOALL, 1024, 2, 2,
                                      "flat"));
}

/* Up a tree and down again are fewer messages than an exchange: no rank waits
 * for more CPUs than there are. Alone in its pod, a rank exchanges. */
static void who_shares_pods_and_cpus_meets_in_a_tree(void **state)
{
    static const enum hpcboot_coll colls[] = {HPCBOOT_COLL_BARRIER,
                                              HPCBOOT_COLL_ALLREDUCE};
    for (size_t i = 0; i < sizeof colls / sizeof colls[0]; i++) {
        size_t bytes = colls[i] == HPCBOOT_COLL_BARRIER ? 0 : 8;
        assert_int_equal(messages_in_pods(colls[i], bytes, 2, 2, NULL), 14);
        assert_int_equal(among_pods(colls[i], 4, 2, bytes).alg,
                         HB_ALG_DOUBLING);
        assert_int_equal(among_ranks(colls[i], 8, 4, 8, bytes).alg,
                         HB_ALG_DOUBLING);
        assert_int_equal(among_ranks(colls[i], 8, 4, 0, bytes).alg,
                         HB_ALG_DOUBLING);
    }
    /* A long one keeps all of them busy at once. */
    enum hpcboot_coll c = HPCBOOT_COLL_ALLREDUCE;
    assert_int_equal(among_ranks(c, 8, 4, 2, 4096).alg, HB_ALG_KNOMIAL);
    assert_int_not_equal(among_ranks(c, 8, 4, 2, 8192).alg, HB_ALG_KNOMIAL);
}

/* 8 ranks in 4 pods of a machine with so many CPUs. */
static struct sched_stats scan_in_pods(size_t bytes, uint32_t cpus,
                                       const char *wish)
{
    const struct hb_coll_net_facts f = {
        .kind = HB_COLL_NET_TCP, .send_ns = 4500, .recv_ns = 900,
        .one_machine = true, .cpus = cpus};
    struct hb_model m = hb_model_of(&f);
    struct sched_case c = {.size = 8, .per_node = 2, .model = &m,
                           .wish = wish};
    struct sched_stats s;
    c.call = sched_sim_call(HPCBOOT_COLL_SCAN, 8, bytes, 4);
    assert_int_equal(sched_sim_run(&c, &s), 0);
    return s;
}

static void ranks_that_share_cores_scan_in_a_chain(void **state)
{
    assert_int_equal(scan_in_pods(1024, 2, NULL).messages, 7);
    assert_int_equal(scan_in_pods(1024, 2, NULL).most_messages, 1);
    /* The user's wish, and cores for all, leave it to the nodes' last. */
    assert_int_equal(scan_in_pods(1024, 2, "nodes,scan=doubling").messages, 5);
    assert_int_equal(scan_in_pods(1024, 8, NULL).messages, 5);
    assert_int_equal(scan_in_pods(1024, 0, NULL).messages, 5);
    /* Long ones go from node to node, in two pieces. */
    assert_int_equal(scan_in_pods(65536, 2, NULL).messages, 7);
    assert_int_equal(scan_in_pods(131072, 2, NULL).messages, 6);
}

/* A chain passes pieces on, where doubling sends the whole in each round. */
static void long_vectors_are_scanned_in_a_chain(void **state)
{
    struct hb_call c = sched_sim_call(HPCBOOT_COLL_SCAN, 4, 8, 4);
    struct hb_wish none;
    assert_int_equal(hb_wish_parse(NULL, &none, NULL), 0);
    c.model = &hb_model_tcp;
    c.wish = &none;
    assert_int_equal(hb_choose(&c, c.coll, 4, 8).alg, HB_ALG_DOUBLING);
    assert_int_equal(hb_choose(&c, c.coll, 4, 1 << 20).alg, HB_ALG_LINEAR);
    assert_int_equal(hb_choose(&c, c.coll, 256, 1 << 20).alg,
                     HB_ALG_DOUBLING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_two_ranks_a_message_stays_whole),
        cmocka_unit_test(where_ranks_take_turns_trees_are_of_few_messages),
        cmocka_unit_test(ranks_that_share_cores_scan_in_a_chain),
        cmocka_unit_test(long_vectors_are_scanned_in_a_chain),
        cmocka_unit_test(short_calls_of_a_crowd_have_no_leaders),
        cmocka_unit_test(what_all_wait_for_has_no_leaders_in_a_crowd),
        cmocka_unit_test(who_shares_pods_and_cpus_meets_in_a_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
