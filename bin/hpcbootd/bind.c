/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Binding on this host: the launcher's policy and this host's topology make a
 * plan for all its ranks; each rank's part goes into its start, where it is
 * applied and read back before exec. */
#include "config.h"

#include "bin/hpcbootd/agent.h"
#include "lib/base/log.h"

static void report(struct agent *a, int unasked)
{
    if (!a->bind.bound) {
        agent_note(a, HB_INFO, "ranks are not bound: %s",
                   unasked ? "nothing asks for it (--bind-to)" : a->bind.why);
        return;
    }
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        agent_note(a, HB_INFO, "rank %u %s", a->ranks[i].rank,
                   a->bind.report[i]);
    }
    agent_note(a, HB_INFO, "binding: %s", a->bind.why);
}

/* Users of Open MPI expect ranks to be bound where nothing is said, users of
 * Hydra do not; a plain program is left alone, and is not made to wait until
 * the topology has been read. */
static int leave_alone(const struct agent *a, const struct hb_bind_policy *p)
{
    int asked = p->to != HB_BIND_DEFAULT || p->pe > 0 ||
                p->by > HB_MAP_SEQ;

    return !asked && a->job.family != HB_PM_PMIX;
}

int agent_bind_plan(struct agent *a, struct hpcboot_error *err)
{
    struct hb_bind_policy policy = {0};
    int unasked = 0;
    int rc = hb_bind_to_parse(a->job.bind_to, &policy, err);

    if (rc == 0 && leave_alone(a, &policy)) {
        policy.to = HB_BIND_NONE;
        unasked = 1;
    }
    if (rc == 0 && policy.to == HB_BIND_NONE &&
        !(a->job.flags & HB_JOB_REPORT_BINDINGS)) {
        return 0; /* nothing to look at, and nobody to tell */
    }
    if (rc == 0) {
        rc = hb_bind_here(&policy, a->n_ranks, &a->bind, err);
    }
    if (rc == 0 && (a->job.flags & HB_JOB_REPORT_BINDINGS)) {
        report(a, unasked);
    }
    return rc;
}

void agent_bind_spec(const struct rank *r, struct hb_proc_spec *spec)
{
    const struct agent *a = r->agent;

    if (a->bind.bound) {
        const struct hb_cpus *cpus = &a->bind.cpus[r - a->ranks];

        spec->cpuset = cpus->set;
        spec->cpuset_size = sizeof cpus->set;
    }
}
