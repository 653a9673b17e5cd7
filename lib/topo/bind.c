/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Gives each local rank its CPUs.
 *
 * The unit is a core, or a hardware thread where those were asked for. Units
 * stand in hwloc's order, so a package, a NUMA node or a cache is a run of
 * them ("seats"). Ranks are seated in three steps: how many sit in which run,
 * which rank is which of those, and which units it takes there. What it is
 * then bound to is those units, or the wider object around them.
 *
 * Without a wish (the default) the units are shared out: each rank gets an
 * equal run of cores, so that a rank with threads has its fair part. Where
 * such runs would lie across NUMA nodes or packages, the rank gets the whole
 * node or package instead, if that is no less than its part. Nobody is bound
 * when ranks outnumber cores or what the quota is worth: the scheduler then
 * does better.
 *
 * A wish is kept or refused, never bent: more ranks than CPUs needs
 * overload-allowed, an object the host does not have needs if-supported. */

#include "config.h"

#include "lib/topo/bind_impl.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

int hb_bind_unbound(struct hb_bind_plan *out, uint32_t n_ranks, char *why)
{
    memset(out, 0, sizeof(*out));
    out->n_ranks = n_ranks;
    out->why = why;
    return HPCBOOT_OK;
}

int hb_bind_leave_alone(const struct hb_bind_policy *policy, int by_pmix,
                        uint32_t n_ranks, struct hb_bind_plan *out)
{
    int asked = policy->to != HB_BIND_DEFAULT || policy->pe > 0 ||
                policy->by > HB_MAP_SEQ;

    if (asked || by_pmix) {
        return 0;
    }
    hb_bind_unbound(out, n_ranks,
                    hb_xstrdup("nobody asked, and only ranks that find each "
                               "other by PMIx are bound unasked"));
    return 1;
}

void hb_bind_plan_destroy(struct hb_bind_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    for (uint32_t i = 0; plan->report != NULL && i < plan->n_ranks; i++) {
        free(plan->report[i]);
    }
    free(plan->report);
    free(plan->cpus);
    free(plan->why);
    memset(plan, 0, sizeof(*plan));
}

int hb_bind_is_apart(const struct hb_bind_plan *plan, uint32_t rank)
{
    for (uint32_t i = 0; plan->bound && i < plan->n_ranks; i++) {
        struct hb_cpus shared = plan->cpus[rank];

        hb_cpus_and(&shared, &plan->cpus[i]);
        if (i != rank && hb_cpus_count(&shared) > 0) {
            return 0;
        }
    }
    return plan->bound;
}

static uint32_t whole_cpus(uint32_t quota_milli)
{
    return quota_milli / 1000 + (quota_milli % 1000 != 0);
}

/* What ranks are bound to under a wish: what --bind-to says, else CPUs when a
 * number of them was asked for, else the object they were mapped by. */
int hb_bind_target_kind(const struct hb_bind_policy *p)
{
    if (p->to != HB_BIND_DEFAULT) {
        return p->to - HB_BIND_HWTHREAD + HB_TOPO_PU;
    }
    if (p->pe > 0) { /* what is mapped by hardware threads counts them */
        return p->hwtcpus || hb_bind_mapped_kind(p) == HB_TOPO_PU
                   ? HB_TOPO_PU : HB_TOPO_CORE;
    }
    if (p->by == HB_MAP_PE_LIST || p->slots != NULL) {
        return p->hwtcpus ? HB_TOPO_PU : HB_TOPO_CORE;
    }
    return hb_bind_by_device(p) ? HB_BIND_TARGET_DEVICE
                                : hb_bind_mapped_kind(p);
}
_Static_assert(HB_BIND_PACKAGE - HB_BIND_HWTHREAD ==
                   HB_TOPO_PACKAGE - HB_TOPO_PU,
               "binding objects follow the kinds of the topology");

const char *hb_bind_unit_name(const struct hb_bind_planner *p)
{
    return p->units == &p->topo->level[HB_TOPO_PU] ? "hardware thread" : "core";
}

static int too_many(const struct hb_bind_planner *p, uint32_t seats,
                    struct hpcboot_error *err)
{
    const char *unit = hb_bind_unit_name(p);
    const char *all = p->units->n == 1 ? "" : "s";

    if (p->pe > p->units->n && !p->policy->if_supported) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "PE=%u: this host has %u %s%s that the job may use; "
                       "ask for fewer, or leave the host out", p->pe,
                       p->units->n, unit, all);
    }
    return hb_fail(err, HPCBOOT_ERR_LIMIT,
                   "%u rank%s of %u %s%s each on %u %s%s: there is room for "
                   "%u. Start fewer here, or let them share with --bind-to "
                   "OBJECT:overload-allowed, or --bind-to none",
                   p->n_ranks, p->n_ranks == 1 ? "" : "s", p->pe, unit,
                   p->pe == 1 ? "" : "s", p->units->n, unit, all, seats);
}

static int lacks_seats(const struct hb_bind_planner *p)
{
    return p->n_ranks > hb_bind_count_seats(p) && !p->policy->overload_allowed;
}

/* Without a mapping by object ranks sit side by side, or are spread over the
 * objects they are bound to when those are wider than a core, unless some would
 * have to lie across two of them. */
static int make_runs(struct hb_bind_planner *p, int target,
                     struct hpcboot_error *err)
{
    int spread = p->policy->by == HB_MAP_DEFAULT && target > HB_TOPO_CORE;
    int rc = hb_bind_make_runs(p, spread ? target
                                         : hb_bind_mapped_kind(p->policy), err);

    if (rc < 0 || !spread || !lacks_seats(p)) {
        return rc;
    }
    free(p->runs);
    p->runs = NULL;
    p->n_runs = 0;
    return hb_bind_make_runs(p, -1, err);
}

/* Binding as it was wished for. */
static int plan_wish(struct hb_bind_planner *p, int target,
                     struct hpcboot_error *err)
{
    int rc = make_runs(p, target, err);

    if (rc < 0) {
        return rc;
    }
    if (lacks_seats(p)) {
        return too_many(p, hb_bind_count_seats(p), err);
    }
    hb_bind_seat_all(p);
    rc = hb_bind_seats(p, target, err);
    if (rc >= 0) {
        p->out->why = p->pe > 1
                          ? hb_xasprintf("%u CPUs for each rank", p->pe)
                          : hb_xasprintf("each rank to its %s",
                                         hb_topo_kind_name(
                                             (enum hb_topo_kind)target));
    }
    return rc;
}

/* The units first..end-1 of a rank when units are shared out. */
static uint32_t share_start(const struct hb_bind_planner *p, uint32_t rank)
{
    return (uint32_t)((uint64_t)rank * p->units->n / p->n_ranks);
}

/* 1 when no rank's part lies across two objects of a kind. */
static int shares_fit(const struct hb_bind_planner *p, enum hb_topo_kind kind)
{
    if (p->topo->level[kind].n < 2) {
        return 1;
    }
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        uint32_t first = p->units->v[share_start(p, rank)].first;
        uint32_t last = p->units->v[share_start(p, rank + 1) - 1].first;
        if (hb_topo_around(p->topo, kind, first) !=
            hb_topo_around(p->topo, kind, last)) {
            return 0;
        }
    }
    return 1;
}

/* 1 when each object of the kind holds at least a rank's part of cores. */
static int holds_share(const struct hb_bind_planner *p, enum hb_topo_kind kind)
{
    const struct hb_topo_level *level = &p->topo->level[kind];

    for (uint32_t i = 0; i < level->n; i++) {
        if (hb_bind_run_of(p, &level->v[i]).n < p->units->n / p->n_ranks) {
            return 0;
        }
    }
    return level->n > 1;
}

static void bind_shares(struct hb_bind_planner *p)
{
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        for (uint32_t u = share_start(p, rank); u < share_start(p, rank + 1);
             u++) {
            hb_bind_add_cpus(p->topo, &p->units->v[u], &p->out->cpus[rank]);
        }
    }
    p->out->why = hb_xasprintf("%u %ss shared out to %u ranks", p->units->n,
                               hb_bind_unit_name(p), p->n_ranks);
}

/* Each rank to the node or package in which its part begins. */
static int bind_share_objects(struct hb_bind_planner *p, enum hb_topo_kind kind,
                              struct hpcboot_error *err)
{
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        int rc = hb_bind_unit(p, share_start(p, rank), (int)kind,
                           &p->out->cpus[rank], err);
        if (rc < 0) {
            return rc;
        }
    }
    p->out->why = hb_xasprintf("%u ranks do not divide the %ss of a %s, so "
                               "each has one whole", p->n_ranks,
                               hb_bind_unit_name(p), hb_topo_kind_name(kind));
    return HPCBOOT_OK;
}

/* 0: bound. 1: better not, *why_out says so. */
static int plan_default(struct hb_bind_planner *p, char **why_out,
                        struct hpcboot_error *err)
{
    uint32_t cpus = whole_cpus(p->quota_milli);
    const char *unit = hb_bind_unit_name(p);

    if (p->n_ranks > p->units->n) {
        *why_out = hb_xasprintf("%u ranks share %u %ss", p->n_ranks,
                                p->units->n, unit);
    } else if (cpus > 0 && p->n_ranks > cpus) {
        *why_out = hb_xasprintf("%u ranks share a quota of %g CPUs", p->n_ranks,
                                p->quota_milli / 1000.0);
    } else if ((uint64_t)(p->units->n / p->n_ranks) * 1000 * p->n_ranks <
               (p->quota_milli < p->units->n * 1000u ? p->quota_milli : 0)) {
        *why_out = hb_xasprintf("%u ranks on %u %ss would be bound tighter "
                                "than the quota of %g CPUs", p->n_ranks,
                                p->units->n, unit, p->quota_milli / 1000.0);
    } else if (p->n_ranks == 1) {
        *why_out = hb_xasprintf("one rank has the host's %u %s%s to itself",
                                p->units->n, unit,
                                p->units->n == 1 ? "" : "s");
    } else if (shares_fit(p, HB_TOPO_NUMA) && shares_fit(p, HB_TOPO_PACKAGE)) {
        bind_shares(p);
    } else if (holds_share(p, HB_TOPO_NUMA)) {
        return bind_share_objects(p, HB_TOPO_NUMA, err);
    } else if (holds_share(p, HB_TOPO_PACKAGE)) {
        return bind_share_objects(p, HB_TOPO_PACKAGE, err);
    } else {
        *why_out = hb_xasprintf("%u ranks cannot share out %u %ss without one "
                                "lying across two packages or getting less "
                                "than its part", p->n_ranks, p->units->n, unit);
    }
    return *why_out != NULL;
}

static void write_reports(struct hb_bind_planner *p)
{
    p->out->report = hb_xcalloc(p->n_ranks, sizeof(*p->out->report));
    for (uint32_t i = 0; i < p->n_ranks; i++) {
        char *picture = hb_bind_picture(p->topo, &p->out->cpus[i]);
        char *list = hb_cpus_text(&p->out->cpus[i]);
        p->out->report[i] = hb_xasprintf("bound to %s (CPU%s %s)", picture,
                                         hb_cpus_count(&p->out->cpus[i]) > 1
                                             ? "s" : "", list);
        free(picture);
        free(list);
    }
}

/* Oversubscription and objects that are not there are no error for a wish
 * that only the mapping made, or that said if-supported. */
int hb_bind_may_do_without(const struct hb_bind_policy *policy)
{
    return policy->if_supported || policy->to == HB_BIND_DEFAULT;
}

/* Each rank to its part of what is next to its device. */
static int plan_devices(struct hb_bind_planner *p, struct hpcboot_error *err)
{
    int rc = hb_bind_make_runs(p, -1, err);

    if (rc < 0) {
        return rc;
    }
    hb_bind_seat_all(p);
    hb_bind_run_parts(p);
    p->out->why = hb_xasprintf("each rank to the cores next to its device%s",
                               p->policy->by == HB_MAP_GPU &&
                                       p->policy->gpus == 0
                                   ? "; it sees all GPUs (--gpus-per-rank 1: "
                                     "its own)" : "");
    return HPCBOOT_OK;
}

static int plan_as_asked(struct hb_bind_planner *p, int target,
                         struct hpcboot_error *err)
{
    if (p->policy->by == HB_MAP_PE_LIST) {
        return hb_bind_list(p, err);
    }
    if (p->policy->by == HB_MAP_RANKFILE && p->policy->slots != NULL) {
        return hb_bind_slots(p, err);
    }
    if (target == HB_BIND_TARGET_DEVICE) {
        return plan_devices(p, err);
    }
    return plan_wish(p, target, err);
}

static int run_plan(struct hb_bind_planner *p, struct hpcboot_error *err)
{
    int target = hb_bind_target_kind(p->policy), rc;
    struct hpcboot_error why;
    char *better_not = NULL;
    int unmet = 0;

    if (target == HB_BIND_TARGET_DEFAULT) {
        rc = plan_default(p, &better_not, err);
        if (rc <= 0) {
            return rc;
        }
    } else {
        rc = plan_as_asked(p, target, &why);
        if (rc >= 0) {
            return rc;
        }
        if (rc == HPCBOOT_ERR_USAGE || !hb_bind_may_do_without(p->policy)) {
            return hb_fail(err, rc, "%s", why.text);
        }
        better_not = hb_xasprintf("%.200s", why.text);
        unmet = rc == HPCBOOT_ERR_UNSUPPORTED && !p->policy->if_supported;
    }
    hb_bind_plan_destroy(p->out);
    rc = hb_bind_unbound(p->out, p->n_ranks, better_not);
    p->out->unmet = unmet;
    return rc;
}

int hb_bind_by_threads(const struct hb_bind_policy *policy)
{
    return policy->hwtcpus || policy->to == HB_BIND_HWTHREAD ||
           hb_bind_mapped_kind(policy) == HB_TOPO_PU;
}

static struct hb_bind_planner planner_of(const struct hb_bind_policy *policy,
                                         const struct hb_topo *topo)
{
    int threads = hb_bind_by_threads(policy);
    struct hb_bind_planner p = {
        .policy = policy, .topo = topo, .pe = policy->pe > 0 ? policy->pe : 1,
        .units = &topo->level[threads ? HB_TOPO_PU : HB_TOPO_CORE],
    };

    return p;
}

uint32_t hb_bind_room(const struct hb_bind_policy *policy,
                      const struct hb_topo *topo)
{
    int apart = policy->to != HB_BIND_NONE && !policy->overload_allowed;
    uint32_t devices = hb_bind_by_device(policy)
                           ? hb_bind_objects(policy, topo) : 0;
    struct hb_bind_planner p = planner_of(policy, topo);
    uint32_t n;

    if (!apart || (devices > 0 && policy->pe < 2)) {
        return devices;
    }
    if (policy->by == HB_MAP_PE_LIST) {
        n = hb_bind_list_length(policy);
        return n > p.pe ? n / p.pe : 1;
    }
    n = hb_bind_make_runs(&p, hb_bind_mapped_kind(policy), NULL) >= 0
            ? hb_bind_count_seats(&p) : 0;
    free(p.runs);
    if (devices > 0 && policy->by != HB_MAP_PPR_OBJECT) {
        n = n < devices ? n : devices;
    }
    return devices > 0 && n == 0 ? 1 : n; /* 0: not known */
}

uint32_t hb_bind_objects(const struct hb_bind_policy *policy,
                         const struct hb_topo *topo)
{
    enum hb_map_by by = policy->by == HB_MAP_PPR_OBJECT ? policy->ppr_object
                                                        : policy->by;
    struct hb_bind_planner p = planner_of(policy, topo);
    int kind = hb_bind_mapped_kind(policy);
    uint32_t n;

    if (hb_bind_by_device(policy)) {
        const struct hb_topo_devices *d =
            &topo->device[by == HB_MAP_GPU ? HB_TOPO_GPU : HB_TOPO_NIC];
        return d->n - d->hidden;
    }
    if (policy->by != HB_MAP_PPR_OBJECT) {
        return kind >= 0 ? topo->level[kind].n : 0;
    }
    n = hb_bind_make_runs(&p, kind, NULL) >= 0 ? p.n_runs : 0;
    free(p.runs);
    return n;
}

int hb_bind_plan(const struct hb_bind_policy *policy,
                 const struct hb_topo *topo, uint32_t quota_milli,
                 uint32_t n_ranks, struct hb_bind_plan *out,
                 struct hpcboot_error *err)
{
    struct hb_bind_plan plan = {.n_ranks = n_ranks, .bound = 1};
    struct hb_bind_planner p = planner_of(policy, topo);
    int rc;

    if (n_ranks == 0 || policy->to == HB_BIND_NONE) {
        return hb_bind_unbound(out, n_ranks,
                       hb_xstrdup(n_ranks == 0 ? "no ranks here"
                                               : "--bind-to none"));
    }
    p.n_ranks = n_ranks;
    p.quota_milli = quota_milli;
    p.out = &plan;
    plan.cpus = hb_xcalloc(n_ranks, sizeof(*plan.cpus));
    p.seats = hb_xcalloc(n_ranks, sizeof(*p.seats));
    rc = run_plan(&p, err);
    if (rc >= 0 && plan.bound) {
        write_reports(&p);
    }
    free(p.runs);
    free(p.seats);
    if (rc < 0) {
        hb_bind_plan_destroy(&plan);
        return rc;
    }
    *out = plan;
    return HPCBOOT_OK;
}
