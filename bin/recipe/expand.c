/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Applies a recipe to one rank of a job. A pure function of the recipe and the
 * facts. ${each ...} moves a cursor over ranks, hosts or roles; inside it the
 * variables speak of what the cursor stands at, and an inner `each rank` walks
 * only the ranks of the outer host or role.
 *
 * What comes out is bounded in bytes, and the work in steps: a recipe is
 * somebody's file. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/recipe/expand_impl.h"
#include "lib/base/str.h"

/* Nodes that may be visited for one rank: a list of all ranks for each rank of
 * a job of 4096 is within it. */
#define STEPS_MAX (64u << 20)
#define KINDS_MAX 64 /* of ranks that are told apart */

static int put_nodes(struct expansion *x, const struct node *n,
                     const struct cursor *c, struct hb_str *out,
                     struct hpcboot_error *err);

static uint32_t role_of(const struct expansion *x, uint32_t rank)
{
    return x->f->role_of_rank != NULL ? x->f->role_of_rank[rank] : 0;
}

static int holds(struct expansion *x, const struct condition *when,
                 const struct cursor *c, int *out, struct hpcboot_error *err)
{
    int rc = 0;

    *out = 1;
    for (; rc == 0 && *out && when != NULL; when = when->next) {
        struct hb_str a = HB_STR_INIT, b = HB_STR_INIT;

        rc = put_nodes(x, when->name, c, &a, err);
        if (rc == 0) {
            rc = put_nodes(x, when->value.nodes, c, &b, err);
        }
        *out = hb_streq(hb_str_text(&a), hb_str_text(&b)) != when->negated;
        hb_str_destroy(&a);
        hb_str_destroy(&b);
    }
    return rc;
}

/* What the launcher was told, else the last `set` that holds; else "". */
static int put_set(struct expansion *x, const char *name,
                   const struct cursor *c, struct hb_str *out,
                   struct hpcboot_error *err)
{
    const struct hb_recipe *r = x->r;
    const char *value = hb_expand_given(x, name);
    const struct statement *best = NULL;
    int rc = 0, yes;

    if (value != NULL) {
        hb_str_put(out, value);
        return 0;
    }
    x->steps += (uint32_t)r->n_statements;
    for (size_t i = 0; rc == 0 && i < r->n_statements; i++) {
        const struct statement *s = &r->statements[i];

        if (s->kind == ST_SET && hb_streq(s->name, name)) {
            rc = holds(x, s->when, c, &yes, err);
            best = rc == 0 && yes ? s : best;
        }
    }
    return rc < 0 || best == NULL
               ? rc : put_nodes(x, best->words[0].nodes, c, out, err);
}

static int put_variable(struct expansion *x, const struct node *n,
                        const struct cursor *c, struct hb_str *out,
                        struct hpcboot_error *err)
{
    const char *value;

    switch (n->variable) {
    case VAR_PORT:
        hb_str_putf(out, "%u", x->f->ports[hb_recipe_port_at(
            x->r, x->f->map, n->index, c->node, c->rank)]);
        return 0;
    case VAR_SET:
        return put_set(x, n->text, c, out, err);
    case VAR_FILE:
        hb_str_putf(out, "%s/%s", x->f->dir, x->r->statements[n->index].name);
        return 0;
    case VAR_ENV:
        value = hb_expand_given(x, n->text);
        hb_str_put(out, value != NULL ? value : "");
        return 0;
    case VAR_NUMBER:
        hb_str_putf(out, "%u", x->role_size[n->index]);
        return 0;
    default:
        hb_expand_builtin(x, n->variable, c, out);
        return 0;
    }
}

/* Puts the cursor at the i-th thing; 0: this one is not walked over. */
static int move(const struct expansion *x, const struct node *n, uint32_t i,
                const struct cursor *outer, struct cursor *c)
{
    *c = *outer;
    switch (n->each) {
    case EACH_RANK:
        c->rank = i;
        c->node = x->f->map->node_of_rank[i];
        c->role = role_of(x, i);
        return (n->role == NULL || c->role == n->index) &&
               (outer->only_node == ANY || outer->only_node == c->node) &&
               (outer->only_role == ANY || outer->only_role == c->role);
    case EACH_HOST:
        c->node = c->only_node = i;
        c->rank = x->first_rank[i];
        return 1;
    default:
        c->role = c->only_role = i;
        return x->role_size[i] > 0;
    }
}

static int put_each(struct expansion *x, const struct node *n,
                    const struct cursor *outer, struct hb_str *out,
                    struct hpcboot_error *err)
{
    const uint32_t counts[] = {
        [EACH_RANK] = x->f->map->n_ranks, [EACH_HOST] = x->f->map->n_nodes,
        [EACH_ROLE] = (uint32_t)x->r->roles.n};
    int rc = 0, any = 0;

    for (uint32_t i = 0; rc == 0 && i < counts[n->each]; i++) {
        struct cursor c;

        if (x->steps++ > STEPS_MAX) {
            return recipe_fail(x->r->name, n->at, err, "this takes too many "
                               "steps for %u ranks", x->f->map->n_ranks);
        }
        if (!move(x, n, i, outer, &c)) {
            continue;
        }
        if (any) {
            hb_str_put(out, n->separator);
        }
        any = 1;
        rc = put_nodes(x, n->body, &c, out, err);
    }
    return rc;
}

static int put_nodes(struct expansion *x, const struct node *n,
                     const struct cursor *c, struct hb_str *out,
                     struct hpcboot_error *err)
{
    int rc = 0;

    for (; rc == 0 && n != NULL; n = n->next) {
        if (x->steps++ > STEPS_MAX || out->len > HB_RECIPE_VALUE_MAX) {
            return recipe_fail(x->r->name, n->at, err, "this makes a text "
                               "longer than %u bytes, or takes too many "
                               "steps", HB_RECIPE_VALUE_MAX);
        }
        if (n->kind == NODE_TEXT) {
            hb_str_put(out, n->text);
        } else if (n->kind == NODE_VARIABLE) {
            rc = put_variable(x, n, c, out, err);
        } else {
            rc = put_each(x, n, c, out, err);
        }
    }
    return rc;
}

/* --- statements ------------------------------------------------------- */

/* A word that is ${program} alone, or a part of that, stands for all its words;
 * one that comes to nothing, and was a variable, is left out. */
static int put_words(struct expansion *x, const struct statement *s,
                     const struct cursor *c, struct hb_strv *out,
                     struct hpcboot_error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->n_words; i++) {
        const struct word *w = &s->words[i];
        struct hb_str text = HB_STR_INIT;

        if (hb_expand_program(x, w, out)) {
            continue;
        }
        rc = put_nodes(x, w->nodes, c, &text, err);
        if (rc == 0 && w->nodes != NULL && w->nodes->is_cut) {
            rc = hb_expand_cut(x, w->nodes, hb_str_text(&text), out, err);
        } else if (rc == 0 && (text.len > 0 || w->nodes == NULL ||
                        w->nodes->kind == NODE_TEXT)) {
            hb_strv_push(out, hb_str_text(&text));
        }
        hb_str_destroy(&text);
    }
    if (rc == 0 && out->n == 0) {
        rc = recipe_fail(x->r->name, s->at, err, "nothing is left of this "
                         "command: its variables are empty");
    }
    return rc;
}

static int put_command(struct expansion *x, const struct statement *s,
                       enum hb_recipe_step step, const struct cursor *c,
                       struct hb_recipe_rank *out, struct hpcboot_error *err)
{
    struct hb_recipe_command *command;

    if (out->n_commands == HB_RECIPE_COMMANDS_MAX) {
        return recipe_fail(x->r->name, s->at, err, "a rank has at most %u "
                           "commands beside its program",
                           HB_RECIPE_COMMANDS_MAX);
    }
    out->commands = hb_xrealloc(out->commands, (out->n_commands + 1) *
                                                   sizeof *out->commands);
    command = &out->commands[out->n_commands++];
    *command = (struct hb_recipe_command){.step = step,
                                          .seconds = s->seconds};
    return put_words(x, s, c, &command->argv, err);
}

static int put_env(struct expansion *x, const struct statement *s,
                   const struct cursor *c, struct hb_strv *out,
                   struct hpcboot_error *err)
{
    struct hb_str text = HB_STR_INIT;
    int rc = put_nodes(x, s->words[0].nodes, c, &text, err);
    size_t bytes = strlen(s->name) + text.len + 2;

    if (rc == 0 && bytes > HB_RECIPE_ENV_MAX) {
        rc = recipe_fail(x->r->name, s->at, err, "%s would have %zu bytes, "
                         "and Linux lets no variable have more than %u: a job "
                         "of %u ranks is too large for it", s->name, bytes,
                         HB_RECIPE_ENV_MAX, x->f->map->n_ranks);
    }
    if (rc == 0) {
        hb_env_setf(out, s->name, "%s", hb_str_text(&text));
    }
    hb_str_destroy(&text);
    return rc;
}

static int put_file(struct expansion *x, const struct statement *s,
                    const struct cursor *c, struct hb_recipe_rank *out,
                    struct hpcboot_error *err)
{
    struct hb_str text = HB_STR_INIT;
    int rc = put_nodes(x, s->words[0].nodes, c, &text, err);
    struct hb_recipe_file *f;

    if (rc < 0) {
        hb_str_destroy(&text);
        return rc;
    }
    hb_str_putc(&text, '\n');
    out->files = hb_xrealloc(out->files,
                             (out->n_files + 1) * sizeof *out->files);
    f = &out->files[out->n_files++];
    f->name = hb_xstrdup(s->name);
    f->len = text.len;
    f->text = hb_str_steal(&text);
    return 0;
}

static int put_statement(struct expansion *x, const struct statement *s,
                         const struct cursor *c, struct hb_recipe_rank *out,
                         struct hpcboot_error *err)
{
    switch (s->kind) {
    case ST_ENV:
        return put_env(x, s, c, &out->set, err);
    case ST_DEFAULT:
        return put_env(x, s, c, &out->defaults, err);
    case ST_UNSET:
        hb_env_unset(&out->set, s->name);
        hb_env_unset(&out->defaults, s->name);
        hb_strv_push(&out->unset, s->name);
        return 0;
    case ST_FILE:
        return put_file(x, s, c, out, err);
    case ST_START:
        return put_command(x, s, HB_RECIPE_START, c, out, err);
    case ST_READY:
        return put_command(x, s, HB_RECIPE_READY, c, out, err);
    case ST_STOP:
        return put_command(x, s, HB_RECIPE_STOP, c, out, err);
    case ST_RUN:
        hb_strv_destroy(&out->argv);
        return put_words(x, s, c, &out->argv, err);
    default:
        return 0;
    }
}

/* --- the whole -------------------------------------------------------- */

static void begin(struct expansion *x, const struct hb_recipe *r,
                  const struct hb_recipe_facts *f)
{
    const struct hb_jobmap *map = f->map;

    *x = (struct expansion){.r = r, .f = f};
    x->role_index = hb_xcalloc(map->n_ranks, sizeof *x->role_index);
    x->role_size = hb_xcalloc(r->roles.n + 1, sizeof *x->role_size);
    x->first_rank = hb_xcalloc(map->n_nodes, sizeof *x->first_rank);
    x->head = map->node_of_rank[hb_recipe_head(r, map, f->role_of_rank)];
    for (uint32_t i = map->n_ranks; i-- > 0;) {
        x->first_rank[map->node_of_rank[i]] = i;
    }
    for (uint32_t i = 0; i < map->n_ranks; i++) {
        x->role_index[i] = x->role_size[role_of(x, i)]++;
    }
}

static void end(struct expansion *x)
{
    free(x->role_index);
    free(x->role_size);
    free(x->first_rank);
}

int hb_recipe_expand(const struct hb_recipe *r,
                     const struct hb_recipe_facts *facts, uint32_t rank,
                     struct hb_recipe_rank *out, struct hpcboot_error *err)
{
    struct hb_recipe_rank made = {.n_files = 0};
    struct expansion x;
    struct cursor c = {.rank = rank, .only_node = ANY, .only_role = ANY};
    int rc = 0, yes = 0;

    begin(&x, r, facts);
    c.node = facts->map->node_of_rank[rank];
    c.role = role_of(&x, rank);
    if (!r->one_program || rank == 0) {
        hb_strv_extend(&made.argv, facts->program);
    }
    for (size_t i = 0; rc == 0 && i < r->n_statements; i++) {
        rc = holds(&x, r->statements[i].when, &c, &yes, err);
        if (rc == 0 && yes) {
            rc = put_statement(&x, &r->statements[i], &c, &made, err);
        }
    }
    end(&x);
    if (rc < 0) {
        hb_recipe_rank_destroy(&made);
        return rc;
    }
    *out = made;
    return 0;
}

static struct cursor at_rank(const struct expansion *x, uint32_t rank)
{
    return (struct cursor){
        .rank = rank, .node = x->f->map->node_of_rank[rank],
        .role = role_of(x, rank), .only_node = ANY, .only_role = ANY};
}

/* The polynomial of CRC-64 (ECMA-182). */
#define CRC64 UINT64_C(0x42f0e1eba9ea3693)

/* Which conditions hold for a rank, a bit each; of more than 64 their CRC. */
static int conditions_of(struct expansion *x, uint32_t rank, uint64_t *out,
                         struct hpcboot_error *err)
{
    const struct cursor c = at_rank(x, rank);
    int rc = 0, yes = 0;

    *out = 0;
    x->steps = 0;
    for (size_t i = 0; rc == 0 && i < x->r->n_whens; i++) {
        rc = holds(x, x->r->whens[i], &c, &yes, err);
        *out = (*out << 1 | (unsigned)yes) ^ (*out >> 63 ? CRC64 : 0);
    }
    return rc;
}

int hb_recipe_kinds(const struct hb_recipe *r,
                    const struct hb_recipe_facts *facts, uint32_t **out,
                    size_t *n_out, struct hpcboot_error *err)
{
    uint32_t *ranks = hb_xcalloc(KINDS_MAX, sizeof *ranks);
    uint64_t kinds[KINDS_MAX];
    struct expansion x;
    size_t n = 0;
    int rc = 0;

    begin(&x, r, facts);
    for (uint32_t i = 0; rc == 0 && i < facts->map->n_ranks && n < KINDS_MAX;
         i++) {
        size_t k = 0;

        rc = conditions_of(&x, i, &kinds[n], err);
        while (kinds[k] != kinds[n]) {
            k++;
        }
        ranks[n] = i;
        n += rc == 0 && k == n;
    }
    end(&x);
    if (rc < 0) {
        free(ranks);
        return rc;
    }
    *out = ranks;
    *n_out = n;
    return 0;
}

/* 1: there is a statement of the kind whose condition holds for the rank. */
static int has_statement(struct expansion *x, enum statement_kind kind,
                         uint32_t rank, struct hpcboot_error *err)
{
    const struct cursor c = at_rank(x, rank);
    int rc = 0, yes = 0;

    x->steps = 0;
    for (size_t k = 0; rc == 0 && !yes && k < x->r->n_statements; k++) {
        if (x->r->statements[k].kind == kind) {
            rc = holds(x, x->r->statements[k].when, &c, &yes, err);
        }
    }
    return rc < 0 ? rc : yes;
}

int hb_recipe_serving(const struct hb_recipe *r,
                      const struct hb_recipe_facts *facts,
                      unsigned char *serves_out, struct hpcboot_error *err)
{
    struct expansion x;
    int rc = 0;

    begin(&x, r, facts);
    for (uint32_t i = 0; rc >= 0 && i < facts->map->n_ranks; i++) {
        rc = has_statement(&x, ST_SERVES, i, err);
        serves_out[i] = rc > 0 || (r->one_program && i > 0);
    }
    end(&x);
    return rc < 0 ? rc : 0;
}

int hb_recipe_grows(const struct hb_recipe *r,
                    const struct hb_recipe_facts *facts,
                    struct hpcboot_error *err)
{
    struct expansion x;
    int rc;

    begin(&x, r, facts);
    rc = has_statement(&x, ST_GROWS, 0, err);
    end(&x);
    return rc;
}

/* One place for each port of the statement. */
static void put_places(const struct expansion *x, size_t port,
                       struct hb_recipe_place **out, size_t *n)
{
    const struct hb_jobmap *map = x->f->map;
    const enum hb_recipe_port_kind kind = x->r->ports[port].kind;
    uint32_t count = recipe_ports_of(&x->r->ports[port], map);

    *out = hb_xrealloc(*out, (*n + count) * sizeof **out);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = kind == HB_RECIPE_PORT_HEAD ? x->head
                        : kind == HB_RECIPE_PORT_HOST ? i
                        : map->node_of_rank[i];

        (*out)[(*n)++] = (struct hb_recipe_place){
            node, x->f->ports[hb_recipe_port_at(x->r, map, port, node, i)]};
    }
}

int hb_recipe_meet(const struct hb_recipe *r,
                   const struct hb_recipe_facts *facts,
                   struct hb_recipe_place **out, size_t *n_out,
                   struct hpcboot_error *err)
{
    struct hb_recipe_place *places = NULL;
    struct expansion x;
    size_t n = 0;
    int rc = 0, yes = 0;

    begin(&x, r, facts);
    const struct cursor c = at_rank(&x, 0);

    for (size_t i = 0; rc == 0 && i < r->n_statements; i++) {
        if (r->statements[i].kind == ST_MEET) {
            rc = holds(&x, r->statements[i].when, &c, &yes, err);
            if (rc == 0 && yes) {
                put_places(&x, r->statements[i].port, &places, &n);
            }
        }
    }
    end(&x);
    if (rc < 0) {
        free(places);
        return rc;
    }
    *out = places;
    *n_out = n;
    return 0;
}

void hb_recipe_rank_destroy(struct hb_recipe_rank *rank)
{
    hb_strv_destroy(&rank->set);
    hb_strv_destroy(&rank->defaults);
    hb_strv_destroy(&rank->unset);
    hb_strv_destroy(&rank->argv);
    for (size_t i = 0; i < rank->n_files; i++) {
        free(rank->files[i].name);
        free(rank->files[i].text);
    }
    free(rank->files);
    for (size_t i = 0; i < rank->n_commands; i++) {
        hb_strv_destroy(&rank->commands[i].argv);
    }
    free(rank->commands);
    *rank = (struct hb_recipe_rank){.n_files = 0};
}
