/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What `hpcbootd serve` makes of a line, whom its limits let in, and the
 * joining of two channels. The server itself is tested over pods. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/boot/boot.h"
#include "bin/boot/relay.h"
#include "bin/boot/serve_limit.h"
#include "bin/boot/serve_line.h"
#include "lib/base/str.h"

/* --- lines */

static void the_launchers_line_asks_for_an_agent(void **state)
{
    const struct hb_boot_config config = {
        .agent_path = "/opt/it's here/hpcbootd", .prefix = "/usr/local",
    };
    const struct hb_boot_target target = {
        .host = "pod-1", .token = "00112233445566778899aabbccddeeff",
    };
    char *line = hb_boot_remote_command(&config, &target);
    char token[HB_SERVE_TOKEN_MAX + 1];

    assert_int_equal(hb_serve_line_parse(line, token), 1);
    assert_string_equal(token, target.token);
    free(line);
}

static void the_short_line_asks_for_an_agent(void **state)
{
    char token[HB_SERVE_TOKEN_MAX + 1];

    assert_true(hb_serve_line_parse("hpcbootd agent --token t1", token));
    assert_string_equal(token, "t1");
    assert_true(hb_serve_line_parse(" exec /x/hpcbootd agent --token t2 ",
                                    token));
    assert_string_equal(token, "t2");
}

static void other_lines_do_not(void **state)
{
    static const char *const lines[] = {
        "", " ", "true", "hpcbootd", "hpcbootd agent", "hpcbootd serve",
        "hpcbootd agent --token", "hpcbootd agent --token a b",
        "hpcbootd agent --token -x", "hpcbootd agent --token a;b",
        "hpcbootd agent --token $(id)", "hpcbootd agent --token ''",
        "nothpcbootd agent --token t", "hpcbootd agent --token t'u'",
        "exec '/bin/sh' '-c' 'x' 'hpcbootd'",
        "exec '/bin/sh' '-c' 'x' 'other' 't' 'h'",
        "exec '/bin/bash' '-c' 'x' 'hpcbootd' 't'",
        "exec '/bin/sh' '-c' 'x' 'hpcbootd' 't",
        "exec '/bin/sh' '-c' 'x' 'hpcbootd' 'a\\0040b'",
    };
    char token[HB_SERVE_TOKEN_MAX + 1];

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (hb_serve_line_parse(lines[i], token)) {
            fail_msg("taken: %s", lines[i]);
        }
    }
}

static void a_long_token_is_refused(void **state)
{
    char line[200] = "hpcbootd agent --token ";
    char token[HB_SERVE_TOKEN_MAX + 1];

    memset(line + strlen(line), 'a', HB_SERVE_TOKEN_MAX);
    assert_true(hb_serve_line_parse(line, token));
    line[strlen(line)] = 'a';
    assert_false(hb_serve_line_parse(line, token));
}

/* --- limits */

static const struct hb_serve_limits few = {
    .pending = 8, .per_source = 2, .rate = 4, .burst = 4,
};

static struct hb_limit_source *come(struct hb_limiter *l, const char *address,
                                    int64_t now_ms)
{
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    struct sockaddr_in in4 = {.sin_family = AF_INET};

    if (strchr(address, ':')) {
        assert_int_equal(inet_pton(AF_INET6, address, &in6.sin6_addr), 1);
        return hb_limiter_begin(l, (struct sockaddr *)&in6, now_ms);
    }
    assert_int_equal(inet_pton(AF_INET, address, &in4.sin_addr), 1);
    return hb_limiter_begin(l, (struct sockaddr *)&in4, now_ms);
}

static const struct hb_limit_source *full(const struct hb_limiter *l,
                                          const char *address)
{
    struct sockaddr_in in4 = {.sin_family = AF_INET};

    assert_int_equal(inet_pton(AF_INET, address, &in4.sin_addr), 1);
    return hb_limiter_full(l, (struct sockaddr *)&in4);
}

static void a_source_has_so_many_logins_under_way(void **state)
{
    struct hb_limiter l;
    struct hb_limit_source *first;

    hb_limiter_init(&l, &few);
    first = come(&l, "10.0.0.1", 0);
    assert_non_null(first);
    assert_null(full(&l, "10.0.0.1"));
    assert_non_null(come(&l, "10.0.0.1", 0));
    assert_ptr_equal(full(&l, "10.0.0.1"), first);
    assert_null(come(&l, "10.0.0.1", 0));
    assert_non_null(come(&l, "10.0.0.2", 0));
    assert_null(full(&l, "10.0.0.2"));
    hb_limiter_over(first);
    assert_non_null(come(&l, "10.0.0.1", 0));
}

static void a_source_begins_so_many_in_a_second(void **state)
{
    struct hb_limiter l;

    hb_limiter_init(&l, &few);
    for (int i = 0; i < 4; i++) {
        struct hb_limit_source *s = come(&l, "10.0.0.1", 1000);

        assert_non_null(s);
        hb_limiter_over(s);
    }
    assert_null(come(&l, "10.0.0.1", 1000));
    assert_null(come(&l, "10.0.0.1", 1200));
    assert_non_null(come(&l, "10.0.0.1", 1251));
    assert_null(come(&l, "10.0.0.1", 1252));
}

static void who_may_not_begin_takes_nobodys_place(void **state)
{
    struct hb_limiter l;

    hb_limiter_init(&l, &few);
    for (int i = 0; i < 4; i++) {
        struct hb_limit_source *s = come(&l, "10.0.0.1", 0);

        assert_non_null(s);
        if (i < 2) {
            hb_limiter_over(s);
        }
    }
    assert_null(come(&l, "10.0.0.1", 0));
    assert_null(full(&l, "10.0.0.1"));
    assert_null(come(&l, "10.0.0.1", 300));
    assert_non_null(full(&l, "10.0.0.1"));
}

static void one_customers_ipv6_addresses_are_one_source(void **state)
{
    struct hb_limiter l;

    hb_limiter_init(&l, &few);
    assert_non_null(come(&l, "fd00::1", 0));
    assert_non_null(come(&l, "fd00::2", 0));
    assert_null(come(&l, "fd00::3", 0));
    assert_non_null(come(&l, "fd00:0:0:1::1", 0));
    assert_non_null(come(&l, "10.0.0.9", 0));
    assert_non_null(come(&l, "::ffff:10.0.0.9", 0));
    assert_null(come(&l, "10.0.0.9", 0));
}

static void sources_beyond_the_table_take_the_place_of_idle_ones(void **state)
{
    struct hb_limiter l;
    struct hb_limit_source *held;
    char address[32];

    hb_limiter_init(&l, &few);
    held = come(&l, "10.1.0.1", 0);
    for (int i = 0; i < 3 * HB_LIMIT_SOURCES; i++) {
        struct hb_limit_source *s;

        snprintf(address, sizeof address, "10.2.%d.%d", i / 250, i % 250);
        s = come(&l, address, i);
        assert_non_null(s);
        assert_ptr_not_equal(s, held);
        hb_limiter_over(s);
    }
    assert_int_equal(held->pending, 1);
}

/* --- relay */

struct end {
    struct hb_channel ch;
    struct hb_str got;
    size_t room; /* bytes it still takes */
    int paused, closed;
};

static ssize_t end_write(struct hb_channel *ch, const void *data, size_t len)
{
    struct end *e = (struct end *)ch;
    size_t n = len < e->room ? len : e->room;

    hb_str_putn(&e->got, data, n);
    e->room -= n;
    return (ssize_t)n;
}

static void end_pause(struct hb_channel *ch, int paused)
{
    ((struct end *)ch)->paused = paused;
}

static void end_close(struct hb_channel *ch)
{
    ((struct end *)ch)->closed++;
}

static const struct hb_channel_ops end_ops = {
    .write = end_write, .pause = end_pause, .close = end_close,
};

struct pair {
    struct end a, b;
    struct hb_relay *relay;
    int ended; /* which side, or -1 */
    int destroy;
};

static void on_ended(void *arg, int side, const struct hpcboot_error *err)
{
    struct pair *p = arg;

    assert_int_equal(p->ended, -1);
    p->ended = side;
    assert_string_equal(err->text, "gone");
    if (p->destroy) {
        hb_relay_destroy(p->relay);
        p->relay = NULL;
    }
}

static void join(struct pair *p)
{
    memset(p, 0, sizeof *p);
    p->ended = -1;
    p->a.ch.ops = p->b.ch.ops = &end_ops;
    p->a.room = p->b.room = 1000;
    p->relay = hb_relay_create(&p->a.ch, &p->b.ch, on_ended, p);
}

static void part(struct pair *p)
{
    hb_relay_destroy(p->relay);
    assert_int_equal(p->a.closed, 1);
    assert_int_equal(p->b.closed, 1);
    hb_str_destroy(&p->a.got);
    hb_str_destroy(&p->b.got);
}

static void say(struct end *e, const char *text)
{
    e->ch.events.data(e->ch.arg, text, strlen(text));
}

static void end(struct end *e)
{
    struct hpcboot_error err = {.text = "gone"};

    e->ch.events.closed(e->ch.arg, &err);
}

static void bytes_go_both_ways(void **state)
{
    struct pair p;

    join(&p);
    say(&p.a, "one");
    say(&p.b, "two");
    say(&p.a, "three");
    assert_string_equal(hb_str_text(&p.b.got), "onethree");
    assert_string_equal(hb_str_text(&p.a.got), "two");
    assert_false(p.a.paused);
    part(&p);
}

static void a_full_side_pauses_the_other(void **state)
{
    struct pair p;

    join(&p);
    p.b.room = 2;
    say(&p.a, "one");
    assert_true(p.a.paused);
    assert_false(p.b.paused);
    p.b.room = 10;
    p.b.ch.events.writable(p.b.ch.arg);
    assert_false(p.a.paused);
    assert_string_equal(hb_str_text(&p.b.got), "one");
    part(&p);
}

/* The second one to end, too, of which nobody is told. */
static void a_side_that_has_ended_is_not_there(void **state)
{
    struct pair p;

    join(&p);
    end(&p.b);
    assert_int_equal(p.ended, 1);
    assert_null(hb_relay_side(p.relay, 1));
    assert_ptr_equal(hb_relay_side(p.relay, 0), &p.a.ch);
    end(&p.a);
    assert_null(hb_relay_side(p.relay, 0));
    part(&p);
}

static void last_bytes_are_written_before_the_end_is_told(void **state)
{
    struct pair p;

    join(&p);
    p.b.room = 2;
    say(&p.a, "last");
    end(&p.a);
    assert_int_equal(p.ended, -1);
    p.b.room = 10;
    p.b.ch.events.writable(p.b.ch.arg);
    assert_int_equal(p.ended, 0);
    assert_string_equal(hb_str_text(&p.b.got), "last");
    part(&p);
}

static void a_relay_may_be_destroyed_when_it_ends(void **state)
{
    struct pair p;

    join(&p);
    p.destroy = 1;
    p.a.room = 0;
    say(&p.b, "never read");
    end(&p.a);
    assert_int_equal(p.ended, 0);
    assert_null(p.relay);
    part(&p);
}

static void a_second_end_is_not_told(void **state)
{
    struct pair p;

    join(&p);
    end(&p.b);
    assert_int_equal(p.ended, 1);
    end(&p.a);
    part(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_launchers_line_asks_for_an_agent),
        cmocka_unit_test(the_short_line_asks_for_an_agent),
        cmocka_unit_test(other_lines_do_not),
        cmocka_unit_test(a_long_token_is_refused),
        cmocka_unit_test(a_source_has_so_many_logins_under_way),
        cmocka_unit_test(a_source_begins_so_many_in_a_second),
        cmocka_unit_test(who_may_not_begin_takes_nobodys_place),
        cmocka_unit_test(one_customers_ipv6_addresses_are_one_source),
        cmocka_unit_test(sources_beyond_the_table_take_the_place_of_idle_ones),
        cmocka_unit_test(bytes_go_both_ways),
        cmocka_unit_test(a_full_side_pauses_the_other),
        cmocka_unit_test(a_side_that_has_ended_is_not_there),
        cmocka_unit_test(last_bytes_are_written_before_the_end_is_told),
        cmocka_unit_test(a_relay_may_be_destroyed_when_it_ends),
        cmocka_unit_test(a_second_end_is_not_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
