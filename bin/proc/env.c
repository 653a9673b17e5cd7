/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Composes the environment of a rank.
 *
 * Three sources are merged (host, PID 1, launcher; see env.h for what of each
 * is taken), then rules change the result. The merge sorts instead of looking
 * each name up: a pod in a large namespace has thousands of variables.
 * Which names are meant is env_names.c; here is only the order. */
#include "config.h"

#include "bin/proc/env.h"

#include <stdlib.h>
#include <string.h>

#include "bin/proc/env_names.h"
#include "bin/proc/stage.h"
#include "lib/base/str.h"

/* One entry of a source, on its way into the result. */
struct entry {
    const char *text; /* borrowed */
    size_t name_len;
    int source; /* the higher one wins */
    size_t at;  /* in one source, the lower one wins */
};

struct merge {
    struct entry *v;
    size_t n, cap;
};

enum source { SOURCE_HOST, SOURCE_PID1, SOURCE_LAUNCHER };

/* Length of the name of NAME=value, 0 when it is none. */
static size_t name_length(const char *entry)
{
    size_t len = strcspn(entry, "=");

    return entry[len] == '=' ? len : 0;
}

int hb_env_is_denied(const char *name)
{
    return hb_env_denied_row(name, strlen(name)) != NULL;
}

const char *hb_env_scrubbed_family(const char *name)
{
    const struct hb_env_row *row = hb_env_family_row(name, strlen(name));

    return row != NULL ? row->label : NULL;
}

/* Of a job in whose rank the launcher runs: a path in that job's folder, which
 * is on its own host and ends with it. */
static int is_outer_jobs(const char *entry, size_t len)
{
    const char *part = entry + len + 1;
    int is = 0;

    while (hb_env_is_told_path(entry, len) && !is && *part != '\0') {
        size_t n = strcspn(part, "/");

        is = hb_session_is_name(part, n);
        part += n + (part[n] == '/');
    }
    return is;
}

static int is_leftover(const char *entry, size_t len)
{
    return hb_env_family_row(entry, len) != NULL || is_outer_jobs(entry, len);
}

/* ---- merging */

/* What of each source is taken, but for the families. */
static int wanted_of(enum source source, const char *name, size_t len)
{
    switch (source) {
    case SOURCE_HOST:
        return hb_env_denied_row(name, len) != NULL;
    case SOURCE_PID1:
        return !hb_env_is_session(name, len);
    case SOURCE_LAUNCHER:
        return hb_env_denied_row(name, len) == NULL;
    }
    return 0;
}

static void collect(struct merge *m, char *const *env, enum source source)
{
    for (; env != NULL && *env != NULL; env++) {
        size_t len = name_length(*env);

        if (len == 0 || is_leftover(*env, len)
            || !wanted_of(source, *env, len)) {
            continue;
        }
        if (m->n == m->cap) {
            m->cap = m->cap ? m->cap * 2 : 128;
            m->v = hb_xrealloc(m->v, m->cap * sizeof(*m->v));
        }
        m->v[m->n] = (struct entry){*env, len, source, m->n};
        m->n++;
    }
}

static int same_name(const struct entry *a, const struct entry *b)
{
    return a->name_len == b->name_len
           && memcmp(a->text, b->text, a->name_len) == 0;
}

/* By name; of one name the winner first. */
static int order(const void *pa, const void *pb)
{
    const struct entry *a = pa, *b = pb;
    size_t len = a->name_len < b->name_len ? a->name_len : b->name_len;
    int d = memcmp(a->text, b->text, len);

    if (d == 0 && a->name_len != b->name_len) {
        d = a->name_len < b->name_len ? -1 : 1;
    }
    if (d == 0) {
        d = b->source - a->source;
    }
    if (d == 0) {
        d = a->at < b->at ? -1 : 1;
    }
    return d;
}

static void give_winners(struct merge *m, struct hb_strv *out)
{
    if (m->n > 0) {
        qsort(m->v, m->n, sizeof(*m->v), order);
    }
    for (size_t i = 0; i < m->n; i++) {
        if (i == 0 || !same_name(&m->v[i - 1], &m->v[i])) {
            hb_strv_push(out, m->v[i].text);
        }
    }
    free(m->v);
}

/* ---- rules */

int hb_env_check_rule(const char *rule, struct hpcboot_error *err)
{
    const char *equals = rule[0] != '\0' ? strchr(rule + 1, '=') : NULL;
    int good = 0;

    switch (rule[0]) {
    case '+':
    case '<':
    case '>':
        good = equals != NULL && equals > rule + 1;
        break;
    case '-':
    case '=':
        good = rule[1] != '\0' && equals == NULL;
        break;
    case '!':
        good = equals == NULL;
        break;
    }
    if (!good) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "\"%.200s\" is no environment rule; +NAME=value, -NAME, "
                       "=NAME, <NAME=value, >NAME=value, ! and !NAME are",
                       rule);
    }
    return HPCBOOT_OK;
}

static void remove_matches(struct hb_strv *env, const char *pattern)
{
    size_t len = strlen(pattern);

    for (size_t i = env->n; i-- > 0;) {
        if (hb_env_match(pattern, len, env->v[i], name_length(env->v[i]))) {
            hb_strv_remove(env, i);
        }
    }
}

/* Backwards, so that of two entries with one name the first one stays. */
static void pass_matches(struct hb_strv *env, char *const *launcher,
                         const char *pattern)
{
    size_t len = strlen(pattern), n = 0;

    while (launcher != NULL && launcher[n] != NULL) {
        n++;
    }
    while (n-- > 0) {
        size_t name_len = name_length(launcher[n]);

        if (name_len > 0
            && hb_env_match(pattern, len, launcher[n], name_len)) {
            hb_env_put(env, launcher[n]);
        }
    }
}

/* "<NAME=value" and ">NAME=value": an empty or missing list is just set. */
static void join(struct hb_strv *env, const char *rule)
{
    size_t len = name_length(rule + 1);
    char *name = hb_xstrndup(rule + 1, len);
    const char *value = rule + 1 + len + 1;
    const char *old = hb_env_get(env, name);

    if (old == NULL || old[0] == '\0') {
        hb_env_set(env, name, value);
    } else if (rule[0] == '<') {
        hb_env_setf(env, name, "%s:%s", value, old);
    } else {
        hb_env_setf(env, name, "%s:%s", old, value);
    }
    free(name);
}

static void apply(struct hb_strv *env, char *const *launcher, const char *rule)
{
    switch (rule[0]) {
    case '+':
        hb_env_put(env, rule + 1);
        break;
    case '-':
        remove_matches(env, rule + 1);
        break;
    case '=':
        pass_matches(env, launcher, rule + 1);
        break;
    case '!': /* has been looked at: filter_of */
        break;
    default:
        join(env, rule);
        break;
    }
}

/* ---- what is inherited */

static int has_filter(char *const *rules)
{
    int found = 0;

    for (; !found && rules != NULL && *rules != NULL; rules++) {
        found = (*rules)[0] == '!';
    }
    return found;
}

/* The rules that say which variables alone are inherited, or NULL: the
 * program's own outweigh the job's. */
static char *const *filter_of(const struct hb_env_policy *policy)
{
    return has_filter(policy->app_rules)   ? policy->app_rules
           : has_filter(policy->job_rules) ? policy->job_rules
                                           : NULL;
}

static void inherit(const struct hb_env_policy *policy, struct hb_strv *out)
{
    char *const *filter = filter_of(policy);
    struct merge m = {0};

    for (char *const *r = filter; r != NULL && *r != NULL; r++) {
        if ((*r)[0] == '!' && (*r)[1] != '\0') {
            pass_matches(out, policy->launcher, *r + 1);
        }
    }
    if (filter == NULL) {
        collect(&m, policy->host, SOURCE_HOST);
        collect(&m, policy->pid1, SOURCE_PID1);
        collect(&m, policy->launcher, SOURCE_LAUNCHER);
        give_winners(&m, out);
    }
}

static int check_rules(char *const *rules, struct hpcboot_error *err)
{
    int rc = HPCBOOT_OK;

    for (; rc == HPCBOOT_OK && rules != NULL && *rules != NULL; rules++) {
        rc = hb_env_check_rule(*rules, err);
    }
    return rc;
}

void hb_env_put_before_path(struct hb_strv *env, const char *dirs)
{
    const char *path = hb_env_get(env, "PATH");

    if (dirs != NULL) {
        hb_env_setf(env, "PATH", "%s:%s", dirs,
                    path != NULL ? path : "/usr/bin:/bin");
    }
}

int hb_env_compose(const struct hb_env_policy *policy, struct hb_strv *out,
                   struct hpcboot_error *err)
{
    char *const *const sets[] = {policy->job_rules, policy->app_rules};
    int rc;

    for (size_t i = 0; i < 2; i++) {
        rc = check_rules(sets[i], err);
        if (rc < 0) {
            return rc;
        }
    }
    hb_strv_destroy(out);
    inherit(policy, out);
    for (size_t i = 0; i < 2; i++) {
        for (char *const *r = sets[i]; r != NULL && *r != NULL; r++) {
            apply(out, policy->launcher, *r);
        }
    }
    hb_env_put_before_path(out, policy->path);
    return HPCBOOT_OK;
}

/* ---- at the launcher */

static int asked_for(const char *name, size_t len, char *const *const *rules,
                     size_t n_rules)
{
    for (size_t i = 0; i < n_rules; i++) {
        for (char *const *r = rules[i]; r != NULL && *r != NULL; r++) {
            if (((*r)[0] == '=' || (*r)[0] == '!')
                && hb_env_match(*r + 1, strlen(*r + 1), name, len)) {
                return 1;
            }
        }
    }
    return 0;
}

void hb_env_outgoing(char *const *environ_in, char *const *const *rules,
                     size_t n_rules, struct hb_strv *out)
{
    for (; environ_in != NULL && *environ_in != NULL; environ_in++) {
        const char *entry = *environ_in;
        size_t len = name_length(entry);

        if (len == 0) {
            continue;
        }
        if ((hb_env_denied_row(entry, len) == NULL
             && !is_leftover(entry, len))
            || asked_for(entry, len, rules, n_rules)) {
            hb_strv_push(out, entry);
        }
    }
}
