/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The native rendezvous, of native_world.h, with more values than there is
 * room for. */
#include "config.h"

#include "tests/unit/native_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/collected.h"
#include "lib/rdzv/native_store.h"

#define MIB ((size_t)1 << 20)

static char *text_of_a_mib(void) /* with its NUL */
{
    char *text = malloc(MIB);

    memset(text, 'v', MIB - 1);
    text[MIB - 1] = '\0';
    return text;
}

/* More than a fence may carry from a node: the other nodes hear of it, too. */
static void test_what_a_node_cannot_say_is_told_to_all(void **state)
{
    struct world *w = *state;
    char *value = text_of_a_mib(), key[16];

    hello_all(w);
    for (unsigned i = 0; i < HB_FENCE_DATA_MAX / 2 / MIB + 1; i++) {
        snprintf(key, sizeof key, "key%u", i);
        assert_int_equal(say(w, 0, HB_NATIVE_PUT, 0, 0, key, value), 0);
        assert_int_equal(w->ranks[0].status, 0);
    }
    free(value);
    fence_all(w, 1);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(w->ranks[r].status, HPCBOOT_ERR_LIMIT);
        assert_non_null(strstr(w->ranks[r].text, "the ranks of left have put "
                               "more than a fence"));
    }
    fence_all(w, 0);
    assert_int_equal(w->ranks[3].status, 0);
}

/* A node holds a gibibyte. */
static void test_a_value_without_room_is_told_and_is_no_older_one(void **state)
{
    struct world *w = *state;
    char *value = text_of_a_mib(), key[16];

    hello_all(w);
    assert_int_equal(say(w, 0, HB_NATIVE_PUT, 0, 0, "key", "old"), 0);
    for (unsigned i = 1; i < 1024; i++) {
        snprintf(key, sizeof key, "key%u", i);
        assert_int_equal(say(w, 0, HB_NATIVE_PUT, 0, 0, key, value), 0);
        if (i % 128 == 127) {
            fence_all(w, 0);
            assert_int_equal(w->ranks[3].status, 0);
        }
    }
    assert_int_equal(say(w, 0, HB_NATIVE_PUT, 0, 0, "key", value), 0);
    free(value);
    fence_all(w, 0);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(w->ranks[r].status, HPCBOOT_ERR_LIMIT);
        assert_non_null(strstr(w->ranks[r].text, "no room for \"key\" of rank "
                               "0: with it left would hold more"));
    }
    assert_int_equal(say(w, 0, HB_NATIVE_GET, 0, 0, "key", NULL), 0);
    assert_int_equal(w->ranks[0].status, HPCBOOT_ERR_NOT_FOUND);
}

/* As in a loop that collects at its end alone. */
static void test_values_that_were_replaced_are_not_collected(void **state)
{
    struct world *w = *state;
    char *value = text_of_a_mib();

    hello_all(w);
    for (unsigned i = 0; i < HB_FENCE_DATA_MAX / 2 / MIB + 1; i++) {
        assert_int_equal(say(w, 0, HB_NATIVE_PUT, 0, 0, "key", value), 0);
        fence_all(w, 0);
    }
    free(value);
    assert_int_equal(say(w, 0, HB_NATIVE_PUT, 0, 0, "key", "last"), 0);
    fence_all(w, 1);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(w->ranks[r].status, 0);
    }
    assert_int_equal(say(w, 2, HB_NATIVE_GET, 0, 0, "key", NULL), 0);
    assert_string_equal(w->ranks[2].value, "last");
    assert_int_equal(w->nodes[1].modexes, 0);
}

/* More than a fence may carry from all nodes: the root says so. */
static void test_what_a_fence_cannot_carry_is_asked_for(void **state)
{
    struct world *w = *state;
    const struct hb_bytes none = {NULL, 0};

    hello_all(w);
    assert_int_equal(say(w, 2, HB_NATIVE_PUT, 0, 0, "key", "value"), 0);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(say(w, r, HB_NATIVE_FENCE, 0, 1, NULL, NULL), 0);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        struct node *n = &w->nodes[i];

        n->joined = 0;
        hb_native_fence_done(n->server,
                             (struct hb_bytes){n->key.data, n->key.len},
                             HPCBOOT_ERR_LIMIT, none);
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(w->ranks[r].status, HPCBOOT_ERR_LIMIT);
        assert_non_null(strstr(w->ranks[r].text, "all ranks have put more "
                               "than the 256 MiB"));
    }
    fence_all(w, 1);
    assert_int_equal(w->ranks[0].status, 0);
    assert_int_equal(say(w, 0, HB_NATIVE_GET, 2, 0, "key", NULL), 0);
    assert_int_equal(w->nodes[0].modexes, 1);
}

/* The rank lives, and its node answers that this is more than a message has. */
static void test_what_no_answer_can_carry_is_not_gone(void **state)
{
    struct world *w = *state;
    struct node *n = &w->nodes[0];
    struct hb_buf b;

    hello_all(w);
    assert_int_equal(say(w, 2, HB_NATIVE_PUT, 0, 0, "key", "value"), 0);
    assert_int_equal(say(w, 2, HB_NATIVE_PUT, 0, 0, "another", "value"), 0);
    fence_all(w, 0);
    assert_int_equal(say(w, 0, HB_NATIVE_GET, 2, 0, "key", NULL), 0);
    hb_buf_init(&b, 32); /* room for one of them */
    assert_int_equal(hb_native_modex_serve(w->nodes[1].server, 2, &b),
                     HPCBOOT_ERR_LIMIT);
    assert_int_equal(b.len, 0);
    hb_native_modex_done(n->server, n->modex_id, HPCBOOT_ERR_LIMIT,
                         (struct hb_bytes){b.data, b.len});
    hb_buf_destroy(&b);
    assert_int_equal(w->ranks[0].status, HPCBOOT_ERR_LIMIT);
    assert_string_equal(w->ranks[0].text, "\"key\": rank 2 has put more than "
                        "256 MiB, which is all that another host can ask for; "
                        "with HPCBOOT_COLLECT each hpcboot_fence brings what "
                        "was put before it");
}

/* ---- one store, of a node that has no room for what the others say ---- */

#define STORES 3

static void put(struct hb_native_store *s, uint32_t rank, const char *key,
                const char *value)
{
    const struct hb_bytes bytes = {value, strlen(value)};

    assert_int_equal(hb_native_store_put(s, rank, 0, key, bytes, NULL), 0);
}

/* What the first one says of a fence of all of them. */
static int collect(struct hb_native_store **s)
{
    struct hb_buf all, part;
    int rc;

    hb_buf_init(&all, HB_FENCE_DATA_MAX);
    hb_buf_init(&part, HB_FENCE_DATA_MAX);
    for (uint32_t i = 0; i < STORES; i++) {
        assert_int_equal(hb_native_store_commit(s[i], 0, NULL), 0);
        hb_buf_clear(&part);
        hb_native_store_collect(s[i], i > 0, &part);
        hb_buf_put_u32(&all, i);
        hb_buf_put_blob(&all, part.data, part.len);
    }
    rc = hb_native_store_merge(s[0], (struct hb_bytes){all.data, all.len},
                               NULL);
    hb_buf_destroy(&part);
    hb_buf_destroy(&all);
    return rc;
}

static void fill(struct hb_native_store *s)
{
    char *value = text_of_a_mib(), key[16];

    for (unsigned i = 1; i < 1024; i++) {
        snprintf(key, sizeof key, "key%u", i);
        put(s, 0, key, value);
        if (i % 128 == 127) {
            assert_int_equal(hb_native_store_commit(s, 0, NULL), 0);
        }
    }
    free(value);
}

static void test_what_others_have_put_and_has_no_room_is_asked_for(void **state)
{
    static const uint32_t node_of[STORES] = {0, 1, 2};
    static const struct hb_job_app app = {0, STORES};
    char a[] = "a", b[] = "b", c[] = "c", *names[] = {a, b, c};
    char *large = text_of_a_mib();
    struct hb_native_store *s[STORES];
    struct hb_bytes value;
    struct hb_jobmap *map;

    assert_int_equal(hb_jobmap_create(&map, STORES, node_of, STORES, names, 1,
                                      &app, STORES, NULL), 0);
    for (uint32_t i = 0; i < STORES; i++) {
        s[i] = hb_native_store_create(map, i);
        put(s[i], i, "key", "old");
    }
    fill(s[0]);
    assert_int_equal(collect(s), 0);
    put(s[1], 1, "key", large);
    put(s[2], 2, "key", "new");
    assert_int_equal(collect(s), HPCBOOT_ERR_LIMIT);
    assert_int_equal(hb_native_store_get(s[0], 1, "key", &value),
                     HPCBOOT_ERR_AGAIN);
    assert_int_equal(hb_native_store_get(s[0], 2, "key", &value), 0);
    assert_memory_equal(value.data, "new", 3);
    assert_int_equal(collect(s), 0);
    assert_int_equal(hb_native_store_get(s[0], 1, "key", &value),
                     HPCBOOT_ERR_AGAIN);
    for (uint32_t i = 0; i < STORES; i++) {
        hb_native_store_destroy(s[i]);
    }
    hb_jobmap_destroy(map);
    free(large);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_a_node_cannot_say_is_told_to_all),
        TEST(test_a_value_without_room_is_told_and_is_no_older_one),
        TEST(test_values_that_were_replaced_are_not_collected),
        TEST(test_what_a_fence_cannot_carry_is_asked_for),
        TEST(test_what_no_answer_can_carry_is_not_gone),
        cmocka_unit_test(
            test_what_others_have_put_and_has_no_room_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
