/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_RUN_HBRUN_H
#define HB_HPCBOOT_RUN_HBRUN_H

#include "lib/base/strv.h"

/* Runs the hbrun that lies beside this program, with line->v as its words,
 * for this use (HB_USE_* of options.h), and hands over each line that its ranks
 * print, with its end. Returns its exit status. Signals that end this process
 * are passed on to it, and it does not outlive this process. Once in a
 * process. */
int hb_run_hbrun(const struct hb_strv *line, const char *command,
                 const char *use,
                 void (*take)(void *arg, const char *line), void *arg);

#endif
