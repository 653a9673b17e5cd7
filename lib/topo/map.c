/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Places ranks on hosts.
 *
 * Each app (MPMD segment) is placed after the one before it, on what that one
 * left: first its ranks are counted out over the hosts (a function per way of
 * placing), then they are numbered (by slot or by turns). Two numbers per
 * host rule the counting: `offer`, the slots that are filled first, and
 * `limit`, how many ranks it may have at all. For stated slots both are the
 * same; for slots that were merely counted, and under OVERSUBSCRIBE, the
 * limit is what max_slots says, or none.
 *
 * The sum of the limits is compared with what is asked for before anything
 * is placed, so that counting always ends. All loops cost at most hosts plus
 * ranks: hosts that are full leave the ring they are taken from.
 *
 * Sequential placement and Hydra's wrapping list take hosts in the order of
 * their mentions and so number while they place.
 *
 * Nothing here knows what a host looks like inside, except for how many
 * objects of the wanted kind it has. */

#include "config.h"

#include "lib/topo/map.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/topo/map_impl.h"
#include "lib/topo/slots.h"

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Objects a host counts for in one turn. */
static uint32_t chunk_of(const struct hb_map_plan *p, uint32_t host)
{
    uint32_t n = p->hosts[host].objects;

    return n > 0 ? n : 1;
}

static void give(struct hb_map_plan *p, uint32_t host, uint32_t n)
{
    p->count[host] += n;
    p->used[host] += n;
}

/* Room that is left on a host below `cap` for the program at hand. */
static uint32_t room_for(const struct hb_map_plan *p, const uint32_t *cap,
                         uint32_t host)
{
    uint32_t n = hb_map_room(cap, p->used, host), most = p->policy->ppr;

    return p->policy->by == HB_MAP_NODE && most > 0
               ? min_u32(n, most - p->count[host]) : n;
}

/* Fills the ring with the hosts that have room, from `next` on. */
static uint32_t ring_fill(struct hb_map_plan *p, const uint32_t *cap)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_hosts; i++) {
        uint32_t host = (p->next + i) % p->n_hosts;
        if (room_for(p, cap, host) > 0) {
            p->ring[n++] = host;
        }
    }
    return n;
}

/* Deals ranks in turn, each host one (or one per object), up to `cap`.
 * Returns how many are left. */
static uint32_t deal(struct hb_map_plan *p, const uint32_t *cap, int by_object,
                     uint32_t left)
{
    uint32_t n = ring_fill(p, cap);

    while (left > 0 && n > 0) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < n && left > 0; i++) {
            uint32_t host = p->ring[i];
            uint32_t some = by_object ? chunk_of(p, host) : 1;
            some = min_u32(some, room_for(p, cap, host));
            some = min_u32(some, left);
            give(p, host, some);
            left -= some;
            p->next = (host + 1) % p->n_hosts;
            if (room_for(p, cap, host) > 0) {
                p->ring[kept++] = host;
            }
        }
        n = kept;
    }
    return left;
}

/* Spreads ranks beyond the offers evenly over hosts that may exceed theirs,
 * the first ones taking the odd ones. Open MPI does it like this. */
static void spread(struct hb_map_plan *p, uint32_t left)
{
    p->next = 0;
    while (left > 0) {
        uint32_t n = ring_fill(p, p->limit);
        uint32_t each, odd;
        if (n == 0) {
            return;
        }
        each = left / n;
        odd = left % n;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t host = p->ring[i];
            uint32_t some = min_u32(each + (i < odd),
                                    hb_map_room(p->limit, p->used, host));
            give(p, host, some);
            left -= some;
        }
    }
}

static int count_by_slot(struct hb_map_plan *p, uint32_t np,
                         struct hpcboot_error *err)
{
    for (uint32_t i = 0; i < p->n_hosts && np > 0; i++) {
        uint32_t some = min_u32(hb_map_room(p->offer, p->used, i), np);
        give(p, i, some);
        np -= some;
    }
    spread(p, np);
    return HPCBOOT_OK;
}

int hb_map_too_few_each(const struct hb_map_plan *p, uint32_t np, uint32_t left,
                        const char *each, struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_LIMIT,
                   "%u for each %s (--npernode, --map-by ppr): %u ranks "
                   "asked for, and the %u host%s take%s only %u; ask for "
                   "fewer ranks, or more for each %s", p->policy->ppr,
                   each, np, p->n_hosts, p->n_hosts == 1 ? "" : "s",
                   p->n_hosts == 1 ? "s" : "", np - left, each);
}

static int count_by_node(struct hb_map_plan *p, uint32_t np,
                         struct hpcboot_error *err)
{
    uint32_t left = deal(p, p->offer, p->policy->span, np);

    left = deal(p, p->limit, p->policy->span, left);
    return left == 0 ? HPCBOOT_OK
                     : hb_map_too_few_each(p, np, left, "host", err);
}

static int count_by_object(struct hb_map_plan *p, uint32_t np,
                           struct hpcboot_error *err)
{
    return hb_map_spans(p->policy) ? count_by_node(p, np, err)
                                   : count_by_slot(p, np, err);
}

static uint64_t ppr_of(const struct hb_map_plan *p, uint32_t host)
{
    uint64_t n = p->policy->by == HB_MAP_PPR_NODE ? 1 : p->hosts[host].objects;

    return p->limit[host] > 0 ? n * p->policy->ppr : 0;
}

static int count_by_ppr(struct hb_map_plan *p, uint32_t np,
                        struct hpcboot_error *err)
{
    const char *each = p->policy->by == HB_MAP_PPR_NODE ? "host" : "object";
    uint32_t left = np;
    int some_full = 0;

    for (uint32_t i = 0; i < p->n_hosts && left > 0; i++) {
        uint64_t share = ppr_of(p, i);
        uint32_t some = share < left ? (uint32_t)share : left;
        uint32_t room = hb_map_room(p->limit, p->used, i);
        if (some > room && p->used[i] == 0) {
            return hb_map_too_few(p, err);
        }
        if (some > room) { /* programs before have the rest of it */
            some_full = 1;
            some = room;
        }
        give(p, i, some);
        left -= some;
    }
    return left == 0   ? HPCBOOT_OK
           : some_full ? hb_map_too_few(p, err)
                       : hb_map_too_few_each(p, np, left, each, err);
}

/* Numbers the counted ranks host after host. */
static void number_by_slot(struct hb_map_plan *p, uint32_t first)
{
    for (uint32_t i = 0; i < p->n_hosts; i++) {
        for (uint32_t k = 0; k < p->count[i]; k++) {
            p->host_of_rank[first++] = i;
        }
    }
}

/* Numbers in turn: one per host, or one per object of it. */
static void number_in_turn(struct hb_map_plan *p, uint32_t first,
                           uint32_t start, int by_object)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_hosts; i++) {
        uint32_t host = (start + i) % p->n_hosts;
        if (p->count[host] > 0) {
            p->ring[n++] = host;
        }
    }
    while (n > 0) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t host = p->ring[i];
            uint32_t some = min_u32(by_object ? chunk_of(p, host) : 1,
                                    p->count[host]);
            p->count[host] -= some;
            while (some-- > 0) {
                p->host_of_rank[first++] = host;
            }
            if (p->count[host] > 0) {
                p->ring[kept++] = host;
            }
        }
        n = kept;
    }
}

static enum hb_rank_by ranking(const struct hb_map_policy *policy)
{
    if (policy->rank_by != HB_RANK_DEFAULT) {
        return policy->rank_by;
    }
    if (policy->by == HB_MAP_NODE) {
        return HB_RANK_NODE;
    }
    return hb_map_spans(policy) ? HB_RANK_SPAN : HB_RANK_SLOT;
}

typedef int (*count_fn)(struct hb_map_plan *p, uint32_t np,
                        struct hpcboot_error *err);
static const count_fn count_table[] = {
    [HB_MAP_DEFAULT] = count_by_object,  [HB_MAP_SLOT] = count_by_object,
    [HB_MAP_NODE] = count_by_node,       [HB_MAP_PPR_NODE] = count_by_ppr,
    [HB_MAP_PPR_OBJECT] = count_by_ppr,  [HB_MAP_HWTHREAD] = count_by_object,
    [HB_MAP_CORE] = count_by_object,     [HB_MAP_L1CACHE] = count_by_object,
    [HB_MAP_L2CACHE] = count_by_object,  [HB_MAP_L3CACHE] = count_by_object,
    [HB_MAP_NUMA] = count_by_object,     [HB_MAP_PACKAGE] = count_by_object,
    [HB_MAP_GPU] = count_by_object,      [HB_MAP_NIC] = count_by_object,
    [HB_MAP_PE_LIST] = count_by_object,
};

static int place_app(struct hb_map_plan *p, const struct hb_job_app *app,
                     struct hpcboot_error *err)
{
    enum hb_rank_by rank_by = ranking(p->policy);
    hb_map_place_fn place = hb_map_special(p->policy);
    uint32_t start = p->next;
    int rc;

    if (place != NULL) {
        return place(p, app->first_rank, app->n_ranks, err);
    }
    memset(p->count, 0, p->n_hosts * sizeof(*p->count));
    rc = count_table[p->policy->by](p, app->n_ranks, err);
    if (rc < 0) {
        return rc;
    }
    if (rank_by == HB_RANK_NODE || rank_by == HB_RANK_SPAN) {
        number_in_turn(p, app->first_rank, start, rank_by == HB_RANK_SPAN);
    } else {
        number_by_slot(p, app->first_rank);
    }
    return HPCBOOT_OK;
}

/* What one app without a number of ranks gets. */
static int default_np(const struct hb_map_plan *p, uint64_t *np,
                      struct hpcboot_error *err)
{
    enum hb_map_by by = p->policy->by;

    *np = 0;
    if (p->policy->n_grid > 0) {
        *np = hb_grid_ranks(p->policy);
    } else if (by == HB_MAP_RANKFILE) {
        *np = p->policy->rankfile->n;
    } else if (by == HB_MAP_SEQ) {
        *np = p->n_turns;
    } else if (by == HB_MAP_PPR_NODE || by == HB_MAP_PPR_OBJECT) {
        for (uint32_t i = 0; i < p->n_hosts; i++) {
            *np += ppr_of(p, i);
        }
    } else if (p->n_apps > 1) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "several programs were given and not each has a number "
                       "of ranks: say -n for each");
    } else {
        *np = hb_slots_sum(p->offer, p->n_hosts);
        *np += *np == 0; /* one is what programs before have left no room for */
    }
    return HPCBOOT_OK;
}

static int size_apps(struct hb_map_plan *p, struct hpcboot_error *err)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < p->n_apps; i++) {
        uint64_t np = p->asked[i].np;
        int rc = np == 0 ? default_np(p, &np, err) : HPCBOOT_OK;
        if (rc < 0) {
            return rc;
        }
        if (np == 0 || np > HB_MAX_RANKS - total) {
            return hb_fail(err, HPCBOOT_ERR_LIMIT,
                           "%llu ranks asked for; a job has 1 to %u",
                           (unsigned long long)(total + np), HB_MAX_RANKS);
        }
        p->apps[i].first_rank = (uint32_t)total;
        p->apps[i].n_ranks = (uint32_t)np;
        total += np;
    }
    p->n_ranks = (uint32_t)total;
    if (p->policy->n_grid > 0 && total != hb_grid_ranks(p->policy)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "--grid has room for %llu ranks, and %llu are asked "
                       "for: the numbers must be the same",
                       (unsigned long long)hb_grid_ranks(p->policy),
                       (unsigned long long)total);
    }
    if (total > hb_slots_sum(p->limit, p->n_hosts)) {
        return hb_map_too_few(p, err);
    }
    return HPCBOOT_OK;
}

static int nolocal_leaves_none(const struct hb_map_plan *p,
                               struct hpcboot_error *err)
{
    uint32_t absent = 0, own = 0;

    for (uint32_t i = 0; i < p->n_hosts; i++) {
        absent += p->hosts[i].absent != NULL;
        own = p->hosts[i].is_local ? i : own;
    }
    if (absent == p->n_hosts) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT, "no host came up");
    }
    return hb_fail(err, HPCBOOT_ERR_LIMIT,
                   "--nolocal leaves no host: %s is the launcher's own%s",
                   p->hosts[own].name,
                   absent > 0 ? ", and no other one may have ranks" : "");
}

/* Hosts that must have the objects which ranks are placed by. */
static int check_objects(const struct hb_map_policy *policy,
                         const struct hb_map_host *h,
                         struct hpcboot_error *err)
{
    static const char *const names[] = {
        [HB_MAP_GPU] = "gpu", [HB_MAP_NIC] = "nic",
    };
    enum hb_map_by by = policy->by;

    if (h->objects > 0 || (by != HB_MAP_PPR_OBJECT && by != HB_MAP_GPU &&
                           by != HB_MAP_NIC)) {
        return HPCBOOT_OK;
    }
    if (by == HB_MAP_PPR_OBJECT) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                       "--map-by ppr:%u: host %s has no such object that this "
                       "job may use and that has CPUs for as many ranks; ask "
                       "for fewer, let ranks share CPUs (--bind-to "
                       "OBJECT:overload-allowed, or none), or leave the host "
                       "out", policy->ppr,
                       h->name);
    }
    return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                   "--map-by %s: host %s has no such object that this job may "
                   "use; choose another way, or leave the host out",
                   names[by], h->name);
}

static int check_hosts(const struct hb_map_plan *p, struct hpcboot_error *err)
{
    uint32_t left_out = 0;

    if (p->n_hosts == 0 || p->n_hosts > HB_MAX_NODES || p->n_apps == 0 ||
        p->n_apps > HB_MAX_APPS) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT,
                       "%u hosts and %u programs; expected 1 to %u hosts and 1 "
                       "to %u programs", p->n_hosts, p->n_apps, HB_MAX_NODES,
                       HB_MAX_APPS);
    }
    for (uint32_t i = 0; i < p->n_hosts; i++) {
        left_out += (uint32_t)hb_slots_left_out(p->policy, &p->hosts[i]);
    }
    if (left_out == p->n_hosts && p->policy->nolocal) {
        return nolocal_leaves_none(p, err);
    }
    for (uint32_t i = 0; i < p->n_hosts; i++) {
        int rc = check_objects(p->policy, &p->hosts[i], err);
        if (rc < 0) {
            return rc;
        }
    }
    for (uint32_t i = 0; i < p->policy->n_turns; i++) {
        if (p->policy->turns[i].host >= p->n_hosts) {
            return hb_fail(err, HPCBOOT_ERR_INTERNAL,
                           "mention %u names host %u of %u", i,
                           p->policy->turns[i].host, p->n_hosts);
        }
    }
    return HPCBOOT_OK;
}

/* The mentions of hosts that take part; with a number of ranks for each host,
 * the hosts. */
static void take_turns(struct hb_map_plan *p)
{
    const struct hb_map_policy *policy = p->policy;
    int mentions = policy->n_turns > 0 && policy->by != HB_MAP_PPR_NODE;
    uint32_t n = mentions ? policy->n_turns : p->n_hosts;

    p->turns = hb_xcalloc(n > 0 ? n : 1, sizeof(*p->turns));
    for (uint32_t i = 0; i < n; i++) {
        struct hb_map_turn t = {i, 0};
        if (mentions) {
            t = policy->turns[i];
        }
        if (t.host < p->n_hosts && p->limit[t.host] > 0) {
            p->turns[p->n_turns++] = t;
        }
    }
}

static void plan_create(struct hb_map_plan *p,
                        const struct hb_map_policy *policy,
                        const struct hb_map_host *hosts, uint32_t n_hosts,
                        const struct hb_map_app *apps, uint32_t n_apps)
{
    size_t n = n_hosts > 0 ? n_hosts : 1;

    memset(p, 0, sizeof(*p));
    p->policy = policy;
    p->hosts = hosts;
    p->n_hosts = n_hosts;
    p->asked = apps;
    p->n_apps = n_apps;
    p->offer = hb_xcalloc(n, sizeof(*p->offer));
    p->limit = hb_xcalloc(n, sizeof(*p->limit));
    p->used = hb_xcalloc(n, sizeof(*p->used));
    p->count = hb_xcalloc(n, sizeof(*p->count));
    p->ring = hb_xcalloc(n, sizeof(*p->ring));
    p->apps = hb_xcalloc(n_apps > 0 ? n_apps : 1, sizeof(*p->apps));
    for (uint32_t i = 0; i < n_hosts; i++) {
        p->offer[i] = hb_slots_offer(policy, &hosts[i]);
        p->limit[i] = hb_slots_limit(policy, &hosts[i]);
    }
    take_turns(p);
}

static void plan_destroy(struct hb_map_plan *p)
{
    free(p->offer);
    free(p->limit);
    free(p->used);
    free(p->count);
    free(p->ring);
    free(p->apps);
    free(p->turns);
    free(p->host_of_rank);
}

/* Gives the hosts that have ranks their node numbers, in host order, and
 * turns host_of_rank into node_of_rank. */
static int build_map(struct hb_map_plan *p, struct hb_jobmap **out,
                     uint32_t **host_of_node_out, struct hpcboot_error *err)
{
    uint32_t *node_of_host = p->count, *host_of_node;
    char **names = hb_xcalloc(p->n_hosts, sizeof(*names));
    uint64_t universe = hb_slots_sum(p->offer, p->n_hosts);
    uint32_t n_nodes = 0;
    int rc;

    host_of_node = hb_xcalloc(p->n_hosts, sizeof(*host_of_node));
    for (uint32_t i = 0; i < p->n_hosts; i++) {
        if (p->used[i] > 0) {
            node_of_host[i] = n_nodes;
            names[n_nodes] = (char *)p->hosts[i].name;
            host_of_node[n_nodes++] = i;
        }
    }
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        p->host_of_rank[r] = node_of_host[p->host_of_rank[r]];
    }
    universe = universe > UINT32_MAX ? UINT32_MAX : universe;
    rc = hb_jobmap_create(out, p->n_ranks, p->host_of_rank, n_nodes, names,
                          p->n_apps, p->apps,
                          universe > 0 ? (uint32_t)universe : 1, err);
    if (rc >= 0) {
        *host_of_node_out = host_of_node;
        host_of_node = NULL;
    }
    free(host_of_node);
    free(names);
    return rc;
}

int hb_map_ranks(const struct hb_map_policy *policy,
                 const struct hb_map_host *hosts, uint32_t n_hosts,
                 const struct hb_map_app *apps, uint32_t n_apps,
                 struct hb_jobmap **out, uint32_t **host_of_node_out,
                 struct hpcboot_error *err)
{
    struct hb_map_plan p;
    int rc;

    plan_create(&p, policy, hosts, n_hosts, apps, n_apps);
    rc = check_hosts(&p, err);
    if (rc < 0) {
        goto done;
    }
    rc = size_apps(&p, err);
    if (rc < 0) {
        goto done;
    }
    p.host_of_rank = hb_xcalloc(p.n_ranks, sizeof(*p.host_of_rank));
    for (uint32_t i = 0; i < n_apps; i++) {
        rc = place_app(&p, &p.apps[i], err);
        if (rc < 0) {
            goto done;
        }
    }
    rc = build_map(&p, out, host_of_node_out, err);
done:
    plan_destroy(&p);
    return rc;
}
