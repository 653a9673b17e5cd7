/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The recipe of a framework, applied on the host where the ranks are: each
 * gets its variables, its files and its command line. What the user said about
 * a variable in so many words (-x NAME=VALUE) stands.
 *
 * A recipe with commands makes of a rank `hpcbootd crew`, which runs them
 * around the program (crew.c). */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bin/hpcbootd/agent.h"
#include "bin/recipe/recipe.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/topo/gpus.h"

struct agent_recipe {
    struct hb_recipe *recipe;
    struct hb_strv given, addresses;
    uint32_t *ports, *roles, *slots;
    uint32_t n_ports, n_roles, n_slots;
};

static uint32_t *copy_numbers(const struct hb_wire_u32s *list)
{
    uint32_t *v = hb_xcalloc(list->n + 1, sizeof *v);

    for (uint32_t i = 0; i < list->n; i++) {
        v[i] = hb_wire_u32s_at(list, i);
    }
    return v;
}

int agent_recipe_puts_files(const struct agent *a)
{
    return a->recipe != NULL && hb_recipe_puts_files(a->recipe->recipe);
}

void agent_recipe_destroy(struct agent_recipe *r)
{
    if (r == NULL) {
        return;
    }
    hb_recipe_destroy(r->recipe);
    hb_strv_destroy(&r->given);
    hb_strv_destroy(&r->addresses);
    free(r->ports);
    free(r->roles);
    free(r->slots);
    free(r);
}

/* Checks the lengths of all that is indexed later by rank, node or role. */
static int fits(const struct agent *a, const struct agent_recipe *r)
{
    const struct hb_jobmap *map = a->job.map;
    uint32_t n_roles = 0;

    while (hb_recipe_roles(r->recipe)[n_roles] != NULL) {
        n_roles++;
    }
    for (uint32_t i = 0; i < r->n_roles; i++) {
        if (r->roles[i] >= n_roles) {
            return 0;
        }
    }
    return r->addresses.n == map->n_nodes &&
           r->n_ports == hb_recipe_n_ports(r->recipe, map) &&
           r->n_slots == map->n_nodes &&
           (r->n_roles == 0 || r->n_roles == map->n_ranks);
}

int agent_recipe_frame(struct agent *a, const struct hb_frame *f,
                       struct hpcboot_error *err)
{
    struct agent_recipe *r;
    struct hb_msg_recipe m;
    int rc = hb_wire_get_recipe(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    if (a->job.map == NULL || a->recipe != NULL || a->ordered) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "RECIPE came out of turn");
    }
    r = hb_xcalloc(1, sizeof *r);
    a->recipe = r;
    hb_wire_strv_copy(&r->given, &m.given);
    hb_wire_strv_copy(&r->addresses, &m.addresses);
    r->ports = copy_numbers(&m.ports);
    r->roles = copy_numbers(&m.roles);
    r->slots = copy_numbers(&m.slots);
    r->n_ports = m.ports.n;
    r->n_roles = m.roles.n;
    r->n_slots = m.slots.n;
    rc = hb_recipe_parse(&r->recipe, m.name, m.text.data, m.text.len, err);
    if (rc == 0 && !fits(a, r)) {
        rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL, "RECIPE does not fit the job");
    }
    return rc;
}

static void make_facts(const struct agent *a, char *const *program,
                       struct hb_recipe_facts *out)
{
    const struct agent_recipe *r = a->recipe;

    *out = (struct hb_recipe_facts){
        .map = a->job.map, .job_id = a->job_id,
        .addresses = hb_strv_view(&r->addresses), .ports = r->ports,
        .role_of_rank = r->n_roles > 0 ? r->roles : NULL,
        .given = hb_strv_view(&r->given), .slots = r->slots,
        .program = program,
    };
}

size_t agent_recipe_meeting(const struct agent *a,
                            struct hb_recipe_place **out)
{
    struct hb_recipe_facts facts;
    size_t n = 0;

    *out = NULL;
    if (a->recipe != NULL) {
        make_facts(a, NULL, &facts);
        (void)hb_recipe_meet(a->recipe->recipe, &facts, out, &n, NULL);
    }
    return n;
}

uint32_t agent_recipe_nodes(const struct agent *a)
{
    return (uint32_t)a->recipe->addresses.n;
}

const char *agent_recipe_address(const struct agent *a, uint32_t node)
{
    return a->recipe->addresses.v[node];
}

/* "+NAME=..." among the user's rules. */
static int has_rule(const struct hb_strv *rules, const char *entry)
{
    size_t n = strcspn(entry, "=");

    for (size_t i = 0; i < rules->n; i++) {
        const char *rule = rules->v[i];

        if (rule[0] == '+' && strncmp(rule + 1, entry, n) == 0 &&
            rule[1 + n] == '=') {
            return 1;
        }
    }
    return 0;
}

static int is_said(const struct agent *a, const struct agent_app *app,
                   const char *entry)
{
    return has_rule(&a->job.env_rules, entry) ||
           has_rule(&app->env_rules, entry);
}

static void put_env(const struct agent *a, const struct agent_app *app,
                    const struct hb_recipe_rank *made, struct hb_strv *env)
{
    for (size_t i = 0; i < made->unset.n; i++) {
        if (!is_said(a, app, made->unset.v[i])) {
            hb_env_unset(env, made->unset.v[i]);
        }
    }
    for (size_t i = 0; i < made->set.n; i++) {
        if (!is_said(a, app, made->set.v[i])) {
            hb_env_put(env, made->set.v[i]);
        }
    }
    for (size_t i = 0; i < made->defaults.n; i++) {
        char *name = hb_xstrndup(made->defaults.v[i],
                                 strcspn(made->defaults.v[i], "="));

        if (hb_env_get(env, name) == NULL) {
            hb_env_put(env, made->defaults.v[i]);
        }
        free(name);
    }
}

static int put_files(const char *dir, const struct hb_recipe_rank *made,
                     struct hpcboot_error *err)
{
    int rc = 0;

    if (made->n_files > 0 && mkdir(dir, S_IRWXU) < 0 && errno != EEXIST) {
        return hb_fail_errno(err, HPCBOOT_ERR_HOST, "the directory %s cannot "
                             "be made", dir);
    }
    for (size_t i = 0; rc == 0 && i < made->n_files; i++) {
        const struct hb_recipe_file *file = &made->files[i];
        char *path = hb_xasprintf("%s/%s", dir, file->name);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                      S_IRUSR | S_IWUSR);

        if (fd < 0) {
            rc = hb_fail_errno(err, HPCBOOT_ERR_HOST, "%s cannot be made",
                               path);
        } else {
            rc = hb_fd_write_all(fd, file->text, file->len, err);
        }
        hb_fd_close(&fd);
        free(path);
    }
    return rc;
}

/* --- the command line of `hpcbootd crew` -------------------------------- */

static void put_command(struct hb_strv *out,
                        const struct hb_recipe_command *c)
{
    static const char *const options[] = {
        [HB_RECIPE_START] = "--start", [HB_RECIPE_READY] = "--ready",
        [HB_RECIPE_STOP] = "--stop"};

    hb_strv_push(out, options[c->step]);
    if (c->step == HB_RECIPE_READY) {
        hb_strv_pushf(out, "%u", c->seconds);
    }
    hb_strv_pushf(out, "%zu", c->argv.n);
    hb_strv_extend(out, hb_strv_view(&c->argv));
}

static void crew_argv(const char *self, const struct hb_recipe_rank *made,
                      struct hb_strv *out)
{
    hb_strv_push(out, self);
    hb_strv_push(out, "crew");
    for (size_t i = 0; i < made->n_commands; i++) {
        put_command(out, &made->commands[i]);
    }
    hb_strv_push(out, "--");
    hb_strv_extend(out, hb_strv_view(&made->argv));
}

/* By the rank's own variables, which may show it less than there is. */
static void add_gpus(const struct agent *a, const struct hb_strv *env,
                     struct hb_recipe_facts *facts)
{
    struct hb_gpus gpus;

    hb_gpus_count("", hb_strv_view(env), &gpus);
    facts->gpus = gpus.n;
    facts->gpus_are_own = a->gpus != NULL;
}

static int is_internet(const struct ifaddrs *i)
{
    return i->ifa_addr != NULL && (i->ifa_addr->sa_family == AF_INET ||
                                   i->ifa_addr->sa_family == AF_INET6);
}

static int has_address(const struct ifaddrs *i, const char *address)
{
    char text[INET6_ADDRSTRLEN];
    const void *raw;

    raw = i->ifa_addr->sa_family == AF_INET
              ? (const void *)&((struct sockaddr_in *)i->ifa_addr)->sin_addr
              : (const void *)&((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr;
    return hb_streq(inet_ntop(i->ifa_addr->sa_family, raw, text, sizeof text),
                    address);
}

/* Who is told an interface takes its first address: it is named where that is
 * the one by which other hosts reach this host. */
static char *interface_of(const char *address)
{
    struct ifaddrs *all = NULL, *i, *first;
    char *name = NULL;

    if (getifaddrs(&all) < 0) {
        return NULL;
    }
    for (i = all; i != NULL && name == NULL; i = i->ifa_next) {
        first = all;
        while (!is_internet(first) || !hb_streq(first->ifa_name, i->ifa_name)) {
            if ((first = first->ifa_next) == NULL) {
                break;
            }
        }
        if (first == i && !(i->ifa_flags & IFF_LOOPBACK) &&
            has_address(i, address)) {
            name = hb_xstrdup(i->ifa_name);
        }
    }
    freeifaddrs(all);
    return name;
}

int agent_recipe_apply(struct rank *r, struct hb_strv *env,
                       struct hpcboot_error *err)
{
    struct agent *a = r->agent;
    const struct agent_recipe *ar = a->recipe;
    const struct agent_app *app;
    struct hb_recipe_facts facts;
    struct hb_recipe_rank made;
    char *dir, *self, *interface;
    int rc;

    if (ar == NULL) {
        return 0;
    }
    app = &a->job.apps[hb_jobmap_app_of(a->job.map, r->rank)];
    dir = hb_xasprintf("%s/rank.%u", a->files_dir != NULL ? a->files_dir
                                                          : "/tmp", r->rank);
    self = hb_self_exe();
    self = self != NULL ? self : hb_xstrdup("hpcbootd");
    make_facts(a, app->argv.v, &facts);
    facts.dir = dir;
    facts.agent = self;
    interface = interface_of(ar->addresses.v[a->node]);
    facts.interface = interface;
    facts.restart = a->job.restart + r->restarts;
    add_gpus(a, env, &facts);
    rc = hb_recipe_expand(ar->recipe, &facts, r->rank, &made, err);
    if (rc == 0) {
        put_env(a, app, &made, env);
        rc = put_files(dir, &made, err);
        if (made.n_commands > 0 || made.argv.n == 0) {
            crew_argv(self, &made, &r->argv);
        } else {
            hb_strv_extend(&r->argv, hb_strv_view(&made.argv));
        }
        hb_recipe_rank_destroy(&made);
    }
    free(interface);
    free(dir);
    free(self);
    return rc;
}
