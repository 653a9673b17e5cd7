/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which rank has which role: by --role, in the order it is written; else by
 * the names of the gang's pods, where they end in a role and a number
 * (JOB-ps-0, JOB-worker-3); else as the recipe says. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/framework.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

static int role_named(const struct hb_recipe *r, const char *name, size_t len)
{
    char *const *roles = hb_recipe_roles(r);

    for (int i = 0; roles[i] != NULL; i++) {
        if (strlen(roles[i]) == len && strncmp(roles[i], name, len) == 0) {
            return i;
        }
    }
    return -1;
}

static int unknown_role(const struct job *j, const char *name, size_t len,
                        struct hpcboot_error *err)
{
    char *const *roles = hb_recipe_roles(j->framework->recipe);
    struct hb_str list = HB_STR_INIT;
    int rc;

    for (int i = 0; roles[i] != NULL; i++) {
        hb_str_putf(&list, "%s%s", i > 0 ? ", " : "", roles[i]);
    }
    rc = hb_fail(err, HPCBOOT_ERR_USAGE, "--role: %s has no role %.*s (%s%s)",
                 j->framework->name, (int)len, name,
                 roles[0] != NULL ? "it has " : "it has none",
                 hb_str_text(&list));
    hb_str_destroy(&list);
    return rc;
}

/* "ROLE=N" */
static int read_one(struct job *j, const char *text, uint64_t *sum,
                    struct hpcboot_error *err)
{
    struct job_framework *f = j->framework;
    size_t len = strcspn(text, "=");
    uint64_t count;

    if (role_named(f->recipe, text, len) < 0) {
        return unknown_role(j, text, len, err);
    }
    if (text[len] == '\0' ||
        hb_parse_u64(text + len + 1, 0, HB_MAX_RANKS, &count) < 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--role %s: expected ROLE=N, "
                       "as in ps=2,worker=6", j->opt->role);
    }
    for (size_t i = 0; i < f->role_names.n; i++) {
        if (strlen(f->role_names.v[i]) == len &&
            strncmp(f->role_names.v[i], text, len) == 0) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "--role %s: %.*s stands in "
                           "it twice", j->opt->role, (int)len, text);
        }
    }
    hb_strv_take(&f->role_names, hb_xstrndup(text, len));
    f->role_counts = hb_xrealloc(f->role_counts, f->role_names.n *
                                                     sizeof *f->role_counts);
    f->role_counts[f->role_names.n - 1] = (uint32_t)count;
    *sum += count;
    return 0;
}

/* Ranks of a role that the recipe has otherwise may be waited for. */
static void tell_missing(const struct job *j)
{
    const struct job_framework *f = j->framework;
    char *const *names = hb_recipe_roles(f->recipe);

    for (size_t i = 0; names[i] != NULL; i++) {
        uint32_t usual = hb_recipe_role_count(f->recipe, i);
        size_t k = 0;

        while (k < f->role_names.n && !hb_streq(f->role_names.v[k],
                                                names[i])) {
            k++;
        }
        if (k == f->role_names.n && usual > 0 && usual != HB_RECIPE_REST) {
            hb_log(HB_WARN, "--role %s: no rank is %s, of which %s has %u "
                   "otherwise", j->opt->role, names[i], f->name, usual);
        }
    }
}

/* What a file or a variable says is for jobs of frameworks that have roles. */
static int is_for_others(const struct job *j)
{
    return hb_recipe_roles(j->framework->recipe)[0] == NULL &&
           !hb_options_is_typed(j->opt, "role");
}

int job_roles_read(struct job *j, struct hpcboot_error *err)
{
    const char *text = j->opt->role;
    uint64_t sum = 0;
    int rc = 0;

    if (is_for_others(j)) {
        return 0;
    }
    while (rc == 0 && text != NULL && *text != '\0') {
        char *one = hb_xstrndup(text, strcspn(text, ","));

        rc = read_one(j, one, &sum, err);
        text += strcspn(text, ",");
        text += *text == ',';
        free(one);
    }
    if (rc < 0 || j->opt->role == NULL || j->own == NULL) {
        return rc;
    }
    if (sum == 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--role %s: no rank has a role",
                       j->opt->role);
    }
    tell_missing(j);
    if (j->opt->n_apps == 1 && j->opt->apps[0].np == 0 &&
        j->opt->per_node == 0 && !job_map_counts(j->opt)) {
        j->own->apps[0].np = (uint32_t)sum;
    }
    return 0;
}

/* JOB-ROLE-N: the role; -1. `own`: the gang is of the framework's operator,
 * which may have another name for it, one that elsewhere means nothing, as
 * "master". */
static int role_of_host(const struct hb_recipe *r, const char *host, int own)
{
    size_t len = strcspn(host, "."), begin;
    const char *role;
    char *name;
    int at;

    while (len > 0 && host[len - 1] >= '0' && host[len - 1] <= '9') {
        len--;
    }
    if (len < 2 || host[len - 1] != '-') {
        return -1;
    }
    len--;
    for (begin = len; begin > 0 && host[begin - 1] != '-';) {
        begin--;
    }
    name = hb_xstrndup(host + begin, len - begin);
    role = own ? hb_recipe_alias(r, name) : NULL;
    role = role != NULL ? role : name;
    at = role_named(r, role, strlen(role));
    free(name);
    return at;
}

static const char *host_of(const struct job *j, uint32_t rank)
{
    return j->map->node_names[j->map->node_of_rank[rank]];
}

/* Some hosts have a role and others none. Where all that have one have the
 * role of the ranks that are left, so do the others; any other mixture is not
 * to be guessed, as a server that trains. */
static int settle(struct job *j, uint32_t without, int own,
                  struct hpcboot_error *err)
{
    struct job_framework *f = j->framework;
    char *const *names = hb_recipe_roles(f->recipe);

    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        int role = role_of_host(f->recipe, host_of(j, r), own);

        if (role >= 0 && hb_recipe_role_count(f->recipe, (size_t)role) !=
                             HB_RECIPE_REST) {
            return hb_fail(err, HPCBOOT_ERR_USAGE, "host %s is %s by its name, "
                           "and the name of %s is no role of %s: say by "
                           "--role how many ranks have which, from rank 0 on",
                           host_of(j, r), names[role], host_of(j, without),
                           f->name);
        }
    }
    return 0;
}

static int by_hosts(struct job *j, struct hpcboot_error *err)
{
    struct job_framework *f = j->framework;
    int own = job_framework_of_gang(j, f->recipe);

    if (!j->gang.operator_made) {
        return 0;
    }
    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        int role = role_of_host(f->recipe, host_of(j, r), own);

        if (role < 0) {
            return settle(j, r, own, err);
        }
        f->role_of_rank[r] = (uint32_t)role;
    }
    return 1;
}

/* What is written down for each role, in order. */
static int by_counts(struct job *j, const uint32_t *roles,
                     const uint32_t *counts, size_t n,
                     struct hpcboot_error *err)
{
    struct job_framework *f = j->framework;
    uint64_t sum = 0;
    uint32_t at = 0;
    int rest = 0;

    for (size_t i = 0; i < n; i++) {
        rest |= counts[i] == HB_RECIPE_REST;
        sum += counts[i] == HB_RECIPE_REST ? 0 : counts[i];
    }
    if (sum > j->map->n_ranks || (!rest && sum != j->map->n_ranks)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "the roles add up to %llu "
                       "ranks (%s), and the job has %u",
                       (unsigned long long)sum,
                       j->opt->role != NULL ? j->opt->role : f->name,
                       j->map->n_ranks);
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t count = counts[i] == HB_RECIPE_REST
                             ? j->map->n_ranks - sum : counts[i];

        while (count-- > 0) {
            f->role_of_rank[at++] = roles[i];
        }
    }
    return 0;
}

/* The roles that --role names, or all of the recipe, by its counts. */
static int by_words(struct job *j, char *const *names,
                    struct hpcboot_error *err)
{
    const struct job_framework *f = j->framework;
    size_t n = f->role_names.n;
    uint32_t *roles, *counts;
    int rc;

    while (f->role_names.n == 0 && names[n] != NULL) {
        n++;
    }
    roles = hb_xcalloc(n, sizeof *roles);
    counts = hb_xcalloc(n, sizeof *counts);
    for (size_t i = 0; i < n; i++) {
        const char *name = f->role_names.n > 0 ? f->role_names.v[i] : names[i];

        roles[i] = (uint32_t)role_named(f->recipe, name, strlen(name));
        counts[i] = f->role_names.n > 0
                        ? f->role_counts[i]
                        : hb_recipe_role_count(f->recipe, i);
    }
    rc = by_counts(j, roles, counts, n, err);
    free(roles);
    free(counts);
    return rc;
}

int job_roles_assign(struct job *j, struct hpcboot_error *err)
{
    struct job_framework *f = j->framework;
    char *const *names = hb_recipe_roles(f->recipe);
    int rc;

    free(f->role_of_rank);
    f->role_of_rank = NULL;
    if (names[0] == NULL) {
        return 0;
    }
    f->role_of_rank = hb_xcalloc(j->map->n_ranks, sizeof *f->role_of_rank);
    rc = f->role_names.n == 0 ? by_hosts(j, err) : 0;
    if (rc != 0) {
        return rc < 0 ? rc : 0;
    }
    return by_words(j, names, err);
}
