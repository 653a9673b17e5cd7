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
        assert_non_null(strstr(w->ranks[r].text, "no room for 'key' of rank "
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_a_node_cannot_say_is_told_to_all),
        TEST(test_a_value_without_room_is_told_and_is_no_older_one),
        TEST(test_values_that_were_replaced_are_not_collected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
