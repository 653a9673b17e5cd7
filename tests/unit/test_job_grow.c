/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The growth of the tree, driven by fake agents: logins end in random order,
 * hosts are dead, cannot reach others, or are lost at any time. Whatever
 * happens, every host that is alive is up in the end, once. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bin/job/grow.h"

#define MAX_HOSTS 4096u
#define TRIES_OF_DEAD 3u

enum kind { GOOD, KEYLESS, DEAD, ISLANDER /* only the launcher reaches it */ };

struct world {
    struct hb_grow *g;
    uint32_t n, seed, losses;
    enum kind kind[MAX_HOSTS];
    uint32_t starting[MAX_HOSTS], n_starting;
    int is_up[MAX_HOSTS], given_up[MAX_HOSTS];
    uint32_t tries[MAX_HOSTS], per_parent[MAX_HOSTS + 1];
    struct hb_grow_limits limits;
    uint32_t most; /* logins at once at an agent */
};

static uint32_t draw(struct world *w, uint32_t below)
{
    w->seed = w->seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)w->seed * below) >> 32);
}

static uint32_t slot_of(const struct world *w, uint32_t parent)
{
    return parent == HB_GROW_ROOT ? w->n : parent;
}

static void begin_all(struct world *w)
{
    uint32_t host, parent;

    while (hb_grow_next(w->g, &host, &parent)) {
        assert_true(host < w->n);
        assert_false(w->is_up[host]);
        assert_int_equal(hb_grow_parent(w->g, host), parent);
        if (parent != HB_GROW_ROOT) {
            assert_true(w->is_up[parent]);
            assert_int_not_equal(w->kind[parent], KEYLESS);
            assert_false(w->limits.flat);
        }
        w->per_parent[slot_of(w, parent)]++;
        assert_true(w->per_parent[slot_of(w, parent)] <=
                    (parent == HB_GROW_ROOT ? w->limits.root_at_once
                                            : w->limits.at_once));
        w->starting[w->n_starting++] = host;
    }
}

static void on_gone(void *arg, uint32_t host)
{
    struct world *w = arg;

    for (uint32_t i = 0; i < w->n_starting; i++) {
        if (w->starting[i] == host) {
            w->starting[i] = w->starting[--w->n_starting];
            break;
        }
    }
    w->per_parent[host] = 0;
    w->is_up[host] = 0;
    hb_grow_put(w->g, host, 0);
}

static int works(const struct world *w, uint32_t host, uint32_t parent)
{
    return w->kind[host] == GOOD || w->kind[host] == KEYLESS ||
           (w->kind[host] == ISLANDER && parent == HB_GROW_ROOT);
}

static void finish_one(struct world *w)
{
    uint32_t i = draw(w, w->n_starting), host = w->starting[i];
    uint32_t parent = hb_grow_parent(w->g, host);

    w->starting[i] = w->starting[--w->n_starting];
    w->per_parent[slot_of(w, parent)]--;
    w->tries[host]++;
    if (works(w, host, parent)) {
        hb_grow_ready(w->g, host, w->kind[host] != KEYLESS);
        w->is_up[host] = 1;
    } else if (hb_grow_failed(w->g, host)) {
        assert_int_not_equal(parent, HB_GROW_ROOT);
        hb_grow_put(w->g, host, 1);
    } else if (w->tries[host] < TRIES_OF_DEAD) {
        hb_grow_put(w->g, host, 0);
    } else {
        w->given_up[host] = 1;
    }
}

static void lose_one(struct world *w)
{
    uint32_t host = draw(w, w->n);

    if (w->is_up[host]) {
        w->losses--;
        for (uint32_t i = 0; i < w->n_starting; i++) {
            uint32_t parent = hb_grow_parent(w->g, w->starting[i]);

            if (w->starting[i] == host && parent != HB_GROW_ROOT) {
                w->per_parent[parent]--;
            }
        }
        hb_grow_lost(w->g, host, on_gone, w);
    }
}

static void run(struct world *w)
{
    w->g = hb_grow_create(w->n, &w->limits);
    for (uint32_t i = 0; i < w->n; i++) {
        hb_grow_put(w->g, i, 0);
    }
    begin_all(w);
    for (uint64_t steps = 0; w->n_starting > 0; steps++) {
        assert_true(steps < 100u * (uint64_t)w->n + 1000);
        finish_one(w);
        if (w->losses > 0 && draw(w, 4) == 0) {
            lose_one(w);
        }
        begin_all(w);
    }
    for (uint32_t i = 0; i < w->n; i++) {
        assert_int_equal(w->is_up[i], w->kind[i] != DEAD);
        assert_int_equal(w->given_up[i], w->kind[i] == DEAD);
    }
}

static void set_up(struct world *w, uint32_t n, uint32_t width, uint32_t seed)
{
    memset(w, 0, sizeof *w);
    w->n = n;
    w->seed = seed;
    w->limits = (struct hb_grow_limits){
        .width = width, .at_once = 1 + seed % 8, .root_at_once = 1 + seed % 13,
    };
}

static void every_number_of_hosts_at_every_width(void **state)
{
    struct world *w = malloc(sizeof *w);

    for (uint32_t n = 1; n <= 300; n++) {
        for (uint32_t width = 2; width <= 64; width += 1 + width / 4) {
            set_up(w, n, width, n * 65 + width);
            run(w);
            for (uint32_t i = 0; i < n; i++) {
                assert_true(hb_grow_children(w->g, i) <= width);
            }
            assert_true(hb_grow_children(w->g, HB_GROW_ROOT) <= width);
            hb_grow_destroy(w->g);
        }
    }
    free(w);
}

static void with_dead_keyless_and_lost_hosts(void **state)
{
    struct world *w = malloc(sizeof *w);

    for (uint32_t seed = 1; seed <= 600; seed++) {
        set_up(w, 1 + seed % 300, 2 + seed % 63, seed);
        w->losses = seed % 7;
        for (uint32_t i = 0; i < w->n; i++) {
            uint32_t one_in_ten = draw(w, 10);

            w->kind[i] = one_in_ten == 0   ? DEAD
                         : one_in_ten == 1 ? KEYLESS
                         : one_in_ten == 2 ? ISLANDER : GOOD;
        }
        run(w);
        hb_grow_destroy(w->g);
    }
    free(w);
}

static void without_any_key_the_launcher_starts_all(void **state)
{
    struct world *w = malloc(sizeof *w);

    set_up(w, 200, 4, 7);
    for (uint32_t i = 0; i < w->n; i++) {
        w->kind[i] = KEYLESS;
    }
    run(w);
    assert_int_equal(hb_grow_children(w->g, HB_GROW_ROOT), 200);
    hb_grow_destroy(w->g);
    free(w);
}

static void flat_means_flat(void **state)
{
    struct world *w = malloc(sizeof *w);

    set_up(w, 100, 2, 3);
    w->limits.flat = 1;
    run(w);
    assert_int_equal(hb_grow_depth(w->g), 1);
    hb_grow_destroy(w->g);
    free(w);
}

static void note_left(void *arg, uint32_t host, int is_up)
{
    ((int *)arg)[host] = is_up ? 1 : 2;
}

/* Of a chain 0, 1, 2 with 3 being started by 1: 1 is lost. */
static void what_hung_below_a_lost_host_goes_to_the_launcher(void **state)
{
    const struct hb_grow_limits limits = {.width = 1, .at_once = 2,
                                          .root_at_once = 1};
    struct hb_grow *g = hb_grow_create(5, &limits);
    int left[5] = {0};
    uint32_t host, parent;

    for (uint32_t i = 0; i < 3; i++) {
        hb_grow_put(g, i, 0);
        assert_true(hb_grow_next(g, &host, &parent));
        assert_int_equal(host, i);
        assert_int_equal(parent, i == 0 ? HB_GROW_ROOT : i - 1);
        hb_grow_ready(g, i, 1);
    }
    hb_grow_put(g, 3, 0);
    hb_grow_forbid(g, 2);
    assert_true(hb_grow_next(g, &host, &parent));
    assert_int_equal(parent, 1);
    hb_grow_lost_alone(g, 1, note_left, left);
    assert_int_equal(left[2], 1);
    assert_int_equal(left[3], 2);
    assert_int_equal(left[0] + left[1], 0);
    assert_int_equal(hb_grow_parent(g, 2), HB_GROW_ROOT);
    assert_int_equal(hb_grow_children(g, HB_GROW_ROOT), 2);
    assert_int_equal(hb_grow_children(g, 0), 0);
    assert_int_equal(hb_grow_depth(g), 1);
    hb_grow_put(g, 1, 0); /* both may come again */
    hb_grow_put(g, 3, 0);
    assert_true(hb_grow_next(g, &host, &parent));
    hb_grow_ready(g, host, 1);
    assert_true(hb_grow_next(g, &host, &parent));
    hb_grow_destroy(g);
}

/* All parents of a round start one host each until the tree is whole: the
 * number of hosts at least doubles with each round. */
static void the_tree_of_4096_is_shallow(void **state)
{
    struct world *w = malloc(sizeof *w);
    uint32_t rounds = 0;

    set_up(w, 4096, 16, 1);
    w->limits.at_once = w->limits.root_at_once = 1;
    w->g = hb_grow_create(w->n, &w->limits);
    for (uint32_t i = 0; i < w->n; i++) {
        hb_grow_put(w->g, i, 0);
    }
    for (begin_all(w); w->n_starting > 0; begin_all(w), rounds++) {
        uint32_t n = w->n_starting;

        for (uint32_t i = 0; i < n; i++) {
            uint32_t host = w->starting[i];

            w->per_parent[slot_of(w, hb_grow_parent(w->g, host))]--;
            hb_grow_ready(w->g, host, 1);
            w->is_up[host] = 1;
        }
        w->n_starting = 0;
    }
    assert_int_equal(rounds, 13); /* 2^12 hosts and the launcher */
    assert_true(hb_grow_depth(w->g) <= 13);
    hb_grow_destroy(w->g);
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_of_hosts_at_every_width),
        cmocka_unit_test(with_dead_keyless_and_lost_hosts),
        cmocka_unit_test(without_any_key_the_launcher_starts_all),
        cmocka_unit_test(flat_means_flat),
        cmocka_unit_test(what_hung_below_a_lost_host_goes_to_the_launcher),
        cmocka_unit_test(the_tree_of_4096_is_shallow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
