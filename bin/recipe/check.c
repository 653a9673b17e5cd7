/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Looks at a whole recipe: gives every variable its meaning, refuses unknown
 * ones and those that stand for themselves, so that expanding it cannot fail
 * by what the file says. Also the questions that others ask of a recipe, and
 * its end. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/recipe/recipe_impl.h"
#include "lib/base/str.h"

static const char *const builtins[] = {
#define X(name) #name,
    RECIPE_VARIABLES(X)
#undef X
};

static size_t port_named(const struct hb_recipe *r, const char *name)
{
    size_t i = 0;

    while (i < r->n_ports && !hb_streq(r->ports[i].name, name)) {
        i++;
    }
    return i;
}

size_t recipe_role(const struct hb_recipe *r, const char *name)
{
    size_t i = 0;

    while (i < r->roles.n && !hb_streq(r->roles.v[i], name)) {
        i++;
    }
    return i;
}

static size_t statement_named(const struct hb_recipe *r, const char *name,
                              enum statement_kind a, enum statement_kind b)
{
    size_t i = 0;

    while (i < r->n_statements &&
           ((r->statements[i].kind != a && r->statements[i].kind != b) ||
            !hb_streq(r->statements[i].name, name))) {
        i++;
    }
    return i;
}

static int unknown(const struct hb_recipe *r, const struct node *n,
                   struct hpcboot_error *err)
{
    struct hb_strv known = HB_STRV_INIT;
    const char *near;

    for (size_t i = 0; i < VAR_BUILTIN; i++) {
        hb_strv_push(&known, builtins[i]);
    }
    for (size_t i = 0; i < r->n_ports; i++) {
        hb_strv_pushf(&known, "port_%s", r->ports[i].name);
    }
    for (size_t i = 0; i < r->n_statements; i++) {
        if (r->statements[i].kind == ST_SET ||
            r->statements[i].kind == ST_TAKE) {
            hb_strv_push(&known, r->statements[i].name);
        }
    }
    near = hb_nearest(n->text, (const char *const *)known.v, known.n);
    recipe_fail(r->name, n->at, err, "there is no variable %s%s%s%s", n->text,
                near != NULL ? "; did you mean " : "",
                near != NULL ? near : "", near != NULL ? "?" : "");
    hb_strv_destroy(&known);
    return HPCBOOT_ERR_PARSE;
}

/* A name with one of the prefixes; 1: found, or 0. */
static int resolve_prefixed(const struct hb_recipe *r, struct node *n)
{
    if (hb_starts_with(n->text, "port_")) {
        n->variable = VAR_PORT;
        n->index = port_named(r, n->text + strlen("port_"));
        return n->index < r->n_ports;
    }
    if (hb_starts_with(n->text, "file_")) {
        n->variable = VAR_FILE;
        n->index = statement_named(r, n->text + strlen("file_"), ST_FILE,
                                   ST_FILE);
        return n->index < r->n_statements;
    }
    if (hb_starts_with(n->text, "number_")) {
        n->variable = VAR_NUMBER;
        n->index = recipe_role(r, n->text + strlen("number_"));
        return n->index < r->roles.n;
    }
    n->variable = VAR_ENV;
    return hb_starts_with(n->text, "env_") && n->text[4] != '\0';
}

static int resolve(const struct hb_recipe *r, struct node *n,
                   struct hpcboot_error *err)
{
    n->index = statement_named(r, n->text, ST_SET, ST_TAKE);
    if (n->index < r->n_statements) {
        n->variable = VAR_SET;
        return 0;
    }
    for (int i = 0; i < VAR_BUILTIN; i++) {
        if (hb_streq(builtins[i], n->text)) {
            n->variable = i;
            return 0;
        }
    }
    return resolve_prefixed(r, n) ? 0 : unknown(r, n, err);
}

static int resolve_all(const struct hb_recipe *r, struct node *n,
                       struct hpcboot_error *err)
{
    int rc = 0;

    for (; rc == 0 && n != NULL; n = n->next) {
        if (n->kind == NODE_VARIABLE) {
            rc = resolve(r, n, err);
        } else if (n->kind == NODE_EACH) {
            if (n->role != NULL && recipe_role(r, n->role) == r->roles.n) {
                return recipe_fail(r->name, n->at, err, "there is no role %s",
                                   n->role);
            }
            n->index = n->role != NULL ? recipe_role(r, n->role) : 0;
            rc = resolve_all(r, n->body, err);
        }
    }
    return rc;
}

/* --- variables that stand for themselves ------------------------------- */

enum mark { MARK_NEW, MARK_OPEN, MARK_DONE };

struct walk {
    const struct hb_recipe *r;
    unsigned char *marks; /* [n_statements] */
};

static int walk_set(struct walk *w, size_t i, struct hpcboot_error *err);

/* All statements that give a name its value hang together. */
static int walk_nodes(struct walk *w, const struct node *n,
                      struct hpcboot_error *err)
{
    const struct hb_recipe *r = w->r;
    int rc = 0;

    for (; rc == 0 && n != NULL; n = n->next) {
        if (n->kind == NODE_EACH) {
            rc = walk_nodes(w, n->body, err);
        } else if (n->kind != NODE_VARIABLE || n->variable != VAR_SET) {
            continue;
        } else if (w->marks[n->index] == MARK_OPEN) {
            rc = recipe_fail(r->name, n->at, err, "%s stands for itself: it "
                             "is part of its own value", n->text);
        } else {
            rc = walk_set(w, n->index, err);
        }
    }
    return rc;
}

static int walk_set(struct walk *w, size_t i, struct hpcboot_error *err)
{
    const struct hb_recipe *r = w->r;
    const char *name = r->statements[i].name;
    int rc = 0;

    if (w->marks[i] == MARK_DONE) {
        return 0;
    }
    w->marks[i] = MARK_OPEN;
    for (size_t k = i; rc == 0 && k < r->n_statements; k++) {
        const struct statement *s = &r->statements[k];

        if (s->kind == ST_SET && hb_streq(s->name, name)) {
            rc = walk_nodes(w, s->words[0].nodes, err);
            for (const struct condition *c = s->when; rc == 0 && c != NULL;
                 c = c->next) {
                rc = walk_nodes(w, c->name, err);
                rc = rc < 0 ? rc : walk_nodes(w, c->value.nodes, err);
            }
        }
    }
    w->marks[i] = MARK_DONE;
    return rc;
}

static int check_loops(const struct hb_recipe *r, struct hpcboot_error *err)
{
    struct walk w = {r, hb_xcalloc(r->n_statements + 1, 1)};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < r->n_statements; i++) {
        if (r->statements[i].kind == ST_SET) {
            rc = walk_set(&w, statement_named(r, r->statements[i].name,
                                              ST_SET, ST_TAKE), err);
        }
    }
    free(w.marks);
    return rc;
}

/* --- the whole --------------------------------------------------------- */

static int is_command(const struct statement *s)
{
    return s->kind == ST_RUN || s->kind == ST_START || s->kind == ST_READY ||
           s->kind == ST_STOP;
}

/* ${words NAME} makes words of a command, and so is one itself. */
static int check_cuts(const struct hb_recipe *r, const struct node *n,
                      int is_word, struct hpcboot_error *err)
{
    int rc = 0;

    for (; rc == 0 && n != NULL; n = n->next) {
        if (n->is_cut && !(is_word && n->next == NULL)) {
            return recipe_fail(r->name, n->at, err, "${words %s} stands "
                               "alone, as a word of a command", n->text);
        }
        is_word = 0;
        rc = check_cuts(r, n->body, 0, err);
    }
    return rc;
}

static int check_statement(const struct hb_recipe *r, struct statement *s,
                           struct hpcboot_error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->n_words; i++) {
        rc = resolve_all(r, s->words[i].nodes, err);
        rc = rc < 0 ? rc : check_cuts(r, s->words[i].nodes, is_command(s),
                                      err);
    }
    if (rc == 0 && (s->kind == ST_SET || s->kind == ST_TAKE)) {
        for (int i = 0; i < VAR_BUILTIN; i++) {
            if (hb_streq(builtins[i], s->name)) {
                return recipe_fail(r->name, s->at, err, "%s has a meaning "
                                   "already", s->name);
            }
        }
    }
    return rc;
}

static int check_meet(const struct hb_recipe *r, struct statement *s,
                      struct hpcboot_error *err)
{
    s->port = port_named(r, s->name);
    return s->port < r->n_ports
               ? 0 : recipe_fail(r->name, s->at, err, "there is no port %s",
                                 s->name);
}

static int check_head(const struct hb_recipe *r, struct hpcboot_error *err)
{
    return r->head_role == NULL ||
                   recipe_role(r, r->head_role) < r->roles.n
               ? 0 : recipe_fail(r->name, r->head_at, err, "there is no role "
                                 "%s", r->head_role);
}

int recipe_check(struct hb_recipe *r, struct hpcboot_error *err)
{
    int rc = check_head(r, err);

    for (size_t i = 0; rc == 0 && i < r->n_whens; i++) {
        for (struct condition *c = r->whens[i]; rc == 0 && c != NULL;
             c = c->next) {
            rc = resolve(r, c->name, err);
            rc = rc < 0 ? rc : resolve_all(r, c->value.nodes, err);
            rc = rc < 0 ? rc : check_cuts(r, c->value.nodes, 0, err);
        }
    }
    for (size_t i = 0; rc == 0 && i < r->n_statements; i++) {
        struct statement *s = &r->statements[i];

        rc = s->kind == ST_MEET ? check_meet(r, s, err)
                                : check_statement(r, s, err);
    }
    return rc < 0 ? rc : check_loops(r, err);
}

const char *hb_recipe_summary(const struct hb_recipe *r)
{
    return r->summary != NULL ? r->summary : "";
}

int hb_recipe_per_host(const struct hb_recipe *r)
{
    return r->per_host;
}

int hb_recipe_runs_once(const struct hb_recipe *r)
{
    return r->one_program;
}

enum hb_recipe_per hb_recipe_usual(const struct hb_recipe *r,
                                   hb_recipe_is_here is_here, void *arg,
                                   const char **name_out)
{
    for (size_t i = 0; i < r->n_usual; i++) {
        const struct usual_processes *u = &r->usual[i];

        for (size_t k = 0; k < u->in.n; k++) {
            if (is_here(arg, u->in.v[k])) {
                *name_out = u->in.v[k];
                return u->per;
            }
        }
    }
    *name_out = NULL;
    return HB_RECIPE_PER_SLOT;
}

int hb_recipe_puts_files(const struct hb_recipe *r)
{
    size_t i = 0;

    while (i < r->n_statements && r->statements[i].kind != ST_FILE) {
        i++;
    }
    return i < r->n_statements;
}

static int has_address(const struct node *n, int in_each)
{
    for (; n != NULL; n = n->next) {
        if (n->kind == NODE_EACH && has_address(n->body, 1)) {
            return 1;
        }
        if (in_each && n->kind == NODE_VARIABLE &&
            (n->variable == VAR_address || n->variable == VAR_url_address)) {
            return 1;
        }
    }
    return 0;
}

int hb_recipe_lists_addresses(const struct hb_recipe *r)
{
    for (size_t i = 0; i < r->n_statements; i++) {
        const struct statement *s = &r->statements[i];

        for (size_t k = 0; k < s->n_words; k++) {
            if (has_address(s->words[k].nodes, 0)) {
                return 1;
            }
        }
    }
    return 0;
}

static int has_head(const struct node *n)
{
    for (; n != NULL; n = n->next) {
        if (n->kind == NODE_VARIABLE && (n->variable == VAR_head_host ||
                                         n->variable == VAR_head_address ||
                                         n->variable == VAR_head_url_address)) {
            return 1;
        }
    }
    return 0;
}

int hb_recipe_says_where(const struct hb_recipe *r, const char *name)
{
    for (size_t i = 0; i < r->n_statements; i++) {
        const struct statement *s = &r->statements[i];

        if (s->kind == ST_ENV && hb_streq(s->name, name) &&
            (has_head(s->words[0].nodes) ||
             has_address(s->words[0].nodes, 0))) {
            return 1;
        }
    }
    return 0;
}

const struct hb_recipe_port *hb_recipe_ports(const struct hb_recipe *r,
                                             size_t *n_out)
{
    *n_out = r->n_ports;
    return r->ports;
}

char *const *hb_recipe_roles(const struct hb_recipe *r)
{
    return hb_strv_view(&r->roles);
}

uint32_t hb_recipe_role_count(const struct hb_recipe *r, size_t role)
{
    return r->role_counts[role];
}

const char *hb_recipe_alias(const struct hb_recipe *r, const char *name)
{
    return hb_env_get(&r->aliases, name);
}

uint32_t hb_recipe_head(const struct hb_recipe *r,
                        const struct hb_jobmap *map,
                        const uint32_t *role_of_rank)
{
    size_t role = r->head_role != NULL ? recipe_role(r, r->head_role) : 0;

    for (uint32_t i = 0; r->head_role != NULL && role_of_rank != NULL &&
         i < map->n_ranks; i++) {
        if (role_of_rank[i] == role) {
            return i;
        }
    }
    return 0;
}

int hb_recipe_takes(const struct hb_recipe *r, const char *name)
{
    return statement_named(r, name, ST_SET, ST_TAKE) < r->n_statements;
}

static void env_names(const struct node *n, struct hb_strv *out)
{
    for (; n != NULL; n = n->next) {
        if (n->kind == NODE_EACH) {
            env_names(n->body, out);
        } else if (n->kind == NODE_VARIABLE && n->variable == VAR_ENV) {
            hb_strv_push(out, n->text + strlen("env_"));
        }
    }
}

void hb_recipe_env_names(const struct hb_recipe *r, struct hb_strv *out)
{
    for (size_t i = 0; i < r->n_statements; i++) {
        const struct statement *s = &r->statements[i];

        for (size_t k = 0; k < s->n_words; k++) {
            env_names(s->words[k].nodes, out);
        }
    }
    for (size_t i = 0; i < r->n_whens; i++) {
        for (const struct condition *c = r->whens[i]; c != NULL;
             c = c->next) {
            env_names(c->name, out);
            env_names(c->value.nodes, out);
        }
    }
}

int hb_recipe_detects(const struct hb_recipe *r, const char *what,
                      const char *name)
{
    const struct hb_strv *list = hb_streq(what, "gang") ? &r->gangs
                                 : hb_streq(what, "command") ? &r->commands
                                                             : &r->variables;

    for (size_t i = 0; i < list->n; i++) {
        if (hb_streq(list->v[i], name)) {
            return 1;
        }
    }
    return 0;
}

static void conditions_destroy(struct condition *c)
{
    while (c != NULL) {
        struct condition *next = c->next;

        nodes_destroy(c->name);
        nodes_destroy(c->value.nodes);
        free(c);
        c = next;
    }
}

void hb_recipe_destroy(struct hb_recipe *r)
{
    if (r == NULL) {
        return;
    }
    for (size_t i = 0; i < r->n_statements; i++) {
        struct statement *s = &r->statements[i];

        for (size_t k = 0; k < s->n_words; k++) {
            nodes_destroy(s->words[k].nodes);
        }
        free(s->words);
        free(s->name);
    }
    for (size_t i = 0; i < r->n_whens; i++) {
        conditions_destroy(r->whens[i]);
    }
    for (size_t i = 0; i < r->n_ports; i++) {
        free(r->ports[i].name);
        hb_strv_destroy(&r->ports[i].from);
    }
    for (size_t i = 0; i < r->n_usual; i++) {
        hb_strv_destroy(&r->usual[i].in);
    }
    free(r->usual);
    hb_strv_destroy(&r->roles);
    hb_strv_destroy(&r->aliases);
    hb_strv_destroy(&r->gangs);
    hb_strv_destroy(&r->commands);
    hb_strv_destroy(&r->variables);
    free(r->role_counts);
    free(r->head_role);
    free(r->statements);
    free(r->whens);
    free(r->ports);
    free(r->summary);
    free(r->name);
    free(r);
}

uint32_t recipe_ports_of(const struct hb_recipe_port *port,
                         const struct hb_jobmap *map)
{
    return port->kind == HB_RECIPE_PORT_HEAD ? 1
           : port->kind == HB_RECIPE_PORT_HOST ? map->n_nodes : map->n_ranks;
}

uint32_t hb_recipe_n_ports(const struct hb_recipe *r,
                           const struct hb_jobmap *map)
{
    return hb_recipe_port_at(r, map, r->n_ports, 0, 0);
}

uint32_t hb_recipe_port_at(const struct hb_recipe *r,
                           const struct hb_jobmap *map, size_t port,
                           uint32_t node, uint32_t rank)
{
    uint32_t at = 0;

    for (size_t i = 0; i < port; i++) {
        at += recipe_ports_of(&r->ports[i], map);
    }
    if (port == r->n_ports || r->ports[port].kind == HB_RECIPE_PORT_HEAD) {
        return at;
    }
    return at + (r->ports[port].kind == HB_RECIPE_PORT_HOST ? node : rank);
}
