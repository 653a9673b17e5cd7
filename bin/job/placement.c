/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Places the ranks: turns options and gang into the arguments of the pure
 * mapping of lib/topo, and its answer into the job's nodes. Segments that
 * name hosts of their own (`-n 2 -H a x : -n 2 -H b y`) are mapped one after
 * the other, each onto its hosts, less what earlier segments took there; where
 * a file says where each rank of the job goes, its hosts must be of those. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/ancestry.h"
#include "bin/job/change.h"
#include "bin/job/framework.h"
#include "bin/job/job_impl.h"
#include "hostfile/source.h"
#include "lib/base/str.h"
#include "lib/topo/bind.h"
#include "lib/topo/map.h"
#include "lib/topo/rankfile.h"
#include "lib/topo/slots.h"

uint32_t job_slots_of(const struct job_host *h, const char **origin_out)
{
    const char *origin = h->spec->origin;
    uint32_t slots = (uint32_t)h->spec->slots;

    if (slots == 0 && h->gpus > 0) {
        slots = h->gpus;
        origin = h->gpus_origin;
    } else if (slots == 0 && h->counted_slots > 0 &&
               h->spec->count == HB_COUNT_GPUS_ELSE_ONE) {
        slots = 1;
        origin = h->gpus_origin != NULL ? h->gpus_origin : origin;
    } else if (slots == 0) {
        slots = h->counted_slots;
        origin = h->slots_origin != NULL ? h->slots_origin : origin;
    }
    if (origin_out != NULL) {
        *origin_out = origin;
    }
    return slots;
}

int job_slots_known(const struct job *j)
{
    int inside = hb_map_needs_inside(&j->policy);

    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (!j->hosts[i].left_out &&
            (job_slots_of(&j->hosts[i], NULL) == 0 ||
             (inside && j->hosts[i].topo == NULL))) {
            return 0;
        }
    }
    return 1;
}

/* Hosts in the order they were mentioned, for seq and for Hydra's turns. */
static struct hb_map_turn *turns_of(const struct job *j, uint32_t *n_out)
{
    struct hb_map_turn *turns = hb_xcalloc(j->gang.n_mentions + 1,
                                           sizeof *turns);
    uint32_t n = 0;

    for (size_t i = 0; i < j->gang.n_mentions; i++) {
        if (j->gang.mentions[i].host < j->gang.n) {
            turns[n].host = j->gang.mentions[i].host;
            turns[n++].slots = j->gang.mentions[i].slots;
        }
    }
    *n_out = n;
    return turns;
}

/* Why a host gets no ranks in this life of the job; NULL: it may. */
static const char *why_absent(const struct job_host *h)
{
    if (!h->left_out) {
        return h->state == HOST_LOST ? "did not come up" : NULL;
    }
    return hb_lives_was_lost(h->job->lives, h->spec->name)
               ? "was lost" : "kept as a spare";
}

static struct hb_map_host map_host(const struct job_host *h)
{
    const struct job *j = h->job;
    struct hb_map_host m = {
        .name = h->spec->name, .stated = h->spec->slots > 0,
        .max_slots = (uint32_t)h->spec->max_slots,
        .is_local = h->spec->is_local,
    };

    m.slots = job_slots_of(h, &m.origin);
    /* A plan may know more than a job asks its hosts. */
    if (h->topo != NULL && hb_map_needs_inside(&j->policy)) {
        m.objects = hb_bind_objects(&j->bind, h->topo);
        m.room = hb_bind_room(&j->bind, h->topo);
    }
    return m;
}

static struct hb_map_host *map_hosts(const struct job *j)
{
    struct hb_map_host *hosts = hb_xcalloc(j->gang.n, sizeof *hosts);

    for (uint32_t i = 0; i < j->gang.n; i++) {
        hosts[i] = map_host(&j->hosts[i]);
        hosts[i].absent = why_absent(&j->hosts[i]);
    }
    return hosts;
}

uint32_t job_ranks_of(const struct job_host *h)
{
    const struct hb_map_host m = map_host(h);

    return m.slots > 0 ? hb_slots_share(&h->job->policy, &m) : 0;
}

uint32_t job_limit_of(const struct job_host *h)
{
    const struct hb_map_host m = map_host(h);

    return m.slots > 0 ? hb_slots_limit(&h->job->policy, &m) : 0;
}

int job_may_have(const struct job_host *h, uint32_t n_ranks)
{
    uint32_t most = job_limit_of(h);

    return most == 0 || most >= n_ranks;
}

const char *job_host_of_rank(const struct job *j, uint32_t rank)
{
    return j->node_host[j->map->node_of_rank[rank]]->spec->name;
}

static uint32_t slots_here(const struct job *j)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        n += h->state == HOST_LOST || h->left_out ? 0 : job_ranks_of(h);
    }
    return n;
}

uint32_t job_ranks_ready(const struct job *j)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        n += h->state == HOST_READY && !h->left_out ? job_ranks_of(h) : 0;
    }
    return n < HB_MAX_RANKS ? (uint32_t)n : HB_MAX_RANKS;
}

/* How many ranks a program gets; 0: one for each slot. An elastic one takes
 * what there is, another keeps its size from one life to the next. */
static uint32_t np_of(const struct job *j, uint32_t app)
{
    const struct hb_app_options *o = &j->opt->apps[app];
    uint32_t slots;

    if (o->np_min == 0) {
        return j->lives->np != NULL ? j->lives->np[app] : o->np;
    }
    slots = slots_here(j);
    return slots < o->np_min ? o->np_min : slots < o->np ? slots : o->np;
}

int job_check_elastic(const struct job *j, struct hpcboot_error *err)
{
    for (uint32_t i = 0; i < j->opt->n_apps; i++) {
        const struct hb_app_options *o = &j->opt->apps[i];

        if (o->np_min > 0 && j->opt->n_apps > 1) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "--np %u:%u: only a job of "
                           "one program can have a size that changes",
                           o->np_min, o->np);
        }
        if (o->np_min > slots_here(j)) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "--np %u:%u: the hosts "
                           "have slots for %u; wait longer for more of "
                           "them (--wait-hosts), or ask for fewer ranks",
                           o->np_min, o->np, slots_here(j));
        }
    }
    return 0;
}

struct picked {
    uint32_t host; /* of the gang */
    int at;        /* in the list; -1: there is none */
};

/* The hosts of one segment, as a part of the gang's: those of its own list. */
struct app_hosts {
    struct hb_gang list;
    int selects;  /* the list only names hosts, it says nothing of slots */
    int mentions; /* the gang is from such lists: a mention is a slot */
    int in_gang_order; /* not in the list's */
    struct hb_map_host *hosts;
    struct picked *picked; /* [n], as the hosts */
    uint32_t n;
    struct hb_map_turn *turns; /* the hosts as the list mentions them */
    uint32_t n_turns;
};

static void app_hosts_destroy(struct app_hosts *a)
{
    hb_gang_destroy(&a->list);
    free(a->hosts);
    free(a->picked);
    free(a->turns);
}

/* The launcher's own host may be in the gang under a name of its own. */
static int names_host(const struct hb_gang *list, const struct hb_map_host *h)
{
    for (size_t i = 0; i < list->n; i++) {
        const char *name = list->hosts[i].name;

        if (hb_rankfile_names(name, h->name, h->is_local) ||
            (h->is_local && hb_host_is_self(name))) {
            return (int)i;
        }
    }
    return -1;
}

/* What a mention says of slots; 0: nothing. */
static uint32_t slots_of_mention(const struct app_hosts *a,
                                 const struct hb_mention *m)
{
    return !a->selects && (m->stated || a->mentions) ? m->slots : 0;
}

/* A list says how many of a host's slots its segment may have, and cannot
 * raise them. */
static void cut_slots(const struct app_hosts *a, uint32_t at,
                      struct hb_map_host *h)
{
    uint32_t most = (uint32_t)a->list.hosts[at].slots;
    int says = 0;

    for (size_t i = 0; i < a->list.n_mentions; i++) {
        says |= a->list.mentions[i].host == at &&
                slots_of_mention(a, &a->list.mentions[i]) > 0;
    }
    if (says && h->stated && h->slots > h->taken + most) {
        h->slots = h->taken + most;
    }
}

/* The first host of the segment that each host of the list is; what the gang
 * has under two names, and so is mentioned once, counts once. */
static void take_turns(struct app_hosts *a, const uint32_t *place)
{
    a->turns = hb_xcalloc(a->list.n_mentions + 1, sizeof *a->turns);
    for (size_t i = 0; i < a->list.n_mentions; i++) {
        const struct hb_mention *m = &a->list.mentions[i];

        if (place[m->host] > 0) {
            a->turns[a->n_turns].host = place[m->host] - 1;
            a->turns[a->n_turns++].slots = slots_of_mention(a, m);
        }
    }
}

static int by_list(const void *va, const void *vb)
{
    const struct picked *a = va, *b = vb;

    return a->at != b->at ? (a->at > b->at) - (a->at < b->at)
                          : (a->host > b->host) - (a->host < b->host);
}

/* Which hosts of the gang they are, in the order of the list. */
static void pick(const struct hb_map_host *all, uint32_t n, int has_list,
                 struct app_hosts *out)
{
    out->picked = hb_xcalloc(n, sizeof *out->picked);
    for (uint32_t i = 0; i < n; i++) {
        int at = has_list ? names_host(&out->list, &all[i]) : -1;

        if (at >= 0 || !has_list) {
            out->picked[out->n++] = (struct picked){i, at};
        }
    }
    if (!out->in_gang_order) {
        qsort(out->picked, out->n, sizeof *out->picked, by_list);
    }
}

static int app_hosts_make(const struct hb_map_host *all, uint32_t n,
                          const uint32_t *used, const char *host_list,
                          struct app_hosts *out, struct hpcboot_error *err)
{
    uint32_t *place; /* of each host of the list, one more than its number */
    int rc = 0;

    if (host_list != NULL) {
        rc = hb_hostfile_parse_list(host_list, &out->list, err);
    }
    out->hosts = hb_xcalloc(n, sizeof *out->hosts);
    place = hb_xcalloc(out->list.n + 1, sizeof *place);
    if (rc == 0) {
        pick(all, n, host_list != NULL, out);
    }
    for (uint32_t i = 0; i < out->n; i++) {
        const struct picked *p = &out->picked[i];
        struct hb_map_host *h = &out->hosts[i];

        *h = all[p->host];
        h->taken = used[p->host];
        if (p->at >= 0) {
            cut_slots(out, (uint32_t)p->at, h);
            place[p->at] = place[p->at] > 0 ? place[p->at] : i + 1;
        }
    }
    if (rc == 0) {
        take_turns(out, place);
    }
    free(place);
    if (rc == 0 && out->n == 0 && host_list != NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "none of the hosts that are asked "
                     "for (%s) is one that the job can use", host_list);
    }
    return rc;
}

/* Where the ranks of all segments go, in hosts of the gang. */
struct placing {
    uint32_t *host_of_rank; /* [n_ranks] */
    uint32_t n_ranks;
    uint32_t *used;         /* [gang.n] ranks so far */
    struct hb_job_app *apps;
};

static int place_app(struct job *j, const struct hb_map_policy *policy,
                     const struct hb_map_host *all, uint32_t i,
                     struct placing *p, struct hpcboot_error *err)
{
    const struct hb_app_options *o = &j->opt->apps[i];
    const struct hb_map_app app = {.np = np_of(j, i), .program = o->argv.v[0]};
    struct hb_map_policy own = *policy;
    struct app_hosts part = {
        .selects = j->ancestry != NULL || j->opt->dialect == HB_DIALECT_SRUN,
        .mentions = hb_streq(j->gang.source, hb_source_list.name),
        .in_gang_order = hb_streq(j->opt->order, "topology")};
    struct hb_jobmap *map = NULL;
    uint32_t *host_of_node = NULL;
    int rc = app_hosts_make(all, (uint32_t)j->gang.n, p->used, o->host_list,
                            &part, err);

    if (rc == 0) {
        own.turns = part.n_turns > 0 ? part.turns : NULL;
        own.n_turns = part.n_turns;
        rc = hb_map_ranks(&own, part.hosts, part.n, &app, 1, &map,
                          &host_of_node, err);
    }
    if (rc == 0) {
        p->apps[i].first_rank = p->n_ranks;
        p->apps[i].n_ranks = map->n_ranks;
        p->host_of_rank = hb_xrealloc(p->host_of_rank,
                                      (p->n_ranks + map->n_ranks) *
                                          sizeof *p->host_of_rank);
        for (uint32_t r = 0; r < map->n_ranks; r++) {
            uint32_t h = part.picked[host_of_node[map->node_of_rank[r]]].host;

            p->host_of_rank[p->n_ranks++] = h;
            p->used[h]++;
        }
    }
    hb_jobmap_destroy(map);
    free(host_of_node);
    app_hosts_destroy(&part);
    return rc;
}

/* Numbers the hosts that got ranks, in the gang's order. */
static int number_nodes(struct job *j, const struct placing *p,
                        uint32_t **host_of_node_out, struct hpcboot_error *err)
{
    uint32_t n = 0, slots = 0;
    uint32_t *node_of_host = hb_xcalloc(j->gang.n, sizeof *node_of_host);
    uint32_t *host_of_node = hb_xcalloc(j->gang.n, sizeof *host_of_node);
    uint32_t *node_of_rank = hb_xcalloc(p->n_ranks, sizeof *node_of_rank);
    char **names = hb_xcalloc(j->gang.n, sizeof *names);
    int rc;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        slots += j->hosts[i].state == HOST_LOST || j->hosts[i].left_out
                     ? 0 : job_slots_of(&j->hosts[i], NULL);
        if (p->used[i] > 0) {
            names[n] = j->hosts[i].spec->name;
            host_of_node[n] = i;
            node_of_host[i] = n++;
        }
    }
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        node_of_rank[r] = node_of_host[p->host_of_rank[r]];
    }
    rc = hb_jobmap_create(&j->map, p->n_ranks, node_of_rank, n, names,
                          j->opt->n_apps, p->apps, slots > 0 ? slots : 1, err);
    free(node_of_host);
    free(node_of_rank);
    free(names);
    if (rc < 0) {
        free(host_of_node);
        return rc;
    }
    *host_of_node_out = host_of_node;
    return 0;
}

static int map_segments(struct job *j, const struct hb_map_policy *policy,
                        const struct hb_map_host *hosts,
                        uint32_t **host_of_node_out, struct hpcboot_error *err)
{
    struct placing p = {
        .used = hb_xcalloc(j->gang.n, sizeof *p.used),
        .apps = hb_xcalloc(j->opt->n_apps, sizeof *p.apps),
    };
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < j->opt->n_apps; i++) {
        rc = place_app(j, policy, hosts, i, &p, err);
    }
    if (rc == 0) {
        rc = number_nodes(j, &p, host_of_node_out, err);
    }
    free(p.used);
    free(p.apps);
    free(p.host_of_rank);
    return rc;
}

static int map_together(struct job *j, const struct hb_map_policy *policy,
                        const struct hb_map_host *hosts,
                        uint32_t **host_of_node_out, struct hpcboot_error *err)
{
    struct hb_map_app *apps = hb_xcalloc(j->opt->n_apps, sizeof *apps);
    int rc;

    for (uint32_t i = 0; i < j->opt->n_apps; i++) {
        apps[i].np = np_of(j, i);
        apps[i].program = j->opt->apps[i].argv.v[0];
    }
    rc = hb_map_ranks(policy, hosts, (uint32_t)j->gang.n, apps, j->opt->n_apps,
                      &j->map, host_of_node_out, err);
    free(apps);
    if (rc < 0 && policy->ppr == 1 && j->framework != NULL &&
        hb_recipe_per_host(j->framework->recipe)) {
        hb_error_prefix(err, rc, "%s has one process on each host",
                        j->framework->name);
    }
    return rc;
}

/* Ranks that a file has placed are on hosts of their own segment. */
static int check_own_hosts(const struct job *j, const struct hb_map_host *hosts,
                           const uint32_t *host_of_node,
                           struct hpcboot_error *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < j->opt->n_apps; i++) {
        const char *text = j->opt->apps[i].host_list;
        uint32_t first = j->map->apps[i].first_rank;
        struct hb_gang list = {0};

        rc = text != NULL ? hb_hostfile_parse_list(text, &list, err) : 0;
        for (uint32_t k = 0; rc == 0 && text != NULL &&
                             k < j->map->apps[i].n_ranks; k++) {
            const struct hb_map_host *h =
                &hosts[host_of_node[j->map->node_of_rank[first + k]]];

            if (names_host(&list, h) < 0) {
                rc = hb_fail(err, HPCBOOT_ERR_USAGE, "rank %u is to run on %s "
                             "by the file of --map-by, and its program on "
                             "other hosts: -H %s", first + k, h->name, text);
            }
        }
        hb_gang_destroy(&list);
    }
    return rc;
}

uint32_t job_room_of(const struct job_host *h)
{
    return hb_bind_by_threads(&h->job->bind) ? h->counted_threads
                                             : h->counted_slots;
}

/* More ranks than CPUs that may be used: ranks are told to yield. What a host
 * counted is known for certain once it has answered. */
int job_oversubscribed(const struct job *j)
{
    for (uint32_t n = 0; n < j->map->n_nodes; n++) {
        uint32_t counted = job_room_of(j->node_host[n]);

        if (counted > 0 && j->map->local_size[n] > counted) {
            return 1;
        }
    }
    return 0;
}

static void adopt_map(struct job *j, const uint32_t *host_of_node)
{
    j->node_host = hb_xcalloc(job_ranks_most(j), sizeof *j->node_host);
    for (uint32_t n = 0; n < j->map->n_nodes; n++) {
        j->node_host[n] = &j->hosts[host_of_node[n]];
        j->node_host[n]->node = n;
    }
    j->ranks = hb_xcalloc(job_ranks_most(j), sizeof *j->ranks);
    j->oversubscribed = job_oversubscribed(j);
    job_ancestry_universe(j);
}

/* Where slots are stated they are all that there is: ranks that were to have
 * several CPUs each do not go without. Who says what they are bound to is told
 * by the host itself. */
static int check_cpus(const struct job *j, const struct hb_map_host *hosts,
                      const uint32_t *host_of_node, struct hpcboot_error *err)
{
    if (j->policy.pe < 2 || j->policy.oversubscribe > 0 ||
        j->bind.if_supported || j->bind.to != HB_BIND_DEFAULT) {
        return 0;
    }
    for (uint32_t n = 0; n < j->map->n_nodes; n++) {
        const struct hb_map_host *h = &hosts[host_of_node[n]];

        if (h->stated && h->room > 0 && j->map->local_size[n] > h->room) {
            return hb_fail(err, HPCBOOT_ERR_LIMIT,
                           "%u ranks of %u CPUs each would run on %s, which "
                           "has room for %u of them: ask for fewer ranks or "
                           "CPUs, or let ranks share CPUs (--map-by "
                           ":OVERSUBSCRIBE)", j->map->local_size[n],
                           j->policy.pe, h->name, h->room);
        }
    }
    return 0;
}

int job_plan_map(struct job *j, struct hpcboot_error *err)
{
    struct hb_map_policy policy = j->policy;
    struct hb_map_host *hosts;
    struct hb_map_turn *turns;
    uint32_t *host_of_node = NULL;
    int own_lists = 0, by_file = policy.by == HB_MAP_RANKFILE || j->seq != NULL;
    int rc = job_check_elastic(j, err);

    if (rc < 0) {
        return rc;
    }
    for (uint32_t i = 0; i < j->opt->n_apps; i++) {
        own_lists |= j->opt->apps[i].host_list != NULL;
    }
    turns = j->seq != NULL ? NULL : turns_of(j, &policy.n_turns);
    policy.turns = turns;
    if (j->seq != NULL) {
        policy.turns = j->seq;
        policy.n_turns = j->n_seq;
    } else if (own_lists || policy.n_turns == 0) {
        policy.turns = NULL;
        policy.n_turns = 0;
    }
    hosts = map_hosts(j);
    rc = (own_lists && !by_file ? map_segments : map_together)(
        j, &policy, hosts, &host_of_node, err);
    if (rc == 0 && own_lists && by_file) {
        rc = check_own_hosts(j, hosts, host_of_node, err);
    }
    if (rc == 0 && host_of_node != NULL) {
        rc = check_cpus(j, hosts, host_of_node, err);
    }
    if (rc < 0) { /* a map that is refused is none */
        hb_jobmap_destroy(j->map);
        j->map = NULL;
    } else if (host_of_node != NULL) {
        adopt_map(j, host_of_node);
    }
    free(host_of_node);
    free(hosts);
    free(turns);
    return rc;
}
