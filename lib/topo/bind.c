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

#include "lib/topo/bind.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

/* A run of units that ranks are seated in. */
struct run {
    uint32_t first, n; /* units */
    uint32_t seats;    /* ranks that fit without sharing */
    uint32_t ranks;
};

struct seat {
    uint32_t run;
    uint32_t place; /* the rank is the place-th of its run */
};

struct planner {
    const struct hb_bind_policy *policy;
    const struct hb_topo *topo;
    const struct hb_topo_level *units;
    uint32_t n_ranks, pe;
    uint32_t quota_milli;
    struct run *runs;
    uint32_t n_runs;
    struct seat *seats; /* [n_ranks] */
    struct hb_bind_plan *out;
};

static int unbound(struct hb_bind_plan *out, uint32_t n_ranks, char *why)
{
    memset(out, 0, sizeof(*out));
    out->n_ranks = n_ranks;
    out->why = why;
    return HPCBOOT_OK;
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

static uint32_t whole_cpus(uint32_t quota_milli)
{
    return quota_milli / 1000 + (quota_milli % 1000 != 0);
}

/* The kind of object a way of mapping names, or -1. */
static int kind_of_map(enum hb_map_by by)
{
    switch (by) {
    case HB_MAP_HWTHREAD: return HB_TOPO_PU;
    case HB_MAP_CORE: return HB_TOPO_CORE;
    case HB_MAP_L1CACHE: return HB_TOPO_L1CACHE;
    case HB_MAP_L2CACHE: return HB_TOPO_L2CACHE;
    case HB_MAP_L3CACHE: return HB_TOPO_L3CACHE;
    case HB_MAP_NUMA: return HB_TOPO_NUMA;
    case HB_MAP_PACKAGE: return HB_TOPO_PACKAGE;
    default: return -1;
    }
}

static int mapped_kind(const struct hb_bind_policy *p)
{
    return kind_of_map(p->by == HB_MAP_PPR_OBJECT ? p->ppr_object : p->by);
}

/* What ranks are bound to under a wish: what --bind-to says, else CPUs when a
 * number of them was asked for, else the object they were mapped by. */
static int target_kind(const struct hb_bind_policy *p)
{
    if (p->to != HB_BIND_DEFAULT) {
        return p->to - HB_BIND_HWTHREAD + HB_TOPO_PU;
    }
    if (p->pe > 0) {
        return p->hwtcpus ? HB_TOPO_PU : HB_TOPO_CORE;
    }
    return mapped_kind(p);
}
_Static_assert(HB_BIND_PACKAGE - HB_BIND_HWTHREAD ==
                   HB_TOPO_PACKAGE - HB_TOPO_PU,
               "binding objects follow the kinds of the topology");

static void add_cpus(const struct hb_topo *topo, const struct hb_topo_span *s,
                     struct hb_cpus *set)
{
    for (uint32_t i = s->first; i < s->first + s->n; i++) {
        hb_cpus_add(set, topo->pu_os[i]);
    }
}

/* Units whose first CPU lies in the span. */
static struct run run_of(const struct planner *p, const struct hb_topo_span *s)
{
    struct run r = {0};

    for (uint32_t i = 0; i < p->units->n; i++) {
        uint32_t pu = p->units->v[i].first;
        if (pu < s->first || pu - s->first >= s->n) {
            continue;
        }
        r.first = r.n == 0 ? i : r.first;
        r.n++;
    }
    r.seats = r.n / p->pe;
    return r;
}

/* Runs are the objects of a kind, or (-1) the whole host. */
static int make_runs(struct planner *p, int kind, struct hpcboot_error *err)
{
    struct hb_topo_span all = {0, p->topo->n_pus, 0};
    const struct hb_topo_level *level;
    uint32_t n;

    level = kind >= 0 ? &p->topo->level[kind] : NULL;
    n = level != NULL ? level->n : 1;
    if (n == 0) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                       "ranks cannot be placed by %s: this host has none",
                       hb_topo_kind_name((enum hb_topo_kind)kind));
    }
    p->runs = hb_xcalloc(n, sizeof(*p->runs));
    for (uint32_t i = 0; i < n; i++) {
        struct run r = run_of(p, level != NULL ? &level->v[i] : &all);
        if (r.n > 0) {
            p->runs[p->n_runs++] = r;
        }
    }
    return HPCBOOT_OK;
}

/* Deals ranks over the runs in turn; with `full` beyond their seats. */
static uint32_t deal(struct planner *p, uint32_t left, int full)
{
    uint32_t before = left + 1;

    while (left > 0 && left != before) {
        before = left;
        for (uint32_t i = 0; i < p->n_runs && left > 0; i++) {
            if (full || p->runs[i].ranks < p->runs[i].seats) {
                p->runs[i].ranks++;
                left--;
            }
        }
    }
    return left;
}

static void seat_counts(struct planner *p)
{
    uint32_t left = p->n_ranks;

    for (uint32_t i = 0; p->policy->ppr > 0 && i < p->n_runs; i++) {
        uint32_t some = p->policy->ppr < left ? p->policy->ppr : left;
        p->runs[i].ranks = some;
        left -= some;
    }
    deal(p, deal(p, left, 0), 1);
}

/* Numbers the seats: run after run, or (span) one of each run in turn. */
static void seat_ranks(struct planner *p)
{
    int in_turn = p->policy->rank_by == HB_RANK_SPAN;
    uint32_t rank = 0;

    for (uint32_t place = 0; in_turn && rank < p->n_ranks; place++) {
        for (uint32_t i = 0; i < p->n_runs; i++) {
            if (place < p->runs[i].ranks) {
                p->seats[rank++] = (struct seat){i, place};
            }
        }
    }
    for (uint32_t i = 0; !in_turn && i < p->n_runs; i++) {
        for (uint32_t place = 0; place < p->runs[i].ranks; place++) {
            p->seats[rank++] = (struct seat){i, place};
        }
    }
}

/* Adds what a rank with this unit is bound to. */
static int bind_unit(const struct planner *p, uint32_t unit, int target,
                     struct hb_cpus *set, struct hpcboot_error *err)
{
    const struct hb_topo_span *s = &p->units->v[unit];

    if ((int)(p->units - p->topo->level) != target) {
        s = hb_topo_around(p->topo, (enum hb_topo_kind)target, s->first);
    }
    if (s == NULL) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                       "--bind-to %s: this host has no such object around "
                       "CPU %u; choose another, or add :if-supported",
                       hb_topo_kind_name((enum hb_topo_kind)target),
                       p->topo->pu_os[p->units->v[unit].first]);
    }
    add_cpus(p->topo, s, set);
    return HPCBOOT_OK;
}

static int bind_seats(struct planner *p, int target, struct hpcboot_error *err)
{
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        const struct run *r = &p->runs[p->seats[rank].run];
        uint32_t seats = r->seats > 0 ? r->seats : 1;
        uint32_t from = p->seats[rank].place % seats * p->pe;
        for (uint32_t k = 0; k < p->pe && from + k < r->n; k++) {
            int rc = bind_unit(p, r->first + from + k, target,
                               &p->out->cpus[rank], err);
            if (rc < 0) {
                return rc;
            }
        }
    }
    return HPCBOOT_OK;
}

static uint32_t count_seats(const struct planner *p)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_runs; i++) {
        n += p->runs[i].seats;
    }
    return n;
}

static int too_many(const struct planner *p, uint32_t seats,
                    struct hpcboot_error *err)
{
    const char *unit = p->units == &p->topo->level[HB_TOPO_PU]
                           ? "hardware threads" : "cores";

    return hb_fail(err, HPCBOOT_ERR_LIMIT,
                   "%u ranks of %u %s each on %u %s: there is room for %u. "
                   "Start fewer here, or let them share with --bind-to "
                   "OBJECT:overload-allowed, or --bind-to none",
                   p->n_ranks, p->pe, unit, p->units->n, unit, seats);
}

/* Binding as it was wished for. */
static int plan_wish(struct planner *p, int target, struct hpcboot_error *err)
{
    int kind = mapped_kind(p->policy), rc;

    /* Without a mapping by object, more than two ranks are spread over the
     * packages, or over the objects they are bound to when those are wider
     * than a core; one or two, and those mapped by slot, sit side by side. */
    if (kind < 0 && p->policy->by == HB_MAP_DEFAULT) {
        if (target > HB_TOPO_CORE) {
            kind = target;
        } else if (p->n_ranks > 2 && p->topo->level[HB_TOPO_PACKAGE].n > 1) {
            kind = HB_TOPO_PACKAGE;
        }
    }
    rc = make_runs(p, kind, err);
    if (rc < 0) {
        return rc;
    }
    if (p->n_ranks > count_seats(p) && !p->policy->overload_allowed) {
        return too_many(p, count_seats(p), err);
    }
    seat_counts(p);
    seat_ranks(p);
    rc = bind_seats(p, target, err);
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
static uint32_t share_start(const struct planner *p, uint32_t rank)
{
    return (uint32_t)((uint64_t)rank * p->units->n / p->n_ranks);
}

/* 1 when no rank's part lies across two objects of a kind. */
static int shares_fit(const struct planner *p, enum hb_topo_kind kind)
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
static int holds_share(const struct planner *p, enum hb_topo_kind kind)
{
    const struct hb_topo_level *level = &p->topo->level[kind];

    for (uint32_t i = 0; i < level->n; i++) {
        if (run_of(p, &level->v[i]).n < p->units->n / p->n_ranks) {
            return 0;
        }
    }
    return level->n > 1;
}

static void bind_shares(struct planner *p)
{
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        for (uint32_t u = share_start(p, rank); u < share_start(p, rank + 1);
             u++) {
            add_cpus(p->topo, &p->units->v[u], &p->out->cpus[rank]);
        }
    }
    p->out->why = hb_xasprintf("%u cores shared out to %u ranks", p->units->n,
                               p->n_ranks);
}

/* Each rank to the node or package in which its part begins. */
static int bind_share_objects(struct planner *p, enum hb_topo_kind kind,
                              struct hpcboot_error *err)
{
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        int rc = bind_unit(p, share_start(p, rank), (int)kind,
                           &p->out->cpus[rank], err);
        if (rc < 0) {
            return rc;
        }
    }
    p->out->why = hb_xasprintf("%u ranks do not divide the cores of a %s, so "
                               "each has one whole", p->n_ranks,
                               hb_topo_kind_name(kind));
    return HPCBOOT_OK;
}

/* 0: bound. 1: better not, *why_out says so. */
static int plan_default(struct planner *p, char **why_out,
                        struct hpcboot_error *err)
{
    uint32_t cpus = whole_cpus(p->quota_milli);

    if (p->n_ranks > p->units->n) {
        *why_out = hb_xasprintf("%u ranks share %u cores", p->n_ranks,
                                p->units->n);
    } else if (cpus > 0 && p->n_ranks > cpus) {
        *why_out = hb_xasprintf("%u ranks share a quota of %g CPUs", p->n_ranks,
                                p->quota_milli / 1000.0);
    } else if ((uint64_t)(p->units->n / p->n_ranks) * 1000 * p->n_ranks <
               (p->quota_milli < p->units->n * 1000u ? p->quota_milli : 0)) {
        *why_out = hb_xasprintf("%u ranks on %u cores would be bound tighter "
                                "than the quota of %g CPUs", p->n_ranks,
                                p->units->n, p->quota_milli / 1000.0);
    } else if (p->n_ranks == 1) {
        *why_out = hb_xasprintf("one rank has the host's %u cores to itself",
                                p->units->n);
    } else if (shares_fit(p, HB_TOPO_NUMA) && shares_fit(p, HB_TOPO_PACKAGE)) {
        bind_shares(p);
    } else if (holds_share(p, HB_TOPO_NUMA)) {
        return bind_share_objects(p, HB_TOPO_NUMA, err);
    } else if (holds_share(p, HB_TOPO_PACKAGE)) {
        return bind_share_objects(p, HB_TOPO_PACKAGE, err);
    } else {
        *why_out = hb_xasprintf("%u ranks cannot share out %u cores without "
                                "one lying across two packages or getting "
                                "less than its part", p->n_ranks, p->units->n);
    }
    return *why_out != NULL;
}

static void write_reports(struct planner *p)
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
static int may_do_without(const struct hb_bind_policy *policy)
{
    return policy->if_supported || policy->to == HB_BIND_DEFAULT;
}

static int run_plan(struct planner *p, struct hpcboot_error *err)
{
    int target = target_kind(p->policy), rc;
    struct hpcboot_error why;
    char *better_not = NULL;

    if (target < 0) {
        rc = plan_default(p, &better_not, err);
        if (rc <= 0) {
            return rc;
        }
    } else {
        rc = plan_wish(p, target, &why);
        if (rc >= 0) {
            return rc;
        }
        if (!may_do_without(p->policy)) {
            return hb_fail(err, rc, "%s", why.text);
        }
        better_not = hb_xasprintf("%.200s", why.text);
    }
    hb_bind_plan_destroy(p->out);
    return unbound(p->out, p->n_ranks, better_not);
}

int hb_bind_plan(const struct hb_bind_policy *policy,
                 const struct hb_topo *topo, uint32_t quota_milli,
                 uint32_t n_ranks, struct hb_bind_plan *out,
                 struct hpcboot_error *err)
{
    int threads = policy->hwtcpus || policy->to == HB_BIND_HWTHREAD ||
                  mapped_kind(policy) == HB_TOPO_PU;
    struct hb_bind_plan plan = {.n_ranks = n_ranks, .bound = 1};
    struct planner p = {
        .policy = policy, .topo = topo, .n_ranks = n_ranks, .out = &plan,
        .quota_milli = quota_milli, .pe = policy->pe > 0 ? policy->pe : 1,
        .units = &topo->level[threads ? HB_TOPO_PU : HB_TOPO_CORE],
    };
    int rc;

    if (n_ranks == 0 || policy->to == HB_BIND_NONE) {
        return unbound(out, n_ranks,
                       hb_xstrdup(n_ranks == 0 ? "no ranks here"
                                               : "--bind-to none"));
    }
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
    if (target_kind(policy) < 0 && !policy->hwtcpus &&
        n_ranks > allowed->slots) {
        return hb_xasprintf("%u ranks share %s", n_ranks, allowed->origin);
    }
    return NULL;
}

int hb_bind_here(const struct hb_bind_policy *policy, uint32_t n_ranks,
                 struct hb_bind_plan *out, struct hpcboot_error *err)
{
    struct hb_allowed allowed;
    struct hb_cpus cpus;
    struct hb_topo *topo = NULL;
    struct hpcboot_error why;
    char *reason;
    int rc = hb_topo_allowed("", &allowed, err);

    if (rc < 0) {
        return rc;
    }
    reason = why_not_at_all(policy, &allowed, n_ranks);
    if (reason != NULL) {
        return unbound(out, n_ranks, reason);
    }
    rc = hb_allowed_cpus("", &cpus, &why);
    if (rc >= 0) {
        rc = hb_topo_load(NULL, &cpus, &topo, &why);
    }
    if (rc < 0) {
        return may_do_without(policy)
                   ? unbound(out, n_ranks, hb_xasprintf("%.300s", why.text))
                   : hb_fail(err, rc, "cannot bind: %s", why.text);
    }
    rc = hb_bind_plan(policy, topo, allowed.quota_milli, n_ranks, out, err);
    hb_topo_destroy(topo);
    return rc;
}
