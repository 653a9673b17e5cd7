/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Reductions that read their peers' vectors through the kernel: that it
 * happens, what is read late, and who dies meanwhile. That results are right
 * is in test_coll.c, too. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "coll_world.h"
#include "lib/base/error.h"
#include "lib/coll/impl.h"

#define FOLDS "allreduce=cma reduce_scatter_block=cma cpus=64"
#define COPIES "reduce_scatter_block=shared"
#define LONG_READ 1024 /* a vector, and no cookie */

/* What this rank does before it reads a vector. */
static enum { READS, READS_LATE, DIES } before_reading;
static int reads;

ssize_t process_vm_readv(pid_t pid, const struct iovec *own, unsigned long n,
                         const struct iovec *his, unsigned long m,
                         unsigned long flags)
{
    bool is_long = his[m - 1].iov_len >= LONG_READ;
    reads += is_long;
    if (is_long && before_reading == READS_LATE) {
        usleep(20000);
    } else if (is_long && before_reading == DIES) {
        _exit(0);
    }
    return syscall(SYS_process_vm_readv, pid, own, n, his, m, flags);
}

static const char peer_dead[] = "a peer is dead";

static void add(const void *in, void *inout, size_t count,
                enum hpcboot_type type, void *arg)
{
    const uint8_t *from = in;
    uint8_t *to = inout;
    for (size_t i = 0; i < count; i++) {
        to[i] = (uint8_t)(to[i] + from[i]);
    }
}

static const char *fold(struct coll_rank *r, enum hpcboot_coll coll, int op,
                        const void *send, uint8_t *recv, size_t count)
{
    static struct hpcboot_error err; /* its text is returned */
    const struct hb_coll_user_op own = {.fn = add};
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = coll;
    a.type = HPCBOOT_UINT8;
    a.op = op;
    a.send = send;
    a.recv = recv;
    a.count = count;
    int rc = hb_coll_run(r->team, &a, op == HPCBOOT_SUM ? NULL : &own, &err);
    return rc == HPCBOOT_OK                ? NULL
           : rc == HPCBOOT_ERR_PEER_DEAD ? peer_dead : err.text;
}

static const char *sum(struct coll_rank *r, enum hpcboot_coll coll,
                       const void *send, uint8_t *recv, size_t count)
{
    return fold(r, coll, HPCBOOT_SUM, send, recv, count);
}

static bool all_are(const uint8_t *v, size_t n, uint8_t x)
{
    return v[0] == x && memcmp(v, v + 1, n - 1) == 0;
}

/* One rank reads so late that the other would have overwritten its vector. */
static const char *sums_in_place(struct coll_rank *r)
{
    static const size_t sizes[] = {4096, 40001, 1 << 20, (1 << 20) + 1,
                                   3 << 20};
    uint8_t *v = malloc(sizes[4]);
    const char *wrong = NULL;
    for (int i = 0; i < 10 && wrong == NULL; i++) {
        size_t n = sizes[i / 2];
        before_reading = r->rank == i % 2 ? READS_LATE : READS;
        reads = 0;
        memset(v, r->rank + 1, n);
        wrong = sum(r, HPCBOOT_COLL_ALLREDUCE, HPCBOOT_IN_PLACE, v, n);
        if (wrong == NULL && !all_are(v, n, 3)) {
            wrong = coll_text("%zu bytes are wrong", n);
        } else if (wrong == NULL && (reads > 0) != (n <= 1 << 20)) {
            wrong = coll_text("%zu bytes: %d reads", n, reads);
        }
    }
    free(v);
    return wrong;
}

static void who_sums_in_place_waits_for_who_reads(void **state)
{
    struct coll_world w = {.ranks = 2, .processes = true, .tune = FOLDS,
                           .wait_mode = HB_COLL_WAIT_YIELD};
    assert_int_equal(coll_world_run(&w, sums_in_place, NULL), 0);
}

/* One of two has its vector in place. */
static const char *sums_half_in_place(struct coll_rank *r)
{
    enum { N = 50000 };
    uint8_t *v = malloc(N), *to = malloc(N);
    const char *wrong = NULL;
    for (int i = 0; i < 4 && wrong == NULL; i++) {
        bool in_place = r->rank == i % 2;
        uint8_t *result = in_place ? v : to;
        before_reading = r->rank == i / 2 ? READS_LATE : READS;
        memset(v, r->rank + 1, N);
        wrong = sum(r, HPCBOOT_COLL_ALLREDUCE, in_place ? HPCBOOT_IN_PLACE : v,
                    result, N);
        if (wrong == NULL && !all_are(result, N, 3)) {
            wrong = "a sum is wrong";
        }
    }
    free(v);
    free(to);
    return wrong;
}

static void one_of_two_may_sum_in_place(void **state)
{
    struct coll_world w = {.ranks = 2, .processes = true, .tune = FOLDS,
                           .wait_mode = HB_COLL_WAIT_YIELD};
    assert_int_equal(coll_world_run(&w, sums_half_in_place, NULL), 0);
}

/* The blocks of some are in place, and those of the others in the heap or not:
 * a bit of `placed` and of `heap` for each. */
static const char *scatters_sums(struct coll_rank *r, unsigned placed,
                                 unsigned heap)
{
    enum { N = 40000 };
    size_t all = (size_t)r->size * N;
    uint8_t *own = malloc(all + N), *v = own;
    bool in_place = (placed >> r->rank & 1) != 0;
    if ((heap >> r->rank & 1) != 0) {
        v = (uint8_t *)r->heap + (size_t)r->rank * (all + N);
    }
    uint8_t *result = in_place ? v : v + all;
    for (int j = 0; j < r->size; j++) {
        memset(v + (size_t)j * N, r->rank + 1 + j, N);
    }
    reads = 0;
    before_reading = r->rank == 0 ? READS_LATE : READS;
    const char *wrong = sum(r, HPCBOOT_COLL_REDUCE_SCATTER_BLOCK,
                            in_place ? HPCBOOT_IN_PLACE : v, result, N);
    int want = r->size * (r->size + 1) / 2 + r->size * r->rank;
    if (wrong == NULL && !all_are(result, N, (uint8_t)want)) {
        wrong = coll_text("in place %x, heap %x: it is wrong", placed, heap);
    } else if (wrong == NULL && r->heap == NULL && reads == 0) {
        wrong = coll_text("in place %x: nothing is read", placed);
    }
    free(own);
    return wrong;
}

static const char *scatters_some_in_place(struct coll_rank *r)
{
    unsigned ways = 1u << r->size;
    const char *wrong = NULL;
    for (unsigned i = 0; i < 2 * ways && wrong == NULL; i++) {
        unsigned heap = r->heap == NULL ? 0 : i < ways ? ways - 1 : i * 5;
        wrong = scatters_sums(r, i % ways, heap);
    }
    return wrong;
}

static void some_may_scatter_sums_in_place(void **state)
{
    for (int i = 0; i < 6; i++) {
        struct coll_world w = {.ranks = 2 + i % 2, .processes = true,
                               .tune = i < 4 ? FOLDS : COPIES,
                               .wait_mode = HB_COLL_WAIT_YIELD,
                               .heap_size = i < 2 ? 0 : 1 << 20};
        assert_int_equal(coll_world_run(&w, scatters_some_in_place, NULL), 0);
    }
}

/* An op of the user's is applied in a room that is shorter than the vector. */
static const char *folds_by_a_user_op(struct coll_rank *r)
{
    enum { N = 1000000 };
    uint8_t *v = malloc(N);
    const char *wrong = NULL;
    for (int i = 0; i < 4 && wrong == NULL; i++) {
        memset(v, r->rank + 1, N);
        wrong = fold(r, HPCBOOT_COLL_ALLREDUCE, HPCBOOT_OP_USER,
                     HPCBOOT_IN_PLACE, v, N);
        wrong = wrong == NULL && !all_are(v, N, 3) ? "a sum is wrong" : wrong;
    }
    free(v);
    return wrong;
}

static void a_user_op_is_applied_in_place(void **state)
{
    struct coll_world w = {.ranks = 2, .processes = true, .tune = FOLDS,
                           .wait_mode = HB_COLL_WAIT_YIELD};
    assert_int_equal(coll_world_run(&w, folds_by_a_user_op, NULL), 0);
}

/* Rank 1 has said where its vector is, and dies where it would read. */
static const char *dies(struct coll_rank *r)
{
    enum { N = 300000 };
    enum hpcboot_coll coll = *(const enum hpcboot_coll *)r->arg;
    size_t blocks = coll == HPCBOOT_COLL_ALLREDUCE ? 1 : (size_t)r->size;
    uint8_t *send = calloc(blocks, N), *recv = malloc(N);
    const char *wrong = sum(r, coll, send, recv, N);
    if (wrong == NULL && r->rank == 1) {
        before_reading = DIES;
        hb_coll_node_changed(r->page);
    }
    wrong = wrong != NULL ? wrong : sum(r, coll, send, recv, N);
    free(send);
    free(recv);
    return wrong == NULL        ? "a dead rank took part"
           : wrong == peer_dead ? NULL : wrong;
}

static int rank_1_is_dead(void *ctx, void *team_ctx, struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_PEER_DEAD, "rank 1 has ended");
}

static void a_peer_that_dies_while_it_folds_is_told(void **state)
{
    enum hpcboot_coll colls[] = {HPCBOOT_COLL_ALLREDUCE,
                                 HPCBOOT_COLL_REDUCE_SCATTER_BLOCK};
    for (int ranks = 2; ranks <= 4; ranks++) {
        struct coll_world w = {.ranks = ranks, .processes = true,
                               .timeout_ms = 20000, .alive = rank_1_is_dead,
                               .wait_mode = HB_COLL_WAIT_YIELD,
                               .tune = FOLDS};
        assert_int_equal(coll_world_run(&w, dies, &colls[ranks > 2]), 0);
    }
}

int main(void)
{
    setenv("XDG_CACHE_HOME", "/nonexistent", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sums_in_place_waits_for_who_reads),
        cmocka_unit_test(one_of_two_may_sum_in_place),
        cmocka_unit_test(some_may_scatter_sums_in_place),
        cmocka_unit_test(a_user_op_is_applied_in_place),
        cmocka_unit_test(a_peer_that_dies_while_it_folds_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
