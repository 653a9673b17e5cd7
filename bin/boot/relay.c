/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Two channels joined. A side that is given more than the other one takes is
 * paused until the rest has gone: what waits is one reading's worth. When one
 * side ends, its last bytes are still written; then the owner hears of it. */
#include "config.h"

#include "bin/boot/relay.h"

#include <stdlib.h>

#include "lib/base/str.h"

struct side {
    struct hb_relay *relay;
    struct hb_channel *ch; /* NULL: ended */
    struct hb_str waiting; /* to be written to it */
    size_t written;        /* of that */
    int paused;            /* it is not read: the other one is full */
};

struct hb_relay {
    struct side sides[2];
    hb_relay_ended ended;
    void *arg;
    int over;              /* which side ended first, or -1 */
    struct hpcboot_error how;
    int depth, destroyed;
};

static struct side *other(struct side *s)
{
    return &s->relay->sides[s == &s->relay->sides[0]];
}

static void drop_waiting(struct side *s)
{
    hb_str_destroy(&s->waiting);
    s->waiting = (struct hb_str)HB_STR_INIT;
    s->written = 0;
}

static void end_side(struct side *s)
{
    if (s->ch) {
        s->ch->ops->close(s->ch);
        s->ch = NULL;
    }
    drop_waiting(s);
}

static void leave(struct hb_relay *r)
{
    if (--r->depth > 0 || !r->destroyed) {
        return;
    }
    end_side(&r->sides[0]);
    end_side(&r->sides[1]);
    free(r);
}

/* A side has ended and nothing of it waits: tell. */
static void maybe_over(struct hb_relay *r)
{
    int side = r->over;

    if (side < 0 || !r->ended || r->destroyed
        || (r->sides[!side].ch && r->sides[!side].waiting.len > 0)) {
        return;
    }
    hb_relay_ended ended = r->ended;

    r->ended = NULL;
    ended(r->arg, side, &r->how);
}

static void pause_side(struct side *s, int paused)
{
    if (s->ch && s->paused != paused) {
        s->paused = paused;
        s->ch->ops->pause(s->ch, paused);
    }
}

static void on_writable(void *arg)
{
    struct side *s = arg, *from = other(s);
    struct hb_relay *r = s->relay;
    ssize_t n = 0;

    r->depth++;
    while (s->ch && s->written < s->waiting.len && n >= 0) {
        n = s->ch->ops->write(s->ch, s->waiting.s + s->written,
                              s->waiting.len - s->written);
        if (n == 0) {
            break;
        }
        s->written += n > 0 ? (size_t)n : 0;
    }
    /* What cannot be written any more is dropped: `closed` will come. */
    if (s->written == s->waiting.len || n < 0) {
        drop_waiting(s);
        pause_side(from, 0);
        maybe_over(r);
    }
    leave(r);
}

static void on_data(void *arg, const void *data, size_t len)
{
    struct side *s = arg, *to = other(s);

    struct hb_relay *r = s->relay;

    if (!to->ch) {
        return;
    }
    r->depth++;
    hb_str_putn(&to->waiting, data, len);
    on_writable(to);
    if (to->waiting.len > 0) {
        pause_side(s, 1);
    }
    leave(r);
}

static void on_closed(void *arg, const struct hpcboot_error *err)
{
    struct side *s = arg;
    struct hb_relay *r = s->relay;

    r->depth++;
    if (r->over < 0) {
        r->over = s == &r->sides[1];
        r->how = *err;
    }
    end_side(s);
    maybe_over(r);
    leave(r);
}

static void join(struct hb_relay *r, int i, struct hb_channel *ch)
{
    r->sides[i].relay = r;
    r->sides[i].ch = ch;
    ch->arg = &r->sides[i];
    ch->events = (struct hb_channel_events){
        .data = on_data, .writable = on_writable, .closed = on_closed,
    };
}

struct hb_relay *hb_relay_create(struct hb_channel *side0,
                                 struct hb_channel *side1,
                                 hb_relay_ended ended, void *arg)
{
    struct hb_relay *r = hb_xcalloc(1, sizeof *r);

    r->ended = ended;
    r->arg = arg;
    r->over = -1;
    join(r, 0, side0);
    join(r, 1, side1);
    return r;
}

struct hb_channel *hb_relay_side(const struct hb_relay *r, int side)
{
    return r->sides[side].ch;
}

void hb_relay_destroy(struct hb_relay *r)
{
    if (!r) {
        return;
    }
    r->destroyed = 1;
    r->depth++;
    leave(r);
}
