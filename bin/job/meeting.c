/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Where the ranks of a framework meet. Once they are placed, every agent is
 * asked for the ports that are to listen on its host and for its address; with
 * the answers the recipe is tried for the first and the last rank, so that what
 * cannot work is said before anything is started, and goes to all agents. A
 * host that comes later is asked, too; one in the place of a lost one says its
 * address alone, since the others may know its ports. What agents saw of the
 * meeting is met.c's. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/framework.h"
#include "bin/proc/search.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define PORT_MAX 65535

/* What operators put a port into: "29500", "10.0.0.1:36543", a TF_CONFIG: the
 * number behind the last colon that ends the text or a string. 0: none. */
static uint32_t port_in(const char *text)
{
    uint32_t found = 0;
    uint64_t n;

    if (hb_parse_u64(text, 1, PORT_MAX, &n) == 0) {
        return (uint32_t)n;
    }
    for (const char *p = strchr(text, ':'); p != NULL;
         p = strchr(p + 1, ':')) {
        size_t digits = strspn(p + 1, "0123456789");
        char *number = hb_xstrndup(p + 1, digits);

        if ((p[1 + digits] == '\0' || p[1 + digits] == '"') &&
            hb_parse_u64(number, 1, PORT_MAX, &n) == 0) {
            found = (uint32_t)n;
        }
        free(number);
    }
    return found;
}

/* The user's, the operator's, the recipe's. */
static uint32_t wanted_port(const struct job *j,
                            const struct hb_recipe_port *p,
                            const char **whose_out)
{
    char *name = hb_xasprintf("port_%s", p->name);
    const char *said = hb_env_get(&j->framework->given, name);
    uint64_t n;

    free(name);
    *whose_out = "";
    if (said != NULL && hb_parse_u64(said, 1, PORT_MAX, &n) == 0) {
        return (uint32_t)n | HB_PORT_MUST;
    }
    for (size_t i = 0; i < p->from.n; i++) {
        int is_said;
        const char *value = job_framework_env(j, p->from.v[i], &is_said);
        uint32_t port = value != NULL ? port_in(value) : 0;

        if (port > 0 && is_said && p->kind == HB_RECIPE_PORT_HEAD) {
            return port | HB_PORT_MUST; /* ranks have it in any case */
        }
        if (port > 0) {
            *whose_out = p->from.v[i];
            return port;
        }
    }
    return p->wanted;
}

uint32_t job_meeting_head(const struct job *j)
{
    const struct job_framework *f = j->framework;

    return j->map->node_of_rank[hb_recipe_head(f->recipe, j->map,
                                               f->role_of_rank)];
}

/* Calls `each` for every port that is to listen on a node, in order. */
typedef void (*port_visit)(struct job *j, uint32_t at, uint32_t wanted,
                           const char *whose, void *arg);

static void visit_ports(struct job *j, uint32_t node, port_visit each,
                        void *arg)
{
    const struct hb_jobmap *map = j->map;
    const struct hb_recipe *r = j->framework->recipe;
    size_t n;
    const struct hb_recipe_port *ports = hb_recipe_ports(r, &n);

    for (size_t i = 0; i < n; i++) {
        const char *whose;
        uint32_t wanted = wanted_port(j, &ports[i], &whose);

        if (ports[i].kind == HB_RECIPE_PORT_HOST ||
            (ports[i].kind == HB_RECIPE_PORT_HEAD &&
             node == job_meeting_head(j))) {
            each(j, hb_recipe_port_at(r, map, i, node, 0), wanted, whose, arg);
        }
        for (uint32_t k = 0; ports[i].kind == HB_RECIPE_PORT_RANK &&
             k < map->n_ranks; k++) {
            if (map->node_of_rank[k] == node) {
                each(j, hb_recipe_port_at(r, map, i, node, k), wanted, whose,
                     arg);
            }
        }
    }
}

struct wish {
    uint32_t *v, n;
};

static void add_wish(struct job *j, uint32_t at, uint32_t wanted,
                     const char *whose, void *arg)
{
    struct wish *w = arg;

    w->v = hb_xrealloc(w->v, (w->n + 1) * sizeof *w->v);
    w->v[w->n++] = wanted;
}

/* Its name may be one that ssh_config alone knows, or take a name server long
 * again, and of several addresses the first may be a dead one. */
static const char *way_to(const struct job_host *h)
{
    return h->reached != NULL ? h->reached : h->spec->name;
}

/* A host names the address by which it reaches the head's host; the head's own
 * host, that by which it reaches another, best one whose address is known. */
static uint32_t towards_of(const struct job *j, uint32_t node)
{
    uint32_t head = job_meeting_head(j);

    for (uint32_t i = 0; node == head && i < j->map->n_nodes; i++) {
        if (i != head && j->node_host[i]->reached != NULL) {
            return i;
        }
    }
    return node != head ? head : node == 0 ? 1 : 0;
}

/* known: the address that others have of it; "": none. */
static void ask_node(struct job *j, uint32_t node, const char *known)
{
    struct job_host *h = j->node_host[node];
    struct wish w = {NULL, 0};

    visit_ports(j, node, add_wish, &w);
    h->ports_asked = 1;
    HOST_SEND(h, ports, .wanted = {.v = w.v, .n = w.n},
              .towards = j->map->n_nodes > 1
                             ? way_to(j->node_host[towards_of(j, node)]) : "",
              .known = known);
    free(w.v);
}

/* Agents that were lost before they had answered. */
static void ask_again(struct job *j)
{
    for (uint32_t i = 0; i < j->map->n_nodes; i++) {
        if (!j->framework->answered[i] && !j->node_host[i]->ports_asked) {
            ask_node(j, i, "");
        }
    }
}

int job_meeting_ask(struct job *j, struct hpcboot_error *err)
{
    struct job_framework *f = j->framework;
    int rc;

    if (f == NULL) {
        return 0;
    }
    if (f->asked) {
        ask_again(j);
        return f->addresses.n < j->map->n_nodes;
    }
    f->asked = 1;
    rc = job_roles_assign(j, err);
    if (rc < 0) {
        return rc;
    }
    f->slots = hb_xcalloc(j->map->n_nodes, sizeof *f->slots);
    for (uint32_t i = 0; i < j->map->n_nodes; i++) {
        f->slots[i] = job_slots_of(j->node_host[i], NULL);
    }
    f->n_ports = hb_recipe_n_ports(f->recipe, j->map);
    f->ports = hb_xcalloc(f->n_ports + 1, sizeof *f->ports);
    f->answered = hb_xcalloc(j->map->n_nodes, sizeof *f->answered);
    f->node_address = hb_xcalloc(j->map->n_nodes, sizeof *f->node_address);
    for (uint32_t i = 0; i < j->map->n_nodes; i++) {
        ask_node(j, i, "");
    }
    return 1;
}

/* --- answers ------------------------------------------------------------- */

struct answer {
    const struct hb_msg_ports_found *m;
    struct job_host *h;
    uint32_t n;
};

static void take_port(struct job *j, uint32_t at, uint32_t wanted,
                      const char *whose, void *arg)
{
    struct answer *a = arg;
    uint32_t port = hb_wire_u32s_at(&a->m->ports, a->n++);

    j->framework->ports[at] = port;
    if (*whose != '\0' && port != wanted) {
        hb_log(HB_WARN, "host %s: port %u, which %s declares, is taken: %u is "
               "used instead", a->h->spec->name, wanted, whose, port);
    }
}

static int all_answered(const struct job *j)
{
    for (uint32_t i = 0; i < j->map->n_nodes; i++) {
        if (!j->framework->answered[i]) {
            return 0;
        }
    }
    return 1;
}

static void make_facts(const struct job *j, struct hb_recipe_facts *out)
{
    const struct job_framework *f = j->framework;

    *out = (struct hb_recipe_facts){
        .map = j->map, .job_id = j->id,
        .addresses = hb_strv_view(&f->addresses), .ports = f->ports,
        .role_of_rank = f->role_of_rank, .slots = f->slots,
        .given = hb_strv_view(&f->given),
        .program = j->opt->apps[0].argv.v, .dir = "/tmp",
    };
}

/* Which ranks only serve the others. */
static int learn_serving(const struct job *j,
                         const struct hb_recipe_facts *facts,
                         struct hpcboot_error *err)
{
    struct job_framework *f = j->framework;
    uint32_t n = facts->map->n_ranks;
    int rc;

    f->serves = hb_xrealloc(f->serves, n);
    rc = hb_recipe_serving(f->recipe, facts, f->serves, err);
    f->n_serving = 0;
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        f->n_serving += f->serves[i];
    }
    return rc;
}

static int try_rank(const struct job *j, const struct hb_recipe_facts *facts,
                    uint32_t rank, struct hpcboot_error *err)
{
    struct hb_recipe_rank made;
    int rc = hb_recipe_expand(j->framework->recipe, facts, rank, &made, err);

    if (rc == 0) {
        hb_recipe_rank_destroy(&made);
    }
    return rc;
}

/* One of each kind, and the last one, whose texts are the longest. */
static int try_ranks(const struct job *j, const struct hb_recipe_facts *facts,
                     struct hpcboot_error *err)
{
    uint32_t *ranks = NULL;
    size_t n = 0;
    int rc = hb_recipe_kinds(j->framework->recipe, facts, &ranks, &n, err);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = try_rank(j, facts, ranks[i], err);
    }
    free(ranks);
    return rc < 0 ? rc : try_rank(j, facts, j->map->n_ranks - 1, err);
}

/* What it makes for a rank may be wrong although the file is right. */
static int try_recipe(const struct job *j, struct hpcboot_error *err)
{
    struct job_framework *f = j->framework;
    struct hb_recipe_facts facts;
    int rc;

    make_facts(j, &facts);
    rc = learn_serving(j, &facts, err);
    if (rc == 0 && f->n_serving == j->map->n_ranks) {
        hb_log(HB_WARN, "all ranks have roles that only serve others (%s): "
               "the job is over when all of them have ended", f->name);
    }
    if (rc == 0) {
        rc = hb_recipe_meet(f->recipe, &facts, &f->places, &f->n_places, err);
    }
    if (rc == 0) {
        rc = hb_recipe_grows(f->recipe, &facts, err);
        f->grows = rc > 0;
        rc = rc < 0 ? rc : 0;
    }
    return rc < 0 ? rc : try_ranks(j, &facts, err);
}

/* --- a host that comes while ranks run ------------------------------------ */

int job_meeting_has_roles(const struct job *j)
{
    return j->framework != NULL && j->framework->role_of_rank != NULL;
}

/* One process a host joins a cluster, or meets again by itself. */
int job_meeting_is_closed(const struct job *j)
{
    size_t n_ports = 0;

    if (j->framework != NULL) {
        (void)hb_recipe_ports(j->framework->recipe, &n_ports);
    }
    return n_ports > 0 && !hb_recipe_per_host(j->framework->recipe) &&
           !j->framework->grows;
}

/* Ports that are known keep their numbers, wherever they stand in the list. */
static void move_ports(const struct job *j, const struct hb_jobmap *grown,
                       uint32_t *to)
{
    const struct job_framework *f = j->framework;
    size_t n;
    const struct hb_recipe_port *ports = hb_recipe_ports(f->recipe, &n);

    for (size_t i = 0; i < n; i++) {
        uint32_t each = ports[i].kind == HB_RECIPE_PORT_RANK ? j->map->n_ranks
                        : ports[i].kind == HB_RECIPE_PORT_HOST
                            ? j->map->n_nodes : 1;

        memcpy(&to[hb_recipe_port_at(f->recipe, grown, i, 0, 0)],
               &f->ports[hb_recipe_port_at(f->recipe, j->map, i, 0, 0)],
               each * sizeof *to);
    }
}

void job_meeting_grow(struct job *j, const struct hb_jobmap *grown)
{
    struct job_framework *f = j->framework;
    uint32_t n = grown->n_nodes;
    struct hb_recipe_facts facts;
    uint32_t *ports;

    if (f == NULL) {
        return;
    }
    f->n_ports = hb_recipe_n_ports(f->recipe, grown);
    ports = hb_xcalloc(f->n_ports + 1, sizeof *ports);
    move_ports(j, grown, ports);
    free(f->ports);
    f->ports = ports;
    f->slots = hb_xrealloc(f->slots, n * sizeof *f->slots);
    f->slots[n - 1] = 1; /* until it is asked */
    f->answered = hb_xrealloc(f->answered, n * sizeof *f->answered);
    f->node_address = hb_xrealloc(f->node_address,
                                  n * sizeof *f->node_address);
    f->node_address[n - 1] = NULL;
    hb_strv_push(&f->addresses, "");
    make_facts(j, &facts);
    facts.map = grown;
    (void)learn_serving(j, &facts, NULL);
}

/* Do others know the address of this node? */
int job_meeting_pins(const struct job *j, uint32_t node)
{
    const struct hb_recipe_port *ports = NULL;
    size_t n = 0;

    if (j->framework != NULL) {
        ports = hb_recipe_ports(j->framework->recipe, &n);
        if (hb_recipe_lists_addresses(j->framework->recipe)) {
            return 1;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (ports[i].kind == HB_RECIPE_PORT_RANK ||
            (ports[i].kind == HB_RECIPE_PORT_HEAD &&
             node == job_meeting_head(j))) {
            return 1;
        }
    }
    return 0;
}

int job_meeting_joins(struct job_host *h)
{
    struct job_framework *f = h->job->framework;

    if (f == NULL) {
        return 0;
    }
    f->slots[h->node] = job_slots_of(h, NULL);
    ask_node(h->job, h->node,
             !h->joins && job_meeting_pins(h->job, h->node)
                 ? f->addresses.v[h->node] : "");
    return 1;
}

static void returned(struct job_host *h, const char *address)
{
    struct job *j = h->job;
    char **known = &j->framework->addresses.v[h->node];

    if (job_meeting_pins(j, h->node) && !hb_streq(*known, address)) {
        job_fail(j, HB_CAUSE_HOST, 0, "host %s has the address %s now, and "
                 "the others turn to %s; --on-failure restart-job starts all "
                 "again", h->spec->name, address, *known);
        return;
    }
    free(*known);
    *known = hb_xstrdup(address);
    host_begin_late(h);
}

static void joined(struct job_host *h, const struct hb_msg_ports_found *m)
{
    struct job_framework *f = h->job->framework;
    struct hpcboot_error why = {0};

    if (m->text[0] != '\0') {
        hb_fail(&why, HPCBOOT_ERR_HOST, "%s", m->text);
        host_lost(h, &why);
        return;
    }
    if (!h->joins) {
        returned(h, m->address);
        return;
    }
    visit_ports(h->job, h->node, take_port, &(struct answer){m, h, 0});
    free(f->addresses.v[h->node]);
    f->addresses.v[h->node] = hb_xstrdup(m->address);
    job_live_go(h);
}

int job_meeting_found(struct job_host *h, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    struct job *j = h->job;
    struct job_framework *fw = j->framework;
    struct hpcboot_error why = {0};
    struct hb_msg_ports_found m;
    int rc = hb_wire_get_ports_found(f, &m, err);

    if (rc == 0 && fw != NULL && h->late && h->node != HB_NODE_UNSET &&
        h->state == HOST_READY && j->phase == JOB_RUNNING) {
        joined(h, &m);
        return 0;
    }
    if (rc < 0 || fw == NULL || !fw->asked || h->node == HB_NODE_UNSET ||
        j->phase != JOB_CONNECTING || fw->answered[h->node]) {
        return rc;
    }
    if (m.text[0] != '\0') {
        job_fail(j, HB_CAUSE_USAGE, 0, "host %s: %s", h->spec->name, m.text);
        return 0;
    }
    visit_ports(j, h->node, take_port, &(struct answer){&m, h, 0});
    fw->answered[h->node] = 1;
    fw->node_address[h->node] = hb_xstrdup(m.address);
    if (!all_answered(j)) {
        return 0;
    }
    for (uint32_t i = 0; i < j->map->n_nodes; i++) {
        hb_strv_take(&fw->addresses, fw->node_address[i]);
        fw->node_address[i] = NULL;
    }
    if (try_recipe(j, &why) < 0) {
        job_fail(j, HB_CAUSE_USAGE, 0, "%s", why.text);
    } else {
        job_begin(j);
    }
    return 0;
}

int job_meeting_put(struct job *j, struct hb_buf *out,
                    struct hpcboot_error *err)
{
    const struct job_framework *f = j->framework;

    if (f == NULL) {
        return 0;
    }
    const struct hb_msg_recipe m = {
        .name = f->path, .text = {f->text, f->len},
        .given = hb_wire_strv_of(hb_strv_view(&f->given)),
        .addresses = hb_wire_strv_of(hb_strv_view(&f->addresses)),
        .ports = {.v = f->ports, .n = f->n_ports},
        .roles = {.v = f->role_of_rank,
                  .n = f->role_of_rank != NULL ? j->map->n_ranks : 0},
        .slots = {.v = f->slots, .n = j->map->n_nodes},
    };

    return hb_wire_put_recipe(out, 0, HB_NODE_LAUNCHER, HB_NODE_ALL, &m, err);
}

/* --- the end ------------------------------------------------------------- */

static int is_over(const struct job *j)
{
    const struct job_framework *f = j->framework;

    if (f == NULL || f->n_serving == 0 || f->n_serving == j->map->n_ranks) {
        return 0;
    }
    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        if (!f->serves[r] &&
            (!j->ranks[r].ended || job_live_refills(j, r))) {
            return 0;
        }
    }
    return 1;
}

void job_meeting_settle(struct job *j)
{
    if (j->phase == JOB_RUNNING && is_over(j)) {
        job_kill(j, (uint32_t)j->opt->grace_ms, "the program has ended");
    }
}

void job_meeting_explain(const struct job *j, struct hb_strv *lines)
{
    const struct job_framework *f = j->framework;
    size_t n;
    const struct hb_recipe_port *ports;

    if (f == NULL) {
        return;
    }
    hb_strv_pushf(lines, "framework: %s (%s): %s, by %s", f->name, f->why,
                  hb_recipe_summary(f->recipe), f->path);
    job_processes_explain(j, lines);
    ports = hb_recipe_ports(f->recipe, &n);
    for (size_t i = 0; i < n; i++) {
        const char *whose;
        uint32_t wanted = wanted_port(j, &ports[i], &whose);

        if (f->ports != NULL && f->addresses.n > 0 &&
            ports[i].kind == HB_RECIPE_PORT_HEAD) {
            hb_strv_pushf(lines, "port %s: %s:%u", ports[i].name,
                          f->addresses.v[job_meeting_head(j)],
                          f->ports[hb_recipe_port_at(f->recipe, j->map, i, 0,
                                                     0)]);
        } else if (wanted & HB_PORT_MUST) {
            hb_strv_pushf(lines, "port %s: %u, as it was asked for",
                          ports[i].name, wanted & PORT_MAX);
        } else if (wanted == 0) {
            hb_strv_pushf(lines, "port %s: one that is free", ports[i].name);
        } else {
            hb_strv_pushf(lines, "port %s: %u%s%s%s, or one that is free",
                          ports[i].name, wanted, *whose != '\0' ? " (" : "",
                          whose, *whose != '\0' ? ")" : "");
        }
    }
}
