/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The tree below this agent. The launcher says which hosts to start; the login
 * and the link are those that the launcher itself would use. What a child
 * says goes up, with its number where it does not know that yet; what is
 * addressed to a host below goes to the child by which that host spoke; what
 * is for all goes to every child. Fences alone stop here, to be gathered.
 *
 * A child speaks for those hosts only whose HELLO came by it. HELLO may come
 * by another child than before (the host was started anew elsewhere): the
 * launcher knows by its token whether that is true. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bin/boot/boot.h"
#include "bin/hpcbootd/agent.h"
#include "bin/link/words.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

struct child {
    struct agent *agent;
    struct child *next;
    uint32_t host;
    char *name, *user, *token;
    int port;
    enum hb_boot_stage stage;
    struct hb_boot *boot;
    struct hb_link *link;
    struct event *timer; /* HELLO is overdue */
    int is_up;           /* HELLO has come */
    int may_wait;        /* those below it wait to be adopted */
    uint64_t files_out, files_taken; /* bytes of files: sent, and taken */
    int64_t clock_told_ns;
    struct hb_words words;
};

/* What all logins have in common; the strings of `boot` are owned here. */
struct agent_tree {
    struct hb_boot_config boot;
    char *agent_path, *prefix, *kex, *gang_key, *known_hosts;
    int known_fd; /* behind known_hosts, in memory */
    struct hb_strv members;
    struct child *children;
    struct child **routes; /* [n_routes] by host; NULL: not below */
    uint32_t n_routes;
};

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
        if (t->routes[i] == c) {
            t->routes[i] = NULL;
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
        if (t->routes[i] == c && i < a->job.n_hosts) {
            hb_fence_node_lost(a->fences, a->job.nodes[i]);
        }
    }
}

/* A child that had been up is gone, with all below it. */
static void child_lost(struct child *c, const struct hpcboot_error *err)
{
    struct agent *a = c->agent;
    uint32_t host = c->host;

    fences_lose(a, c);
    child_free(c);
    agent_file_taken(a);
    AGENT_SEND(a, child_lost, .host = host, .code = err->code,
               .text = err->text);
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

static void on_stage(void *arg, enum hb_boot_stage stage, const char *detail)
{
    struct child *c = arg;

    c->stage = stage;
    AGENT_SEND(c->agent, boot_stage, .host = c->host,
               .stage = (uint8_t)stage, .detail = detail,
               .time_ns = (uint64_t)hb_now_ns());
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

/* 1: the child may speak for a host, 0: it may not, -1: another does by now. */
static int is_below(struct child *c, uint32_t host, int is_hello)
{
    struct agent_tree *t = c->agent->tree;

    if (host >= HB_MAX_NODES) {
        return 0;
    }
    if (is_hello && host >= t->n_routes) {
        uint32_t n = host + host / 2 + 64;

        t->routes = hb_xrealloc(t->routes, n * sizeof *t->routes);
        memset(t->routes + t->n_routes, 0,
               (n - t->n_routes) * sizeof *t->routes);
        t->n_routes = n;
    }
    if (is_hello) {
        t->routes[host] = c;
    }
    return host >= t->n_routes || t->routes[host] == NULL
               ? 0 : t->routes[host] == c ? 1 : -1;
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

static int pass_up(struct child *c, const struct hb_frame *f,
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
    below = is_below(c, copy.src, f->type == HB_MSG_HELLO);
    if (below <= 0) {
        return below < 0 ? 0 : hb_fail(err, HPCBOOT_ERR_PROTOCOL, "the agent "
                                       "spoke for another host (%u)", copy.src);
    }
    if (!c->is_up) {
        on_stage(c, HB_STAGE_READY, NULL);
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
    if (f->type == HB_MSG_DONE && a->fences && copy.src < a->job.n_hosts) {
        hb_fence_node_over(a->fences, a->job.nodes[copy.src]);
    }
    if (a->link == NULL) {
        return 0; /* it says that again when this agent has been adopted */
    }
    rc = hb_wire_put_frame(hb_link_out(a->link), &copy, err);
    agent_flush(a);
    return rc;
}

static void on_link_frame(void *arg, const struct hb_frame *f)
{
    struct child *c = arg;
    struct hpcboot_error err = {0};
    int was_up = c->is_up;

    if (pass_up(c, f, &err) < 0) {
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
    event_add(c->timer, &due);
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
    t->boot = (struct hb_boot_config){
        .base = a->base, .agent_path = t->agent_path, .prefix = t->prefix,
        .kex = t->kex, .gang_key = t->gang_key,
        .known_hosts = t->known_hosts,
        .members = t->members.n > 0
                       ? (const char *const *)hb_strv_view(&t->members) : NULL,
        .host_keys = m.host_keys == HB_HOST_KEYS_PIN ? HB_HOST_KEYS_PIN
                                                     : HB_HOST_KEYS_STRICT,
        .inside_gang = m.inside_gang,
        .connect_timeout_ms = (int)m.connect_timeout_ms,
    };
    return 0;
}

static struct child *find_child(const struct agent *a, uint32_t host)
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
        find_child(a, m.host) != NULL) {
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
    c->timer = evtimer_new(a->base, on_overdue, c);
    c->next = a->tree->children;
    a->tree->children = c;
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

static void send_gone(struct child *c, int below)
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
        send_gone(c, 1);
    }
}

int agent_on_boot_cancel(struct agent *a, const struct hb_frame *f,
                         struct hpcboot_error *err)
{
    struct hb_msg_boot_cancel m;
    struct child *c;
    int rc = hb_wire_get_boot_cancel(f, &m, err);

    c = rc == 0 ? find_child(a, m.host) : NULL;
    if (c != NULL) {
        send_gone(c, 0);
        fences_lose(a, c);
        child_free(c);
    }
    return rc;
}

static void send_down(struct child *c, const struct hb_frame *f)
{
    struct hb_msg_welcome m;
    struct hb_msg_file_data d;

    if (c->link == NULL) {
        return;
    }
    if (f->type == HB_MSG_FILE_DATA &&
        hb_wire_get_file_data(f, &d, NULL) == 0) {
        c->files_out += d.data.len;
    }
    if (f->type == HB_MSG_WELCOME && f->dst == c->host &&
        hb_wire_get_welcome(f, &m, NULL) == 0) {
        hb_link_heartbeat(c->link, m.heartbeat_ms, m.dead_ms);
        c->may_wait = m.orphan_ms > 0;
    }
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
    if (t != NULL && f->dst < t->n_routes && t->routes[f->dst] != NULL) {
        send_down(t->routes[f->dst], f);
    }
    return 1;
}

void agent_fence_down(struct agent *a, uint32_t child,
                      const struct hb_msg_fence_down *m)
{
    struct child *c = find_child(a, child);

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
            if (t->routes[i] == c && a->job.nodes[i] != HB_NODE_UNSET) {
                below[n++] = a->job.nodes[i];
            }
        }
        rc = hb_fence_set_child(a->fences, c->host, below, n, err);
    }
    free(below);
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
