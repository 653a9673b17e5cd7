/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_TRAFFIC_H
#define HB_JOB_TRAFFIC_H

#include "bin/doctor/traffic.h"
#include "lib/wire/wire.h"

struct job;
struct job_host;
struct job_traffic;

/* Starts a probe on each host that was examined, and carries what they say to
 * each other. 1: job_wiring_conclude is called when they have ended; 0: there
 * is nothing to try. */
int job_traffic_begin(struct job *j);
int job_traffic_under_way(const struct job *j);
int job_traffic_data(struct job_host *h, const struct hb_frame *f,
                     struct hpcboot_error *err);
int job_traffic_ended(struct job_host *h, const struct hb_frame *f,
                      struct hpcboot_error *err);
/* What was measured; empty where nothing was. */
struct hb_traffic *job_traffic_of(struct job *j);
void job_traffic_destroy(struct job *j);

#endif
