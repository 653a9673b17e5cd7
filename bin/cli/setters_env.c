/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Setters that end as rules for the ranks' environment (bin/proc/env.h):
 * "+NAME=value" set, "-NAME" unset, "=NAME" pass on, "<" and ">" prepend and
 * append, "!" and "!NAME" inherit these alone. On the command line -x, -env and
 * --mca belong to the program they stand before, -genv and --gmca to all; in
 * files and variables all of them are for all programs. */
#include "config.h"

#include "bin/cli/optdef.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

/* A variable's name may hold anything but '=' (and NUL). */
static int name_of(struct hb_scan *s, const char *text, const char **eq_out,
                   struct hpcboot_error *err)
{
    *eq_out = strchr(text, '=');
    if (text[0] == '-') {
        return hb_opt_bad(s, err, "needs the name of a variable, not "
                          "\"%s\"", text);
    }
    if (text[0] == '\0' || *eq_out == text) {
        return hb_opt_bad(s, err, "\"%s\" does not begin with a name", text);
    }
    return 0;
}

/* Whether the environment has what is to be passed on: a name, or the beginning
 * of one before a '*'. Of other patterns that is not judged. */
static int is_here(const struct hb_scan *s, const char *text)
{
    size_t n = strcspn(text, "*?[");
    char *const *env = s->src ? s->src->env : NULL;

    if (env == NULL || (text[n] != '\0' && strcmp(text + n, "*") != 0)) {
        return 1;
    }
    while (*env && (strncmp(*env, text, n) != 0 ||
                    (text[n] == '\0' && (*env)[n] != '='))) {
        env++;
    }
    return *env != NULL;
}

/* Whoever gives a list means all of it. */
static void warn_of_none(struct hb_scan *s, const char *text)
{
    const char *comma = strchr(text, ',');

    if (comma != NULL && comma > text && comma[1] != '\0') {
        hb_opt_warn(s, "%s %s: no such variable here, so none is passed on; "
                    "each needs an option of its own, as in: %s %.*s %s %.*s",
                    s->spelling, text, s->spelling, (int)(comma - text), text,
                    s->spelling, (int)strcspn(comma + 1, ","), comma + 1);
    } else {
        hb_opt_warn(s, "%s %s: no such variable here, so none is passed on",
                    s->spelling, text);
    }
}

/* NAME with a rule's letter, or NAME=VALUE. */
static int add_passed(struct hb_scan *s, struct hb_strv *rules, char letter,
                      const char *text, struct hpcboot_error *err)
{
    const char *eq;
    int rc = name_of(s, text, &eq, err);

    if (rc < 0) {
        return rc;
    }
    if (eq) {
        hb_strv_pushf(rules, "+%s", text);
        return 0;
    }
    if (!is_here(s, text)) {
        warn_of_none(s, text);
    }
    if (strpbrk(text, "*?[") || is_here(s, text)) {
        hb_strv_pushf(rules, "%c%s", letter, text);
    }
    return 0;
}

static int add_export(struct hb_scan *s, struct hb_strv *rules,
                      const char *text, struct hpcboot_error *err)
{
    return add_passed(s, rules, '=', text, err);
}

HB_SETTER(export)
{
    return add_export(s, hb_opt_rules(s), values[0], err);
}

HB_SETTER(set_env)
{
    const char *eq;
    int rc = name_of(s, values[0], &eq, err);

    if (rc < 0) {
        return rc;
    }
    if (!eq) {
        return hb_opt_bad(s, err, "\"%s\" needs NAME=VALUE", values[0]);
    }
    hb_strv_pushf(hb_opt_rules(s), "+%s", values[0]);
    return 0;
}

/* Open MPI 5 has NAME[c] VALUE, c being the separator; only ':' is served. */
static int add_joined(struct hb_scan *s, char letter,
                      const char *const *values, struct hpcboot_error *err)
{
    size_t len = strcspn(values[0], "[");
    const char *eq;
    int rc = name_of(s, values[0], &eq, err);

    if (rc < 0) {
        return rc;
    }
    if (len == 0 ||
        (values[0][len] != '\0' && !hb_streq(values[0] + len, "[:]"))) {
        return hb_opt_bad(s, err, "\"%s\" is neither NAME nor NAME[:]; the "
                          "separator can only be ':'", values[0]);
    }
    hb_strv_pushf(hb_opt_rules(s), "%c%.*s=%s", letter, (int)len, values[0],
                  values[1]);
    return 0;
}

HB_SETTER(prepend_env)
{
    return add_joined(s, '<', values, err);
}

HB_SETTER(append_env)
{
    return add_joined(s, '>', values, err);
}

HB_SETTER(unset_env)
{
    const char *eq;
    int rc = name_of(s, values[0], &eq, err);

    if (rc == 0 && eq) {
        return hb_opt_bad(s, err, "\"%s\" is no name", values[0]);
    }
    if (rc == 0) {
        hb_strv_pushf(hb_opt_rules(s), "-%s", values[0]);
    }
    return rc;
}

/* A list of NAME=VALUE that is no environment. */
HB_SETTER(pairs)
{
    const char *equals = strchr(values[0], '=');

    return equals == NULL || equals == values[0]
               ? hb_opt_bad(s, err, "\"%s\" needs NAME=VALUE", values[0])
               : hb_set_list(s, opt, values, err);
}

/* --- Hydra ------------------------------------------------------- */

static int add_named(struct hb_scan *s, struct hb_strv *rules,
                     const char *const *values, struct hpcboot_error *err)
{
    const char *eq;
    int rc = name_of(s, values[0], &eq, err);

    if (rc == 0) {
        hb_strv_pushf(rules, "+%s=%s", values[0], values[1]);
    }
    return rc;
}

HB_SETTER(genv)
{
    return add_named(s, &s->o->env_rules, values, err);
}

HB_SETTER(env)
{
    return add_named(s, hb_opt_rules(s), values, err);
}

/* Nothing is inherited but the names listed, here and elsewhere. */
static int add_only(struct hb_scan *s, struct hb_strv *rules,
                    const char *names, struct hpcboot_error *err)
{
    int rc = 0;

    hb_strv_push(rules, "!");
    while (rc == 0 && *names) {
        size_t n = strcspn(names, ",");
        char *name = hb_xstrndup(names, n);

        rc = add_passed(s, rules, '!', name, err);
        free(name);
        names += n + (names[n] == ',');
    }
    return rc;
}

HB_SETTER(genvlist)
{
    return add_only(s, &s->o->env_rules, values[0], err);
}

HB_SETTER(envlist)
{
    return add_only(s, hb_opt_rules(s), values[0], err);
}

HB_SETTER(genvnone)
{
    hb_strv_push(&s->o->env_rules, "!");
    return 0;
}

HB_SETTER(envnone)
{
    hb_strv_push(hb_opt_rules(s), "!");
    return 0;
}

/* --- parameters of Open MPI and PMIx ----------------------------- */

static int add_parameter(struct hb_scan *s, struct hb_strv *rules,
                         const char *prefix, const char *const *values,
                         struct hpcboot_error *err)
{
    const char *equals = strchr(values[0], '=');

    if (equals != NULL && equals > values[0]) {
        return hb_opt_bad(s, err, "needs two words, as in: %s %.*s %s",
                          s->spelling, (int)(equals - values[0]), values[0],
                          equals[1] != '\0' ? equals + 1 : "VALUE");
    }
    if (!values[0][0] || strpbrk(values[0], "= \t")) {
        return hb_opt_bad(s, err, "\"%s\" is no parameter's name", values[0]);
    }
    hb_strv_pushf(&s->o->mca, "%s=%s", values[0], values[1]);
    hb_strv_pushf(rules, "+%s%s=%s", prefix, values[0], values[1]);
    return 0;
}

/* "A=1;B" */
static int env_list(struct hb_scan *s, struct hb_strv *rules,
                    const char *text, struct hpcboot_error *err)
{
    char *one;
    int rc = 0;

    while (rc == 0 && (one = hb_next_piece(&text, ';')) != NULL) {
        rc = add_export(s, rules, one, err);
        free(one);
    }
    return rc;
}

static int parameter(struct hb_scan *s, struct hb_strv *rules,
                     const char *const *values, struct hpcboot_error *err)
{
    int rc;

    if (!strcmp(values[0], "mca_base_env_list")) {
        return env_list(s, rules, values[1], err);
    }
    rc = hb_mca_launcher(s, values[0], values[1], err);
    return rc ? rc : add_parameter(s, rules, "OMPI_MCA_", values, err);
}

HB_SETTER(mca)
{
    int rc = parameter(s, hb_opt_rules(s), values, err);

    return rc < 0 ? rc : 0;
}

HB_SETTER(gmca)
{
    int rc = parameter(s, &s->o->env_rules, values, err);

    return rc < 0 ? rc : 0;
}

/* Both may be asked for; the parameter then names both moments. */
HB_SETTER(display_comm)
{
    static const char rule[] = "+OMPI_MCA_ompi_display_comm=";
    const char *at = strstr(s->spelling, "finalize") ? "mpi_finalize"
                                                     : "mpi_init";
    struct hb_strv *rules = hb_opt_rules(s);
    int on = values[0] ? hb_opt_bool(values[0]) : 1, before = 0;

    for (size_t i = 0; i < rules->n; i++) {
        before |= hb_starts_with(rules->v[i], rule) &&
                  !strstr(rules->v[i], at);
    }
    if (on > 0) {
        hb_strv_pushf(rules, "%s%s", rule,
                      before ? "mpi_init,mpi_finalize" : at);
    }
    return on < 0 ? hb_opt_bad(s, err, "\"%s\" is neither yes nor no",
                               values[0]) : 0;
}

HB_SETTER(pmixmca)
{
    return add_parameter(s, hb_opt_rules(s), "PMIX_MCA_", values, err);
}

HB_SETTER(prtemca)
{
    int rc = hb_mca_launcher(s, values[0], values[1], err);

    if (rc == 0) {
        hb_opt_warn(s, "%s %s is ignored: it concerns Open MPI's own daemons",
                    s->spelling, values[0]);
    }
    return rc < 0 ? rc : 0;
}
