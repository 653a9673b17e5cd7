/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which way the model chooses for a collective on one node, and that a rule
 * wins over it. test_coll_model.c has where its figures come from. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/coll/coll.h"
#include "lib/coll/model.h"

#define KIB ((size_t)1 << 10)

static int parse(struct hb_coll_model *m, const char *text)
{
    hb_model_typical(m);
    return hb_model_parse(m, text, strlen(text), NULL, NULL);
}

/* The figures, and the last one's value. */
static int parse_with(struct hb_coll_model *m, const char *text,
                      const char *value)
{
    char all[256];
    snprintf(all, sizeof all, "%s%s", text, value);
    return parse(m, all);
}

static void dear_rounds_ask_for_one_round(void **state)
{
    struct hb_coll_model m;
    enum hpcboot_coll sum = HPCBOOT_COLL_ALLREDUCE;
    assert_int_equal(parse(&m, "round_ns=1000000"), 0);
    assert_int_equal(hb_model_choose(&m, sum, 4, 64 * KIB).way,
                     HB_WAY_WHOLE);
    assert_int_equal(parse(&m, "round_ns=1"), 0);
    assert_int_equal(hb_model_choose(&m, sum, 4, 64 * KIB).way,
                     HB_WAY_SLICES);
}

static void two_ranks_never_slice(void **state)
{
    struct hb_coll_model m;
    hb_model_typical(&m);
    for (size_t n = 1; n <= 16 << 20; n *= 2) {
        assert_int_equal(
            hb_model_choose(&m, HPCBOOT_COLL_ALLREDUCE, 2, n).way,
            HB_WAY_WHOLE);
    }
}

/* Ranks that have cores of their own would wait for each other's turns. */
static void ranks_that_share_cores_scan_in_a_chain(void **state)
{
    static const enum hpcboot_coll colls[] = {HPCBOOT_COLL_SCAN,
                                              HPCBOOT_COLL_EXSCAN};
    struct hb_coll_model m;
    hb_model_typical(&m);
    for (size_t i = 0; i < 2; i++) {
        m.cpus = 16;
        assert_int_equal(hb_model_choose(&m, colls[i], 8, 8).way,
                         HB_WAY_WHOLE);
        assert_int_equal(hb_model_choose(&m, colls[i], 8, 1024 * KIB).way,
                         HB_WAY_CHAIN);
        m.cpus = 2;
        for (size_t n = 1; n <= 16 << 20; n *= 2) {
            assert_int_equal(hb_model_choose(&m, colls[i], 8, n).way,
                             HB_WAY_CHAIN);
            assert_int_equal(hb_model_choose(&m, colls[i], 2, n).way,
                             HB_WAY_WHOLE);
        }
    }
}

/* It is of use where ranks have to take turns anyway. */
static void ranks_that_share_cores_let_the_last_one_fold(void **state)
{
    struct hb_coll_model m;
    enum hpcboot_coll sum = HPCBOOT_COLL_ALLREDUCE;
    const char *crowded = "cpus=2 switch_ns=700 put_ps=30 get_ps=80 fold_ps=24";
    assert_int_equal(parse(&m, crowded), 0);
    assert_int_equal(hb_model_choose(&m, sum, 8, 4 * KIB).way, HB_WAY_LAST);
    assert_int_equal(hb_model_choose(&m, sum, 4, 8 * KIB).way, HB_WAY_LAST);
    assert_int_equal(hb_model_choose(&m, sum, 8, 32 * KIB).way,
                     HB_WAY_SLICES);
    assert_int_equal(hb_model_choose(&m, sum, 2, 4 * KIB).way, HB_WAY_WHOLE);
    assert_int_equal(hb_model_choose(&m, sum, 8, 8).way, HB_WAY_WHOLE);
    m.cpus = 8;
    for (size_t n = 1; n <= 64 * KIB; n *= 2) {
        assert_int_not_equal(hb_model_choose(&m, sum, 8, n).way, HB_WAY_LAST);
    }
    assert_int_equal(parse(&m, "allreduce=last"), 0);
    assert_int_equal(hb_model_choose(&m, sum, 3, 16 * KIB).way, HB_WAY_LAST);
    assert_int_not_equal(hb_model_choose(&m, sum, 3, 16 * KIB + 1).way,
                         HB_WAY_LAST);
}

/* Asking makes all wait for each other; short calls overlap instead. */
static void a_short_reduce_does_not_ask_for_buffers(void **state)
{
    struct hb_coll_model m;
    enum hpcboot_coll reduce = HPCBOOT_COLL_REDUCE;
    hb_model_typical(&m);
    for (m.cpus = 0; m.cpus <= 2; m.cpus += 2) {
        assert_false(hb_model_choose(&m, reduce, 2, 4 * KIB).ask);
        assert_false(hb_model_choose(&m, reduce, 8, 4 * KIB).ask);
        assert_true(hb_model_choose(&m, reduce, 8, 1024 * KIB).ask);
    }
    m.cpus = 2;
    assert_false(hb_model_choose(&m, reduce, 8, 64 * KIB).ask);
}

/* Lines that were just written may come far slower than such as stay: that is
 * no reason to have the kernel read what a rank can read itself. */
static void a_rank_reads_a_buffer_no_slower_than_the_kernel(void **state)
{
    struct hb_coll_model m;
    assert_int_equal(parse(&m, "cpus=4 round_ns=125 put_ps=24 get_ps=93 "
                               "stream_ps=44 copy_ps=21 fold_ps=24 "
                               "cma_ns=790 cma_ps=41"), 0);
    for (size_t n = 64 * KIB; n <= 1024 * KIB; n *= 2) {
        assert_true(hb_model_choose(&m, HPCBOOT_COLL_BCAST, 2, n).ask);
        assert_true(hb_model_choose(&m, HPCBOOT_COLL_ALLTOALL, 2, n).ask);
    }
}

static void a_rule_counts_within_its_bytes(void **state)
{
    struct hb_coll_model m;
    enum hpcboot_coll sum = HPCBOOT_COLL_ALLREDUCE;
    assert_int_equal(parse(&m, "allreduce:8K-=whole/8K "
                               "allreduce:1M=slices/64K"), 0);
    struct hb_way_choice c = hb_model_choose(&m, sum, 8, 256 * KIB);
    assert_true(c.ruled && c.way == HB_WAY_WHOLE && c.piece == 8 * KIB);
    c = hb_model_choose(&m, sum, 8, 1024 * KIB);
    assert_true(c.ruled && c.way == HB_WAY_SLICES && c.piece == 64 * KIB);
    assert_false(hb_model_choose(&m, sum, 8, 8 * KIB - 1).ruled);
}

static void a_rule_that_cannot_be_is_passed_over(void **state)
{
    struct hb_coll_model m;
    assert_int_equal(parse(&m, "bcast=slices scan=shared"), 0);
    assert_int_equal(hb_model_choose(&m, HPCBOOT_COLL_BCAST, 4, KIB).way,
                     HB_WAY_WHOLE);
    assert_false(hb_model_choose(&m, HPCBOOT_COLL_SCAN, 4, 64 * KIB).ask);
}

static void the_kernel_copies_where_that_costs_less(void **state)
{
    static const enum hpcboot_coll moves[] = {
        HPCBOOT_COLL_BCAST, HPCBOOT_COLL_SCATTER, HPCBOOT_COLL_GATHER,
        HPCBOOT_COLL_ALLGATHER, HPCBOOT_COLL_ALLTOALL,
    };
    struct hb_coll_model m;
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        assert_int_equal(parse(&m, ""), 0); /* not measured */
        assert_false(hb_model_choose(&m, moves[i], 2, 1024 * KIB).cma);
        assert_false(hb_model_knows_cma(&m, moves[i]));
        assert_int_equal(parse(&m, "cma_ns=700 cma_ps=1"), 0);
        assert_true(hb_model_choose(&m, moves[i], 2, 1024 * KIB).cma);
        assert_false(hb_model_choose(&m, moves[i], 2, 4 * KIB).cma);
        assert_int_equal(parse(&m, "cma_ns=700 cma_ps=1000"), 0);
        assert_false(hb_model_choose(&m, moves[i], 2, 1024 * KIB).cma);
    }
    assert_int_equal(parse(&m, "cma_ns=700 cma_ps=1"), 0);
    assert_false(hb_model_knows_cma(&m, HPCBOOT_COLL_SCAN));
    assert_false(hb_model_choose(&m, HPCBOOT_COLL_SCAN, 2, 1024 * KIB).cma);
    /* with more ranks there is something to fold */
    assert_true(hb_model_choose(&m, HPCBOOT_COLL_EXSCAN, 2, 1024 * KIB).cma);
    assert_false(hb_model_choose(&m, HPCBOOT_COLL_EXSCAN, 3, 1024 * KIB).cma);
}

/* Where ranks share cores, each gets most of it from its core's own cache. */
static void blocks_that_no_cache_holds_are_written_past_it(void **state)
{
    struct hb_coll_model m;
    enum hpcboot_coll all = HPCBOOT_COLL_ALLGATHER;
    const char *text = "cpus=2 put_ps=30 get_ps=80 copy_ps=20 switch_ns=700 "
                       "cma_ns=700 cma_ps=50 cache_kib=";
    assert_int_equal(parse_with(&m, text, "65536"), 0);
    assert_true(hb_model_choose(&m, all, 3, 1024 * KIB).cma);
    assert_int_equal(parse_with(&m, text, "8192"), 0);
    assert_true(hb_model_choose(&m, all, 3, 512 * KIB).cma);
    assert_false(hb_model_choose(&m, all, 3, 1024 * KIB).cma);
    text = "cpus=2 put_ps=30 get_ps=80 copy_ps=20 switch_ns=700 cma_ns=700 "
           "cma_ps=70 cache_kib=";
    assert_int_equal(parse_with(&m, text, "65536"), 0);
    assert_true(hb_model_choose(&m, all, 2, 16384 * KIB).cma);
    assert_true(hb_model_choose(&m, HPCBOOT_COLL_ALLTOALL, 2, 8192 * KIB).cma);
    text = "cpus=2 put_ps=49 get_ps=21 copy_ps=18 switch_ns=1315 cma_ns=1683 "
           "cma_ps=70 cache_kib=";
    assert_int_equal(parse_with(&m, text, "8192"), 0);
    assert_false(hb_model_choose(&m, HPCBOOT_COLL_ALLTOALL, 8, 256 * KIB).cma);
    assert_false(hb_model_choose(&m, HPCBOOT_COLL_ALLTOALL, 8, 1024 * KIB).cma);
}

/* The rings bring it into the core's caches once; the kernel counts the hold of
 * each on each page. With a core for each it is not so. */
static void what_all_read_comes_to_a_core_once(void **state)
{
    struct hb_coll_model m;
    const char *text = "put_ps=24 get_ps=73 copy_ps=18 fold_ps=18 cma_ns=517 "
                       "cma_ps=32 switch_ns=472 cache_kib=122880 cpus=";
    assert_int_equal(parse_with(&m, text, "2"), 0);
    for (int p = 4; p <= 16; p *= 2) {
        assert_false(hb_model_choose(&m, HPCBOOT_COLL_BCAST, p, 64 * KIB).cma);
        assert_false(hb_model_choose(&m, HPCBOOT_COLL_BCAST, p,
                                     1024 * KIB).cma);
        assert_true(hb_model_choose(&m, HPCBOOT_COLL_SCATTER, p,
                                    256 * KIB).cma);
        assert_false(hb_model_choose(&m, HPCBOOT_COLL_REDUCE_SCATTER_BLOCK, p,
                                     256 * KIB).cma);
    }
    assert_false(hb_model_choose(&m, HPCBOOT_COLL_ALLGATHER, 8, 64 * KIB).cma);
    assert_false(hb_model_choose(&m, HPCBOOT_COLL_ALLGATHER, 8,
                                 1024 * KIB).cma);
    assert_int_equal(parse_with(&m, text, "16"), 0);
    assert_true(hb_model_choose(&m, HPCBOOT_COLL_ALLGATHER, 8, 256 * KIB).cma);
}

/* Both are done at a time: the root has a call more for each of the others. */
static void a_root_writes_less_than_others_read(void **state)
{
    struct hb_coll_model m;
    enum hpcboot_coll to = HPCBOOT_COLL_BCAST;
    assert_int_equal(parse(&m, "cpus=4 cma_ns=1000 cma_ps=50"), 0);
    for (size_t bytes = 64 * KIB; bytes <= 1024 * KIB; bytes *= 4) {
        for (int p = 2; p <= 4; p++) {
            size_t n = hb_model_cma_writes(&m, to, p, bytes);
            double byte = 0.05 * 1.15, others = p - 1;
            double root = others * (2 * 1000.0 + (double)n * byte);
            double other = 1.1 * (1000.0 + (double)(bytes - n) * byte);
            bool most = n == hb_model_cma_part(&m, to, p, bytes);
            assert_true(n == 0 || root < 1.02 * other);
            assert_true(n == 0 || most || other < 1.02 * root);
        }
    }
    assert_true(hb_model_cma_writes(&m, to, 2, 64 * KIB) > 0);
    assert_int_equal(hb_model_cma_writes(&m, to, 2, 16 * KIB), 0);
    assert_int_equal(hb_model_cma_writes(&m, HPCBOOT_COLL_SCATTER, 2,
                                         64 * KIB), 0);
    assert_int_equal(parse(&m, "cpus=4"), 0);
    assert_int_equal(hb_model_cma_writes(&m, to, 2, 64 * KIB), 0);
}

/* The kernel makes both wait for each other; short blocks are a call ahead. */
static void who_only_sends_little_is_ahead(void **state)
{
    struct hb_coll_model m;
    enum hpcboot_coll to = HPCBOOT_COLL_BCAST, from = HPCBOOT_COLL_GATHER;
    const char *text = "round_ns=161 put_ps=29 get_ps=80 copy_ps=21 "
                       "cma_ns=722 cma_ps=70 stream_ps=";
    assert_int_equal(parse_with(&m, text, "48"), 0);
    assert_false(hb_model_choose(&m, to, 2, 32 * KIB).cma);
    assert_false(hb_model_choose(&m, to, 2, 64 * KIB).cma);
    assert_true(hb_model_choose(&m, to, 2, 256 * KIB).cma);
    assert_int_equal(parse_with(&m, text, "70"), 0);
    assert_false(hb_model_choose(&m, from, 2, 32 * KIB).cma);
    assert_false(hb_model_choose(&m, from, 2, 64 * KIB).cma); /* its ring */
    assert_true(hb_model_choose(&m, from, 2, 1024 * KIB).cma);
}

/* What the pair gets through in a second, not what each would alone. */
static void of_two_what_both_do_at_once_counts(void **state)
{
    static const enum hpcboot_coll one_way[] = {
        HPCBOOT_COLL_BCAST, HPCBOOT_COLL_EXSCAN, HPCBOOT_COLL_GATHER,
        HPCBOOT_COLL_SCATTER};
    struct hb_coll_model m;
    for (size_t i = 0; i < sizeof one_way / sizeof one_way[0]; i++) {
        const char *text = "put_ps=20 get_ps=40 copy_ps=10 cma_ns=1700 "
                           "cma_ps=77 stream_ps=";
        assert_int_equal(parse_with(&m, text, "42"), 0);
        assert_false(hb_model_choose(&m, one_way[i], 2, 1024 * KIB).cma);
        assert_int_equal(parse_with(&m, text, "150"), 0);
        assert_true(hb_model_choose(&m, one_way[i], 2, 1024 * KIB).cma);
    }
}

/* Of a byte of 1 MiB as a whole, in picoseconds, for two ranks; `text` and
 * `value` as above. */
static double whole_ps(enum hpcboot_coll coll, const char *text,
                       const char *value)
{
    struct hb_coll_model m;
    struct hb_candidate all[HB_CANDIDATES];
    double least = -1;
    assert_int_equal(parse_with(&m, text, value), 0);
    size_t n = hb_model_candidates(&m, coll, 2, 1024 * KIB, false, all);
    for (size_t i = 0; i < n; i++) {
        if (all[i].way == HB_WAY_WHOLE && (least < 0 || all[i].ns < least)) {
            least = all[i].ns;
        }
    }
    return least * 1000 / (double)(1024 * KIB);
}

/* Its peer lets a root put as fast as it gets, however fast it puts alone; and
 * it moves its own block too. */
static void a_root_moves_its_own_block(void **state)
{
    static const enum hpcboot_coll colls[] = {HPCBOOT_COLL_SCATTER,
                                              HPCBOOT_COLL_GATHER};
    const char *text = "get_ps=50 copy_ps=20 stream_ps=40 put_ps=";
    for (size_t i = 0; i < 2; i++) {
        double quick = whole_ps(colls[i], text, "10");
        double slow = whole_ps(colls[i], text, "90");
        assert_true(quick > 59 && quick < 70);
        assert_true(slow > 59 && slow < 70);
    }
}

/* On one core each has to wait until the other has done its part. */
static void two_ranks_on_a_core_do_one_thing_at_a_time(void **state)
{
    const char *text = "put_ps=20 get_ps=50 stream_ps=40 switch_ns=1000 cpus=";
    double shared = whole_ps(HPCBOOT_COLL_EXSCAN, text, "1");
    double own = whole_ps(HPCBOOT_COLL_EXSCAN, text, "2");
    assert_true(own > 39 && own < 50);
    assert_true(shared > 69 && shared < 150);
}

static void ranks_have_the_caches_that_they_can_be_at(void **state)
{
    struct hb_coll_model m;
    assert_int_equal(parse(&m, ""), 0);
    assert_int_equal(hb_model_room(&m, 8), 0); /* nobody has looked */
    m.l3_kib = 1024;
    m.l3s = 4;
    assert_int_equal(hb_model_room(&m, 2), 2048 * KIB);
    assert_int_equal(hb_model_room(&m, 8), 4096 * KIB);
    m.cache_kib = 8; /* the user's word */
    assert_int_equal(hb_model_room(&m, 8), 8 * KIB);
}

struct row {
    enum hpcboot_coll coll;
    int p;
    size_t kib;
    bool cma;
    double us; /* by pieces, within a factor of two; 0: whatever it is */
};

static void chooses(const struct hb_coll_model *m, const struct row *r)
{
    struct hb_candidate c[HB_CANDIDATES];
    size_t bytes = r->kib * KIB;
    hb_model_candidates(m, r->coll, r->p, bytes, false, c);
    if (hb_model_choose(m, r->coll, r->p, bytes).cma != r->cma) {
        fail_msg("%s of %zu KiB, %d ranks: the other way",
                 hb_coll_name(r->coll), r->kib, r->p);
    }
    if (r->us > 0 &&
        (c[0].ns < r->us * 1000 / 2 || c[0].ns > r->us * 1000 * 2)) {
        fail_msg("%s of %zu KiB, %d ranks: %.1f us, not %.1f",
                 hb_coll_name(r->coll), r->kib, r->p, c[0].ns / 1000, r->us);
    }
}

/* Sixteen Intel CPUs with 2 MiB of second-level cache each: microseconds of
 * eight ranks by pieces and by the kernel, 16 KiB: bcast 2.6, 15; gather 3.2,
 * 17; 64 KiB: bcast 10, 36; allgather 81, 40; alltoall 90, 37; 256 KiB: bcast
 * 42, 138; gather 190, 107; 1 MiB: bcast 178, 540; scatter 810, 150; gather
 * 767, 160; and of four: 16 KiB: gather 3.3, 5.6; 256 KiB: bcast 38, 46; 1
 * MiB: bcast 154, 200; scatter 345, 139; gather 320, 157. Roots went round
 * rings of their own then, which those caches held: so a scatter of 256 KiB
 * took 190, 100. The ring that all share was not measured there. */
static void many_that_read_the_root_wait_for_each_other(void **state)
{
    static const struct row rows[] = {
        {HPCBOOT_COLL_BCAST, 8, 16, false},
        {HPCBOOT_COLL_GATHER, 8, 16, false},
        {HPCBOOT_COLL_BCAST, 8, 64, false},
        {HPCBOOT_COLL_ALLGATHER, 8, 64, true},
        {HPCBOOT_COLL_ALLTOALL, 8, 64, true},
        {HPCBOOT_COLL_BCAST, 8, 256, false},
        {HPCBOOT_COLL_SCATTER, 8, 256, false},
        {HPCBOOT_COLL_GATHER, 8, 256, true},
        {HPCBOOT_COLL_BCAST, 8, 1024, false},
        {HPCBOOT_COLL_SCATTER, 8, 1024, true},
        {HPCBOOT_COLL_GATHER, 8, 1024, true},
        {HPCBOOT_COLL_GATHER, 4, 16, false},
        {HPCBOOT_COLL_BCAST, 4, 256, false},
        {HPCBOOT_COLL_BCAST, 4, 1024, false},
        {HPCBOOT_COLL_SCATTER, 4, 1024, true},
        {HPCBOOT_COLL_GATHER, 4, 1024, true},
    };
    struct hb_coll_model m;
    assert_int_equal(parse(&m, "round_ns=122 switch_ns=614 put_ps=35 "
                           "get_ps=52 fold_ps=26 copy_ps=25 stream_ps=49 "
                           "cma_ns=922 cma_ps=43 cpus=16 l2_kib=2048"), 0);
    m.l3_kib = 75 << 10;
    m.l3s = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        chooses(&m, &rows[i]);
    }
}

/* Sixteen newer ones; microseconds by pieces and by a chain, 8 ranks: scan of
 * 64 bytes 0.33, 0.23; 4 KiB 4.2, 1.0; 64 KiB 60, 11; 1 MiB 900, 230. Four
 * ranks: 64 bytes 0.22, 0.20; 4 KiB 1.3, 1.0; 64 KiB 17, 10; 1 MiB 310, 220. A
 * single call, until its last rank is done, 8 ranks: 1 KiB 2.9, 5.8; 4 KiB 8.6,
 * 7.6; 64 KiB 65, 22. */
static void many_ranks_scan_in_a_chain(void **state)
{
    static const enum hpcboot_coll colls[] = {HPCBOOT_COLL_SCAN,
                                              HPCBOOT_COLL_EXSCAN};
    static const size_t sizes[] = {1 * KIB, 4 * KIB, 64 * KIB, 1024 * KIB};
    struct hb_coll_model m;
    assert_int_equal(parse(&m, "round_ns=157 switch_ns=644 put_ps=30 "
                           "get_ps=81 fold_ps=31 copy_ps=26 stream_ps=65 "
                           "cma_ns=959 cma_ps=46 cpus=16 l2_kib=2048"), 0);
    for (size_t i = 0; i < 2; i++) {
        for (int p = 4; p <= 16; p *= 2) {
            assert_int_equal(hb_model_choose(&m, colls[i], p, 8).way,
                             HB_WAY_WHOLE);
            for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
                assert_int_equal(hb_model_choose(&m, colls[i], p, sizes[n]).way,
                                 HB_WAY_CHAIN);
            }
            /* of long ones the last rank waits for as little as can be */
            assert_int_equal(
                hb_model_choose(&m, colls[i], p, 64 * KIB).piece, 8 * KIB);
        }
    }
}

/* Two CPUs of Zen 4; microseconds, means of all ranks, by pieces and by the
 * kernel. Four ranks: bcast 64 KiB 5.3, 20, 1 MiB 70, 200; scatter 16 KiB
 * 2.2, 14, 256 KiB 42, 58. Eight: bcast 64 KiB 9, 45, 1 MiB 140, 380; scatter
 * 256 KiB 89, 103, 1 MiB 700, 370. */
static void who_alone_puts_fills_a_ring_in_a_turn(void **state)
{
    static const struct row rows[] = {
        {HPCBOOT_COLL_BCAST, 4, 64, false, 5.3},
        {HPCBOOT_COLL_BCAST, 4, 1024, false, 70},
        {HPCBOOT_COLL_SCATTER, 4, 16, false, 2.2},
        {HPCBOOT_COLL_SCATTER, 4, 256, false, 42},
        {HPCBOOT_COLL_BCAST, 8, 64, false, 9},
        {HPCBOOT_COLL_BCAST, 8, 1024, false, 140},
        {HPCBOOT_COLL_SCATTER, 8, 256, false, 89},
        {HPCBOOT_COLL_SCATTER, 8, 1024, true, 700},
    };
    struct hb_coll_model m;
    assert_int_equal(parse(&m, "round_ns=42 switch_ns=1297 put_ps=24 "
                           "get_ps=21 fold_ps=17 copy_ps=17 stream_ps=32 "
                           "cma_ns=1472 cma_ps=64 cpus=2 l2_kib=1024"), 0);
    m.l3_kib = 8 << 10;
    m.l3s = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        chooses(&m, &rows[i]);
    }
}

/* Two CPUs of a newer one (Emerald Rapids); microseconds by pieces and by the
 * kernel: bcast 256 KiB 13.6, 8.2; scatter 16 KiB 1.3, more; 64 KiB 4.7, 4.4;
 * 256 KiB 21.5, 13; 4 MiB 632, 410; gather 64 KiB 5.7, 5.0; 256 KiB 22, 13; by
 * pieces reduce 16 KiB 0.96, 64 KiB 4.2, 256 KiB 17; scan 16 KiB 1.2, 64 KiB
 * 4.7. */
static void two_ranks_run_at_one_rate(void **state)
{
    static const struct row rows[] = {
        {HPCBOOT_COLL_BCAST, 2, 256, true, 13.6},
        {HPCBOOT_COLL_SCATTER, 2, 16, false, 1.3},
        {HPCBOOT_COLL_SCATTER, 2, 64, true, 4.7},
        {HPCBOOT_COLL_SCATTER, 2, 256, true, 21.5},
        {HPCBOOT_COLL_SCATTER, 2, 4096, true},
        {HPCBOOT_COLL_GATHER, 2, 64, true, 5.7},
        {HPCBOOT_COLL_GATHER, 2, 256, true, 22},
        {HPCBOOT_COLL_REDUCE, 2, 16, false, 0.96},
        {HPCBOOT_COLL_REDUCE, 2, 64, false, 4.2},
        {HPCBOOT_COLL_REDUCE, 2, 256, false, 17},
        {HPCBOOT_COLL_SCAN, 2, 16, false, 1.2},
        {HPCBOOT_COLL_SCAN, 2, 64, false, 4.7},
    };
    struct hb_coll_model m;
    assert_int_equal(parse(&m, "round_ns=125 switch_ns=651 put_ps=25 "
                           "get_ps=74 fold_ps=24 copy_ps=21 stream_ps=52 "
                           "cma_ns=881 cma_ps=42 cpus=2 l2_kib=2048"), 0);
    m.l3_kib = 65 << 10;
    m.l3s = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        chooses(&m, &rows[i]);
    }
    assert_int_equal(hb_model_choose(&m, HPCBOOT_COLL_REDUCE, 2,
                                     64 * KIB).piece, 32 * KIB);
}

static void a_rule_asks_for_the_kernel_or_forbids_it(void **state)
{
    struct hb_coll_model m;
    enum hpcboot_coll row = HPCBOOT_COLL_ALLTOALLV;
    assert_int_equal(parse(&m, "bcast:64K-=cma alltoallv=cma"), 0);
    assert_true(hb_model_choose(&m, HPCBOOT_COLL_BCAST, 2, 64 * KIB).cma);
    assert_false(hb_model_choose(&m, HPCBOOT_COLL_BCAST, 2, 63 * KIB).cma);
    assert_true(hb_model_cma(&m, row, 2, 64 * KIB));
    assert_int_equal(parse(&m, "cma_ns=1 cma_ps=1 bcast=whole "
                               "alltoallv=whole"), 0);
    assert_false(hb_model_choose(&m, HPCBOOT_COLL_BCAST, 2, 1024 * KIB).cma);
    assert_false(hb_model_cma(&m, row, 2, 1024 * KIB));
}

/* Each rank of a v-kind has a length of its own. */
static void lengths_that_differ_choose_alike(void **state)
{
    static const enum hpcboot_coll colls[] = {
        HPCBOOT_COLL_SCATTERV, HPCBOOT_COLL_GATHERV, HPCBOOT_COLL_ALLGATHERV,
        HPCBOOT_COLL_ALLTOALLV, HPCBOOT_COLL_REDUCE_SCATTER,
    };
    struct hb_coll_model m;
    assert_int_equal(parse(&m, "allgatherv:8K-64K=/8K"), 0);
    for (size_t i = 0; i < sizeof colls / sizeof *colls; i++) {
        struct hb_way_choice a = hb_model_choose(&m, colls[i], 4, 0);
        for (size_t n = 1; n <= 16 << 20; n *= 4) {
            struct hb_way_choice b = hb_model_choose(&m, colls[i], 4, n);
            assert_true(a.way == b.way && a.piece == b.piece &&
                        a.ask == b.ask);
        }
    }
}

static void one_candidate_is_chosen(void **state)
{
    struct hb_coll_model m;
    hb_model_typical(&m);
    for (int coll = 0; coll < HPCBOOT_COLLS; coll++) {
        for (size_t n = 0; n <= 16 << 20; n = n == 0 ? 1 : n * 8) {
            for (int alloc = 0; alloc < 2; alloc++) {
                struct hb_candidate c[HB_CANDIDATES];
                size_t all = hb_model_candidates(&m, coll, 4, n, alloc, c);
                int chosen = 0;
                for (size_t i = 0; i < all; i++) {
                    chosen += c[i].chosen;
                }
                assert_int_equal(chosen, 1);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dear_rounds_ask_for_one_round),
        cmocka_unit_test(two_ranks_never_slice),
        cmocka_unit_test(ranks_that_share_cores_scan_in_a_chain),
        cmocka_unit_test(ranks_that_share_cores_let_the_last_one_fold),
        cmocka_unit_test(a_short_reduce_does_not_ask_for_buffers),
        cmocka_unit_test(a_rank_reads_a_buffer_no_slower_than_the_kernel),
        cmocka_unit_test(a_rule_counts_within_its_bytes),
        cmocka_unit_test(a_rule_that_cannot_be_is_passed_over),
        cmocka_unit_test(the_kernel_copies_where_that_costs_less),
        cmocka_unit_test(blocks_that_no_cache_holds_are_written_past_it),
        cmocka_unit_test(what_all_read_comes_to_a_core_once),
        cmocka_unit_test(a_root_writes_less_than_others_read),
        cmocka_unit_test(who_only_sends_little_is_ahead),
        cmocka_unit_test(of_two_what_both_do_at_once_counts),
        cmocka_unit_test(a_root_moves_its_own_block),
        cmocka_unit_test(two_ranks_on_a_core_do_one_thing_at_a_time),
        cmocka_unit_test(ranks_have_the_caches_that_they_can_be_at),
        cmocka_unit_test(many_that_read_the_root_wait_for_each_other),
        cmocka_unit_test(many_ranks_scan_in_a_chain),
        cmocka_unit_test(who_alone_puts_fills_a_ring_in_a_turn),
        cmocka_unit_test(two_ranks_run_at_one_rate),
        cmocka_unit_test(a_rule_asks_for_the_kernel_or_forbids_it),
        cmocka_unit_test(lengths_that_differ_choose_alike),
        cmocka_unit_test(one_candidate_is_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
