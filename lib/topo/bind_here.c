/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Bindings on this very host. Before anything is loaded it is asked whether
 * there is anything to bind, and before a plan is given out whether this
 * container may set affinities at all: what every rank would fail by is said
 * once, and is an error only for those who asked for bindings. */

#include "config.h"

#include "lib/topo/bind_impl.h"

#include <string.h>

#include "lib/base/str.h"

/* What can be said without a topology: oversubscribed by default. */
static char *why_not_at_all(const struct hb_bind_policy *policy,
                            const struct hb_allowed *allowed, uint32_t n_ranks)
{
    if (n_ranks == 0) {
        return hb_xstrdup("no ranks here");
    }
    if (policy->to == HB_BIND_NONE) {
        return hb_xstrdup("--bind-to none");
    }
    if (hb_bind_target_kind(policy) == HB_BIND_TARGET_DEFAULT &&
        !policy->hwtcpus && n_ranks > allowed->slots) {
        return hb_xasprintf("%u ranks share %s", n_ranks, allowed->origin);
    }
    return NULL;
}

/* Gives this process the mask it has. */
static int may_set_affinity(struct hpcboot_error *err)
{
    struct hb_cpus own;

    if (sched_getaffinity(0, sizeof(own.set), own.set) == 0 &&
        sched_setaffinity(0, sizeof(own.set), own.set) != 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_UNSUPPORTED,
                             "this container may not set CPU affinities");
    }
    return HPCBOOT_OK;
}

int hb_bind_here(const struct hb_bind_policy *policy, uint32_t n_ranks,
                 struct hb_here *here, struct hb_bind_plan *out,
                 struct hpcboot_error *err)
{
    struct hb_allowed allowed;
    struct hpcboot_error why;
    char *reason;
    int rc = hb_topo_allowed("", &allowed, err);

    if (rc < 0) {
        return rc;
    }
    reason = why_not_at_all(policy, &allowed, n_ranks);
    if (reason != NULL) {
        return hb_bind_unbound(out, n_ranks, reason);
    }
    rc = may_set_affinity(&why);
    if (rc >= 0) {
        rc = hb_here_load(here, &why);
    }
    if (rc < 0) {
        return hb_bind_may_do_without(policy)
                   ? hb_bind_unbound(out, n_ranks,
                                     hb_xasprintf("%.300s", why.text))
                   : hb_fail(err, rc, "cannot bind: %s", why.text);
    }
    return hb_bind_plan(policy, here->topo, allowed.quota_milli, n_ranks, out,
                        err);
}
