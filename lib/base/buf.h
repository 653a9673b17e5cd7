/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BASE_BUF_H
#define HB_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

/* A bounded byte buffer with typed access, big-endian. All wire data passes
 * through it. Writing past `max_bytes` and reading past the end fail, and the
 * failure sticks: a sequence of calls needs one check, hb_buf_failed. */
struct hb_buf {
    unsigned char *data;
    size_t len;       /* bytes that are valid */
    size_t pos;       /* next byte to read */
    size_t cap;       /* allocated; 0 for a borrowed view */
    size_t max_bytes; /* never grows beyond */
    int failed;
    int no_memory; /* while it has failed: that is why */
};

/* Bytes somebody else owns. */
struct hb_bytes {
    const void *data;
    size_t len;
};

void hb_buf_init(struct hb_buf *b, size_t max_bytes);
void hb_buf_view(struct hb_buf *b, const void *data, size_t len); /* borrows */
void hb_buf_destroy(struct hb_buf *b); /* also for a view; b is then empty */
void hb_buf_clear(struct hb_buf *b);   /* keeps the memory */
int hb_buf_failed(const struct hb_buf *b);
size_t hb_buf_left(const struct hb_buf *b); /* unread bytes */
const unsigned char *hb_buf_next(const struct hb_buf *b); /* at `pos` */
void hb_buf_skip(struct hb_buf *b, size_t n);
void hb_buf_compact(struct hb_buf *b); /* drops what has been read */
/* The same where that moves no more than was read: for the queue of a reader
 * who is always behind, which is never empty, and would grow for ever. An empty
 * one gives back memory beyond keep_bytes. */
void hb_buf_tidy(struct hb_buf *b, size_t keep_bytes);

/* Room for n more bytes at the end, or NULL (and failed). hb_buf_added then
 * makes them valid. */
void *hb_buf_reserve(struct hb_buf *b, size_t n);
void hb_buf_added(struct hb_buf *b, size_t n);

void hb_buf_put_u8(struct hb_buf *b, uint8_t v);
void hb_buf_put_u16(struct hb_buf *b, uint16_t v);
void hb_buf_put_u32(struct hb_buf *b, uint32_t v);
void hb_buf_put_u64(struct hb_buf *b, uint64_t v);
void hb_buf_put_i32(struct hb_buf *b, int32_t v);
void hb_buf_put_raw(struct hb_buf *b, const void *data, size_t len);
/* u32 length, bytes; a string (NULL: "") ends with its NUL, not counted. */
void hb_buf_put_blob(struct hb_buf *b, const void *data, size_t len);
void hb_buf_put_str(struct hb_buf *b, const char *s);
void hb_buf_patch_u32(struct hb_buf *b, size_t at, uint32_t v);

/* On failure these return 0 or an empty view. */
uint8_t hb_buf_get_u8(struct hb_buf *b);
uint16_t hb_buf_get_u16(struct hb_buf *b);
uint32_t hb_buf_get_u32(struct hb_buf *b);
uint64_t hb_buf_get_u64(struct hb_buf *b);
int32_t hb_buf_get_i32(struct hb_buf *b);
struct hb_bytes hb_buf_get_raw(struct hb_buf *b, size_t len);
struct hb_bytes hb_buf_get_blob(struct hb_buf *b, size_t max_len);
/* Borrowed from the buffer, NUL-terminated, without a NUL inside. */
const char *hb_buf_get_str(struct hb_buf *b, size_t max_len);

#endif
