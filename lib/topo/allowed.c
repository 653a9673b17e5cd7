/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How many ranks this host can run without one slowing another down.
 *
 * The CPUs are those of the affinity mask, which the kernel has already cut
 * down to the container's CPU set. They are counted as cores: two hardware
 * threads of one core are one place, and a core of which only one thread is
 * allowed still counts, because a rank can run there. The quota then limits
 * the number: with 1.5 CPUs' worth of time, two ranks can make progress.
 *
 * sysfs says which threads share a core. hwloc would say the same, at the
 * price of loading a library before anybody has asked to be bound. */

#include "config.h"

#include "lib/topo/allowed.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/topo/cpus.h"
#include "lib/topo/quota.h"

/* A list of HB_MAX_CPUS numbers is shorter. */
#define LIST_MAX_BYTES (128u << 10)

static int read_list(const char *path, struct hb_cpus *out,
                     struct hpcboot_error *err)
{
    char *text = NULL;
    size_t len;
    int rc = hb_file_read(path, LIST_MAX_BYTES, &text, &len, err);

    if (rc >= 0) {
        rc = hb_cpus_parse(text, out, err);
    }
    free(text);
    return rc;
}

static int own_mask(struct hb_cpus *out, struct hpcboot_error *err)
{
    hb_cpus_zero(out);
    if (sched_getaffinity(0, sizeof(*out), out->set) != 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             "cannot read this process's CPU affinity");
    }
    return HPCBOOT_OK;
}

static int test_mask(const char *root, struct hb_cpus *out,
                     struct hpcboot_error *err)
{
    char *path = hb_xasprintf("%s/etc/cpus", root);
    int rc = read_list(path, out, err);

    if (rc < 0) {
        rc = hb_error_prefix(err, rc, "%s", path);
    }
    free(path);
    return rc;
}

int hb_allowed_cpus(const char *root, struct hb_cpus *out,
                    struct hpcboot_error *err)
{
    return root[0] == '\0' ? own_mask(out, err) : test_mask(root, out, err);
}

/* The hardware threads of the core that holds `cpu`. Older kernels know only
 * the second name; without either a CPU is a core of its own. */
static void core_of(const char *root, unsigned cpu, struct hb_cpus *out)
{
    static const char *const names[] = {"core_cpus_list",
                                        "thread_siblings_list"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = hb_xasprintf("%s/sys/devices/system/cpu/cpu%u/topology/%s",
                                  root, cpu, names[i]);
        int rc = read_list(path, out, NULL);
        free(path);
        if (rc >= 0 && hb_cpus_has(out, cpu)) {
            return;
        }
    }
    hb_cpus_zero(out);
    hb_cpus_add(out, cpu);
}

static uint32_t count_cores(const char *root, const struct hb_cpus *allowed)
{
    struct hb_cpus seen, core;
    uint32_t n = 0;

    hb_cpus_zero(&seen);
    for (unsigned cpu = hb_cpus_next(allowed, 0); cpu < HB_MAX_CPUS;
         cpu = hb_cpus_next(allowed, cpu + 1)) {
        if (hb_cpus_has(&seen, cpu)) {
            continue;
        }
        core_of(root, cpu, &core);
        hb_cpus_or(&seen, &core);
        n++;
    }
    return n;
}

static void describe(struct hb_allowed *a, int quota_unreadable)
{
    int n = snprintf(a->origin, sizeof(a->origin), "%u core%s in the CPU set",
                     a->cores, a->cores == 1 ? "" : "s");

    if (a->quota_milli != 0) {
        n += snprintf(a->origin + n, sizeof(a->origin) - (size_t)n,
                      ", quota %g CPU%s", a->quota_milli / 1000.0,
                      a->quota_milli == 1000 ? "" : "s");
    }
    if (quota_unreadable) {
        snprintf(a->origin + n, sizeof(a->origin) - (size_t)n,
                 ", a quota file was not understood");
    }
}

uint32_t hb_allowed_within(uint32_t cpus, uint32_t quota_milli)
{
    uint32_t whole = quota_milli / 1000 + (quota_milli % 1000 != 0);

    cpus = cpus > 0 ? cpus : 1;
    return whole > 0 && whole < cpus ? whole : cpus;
}

int hb_topo_allowed(const char *root, struct hb_allowed *out,
                    struct hpcboot_error *err)
{
    struct hb_allowed a = {0};
    struct hb_cpus mask;
    struct hb_quota quota;
    int rc = hb_allowed_cpus(root, &mask, err);

    if (rc < 0) {
        return rc;
    }
    hb_quota_read(root, &quota);
    a.pus = hb_cpus_count(&mask);
    a.cores = count_cores(root, &mask);
    a.quota_milli = quota.milli;
    a.slots = hb_allowed_within(a.cores, quota.milli);
    describe(&a, quota.unreadable);
    *out = a;
    return HPCBOOT_OK;
}
