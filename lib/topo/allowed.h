/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_ALLOWED_H
#define HB_TOPO_ALLOWED_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/topo/cpus.h"

/* What this container was given: cores in the affinity mask (a core with one
 * allowed PU counts), cut down to the CPU quota of its cgroup (v1 or v2, the
 * minimum along the path). Read from /proc and /sys, without hwloc. */
struct hb_allowed {
    uint32_t pus, cores;
    uint32_t quota_milli; /* 1000 = one CPU; 0: no quota */
    uint32_t slots;       /* min(cores, quota rounded up), >= 1 */
    char origin[128];     /* "2 cores in the CPU set, quota 1.5 CPUs" */
};
/* `root`: "" or a directory that stands for / in tests; with a root the CPUs
 * come from its sys/devices/system/cpu and its etc/cpus (list format)
 * instead of the affinity mask. */
int hb_topo_allowed(const char *root, struct hb_allowed *out,
                    struct hpcboot_error *err);
/* So many of these cores or hardware threads as the quota is worth; >= 1. */
uint32_t hb_allowed_within(uint32_t cpus, uint32_t quota_milli);
/* The CPUs behind those numbers. */
int hb_allowed_cpus(const char *root, struct hb_cpus *out,
                    struct hpcboot_error *err);

#endif
