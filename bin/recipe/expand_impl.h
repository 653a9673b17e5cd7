/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RECIPE_EXPAND_IMPL_H
#define HB_RECIPE_EXPAND_IMPL_H

#include "bin/recipe/recipe_impl.h"
#include "lib/base/str.h"

/* What expand.c, which walks through a recipe, and values.c, which knows what
 * its variables are, have in common. */

#define ANY UINT32_MAX

struct cursor {
    uint32_t rank, node, role;
    uint32_t only_node, only_role; /* an inner `each rank` keeps to; or ANY */
};

struct expansion {
    const struct hb_recipe *r;
    const struct hb_recipe_facts *f;
    uint32_t *role_index; /* [n_ranks] among the ranks of its role */
    uint32_t *role_size;  /* [roles.n + 1] */
    uint32_t *first_rank; /* [n_nodes] */
    uint32_t head;        /* its node */
    uint32_t steps;
};

/* What the launcher was told; NULL: nothing of that name. */
const char *hb_expand_given(const struct expansion *x, const char *name);
void hb_expand_builtin(const struct expansion *x, int variable,
                       const struct cursor *c, struct hb_str *out);
/* Adds the words that a word stands for which is ${program}, ${script} or
 * ${arguments} alone. 0: it is none of them. */
int hb_expand_program(const struct expansion *x, const struct word *w,
                      struct hb_strv *out);

/* Adds the words of `text`, which is what `n` stands for: cut at blanks outside
 * of '...' and "...". */
int hb_expand_cut(const struct expansion *x, const struct node *n,
                  const char *text, struct hb_strv *out,
                  struct hpcboot_error *err);

#endif
