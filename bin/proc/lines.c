/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Cuts a rank's output at line ends.
 *
 * Whole lines are given out straight from the caller's buffer, as many as a
 * look at HB_PIECE_MAX bytes finds; only the beginning of a line whose end has
 * not come yet is copied and held. Two facts keep the code short:
 *
 *  - at most HB_LINE_MAX bytes are held, so the next HB_LINE_MAX + 1 - held
 *    bytes either contain the line's end or prove that the line is too long;
 *  - a line that is too long is given out in pieces of HB_LINE_MAX bytes, and
 *    `continued` says that what comes next begins inside a line.
 *
 * Invariant: concatenated, the pieces are the bytes that were fed, in order;
 * what has not been given out is in `data`, and contains no line end. Bytes
 * have no meaning here but '\n': NUL and everything else pass. */
#include "config.h"

#include "bin/proc/lines.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

/* Room for short lines: most ranks never hold more than this. */
#define LINES_FIRST_CAP 1024u

static unsigned continued_flag(const struct hb_lines *l)
{
    return l->continued ? HB_PIECE_CONTINUED : 0;
}

static void hold(struct hb_lines *l, const void *data, size_t len)
{
    size_t need = l->len + len;

    if (need > l->cap) {
        size_t cap = l->cap ? l->cap : LINES_FIRST_CAP;

        while (cap < need) {
            cap *= 2;
        }
        l->data = hb_xrealloc(l->data, cap);
        l->cap = cap;
    }
    memcpy(l->data + l->len, data, len);
    l->len = need;
}

static void emit_held(struct hb_lines *l, int partial, hb_lines_emit emit,
                      void *arg)
{
    unsigned flags = continued_flag(l) | (partial ? HB_PIECE_PARTIAL : 0);
    size_t len = l->len;

    l->continued = partial;
    l->len = 0;
    emit(arg, l->data, len, flags);
}

/* A line is held and `data` goes on with it. Returns the bytes used, which
 * can be none when the held line turns out to be too long. */
static size_t go_on(struct hb_lines *l, const unsigned char *data, size_t len,
                    hb_lines_emit emit, void *arg)
{
    size_t room = HB_PIECE_MAX - l->len;
    size_t window = len < room ? len : room;
    /* The first end, not the last: what follows needs no copy. */
    const unsigned char *end = memchr(data, '\n', window);

    if (end != NULL) {
        size_t used = (size_t)(end - data) + 1;

        hold(l, data, used);
        emit_held(l, 0, emit, arg);
        return used;
    }
    if (window < room) {
        hold(l, data, window);
        return window;
    }
    hold(l, data, room - 1);
    emit_held(l, 1, emit, arg);
    return room - 1;
}

/* Nothing is held. Returns the bytes used. */
static size_t begin(struct hb_lines *l, const unsigned char *data, size_t len,
                    hb_lines_emit emit, void *arg)
{
    size_t window = len < HB_PIECE_MAX ? len : HB_PIECE_MAX;
    const unsigned char *end = memrchr(data, '\n', window);
    unsigned flags = continued_flag(l);

    if (end != NULL) {
        size_t used = (size_t)(end - data) + 1;

        l->continued = 0;
        emit(arg, data, used, flags);
        return used;
    }
    if (window < HB_PIECE_MAX) {
        hold(l, data, window);
        return window;
    }
    l->continued = 1;
    emit(arg, data, HB_LINE_MAX, flags | HB_PIECE_PARTIAL);
    return HB_LINE_MAX;
}

void hb_lines_feed(struct hb_lines *l, const void *data, size_t len,
                   hb_lines_emit emit, void *arg)
{
    const unsigned char *p = data;

    while (len > 0) {
        size_t used = l->len > 0 ? go_on(l, p, len, emit, arg)
                                 : begin(l, p, len, emit, arg);
        p += used;
        len -= used;
    }
}

void hb_lines_finish(struct hb_lines *l, hb_lines_emit emit, void *arg)
{
    if (l->len > 0) {
        emit_held(l, 1, emit, arg);
    }
}

void hb_lines_destroy(struct hb_lines *l)
{
    if (l == NULL) {
        return;
    }
    free(l->data);
    *l = (struct hb_lines)HB_LINES_INIT;
}
