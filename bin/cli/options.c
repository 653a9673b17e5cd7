/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* All that was said to hbrun, put together.
 *
 * Strength rises in this order: defaults, /etc's hpcboot.conf, the user's,
 * the chosen profile's sections of both, variables of other launchers,
 * variables HPCBOOT_*, the command line. Each later value replaces an earlier
 * one (lists add up), and the origin of each is kept.
 *
 * Nothing is contacted here and nothing is printed; what the user should know
 * stands in `warnings`. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/cli/conf.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

/* Not given: hosts that a user lists are up or mistyped, hosts that an
 * operator makes come up in their own time; bin/job knows which. */
#define DEFAULT_WAIT_HOSTS_MS (-1)
#define DEFAULT_CONNECT_TIMEOUT_MS 30000
#define DEFAULT_HEARTBEAT_MS 3000 /* 5 of them: a lost host in 15 s */
#define DEFAULT_GRACE_MS 20000    /* below the 30 s a pod is given */
#define DEFAULT_MAX_RESTARTS 3
#define DEFAULT_RESTART_DELAY_MS 1000
#define DEFAULT_ORPHAN_GRACE_MS 10000 /* several logins, one after another */

static struct hb_parsed *behind(const struct hb_options *o)
{
    return (struct hb_parsed *)(void *)(uintptr_t)o;
}

static void set_defaults(struct hb_options *o)
{
    o->wait_hosts_ms = DEFAULT_WAIT_HOSTS_MS;
    o->connect_timeout_ms = DEFAULT_CONNECT_TIMEOUT_MS;
    o->heartbeat_ms = DEFAULT_HEARTBEAT_MS;
    o->grace_ms = DEFAULT_GRACE_MS;
    o->max_restarts = DEFAULT_MAX_RESTARTS;
    o->restart_delay_ms = DEFAULT_RESTART_DELAY_MS;
    o->orphan_grace_ms = DEFAULT_ORPHAN_GRACE_MS;
    o->show_progress = 1;
}

/* --- configuration files ----------------------------------------- */

struct conf_pass {
    struct hb_scan *s;
    const char *profile; /* wanted; NULL: what stands outside sections */
    int seen;            /* the profile was there */
};

static int unknown_key(const struct hb_conf_entry *e,
                       struct hpcboot_error *err)
{
    const size_t len = strlen(e->key);
    const struct hb_optdef *opt = hb_opt_find(e->key, len, HB_DIALECT_OPENMPI);
    char near[HB_OPT_NAME_MAX];
    int found = opt != NULL || (opt = hb_opt_find_any(e->key, len)) != NULL;

    if (found && (opt->flags & HB_O_CMD)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s:%u:%u: %s can stand on the command line only "
                       "(hbrun --help %s)", e->path, e->line, e->column,
                       e->key, e->key);
    }
    if (found) { /* by another of its names */
        hb_opt_key(opt, near);
    } else {
        found = hb_opt_nearest(e->key, HB_DIALECT_OPENMPI, 1, near);
    }
    if (found) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s:%u:%u: unknown key %s; did you mean %s?", e->path,
                       e->line, e->column, e->key, near);
    }
    return hb_fail(err, HPCBOOT_ERR_USAGE, "%s:%u:%u: unknown key %s; keys "
                   "are long names of options, see hbrun --help",
                   e->path, e->line, e->column, e->key);
}

static int conf_entry(void *arg, const struct hb_conf_entry *e,
                      struct hpcboot_error *err)
{
    struct conf_pass *pass = arg;
    const struct hb_optdef *opt;
    char *origin;
    int rc;

    if (!e->key) { /* a section, which may be empty */
        pass->seen |= hb_streq(e->profile, pass->profile);
        return 0;
    }
    opt = hb_opt_find_key(e->key, strlen(e->key));
    if (!opt) {
        return unknown_key(e, err);
    }
    if (!hb_streq(e->profile, pass->profile)
        && (e->profile || pass->profile)) {
        return 0;
    }
    origin = hb_xasprintf("%s:%u", e->path, e->line);
    pass->s->origin = origin;
    pass->s->spelling = e->key;
    rc = hb_opt_apply_text(pass->s, opt, e->value, err);
    pass->s->origin = pass->s->spelling = "";
    free(origin);
    return rc < 0 ? hb_error_prefix(err, rc, "%s:%u:%u", e->path, e->line,
                                    e->value_column)
                  : 0;
}

struct conf_file {
    char *path, *text;
    size_t len;
};

/* A file that is not there says nothing; one that cannot be read is told, and
 * so is a user's own one that others can write: it says what is executed. */
static void load(struct hb_scan *s, struct conf_file *f, char *path, int own)
{
    struct hpcboot_error err = {0};

    f->path = path;
    if (path
        && (own ? hb_file_read_own : hb_file_read)(
               path, HB_CLI_FILE_MAX, &f->text, &f->len, &err) < 0
        && err.sys_errno != ENOENT && err.sys_errno != ENOTDIR) {
        hb_opt_warn(s, "%s; it is not used", err.text);
    }
}

static char *user_conf_path(const struct hb_scan *s)
{
    const char *xdg = hb_scan_getenv(s, "XDG_CONFIG_HOME");

    if (xdg && xdg[0] == '/') {
        return hb_xasprintf("%s/hpcboot.conf", xdg);
    }
    if (s->src->home && s->src->home[0]) {
        return hb_xasprintf("%s/.config/hpcboot.conf", s->src->home);
    }
    return NULL;
}

static int read_files(struct hb_scan *s, struct hpcboot_error *err)
{
    struct conf_file files[2] = {{0}};
    struct conf_pass pass = {.s = s};
    const char *etc = s->src->etc_dir;
    int rc = 0;

    load(s, &files[0], etc ? hb_xasprintf("%s/hpcboot.conf", etc) : NULL, 0);
    load(s, &files[1], user_conf_path(s), 1);
    for (int named = 0; named < 2 && rc == 0; named++) {
        if (named && !s->profile) {
            break;
        }
        pass.profile = named ? s->profile : NULL;
        pass.seen = 0;
        for (int i = 0; i < 2 && rc == 0; i++) {
            if (files[i].text) {
                rc = hb_conf_parse(files[i].path, files[i].text, files[i].len,
                                   conf_entry, &pass, err);
            }
        }
    }
    if (rc == 0 && s->profile && !pass.seen) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE,
                     "no configuration file has [profile %s] (looked in %s%s"
                     "%s)", s->profile,
                     files[0].path ? files[0].path : "",
                     files[0].path && files[1].path ? " and " : "",
                     files[1].path ? files[1].path : "");
    }
    for (int i = 0; i < 2; i++) {
        free(files[i].path);
        free(files[i].text);
    }
    return rc;
}

/* --- putting together -------------------------------------------- */

static void inherit(char **field, const char *common)
{
    if (!*field && common) {
        *field = hb_xstrdup(common);
    }
}

static void inherit_flag(int *field, int common)
{
    if (*field == 0) {
        *field = common;
    }
}

/* Where segments have hosts of their own, the gang is all of them; a single
 * list belongs to the whole job. */
static void join_hosts(struct hb_options *o)
{
    struct hb_str all = HB_STR_INIT;
    int later = 0, any = 0;

    for (uint32_t i = 0; i < o->n_apps; i++) {
        const char *list = o->apps[i].host_list;

        later = later || (list && i > 0);
        if (list) {
            hb_str_putf(&all, "%s%s", any ? "," : "", list);
            any = 1;
        }
    }
    if (any) {
        free(o->host_list);
        o->host_list = hb_str_steal(&all);
    }
    if (!later && o->n_apps) {
        hb_opt_replace(&o->apps[0].host_list, NULL);
    }
    hb_str_destroy(&all);
}

/* srun starts one task, or one on each node, where no number is given, but in
 * a job of Slurm as many as that was submitted for; so many per node on all
 * that there are. */
static uint32_t default_ranks(const struct hb_scan *s)
{
    const struct hb_options *o = s->o;
    const char *job = hb_scan_getenv(s, "SLURM_JOB_ID");
    const char *tasks = hb_scan_getenv(s, "SLURM_NTASKS");
    uint64_t n;

    if (o->dialect != HB_DIALECT_SRUN) {
        return 0;
    }
    if (job && tasks && !o->nodes &&
        hb_parse_u64(tasks, 1, UINT32_MAX, &n) == 0) {
        return (uint32_t)n;
    }
    if (o->per_node && !o->nodes) {
        return 0; /* on each host */
    }
    n = (uint64_t)(o->nodes ? o->nodes : 1) * (o->per_node ? o->per_node : 1);
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

int hb_options_is_typed(const struct hb_options *o, const char *name)
{
    return strcmp(hb_options_origin(o, name), HB_COMMAND_LINE) == 0;
}

/* A source of hosts that is typed takes the place of those that a file or a
 * variable names, their lists too; a list that is typed takes that of lists
 * alone, as it selects from what the others have. "none" names none. */
static void prefer_typed_hosts(struct hb_scan *s)
{
    struct hb_options *o = s->o;
    const struct {
        const char *key;
        char **field;
    } from[] = {{"host", &o->host_list}, {"hostfile", &o->hostfile},
                {"discover-hosts", &o->discover_hosts},
                {"pod-selector", &o->pod_selector},
                {"pod-group", &o->pod_group}};
    const size_t n = sizeof from / sizeof from[0];
    int typed = 0;

    for (size_t i = 1; i < n; i++) {
        typed |= hb_options_is_typed(o, from[i].key) &&
                 !hb_streq(*from[i].field, "none");
    }
    for (size_t i = 0; i < n; i++) {
        int said = hb_options_is_typed(o, from[i].key);

        if ((!typed && !(said && i == 0)) ||
            hb_streq(*from[i].field, "none")) {
            continue;
        }
        hb_settings_drop(s->p, hb_opt_find_key(from[i].key,
                                               strlen(from[i].key)), 0);
        if (!said) {
            hb_opt_replace(from[i].field, NULL);
        }
    }
}

/* In a file or a variable it says how plans look, whenever one is asked for. */
static int check_json(const struct hb_options *o, struct hpcboot_error *err)
{
    if (o->json && !o->dry_run && hb_options_is_typed(o, "json")) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--json goes with --dry-run, "
                       "whose plan it prints; of a job that runs, --events "
                       "FILE tells what happens in JSON");
    }
    return 0;
}

/* A command that names the host itself is told of nothing but by a place of its
 * own. */
static void warn_of_command(struct hb_scan *s)
{
    static const struct {
        const char *key, *place;
    } told[] = {{"user", "%u"}, {"port", "%p"}};
    const struct hb_options *o = s->o;

    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        if (hb_options_is_typed(o, told[i].key) && o->launch_with &&
            strstr(o->launch_with, "%h") &&
            !strstr(o->launch_with, told[i].place)) {
            hb_opt_warn(s, "--%s has no effect on --launch-with \"%s\", which "
                        "has no %s", told[i].key, o->launch_with,
                        told[i].place);
        }
    }
}

/* Options that were typed and have no effect without another one. */
static void warn_of_no_effect(struct hb_scan *s)
{
    const struct hb_options *o = s->o;

    if (o->topology && hb_options_is_typed(o, "topology") &&
        !hb_streq(o->order, "topology")) {
        hb_opt_warn(s, "--topology has no effect without --order topology");
    }
    warn_of_command(s);
}

/* What is typed for a hyphen by those who write texts: U+2010 to U+2015, the
 * minus sign, and the full-width one. */
static int begins_with_a_dash(const char *word)
{
    return (hb_starts_with(word, "\xe2\x80") && word[2] >= '\x90' &&
            word[2] <= '\x95') ||
           hb_starts_with(word, "\xe2\x88\x92") ||
           hb_starts_with(word, "\xef\xbc\x8d");
}

/* A word that stands where the program should and cannot be meant to: the
 * mistake is before it. A file of such a name can be named as ./1. */
static int check_program(const char *word, struct hpcboot_error *err)
{
    if (begins_with_a_dash(word)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "\"%s\" begins with a dash "
                       "that is not the - of an option: type it again", word);
    }
    if (word[0] == '\0') {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "an empty word stands where the "
                       "program should; is a variable of the shell empty?");
    }
    if (word[strspn(word, "0123456789")] == '\0' || hb_streq(word, "-") ||
        hb_streq(word, "=") || hb_streq(word, ":")) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "\"%s\" stands where the "
                       "program should; does an option before it lack its "
                       "value, or have one too many?", word);
    }
    if (hb_assigned_name(word) > 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "\"%s\" stands where the "
                       "program should; --set-env sets it for the ranks",
                       word);
    }
    return 0;
}

static int finish(struct hb_scan *s, struct hpcboot_error *err)
{
    struct hb_options *o = s->o;

    for (uint32_t i = 0; i < o->n_apps; i++) {
        struct hb_app_options *app = &o->apps[i];

        if (app->argv.n == 0) {
            return hb_fail(err, HPCBOOT_ERR_USAGE,
                           "no program was named: [options] PROGRAM "
                           "[arguments]; --help lists the options");
        }
        if (check_program(app->argv.v[0], err) < 0) {
            return HPCBOOT_ERR_USAGE;
        }
        if (!app->np) {
            app->np = s->common.np ? s->common.np : default_ranks(s);
            app->np_min = s->common.np_min;
        }
        inherit(&app->wdir, s->common.wdir);
        inherit(&app->path, s->common.path);
        inherit_flag(&app->preload_binary, s->common.preload_binary);
        inherit_flag(&app->session_wdir, s->common.session_wdir);
        hb_strv_extend(&app->preload_files,
                       hb_strv_view(&s->common.preload_files));
    }
    join_hosts(o);
    prefer_typed_hosts(s);
    if (o->dialect == HB_DIALECT_SRUN && o->out_pattern && !o->err_pattern) {
        o->err_pattern = hb_xstrdup(o->out_pattern); /* as srun has it */
    }
    if (o->dialect == HB_DIALECT_HYDRA && !o->oversubscribe) {
        o->oversubscribe = 1; /* Hydra's list of hosts wraps around */
    }
    warn_of_no_effect(s);
    return check_json(o, err);
}

static void read_use(struct hb_scan *s)
{
    const char *use = s->src && s->src->use ? s->src->use
                                            : hb_scan_getenv(s, HB_USE_VAR);

    s->o->only_looks = hb_streq(use, HB_USE_LOOK);
    if (s->o->only_looks) {
        s->left_out = HB_O_LINES | HB_O_JOB;
    } else if (hb_streq(use, HB_USE_LINES)) {
        s->left_out = HB_O_LINES;
    }
}

static int read_all(struct hb_scan *s, int argc, char *const *argv,
                    struct hpcboot_error *err)
{
    const char *profile = hb_scan_getenv(s, "HPCBOOT_PROFILE");
    size_t n = argc > 1 ? (size_t)argc - 1 : 0;
    int rc;

    hb_opt_replace(&s->profile,
                   profile != NULL && profile[0] != '\0' ? profile : NULL);
    read_use(s);
    hb_scan_ahead(s, argc > 0 ? argv[0] : "hbrun", n, argv + 1);
    if (!s->asking) { /* a wrong file must not hide the help */
        rc = read_files(s, err);
        if (rc < 0) {
            return rc;
        }
        hb_foreign_variables(s);
        rc = hb_variables_read(s, err);
        if (rc < 0) {
            return rc;
        }
    }
    s->origin = HB_COMMAND_LINE;
    rc = hb_scan_words(s, n, argv + 1, err);
    if (rc < 0 || s->o->help || s->o->version || s->o->completion) {
        return rc;
    }
    hb_variables_warn(s);
    return finish(s, err);
}

int hb_options_parse(struct hb_options **out, int argc, char *const *argv,
                     const struct hb_options_source *src,
                     struct hpcboot_error *err)
{
    struct hb_parsed *p = hb_xcalloc(1, sizeof *p);
    struct hb_scan s = {.p = p, .o = &p->o, .src = src, .origin = "",
                        .spelling = ""};
    int rc;

    s.app = &s.common;
    set_defaults(&p->o);
    rc = read_all(&s, argc, argv, err);
    free(s.profile);
    free(s.map_by_as);
    free(s.ranks_as);
    free(s.common.wdir);
    free(s.common.path);
    hb_strv_destroy(&s.common.env_rules);
    hb_strv_destroy(&s.common.preload_files);
    if (rc < 0) {
        hb_options_destroy(&p->o);
        return rc;
    }
    *out = &p->o;
    return 0;
}

static void destroy_texts(struct hb_options *o)
{
    char *texts[] = {
        o->host_list, o->hostfile, o->discover_hosts, o->default_hostfile,
        o->default_slots,
        o->pod_selector, o->pod_group, o->launch_with,
        o->prefix, o->kex, o->identity, o->ssh_config, o->user, o->host_keys,
        o->map_by, o->map_inside, o->rank_by, o->bind_to, o->pmi, o->output_dir,
        o->out_pattern, o->err_pattern, o->stdin_target, o->events,
        o->metrics, o->on_failure,
        o->help_topic, o->completion, o->mem_bind, o->grid, o->order,
        o->fabric,
        o->topology, o->framework, o->recipe, o->role,
    };
    struct hb_strv *lists[] = {
        &o->ssh_args, &o->env_rules, &o->env_files, &o->mca,
        &o->warnings, &o->topo_of,
        &o->recipe_set,
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        free(texts[i]);
    }
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        hb_strv_destroy(lists[i]);
    }
}

void hb_options_drop_apps(struct hb_options *o)
{
    for (uint32_t i = 0; i < o->n_apps; i++) {
        hb_strv_destroy(&o->apps[i].argv);
        hb_strv_destroy(&o->apps[i].env_rules);
        hb_strv_destroy(&o->apps[i].preload_files);
        free(o->apps[i].wdir);
        free(o->apps[i].path);
        free(o->apps[i].host_list);
    }
    free(o->apps);
    o->apps = NULL;
    o->n_apps = 0;
}

void hb_options_destroy(struct hb_options *o)
{
    struct hb_parsed *p;

    if (!o) {
        return;
    }
    p = behind(o);
    destroy_texts(o);
    hb_options_drop_apps(o);
    for (size_t i = 0; i < p->n_settings; i++) {
        free(p->settings[i].value);
        free(p->settings[i].origin);
    }
    free(p->settings);
    free(p);
}
