/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * What goes into a control link and comes out of it, over a channel in
 * memory.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

#include "tests/fakes/link_fixture.h"

#define ROOM (1u << 20)

/* "chatter", the magic and three frames of rank 1 to 3; destroy b. */
static void make_stream(struct hb_buf *b, const char *chatter)
{
    uint32_t rank;

    hb_buf_init(b, ROOM);
    hb_buf_put_raw(b, chatter, strlen(chatter));
    hb_buf_put_raw(b, HB_WIRE_MAGIC, HB_WIRE_MAGIC_LEN);
    for (rank = 1; rank <= 3; rank++) {
        put_output(b, rank, rank * 10);
    }
}

/* --- in --- */

static void a_stream_cut_anywhere_gives_the_same_frames(void **state)
{
    static const char chatter[] = "Welcome!\n\033hpc\033\033[0m\033hpcboot-";
    struct fixture f;
    struct hb_buf b;
    size_t cut;

    make_stream(&b, chatter);
    for (cut = 0; cut <= b.len; cut++) {
        open_link(&f, 1);
        arrive(&f, b.data, cut);
        arrive(&f, b.data + cut, b.len - cut);
        assert_string_equal(hb_str_text(&f.chatter), chatter);
        assert_int_equal(f.frames, 3);
        assert_int_equal(f.last_rank, 3);
        assert_true(f.bytes == 60);
        close_link(&f);
    }
    hb_buf_destroy(&b);
}

static void a_stream_may_come_byte_by_byte(void **state)
{
    struct fixture f;
    struct hb_buf b;
    size_t i;

    make_stream(&b, "a\033hb");
    open_link(&f, 1);
    for (i = 0; i < b.len; i++) {
        arrive(&f, b.data + i, 1);
    }
    assert_string_equal(hb_str_text(&f.chatter), "a\033hb");
    assert_int_equal(f.frames, 3);
    assert_true(f.bytes == 60);
    close_link(&f);
    hb_buf_destroy(&b);
}

static void a_child_expects_no_magic(void **state)
{
    struct fixture f;
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    put_output(&b, 4, 1);
    open_link(&f, 0);
    arrive(&f, b.data, b.len);
    assert_int_equal(f.frames, 1);
    close_link(&f);
    hb_buf_destroy(&b);
}

static void garbage_ends_the_link(void **state)
{
    struct fixture f;

    open_link(&f, 0);
    arrive(&f, "bash: warning: setlocale", 24);
    assert_int_equal(f.lost, 1);
    assert_int_equal(f.err.code, HPCBOOT_ERR_PROTOCOL);
    arrive(&f, "bash: warning: setlocale", 24);
    f.mem->ch.events.closed(f.mem->ch.arg, &f.err);
    assert_int_equal(f.lost, 1);
    close_link(&f);
}

/* Of the message itself nothing need have come. */
static void who_is_not_known_yet_says_nothing_long(void **state)
{
    struct fixture f;
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    put_output(&b, 4, 1);
    open_link(&f, 0);
    hb_link_limit(f.link, b.len);
    arrive(&f, b.data, b.len);
    assert_int_equal(f.frames, 1);
    arrive(&f, "\0\1\0\0", 4);
    assert_int_equal(f.lost, 1);
    assert_int_equal(f.err.code, HPCBOOT_ERR_PROTOCOL);
    assert_non_null(strstr(f.err.text, "65540 bytes"));
    close_link(&f);
    open_link(&f, 0);
    hb_link_limit(f.link, b.len);
    hb_link_limit(f.link, 0);
    arrive(&f, "\0\1\0\0", 4);
    assert_int_equal(f.lost, 0);
    close_link(&f);
    hb_buf_destroy(&b);
}

static void a_malformed_ping_ends_the_link(void **state)
{
    const struct hb_frame bad = {.type = HB_MSG_PING, .payload = {"x", 1}};
    struct fixture f;
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    assert_int_equal(hb_wire_put_frame(&b, &bad, NULL), 0);
    open_link(&f, 0);
    arrive(&f, b.data, b.len);
    assert_int_equal(f.lost, 1);
    assert_int_equal(f.err.code, HPCBOOT_ERR_PROTOCOL);
    close_link(&f);
    hb_buf_destroy(&b);
}

static void the_channels_end_is_told_once(void **state)
{
    const struct hpcboot_error end = {HPCBOOT_ERR_CLOSED, 0, "exit status 3"};
    struct fixture f;

    open_link(&f, 1);
    f.mem->ch.events.closed(f.mem->ch.arg, &end);
    assert_int_equal(f.lost, 1);
    assert_string_equal(f.err.text, "exit status 3");
    close_link(&f);
}

/* The address sanitizer watches what is touched afterwards. */
static void a_link_may_be_destroyed_in_any_event(void **state)
{
    static const enum destroy_in places[] = {IN_FRAME, IN_CHATTER, IN_LOST};
    struct fixture f;
    struct hb_buf b;
    size_t i;

    make_stream(&b, "noise\033hp");
    hb_buf_put_raw(&b, "\377\377\377\377 not a frame at all", 24);
    for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        open_link(&f, 1);
        f.destroy_in = places[i];
        arrive(&f, b.data, b.len);
        assert_int_equal(f.channels_closed, 1);
        assert_int_equal(f.frames, places[i] == IN_FRAME   ? 1
                                   : places[i] == IN_CHATTER ? 0
                                                             : 3);
        close_link(&f);
    }
    hb_buf_destroy(&b);
}

static void a_link_may_be_destroyed_when_drained(void **state)
{
    struct fixture f;
    int i;

    open_link(&f, 0);
    f.destroy_in = IN_DRAINED;
    f.mem->takes = 0;
    for (i = 0; i < 32; i++) {
        put_output(hb_link_out(f.link), 1, 65536);
    }
    hb_link_flush(f.link);
    f.mem->takes = SIZE_MAX;
    f.mem->ch.events.writable(f.mem->ch.arg);
    assert_int_equal(f.drained, 1);
    close_link(&f);
}

/* --- out --- */

static void what_is_not_taken_waits_until_writable(void **state)
{
    struct fixture f;
    struct hb_frame frame;
    int frames = 0, i;

    open_link(&f, 0);
    f.mem->takes = 100;
    for (i = 0; i < 40; i++) {
        put_output(hb_link_out(f.link), 1, 65536);
    }
    hb_link_flush(f.link);
    assert_int_equal(f.mem->written.len, 100);
    f.mem->takes = 1000;
    hb_link_flush(f.link);
    assert_int_equal(f.mem->written.len, 100); /* was not asked again */
    while (hb_link_backlog(f.link) > 0) {
        f.mem->takes = 300001;
        f.mem->ch.events.writable(f.mem->ch.arg);
    }
    assert_int_equal(f.drained, 1);
    while (hb_wire_next(&f.mem->written, &frame, NULL) == 1) {
        frames++;
    }
    assert_int_equal(frames, 40);
    assert_int_equal(hb_buf_left(&f.mem->written), 0);
    close_link(&f);
}

static void a_short_backlog_is_not_told_to_be_drained(void **state)
{
    struct fixture f;

    open_link(&f, 0);
    f.mem->takes = 1;
    put_output(hb_link_out(f.link), 1, 100);
    hb_link_flush(f.link);
    f.mem->takes = SIZE_MAX;
    f.mem->ch.events.writable(f.mem->ch.arg);
    assert_int_equal(hb_link_backlog(f.link), 0);
    assert_int_equal(f.drained, 0);
    close_link(&f);
}

static void put_ping(struct hb_buf *b, uint64_t time_ns)
{
    const struct hb_msg_ping m = {time_ns, 0};

    assert_int_equal(hb_wire_put_ping(b, 0, 0, 0, &m, NULL), 0);
}

/* The PONGs that were written, and the ping that the last one answers. */
static int read_pongs(struct fixture *f, uint64_t *echo_ns_out)
{
    struct hb_frame frame;
    struct hb_msg_pong m;
    int n = 0;

    while (hb_wire_next(&f->mem->written, &frame, NULL) == 1) {
        if (hb_wire_get_pong(&frame, &m, NULL) == 0) {
            *echo_ns_out = m.echo_ns;
            n++;
        }
    }
    return n;
}

static void who_pings_and_does_not_read_fills_no_memory(void **state)
{
    const uint64_t n = 1000000;
    uint64_t echo_ns = 0;
    struct fixture f;
    struct hb_buf b;

    open_link(&f, 0);
    f.mem->takes = 0;
    hb_buf_init(&b, ROOM);
    for (uint64_t i = 1; i <= n; i++) {
        hb_buf_clear(&b);
        put_ping(&b, i);
        arrive(&f, b.data, b.len);
    }
    assert_int_equal(f.lost, 0);
    assert_in_range(hb_link_backlog(f.link), 1, 1000);
    f.mem->takes = SIZE_MAX; /* it reads again, and hears of the last */
    f.mem->ch.events.writable(f.mem->ch.arg);
    assert_int_equal(hb_link_backlog(f.link), 0);
    assert_in_range(read_pongs(&f, &echo_ns), 1, 2);
    assert_true(echo_ns == n);
    close_link(&f);
    hb_buf_destroy(&b);
}

/* Behind what waits, and no matter how long others keep the link busy. */
static void each_ping_that_can_be_is_answered(void **state)
{
    uint64_t echo_ns = 0;
    struct fixture f;
    struct hb_buf b;

    open_link(&f, 0);
    hb_buf_init(&b, ROOM);
    for (uint64_t i = 1; i <= 3; i++) {
        hb_buf_clear(&b);
        put_ping(&b, i);
        arrive(&f, b.data, b.len);
        assert_int_equal(read_pongs(&f, &echo_ns), 1);
        assert_true(echo_ns == i);
    }
    f.mem->takes = 0;
    put_output(hb_link_out(f.link), 1, 1000);
    hb_link_flush(f.link);
    for (uint64_t i = 4; i <= 5; i++) {
        hb_buf_clear(&b);
        put_ping(&b, i);
        arrive(&f, b.data, b.len);
        put_output(hb_link_out(f.link), 1, 1000);
        hb_link_flush(f.link);
    }
    f.mem->takes = 1200;
    f.mem->ch.events.writable(f.mem->ch.arg); /* 4 has gone, 5 is put */
    f.mem->takes = SIZE_MAX;
    f.mem->ch.events.writable(f.mem->ch.arg);
    assert_int_equal(read_pongs(&f, &echo_ns), 2);
    assert_true(echo_ns == 5);
    close_link(&f);
    hb_buf_destroy(&b);
}

static void a_failed_write_is_told_from_the_loop(void **state)
{
    struct fixture f;

    open_link(&f, 0);
    f.mem->fail = HPCBOOT_ERR_CLOSED;
    put_output(hb_link_out(f.link), 1, 1);
    hb_link_flush(f.link);
    assert_int_equal(f.lost, 0);
    event_base_dispatch(f.base);
    assert_int_equal(f.lost, 1);
    assert_int_equal(f.err.code, HPCBOOT_ERR_CLOSED);
    close_link(&f);
}

static void last_words_are_heard_after_a_failed_write(void **state)
{
    const struct hpcboot_error end = {HPCBOOT_ERR_CLOSED, 0, "ssh: exit 255"};
    struct fixture f;
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    put_output(&b, 4, 1);
    open_link(&f, 0);
    f.mem->fail = HPCBOOT_ERR_SYSTEM;
    put_output(hb_link_out(f.link), 1, 1);
    hb_link_flush(f.link);
    arrive(&f, b.data, b.len);
    assert_int_equal(f.frames, 1);
    f.mem->ch.events.closed(f.mem->ch.arg, &end);
    assert_int_equal(f.lost, 1);
    assert_string_equal(f.err.text, "ssh: exit 255");
    close_link(&f);
    hb_buf_destroy(&b);
}

static void ends_now(evutil_socket_t fd, short what, void *arg)
{
    const struct hpcboot_error end = {HPCBOOT_ERR_CLOSED, 0, "killed by 9"};
    struct fixture *f = arg;

    f->mem->ch.events.closed(f->mem->ch.arg, &end);
}

/* Channels take a second for it. Of two timers the earlier one is called first,
 * however late both are. */
static void a_late_reason_is_better_than_a_failed_write(void **state)
{
    static const struct timeval late = {1, 0};
    struct fixture f;
    struct event *timer;

    open_link(&f, 0);
    timer = evtimer_new(f.base, ends_now, &f);
    event_add(timer, &late);
    f.mem->fail = HPCBOOT_ERR_CLOSED;
    put_output(hb_link_out(f.link), 1, 1);
    hb_link_flush(f.link);
    event_base_dispatch(f.base);
    assert_int_equal(f.lost, 1);
    assert_string_equal(f.err.text, "killed by 9");
    event_free(timer);
    close_link(&f);
}

static void a_channel_that_ends_in_write_is_told_from_the_loop(void **state)
{
    struct fixture f;

    open_link(&f, 0);
    f.destroy_in = IN_LOST;
    f.mem->closes_in_write = 1;
    put_output(hb_link_out(f.link), 1, 1);
    hb_link_flush(f.link);
    assert_int_equal(f.lost, 0);
    event_base_dispatch(f.base);
    assert_int_equal(f.lost, 1);
    assert_string_equal(f.err.text, "closed in write");
    close_link(&f);
}

static void a_message_that_could_not_be_put_ends_the_link(void **state)
{
    char *longest = hb_xmalloc(HB_WIRE_STR + 2);
    struct hb_msg_note note = {1, longest};
    struct fixture f;

    memset(longest, 'x', HB_WIRE_STR + 1);
    longest[HB_WIRE_STR + 1] = '\0';
    open_link(&f, 0);
    (void)hb_wire_put_note(hb_link_out(f.link), 0, 0, 0, &note, NULL);
    hb_link_flush(f.link);
    event_base_dispatch(f.base);
    assert_int_equal(f.lost, 1);
    assert_int_equal(f.err.code, HPCBOOT_ERR_LIMIT);
    close_link(&f);
    free(longest);
}

/* Sanitizers end a program that asks for as much as follows. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* More than any memory has, where a link would allow it. */
static void a_message_without_memory_is_told_as_such(void **state)
{
    struct fixture f;

    open_link(&f, 0);
    hb_link_out(f.link)->max_bytes = SIZE_MAX / 2;
    assert_null(hb_buf_reserve(hb_link_out(f.link), SIZE_MAX / 4));
    hb_link_flush(f.link);
    event_base_dispatch(f.base);
    assert_int_equal(f.lost, 1);
    assert_int_equal(f.err.code, HPCBOOT_ERR_NOMEM);
    assert_non_null(strstr(f.err.text, "memory"));
    close_link(&f);
}

/* A frame far larger than any read, between small ones. */
static void a_large_frame_arrives_whole(void **state)
{
    const size_t large = 48u << 20, piece = 10007;
    char *content = hb_xcalloc(1, large);
    const struct hb_msg_output msg = {.rank = 9, .data = {content, large}};
    struct fixture f;
    struct hb_buf b;
    size_t at, n;

    hb_buf_init(&b, 64u << 20);
    put_output(&b, 1, 5);
    assert_int_equal(hb_wire_put_output(&b, 0, 0, 0, &msg, NULL), 0);
    put_output(&b, 2, 5);
    open_link(&f, 0);
    for (at = 0; at < b.len; at += n) {
        n = piece < b.len - at ? piece : b.len - at;
        arrive(&f, b.data + at, n);
    }
    assert_int_equal(f.frames, 3);
    assert_int_equal(f.last_rank, 2);
    assert_true(f.bytes == large + 10);
    close_link(&f);
    hb_buf_destroy(&b);
    free(content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_cut_anywhere_gives_the_same_frames),
        cmocka_unit_test(a_stream_may_come_byte_by_byte),
        cmocka_unit_test(a_child_expects_no_magic),
        cmocka_unit_test(garbage_ends_the_link),
        cmocka_unit_test(who_is_not_known_yet_says_nothing_long),
        cmocka_unit_test(a_malformed_ping_ends_the_link),
        cmocka_unit_test(the_channels_end_is_told_once),
        cmocka_unit_test(a_link_may_be_destroyed_in_any_event),
        cmocka_unit_test(a_link_may_be_destroyed_when_drained),
        cmocka_unit_test(what_is_not_taken_waits_until_writable),
        cmocka_unit_test(a_short_backlog_is_not_told_to_be_drained),
        cmocka_unit_test(who_pings_and_does_not_read_fills_no_memory),
        cmocka_unit_test(each_ping_that_can_be_is_answered),
        cmocka_unit_test(a_failed_write_is_told_from_the_loop),
        cmocka_unit_test(last_words_are_heard_after_a_failed_write),
        cmocka_unit_test(a_late_reason_is_better_than_a_failed_write),
        cmocka_unit_test(a_channel_that_ends_in_write_is_told_from_the_loop),
        cmocka_unit_test(a_message_that_could_not_be_put_ends_the_link),
        cmocka_unit_test(a_message_without_memory_is_told_as_such),
        cmocka_unit_test(a_large_frame_arrives_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
