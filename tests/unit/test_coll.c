/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Every collective against the reference (coll_ref.h): a seeded sample of
 * kind x type x op x size x ranks x root x in-place x blocking, started in
 * batches, persistent; HB_LONG=yes takes many more, and larger ones.
 * HB_TEST_SEED chooses another sample. */

#include "config.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coll_ref.h"
#include "coll_world.h"

#define BATCH 4
/* What one call of any kind puts into the heap, both buffers. */
#define HEAP_PIECE ((size_t)20 << 20)

struct sample {
    uint64_t seed;
    int cases;
    bool heap;
    bool small;
    int fixed; /* enum hpcboot_coll, or -1 */
};

static uint64_t base_seed(void)
{
    const char *s = getenv("HB_TEST_SEED");
    return s != NULL ? strtoull(s, NULL, 10) : 20261121;
}

static bool is_long(void)
{
    const char *s = getenv("HB_LONG"); /* ./check --long */
    return s != NULL && strcmp(s, "yes") == 0;
}

/* Bytes at which something changes: nothing, one element, beside the flag,
 * a page, a piece, a slot, two slots, several rounds; one less, one more. */
static const size_t edges[] = {0, 1, 8, 40, 104, 112, 113, 1000, 4096, 8192,
                               12288, 32768, 65536, 98304, 131072, 200000,
                               262144, 600000};
enum { EDGES = sizeof edges / sizeof edges[0] };

static bool reduces(enum hpcboot_coll coll)
{
    return coll >= HPCBOOT_COLL_REDUCE && coll != HPCBOOT_COLL_ALLTOALL &&
           coll != HPCBOOT_COLL_ALLTOALLV;
}

static void pick_op(struct coll_case *c, uint64_t *rng)
{
    c->op = HPCBOOT_SUM;
    c->type = (enum hpcboot_type)(coll_ref_random(rng) % HPCBOOT_TYPES);
    if (!reduces(c->coll)) {
        return;
    }
    do {
        c->op = (int)(coll_ref_random(rng) % (HPCBOOT_OPS + 1));
        if (c->op == HPCBOOT_OPS) {
            c->op = HPCBOOT_OP_USER;
            c->type = HPCBOOT_BYTE;
        }
    } while (!hb_coll_op_defined(c->op, c->type));
}

static struct coll_case pick(const struct sample *s, int ranks, uint64_t *rng)
{
    struct coll_case c = {.ranks = ranks, .seed = coll_ref_random(rng)};
    c.coll = s->fixed >= 0
                 ? (enum hpcboot_coll)s->fixed
                 : (enum hpcboot_coll)(coll_ref_random(rng) % HPCBOOT_COLLS);
    pick_op(&c, rng);
    size_t bytes = edges[coll_ref_random(rng) % EDGES];
    bytes += coll_ref_random(rng) % 3 - 1;
    bytes = bytes > 1000000 ? 0 : bytes;
    if (s->small && bytes > 4097) {
        bytes %= 4096;
    }
    c.count = bytes / hb_coll_type_size(c.type);
    bool blocks = c.coll >= HPCBOOT_COLL_SCATTER &&
                  c.coll != HPCBOOT_COLL_REDUCE &&
                  c.coll != HPCBOOT_COLL_ALLREDUCE &&
                  c.coll < HPCBOOT_COLL_SCAN;
    if (blocks && coll_ref_random(rng) % 4 != 0) {
        c.count /= (size_t)ranks;
    }
    if (c.op >= HPCBOOT_OP_USER) {
        c.count &= ~(size_t)1;
    }
    c.root = (int)(coll_ref_random(rng) % (uint64_t)ranks);
    c.in_place = coll_ref_random(rng) % 3 == 0 &&
                 c.coll > HPCBOOT_COLL_BCAST;
    return c;
}

/* Twice: the second call may find what the first has set up. */
static const char *blocking(struct coll_rank *r, const struct coll_case *c,
                            struct coll_buffers *b)
{
    struct hpcboot_error err = {0};
    const char *wrong = NULL;
    for (int i = 0; i < 2 && wrong == NULL; i++) {
        coll_ref_fill(c, r->rank, b);
        wrong = hb_coll_run(r->team, &b->args, &coll_ref_user, &err) != 0
                    ? coll_text("%s", err.text)
                    : coll_ref_compare(c, r->rank, b);
    }
    return wrong;
}

static const char *persistent(struct coll_rank *r, const struct coll_case *c,
                              struct coll_buffers *b)
{
    struct hpcboot_error err = {0};
    struct hb_coll_req *q = NULL;
    const char *wrong = NULL;
    if (hb_coll_init(r->team, &b->args, &coll_ref_user, &q, &err) != 0) {
        return coll_text("%s", err.text);
    }
    for (int i = 0; i < 3 && wrong == NULL; i++) {
        coll_ref_fill(c, r->rank, b);
        if (hb_coll_start(q, &err) != 0 || hb_coll_wait(q, 0, &err) != 0) {
            wrong = coll_text("%s", err.text);
        } else {
            wrong = coll_ref_compare(c, r->rank, b);
        }
    }
    hb_coll_req_destroy(q);
    return wrong;
}

/* Several under way at once, ended in an order of this rank's own. */
static const char *batch(struct coll_rank *r, const struct coll_case *c,
                         struct coll_buffers *b, int n, uint64_t own)
{
    struct hb_coll_req *q[BATCH] = {NULL};
    struct hpcboot_error err = {0};
    const char *wrong = NULL;
    for (int i = 0; i < n && wrong == NULL; i++) {
        if (hb_coll_init(r->team, &b[i].args, &coll_ref_user, &q[i], &err) ||
            hb_coll_start(q[i], &err)) {
            wrong = coll_text("%s", err.text);
        }
    }
    for (int left = n; left > 0 && wrong == NULL;) {
        int i = (int)(coll_ref_random(&own) % (uint64_t)n);
        bool test = coll_ref_random(&own) % 2 == 0;
        if (q[i] == NULL) {
            continue;
        }
        int rc = test ? hb_coll_test(q[i], &err)
                      : hb_coll_wait(q[i], 0, &err) == 0 ? 1 : -1;
        if (rc < 0) {
            wrong = coll_text("%s", err.text);
        } else if (rc > 0) {
            wrong = coll_ref_compare(&c[i], r->rank, &b[i]);
            hb_coll_req_destroy(q[i]);
            q[i] = NULL;
            left--;
        }
    }
    for (int i = 0; i < n; i++) {
        hb_coll_req_destroy(q[i]);
    }
    return wrong;
}

static const char *one_round(struct coll_rank *r, const struct sample *s,
                             uint64_t *rng, uint64_t own)
{
    struct coll_case c[BATCH];
    struct coll_buffers b[BATCH];
    char *heap = NULL;
    int how = (int)(coll_ref_random(rng) % 4);
    int n = how == 3 ? BATCH : 1;
    bool use_heap = s->heap && coll_ref_random(rng) % 4 != 0;
    if (s->heap && own % 16 == 0) {
        use_heap = false; /* at this rank alone */
    }
    for (int i = 0; i < n; i++) {
        c[i] = pick(s, r->size, rng);
        heap = use_heap ? (char *)r->heap +
                              (size_t)(r->rank * BATCH + i) * HEAP_PIECE
                        : NULL;
        coll_ref_make(&c[i], r->rank, heap, &b[i]);
        if (heap != NULL &&
            b[i].recv_bytes + 128 + b[i].send_bytes > HEAP_PIECE) {
            abort(); /* it has written over others' */
        }
    }
    const char *wrong = how == 3   ? batch(r, c, b, n, own)
                        : how == 2 ? persistent(r, c, b)
                                   : blocking(r, c, b);
    for (int i = 0; i < n; i++) {
        coll_ref_free(&b[i], use_heap);
    }
    return wrong;
}

static const char *run_sample(struct coll_rank *r)
{
    const struct sample *s = r->arg;
    uint64_t rng = s->seed, own = s->seed ^ (uint64_t)(r->rank + 1) * 0x9e37;
    const char *wrong = NULL;
    for (int i = 0; i < s->cases && wrong == NULL; i++) {
        wrong = one_round(r, s, &rng, coll_ref_random(&own));
    }
    return wrong;
}

static void sample_of(int ranks, bool processes, int mode, int cases,
                      bool small, bool heap, const char *tune)
{
    struct coll_world w = {.ranks = ranks, .processes = processes,
                           .wait_mode = mode, .tune = tune};
    struct sample s = {base_seed() * 1000003 + (uint64_t)ranks * 17 +
                           processes, cases, heap, small, -1};
    if (heap) {
        w.heap_size = (size_t)ranks * BATCH * HEAP_PIECE;
    }
    if (is_long()) {
        s.cases *= 20;
    }
    assert_int_equal(coll_world_run(&w, run_sample, &s), 0);
}

static void sample(int ranks, bool processes, int mode, int cases, bool small,
                   bool heap)
{
    sample_of(ranks, processes, mode, cases, small, heap, NULL);
}

static void agrees_with_the_reference_among_threads(void **state)
{
    for (int ranks = 1; ranks <= 9; ranks++) {
        sample(ranks, false, ranks > 2 ? HB_COLL_WAIT_YIELD
                                       : HB_COLL_WAIT_SPIN,
               40, ranks > 4, false);
    }
    sample(16, false, HB_COLL_WAIT_YIELD, 20, true, false);
}

static void agrees_with_the_reference_among_processes(void **state)
{
    for (int ranks = 2; ranks <= 9; ranks++) {
        sample(ranks, true, ranks > 2 ? HB_COLL_WAIT_PARK
                                      : HB_COLL_WAIT_YIELD,
               40, ranks > 4, false);
    }
    sample(16, true, HB_COLL_WAIT_PARK, 20, true, false);
}

static void agrees_with_the_reference_in_the_shared_heap(void **state)
{
    for (int ranks = 2; ranks <= 4; ranks++) {
        sample(ranks, ranks % 2 == 0, HB_COLL_WAIT_YIELD, 40, false, true);
    }
    sample(7, true, HB_COLL_WAIT_YIELD, 20, false, true);
}

/* Whatever can be is read and written by the kernel; with a core for each rank
 * both ends of a block do, with few of them one. */
static void agrees_with_the_reference_through_the_kernel(void **state)
{
    static const char *const tunes[] = {"cma_ns=1 cma_ps=1 cpus=64",
                                        "cma_ns=1 cma_ps=1 cpus=1"};
    for (int i = 0; i < 12; i++) {
        int ranks = 2 + i % 6;
        sample_of(ranks, i % 4 < 2, HB_COLL_WAIT_YIELD, 20, false, i % 6 == 5,
                  tunes[i % 2]);
    }
    sample_of(16, true, HB_COLL_WAIT_PARK, 10, false, false, tunes[0]);
}

/* Every kind has its turn, whatever the sample: all sizes, few ranks. */
static void each_kind_is_right_at_each_edge(void **state)
{
    for (int coll = 0; coll < HPCBOOT_COLLS; coll++) {
        struct coll_world w = {.ranks = 3, .wait_mode = HB_COLL_WAIT_YIELD};
        struct sample s = {base_seed() + (uint64_t)coll, 16, false, false,
                           coll};
        assert_int_equal(coll_world_run(&w, run_sample, &s), 0);
    }
}

/* ---- an op of the user's on elements that fit in no slot ---- */

#define ELEMENT ((size_t)40000)
#define BLOCK (2 * ELEMENT)

static void add_bytes(const void *in, void *inout, size_t count,
                      enum hpcboot_type type, void *arg)
{
    const uint8_t *from = in;
    uint8_t *to = inout;
    _Atomic int *cut = arg;
    *cut |= count % ELEMENT != 0;
    for (size_t i = 0; i < count; i++) {
        to[i] = (uint8_t)(to[i] + from[i]);
    }
}

static uint8_t byte_of(int rank, size_t i)
{
    return (uint8_t)((size_t)(rank + 1) * 31 + i * 7 + i / ELEMENT);
}

static bool by_block(enum hpcboot_coll coll)
{
    return coll == HPCBOOT_COLL_REDUCE_SCATTER ||
           coll == HPCBOOT_COLL_REDUCE_SCATTER_BLOCK;
}

/* Of the result, what is wrong. */
static const char *sums_differ(const struct coll_rank *r,
                               enum hpcboot_coll coll, const uint8_t *out)
{
    size_t first = by_block(coll) ? (size_t)r->rank * BLOCK : 0;
    int n = coll == HPCBOOT_COLL_SCAN     ? r->rank + 1
            : coll == HPCBOOT_COLL_EXSCAN ? r->rank : r->size;
    bool here = n > 0 && (coll != HPCBOOT_COLL_REDUCE ||
                            r->rank == r->size - 1);
    for (size_t i = 0; here && i < BLOCK; i++) {
        uint8_t sum = 0;
        for (int j = 0; j < n; j++) {
            sum = (uint8_t)(sum + byte_of(j, first + i));
        }
        if (out[i] != sum) {
            return coll_text("%s: byte %zu is %d, not %d", hb_coll_name(coll),
                             i, out[i], sum);
        }
    }
    return NULL;
}

static const char *fold_long_elements(struct coll_rank *r,
                                      enum hpcboot_coll coll, bool in_place)
{
    _Atomic int cut = 0;
    const struct hb_coll_user_op add = {.fn = add_bytes, .arg = &cut,
                                        .commutative = true,
                                        .element_bytes = ELEMENT};
    struct hpcboot_error err = {0};
    size_t counts[8], all = BLOCK * (size_t)r->size;
    uint8_t *send = malloc(all), *recv = malloc(all);
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    in_place = in_place && (coll != HPCBOOT_COLL_REDUCE ||
                            r->rank == r->size - 1);
    for (size_t i = 0; i < all; i++) {
        send[i] = recv[i] = byte_of(r->rank, i);
    }
    for (int j = 0; j < r->size; j++) {
        counts[j] = BLOCK;
    }
    a.coll = coll;
    a.type = HPCBOOT_BYTE;
    a.op = HPCBOOT_OP_USER;
    a.root = r->size - 1;
    a.send = in_place ? HPCBOOT_IN_PLACE : send;
    a.recv = recv;
    a.count = BLOCK;
    a.recv_counts = counts;
    const char *wrong = hb_coll_run(r->team, &a, &add, &err) != 0
                            ? coll_text("%s", err.text)
                            : sums_differ(r, coll, recv);
    free(send);
    free(recv);
    return wrong == NULL && cut ? "an element was cut" : wrong;
}

static const char *fold_long_elements_of_all_kinds(struct coll_rank *r)
{
    const char *wrong = NULL;
    for (int i = 0; i < 2 * HPCBOOT_COLLS && wrong == NULL; i++) {
        if (reduces((enum hpcboot_coll)(i / 2))) {
            wrong = fold_long_elements(r, (enum hpcboot_coll)(i / 2),
                                       i % 2 == 1);
        }
    }
    return wrong;
}

static void elements_that_fit_in_no_slot_are_folded_whole(void **state)
{
    for (int ranks = 1; ranks <= 4; ranks++) {
        struct coll_world w = {.ranks = ranks,
                               .wait_mode = HB_COLL_WAIT_YIELD};
        assert_int_equal(coll_world_run(&w, fold_long_elements_of_all_kinds,
                                        NULL), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_reference_among_threads),
        cmocka_unit_test(agrees_with_the_reference_among_processes),
        cmocka_unit_test(agrees_with_the_reference_in_the_shared_heap),
        cmocka_unit_test(agrees_with_the_reference_through_the_kernel),
        cmocka_unit_test(each_kind_is_right_at_each_edge),
        cmocka_unit_test(elements_that_fit_in_no_slot_are_folded_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
