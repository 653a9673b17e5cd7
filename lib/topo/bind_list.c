/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* CPUs by number: pe-list, and the lines of a rankfile.
 *
 * Numbers are logical ones, as in Open MPI: core 0 is the first core that the
 * job may use on the host, in hwloc's order; with HWTCPUS they count hardware
 * threads. "1:0-3" are cores 0 to 3 of package 1, "1:*" all of it, "0:0-1;1:2"
 * some of two packages. A pe-list binds every rank to all of it; ORDERED, or a
 * wish for cores, gives each rank its own, in the order of the list. Ranks that
 * outnumber its CPUs share all of it, where others would not be bound: who
 * names CPUs wants the rest left alone. A CPU that is named twice counts once.
 */

#include "config.h"

#include "lib/topo/bind_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

/* "N" or "N-M" at *text; moves behind it and a comma. 0: not understood. */
static int next_range(const char **text, uint32_t *first, uint32_t *last)
{
    unsigned long from, to;
    char *end;

    if (!isdigit((unsigned char)**text)) {
        return 0;
    }
    from = to = strtoul(*text, &end, 10);
    if (*end == '-' && isdigit((unsigned char)end[1])) {
        to = strtoul(end + 1, &end, 10);
    }
    if (*end == ',' && end[1] != '\0') {
        end++;
    } else if (*end != '\0') {
        return 0;
    }
    if (to < from || to >= HB_MAX_CPUS) {
        return 0;
    }
    *text = end;
    *first = (uint32_t)from;
    *last = (uint32_t)to;
    return 1;
}

uint32_t hb_bind_list_length(const struct hb_bind_policy *policy)
{
    const char *text = policy->list;
    uint32_t first, last;
    struct hb_cpus named;

    hb_cpus_zero(&named);
    while (*text != '\0' && next_range(&text, &first, &last)) {
        for (uint32_t u = first; u <= last; u++) {
            hb_cpus_add(&named, u);
        }
    }
    return hb_cpus_count(&named);
}

static int bad_list(const char *what, const char *list,
                    struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_USAGE,
                   "%s %.80s: expected a list of cores, as 0-3,7", what, list);
}

static int not_there(const struct hb_bind_planner *p, const char *what,
                     const char *list, uint32_t unit, uint32_t n,
                     struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_USAGE,
                   "%s %.80s: there is no %s %u among those that the job may "
                   "use here (0 to %u)", what, list, hb_bind_unit_name(p), unit,
                   n > 0 ? n - 1 : 0);
}

/* Appends the units of a list, which count from `base`, of which there are
 * n; *count_io of them are in `units` so far, at most HB_MAX_CPUS. */
static int take_units(const struct hb_bind_planner *p, const char *what,
                      const char *list, struct hb_bind_run within,
                      uint32_t *units, uint32_t *count_io,
                      struct hpcboot_error *err)
{
    const char *text = list;
    uint32_t first, last;

    if (hb_streq(list, "*") && within.n <= HB_MAX_CPUS - *count_io) {
        for (uint32_t u = 0; u < within.n; u++) {
            units[(*count_io)++] = within.first + u;
        }
        return HPCBOOT_OK;
    }
    while (*text != '\0') {
        if (!next_range(&text, &first, &last)) {
            return bad_list(what, list, err);
        }
        for (uint32_t u = first; u <= last; u++) {
            if (u >= within.n || *count_io == HB_MAX_CPUS) {
                return not_there(p, what, list, u, within.n, err);
            }
            units[(*count_io)++] = within.first + u;
        }
    }
    return HPCBOOT_OK;
}

static int too_long(const struct hb_bind_planner *p, uint32_t n,
                    struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_LIMIT,
                   "%u ranks of %u CPU%s each on the %u of pe-list=%.80s. Name "
                   "more, start fewer here, or let them share with --bind-to "
                   "core:overload-allowed", p->n_ranks, p->pe,
                   p->pe == 1 ? "" : "s", n, p->policy->list);
}

/* Keeps the first mention of each; how many are left. */
static uint32_t once_each(uint32_t *units, uint32_t n)
{
    struct hb_cpus seen;
    uint32_t kept = 0;

    hb_cpus_zero(&seen);
    for (uint32_t i = 0; i < n; i++) {
        if (!hb_cpus_has(&seen, units[i])) {
            hb_cpus_add(&seen, units[i]);
            units[kept++] = units[i];
        }
    }
    return kept;
}

int hb_bind_list(struct hb_bind_planner *p, struct hpcboot_error *err)
{
    struct hb_bind_run all = {.n = p->units->n};
    uint32_t *units = hb_xcalloc(HB_MAX_CPUS, sizeof(*units));
    uint32_t n = 0;
    int rc = take_units(p, "pe-list", p->policy->list, all, units, &n, err);
    int in_order = p->policy->ordered || p->policy->to == HB_BIND_CORE ||
                   p->policy->to == HB_BIND_HWTHREAD;
    int shared;

    if (rc >= 0 && n == 0) {
        rc = bad_list("pe-list", p->policy->list, err);
    }
    n = once_each(units, n);
    shared = (uint64_t)p->n_ranks * p->pe > n && !p->policy->overload_allowed;
    if (rc >= 0 && shared) {
        rc = hb_bind_may_do_without(p->policy) ? rc : too_long(p, n, err);
        in_order = 0;
    }
    for (uint32_t rank = 0; rc >= 0 && rank < p->n_ranks; rank++) {
        uint32_t take = in_order ? p->pe : n;
        for (uint32_t k = 0; k < take; k++) {
            uint32_t at = in_order ? rank * p->pe + k : k;
            hb_bind_add_cpus(p->topo, &p->units->v[units[at % n]],
                             &p->out->cpus[rank]);
        }
    }
    if (rc >= 0) {
        p->out->why = shared ? hb_xasprintf("%u ranks share pe-list=%s",
                                            p->n_ranks, p->policy->list)
                             : hb_xasprintf("pe-list=%s", p->policy->list);
    }
    free(units);
    return rc;
}

/* The part of the host that a list counts in, and the list: of "1:0-3" what
 * is behind the colon. */
static int find_part(const struct hb_bind_planner *p, const char *part,
                     struct hb_bind_run *within, const char **list,
                     struct hpcboot_error *err)
{
    const struct hb_topo_level *packages = &p->topo->level[HB_TOPO_PACKAGE];
    const char *colon = strchr(part, ':');
    char *end;
    unsigned long package;

    *within = (struct hb_bind_run){.n = p->units->n};
    *list = part;
    if (colon == NULL) {
        return HPCBOOT_OK;
    }
    package = strtoul(part, &end, 10);
    if (end != colon || end == part) {
        return bad_list("rankfile slot", part, err);
    }
    if (package >= packages->n) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "rankfile slot %.80s: this host has %u package%s", part,
                       packages->n, packages->n == 1 ? "" : "s");
    }
    *within = hb_bind_run_of(p, &packages->v[package]);
    *list = colon + 1;
    return HPCBOOT_OK;
}

/* Appends the units of one part of a line. */
static int take_part(const struct hb_bind_planner *p, const char *part,
                     uint32_t *units, uint32_t *count_io,
                     struct hpcboot_error *err)
{
    struct hb_bind_run within;
    const char *list;
    uint32_t before = *count_io;
    int rc = find_part(p, part, &within, &list, err);

    if (rc >= 0) {
        rc = take_units(p, "rankfile slot", list, within, units, count_io,
                        err);
    }
    return rc >= 0 && *count_io == before
               ? bad_list("rankfile slot", part, err) : rc;
}

static int bind_line(struct hb_bind_planner *p, uint32_t rank, uint32_t *units,
                     struct hpcboot_error *err)
{
    char *copy = hb_xstrdup(p->policy->slots[rank]), *rest = copy, *part;
    uint32_t n = 0;
    int rc = HPCBOOT_OK;

    while (rc >= 0 && (part = strsep(&rest, ";")) != NULL) {
        rc = *part == '\0' ? bad_list("rankfile slot", p->policy->slots[rank],
                                      err)
                           : take_part(p, part, units, &n, err);
    }
    for (uint32_t k = 0; rc >= 0 && k < n; k++) {
        hb_bind_add_cpus(p->topo, &p->units->v[units[k]], &p->out->cpus[rank]);
    }
    free(copy);
    return rc;
}

/* Cores that a line names are that rank's own, unless they may be shared. */
static int check_exclusive(const struct hb_bind_planner *p,
                           struct hpcboot_error *err)
{
    struct hb_cpus taken;

    hb_cpus_zero(&taken);
    for (uint32_t rank = 0; rank < p->n_ranks; rank++) {
        struct hb_cpus shared = p->out->cpus[rank];
        char *list;
        if (p->policy->slots[rank] == NULL) {
            continue;
        }
        hb_cpus_and(&shared, &taken);
        if (hb_cpus_count(&shared) == 0) {
            hb_cpus_or(&taken, &p->out->cpus[rank]);
            continue;
        }
        list = hb_cpus_text(&shared);
        hb_fail(err, HPCBOOT_ERR_USAGE, "rankfile slot %.100s: another rank "
                "of this host has CPU %.100s already; let them share with "
                "--bind-to core:overload-allowed", p->policy->slots[rank],
                list);
        free(list);
        return HPCBOOT_ERR_USAGE;
    }
    return HPCBOOT_OK;
}

/* A rank whose line names no cores has all of them. */
int hb_bind_slots(struct hb_bind_planner *p, struct hpcboot_error *err)
{
    uint32_t *units = hb_xcalloc(HB_MAX_CPUS, sizeof(*units));
    int rc = HPCBOOT_OK;

    for (uint32_t rank = 0; rc >= 0 && rank < p->n_ranks; rank++) {
        if (p->policy->slots[rank] != NULL) {
            rc = bind_line(p, rank, units, err);
            continue;
        }
        for (uint32_t u = 0; u < p->units->n; u++) {
            hb_bind_add_cpus(p->topo, &p->units->v[u], &p->out->cpus[rank]);
        }
    }
    if (rc >= 0 && !p->policy->overload_allowed) {
        rc = check_exclusive(p, err);
    }
    if (rc >= 0) {
        p->out->why = hb_xstrdup("as the rankfile says");
    }
    free(units);
    return rc;
}
