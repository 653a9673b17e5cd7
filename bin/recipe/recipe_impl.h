/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RECIPE_IMPL_H
#define HB_RECIPE_IMPL_H

#include "bin/recipe/recipe.h"

/* A recipe as it was read. lex.c makes words out of characters, parse.c
 * statements out of words, check.c looks at the whole, expand.c applies it. */

struct recipe_at { /* in the file, from 1 */
    uint32_t line, column;
};

enum node_kind { NODE_TEXT, NODE_VARIABLE, NODE_EACH };
enum each_kind { EACH_RANK, EACH_HOST, EACH_ROLE };

/* A template is a list of nodes. */
struct node {
    enum node_kind kind;
    struct recipe_at at;
    char *text; /* of NODE_TEXT; the name of NODE_VARIABLE */
    int variable; /* enum variable, once checked */
    size_t index; /* into ports, sets or files, by variable */
    int is_cut;   /* ${words NAME}: into words, at its blanks */
    enum each_kind each;
    char *role;      /* ${each rank of ROLE: ...} */
    char *separator;
    struct node *body;
    struct node *next;
};

struct word {
    struct node *nodes; /* NULL: "" */
    struct recipe_at at;
};

struct condition {
    struct recipe_at at;
    struct node *name; /* NODE_VARIABLE */
    int negated;
    struct word value;
    struct condition *next;
};

enum statement_kind {
    ST_SUMMARY, ST_DETECT, ST_PROCESSES, ST_PROGRAM, ST_ROLES, ST_ALIAS,
    ST_HEAD, ST_TAKE, ST_SET, ST_PORT, ST_MEET, ST_ENV, ST_DEFAULT, ST_UNSET,
    ST_FILE, ST_START, ST_READY, ST_RUN, ST_STOP, ST_SERVES, ST_GROWS
};

struct statement {
    enum statement_kind kind;
    struct recipe_at at;
    const struct condition *when; /* NULL: always */
    char *name;         /* of what has one: a variable, a file */
    struct word *words; /* what follows it */
    size_t n_words;
    uint32_t seconds;
    size_t port; /* of ST_MEET, once checked */
};

/* What ${NAME} can be. */
#define RECIPE_VARIABLES(X)                                               \
    X(rank) X(size) X(local_rank) X(local_size) X(node) X(nodes) X(host)  \
    X(address) X(url_address) X(head_host) X(head_address)                \
    X(head_url_address) X(cross_rank) X(cross_size) X(role)               \
    X(role_index) X(role_size) X(slots) X(gpus) X(interface) X(restart)   \
    X(job_id) X(program) X(script) X(arguments) X(hpcbootd)
enum variable {
#define X(name) VAR_##name,
    RECIPE_VARIABLES(X)
#undef X
    VAR_BUILTIN,
    VAR_PORT = VAR_BUILTIN, /* port_NAME */
    VAR_SET,                /* NAME of `set` or `take` */
    VAR_FILE,               /* file_NAME */
    VAR_ENV,                /* env_NAME */
    VAR_NUMBER              /* number_ROLE: how many ranks have it */
};

struct usual_processes { /* processes slot|host|gpu in NAME... */
    enum hb_recipe_per per;
    struct hb_strv in;
};

struct hb_recipe {
    char *name;
    char *summary;
    int per_host, one_program;
    struct usual_processes *usual;
    size_t n_usual;
    struct hb_strv roles;
    uint32_t *role_counts; /* [roles.n] */
    struct hb_strv aliases; /* NAME=ROLE */
    char *head_role;       /* NULL: the head is rank 0 */
    struct recipe_at head_at;
    struct hb_strv gangs, commands, variables;
    struct hb_recipe_port *ports;
    size_t n_ports;
    struct statement *statements;
    size_t n_statements, statements_cap;
    struct condition **whens; /* all there are, to be freed */
    size_t n_whens;
};

struct lexer {
    const char *file;
    const char *p, *end;
    struct recipe_at at;
    unsigned depth; /* of ${each ...} */
};

/* "FILE:LINE:COLUMN: text" */
int recipe_fail(const char *file, struct recipe_at at,
                struct hpcboot_error *err, const char *fmt, ...)
    HB_PRINTF(4, 5);

/* lex.c */
void lex_begin(struct lexer *l, const char *file, const char *text,
               size_t len);
/* Skips blanks, comments and continued lines; 1: a word follows on this line;
 * 0: the line ends here. */
int lex_more(struct lexer *l);
int lex_next_line(struct lexer *l); /* 0: no further one */
/* A word that may hold variables; `<<END` takes the lines up to END. */
int lex_word(struct lexer *l, struct word *out, struct hpcboot_error *err);
/* A word without any; *out is to be freed. */
int lex_plain(struct lexer *l, const char *what, char **out,
              struct recipe_at *at_out, struct hpcboot_error *err);
void nodes_destroy(struct node *n);
int recipe_name_ok(const char *name);

/* check.c */
int recipe_check(struct hb_recipe *r, struct hpcboot_error *err);
/* The role of that name; roles.n: none. */
size_t recipe_role(const struct hb_recipe *r, const char *name);
/* How many ports a statement asks for. */
uint32_t recipe_ports_of(const struct hb_recipe_port *port,
                         const struct hb_jobmap *map);

#endif
