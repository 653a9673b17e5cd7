/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* gatherv: long blocks travel beside the rounds, short ones wait for nobody.
 * scatterv: how many rounds there are, only the root knows. */

#include "config.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coll_world.h"

struct away {
    int calls;
    size_t count; /* of each block, INT32 */
};

/* Rank 0, the root, comes when all others have sent all. */
static const char *gather_at_who_is_away(struct coll_rank *r)
{
    const struct away *away = r->arg;
    struct hpcboot_error err = {0};
    size_t n = away->count, counts[3] = {n, n, n};
    int *in = calloc(n, sizeof *in), *out = calloc(3 * n, sizeof *out);
    int rc = 0;
    const char *wrong = in == NULL || out == NULL ? "no memory" : NULL;
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_GATHERV;
    a.type = HPCBOOT_INT32;
    a.send = in;
    a.recv = out;
    a.count = n;
    a.recv_counts = counts;
    while (r->rank == 0 && (int)r->page->changes < r->size - 1) {
        sched_yield();
    }
    for (int i = 0; i < away->calls && rc == 0 && wrong == NULL; i++) {
        in[0] = in[n - 1] = 10 * i + r->rank;
        rc = hb_coll_run(r->team, &a, NULL, &err);
        if (rc == 0 && r->rank == 0 && out[3 * n - 1] != 10 * i + 2) {
            wrong = coll_text("call %d brought %d", i, out[3 * n - 1]);
        }
    }
    if (r->rank > 0) {
        hb_coll_node_changed(r->page);
    }
    free(in);
    free(out);
    return rc == 0 ? wrong : coll_text("%s", err.text);
}

static void who_sends_little_in_a_gatherv_waits_for_nobody(void **state)
{
    struct coll_world w = {.ranks = 3};
    struct away away = {15, 1};
    assert_int_equal(coll_world_run(&w, gather_at_who_is_away, &away), 0);
}

/* What goes beside the rounds lies behind that of the call before. */
static void who_sends_more_is_some_calls_ahead_too(void **state)
{
    struct coll_world w = {.ranks = 3};
    struct away away = {5, 10000};
    assert_int_equal(coll_world_run(&w, gather_at_who_is_away, &away), 0);
}

#define UNEVEN 9
#define UNEVEN_MOST 1400001

static size_t uneven(int rank, int call)
{
    static const size_t len[UNEVEN] = {0, 8192, 8193, 100, UNEVEN_MOST, 70000,
                                       12000, 16384, 16385};
    return len[(rank * 5 + call) % UNEVEN];
}

static unsigned char tint(int rank, int call, size_t at)
{
    return (unsigned char)((size_t)(rank * 31 + call * 7) + at * 3);
}

static const char *compare_uneven(const struct coll_rank *r, int call,
                                  const unsigned char *got)
{
    for (int j = 0; j < r->size; j++) {
        for (size_t k = 0; k < uneven(j, call); k++, got++) {
            if (*got != tint(j, call, k)) {
                return coll_text("call %d: byte %zu of rank %d is wrong",
                                 call, k, j);
            }
        }
    }
    return NULL;
}

/* What other calls leave in the ring, and find there, is theirs. */
static const char *gather_around(struct coll_rank *r, unsigned char *in,
                                 unsigned char *out, int call)
{
    struct hpcboot_error err = {0};
    size_t counts[9];
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = call % 3 == 2 ? HPCBOOT_COLL_ALLGATHERV : HPCBOOT_COLL_GATHERV;
    a.type = HPCBOOT_BYTE;
    a.send = in;
    a.recv = out;
    a.root = call / 2 % r->size;
    a.count = uneven(r->rank, call);
    a.recv_counts = counts;
    for (int j = 0; j < r->size; j++) {
        counts[j] = uneven(j, call);
    }
    for (size_t k = 0; k < a.count; k++) {
        in[k] = tint(r->rank, call, k);
    }
    int rc = hb_coll_run(r->team, &a, NULL, &err);
    if (rc != 0) {
        return coll_text("call %d: %s", call, err.text);
    }
    bool gets = r->rank == a.root || a.coll == HPCBOOT_COLL_ALLGATHERV;
    return gets ? compare_uneven(r, call, out) : NULL;
}

static const char *gather_by_turns(struct coll_rank *r)
{
    unsigned char *in = malloc(UNEVEN_MOST);
    unsigned char *out = malloc((size_t)r->size * UNEVEN_MOST);
    const char *wrong = in == NULL || out == NULL ? "no memory" : NULL;
    for (int call = 0; call < 24 && wrong == NULL; call++) {
        wrong = gather_around(r, in, out, call);
    }
    free(in);
    free(out);
    return wrong;
}

static void blocks_of_all_lengths_are_gathered_at_any_root(void **state)
{
    for (int ranks = 2; ranks <= 9; ranks += ranks < 4 ? 1 : 5) {
        struct coll_world w = {.ranks = ranks,
                               .wait_mode = HB_COLL_WAIT_YIELD};
        assert_int_equal(coll_world_run(&w, gather_by_turns, NULL), 0);
        w.tune = "l2_kib=256"; /* another ring for the first round */
        assert_int_equal(coll_world_run(&w, gather_by_turns, NULL), 0);
        w.wait_mode = HB_COLL_WAIT_PARK;
        w.processes = true;
        assert_int_equal(coll_world_run(&w, gather_by_turns, NULL), 0);
    }
}

struct apart {
    enum hpcboot_coll coll;
    size_t sent, expected;
};

/* Two ranks cut the block by what each believes that it has. Rank 0 reads. */
static const char *expect_another_length(struct coll_rank *r)
{
    const struct apart *x = r->arg;
    struct hpcboot_error err = {0};
    size_t sends[2] = {x->sent, 0}, gets[2] = {0, x->expected};
    unsigned char *in = calloc(1, x->sent), *out = calloc(1, x->expected);
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    char text[64];
    a.coll = x->coll;
    a.type = HPCBOOT_BYTE;
    a.send = in;
    a.recv = out;
    a.send_counts = sends;
    a.recv_counts = gets;
    a.root = x->coll == HPCBOOT_COLL_GATHERV ? 0 : 1;
    a.count = r->rank == a.root                ? 0
              : x->coll == HPCBOOT_COLL_GATHERV ? x->sent : x->expected;
    int rc = in != NULL && out != NULL
                 ? hb_coll_run(r->team, &a, NULL, &err) : 0;
    coll_leave(r);
    snprintf(text, sizeof text, "%zu", x->sent);
    bool is_told = rc < 0 && strstr(err.text, text) != NULL;
    free(in);
    free(out);
    return r->rank == 1 || is_told
               ? NULL : coll_text("%s of %zu for %zu: %d, \"%s\"",
                                  hb_coll_name(x->coll), x->sent, x->expected,
                                  rc, err.text);
}

static void lengths_that_differ_are_told_whatever_room_they_take(void **state)
{
    static const size_t len[] = {4096, 8192, 8193, 16384, 16385, 100000};
    struct coll_world w = {.ranks = 2, .alive = coll_rank_0_left};
    for (int i = 0; i < 6 * 6 * 2; i++) {
        struct apart x = {i % 2 == 0 ? HPCBOOT_COLL_GATHERV
                                     : HPCBOOT_COLL_SCATTERV,
                          len[i / 2 % 6], len[i / 12]};
        if (x.sent != x.expected) {
            assert_int_equal(coll_world_run(&w, expect_another_length, &x), 0);
        }
    }
}

#define OTHERS_MOST 300000

/* To rank 1 goes as much in each call, to rank 2 what comes to mind. */
static const char *scatter_to_others(struct coll_rank *r)
{
    static const size_t of_others[] = {0, 100, 2305, 8193, 70000, 8192, 1,
                                       OTHERS_MOST, 40};
    struct hpcboot_error err = {0};
    size_t counts[3] = {0, 20000, 0};
    unsigned char *in = malloc(20000 + OTHERS_MOST), *out = malloc(OTHERS_MOST);
    const char *wrong = in == NULL || out == NULL ? "no memory" : NULL;
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_SCATTERV;
    a.type = HPCBOOT_BYTE;
    a.send = in;
    a.recv = out;
    a.send_counts = counts;
    for (int call = 0; call < 27 && wrong == NULL; call++) {
        counts[2] = of_others[call % 9];
        a.count = counts[r->rank];
        for (size_t k = 0; k < counts[1] + counts[2]; k++) {
            in[k] = tint(0, call, k);
        }
        int rc = hb_coll_run(r->team, &a, NULL, &err);
        wrong = rc != 0 ? coll_text("call %d: %s", call, err.text) : NULL;
        for (size_t k = 0; k < a.count && wrong == NULL; k++) {
            size_t from = r->rank == 2 ? counts[1] + k : k;
            if (out[k] != tint(0, call, from)) {
                wrong = coll_text("call %d: byte %zu is wrong", call, k);
            }
        }
    }
    free(in);
    free(out);
    return wrong;
}

static void what_others_get_of_a_scatterv_may_change(void **state)
{
    struct coll_world w = {.ranks = 3, .wait_mode = HB_COLL_WAIT_YIELD};
    assert_int_equal(coll_world_run(&w, scatter_to_others, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sends_little_in_a_gatherv_waits_for_nobody),
        cmocka_unit_test(who_sends_more_is_some_calls_ahead_too),
        cmocka_unit_test(blocks_of_all_lengths_are_gathered_at_any_root),
        cmocka_unit_test(lengths_that_differ_are_told_whatever_room_they_take),
        cmocka_unit_test(what_others_get_of_a_scatterv_may_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
