/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * The channel in memory and the events of a link that is tested over it.
 */
#include "config.h"

#include "tests/fakes/link_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <event2/event.h>

static ssize_t mem_write(struct hb_channel *ch, const void *data, size_t len)
{
    struct mem_channel *m = (struct mem_channel *)ch;
    struct hpcboot_error err = {HPCBOOT_ERR_CLOSED, 0, "closed in write"};
    size_t n = len < m->takes ? len : m->takes;

    if (m->closes_in_write) {
        ch->events.closed(ch->arg, &err);
        return HPCBOOT_ERR_CLOSED;
    }
    if (m->fail < 0) {
        return m->fail;
    }
    hb_buf_put_raw(&m->written, data, n);
    m->takes -= n;
    return (ssize_t)n;
}

static void mem_pause(struct hb_channel *ch, int paused)
{
}

static void mem_close(struct hb_channel *ch)
{
    struct mem_channel *m = (struct mem_channel *)ch;

    ++*m->closed;
    hb_buf_destroy(&m->written);
    free(m);
}

static const struct hb_channel_ops mem_ops = {mem_write, mem_pause,
                                              mem_close};

static void maybe_destroy(struct fixture *f, enum destroy_in now)
{
    if (f->destroy_in == now) {
        hb_link_destroy(f->link);
        f->link = NULL;
    }
}

static void on_frame(void *arg, const struct hb_frame *frame)
{
    struct fixture *f = arg;
    struct hb_msg_output output;

    f->frames++;
    if (hb_wire_get_output(frame, &output, NULL) == 0) {
        f->last_rank = output.rank;
        f->bytes += output.data.len;
    }
    maybe_destroy(f, IN_FRAME);
}

static void on_chatter(void *arg, const char *text, size_t len)
{
    struct fixture *f = arg;

    hb_str_putn(&f->chatter, text, len);
    maybe_destroy(f, IN_CHATTER);
}

static void on_drained(void *arg)
{
    struct fixture *f = arg;

    f->drained++;
    maybe_destroy(f, IN_DRAINED);
}

static void on_lost(void *arg, const struct hpcboot_error *err)
{
    struct fixture *f = arg;

    f->lost++;
    f->err = *err;
    event_base_loopbreak(f->base);
    maybe_destroy(f, IN_LOST);
}

static void on_suspect(void *arg, uint32_t silent_ms)
{
    struct fixture *f = arg;

    f->suspected += silent_ms > 0;
    f->alive += silent_ms == 0;
    if (f->destroy_in == IN_SUSPECT) {
        hb_link_destroy(f->link);
        f->link = NULL;
        event_base_loopbreak(f->base);
    }
}

const struct hb_link_events fixture_events = {
    .frame = on_frame, .chatter = on_chatter, .suspect = on_suspect,
    .drained = on_drained, .lost = on_lost,
};

void open_link(struct fixture *f, int parent)
{
    memset(f, 0, sizeof(*f));
    f->base = event_base_new();
    assert_non_null(f->base);
    f->mem = hb_xcalloc(1, sizeof(*f->mem));
    f->mem->ch.ops = &mem_ops;
    f->mem->takes = SIZE_MAX;
    f->mem->closed = &f->channels_closed;
    hb_buf_init(&f->mem->written, 64u << 20);
    f->link = hb_link_create(f->base, &f->mem->ch, parent, &fixture_events,
                             f);
}

void close_link(struct fixture *f)
{
    hb_link_destroy(f->link);
    assert_int_equal(f->channels_closed, 1);
    hb_str_destroy(&f->chatter);
    event_base_free(f->base);
}

void arrive(struct fixture *f, const void *data, size_t len)
{
    f->mem->ch.events.data(f->mem->ch.arg, data, len);
}

void put_output(struct hb_buf *out, uint32_t rank, size_t len)
{
    static const char zeros[1 << 16];
    const struct hb_msg_output msg = {.rank = rank, .data = {zeros, len}};

    assert_int_equal(hb_wire_put_output(out, 0, 0, 0, &msg, NULL), 0);
}
