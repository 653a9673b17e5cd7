/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BASE_ERROR_H
#define HB_BASE_ERROR_H

#include <stdarg.h>

#include "hpcboot/status.h"

#define HB_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* What an error puts an end to; decides teardown and exit status. */
enum hb_damage {
    HB_DAMAGE_NONE, HB_DAMAGE_USAGE, HB_DAMAGE_RANK, HB_DAMAGE_HOST,
    HB_DAMAGE_JOB, HB_DAMAGE_INTERNAL
};

/* Fills *err (may be NULL) and returns `code`, so that a function can say
 * `return hb_fail(err, HPCBOOT_ERR_PARSE, "%s:%d: ...", file, line);`.
 * Text that does not fit is cut. */
int hb_fail(struct hpcboot_error *err, int code, const char *fmt, ...)
    HB_PRINTF(3, 4);

/* What to do where something has run out, as "; raise ulimit -n"; else "". */
const char *hb_errno_remedy(int sys_errno);

/* As hb_fail, with errno's text and remedy appended after ": ", and errno
 * kept. */
int hb_fail_errno(struct hpcboot_error *err, int code, const char *fmt, ...)
    HB_PRINTF(3, 4);

/* Puts "<context>: " before the text of an error that is passed on; returns
 * err->code (or `code` where err is NULL). */
int hb_error_prefix(struct hpcboot_error *err, int code, const char *fmt, ...)
    HB_PRINTF(3, 4);

enum hb_damage hb_status_damage(int code);
const char *hb_status_text(int code); /* static; never NULL */
const char *hb_status_name(int code); /* "ERR_PARSE"; static; never NULL */

#endif
