/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The tree below this agent: how its children begin and end. The launcher says
 * which hosts to start; the login and the link are those that the launcher
 * itself would use, and so are the words in which it is told that a child could
 * not be started, or is lost. What is said over their links passes through
 * passing.c. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bin/hpcbootd/children.h"
#include "bin/hpcbootd/sure.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

static void child_free(struct child *c)
{
    struct agent_tree *t = c->agent->tree;

    for (struct child **p = &t->children; *p != NULL; p = &(*p)->next) {
        if (*p == c) {
            *p = c->next;
            break;
        }
    }
    for (uint32_t i = 0; i < t->n_routes; i++) {
        if (t->routes[i].by == c) {
            t->routes[i].by = NULL;
        }
    }
    hb_boot_cancel(c->boot);
    hb_link_destroy(c->link);
    event_free(c->timer);
    hb_words_clear(&c->words);
    free(c->name);
    free(c->user);
    free(c->token);
    free(c);
}

/* Where others may take the place of a child, and those below it have a new
 * way up, the launcher says what becomes of their fences (MOVED). */
static void fences_lose(struct agent *a, const struct child *c)
{
    const struct agent_tree *t = a->tree;

    if (a->fences == NULL || c->may_wait) {
        return;
    }
    for (uint32_t i = 0; i < t->n_routes; i++) {
        if (t->routes[i].by == c && t->routes[i].is_up &&
            i < a->job.n_hosts) {
            hb_fence_node_lost(a->fences, a->job.nodes[i]);
        }
    }
}

/* A child that had been up is gone, with all below it. */
static void child_lost(struct child *c, const struct hpcboot_error *err)
{
    struct agent *a = c->agent;
    struct hpcboot_error why;
    uint32_t host = c->host;
    int exit_status = hb_link_exit_status(c->link);
    int was_killed = hb_link_was_killed(c->link);

    hb_words_agent_lost(&c->words, err, &why);
    fences_lose(a, c);
    child_free(c);
    agent_file_taken(a);
    AGENT_SEND(a, child_lost, .host = host, .code = why.code,
               .text = why.text, .exit_status = exit_status,
               .was_killed = (uint8_t)was_killed);
}

static void child_failed(struct child *c, enum hb_boot_stage stage,
                         const struct hpcboot_error *err)
{
    struct agent *a = c->agent;
    uint32_t host = c->host;

    child_free(c);
    AGENT_SEND(a, boot_failed, .host = host, .stage = (uint8_t)stage,
               .code = err->code, .text = err->text);
}

static void no_agent(struct child *c, const struct hpcboot_error *why)
{
    struct hpcboot_error err = {0};

    hb_words_no_agent(&c->words, why, &err);
    child_failed(c, HB_STAGE_AGENT, &err);
}

void child_stage(struct child *c, enum hb_boot_stage stage, const char *detail)
{
    c->stage = stage;
    AGENT_SEND(c->agent, boot_stage, .host = c->host,
               .stage = (uint8_t)stage, .detail = detail,
               .time_ns = (uint64_t)hb_now_ns());
}

static void on_stage(void *arg, enum hb_boot_stage stage, const char *detail)
{
    child_stage(arg, stage, detail);
}

static void on_unverified(void *arg, const struct hb_boot_unverified *key)
{
    struct child *c = arg;

    AGENT_SEND(c->agent, boot_doubt, .host = c->host,
               .fingerprint = key->fingerprint, .host_key = key->host_key);
}

static void on_reached(void *arg, const char *member)
{
    struct child *c = arg;

    agent_note(c->agent, HB_WARN, "for %s you reached %s: the host key there "
               "is that of another member of the gang", c->name, member);
}

static void on_boot_chatter(void *arg, const char *text, size_t len)
{
    struct child *c = arg;

    hb_words_add(&c->words, text, len);
}

static void on_failed(void *arg, enum hb_boot_stage stage,
                      const struct hpcboot_error *err)
{
    child_failed(arg, stage, err);
}

static void on_link_frame(void *arg, const struct hb_frame *f)
{
    struct child *c = arg;
    struct hpcboot_error err = {0};
    int was_up = c->is_up;

    if (child_pass_up(c, f, &err) < 0) {
        if (was_up) {
            child_lost(c, &err);
        } else {
            child_failed(c, HB_STAGE_AGENT, &err);
        }
    }
}

static void on_link_lost(void *arg, const struct hpcboot_error *err)
{
    struct child *c = arg;

    if (c->is_up) {
        child_lost(c, err);
    } else {
        no_agent(c, err);
    }
}

static void on_link_suspect(void *arg, uint32_t silent_ms)
{
    struct child *c = arg;

    AGENT_SEND(c->agent, suspect, .host = c->host, .silent_ms = silent_ms,
               .load_milli = hb_link_peer_load_milli(c->link));
}

static const struct hb_link_events link_events = {
    .frame = on_link_frame, .chatter = on_boot_chatter,
    .suspect = on_link_suspect, .lost = on_link_lost,
};

static void on_open(void *arg, struct hb_channel *ch)
{
    struct child *c = arg;
    struct agent *a = c->agent;
    int ms = a->tree->boot.connect_timeout_ms;
    const struct timeval due = {ms / 1000, (suseconds_t)(ms % 1000) * 1000};

    c->stage = HB_STAGE_AGENT;
    c->link = hb_link_create(a->base, ch, 1, &link_events, c);
    hb_link_limit(c->link, HB_LINK_STRANGER_MAX);
    sure_add(c->timer, &due);
}

static const struct hb_boot_events boot_events = {
    .stage = on_stage, .chatter = on_boot_chatter,
    .unverified = on_unverified, .reached = on_reached, .open = on_open,
    .failed = on_failed,
};

static void on_overdue(evutil_socket_t fd, short what, void *arg)
{
    struct child *c = arg;
    struct hpcboot_error err = {0};

    hb_fail(&err, HPCBOOT_ERR_TIMED_OUT, "no answer within %.10g s",
            c->agent->tree->boot.connect_timeout_ms / 1000.0);
    no_agent(c, &err);
}

static char *copy_or_null(const char *text)
{
    return text[0] != '\0' ? hb_xstrdup(text) : NULL;
}

/* The launcher's known hosts, as a file that exists in memory only. */
static void keep_known_hosts(struct agent_tree *t, struct hb_bytes text)
{
    t->known_fd = memfd_create("known_hosts", MFD_CLOEXEC);
    if (t->known_fd >= 0 &&
        hb_fd_write_all(t->known_fd, text.data, text.len, NULL) == 0) {
        t->known_hosts = hb_xasprintf("/proc/self/fd/%d", t->known_fd);
    }
}

int agent_on_parent(struct agent *a, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct hb_msg_parent m;
    struct agent_tree *t;
    int rc = hb_wire_get_parent(f, &m, err);

    if (rc < 0 || a->tree != NULL) {
        return rc;
    }
    hb_secret_shut_process(); /* the gang's key will be in its memory */
    t = a->tree = hb_xcalloc(1, sizeof *t);
    t->agent_path = copy_or_null(m.agent_path);
    t->prefix = copy_or_null(m.prefix);
    t->kex = copy_or_null(m.kex);
    t->gang_key = copy_or_null(m.gang_key);
    keep_known_hosts(t, m.known_hosts);
    hb_wire_strv_copy(&t->members, &m.members);
    /* The launcher has read ssh_config, and leaves to others only what nothing
     * in it is for. A proxy of this host's would end with its ranks. */
    t->boot = (struct hb_boot_config){
        .base = a->base, .ssh_config = "none",
        .agent_path = t->agent_path, .prefix = t->prefix,
        .kex = t->kex, .gang_key = t->gang_key,
        .known_hosts = t->known_hosts,
        .members = t->members.n > 0
                       ? (const char *const *)hb_strv_view(&t->members) : NULL,
        .host_keys = m.host_keys == HB_HOST_KEYS_PIN ? HB_HOST_KEYS_PIN
                                                     : HB_HOST_KEYS_STRICT,
        .inside_gang = m.inside_gang,
        .connect_timeout_ms = (int)m.connect_timeout_ms,
        .stall_ms = (int)(a->lost_after_ms / HB_LINK_BEATS *
                          HB_LINK_STALL_BEATS),
    };
    return 0;
}

struct child *child_of_agent(const struct agent *a, uint32_t host)
{
    struct child *c = a->tree != NULL ? a->tree->children : NULL;

    while (c != NULL && c->host != host) {
        c = c->next;
    }
    return c;
}

int agent_on_boot(struct agent *a, const struct hb_frame *f,
                  struct hpcboot_error *err)
{
    struct hpcboot_error why = {0};
    struct hb_boot_target target;
    struct hb_msg_boot m;
    struct child *c;
    int rc = hb_wire_get_boot(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    if (a->tree == NULL || m.host >= HB_MAX_NODES ||
        child_of_agent(a, m.host) != NULL) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "BOOT of host %u came out of turn", m.host);
    }
    c = hb_xcalloc(1, sizeof *c);
    c->agent = a;
    c->host = m.host;
    c->name = hb_xstrdup(m.name);
    c->user = copy_or_null(m.user);
    c->token = hb_xstrdup(m.token);
    c->port = (int)m.port;
    c->timer = sure_timer(a->base, on_overdue, c);
    c->next = a->tree->children;
    a->tree->children = c;
    child_expect(c, m.host, a->host);
    target = (struct hb_boot_target){
        .host = c->name, .user = c->user, .port = c->port, .token = c->token,
    };
    /* Without what the launcher knows a key of another host would do. */
    if (a->tree->known_hosts == NULL ||
        access(a->tree->known_hosts, R_OK) < 0) {
        rc = hb_fail(&why, HPCBOOT_ERR_SYSTEM, "the launcher's known_hosts "
                     "cannot be kept in memory here");
    } else {
        rc = hb_boot_start(&c->boot, HB_BOOT_SSH, &a->tree->boot, &target,
                           &boot_events, c, &why);
    }
    if (rc < 0) {
        child_failed(c, HB_STAGE_RESOLVE, &why);
    }
    return 0;
}

int agent_on_boot_cancel(struct agent *a, const struct hb_frame *f,
                         struct hpcboot_error *err)
{
    struct hb_msg_boot_cancel m;
    struct child *c;
    int rc = hb_wire_get_boot_cancel(f, &m, err);

    c = rc == 0 ? child_of_agent(a, m.host) : NULL;
    if (c != NULL) {
        child_send_gone(c, 0);
        fences_lose(a, c);
        child_free(c);
    }
    return rc;
}

void agent_children_destroy(struct agent *a)
{
    struct agent_tree *t = a->tree;

    if (t == NULL) {
        return;
    }
    while (t->children != NULL) {
        child_free(t->children);
    }
    hb_boot_settle();
    hb_fd_close(&t->known_fd);
    free(t->agent_path);
    free(t->prefix);
    free(t->kex);
    free(t->gang_key);
    free(t->known_hosts);
    hb_strv_destroy(&t->members);
    free(t->routes);
    free(t);
    a->tree = NULL;
}
