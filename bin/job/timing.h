/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_TIMING_H
#define HB_JOB_TIMING_H

#include <stddef.h>
#include <stdint.h>

struct job;
struct job_host;

/* How long each phase of a job took, host by host, on the launcher's clock. */
enum hb_phase {
    HB_PHASE_GATHER, HB_PHASE_RESOLVE, HB_PHASE_CONNECT,
    HB_PHASE_AUTHENTICATE, HB_PHASE_AGENT, HB_PHASE_SPAWN, HB_PHASE_FENCE,
    HB_PHASE_OUTPUT, HB_PHASES
};
const char *hb_phase_name(enum hb_phase phase); /* "first fence" */

#define HB_SLOWEST 3u
struct hb_phase_stats {
    uint32_t n; /* hosts that have been through it; the others are 0 */
    int64_t min_ns, median_ns, p99_ns, max_ns, sum_ns;
    uint32_t slowest[HB_SLOWEST]; /* which of the values; min(n, HB_SLOWEST) */
    int64_t slowest_ns[HB_SLOWEST];
};

/* Of values[n]; a negative one stands for a host that is not counted. The
 * p99 is the smallest value that 99 of 100 do not exceed. */
void hb_phase_stats(const int64_t *values, uint32_t n,
                    struct hb_phase_stats *out);
/* The same of a job's phase; slowest are hosts of its gang. */
void job_phase(const struct job *j, enum hb_phase phase,
               struct hb_phase_stats *out);

/* What a host notes, at a moment on the launcher's clock. */
void host_timed_stage(struct job_host *h, int stage, int64_t at_ns);
void host_timed_anew(struct job_host *h); /* another try begins */
void job_timed_orders(struct job *j);     /* the job is handed out */

/* --report-timing: the table, and an event for each phase. */
void job_report_timing(struct job *j);

#endif
