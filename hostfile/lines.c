/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Lines of a hostfile, with the place of everything that is wrong in them.
 *
 * What comes in is any bytes: a hostfile may be a core dump by mistake. A NUL
 * and a line longer than any host can need end the reading with the place. A
 * byte-order mark and carriage returns, which editors elsewhere leave behind,
 * are dropped without a word. */

#include "config.h"

#include "hostfile/lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

/* A list of 10,000 long names is one line; a megabyte of one line is a mistake,
 * and this much of it says so. */
#define MAX_LINE_BYTES (512u << 10)

void hb_lines_begin(struct hb_lines *l, const char *file, const char *text,
                    size_t len)
{
    memset(l, 0, sizeof(*l));
    l->file = file;
    l->next = text + hb_bom_len(text, len);
    l->end = text + len;
}

int hb_lines_next(struct hb_lines *l, struct hpcboot_error *err)
{
    size_t left = (size_t)(l->end - l->next), n;
    const char *stop, *nul;

    if (left == 0) {
        return 0;
    }
    stop = memchr(l->next, '\n', left);
    n = stop != NULL ? (size_t)(stop - l->next) : left;
    l->number++;
    if (n > MAX_LINE_BYTES) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT,
                       "%s:%u:%u: expected the line to end by now", l->file,
                       l->number, MAX_LINE_BYTES + 1);
    }
    nul = memchr(l->next, '\0', n);
    if (nul != NULL) {
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "%s:%u:%zu: expected text, found a NUL byte", l->file,
                       l->number, (size_t)(nul - l->next) + 1);
    }
    l->line = hb_xrealloc(l->line, n + 1);
    memcpy(l->line, l->next, n);
    l->next += n + (stop != NULL);
    if (n > 0 && l->line[n - 1] == '\r') {
        n--;
    }
    l->line[n] = '\0';
    l->len = n;
    return 1;
}

char *hb_lines_trim(struct hb_lines *l)
{
    char *from = l->line, *end;

    from[strcspn(from, "#")] = '\0';
    from += strspn(from, " \t\r");
    end = from + strlen(from);
    while (end > from && strchr(" \t\r", end[-1]) != NULL) {
        end--;
    }
    *end = '\0';
    return from;
}

void hb_lines_end(struct hb_lines *l)
{
    free(l->line);
    l->line = NULL;
}

int hb_lines_fail(const struct hb_lines *l, const char *at,
                  struct hpcboot_error *err, const char *fmt, ...)
{
    size_t column = at != NULL ? (size_t)(at - l->line) + 1 : 1;
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (l->number == 0) {
        return hb_fail(err, HPCBOOT_ERR_PARSE, "%.200s, column %zu: %s",
                       l->file, column, text);
    }
    return hb_fail(err, HPCBOOT_ERR_PARSE, "%.200s:%u:%zu: %s", l->file,
                   l->number, column, text);
}

char *hb_lines_where(const struct hb_lines *l)
{
    return l->number == 0 ? hb_xstrdup(l->file)
                          : hb_xasprintf("%s:%u", l->file, l->number);
}
