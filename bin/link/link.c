/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * A control link: frames over a channel, with heartbeats.
 *
 * In: what comes before the magic is chatter (preamble.c). After it, whole
 * frames are handed on straight from the bytes the channel gave; only the
 * part of a frame that is not complete yet is copied and kept.
 *
 * Out: one buffer. Callers put frames there, hb_link_flush gives them to the
 * channel, and what it does not take waits until it is writable again. Bytes
 * that were sent are dropped when they are at least as many as those that
 * wait, so that each byte is moved once at most, however long the queue.
 *
 * Life: a PING each beat; anything received is a sign of life. When to beat
 * and when the peer is dead is decided in pulse.c, which PINGs are answered in
 * pong.c; the timer is here.
 *
 * The end is told once, by `lost`. A channel that cannot be written to may
 * still hold the peer's last words and, in its `closed`, the better reason:
 * they get a moment before the failed write is told. So `lost` never comes
 * from inside hb_link_flush.
 *
 * Any callback may destroy the link: each event is between enter and leave,
 * and memory goes when the outermost one is left.
 */
#include "config.h"

#include "bin/link/link.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "bin/link/offset.h"
#include "bin/link/pong.h"
#include "bin/link/preamble.h"
#include "bin/link/pulse.h"
#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"

/* Several of the largest frames: only a peer that has stopped reading gets
 * here, whatever it says meanwhile. */
#define OUT_MAX (4 * (size_t)HB_WIRE_FRAME)
/* A frame under way, used bytes in front of it, and what one read brings. */
#define IN_MAX (3 * (size_t)HB_WIRE_FRAME)
#define LOW_MARK ((size_t)1 << 20)  /* `drained` below this backlog */
#define KEEP_CAP ((size_t)4 << 20)  /* memory an idle link may hold */
/* And one to a child, of whom there may be thousands: what is said is little
 * and rare after the orders. */
#define KEEP_DOWN ((size_t)0)
#define LAST_WORDS_MS 3000 /* see above; a channel's end may take a second */
/* What a cut has swallowed is sent again so often in the time after which the
 * peer is dead. Systems give a connection up after 15 times in vain: the first
 * ones follow each other faster, so that the link is over before. */
#define AGAINS_PER_DEATH 8
#define NS_PER_MS 1000000

enum link_state { LINK_UP, LINK_BROKEN /* not told yet */, LINK_LOST };

struct hb_link {
    struct event_base *base;
    struct hb_channel *ch;
    const struct hb_link_events *events;
    void *arg;
    enum link_state state;
    int depth;  /* events under way */
    int doomed; /* destroyed, to be freed when depth is 0 */
    struct hpcboot_error *why; /* while LINK_BROKEN; else NULL */

    struct hb_preamble preamble;
    struct hb_buf in, out;
    size_t keep_bytes; /* of each that stay allocated */
    size_t frame_max;  /* bytes; 0: that of lib/wire */
    int writing;   /* inside the channel's write */
    int waiting;   /* it took less than it was given */
    int above_low; /* `drained` is due */
    struct hb_pong pong;

    struct event *broken, *look; /* each when first needed */
    struct hb_pulse pulse;
    uint32_t peer_load_milli;
    struct hb_offset offset;
    int64_t asked_ns, answered_ns; /* when the pings were sent; 0: none was */
};

static void start_timer(struct hb_link *link, struct event **timer,
                        event_callback_fn cb, int64_t ms)
{
    struct timeval t = {ms / 1000, (suseconds_t)(ms % 1000) * 1000};

    if (*timer == NULL) {
        *timer = evtimer_new(link->base, cb, link);
    }
    if (*timer == NULL || event_add(*timer, &t) != 0) {
        hb_no_memory();
    }
}

static void stop_timer(struct event **timer)
{
    if (*timer != NULL) {
        event_free(*timer);
        *timer = NULL;
    }
}

static void link_free(struct hb_link *link)
{
    stop_timer(&link->broken);
    stop_timer(&link->look);
    if (link->ch != NULL) {
        link->ch->ops->close(link->ch);
    }
    hb_buf_destroy(&link->in);
    hb_buf_destroy(&link->out);
    free(link->why);
    free(link);
}

static void enter(struct hb_link *link)
{
    link->depth++;
}

/* The link may be gone after this. */
static void leave(struct hb_link *link)
{
    link->depth--;
    if (link->depth == 0 && link->doomed) {
        link_free(link);
    }
}

void hb_link_destroy(struct hb_link *link)
{
    if (link == NULL) {
        return;
    }
    link->doomed = 1;
    if (link->depth == 0) {
        link_free(link);
    }
}

static int is_over(const struct hb_link *link)
{
    return link->doomed || link->state == LINK_LOST;
}

/* The last event of this link. */
static void tell_lost(struct hb_link *link, const struct hpcboot_error *err)
{
    if (is_over(link)) {
        return;
    }
    link->state = LINK_LOST;
    stop_timer(&link->broken);
    stop_timer(&link->look);
    link->events->lost(link->arg, err);
}

static void on_broken(evutil_socket_t fd, short what, void *arg)
{
    struct hb_link *link = arg;

    enter(link);
    tell_lost(link, link->why);
    leave(link);
}

/* `why` is told then, unless the channel's end comes first. */
static void break_later(struct hb_link *link, int64_t ms,
                        const struct hpcboot_error *why)
{
    link->state = LINK_BROKEN;
    if (link->why == NULL) {
        link->why = hb_xmalloc(sizeof *link->why);
    }
    *link->why = *why;
    start_timer(link, &link->broken, on_broken, ms);
}

/* --- out --- */

struct hb_buf *hb_link_out(struct hb_link *link)
{
    return &link->out;
}

size_t hb_link_backlog(const struct hb_link *link)
{
    return hb_buf_left(&link->out);
}

int hb_link_exit_status(const struct hb_link *link)
{
    return link->ch != NULL ? link->ch->exit_status : 0;
}

int hb_link_was_killed(const struct hb_link *link)
{
    return link->ch != NULL && link->ch->was_killed;
}

static void write_some(struct hb_link *link)
{
    struct hpcboot_error err;
    size_t left = hb_buf_left(&link->out);
    ssize_t n;

    link->writing = 1;
    n = link->ch->ops->write(link->ch, hb_buf_next(&link->out), left);
    link->writing = 0;
    if (link->state != LINK_UP) {
        return;
    }
    if (n < 0) {
        hb_fail(&err, (int)n, "the link cannot be written to: %s",
                hb_status_text((int)n));
        break_later(link, LAST_WORDS_MS, &err);
        return;
    }
    hb_buf_skip(&link->out, (size_t)n);
    hb_pong_sent(&link->pong, (size_t)n);
    link->waiting = (size_t)n < left;
}

void hb_link_flush(struct hb_link *link)
{
    int no_memory = link->out.no_memory;
    struct hpcboot_error err;

    if (link->state != LINK_UP || link->doomed) {
        hb_buf_clear(&link->out);
        return;
    }
    if (hb_buf_failed(&link->out)) {
        hb_fail(&err, no_memory ? HPCBOOT_ERR_NOMEM : HPCBOOT_ERR_LIMIT,
                no_memory ? "no memory for a message that waits to be sent"
                : "a message, or all that wait to be sent, is too large");
        break_later(link, 0, &err);
        return;
    }
    if (!link->waiting && hb_buf_left(&link->out) > 0) {
        write_some(link);
    }
    link->above_low |= hb_buf_left(&link->out) > LOW_MARK;
    hb_buf_tidy(&link->out, link->keep_bytes);
}

/* A failure to put it is a failed `out`, which the flush tells. */
static void answer_last(struct hb_link *link)
{
    if (hb_pong_put(&link->pong, &link->out)) {
        hb_link_flush(link);
    }
}

static void on_writable(void *arg)
{
    struct hb_link *link = arg;

    enter(link);
    link->waiting = 0;
    hb_link_flush(link);
    answer_last(link);
    if (link->above_low && hb_link_backlog(link) <= LOW_MARK
        && !is_over(link)) {
        link->above_low = 0;
        if (link->events->drained != NULL) {
            link->events->drained(link->arg);
        }
    }
    leave(link);
}

static void on_closed(void *arg, const struct hpcboot_error *err)
{
    struct hb_link *link = arg;

    if (link->writing) {
        break_later(link, 0, err);
        return;
    }
    enter(link);
    tell_lost(link, err);
    leave(link);
}

/* --- clock and heartbeats --- */

int64_t hb_link_clock_offset_ns(const struct hb_link *link)
{
    return link->offset.ns;
}

static int answer_ping(struct hb_link *link, const struct hb_frame *frame,
                       struct hpcboot_error *err)
{
    struct hb_msg_ping ping;
    int rc = hb_wire_get_ping(frame, &ping, err);

    if (rc < 0) {
        return rc;
    }
    link->peer_load_milli = ping.load_milli;
    hb_offset_heard(&link->offset, ping.time_ns, hb_now_ns());
    hb_pong_ask(&link->pong, frame, ping.time_ns);
    answer_last(link);
    return 0;
}

static int take_pong(struct hb_link *link, const struct hb_frame *frame,
                     struct hpcboot_error *err)
{
    struct hb_msg_pong pong;
    int64_t now = hb_now_ns();
    int rc = hb_wire_get_pong(frame, &pong, err);

    if (rc == HPCBOOT_OK) {
        link->peer_load_milli = pong.load_milli;
    }
    if (rc == HPCBOOT_OK && pong.echo_ns <= (uint64_t)now) {
        hb_offset_heard(&link->offset, pong.time_ns, now);
        link->answered_ns = (int64_t)pong.echo_ns;
    }
    return rc;
}

uint32_t hb_link_peer_load_milli(const struct hb_link *link)
{
    return link->peer_load_milli;
}

static void ping(struct hb_link *link)
{
    const struct hb_msg_ping m = {(uint64_t)hb_now_ns(), hb_load_milli()};

    (void)hb_wire_put_ping(&link->out, 0, HB_NODE_UNSET, HB_NODE_UNSET, &m,
                           NULL);
    hb_link_flush(link);
}

static void beat(struct hb_link *link)
{
    /* Behind a long queue it says nothing about the line, and the queue's
     * own bytes are signs of life enough. */
    if (!link->waiting) {
        ping(link);
    }
}

void hb_link_ask(struct hb_link *link)
{
    link->asked_ns = hb_now_ns();
    ping(link);
}

int hb_link_has_answered(const struct hb_link *link)
{
    return link->answered_ns >= link->asked_ns;
}

/* 0: it is heard again. Inside an event: the link may be doomed after this. */
static void tell_suspicion(struct hb_link *link, int64_t silent_ms)
{
    if (link->events->suspect != NULL && !is_over(link)) {
        link->events->suspect(link->arg, (uint32_t)silent_ms);
    }
}

static void tell_dead(struct hb_link *link, int64_t silent_ms)
{
    struct hpcboot_error err;

    hb_fail(&err, HPCBOOT_ERR_TIMED_OUT, "no sign of life for %.1f s",
            (double)silent_ms / 1000);
    tell_lost(link, &err);
}

static void on_look(evutil_socket_t fd, short what, void *arg);

/* One timer for beats and watch, since there may be thousands of links. */
static void plan_look(struct hb_link *link)
{
    int64_t due = hb_pulse_due_ns(&link->pulse), left;

    if (due != 0) {
        left = due - hb_now_ns();
        start_timer(link, &link->look, on_look,
                    left > 0 ? (left + NS_PER_MS - 1) / NS_PER_MS : 0);
    }
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct hb_link *link = arg;
    int64_t now = hb_now_ns();
    unsigned todo = hb_pulse_step(&link->pulse, now);
    int64_t silent_ms = hb_pulse_silent_ms(&link->pulse, now);

    enter(link);
    if (todo & HB_PULSE_BEAT) {
        beat(link);
    }
    if (todo & HB_PULSE_SUSPECT) {
        tell_suspicion(link, silent_ms);
    }
    if (todo & HB_PULSE_DEAD) {
        tell_dead(link, silent_ms);
    }
    if (!is_over(link)) {
        plan_look(link);
    }
    leave(link);
}

void hb_link_heartbeat(struct hb_link *link, uint32_t heartbeat_ms,
                       uint32_t dead_ms)
{
    stop_timer(&link->look);
    hb_pulse_start(&link->pulse, heartbeat_ms, dead_ms, hb_now_ns());
    if (is_over(link)) {
        return;
    }
    if (heartbeat_ms > 0) {
        beat(link);
    }
    if (dead_ms > 0 && link->ch->ops->insist != NULL) {
        link->ch->ops->insist(link->ch, dead_ms / AGAINS_PER_DEATH);
    }
    plan_look(link);
}

int64_t hb_link_away_ms(const struct hb_link *link)
{
    int64_t away_ms = hb_pulse_away_ms(&link->pulse, hb_now_ns());

    return away_ms >= link->pulse.dead_ms ? away_ms : 0;
}

void hb_link_beat(struct hb_link *link)
{
    if (link != NULL && !is_over(link) &&
        hb_pulse_beat(&link->pulse, hb_now_ns())) {
        beat(link);
    }
}

/* --- in --- */

static void give_chatter(void *arg, const char *text, size_t len)
{
    struct hb_link *link = arg;

    if (link->events->chatter != NULL && !is_over(link)) {
        link->events->chatter(link->arg, text, len);
    }
}

static int take_frame(struct hb_link *link, const struct hb_frame *frame,
                      struct hpcboot_error *err)
{
    if (frame->type == HB_MSG_PING) {
        return answer_ping(link, frame, err);
    }
    if (frame->type == HB_MSG_PONG) {
        return take_pong(link, frame, err);
    }
    link->events->frame(link->arg, frame);
    return HPCBOOT_OK;
}

/* How many bytes the frame that is kept still lacks. */
static size_t lacking(const struct hb_buf *in)
{
    uint64_t whole = hb_wire_whole(in);
    size_t have = hb_buf_left(in);

    return whole > have ? (size_t)(whole - have) : 0;
}

void hb_link_limit(struct hb_link *link, size_t frame_bytes)
{
    if (link != NULL) {
        link->frame_max = frame_bytes;
    }
}

static int next_frame(const struct hb_link *link, struct hb_buf *b,
                      struct hb_frame *frame_out, struct hpcboot_error *err)
{
    if (link->frame_max > 0 && hb_wire_whole(b) > link->frame_max) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "a frame of %llu bytes comes before its sender is known",
                       (unsigned long long)hb_wire_whole(b));
    }
    return hb_wire_next(b, frame_out, err);
}

/* Hands on every whole frame in b. */
static void take_frames(struct hb_link *link, struct hb_buf *b)
{
    struct hpcboot_error err;
    struct hb_frame frame;
    int more = 1, rc = HPCBOOT_OK;

    while (more > 0 && rc == HPCBOOT_OK && !is_over(link)) {
        more = next_frame(link, b, &frame, &err);
        rc = more > 0 ? take_frame(link, &frame, &err) : more;
    }
    if (rc < 0) {
        tell_lost(link, &err);
    }
}

static void keep(struct hb_link *link, const void *data, size_t len)
{
    struct hpcboot_error err;

    hb_buf_put_raw(&link->in, data, len);
    if (hb_buf_failed(&link->in)) {
        hb_fail(&err, HPCBOOT_ERR_NOMEM,
                "no memory for what came over the link");
        tell_lost(link, &err);
    }
}

/* Only the frame that was cut by the end of a read is copied; the others are
 * handed on from where they lie. */
static void take_bytes(struct hb_link *link, const char *data, size_t len)
{
    struct hb_buf view;
    size_t n;

    while (len > 0 && hb_buf_left(&link->in) > 0 && !is_over(link)) {
        n = lacking(&link->in);
        n = n < len ? n : len;
        keep(link, data, n);
        take_frames(link, &link->in);
        hb_buf_tidy(&link->in, link->keep_bytes);
        data += n;
        len -= n;
        if (n == 0) {
            break; /* a frame that take_frames refused */
        }
    }
    if (len > 0 && !is_over(link)) {
        hb_buf_view(&view, data, len);
        take_frames(link, &view);
        keep(link, hb_buf_next(&view), hb_buf_left(&view));
    }
    hb_buf_tidy(&link->in, link->keep_bytes);
}

static void on_data(void *arg, const void *data, size_t len)
{
    struct hb_link *link = arg;
    const char *bytes = data;
    size_t used = 0;

    if (is_over(link)) {
        return;
    }
    enter(link);
    if (hb_pulse_heard(&link->pulse, hb_now_ns())) {
        tell_suspicion(link, 0);
    }
    if (!hb_preamble_over(&link->preamble)) {
        used = hb_preamble_feed(&link->preamble, bytes, len, give_chatter,
                                link);
    }
    if (used < len && !is_over(link)) {
        take_bytes(link, bytes + used, len - used);
    }
    leave(link);
}

struct hb_link *hb_link_create(struct event_base *base, struct hb_channel *ch,
                               int parent, const struct hb_link_events *events,
                               void *arg)
{
    struct hb_link *link = hb_xcalloc(1, sizeof(*link));

    link->base = base;
    link->events = events;
    link->arg = arg;
    link->preamble.matched = parent ? 0 : HB_WIRE_MAGIC_LEN;
    link->keep_bytes = parent ? KEEP_DOWN : KEEP_CAP;
    hb_buf_init(&link->in, IN_MAX);
    hb_buf_init(&link->out, OUT_MAX);
    link->ch = ch;
    ch->events.data = on_data;
    ch->events.writable = on_writable;
    ch->events.closed = on_closed;
    ch->arg = link;
    return link;
}
