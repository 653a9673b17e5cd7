/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The fence engine of a launcher whose node begins anew: what it has
 * contributed is void, and it is waited for once more, but for fences that mean
 * who was there before. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/rdzv/fence.h"

#define N_NODES 4u

static const uint32_t all[N_NODES] = {0, 1, 2, 3};
static const struct hb_bytes key = {"k", 1};

/* The first byte of each node's blob in the answer, and who got it. */
struct answers {
    char blob[N_NODES];
    unsigned parts, downs[N_NODES];
};

static void on_down(void *arg, uint32_t child, struct hb_bytes k, int status,
                    struct hb_bytes data)
{
    struct answers *a = arg;
    struct hb_buf view;
    struct hb_bytes blob;
    uint32_t from;

    assert_int_equal(status, 0);
    a->downs[child]++;
    a->parts = 0;
    hb_buf_view(&view, data.data, data.len);
    while (hb_fence_data_next(&view, &from, &blob) > 0) {
        a->blob[from] = *(const char *)blob.data;
        a->parts++;
    }
}

static const struct hb_fence_ops ops = {.down = on_down};

/* Child 0 has 1 and 2 below it, and 3 is a child of its own. */
static struct hb_fence_engine *root_of(struct answers *a)
{
    struct hb_fence_engine *e;

    hb_fence_engine_create(&e, HB_FENCE_ROOT, 1, &ops, a, NULL);
    hb_fence_set_child(e, 0, all, 3, NULL);
    hb_fence_set_child(e, 3, all + 3, 1, NULL);
    return e;
}

static void contribute(struct hb_fence_engine *e, uint32_t child,
                       const uint32_t *of, uint32_t n, const char *blob)
{
    struct hb_buf data;

    hb_buf_init(&data, 1000);
    for (uint32_t i = 0; i < n; i++) {
        hb_buf_put_u32(&data, of[i]);
        hb_buf_put_blob(&data, blob, 1);
    }
    assert_int_equal(hb_fence_from_child(e, child, key, all, N_NODES,
                                         (struct hb_bytes){data.data,
                                                           data.len}, NULL),
                     0);
    hb_buf_destroy(&data);
}

static void a_child_begins_anew(void **state)
{
    struct answers a = {0};
    struct hb_fence_engine *e = root_of(&a);

    contribute(e, 3, all + 3, 1, "o");
    hb_fence_forget(e, 3, 3);
    assert_int_equal(hb_fence_set_child(e, 3, all + 3, 1, NULL), 0);
    contribute(e, 0, all, 3, "o");
    assert_true(hb_fence_is_open(e, key));
    contribute(e, 3, all + 3, 1, "n");
    assert_false(hb_fence_is_open(e, key));
    assert_int_equal(a.parts, N_NODES);
    assert_memory_equal(a.blob, "ooon", N_NODES);
    assert_int_equal(a.downs[3], 1);
    hb_fence_engine_destroy(e);
}

/* Whoever is above it had taken its part along, and speaks before or later. */
static void a_node_below_another_begins_anew(void **state)
{
    for (int spoken_before = 0; spoken_before < 2; spoken_before++) {
        struct answers a = {0};
        struct hb_fence_engine *e = root_of(&a);

        if (spoken_before) {
            contribute(e, 0, all, 3, "o");
        }
        hb_fence_forget(e, 2, 2);
        assert_int_equal(hb_fence_set_child(e, 2, all + 2, 1, NULL), 0);
        contribute(e, 3, all + 3, 1, "o");
        contribute(e, 2, all + 2, 1, "n");
        if (!spoken_before) {
            assert_true(hb_fence_is_open(e, key));
            contribute(e, 0, all, 3, "o");
        }
        assert_false(hb_fence_is_open(e, key));
        assert_int_equal(a.parts, N_NODES);
        assert_memory_equal(a.blob, "oono", N_NODES);
        hb_fence_engine_destroy(e);
    }
}

/* Of several that do, each keeps what it has contributed since. */
static void two_begin_anew_one_after_the_other(void **state)
{
    struct answers a = {0};
    struct hb_fence_engine *e = root_of(&a);

    contribute(e, 0, all, 3, "o");
    hb_fence_forget(e, 2, 2);
    hb_fence_set_child(e, 2, all + 2, 1, NULL);
    contribute(e, 2, all + 2, 1, "n");
    hb_fence_forget(e, 1, 1);
    hb_fence_set_child(e, 1, all + 1, 1, NULL);
    contribute(e, 3, all + 3, 1, "o");
    assert_true(hb_fence_is_open(e, key));
    contribute(e, 1, all + 1, 1, "n");
    assert_false(hb_fence_is_open(e, key));
    assert_int_equal(a.parts, N_NODES);
    assert_memory_equal(a.blob, "onno", N_NODES);
    hb_fence_engine_destroy(e);
}

static void on_failed(void *arg, uint32_t child, struct hb_bytes k, int status,
                      struct hb_bytes data)
{
    struct answers *a = arg;

    assert_int_equal(status, HPCBOOT_ERR_PEER_DEAD);
    a->downs[child]++;
}

static int is_another(void *arg, struct hb_bytes k, uint32_t node)
{
    return node == 3;
}

/* Be it lost when the first comes to that fence, or be its seat taken. */
static void who_took_its_place_is_in_no_older_fence(void **state)
{
    const struct hb_fence_ops failed = {.down = on_failed,
                                        .is_another = is_another};

    for (int first = 0; first < 2; first++) {
        struct answers a = {0};
        struct hb_fence_engine *e;

        hb_fence_engine_create(&e, HB_FENCE_ROOT, 1, &failed, &a, NULL);
        hb_fence_set_child(e, 0, all, 1, NULL);
        hb_fence_set_child(e, 1, all + 1, 2, NULL);
        hb_fence_set_child(e, 3, all + 3, 1, NULL);
        hb_fence_node_lost(e, 3);
        for (uint32_t child = 0; child < 2; child++) {
            if (child == (uint32_t)first) {
                hb_fence_set_child(e, 4, all + 3, 1, NULL);
            }
            contribute(e, child, all + child, child + 1, "o");
            assert_int_equal(a.downs[child], 1);
        }
        assert_false(hb_fence_is_open(e, key));
        hb_fence_engine_destroy(e);
    }
}

/* Fences that somebody opens, and that nobody joins, do not fill the memory of
 * who is above. */
static void what_is_open_has_a_size_that_it_may_have(void **state)
{
    enum { SIZE = 180 << 20 };
    static char zeros[SIZE];
    struct answers a = {0};
    struct hpcboot_error err = {0};
    struct hb_fence_engine *e = root_of(&a);
    struct hb_buf b;

    hb_buf_init(&b, HB_FENCE_DATA_MAX);
    hb_buf_put_u32(&b, 0);
    hb_buf_put_blob(&b, zeros, SIZE);
    for (int i = 0; i < 3; i++) {
        const struct hb_bytes own = {&"abc"[i], 1};
        const struct hb_bytes data = {b.data, b.len};
        int rc = hb_fence_from_child(e, 0, own, all, N_NODES, data, &err);

        assert_int_equal(rc, i < 2 ? 0 : HPCBOOT_ERR_LIMIT);
    }
    assert_non_null(strstr(err.text, "child 0"));
    /* Those that are over have no part in it. */
    assert_int_equal(hb_fence_from_child(e, 3, (struct hb_bytes){"a", 1}, all,
                                         N_NODES, (struct hb_bytes){NULL, 0},
                                         &err), 0);
    assert_int_equal(a.downs[0], 1);
    assert_int_equal(hb_fence_from_child(e, 0, (struct hb_bytes){"c", 1}, all,
                                         N_NODES,
                                         (struct hb_bytes){b.data, b.len},
                                         &err), 0);
    hb_buf_destroy(&b);
    hb_fence_engine_destroy(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_begins_anew),
        cmocka_unit_test(a_node_below_another_begins_anew),
        cmocka_unit_test(two_begin_anew_one_after_the_other),
        cmocka_unit_test(who_took_its_place_is_in_no_older_fence),
        cmocka_unit_test(what_is_open_has_a_size_that_it_may_have),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
