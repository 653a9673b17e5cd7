/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_SIGNALS_H
#define HB_JOB_SIGNALS_H

#include <signal.h>

#include "lib/base/error.h"

struct hb_options;
struct job;

/* Signals that end hbrun, and those that are passed on. */

/* Until a loop hears them: one that comes is told of, and ends it; one that is
 * to be passed on has no effect. */
void job_signals_begin(const struct hb_options *opt, int only_wait);
/* Before another life, with the signals held, and when events have begun: from
 * now on the first one is noted, until a loop hears it. */
void job_signals_note(void);
int job_signals_noted(void); /* that one, or 0 */
void job_signals_settle(int status); /* its last word was said: it stays */
/* Who it is that was told to end: hpcboot wait and doctor run no job. */
const char *job_program(int only_wait);
/* Less those that are ignored, as nohup and background shells do on purpose. */
void job_signals_that_end(sigset_t *out);
void job_signals_hold(int how); /* SIG_BLOCK, SIG_UNBLOCK */
int job_signals_open(struct job *j, struct hpcboot_error *err);
void job_signals_close(struct job *j);

#endif
