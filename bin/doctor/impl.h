/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_DOCTOR_IMPL_H
#define HB_DOCTOR_IMPL_H

#include "bin/doctor/doctor.h"

/* One look at a host, as the files of this folder share it. */
struct look {
    const struct hb_exam *e;
    struct hb_findings *out;
    struct hb_strv *facts;
};

/* Files of the look's root, "" where they cannot be read; free() it. */
char *look_file(const struct look *l, const char *path);
void look_found(struct look *l, enum hb_grade grade, const char *check,
                const char *why, const char *mend, const char *fmt, ...)
    HB_PRINTF(6, 7);

/* The number behind a key in lines "key number"; 0: there is none. */
uint64_t look_value(const char *text, const char *key);

/* limits.c */
void look_at_limits(struct look *l);
void look_at_cgroups(struct look *l);
/* devices.c */
void look_at_devices(struct look *l);
/* sshd.c: of the server that let the agent in */
void look_at_sshd(struct look *l);
/* probes.c: what is tried out, on this host alone */
void look_by_trying(struct look *l);
/* Is there an RDMA device that can be opened, or should be? */
int look_has_rdma(const struct look *l);

#endif
