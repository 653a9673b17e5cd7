/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_HOST_H
#define HB_JOB_HOST_H

#include <stdint.h>

struct job_host;

/* What a host holds only while it is needed. */
const char *host_why(const struct job_host *h); /* never NULL */
void host_set_why(struct job_host *h, const char *text);
void host_arm_ms(struct job_host *h, int64_t ms); /* then host_due */
void host_disarm(struct job_host *h);
void host_keep_none(struct job_host *h); /* of what is said: h->kept */
void host_free(struct job_host *h); /* all that hangs from it */

#endif
