/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SERVE_JOBS_H
#define HB_BOOT_SERVE_JOBS_H

#include <stddef.h>

#define HB_SERVE_AGENTS_MAX 256 /* at a time; a pod has one or two */

/* The jobs whose launchers are let in again. */
struct hb_serve_jobs;

struct hb_serve_jobs *hb_serve_jobs_create(void);
void hb_serve_jobs_destroy(struct hb_serve_jobs *jobs); /* NULL-safe */
/* A job's session key: who has it is let in until some time after the job's
 * agent has ended. Returns a number for that end, 0: none. */
unsigned hb_serve_jobs_add(struct hb_serve_jobs *jobs,
                           const unsigned char *session, size_t len);
void hb_serve_jobs_end(struct hb_serve_jobs *jobs, unsigned number);
/* Whether a login with this public key, in base64, is one of those. */
int hb_serve_jobs_accept(const struct hb_serve_jobs *jobs, const char *key);

#endif
