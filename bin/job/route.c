/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The launcher's part of ranks finding each other: it is the root of the
 * fence tree. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/bringup.h"
#include "bin/job/job_impl.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/rdzv/native_server.h"
#include "lib/rdzv/runs.h"

static void fence_up(void *arg, struct hb_bytes key, const uint32_t *nodes,
                     uint32_t n_nodes, struct hb_bytes data)
{
}

static void fence_down(void *arg, uint32_t child, struct hb_bytes key,
                       int status, struct hb_bytes data)
{
    struct job *j = arg;

    HOST_SEND(&j->hosts[child], fence_down, .key = key, .status = status,
              .data = data);
    j->has_met |= status >= 0;
    if (j->orphan_ms > 0 && hb_grow_children(j->grow, child) > 0) {
        job_answer_keep(j, key, status, data);
    }
}

static void fence_done(void *arg, struct hb_bytes key, int status,
                       struct hb_bytes data)
{
}

/* Ranks of a host that came into the running job are of no world before: they
 * are not those whose seat they have, and come into none of their fences. */
static int is_another(void *arg, struct hb_bytes key, uint32_t node)
{
    const struct job *j = arg;
    uint32_t since = node < j->map->n_nodes ? j->node_host[node]->world : 0;
    int64_t world = since > 0 ? hb_native_fence_world(key) : -1;

    return world >= 0 && world < since;
}

static const struct hb_fence_ops fence_ops = {
    .up = fence_up, .down = fence_down, .done = fence_done,
    .is_another = is_another,
};

static int is_below(const struct job_host *h, const struct job_host *top)
{
    while (h != NULL && h != top) {
        h = h->via;
    }
    return h != NULL;
}

/* Nodes of a host and of those below it; to be freed. */
static uint32_t *nodes_below(const struct job_host *top, uint32_t *n_out)
{
    const struct job *j = top->job;
    uint32_t *below = hb_xcalloc(j->gang.n, sizeof *below), n = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        if (h->node != HB_NODE_UNSET && is_below(h, top)) {
            below[n++] = h->node;
        }
    }
    *n_out = n;
    return below;
}

/* Which nodes answer over the link of one host. */
static int fence_set_child(struct job *j, const struct job_host *top,
                           struct hpcboot_error *err)
{
    uint32_t n, *below = nodes_below(top, &n);
    int rc = hb_fence_set_child(j->fences, top->index, below, n, err);

    free(below);
    return rc;
}

int job_route_open(struct job *j, struct hpcboot_error *err)
{
    int rc = hb_fence_engine_create(&j->fences, HB_FENCE_ROOT, 1, &fence_ops,
                                    j, err);

    for (uint32_t i = 0; rc == 0 && i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        h->nested = h->via != NULL || hb_grow_children(j->grow, i) > 0;
        if (h->link != NULL) {
            rc = fence_set_child(j, h, err);
        }
    }
    return rc;
}

/* Makes a host a child of the launcher's own fence engine: one that takes the
 * place of another, or has lost the host above it. */
void job_route_add(struct job_host *h)
{
    struct hpcboot_error err = {0};

    if (h->job->fences != NULL && fence_set_child(h->job, h, &err) < 0) {
        job_fail(h->job, HB_CAUSE_INTERNAL, 0, "%s", err.text);
    }
}

static void tell_moved(struct job_host *up, const uint32_t *nodes, uint32_t n)
{
    if (up != NULL) { /* the topmost first: it must not think that those below
                         it speak for these nodes */
        tell_moved(up->via, nodes, n);
        HOST_SEND(up, moved, .nodes = {.v = nodes, .n = n});
    }
}

void job_route_leave(struct job_host *h)
{
    uint32_t n, *nodes = nodes_below(h, &n);

    if (h->job->fences != NULL && n > 0) {
        tell_moved(h->via, nodes, n);
    }
    free(nodes);
}

/* Whether each fence in which this host's ranks have met others has come to the
 * launcher: an agent that all participants are below answers itself. Ranks of
 * PMIx may meet a few of the others first, and may have done so before the host
 * above or below was lost; those of other families, and of the library, meet
 * all of them. */
int job_route_sees(struct job_host *h)
{
    struct job *j = h->job;
    uint32_t n_tops = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        n_tops += (j->hosts[i].link != NULL || j->hosts[i].late) &&
                  (j->hosts[i].node != HB_NODE_UNSET ||
                   hb_grow_children(j->grow, i) > 0);
    }
    if (n_tops < 2 && j->phase == JOB_RUNNING) {
        j->has_met = 1; /* as far as is known */
    }
    return n_tops >= 2 &&
           (!h->nested || j->family.family != HB_PM_PMIX ||
            (j->initialised & HB_CONTACT_NATIVE) != 0);
}

void job_route_lost(struct job_host *h)
{
    job_modex_lost(h);
    job_names_forget(h->job, h);
}

void job_route_forget(struct job_host *h)
{
    job_route_lost(h);
    if (h->job->fences != NULL) {
        hb_fence_forget(h->job->fences, h->index, h->node);
    }
}

static int on_fence_up(struct job_host *h, const struct hb_frame *f,
                       struct hpcboot_error *err)
{
    struct hb_msg_fence_up m;
    uint32_t *nodes, n;
    int rc = hb_wire_get_fence_up(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    if (h->job->fences == NULL || h->via != NULL) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a fence came out of turn");
    }
    if (h->repeats > 0) {
        h->repeats--;
        if (!hb_fence_is_open(h->job->fences, m.key) &&
            job_answer_again(h, m.key)) {
            return 0;
        }
    }
    rc = hb_runs_to_nodes(&m.nodes, &nodes, &n, err);
    if (rc < 0) {
        return rc;
    }
    if (n > 0 && nodes[n - 1] >= h->job->map->n_nodes) {
        rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a fence names node %u, and "
                     "the job has %u", nodes[n - 1], h->job->map->n_nodes);
    } else {
        rc = hb_fence_from_child(h->job->fences, h->index, m.key, nodes, n,
                                 m.data, err);
    }
    free(nodes);
    return rc;
}

/* The agents mark the dead where their ranks look. */
void job_tell_dead(struct job *j, const uint32_t *ranks, uint32_t n,
                   const char *text)
{
    uint32_t node = n > 0 ? j->map->node_of_rank[ranks[0]] : HB_NODE_UNSET;

    for (uint32_t i = 0; n > 0 && i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        if (h->state == HOST_RUNNING && h->node != HB_NODE_UNSET &&
            h->node != node && host_can_hear(h)) {
            HOST_SEND(h, peers_dead, .ranks = {.v = ranks, .n = n},
                      .text = text);
        }
    }
}

void job_tell_lost(struct job *j, uint32_t node, const char *text)
{
    uint32_t *ranks = NULL, n = 0;
    char *why;

    if (j->map == NULL) {
        return;
    }
    hb_jobmap_ranks_of_node(j->map, node, &ranks);
    for (uint32_t i = 0; i < j->map->local_size[node]; i++) {
        if (!j->ranks[ranks[i]].ended) {
            ranks[n++] = ranks[i];
        }
    }
    why = hb_xasprintf("is lost with its host: %.160s", text);
    job_tell_dead(j, ranks, n, why);
    free(why);
    free(ranks);
}

static size_t unsent(const struct job_host *h)
{
    const struct hb_link *link = host_link(h);

    return (link != NULL ? hb_link_backlog(link) : 0) +
           (h->kept != NULL ? hb_buf_left(&h->kept->frames) : 0);
}

static void pass_event(struct job_host *to, const struct hb_msg_event *m)
{
    struct job *j = to->job;

    if (unsent(to) <= HB_WIRE_EVENTS_WAIT) {
        HOST_SEND(to, event, .rank = m->rank, .code = m->code,
                  .range = m->range, .infos = m->infos);
    } else if (!j->event_told) {
        j->event_told = 1;
        hb_log(HB_WARN, "an event of rank %u (PMIx_Notify_event) does not "
               "reach the ranks on %s: they are given faster than that host "
               "takes them", m->rank, to->spec->name);
    }
}

static int on_event(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct job *j = h->job;
    struct hb_msg_event m;
    int rc = hb_wire_get_event(f, &m, err);

    if (rc == 0 && m.infos.len > HB_WIRE_EVENT) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "an event of %zu bytes",
                       m.infos.len);
    }
    for (uint32_t i = 0; rc == 0 && i < j->gang.n; i++) {
        struct job_host *to = &j->hosts[i];

        if (to != h && to->state == HOST_RUNNING &&
            to->node != HB_NODE_UNSET && host_can_hear(to)) {
            pass_event(to, &m);
        }
    }
    return rc;
}

int job_route_frame(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    switch (f->type) {
    case HB_MSG_FENCE_UP:
        return on_fence_up(h, f, err);
    case HB_MSG_NAME:
        return job_name_frame(h, f, err);
    case HB_MSG_EVENT:
        return on_event(h, f, err);
    default:
        return job_modex_frame(h, f, err);
    }
}

void job_route_close(struct job *j)
{
    hb_fence_engine_destroy(j->fences);
    j->fences = NULL;
    job_answers_free(j);
    job_names_close(j);
}
