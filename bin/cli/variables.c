/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Options as variables HPCBOOT_*, and what else begins so.
 *
 * None of these reaches a rank by itself. So a name that is nearly one of an
 * option or of the library, or another name of an option, is told of, also one
 * that -x sets, and so is a variable of the library that no -x passes on: all
 * were set for an effect that they do not have. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

#define PREFIX "HPCBOOT_"
#define PREFIX_LEN (sizeof PREFIX - 1)
#define UNREAD_MIN 3   /* letters; HPCBOOT_N may be anybody's */
#define MISTYPED_MIN 5 /* letters; HPCBOOT_HOME may be anybody's */

/* What programs read that is no option, and what ranks are told: an hbrun may
 * be started by a rank. */
static const char *const others[] = {
    "HPCBOOT_COOKIE", "HPCBOOT_ELASTIC", "HPCBOOT_EPOCH",
    "HPCBOOT_FABRIC_DEVICES", "HPCBOOT_FABRIC_GID_INDEX",
    "HPCBOOT_FABRIC_PKEY", "HPCBOOT_FABRIC_TCP", "HPCBOOT_FABRIC_WISH",
    "HPCBOOT_FD", "HPCBOOT_GANG_KEY",
    "HPCBOOT_GANG_SIZE", "HPCBOOT_LOCAL_RANK", "HPCBOOT_LOCAL_SIZE",
    "HPCBOOT_LOST_AFTER", "HPCBOOT_MODULE_DIR", "HPCBOOT_NODE",
    "HPCBOOT_NODES", "HPCBOOT_PROFILE", "HPCBOOT_RANK", "HPCBOOT_RESTART",
    "HPCBOOT_SESSION_DIR", "HPCBOOT_SIZE", "HPCBOOT_SOCKET", "HPCBOOT_TASKS",
    "HPCBOOT_TMPDIR", "HPCBOOT_TOPO_CACHE", "HPCBOOT_SPAWN_FD",
};
#define COUNT(list) (sizeof(list) / sizeof *(list))
/* Of those, what people set, in a pod's template above all. */
static const char *const set_by_people[] = {
    "HPCBOOT_GANG_SIZE", "HPCBOOT_PROFILE", "HPCBOOT_TASKS", "HPCBOOT_TMPDIR",
    "HPCBOOT_TOPO_CACHE",
};
const char *const hb_library_variables[] = {
    "HPCBOOT_CHECK", "HPCBOOT_COLL_NET", "HPCBOOT_COLL_TUNE",
    "HPCBOOT_DETERMINISTIC", "HPCBOOT_HEAP_MB", "HPCBOOT_LEAVES",
    "HPCBOOT_RAILS", "HPCBOOT_TRANSPORTS",
};
const size_t hb_library_variables_n = COUNT(hb_library_variables);

static void variable_name(const struct hb_optdef *opt,
                          char name[HB_OPT_NAME_MAX + 8])
{
    char key[HB_OPT_NAME_MAX];

    hb_opt_key(opt, key);
    for (char *p = key; *p; p++) {
        *p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
    }
    snprintf(name, HB_OPT_NAME_MAX + 8, "HPCBOOT_%s", key);
}

/* A list may hold several values, one per line. */
static int apply_variable(struct hb_scan *s, const struct hb_optdef *opt,
                          const char *text, struct hpcboot_error *err)
{
    char *one;
    int rc = 0;

    if (!(opt->flags & HB_O_MANY)) {
        return hb_opt_apply_text(s, opt, text, err);
    }
    while (rc >= 0 && (one = hb_next_piece(&text, '\n')) != NULL) {
        rc = hb_opt_apply_text(s, opt, one, err);
        free(one);
    }
    return rc;
}

int hb_variables_read(struct hb_scan *s, struct hpcboot_error *err)
{
    char name[HB_OPT_NAME_MAX + 8];
    int rc = 0;

    for (size_t i = 0; rc >= 0 && i < hb_opts_n; i++) {
        const char *value;
        char *origin;

        if (hb_opts[i].flags & HB_O_CMD) {
            continue;
        }
        variable_name(&hb_opts[i], name);
        value = hb_scan_getenv(s, name);
        if (!value || !value[0]) {
            continue;
        }
        origin = hb_xasprintf("variable %s", name);
        s->origin = s->spelling = origin;
        rc = apply_variable(s, &hb_opts[i], value, err);
        s->origin = s->spelling = "";
        free(origin);
    }
    return rc < 0 ? rc : 0;
}

static int is_among(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(name, list[i])) {
            return 1;
        }
    }
    return 0;
}

static int is_of_library(const char *name)
{
    return is_among(name, hb_library_variables, hb_library_variables_n);
}

/* Rules are "=NAME", "=PRE*" and "+NAME=VALUE" among others. */
static int passes_on(const struct hb_strv *rules, const char *name)
{
    for (size_t i = 0; i < rules->n; i++) {
        const char *rule = rules->v[i] + 1;
        size_t n = strcspn(rule, "=*");

        if (!strncmp(rule, name, n) && (rule[n] == '*' || !name[n])) {
            return 1;
        }
    }
    return 0;
}

static int reaches_ranks(const struct hb_scan *s, const char *name)
{
    int all = passes_on(&s->o->env_rules, name) ||
              passes_on(&s->common.env_rules, name);

    for (uint32_t i = 0; !all && i < s->o->n_apps; i++) {
        all = passes_on(&s->o->apps[i].env_rules, name);
    }
    return all;
}

static size_t add_names(const char **list, size_t n,
                        const char *const *names, size_t n_names)
{
    for (size_t i = 0; i < n_names; i++) {
        list[n++] = names[i] + PREFIX_LEN;
    }
    return n;
}

/* 1: it is another name of an option, which a variable sets by its first one,
 * or that of --app, which none sets. */
static int warn_unread(struct hb_scan *s, const char *name)
{
    char own[HB_OPT_NAME_MAX + 8], typed[HB_OPT_NAME_MAX];
    const struct hb_optdef *opt;
    size_t n = 0;

    for (const char *p = name + PREFIX_LEN; *p && n < sizeof typed - 1; p++) {
        typed[n++] = *p == '_' ? '-' : (char)tolower((unsigned char)*p);
    }
    opt = n >= UNREAD_MIN ? hb_opt_find(typed, n, HB_DIALECT_OPENMPI) : NULL;
    if (opt && opt->kind == HB_OPT_AS) {
        opt = hb_opt_find_key(opt->text, strcspn(opt->text, "="));
    }
    if (opt && opt->set == hb_set_app_file) {
        hb_opt_warn(s, "the variable %s has no effect: --app stands on the "
                    "command line only", name);
        return 1;
    }
    if (!opt || opt->kind != HB_OPT_SET || (opt->flags & HB_O_CMD)) {
        return 0;
    }
    variable_name(opt, own);
    if (strcmp(own, name) == 0) {
        return 0;
    }
    hb_opt_warn(s, "the variable %s has no effect; did you mean %s?", name,
                own);
    return 1;
}

/* Where it is none that anybody reads: is it nearly one? Besides options there
 * are few, so that a short name is not near one of those by chance. */
static void warn_mistyped(struct hb_scan *s, const char *name)
{
    int is_short = strlen(name) < PREFIX_LEN + MISTYPED_MIN;
    char (*known)[HB_OPT_NAME_MAX + 8] = hb_xcalloc(hb_opts_n, sizeof *known);
    const char **list = hb_xcalloc(hb_opts_n + hb_library_variables_n +
                                       COUNT(set_by_people),
                                   sizeof *list), *near;
    size_t n = add_names(list, 0, hb_library_variables, hb_library_variables_n);

    n = add_names(list, n, set_by_people, COUNT(set_by_people));
    for (size_t i = 0; i < hb_opts_n; i++) {
        if (!(hb_opts[i].flags & HB_O_CMD)) {
            variable_name(&hb_opts[i], known[i]);
            list[n++] = known[i] + PREFIX_LEN;
        }
    }
    near = hb_nearest(name + PREFIX_LEN, list, n);
    if (near && strcmp(near, name + PREFIX_LEN) != 0 &&
        (!is_short || is_of_library(near - PREFIX_LEN) ||
         is_among(near - PREFIX_LEN, set_by_people, COUNT(set_by_people)))) {
        hb_opt_warn(s, "the variable %s has no effect; did you mean " PREFIX
                    "%s?", name, near);
    }
    free(list);
    free(known);
}

/* `set`: "NAME=VALUE" of the environment, or as -x gives it to ranks. */
static void warn_of(struct hb_scan *s, const char *set, int given_to_ranks)
{
    char *name;

    if (!hb_starts_with(set, PREFIX)) {
        return;
    }
    name = hb_xstrndup(set, strcspn(set, "="));
    if (is_of_library(name)) {
        if (!given_to_ranks && !reaches_ranks(s, name)) {
            hb_opt_warn(s, "the variable %s is read by ranks and does not "
                        "reach them; -x %s passes it on", name, name);
        }
    } else if (!is_among(name, others, COUNT(others)) &&
               !warn_unread(s, name)) {
        warn_mistyped(s, name);
    }
    free(name);
}

static void warn_of_rules(struct hb_scan *s, const struct hb_strv *rules)
{
    for (size_t i = 0; i < rules->n; i++) {
        if (rules->v[i][0] == '+') {
            warn_of(s, rules->v[i] + 1, 1);
        }
    }
}

void hb_variables_warn(struct hb_scan *s)
{
    char *const *env = s->src ? s->src->env : NULL;

    for (; env && *env; env++) {
        warn_of(s, *env, 0);
    }
    warn_of_rules(s, &s->o->env_rules);
    for (uint32_t i = 0; i < s->o->n_apps; i++) {
        warn_of_rules(s, &s->o->apps[i].env_rules);
    }
}
