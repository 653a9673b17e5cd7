/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_CGROUP_H
#define HB_PROC_CGROUP_H

#include <stdint.h>

/* What this container's cgroup (v1 or v2) says about trouble: read once at
 * the start of a job and again when a rank has died. */
struct hb_cgroup_marks {
    uint64_t oom_kills;     /* memory.events oom_kill */
    uint64_t throttled_us;  /* cpu.stat */
    uint64_t periods, throttled_periods;
    int known;
};
void hb_cgroup_read_marks(struct hb_cgroup_marks *out);
/* "out of memory: the cgroup killed 1 process (limit 512 MiB)", or "" . */
void hb_cgroup_evidence(const struct hb_cgroup_marks *before,
                        const struct hb_cgroup_marks *after, char *text,
                        unsigned size);

#endif
