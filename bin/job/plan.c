/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Decides before anything is started: which hosts, how many slots, which rank
 * where, which process-management family. Where every host's slots are known
 * beforehand the ranks are placed before the first login, and only hosts that
 * get ranks are contacted; else every host of the gang is asked first. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/job_impl.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/topo/allowed.h"
#include "lib/topo/map.h"

/* The slots of a host, 0 while unknown. */
static uint32_t slots_of(const struct job_host *h)
{
    if (h->spec->slots > 0) {
        return (uint32_t)h->spec->slots;
    }
    return h->counted_slots;
}

int job_slots_known(const struct job *j)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (slots_of(&j->hosts[i]) == 0) {
            return 0;
        }
    }
    return 1;
}

/* What this very host may use needs no agent to be known. */
static int count_local(struct job *j, struct hpcboot_error *err)
{
    struct hb_allowed allowed;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];
        int rc;

        if (!h->spec->is_local || h->counted_slots > 0) {
            continue;
        }
        rc = hb_topo_allowed("", &allowed, err);
        if (rc < 0) {
            return rc;
        }
        h->counted_slots = allowed.slots;
        h->slots_origin = hb_xstrdup(allowed.origin);
    }
    return 0;
}

static void apply_default_slots(struct job *j)
{
    for (uint32_t i = 0; i < j->gang.n && j->opt->default_slots > 0; i++) {
        if (j->gang.hosts[i].slots == 0) {
            j->gang.hosts[i].slots = (int)j->opt->default_slots;
        }
    }
}

int job_plan_gang(struct job *j, struct hpcboot_error *err)
{
    const struct hb_gang_request req = {
        .host_list = j->opt->host_list, .hostfile = j->opt->hostfile,
        .default_hostfile = j->opt->default_hostfile, .env = j->env,
        .root = "", .filter = 1,
    };
    int rc = hb_gang_gather(&req, &j->gang, err);

    if (rc < 0) {
        return rc;
    }
    if (j->opt->nodes > 0 && j->opt->nodes < j->gang.n) {
        j->gang.n = j->opt->nodes;
    }
    apply_default_slots(j);
    j->hosts = hb_xcalloc(j->gang.n, sizeof *j->hosts);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        h->job = j;
        h->index = i;
        h->spec = &j->gang.hosts[i];
        h->node = HB_NODE_UNSET;
        h->state = HOST_IDLE;
    }
    j->n_wanted = (uint32_t)j->gang.n;
    return count_local(j, err);
}

static int read_policy(const struct job *j, struct hb_map_policy *p,
                       struct hpcboot_error *err)
{
    const struct hb_options *o = j->opt;
    int rc = 0;

    memset(p, 0, sizeof *p);
    if (o->per_node > 0) {
        p->by = HB_MAP_PPR_NODE;
        p->ppr = o->per_node;
    }
    if (o->map_by != NULL) {
        rc = hb_map_by_parse(o->map_by, p, err);
    }
    if (rc == 0 && o->rank_by != NULL) {
        rc = hb_rank_by_parse(o->rank_by, p, err);
    }
    if (o->oversubscribe != 0) {
        p->oversubscribe = o->oversubscribe;
    }
    p->nolocal |= o->nolocal;
    p->wrap = o->dialect == HB_DIALECT_HYDRA;
    return rc;
}

static struct hb_map_host *map_hosts(const struct job *j)
{
    struct hb_map_host *hosts = hb_xcalloc(j->gang.n, sizeof *hosts);

    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        hosts[i].name = h->spec->name;
        hosts[i].slots = slots_of(h);
        hosts[i].stated = h->spec->slots > 0;
        hosts[i].max_slots = (uint32_t)h->spec->max_slots;
        hosts[i].is_local = h->spec->is_local;
        hosts[i].origin = h->spec->slots > 0 || h->slots_origin == NULL
                              ? h->spec->origin : h->slots_origin;
    }
    return hosts;
}

/* More ranks than cores that may be used: ranks are told to yield. */
static int is_oversubscribed(const struct job *j)
{
    for (uint32_t n = 0; n < j->map->n_nodes; n++) {
        uint32_t counted = j->node_host[n]->counted_slots;

        if (counted > 0 && j->map->local_size[n] > counted) {
            return 1;
        }
    }
    return 0;
}

int job_plan_map(struct job *j, struct hpcboot_error *err)
{
    struct hb_map_policy policy;
    struct hb_map_host *hosts = NULL;
    struct hb_map_app *apps = NULL;
    uint32_t *host_of_node = NULL;
    int rc = read_policy(j, &policy, err);

    if (rc < 0) {
        return rc;
    }
    hosts = map_hosts(j);
    apps = hb_xcalloc(j->opt->n_apps, sizeof *apps);
    for (uint32_t i = 0; i < j->opt->n_apps; i++) {
        apps[i].np = j->opt->apps[i].np;
        apps[i].program = j->opt->apps[i].argv.v[0];
    }
    rc = hb_map_ranks(&policy, hosts, (uint32_t)j->gang.n, apps,
                      j->opt->n_apps, &j->map, &host_of_node, err);
    if (rc == 0) {
        j->node_host = hb_xcalloc(j->map->n_nodes, sizeof *j->node_host);
        for (uint32_t n = 0; n < j->map->n_nodes; n++) {
            j->node_host[n] = &j->hosts[host_of_node[n]];
            j->node_host[n]->node = n;
        }
        j->ranks = hb_xcalloc(j->map->n_ranks, sizeof *j->ranks);
        j->oversubscribed = is_oversubscribed(j);
    }
    free(host_of_node);
    free(hosts);
    free(apps);
    return rc;
}

/* Several programs may need different families; the first that is sure of
 * one decides, as one job can speak but one. */
static int detect(struct job *j, struct hb_family_choice *best,
                  struct hpcboot_error *err)
{
    for (uint32_t i = 0; i < j->opt->n_apps; i++) {
        const struct hb_app_options *app = &j->opt->apps[i];
        struct hb_family_choice c = {0};
        int rc = hb_family_detect(app->argv.v, app->wdir != NULL ? app->wdir
                                  : j->wdir, j->env, &c, err);

        if (rc < 0) {
            return rc;
        }
        if (i == 0 || (c.links_mpi && !best->links_mpi) ||
            (c.certain && !best->certain && !best->links_mpi)) {
            *best = c;
        } else if (c.links_mpi && c.certain && c.family != best->family) {
            hb_log(HB_WARN, "%s needs %s, but the job uses %s for %s: one job "
                   "speaks one family", app->argv.v[0],
                   hb_pm_family_name(c.family),
                   hb_pm_family_name(best->family),
                   j->opt->apps[0].argv.v[0]);
        }
    }
    return 0;
}

int job_plan_family(struct job *j, struct hpcboot_error *err)
{
    int rc = detect(j, &j->family, err);

    if (rc < 0) {
        return rc;
    }
    j->family_known = j->family.found;
    if (j->opt->pmi != NULL) {
        rc = hb_pm_family_parse(j->opt->pmi, &j->family.family, err);
        j->family.certain = 1;
        j->family_known = 1;
        snprintf(j->family.why, sizeof j->family.why, "--pmi %s (%s)",
                 j->opt->pmi, hb_options_origin(j->opt, "pmi"));
    }
    return rc;
}
