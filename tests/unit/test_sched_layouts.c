/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Whatever the layout, the network and the call, all ranks choose alike. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "lib/coll/coll.h"
#include "sched_sim.h"

/* What is chosen by the bytes of a node is chosen alike by nodes that hold
 * fewer ranks than others. */
static void nodes_of_different_sizes_choose_alike(void **state)
{
    for (int i = 0; i < HPCBOOT_COLLS * 8; i++) {
        enum hpcboot_coll coll = (enum hpcboot_coll)(i / 8);
        struct sched_case c = {.size = 37, .per_node = 4,
                               .model = &hb_model_tcp};
        if (!sched_sim_has_rows(coll)) {
            c.call = sched_sim_call(coll, 37, (size_t)500 << i % 8, 4);
            assert_int_equal(sched_sim_run(&c, NULL), 0);
        }
    }
}

/* What a leader keeps for its node grows with the square of its ranks. */
static void a_leader_keeps_only_so_much(void **state)
{
    static const size_t blocks[] = {64, 1024, 4096};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        struct sched_case c = {.size = 256, .per_node = 32,
                               .model = &hb_model_tcp};
        struct sched_stats s;
        c.call = sched_sim_call(HPCBOOT_COLL_ALLTOALL, c.size, blocks[i], 4);
        assert_int_equal(sched_sim_run(&c, &s), 0);
        assert_true(s.most_room <= (size_t)64 << 20);
        assert_true(blocks[i] > 1024 || s.most_room > 0);
    }
}

#define MOST_NODES 12
#define MOST_RANKS (MOST_NODES * 12)

static uint32_t draw(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

/* Nodes of 1 to 12 ranks, a third of them alike; in a quarter of all cases
 * ranks are dealt out without any order. */
static int draw_layout(uint64_t *seed, int node_of[MOST_RANKS])
{
    int nodes = 1 + (int)draw(seed, MOST_NODES), size = 0;
    int alike = draw(seed, 3) == 0 ? 1 + (int)draw(seed, 6) : 0;
    for (int node = 0; node < nodes; node++) {
        int here = alike > 0 ? alike
                             : 1 + (int)draw(seed, draw(seed, 4) ? 4 : 12);
        while (here-- > 0) {
            node_of[size++] = node;
        }
    }
    for (int i = draw(seed, 4) == 0 ? size - 1 : 0; i > 0; i--) {
        int with = (int)draw(seed, (uint32_t)i + 1), kept = node_of[i];
        node_of[i] = node_of[with];
        node_of[with] = kept;
    }
    return size;
}

static bool draw_leaves(uint64_t *seed, int leaf[MOST_NODES])
{
    leaf[0] = 0;
    for (int node = 1; node < MOST_NODES; node++) {
        leaf[node] = leaf[node - 1] + (draw(seed, 3) == 0);
    }
    return draw(seed, 2);
}

static struct hb_model draw_model(uint64_t *seed)
{
    struct hb_model m = draw(seed, 2) ? hb_model_tcp : hb_model_ib;
    m.cpus = draw(seed, 2) ? 1 + draw(seed, 8) : 0;
    m.wire = draw(seed, 3) == 0 ? m.byte / (1 + draw(seed, 8)) : 0;
    m.overhead *= 1 + draw(seed, 30);
    m.receive *= 1 + draw(seed, 30);
    return m;
}

static struct hb_call draw_call(uint64_t *seed, enum hpcboot_coll coll,
                                int size)
{
    size_t esize = (size_t)1 << draw(seed, 4);
    size_t count = draw(seed, 1u << draw(seed, 18));
    struct hb_call c = sched_sim_call(coll, size, count * esize, esize);
    c.root = (int)draw(seed, (uint32_t)size);
    c.ordered = draw(seed, 3) == 0;
    c.same_bits = draw(seed, 4) == 0;
    c.in_place = draw(seed, 4) == 0;
    return c;
}

/* Whatever the layout, all ranks make the same choices: every message has its
 * receive, and the ranks of a node meet in the same phases. */
static void ranks_agree_on_any_layout(void **state)
{
    static const char *const wishes[] = {NULL, NULL, "nodes", "flat",
                                         "leaders=2", "leaders=3"};
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t seed = i * 7919 + 13;
        int node_of[MOST_RANKS], leaf[MOST_NODES];
        enum hpcboot_coll coll = (enum hpcboot_coll)(i % HPCBOOT_COLLS);
        struct sched_case c = {.size = draw_layout(&seed, node_of),
                               .node_of = node_of, .leaf = leaf};
        c.knows_leaves = draw_leaves(&seed, leaf);
        struct hb_model model = draw_model(&seed);
        c.wish = wishes[draw(&seed, 6)];
        c.model = &model;
        c.call = draw_call(&seed, coll, c.size);
        if (!sched_sim_has_rows(coll) && sched_sim_run(&c, NULL) != 0) {
            fail_msg("case %u: collective %d of %zu bytes at %d ranks, "
                     "wish %s", (unsigned)i, coll, c.call.bytes, c.size,
                     c.wish != NULL ? c.wish : "none");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_different_sizes_choose_alike),
        cmocka_unit_test(a_leader_keeps_only_so_much),
        cmocka_unit_test(ranks_agree_on_any_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
