/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_WIRING_H
#define HB_JOB_WIRING_H

#include "lib/base/error.h"
#include "lib/wire/wire.h"

struct job;
struct job_host;

/* --fabric, in a job. All do nothing where it was not given. */
int job_wiring_read(struct job *j, struct hpcboot_error *err);
int job_examine(struct job *j); /* 1: hosts were asked; job_begin comes again */
int job_examined(struct job_host *h, const struct hb_frame *f,
                 struct hpcboot_error *err);
/* It has answered, and is there. */
int job_is_examined(const struct job_host *h);
/* The traffic has ended: the findings are shown, and the job goes on or not. */
void job_wiring_conclude(struct job *j);
/* Ranks are placed, JOB is not sent. ERR_UNSUPPORTED: the hosts do not share
 * what was asked for. */
int job_wire(struct job *j, struct hpcboot_error *err);
void job_wiring_destroy(struct job *j);

#endif
