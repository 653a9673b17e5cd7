/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Requests that are given up at any moment: no message is lost by that, and
 * none overtakes another, over TCP, over UCX, and through the rings. */
#include "config.h"

#include "xport_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define RANKS 2
#define BIG (1u << 20)
#define MOST_MOVES 60 /* by then all is here, or never will be */

/* UCX ends what it has begun to fetch before a receive is given up, and the
 * peer has to help: here it is the same thread, which waits. */
static int by_ucx;

static int set_up_node(void **state)
{
    *state = xport_world_on_a_node(RANKS);
    return 0;
}

static struct hb_xport_req *start_send(struct xport_world *w, const void *data,
                                       size_t size)
{
    struct hb_xport_req *req;

    assert_int_equal(hb_xport_send(w->x[0], 1, 6, 1, data, size, &req, NULL),
                     0);
    return req;
}

static struct hb_xport_req *start_recv(struct xport_world *w, void *data,
                                       size_t size)
{
    struct hb_xport_req *req;

    assert_int_equal(hb_xport_recv(w->x[1], 0, 6, 1, UINT64_MAX, data, size,
                                   &req, NULL), 0);
    return req;
}

/* Message number n has bytes that no other has. */
static void fill(unsigned char *to, size_t size, unsigned n)
{
    for (size_t i = 0; i < size; i++) {
        to[i] = (unsigned char)(i * 7 + i / 251 + n * 31);
    }
}

static int is_message(const unsigned char *data, size_t size, unsigned n)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] != (unsigned char)(i * 7 + i / 251 + n * 31)) {
            return 0;
        }
    }
    return 1;
}

/* Receives message n, giving up `times` before. */
static void take(struct xport_world *w, unsigned n, size_t size, int times,
                 int moves)
{
    struct hb_xport_info info = {0};
    unsigned char *to;

    for (int i = 0; i <= times; i++) {
        struct hb_xport_req *r;

        to = malloc(size + 1);
        memset(to, 0xee, size + 1);
        r = start_recv(w, to, size + 1);
        if (i == times) {
            assert_int_equal(xport_world_finish(w, 1, r, &info, NULL), 1);
            assert_int_equal(info.size, size);
            assert_true(is_message(to, size, n));
        } else {
            for (int m = 0; m < moves; m++) {
                xport_world_move(w);
            }
            hb_xport_put_back(w->x[1], r);
        }
        free(to); /* nobody writes there any more */
    }
}

static void a_receive_is_given_up_at_any_moment(void **state)
{
    static const size_t sizes[] = {0, 1, 5000, 60000, BIG};
    struct xport_world *w = *state;
    unsigned char *from = malloc(BIG), second[10];

    if (by_ucx) {
        print_message("over UCX no receive of %u bytes is given up under way: "
                      "both ends are one thread here\n", BIG);
    }
    fill(second, sizeof second, 2);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0] - (size_t)by_ucx;
         k++) {
        for (int moves = 0; moves < MOST_MOVES; moves += moves < 20 ? 1 : 13) {
            struct hb_xport_req *a, *b;

            fill(from, sizes[k], 1);
            a = start_send(w, from, sizes[k]);
            b = start_send(w, second, sizeof second);
            take(w, 1, sizes[k], 3, moves);
            take(w, 2, sizeof second, 1, moves);
            assert_int_equal(xport_world_finish(w, 0, a, NULL, NULL), 1);
            assert_int_equal(xport_world_finish(w, 0, b, NULL, NULL), 1);
        }
    }
    free(from);
}

/* It was posted behind the one that is given up. */
static void another_receive_gets_the_message(void **state)
{
    struct xport_world *w = *state;
    unsigned char *from = malloc(BIG), *to = malloc(BIG), *too = malloc(BIG);

    for (int moves = 0; moves < MOST_MOVES; moves += 7) {
        struct hb_xport_req *r = start_recv(w, to, BIG);
        struct hb_xport_req *other = start_recv(w, too, BIG);
        struct hb_xport_req *s;

        fill(from, BIG, 3);
        s = start_send(w, from, BIG);
        for (int m = 0; m < moves; m++) {
            xport_world_move(w);
        }
        hb_xport_put_back(w->x[1], r);
        memset(to, 0, BIG);
        assert_int_equal(xport_world_finish(w, 1, other, NULL, NULL), 1);
        assert_true(is_message(too, BIG, 3));
        assert_int_equal(xport_world_finish(w, 0, s, NULL, NULL), 1);
    }
    free(from);
    free(to);
    free(too);
}

/* Whichever is given up first, and again. */
static void messages_stay_in_order(void **state)
{
    struct xport_world *w = *state;
    unsigned char *from[3], *to[3];

    for (unsigned n = 0; n < 3; n++) {
        from[n] = malloc(BIG);
        to[n] = malloc(BIG);
        fill(from[n], BIG - n, n);
    }
    for (int turn = 0; turn < 6 * 12; turn++) {
        static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        struct hb_xport_req *r[3], *s[3];

        for (unsigned n = 0; n < 3; n++) {
            s[n] = start_send(w, from[n], BIG - n);
        }
        for (int again = 0; again < 2; again++) {
            for (unsigned n = 0; n < 3; n++) {
                r[n] = start_recv(w, to[n], BIG);
            }
            for (int m = 0; m < turn / 6 * 5; m++) {
                xport_world_move(w);
            }
            for (unsigned n = 0; n < 3; n++) {
                hb_xport_put_back(w->x[1], r[orders[turn % 6][n]]);
            }
        }
        for (unsigned n = 0; n < 3; n++) {
            take(w, n, BIG - n, 0, 0);
            assert_int_equal(xport_world_finish(w, 0, s[n], NULL, NULL), 1);
        }
    }
    for (unsigned n = 0; n < 3; n++) {
        free(from[n]);
        free(to[n]);
    }
}

/* What it had cut off is gone, which the next one is told. */
static void a_short_receive_keeps_what_it_has(void **state)
{
    struct xport_world *w = *state;
    unsigned char *from = malloc(BIG), *to = malloc(BIG);

    for (int moves = 1; moves < MOST_MOVES; moves += 11) {
        struct hb_xport_info info = {0};
        struct hb_xport_req *r, *s;
        int rc;

        fill(from, BIG, 4);
        s = start_send(w, from, BIG);
        r = start_recv(w, to, 100);
        for (int m = 0; m < moves; m++) {
            xport_world_move(w);
        }
        hb_xport_put_back(w->x[1], r);
        memset(to, 0, 100);
        rc = xport_world_finish(w, 1, start_recv(w, to, BIG), &info, NULL);
        assert_int_equal(info.size, BIG);
        assert_true(rc == HPCBOOT_ERR_LIMIT || rc == 1);
        assert_true(is_message(to, rc == 1 ? BIG : 100, 4));
        assert_int_equal(xport_world_finish(w, 0, s, NULL, NULL), 1);
    }
    free(from);
    free(to);
}

/* Also those whose turn has not come. */
static void sends_that_are_given_up_arrive_in_order(void **state)
{
    struct xport_world *w = *state;
    unsigned char *from = malloc(BIG);

    for (int moves = 0; moves < 10; moves += 3) {
        struct hb_xport_req *s[3];

        for (unsigned n = 0; n < 3; n++) {
            fill(from, BIG - n, n);
            s[n] = start_send(w, from, BIG - n);
            for (int m = 0; m < moves; m++) {
                xport_world_move(w);
            }
            hb_xport_cancel(w->x[0], s[n]);
            memset(from, 0xee, BIG);
        }
        for (unsigned n = 0; n < 3; n++) {
            take(w, n, BIG - n, 0, 0);
        }
    }
    free(from);
}

/* What has not come of it will not; whoever waits for it is told. */
static void a_peer_ends_behind_a_message_that_was_put_back(void **state)
{
    struct xport_world *w = *state;
    unsigned char *from = calloc(1, BIG), *to = malloc(BIG);
    struct hpcboot_error err = {0};
    struct hb_xport_req *s = start_send(w, from, BIG);
    struct hb_xport_req *r = start_recv(w, to, BIG);
    int rc;

    for (int i = 0; i < 8; i++) {
        xport_world_move(w);
    }
    hb_xport_put_back(w->x[1], r);
    r = start_recv(w, to, BIG);
    hb_xport_cancel(w->x[0], s);
    hb_xport_destroy(w->x[0]);
    w->x[0] = NULL;
    rc = xport_world_finish(w, 1, r, NULL, &err);
    assert_true(rc == 1 || rc == HPCBOOT_ERR_PEER_DEAD); /* whole, or never */
    r = start_recv(w, to, BIG);
    assert_true(xport_world_finish(w, 1, r, NULL, &err) < 0);
    free(from);
    free(to);
}

/* Nothing of it is lost to the heap. */
static void an_end_in_the_middle(void **state)
{
    struct xport_world *w = *state;
    unsigned char *from = calloc(1, BIG), *to = malloc(BIG);
    struct hb_xport_req *s = start_send(w, from, BIG);

    for (int i = 0; i < 3; i++) {
        struct hb_xport_req *r = start_recv(w, to, BIG);

        xport_world_move(w);
        hb_xport_put_back(w->x[1], r);
    }
    hb_xport_cancel(w->x[0], s);
    free(from);
    free(to);
}

#define ON_NODE(name) \
    cmocka_unit_test_setup_teardown(name, set_up_node, xport_world_tear_down)
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, xport_world_set_up, \
                                    xport_world_tear_down)

int main(void)
{
    const struct CMUnitTest node[] = {
        ON_NODE(a_receive_is_given_up_at_any_moment),
        ON_NODE(another_receive_gets_the_message),
        ON_NODE(messages_stay_in_order),
        ON_NODE(a_short_receive_keeps_what_it_has),
        ON_NODE(sends_that_are_given_up_arrive_in_order),
        ON_NODE(an_end_in_the_middle),
    };
    const struct CMUnitTest net[] = {
        TEST(a_receive_is_given_up_at_any_moment),
        TEST(another_receive_gets_the_message),
        TEST(messages_stay_in_order),
        TEST(a_short_receive_keeps_what_it_has),
        TEST(sends_that_are_given_up_arrive_in_order),
        TEST(a_peer_ends_behind_a_message_that_was_put_back),
        TEST(an_end_in_the_middle),
    };
    const struct CMUnitTest ucx[] = {
        TEST(a_receive_is_given_up_at_any_moment),
        TEST(sends_that_are_given_up_arrive_in_order),
    };

    xport_find_modules();
    setenv("HPCBOOT_TRANSPORTS", "tcp", 1);
    int failed = cmocka_run_group_tests_name("tcp", net, NULL, NULL);
    failed += cmocka_run_group_tests_name("rings", node, NULL, NULL);
#ifdef HAVE_UCX
#ifdef __SANITIZE_THREAD__ /* threads call its hook as TSan forgets them */
    setenv("UCX_MEM_EVENTS", "n", 0);
#endif
    setenv("HPCBOOT_TRANSPORTS", "ucx", 1);
    by_ucx = 1;
    failed += cmocka_run_group_tests_name("ucx", ucx, NULL, NULL);
#else
    (void)ucx;
#endif
    return failed;
}
