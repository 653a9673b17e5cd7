/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_JOB_H
#define HB_JOB_JOB_H

#include "bin/cli/options.h"
#include "bin/doctor/doctor.h"
#include "bin/doctor/traffic.h"
#include "lib/base/error.h"

/* One job, from the gang to the exit status. Prints through the log sink and
 * its output object; returns the exit status hbrun ends with. What the command
 * line of another launcher (torchrun) says is put into `opt`. */
int hb_job_run(struct hb_options *opt, char *const *env);

/* The same as far as the agents: waits until the hosts are ready, and lets
 * them go. 0 when a job could begin; programs in `opt` are not looked at. */
int hb_job_wait(struct hb_options *opt, char *const *env);

/* The same, and each host is examined, they are compared, and exchange
 * messages. Start *out from zeros; with_program: the first program of `opt` is
 * compared, too. The exit status is that of waiting: 0 where the report is
 * whole. */
enum hb_traffic_how { HB_TRAFFIC_AUTO, HB_TRAFFIC_ALL, HB_TRAFFIC_NONE };
struct hb_doctor_report {
    int with_program;
    enum hb_traffic_how traffic_how;
    struct hb_findings found;
    struct hb_strv hosts, notes;
    size_t n_missing; /* hosts that did not come up, each in `found` */
    struct hb_traffic traffic;
};
int hb_job_doctor(struct hb_options *opt, char *const *env,
                  struct hb_doctor_report *out);
void hb_doctor_report_destroy(struct hb_doctor_report *report);

#endif
