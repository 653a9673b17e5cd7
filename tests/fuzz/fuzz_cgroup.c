/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * The texts of /proc/self/cgroup, /proc/self/mountinfo and a file of
 * counters, one after the other, separated by NUL.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bin/proc/cgroup.h"
#include "lib/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const controllers[] = {"memory", "cpu"};
    char *cgroup = hb_xmalloc(size + 3), *mountinfo, *counters;
    uint64_t value;

    memcpy(cgroup, data, size);
    memset(cgroup + size, 0, 3);
    mountinfo = cgroup + strlen(cgroup) + 1;
    counters = mountinfo + strlen(mountinfo) + 1;
    for (int i = 0; i < 2; i++) {
        struct hb_cgroup_place p = {0};

        if (hb_cgroup_find(cgroup, mountinfo, controllers[i], &p) == 0
            && (p.mount == NULL || p.path == NULL
                || (p.path[0] != '\0' && p.path[0] != '/'))) {
            abort();
        }
        free(p.mount);
        free(p.path);
    }
    (void)hb_cgroup_value(counters, "oom_kill", &value);
    free(cgroup);
    return 0;
}
