/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RECIPE_RECIPE_H
#define HB_RECIPE_RECIPE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/jobmap.h"
#include "lib/base/strv.h"

/* Frameworks described by files (hpcboot-recipe(5)). A recipe is parsed and
 * checked once, at the launcher, where mistakes have a file, a line and a
 * column; its text travels, and each agent expands it for its own ranks. No
 * I/O but in hb_recipe_find and hb_recipe_names. */

#define HB_RECIPE_BYTES_MAX (64u << 10)  /* of a file */
#define HB_RECIPE_VALUE_MAX (16u << 20)  /* of one text made from it */
#define HB_RECIPE_LINES_MAX 1024u        /* statements */
#define HB_RECIPE_COMMANDS_MAX 64u       /* of one rank */
#define HB_RECIPE_DEPTH_MAX 8u           /* of ${each ...} in each other */
/* Linux takes no longer string into an environment (MAX_ARG_STRLEN). */
#define HB_RECIPE_ENV_MAX (128u << 10)

enum hb_recipe_port_kind {
    HB_RECIPE_PORT_HEAD, /* one, where the head runs */
    HB_RECIPE_PORT_HOST, /* one on each host */
    HB_RECIPE_PORT_RANK  /* one for each rank, on its host */
};

struct hb_recipe_port {
    char *name;
    enum hb_recipe_port_kind kind;
    uint32_t wanted;      /* 0: any that is free */
    struct hb_strv from;  /* variables in which operators declare it */
};

struct hb_recipe;

/* `name` is for messages. Checked whole: what parses, expands. */
int hb_recipe_parse(struct hb_recipe **out, const char *name,
                    const char *text, size_t len, struct hpcboot_error *err);
void hb_recipe_destroy(struct hb_recipe *r); /* NULL-safe */

const char *hb_recipe_summary(const struct hb_recipe *r);
int hb_recipe_per_host(const struct hb_recipe *r); /* one process a host */
int hb_recipe_runs_once(const struct hb_recipe *r); /* its program, in rank 0 */

enum hb_recipe_per {
    HB_RECIPE_PER_SLOT, HB_RECIPE_PER_HOST, HB_RECIPE_PER_GPU
};
/* Is `name` the gang's, a variable that is set, or a module that the program
 * starts? */
typedef int (*hb_recipe_is_here)(void *arg, const char *name);

/* For what there is a process in an operator's gang where nobody says how many.
 * *name_out, of the recipe, is the first one that is there, or NULL. */
enum hb_recipe_per hb_recipe_usual(const struct hb_recipe *r,
                                   hb_recipe_is_here is_here, void *arg,
                                   const char **name_out);
int hb_recipe_puts_files(const struct hb_recipe *r);
const struct hb_recipe_port *hb_recipe_ports(const struct hb_recipe *r,
                                             size_t *n_out);
/* Is a list made of the addresses of all? Each rank then holds those of the
 * others. */
int hb_recipe_lists_addresses(const struct hb_recipe *r);
/* Does it tell ranks by this variable of the environment where to meet? */
int hb_recipe_says_where(const struct hb_recipe *r, const char *name);
char *const *hb_recipe_roles(const struct hb_recipe *r); /* or empty */
/* How many ranks a role has where nobody says; HB_RECIPE_REST: those left. */
#define HB_RECIPE_REST UINT32_MAX
uint32_t hb_recipe_role_count(const struct hb_recipe *r, size_t role);
/* The role that pods of the framework's operator have under another name; NULL:
 * none. */
const char *hb_recipe_alias(const struct hb_recipe *r, const char *name);
/* The rank that the others turn to: the first one of the role that `head`
 * names, where there is one; else rank 0. role_of_rank[n_ranks], or NULL. */
uint32_t hb_recipe_head(const struct hb_recipe *r,
                        const struct hb_jobmap *map,
                        const uint32_t *role_of_rank);
/* Names that `set` or `take` knows, which the launcher may give. */
int hb_recipe_takes(const struct hb_recipe *r, const char *name);
/* Variables of the launcher's environment that ${env_NAME} asks for. */
void hb_recipe_env_names(const struct hb_recipe *r, struct hb_strv *out);
/* "gang", "command", "variable": is `name` among what it is known by? */
int hb_recipe_detects(const struct hb_recipe *r, const char *what,
                      const char *name);

/* Among what is given: how many words of the program there are up to its
 * script, whose arguments are behind that. */
#define HB_RECIPE_SCRIPT_WORDS "script_words"

/* What is known of the job when a recipe is expanded. */
struct hb_recipe_facts {
    const struct hb_jobmap *map;
    const char *job_id;
    char *const *addresses;       /* [n_nodes] */
    const uint32_t *ports;        /* hb_recipe_n_ports of them */
    const uint32_t *role_of_rank; /* into hb_recipe_roles; NULL: the first */
    char *const *given;           /* NAME=VALUE; before what `set` says */
    char *const *program;         /* argv */
    const char *dir;              /* where files are put */
    const char *agent;            /* the path of hpcbootd there, or NULL */
    const uint32_t *slots;        /* [n_nodes]; NULL: one each */
    uint32_t gpus;                /* that the rank sees */
    int gpus_are_own;             /* and no other rank of its host does */
    const char *interface;        /* of the rank's host, or NULL */
    uint32_t restart;             /* how often the rank was started before */
};

/* How many ports all port statements want together, and where the one of a
 * statement, node and rank is. */
uint32_t hb_recipe_n_ports(const struct hb_recipe *r,
                           const struct hb_jobmap *map);
uint32_t hb_recipe_port_at(const struct hb_recipe *r,
                           const struct hb_jobmap *map, size_t port,
                           uint32_t node, uint32_t rank);

/* Where ranks listen through whom all of them have to meet: for the head, for
 * each host or for each rank, as the ports are that `meet` names. Nothing
 * where it names none, or under conditions that do not hold for rank 0. */
struct hb_recipe_place {
    uint32_t node, port; /* port: the number */
};

int hb_recipe_meet(const struct hb_recipe *r,
                   const struct hb_recipe_facts *facts,
                   struct hb_recipe_place **out, size_t *n_out,
                   struct hpcboot_error *err); /* free() *out */

struct hb_recipe_file {
    char *name, *text;
    size_t len;
};

enum hb_recipe_step { HB_RECIPE_START, HB_RECIPE_READY, HB_RECIPE_STOP };

struct hb_recipe_command {
    enum hb_recipe_step step;
    struct hb_strv argv;
    uint32_t seconds; /* of `ready` */
};

/* What one rank gets. */
struct hb_recipe_rank {
    struct hb_strv set;      /* NAME=VALUE */
    struct hb_strv defaults; /* NAME=VALUE where the user has none */
    struct hb_strv unset;    /* NAME */
    struct hb_strv argv;     /* empty: only serves */
    struct hb_recipe_file *files;
    size_t n_files;
    struct hb_recipe_command *commands; /* in the order of the file */
    size_t n_commands;
};

int hb_recipe_expand(const struct hb_recipe *r,
                     const struct hb_recipe_facts *facts, uint32_t rank,
                     struct hb_recipe_rank *out, struct hpcboot_error *err);
/* Ranks that differ in which conditions of the recipe hold for them: the first
 * one of each kind, in *out[*n_out], which is to be freed; of very many kinds
 * the first ones. */
int hb_recipe_kinds(const struct hb_recipe *r,
                    const struct hb_recipe_facts *facts, uint32_t **out,
                    size_t *n_out, struct hpcboot_error *err);
/* serves_out[n_ranks]: 1 for ranks that only serve the others: the job is over
 * when those have ended. */
int hb_recipe_serving(const struct hb_recipe *r,
                      const struct hb_recipe_facts *facts,
                      unsigned char *serves_out, struct hpcboot_error *err);
/* 1: ranks that meet once take in others that come later; or 0. */
int hb_recipe_grows(const struct hb_recipe *r,
                    const struct hb_recipe_facts *facts,
                    struct hpcboot_error *err);
void hb_recipe_rank_destroy(struct hb_recipe_rank *rank); /* leaves it empty */

/* Where recipes are looked for. */
struct hb_recipe_dirs {
    char *const *v;  /* NULL-terminated */
    const char *own; /* the one of them that is the user's, or NULL */
};

/* The user's own one, by the values of XDG_CONFIG_HOME and of HOME, each of
 * which may be NULL. 0: there is none. */
int hb_recipe_add_own(const char *config, const char *home,
                      struct hb_strv *out);
/* Reads NAME.conf from the first of the directories that has it. In the user's
 * own one a file that may not be read, is neither the user's nor root's, or
 * that others may write, is passed over with a warning. *path_out and *text_out
 * are to be freed. ERR_NOT_FOUND names the nearest. */
int hb_recipe_find(const struct hb_recipe_dirs *dirs, const char *name,
                   char **path_out, char **text_out, size_t *len_out,
                   struct hpcboot_error *err);
/* The names there are, sorted, each once. */
void hb_recipe_names(char *const *dirs, struct hb_strv *out);

#endif
