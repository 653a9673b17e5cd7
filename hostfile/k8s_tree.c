/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* From HyperNodes and labels to the place of a node in the network.
 *
 * A HyperNode holds nodes or other HyperNodes, by name, by pattern, or by
 * labels. The one around something is that of the lowest tier which holds it,
 * and tiers grow on the way out, so there are no circles. Patterns are Go's,
 * searched for anywhere in a name; they are read as the extended expressions
 * of POSIX, which say the same for what names of machines need. */

#include "config.h"

#include "hostfile/k8s_tree.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

#define NOWHERE SIZE_MAX

struct hb_k8s_tree {
    const struct hb_k8s_things *hypernodes, *nodes;
    regex_t **patterns; /* [hypernodes->n][n_members], NULL where no pattern */
    size_t *parent;     /* [hypernodes->n] or NOWHERE */
};

/* ---- values ---- */

static void member_destroy(struct hb_k8s_member *m)
{
    free(m->name);
    free(m->pattern);
    for (size_t i = 0; i < m->n_needs; i++) {
        free(m->needs[i].key);
        hb_strv_destroy(&m->needs[i].values);
    }
    free(m->needs);
}

void hb_k8s_thing_destroy(struct hb_k8s_thing *thing)
{
    if (thing == NULL) {
        return;
    }
    free(thing->name);
    hb_strv_destroy(&thing->labels);
    for (size_t i = 0; i < thing->n_members; i++) {
        member_destroy(&thing->members[i]);
    }
    free(thing->members);
    memset(thing, 0, sizeof(*thing));
}

void hb_k8s_things_destroy(struct hb_k8s_things *things)
{
    for (size_t i = 0; i < things->n; i++) {
        hb_k8s_thing_destroy(&things->v[i]);
    }
    free(things->v);
    memset(things, 0, sizeof(*things));
}

int hb_k8s_things_append(struct hb_k8s_things *things,
                         struct hb_k8s_thing *thing, struct hpcboot_error *err)
{
    if (things->n >= HB_K8S_MAX_THINGS) {
        hb_k8s_thing_destroy(thing);
        return hb_fail(err, HPCBOOT_ERR_LIMIT,
                       "the Kubernetes API lists more than %u objects",
                       HB_K8S_MAX_THINGS);
    }
    if (things->n == things->cap) {
        things->cap = things->cap > 0 ? 2 * things->cap : 64;
        things->v = hb_xrealloc(things->v, things->cap * sizeof(*things->v));
    }
    things->v[things->n++] = *thing;
    memset(thing, 0, sizeof(*thing));
    return HPCBOOT_OK;
}

static int by_name(const void *a, const void *b)
{
    const struct hb_k8s_thing *x = a, *y = b;

    return strcmp(x->name, y->name);
}

void hb_k8s_things_sort(struct hb_k8s_things *things)
{
    size_t kept = 0;

    if (things->n == 0) {
        return;
    }
    qsort(things->v, things->n, sizeof(*things->v), by_name);
    for (size_t i = 0; i < things->n; i++) {
        if (kept > 0 && by_name(&things->v[kept - 1], &things->v[i]) == 0) {
            hb_k8s_thing_destroy(&things->v[i]);
        } else {
            things->v[kept++] = things->v[i];
        }
    }
    things->n = kept;
}

const struct hb_k8s_thing *
hb_k8s_things_find(const struct hb_k8s_things *things, const char *name)
{
    const struct hb_k8s_thing key = {.name = (char *)name};

    return things->n == 0 ? NULL : bsearch(&key, things->v, things->n,
                                           sizeof(*things->v), by_name);
}

/* ---- who holds whom ---- */

static int has_value(const struct hb_strv *values, const char *value)
{
    for (size_t i = 0; i < values->n; i++) {
        if (strcmp(values->v[i], value) == 0) {
            return 1;
        }
    }
    return 0;
}

static int fulfils(const struct hb_k8s_thing *node,
                   const struct hb_k8s_need *need)
{
    const char *value = hb_env_get(&node->labels, need->key);

    switch (need->op) {
    case HB_K8S_IN: return value != NULL && has_value(&need->values, value);
    case HB_K8S_NOT_IN:
        return value == NULL || !has_value(&need->values, value);
    case HB_K8S_EXISTS: return value != NULL;
    case HB_K8S_ABSENT: return value == NULL;
    }
    return 0;
}

static int holds_by_labels(const struct hb_k8s_tree *tree,
                           const struct hb_k8s_member *m, const char *name)
{
    const struct hb_k8s_thing *thing = hb_k8s_things_find(
        m->is_node ? tree->nodes : tree->hypernodes, name);

    for (size_t i = 0; thing != NULL && i < m->n_needs; i++) {
        if (!fulfils(thing, &m->needs[i])) {
            return 0;
        }
    }
    return thing != NULL;
}

static int holds(const struct hb_k8s_tree *tree, size_t h, int is_node,
                 const char *name)
{
    const struct hb_k8s_thing *thing = &tree->hypernodes->v[h];

    for (size_t i = 0; i < thing->n_members; i++) {
        const struct hb_k8s_member *m = &thing->members[i];
        int yes = 0;
        if (m->is_node != is_node) {
            continue;
        }
        if (m->name != NULL) {
            yes = strcmp(m->name, name) == 0;
        } else if (m->pattern != NULL) {
            yes = regexec(&tree->patterns[h][i], name, 0, NULL, 0) == 0;
        } else if (m->by_labels) {
            yes = holds_by_labels(tree, m, name);
        }
        if (yes) {
            return 1;
        }
    }
    return 0;
}

/* The HyperNode of the lowest tier above `tier` that holds it; NOWHERE. */
static size_t around(const struct hb_k8s_tree *tree, int is_node,
                     const char *name, int64_t tier)
{
    const struct hb_k8s_thing *v = tree->hypernodes->v;
    size_t best = NOWHERE;

    for (size_t h = 0; h < tree->hypernodes->n; h++) {
        if ((int64_t)v[h].tier > tier &&
            (best == NOWHERE || v[h].tier < v[best].tier) &&
            holds(tree, h, is_node, name)) {
            best = h;
        }
    }
    return best;
}

/* ---- patterns ---- */

/* What Go writes differently; free() it. */
static char *as_posix(const char *pattern)
{
    struct hb_str o = HB_STR_INIT;

    hb_str_put(&o, "");
    for (const char *p = pattern; *p != '\0'; p++) {
        if (p[0] == '\\' && p[1] == 'd') {
            hb_str_put(&o, "[0-9]");
            p++;
        } else if (strncmp(p, "(?:", 3) == 0) {
            hb_str_putc(&o, '(');
            p += 2;
        } else if (p[0] == '\\' && p[1] != '\0') {
            hb_str_putn(&o, p++, 2);
        } else {
            hb_str_putc(&o, *p);
        }
    }
    return hb_str_steal(&o);
}

static int compile(const struct hb_k8s_thing *thing, regex_t *out,
                   const char *pattern, struct hpcboot_error *err)
{
    char *posix = as_posix(pattern), words[128];
    int why = regcomp(out, posix, REG_EXTENDED | REG_NOSUB);

    free(posix);
    if (why != 0) {
        regerror(why, out, words, sizeof(words));
        return hb_fail(err, HPCBOOT_ERR_PARSE, "HyperNode %s: the pattern "
                       "\"%.200s\" is not understood: %s", thing->name,
                       pattern, words);
    }
    return HPCBOOT_OK;
}

/* On failure those before `i` are compiled. */
static int compile_members(struct hb_k8s_tree *tree, size_t h,
                           struct hpcboot_error *err)
{
    const struct hb_k8s_thing *thing = &tree->hypernodes->v[h];
    regex_t *patterns = hb_xcalloc(thing->n_members + 1, sizeof(*patterns));
    size_t i = 0;
    int rc = HPCBOOT_OK;

    for (; rc >= 0 && i < thing->n_members; i++) {
        if (thing->members[i].pattern != NULL) {
            rc = compile(thing, &patterns[i], thing->members[i].pattern, err);
        }
    }
    if (rc < 0) {
        for (i--; i-- > 0;) {
            if (thing->members[i].pattern != NULL) {
                regfree(&patterns[i]);
            }
        }
        free(patterns);
        return rc;
    }
    tree->patterns[h] = patterns;
    return HPCBOOT_OK;
}

/* ---- the tree ---- */

int hb_k8s_tree_needs_labels(const struct hb_k8s_things *hypernodes)
{
    for (size_t h = 0; h < hypernodes->n; h++) {
        for (size_t i = 0; i < hypernodes->v[h].n_members; i++) {
            if (hypernodes->v[h].members[i].is_node &&
                hypernodes->v[h].members[i].by_labels) {
                return 1;
            }
        }
    }
    return 0;
}

void hb_k8s_tree_destroy(struct hb_k8s_tree *tree)
{
    if (tree == NULL) {
        return;
    }
    for (size_t h = 0; h < tree->hypernodes->n; h++) {
        const struct hb_k8s_thing *thing = &tree->hypernodes->v[h];
        for (size_t i = 0; tree->patterns[h] != NULL && i < thing->n_members;
             i++) {
            if (thing->members[i].pattern != NULL) {
                regfree(&tree->patterns[h][i]);
            }
        }
        free(tree->patterns[h]);
    }
    free(tree->patterns);
    free(tree->parent);
    free(tree);
}

int hb_k8s_tree_create(const struct hb_k8s_things *hypernodes,
                       const struct hb_k8s_things *nodes,
                       struct hb_k8s_tree **out, struct hpcboot_error *err)
{
    struct hb_k8s_tree *tree = hb_xcalloc(1, sizeof(*tree));
    int rc = HPCBOOT_OK;

    tree->hypernodes = hypernodes;
    tree->nodes = nodes;
    tree->patterns = hb_xcalloc(hypernodes->n + 1, sizeof(*tree->patterns));
    tree->parent = hb_xcalloc(hypernodes->n + 1, sizeof(*tree->parent));
    for (size_t h = 0; rc >= 0 && h < hypernodes->n; h++) {
        rc = compile_members(tree, h, err);
    }
    if (rc < 0) {
        hb_k8s_tree_destroy(tree);
        return rc;
    }
    for (size_t h = 0; h < hypernodes->n; h++) {
        tree->parent[h] = around(tree, 0, hypernodes->v[h].name,
                                 hypernodes->v[h].tier);
    }
    *out = tree;
    return HPCBOOT_OK;
}

/* Puts the outermost first. */
static void put_path(const struct hb_k8s_tree *tree, size_t h, struct hb_str *o)
{
    struct hb_strv steps = HB_STRV_INIT;

    for (; h != NOWHERE; h = tree->parent[h]) {
        hb_strv_push(&steps, tree->hypernodes->v[h].name);
    }
    for (size_t i = steps.n; i-- > 0;) {
        hb_str_putf(o, "%s%s", steps.v[i], i > 0 ? "/" : "");
    }
    hb_strv_destroy(&steps);
}

char *hb_k8s_tree_path(const struct hb_k8s_tree *tree, const char *node)
{
    size_t leaf = around(tree, 1, node, -1);
    struct hb_str o = HB_STR_INIT;

    if (leaf == NOWHERE) {
        return NULL;
    }
    put_path(tree, leaf, &o);
    return hb_str_steal(&o);
}

char *hb_k8s_labels_path(const struct hb_k8s_thing *node, const char *keys)
{
    struct hb_str o = HB_STR_INIT;

    for (const char *p = keys; *p != '\0';) {
        size_t n = strcspn(p, ",");
        char *key = hb_xstrndup(p, n);
        const char *value = hb_env_get(&node->labels, key);
        if (value != NULL && value[0] != '\0') {
            hb_str_putf(&o, "%s%s", o.len > 0 ? "/" : "", value);
        }
        free(key);
        p += n + (p[n] == ',');
    }
    return o.len > 0 ? hb_str_steal(&o) : NULL;
}
