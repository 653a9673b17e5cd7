/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_QUOTA_H
#define HB_TOPO_QUOTA_H

#include <stdint.h>

/* The CPU quota of this process's control groups: the least of all groups
 * from its own up to the top of what is mounted, over cgroup v1 and v2. */
struct hb_quota {
    uint32_t milli;   /* 1000 = one CPU; 0: no quota */
    int unreadable;   /* a quota file held something that is no quota */
};
/* `root`: "" or a directory that stands for / in tests. Absent files mean
 * no quota; nothing here fails. */
void hb_quota_read(const char *root, struct hb_quota *out);

#endif
