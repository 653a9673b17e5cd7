/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Errors: the one place where status, errno and text meet.
 *
 * A text is made where the fact is known and travels unchanged; callers add
 * context at most once, in front. Every function formats into a buffer of
 * its own first, so that an error's own text may be among the arguments. What
 * is too long loses its middle, as of a long path: the reason is behind it.
 *
 * What an error puts an end to stands in the table of hpcboot/status.h; the
 * policy that follows from it belongs to the programs, not here.
 */
#include "config.h"

#include "lib/base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WHOLE_MAX (4096 + HPCBOOT_ERROR_TEXT_MAX) /* a path, and a sentence */
#define HEAD_MAX (HPCBOOT_ERROR_TEXT_MAX / 2) /* of one that loses its middle */

static void whole_text(char text[WHOLE_MAX], const char *fmt, va_list ap)
{
    text[0] = '\0';
    vsnprintf(text, WHOLE_MAX, fmt, ap);
}

static int goes_on(char byte) /* a character of UTF-8 */
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static void set_text(struct hpcboot_error *err, const char *text)
{
    static const char gap[] = "...";
    size_t len = strlen(text), head = HEAD_MAX, tail;

    memset(err->text, 0, sizeof(err->text));
    if (len < HPCBOOT_ERROR_TEXT_MAX) {
        memcpy(err->text, text, len + 1);
        return;
    }
    while (head > 0 && goes_on(text[head])) {
        head--;
    }
    tail = len - (HPCBOOT_ERROR_TEXT_MAX - sizeof(gap) - head);
    while (tail < len && goes_on(text[tail])) {
        tail++;
    }
    memcpy(err->text, text, head);
    memcpy(err->text + head, gap, sizeof(gap) - 1);
    memcpy(err->text + head + sizeof(gap) - 1, text + tail, len - tail + 1);
}

static void set_error(struct hpcboot_error *err, int code, int sys_errno,
                      const char *text)
{
    err->code = code;
    err->sys_errno = sys_errno;
    set_text(err, text);
}

const char *hb_errno_remedy(int sys_errno)
{
    switch (sys_errno) {
    case EMFILE:
    case ETOOMANYREFS: /* of the user's, on their way to other processes */
        return "; raise ulimit -n";
    case ENFILE:
        return "; the whole host has none left: raise its fs.file-max";
    case EAGAIN: /* of fork and of threads; who reads or writes waits */
        return "; raise ulimit -u or the container's limit of processes";
    case ENOMEM:
        return "; raise the limit on memory of the container (or ulimit -v), "
               "or run less in it";
    case ENOSPC:
    case EDQUOT:
        return "; make room there, or use another place";
    default:
        return "";
    }
}

/* Puts ": <more><end>" behind a text of WHOLE_MAX bytes, as far as it fits. */
static void append(char *text, const char *more, const char *end)
{
    const char *const parts[] = {": ", more, end};
    size_t used = strlen(text), n, i;

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        n = strnlen(parts[i], WHOLE_MAX - 1 - used);
        memcpy(text + used, parts[i], n);
        used += n;
    }
    text[used] = '\0';
}

int hb_fail(struct hpcboot_error *err, int code, const char *fmt, ...)
{
    char text[WHOLE_MAX];
    int saved = errno;
    va_list ap;

    if (err == NULL) {
        return code;
    }
    va_start(ap, fmt);
    whole_text(text, fmt, ap);
    va_end(ap);
    set_error(err, code, 0, text);
    errno = saved;
    return code;
}

int hb_fail_errno(struct hpcboot_error *err, int code, const char *fmt, ...)
{
    char text[WHOLE_MAX];
    char reason[128]; /* the longest of glibc, translated, is below that */
    int saved = errno;
    va_list ap;

    if (err == NULL) {
        return code;
    }
    va_start(ap, fmt);
    whole_text(text, fmt, ap);
    va_end(ap);
    append(text, strerror_r(saved, reason, sizeof(reason)),
           hb_errno_remedy(saved));
    set_error(err, code, saved, text);
    errno = saved;
    return code;
}

int hb_error_prefix(struct hpcboot_error *err, int code, const char *fmt, ...)
{
    char text[WHOLE_MAX];
    va_list ap;

    if (err == NULL) {
        return code;
    }
    if (err->code == HPCBOOT_OK) {
        hb_fail(err, code, "%s", hb_status_text(code));
    }
    va_start(ap, fmt);
    whole_text(text, fmt, ap);
    va_end(ap);
    append(text, err->text, "");
    set_text(err, text);
    return err->code;
}

static const struct status_row {
    int code;
    enum hb_damage damage;
    const char *name;
    const char *text;
} status_rows[] = {
#define HPCBOOT_X(name, value, damage, text)                               \
    {HPCBOOT_##name, HB_DAMAGE_##damage, #name, text},
    HPCBOOT_STATUS_MAP(HPCBOOT_X)
#undef HPCBOOT_X
};

static const struct status_row *find_status(int code)
{
    size_t i;

    for (i = 0; i < sizeof(status_rows) / sizeof(status_rows[0]); i++) {
        if (status_rows[i].code == code) {
            return &status_rows[i];
        }
    }
    return NULL;
}

/* A code that is not in the table came from a defect of ours. */
enum hb_damage hb_status_damage(int code)
{
    const struct status_row *row = find_status(code);

    return row != NULL ? row->damage : HB_DAMAGE_INTERNAL;
}

const char *hb_status_text(int code)
{
    const struct status_row *row = find_status(code);

    return row != NULL ? row->text : "unknown error";
}

const char *hb_status_name(int code)
{
    const struct status_row *row = find_status(code);

    return row != NULL ? row->name : "ERR_UNKNOWN";
}
