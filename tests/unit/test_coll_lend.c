/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Blocks of scatterv and alltoallv that are lent: their addresses travel in
 * the first round, beside blocks that are copied. And exscan of two ranks,
 * which is a copy. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coll_world.h"
#include "lib/coll/impl.h"

#define ALWAYS "cma_ns=1 cma_ps=1 cpus=64"
#define RANKS_MOST 17
#define BLOCK_MOST ((size_t)120001)

/* Of local rank `from` for `to`; some are as long in every call. */
static size_t length(int from, int to, int call)
{
    static const size_t some[] = {BLOCK_MOST, 0, 100, 40000, BLOCK_MOST, 5};
    return some[(from * 7 + to * 3 + call) % 6];
}

static unsigned char tint(int from, int to, size_t at)
{
    return (unsigned char)((size_t)(from * 31 + to * 7 + 1) + at * 3);
}

struct rows {
    unsigned char *send, *recv;
    size_t sent[RANKS_MOST], got[RANKS_MOST];
};

static size_t fill(const struct coll_rank *r, struct rows *x, int call)
{
    size_t at = 0;
    for (int j = 0; j < r->size; j++) {
        x->sent[j] = length(r->rank, j, call);
        x->got[j] = length(j, r->rank, call);
        for (size_t k = 0; k < x->sent[j]; k++) {
            x->send[at++] = tint(r->rank, j, k);
        }
    }
    memset(x->recv, 0, BLOCK_MOST * (size_t)r->size);
    return at;
}

/* From `first` up to `last`. */
static const char *compare(const struct coll_rank *r, const struct rows *x,
                           int first, int last)
{
    const unsigned char *got = x->recv;
    for (int j = first; j <= last; j++) {
        for (size_t k = 0; k < x->got[j]; k++, got++) {
            if (*got != tint(j, r->rank, k)) {
                return coll_text("byte %zu of rank %d is wrong", k, j);
            }
        }
    }
    return NULL;
}

static const char *exchange(struct coll_rank *r, struct rows *x, int call)
{
    struct hpcboot_error err = {0};
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_ALLTOALLV;
    a.type = HPCBOOT_BYTE;
    a.send = x->send;
    a.recv = x->recv;
    a.send_counts = x->sent;
    a.recv_counts = x->got;
    (void)fill(r, x, call);
    return hb_coll_run(r->team, &a, NULL, &err) != 0
               ? coll_text("%s", err.text) : compare(r, x, 0, r->size - 1);
}

static const char *spread(struct coll_rank *r, struct rows *x, int call)
{
    struct hpcboot_error err = {0};
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_SCATTERV;
    a.type = HPCBOOT_BYTE;
    a.send = x->send;
    a.recv = x->recv;
    a.root = call % r->size;
    (void)fill(r, x, call);
    a.send_counts = r->rank == a.root ? x->sent : NULL;
    a.count = x->got[a.root];
    return hb_coll_run(r->team, &a, NULL, &err) != 0
               ? coll_text("%s", err.text) : compare(r, x, a.root, a.root);
}

static const char *some_calls(struct coll_rank *r, struct rows *x)
{
    const char *wrong = NULL;
    for (int call = 0; call < 8 && wrong == NULL; call++) {
        wrong = exchange(r, x, call);
        wrong = wrong == NULL ? spread(r, x, call) : wrong;
    }
    return wrong;
}

static const char *with_rows(struct coll_rank *r,
                             const char *(*fn)(struct coll_rank *,
                                               struct rows *))
{
    size_t all = BLOCK_MOST * (size_t)r->size;
    struct rows x = {.send = malloc(all), .recv = malloc(all)};
    const char *wrong = fn(r, &x);
    free(x.send);
    free(x.recv);
    return wrong;
}

static const char *are_right(struct coll_rank *r)
{
    const char *wrong = with_rows(r, some_calls);
    return wrong != NULL ? wrong
           : r->team->cma.state == HB_CMA_YES ? NULL : "nobody was read";
}

/* Addresses lie beside the flag, in the ring, and lengths behind them. */
static void rows_of_any_lengths_are_right(void **state)
{
    static const int ranks[] = {2, 3, 6, 10, RANKS_MOST};
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        struct coll_world w = {.ranks = ranks[i], .processes = true,
                               .wait_mode = HB_COLL_WAIT_YIELD,
                               .tune = ALWAYS};
        assert_int_equal(coll_world_run(&w, are_right, NULL), 0);
    }
}

/* One has a buffer that others cannot reach. */
static const char *one_copies(struct coll_rank *r, struct rows *x)
{
    struct hb_cma_card *mine = &r->engine->card;
    int32_t pid = mine->pid;
    const char *wrong = some_calls(r, x);
    if (r->rank == 1) {
        mine->pid = INT32_MAX; /* what it asks of itself fails */
        memset(r->team->cma.own, 0, sizeof r->team->cma.own);
    }
    wrong = wrong == NULL ? some_calls(r, x) : wrong;
    mine->pid = pid;
    return wrong;
}

static const char *one_does_not_lend(struct coll_rank *r)
{
    return with_rows(r, one_copies);
}

static void who_cannot_lend_copies_beside_those_that_do(void **state)
{
    for (int ranks = 2; ranks <= 4; ranks++) {
        struct coll_world w = {.ranks = ranks, .processes = true,
                               .wait_mode = HB_COLL_WAIT_YIELD,
                               .tune = ALWAYS};
        assert_int_equal(coll_world_run(&w, one_does_not_lend, NULL), 0);
    }
}

/* One round with addresses, one that closes. */
static const char *count_rounds(struct coll_rank *r, struct rows *x)
{
    const char *wrong = exchange(r, x, 0); /* 120001 and 40000 bytes */
    uint64_t before = r->team->round;
    wrong = wrong == NULL ? exchange(r, x, 0) : wrong;
    uint64_t both = r->team->round - before;
    wrong = wrong == NULL ? spread(r, x, 0) : wrong;
    uint64_t one = r->team->round - before - both;
    return wrong != NULL ? wrong
           : both == 2 && one == 2
               ? NULL : coll_text("%d and %d rounds", (int)both, (int)one);
}

static const char *is_short(struct coll_rank *r)
{
    return with_rows(r, count_rounds);
}

static void a_long_block_is_lent_in_the_first_round(void **state)
{
    struct coll_world w = {.ranks = 2, .processes = true,
                           .wait_mode = HB_COLL_WAIT_YIELD, .tune = ALWAYS};
    assert_int_equal(length(0, 1, 0), 40000);
    assert_int_equal(coll_world_run(&w, is_short, NULL), 0);
}

/* Rank 0 expects less than rank 1 lends, which waits until that is told. */
static const char *lend_too_much(struct coll_rank *r, struct rows *x)
{
    struct hpcboot_error err = {0};
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_ALLTOALLV;
    a.type = HPCBOOT_BYTE;
    a.send = x->send;
    a.recv = x->recv;
    a.send_counts = x->sent;
    a.recv_counts = x->got;
    for (int j = 0; j < 2; j++) {
        x->sent[j] = x->got[j] = 60000;
    }
    x->got[1] -= r->rank == 0 ? 1 : 0;
    int rc = hb_coll_run(r->team, &a, NULL, &err);
    coll_leave(r);
    return r->rank == 1 || (rc == HPCBOOT_ERR_USAGE &&
                            strstr(err.text, "sends 60000 bytes") != NULL)
               ? NULL : coll_text("%d: %s", rc, err.text);
}

static const char *is_told(struct coll_rank *r)
{
    return with_rows(r, lend_too_much);
}

static void a_lent_block_of_another_length_is_told(void **state)
{
    struct coll_world w = {.ranks = 2, .processes = true,
                           .wait_mode = HB_COLL_WAIT_YIELD, .tune = ALWAYS,
                           .alive = coll_rank_0_left};
    assert_int_equal(coll_world_run(&w, is_told, NULL), 0);
}

/* ---- exscan ---- */

#define ELEMENTS 50000

/* Rank 0 sends 7, 8, ...: what rank 1 has of it. */
static const char *scan_before(struct coll_rank *r, int op, bool in_place,
                               int *rounds_out)
{
    struct hpcboot_error err = {0};
    int *send = malloc(ELEMENTS * sizeof *send);
    int *recv = malloc(ELEMENTS * sizeof *recv);
    const char *wrong = NULL;
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_EXSCAN;
    a.type = HPCBOOT_INT32;
    a.op = op;
    a.send = in_place ? HPCBOOT_IN_PLACE : send;
    a.recv = recv;
    a.count = ELEMENTS;
    for (int i = 0; i < ELEMENTS; i++) {
        send[i] = recv[i] = i + 7 + 1000 * r->rank;
    }
    uint64_t before = r->team->round;
    int rc = hb_coll_run(r->team, &a, NULL, &err);
    *rounds_out = (int)(r->team->round - before);
    for (int i = 0; rc == 0 && wrong == NULL && i < ELEMENTS; i++) {
        int want = r->rank == 0 ? recv[i] : i + 7;
        wrong = recv[i] == want ? NULL : coll_text("[%d] is %d", i, recv[i]);
    }
    free(send);
    free(recv);
    return rc == 0 ? wrong : coll_text("%s", err.text);
}

static const char *copies(struct coll_rank *r)
{
    int rounds, ignored;
    const char *wrong = scan_before(r, HPCBOOT_SUM, false, &ignored);
    wrong = wrong == NULL ? scan_before(r, HPCBOOT_MAX, true, &ignored) : wrong;
    wrong = wrong == NULL ? scan_before(r, HPCBOOT_SUM, false, &rounds) : wrong;
    return wrong != NULL ? wrong
           : rounds == 2 ? NULL : coll_text("%d rounds", rounds);
}

static void exscan_of_two_is_read_and_written_in_place(void **state)
{
    struct coll_world w = {.ranks = 2, .processes = true,
                           .wait_mode = HB_COLL_WAIT_YIELD, .tune = ALWAYS};
    assert_int_equal(coll_world_run(&w, copies, NULL), 0);
    w.tune = "cma_ns=1 cma_ps=1 cpus=1"; /* rank 0 writes no part */
    assert_int_equal(coll_world_run(&w, copies, NULL), 0);
}

/* What is divided at its end is no copy. */
static const char *divides(struct coll_rank *r)
{
    struct hpcboot_error err = {0};
    float *send = malloc(ELEMENTS * sizeof *send);
    float *recv = malloc(ELEMENTS * sizeof *recv);
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_EXSCAN;
    a.type = HPCBOOT_FLOAT;
    a.op = HPCBOOT_AVG;
    a.send = send;
    a.recv = recv;
    a.count = ELEMENTS;
    for (int i = 0; i < ELEMENTS; i++) {
        send[i] = 8;
        recv[i] = 4;
    }
    int rc = hb_coll_run(r->team, &a, NULL, &err);
    bool right = rc == 0 && recv[0] == 4 && recv[ELEMENTS - 1] == 4;
    free(send);
    free(recv);
    return right ? NULL : coll_text("%d: %s", rc, err.text);
}

static void an_average_is_not_copied(void **state)
{
    struct coll_world w = {.ranks = 2, .processes = true,
                           .wait_mode = HB_COLL_WAIT_YIELD, .tune = ALWAYS};
    assert_int_equal(coll_world_run(&w, divides, NULL), 0);
}

int main(void)
{
    setenv("XDG_CACHE_HOME", "/proc/none", 1); /* which root cannot make */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_any_lengths_are_right),
        cmocka_unit_test(who_cannot_lend_copies_beside_those_that_do),
        cmocka_unit_test(a_long_block_is_lent_in_the_first_round),
        cmocka_unit_test(a_lent_block_of_another_length_is_told),
        cmocka_unit_test(exscan_of_two_is_read_and_written_in_place),
        cmocka_unit_test(an_average_is_not_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
