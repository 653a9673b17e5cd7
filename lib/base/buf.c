/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * The bounded buffer: all bytes that come from or go to another process pass
 * through here, big-endian, without a cast to a struct.
 *
 *   data            pos            len            cap         max_bytes
 *    |--- read -----|--- unread ---|--- room -----|. . may grow . .|
 *
 * Invariants: pos <= len <= cap <= max_bytes, except that a view owns no
 * memory (cap 0, data not NULL) and therefore never takes a byte.
 *
 * Failure sticks. A caller writes or reads a whole message and asks
 * hb_buf_failed once; nothing is read or written after the first failure,
 * so no value that follows it can be mistaken for a real one.
 *
 * Bytes move only in hb_buf_compact, hb_buf_tidy and when memory grows, never
 * behind the back of somebody who remembered an offset for hb_buf_patch_u32.
 */
#include "config.h"

#include "lib/base/buf.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 256u /* most control messages are smaller */
#define MOVE_FROM ((size_t)1 << 20) /* used bytes worth a memmove */

void hb_buf_init(struct hb_buf *b, size_t max_bytes)
{
    memset(b, 0, sizeof(*b));
    b->max_bytes = max_bytes;
}

void hb_buf_view(struct hb_buf *b, const void *data, size_t len)
{
    memset(b, 0, sizeof(*b));
    b->data = (unsigned char *)data; /* never written: cap is 0 */
    b->len = len;
    b->max_bytes = len;
}

void hb_buf_destroy(struct hb_buf *b)
{
    if (b->cap > 0) {
        free(b->data);
    }
    memset(b, 0, sizeof(*b));
}

void hb_buf_clear(struct hb_buf *b)
{
    b->len = 0;
    b->pos = 0;
    b->failed = b->no_memory = 0;
}

int hb_buf_failed(const struct hb_buf *b)
{
    return b->failed;
}

size_t hb_buf_left(const struct hb_buf *b)
{
    return b->failed ? 0 : b->len - b->pos;
}

const unsigned char *hb_buf_next(const struct hb_buf *b)
{
    /* An empty buffer has no memory yet, and NULL has no place in memcpy. */
    return b->data != NULL ? b->data + b->pos : (const unsigned char *)"";
}

void hb_buf_skip(struct hb_buf *b, size_t n)
{
    if (n > hb_buf_left(b)) {
        b->failed = 1;
        return;
    }
    b->pos += n;
}

void hb_buf_compact(struct hb_buf *b)
{
    if (b->pos == 0 || b->cap == 0) {
        return;
    }
    memmove(b->data, b->data + b->pos, b->len - b->pos);
    b->len -= b->pos;
    b->pos = 0;
}

void hb_buf_tidy(struct hb_buf *b, size_t keep_bytes)
{
    size_t left = hb_buf_left(b), max_bytes = b->max_bytes;

    if (b->failed) {
        return;
    }
    if (left == 0 && b->cap > keep_bytes) {
        hb_buf_destroy(b);
        hb_buf_init(b, max_bytes);
    } else if (left == 0) {
        hb_buf_clear(b);
    } else if (b->pos >= MOVE_FROM && b->pos >= left) {
        hb_buf_compact(b);
    }
}

/* Doubling keeps the cost per byte constant; the limit cuts it short. */
static int grow(struct hb_buf *b, size_t needed)
{
    size_t cap = b->cap > 0 ? b->cap : FIRST_CAP;
    unsigned char *data;

    while (cap < needed) {
        cap = cap > b->max_bytes / 2 ? b->max_bytes : cap * 2;
    }
    if (cap > b->max_bytes) {
        cap = b->max_bytes;
    }
    data = realloc(b->data, cap);
    if (data == NULL) {
        return -1;
    }
    b->data = data;
    b->cap = cap;
    return 0;
}

void *hb_buf_reserve(struct hb_buf *b, size_t n)
{
    int is_view = b->cap == 0 && b->data != NULL;

    if (b->failed) {
        return NULL;
    }
    if (is_view || n > b->max_bytes - b->len) {
        b->failed = 1;
        b->no_memory = 0;
        return NULL;
    }
    if ((b->data == NULL || n > b->cap - b->len) && b->max_bytes > 0
        && grow(b, b->len + n) < 0) {
        b->failed = b->no_memory = 1;
        return NULL;
    }
    return b->data + b->len;
}

void hb_buf_added(struct hb_buf *b, size_t n)
{
    if (b->failed || n > b->cap - b->len) {
        b->failed = 1;
        return;
    }
    b->len += n;
}

static void store(unsigned char *to, uint64_t v, size_t width)
{
    size_t i;

    for (i = width; i > 0; i--) {
        to[i - 1] = (unsigned char)v;
        v >>= 8;
    }
}

static uint64_t load(const unsigned char *from, size_t width)
{
    uint64_t v = 0;
    size_t i;

    for (i = 0; i < width; i++) {
        v = v << 8 | from[i];
    }
    return v;
}

static void put_number(struct hb_buf *b, uint64_t v, size_t width)
{
    unsigned char *to = hb_buf_reserve(b, width);

    if (to != NULL) {
        store(to, v, width);
        b->len += width;
    }
}

void hb_buf_put_u8(struct hb_buf *b, uint8_t v)
{
    put_number(b, v, 1);
}

void hb_buf_put_u16(struct hb_buf *b, uint16_t v)
{
    put_number(b, v, 2);
}

void hb_buf_put_u32(struct hb_buf *b, uint32_t v)
{
    put_number(b, v, 4);
}

void hb_buf_put_u64(struct hb_buf *b, uint64_t v)
{
    put_number(b, v, 8);
}

void hb_buf_put_i32(struct hb_buf *b, int32_t v)
{
    put_number(b, (uint32_t)v, 4);
}

void hb_buf_put_raw(struct hb_buf *b, const void *data, size_t len)
{
    unsigned char *to;

    if (len == 0) {
        return;
    }
    to = hb_buf_reserve(b, len);
    if (to != NULL) {
        memcpy(to, data, len);
        b->len += len;
    }
}

void hb_buf_put_blob(struct hb_buf *b, const void *data, size_t len)
{
    if (len > UINT32_MAX) {
        b->failed = 1;
        return;
    }
    hb_buf_put_u32(b, (uint32_t)len);
    hb_buf_put_raw(b, data, len);
}

void hb_buf_put_str(struct hb_buf *b, const char *s)
{
    const char *text = s != NULL ? s : "";

    hb_buf_put_blob(b, text, strlen(text));
    hb_buf_put_u8(b, 0);
}

void hb_buf_patch_u32(struct hb_buf *b, size_t at, uint32_t v)
{
    if (b->failed || b->cap == 0 || b->len < 4 || at > b->len - 4) {
        b->failed = 1;
        return;
    }
    store(b->data + at, v, 4);
}

static uint64_t get_number(struct hb_buf *b, size_t width)
{
    uint64_t v;

    if (width > hb_buf_left(b)) {
        b->failed = 1;
        return 0;
    }
    v = load(b->data + b->pos, width);
    b->pos += width;
    return v;
}

uint8_t hb_buf_get_u8(struct hb_buf *b)
{
    return (uint8_t)get_number(b, 1);
}

uint16_t hb_buf_get_u16(struct hb_buf *b)
{
    return (uint16_t)get_number(b, 2);
}

uint32_t hb_buf_get_u32(struct hb_buf *b)
{
    return (uint32_t)get_number(b, 4);
}

uint64_t hb_buf_get_u64(struct hb_buf *b)
{
    return get_number(b, 8);
}

int32_t hb_buf_get_i32(struct hb_buf *b)
{
    return (int32_t)(uint32_t)get_number(b, 4);
}

struct hb_bytes hb_buf_get_raw(struct hb_buf *b, size_t len)
{
    struct hb_bytes bytes = {"", 0};

    if (len > hb_buf_left(b)) {
        b->failed = 1;
        return bytes;
    }
    bytes.data = hb_buf_next(b);
    bytes.len = len;
    b->pos += len;
    return bytes;
}

struct hb_bytes hb_buf_get_blob(struct hb_buf *b, size_t max_len)
{
    struct hb_bytes empty = {"", 0};
    size_t len = hb_buf_get_u32(b);

    if (len > max_len) {
        b->failed = 1;
        return empty;
    }
    return hb_buf_get_raw(b, len);
}

const char *hb_buf_get_str(struct hb_buf *b, size_t max_len)
{
    struct hb_bytes bytes = hb_buf_get_blob(b, max_len);

    if (hb_buf_get_u8(b) != 0 || memchr(bytes.data, 0, bytes.len) != NULL) {
        b->failed = 1;
    }
    return b->failed ? "" : bytes.data;
}
