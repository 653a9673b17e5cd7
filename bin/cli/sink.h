/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_SINK_H
#define HB_CLI_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* A descriptor that is written without ever blocking, and the bytes that
 * wait for it. Private to bin/cli. */
enum hb_sink_way {
    HB_SINK_DIRECT,  /* a file: does not wait for a reader */
    HB_SINK_REOPEN,  /* a second, non-blocking description of pipe or tty */
    HB_SINK_SOCKET,  /* sent with MSG_DONTWAIT */
    HB_SINK_POLLED   /* written in pieces that poll() promises room for */
};

struct hb_sink_mark { /* a piece ends here */
    uint64_t end;     /* position in the stream of rendered bytes */
    uint32_t rank;
    size_t bytes;     /* of the piece's own data */
};

struct hb_sink {
    int fd, owned;
    enum hb_sink_way way;
    const char *name; /* "standard output" */
    int dead;         /* an error was reported; everything is dropped */
    char *data;       /* what waits: data[start .. len) */
    size_t start, len, cap;
    uint64_t position; /* of data[start] in the stream */
    struct hb_sink_mark *marks;
    size_t first_mark, n_marks, cap_marks;
    void (*done)(void *arg, uint32_t rank, size_t bytes);
    void *arg;
};

void hb_sink_open(struct hb_sink *s, int fd, const char *name);
void hb_sink_close(struct hb_sink *s);
/* Room for n bytes at the end; hb_sink_added makes them wait. */
char *hb_sink_reserve(struct hb_sink *s, size_t n);
void hb_sink_added(struct hb_sink *s, size_t n);
void hb_sink_put(struct hb_sink *s, const void *data, size_t n);
/* A piece of `bytes` own bytes ends with what was added last. */
void hb_sink_mark(struct hb_sink *s, uint32_t rank, size_t bytes);
size_t hb_sink_waiting(const struct hb_sink *s);
int hb_sink_owes(const struct hb_sink *s); /* does a piece wait? */
/* Writes bytes past the queue, which must be empty: how many went, 0 for
 * none now, or an error. */
int hb_sink_try(struct hb_sink *s, const void *data, size_t n,
                size_t *written_out, struct hpcboot_error *err);
int hb_sink_flush(struct hb_sink *s, struct hpcboot_error *err); /* 1, 0, < 0 */

#endif
