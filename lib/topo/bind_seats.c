/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Seats: where inside a host the ranks sit.
 *
 * A run is a stretch of units (cores or threads) that belongs together: an
 * object of the kind that ranks are mapped by, what is next to a device, or
 * the whole host. Seating has three steps: how many ranks sit in which run,
 * which rank is which of those, and which units it has there. */

#include "config.h"

#include "lib/topo/bind_impl.h"

#include <stdlib.h>

#include "lib/base/str.h"

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

int hb_bind_mapped_kind(const struct hb_bind_policy *p)
{
    return kind_of_map(p->by == HB_MAP_PPR_OBJECT ? p->ppr_object : p->by);
}

int hb_bind_by_device(const struct hb_bind_policy *p)
{
    enum hb_map_by by = p->by == HB_MAP_PPR_OBJECT ? p->ppr_object : p->by;

    return by == HB_MAP_GPU || by == HB_MAP_NIC;
}

void hb_bind_add_cpus(const struct hb_topo *topo, const struct hb_topo_span *s,
                     struct hb_cpus *set)
{
    for (uint32_t i = s->first; i < s->first + s->n; i++) {
        hb_cpus_add(set, topo->pu_os[i]);
    }
}

/* Units whose first CPU lies in the span. */
struct hb_bind_run hb_bind_run_of(const struct hb_bind_planner *p,
                                  const struct hb_topo_span *s)
{
    struct hb_bind_run r = {0};

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

/* Ranks whose CPUs were asked for share none of them unasked. */
static int keeps_apart(const struct hb_bind_policy *p)
{
    return (p->to > HB_BIND_NONE || p->pe > 0) && !p->overload_allowed;
}

/* The k-th of m equal parts of a run; never empty: where there are units for
 * fewer, those are the parts in turn, and have seats once if no rank may be on
 * another's. */
static struct hb_bind_run part_of(const struct hb_bind_planner *p,
                                  const struct hb_bind_run *whole, uint32_t k,
                                  uint32_t m)
{
    uint32_t most = whole->n / p->pe > 0 ? whole->n / p->pe : 1;
    uint32_t parts = m < most ? m : most, at = k % parts;
    uint32_t from = (uint32_t)((uint64_t)at * whole->n / parts);
    uint32_t to = (uint32_t)((uint64_t)(at + 1) * whole->n / parts);
    struct hb_bind_run r = *whole;

    r.first = whole->first + from;
    r.n = to - from;
    r.seats = k >= parts && keeps_apart(p->policy) ? 0 : r.n / p->pe;
    return r;
}

static int same_span(const struct hb_topo_span *a, const struct hb_topo_span *b)
{
    return a->first == b->first && a->n == b->n;
}

/* Devices with one neighbourhood share its units out among them. */
static int device_runs(struct hb_bind_planner *p, struct hpcboot_error *err)
{
    enum hb_map_by by = p->policy->by == HB_MAP_PPR_OBJECT
                            ? p->policy->ppr_object : p->policy->by;
    enum hb_topo_device_kind kind = by == HB_MAP_GPU ? HB_TOPO_GPU
                                                     : HB_TOPO_NIC;
    const struct hb_topo_devices *d = &p->topo->device[kind];

    if (d->n == 0) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                       "ranks cannot be placed by %s: this host has none that "
                       "may be used", hb_topo_device_name(kind));
    }
    p->runs = hb_xcalloc(d->n, sizeof(*p->runs));
    for (uint32_t i = 0; i < d->n; i++) {
        struct hb_bind_run whole = hb_bind_run_of(p, &d->v[i].near);
        uint32_t before = 0, all = 0;
        for (uint32_t k = 0; k < d->n; k++) {
            if (same_span(&d->v[k].near, &d->v[i].near)) {
                before += k < i;
                all++;
            }
        }
        if (whole.n == 0) {
            whole = (struct hb_bind_run){.n = p->units->n};
        }
        p->runs[p->n_runs++] = part_of(p, &whole, before, all);
    }
    return HPCBOOT_OK;
}

/* Objects with fewer CPUs than ppr puts ranks there are passed over; where
 * ranks may share CPUs, those that have none for a single rank. */
static int is_too_small(const struct hb_bind_planner *p,
                        const struct hb_bind_run *r)
{
    uint32_t least = p->policy->ppr > 1 && p->policy->overload_allowed
                         ? 1 : p->policy->ppr;

    return p->policy->to != HB_BIND_NONE && r->seats < least;
}

static int object_runs(struct hb_bind_planner *p, int kind,
                       struct hpcboot_error *err)
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
        struct hb_bind_run r =
            hb_bind_run_of(p, level != NULL ? &level->v[i] : &all);
        if (r.n > 0 && !is_too_small(p, &r)) {
            p->runs[p->n_runs++] = r;
        }
    }
    return p->n_runs > 0 ? HPCBOOT_OK
                         : hb_fail(err, HPCBOOT_ERR_LIMIT,
                                   "no %s of this host has CPUs for %u ranks "
                                   "of %u each",
                                   kind >= 0 ? hb_topo_kind_name(
                                                   (enum hb_topo_kind)kind)
                                             : "part",
                                   p->policy->ppr, p->pe);
}

/* The most units of an object of the kind. */
static uint32_t widest(const struct hb_bind_planner *p, int kind)
{
    const struct hb_topo_level *level = &p->topo->level[kind];
    uint32_t most = 0;

    for (uint32_t i = 0; i < level->n; i++) {
        uint32_t n = hb_bind_run_of(p, &level->v[i]).n;
        most = n > most ? n : most;
    }
    return most;
}

/* Ranks of several CPUs each sit side by side, but none over the edge of a
 * NUMA node or package while all fit without. */
static int runs_in_line(struct hb_bind_planner *p, struct hpcboot_error *err)
{
    static const int kinds[] = {HB_TOPO_NUMA, HB_TOPO_PACKAGE};

    p->in_line = 1;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (p->topo->level[kinds[i]].n < 2 ||
            object_runs(p, kinds[i], err) < 0) {
            continue;
        }
        if (hb_bind_count_seats(p) >= p->n_ranks &&
            hb_bind_count_seats(p) > 0) {
            return HPCBOOT_OK;
        }
        free(p->runs);
        p->runs = NULL;
        p->n_runs = 0;
    }
    return object_runs(p, -1, err);
}

int hb_bind_make_runs(struct hb_bind_planner *p, int kind,
                      struct hpcboot_error *err)
{
    if (hb_bind_by_device(p->policy)) {
        return device_runs(p, err);
    }
    if (p->pe > 1 && (kind < 0 || (p->policy->by != HB_MAP_PPR_OBJECT &&
                                   widest(p, kind) < p->pe))) {
        return runs_in_line(p, err);
    }
    return object_runs(p, kind, err);
}

static uint32_t most_seats(const struct hb_bind_planner *p)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < p->n_runs; i++) {
        most = p->runs[i].seats > most ? p->runs[i].seats : most;
    }
    return most;
}

/* Deals ranks over the runs in turn; with `full` beyond their seats, but not to
 * one that has not the CPUs of a single rank, where another has. */
static uint32_t deal(struct hb_bind_planner *p, uint32_t left, int full)
{
    uint32_t before = left + 1, least = full && most_seats(p) > 0 ? 1 : 0;

    while (left > 0 && left != before) {
        before = left;
        for (uint32_t i = 0; i < p->n_runs && left > 0; i++) {
            struct hb_bind_run *r = &p->runs[i];
            if (full ? r->seats >= least : r->ranks < r->seats) {
                r->ranks++;
                left--;
            }
        }
    }
    return left;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Ranks that so many programs may still put into a run: under ppr so many each,
 * as far as they have CPUs. */
static uint32_t room_of(const struct hb_bind_planner *p,
                        const struct hb_bind_run *r, uint32_t n_programs)
{
    uint32_t left = r->seats > r->ranks ? r->seats - r->ranks : 0;
    uint64_t most = (uint64_t)p->policy->ppr * n_programs;

    return most > 0 && (most < left || !keeps_apart(p->policy)) ? (uint32_t)most
                                                               : left;
}

static void seat_counts(struct hb_bind_planner *p, uint32_t n_ranks)
{
    uint32_t left = n_ranks;

    for (uint32_t i = 0; p->policy->ppr > 0 && i < p->n_runs; i++) {
        uint32_t some = min_u32(room_of(p, &p->runs[i], 1), left);
        p->runs[i].ranks += some;
        left -= some;
    }
    for (uint32_t i = 0; p->in_line && i < p->n_runs; i++) {
        struct hb_bind_run *r = &p->runs[i];
        uint32_t some = min_u32(r->seats > r->ranks ? r->seats - r->ranks : 0,
                                left);
        r->ranks += some;
        left -= some;
    }
    deal(p, deal(p, left, 0), 1);
}

/* Ranks that are mapped by object are numbered object after object (fill),
 * unless another way was asked for; then the order in which they were dealt
 * out is theirs. */
static int numbers_in_turn(const struct hb_bind_policy *policy)
{
    int object = hb_bind_mapped_kind(policy) >= 0 ||
                 hb_bind_by_device(policy);

    return policy->rank_by == HB_RANK_SPAN ||
           policy->rank_by == HB_RANK_TURN ||
           (object && policy->by != HB_MAP_PPR_OBJECT &&
            (policy->rank_by == HB_RANK_SLOT ||
             policy->rank_by == HB_RANK_NODE));
}

static void seat_next(struct hb_bind_planner *p, uint32_t run)
{
    p->seats[p->n_seated++] =
        (struct hb_bind_seat){run, p->runs[run].numbered++};
}

/* Numbers the seats that are new: run after run, or (span) one of each run in
 * turn. */
static void seat_ranks(struct hb_bind_planner *p, uint32_t end)
{
    int in_turn = numbers_in_turn(p->policy);

    while (in_turn && p->n_seated < end) {
        for (uint32_t i = 0; i < p->n_runs; i++) {
            if (p->runs[i].numbered < p->runs[i].ranks) {
                seat_next(p, i);
            }
        }
    }
    for (uint32_t i = 0; !in_turn && i < p->n_runs; i++) {
        while (p->runs[i].numbered < p->runs[i].ranks) {
            seat_next(p, i);
        }
    }
}

/* Where ranks are mapped by objects each program begins with the first one. */
static uint32_t programs_of(const struct hb_bind_policy *policy)
{
    int begin_anew = policy->programs != NULL && policy->n_programs > 0 &&
                     hb_bind_mapped_kind(policy) >= 0;

    return begin_anew ? policy->n_programs : 1;
}

void hb_bind_seat_all(struct hb_bind_planner *p)
{
    uint32_t n = programs_of(p->policy), end = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t ranks = n > 1 ? p->policy->programs[i] : p->n_ranks;
        end += ranks;
        seat_counts(p, ranks);
        seat_ranks(p, end);
    }
}

int hb_bind_unit(const struct hb_bind_planner *p, uint32_t unit, int target,
                     struct hb_cpus *set, struct hpcboot_error *err)
{
    const struct hb_topo_span *s = &p->units->v[unit];

    if ((int)(p->units - p->topo->level) != target) {
        s = hb_topo_around(p->topo, (enum hb_topo_kind)target, s->first);
    }
    if (s == NULL) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                       "--bind-to %s: this host has no such object around "
                       "CPU %u%s",
                       hb_topo_kind_name((enum hb_topo_kind)target),
                       p->topo->pu_os[p->units->v[unit].first],
                       p->policy->if_supported ? "" : "; choose another, or "
                       "add :if-supported");
    }
    hb_bind_add_cpus(p->topo, s, set);
    return HPCBOOT_OK;
}

int hb_bind_seats(struct hb_bind_planner *p, int target,
                  struct hpcboot_error *err)
{
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        const struct hb_bind_run *r = &p->runs[p->seats[rank].run];
        uint32_t seats = r->seats > 0 ? r->seats : 1;
        uint32_t from = p->seats[rank].place % seats * p->pe;
        for (uint32_t k = 0; k < p->pe && from + k < r->n; k++) {
            int rc = hb_bind_unit(p, r->first + from + k, target,
                               &p->out->cpus[rank], err);
            if (rc < 0) {
                return rc;
            }
        }
    }
    return HPCBOOT_OK;
}

void hb_bind_run_parts(struct hb_bind_planner *p)
{
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        const struct hb_bind_run *r = &p->runs[p->seats[rank].run];
        struct hb_bind_run part = part_of(p, r, p->seats[rank].place,
                                          r->ranks > 0 ? r->ranks : 1);
        for (uint32_t u = part.first; u < part.first + part.n; u++) {
            hb_bind_add_cpus(p->topo, &p->units->v[u], &p->out->cpus[rank]);
        }
    }
}

uint32_t hb_bind_count_seats(const struct hb_bind_planner *p)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_runs; i++) {
        n += room_of(p, &p->runs[i], programs_of(p->policy));
    }
    return n;
}
