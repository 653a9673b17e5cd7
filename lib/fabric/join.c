/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A host that comes when others run already, by what they have agreed upon.
 * They keep that, so it either has a way to each of their networks or takes no
 * part. What is kept are the networks, as the inventories that they were found
 * in may be gone. Where hosts are on different subnets, or where there was but
 * one, any way of the kind will do for a host that is on none of theirs. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/fabric/agree_impl.h"

/* What path i of each host is on. */
static void take_term(const struct hb_path *paths, uint32_t n, uint32_t step,
                      struct hb_fabric_term *out)
{
    out->kind = paths[0].kind;
    out->class = paths[0].class;
    hb_copy(out->network, sizeof out->network, paths[0].network);
    out->is_routed = n == 1;
    for (uint32_t h = 1; h < n; h++) {
        out->is_routed |= strcmp(paths[(size_t)h * step].network,
                                 out->network) != 0;
    }
}

void hb_fabric_terms_take(const struct hb_fabric_plan *plan,
                          struct hb_fabric_terms *out)
{
    hb_fabric_terms_destroy(out);
    out->kind = plan->kind;
    out->n_rails = plan->n_rails;
    out->rails = hb_xcalloc(plan->n_rails + 1, sizeof *out->rails);
    for (uint32_t i = 0; i < plan->n_rails; i++) {
        take_term(plan->rails + i, plan->n_hosts, plan->n_rails,
                  &out->rails[i]);
    }
    take_term(plan->tcp, plan->n_hosts, 1, &out->tcp);
}

void hb_fabric_terms_destroy(struct hb_fabric_terms *t)
{
    free(t->rails);
    memset(t, 0, sizeof *t);
}

/* 2: by the network itself, 1: by a route to it, 0: not at all. */
static int nearness(const struct hb_fabric_term *t, const struct hb_path *p)
{
    if (p->kind != t->kind || p->class != t->class) {
        return 0;
    }
    if (strcmp(p->network, t->network) == 0) {
        return 2;
    }
    return t->is_routed && (p->kind != HB_FABRIC_TCP || p->net->is_default);
}

/* That of a port's own net device comes before a VLAN's. */
static int is_better(const struct hb_fabric_term *t, const struct hb_path *p,
                     const struct hb_path *best)
{
    if (best == NULL || nearness(t, p) != nearness(t, best)) {
        return best == NULL || nearness(t, p) > nearness(t, best);
    }
    if (p->is_alias != best->is_alias) {
        return p->is_alias < best->is_alias;
    }
    return p->rate_mbps > best->rate_mbps;
}

static int is_taken(const struct hb_fabric_plan *plan, uint32_t n,
                    const struct hb_path *p)
{
    for (uint32_t i = 0; i < n; i++) {
        if (plan->rails[i].rdma == p->rdma && plan->rails[i].port == p->port) {
            return 1;
        }
    }
    return 0;
}

/* The best way that is free. wish: NULL: by any device. */
static const struct hb_path *find(const struct hb_paths *paths,
                                  const struct hb_fabric_term *t,
                                  const struct hb_fabric_wish *wish,
                                  const struct hb_fabric_plan *plan,
                                  uint32_t n_rails)
{
    const struct hb_path *best = NULL;

    for (uint32_t i = 0; i < paths->n; i++) {
        const struct hb_path *p = &paths->v[i];

        if (nearness(t, p) > 0 &&
            (wish == NULL || agree_fits_wish(wish, p)) &&
            (p->rdma == NULL || !is_taken(plan, n_rails, p)) &&
            is_better(t, p, best)) {
            best = p;
        }
    }
    return best;
}

static int lacks(const struct hb_fabric_term *t, struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "it has no way of its own to "
                   "%s (%s), over which the ranks of the others talk",
                   t->is_routed ? "the networks" : t->network,
                   hb_fabric_kind_name(t->kind));
}

/* Libraries can be told one partition for all ports (agree.c). */
static int check_partitions(const struct hb_fabric_plan *plan,
                            struct hpcboot_error *err)
{
    for (uint32_t i = 0; i < plan->n_rails; i++) {
        for (uint32_t k = 0; plan->rails[i].is_told && k < plan->n_rails;
             k++) {
            if (plan->rails[k].partition != plan->rails[i].partition) {
                return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "its ports would "
                               "be in two InfiniBand partitions, 0x%04x and "
                               "0x%04x, of which libraries can be told one",
                               plan->rails[i].partition,
                               plan->rails[k].partition);
            }
        }
    }
    return HPCBOOT_OK;
}

int hb_fabric_join(const struct hb_fabric_terms *terms,
                   const struct hb_fabric_wish *wish, const struct hb_fabric *f,
                   struct hb_fabric_plan *out, struct hpcboot_error *err)
{
    const struct hb_path *p;
    struct hb_paths paths;
    int rc = HPCBOOT_OK;

    memset(out, 0, sizeof *out);
    hb_fabric_paths(f, &paths, NULL);
    out->kind = terms->kind;
    out->n_hosts = 1;
    out->n_rails = terms->n_rails;
    out->rails = hb_xcalloc(terms->n_rails + 1, sizeof *out->rails);
    out->tcp = hb_xcalloc(1, sizeof *out->tcp);
    for (uint32_t i = 0; rc >= 0 && i < terms->n_rails; i++) {
        p = find(&paths, &terms->rails[i], wish, out, i);
        if (p != NULL) {
            out->rails[i] = *p;
        } else {
            rc = lacks(&terms->rails[i], err);
        }
    }
    rc = rc < 0 ? rc : check_partitions(out, err);
    p = terms->tcp.kind != HB_FABRIC_TCP ? NULL
        : find(&paths, &terms->tcp,
               terms->kind == HB_FABRIC_TCP ? wish : NULL, out, 0);
    if (p != NULL) {
        out->tcp[0] = *p;
    } else if (rc >= 0 && terms->kind == HB_FABRIC_TCP) {
        rc = lacks(&terms->tcp, err);
    }
    hb_paths_destroy(&paths);
    if (rc < 0) {
        hb_fabric_plan_destroy(out);
    }
    return rc;
}
