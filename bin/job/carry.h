/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_CARRY_H
#define HB_JOB_CARRY_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/wire/wire.h"

struct job;
struct job_host;

/* carry.c: output and input of the job */
int job_carry_parse(struct job *j, struct hpcboot_error *err);
int job_carry_open(struct job *j, struct hpcboot_error *err);
void job_carry_watch(struct job *j);
int job_carry_pending(struct job *j); /* and being waited for */
int job_carry_check(const struct job *j, struct hpcboot_error *err);
int job_carry_output(struct job_host *h, const struct hb_msg_output *m,
                     struct hpcboot_error *err);
/* The agent of the node is gone: no other is given credit for what it said. */
void job_carry_disown(struct job *j, uint32_t node);
void job_carry_stdin_credit(struct job_host *h, uint32_t bytes);
void job_carry_stdin_begin(struct job *j);
int job_carry_answers(const struct job *j); /* somebody may, on stdin */
/* It may read from now on; one that comes late may find the end alone. */
void job_carry_stdin_ordered(struct job_host *h);
/* A host is gone, which the others have perhaps waited for. */
void job_carry_stdin_lost(struct job *j);
void job_carry_tell_folded(struct job *j);
void job_carry_close(struct job *j);

#endif
