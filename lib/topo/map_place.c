/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Ways of placing that name the host of each rank outright, and so count and
 * number at once: Hydra's turns, seq, a rankfile, and a grid.
 *
 * A grid keeps its inner groups together. Hosts are taken as they stand, with
 * neighbours side by side (--order topology sees to that): each group goes to
 * the first host that still holds it whole; groups that no host holds are laid
 * over what is left, host by host, which keeps them on neighbours. All groups
 * have one size, so a host that was too small once is too small for good, and
 * the search never goes back. */

#include "config.h"

#include "lib/topo/map_impl.h"

#include "lib/topo/slots.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/str.h"

uint32_t hb_map_room(const uint32_t *cap, const uint32_t *used, uint32_t host)
{
    return cap[host] > used[host] ? cap[host] - used[host] : 0;
}

int hb_map_too_few(const struct hb_map_plan *p, struct hpcboot_error *err)
{
    return hb_slots_fail(p->policy, p->hosts, p->n_hosts, p->asked, p->n_apps,
                         p->n_ranks, err);
}

static uint32_t slots_of_turn(const struct hb_map_plan *p,
                              const struct hb_map_turn *t)
{
    if (p->policy->by == HB_MAP_PPR_NODE) {
        return p->policy->ppr;
    }
    return t->slots > 0 ? t->slots
                        : p->offer[t->host] + p->hosts[t->host].taken;
}

/* The next mention that still has room, or -1. */
static int64_t next_turn(struct hb_map_plan *p)
{
    for (uint32_t tried = 0; tried <= p->n_turns; tried++) {
        const struct hb_map_turn *t = &p->turns[p->turn];
        uint32_t slots = slots_of_turn(p, t);
        if (p->turn_used < slots &&
            hb_map_room(p->limit, p->used, t->host) > 0) {
            p->turn_used++;
            return t->host;
        }
        p->turn = (p->turn + 1) % p->n_turns;
        p->turn_used = 0;
    }
    return -1;
}

/* Hydra: each mention takes its slots, or with -ppn each host so many, then
 * the list starts again. */
static int place_wrapping(struct hb_map_plan *p, uint32_t first, uint32_t np,
                          struct hpcboot_error *err)
{
    for (uint32_t i = 0; i < np; i++) {
        int64_t host = next_turn(p);
        if (host < 0) {
            return hb_map_too_few(p, err);
        }
        p->used[host]++;
        p->host_of_rank[first + i] = (uint32_t)host;
    }
    return HPCBOOT_OK;
}

/* One rank per mention, in order. */
static int place_seq(struct hb_map_plan *p, uint32_t first, uint32_t np,
                     struct hpcboot_error *err)
{
    for (uint32_t i = 0; i < np; i++) {
        uint32_t host;
        if (p->turn >= p->n_turns) {
            return hb_fail(err, HPCBOOT_ERR_LIMIT,
                           "--map-by seq: %u ranks asked for, the host list "
                           "has %u entries", p->n_ranks, p->n_turns);
        }
        host = p->turns[p->turn++].host;
        if (hb_map_room(p->limit, p->used, host) == 0) {
            return hb_map_too_few(p, err);
        }
        p->used[host]++;
        p->host_of_rank[first + i] = host;
    }
    return HPCBOOT_OK;
}

/* As the file says; its hosts must be of the gang. */
static int host_of_entry(const struct hb_map_plan *p, uint32_t rank,
                         uint32_t *out, struct hpcboot_error *err)
{
    const struct hb_rankfile *f = p->policy->rankfile;
    const struct hb_rankfile_entry *e = rank < f->n ? &f->v[rank] : NULL;

    if (e == NULL || e->host == NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s: rank %u has no line; each of the job's %u ranks "
                       "needs one", f->name, rank, p->n_ranks);
    }
    if (e->relative >= 0) {
        if ((uint32_t)e->relative >= p->n_hosts) {
            return hb_fail(err, HPCBOOT_ERR_USAGE,
                           "%s:%u: rank %u: there is no host +n%d, the job "
                           "has %u", f->name, e->line, rank, e->relative,
                           p->n_hosts);
        }
        *out = (uint32_t)e->relative;
        return HPCBOOT_OK;
    }
    for (uint32_t i = 0; i < p->n_hosts; i++) {
        if (hb_rankfile_names(e->host, p->hosts[i].name,
                              p->hosts[i].is_local)) {
            *out = i;
            return HPCBOOT_OK;
        }
    }
    return hb_fail(err, HPCBOOT_ERR_USAGE,
                   "%s:%u: rank %u: %.80s is no host of this job; its hosts "
                   "begin with %s", f->name, e->line, rank, e->host,
                   p->hosts[0].name);
}

static int place_rankfile(struct hb_map_plan *p, uint32_t first, uint32_t np,
                          struct hpcboot_error *err)
{
    for (uint32_t i = 0; i < np; i++) {
        uint32_t host = 0;
        int rc = host_of_entry(p, first + i, &host, err);
        if (rc < 0) {
            return rc;
        }
        if (hb_map_room(p->limit, p->used, host) == 0) {
            return hb_map_too_few(p, err);
        }
        p->used[host]++;
        p->host_of_rank[first + i] = host;
    }
    return HPCBOOT_OK;
}

static void put_group(struct hb_map_plan *p, uint32_t host, uint32_t first,
                      uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        p->host_of_rank[first + i] = host;
    }
    p->used[host] += n;
}

/* Room for a grid: with so many for each host no more than that. */
static uint32_t grid_room(const struct hb_map_plan *p, const uint32_t *cap,
                          uint32_t host)
{
    uint32_t n = hb_map_room(cap, p->used, host), used = p->used[host];
    uint32_t each = p->policy->ppr > used ? p->policy->ppr - used : 0;

    return p->policy->by == HB_MAP_PPR_NODE && each < n ? each : n;
}

/* What no host holds whole, over what is left on each. */
static uint32_t put_rest(struct hb_map_plan *p, const uint32_t *cap,
                         uint32_t first, uint32_t left)
{
    for (uint32_t i = 0; i < p->n_hosts && left > 0; i++) {
        uint32_t some = grid_room(p, cap, i);
        some = some < left ? some : left;
        put_group(p, i, first, some);
        first += some;
        left -= some;
    }
    return left;
}

static int place_grid(struct hb_map_plan *p, uint32_t first, uint32_t np,
                      struct hpcboot_error *err)
{
    uint32_t size = p->policy->grid[0], host = 0, done = 0, left;

    while (done + size <= np) {
        while (host < p->n_hosts && grid_room(p, p->offer, host) < size) {
            host++;
        }
        if (host == p->n_hosts) {
            break;
        }
        put_group(p, host, first + done, size);
        done += size;
    }
    left = put_rest(p, p->offer, first + done, np - done);
    left = put_rest(p, p->limit, first + np - left, left);
    if (left > 0 && p->policy->by == HB_MAP_PPR_NODE) {
        return hb_map_too_few_each(p, np, left, "host", err);
    }
    return left > 0 ? hb_map_too_few(p, err) : HPCBOOT_OK;
}

hb_map_place_fn hb_map_special(const struct hb_map_policy *policy)
{
    if (policy->n_grid > 0) {
        return place_grid;
    }
    switch (policy->by) {
    case HB_MAP_SEQ: return place_seq;
    case HB_MAP_RANKFILE: return place_rankfile;
    case HB_MAP_DEFAULT:
    case HB_MAP_SLOT: return policy->wrap ? place_wrapping : NULL;
    case HB_MAP_PPR_NODE:
        return policy->wrap && policy->rank_by == HB_RANK_DEFAULT
                   ? place_wrapping : NULL;
    default: return NULL;
    }
}

/* ---- the words of --grid ---- */

static int bad_grid(const char *text, const char *at, struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_USAGE,
                   "--grid %.60s, column %zu: expected NAME=SIZE,..., up to %u "
                   "of them, as in tp=8,dp=4", text, (size_t)(at - text) + 1,
                   HB_GRID_MAX);
}

int hb_grid_parse(const char *text, struct hb_map_policy *io,
                  struct hpcboot_error *err)
{
    uint32_t grid[HB_GRID_MAX], n = 0;
    uint64_t total = 1;
    const char *p = text;

    for (;; p++) {
        size_t name = strcspn(p, "=,"), digits;
        char number[12];
        uint64_t size;
        if (name == 0 || p[name] != '=' || n == HB_GRID_MAX) {
            return bad_grid(text, p, err);
        }
        p += name + 1;
        digits = strcspn(p, ",");
        snprintf(number, sizeof(number), "%.*s",
                 (int)(digits < sizeof(number) ? digits : sizeof(number) - 1),
                 p);
        if (hb_parse_u64(number, 1, HB_MAX_RANKS, &size) < 0 ||
            digits >= sizeof(number) || total * size > HB_MAX_RANKS) {
            return bad_grid(text, p, err);
        }
        total *= size;
        grid[n++] = (uint32_t)size;
        p += digits;
        if (*p == '\0') {
            break;
        }
    }
    memcpy(io->grid, grid, sizeof(grid));
    io->n_grid = n;
    return HPCBOOT_OK;
}

uint64_t hb_grid_ranks(const struct hb_map_policy *policy)
{
    uint64_t n = policy->n_grid > 0;

    for (uint32_t i = 0; i < policy->n_grid; i++) {
        n *= policy->grid[i];
    }
    return n;
}
