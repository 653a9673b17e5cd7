/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HPCBOOT_TOPO_H
#define HPCBOOT_TOPO_H

#include <stddef.h>

#include "hpcboot/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where this process runs. CPU lists are in the kernel's form, "0-3,8", by the
 * operating system's numbers. A text that does not fit into its buffer of
 * `size` bytes (with the NUL) is ERR_LIMIT. These calls need no hpcboot_init
 * but hpcboot_bind. */

/* The CPUs this process is bound to now, as the kernel says. Returns how many
 * they are. */
int hpcboot_binding(char *cpus, size_t size, struct hpcboot_error *err);
/* The CPUs its container or cpuset allows, bound or not. *quota_out (may be
 * NULL): CPUs' worth of time that its cgroup allows, 0 without a limit. */
int hpcboot_allowed(char *cpus, size_t size, double *quota_out,
                    struct hpcboot_error *err);
/* Names of the network devices nearest to the binding ("mlx5_0 mlx5_1"), by
 * blanks, the nearest only; the empty text where there are none. Returns how
 * many. */
int hpcboot_nearest_nics(char *names, size_t size, struct hpcboot_error *err);

/* Binds this thread, and those it starts later, when no launcher did: the
 * ranks of this node share its allowed CPUs by local rank. `what`: "core",
 * "l3", "numa", "package", a CPU list, or "none": all that is allowed. A
 * binding that a launcher made is left alone but for a list and "none".
 * Returns how many CPUs it is bound to then. ERR_USAGE, ERR_UNSUPPORTED
 * (fewer cores than ranks, or no such level here), ERR_SYSTEM. */
int hpcboot_bind(const char *what, struct hpcboot_error *err);

#ifdef __cplusplus
}
#endif

#endif
