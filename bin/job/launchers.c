/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A command line of another launcher (torchrun, horovodrun, deepspeed) as the
 * job's program: what it asks for becomes options of hbrun, where the user has
 * told hbrun itself nothing, and the recipe that it means is the job's. What
 * the words mean bin/recipe/launch.c knows. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bin/job/framework.h"
#include "bin/proc/env.h"
#include "bin/proc/search.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define PYTHON_PATH "python_path"

/* The Python that a program runs with: what its first line names, as long as
 * that has no options; where the path is too long for Linux or has blanks, the
 * first line names a shell, and the second one begins with '''exec' PATH. */
static char *python_of(const char *text)
{
    static const char shell[] = "#!/bin/sh\n'''exec' ";
    const char *path = text + strlen("#!"), *stop = "\n";
    char *python;

    if (hb_starts_with(text, shell)) {
        path = text + strlen(shell);
        stop = *path == '"' ? "\"\n" : " \n";
        path += *path == '"';
    } else if (!hb_starts_with(text, "#!/")) {
        return NULL;
    }
    python = hb_xstrndup(path, strcspn(path, stop));
    if (strstr(python, "python") == NULL ||
        (*stop == '\n' && strchr(python, ' ') != NULL)) {
        free(python);
        python = NULL;
    }
    return python;
}

static char *interpreter_of(const struct job *j, const char *program)
{
    struct hb_strv tries = HB_STRV_INIT;
    char *found = NULL;

    hb_search_paths(program, j->env, &tries);
    for (size_t i = 0; i < tries.n && found == NULL; i++) {
        char *text = NULL;
        size_t len;

        if (hb_file_read(tries.v[i], 1u << 20, &text, &len, NULL) >= 0) {
            found = python_of(text);
        }
        free(text);
    }
    hb_strv_destroy(&tries);
    return found != NULL ? found : hb_xstrdup("python3");
}

static void keep_given(struct job *j, const struct hb_strv *given)
{
    for (size_t i = 0; i < given->n; i++) {
        hb_env_put(&j->framework->given, given->v[i]);
    }
}

/* Whether hbrun's own options say what a variable ("NAME=value") is. */
static int is_said(const struct hb_strv *rules, const char *variable)
{
    size_t len = strcspn(variable, "=");

    for (size_t i = 0; i < rules->n; i++) {
        const char *name = rules->v[i] + 1;

        if (strncmp(name, variable, len) == 0 &&
            (name[len] == '=' || name[len] == '\0')) {
            return 1;
        }
    }
    return 0;
}

/* --map-by may say how many ranks a host has, if nothing else does. */
static int map_agrees(const struct hb_options *o, const struct hb_launch *l)
{
    struct hb_map_policy p;

    job_map_by(o, &p);
    return p.by == HB_MAP_PPR_NODE ? p.ppr == l->per_node
           : p.by == HB_MAP_GPU    ? l->per_node == 0
                                   : job_map_orders(&p);
}

/* Do hbrun's own numbers of ranks come to what the command line asks for?
 * Without a number of hosts there it may be any; what "auto" comes to only they
 * know, but it is not meant by a rank for each host. */
static int numbers_agree(const struct hb_options *o, const struct hb_launch *l)
{
    uint32_t np = o->apps[0].np, each = l->per_node;
    int fixed = l->nodes > 0 && l->nodes == l->nodes_least;

    if (l->np > 0) {
        return np == 0 || np == l->np;
    }
    if (each == 0 && l->per_node_word == NULL) {
        return 1;
    }
    if (np == 0 && o->per_node == 0) {
        return map_agrees(o, l);
    }
    if (o->per_node > 0 && o->per_node != each) {
        return 0;
    }
    if (each == 0) {
        return np > (fixed ? l->nodes : 1);
    }
    return fixed && np > 0 ? np == each * l->nodes : np % each == 0;
}

/* "8 processes on each host" */
static char *wanted_number(const struct hb_launch *l)
{
    const uint32_t n = l->np > 0 ? l->np : l->per_node;

    if (n == 0) {
        return hb_xasprintf("as many processes on each host as \"%s\" says",
                            l->per_node_word);
    }
    return hb_xasprintf("%u process%s%s", n, n == 1 ? "" : "es",
                        l->np > 0 ? "" : " on each host");
}

/* As with mpirun, one torchrun on each host may be meant, which starts that
 * many processes: fewer are started here, and that should not go unseen. */
static void tell_numbers(const struct hb_options *o, const struct hb_launch *l)
{
    char *number;

    if (!hb_launch_is_per_rank(l) || numbers_agree(o, l)) {
        return;
    }
    number = wanted_number(l);
    hb_log(HB_WARN, "%s is to start %s, which has no effect: hbrun starts them "
           "itself, and how many ranks there are it is told by its own "
           "options; --framework none starts %s itself", l->tool, number,
           l->tool);
    free(number);
}

/* Do hbrun's own options leave it to the command line how many ranks there are?
 * A list of CPUs goes with a number of all ranks, not of those on each host. */
static int leave_numbers(const struct hb_options *o, const struct hb_launch *l)
{
    struct hb_map_policy p;

    job_map_by(o, &p);
    return o->apps[0].np == 0 && o->per_node == 0 && !job_map_counts(o) &&
           (l->np > 0 || l->per_node == 0 || job_map_orders(&p));
}

/* What the user told hbrun itself stands. */
static void take_launch(struct job *j, struct hb_launch *l)
{
    struct hb_options *o = j->own;
    struct hb_app_options *app = &o->apps[0];

    for (size_t i = 0; i < l->env.n; i++) {
        if (!is_said(&app->env_rules, l->env.v[i]) &&
            !is_said(&o->env_rules, l->env.v[i])) {
            hb_strv_pushf(&app->env_rules, "+%s", l->env.v[i]);
        }
    }
    if (o->host_list == NULL && o->hostfile == NULL &&
        o->discover_hosts == NULL) {
        o->host_list = l->host_list;
        o->hostfile = l->hostfile;
        o->discover_hosts = l->discover_hosts;
        l->host_list = l->hostfile = l->discover_hosts = NULL;
    }
    if (leave_numbers(o, l)) {
        app->np = l->np;
        app->np_min = l->np_min;
        if (l->per_node > 0) {
            job_map_per_node(o, l->per_node);
        }
    } else {
        tell_numbers(o, l);
    }
    if (o->default_slots == NULL && l->slots != NULL) {
        o->default_slots = hb_xstrdup(hb_streq(l->slots, HB_LAUNCH_DEVICES)
                                          ? HB_SLOTS_DEVICES : l->slots);
    }
    if (o->on_failure == NULL && !o->keep_going && l->on_failure != NULL) {
        o->on_failure = hb_xstrdup(l->on_failure);
    }
    if (o->nodes == 0) {
        o->nodes = l->nodes;
        o->nodes_least = l->nodes_least;
    }
    o->port = o->port == 0 ? l->port : o->port;
    hb_strv_destroy(&app->argv);
    app->argv = l->program;
    l->program = (struct hb_strv)HB_STRV_INIT;
    keep_given(j, &l->given);
    for (size_t i = 0; i < l->ignored.n; i++) {
        hb_log(HB_WARN, "%s of %s has no effect: hbrun starts the processes "
               "itself", l->ignored.v[i], l->tool);
    }
}

/* What lies there unasked must not be another's: it says what ranks load. */
static int read_deepspeed_env(struct job *j, const char *path, int unasked,
                              struct hpcboot_error *err)
{
    struct hb_strv *rules = &j->framework->rules;
    int rc = (unasked ? hb_env_own_file_rules : hb_env_file_rules)(path, rules,
                                                                   err);

    if (unasked && rc == HPCBOOT_ERR_AUTH) {
        hb_log(HB_WARN, "DeepSpeed's variables: %s; it is not used", err->text);
        return 0;
    }
    if (rc < 0) { /* whatever is wrong with it: nothing has been started */
        hb_error_prefix(err, rc, "DeepSpeed's variables");
        err->code = rc = HPCBOOT_ERR_USAGE;
    }
    return rc;
}

/* DeepSpeed gives the ranks of several hosts the variables of these files, the
 * later one before the other. What --env-file names goes before both. */
static int take_deepspeed_env(struct job *j, struct hpcboot_error *err)
{
    const char *name = hb_search_env(j->env, "DS_ENV_FILE");
    const char *dirs[] = {hb_search_env(j->env, "HOME"), "."};
    int unasked = name == NULL || *name == '\0', rc = 0;

    name = unasked ? ".deepspeed_env" : name;
    for (size_t i = 0; rc == 0 && i < sizeof dirs / sizeof *dirs; i++) {
        struct stat st;
        char *path;

        if (dirs[i] == NULL) {
            continue;
        }
        path = name[0] == '/' ? hb_xstrdup(name)
                              : hb_xasprintf("%s/%s", dirs[i], name);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            rc = read_deepspeed_env(j, path, unasked, err);
        }
        free(path);
        if (name[0] == '/') {
            break;
        }
    }
    return rc;
}

/* Where processes of several hosts import from, besides their script's place:
 * DeepSpeed adds where it was started. */
static void give_python_path(struct job *j)
{
    const char *dir = j->opt->apps[0].wdir;

    hb_env_set(&j->framework->given, PYTHON_PATH, dir != NULL ? dir : j->wdir);
}

int job_launchers_complete(struct job *j, struct hpcboot_error *err)
{
    const char *dir = hb_env_get(&j->framework->given, PYTHON_PATH), *path;
    struct hb_strv env = HB_STRV_INIT;
    int rc = dir == NULL ? 0 : job_app_env(j, 0, NULL, &env, err);

    path = hb_env_get(&env, "PYTHONPATH");
    if (rc == 0 && path != NULL && *path != '\0') {
        char *all = hb_xasprintf("%s:%s", dir, path);

        hb_env_set(&j->framework->given, PYTHON_PATH, all);
        free(all);
    }
    hb_strv_destroy(&env);
    return rc;
}

/* The operator's policy is one torchrun on each host of its gang: it does not
 * hold for ranks, hosts or a framework that hbrun itself is told. */
static struct hb_launch_variables variables_of(const struct job *j)
{
    const struct hb_options *o = j->opt;
    int ranks = o->apps[0].np > 0 || o->per_node > 0 || job_map_counts(o);
    int hosts = o->host_list != NULL || o->hostfile != NULL ||
                o->discover_hosts != NULL || o->nodes > 0;
    struct hb_launch_variables v = {.nodes = NULL};

    if (j->framework != NULL && hb_streq(j->framework->name, "torch")) {
        return v; /* a process for each rank is wanted, and no torchrun */
    }
    if (!ranks) {
        v.max_restarts = hb_search_env(j->env, "PET_MAX_RESTARTS");
    }
    if (!ranks && !hosts) {
        v.nodes = hb_search_env(j->env, "PET_NNODES");
    }
    return v;
}

/* Is it the framework of this name? `torch` is the tool's, and what the line
 * asks for may need the tool itself. */
static int is_meant(const char *name, const char *framework)
{
    return hb_streq(name, framework) ||
           (hb_streq(name, "torch") && hb_streq(framework, "torchrun"));
}

/* One word of what ${words ahead} is cut into. */
static int put_quoted(struct hb_str *out, const char *word,
                      struct hpcboot_error *err)
{
    const char *quote = strchr(word, '\'') == NULL ? "'" : "\"";

    if (strchr(word, *quote) != NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: a word with both kinds of "
                       "quotes cannot be in front of a launcher that runs on "
                       "each host", word);
    }
    hb_str_putf(out, "%s%s%s%s", out->len > 0 ? " " : "", quote, word, quote);
    return 1;
}

/* What stands in front of the tool (env A=1, numactl -N 0) goes in front of
 * each process, or of the tool where it runs itself. */
static int put_ahead(struct hb_launch *l, char *const *argv, size_t n,
                     struct hpcboot_error *err)
{
    const char *script = hb_env_get(&l->given, HB_RECIPE_SCRIPT_WORDS);
    struct hb_strv program = HB_STRV_INIT;
    struct hb_str ahead = HB_STR_INIT;
    int rc = 1;

    for (size_t i = 0; rc == 1 && i < n; i++) {
        hb_strv_push(&program, argv[i]);
        rc = hb_launch_is_per_rank(l) ? 1 : put_quoted(&ahead, argv[i], err);
    }
    if (rc == 1 && n > 0 && !hb_launch_is_per_rank(l)) {
        hb_env_set(&l->given, "ahead", hb_str_text(&ahead));
    } else if (rc == 1 && n > 0) {
        if (script != NULL) {
            hb_env_setf(&l->given, HB_RECIPE_SCRIPT_WORDS, "%zu",
                        n + strtoul(script, NULL, 10));
        }
        hb_strv_extend(&program, l->program.v);
        hb_strv_destroy(&l->program);
        l->program = program;
        program = (struct hb_strv)HB_STRV_INIT;
    }
    hb_strv_destroy(&program);
    hb_str_destroy(&ahead);
    return rc;
}

int job_launchers_read(struct job *j, struct hpcboot_error *err)
{
    const struct hb_app_options *app = &j->opt->apps[0];
    const struct hb_launch_variables variables = variables_of(j);
    struct hb_launch l;
    int other_path, rc;
    size_t ahead = job_wrapped_words(app->argv.v, &other_path);
    char *const *argv = app->argv.v + ahead;
    char *python;

    if (hb_launch_tool(argv) == NULL) {
        return 0;
    }
    /* the Python of a PATH that is made in front of the tool is that one's */
    python = other_path ? hb_xstrdup("python3") : interpreter_of(j, argv[0]);
    rc = hb_launch_read(argv, python,
                        j->framework != NULL ? j->framework->name : NULL,
                        &variables, &l, err);
    free(python);
    if (rc == 1) {
        rc = put_ahead(&l, app->argv.v, ahead, err);
    }
    if (rc == 1 && (j->framework == NULL ||
                    is_meant(j->framework->name, l.framework))) {
        job_framework_name(j, l.framework, "the command line is %s's",
                           l.tool);
    }
    if (rc == 1) {
        take_launch(j, &l);
    }
    if (rc == 1 && hb_streq(l.tool, "deepspeed")) {
        give_python_path(j);
        rc = take_deepspeed_env(j, err);
    }
    hb_launch_destroy(&l);
    return rc < 0 ? rc : 0;
}
