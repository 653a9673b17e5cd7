/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What is said through this agent. What a child says goes up, with its number
 * where it does not know that yet; what is addressed to a host below goes to
 * the child by which that host spoke; what is for all goes to every child.
 * Fences alone stop here, to be gathered.
 *
 * A child speaks for those hosts only whose HELLO came by it, and HELLO is
 * taken of a host only from the child below which it was last told to be
 * started (BOOT): nobody can have what is for another host. Whether it is that
 * host the launcher knows by its token. Until WELCOME has gone to a child it
 * is no more than somebody who could be logged in to. */
#include "config.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "bin/hpcbootd/children.h"
#include "lib/base/str.h"

void child_expect(struct child *c, uint32_t host, uint32_t parent)
{
    struct agent_tree *t = c->agent->tree;

    if (host >= HB_MAX_NODES) {
        return;
    }
    if (host >= t->n_routes) {
        uint32_t n = host + host / 2 + 64;

        t->routes = hb_xrealloc(t->routes, n * sizeof *t->routes);
        memset(t->routes + t->n_routes, 0,
               (n - t->n_routes) * sizeof *t->routes);
        t->n_routes = n;
    }
    t->routes[host] = (struct route){.by = c, .parent = parent,
                                     .was_told = 1};
}

/* A host below the child is gone, and those that it has started have another
 * way up by now, or none. */
static void forget(struct child *c, uint32_t host)
{
    struct agent_tree *t = c->agent->tree;

    t->routes[host].by = NULL;
    for (uint32_t i = 0; i < t->n_routes; i++) {
        if (t->routes[i].by == c && t->routes[i].parent == host) {
            forget(c, i);
        }
    }
}

/* The same, as `parent` says or is told: it may be started by another again. */
static void forget_at(struct child *c, uint32_t host, uint32_t parent)
{
    const struct agent_tree *t = c->agent->tree;

    if (host < t->n_routes && t->routes[host].by == c &&
        t->routes[host].parent == parent) {
        forget(c, host);
    }
}

/* 1: the child may speak for a host, 0: it may not, -1: not any more. */
static int is_below(struct child *c, uint32_t host, int is_hello)
{
    struct agent_tree *t = c->agent->tree;
    struct route *r = host < t->n_routes ? &t->routes[host] : NULL;

    if (r == NULL || !r->was_told) {
        return 0;
    }
    if (r->by == c && is_hello) {
        r->is_up = 1;
    }
    return r->by == c && r->is_up ? 1 : -1;
}

/* What an agent may say before it is welcomed. */
static int is_greeting(unsigned type)
{
    return type == HB_MSG_HELLO || type == HB_MSG_PROOF ||
           type == HB_MSG_FAILED;
}

/* What this agent has to know of what it passes up. */
static void note_rising(struct child *c, const struct hb_frame *f)
{
    struct agent *a = c->agent;
    struct hb_msg_child_lost lost;

    if (f->type == HB_MSG_DONE && a->fences && f->src < a->job.n_hosts) {
        hb_fence_node_over(a->fences, a->job.nodes[f->src]);
    }
    if (f->type == HB_MSG_CHILD_LOST &&
        hb_wire_get_child_lost(f, &lost, NULL) == 0) {
        forget_at(c, lost.host, f->src);
    }
}

/* Whether a frame speaks of a moment on its sender's clock. */
static int has_time(unsigned type)
{
    return type == HB_MSG_RANK_STARTED || type == HB_MSG_RANK_EXIT ||
           type == HB_MSG_RANK_FAILED || type == HB_MSG_ABORT ||
           type == HB_MSG_LEAVING || type == HB_MSG_BOOT_STAGE ||
           type == HB_MSG_DONE;
}

/* The launcher turns times into its own by the clocks along the path. */
static void tell_clock(struct child *c)
{
    int64_t offset = hb_link_clock_offset_ns(c->link);

    if (offset != c->clock_told_ns) {
        c->clock_told_ns = offset;
        AGENT_SEND(c->agent, clock, .host = c->host,
                   .offset_ns = (uint64_t)offset);
    }
}

static int files_taken(struct child *c, const struct hb_frame *f,
                       struct hpcboot_error *err)
{
    struct hb_msg_file_taken m;
    int rc = hb_wire_get_file_taken(f, &m, err);

    if (rc == 0 && m.bytes > c->files_out) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "the agent has taken bytes "
                       "of files that it was not sent");
    }
    if (rc == 0) {
        c->files_taken = m.bytes;
        agent_file_taken(c->agent);
    }
    return rc;
}

uint64_t agent_files_below(const struct agent *a)
{
    uint64_t most = 0;

    for (const struct child *c = a->tree != NULL ? a->tree->children : NULL;
         c != NULL; c = c->next) {
        uint64_t under_way = c->files_out - c->files_taken;

        most = under_way > most ? under_way : most;
    }
    return most;
}

int child_pass_up(struct child *c, const struct hb_frame *f,
                   struct hpcboot_error *err)
{
    struct agent *a = c->agent;
    struct hb_frame copy = *f;
    int rc, below;

    if (copy.src == HB_NODE_UNSET) {
        copy.src = c->host;
    }
    if (!c->is_up && (f->type != HB_MSG_HELLO || copy.src != c->host)) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "the agent began with %s",
                       hb_wire_type_name(f->type));
    }
    if (!c->is_known && !is_greeting(f->type)) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "the agent said %s before "
                       "it was welcomed", hb_wire_type_name(f->type));
    }
    below = is_below(c, copy.src, f->type == HB_MSG_HELLO);
    if (below <= 0) {
        return below < 0 ? 0 : hb_fail(err, HPCBOOT_ERR_PROTOCOL, "the agent "
                                       "spoke for another host (%u)", copy.src);
    }
    if (!c->is_up) {
        child_stage(c, HB_STAGE_READY, NULL);
    }
    c->is_up = 1;
    event_del(c->timer);
    if (f->type == HB_MSG_FENCE_UP) {
        return agent_fence_gather(a, c->host, f, err);
    }
    if (f->type == HB_MSG_FILE_TAKEN) {
        return files_taken(c, f, err);
    }
    if (has_time(f->type)) {
        tell_clock(c);
    }
    note_rising(c, &copy);
    if (a->link == NULL) {
        return 0; /* it says that again when this agent has been adopted */
    }
    rc = hb_wire_put_frame(hb_link_out(a->link), &copy, err);
    agent_flush(a);
    return rc;
}

void child_send_gone(struct child *c, int below)
{
    const struct hb_msg_gone m = {.below = (uint8_t)below};

    if (c->link != NULL && c->may_wait) {
        (void)hb_wire_put_gone(hb_link_out(c->link), c->agent->epoch,
                               c->agent->host, c->host, &m, NULL);
        hb_link_flush(c->link);
    }
}

void agent_beat(struct agent *a)
{
    hb_link_beat(a->link);
    for (struct child *c = a->tree != NULL ? a->tree->children : NULL;
         c != NULL; c = c->next) {
        hb_link_beat(c->link);
    }
}

void agent_children_gone(struct agent *a)
{
    for (struct child *c = a->tree != NULL ? a->tree->children : NULL;
         c != NULL; c = c->next) {
        child_send_gone(c, 1);
    }
}

/* What this agent has to know of what it passes on. */
static void note_passing(struct child *c, const struct hb_frame *f)
{
    struct hb_msg_welcome m;
    struct hb_msg_file_data d;
    struct hb_msg_boot b;
    struct hb_msg_boot_cancel end;

    if (f->type == HB_MSG_FILE_DATA &&
        hb_wire_get_file_data(f, &d, NULL) == 0) {
        c->files_out += d.data.len;
    }
    if (f->type == HB_MSG_WELCOME && f->dst == c->host &&
        hb_wire_get_welcome(f, &m, NULL) == 0) {
        hb_link_limit(c->link, 0);
        hb_link_heartbeat(c->link, m.heartbeat_ms, m.dead_ms);
        c->may_wait = m.orphan_ms > 0;
        c->is_known = 1;
    }
    if (f->type == HB_MSG_BOOT && hb_wire_get_boot(f, &b, NULL) == 0) {
        child_expect(c, b.host, f->dst);
    }
    if (f->type == HB_MSG_BOOT_CANCEL &&
        hb_wire_get_boot_cancel(f, &end, NULL) == 0) {
        forget_at(c, end.host, f->dst);
    }
}

static void send_down(struct child *c, const struct hb_frame *f)
{
    if (c->link == NULL) {
        return;
    }
    note_passing(c, f);
    (void)hb_wire_put_frame(hb_link_out(c->link), f, NULL);
    hb_link_flush(c->link);
}

/* A host that is not below any more has been reported. */
int agent_pass_down(struct agent *a, const struct hb_frame *f)
{
    const struct agent_tree *t = a->tree;

    if (f->dst == HB_NODE_ALL) {
        for (struct child *c = t != NULL ? t->children : NULL; c != NULL;
             c = c->next) {
            if (c->is_up) {
                send_down(c, f);
            }
        }
        return 0;
    }
    if (a->host == HB_NODE_UNSET || f->dst == a->host) {
        return 0;
    }
    if (t != NULL && f->dst < t->n_routes && t->routes[f->dst].by != NULL &&
        t->routes[f->dst].is_up) {
        send_down(t->routes[f->dst].by, f);
    }
    return 1;
}

void agent_fence_down(struct agent *a, uint32_t child,
                      const struct hb_msg_fence_down *m)
{
    struct child *c = child_of_agent(a, child);

    if (c != NULL && c->link != NULL) {
        (void)hb_wire_put_fence_down(hb_link_out(c->link), a->epoch, a->host,
                                     child, m, NULL);
        hb_link_flush(c->link);
    }
}

int agent_fence_children(struct agent *a, struct hpcboot_error *err)
{
    const struct agent_tree *t = a->tree;
    uint32_t *below;
    int rc = 0;

    if (t == NULL || t->children == NULL) {
        return 0;
    }
    below = hb_xcalloc(a->job.n_hosts + 1, sizeof *below);
    for (struct child *c = t->children; c != NULL && rc == 0; c = c->next) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < t->n_routes && i < a->job.n_hosts; i++) {
            if (t->routes[i].by == c && t->routes[i].is_up &&
                a->job.nodes[i] != HB_NODE_UNSET) {
                below[n++] = a->job.nodes[i];
            }
        }
        rc = hb_fence_set_child(a->fences, c->host, below, n, err);
    }
    free(below);
    return rc;
}
