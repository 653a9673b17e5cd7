/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_LOGSINK_H
#define HB_CLI_LOGSINK_H

#include "bin/cli/output.h"
#include "bin/cli/progress.h"
#include "lib/base/log.h"

/* The programs' log sink: "hbrun: warning: ..." on stderr, each record one
 * write of whole lines, the progress line erased before it. Control
 * characters in a record (it may quote a host) are written as \ooo. */
void hb_logsink_open(const char *program, enum hb_log_level max_level);
/* A record as it is written, free() it: for whom may not log at that moment. */
char *hb_logsink_line(enum hb_log_level level, const char *text);
void hb_logsink_progress(struct hb_progress *p); /* NULL: none any more */
/* While ranks write, records go in order with their output and do not wait
 * for a slow terminal. NULL before the output is destroyed. */
void hb_logsink_output(struct hb_output *o);
/* At a program's end: has all been written that was printed to stdout? Where
 * not, that is said. */
int hb_stdout_written(void);

#endif
