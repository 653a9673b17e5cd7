/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_GPUS_H
#define HB_TOPO_GPUS_H

#include <stdint.h>

/* GPUs that a process in this container can open. */
struct hb_gpus {
    uint32_t n;
    char origin[128]; /* "8 NVIDIA GPUs in /dev", "no GPU in /dev" */
};
/* `root`: "" or a directory that stands for / in tests. `env`: the variables
 * by which a container runtime or a batch system hands out some of a host's
 * GPUs; may be NULL. Nothing here fails. */
void hb_gpus_count(const char *root, char *const *env, struct hb_gpus *out);

#endif
