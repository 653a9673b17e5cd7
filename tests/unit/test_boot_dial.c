/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Connecting to a host of several addresses: the first that answers wins,
 * refusals are told by address, and of many addresses a few are named. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bin/boot/dial.h"

#define LIMIT_S 20 /* a test that waits longer has failed */

struct run {
    struct event_base *base;
    struct hb_dial *dial;
    struct hb_str said, winner;
    int failed, refused;
};

static void on_connected(void *arg, int fd, const char *address)
{
    struct run *r = arg;

    close(fd);
    hb_str_put(&r->winner, address);
    event_base_loopbreak(r->base);
}

static void on_failed(void *arg, int refused)
{
    struct run *r = arg;

    r->failed = 1;
    r->refused = refused;
    hb_dial_explain(r->dial, &r->said);
    event_base_loopbreak(r->base);
}

/* A port of 127.0.0.1 alone; it answers once somebody listens. */
static int bound(int *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

/* 127.0.0.(first + n - 1) down to 127.0.0.(first). */
static void dial(struct run *r, unsigned first, unsigned n, int port)
{
    static const struct hb_dial_events events = {on_connected, on_failed};
    struct timeval limit = {LIMIT_S, 0};
    struct addrinfo *list = NULL;
    struct sockaddr_in *at = calloc(n, sizeof *at);
    struct addrinfo *each = calloc(n, sizeof *each);
    struct hpcboot_error err = {0};

    for (unsigned i = 0; i < n; i++) {
        at[i].sin_family = AF_INET;
        at[i].sin_addr.s_addr = htonl(INADDR_LOOPBACK + first - 1 + i);
        each[i].ai_family = AF_INET;
        each[i].ai_socktype = SOCK_STREAM;
        each[i].ai_addr = (struct sockaddr *)&at[i];
        each[i].ai_addrlen = sizeof at[i];
        each[i].ai_next = list;
        list = &each[i];
    }
    r->base = event_base_new();
    assert_int_equal(
        hb_dial_start(&r->dial, r->base, list, port, &events, r, &err), 0);
    free(at);
    free(each);
    event_base_loopexit(r->base, &limit);
    event_base_dispatch(r->base);
}

static void end(struct run *r)
{
    hb_dial_destroy(r->dial);
    event_base_free(r->base);
    hb_str_destroy(&r->said);
    hb_str_destroy(&r->winner);
}

static void the_address_that_answers_wins(void **state)
{
    struct run r = {0};
    int port, fd = bound(&port);

    assert_int_equal(listen(fd, 1), 0);
    dial(&r, 1, 3, port);
    assert_false(r.failed);
    assert_string_equal(hb_str_text(&r.winner), "127.0.0.1");
    end(&r);
    close(fd);
}

static void refusals_are_told_by_address(void **state)
{
    struct run r = {0};
    int port, fd = bound(&port);
    char *wanted;

    dial(&r, 1, 2, port);
    wanted = hb_xasprintf("127.0.0.2 refuses port %d; "
                          "127.0.0.1 refuses port %d", port, port);
    assert_true(r.failed && r.refused);
    assert_string_equal(hb_str_text(&r.said), wanted);
    free(wanted);
    end(&r);
    close(fd);
}

/* An error's text is short: what is left out is counted, not cut. */
static void of_many_addresses_a_few_are_named(void **state)
{
    struct run r = {0};
    int port, fd = bound(&port);
    const char *said, *rest, *at;
    unsigned named = 0;

    dial(&r, 240, HB_DIAL_ADDRS_MAX, port);
    said = hb_str_text(&r.said);
    for (at = said; (at = strstr(at, " refuses port ")) != NULL; at++) {
        named++;
    }
    assert_in_range(named, 2, HB_DIAL_ADDRS_MAX - 1);
    rest = strstr(said, "; and ");
    assert_non_null(rest);
    assert_int_equal(named + (unsigned)atoi(rest + strlen("; and ")),
                     HB_DIAL_ADDRS_MAX);
    assert_true(hb_ends_with(said, " more addresses"));
    end(&r);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_address_that_answers_wins),
        cmocka_unit_test(refusals_are_told_by_address),
        cmocka_unit_test(of_many_addresses_a_few_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
