/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The key-value store: what was put is got, the older or the newer value
 * wins as asked, and the limit holds. */
#include "config.h"

#include "lib/base/kvs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ROOM 65536u

static struct hb_bytes bytes(const char *text)
{
    return (struct hb_bytes){text, strlen(text)};
}

static struct hb_kvs *store(size_t room)
{
    struct hb_kvs *kvs = NULL;

    assert_int_equal(hb_kvs_create(&kvs, room, NULL), 0);
    return kvs;
}

static void assert_value(struct hb_kvs *kvs, const char *key,
                         const char *value)
{
    struct hb_bytes got;

    assert_int_equal(hb_kvs_get(kvs, key, &got), 1);
    assert_string_equal(got.data, value);
    assert_int_equal(got.len, strlen(value));
}

static void missing_key_is_told(void **state)
{
    struct hb_kvs *kvs = store(ROOM);
    struct hb_bytes got;

    assert_int_equal(hb_kvs_get(kvs, "nothing", &got), 0);
    assert_int_equal(hb_kvs_remove(kvs, "nothing"), 0);
    hb_kvs_destroy(kvs);
}

static void keep_leaves_the_older_value(void **state)
{
    struct hb_kvs *kvs = store(ROOM);

    assert_int_equal(hb_kvs_put(kvs, "k", bytes("1"), HB_KVS_KEEP, NULL), 1);
    assert_int_equal(hb_kvs_put(kvs, "k", bytes("2"), HB_KVS_KEEP, NULL), 0);
    assert_value(kvs, "k", "1");
    hb_kvs_destroy(kvs);
}

static void replace_takes_the_newer_value(void **state)
{
    struct hb_kvs *kvs = store(ROOM);

    hb_kvs_put(kvs, "k", bytes("first"), HB_KVS_REPLACE, NULL);
    hb_kvs_put(kvs, "k", bytes("2"), HB_KVS_REPLACE, NULL);
    assert_value(kvs, "k", "2");
    assert_int_equal(hb_kvs_count(kvs), 1);
    assert_int_equal(hb_kvs_bytes(kvs), 2);
    hb_kvs_destroy(kvs);
}

static void empty_value_is_a_value(void **state)
{
    struct hb_kvs *kvs = store(ROOM);

    hb_kvs_put(kvs, "k", (struct hb_bytes){NULL, 0}, HB_KVS_KEEP, NULL);
    assert_value(kvs, "k", "");
    hb_kvs_destroy(kvs);
}

static void limit_is_kept_and_said(void **state)
{
    struct hb_kvs *kvs = store(10);
    struct hpcboot_error err = {0};

    assert_int_equal(hb_kvs_put(kvs, "abc", bytes("1234567"), HB_KVS_KEEP,
                                NULL), 1);
    assert_int_equal(hb_kvs_put(kvs, "d", bytes(""), HB_KVS_KEEP, &err),
                     HPCBOOT_ERR_LIMIT);
    assert_non_null(strstr(err.text, "full"));
    assert_int_equal(hb_kvs_put(kvs, "abc", bytes("7654321"),
                                HB_KVS_REPLACE, NULL), 1);
    assert_value(kvs, "abc", "7654321");
    hb_kvs_destroy(kvs);
}

static void count_visited(void *arg, const char *key, struct hb_bytes value)
{
    ++*(int *)arg;
}

static void thousands_of_keys_are_found_again(void **state)
{
    enum { N = 5000 };
    struct hb_kvs *kvs = store(1 << 20);
    char key[32];
    int visited = 0;

    for (int i = 0; i < N; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        assert_int_equal(hb_kvs_put(kvs, key, bytes(key), HB_KVS_KEEP, NULL),
                         1);
    }
    for (int i = 0; i < N; i += 2) {
        snprintf(key, sizeof(key), "key-%d", i);
        assert_int_equal(hb_kvs_remove(kvs, key), 1);
    }
    for (int i = 1; i < N; i += 2) {
        snprintf(key, sizeof(key), "key-%d", i);
        assert_value(kvs, key, key);
    }
    hb_kvs_each(kvs, count_visited, &visited);
    assert_int_equal(visited, N / 2);
    hb_kvs_destroy(kvs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_key_is_told),
        cmocka_unit_test(keep_leaves_the_older_value),
        cmocka_unit_test(replace_takes_the_newer_value),
        cmocka_unit_test(empty_value_is_a_value),
        cmocka_unit_test(limit_is_kept_and_said),
        cmocka_unit_test(thousands_of_keys_are_found_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
