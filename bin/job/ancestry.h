/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_ANCESTRY_H
#define HB_JOB_ANCESTRY_H

#include "bin/job/job_impl.h"

/* A spawned job, and the launcher that has started it. */

/* Reads from the launcher above what this job is to be, and sets `opt` so. 0:
 * this is no spawned job. */
int job_ancestry_open(struct job_ancestry **out, struct hb_options *opt,
                      char *const *env, struct hpcboot_error *err);
int job_ancestry_begin(struct job *j, struct hpcboot_error *err);
/* Leaves of the gang the hosts that it may use, and of their slots the rest. */
int job_ancestry_room(struct job *j, struct hpcboot_error *err);
/* Its map's universe is the one that was asked for, or that of all jobs of its
 * family. */
void job_ancestry_universe(struct job *j);
uint32_t job_ancestry_others(const struct job *j, const char *host);
int job_ancestry_put(const struct job *j, struct hb_buf *out,
                     struct hpcboot_error *err);
uint32_t job_ancestry_number(const struct job *j); /* 1: it is no spawned job */
/* The id of the job that has started it, or NULL. */
const char *job_ancestry_above(const struct job *j);
void job_ancestry_started(struct job *j); /* all of its ranks */
void job_ancestry_failed(struct job *j);  /* its verdict has changed */
void job_ancestry_judge(const struct job *j); /* it is over */
/* Whether the launcher above says why it has ended. */
int job_ancestry_speaks(const struct job *j);
void job_ancestry_name(struct job *j, const struct hb_msg_name *m);
void job_ancestry_end(struct job *j); /* with its loop */
void job_ancestry_close(struct job_ancestry *a, int status); /* NULL-safe */

#endif
