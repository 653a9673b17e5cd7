/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Schedules between nodes, played in one process: each algorithm against the
 * reference in groups of any size, then its price at scale against the
 * bounds that the literature gives. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/coll/coll.h"
#include "sched_sim.h"

/* ---- right ---- */

/* ways of each collective; a segment of 1 KiB makes many of a small vector */
static const struct {
    enum hpcboot_coll coll;
    const char *wish;
    bool commutes;
} ways[] = {
    {HPCBOOT_COLL_BARRIER, "barrier=doubling:2", false},
    {HPCBOOT_COLL_BARRIER, "barrier=doubling:4", false},
    {HPCBOOT_COLL_BARRIER, "barrier=knomial:2", false},
    {HPCBOOT_COLL_BARRIER, "barrier=knomial:4", false},
    {HPCBOOT_COLL_BCAST, "bcast=knomial:2", false},
    {HPCBOOT_COLL_BCAST, "bcast=knomial:5", false},
    {HPCBOOT_COLL_BCAST, "bcast=pipeline:1024", false},
    {HPCBOOT_COLL_BCAST, "bcast=double_tree:1024", false},
    {HPCBOOT_COLL_REDUCE, "reduce=knomial:2", false},
    {HPCBOOT_COLL_REDUCE, "reduce=knomial:4", false},
    {HPCBOOT_COLL_REDUCE, "reduce=pipeline:1024", true},
    {HPCBOOT_COLL_REDUCE, "reduce=double_tree:1024", true},
    {HPCBOOT_COLL_ALLREDUCE, "allreduce=doubling", false},
    {HPCBOOT_COLL_ALLREDUCE, "allreduce=halving", false},
    {HPCBOOT_COLL_ALLREDUCE, "allreduce=ring", true},
    {HPCBOOT_COLL_ALLREDUCE, "allreduce=knomial:3", false},
    {HPCBOOT_COLL_ALLREDUCE, "allreduce=double_tree:1024", true},
    {HPCBOOT_COLL_GATHER, "gather=knomial:2", false},
    {HPCBOOT_COLL_GATHER, "gather=knomial:3", false},
    {HPCBOOT_COLL_GATHER, "gather=linear", false},
    {HPCBOOT_COLL_SCATTER, "scatter=knomial:2", false},
    {HPCBOOT_COLL_SCATTER, "scatter=knomial:4", false},
    {HPCBOOT_COLL_SCATTER, "scatter=linear", false},
    {HPCBOOT_COLL_ALLGATHER, "allgather=bruck", false},
    {HPCBOOT_COLL_ALLGATHER, "allgather=ring", false},
    {HPCBOOT_COLL_ALLTOALL, "alltoall=bruck", false},
    {HPCBOOT_COLL_ALLTOALL, "alltoall=pairwise", false},
    {HPCBOOT_COLL_REDUCE_SCATTER_BLOCK, "reduce_scatter_block=halving",
     true},
    {HPCBOOT_COLL_REDUCE_SCATTER_BLOCK, "reduce_scatter_block=pairwise",
     false},
    {HPCBOOT_COLL_REDUCE_SCATTER_BLOCK, "reduce_scatter_block=knomial:2",
     false},
    {HPCBOOT_COLL_SCAN, "scan=doubling", false},
    {HPCBOOT_COLL_SCAN, "scan=linear", false},
    {HPCBOOT_COLL_EXSCAN, "exscan=doubling", false},
    {HPCBOOT_COLL_EXSCAN, "exscan=linear", false},
};
#define WAYS (sizeof ways / sizeof ways[0])

static int play(enum hpcboot_coll coll, const char *wish, int size,
                size_t bytes, size_t esize, int root)
{
    struct sched_case c = {.size = size, .per_node = 1, .wish = wish,
                           .model = &hb_model_ib, .bytes = true};
    c.call = sched_sim_call(coll, size, bytes, esize);
    c.call.root = root;
    c.call.ordered = esize == 8;
    return sched_sim_run(&c, NULL);
}

static void each_algorithm_gives_what_the_reference_gives(void **state)
{
    static const size_t elements[] = {0, 1, 3, 64, 1111};
    static const int sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 33};
    for (size_t i = 0; i < WAYS * 5 * 13; i++) {
        size_t way = i % WAYS, at = i / WAYS % 5;
        int size = sizes[i / WAYS / 5];
        size_t esize = ways[way].commutes ? 4 : 8;
        int root = (int)((way * 7 + at) % (size_t)size);
        if (play(ways[way].coll, ways[way].wish, size, elements[at] * esize,
                 esize, root) != 0) {
            fail_msg("%s, %d ranks, %zu elements, root %d", ways[way].wish,
                     size, elements[at], root);
        }
    }
}

static void vectors_that_are_in_place_give_the_same(void **state)
{
    static const size_t elements[] = {1, 64, 20011};
    for (size_t i = 0; i < WAYS * 9 * 3; i++) {
        size_t way = i % WAYS, esize = ways[way].commutes ? 4 : 8;
        struct sched_case c = {.size = 1 + (int)(i / WAYS % 9),
                               .per_node = 1, .wish = ways[way].wish,
                               .model = &hb_model_ib, .bytes = true};
        if (ways[way].coll != HPCBOOT_COLL_ALLREDUCE &&
            ways[way].coll < HPCBOOT_COLL_SCAN) {
            continue;
        }
        c.call = sched_sim_call(ways[way].coll, c.size,
                                elements[i / WAYS / 9] * esize, esize);
        c.call.ordered = esize == 8;
        c.call.in_place = true;
        if (sched_sim_run(&c, NULL) != 0) {
            fail_msg("%s, %d ranks", ways[way].wish, c.size);
        }
    }
}

/* Beyond what is under way at once. */
static void large_vectors_go_in_segments(void **state)
{
    static const int sizes[] = {2, 3, 4, 6};
    const size_t elements = 100003;
    for (size_t i = 0; i < WAYS * 4; i++) {
        size_t way = i % WAYS, esize = ways[way].commutes ? 4 : 8;
        if (ways[way].coll != HPCBOOT_COLL_BARRIER &&
            play(ways[way].coll, ways[way].wish, sizes[i / WAYS],
                 elements * esize, esize, 1) != 0) {
            fail_msg("%s, %d ranks", ways[way].wish, sizes[i / WAYS]);
        }
    }
}

static void the_models_own_choice_is_right_too(void **state)
{
    for (int coll = 0; coll < HPCBOOT_COLLS; coll++) {
        if (sched_sim_has_rows((enum hpcboot_coll)coll)) {
            continue; /* their rows are rank by rank: test_coll_net */
        }
        for (int i = 0; i < 60; i++) {
            int size = 1 + i % 12;
            size_t bytes = (size_t)8 << i % 13, esize = i % 2 ? 4 : 8;
            assert_int_equal(play((enum hpcboot_coll)coll, NULL, size, bytes,
                                  esize, i % size), 0);
        }
    }
}

/* Slices of one element more than others lie in the first half together. */
static void halves_of_uneven_slices_have_room(void **state)
{
    for (int size = 64; size <= 256; size *= 2) {
        for (size_t elements = 900; elements < 1300; elements += 37) {
            assert_int_equal(play(HPCBOOT_COLL_ALLREDUCE, "allreduce=halving",
                                  size, elements * 8, 8, 0), 0);
        }
    }
}

/* ---- at scale: B2 of the literature, with log rounded up ---- */

static struct sched_stats at_scale(enum hpcboot_coll coll, const char *wish,
                                   int size, int per_node, size_t bytes)
{
    struct sched_case c = {.size = size, .per_node = per_node, .wish = wish,
                           .model = &hb_model_ib};
    struct sched_stats s;
    c.call = sched_sim_call(coll, size, bytes, 4);
    assert_int_equal(sched_sim_run(&c, &s), 0);
    return s;
}

static uint64_t lg(int p)
{
    return (uint64_t)hb_log2_up(p);
}

static void trees_and_dissemination_send_log_messages(void **state)
{
    static const int sizes[] = {1024, 1536, 16384, 65536};
    for (int i = 0; i < 4; i++) {
        int p = sizes[i];
        struct sched_stats s = at_scale(HPCBOOT_COLL_BARRIER,
                                        "flat,barrier=doubling:2", p, 1, 0);
        assert_true((uint64_t)s.most_messages == lg(p));
        assert_true((uint64_t)s.most_endpoints <= 2 * lg(p));
        s = at_scale(HPCBOOT_COLL_BCAST, "bcast=knomial:2", p, 1, 1024);
        assert_true(s.messages == (uint64_t)p - 1);
        assert_true((uint64_t)s.most_messages == lg(p));
        assert_true(s.bytes_sent == ((uint64_t)p - 1) * 1024);
        s = at_scale(HPCBOOT_COLL_REDUCE, "reduce=knomial:2", p, 1, 1024);
        assert_true(s.messages == (uint64_t)p - 1);
        s = at_scale(HPCBOOT_COLL_ALLREDUCE, "allreduce=doubling", p, 1, 8);
        assert_true((uint64_t)s.most_messages <= lg(p) + 1);
        assert_true((uint64_t)s.most_endpoints <= lg(p) + 1);
        assert_true(s.most_room <= 64);
    }
}

/* What is folded comes in segments, whose room is used again. */
#define FOLD_ROOM ((size_t)1 << 20)

static void large_reductions_send_twice_the_vector(void **state)
{
    static const int sizes[] = {1024, 1536, 4096};
    const size_t n = 1 << 20;
    for (int i = 0; i < 3; i++) {
        int p = sizes[i];
        bool whole = (p & (p - 1)) == 0;
        struct sched_stats s = at_scale(HPCBOOT_COLL_ALLREDUCE,
                                        "allreduce=halving", p, 1, n);
        assert_true(s.most_bytes <= (whole ? 2 : 3) * (uint64_t)n);
        assert_true((uint64_t)s.most_endpoints <= lg(p) + 1);
        assert_true(s.most_room <= FOLD_ROOM);
        s = at_scale(HPCBOOT_COLL_BCAST, "bcast=double_tree:32768", p, 1, n);
        assert_true(s.most_bytes <= 2 * (uint64_t)n);
        assert_true(s.most_endpoints <= 6);
        s = at_scale(HPCBOOT_COLL_REDUCE, "reduce=double_tree:32768", p, 1,
                     n);
        assert_true(s.most_bytes <= (uint64_t)n);
        assert_true(s.most_endpoints <= 6);
        assert_true(s.most_room <= n + 16 * 32768 + 64);
    }
    struct sched_stats s = at_scale(HPCBOOT_COLL_ALLREDUCE,
                                    "allreduce=doubling", 1024, 1, 4 * n);
    assert_true(s.most_room <= FOLD_ROOM);
    s = at_scale(HPCBOOT_COLL_ALLREDUCE, "allreduce=ring", 1024, 1, n);
    assert_true(s.most_bytes <= 2 * (uint64_t)n);
    assert_int_equal(s.most_endpoints, 2);
    assert_true(s.most_room <= n / 1024 + 64);
}

static void blocks_travel_as_often_as_they_must(void **state)
{
    const int p = 1024;
    struct sched_stats s = at_scale(HPCBOOT_COLL_ALLGATHER,
                                    "allgather=bruck", p, 1, 64);
    assert_true((uint64_t)s.most_messages == lg(p));
    assert_true(s.most_bytes == (p - 1) * 64u);
    s = at_scale(HPCBOOT_COLL_ALLGATHER, "allgather=ring", p, 1, 4096);
    assert_true(s.most_bytes == (p - 1) * 4096u);
    assert_int_equal(s.most_endpoints, 2);
    assert_int_equal(s.most_room, 0);
    s = at_scale(HPCBOOT_COLL_ALLTOALL, "alltoall=bruck", p, 1, 8);
    assert_true((uint64_t)s.most_messages == lg(p));
    assert_true(s.most_bytes == lg(p) * p / 2 * 8);
    s = at_scale(HPCBOOT_COLL_ALLTOALL, "alltoall=pairwise", p, 1, 1024);
    assert_true(s.most_bytes == (p - 1) * 1024u);
    assert_int_equal(s.most_room, 0);
    s = at_scale(HPCBOOT_COLL_REDUCE_SCATTER_BLOCK,
                 "reduce_scatter_block=halving", p, 1, 64);
    assert_true((uint64_t)s.most_messages == lg(p));
    assert_true(s.most_bytes == (p - 1) * 64u);
    s = at_scale(HPCBOOT_COLL_GATHER, "gather=knomial:2", p, 1, 1024);
    assert_true(s.messages == (uint64_t)p - 1);
    assert_true((uint64_t)s.most_endpoints == lg(p));
}

/* 64 ranks on a node: leaders alone have endpoints, O(k log N) of them. */
static void nodes_speak_through_their_leaders(void **state)
{
    static const int nodes[] = {16, 100, 1024};
    for (int i = 0; i < 3; i++) {
        int p = nodes[i] * 64, k = 0;
        struct sched_stats s = at_scale(HPCBOOT_COLL_BARRIER, NULL, p, 64, 0);
        while (nodes[i] >> k > 1) {
            k++;
        }
        assert_true(s.messages <= (uint64_t)nodes[i] * 15 * (unsigned)k);
        assert_true(s.most_endpoints <= 2 * 15 * (k + 1));
        s = at_scale(HPCBOOT_COLL_ALLREDUCE, NULL, p, 64, 8);
        assert_true(s.messages <= (uint64_t)nodes[i] * 15 * (unsigned)k);
        assert_true(s.most_endpoints <= 15 * (k + 1));
        assert_true(s.most_room <= 4096);
        s = at_scale(HPCBOOT_COLL_BCAST, NULL, p, 64, 1 << 20);
        assert_true(s.most_endpoints <= 15 * (k + 1));
        /* Each rank of a node carries a slice. */
        s = at_scale(HPCBOOT_COLL_ALLREDUCE, NULL, p, 64, 1 << 20);
        assert_true(s.most_bytes <= 3u * (1 << 20) / 64);
    }
}

static struct hb_model model_of(enum hb_coll_net_kind kind, uint32_t mbps,
                                uint32_t rails)
{
    const struct hb_coll_net_facts f = {
        .kind = kind, .mbps = mbps, .rails = rails};
    return hb_model_of(&f);
}

/* 100 Gb/s are more than one core's TCP: the ranks of a node share the way. */
static void a_wire_beyond_one_core_gets_several_leaders(void **state)
{
    static const enum hpcboot_coll colls[] = {HPCBOOT_COLL_BCAST,
                                              HPCBOOT_COLL_REDUCE};
    struct hb_model wide = model_of(HB_COLL_NET_TCP, 100000, 1);
    struct hb_model slim = model_of(HB_COLL_NET_TCP, 25000, 1);
    const size_t n = 16 << 20;
    for (int i = 0; i < 2; i++) {
        struct sched_case c = {.size = 64, .per_node = 8, .model = &wide};
        struct sched_stats s;
        c.call = sched_sim_call(colls[i], 64, n, 4);
        assert_int_equal(sched_sim_run(&c, &s), 0);
        assert_true(s.most_bytes <= 2 * (uint64_t)n / 3 + 4096);
        c.model = &slim;
        assert_int_equal(sched_sim_run(&c, &s), 0);
        assert_true(s.most_bytes >= n);
    }
}

/* ---- the model ---- */

static void the_closed_form_is_near_the_simulation(void **state)
{
    static const struct {
        enum hpcboot_coll coll;
        const char *wish;
        struct hb_choice how;
    } cases[] = {
        {HPCBOOT_COLL_BCAST, "bcast=knomial:2", {HB_ALG_KNOMIAL, 2, 0, 0}},
        {HPCBOOT_COLL_ALLREDUCE, "allreduce=doubling",
         {HB_ALG_DOUBLING, 2, 0, 0}},
        {HPCBOOT_COLL_ALLREDUCE, "allreduce=halving",
         {HB_ALG_HALVING, 2, 0, 0}},
        {HPCBOOT_COLL_ALLREDUCE, "allreduce=ring", {HB_ALG_RING, 2, 0, 0}},
        {HPCBOOT_COLL_ALLGATHER, "allgather=bruck", {HB_ALG_BRUCK, 2, 0, 0}},
        {HPCBOOT_COLL_ALLTOALL, "alltoall=bruck", {HB_ALG_BRUCK, 2, 0, 0}},
        {HPCBOOT_COLL_ALLTOALL, "alltoall=pairwise",
         {HB_ALG_PAIRWISE, 2, 0, 0}},
        {HPCBOOT_COLL_SCAN, "scan=doubling", {HB_ALG_DOUBLING, 2, 0, 0}},
    };
    for (size_t i = 0; i < 8 * 3; i++) {
        size_t k = i % 8, bytes = (size_t)64 << 6 * (i / 8);
        struct sched_stats s = at_scale(cases[k].coll, cases[k].wish, 64, 1,
                                        bytes);
        struct hb_call call = {.model = &hb_model_ib};
        double us = hb_predict(&call, cases[k].coll, 64, bytes,
                               &cases[k].how) / 1000;
        if (us > 2 * s.us || s.us > 2 * us) {
            fail_msg("%s of %zu bytes: %.1f us by the formula, %.1f played",
                     cases[k].wish, bytes, us, s.us);
        }
    }
}

/* What the model and these schedules give where others have measured theirs.
 * Two numbers of different kinds; nothing is compared. Ranks of a node do not
 * share a port in the model: with many leaders a real node takes longer. */
static void predictions_are_printed_beside_records(void **state)
{
    static const struct {
        int ranks, per_node;
        size_t bytes;
        double record_us;
        const char *whose;
    } rows[] = {
        {128, 1, 8, 6.01, "128 hosts, host-based (SHArP, 2016)"},
        {128, 1, 4096, 46.93, "128 hosts, host-based (SHArP, 2016)"},
        {512, 128, 8, 7.7, "HCOLL, 4 nodes, HDR100 (ucc#981)"},
        {512, 128, 4096, 19, "HCOLL, 4 nodes, HDR100 (ucc#981)"},
        {512, 128, 1 << 20, 1519, "HCOLL, 4 nodes, HDR100 (ucc#981)"},
        {128, 32, 1 << 20, 580, "UCC, 4 nodes (ucc#1082)"},
        {65536, 64, 8, 0, "no record"},
        {65536, 64, 1 << 20, 0, "no record"},
    };
    print_message("allreduce, microseconds: predicted by LogGP, 100 Gb/s for "
                  "each rank, never run; a record of others\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sched_stats s =
            at_scale(HPCBOOT_COLL_ALLREDUCE, NULL, rows[i].ranks,
                     rows[i].per_node, rows[i].bytes);
        print_message("%6d ranks, %3d a node, %8zu bytes: predicted %9.1f, "
                      "record %7.1f (%s)\n", rows[i].ranks,
                      rows[i].per_node, rows[i].bytes, s.us,
                      rows[i].record_us, rows[i].whose);
        assert_true(s.us > 0);
    }
}

/* Of an allreduce of 8 KiB between 16 nodes, the model's algorithm. */
static enum hb_alg chosen_on(enum hb_coll_net_kind kind, uint32_t mbps)
{
    struct hb_model m = model_of(kind, mbps, 1);
    struct hb_wish none;
    assert_int_equal(hb_wish_parse(NULL, &none, NULL), 0);
    struct hb_call c = {.model = &m, .wish = &none};
    return hb_choose(&c, HPCBOOT_COLL_ALLREDUCE, 16, 8192).alg;
}

static void a_slow_wire_moves_fewer_bytes(void **state)
{
    assert_int_equal(chosen_on(HB_COLL_NET_TCP, 0), HB_ALG_DOUBLING);
    assert_int_equal(chosen_on(HB_COLL_NET_TCP, 1000), HB_ALG_HALVING);
    assert_true(model_of(HB_COLL_NET_RDMA, 400000, 1).byte <
                model_of(HB_COLL_NET_RDMA, 25000, 1).byte);
    /* A container's device claims 10 Gb/s and carries more. */
    assert_true(model_of(HB_COLL_NET_TCP, 10000, 1).byte ==
                hb_model_tcp.byte);
    assert_true(model_of(HB_COLL_NET_SOFT, 0, 1).byte > hb_model_tcp.byte);
    /* Long messages go over all networks, short ones over one. */
    assert_true(model_of(HB_COLL_NET_TCP, 0, 2).big < hb_model_tcp.big);
    assert_true(model_of(HB_COLL_NET_TCP, 0, 2).byte == hb_model_tcp.byte);
}

/* A root that sends three times over no wire keeps the last of them waiting
 * for longer than one more hop takes; over a wire the hop takes longer. */
static void what_messages_cost_decides_how_wide_trees_are(void **state)
{
    struct hb_coll_net_facts f = {.kind = HB_COLL_NET_TCP, .send_ns = 7000,
                                  .recv_ns = 2500, .one_machine = true};
    struct hb_wish none;
    assert_int_equal(hb_wish_parse(NULL, &none, NULL), 0);
    struct hb_model near = hb_model_of(&f);
    f.one_machine = false;
    struct hb_model far = hb_model_of(&f);
    struct hb_call c = {.model = &near, .wish = &none};
    assert_int_equal(hb_choose(&c, HPCBOOT_COLL_BCAST, 4, 8).radix, 2);
    assert_int_equal(hb_choose(&c, HPCBOOT_COLL_BARRIER, 4, 0).radix, 2);
    c.model = &far;
    assert_int_equal(hb_choose(&c, HPCBOOT_COLL_BCAST, 4, 8).radix, 4);
    f.send_ns = f.recv_ns = 0; /* not known: as is typical */
    far = hb_model_of(&f);
    assert_memory_equal(&far, &hb_model_tcp, sizeof far);
}

static void a_wish_is_checked_word_by_word(void **state)
{
    struct hb_wish w;
    struct hpcboot_error err = {0};
    assert_int_equal(hb_wish_parse("flat,allreduce=ring,bcast=knomial:4,"
                                   "reduce=pipeline:65536,leaders=2", &w,
                                   &err), 0);
    assert_int_equal(w.hierarchy, 0);
    assert_int_equal(w.alg[HPCBOOT_COLL_ALLREDUCE], HB_ALG_RING);
    assert_int_equal(w.radix[HPCBOOT_COLL_BCAST], 4);
    assert_int_equal(w.segment[HPCBOOT_COLL_REDUCE], 65536);
    assert_int_equal(w.leaders, 2);
    static const char *const wrong[] = {
        "round", "allreduce=bruck", "bcast=knomial:1", "bcast=knomial:x",
        "bcast=", "=ring", "leaders=0", "leaders=2x", "flat,,nodes",
        "bcast=knomial:99999999999999999999",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (hb_wish_parse(wrong[i], &w, &err) != HPCBOOT_ERR_USAGE) {
            fail_msg("\"%s\" was taken", wrong[i]);
        }
    }
}

static void a_wrong_wish_is_told_what_its_collective_has(void **state)
{
    static const struct {
        const char *wish, *end;
    } cases[] = {
        {"flat,allgather=knomial,nodes", "]; allgather has ring, bruck"},
        {"bcast=knomial:1", "; bcast has knomial, pipeline, double_tree"},
        {"scan=ringing", "; scan has "},
        {"several=ring", "COLLECTIVE=ALGORITHM[:RADIX or :SEGMENT]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hb_wish w;
        struct hpcboot_error err = {0};
        assert_int_equal(hb_wish_parse(cases[i].wish, &w, &err),
                         HPCBOOT_ERR_USAGE);
        assert_non_null(strstr(err.text, cases[i].end));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_algorithm_gives_what_the_reference_gives),
        cmocka_unit_test(vectors_that_are_in_place_give_the_same),
        cmocka_unit_test(large_vectors_go_in_segments),
        cmocka_unit_test(the_models_own_choice_is_right_too),
        cmocka_unit_test(halves_of_uneven_slices_have_room),
        cmocka_unit_test(trees_and_dissemination_send_log_messages),
        cmocka_unit_test(large_reductions_send_twice_the_vector),
        cmocka_unit_test(blocks_travel_as_often_as_they_must),
        cmocka_unit_test(nodes_speak_through_their_leaders),
        cmocka_unit_test(a_wire_beyond_one_core_gets_several_leaders),
        cmocka_unit_test(the_closed_form_is_near_the_simulation),
        cmocka_unit_test(predictions_are_printed_beside_records),
        cmocka_unit_test(a_slow_wire_moves_fewer_bytes),
        cmocka_unit_test(what_messages_cost_decides_how_wide_trees_are),
        cmocka_unit_test(a_wish_is_checked_word_by_word),
        cmocka_unit_test(a_wrong_wish_is_told_what_its_collective_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
