/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which framework the ranks meet by, and what it asks of the job: chosen by
 * --framework or --recipe, by a command line of another launcher (torchrun),
 * by the gang, or by the operator's variables. A job without any goes on as
 * before. launchers.c, roles.c and meeting.c do the rest. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bin/cli/optdef.h"
#include "bin/job/change.h"
#include "bin/job/framework.h"
#include "bin/pm/wrapper.h"
#include "bin/proc/search.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

/* The user's recipes stand before the installation's. */
static struct hb_recipe_dirs recipe_dirs(const struct job *j,
                                         struct hb_strv *out)
{
    char *self = hb_self_exe();
    char *slash = self != NULL ? strrchr(self, '/') : NULL;
    int has_own = hb_recipe_add_own(hb_search_env(j->env, "XDG_CONFIG_HOME"),
                                    hb_search_env(j->env, "HOME"), out);

    hb_strv_push(out, HB_SYSCONFDIR "/hpcboot/recipes");
    if (slash != NULL) {
        hb_strv_pushf(out, "%.*s/share/hpcboot/recipes",
                      (int)(slash - self), self);
        hb_strv_pushf(out, "%.*s/../share/hpcboot/recipes",
                      (int)(slash - self), self);
    }
    hb_strv_push(out, HB_PKGDATADIR "/recipes");
    free(self);
    return (struct hb_recipe_dirs){hb_strv_view(out),
                                   has_own ? out->v[0] : NULL};
}

static int take_text(struct job *j, char *path, char *text, size_t len,
                     struct hpcboot_error *err)
{
    struct job_framework *f = j->framework;
    int rc;

    free(f->path);
    free(f->text);
    f->path = path;
    f->text = text;
    f->len = len;
    hb_recipe_destroy(f->recipe);
    f->recipe = NULL;
    rc = hb_recipe_parse(&f->recipe, path, text, len, err);
    if (rc < 0) { /* nothing was started: the request is wrong */
        err->code = HPCBOOT_ERR_USAGE;
        return HPCBOOT_ERR_USAGE;
    }
    return 0;
}

static int read_named(struct job *j, const char *name,
                      struct hpcboot_error *err)
{
    struct hb_strv dirs = HB_STRV_INIT;
    const struct hb_recipe_dirs where = recipe_dirs(j, &dirs);
    char *path, *text;
    size_t len;
    int rc = hb_recipe_find(&where, name, &path, &text, &len, err);

    hb_strv_destroy(&dirs);
    if (rc < 0) {
        hb_error_prefix(err, rc, "--framework %s", name);
        return err->code = HPCBOOT_ERR_USAGE;
    }
    return take_text(j, path, text, len, err);
}

static int read_file(struct job *j, const char *path,
                     struct hpcboot_error *err)
{
    char *text = NULL;
    size_t len;
    int rc = hb_file_read_lasting(path, HB_RECIPE_BYTES_MAX, &text, &len, err);

    if (rc < 0) {
        hb_error_prefix(err, rc, "--recipe");
        err->code = HPCBOOT_ERR_USAGE;
        return HPCBOOT_ERR_USAGE;
    }
    return take_text(j, hb_xstrdup(path), text, len, err);
}

void job_framework_name(struct job *j, const char *name, const char *fmt, ...)
{
    struct hb_str why = HB_STR_INIT;
    va_list ap;

    if (j->framework == NULL) {
        j->framework = hb_xcalloc(1, sizeof *j->framework);
    }
    va_start(ap, fmt);
    hb_str_vputf(&why, fmt, ap);
    va_end(ap);
    free(j->framework->name);
    free(j->framework->why);
    j->framework->name = hb_xstrdup(name);
    j->framework->why = hb_str_steal(&why);
}

/* What is typed goes before what a file or a variable says. */
static void prefer_typed(struct hb_options *o)
{
    int framework, recipe;

    if (o == NULL || o->framework == NULL || o->recipe == NULL) {
        return;
    }
    framework = hb_options_is_typed(o, "framework");
    recipe = hb_options_is_typed(o, "recipe");
    if (framework != recipe) {
        char **weaker = framework ? &o->recipe : &o->framework;

        free(*weaker);
        *weaker = NULL;
    }
}

/* Ranks of all programs would be of one world, as the framework sees it; and
 * each copy of a tool that is started as it stands has a world of its own. */
static int check_several(const struct job *j, struct hpcboot_error *err)
{
    const struct hb_options *o = j->opt;

    if (j->framework != NULL && hb_streq(j->framework->name, "none")) {
        return 0;
    }
    for (uint32_t i = 0; o->n_apps > 1 && i < o->n_apps; i++) {
        const char *tool = job_wrapped_tool(o->apps[i].argv.v);

        if (tool != NULL) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "program %u of %u is a "
                           "command line of %s, whose options hbrun reads "
                           "where it is the only program: give what it "
                           "starts, with -n, or say --framework none to start "
                           "%s itself", i, o->n_apps, tool, tool);
        }
    }
    return 0;
}

int job_framework_command(struct job *j, struct hpcboot_error *err)
{
    const struct hb_options *o = j->opt;

    if (j->framework != NULL) {
        return 0; /* of a life before */
    }
    prefer_typed(j->own);
    if (o->recipe != NULL && o->framework != NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--framework and --recipe both "
                       "name a recipe: which one?");
    }
    if (o->framework != NULL && !hb_streq(o->framework, "auto")) {
        job_framework_name(j, o->framework, "--framework (%s)",
                           hb_options_origin(o, "framework"));
    } else if (o->recipe != NULL) {
        job_framework_name(j, o->recipe, "--recipe (%s)",
                           hb_options_origin(o, "recipe"));
    }
    if (o->n_apps != 1 && o->recipe == NULL) {
        return check_several(j, err);
    }
    if (j->own == NULL || o->n_apps != 1 || o->recipe != NULL ||
        (j->framework != NULL && hb_streq(j->framework->name, "none"))) {
        return 0;
    }
    return job_launchers_read(j, err);
}

/* --- the gang ------------------------------------------------------------ */

static const char *program_name(const struct job *j)
{
    const char *program = *job_wrapped_program(j->opt->apps[0].argv.v);
    const char *slash = strrchr(program, '/');

    return slash != NULL ? slash + 1 : program;
}

/* Outside an operator's gang only the command counts, and most jobs are no
 * framework's: a text that does not have its name need not be understood. */
static int may_recognise(const struct job *j, const char *text, size_t len)
{
    const char *name = program_name(j);

    return j->gang.operator_made ||
           memmem(text, len, name, strlen(name)) != NULL;
}

int job_framework_of_gang(const struct job *j, const struct hb_recipe *r)
{
    if (!j->gang.operator_made) {
        return 0;
    }
    if (hb_recipe_detects(r, "gang", j->gang.source)) {
        return 2;
    }
    for (char *const *v = j->env; *v != NULL; v++) {
        char *variable = hb_xstrndup(*v, strcspn(*v, "="));
        int yes = hb_recipe_detects(r, "variable", variable);

        free(variable);
        if (yes) {
            return 3;
        }
    }
    return 0;
}

/* Who says how many ranks there are wants as many programs. */
static int is_one_of_many(const struct job *j, const struct hb_recipe *r)
{
    const struct hb_options *o = j->opt;

    return hb_recipe_runs_once(r) &&
           (o->apps[0].np > 1 || o->per_node > 1 || job_map_counts(o));
}

static int recognises(const struct job *j, const struct hb_recipe *r)
{
    if (hb_recipe_detects(r, "command", program_name(j))) {
        return 1;
    }
    return is_one_of_many(j, r) ? 0 : job_framework_of_gang(j, r);
}

/* In which of the directories a recipe is. */
static size_t place_of(const struct hb_strv *dirs, const char *path)
{
    size_t i = 0;

    while (i < dirs->n && (!hb_starts_with(path, dirs->v[i]) ||
                           path[strlen(dirs->v[i])] != '/')) {
        i++;
    }
    return i;
}

/* The recipe that knows the command, else the gang, else a variable; of several
 * one of the first directory, and the first by name there. */
static void look_around(struct job *j)
{
    static const char *const why[] = {"", "the command", "the gang",
                                      "the operator's variables"};
    struct hb_strv dirs = HB_STRV_INIT, names = HB_STRV_INIT;
    const struct hb_recipe_dirs where = recipe_dirs(j, &dirs);
    const char *best = NULL;
    size_t best_place = 0;
    int strength = 4;

    hb_recipe_names(hb_strv_view(&dirs), &names);
    for (size_t i = 0; i < names.n; i++) {
        struct hb_recipe *r = NULL;
        struct hpcboot_error wrong = {0};
        char *path, *text;
        size_t len;
        int how = 0;

        if (hb_recipe_find(&where, names.v[i], &path, &text, &len,
                           NULL) < 0) {
            continue;
        }
        if (may_recognise(j, text, len) &&
            hb_recipe_parse(&r, path, text, len, &wrong) < 0) {
            hb_log(HB_WARN, "%s: the recipe is passed over", wrong.text);
        } else if (r != NULL) {
            how = recognises(j, r);
        }
        if (how > 0 && (how < strength ||
                        (how == strength &&
                         place_of(&dirs, path) < best_place))) {
            strength = how;
            best = names.v[i];
            best_place = place_of(&dirs, path);
        }
        hb_recipe_destroy(r);
        free(path);
        free(text);
    }
    if (best != NULL) {
        job_framework_name(j, best, "%s", why[strength]);
    }
    hb_strv_destroy(&names);
    hb_strv_destroy(&dirs);
}

/* What a file or a variable says is for jobs of any kind. */
static int take_set(struct job *j, const char *entry,
                    struct hpcboot_error *err)
{
    struct job_framework *f = j->framework;
    char *name = hb_xstrndup(entry, strcspn(entry, "="));
    int known = strchr(entry, '=') != NULL &&
                hb_recipe_takes(f->recipe, name);

    free(name);
    if (known) {
        hb_env_put(&f->given, entry);
    } else if (hb_streq(hb_options_origin_of(j->opt, "recipe-set", entry),
                        HB_COMMAND_LINE)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--recipe-set %s: %s sets "
                       "nothing of that name", entry, f->path);
    }
    return 0;
}

/* What hbrun itself does when something fails the recipe only learns: were it
 * told something else, ranks would wait for what nobody does. */
static int tell_policy(struct job *j, const char *name, const char *value,
                       const char *option, struct hpcboot_error *err)
{
    struct job_framework *f = j->framework;
    const char *set = hb_env_get(&f->given, name);

    if (!hb_recipe_takes(f->recipe, name)) {
        return 0;
    }
    if (set != NULL && !hb_streq(set, value)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--recipe-set %s=%s: hbrun "
                       "tells the recipe what it does, and that is %s; %s "
                       "changes it", name, set, value, option);
    }
    hb_env_set(&f->given, name, value);
    return 0;
}

/* What a launcher of Python's is given it gives to Python, also `python t.py`
 * or a program, unless it is told. */
static void tell_no_python(struct job *j)
{
    struct job_framework *f = j->framework;
    const struct hb_app_options *app = &j->opt->apps[0];
    const char *module = hb_env_get(&f->given, "module");

    if (hb_recipe_takes(f->recipe, "no_python") &&
        hb_env_get(&f->given, "no_python") == NULL &&
        (module == NULL || *module == '\0') &&
        !hb_ends_with(app->argv.v[0], ".py") &&
        hb_search_finds(app->argv.v[0], j->env, app->wdir)) {
        hb_env_set(&f->given, "no_python", "--no_python");
    }
}

/* What a recipe starts beside a Python program, or to hold it, has to find the
 * same packages: it is the Python of the program. */
static void tell_python(struct job *j)
{
    struct job_framework *f = j->framework;
    char *const *argv = j->opt->apps[0].argv.v;
    int other_path;
    const char *program = argv[job_wrapped_words(argv, &other_path)];
    const char *dir = j->opt->apps[0].wdir;
    int is_local = program[0] != '/' && strchr(program, '/') != NULL;

    if (hb_recipe_takes(f->recipe, "python") && !other_path &&
        hb_env_get(&f->given, "python") == NULL && hb_is_python(program) &&
        !hb_starts_with(program_name(j), "ipython")) {
        hb_env_setf(&f->given, "python", "%s%s%s",
                    !is_local ? "" : dir != NULL ? dir : j->wdir,
                    is_local ? "/" : "", program);
    }
}

static void tell_number(struct job *j, const char *name, uint32_t n)
{
    struct job_framework *f = j->framework;

    if (hb_recipe_takes(f->recipe, name) &&
        hb_env_get(&f->given, name) == NULL) {
        hb_env_setf(&f->given, name, "%u", n);
    }
}

/* A launcher on each host that is told of all hosts alone waits for one that is
 * lost, and takes in none that comes. */
static void tell_range(struct job *j)
{
    const struct hb_app_options *app = &j->opt->apps[0];

    if (!hb_recipe_per_host(j->framework->recipe)) {
        return;
    }
    if (job_is_live(j)) {
        tell_number(j, "min_nodes", app->np_min);
        tell_number(j, "max_nodes", app->np);
    } else if (j->on_failure == HB_FAIL_CONTINUE) {
        tell_number(j, "min_nodes", 1);
    }
}

static int check_given(struct job *j, struct hpcboot_error *err)
{
    struct job_framework *f = j->framework;
    int rc = 0;

    if (hb_recipe_takes(f->recipe, "max_restarts") &&
        !hb_streq(hb_options_origin(j->opt, "max-restarts"), "default")) {
        hb_env_setf(&f->given, "max_restarts", "%u", j->opt->max_restarts);
    }
    for (size_t i = 0; rc == 0 && i < j->opt->recipe_set.n; i++) {
        rc = take_set(j, j->opt->recipe_set.v[i], err);
    }
    if (rc == 0) {
        tell_python(j);
        tell_no_python(j);
        tell_range(j);
        rc = tell_policy(j, "on_failure", hb_on_failure_name(j->on_failure),
                         "--on-failure", err);
    }
    return rc == 0 ? tell_policy(j, "live", job_is_live(j) ? "yes" : "no",
                                 "--np MIN:MAX", err) : rc;
}

/* The last of these rules that is about a variable: "+NAME=VALUE", "-NAME". */
static const char *rule_about(const struct hb_strv *rules, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = rules->n; i-- > 0;) {
        const char *rule = rules->v[i];

        if ((rule[0] == '+' || rule[0] == '-') &&
            strncmp(rule + 1, name, len) == 0 &&
            rule[1 + len] == (rule[0] == '+' ? '=' : '\0')) {
            return rule;
        }
    }
    return NULL;
}

const char *job_framework_env(const struct job *j, const char *name,
                              int *is_said)
{
    const char *rule = rule_about(&j->opt->apps[0].env_rules, name);

    rule = rule != NULL ? rule : rule_about(&j->rules, name);
    *is_said = rule != NULL && rule[0] == '+';
    if (rule != NULL) {
        return *is_said ? strchr(rule, '=') + 1 : NULL;
    }
    return hb_search_env(j->env, name);
}

static void give_environment(struct job *j)
{
    struct hb_strv names = HB_STRV_INIT;

    hb_recipe_env_names(j->framework->recipe, &names);
    for (size_t i = 0; i < names.n; i++) {
        int is_said;
        const char *value = job_framework_env(j, names.v[i], &is_said);
        char *name = hb_xasprintf("env_%s", names.v[i]);

        if (value != NULL) {
            hb_env_set(&j->framework->given, name, value);
        }
        free(name);
    }
    hb_strv_destroy(&names);
}

int job_framework_choose(struct job *j, struct hpcboot_error *err)
{
    int rc;

    if (j->framework != NULL && j->framework->recipe != NULL) {
        return 0; /* of a life before */
    }
    if (j->framework == NULL && j->opt->n_apps == 1) {
        look_around(j);
    }
    if (j->framework == NULL) {
        if (hb_options_is_typed(j->opt, "role") ||
            hb_options_is_typed(j->opt, "recipe-set")) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "--role and --recipe-set "
                           "need a framework: --framework NAME");
        }
        return 0;
    }
    rc = j->opt->recipe != NULL ? read_file(j, j->opt->recipe, err)
                                : read_named(j, j->framework->name, err);
    if (rc == 0) {
        rc = job_launchers_complete(j, err);
    }
    if (rc == 0) {
        rc = check_given(j, err);
    }
    if (rc == 0) {
        give_environment(j);
        job_processes_read(j);
        rc = job_roles_read(j, err);
    }
    return rc;
}

void job_framework_end_life(struct job *j)
{
    struct job_framework *f = j->framework;

    if (f == NULL) {
        return;
    }
    for (uint32_t i = 0; f->node_address != NULL && i < j->map->n_nodes; i++) {
        free(f->node_address[i]);
    }
    free(f->node_address);
    free(f->answered);
    free(f->ports);
    free(f->serves);
    free(f->places);
    free(f->met);
    free(f->slots);
    free(f->role_of_rank);
    hb_strv_destroy(&f->addresses);
    memset(&f->role_of_rank, 0,
           sizeof *f - offsetof(struct job_framework, role_of_rank));
}

void job_framework_destroy(struct job_framework *f)
{
    if (f == NULL) {
        return;
    }
    hb_recipe_destroy(f->recipe);
    hb_strv_destroy(&f->given);
    hb_strv_destroy(&f->rules);
    hb_strv_destroy(&f->role_names);
    free(f->role_counts);
    free(f->name);
    free(f->why);
    free(f->path);
    free(f->text);
    free(f);
}
