/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_LINES_H
#define HB_HOSTFILE_LINES_H

#include <stddef.h>

#include "lib/base/error.h"

/* Walks over a text line by line, for all dialects. Each line is a copy that
 * the dialect may cut up; columns are byte offsets into it, so they stay
 * right. Line ends are LF or CRLF; the last line needs none. */
struct hb_lines {
    const char *file; /* for messages; borrowed */
    const char *next, *end;
    unsigned number;  /* of the current line, from 1; 0: a text of one line,
                       * messages name the column alone */
    char *line;       /* the current line, NUL-terminated */
    size_t len;
};

void hb_lines_begin(struct hb_lines *l, const char *file, const char *text,
                    size_t len);
/* 1: l->line is the next line; 0: no more; negative: a NUL, or too long. */
int hb_lines_next(struct hb_lines *l, struct hpcboot_error *err);
/* The current line without a "#" comment and blanks around it; "" when that
 * is all there is. Points into the line. */
char *hb_lines_trim(struct hb_lines *l);
void hb_lines_end(struct hb_lines *l);
/* "FILE:LINE:COLUMN: TEXT" with the column of `at`, a pointer into l->line. */
int hb_lines_fail(const struct hb_lines *l, const char *at,
                  struct hpcboot_error *err, const char *fmt, ...)
    HB_PRINTF(4, 5);
/* "FILE:LINE"; free() it. */
char *hb_lines_where(const struct hb_lines *l);

#endif
