/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Log records: formatted here, handed to the one sink the program has set.
 *
 * The sink is set once, before threads are started. Records may come from
 * any thread (a foreign library's callbacks have threads of their own), so
 * a sink that is not a single write takes a lock of its own.
 */
#include "config.h"

#include "lib/base/log.h"

#include <errno.h>
#include <stddef.h>

#include "lib/base/str.h"

static struct {
    hb_log_sink sink;
    void *arg;
    enum hb_log_level max_level;
} the_log;

void hb_log_set_sink(hb_log_sink sink, void *arg, enum hb_log_level max_level)
{
    the_log.sink = sink;
    the_log.arg = arg;
    the_log.max_level = max_level;
}

int hb_log_wanted(enum hb_log_level level)
{
    return the_log.sink != NULL && level <= the_log.max_level;
}

void hb_log(enum hb_log_level level, const char *fmt, ...)
{
    struct hb_str text = HB_STR_INIT;
    int saved = errno;
    va_list ap;

    if (!hb_log_wanted(level)) {
        return;
    }
    va_start(ap, fmt);
    hb_str_vputf(&text, fmt, ap);
    va_end(ap);
    the_log.sink(the_log.arg, level, hb_str_text(&text));
    hb_str_destroy(&text);
    errno = saved;
}

