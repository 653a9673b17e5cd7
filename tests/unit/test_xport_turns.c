/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Two ranks that speak by turns, over TCP: one is late, and two words of the
 * other have come. It may look at one at a time, but misses none. And two that
 * have many long messages for each other, which one takes in an order of its
 * own; or many receives that name less than a source and a tag. And two of
 * which one computes for hours before it looks at the network at all. */
#include "config.h"

#include "lib/xport/tcp_impl.h"
#include "xport_world.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define RANKS 2
#define CONTEXT 5u
#define TURNS 4000000 /* of progress: far more than a busy machine needs */
#define LONG_WORD 1000 /* bytes: more than a word */

static struct hb_xport_req *send_bytes(struct xport_world *p, int from,
                                       uint64_t tag, const void *bytes,
                                       size_t size)
{
    struct hb_xport_req *r = NULL;

    assert_int_equal(hb_xport_send(p->x[from], !from, CONTEXT, tag, bytes,
                                   size, &r, NULL), 0);
    return r;
}

static struct hb_xport_req *recv_bytes(struct xport_world *p, int at,
                                       uint64_t tag, void *bytes, size_t size)
{
    struct hb_xport_req *r = NULL;

    assert_int_equal(hb_xport_recv(p->x[at], !at, CONTEXT, tag, UINT64_MAX,
                                   bytes, size, &r, NULL), 0);
    return r;
}

/* Only this rank moves, mostly. */
static void finish(struct xport_world *p, int rank, struct hb_xport_req *r)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < TURNS; i++) {
        rc = hb_xport_test(p->x[rank], r, NULL, NULL);
        if (rc == 0 && p->x[!rank] != NULL) {
            (void)hb_xport_progress(p->x[!rank]);
        }
    }
    assert_int_equal(rc, 1);
}

static void say(struct xport_world *p, int from, uint64_t tag, int word)
{
    finish(p, from, send_bytes(p, from, tag, &word, sizeof word));
}

static void hear(struct xport_world *p, int at, int word)
{
    int got = 0;

    finish(p, at, recv_bytes(p, at, 1, &got, sizeof got));
    assert_int_equal(got, word);
}

/* Each has spoken, rank 1 last. */
static void speak_by_turns(struct xport_world *p)
{
    for (int i = 0; i < 4; i++) {
        say(p, 0, 1, i);
        hear(p, 1, i);
        say(p, 1, 1, 100 + i);
        hear(p, 0, 100 + i);
    }
}

static void both_come_in_order(void **state)
{
    struct xport_world *p = *state;

    for (int i = 0; i < 100; i++) {
        speak_by_turns(p);
        for (int k = 0; k < 1 + i % 5; k++) {
            say(p, 0, 1, 1000 + k);
        }
        for (int k = 0; k < 1 + i % 5; k++) {
            hear(p, 1, 1000 + k);
        }
    }
}

/* Whoever has been off its core looks once before it gives up. */
static void one_look_finds_what_lies_behind_another_word(void **state)
{
    struct xport_world *p = *state;
    struct hb_xport_req *second;
    int got = 0, other = 0;

    speak_by_turns(p);
    say(p, 0, 2, 7); /* which nobody awaits yet */
    say(p, 0, 1, 8);
    second = recv_bytes(p, 1, 1, &got, sizeof got);
    assert_int_equal(hb_xport_test(p->x[1], second, NULL, NULL), 1);
    assert_int_equal(got, 8);
    finish(p, 1, recv_bytes(p, 1, 2, &other, sizeof other));
    assert_int_equal(other, 7);
}

static void who_has_gone_is_heard_to_the_end(void **state)
{
    struct xport_world *p = *state;

    speak_by_turns(p);
    say(p, 0, 1, 21);
    say(p, 0, 1, 22);
    say(p, 0, 1, 23);
    hb_xport_destroy(p->x[0]);
    p->x[0] = NULL;
    hear(p, 1, 21);
    hear(p, 1, 22);
    hear(p, 1, 23);
}

/* What is looked for is as long as the word before. */
static void words_may_grow_and_shrink(void **state)
{
    static const size_t sizes[] = {4, LONG_WORD, 0, 4, 512, 513, 1};
    struct xport_world *p = *state;
    char out[LONG_WORD], in[LONG_WORD];

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct hb_xport_req *r;

        memset(out, (int)i + 1, sizeof out);
        memset(in, 0, sizeof in);
        say(p, 1, 1, 5);
        hear(p, 0, 5);
        finish(p, 0, send_bytes(p, 0, 1, out, sizes[i]));
        say(p, 0, 1, 6);
        r = recv_bytes(p, 1, 1, in, sizeof in);
        finish(p, 1, r);
        assert_memory_equal(in, out, sizes[i]);
        hear(p, 1, 6);
    }
}

/* The clock tells of others that are cut off, or do not answer a call. */
static void who_always_has_a_word_to_read_looks_at_the_clock(void **state)
{
    struct xport_world *p = *state;

    speak_by_turns(p);
    p->x[1]->tcp->looked_ns = 0;
    for (int i = 0; i < 100; i++) {
        say(p, 0, 1, i);
        hear(p, 1, i);
    }
    assert_int_not_equal(p->x[1]->tcp->looked_ns, 0);
}

#define LONG (HB_TCP_EAGER + 1)

/* How many rank 0 has made; *most_out: in one row. */
static size_t n_offers(const struct xport_world *p, size_t *most_out)
{
    size_t all = 0;

    *most_out = 0;
    for (size_t i = 0; i < HB_MATCH_ROWS; i++) {
        size_t n = 0;

        for (const struct hb_link *l = p->x[0]->tcp->offers[i].first;
             l != NULL; l = l->next) {
            n++;
        }
        all += n;
        *most_out = n > *most_out ? n : *most_out;
    }
    return all;
}

/* Who has many of them under way looks through few for each that is taken. */
static void of_many_offers_each_is_among_few(void **state)
{
    enum { MANY = 3 * HB_MATCH_ROWS };
    struct xport_world *p = *state;
    struct hb_xport_req *s[MANY], *r[MANY];
    char *body = calloc(LONG, 1), *got = calloc(LONG, 1);
    size_t most;

    assert_non_null(body);
    assert_non_null(got);
    for (size_t i = 0; i < MANY; i++) {
        s[i] = send_bytes(p, 0, i, body, LONG);
    }
    assert_int_equal(n_offers(p, &most), MANY);
    assert_int_equal(most, MANY / HB_MATCH_ROWS);
    for (size_t i = MANY; i-- > 0;) {
        r[i] = recv_bytes(p, 1, i, got, LONG);
    }
    for (size_t i = 0; i < MANY; i++) {
        finish(p, 0, s[i]);
        finish(p, 1, r[i]);
    }
    assert_int_equal(n_offers(p, &most), 0);
    free(body);
    free(got);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, xport_world_set_up, \
                                    xport_world_tear_down)

static size_t longest_row(const struct hb_table *t)
{
    size_t most = 0;

    for (uint32_t i = 0; i < t->n_rows; i++) {
        size_t n = 0;

        for (const struct hb_link *l = t->rows[i].first; l != NULL;
             l = l->next) {
            n++;
        }
        most = n > most ? n : most;
    }
    return most;
}

static void post(struct xport_world *p, int source, uint32_t context,
                 uint64_t tag, uint64_t mask)
{
    struct hb_xport_req *r;

    assert_int_equal(hb_xport_recv(p->x[0], source, context, tag, mask, NULL,
                                   0, &r, NULL), 0);
}

/* What differs in anything that it names is in no other message's way. */
static void of_many_wide_receives_each_is_among_few(void **state)
{
    enum { MANY = 12 * HB_MATCH_ROWS };
    struct xport_world *p = *state;
    const struct hb_table *wide = &p->x[0]->posted_wide;

    for (uint32_t i = 0; i < MANY; i++) {
        post(p, HB_XPORT_ANY, 2, i, UINT64_MAX);
        post(p, HB_XPORT_ANY, 4 + i, 0, 0);
        post(p, 1, 4 + i, 0, 0);
    }
    assert_int_equal(wide->n, 3 * MANY);
    assert_true(longest_row(wide) < 16);
}

static int tcp_option(int fd, int name)
{
    int value = 0;
    socklen_t len = sizeof value;

    assert_int_equal(getsockopt(fd, IPPROTO_TCP, name, &value, &len), 0);
    return value;
}

/* A network that loses packets loses a few in a row, too, on one of many
 * connections: several questions are no more than that. */
static void who_is_silent_is_asked_all_the_time_there_is(void **state)
{
    static const unsigned limits_s[] = {HB_TCP_LEAST_S, 5, HB_TCP_LIMIT_S};

    for (size_t i = 0; i < sizeof limits_s / sizeof *limits_s; i++) {
        struct hb_tcp t = {.limit_s = limits_s[i]};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), n, all_s;

        hb_tcp_be_quick(&t, fd);
        n = tcp_option(fd, TCP_KEEPCNT);
        all_s = tcp_option(fd, TCP_KEEPIDLE) +
                n * tcp_option(fd, TCP_KEEPINTVL);
        assert_in_range(n, limits_s[i] < 6 ? 3 : limits_s[i] / 2,
                        limits_s[i]);
        assert_in_range(all_s, limits_s[i], limits_s[i] + 1);
        close(fd);
    }
}

/* ---- rank 0 computes ---- */

#define HOURS 24
#define HOUR_NS ((int64_t)3600 * 1000 * 1000 * 1000)

static void ipv4(struct sockaddr_storage *at, const char *text)
{
    struct sockaddr_in *a = (struct sockaddr_in *)at;

    a->sin_family = AF_INET;
    assert_int_equal(inet_pton(AF_INET, text, &a->sin_addr), 1);
}

/* Rank 0 is called at so many addresses: 127.0.0.1, 127.0.0.2 and so on. */
static struct hb_tcp_conn *call_rank_0(struct xport_world *p, unsigned n,
                                       const int *word,
                                       struct hb_xport_req **sent)
{
    struct hb_interfaces at = {.n = n};
    const struct hb_caps caps = {.may = 1u << HB_BY_TCP};
    unsigned char told[2 + HB_ADDRESS_TOKEN];

    memcpy(told, p->card[0].data, sizeof told);
    for (unsigned i = 0; i < n; i++) {
        char text[32];

        snprintf(text, sizeof text, "127.0.0.%u", i + 1);
        ipv4(&at.list[i].at, text);
    }
    hb_buf_clear(&p->card[0]);
    hb_endpoint_put(&p->card[0], &at, (uint16_t)(told[0] << 8 | told[1]),
                    told + 2);
    hb_endpoint_put_caps(&p->card[0], &caps);
    *sent = send_bytes(p, 1, 1, word, sizeof *word);
    return p->x[1]->tcp->out[0];
}

static void is_taken_by_the_system(struct xport_world *p,
                                   const struct hb_tcp_conn *c)
{
    for (int i = 0; c->state != HB_TCP_GREETING && i < TURNS; i++) {
        (void)hb_xport_progress(p->x[1]);
    }
    assert_int_equal(c->state, HB_TCP_GREETING);
}

/* For rank 1, which looks at the clock. */
static void an_hour_goes_by(struct xport_world *p, struct hb_tcp_conn *c)
{
    c->begun_ns -= HOUR_NS;
    c->since_ns -= HOUR_NS;
    p->x[1]->tcp->looked_ns -= HOUR_NS;
    (void)hb_xport_progress(p->x[1]);
}

static void a_day_goes_by(struct xport_world *p, struct hb_tcp_conn *c)
{
    for (int i = 0; i < HOURS; i++) {
        is_taken_by_the_system(p, c);
        an_hour_goes_by(p, c);
    }
}

/* Calls that rank 0 has not accepted. */
static unsigned calls_waiting(const struct xport_world *p)
{
    struct tcp_info i;
    socklen_t len = sizeof i;

    assert_int_equal(getsockopt(p->x[0]->tcp->listen_fd, IPPROTO_TCP, TCP_INFO,
                                &i, &len), 0);
    return i.tcpi_unacked;
}

/* Rank 0 calls the library again. */
static void comes_back(struct xport_world *p, struct hb_xport_req *sent,
                       int word)
{
    hear(p, 0, word);
    finish(p, 1, sent);
}

/* The system keeps a place for each, whether its caller is still there or not,
 * and has few. */
static void who_computes_is_not_called_again(void **state)
{
    struct xport_world *p = *state;
    int word = 7;
    struct hb_xport_req *sent;
    struct hb_tcp_conn *c = call_rank_0(p, 1, &word, &sent);

    a_day_goes_by(p, c);
    assert_int_equal(calls_waiting(p), 1);
    comes_back(p, sent, word);
}

/* A round ends with the one that leads somewhere, and waits there. */
static void an_address_that_leads_nowhere_brings_no_more_calls(void **state)
{
    struct xport_world *p = *state;
    int word = 7;
    struct hb_xport_req *sent;
    struct hb_tcp_conn *c = call_rank_0(p, 2, &word, &sent);

    ipv4(&c->endpoint.at[1], "255.255.255.255");
    p->x[1]->tcp->ours.n = 0; /* no other host has the same */
    a_day_goes_by(p, c);
    assert_int_equal(calls_waiting(p), 2);
    comes_back(p, sent, word);
}

/* Each has been tried several times. */
static void several_addresses_bring_no_calls_without_end(void **state)
{
    struct xport_world *p = *state;
    int word = 7;
    struct hb_xport_req *sent;
    struct hb_tcp_conn *c = call_rank_0(p, 2, &word, &sent);

    p->x[1]->tcp->ours.n = 0;
    a_day_goes_by(p, c);
    assert_in_range(calls_waiting(p), 4, HOURS / 2);
    comes_back(p, sent, word);
}

/* It counts from when the system of the peer last took a call. */
static void a_cut_may_heal_when_the_peer_has_computed_for_long(void **state)
{
    struct xport_world *p = *state;
    int word = 7;
    struct hb_xport_req *sent;
    struct hb_tcp_conn *c = call_rank_0(p, 2, &word, &sent);
    const struct hb_endpoint good = c->endpoint;

    for (int i = 0; i < 2; i++) {
        is_taken_by_the_system(p, c);
        for (unsigned k = 0; i == 1 && k < c->endpoint.n; k++) {
            ipv4(&c->endpoint.at[k], "255.255.255.255");
        }
        an_hour_goes_by(p, c);
    }
    assert_int_equal(c->state, HB_TCP_CONNECTING);
    assert_int_equal(p->ranks[1].lost, 0);
    c->endpoint = good;
    p->x[1]->tcp->looked_ns = 0;
    comes_back(p, sent, word);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(both_come_in_order),
        TEST(one_look_finds_what_lies_behind_another_word),
        TEST(who_has_gone_is_heard_to_the_end),
        TEST(words_may_grow_and_shrink),
        TEST(who_always_has_a_word_to_read_looks_at_the_clock),
        TEST(of_many_offers_each_is_among_few),
        TEST(of_many_wide_receives_each_is_among_few),
        TEST(who_is_silent_is_asked_all_the_time_there_is),
        TEST(who_computes_is_not_called_again),
        TEST(an_address_that_leads_nowhere_brings_no_more_calls),
        TEST(several_addresses_bring_no_calls_without_end),
        TEST(a_cut_may_heal_when_the_peer_has_computed_for_long),
    };

    setenv("HPCBOOT_TRANSPORTS", "tcp", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
