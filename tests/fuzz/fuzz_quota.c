/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Any bytes in the files that say what a container may use, one after the
 * other and separated by NUL: the list of CPUs, /proc/self/cgroup,
 * /proc/self/mountinfo, and the quota files of both versions. */

#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/topo/allowed.h"
#include "tests/unit/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[256];

static void clear_away(void)
{
    tree_remove(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const files[] = {
        "etc/cpus", "proc/self/cgroup", "proc/self/mountinfo",
        "sys/fs/cgroup/cpu.max", "sys/fs/cgroup/cpu.cfs_quota_us",
        "sys/fs/cgroup/cpu.cfs_period_us"};
    struct hb_allowed allowed;
    struct hpcboot_error err;
    const uint8_t *end = data + size;

    if (root[0] == '\0') {
        tree_create(root, sizeof(root));
        atexit(clear_away);
    }
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        const uint8_t *stop = memchr(data, '\0', (size_t)(end - data));
        stop = stop != NULL ? stop : end;
        tree_write_bytes(root, files[i], data, (size_t)(stop - data));
        data = stop < end ? stop + 1 : end;
    }
    if (hb_topo_allowed(root, &allowed, &err) >= 0 &&
        (allowed.slots == 0 || allowed.slots > allowed.cores + 1 ||
         allowed.cores > allowed.pus || allowed.origin[0] == '\0')) {
        abort();
    }
    return 0;
}
