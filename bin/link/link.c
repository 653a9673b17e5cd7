/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Frames over a channel. Input: bytes before the magic are chatter; after it
 * whole frames are handed on straight from what was read, and only the rest
 * of a frame that is not yet complete is kept. Output: one buffer, written as
 * the channel takes it. Heartbeats: a PING every beat, and a link on which
 * nothing came for dead_ms is lost.
 *
 * Any callback may destroy the link: the memory goes when the outermost call
 * returns. A failure found while the caller is sending is told from the loop,
 * never from inside the caller's own call. */
#include "config.h"

#include "bin/link/link.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"

/* Several of the largest frames: only a peer that has stopped reading gets
 * here, and the heartbeat finds that one first. */
#define OUT_MAX ((size_t)HB_WIRE_FRAME * 4)
#define LOW_MARK ((size_t)1 << 20) /* `drained` below this backlog */
#define MOVE_FROM ((size_t)1 << 20) /* read bytes worth moving the rest down */

struct hb_link {
    struct event_base *base;
    struct hb_channel *ch;
    struct hb_link_events events;
    void *arg;
    struct hb_buf in, out;
    size_t matched; /* bytes of the magic seen so far; all: frames follow */
    int waiting;    /* the channel took less than it was given */
    int above_mark;
    int depth, doomed; /* calls under way; destroy when they have returned */
    int broken;
    struct hpcboot_error why;
    struct event *tell, *beat, *death;
    uint32_t beat_ms, dead_ms;
    int64_t heard_ns, beat_ns;
    int64_t best_rtt_ns, offset_ns;
};

static struct timeval in_ms(int64_t ms)
{
    struct timeval t = {ms / 1000, (suseconds_t)(ms % 1000) * 1000};

    return t;
}

static void link_free(struct hb_link *l)
{
    struct event *evs[] = {l->tell, l->beat, l->death};

    for (size_t i = 0; i < sizeof evs / sizeof *evs; i++) {
        if (evs[i] != NULL) {
            event_free(evs[i]);
        }
    }
    if (l->ch != NULL) {
        l->ch->ops->close(l->ch);
    }
    hb_buf_destroy(&l->in);
    hb_buf_destroy(&l->out);
    free(l);
}

static void enter(struct hb_link *l)
{
    l->depth++;
}

/* Returns 1 when the link is gone. */
static int leave(struct hb_link *l)
{
    int gone = l->doomed;

    if (--l->depth == 0 && gone) {
        link_free(l);
    }
    return gone;
}

void hb_link_destroy(struct hb_link *l)
{
    if (l == NULL) {
        return;
    }
    l->doomed = 1;
    if (l->depth == 0) {
        link_free(l);
    }
}

static void stop_timers(struct hb_link *l)
{
    event_del(l->beat);
    event_del(l->death);
}

/* The last word on this link. */
static void tell_lost(struct hb_link *l, const struct hpcboot_error *why)
{
    struct hpcboot_error copy = *why;

    if (l->broken == 2 || l->doomed) {
        return;
    }
    l->broken = 2;
    stop_timers(l);
    l->events.lost(l->arg, &copy);
}

static void on_tell(evutil_socket_t fd, short what, void *arg)
{
    struct hb_link *l = arg;

    enter(l);
    tell_lost(l, &l->why);
    (void)leave(l);
}

/* Broken, found inside the caller's own call: told by the loop. */
static void break_later(struct hb_link *l, const struct hpcboot_error *why)
{
    if (l->broken == 0) {
        l->broken = 1;
        l->why = *why;
        event_active(l->tell, EV_TIMEOUT, 1);
    }
}

struct hb_buf *hb_link_out(struct hb_link *l)
{
    return &l->out;
}

size_t hb_link_backlog(const struct hb_link *l)
{
    return hb_buf_left(&l->out);
}

static void tidy_out(struct hb_link *l)
{
    if (hb_buf_left(&l->out) == 0) {
        hb_buf_clear(&l->out);
    } else if (l->out.pos > MOVE_FROM && l->out.pos > hb_buf_left(&l->out)) {
        hb_buf_compact(&l->out);
    }
}

void hb_link_flush(struct hb_link *l)
{
    struct hpcboot_error err = {0};

    if (hb_buf_failed(&l->out)) {
        hb_fail(&err, HPCBOOT_ERR_LIMIT, "more than %zu bytes wait to be sent",
                OUT_MAX);
        break_later(l, &err);
        return;
    }
    while (!l->broken && !l->waiting && hb_buf_left(&l->out) > 0) {
        size_t left = hb_buf_left(&l->out);
        ssize_t n = l->ch->ops->write(l->ch, hb_buf_next(&l->out), left);

        if (n < 0) {
            hb_fail(&err, (int)n, "the link cannot be written to: %s",
                    hb_status_text((int)n));
            break_later(l, &err);
            return;
        }
        hb_buf_skip(&l->out, (size_t)n);
        l->waiting = (size_t)n < left;
    }
    l->above_mark |= hb_buf_left(&l->out) > LOW_MARK;
    tidy_out(l);
}

static void on_writable(void *arg)
{
    struct hb_link *l = arg;

    enter(l);
    l->waiting = 0;
    hb_link_flush(l);
    if (l->above_mark && hb_buf_left(&l->out) <= LOW_MARK) {
        l->above_mark = 0;
        if (l->events.drained != NULL) {
            l->events.drained(l->arg);
        }
    }
    (void)leave(l);
}

static void on_closed(void *arg, const struct hpcboot_error *err)
{
    struct hb_link *l = arg;

    enter(l);
    tell_lost(l, err);
    (void)leave(l);
}

static void give_chatter(struct hb_link *l, const void *text, size_t len)
{
    if (len > 0 && l->events.chatter != NULL && !l->doomed) {
        l->events.chatter(l->arg, text, len);
    }
}

/* Looks for the magic; returns how many bytes were used up by that. Its first
 * byte occurs nowhere else in it, so a mismatch begins anew. */
static size_t skip_chatter(struct hb_link *l, const char *data, size_t len)
{
    size_t i = 0, from = 0;

    while (i < len && l->matched < HB_WIRE_MAGIC_LEN) {
        if (data[i] == HB_WIRE_MAGIC[l->matched]) {
            l->matched++;
            i++;
            continue;
        }
        if (l->matched > i - from) { /* begun in an earlier read */
            give_chatter(l, HB_WIRE_MAGIC, l->matched - (i - from));
        }
        if (l->matched == 0) {
            i++;
        }
        l->matched = 0;
        if (l->doomed) {
            return len;
        }
    }
    if (i - from > l->matched) {
        give_chatter(l, data, i - l->matched);
    }
    return i;
}

static void on_ping(struct hb_link *l, const struct hb_frame *f)
{
    struct hb_msg_ping ping;

    if (hb_wire_get_ping(f, &ping, NULL) == 0) {
        const struct hb_msg_pong pong = {
            .echo_ns = ping.time_ns, .time_ns = (uint64_t)hb_now_ns(),
        };

        (void)hb_wire_put_pong(&l->out, f->epoch, f->dst, f->src, &pong, NULL);
        hb_link_flush(l);
    }
}

static void on_pong(struct hb_link *l, const struct hb_frame *f)
{
    struct hb_msg_pong pong;
    int64_t now = hb_now_ns(), rtt;

    if (hb_wire_get_pong(f, &pong, NULL) < 0) {
        return;
    }
    rtt = now - (int64_t)pong.echo_ns;
    if (rtt >= 0 && (l->best_rtt_ns == 0 || rtt < l->best_rtt_ns)) {
        l->best_rtt_ns = rtt > 0 ? rtt : 1;
        l->offset_ns = (int64_t)pong.time_ns - ((int64_t)pong.echo_ns + rtt / 2);
    }
}

static void one_frame(struct hb_link *l, const struct hb_frame *f)
{
    if (f->type == HB_MSG_PING) {
        on_ping(l, f);
    } else if (f->type == HB_MSG_PONG) {
        on_pong(l, f);
    } else {
        l->events.frame(l->arg, f);
    }
}

/* Hands on every whole frame in b. */
static void take_frames(struct hb_link *l, struct hb_buf *b)
{
    struct hpcboot_error err = {0};
    struct hb_frame frame;
    int rc = 0;

    while (!l->doomed && l->broken < 2 &&
           (rc = hb_wire_next(b, &frame, &err)) == 1) {
        one_frame(l, &frame);
    }
    if (rc < 0 && !l->doomed) {
        tell_lost(l, &err);
    }
}

static void on_data(void *arg, const void *data, size_t len)
{
    struct hb_link *l = arg;
    const char *bytes = data;
    struct hb_buf view;
    size_t used = 0;

    enter(l);
    l->heard_ns = hb_now_ns();
    if (l->matched < HB_WIRE_MAGIC_LEN) {
        used = skip_chatter(l, bytes, len);
    }
    if (hb_buf_left(&l->in) > 0) {
        hb_buf_put_raw(&l->in, bytes + used, len - used);
        take_frames(l, &l->in);
    } else if (used < len) {
        hb_buf_view(&view, bytes + used, len - used);
        take_frames(l, &view);
        hb_buf_clear(&l->in);
        hb_buf_put_raw(&l->in, hb_buf_next(&view), hb_buf_left(&view));
    }
    if (hb_buf_left(&l->in) == 0 || l->in.pos > MOVE_FROM) {
        hb_buf_compact(&l->in);
    }
    (void)leave(l);
}

static uint32_t load_milli(void)
{
    double load = 0;

    return getloadavg(&load, 1) == 1 ? (uint32_t)(load * 1000) : 0;
}

static void on_beat(evutil_socket_t fd, short what, void *arg)
{
    struct hb_link *l = arg;
    struct timeval next = in_ms(l->beat_ms);
    const struct hb_msg_ping ping = {
        .time_ns = (uint64_t)hb_now_ns(), .load_milli = load_milli(),
    };

    l->beat_ns = hb_now_ns();
    (void)hb_wire_put_ping(&l->out, 0, HB_NODE_UNSET, HB_NODE_UNSET, &ping,
                           NULL);
    hb_link_flush(l);
    event_add(l->beat, &next);
}

/* This process itself was stopped or starved when its own beat is overdue:
 * then the silence says nothing about the peer. */
static int was_asleep(const struct hb_link *l, int64_t now)
{
    return now - l->beat_ns > (int64_t)l->beat_ms * 2 * 1000000;
}

static void on_death(evutil_socket_t fd, short what, void *arg)
{
    struct hb_link *l = arg;
    struct hpcboot_error err = {0};
    int64_t now = hb_now_ns(), silent_ms;
    struct timeval next;

    if (was_asleep(l, now)) {
        l->heard_ns = now;
    }
    silent_ms = (now - l->heard_ns) / 1000000;
    if (silent_ms < l->dead_ms) {
        next = in_ms(l->dead_ms - silent_ms);
        event_add(l->death, &next);
        return;
    }
    hb_fail(&err, HPCBOOT_ERR_TIMED_OUT, "no sign of life for %.1f s",
            (double)silent_ms / 1000);
    enter(l);
    tell_lost(l, &err);
    (void)leave(l);
}

void hb_link_heartbeat(struct hb_link *l, uint32_t beat_ms, uint32_t dead_ms)
{
    struct timeval dead = in_ms(dead_ms);

    stop_timers(l);
    l->beat_ms = beat_ms;
    l->dead_ms = dead_ms;
    l->heard_ns = hb_now_ns();
    if (beat_ms > 0 && !l->broken) {
        on_beat(-1, 0, l);
    }
    if (dead_ms > 0 && beat_ms > 0 && !l->broken) {
        event_add(l->death, &dead);
    }
}

int64_t hb_link_clock_offset_ns(const struct hb_link *l)
{
    return l->offset_ns;
}

void hb_link_set_clock(struct hb_link *l, int64_t offset_ns)
{
    l->offset_ns = offset_ns;
}

int hb_link_create(struct hb_link **out, struct event_base *base,
                   struct hb_channel *ch, int parent,
                   const struct hb_link_events *events, void *arg,
                   struct hpcboot_error *err)
{
    struct hb_link *l = hb_xcalloc(1, sizeof *l);

    l->base = base;
    l->events = *events;
    l->arg = arg;
    l->matched = parent ? 0 : HB_WIRE_MAGIC_LEN;
    hb_buf_init(&l->in, HB_WIRE_FRAME + HB_WIRE_HEADER);
    hb_buf_init(&l->out, OUT_MAX);
    l->tell = evtimer_new(base, on_tell, l);
    l->beat = evtimer_new(base, on_beat, l);
    l->death = evtimer_new(base, on_death, l);
    if (l->tell == NULL || l->beat == NULL || l->death == NULL) {
        link_free(l);
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for a link");
    }
    l->ch = ch;
    ch->events.data = on_data;
    ch->events.writable = on_writable;
    ch->events.closed = on_closed;
    ch->arg = l;
    *out = l;
    return 0;
}
