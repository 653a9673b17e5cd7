/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Receives what is to be done: JOB with the map and what all ranks share, then
 * one APP per MPMD segment, in order, then START. Everything is copied out of
 * the frames here; the pieces are checked against each other before the first
 * rank is started. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/hpcbootd/agent.h"
#include "lib/base/str.h"

/* Which node each host is; this one may be none, and only pass on. */
static int find_node(struct agent *a, const struct hb_msg_job *m,
                     struct hpcboot_error *err)
{
    struct agent_job *job = &a->job;

    job->n_hosts = m->nodes.n;
    job->nodes = hb_xcalloc(job->n_hosts + 1, sizeof *job->nodes);
    for (uint32_t i = 0; i < job->n_hosts; i++) {
        job->nodes[i] = hb_wire_u32s_at(&m->nodes, i);
        if (job->nodes[i] >= job->map->n_nodes &&
            job->nodes[i] != HB_NODE_UNSET) {
            return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "host %u is node %u of "
                           "a job of %u nodes", i, job->nodes[i],
                           job->map->n_nodes);
        }
    }
    if (a->host >= job->n_hosts) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "this is host %u of a job "
                       "of %u hosts", a->host, job->n_hosts);
    }
    a->node = job->nodes[a->host];
    return 0;
}

int agent_order_job(struct agent *a, const struct hb_msg_job *m,
                    struct hpcboot_error *err)
{
    struct agent_job *job = &a->job;
    struct hb_buf view;
    int rc;

    if (job->map != NULL) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a second JOB came");
    }
    rc = hb_pm_family_parse(m->family, &job->family, err);
    if (rc < 0) {
        return rc;
    }
    hb_buf_view(&view, m->map.data, m->map.len);
    rc = hb_jobmap_decode(&job->map, &view, err);
    if (rc < 0) {
        return rc;
    }
    rc = find_node(a, m, err);
    if (rc < 0) {
        return rc;
    }
    hb_wire_strv_copy(&job->env, &m->env);
    hb_wire_strv_copy(&job->env_rules, &m->env_rules);
    hb_wire_strv_copy(&job->limits, &m->limits);
    hb_wire_strv_copy(&job->rank_slots, &m->rank_slots);
    job->umask = m->umask;
    job->flags = m->flags;
    job->flavour = (int)m->flavour;
    job->grace_ms = m->grace_ms;
    job->restart = m->restart;
    job->world = m->world;
    job->checkpoint_signal = m->checkpoint_signal;
    job->stdin_mode = (enum hb_stdin_mode)m->stdin_mode;
    job->stdin_rank = m->stdin_rank;
    job->bind_to = m->bind_to[0] != '\0' ? hb_xstrdup(m->bind_to) : NULL;
    job->apps = hb_xcalloc(job->map->n_apps, sizeof *job->apps);
    job->pm_apps = hb_xcalloc(job->map->n_apps, sizeof *job->pm_apps);
    a->credit = m->credit_bytes;
    return 0;
}

int agent_order_app(struct agent *a, const struct hb_msg_app *m,
                    struct hpcboot_error *err)
{
    struct agent_job *job = &a->job;
    struct agent_app *app;

    if (job->map == NULL || m->index != job->n_apps_known ||
        m->index >= job->map->n_apps || m->argv.n == 0 ||
        (m->program[0] != '\0' && !hb_deposit_name_ok(m->program))) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "APP %u does not fit the job", m->index);
    }
    app = &job->apps[job->n_apps_known++];
    hb_wire_strv_copy(&app->argv, &m->argv);
    hb_wire_strv_copy(&app->env_rules, &m->env_rules);
    app->wdir = m->wdir[0] != '\0' ? hb_xstrdup(m->wdir) : NULL;
    app->path = m->path[0] != '\0' ? hb_xstrdup(m->path) : NULL;
    app->program = m->program[0] != '\0' ? hb_xstrdup(m->program) : NULL;
    app->wdir_given = m->wdir_given;
    app->session_wdir = m->session_wdir;
    job->pm_apps[m->index].argv = app->argv.v;
    job->pm_apps[m->index].wdir = app->wdir;
    return 0;
}

/* The ranks are those of a spawned job. */
int agent_order_ancestry(struct agent *a, const struct hb_frame *f,
                         struct hpcboot_error *err)
{
    struct hb_msg_ancestry m;
    int rc = hb_wire_get_ancestry(f, &m, err);

    if (rc == 0 && (a->ordered || a->job.parent_id != NULL)) {
        rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL, "ANCESTRY came out of turn");
    }
    if (rc == 0) {
        a->job.parent_id = hb_xstrdup(m.job_id);
        a->job.parent_rank = m.rank;
        hb_wire_strv_copy(&a->job.preput, &m.preput);
    }
    return rc;
}

int agent_order_check(struct agent *a, const struct hb_msg_start *m,
                      struct hpcboot_error *err)
{
    if (a->job.map == NULL || a->ordered || !hb_deposit_whole(&a->files) ||
        m->n_apps != a->job.n_apps_known ||
        m->n_apps != a->job.map->n_apps) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "START came out of turn");
    }
    a->ordered = 1;
    return 0;
}

const struct hb_jobmap *agent_order_map(const struct agent_job *job)
{
    return job->n_grown > 0 ? job->grown[job->n_grown - 1] : job->map;
}

int agent_order_grown(struct agent_job *job, const struct hb_msg_grown *m,
                      struct hpcboot_error *err)
{
    const struct hb_jobmap *was = agent_order_map(job);
    struct hb_jobmap *map;
    struct hb_buf view;
    int rc;

    hb_buf_view(&view, m->map.data, m->map.len);
    rc = hb_jobmap_decode(&map, &view, err);
    if (rc < 0) {
        return rc;
    }
    if (was == NULL || !hb_jobmap_begins(was, map)) {
        hb_jobmap_destroy(map); /* JOB, which is to come, has a later one */
        rc = was == NULL ? 0 : hb_fail(err, HPCBOOT_ERR_PROTOCOL, "GROWN does "
                                       "not begin with the map before it");
    } else {
        job->grown = hb_xrealloc(job->grown,
                                 (job->n_grown + 1) * sizeof *job->grown);
        job->grown[job->n_grown++] = map;
        job->world = m->world;
    }
    return rc;
}

void agent_order_destroy(struct agent_job *job)
{
    for (uint32_t i = 0; i < job->n_apps_known; i++) {
        hb_strv_destroy(&job->apps[i].argv);
        hb_strv_destroy(&job->apps[i].env_rules);
        hb_strv_destroy(&job->apps[i].env);
        free(job->apps[i].wdir);
        free(job->apps[i].path);
        free(job->apps[i].program);
    }
    free(job->apps);
    free(job->pm_apps);
    free(job->bind_to);
    free(job->nodes);
    hb_strv_destroy(&job->env);
    hb_strv_destroy(&job->env_rules);
    hb_strv_destroy(&job->limits);
    hb_strv_destroy(&job->rank_slots);
    free(job->parent_id);
    hb_strv_destroy(&job->preput);
    hb_jobmap_destroy(job->map);
    for (uint32_t i = 0; i < job->n_grown; i++) {
        hb_jobmap_destroy(job->grown[i]);
    }
    free(job->grown);
}
