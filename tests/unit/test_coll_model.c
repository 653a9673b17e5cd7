/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The model behind the choice between the ways of a collective: its words,
 * where figures are kept, that all ranks get the same. test_coll_choice.c has
 * the choice, and test_coll_ways.c that results are right whatever it is. */

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
        "bcast:1M-64K=whole",
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
    assert_in_range(m.far_ns, HB_FAR_NS_LEAST, HB_FAR_NS_MOST);
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

static void one_of_the_lower_figures_counts(void **state)
{
    struct hb_coll_model takes[5] = {{.round_ns = 130, .cma_ps = 45},
                                     {.round_ns = 24, .cma_ps = 140},
                                     {.round_ns = 120, .put_ps = 7},
                                     {.round_ns = 900, .cma_ps = 50},
                                     {.round_ns = 800, .put_ps = 9}};
    struct hb_coll_model m = {.copy_ps = 3};
    hb_model_of_takes(&m, takes, 4); /* two threads of a core do not count */
    assert_int_equal(m.round_ns, 130);
    assert_int_equal(m.cma_ps, 45);
    assert_int_equal(m.put_ps, 7);
    assert_int_equal(m.copy_ps, 3);
    hb_model_of_takes(&m, takes, 5); /* two of which were put off */
    assert_int_equal(m.round_ns, 130);
    assert_int_equal(m.put_ps, 7);
    hb_model_of_takes(&m, takes, 1);
    assert_int_equal(m.round_ns, 130);
    hb_model_of_takes(&m, takes + 1, 1); /* better than none */
    assert_int_equal(m.round_ns, 24);
    takes[0] = takes[2] = takes[4] = takes[1]; /* the CPUs are no others */
    hb_model_of_takes(&m, takes, 5);
    assert_int_equal(m.round_ns, 24);
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
        hb_model_of_takes(&m, takes, 3);
        assert_int_equal(m.far_ns, cases[i].far_ns);
    }
    struct hb_coll_model slow = {.round_ns = 132, .stream_ps = 50,
                                 .past_ps = 80}, of_it = {0};
    hb_model_of_takes(&of_it, &slow, 1); /* the cache is sooner all the same */
    assert_int_equal(of_it.far_ns, 231 * 80 / 50);
    slow.past_ps = 40;
    of_it.far_ns = 7;
    hb_model_of_takes(&of_it, &slow, 1);
    assert_int_equal(of_it.far_ns, 7);
    slow.past_ps = 4000;
    hb_model_of_takes(&of_it, &slow, 1);
    assert_int_equal(of_it.far_ns, HB_FAR_NS_MOST);
    struct hb_coll_model apart[2] = {{.round_ns = 250}, {.round_ns = 220}};
    struct hb_coll_model m = {.far_ns = 7}, none = {0};
    hb_model_of_takes(&m, apart, 2);
    assert_int_equal(m.far_ns, 7);
    hb_model_of_takes(&m, &none, 1); /* a take of the network */
    assert_int_equal(m.far_ns, 7);
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
        look(&n, 32, i % 10 < 9 ? 0 : 14);
        assert_false(n.far);
    }
    look(&n, 32, 0);
    for (int i = 0; i < 14; i++) { /* half of the lines have come before */
        look(&n, 2, 1);
        assert_false(n.far);
    }
    look(&n, 1, 1);
    (void)stays_far(&n);
    look(&n, 32, 0);
    look(&n, 15, 15);
    unsigned first = stays_far(&n), last = first;
    for (int i = 0; i < 10; i++) { /* still far: asked less and less often */
        look(&n, 15, 15);
        unsigned now = stays_far(&n);
        assert_true(now >= last);
        last = now;
    }
    assert_true(last > first && last < 100 * first);
    look(&n, 100, 5); /* near for a while, then it begins anew */
    look(&n, 15, 15);
    assert_int_equal(stays_far(&n), first);
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
        cmocka_unit_test(one_of_the_lower_figures_counts),
        cmocka_unit_test(the_shortest_round_draws_the_border_of_what_is_far),
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
