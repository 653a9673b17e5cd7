/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Understands torchrun, python -m torch.distributed.run and .launch,
 * horovodrun and deepspeed by a table of options for each (launch_tools.c),
 * whose rows say what an option means here. What is unknown is an error,
 * because the word after it may be its value or the program. */
#include "config.h"

#include "bin/recipe/launch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "bin/recipe/launch_impl.h"
#include "bin/recipe/recipe.h"
#include "lib/base/jobmap.h"
#include "lib/base/str.h"

struct reader {
    const struct hb_launch_tool *tool;
    struct hb_launch *l;
    char *const *argv; /* the words that are left */
    const char *python;
    const char *backend, *endpoint; /* of the rendezvous */
    int module, no_python, local_rank;
    int itself; /* the tool runs on each host */
    uint32_t min_nodes, max_nodes, max_restarts, min_ranks, max_ranks;
};

static int bad_value(const struct reader *r, const struct hb_launch_option *o,
                     const char *value, const char *what,
                     struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: --%s %s: expected %s",
                   r->tool->name, o->name, value, what);
}

static int number(const struct reader *r, const struct hb_launch_option *o,
                  const char *value, uint32_t *out, struct hpcboot_error *err)
{
    int zero = o->means == MAX_RESTARTS || o->means == MEGABYTES;
    uint64_t n;

    if (hb_parse_u64(value, zero ? 0 : 1, HB_MAX_RANKS, &n) < 0) {
        return bad_value(r, o, value, "a number", err);
    }
    *out = (uint32_t)n;
    return 0;
}

/* "4" or "2:4" */
static int nodes(struct reader *r, const struct hb_launch_option *o,
                 const char *value, struct hpcboot_error *err)
{
    const char *colon = strchr(value, ':');
    char *first = hb_xstrndup(value, strcspn(value, ":"));
    int rc = number(r, o, first, &r->min_nodes, err);

    r->max_nodes = r->min_nodes;
    if (rc == 0 && colon != NULL) {
        rc = number(r, o, colon + 1, &r->max_nodes, err);
    }
    if (rc == 0 && r->max_nodes < r->min_nodes) {
        rc = bad_value(r, o, value, "MIN:MAX", err);
    }
    r->l->nodes = r->max_nodes;
    r->l->nodes_least = r->min_nodes;
    free(first);
    return rc;
}

/* Does "0,1,..." name other devices than the first ones? */
static int other_devices(const char *text, size_t len)
{
    const char *end = text + len;

    for (unsigned i = 0; text < end; i++) {
        char *rest;

        if (strtoul(text, &rest, 10) != i || rest == text) {
            return 1;
        }
        text = rest < end ? rest + 1 : end;
    }
    return 0;
}

/* "host1@host2:0,2": hosts, and which of their devices: how many these are is
 * how many slots there are. */
static void include(struct reader *r, const char *value)
{
    struct hb_str list = HB_STR_INIT;
    int others = 0;

    while (*value != '\0') {
        size_t n = strcspn(value, "@"), name = strcspn(value, ":@");
        unsigned slots = 0;

        for (size_t i = name; i < n; i++) {
            slots += value[i] == ',' || i == name;
        }
        hb_str_putf(&list, "%s%.*s", list.len > 0 ? "," : "", (int)name,
                    value);
        if (slots > 0) {
            hb_str_putf(&list, ":%u", slots);
            others |= other_devices(value + name + 1, n - name - 1);
        }
        value += n + (value[n] == '@');
    }
    if (others) {
        hb_strv_push(&r->l->ignored, "the choice of devices by --include");
    }
    free(r->l->host_list);
    r->l->host_list = hb_str_steal(&list);
}

static void replace(char **field, const char *text)
{
    free(*field);
    *field = hb_xstrdup(text);
}

/* 0 asks for one that is free, which is what the recipe finds. */
static int master_port(const struct reader *r, const struct hb_launch_option *o,
                       const char *value, struct hpcboot_error *err)
{
    int port;

    if (hb_parse_int(value, 0, 65535, &port) < 0) {
        return bad_value(r, o, value, "a port number", err);
    }
    if (port > 0) {
        hb_env_set(&r->l->given, o->to, value);
    }
    return 0;
}

/* Gloo takes one; NCCL and Open MPI any number, of one option or of several. */
static int interfaces(struct reader *r, const struct hb_launch_option *o,
                      const char *value, struct hpcboot_error *err)
{
    struct hb_strv *env = &r->l->env;
    const char *before = hb_env_get(env, "NCCL_SOCKET_IFNAME");
    int first = (int)strcspn(value, ",");
    char *all;

    if (first == 0 || strpbrk(value, " \t") != NULL) {
        return bad_value(r, o, value, "names, as eth0,eth1", err);
    }
    all = before != NULL ? hb_xasprintf("%s,%s", before, value)
                         : hb_xstrdup(value);
    if (before == NULL) {
        hb_env_setf(env, o->to, "%.*s", first, value);
    }
    hb_env_set(env, "NCCL_SOCKET_IFNAME", all);
    hb_env_set(env, "OMPI_MCA_btl_tcp_if_include", all);
    free(all);
    return 0;
}

/* torchrun's auto and DeepSpeed's -1 are all devices that there are; any other
 * word asks for what is counted anyway. */
static int per_node(struct reader *r, const struct hb_launch_option *o,
                    const char *value, struct hpcboot_error *err)
{
    struct hb_launch *l = r->l;
    int is_word = isalpha((unsigned char)value[0]) || hb_streq(value, "-1");

    l->per_node = 0;
    l->per_node_word = is_word ? value : NULL;
    l->slots = hb_streq(value, "gpu") ? "gpu"
               : hb_streq(value, "auto") || hb_streq(value, "-1")
                     ? HB_LAUNCH_DEVICES : NULL;
    return is_word ? 0 : number(r, o, value, &l->per_node, err);
}

static int take_value(struct reader *r, const struct hb_launch_option *o,
                      const char *value, struct hpcboot_error *err)
{
    struct hb_launch *l = r->l;
    uint32_t n = 0;
    int rc;

    switch (o->means) {
    case GIVE: hb_env_set(&l->given, o->to, value); return 0;
    case VARIABLE: hb_env_set(&l->env, o->to, value); return 0;
    case INTERFACES: return interfaces(r, o, value, err);
    case HOSTS: replace(&l->host_list, value); return 0;
    case HOSTFILE: replace(&l->hostfile, value); return 0;
    case DISCOVER: replace(&l->discover_hosts, value); return 0;
    case INCLUDE: include(r, value); return 0;
    case NODES: return nodes(r, o, value, err);
    case RANKS: return number(r, o, value, &l->np, err);
    case MIN_RANKS: return number(r, o, value, &r->min_ranks, err);
    case MAX_RANKS: return number(r, o, value, &r->max_ranks, err);
    case MAX_RESTARTS: return number(r, o, value, &r->max_restarts, err);
    case MEGABYTES:
        rc = number(r, o, value, &n, err);
        hb_env_setf(&l->env, o->to, "%llu", (unsigned long long)n << 20);
        return rc;
    case MASTER_PORT: return master_port(r, o, value, err);
    case RDZV_BACKEND: r->backend = value; return 0;
    case RDZV_ENDPOINT: r->endpoint = value; return 0;
    case SSH_PORT:
        return hb_parse_int(value, 1, 65535, &l->port) < 0
                   ? bad_value(r, o, value, "a port number", err) : 0;
    case PER_NODE: return per_node(r, o, value, err);
    default:
        return 0;
    }
}

static int take_option(struct reader *r, const struct hb_launch_option *o,
                       const char *spelling, const char *value,
                       struct hpcboot_error *err)
{
    switch (o->means) {
    case WITHOUT: hb_strv_push(&r->l->ignored, spelling); return 0;
    case REFUSED:
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: %s is not supported: %s",
                       r->tool->name, spelling, o->text);
    case MODULE: r->module = 1; return 0;
    case NO_PYTHON: r->no_python = 1; return 0;
    case USE_ENV: case NO_LOCAL_RANK: r->local_rank = 0; return 0;
    case TURN: hb_env_set(&r->l->env, o->to, o->text); return 0;
    case SWITCH:
        if (hb_streq(o->to, "nodes")) {
            return nodes(r, o, o->text, err);
        }
        hb_env_set(&r->l->given, o->to, o->text);
        return 0;
    default:
        return take_value(r, o, value, err);
    }
}

/* -p22: an option of one letter that takes a value, which is there. */
static const struct hb_launch_option *with_letter(const struct reader *r,
                                                  const char *word)
{
    const struct hb_launch_option *o = hb_launch_find_option(r->tool, word, 1);

    return *word != '\0' && o != NULL && o->n_values == 1 ? o : NULL;
}

/* The option that a word is for Python's argparse, which takes a long name's
 * beginning for it, too; *value_out: what the word holds besides, or NULL. */
static int meant_option(const struct reader *r, const char *spelling,
                        const struct hb_launch_option **out,
                        const char **value_out, struct hpcboot_error *err)
{
    const char *word = spelling + strspn(spelling, "-");
    size_t len = strcspn(word, "=");
    const struct hb_launch_option *other = NULL;

    *value_out = word[len] == '=' ? word + len + 1 : NULL;
    *out = hb_launch_find_option(r->tool, word, len);
    if (*out == NULL && word - spelling > 1) {
        *out = hb_launch_find_beginning(r->tool, word, len, &other);
    } else if (*out == NULL && (*out = with_letter(r, word)) != NULL) {
        *value_out = word + 1;
    }
    len += (size_t)(word - spelling);
    if (*out == NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: there is no option %.*s "
                       "that hbrun knows; --framework none starts %s itself",
                       r->tool->name, (int)len, spelling, r->tool->name);
    }
    if (other != NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: %.*s may be --%s or --%s",
                       r->tool->name, (int)len, spelling, (*out)->name,
                       other->name);
    }
    return 0;
}

/* One option and its value; the next word is behind it. */
static int read_option(struct reader *r, struct hpcboot_error *err)
{
    const char *spelling = *r->argv++, *value;
    const struct hb_launch_option *o;
    int rc = meant_option(r, spelling, &o, &value, err);
    int more; /* words that it takes */

    if (rc < 0) {
        return rc;
    }
    for (more = value != NULL ? 0 : o->n_values; more > 0; more--) {
        value = *r->argv;
        if (value == NULL) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: %s needs a value",
                           r->tool->name, spelling);
        }
        r->argv++;
    }
    return take_option(r, o, spelling, value, err);
}

/* HOST:PORT: the first host listens there, unless that is a server of its own,
 * which hosts then do without. */
static int read_endpoint(struct reader *r, struct hpcboot_error *err)
{
    const char *port = r->endpoint != NULL ? strrchr(r->endpoint, ':') : NULL;

    if (port == NULL || strchr(port, ']') != NULL ||
        (r->backend != NULL && hb_starts_with(r->backend, "etcd"))) {
        return 0;
    }
    return master_port(r, hb_launch_find_option(r->tool, "rdzv-endpoint",
                                                strlen("rdzv-endpoint")),
                       port + 1, err);
}

static int read_variable(struct reader *r, const char *name,
                         const char *option, const char *value,
                         struct hpcboot_error *err)
{
    int rc = take_value(r, hb_launch_find_option(r->tool, option,
                                                 strlen(option)), value, err);

    if (rc < 0 && err != NULL) {
        hb_error_prefix(err, rc, "%s", name);
    }
    return rc;
}

static int read_variables(struct reader *r,
                          const struct hb_launch_variables *v,
                          struct hpcboot_error *err)
{
    int rc = 0;

    if (!hb_streq(r->tool->framework, "torch")) {
        return 0;
    }
    if (v->nodes != NULL && strchr(v->nodes, ':') != NULL) {
        rc = read_variable(r, "PET_NNODES", "nnodes", v->nodes, err);
    }
    if (rc == 0 && v->max_restarts != NULL && *v->max_restarts != '\0') {
        rc = read_variable(r, "PET_MAX_RESTARTS", "max-restarts",
                           v->max_restarts, err);
    }
    return rc;
}

/* Failed workers are to be started again, or hosts to come and go: that is
 * torchrun's own work, one on each host. */
static int is_elastic(const struct reader *r)
{
    return hb_streq(r->tool->framework, "torch") &&
           (r->itself || r->max_restarts > 0 || r->min_nodes < r->max_nodes);
}

static void make_elastic(struct reader *r)
{
    struct hb_launch *l = r->l;
    const char *port = hb_env_get(&l->given, "port_master");

    l->framework = "torchrun";
    hb_env_set(&l->given, "python", r->python);
    hb_env_set(&l->given, "launcher", r->local_rank
                                          ? "torch.distributed.launch"
                                          : "torch.distributed.run");
    hb_env_setf(&l->given, "max_restarts", "%u", r->max_restarts);
    if (r->min_nodes > 0) {
        hb_env_setf(&l->given, "min_nodes", "%u", r->min_nodes);
        hb_env_setf(&l->given, "max_nodes", "%u", r->max_nodes);
    }
    if (r->min_nodes < r->max_nodes) {
        l->np_min = r->min_nodes;
        l->np = r->max_nodes;
        l->on_failure = "continue";
    }
    if (l->per_node > 0) {
        hb_env_setf(&l->given, "nproc", "%u", l->per_node);
    }
    if (port != NULL) {
        hb_env_set(&l->given, "port_rdzv", port);
        hb_env_unset(&l->given, "port_master");
    }
    hb_env_set(&l->given, "module", r->module ? "--module" : "");
    hb_env_set(&l->given, "no_python", r->no_python ? "--no_python" : "");
    l->per_node = 1;
    hb_strv_extend(&l->program, r->argv);
}

/* DeepSpeed's launcher on each host. */
static void make_deepspeed(struct reader *r, const char *command)
{
    struct hb_launch *l = r->l;

    l->framework = "deepspeed-launcher";
    hb_env_set(&l->given, "deepspeed", command);
    if (l->per_node > 0) {
        hb_env_setf(&l->given, "nproc", "%u", l->per_node);
    }
    hb_env_set(&l->given, "module", r->module ? "--module" : "");
    hb_env_set(&l->given, "no_python", r->no_python ? "--no_python" : "");
    hb_env_set(&l->given, "no_local_rank",
               r->local_rank ? "" : "--no_local_rank");
    l->per_node = 1;
    hb_strv_extend(&l->program, r->argv);
}

/* Horovod that may go on with fewer ranks, and more: what it takes for elastic
 * is a least number, or hosts that come and go. It begins with -np there, and
 * grows to the most. */
static void make_shrinkable(struct reader *r)
{
    struct hb_launch *l = r->l;
    uint32_t least = r->min_ranks > 0 ? r->min_ranks : l->np;

    if (r->min_ranks == 0 && l->discover_hosts == NULL) {
        return;
    }
    l->np = r->max_ranks > l->np ? r->max_ranks : l->np;
    l->np = l->np > 0 ? l->np : least;
    if (least < l->np) {
        l->np_min = least;
    }
    l->on_failure = "continue";
    hb_env_set(&l->given, "controller", "gloo");
    if (least > 0) {
        hb_env_setf(&l->given, "min_np", "%u", least);
    }
}

static void make_program(struct reader *r)
{
    struct hb_launch *l = r->l;

    make_shrinkable(r);
    if (!r->no_python && !r->tool->any_program) {
        hb_strv_push(&l->program, r->python);
        hb_strv_push(&l->program, "-u");
        if (r->module) {
            hb_strv_push(&l->program, "-m");
        }
    }
    if (r->local_rank) {
        hb_env_set(&l->given, "local_rank_argument", r->tool->local_rank);
        hb_env_setf(&l->given, HB_RECIPE_SCRIPT_WORDS, "%zu",
                    l->program.n + 1);
    }
    hb_strv_extend(&l->program, r->argv);
}

int hb_launch_read(char *const *argv, const char *python,
                   const char *framework,
                   const struct hb_launch_variables *variables,
                   struct hb_launch *out, struct hpcboot_error *err)
{
    struct reader r = {.l = out, .python = python};
    size_t words = 0;
    int rc = 0;

    *out = (struct hb_launch){.tool = NULL};
    r.tool = hb_launch_find_tool(argv, &words);
    if (r.tool == NULL) {
        return 0;
    }
    out->tool = r.tool->name;
    out->framework = r.tool->framework;
    out->slots = r.tool->slots; /* where no option says how many */
    r.argv = argv + words;
    r.local_rank = r.tool->local_rank != NULL;
    r.itself = hb_streq(framework, "torchrun") ||
               hb_streq(framework, "deepspeed-launcher");
    if (r.tool->is_module) {
        r.python = argv[0];
    }
    rc = read_variables(&r, variables, err);
    while (rc == 0 && *r.argv != NULL && (*r.argv)[0] == '-' &&
           !hb_streq(*r.argv, "--")) {
        rc = read_option(&r, err);
    }
    rc = rc < 0 ? rc : read_endpoint(&r, err);
    if (rc < 0) {
        return rc;
    }
    if (hb_streq(*r.argv, "--")) {
        r.argv++;
    }
    if (*r.argv == NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: there is no program after "
                       "its options", r.tool->name);
    }
    if (is_elastic(&r)) {
        make_elastic(&r);
    } else if (r.itself && hb_streq(out->framework, "deepspeed")) {
        make_deepspeed(&r, argv[0]);
    } else {
        make_program(&r);
    }
    return 1;
}

int hb_launch_is_per_rank(const struct hb_launch *l)
{
    return !hb_streq(l->framework, "torchrun") &&
           !hb_streq(l->framework, "deepspeed-launcher");
}

void hb_launch_destroy(struct hb_launch *l)
{
    hb_strv_destroy(&l->program);
    hb_strv_destroy(&l->given);
    hb_strv_destroy(&l->env);
    hb_strv_destroy(&l->ignored);
    free(l->host_list);
    free(l->hostfile);
    free(l->discover_hosts);
}
