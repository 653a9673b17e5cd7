/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Where the memory of a bound rank comes from. By default it is preferred from
 * the rank's own NUMA node: a node that is full then costs time, not the rank.
 * Containers often refuse memory policies (seccomp), which is found out once
 * and is no error. The system calls are made directly; libnuma would be
 * needed for nothing else. */

#include "config.h"

#include "lib/topo/bind.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BITS_PER_LONG (8 * sizeof(unsigned long))

/* The nodes of a set of CPUs; how many. */
static uint32_t nodes_of(const struct hb_topo *topo, const struct hb_cpus *cpus,
                         struct hb_bind_mem *out)
{
    const struct hb_topo_level *numa = &topo->level[HB_TOPO_NUMA];
    uint32_t n = 0;

    for (uint32_t i = 0; i < numa->n; i++) {
        const struct hb_topo_span *s = &numa->v[i];
        int has = 0;
        for (uint32_t k = s->first; k < s->first + s->n; k++) {
            has |= hb_cpus_has(cpus, topo->pu_os[k]);
        }
        if (has && s->os_index < HB_MAX_NUMA) {
            out->nodes[s->os_index / BITS_PER_LONG] |=
                1ul << s->os_index % BITS_PER_LONG;
            n++;
        }
    }
    return n;
}

int hb_bind_memory_matters(const struct hb_bind_policy *policy,
                           const struct hb_topo *topo)
{
    return policy->memory != HB_MEM_NONE &&
           (policy->memory != HB_MEM_DEFAULT ||
            topo->level[HB_TOPO_NUMA].n > 1);
}

void hb_bind_memory_of(const struct hb_bind_policy *policy,
                       const struct hb_topo *topo, const struct hb_cpus *cpus,
                       struct hb_bind_mem *out)
{
    uint32_t n;

    memset(out, 0, sizeof(*out));
    if (!hb_bind_memory_matters(policy, topo)) {
        return;
    }
    n = nodes_of(topo, cpus, out);
    if (policy->memory == HB_MEM_BIND && n > 0) {
        out->mode = MPOL_BIND;
    } else if (n == 1) {
        out->mode = MPOL_PREFERRED;
    }
}

int hb_bind_memory_probe(void)
{
    /* The policy that the process has anyhow. */
    return syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0) == 0 ? 0 : errno;
}
