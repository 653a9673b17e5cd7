/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The launcher's view of the tree of agents. grow.c says who starts which
 * host; here that becomes BOOT messages to the agent chosen, and what agents
 * say of their children becomes the same steps that a login of the launcher's
 * own goes through. A frame of a host deep in the tree comes over the link of
 * the host it hangs below, and is believed only where that is its place.
 *
 * A host that an agent cannot start, or not in good time, is tried by the
 * launcher itself: nothing fails in a tree that works without one. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/job/bringup.h"
#include "bin/job/job_impl.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

/* From here on hosts start each other: below, the launcher has logged in to
 * all before a second level would have begun. */
#define TREE_FROM 24u
#define WIDTH 32u
/* Where files are copied to all hosts, each sends them to so many: what its
 * network has to carry counts for more than the number of steps. */
#define PAYLOAD_WIDTH 4u
/* Logins at a time per core: one waits for its host most of its time. */
#define PER_CORE 4u
#define AT_ONCE_MIN 8u
#define AT_ONCE_MAX 64u
#define FLAT_AT_ONCE 128u /* bounds descriptors, and bursts at name servers */
/* An agent that has not started a host by now does so no more. */
#define HAND_BACK_MS 5000

static uint32_t within(uint32_t value, uint32_t low, uint32_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* As the user wants it; 0: no wish. */
static uint32_t asked_width(const struct job *j)
{
    return j->n_files > 0 && j->opt->payload_width > 0 ? j->opt->payload_width
                                                       : j->opt->tree_width;
}

/* Why the launcher starts all hosts itself; NULL: it does not. */
static const char *why_flat(const struct job *j)
{
    uint32_t width = asked_width(j);

    return width == 1                    ? "a width of 1"
           : j->boot.launch_with != NULL ? "--launch-with"
           : j->orphan_ms == 0 && (j->on_failure == HB_FAIL_CONTINUE ||
                                   j->on_failure == HB_FAIL_RESPAWN)
               ? "the loss of one must not be that of others"
           : width == 0 && j->gang.n < TREE_FROM ? "they are few"
                                                 : NULL;
}

static uint32_t width_of(const struct job *j)
{
    uint32_t asked = asked_width(j);

    return asked > 0 ? asked : j->n_files > 0 ? PAYLOAD_WIDTH : WIDTH;
}

void job_tree_open(struct job *j)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t at_once = within((uint32_t)(cores > 0 ? cores : 1) * PER_CORE,
                              AT_ONCE_MIN, AT_ONCE_MAX);
    struct hb_grow_limits limits = {
        .width = width_of(j),
        .at_once = at_once, .root_at_once = at_once,
        .flat = why_flat(j) != NULL,
    };

    if (limits.flat) {
        limits.root_at_once = FLAT_AT_ONCE;
    }
    j->grow = hb_grow_create(j->host_entries, &limits);
}

void job_tree_explain(const struct job *j, struct hb_strv *lines)
{
    const char *flat = why_flat(j);

    if (flat != NULL) {
        hb_strv_pushf(lines, "tree: none, hbrun has started all hosts (%s)",
                      flat);
    } else {
        hb_strv_pushf(lines, "tree: hosts start others; hbrun has started "
                      "%u of %zu, the farthest is %u logins away",
                      hb_grow_children(j->grow, HB_GROW_ROOT), j->gang.n,
                      hb_grow_depth(j->grow));
    }
}

static void gone_quietly(void *arg, uint32_t host)
{
}

void job_tree_close(struct job *j)
{
    hb_grow_destroy(j->grow);
    j->grow = NULL;
}

/* A host for whom ssh_config says more than its name stays with the launcher;
 * the others get user and port as the launcher would use them. */
static int needs_launcher(struct job_host *h)
{
    const struct hb_boot_target target = {
        .host = h->spec->name, .user = h->spec->user, .port = h->spec->port,
    };

    if (h->spec->is_local) {
        return 1;
    }
    free(h->boot_user);
    h->boot_user = NULL;
    return !hb_boot_by_others(&h->job->boot, &target, &h->boot_user,
                              &h->boot_port);
}

void host_queue(struct job_host *h)
{
    struct job *j = h->job;

    if (!h->queued_once && why_flat(j) == NULL) {
        h->queued_once = 1;
        h->direct = (uint8_t)needs_launcher(h);
    }
    hb_grow_put(j->grow, h->index, h->direct);
}

static void tell_parent(struct job_host *p, const struct job_host *child)
{
    const struct hb_boot_config *b = &p->job->boot;
    const struct hb_boot_target target = {.host = child->spec->name};
    struct hb_buf known;

    if (p->told_parent) {
        return;
    }
    p->told_parent = 1;
    hb_buf_init(&known, HB_BOOT_KNOWN_MAX);
    hb_boot_known_hosts(b, &target, &known);
    HOST_SEND(p, parent, .agent_path = b->agent_path, .prefix = b->prefix,
              .kex = b->kex, .gang_key = b->gang_key,
              .host_keys = (uint8_t)b->host_keys,
              .inside_gang = (uint8_t)b->inside_gang,
              .connect_timeout_ms = (uint32_t)b->connect_timeout_ms,
              .known_hosts = {known.data, known.len},
              .members = hb_wire_strv_of((char *const *)b->members));
    hb_buf_destroy(&known);
}

/* The agent of `parent` is to start a host. */
void host_try_below(struct job_host *h, struct job_host *parent)
{
    h->via = parent;
    tell_parent(parent, h);
    HOST_SEND(parent, boot, .host = h->index, .name = h->spec->name,
              .user = h->boot_user, .port = (uint32_t)h->boot_port,
              .token = h->token);
    host_arm_ms(h, HAND_BACK_MS);
    job_event_host(h, "host_started_by", parent->spec->name);
    hb_log(HB_TRACE, "host %s: started by %s", h->spec->name,
           parent->spec->name);
}

struct hb_link *host_link(const struct job_host *h)
{
    while (h->via != NULL) {
        h = h->via;
    }
    return h->adoption == NULL ? h->link : NULL;
}

const struct hb_boot *host_judge(const struct job_host *h)
{
    while (h->via != NULL) {
        h = h->via;
    }
    return h->boot;
}

/* The host whose frame came over the link of `top`; NULL: it is not below it,
 * or no longer (what it had said may be under way when it is given up). */
struct job_host *host_of_frame(struct job_host *top, const struct hb_frame *f)
{
    struct job_host *h, *at;

    if (f->src == HB_NODE_UNSET || f->src == top->index) {
        return top;
    }
    h = at = &top->job->hosts[f->src];
    while (at->via != NULL) {
        at = at->via;
    }
    return at == top ? h : NULL;
}

/* The host with that number, if `p` is the one that starts it; else NULL. */
static struct job_host *child_of(const struct job_host *p, uint32_t host)
{
    struct job *j = p->job;

    return host < j->gang.n && j->hosts[host].via == p ? &j->hosts[host]
                                                       : NULL;
}

static int on_boot_stage(struct job_host *p, const struct hb_frame *f,
                         struct hpcboot_error *err)
{
    struct hb_msg_boot_stage m;
    int rc = hb_wire_get_boot_stage(f, &m, err);
    struct job_host *h = rc == 0 ? child_of(p, m.host) : NULL;

    if (h == NULL || h->state != HOST_BOOTING || m.stage > HB_STAGE_READY) {
        return rc;
    }
    host_timed_stage(h, m.stage, host_time(p, m.time_ns));
    if (m.stage < HB_STAGE_READY) { /* HELLO itself says that */
        host_stage(h, (enum hb_boot_stage)m.stage, m.detail);
    }
    return rc;
}

static int on_boot_doubt(struct job_host *p, const struct hb_frame *f,
                         struct hpcboot_error *err)
{
    struct hb_msg_boot_doubt m;
    int rc = hb_wire_get_boot_doubt(f, &m, err);
    struct job_host *h = rc == 0 ? child_of(p, m.host) : NULL;

    if (h != NULL && h->state == HOST_BOOTING) {
        const struct hb_boot_unverified key = {
            .fingerprint = m.fingerprint, .host_key = m.host_key,
        };

        host_doubt(h, &key);
    }
    return rc;
}

static int on_boot_failed(struct job_host *p, const struct hb_frame *f,
                          struct hpcboot_error *err)
{
    struct hb_msg_boot_failed m;
    int rc = hb_wire_get_boot_failed(f, &m, err);
    struct job_host *h = rc == 0 ? child_of(p, m.host) : NULL;
    struct hpcboot_error why = {0};

    if (h == NULL || h->state != HOST_BOOTING) {
        return rc;
    }
    hb_fail(&why, m.code, "%s", m.text);
    hb_log(HB_DEBUG, "host %s: %s cannot start it: %s", h->spec->name,
           p->spec->name, why.text);
    host_failed(h, (enum hb_boot_stage)m.stage, &why);
    return 0;
}

static int on_child_lost(struct job_host *p, const struct hb_frame *f,
                         struct hpcboot_error *err)
{
    struct hb_msg_child_lost m;
    int rc = hb_wire_get_child_lost(f, &m, err);
    struct job_host *h = rc == 0 ? child_of(p, m.host) : NULL;

    if (h != NULL) {
        struct hpcboot_error why = {0};

        hb_fail(&why, m.code, "%s", m.text);
        host_edge_lost(h, &why, m.exit_status, m.was_killed);
    }
    return rc;
}

static int on_clock(struct job_host *p, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct hb_msg_clock m;
    int rc = hb_wire_get_clock(f, &m, err);
    struct job_host *h = rc == 0 ? child_of(p, m.host) : NULL;

    if (h != NULL) {
        h->edge_clock_ns = (int64_t)m.offset_ns;
    }
    return rc;
}

static int on_suspect(struct job_host *p, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    struct hb_msg_suspect m;
    int rc = hb_wire_get_suspect(f, &m, err);
    struct job_host *h = rc == 0 ? child_of(p, m.host) : NULL;

    if (h != NULL) {
        host_suspect(h, m.silent_ms, m.load_milli);
    }
    return rc;
}

int job_tree_frame(struct job_host *h, const struct hb_frame *f,
                   struct hpcboot_error *err)
{
    switch (f->type) {
    case HB_MSG_BOOT_STAGE:
        return on_boot_stage(h, f, err);
    case HB_MSG_BOOT_DOUBT:
        return on_boot_doubt(h, f, err);
    case HB_MSG_BOOT_FAILED:
        return on_boot_failed(h, f, err);
    case HB_MSG_CHILD_LOST:
        return on_child_lost(h, f, err);
    case HB_MSG_SUSPECT:
        return on_suspect(h, f, err);
    default:
        return on_clock(h, f, err);
    }
}

/* A host's clock minus ours, as the quickest word shows it: of what it has said
 * itself, and of the beats along the way, where each edge has had one. */
int64_t host_clock_offset(const struct job_host *h)
{
    int64_t sum = 0, heard = hb_offset_at(&h->clock, hb_now_ns());

    for (const struct job_host *at = h; at != NULL; at = at->via) {
        int64_t edge = at->via != NULL ? at->edge_clock_ns
                       : at->link != NULL ? hb_link_clock_offset_ns(at->link)
                                          : 0;

        if (edge == 0) {
            return heard;
        }
        sum += edge;
    }
    return sum > heard ? sum : heard;
}

/* A host that hung below one that is gone, where nobody adopts. Before the job
 * runs it is started anew; afterwards its agent, left alone, ends its ranks. */
static void orphan(void *arg, uint32_t index)
{
    const struct job_host *lost = arg;
    struct job_host *h = &lost->job->hosts[index];
    struct hpcboot_error err = {0};

    if (h == lost) {
        return;
    }
    hb_fail(&err, HPCBOOT_ERR_CLOSED, "it was reached through %s",
            lost->spec->name);
    host_orphaned(h, &err);
}

static void left_alone(void *arg, uint32_t index, int is_up)
{
    const struct job_host *lost = arg;
    struct job_host *h = &lost->job->hosts[index];

    h->via = NULL;
    if (is_up) {
        job_route_add(h);
        host_adopt(h, lost->spec->name);
    } else {
        h->state = HOST_IDLE;
        h->direct = 1;
        host_arm_ms(h, 0);
    }
}

void host_leave_tree(struct job_host *h)
{
    struct job *j = h->job;

    if (j->grow != NULL && j->orphan_ms > 0 && j->phase != JOB_CONNECTING) {
        if (h->via == NULL) { /* it may live, and would think of our death */
            HOST_SEND(h, gone, .below = 0);
        }
        job_route_leave(h);
        hb_grow_lost_alone(j->grow, h->index, left_alone, h);
    } else if (j->grow != NULL) {
        hb_grow_lost(j->grow, h->index, orphan, h);
    }
}

/* Lets the agent of a host go that has nothing left to do and no host below it;
 * then the one above it, if the same has become true of that. */
void host_release(struct job_host *h)
{
    while (h != NULL && (h->state == HOST_DONE || h->state == HOST_RELAY) &&
           !h->bye_sent && hb_grow_children(h->job->grow, h->index) == 0) {
        struct job_host *up = h->via;

        HOST_SEND(h, bye, .status = h->job->only_looks
                                        ? HB_BYE_NO_JOB
                                        : (uint32_t)h->job->verdict.status);
        h->bye_sent = 1;
        h->state = HOST_DONE;
        if (up == NULL) {
            return;
        }
        hb_grow_lost(h->job->grow, h->index, gone_quietly, NULL);
        h = up;
    }
}
