/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The model behind the choice between the ways of a collective: its words,
 * where figures are kept, that all ranks get the same; and that results are
 * right whichever way is taken. test_coll_choice.c has the choice. */

#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "coll_ref.h"
#include "coll_world.h"
#include "lib/coll/model.h"
#include "lib/coll/near.h"

#define KIB ((size_t)1 << 10)

static int parse(struct hb_coll_model *m, const char *text)
{
    hb_model_typical(m);
    return hb_model_parse(m, text, strlen(text), NULL, NULL);
}

/* ---- words ---- */

static void figures_and_rules_are_read(void **state)
{
    struct hb_coll_model m;
    assert_int_equal(parse(&m, "round_ns=7, bcast:64K-1M=whole/16K\n"
                               "# bcast=none\nscan:-8=whole"), 0);
    assert_int_equal(m.round_ns, 7);
    assert_int_equal(m.n_rules, 2);
    assert_int_equal(m.rules[0].coll, HPCBOOT_COLL_BCAST);
    assert_int_equal(m.rules[0].least, 64 * KIB);
    assert_int_equal(m.rules[0].most, 1024 * KIB);
    assert_int_equal(m.rules[0].piece, 16 * KIB);
    assert_int_equal(m.rules[1].least, 0);
    assert_int_equal(m.rules[1].most, 8);
}

static void wrong_words_change_nothing_and_are_named(void **state)
{
    static const char *const wrong[] = {
        "round_ns=0", "round_ns=x", "bcast", "bcast=", "bcast=fast",
        "brodcast=whole", "bcast:8-4K-1M=whole", "bcast:=whole",
        "bcast=whole/3K", "bcast=whole/1K", "bcast=whole/1M", "=whole",
        "machine=5", "round_ns=99999999999999999999",
        ("scan=whole scan=whole scan=whole scan=whole scan=whole scan=whole "
         "scan=whole"),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hb_coll_model m, before;
        struct hpcboot_error err = {0};
        hb_model_typical(&m);
        before = m;
        int rc = hb_model_parse(&m, wrong[i], strlen(wrong[i]), NULL, &err);
        assert_int_equal(rc, HPCBOOT_ERR_USAGE);
        assert_memory_equal(&m, &before, sizeof m);
        assert_non_null(strstr(err.text, "no rule for a collective"));
    }
}

static void figures_survive_being_written(void **state)
{
    struct hb_coll_model m, again;
    char text[HB_MODEL_TEXT_MOST];
    uint64_t machine = 0;
    assert_int_equal(parse(&m, "round_ns=1 switch_ns=2 put_ps=3 get_ps=4 "
                               "fold_ps=5 copy_ps=6 cpus=7 cache_kib=8 "
                               "cma_ns=9 cma_ps=10 far_ns=11 l2_kib=12 "
                               "stream_ps=13"), 0);
    assert_int_equal(m.far_ns, 11);
    assert_true(m.l2_kib == 12 && m.stream_ps == 13);
    int len = hb_model_print(&m, 42, text, sizeof text);
    hb_model_typical(&again);
    assert_int_equal(hb_model_parse(&again, text, (size_t)len, &machine,
                                    NULL), 0);
    assert_int_equal(machine, 42);
    assert_memory_equal(&m, &again, sizeof m);
}

/* ---- where figures are kept ---- */

static char cache[64];

static int make_cache(void **state)
{
    strcpy(cache, "/tmp/hb-coll-XXXXXX");
    if (mkdtemp(cache) == NULL) {
        return -1;
    }
    return setenv("XDG_CACHE_HOME", cache, 1);
}

static int remove_cache(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", cache);
    return setenv("XDG_CACHE_HOME", "/nonexistent", 1) + system(command);
}

/* A file as the probe would have left it, without its machine's figures. */
static void write_kept(char *path, size_t size, mode_t mode)
{
    struct hb_coll_model m;
    char text[HB_MODEL_TEXT_MOST], folder[96];
    assert_int_equal(hb_model_here(&m, false, path, size, NULL), 0);
    assert_int_equal(m.source, HB_MODEL_TYPICAL);
    snprintf(folder, sizeof folder, "%s/hpcboot", cache);
    (void)mkdir(folder, 0700);
    m.round_ns = 4321;
    hb_model_print(&m, strtoull(strrchr(path, '-') + 1, NULL, 10), text,
                   sizeof text);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(path, mode), 0);
}

static void kept_figures_are_read_again(void **state)
{
    char path[4096];
    struct hb_coll_model m;
    write_kept(path, sizeof path, 0600);
    assert_int_equal(hb_model_here(&m, false, NULL, 0, NULL), 0);
    assert_int_equal(m.source, HB_MODEL_KEPT);
    assert_int_equal(m.round_ns, 4321);
}

static void a_file_that_others_may_write_is_not_read(void **state)
{
    char path[4096];
    struct hb_coll_model m;
    write_kept(path, sizeof path, 0622);
    assert_int_equal(hb_model_here(&m, false, NULL, 0, NULL), 0);
    assert_int_equal(m.source, HB_MODEL_TYPICAL);
}

static void a_link_is_not_followed(void **state)
{
    char path[4096], moved[4200];
    struct hb_coll_model m;
    write_kept(path, sizeof path, 0600);
    snprintf(moved, sizeof moved, "%s.moved", path);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink(moved, path), 0);
    assert_int_equal(hb_model_here(&m, false, NULL, 0, NULL), 0);
    assert_int_equal(m.source, HB_MODEL_TYPICAL);
}

/* Whether it succeeds is the machine's affair. */
static void a_probe_gives_all_figures_or_none(void **state)
{
    struct hb_coll_model m, before;
    hb_model_typical(&m);
    before = m;
    if (hb_model_probe(&m, NULL) < 0) {
        assert_memory_equal(&m, &before, sizeof m);
        return;
    }
    assert_int_equal(m.source, HB_MODEL_PROBED);
    assert_true(m.round_ns > 0 && m.switch_ns > 0 && m.put_ps > 0 &&
                m.get_ps > 0 && m.fold_ps > 0 && m.copy_ps > 0 &&
                m.stream_ps > 0);
}

static void read_file(const char *path, char *text, size_t size)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, size - 1, f) > 0);
    fclose(f);
}

/* A border that a build draws is not a figure of the machine: a later build
 * may draw another. */
static void what_is_kept_was_measured(void **state)
{
    struct hb_coll_model m;
    char path[4096], text[HB_MODEL_TEXT_MOST] = "";
    assert_int_equal(hb_model_here(&m, true, path, sizeof path, NULL), 0);
    assert_in_range(m.far_ns, HB_FAR_NS_LEAST, HB_FAR_NS);
    if (m.source != HB_MODEL_PROBED) {
        print_message("no second CPU: nothing is kept\n");
        return;
    }
    read_file(path, text, sizeof text);
    assert_non_null(strstr(text, "round_ns="));
    assert_null(strstr(text, "far_ns"));
}

/* A take that was not disturbed; false: the machine is too busy or small. */
static bool take(struct hb_coll_model *m)
{
    for (int i = 0; i < 100; i++) {
        assert_int_equal(hb_model_here(m, true, NULL, 0, NULL), 0);
        if (m->source == HB_MODEL_PROBED) {
            return true;
        }
    }
    print_message("no second CPU, or a busy one: nothing is measured\n");
    return false;
}

static void figures_of_a_busy_machine_do_not_stay(void **state)
{
    const struct timespec old[2] = {{time(NULL) - 2 * 3600, 0},
                                    {time(NULL) - 2 * 3600, 0}};
    struct hb_coll_model m;
    char path[4096];
    write_kept(path, sizeof path, 0600); /* with a round of 4321 ns */
    for (int takes = 1; takes < 5; takes++) {
        if (!take(&m)) {
            return;
        }
        assert_true(m.round_ns < 4321);
    }
    uint32_t before = m.round_ns;
    assert_int_equal(hb_model_here(&m, true, NULL, 0, NULL), 0);
    assert_int_equal(m.source, HB_MODEL_KEPT); /* enough */
    assert_int_equal(m.round_ns, before);
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    if (take(&m)) {
        char text[HB_MODEL_TEXT_MOST] = "";
        read_file(path, text, sizeof text);
        assert_null(strstr(text, "4321")); /* the oldest went */
        assert_int_equal(hb_model_here(&m, true, NULL, 0, NULL), 0);
        assert_int_equal(m.source, HB_MODEL_KEPT);
    }
}

static void the_middle_one_of_each_figure_counts(void **state)
{
    struct hb_coll_model takes[4] = {{.round_ns = 130, .cma_ps = 45},
                                     {.round_ns = 24, .cma_ps = 140},
                                     {.round_ns = 120, .put_ps = 7},
                                     {.round_ns = 900, .cma_ps = 50}};
    struct hb_coll_model m = {.copy_ps = 3};
    hb_model_middle(&m, takes, 4);
    assert_int_equal(m.round_ns, 120);
    assert_int_equal(m.cma_ps, 50);
    assert_int_equal(m.put_ps, 7);
    assert_int_equal(m.copy_ps, 3);
    hb_model_middle(&m, takes, 1);
    assert_int_equal(m.round_ns, 130);
}

static void a_file_with_takes_of_another_machine_is_not_read(void **state)
{
    char path[4096];
    struct hb_coll_model m;
    write_kept(path, sizeof path, 0600);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputs("machine=1\nround_ns=5\n", f);
    fclose(f);
    assert_int_equal(hb_model_here(&m, false, NULL, 0, NULL), 0);
    assert_int_equal(m.source, HB_MODEL_TYPICAL);
}

/* Whether there is a loopback device is the machine's affair. */
static void messages_are_measured_and_kept(void **state)
{
    struct hb_coll_model m = {0}, again = {0};
    char path[4096];
    if (hb_net_probe(&m, NULL) < 0) {
        assert_true(m.send_ns == 0 && m.recv_ns == 0);
        print_message("no loopback device: nothing is kept\n");
        return;
    }
    assert_true(m.send_ns > 0 && m.recv_ns > 0);
    hb_net_here(&again, false, path, sizeof path); /* another rank's task */
    assert_true(again.send_ns == 0 && again.recv_ns == 0);
    assert_int_equal(access(path, F_OK), -1);
    /* Off its core for longer than a probe lasts, it measures nothing. */
    for (int i = 0; i < 1000 && access(path, F_OK) < 0; i++) {
        hb_net_here(&m, true, NULL, 0);
    }
    hb_net_here(&again, false, NULL, 0);
    assert_int_equal(access(path, R_OK), 0);
    assert_int_equal(again.send_ns, m.send_ns);
    assert_int_equal(again.recv_ns, m.recv_ns);
    /* The memory's figures are none of these. */
    assert_int_equal(hb_model_here(&m, false, NULL, 0, NULL), 0);
    assert_int_equal(m.source, HB_MODEL_TYPICAL);
}

static void words_of_the_user_win_over_the_probe(void **state)
{
    uint32_t send_ns, recv_ns;
    setenv("HPCBOOT_COLL_TUNE", "send_ns=77 recv_ns=78", 1);
    hb_coll_net_costs(true, &send_ns, &recv_ns);
    assert_int_equal(send_ns, 77);
    assert_int_equal(recv_ns, 78);
    setenv("HPCBOOT_COLL_TUNE", "bcast=fast", 1);
    /* Wrong words are told later. */
    hb_coll_net_costs(true, &send_ns, &recv_ns);
    unsetenv("HPCBOOT_COLL_TUNE");
}

static void a_wrong_rule_is_an_error_of_the_variable(void **state)
{
    struct hb_coll_node_page *page = aligned_alloc(128, sizeof *page);
    struct hpcboot_error err = {0};
    assert_non_null(page);
    memset(page, 0, sizeof *page);
    setenv("HPCBOOT_COLL_TUNE", "bcast=fast", 1);
    assert_int_equal(hb_coll_model_share(page, 2, &err), HPCBOOT_ERR_USAGE);
    unsetenv("HPCBOOT_COLL_TUNE");
    assert_non_null(strstr(err.text, "HPCBOOT_COLL_TUNE: \"bcast=fast\""));
    free(page);
}

/* ---- results ---- */

static const char *run_case(struct coll_rank *r, struct coll_case *c,
                            char *heap)
{
    struct coll_buffers b;
    struct hpcboot_error err = {0};
    const char *wrong = NULL;
    coll_ref_make(c, r->rank, heap, &b);
    for (int i = 0; i < 2 && wrong == NULL; i++) {
        coll_ref_fill(c, r->rank, &b);
        wrong = hb_coll_run(r->team, &b.args, &coll_ref_user, &err) != 0
                    ? coll_text("%s", err.text)
                    : coll_ref_compare(c, r->rank, &b);
    }
    coll_ref_free(&b, heap != NULL);
    return wrong;
}

/* Takes of ranks that were far apart do not move the border. */
static void the_shortest_round_draws_the_border_of_what_is_far(void **state)
{
    static const struct { uint32_t round_ns[3], far_ns; } cases[] = {
        {{48, 250, 240}, 84},            {{250, 43, 0}, HB_FAR_NS_LEAST},
        {{40, 40, 40}, HB_FAR_NS_LEAST}, {{80, 90, 100}, HB_FAR_NS},
        {{20, 60, 60}, 105}, /* of two threads of a core, once */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hb_coll_model takes[3] = {{0}}, m = {0};
        for (int k = 0; k < 3; k++) {
            takes[k].round_ns = cases[i].round_ns[k];
        }
        hb_model_middle(&m, takes, 3);
        assert_int_equal(m.far_ns, cases[i].far_ns);
    }
    struct hb_coll_model apart[2] = {{.round_ns = 250}, {.round_ns = 220}};
    struct hb_coll_model m = {.far_ns = 7}, none = {0};
    hb_model_middle(&m, apart, 2);
    assert_int_equal(m.far_ns, 7);
    hb_model_middle(&m, &none, 1); /* a take of the network */
    assert_int_equal(m.far_ns, 7);
}

static void small_rounds_have_a_ring_where_a_cache_holds_it(void **state)
{
    static const uint32_t l2_kib[] = {1, 512, 1024, 0, 1280, 2048};
    for (int i = 0; i < 6; i++) {
        struct hb_coll_model m = {.l2_kib = l2_kib[i]};
        assert_int_equal(hb_model_small(&m, 2), i < 3 ? 2048 : 16384);
        assert_int_equal(hb_model_small(&m, 3), 16384);
    }
    assert_int_equal(hb_model_small(NULL, 2), 16384);
}

static void look(struct hb_nearness *n, unsigned times, unsigned are_long)
{
    for (unsigned i = 0; i < times; i++) {
        assert_true(hb_near_due(n));
        hb_near_weigh(n, i < are_long);
    }
}

/* How many looks a peer that has been found far stays so. */
static unsigned stays_far(struct hb_nearness *n)
{
    unsigned looks = 1;
    assert_true(n->far);
    while (!hb_near_due(n) && n->far) {
        looks++;
    }
    assert_false(n->far);
    return looks;
}

static void peers_are_far_when_most_looks_are_long(void **state)
{
    struct hb_nearness n = {0};
    for (int i = 0; i < 100; i++) {
        look(&n, 5, i % 10 < 9); /* another machine uses the cache */
        look(&n, 16, i % 10 < 9 ? 0 : 11);
        assert_false(n.far);
    }
    look(&n, 16, 0);
    look(&n, 12, 12);
    unsigned first = stays_far(&n), last = first;
    for (int i = 0; i < 10; i++) { /* still far: asked less and less often */
        look(&n, 12, 12);
        unsigned now = stays_far(&n);
        assert_true(now >= last);
        last = now;
    }
    assert_true(last > first && last < 100 * first);
    look(&n, 100, 5); /* near for a while, then it begins anew */
    look(&n, 12, 12);
    assert_int_equal(stays_far(&n), first);
}

/* Many calls of one kind, so that ranks run ahead of each other as far as
 * there is room, in the types and ops that a chain must fold alike, or may not
 * fold at all. */
static const char *scans_in_a_row(struct coll_rank *r)
{
    static const struct { enum hpcboot_type type; int op; } kinds[] = {
        {HPCBOOT_FLOAT, HPCBOOT_SUM}, {HPCBOOT_DOUBLE, HPCBOOT_PROD},
        {HPCBOOT_BFLOAT16, HPCBOOT_SUM}, {HPCBOOT_FLOAT16, HPCBOOT_PROD},
        {HPCBOOT_FLOAT, HPCBOOT_AVG}, {HPCBOOT_BYTE, HPCBOOT_OP_USER},
        {HPCBOOT_DOUBLE_COMPLEX, HPCBOOT_PROD},
        {HPCBOOT_DOUBLE_INT, HPCBOOT_MAXLOC}, {HPCBOOT_INT8, HPCBOOT_LXOR},
    };
    static const size_t counts[] = {0, 1, 3, 27, 29, 1025, 9001};
    const char *wrong = NULL;
    for (size_t i = 0; i < 9 * 7 * 4 && wrong == NULL; i++) {
        struct coll_case c = {
            .coll = i % 2 == 0 ? HPCBOOT_COLL_SCAN : HPCBOOT_COLL_EXSCAN,
            .in_place = i / 2 % 2 == 1, .type = kinds[i / 4 % 9].type,
            .op = kinds[i / 4 % 9].op, .ranks = r->size, .seed = i,
            .count = counts[i / 36] * (kinds[i / 4 % 9].type == HPCBOOT_BYTE
                                           ? coll_ref_user.element_bytes : 1),
        };
        wrong = run_case(r, &c, NULL);
        if (wrong != NULL) {
            wrong = coll_text("%s of %zu of type %d, op %d%s: %s",
                              hb_coll_name(c.coll), c.count, c.type, c.op,
                              c.in_place ? ", in place" : "", wrong);
        }
    }
    return wrong;
}

static void a_chain_has_the_bits_of_a_fold_in_one_go(void **state)
{
    static const char *const tunes[] = {"scan=chain/8K exscan=chain/64K",
                                        "scan=chain/32K exscan=chain/8K",
                                        "cache_kib=1 scan=chain exscan=chain",
                                        "scan=whole exscan=whole"};
    for (size_t i = 0; i < sizeof tunes / sizeof *tunes; i++) {
        for (int ranks = 3; ranks <= 9; ranks += 2) {
            struct coll_world w = {.ranks = ranks, .tune = tunes[i],
                                   .processes = ranks == 5,
                                   .wait_mode = HB_COLL_WAIT_YIELD};
            assert_int_equal(coll_world_run(&w, scans_in_a_row, NULL), 0);
        }
    }
}

static const char *sums_and_moves(struct coll_rank *r)
{
    static const enum hpcboot_coll colls[] = {
        HPCBOOT_COLL_ALLREDUCE, HPCBOOT_COLL_BCAST, HPCBOOT_COLL_ALLTOALL,
        HPCBOOT_COLL_REDUCE, HPCBOOT_COLL_ALLGATHER, HPCBOOT_COLL_SCAN,
        HPCBOOT_COLL_REDUCE_SCATTER_BLOCK,
    };
    static const size_t counts[] = {300, 4096, 16384, 40001};
    char *mine = (char *)r->heap +
                 (size_t)r->rank * (r->heap_size / (size_t)r->size);
    const char *wrong = NULL;
    for (size_t i = 0; i < 7 * 4 * 2 && wrong == NULL; i++) {
        struct coll_case c = {
            .coll = colls[i % 7], .type = HPCBOOT_FLOAT, .op = HPCBOOT_SUM,
            .ranks = r->size, .root = r->size - 1, .seed = i,
            .count = counts[i / 7 % 4],
        };
        wrong = run_case(r, &c, i >= 28 ? mine : NULL);
        if (wrong != NULL) {
            wrong = coll_text("%s of %zu: %s", hb_coll_name(c.coll), c.count,
                              wrong);
        }
    }
    return wrong;
}

static void results_are_right_whichever_way_is_taken(void **state)
{
    static const char *const tunes[] = {
        "allreduce=slices/8K bcast=/8K alltoall=/8K reduce=/8K scan=/8K "
        "allgather=/8K",
        "allreduce=slices/64K bcast=/64K alltoall=/64K reduce=/64K "
        "scan=/64K allgather=/64K",
        "allreduce=whole/64K alltoall=/16K reduce_scatter_block=/64K",
        "allreduce=last", "allreduce=last cache_kib=1 far_ns=1",
        "allreduce=shared bcast=shared alltoall=shared reduce=shared "
        "allgather=shared reduce_scatter_block=shared",
        "round_ns=1", "round_ns=1000000", "far_ns=1 bcast=/16K",
        "cache_kib=1", "cache_kib=1 allreduce=slices/8K",
        "l2_kib=256", "l2_kib=256 bcast=/8K allreduce=slices/8K",
        "l2_kib=2048", "l2_kib=2048 bcast=/8K allreduce=slices/8K",
    };
    for (size_t i = 0; i < sizeof tunes / sizeof *tunes; i++) {
        for (int ranks = 2; ranks <= 4; ranks++) {
            struct coll_world w = {.ranks = ranks, .tune = tunes[i],
                                   .wait_mode = HB_COLL_WAIT_YIELD,
                                   .heap_size = 16 << 20};
            assert_int_equal(coll_world_run(&w, sums_and_moves, NULL), 0);
        }
    }
}

/* The root writes a part where the others have their buffers in the heap;
 * nobody's, the first rank's or the root's lies elsewhere. */
static const char *bcasts_in_parts(struct coll_rank *r)
{
    static const size_t counts[] = {8192, 16384, 40001, 300000};
    const int elsewhere[] = {-1, 0, r->size - 1};
    char *mine = (char *)r->heap +
                 (size_t)r->rank * (r->heap_size / (size_t)r->size);
    const char *wrong = NULL;
    for (size_t i = 0; i < 3 * 4 && wrong == NULL; i++) {
        struct coll_case c = {
            .coll = HPCBOOT_COLL_BCAST, .type = HPCBOOT_FLOAT,
            .ranks = r->size, .root = r->size - 1, .seed = i,
            .count = counts[i % 4],
        };
        wrong = run_case(r, &c, r->rank != elsewhere[i / 4] ? mine : NULL);
        if (wrong != NULL) {
            wrong = coll_text("%zu, %d elsewhere: %s", c.count,
                              elsewhere[i / 4], wrong);
        }
    }
    return wrong;
}

static void the_root_writes_a_part_of_a_bcast_in_the_heap(void **state)
{
    static const char *const tunes[] = {"cpus=8 bcast=shared",
                                        "cpus=8 bcast=cma",
                                        "cpus=1 bcast=shared"};
    for (size_t i = 0; i < sizeof tunes / sizeof *tunes; i++) {
        for (int ranks = 2; ranks <= 4; ranks++) {
            struct coll_world w = {.ranks = ranks, .tune = tunes[i],
                                   .processes = ranks == 3,
                                   .wait_mode = HB_COLL_WAIT_YIELD,
                                   .heap_size = 16 << 20};
            assert_int_equal(coll_world_run(&w, bcasts_in_parts, NULL), 0);
        }
    }
}

int main(void)
{
    setenv("XDG_CACHE_HOME", "/nonexistent", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_and_rules_are_read),
        cmocka_unit_test(wrong_words_change_nothing_and_are_named),
        cmocka_unit_test(figures_survive_being_written),
        cmocka_unit_test_setup_teardown(kept_figures_are_read_again,
                                        make_cache, remove_cache),
        cmocka_unit_test_setup_teardown(
            a_file_that_others_may_write_is_not_read, make_cache,
            remove_cache),
        cmocka_unit_test_setup_teardown(a_link_is_not_followed, make_cache,
                                        remove_cache),
        cmocka_unit_test(a_probe_gives_all_figures_or_none),
        cmocka_unit_test_setup_teardown(what_is_kept_was_measured,
                                        make_cache, remove_cache),
        cmocka_unit_test(the_middle_one_of_each_figure_counts),
        cmocka_unit_test(the_shortest_round_draws_the_border_of_what_is_far),
        cmocka_unit_test(small_rounds_have_a_ring_where_a_cache_holds_it),
        cmocka_unit_test(peers_are_far_when_most_looks_are_long),
        cmocka_unit_test_setup_teardown(
            a_file_with_takes_of_another_machine_is_not_read, make_cache,
            remove_cache),
        cmocka_unit_test_setup_teardown(figures_of_a_busy_machine_do_not_stay,
                                        make_cache, remove_cache),
        cmocka_unit_test_setup_teardown(messages_are_measured_and_kept,
                                        make_cache, remove_cache),
        cmocka_unit_test_setup_teardown(words_of_the_user_win_over_the_probe,
                                        make_cache, remove_cache),
        cmocka_unit_test(a_wrong_rule_is_an_error_of_the_variable),
        cmocka_unit_test(a_chain_has_the_bits_of_a_fold_in_one_go),
        cmocka_unit_test(results_are_right_whichever_way_is_taken),
        cmocka_unit_test(the_root_writes_a_part_of_a_bcast_in_the_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
