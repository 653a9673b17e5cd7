/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* How two ranks come to one TCP connection, whoever calls, in whatever order
 * things happen, and what an impatient caller leaves behind. Rank 0 and rank 1
 * are in this process; who calls rank 0 by hand is rank 1 as well. */
#include "config.h"

#include "lib/xport/address.h"
#include "lib/xport/choose.h"
#include "xport_world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define RANKS 2
#define CONTEXT 5u
#define MESSAGES 3
#define SEEDS 300u
#define TURNS 4000000 /* of progress: far more than a busy machine needs */
#define ANSWER_MS 10000 /* of the system, which takes no time */

/* One of those who are there, drawn at random, moves on. */
static void turn(struct xport_world *p)
{
    struct hb_xport *x = p->x[rand_r(&p->seed) % RANKS];

    if (x != NULL) {
        (void)hb_xport_progress(x);
    }
}

static int finish(struct xport_world *p, int rank, struct hb_xport_req *r)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < TURNS; i++) {
        turn(p);
        rc = hb_xport_test(p->x[rank], r, NULL, NULL);
    }
    return rc;
}

static struct hb_xport_req *send_word(struct xport_world *p, int from,
                                      const int *word)
{
    struct hb_xport_req *r = NULL;

    assert_int_equal(hb_xport_send(p->x[from], !from, CONTEXT, 1, word,
                                   sizeof *word, &r, NULL), 0);
    return r;
}

static struct hb_xport_req *recv_word(struct xport_world *p, int at, int *word)
{
    struct hb_xport_req *r = NULL;

    assert_int_equal(hb_xport_recv(p->x[at], !at, CONTEXT, 1, UINT64_MAX, word,
                                   sizeof *word, &r, NULL), 0);
    return r;
}

/* Both send before either has moved, and then one of them runs ahead. */
static void one_crossing(struct xport_world *p, int before)
{
    int words[RANKS][MESSAGES], got[RANKS][MESSAGES] = {{0}};
    struct hb_xport_req *s[RANKS][MESSAGES], *r[RANKS][MESSAGES];

    for (int i = 0; i < MESSAGES; i++) {
        for (int from = 0; from < RANKS; from++) {
            words[from][i] = 1 + 10 * from + i;
            s[from][i] = send_word(p, from, &words[from][i]);
            r[from][i] = recv_word(p, from, &got[from][i]);
            turn(p);
        }
    }
    for (unsigned n = p->seed % 7, who = p->seed % 2; n > 0; n--) {
        (void)hb_xport_progress(p->x[who]);
    }
    for (int i = 0; i < MESSAGES; i++) {
        for (int at = 0; at < RANKS; at++) {
            assert_int_equal(finish(p, at, r[at][i]), 1);
            assert_int_equal(finish(p, at, s[at][i]), 1);
            assert_int_equal(got[at][i], words[!at][i]);
        }
    }
    for (int i = 0; xport_descriptors() != before + 2 && i < TURNS; i++) {
        turn(p);
    }
    assert_int_equal(xport_descriptors(), before + 2);
}

static void test_two_that_call_each_other_keep_one_connection(void **state)
{
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        void *p;
        int before;

        (void)xport_world_set_up(&p);
        before = xport_descriptors();
        ((struct xport_world *)p)->seed = seed;
        one_crossing(p, before);
        (void)xport_world_tear_down(&p);
    }
}

/* To the port of a rank; the system need not have answered yet. */
static int begin_to_call(struct xport_world *p, int rank)
{
    const unsigned char *told = (unsigned char *)p->card[rank].data;
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(told[0] << 8 | told[1]),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0) {
        assert_int_equal(errno, EINPROGRESS);
    }
    return fd;
}

static int connect_to(struct xport_world *p, int rank)
{
    struct pollfd one = {.fd = begin_to_call(p, rank), .events = POLLOUT};

    assert_int_equal(poll(&one, 1, ANSWER_MS), 1);
    assert_int_equal(fcntl(one.fd, F_SETFL, 0), 0);
    return one.fd;
}

/* ---- rank 1 by hand ---- */

/* A caller that has its answer. */
static int call(struct xport_world *p)
{
    struct { /* as in tcp_meet.c */
        uint64_t magic;
        unsigned char token[HB_ADDRESS_TOKEN];
        uint32_t from, to;
        struct hb_caps caps;
        uint32_t rail;
    } g = {.magic = 0x6870634254435031ull, .from = 1,
           .caps = {.may = 1u << HB_BY_TCP}};
    int fd = connect_to(p, 0);
    char answer[16];
    ssize_t n = -1;

    memcpy(g.token, p->card[0].data + 2, sizeof g.token);
    assert_int_equal(write(fd, &g, sizeof g), sizeof g);
    for (int i = 0; n < 0 && i < TURNS; i++) {
        (void)hb_xport_progress(p->x[0]);
        n = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
    }
    assert_int_equal(n, sizeof answer);
    return fd;
}

/* A message waits for the first word of a caller that hangs up instead. */
static void test_what_waits_for_a_caller_leaves_without_it(void **state)
{
    struct xport_world *p = *state;
    int word = 7, got = 0, fd = call(p);
    struct hb_xport_req *s = send_word(p, 0, &word);
    struct hb_xport_req *r = recv_word(p, 1, &got);

    for (int i = 0; i < MESSAGES; i++) {
        (void)hb_xport_progress(p->x[0]);
    }
    assert_int_equal(hb_xport_test(p->x[0], s, NULL, NULL), 0);
    close(fd);
    assert_int_equal(finish(p, 1, r), 1);
    assert_int_equal(finish(p, 0, s), 1);
    assert_int_equal(got, 7);
}

/* It takes its first call for lost, and calls again. */
static void test_the_call_that_a_word_comes_by_is_used(void **state)
{
    struct { /* a message; as in tcp_impl.h */
        uint32_t kind, source, context, seq;
        uint64_t tag, size, id, take;
        int word;
    } m = {.kind = 1, .source = 1, .context = CONTEXT, .tag = 1,
           .size = sizeof(int), .word = 9};
    const size_t size = offsetof(__typeof__(m), word) + sizeof m.word;
    struct xport_world *p = *state;
    int word = 7, got = 0, first = call(p), second = call(p);
    struct hb_xport_req *s = send_word(p, 0, &word);
    struct hb_xport_req *r = recv_word(p, 0, &got);

    assert_int_equal(send(second, &m, size, 0), size);
    assert_int_equal(finish(p, 0, r), 1);
    assert_int_equal(got, 9);
    assert_int_equal(finish(p, 0, s), 1);
    memset(&m, 0, sizeof m);
    assert_int_equal(recv(second, &m, size, 0), size);
    assert_int_equal(m.word, 7);
    assert_int_equal(recv(first, &m, size, 0), 0); /* closed */
    close(first);
    close(second);
}

static void test_words_of_a_peer_outlive_a_write_that_fails(void **state)
{
    struct xport_world *p = *state;
    int words[MESSAGES] = {1, 2, 3}, got = 0, rc = 0;
    struct hb_xport_req *first = send_word(p, 1, words);

    assert_int_equal(finish(p, 0, recv_word(p, 0, &got)), 1);
    assert_int_equal(finish(p, 1, first), 1);
    for (int i = 1; i < MESSAGES; i++) {
        assert_int_equal(finish(p, 1, send_word(p, 1, &words[i])), 1);
    }
    hb_xport_destroy(p->x[1]);
    p->x[1] = NULL;
    for (int i = 0; rc == 0 && i < TURNS; i++) { /* without a look at it */
        struct hb_xport_req *s;

        rc = hb_xport_send(p->x[0], 1, CONTEXT, 2, words, sizeof words, &s,
                           NULL);
        if (rc == 0 && hb_xport_test(p->x[0], s, NULL, NULL) < 0) {
            rc = HPCBOOT_ERR_PEER_DEAD;
        }
    }
    assert_int_equal(rc, HPCBOOT_ERR_PEER_DEAD);
    for (int i = 1; i < MESSAGES; i++) {
        assert_int_equal(finish(p, 0, recv_word(p, 0, &got)), 1);
        assert_int_equal(got, words[i]);
    }
}

/* It is told once, to nobody's request; and what comes later does not wait. */
static void test_a_lost_connection_is_known_to_who_asks_later(void **state)
{
    struct xport_world *p = *state;
    int word = 7, got = 0;
    struct hb_xport_req *s = send_word(p, 1, &word), *r;

    r = recv_word(p, 0, &got);
    assert_int_equal(finish(p, 0, r), 1);
    assert_int_equal(finish(p, 1, s), 1);
    assert_int_equal(p->ranks[0].lost, 0);
    hb_xport_destroy(p->x[1]);
    p->x[1] = NULL;
    for (int i = 0; p->ranks[0].lost == 0 && i < TURNS; i++) {
        (void)hb_xport_progress(p->x[0]);
    }
    r = recv_word(p, 0, &got);
    assert_int_equal(hb_xport_test(p->x[0], r, NULL, NULL),
                     HPCBOOT_ERR_PEER_DEAD);
    assert_int_equal(p->ranks[0].lost, 1);
}

/* A long message was offered before: who takes it, from whomever, has a request
 * whose end waits for the cause, and no error at once. */
static void test_an_offer_of_one_that_is_gone_is_a_receive_that_fails(
    void **state)
{
    static char big[1 << 20];
    struct xport_world *p = *state;
    struct hb_xport_req *offer, *s, *r;
    int word = 7, got = 0;

    assert_int_equal(hb_xport_send(p->x[1], 0, CONTEXT, 2, big, sizeof big,
                                   &offer, NULL), 0);
    s = send_word(p, 1, &word);
    r = recv_word(p, 0, &got);
    assert_int_equal(finish(p, 0, r), 1);
    assert_int_equal(finish(p, 1, s), 1);
    hb_xport_destroy(p->x[1]);
    p->x[1] = NULL;
    for (int i = 0; p->ranks[0].lost == 0 && i < TURNS; i++) {
        (void)hb_xport_progress(p->x[0]);
    }
    p->held = 1;
    assert_int_equal(hb_xport_recv(p->x[0], HB_XPORT_ANY, CONTEXT, 2,
                                   UINT64_MAX, big, sizeof big, &r, NULL), 0);
    assert_int_equal(hb_xport_test(p->x[0], r, NULL, NULL), 0);
    assert_int_equal(p->asked_of, 1);
    p->held = 0;
    assert_int_equal(hb_xport_test(p->x[0], r, NULL, NULL),
                     HPCBOOT_ERR_PEER_DEAD);
}

/* ---- strangers ---- */

#define STRANGERS 300 /* more than may wait at once */

static void strangers_come(struct xport_world *p, int fds[STRANGERS])
{
    for (int i = 0; i < STRANGERS; i++) {
        fds[i] = connect_to(p, 0);
        (void)hb_xport_progress(p->x[0]);
    }
}

static void strangers_go(const int fds[STRANGERS])
{
    for (int i = 0; i < STRANGERS; i++) {
        close(fds[i]);
    }
}

static void test_of_silent_callers_the_first_give_way(void **state)
{
    struct xport_world *p = *state;
    int fds[STRANGERS], before = xport_descriptors();
    char answer[32];

    strangers_come(p, fds);
    assert_in_range(xport_descriptors() - before - STRANGERS, 1, STRANGERS / 2);
    assert_int_equal(recv(fds[0], answer, sizeof answer, 0), 16);
    assert_int_equal(recv(fds[0], answer, sizeof answer, 0), 0);
    assert_int_equal(recv(fds[STRANGERS - 1], answer, sizeof answer,
                          MSG_DONTWAIT), -1);
    strangers_go(fds);
    for (int i = 0; xport_descriptors() != before && i < TURNS; i++) {
        (void)hb_xport_progress(p->x[0]);
    }
    assert_int_equal(xport_descriptors(), before);
}

/* There is no other way to it. */
static void leave_one_address(struct xport_world *p, int rank)
{
    struct hb_interfaces one = {.n = 1};
    struct sockaddr_in *at = (struct sockaddr_in *)&one.list[0].at;
    const struct hb_caps caps = {.may = 1u << HB_BY_TCP};
    unsigned char told[2 + HB_ADDRESS_TOKEN];

    at->sin_family = AF_INET;
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memcpy(told, p->card[rank].data, sizeof told);
    hb_buf_clear(&p->card[rank]);
    hb_endpoint_put(&p->card[rank], &one, (uint16_t)(told[0] << 8 | told[1]),
                    told + 2);
    hb_endpoint_put_caps(&p->card[rank], &caps);
}

/* Rank 1 has connected, and computes. */
static void test_many_callers_leave_others_their_turn(void **state)
{
    struct xport_world *p = *state;
    int fds[STRANGERS], before = xport_descriptors(), looks = 100000;
    char answer[32];

    for (int i = 0; i < STRANGERS; i++) {
        fds[i] = connect_to(p, 0);
    }
    (void)hb_xport_progress(p->x[0]);
    assert_in_range(xport_descriptors() - before - STRANGERS, 1, STRANGERS / 4);
    while (looks-- > 0) {
        (void)hb_xport_progress(p->x[0]);
    }
    assert_int_equal(recv(fds[0], answer, sizeof answer, MSG_DONTWAIT), 16);
    strangers_go(fds);
}

static void test_a_peer_that_gave_way_to_strangers_calls_again(void **state)
{
    struct xport_world *p = *state;
    int fds[STRANGERS], word = 7, got = 0;
    struct hb_xport_req *s, *r = recv_word(p, 0, &got);

    leave_one_address(p, 0);
    s = send_word(p, 1, &word);
    (void)hb_xport_progress(p->x[0]);
    strangers_come(p, fds);
    assert_int_equal(finish(p, 0, r), 1);
    assert_int_equal(finish(p, 1, s), 1);
    assert_int_equal(got, word);
    assert_int_equal(p->ranks[0].lost + p->ranks[1].lost, 0);
    strangers_go(fds);
}

/* ---- descriptors run out ---- */

static struct rlimit take_descriptors(void)
{
    int lowest = dup(STDIN_FILENO);
    struct rlimit was, none;

    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = was;
    none.rlim_cur = (rlim_t)lowest;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    return was;
}

/* How a message fails to leave. */
static void assert_refused(struct xport_world *p, int from, const char *word)
{
    int rc, text = 7;
    struct hpcboot_error err = {0};
    struct hb_xport_req *r = NULL;

    rc = hb_xport_send(p->x[from], !from, CONTEXT, 1, &text, sizeof text, &r,
                       &err);
    for (int i = 0; rc == 0 && i < TURNS; i++) {
        turn(p);
        rc = hb_xport_test(p->x[from], r, NULL, &err);
    }
    assert_int_equal(rc, HPCBOOT_ERR_SYSTEM);
    assert_non_null(strstr(err.text, word));
    assert_non_null(strstr(err.text, "ulimit -n"));
}

/* Its call has been taken by the system, and would wait for ever. */
static void test_a_caller_hears_that_it_cannot_be_let_in(void **state)
{
    struct xport_world *p = *state;
    int word = 7, rc = 0, before;
    struct hb_xport_req *s = send_word(p, 0, &word);
    struct hpcboot_error err = {0};
    struct rlimit was = take_descriptors();

    for (int i = 0; rc == 0 && i < TURNS; i++) {
        turn(p);
        rc = hb_xport_test(p->x[0], s, NULL, &err);
    }
    assert_int_equal(rc, HPCBOOT_ERR_SYSTEM);
    assert_non_null(strstr(err.text, "it has no file descriptor left"));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    before = xport_descriptors();
    assert_refused(p, 0, "no file descriptor");
    assert_int_equal(xport_descriptors(), before);
}

/* What it has given up is no cut of the network, nor a death. */
static void test_who_cannot_call_says_so_and_so_hears_the_peer(void **state)
{
    struct xport_world *p = *state;
    struct rlimit was = take_descriptors();

    assert_refused(p, 0, "this rank has no file descriptor left");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_refused(p, 1, "it has given up");
}

/* The descriptor that is kept to refuse by is the stranger's. */
static void test_a_stranger_does_not_keep_others_from_hearing(void **state)
{
    struct xport_world *p = *state;
    int word = 7, rc = 0, stranger = connect_to(p, 0);
    struct hb_xport_req *s = send_word(p, 1, &word);
    struct hpcboot_error err = {0};
    struct rlimit was = take_descriptors();

    for (int i = 0; rc == 0 && i < TURNS; i++) {
        turn(p);
        rc = hb_xport_test(p->x[1], s, NULL, &err);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_int_equal(rc, HPCBOOT_ERR_SYSTEM);
    assert_non_null(strstr(err.text, "it has no file descriptor left"));
    close(stranger);
}

static void test_a_peer_gets_the_descriptor_of_a_stranger(void **state)
{
    struct xport_world *p = *state;
    int word = 7, got = 0, stranger = connect_to(p, 0);
    struct hb_xport_req *s, *r = recv_word(p, 0, &got);
    struct rlimit was;

    (void)hb_xport_progress(p->x[0]);
    s = send_word(p, 1, &word);
    was = take_descriptors();
    assert_int_equal(finish(p, 0, r), 1);
    assert_int_equal(finish(p, 1, s), 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_int_equal(got, word);
    close(stranger);
}

static void test_a_call_gets_the_descriptor_of_a_stranger(void **state)
{
    struct xport_world *p = *state;
    int word = 7, got = 0, strangers[2] = {connect_to(p, 0), connect_to(p, 0)};
    struct hb_xport_req *s, *r = recv_word(p, 1, &got);
    struct rlimit was;

    (void)hb_xport_progress(p->x[0]);
    was = take_descriptors();
    s = send_word(p, 0, &word); /* a stranger's */
    close(strangers[0]);
    assert_int_equal(finish(p, 1, r), 1);
    assert_int_equal(finish(p, 0, s), 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_int_equal(got, word);
    close(strangers[1]);
}

static void test_strangers_have_a_small_part_of_few_descriptors(void **state)
{
    struct xport_world *p = *state;
    int fds[STRANGERS], before = xport_descriptors();
    struct rlimit was, few;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    few = was;
    few.rlim_cur = (rlim_t)(STRANGERS + before + 2 * STRANGERS / 10);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    strangers_come(p, fds);
    assert_in_range(xport_descriptors() - before - STRANGERS, 1,
                    (int)few.rlim_cur / 8);
    strangers_go(fds);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

static void test_an_empty_send_is_given_up_before_there_is_a_connection(
    void **state)
{
    struct xport_world *p = *state;
    struct hb_xport_req *empty = NULL, *r;
    int word = 7, got = 0;

    assert_int_equal(hb_xport_send(p->x[0], 1, CONTEXT, 2, NULL, 0, &empty,
                                   NULL), 0);
    hb_xport_cancel(p->x[0], empty);
    r = recv_word(p, 1, &got);
    assert_int_equal(finish(p, 0, send_word(p, 0, &word)), 1);
    assert_int_equal(finish(p, 1, r), 1);
    assert_int_equal(got, word);
}

#define CALLERS 1100u

/* That many have called rank 0, which computes, and the system has answered
 * each; what they do not hear they would take for a cut. */
static void test_the_system_alone_limits_how_many_call_at_once(void **state)
{
    struct xport_world *p = *state;
    struct pollfd calls[CALLERS];
    struct rlimit fds;
    FILE *f = fopen("/proc/sys/net/core/somaxconn", "re");
    unsigned most = 0;

    if (f == NULL || fscanf(f, "%u", &most) != 1 || most < CALLERS ||
        getrlimit(RLIMIT_NOFILE, &fds) < 0 || fds.rlim_cur < 2 * CALLERS) {
        most = 0;
    }
    if (f != NULL) {
        fclose(f);
    }
    if (most == 0) {
        skip();
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        calls[i] = (struct pollfd){.fd = begin_to_call(p, 0),
                                   .events = POLLOUT};
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        assert_int_equal(poll(&calls[i], 1, ANSWER_MS), 1);
        close(calls[i].fd);
    }
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, xport_world_set_up, \
                                    xport_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_that_call_each_other_keep_one_connection),
        TEST(test_what_waits_for_a_caller_leaves_without_it),
        TEST(test_the_call_that_a_word_comes_by_is_used),
        TEST(test_words_of_a_peer_outlive_a_write_that_fails),
        TEST(test_a_lost_connection_is_known_to_who_asks_later),
        TEST(test_an_offer_of_one_that_is_gone_is_a_receive_that_fails),
        TEST(test_of_silent_callers_the_first_give_way),
        TEST(test_many_callers_leave_others_their_turn),
        TEST(test_a_peer_that_gave_way_to_strangers_calls_again),
        TEST(test_a_caller_hears_that_it_cannot_be_let_in),
        TEST(test_who_cannot_call_says_so_and_so_hears_the_peer),
        TEST(test_a_stranger_does_not_keep_others_from_hearing),
        TEST(test_a_peer_gets_the_descriptor_of_a_stranger),
        TEST(test_a_call_gets_the_descriptor_of_a_stranger),
        TEST(test_strangers_have_a_small_part_of_few_descriptors),
        TEST(test_an_empty_send_is_given_up_before_there_is_a_connection),
        TEST(test_the_system_alone_limits_how_many_call_at_once),
    };

    setenv("HPCBOOT_TRANSPORTS", "tcp", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
