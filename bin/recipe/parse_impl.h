/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RECIPE_PARSE_IMPL_H
#define HB_RECIPE_PARSE_IMPL_H

#include "bin/recipe/recipe_impl.h"

/* What parse.c and parse_when.c share. */
struct parser {
    struct lexer l;
    struct hb_recipe *r;
    const struct condition *when; /* of the statements to come; NULL: none */
};

/* parse.c */
/* One of `known`: its index. `what` is for messages. */
int parse_choice(struct parser *p, const char *const *known, size_t n,
                 const char *what, int *out, struct hpcboot_error *err);
/* A name, to be freed, and where it stands. */
int parse_name(struct parser *p, const char *what, char **out,
               struct recipe_at *at, struct hpcboot_error *err);

/* parse_when.c */
/* The line in brackets that begins here. */
int parse_bracket(struct parser *p, struct hpcboot_error *err);

#endif
