/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* That results are right whichever way the model chooses. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "coll_ref.h"
#include "coll_world.h"

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

static const char *run_named(struct coll_rank *r, struct coll_case *c)
{
    const char *wrong = run_case(r, c, NULL);
    return wrong == NULL
               ? NULL
               : coll_text("%s of %zu of type %d, op %d, root %d%s: %s",
                           hb_coll_name(c->coll), c->count, c->type, c->op,
                           c->root, c->in_place ? ", in place" : "", wrong);
}

/* Worlds of 3, 5, 7 and 9 ranks, with each of the tunes. */
static void in_worlds(const char *const *tunes, size_t n,
                      const char *(*run)(struct coll_rank *r))
{
    for (size_t i = 0; i < n; i++) {
        for (int ranks = 3; ranks <= 9; ranks += 2) {
            struct coll_world w = {.ranks = ranks, .tune = tunes[i],
                                   .processes = ranks == 5,
                                   .wait_mode = HB_COLL_WAIT_YIELD};
            assert_int_equal(coll_world_run(&w, run, NULL), 0);
        }
    }
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
        wrong = run_named(r, &c);
    }
    return wrong;
}

static void a_chain_has_the_bits_of_a_fold_in_one_go(void **state)
{
    static const char *const tunes[] = {"scan=chain/8K exscan=chain/64K",
                                        "scan=chain/32K exscan=chain/8K",
                                        "cache_kib=1 scan=chain exscan=chain",
                                        "scan=whole exscan=whole"};
    in_worlds(tunes, sizeof tunes / sizeof *tunes, scans_in_a_row);
}

/* The same of a reduce by slices, with roots that change and one that is run
 * ahead of, and other collectives in the same ring between. */
static const char *reduces_in_a_row(struct coll_rank *r)
{
    static const struct { enum hpcboot_type type; int op; } kinds[] = {
        {HPCBOOT_FLOAT, HPCBOOT_SUM}, {HPCBOOT_DOUBLE, HPCBOOT_PROD},
        {HPCBOOT_BFLOAT16, HPCBOOT_SUM}, {HPCBOOT_FLOAT, HPCBOOT_AVG},
        {HPCBOOT_BYTE, HPCBOOT_OP_USER}, {HPCBOOT_INT8, HPCBOOT_LXOR},
        {HPCBOOT_DOUBLE_INT, HPCBOOT_MAXLOC},
    };
    static const enum hpcboot_coll between[] = {
        HPCBOOT_COLL_REDUCE, HPCBOOT_COLL_REDUCE, HPCBOOT_COLL_BCAST,
        HPCBOOT_COLL_REDUCE, HPCBOOT_COLL_ALLTOALL, HPCBOOT_COLL_GATHER,
    };
    static const size_t counts[] = {0, 1, 29, 1025, 9001, 70001};
    const char *wrong = NULL;
    for (size_t i = 0; i < 7 * 6 * 6 && wrong == NULL; i++) {
        size_t k = i / 6 % 7;
        struct coll_case c = {
            .coll = between[i % 6], .type = kinds[k].type, .op = kinds[k].op,
            .ranks = r->size, .seed = i, .root = (int)(i / 3) % r->size,
            .count = counts[i / 42] * (kinds[k].type == HPCBOOT_BYTE
                                           ? coll_ref_user.element_bytes : 1),
        };
        c.in_place = i % 6 == 1 || i % 6 == 3;
        wrong = run_named(r, &c);
    }
    return wrong;
}

static void a_reduce_by_slices_has_the_bits_of_one_by_its_root(void **state)
{
    static const char *const tunes[] = {"reduce=slices/8K", "reduce=slices/64K",
                                        "cache_kib=1 far_ns=1 reduce=slices",
                                        "reduce=slices/16K l2_kib=2048",
                                        "reduce=whole"};
    in_worlds(tunes, sizeof tunes / sizeof *tunes, reduces_in_a_row);
}

/* Blocks that lie beside the flag, which the ring is not written for, among
 * longer ones; who sends is as far ahead of who was late as there is room. */
static const char *few_bytes_among_many(struct coll_rank *r)
{
    static const enum hpcboot_coll colls[] = {
        HPCBOOT_COLL_SCATTERV, HPCBOOT_COLL_GATHERV, HPCBOOT_COLL_ALLTOALLV};
    static const size_t counts[] = {1, 1, 1500, 2, 0, 300};
    const char *wrong = NULL;
    for (size_t i = 0; i < 9 * 64 && wrong == NULL; i++) {
        struct coll_case c = {
            .coll = colls[i / 64 % 3], .type = HPCBOOT_BYTE,
            .ranks = r->size, .root = (int)(i / 192), .seed = i,
            /* of either kind alone, and of both */
            .count = i / 192 == 0 ? 1 : i / 192 == 1 ? 1500 : counts[i % 6],
        };
        bool sends = (c.coll == HPCBOOT_COLL_GATHERV) != (r->rank == c.root);
        if (i % 64 == 2 && !sends) {
            nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
        }
        wrong = run_named(r, &c);
    }
    return wrong;
}

static void who_sends_few_bytes_overtakes_nobody(void **state)
{
    static const char *const tunes[] = {"cpus=1", "cpus=64"};
    for (int i = 0; i < 2; i++) {
        struct coll_world w = {.ranks = 3, .tune = tunes[i],
                               .wait_mode = HB_COLL_WAIT_YIELD};
        assert_int_equal(coll_world_run(&w, few_bytes_among_many, NULL), 0);
    }
}

/* One root, then two by turns, are a lap of the ring ahead of who is late. Each
 * block has one value in all its bytes. */
#define BLOCK ((size_t)65536)

static const char *roots_by_turns(struct coll_rank *r)
{
    size_t all = BLOCK * (size_t)r->size;
    struct hpcboot_error err = {0};
    const char *wrong = NULL;
    char *send = malloc(all), *recv = malloc(BLOCK);
    for (int i = 0; i < 600 && wrong == NULL; i++) {
        struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
        a.coll = i % 5 == 2 && i >= 400 ? HPCBOOT_COLL_BCAST
                                        : HPCBOOT_COLL_SCATTER;
        a.type = HPCBOOT_BYTE;
        a.root = i < 200 ? 0 : i % 3 == 0;
        a.count = BLOCK;
        a.send = send;
        a.recv = recv;
        memset(recv, i, BLOCK);
        for (size_t at = 0; r->rank == a.root && at < all; at += BLOCK) {
            memset(send + at, i + (int)(at / BLOCK), BLOCK);
        }
        if (i % 100 == 0 && r->rank == r->size - 1) {
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        }
        int mine = a.coll == HPCBOOT_COLL_BCAST ? 0 : r->rank;
        if (hb_coll_run(r->team, &a, NULL, &err) != 0) {
            wrong = coll_text("%s", err.text);
        } else if (recv[0] != (char)(i + mine) ||
                   memcmp(recv, recv + 1, BLOCK - 1) != 0) {
            wrong = coll_text("call %d has what another one sent", i);
        }
    }
    free(send);
    free(recv);
    return wrong;
}

static void roots_that_share_a_ring_wait_for_its_readers(void **state)
{
    static const char *const tunes[] = {
        "cpus=1 bcast=whole/64K scatter=whole/64K scatterv=whole",
        "cpus=64 bcast=whole/64K scatter=whole/64K scatterv=whole",
        "cpus=64 l2_kib=2048 bcast=whole/8K scatter=whole/32K",
    };
    for (size_t i = 0; i < sizeof tunes / sizeof *tunes; i++) {
        for (int ranks = 2; ranks <= 4; ranks++) {
            struct coll_world w = {.ranks = ranks, .tune = tunes[i],
                                   .processes = ranks == 4,
                                   .wait_mode = HB_COLL_WAIT_YIELD};
            assert_int_equal(coll_world_run(&w, roots_by_turns, NULL), 0);
        }
    }
}

/* Elements of which no round has room for one from each of so many, but for one
 * of each rank's. */
#define ELEMENT ((size_t)20000)
#define ELEMENTS ((size_t)9 * ELEMENT)

static void add_elements(const void *in, void *inout, size_t count,
                         enum hpcboot_type type, void *arg)
{
    const uint8_t *from = in;
    uint8_t *to = inout;
    for (size_t i = 0; i < count; i++) {
        to[i] = (uint8_t)(to[i] + from[i]);
    }
    *(_Atomic int *)arg |= count % ELEMENT != 0;
}

static const char *long_elements(struct coll_rank *r)
{
    _Atomic int cut = 0;
    const struct hb_coll_user_op add = {.fn = add_elements, .arg = &cut,
                                        .element_bytes = ELEMENT};
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    struct hpcboot_error err = {0};
    uint8_t *send = malloc(ELEMENTS), *recv = malloc(ELEMENTS);
    const char *wrong = NULL;
    for (size_t i = 0; i < ELEMENTS; i++) {
        send[i] = (uint8_t)(i * 3 + (size_t)r->rank);
    }
    a.type = HPCBOOT_BYTE;
    a.op = HPCBOOT_OP_USER;
    a.count = ELEMENTS;
    a.root = 1;
    a.send = send;
    a.recv = recv;
    for (int k = 0; k < 4 && wrong == NULL; k++) {
        a.coll = k % 2 == 0 ? HPCBOOT_COLL_REDUCE : HPCBOOT_COLL_ALLREDUCE;
        wrong = hb_coll_run(r->team, &a, &add, &err) != 0
                    ? coll_text("%s", err.text) : NULL;
        for (size_t i = 0; i < ELEMENTS && wrong == NULL; i++) {
            size_t n = (size_t)r->size, sum = i * 3 * n + n * (n - 1) / 2;
            if ((k % 2 == 1 || r->rank == 1) && recv[i] != (uint8_t)sum) {
                wrong = coll_text("byte %zu is %d", i, recv[i]);
            }
        }
    }
    free(send);
    free(recv);
    return wrong == NULL && cut ? "an element was cut" : wrong;
}

static void slices_without_room_for_an_element_are_not_taken(void **state)
{
    for (int ranks = 7; ranks <= 9; ranks++) {
        struct coll_world w = {.ranks = ranks, .wait_mode =
                                   HB_COLL_WAIT_YIELD,
                               .tune = "reduce=slices allreduce=slices"};
        assert_int_equal(coll_world_run(&w, long_elements, NULL), 0);
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
        "reduce=slices/8K", "reduce=slices/64K cache_kib=1 far_ns=1",
        "allreduce=shared bcast=shared alltoall=shared reduce=shared "
        "allgather=shared reduce_scatter_block=shared",
        "round_ns=1", "round_ns=1000000", "far_ns=1 bcast=/16K",
        "cache_kib=1", "cache_kib=1 allreduce=slices/8K",
        "l2_kib=2048", "bcast=/8K allreduce=slices/8K",
        "allreduce=cma reduce_scatter_block=cma",
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
        cmocka_unit_test(a_chain_has_the_bits_of_a_fold_in_one_go),
        cmocka_unit_test(a_reduce_by_slices_has_the_bits_of_one_by_its_root),
        cmocka_unit_test(who_sends_few_bytes_overtakes_nobody),
        cmocka_unit_test(roots_that_share_a_ring_wait_for_its_readers),
        cmocka_unit_test(slices_without_room_for_an_element_are_not_taken),
        cmocka_unit_test(results_are_right_whichever_way_is_taken),
        cmocka_unit_test(the_root_writes_a_part_of_a_bcast_in_the_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
