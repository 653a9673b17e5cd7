/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BASE_LOG_H
#define HB_BASE_LOG_H

#include "lib/base/error.h"

/* Log records go to one sink that the program sets; a library never prints.
 * Without a sink records are dropped. */
enum hb_log_level { HB_ERROR, HB_WARN, HB_INFO, HB_DEBUG, HB_TRACE };

typedef void (*hb_log_sink)(void *arg, enum hb_log_level level,
                            const char *text);

void hb_log_set_sink(hb_log_sink sink, void *arg, enum hb_log_level max_level);
int hb_log_wanted(enum hb_log_level level);
void hb_log(enum hb_log_level level, const char *fmt, ...) HB_PRINTF(2, 3);

#endif
