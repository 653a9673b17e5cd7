/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_LOOKOUT_H
#define HB_JOB_LOOKOUT_H

#include "bin/job/job_impl.h"

/* The source of hosts as it is seen while a job runs. */
struct job_lookout;
/* From the loop: a line for each host of the gang; NULL: the look is over. */
typedef void (*job_lookout_told)(void *arg, const char *lines);
struct job_lookout *job_lookout_open(struct job *j, job_lookout_told told,
                                     void *arg);
void job_lookout_close(struct job_lookout *l); /* NULL-safe; not from `told` */
/* 1: a look has begun. 0: one goes on, and tells what changes. Negative: none
 * can be begun now. */
int job_lookout_look(struct job_lookout *l);
/* One line, which is changed; the host's strings are its parts. */
int job_lookout_read(char *line, struct hb_host *out);

#endif
