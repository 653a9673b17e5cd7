/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_LINES_H
#define HB_PROC_LINES_H

#include <stddef.h>

/* Cuts a byte stream into pieces that end at a line's end. Lines up to
 * HB_LINE_MAX bytes stay whole; longer ones come in pieces marked partial and
 * continued. Several whole lines may come as one piece. Bytes pass unharmed. */
#define HB_LINE_MAX 65536u /* what users are promised not to see torn */
#define HB_PIECE_MAX (HB_LINE_MAX + 1) /* such a line and its end; the most */

struct hb_lines {
    unsigned char *data; /* the line under way */
    size_t len, cap;
    int continued;
};
#define HB_LINES_INIT {NULL, 0, 0, 0}

/* flags: HB_PIECE_* */
#define HB_PIECE_PARTIAL 0x1u   /* the line goes on in the next piece */
#define HB_PIECE_CONTINUED 0x2u /* this piece begins inside a line */
typedef void (*hb_lines_emit)(void *arg, const void *data, size_t len,
                              unsigned flags);
void hb_lines_feed(struct hb_lines *l, const void *data, size_t len,
                   hb_lines_emit emit, void *arg);
/* The stream has ended (or has paused for long): what is held is given out
 * as it is, marked partial, without a line end being added. What is fed
 * later goes on with that line. */
void hb_lines_finish(struct hb_lines *l, hb_lines_emit emit, void *arg);
void hb_lines_destroy(struct hb_lines *l);

#endif
