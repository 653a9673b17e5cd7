/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_CGROUP_H
#define HB_PROC_CGROUP_H

#include <stdint.h>

/* What this container's cgroup (v1, v2, or both mixed) says about trouble:
 * read once at the start of a job and again when a rank has died. */
struct hb_cgroup_marks {
    uint64_t oom_kills;     /* memory.events, or memory.oom_control of v1 */
    uint64_t throttled_us;  /* cpu.stat */
    uint64_t periods, throttled_periods;
    uint64_t memory_limit;  /* bytes, the least along the path; 0: none */
    int known;              /* 0: no cgroup could be read */
};
void hb_cgroup_read_marks(struct hb_cgroup_marks *out);
/* The same where `root` ("" or a directory) stands for /; for tests. */
void hb_cgroup_read_marks_at(const char *root, struct hb_cgroup_marks *out);
/* "out of memory: the cgroup killed 1 process (limit 512 MiB)", what the CPU
 * quota did to it, or "" . */
void hb_cgroup_evidence(const struct hb_cgroup_marks *before,
                        const struct hb_cgroup_marks *after, char *text,
                        unsigned size);

/* From the texts of /proc/self/cgroup and /proc/self/mountinfo: where the
 * files of a controller ("memory", "cpu") lie for this process. */
struct hb_cgroup_place {
    char *mount; /* mount point of the hierarchy */
    char *path;  /* below it: "" or "/a/b" */
    int version; /* 1 or 2 */
};
/* 0, or -1 when this controller is nowhere; free both strings. */
int hb_cgroup_find(const char *cgroup, const char *mountinfo,
                   const char *controller, struct hb_cgroup_place *out);
/* The number after `key` in lines "key number"; 0 or -1. */
int hb_cgroup_value(const char *text, const char *key, uint64_t *out);

#endif
