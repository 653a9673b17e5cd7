/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A network that is cut between some hosts while the launcher reaches all of
 * them. Ranks of libhpcboot notice it, each at its end, and take the others for
 * dead; two halves that each went on would be worse than an end. So the agents
 * tell the launcher (CUT), which alone decides: one host of each two that are
 * apart is given up like one that is lost, and all ranks hear of that alike.
 *
 * It may also be that the other host is dead, and that its ranks' peers know it
 * sooner than the launcher, which waits for more beats. So that host is asked
 * (ALIVE). While it does not answer nothing is decided: it is lost soon, or
 * heard again. When it has answered, others have a moment to complain as well,
 * since who is given up depends on all complaints (apart.h). */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/job/apart.h"
#include "bin/job/bringup.h"
#include "bin/job/job_impl.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

/* A part of what a rank waits for a better reason (lib/api/peers.c). */
#define GRACE_MS 1000
/* Without heartbeats nobody else finds out that a host is not there. */
#define SILENT_MS 15000

#define NEVER_REACHED "cannot be reached" /* hb_tcp_give_up, lib/xport */
#define NOT_BY_UCX NEVER_REACHED ": UCX" /* hb_ucx_connect: TCP did */
#define PORT_RANGE "/proc/sys/net/ipv4/ip_local_port_range"
#define RANGE_MOST 64 /* bytes: two numbers */

struct complaint {
    uint32_t by, from; /* hosts */
    uint32_t rank;     /* on `from` */
    uint32_t asked;
    int is_answered;
    int64_t since_ns;
    char *text;
};

struct job_cuts {
    struct complaint *v;
    size_t n;
    uint32_t asked; /* how often a host was */
    struct event *timer;
};

static void drop(struct job_cuts *c, size_t i)
{
    free(c->v[i].text);
    c->v[i] = c->v[--c->n];
}

void job_cuts_close(struct job *j)
{
    struct job_cuts *c = j->cuts;

    if (c == NULL) {
        return;
    }
    while (c->n > 0) {
        drop(c, c->n - 1);
    }
    event_free(c->timer);
    free(c->v);
    free(c);
    j->cuts = NULL;
}

/* Whoever has lost it waits to hear so. */
static void tell_if_ended(struct job *j, uint32_t rank)
{
    if (j->ranks[rank].ended) {
        job_tell_dead(j, &rank, 1, "has ended");
    }
}

/* Both are in the job, and the rank is not known to have ended. */
static int matters(const struct job *j, const struct complaint *c)
{
    const struct job_host *by = &j->hosts[c->by], *from = &j->hosts[c->from];

    return by->state == HOST_RUNNING && from->state == HOST_RUNNING &&
           !from->let_go && !by->let_go && !j->ranks[c->rank].ended &&
           j->node_host[j->map->node_of_rank[c->rank]] == from;
}

static void forget_old(struct job *j)
{
    struct job_cuts *c = j->cuts;

    for (size_t i = c->n; i-- > 0;) {
        if (!matters(j, &c->v[i])) {
            tell_if_ended(j, c->v[i].rank);
            drop(c, i);
        }
    }
}

static int is_about(const struct complaint *c, uint32_t host)
{
    return c->by == host || c->from == host;
}

static void put_pair(const struct job *j, const struct complaint *c,
                     char *text, size_t size)
{
    uint32_t low = c->by < c->from ? c->by : c->from;
    uint32_t high = c->by < c->from ? c->from : c->by;

    snprintf(text, size, "%s and %s do not reach each other",
             j->hosts[low].spec->name, j->hosts[high].spec->name);
}

const char *job_cut_words(const struct job_host *h, char *text, size_t size)
{
    const struct job_cuts *c = h->job->cuts;
    const struct complaint *best = NULL;

    for (size_t i = 0; c != NULL && i < c->n; i++) {
        if (matters(h->job, &c->v[i]) &&
            (best == NULL || (!is_about(best, h->index) &&
                              is_about(&c->v[i], h->index)))) {
            best = &c->v[i];
        }
    }
    if (best == NULL) {
        return NULL;
    }
    put_pair(h->job, best, text, size);
    return text;
}

/* ---- the decision ---- */

static const struct complaint *first_about(const struct job_cuts *c,
                                           uint32_t host)
{
    const struct complaint *first = NULL;

    for (size_t i = 0; i < c->n; i++) {
        if (is_about(&c->v[i], host) &&
            (first == NULL || c->v[i].since_ns < first->since_ns)) {
            first = &c->v[i];
        }
    }
    return first;
}

/* Of two hosts that live, and that no connection has ever joined: what ranks
 * listen at is chosen by the system. Other hosts will not have another range
 * than the launcher's, as a rule. */
static void put_advice(const struct complaint *c, char *text, size_t size)
{
    char *range = NULL;
    size_t len;

    text[0] = '\0';
    if (!c->is_answered || strstr(c->text, NEVER_REACHED) == NULL) {
        return;
    }
    if (strstr(c->text, NOT_BY_UCX) != NULL) {
        snprintf(text, size, "; HPCBOOT_TRANSPORTS=tcp does without UCX");
        return;
    }
    if (hb_file_read(PORT_RANGE, RANGE_MOST, &range, &len, NULL) == 0) {
        range[strcspn(range, "\t")] = '-';
        range[strcspn(range, "\n")] = '\0';
    }
    snprintf(text, size, "; a firewall or network policy must let TCP ports "
             "%s through between hosts (net.ipv4.ip_local_port_range says "
             "which are used)", range != NULL ? range : "above 1023");
    free(range);
}

static void give_up(struct job *j, struct job_host *h,
                    const struct complaint *c)
{
    struct hpcboot_error err = {0};
    char pair[256], advice[192];

    put_advice(c, advice, sizeof advice);
    put_pair(j, c, pair, sizeof pair);
    hb_fail(&err, HPCBOOT_ERR_HOST, "%s, and hbrun %s; %s is given up (on %s: "
            "%.200s)%s", pair,
            c->is_answered ? "reaches both" : "has no answer from one",
            h->spec->name, j->hosts[c->by].spec->name, c->text,
            advice);
    host_lost(h, &err);
}

static uint32_t own_host(const struct job *j)
{
    uint32_t i = 0;

    while (i < j->gang.n && !j->hosts[i].spec->is_local) {
        i++;
    }
    return i;
}

/* Of those that are known to live. */
static void give_up_worst(struct job *j)
{
    const struct job_cuts *c = j->cuts;
    struct hb_apart *v = hb_xcalloc(c->n, sizeof *v);
    uint32_t host;
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        if (c->v[i].is_answered) {
            v[n++] = (struct hb_apart){c->v[i].by, c->v[i].from};
        }
    }
    host = hb_apart_worst(v, n, (uint32_t)j->gang.n, own_host(j));
    free(v);
    give_up(j, &j->hosts[host], first_about(c, host));
}

/* When it is time to do something about a complaint; 0: not yet known. */
static int64_t due_ns(const struct job *j, const struct complaint *c)
{
    int64_t ms = c->is_answered              ? GRACE_MS
                 : j->opt->heartbeat_ms == 0 ? SILENT_MS
                                             : 0;

    return ms > 0 ? c->since_ns + ms * 1000000 : 0;
}

/* The first that is due; NULL: none, and *wait_ns until one is, 0: unknown. */
static const struct complaint *first_due(const struct job *j, int64_t *wait_ns)
{
    const struct job_cuts *c = j->cuts;
    int64_t now = hb_now_ns();

    *wait_ns = 0;
    for (size_t i = 0; i < c->n; i++) {
        int64_t due = due_ns(j, &c->v[i]);

        if (due > 0 && due <= now) {
            return &c->v[i];
        }
        if (due > 0 && (*wait_ns == 0 || due - now < *wait_ns)) {
            *wait_ns = due - now;
        }
    }
    return NULL;
}

/* Deals with complaints until none is due. Those about a host that is given up
 * are dropped with it. */
static void settle(struct job *j)
{
    const struct complaint *c = NULL;
    int64_t wait_ns = 0;

    forget_old(j);
    while (j->phase == JOB_RUNNING && (c = first_due(j, &wait_ns)) != NULL) {
        if (c->is_answered) {
            give_up_worst(j);
        } else {
            give_up(j, &j->hosts[c->from], c);
        }
        forget_old(j);
    }
    if (j->phase == JOB_RUNNING && wait_ns > 0) {
        arm_ms(j->cuts->timer, wait_ns / 1000000 + 1);
    }
}

static void on_due(evutil_socket_t fd, short what, void *arg)
{
    settle(arg);
}

/* ---- what is said ---- */

static struct job_cuts *cuts_of(struct job *j)
{
    if (j->cuts == NULL) {
        j->cuts = hb_xcalloc(1, sizeof *j->cuts);
        j->cuts->timer = evtimer_new(j->base, on_due, j);
        if (j->cuts->timer == NULL) {
            hb_no_memory();
        }
    }
    return j->cuts;
}

static int is_known(const struct job_cuts *c, uint32_t by, uint32_t rank)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->v[i].by == by && c->v[i].rank == rank) {
            return 1;
        }
    }
    return 0;
}

static void take(struct job_host *h, struct job_host *from,
                 const struct hb_msg_cut *m)
{
    struct job_cuts *c = cuts_of(h->job);

    c->v = hb_xrealloc(c->v, (c->n + 1) * sizeof *c->v);
    c->v[c->n++] = (struct complaint){
        .by = h->index, .from = from->index, .rank = m->rank,
        .asked = ++c->asked, .since_ns = hb_now_ns(),
        .text = hb_xstrdup(m->text)};
    job_event_rank_text(h, "rank_unreached", m->rank, m->text);
    hb_log(HB_DEBUG, "host %s does not reach rank %u: %s", h->spec->name,
           m->rank, m->text);
    HOST_SEND(from, alive, .asked = c->asked);
    settle(h->job);
}

static int on_cut(struct job_host *h, const struct hb_frame *f,
                  struct hpcboot_error *err)
{
    struct job *j = h->job;
    struct hb_msg_cut m;
    struct complaint c = {.by = h->index};
    int rc = hb_wire_get_cut(f, &m, err);

    if (rc < 0 || j->phase != JOB_RUNNING) {
        return rc;
    }
    if (j->map == NULL || j->ranks == NULL || m.rank >= j->map->n_ranks ||
        j->map->node_of_rank[m.rank] == h->node) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "the agent does not reach "
                       "rank %u, which is on it or nowhere", m.rank);
    }
    c.rank = m.rank;
    c.from = j->node_host[j->map->node_of_rank[m.rank]]->index;
    tell_if_ended(j, c.rank);
    if (matters(j, &c) && !is_known(cuts_of(j), c.by, c.rank)) {
        take(h, &j->hosts[c.from], &m);
    }
    return 0;
}

static int on_alive(struct job_host *h, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct job_cuts *c = h->job->cuts;
    struct hb_msg_alive m = {0};
    int rc = hb_wire_get_alive(f, &m, err);

    if (rc < 0 || c == NULL) {
        return rc;
    }
    for (size_t i = 0; i < c->n; i++) {
        c->v[i].is_answered |= c->v[i].from == h->index &&
                               c->v[i].asked <= m.asked;
    }
    settle(h->job);
    return 0;
}

int job_cut_frame(struct job_host *h, const struct hb_frame *f,
                  struct hpcboot_error *err)
{
    return f->type == HB_MSG_CUT ? on_cut(h, f, err) : on_alive(h, f, err);
}
