/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The transport: three ranks in one process, each a node of its own, or all of
 * one node with small rings. Messages arrive whole, in order, where they
 * belong, over TCP, over UCX, and through the rings. */
#include "config.h"

#include "lib/xport/address.h"
#include "lib/xport/choose.h"
#include "xport_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define RANKS 3
#define BIG (3u << 20)
#define CONTEXT 5u

static int set_up_node(void **state)
{
    *state = xport_world_on_a_node(RANKS);
    return 0;
}

static int set_up(void **state)
{
    struct xport_world *w = xport_world_create(RANKS);

    xport_world_join(w);
    *state = w;
    return 0;
}

static struct hb_xport_req *start_send(struct xport_world *w, int from, int to,
                                       uint64_t tag, const void *data,
                                       size_t size)
{
    struct hb_xport_req *r = NULL;

    assert_int_equal(hb_xport_send(w->x[from], to, CONTEXT, tag, data, size,
                                   &r, NULL), 0);
    return r;
}

static struct hb_xport_req *start_recv(struct xport_world *w, int at, int from,
                                       uint64_t tag, uint64_t mask,
                                       void *data, size_t size)
{
    struct hb_xport_req *r = NULL;

    assert_int_equal(hb_xport_recv(w->x[at], from, CONTEXT, tag, mask, data,
                                   size, &r, NULL), 0);
    return r;
}

static void test_small_and_large_whichever_comes_first(void **state)
{
    struct xport_world *w = *state;
    char *from = malloc(BIG), *to = malloc(BIG);

    for (int round = 0; round < 4; round++) {
        size_t size = round % 2 ? BIG : 100;
        struct hb_xport_req *s = NULL, *r = NULL;
        struct hb_xport_info info;

        memset(from, 'a' + round, size);
        if (round < 2) {
            s = start_send(w, 0, 1, 7, from, size);
            for (int i = 0; i < 1000; i++) {
                xport_world_move(w);
            }
            r = start_recv(w, 1, 0, 7, UINT64_MAX, to, BIG);
        } else {
            r = start_recv(w, 1, 0, 7, UINT64_MAX, to, BIG);
            s = start_send(w, 0, 1, 7, from, size);
        }
        assert_int_equal(xport_world_finish(w, 1, r, &info, NULL), 1);
        assert_int_equal(xport_world_finish(w, 0, s, NULL, NULL), 1);
        assert_int_equal(info.size, size);
        assert_memory_equal(from, to, size);
    }
    free(from);
    free(to);
}

static void test_any_source_and_tag(void **state)
{
    struct xport_world *w = *state;
    struct hb_xport_info info;
    int word = 1, got = 0, sum = 0;
    struct hb_xport_req *s1 = start_send(w, 1, 0, 11, &word, sizeof word);
    struct hb_xport_req *s2 = start_send(w, 2, 0, 12, &word, sizeof word);

    for (int i = 0; i < 2; i++) {
        struct hb_xport_req *r = start_recv(w, 0, HB_XPORT_ANY, 0, 0, &got,
                                            sizeof got);

        assert_int_equal(xport_world_finish(w, 0, r, &info, NULL), 1);
        assert_int_equal(info.tag, 10 + info.source);
        sum += info.source;
    }
    assert_int_equal(sum, 3);
    assert_int_equal(xport_world_finish(w, 1, s1, NULL, NULL), 1);
    assert_int_equal(xport_world_finish(w, 2, s2, NULL, NULL), 1);
}

static void test_order_is_kept_between_two(void **state)
{
    struct xport_world *w = *state;
    enum { N = 300 };
    struct hb_xport_req *s[N];
    int words[N], got;

    for (int i = 0; i < N; i++) {
        words[i] = i;
        s[i] = start_send(w, 0, 2, 3, &words[i], sizeof words[i]);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(xport_world_finish(w, 2, start_recv(w, 2, 0, 3,
                                                             UINT64_MAX, &got,
                                                             sizeof got), NULL,
                                            NULL), 1);
        assert_int_equal(got, i);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(xport_world_finish(w, 0, s[i], NULL, NULL), 1);
    }
}

static void test_a_message_to_oneself(void **state)
{
    struct xport_world *w = *state;
    int word = 5, got = 0;
    struct hb_xport_req *s = start_send(w, 1, 1, 1, &word, sizeof word);

    assert_int_equal(xport_world_finish(w, 1, s, NULL, NULL), 1);
    assert_int_equal(xport_world_finish(w, 1, start_recv(w, 1, 1, 1,
                                                         UINT64_MAX, &got,
                                                         sizeof got), NULL,
                                        NULL), 1);
    assert_int_equal(got, 5);
}

/* Sanitizers end the process where malloc would return NULL. */
static void test_what_could_not_be_kept_is_said(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("# a sanitizer ends a program that asks for so much\n");
    skip();
#else
    struct xport_world *w = *state;
    struct hpcboot_error err = {0};
    char word[4] = "one", got[4] = "old";
    struct hb_xport_req *s = start_send(w, 1, 1, 1, word, SIZE_MAX / 4);
    struct hb_xport_req *r;

    assert_int_equal(xport_world_finish(w, 1, s, NULL, NULL), 1);
    r = start_recv(w, 1, 1, 1, UINT64_MAX, got, sizeof got);
    assert_int_equal(xport_world_finish(w, 1, r, NULL, &err),
                     HPCBOOT_ERR_NOMEM);
    assert_non_null(strstr(err.text, "from rank 1"));
    assert_string_equal(got, "old");
#endif
}

static void test_what_does_not_fit_is_said(void **state)
{
    struct xport_world *w = *state;

    for (size_t size = 100; size <= BIG; size += BIG - 100) {
        char *from = calloc(1, size), to[10] = "";
        struct hb_xport_req *s = start_send(w, 0, 1, 1, from, size);
        struct hb_xport_req *r = start_recv(w, 1, 0, 1, UINT64_MAX, to, 5);

        to[5] = 'x';
        assert_int_equal(xport_world_finish(w, 1, r, NULL, NULL),
                         HPCBOOT_ERR_LIMIT);
        assert_int_equal(xport_world_finish(w, 0, s, NULL, NULL), 1);
        assert_int_equal(to[5], 'x');
        free(from);
    }
}

static void test_a_cancelled_receive_leaves_its_buffer_alone(void **state)
{
    struct xport_world *w = *state;
    char *from = malloc(BIG), *to = malloc(BIG);
    struct hb_xport_req *s, *r = start_recv(w, 1, 0, 1, UINT64_MAX, to, BIG);

    memset(from, 'x', BIG);
    s = start_send(w, 0, 1, 1, from, BIG);
    for (int i = 0; i < 20; i++) {
        xport_world_move(w);
    }
    hb_xport_cancel(w->x[1], r);
    free(to);
    for (int i = 0; i < 200; i++) { /* what was under way goes nowhere */
        xport_world_move(w);
    }
    hb_xport_cancel(w->x[0], s); /* nobody may have asked for it */
    free(from);
}

static void test_a_peer_that_is_gone(void **state)
{
    struct xport_world *w = *state;
    struct hpcboot_error err = {0};
    int word = 1, got;
    struct hb_xport_req *s = start_send(w, 1, 0, 1, &word, sizeof word);
    struct hb_xport_req *r = start_recv(w, 0, 1, 1, UINT64_MAX, &got,
                                        sizeof got);

    assert_int_equal(xport_world_finish(w, 0, r, NULL, NULL), 1);
    assert_int_equal(xport_world_finish(w, 1, s, NULL, NULL), 1);
    r = start_recv(w, 0, 1, 2, UINT64_MAX, &got, sizeof got);
    hb_xport_destroy(w->x[1]);
    w->x[1] = NULL;
    assert_int_equal(xport_world_finish(w, 0, r, NULL, &err),
                     HPCBOOT_ERR_PEER_DEAD);
    assert_non_null(strstr(err.text, "rank 1 on here"));
    s = start_send(w, 2, 1, 1, &word, sizeof word);
    assert_int_equal(xport_world_finish(w, 2, s, NULL, &err),
                     HPCBOOT_ERR_PEER_DEAD);
    assert_non_null(strstr(err.text, "cannot be reached"));
}

#define FLOOD 600 /* messages, of 64 KiB */
/* The sender of a flood keeps most of it until receives ask for it. */
static void test_a_flood_waits_at_its_sender(void **state)
{
    struct xport_world *w = *state;
    struct hb_xport_req *s[FLOOD], *r;
    size_t size = (size_t)64 << 10;
    char *from = calloc(1, size), *to = malloc(size);

    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < FLOOD; i++) {
            s[i] = start_send(w, 0, 1, (uint64_t)i, from, size);
        }
        for (int i = 0; i < FLOOD; i++) {
            xport_world_move(w);
        }
        assert_int_equal(hb_xport_test(w->x[0], s[FLOOD - 1], NULL, NULL), 0);
        for (int i = 0; i < FLOOD; i++) {
            r = start_recv(w, 1, 0, (uint64_t)i, UINT64_MAX, to, size);
            assert_int_equal(xport_world_finish(w, 1, r, NULL, NULL), 1);
        }
        for (int i = 0; i < FLOOD; i++) {
            assert_int_equal(xport_world_finish(w, 0, s[i], NULL, NULL), 1);
        }
    }
    /* Afterwards messages leave at once again. */
    assert_int_equal(xport_world_finish(w, 0, start_send(w, 0, 1, 1, from, 8),
                                        NULL, NULL), 1);
    free(from);
    free(to);
}

/* Its patience ended before rank 0 looked; it is not dead. */
static void test_a_caller_that_hung_up_comes_again(void **state)
{
    struct xport_world *w = *state;
    struct { /* as in tcp_meet.c */
        uint64_t magic;
        unsigned char token[HB_ADDRESS_TOKEN];
        uint32_t from, to;
        struct hb_caps caps;
    } g = {.magic = 0x6870634254435031ull, .from = 1,
           .caps = {.may = 1u << HB_BY_TCP | 1u << HB_BY_UCX,
                    .ucx_kind = HB_UCX_TCP}};
    const unsigned char *told = (unsigned char *)w->card[0].data;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(told[0] << 8 | told[1]),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), word = 7, got = 0;
    struct hb_xport_req *r = start_recv(w, 0, 1, 2, UINT64_MAX, &got,
                                        sizeof got), *s;

    memcpy(g.token, told + 2, sizeof g.token);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(write(fd, &g, sizeof g), sizeof g);
    close(fd);
    for (int i = 0; i < 8; i++) {
        xport_world_move(w);
        assert_int_equal(hb_xport_test(w->x[0], r, NULL, NULL), 0);
    }
    s = start_send(w, 1, 0, 2, &word, sizeof word);
    assert_int_equal(xport_world_finish(w, 0, r, NULL, NULL), 1);
    assert_int_equal(xport_world_finish(w, 1, s, NULL, NULL), 1);
    assert_int_equal(got, 7);
}

/* ---- which carrier ---- */

static int try_open(const char *transports, const char *fabric,
                    struct hpcboot_error *err)
{
    struct hb_xport *x = NULL;
    struct hb_buf address;
    int rc;

    hb_buf_init(&address, 255);
    setenv("HPCBOOT_TRANSPORTS", transports, 1);
    setenv("HPCBOOT_FABRIC", fabric, 1);
    rc = hb_xport_open(&x, &address, err);
    unsetenv("HPCBOOT_FABRIC");
    hb_xport_destroy(x);
    hb_buf_destroy(&address);
    return rc;
}

static void test_a_transport_that_is_none(void **state)
{
    struct hpcboot_error err = {0};

    assert_int_equal(try_open("tcp,smoke", "", &err), HPCBOOT_ERR_USAGE);
    assert_non_null(strstr(err.text, "\"smoke\" is none"));
}

static void test_a_fabric_without_a_device(void **state)
{
    struct hpcboot_error err = {0};
    struct hb_caps caps = {0};

    if (hb_caps_rdma("", NULL, 0, &caps, NULL) > 0) {
        skip(); /* this host has one */
    }
    assert_int_equal(try_open("", "roce", &err), HPCBOOT_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "HPCBOOT_FABRIC=roce (--fabric): this "
                           "host has no such"));
    assert_int_equal(try_open("", "auto", &err), 0);
    assert_int_equal(try_open("tcp", "roce", &err), 0);
}

static void test_a_fabric_that_was_only_found_gives_way(void **state)
{
    struct hb_caps caps = {0};
    struct hb_xport *x = NULL;
    struct hb_buf address;

    if (hb_caps_rdma("", NULL, 0, &caps, NULL) > 0) {
        skip(); /* this host has one */
    }
    hb_buf_init(&address, 255);
    setenv("HPCBOOT_TRANSPORTS", "", 1);
    setenv("HPCBOOT_FABRIC", "roce", 1);
    setenv("HPCBOOT_FABRIC_WISH", "auto", 1);
    assert_int_equal(hb_xport_open(&x, &address, NULL), 0);
    unsetenv("HPCBOOT_FABRIC");
    unsetenv("HPCBOOT_FABRIC_WISH");
    assert_non_null(strstr(hb_xport_warning(x), "--fabric auto found roce, "
                           "but messages go over TCP: this host has no"));
    hb_xport_destroy(x);
    hb_buf_destroy(&address);
}

static void test_both_ends_choose_alike(void **state)
{
    struct hb_caps c[] = {
        {.may = 2, .tcp_mbps = 10000},
        {.may = 6, .ucx_kind = HB_UCX_IB, .ucx_mbps = 200000},
        {.may = 6, .ucx_kind = HB_UCX_ROCE, .ucx_mbps = 100000},
        {.may = 6, .ucx_kind = HB_UCX_SOFT, .ucx_mbps = 10000},
        {.may = 4, .ucx_kind = HB_UCX_SOFT, .ucx_mbps = 10000},
        {.may = 4, .ucx_kind = HB_UCX_TCP, .tcp_mbps = 25000},
        {.may = 4, .ucx_kind = HB_UCX_IB, .ucx_version = 1},
    };
    const int n = sizeof c / sizeof *c;

    for (int a = 0; a < n; a++) {
        for (int b = 0; b < n; b++) {
            assert_int_equal(hb_carry_by(&c[a], &c[b]),
                             hb_carry_by(&c[b], &c[a]));
        }
    }
    assert_int_equal(hb_carry_by(&c[1], &c[1]), HB_BY_UCX);
    assert_int_equal(hb_carry_by(&c[2], &c[2]), HB_BY_UCX);
    assert_int_equal(hb_carry_by(&c[1], &c[2]), HB_BY_TCP);
    assert_int_equal(hb_carry_by(&c[3], &c[3]), HB_BY_TCP);
    assert_int_equal(hb_carry_by(&c[3], &c[4]), HB_BY_UCX);
    assert_int_equal(hb_carry_by(&c[0], &c[4]), HB_BY_NONE);
    assert_int_equal(hb_carry_by(&c[1], &c[6]), HB_BY_NONE);
}

/* Every length around the edges of cells, records and the ring itself, and of
 * what TCP is given at a time. */
static void test_lengths_at_the_edges(void **state)
{
    static const size_t around[] = {0, 40, 104, 424, 448, 1984, 2048, 4096,
                                    63439, 65535, 190415, 190463, 253903};
    const size_t room = 260000;
    struct xport_world *w = *state;
    char *from = malloc(room), *to = malloc(room);

    for (size_t i = 0; i < 3 * sizeof around / sizeof *around; i++) {
        size_t size = around[i / 3] + i % 3;
        struct hb_xport_req *s, *r;

        for (size_t k = 0; k < size; k++) {
            from[k] = (char)(k * 7 + (k >> 8) + i);
        }
        memset(to, 0, room);
        s = start_send(w, 2, 1, 9, from, size);
        r = start_recv(w, 1, 2, 9, UINT64_MAX, to, room);
        assert_int_equal(xport_world_finish(w, 1, r, NULL, NULL), 1);
        assert_int_equal(xport_world_finish(w, 2, s, NULL, NULL), 1);
        assert_memory_equal(from, to, size);
        assert_int_equal(to[size], 0);
    }
    free(from);
    free(to);
}

/* It goes on from a copy, also one whose turn has not come. */
static void test_a_cancelled_send_leaves_its_buffer_alone(void **state)
{
    struct xport_world *w = *state;
    char *first = malloc(BIG), *to = malloc(BIG);
    int second = 2, third = 3, got = 0;
    struct hb_xport_req *s, *middle, *last, *r;

    memset(first, 'x', BIG);
    s = start_send(w, 0, 1, 1, first, BIG);
    middle = start_send(w, 0, 1, 2, &second, sizeof second);
    last = start_send(w, 0, 1, 2, &third, sizeof third);
    hb_xport_cancel(w->x[0], middle);
    hb_xport_cancel(w->x[0], s);
    memset(first, 'y', BIG);
    second = 4;
    r = start_recv(w, 1, 0, 1, UINT64_MAX, to, BIG);
    assert_int_equal(xport_world_finish(w, 1, r, NULL, NULL), 1);
    assert_int_equal(to[0], 'x');
    assert_int_equal(to[BIG - 1], 'x');
    for (int n = 2; n <= 3; n++) {
        r = start_recv(w, 1, 0, 2, UINT64_MAX, &got, sizeof got);
        assert_int_equal(xport_world_finish(w, 1, r, NULL, NULL), 1);
        assert_int_equal(got, n);
    }
    assert_int_equal(xport_world_finish(w, 0, last, NULL, NULL), 1);
    free(first);
    free(to);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED
#endif
#define HUGE_BYTES ((size_t)256 << 20)

/* No more than there is now, and a little. */
static struct rlimit take_memory_away(void)
{
    struct rlimit before, now;
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu", &pages), 1);
    fclose(f);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    now = before;
    now.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + HUGE_BYTES / 8;
    assert_int_equal(setrlimit(RLIMIT_AS, &now), 0);
    return before;
}

/* Its buffer is the user's again at once; who waits for it is told. */
static void test_a_begun_send_is_given_up_without_memory(void **state)
{
    struct xport_world *w = *state;
    char *from, *to;
    struct hb_xport_req *s, *r;
    struct rlimit before;
    struct hpcboot_error err = {0};

    from = calloc(1, HUGE_BYTES);
    to = malloc(HUGE_BYTES);
    s = start_send(w, 0, 1, 1, from, HUGE_BYTES);
    r = start_recv(w, 1, 0, 1, UINT64_MAX, to, HUGE_BYTES);
    for (int i = 0; i < 6; i++) {
        (void)hb_xport_progress(w->x[i % 2]);
    }
    before = take_memory_away();
    hb_xport_cancel(w->x[0], s);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    free(from);
    assert_true(xport_world_finish(w, 1, r, NULL, &err) < 0);
    assert_true(err.text[0] != '\0');
    free(to);
}

/* What is under way when the transport ends is not lost to the heap. */
static void test_an_end_in_the_middle(void **state)
{
    struct xport_world *w = *state;
    char *from = calloc(1, BIG), *to = malloc(BIG);
    struct hb_xport_req *s = start_send(w, 0, 1, 1, from, BIG);
    struct hb_xport_req *r = start_recv(w, 1, 0, 1, UINT64_MAX, to, BIG);

    (void)hb_xport_progress(w->x[1]);
    hb_xport_cancel(w->x[1], r);
    hb_xport_cancel(w->x[0], s);
    free(from);
    free(to);
}

#define ON_NODE(name) \
    cmocka_unit_test_setup_teardown(name, set_up_node, xport_world_tear_down)
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, set_up, xport_world_tear_down)

static void by_ucx(void)
{
#ifdef __SANITIZE_THREAD__ /* threads call its hook as TSan forgets them */
    setenv("UCX_MEM_EVENTS", "n", 0);
#endif
    setenv("HPCBOOT_TRANSPORTS", "ucx", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_small_and_large_whichever_comes_first),
        TEST(test_any_source_and_tag),
        TEST(test_order_is_kept_between_two),
        TEST(test_a_message_to_oneself),
        TEST(test_what_could_not_be_kept_is_said),
        TEST(test_what_does_not_fit_is_said),
        TEST(test_a_cancelled_receive_leaves_its_buffer_alone),
        TEST(test_a_peer_that_is_gone),
        TEST(test_a_caller_that_hung_up_comes_again),
        TEST(test_a_flood_waits_at_its_sender),
        TEST(test_lengths_at_the_edges),
    };
    const struct CMUnitTest node[] = {
        ON_NODE(test_small_and_large_whichever_comes_first),
        ON_NODE(test_any_source_and_tag),
        ON_NODE(test_order_is_kept_between_two),
        ON_NODE(test_a_message_to_oneself),
        ON_NODE(test_what_does_not_fit_is_said),
        ON_NODE(test_a_cancelled_receive_leaves_its_buffer_alone),
        ON_NODE(test_lengths_at_the_edges),
        ON_NODE(test_a_cancelled_send_leaves_its_buffer_alone),
        ON_NODE(test_an_end_in_the_middle),
    };
    /* Not by UCX, which has the buffer until all of it has left. */
    const struct CMUnitTest memory[] = {
        TEST(test_a_begun_send_is_given_up_without_memory),
        ON_NODE(test_a_begun_send_is_given_up_without_memory),
    };
    const struct CMUnitTest wishes[] = {
        cmocka_unit_test(test_a_transport_that_is_none),
        cmocka_unit_test(test_a_fabric_without_a_device),
        cmocka_unit_test(test_a_fabric_that_was_only_found_gives_way),
        cmocka_unit_test(test_both_ends_choose_alike),
    };

    xport_find_modules();
    setenv("HPCBOOT_TRANSPORTS", "tcp", 1);
    int failed = cmocka_run_group_tests_name("tcp", tests, NULL, NULL);
    failed += cmocka_run_group_tests_name("rings", node, NULL, NULL);
#ifdef IS_SANITIZED
    print_message("# sends given up without memory are not tried: a sanitizer "
                  "takes more than a limit leaves\n");
    (void)memory;
#else
    failed += cmocka_run_group_tests_name("memory", memory, NULL, NULL);
#endif
    by_ucx();
#ifdef HAVE_UCX
    failed += cmocka_run_group_tests_name("ucx", tests, NULL, NULL);
#endif
    failed += cmocka_run_group_tests_name("wishes", wishes, NULL, NULL);
    return failed;
}
