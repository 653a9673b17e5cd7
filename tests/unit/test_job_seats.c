/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which ranks a host gets that comes into a running job. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bin/job/seats.h"

/* Nodes a (ranks 0, 1), b (2), c (3, 4, 5). */
static struct hb_jobmap *three_nodes(void)
{
    static const uint32_t nodes[] = {0, 0, 1, 2, 2, 2};
    char a[] = "a", b[] = "b", c[] = "c", *const names[] = {a, b, c};
    const struct hb_job_app app = {0, 6};
    struct hb_jobmap *map = NULL;

    assert_int_equal(hb_jobmap_create(&map, 6, nodes, 3, names, 1, &app, 6,
                                      NULL), 0);
    return map;
}

static int choose(uint32_t most, unsigned a, unsigned b, unsigned c,
                  const char *name, uint32_t slots, struct hb_seat *out)
{
    const unsigned char is_free[] = {(unsigned char)a, (unsigned char)b,
                                     (unsigned char)c};
    struct hb_jobmap *map = three_nodes();
    const struct hb_seats s = {map, is_free, most};
    int rc = hb_seats_choose(&s, name, slots, out);

    hb_jobmap_destroy(map);
    return rc;
}

static void a_new_host_gets_ranks_above_the_others(void **state)
{
    struct hb_seat seat;

    assert_int_equal(choose(10, 0, 0, 0, "d", 2, &seat), 1);
    assert_int_equal(seat.node, 3);
    assert_int_equal(seat.n_ranks, 2);
}

static void no_rank_reaches_the_most(void **state)
{
    struct hb_seat seat;

    assert_int_equal(choose(7, 0, 0, 0, "d", 4, &seat), 1);
    assert_int_equal(seat.n_ranks, 1);
    assert_int_equal(choose(6, 0, 0, 0, "d", 4, &seat), 0);
    assert_int_equal(choose(3, 0, 0, 0, "d", 4, &seat), 0);
}

static void the_largest_free_seat_that_fits_is_taken(void **state)
{
    struct hb_seat seat;

    assert_int_equal(choose(10, 1, 1, 1, "d", 8, &seat), 1);
    assert_int_equal(seat.node, 2);
    assert_int_equal(choose(10, 1, 1, 1, "d", 2, &seat), 1);
    assert_int_equal(seat.node, 0);
    assert_int_equal(seat.n_ranks, 2);
}

static void a_host_that_is_back_gets_its_own_seat(void **state)
{
    struct hb_seat seat;

    assert_int_equal(choose(10, 1, 1, 1, "b", 8, &seat), 1);
    assert_int_equal(seat.node, 1);
    assert_int_equal(choose(10, 1, 1, 1, "c", 8, &seat), 1);
    assert_int_equal(seat.node, 2);
}

static void a_name_of_the_map_gets_no_second_node(void **state)
{
    struct hb_seat seat;

    assert_int_equal(choose(10, 0, 0, 0, "b", 1, &seat), 0);
    assert_int_equal(choose(10, 1, 0, 0, "b", 2, &seat), 1);
    assert_int_equal(seat.node, 0);
}

static void a_host_whose_seat_is_taken_gets_a_new_one(void **state)
{
    const unsigned char is_free[] = {0, 0, 0};
    struct hb_jobmap *map = three_nodes();
    const struct hb_seats s = {map, is_free, 10};
    struct hb_seat seat;

    assert_int_equal(hb_jobmap_rename(map, 1, "d"), 1);
    assert_int_equal(hb_seats_choose(&s, "b", 2, &seat), 1);
    assert_int_equal(seat.node, 3);
    assert_int_equal(hb_seats_choose(&s, "d", 2, &seat), 0);
    hb_jobmap_destroy(map);
}

static void a_free_seat_that_is_too_large_leaves_a_new_one(void **state)
{
    struct hb_seat seat;

    assert_int_equal(choose(7, 0, 0, 1, "d", 2, &seat), 1);
    assert_int_equal(seat.node, 3);
    assert_int_equal(choose(6, 0, 0, 1, "d", 2, &seat), 0);
}

static void room_is_what_is_free_and_what_may_be_added(void **state)
{
    const unsigned char is_free[] = {1, 0, 1};
    struct hb_jobmap *map = three_nodes();
    struct hb_seats s = {map, is_free, 8};

    assert_int_equal(hb_seats_room(&s), 7);
    s.most = 2;
    assert_int_equal(hb_seats_room(&s), 5);
    hb_jobmap_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_host_gets_ranks_above_the_others),
        cmocka_unit_test(no_rank_reaches_the_most),
        cmocka_unit_test(the_largest_free_seat_that_fits_is_taken),
        cmocka_unit_test(a_host_that_is_back_gets_its_own_seat),
        cmocka_unit_test(a_name_of_the_map_gets_no_second_node),
        cmocka_unit_test(a_host_whose_seat_is_taken_gets_a_new_one),
        cmocka_unit_test(a_free_seat_that_is_too_large_leaves_a_new_one),
        cmocka_unit_test(room_is_what_is_free_and_what_may_be_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
