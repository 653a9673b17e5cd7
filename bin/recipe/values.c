/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What the variables of a recipe are that no recipe sets: of a rank, its host,
 * its role, the job, the program. */
#include "config.h"

#include <string.h>

#include "bin/recipe/expand_impl.h"

#define BLANKS " \t\r\n"

const char *hb_expand_given(const struct expansion *x, const char *name)
{
    size_t n = strlen(name);

    for (char *const *v = x->f->given; v != NULL && *v != NULL; v++) {
        if (strncmp(*v, name, n) == 0 && (*v)[n] == '=') {
            return *v + n + 1;
        }
    }
    return NULL;
}

static void put_url_address(struct hb_str *out, const char *address)
{
    int v6 = strchr(address, ':') != NULL;

    hb_str_putf(out, "%s%s%s", v6 ? "[" : "", address, v6 ? "]" : "");
}

/* The place of a rank among the hosts that have one of its local number. */
static void put_cross(const struct expansion *x, const struct cursor *c,
                      int size, struct hb_str *out)
{
    const struct hb_jobmap *map = x->f->map;
    uint32_t n = 0, local = map->local_rank[c->rank];

    for (uint32_t i = 0; i < (size ? map->n_nodes : c->node); i++) {
        n += map->local_size[i] > local;
    }
    hb_str_putf(out, "%u", n);
}

/* Those of the program from `from` on, up to `to`. */
struct words {
    size_t from, to;
};

/* Where the arguments of a script begin only whoever read the command line
 * knows; where nobody has said it, all is the script. */
static struct words words_of(const struct expansion *x, int variable)
{
    const char *said = hb_expand_given(x, HB_RECIPE_SCRIPT_WORDS);
    uint64_t script = SIZE_MAX;
    size_t n = 0;

    while (x->f->program != NULL && x->f->program[n] != NULL) {
        n++;
    }
    if (said == NULL || hb_parse_u64(said, 1, n, &script) < 0) {
        script = n;
    }
    return (struct words){variable == VAR_arguments ? script : 0,
                          variable == VAR_script ? script : n};
}

static void put_program(const struct expansion *x, int variable,
                        struct hb_str *out)
{
    struct words w = words_of(x, variable);

    for (size_t i = w.from; i < w.to; i++) {
        hb_str_putf(out, "%s%s", i == w.from ? "" : " ", x->f->program[i]);
    }
}

int hb_expand_program(const struct expansion *x, const struct word *w,
                      struct hb_strv *out)
{
    const struct node *n = w->nodes;
    struct words part;

    if (n == NULL || n->kind != NODE_VARIABLE || n->next != NULL ||
        (n->variable != VAR_program && n->variable != VAR_script &&
         n->variable != VAR_arguments)) {
        return 0;
    }
    part = words_of(x, n->variable);
    for (size_t i = part.from; i < part.to; i++) {
        hb_strv_push(out, x->f->program[i]);
    }
    return 1;
}

/* JSON keeps its quotes: one counts where a word begins and behind '='. */
static int is_quote(const char *p, const char *word)
{
    return (*p == '"' || *p == '\'') && (p == word || p[-1] == '=');
}

int hb_expand_cut(const struct expansion *x, const struct node *n,
                  const char *text, struct hb_strv *out,
                  struct hpcboot_error *err)
{
    while (*(text += strspn(text, BLANKS)) != '\0') {
        struct hb_str word = HB_STR_INIT;
        const char *begin = text, *end = text;

        hb_str_put(&word, "");
        while (end != NULL && *text != '\0' && strchr(BLANKS, *text) == NULL) {
            int quote = is_quote(text, begin);

            end = quote ? strchr(text + 1, *text) : text + 1;
            if (end != NULL) {
                hb_str_putn(&word, text + quote, (size_t)(end - text) - quote);
                text = end + quote;
            }
        }
        hb_strv_take(out, hb_str_steal(&word));
        if (end == NULL) {
            return recipe_fail(x->r->name, n->at, err, "a quote is not closed "
                               "in what %s is: %s", n->text, text);
        }
    }
    return 0;
}

/* Alone on its host, or with GPUs that nobody else sees, a rank has all of
 * them; else that of its local number, as frameworks have it. */
static void put_gpus(const struct expansion *x, const struct cursor *c,
                     struct hb_str *out)
{
    const struct hb_jobmap *map = x->f->map;
    uint32_t n = x->f->gpus;

    if (n > 0 && !x->f->gpus_are_own && map->local_size[c->node] > 1) {
        hb_str_putf(out, "%u", map->local_rank[c->rank] % n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        hb_str_putf(out, "%s%u", i > 0 ? "," : "", i);
    }
}

void hb_expand_builtin(const struct expansion *x, int variable,
                       const struct cursor *c, struct hb_str *out)
{
    const struct hb_jobmap *map = x->f->map;
    uint32_t head = x->head;

    switch (variable) {
    case VAR_rank: hb_str_putf(out, "%u", c->rank); break;
    case VAR_size: hb_str_putf(out, "%u", map->n_ranks); break;
    case VAR_local_rank:
        hb_str_putf(out, "%u", map->local_rank[c->rank]);
        break;
    case VAR_local_size:
        hb_str_putf(out, "%u", map->local_size[c->node]);
        break;
    case VAR_node: hb_str_putf(out, "%u", c->node); break;
    case VAR_nodes: hb_str_putf(out, "%u", map->n_nodes); break;
    case VAR_host: hb_str_put(out, map->node_names[c->node]); break;
    case VAR_address: hb_str_put(out, x->f->addresses[c->node]); break;
    case VAR_url_address:
        put_url_address(out, x->f->addresses[c->node]);
        break;
    case VAR_head_host: hb_str_put(out, map->node_names[head]); break;
    case VAR_head_address: hb_str_put(out, x->f->addresses[head]); break;
    case VAR_head_url_address:
        put_url_address(out, x->f->addresses[head]);
        break;
    case VAR_cross_rank: put_cross(x, c, 0, out); break;
    case VAR_cross_size: put_cross(x, c, 1, out); break;
    case VAR_role:
        hb_str_put(out, x->r->roles.n > 0 ? x->r->roles.v[c->role] : "");
        break;
    case VAR_role_index:
        hb_str_putf(out, "%u", x->role_index[c->rank]);
        break;
    case VAR_role_size: hb_str_putf(out, "%u", x->role_size[c->role]); break;
    case VAR_slots:
        hb_str_putf(out, "%u", x->f->slots != NULL ? x->f->slots[c->node] : 1);
        break;
    case VAR_gpus: put_gpus(x, c, out); break;
    case VAR_interface:
        hb_str_put(out, x->f->interface != NULL ? x->f->interface : "");
        break;
    case VAR_restart: hb_str_putf(out, "%u", x->f->restart); break;
    case VAR_job_id: hb_str_put(out, x->f->job_id); break;
    case VAR_program:
    case VAR_script:
    case VAR_arguments: put_program(x, variable, out); break;
    case VAR_hpcbootd:
        hb_str_put(out, x->f->agent != NULL ? x->f->agent : "hpcbootd");
        break;
    default: break;
    }
}
