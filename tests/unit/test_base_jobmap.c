/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * The map of a placed job: what follows from it, its encoding, PMI's text.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/jobmap.h"
#include "lib/base/str.h"

#define ROOM (1u << 20)

/* A map of one app on nodes called n0, n1, ...; destroy it. */
static struct hb_jobmap *map_of(const uint32_t *nodes, uint32_t n_ranks,
                                uint32_t n_nodes)
{
    struct hb_job_app app = {0, n_ranks};
    char **names = hb_xcalloc(n_nodes, sizeof(*names));
    struct hpcboot_error err = {0};
    struct hb_jobmap *map = NULL;
    uint32_t i;

    for (i = 0; i < n_nodes; i++) {
        names[i] = hb_xasprintf("n%u", i);
    }
    if (hb_jobmap_create(&map, n_ranks, nodes, n_nodes, names, 1, &app,
                         n_ranks, &err) < 0) {
        fail_msg("%s", err.text);
    }
    for (i = 0; i < n_nodes; i++) {
        free(names[i]);
    }
    free(names);
    return map;
}

static void expect_mapping(const uint32_t *nodes, uint32_t n_ranks,
                           uint32_t n_nodes, const char *expected)
{
    struct hb_jobmap *map = map_of(nodes, n_ranks, n_nodes);
    char *text = hb_jobmap_process_mapping(map);

    assert_string_equal(text, expected);
    free(text);
    hb_jobmap_destroy(map);
}

static void local_ranks_follow_from_the_nodes(void **state)
{
    static const uint32_t nodes[] = {0, 2, 0, 2, 2};
    struct hb_jobmap *map = map_of(nodes, 5, 3);
    uint32_t *ranks = NULL;

    assert_int_equal(map->local_size[0], 2);
    assert_int_equal(map->local_size[1], 0);
    assert_int_equal(map->local_size[2], 3);
    assert_int_equal(map->local_rank[2], 1);
    assert_int_equal(map->local_rank[4], 2);
    hb_jobmap_ranks_of_node(map, 2, &ranks);
    assert_int_equal(ranks[0], 1);
    assert_int_equal(ranks[1], 3);
    assert_int_equal(ranks[2], 4);
    free(ranks);
    hb_jobmap_ranks_of_node(map, 1, &ranks);
    free(ranks);
    hb_jobmap_destroy(map);
}

static void the_app_of_a_rank_is_found(void **state)
{
    static const uint32_t nodes[6] = {0};
    static char *const names[] = {(char *)"n0"};
    static const struct hb_job_app apps[] = {{0, 1}, {1, 3}, {4, 2}};
    static const uint32_t expected[] = {0, 1, 1, 1, 2, 2};
    struct hb_jobmap *map = NULL;
    uint32_t i;

    assert_int_equal(
        hb_jobmap_create(&map, 6, nodes, 1, names, 3, apps, 6, NULL), 0);
    for (i = 0; i < 6; i++) {
        assert_int_equal(hb_jobmap_app_of(map, i), expected[i]);
    }
    hb_jobmap_destroy(map);
}

static void maps_without_sense_are_refused(void **state)
{
    static const uint32_t nodes[] = {0, 1}, beyond[] = {0, 2};
    static char *const names[] = {(char *)"a", (char *)"b"};
    static char *const twice[] = {(char *)"a", (char *)"a"};
    static const struct hb_job_app all = {0, 2}, one = {0, 1}, late = {1, 1};
    const struct {
        uint32_t n_ranks;
        const uint32_t *nodes;
        char *const *names;
        const struct hb_job_app *apps;
        uint32_t slots;
    } cases[] = {
        {0, nodes, names, &all, 2},  {2, beyond, names, &all, 2},
        {2, nodes, twice, &all, 2},  {2, nodes, names, &one, 2},
        {2, nodes, names, &late, 2}, {2, nodes, names, &all, 0},
    };
    struct hb_jobmap *map = NULL;
    struct hpcboot_error err;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(
            hb_jobmap_create(&map, cases[i].n_ranks, cases[i].nodes, 2,
                             cases[i].names, 1, cases[i].apps, cases[i].slots,
                             &err),
            HPCBOOT_ERR_USAGE);
    }
    assert_null(map);
}

static void mapping_text_has_blocks(void **state)
{
    static const uint32_t by_slot[] = {0, 0, 1, 1, 2, 2, 3, 3};
    static const uint32_t cyclic[] = {0, 1, 0, 1};
    static const uint32_t uneven[] = {0, 0, 0, 1, 1, 2, 2};
    static const uint32_t backward[] = {1, 1, 0, 0};
    static const uint32_t single[] = {0};

    expect_mapping(by_slot, 8, 4, "(vector,(0,4,2))");
    expect_mapping(cyclic, 4, 2, "(vector,(0,2,1),(0,2,1))");
    expect_mapping(uneven, 7, 3, "(vector,(0,1,3),(1,2,2))");
    expect_mapping(backward, 4, 2, "(vector,(1,1,2),(0,1,2))");
    expect_mapping(single, 1, 1, "(vector,(0,1,1))");
}

/* The rule of PMI clients: start again when ranks are left over. */
static void a_long_round_robin_is_told_by_one_round(void **state)
{
    static const uint32_t round[] = {0, 0, 1, 1, 2, 3};
    uint32_t nodes[1001], i;

    for (i = 0; i < 1001; i++) {
        nodes[i] = i % 4;
    }
    expect_mapping(nodes, 1001, 4, "(vector,(0,4,1))");
    for (i = 0; i < 1001; i++) {
        nodes[i] = round[i % 6];
    }
    expect_mapping(nodes, 1001, 4, "(vector,(0,2,2),(2,2,1))");
}

static void a_layout_without_order_is_told_whole(void **state)
{
    uint32_t nodes[500], i, seed = 1;
    struct hb_jobmap *map;
    char *text;

    for (i = 0; i < 500; i++) {
        seed = seed * 1103515245u + 12345u;
        nodes[i] = (seed >> 16) % 7;
    }
    map = map_of(nodes, 500, 7);
    text = hb_jobmap_process_mapping(map);
    assert_true(strlen(text) >= HB_PROCESS_MAPPING_MAX);
    free(text);
    hb_jobmap_destroy(map);
}

static void a_map_comes_back_from_its_encoding(void **state)
{
    static const uint32_t nodes[] = {0, 0, 1, 1, 0, 1, 1, 1, 3};
    struct hb_jobmap *map = map_of(nodes, 9, 4), *again = NULL;
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    hb_jobmap_encode(map, &b);
    assert_int_equal(hb_jobmap_decode(&again, &b, NULL), 0);
    assert_int_equal(hb_buf_left(&b), 0);
    assert_int_equal(again->n_ranks, 9);
    assert_int_equal(again->n_nodes, 4);
    assert_int_equal(again->universe_slots, 9);
    assert_memory_equal(again->node_of_rank, nodes, sizeof(nodes));
    assert_memory_equal(again->local_rank, map->local_rank, sizeof(nodes));
    assert_memory_equal(again->local_size, map->local_size,
                        4 * sizeof(*map->local_size));
    assert_string_equal(again->node_names[3], "n3");
    hb_buf_destroy(&b);
    hb_jobmap_destroy(map);
    hb_jobmap_destroy(again);
}

static void every_truncation_of_a_map_is_refused(void **state)
{
    static const uint32_t nodes[] = {0, 1, 0, 1};
    struct hb_jobmap *map = map_of(nodes, 4, 2), *again = NULL;
    struct hpcboot_error err;
    struct hb_buf b, part;
    size_t n;

    hb_buf_init(&b, ROOM);
    hb_jobmap_encode(map, &b);
    for (n = 0; n < b.len; n++) {
        hb_buf_view(&part, b.data, n);
        assert_int_equal(hb_jobmap_decode(&again, &part, &err),
                         HPCBOOT_ERR_PROTOCOL);
    }
    assert_null(again);
    hb_buf_destroy(&b);
    hb_jobmap_destroy(map);
}

/* Two nodes "a" and "b", one app, the given block. */
static int decode_block(uint32_t n_ranks, uint32_t node, uint32_t n_nodes,
                        uint32_t per_node)
{
    const uint32_t head[] = {n_ranks, 2, 1, 8};
    const uint32_t tail[] = {0, n_ranks, 1, node, n_nodes, per_node};
    struct hb_jobmap *map = NULL;
    struct hb_buf b;
    size_t i;
    int rc;

    hb_buf_init(&b, ROOM);
    for (i = 0; i < sizeof(head) / sizeof(head[0]); i++) {
        hb_buf_put_u32(&b, head[i]);
    }
    hb_buf_put_str(&b, "a");
    hb_buf_put_str(&b, "b");
    for (i = 0; i < sizeof(tail) / sizeof(tail[0]); i++) {
        hb_buf_put_u32(&b, tail[i]);
    }
    rc = hb_jobmap_decode(&map, &b, NULL);
    hb_jobmap_destroy(map);
    hb_buf_destroy(&b);
    return rc;
}

static void blocks_that_leave_the_map_are_refused(void **state)
{
    assert_int_equal(decode_block(8, 0, 2, 4), HPCBOOT_OK);
    assert_int_equal(decode_block(8, 1, 2, 4), HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(decode_block(8, 0, 2, 5), HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(decode_block(8, 0, 2, 3), HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(decode_block(8, 0, 0, 4), HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(decode_block(8, 0, 2, 0), HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(decode_block(8, UINT32_MAX, 2, 4), HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(decode_block(8, 0, 65536, 65536), HPCBOOT_ERR_PROTOCOL);
    assert_int_equal(decode_block(HB_MAX_RANKS + 1, 0, 1, HB_MAX_RANKS + 1),
                     HPCBOOT_ERR_PROTOCOL);
}

static void a_grown_map_begins_with_the_old_one(void **state)
{
    static const uint32_t nodes[] = {0, 1, 0, 1};
    char a[] = "a", b[] = "b", *const names[] = {a, b};
    const struct hb_job_app app = {0, 4};
    struct hb_jobmap *map = NULL, *grown = NULL;

    assert_int_equal(hb_jobmap_create(&map, 4, nodes, 2, names, 1, &app, 4,
                                      NULL), HPCBOOT_OK);
    assert_int_equal(hb_jobmap_grow(map, "c", 3, &grown, NULL), HPCBOOT_OK);
    assert_int_equal(grown->n_ranks, 7);
    assert_int_equal(grown->apps[0].n_ranks, 7);
    assert_int_equal(grown->node_of_rank[4], 2);
    assert_int_equal(grown->local_size[2], 3);
    assert_string_equal(grown->node_names[2], "c");
    assert_true(hb_jobmap_begins(map, grown));
    assert_true(hb_jobmap_begins(map, map));
    assert_false(hb_jobmap_begins(grown, map));
    hb_jobmap_destroy(grown);
    assert_int_equal(hb_jobmap_grow(map, "b", 1, &grown, NULL),
                     HPCBOOT_ERR_USAGE);
    hb_jobmap_destroy(map);
}

static void a_node_is_renamed_and_no_name_is_there_twice(void **state)
{
    static const uint32_t nodes[] = {0, 1};
    char a[] = "a", b[] = "b", *const names[] = {a, b};
    const struct hb_job_app app = {0, 2};
    struct hb_jobmap *map = NULL, *other = NULL;

    assert_int_equal(hb_jobmap_create(&map, 2, nodes, 2, names, 1, &app, 2,
                                      NULL), HPCBOOT_OK);
    assert_int_equal(hb_jobmap_grow(map, "c", 1, &other, NULL), HPCBOOT_OK);
    assert_true(hb_jobmap_names_agree(map, other));
    assert_int_equal(hb_jobmap_rename(map, 1, "b"), 0);
    assert_int_equal(hb_jobmap_rename(map, 1, "d"), 1);
    assert_string_equal(map->node_names[1], "d");
    assert_false(hb_jobmap_names_agree(map, other));
    assert_true(hb_jobmap_begins(map, other));
    assert_int_equal(hb_jobmap_rename(map, 0, "d"), 1);
    assert_string_equal(map->node_names[0], "d");
    assert_string_equal(map->node_names[1], "a");
    hb_jobmap_destroy(other);
    hb_jobmap_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_ranks_follow_from_the_nodes),
        cmocka_unit_test(the_app_of_a_rank_is_found),
        cmocka_unit_test(maps_without_sense_are_refused),
        cmocka_unit_test(mapping_text_has_blocks),
        cmocka_unit_test(a_long_round_robin_is_told_by_one_round),
        cmocka_unit_test(a_layout_without_order_is_told_whole),
        cmocka_unit_test(a_map_comes_back_from_its_encoding),
        cmocka_unit_test(every_truncation_of_a_map_is_refused),
        cmocka_unit_test(a_grown_map_begins_with_the_old_one),
        cmocka_unit_test(a_node_is_renamed_and_no_name_is_there_twice),
        cmocka_unit_test(blocks_that_leave_the_map_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
