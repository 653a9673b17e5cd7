/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * How long a control link lives: heartbeats, silence, the peer's clock, and
 * two links on a socket pair from the first byte to the last.
 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "tests/fakes/link_fixture.h"

#define ROOM (1u << 20)
#define NS_PER_S 1000000000

/* --- heartbeats and clocks --- */

static void silence_ends_the_link(void **state)
{
    struct fixture f;

    open_link(&f, 0);
    hb_link_heartbeat(f.link, 20, 60);
    event_base_dispatch(f.base);
    assert_int_equal(f.lost, 1);
    assert_int_equal(f.err.code, HPCBOOT_ERR_TIMED_OUT);
    assert_true(hb_starts_with(f.err.text, "no sign of life for 0."));
    close_link(&f);
}

static void silence_is_suspected_before_it_is_death(void **state)
{
    struct fixture f;

    open_link(&f, 0);
    hb_link_heartbeat(f.link, 20, 60);
    event_base_dispatch(f.base);
    assert_int_equal(f.lost, 1);
    assert_true(f.suspected <= 1); /* 0 when this process was starved */
    assert_int_equal(f.alive, 0);
    close_link(&f);
}

static void a_link_may_be_destroyed_when_it_is_suspected(void **state)
{
    struct fixture f;

    open_link(&f, 0);
    f.destroy_in = IN_SUSPECT;
    hb_link_heartbeat(f.link, 50, 500);
    event_base_dispatch(f.base);
    assert_true(f.suspected + f.lost == 1);
    close_link(&f);
}

static void no_heartbeat_means_no_death(void **state)
{
    struct fixture f;

    open_link(&f, 0);
    hb_link_heartbeat(f.link, 5, 10);
    hb_link_heartbeat(f.link, 0, 0);
    event_base_dispatch(f.base); /* nothing is left to wait for */
    assert_int_equal(f.lost, 0);
    close_link(&f);
}

static void a_beat_goes_out_while_the_loop_waits(void **state)
{
    struct fixture f;
    size_t first;

    open_link(&f, 0);
    hb_link_heartbeat(f.link, 1, 0);
    first = hb_buf_left(&f.mem->written);
    while (hb_buf_left(&f.mem->written) == first) {
        hb_link_beat(f.link);
    }
    assert_true(hb_buf_left(&f.mem->written) == 2 * first);
    hb_link_beat(NULL);
    close_link(&f);
}

/* The peer's clock is an hour and a bit ahead. */
#define AHEAD_NS (3600 * (int64_t)NS_PER_S + 12345)

/* Answers the last PING that was written, as if it had been sent at another
 * moment, and the answer had been `late_ns` on its way. */
static void answer_ping(struct fixture *f, int64_t shift_ns, int64_t late_ns)
{
    struct hb_msg_ping ping = {0};
    struct hb_msg_pong pong;
    struct hb_frame frame;
    struct hb_buf b;

    while (hb_wire_next(&f->mem->written, &frame, NULL) == 1) {
        assert_int_equal(hb_wire_get_ping(&frame, &ping, NULL), 0);
    }
    pong.echo_ns = ping.time_ns + (uint64_t)shift_ns;
    pong.time_ns = (uint64_t)(hb_now_ns() + AHEAD_NS - late_ns);
    pong.load_milli = 0;
    hb_buf_init(&b, ROOM);
    assert_int_equal(hb_wire_put_pong(&b, 0, 0, 0, &pong, NULL), 0);
    arrive(f, b.data, b.len);
    hb_buf_destroy(&b);
}

static void the_quickest_answer_gives_the_clock(void **state)
{
    struct fixture f;
    int64_t start, error;

    open_link(&f, 0);
    assert_true(hb_link_clock_offset_ns(f.link) == 0);
    start = hb_now_ns();
    hb_link_heartbeat(f.link, 1000000, 0);
    answer_ping(&f, 0, 0);
    error = hb_link_clock_offset_ns(f.link) - AHEAD_NS;
    assert_true(llabs(error) <= hb_now_ns() - start);
    error = hb_link_clock_offset_ns(f.link);
    answer_ping(&f, 0, 500 * (int64_t)NS_PER_S); /* changes nothing */
    assert_true(hb_link_clock_offset_ns(f.link) == error);
    close_link(&f);
}

static void an_echo_from_the_future_is_ignored(void **state)
{
    struct fixture f;

    open_link(&f, 0);
    hb_link_heartbeat(f.link, 1000000, 0);
    answer_ping(&f, 500 * (int64_t)NS_PER_S, 0);
    assert_true(hb_link_clock_offset_ns(f.link) == 0);
    assert_int_equal(f.lost, 0);
    close_link(&f);
}

static void a_ping_is_answered_with_its_own_time(void **state)
{
    const struct hb_msg_ping ping = {.time_ns = 42};
    struct hb_msg_pong pong;
    struct hb_frame frame;
    struct fixture f;
    struct hb_buf b;

    hb_buf_init(&b, ROOM);
    assert_int_equal(hb_wire_put_ping(&b, 3, 1, 2, &ping, NULL), 0);
    open_link(&f, 0);
    arrive(&f, b.data, b.len);
    assert_int_equal(f.frames, 0);
    assert_int_equal(hb_wire_next(&f.mem->written, &frame, NULL), 1);
    assert_int_equal(hb_wire_get_pong(&frame, &pong, NULL), 0);
    assert_int_equal(pong.echo_ns, 42);
    assert_true(pong.time_ns > 42);
    close_link(&f);
    hb_buf_destroy(&b);
}

/* --- both ends, over a socket pair --- */

struct sock_channel {
    struct hb_channel ch;
    int fd;
    struct event *readable, *writable;
};

static ssize_t sock_write(struct hb_channel *ch, const void *data, size_t len)
{
    struct sock_channel *s = (struct sock_channel *)ch;
    ssize_t n = write(s->fd, data, len);

    if (n < 0 && errno != EAGAIN) {
        return HPCBOOT_ERR_CLOSED;
    }
    if (n < (ssize_t)len) {
        event_add(s->writable, NULL);
    }
    return n < 0 ? 0 : n;
}

static void sock_readable(evutil_socket_t fd, short what, void *arg)
{
    static char bytes[1 << 16];
    struct sock_channel *s = arg;
    struct hpcboot_error err = {HPCBOOT_ERR_CLOSED, 0, "end of file"};
    ssize_t n = read(s->fd, bytes, sizeof(bytes));

    if (n > 0) {
        s->ch.events.data(s->ch.arg, bytes, (size_t)n);
    } else if (n == 0 || errno != EAGAIN) {
        event_del(s->readable);
        s->ch.events.closed(s->ch.arg, &err);
    }
}

static void sock_writable(evutil_socket_t fd, short what, void *arg)
{
    struct sock_channel *s = arg;

    s->ch.events.writable(s->ch.arg);
}

static void sock_pause(struct hb_channel *ch, int paused)
{
}

static void sock_close(struct hb_channel *ch)
{
    struct sock_channel *s = (struct sock_channel *)ch;

    event_free(s->readable);
    event_free(s->writable);
    close(s->fd);
    free(s);
}

static const struct hb_channel_ops sock_ops = {sock_write, sock_pause,
                                               sock_close};

static struct hb_channel *sock_channel(struct event_base *base, int fd)
{
    struct sock_channel *s = hb_xcalloc(1, sizeof(*s));

    assert_int_equal(hb_fd_set_nonblock(fd, 1, NULL), 0);
    s->ch.ops = &sock_ops;
    s->fd = fd;
    s->readable = event_new(base, fd, EV_READ | EV_PERSIST, sock_readable, s);
    s->writable = event_new(base, fd, EV_WRITE, sock_writable, s);
    event_add(s->readable, NULL);
    return &s->ch;
}

#define LARGE ((uint64_t)64 << 20)

/* Sends up to a few MB ahead, as a sender that looks at the backlog does. */
static void send_more(void *arg)
{
    struct fixture *f = arg;

    while (f->bytes < LARGE && hb_link_backlog(f->link) < (4u << 20)) {
        put_output(hb_link_out(f->link), 1, 65536);
        f->bytes += 65536;
        hb_link_flush(f->link);
    }
    if (f->bytes == LARGE && hb_link_backlog(f->link) == 0) {
        hb_link_destroy(f->link);
        f->link = NULL;
    }
}

static void on_progress(evutil_socket_t fd, short what, void *arg)
{
    struct fixture *f = arg;
    struct timeval soon = {0, 1000};

    send_more(f);
    if (f->link != NULL) {
        event_base_once(f->base, -1, EV_TIMEOUT, on_progress, f, &soon);
    }
}

static void ignore_frame(void *arg, const struct hb_frame *frame)
{
}

static void ignore_loss(void *arg, const struct hpcboot_error *err)
{
}

static void much_output_arrives_whole_and_the_end_is_told(void **state)
{
    static const struct hb_link_events from_events = {
        .frame = ignore_frame, .drained = send_more, .lost = ignore_loss,
    };
    struct fixture from = {0}, to = {0};
    int fds[2];

    assert_int_equal(hb_fd_socketpair(fds, NULL), 0);
    from.base = to.base = event_base_new();
    from.link = hb_link_create(from.base, sock_channel(from.base, fds[0]), 0,
                               &from_events, &from);
    to.link = hb_link_create(to.base, sock_channel(to.base, fds[1]), 1,
                             &fixture_events, &to);
    hb_buf_put_raw(hb_link_out(from.link), HB_WIRE_MAGIC, HB_WIRE_MAGIC_LEN);
    on_progress(-1, 0, &from);
    event_base_dispatch(to.base);
    assert_true(to.bytes == LARGE);
    assert_int_equal(to.frames, LARGE / 65536);
    assert_int_equal(to.lost, 1);
    assert_string_equal(to.err.text, "end of file");
    hb_link_destroy(to.link);
    event_base_free(to.base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_ends_the_link),
        cmocka_unit_test(silence_is_suspected_before_it_is_death),
        cmocka_unit_test(a_link_may_be_destroyed_when_it_is_suspected),
        cmocka_unit_test(no_heartbeat_means_no_death),
        cmocka_unit_test(a_beat_goes_out_while_the_loop_waits),
        cmocka_unit_test(the_quickest_answer_gives_the_clock),
        cmocka_unit_test(an_echo_from_the_future_is_ignored),
        cmocka_unit_test(a_ping_is_answered_with_its_own_time),
        cmocka_unit_test(much_output_arrives_whole_and_the_end_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
