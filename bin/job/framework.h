/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_FRAMEWORK_H
#define HB_JOB_FRAMEWORK_H

#include "bin/job/job_impl.h"
#include "bin/recipe/launch.h"
#include "bin/recipe/recipe.h"

/* What framework.c, launchers.c, wrapped.c, processes.c, roles.c and meeting.c
 * share. */
struct job_framework {
    char *name, *why;  /* "torch", "--framework (command line)" */
    char *path, *text; /* of the recipe */
    size_t len;
    struct hb_recipe *recipe;
    struct hb_strv given;
    struct hb_strv rules; /* of variables, from the tool's own files */
    /* --role, as it was written; counts[i] HB_RECIPE_REST: what is left */
    struct hb_strv role_names;
    uint32_t *role_counts;
    enum hb_recipe_per usual; /* nobody says how many, but an operator */
    const char *usual_in;       /* who, as the recipe knows it; or NULL */
    /* From here on: of one life of the job. */
    uint32_t *role_of_rank; /* [n_ranks] once there is a map; or NULL */
    /* what agents answered */
    struct hb_strv addresses;  /* [n_nodes] */
    uint32_t *ports, n_ports;
    uint32_t *slots; /* [n_nodes] */
    unsigned char *answered;   /* [n_nodes] */
    char **node_address;       /* [n_nodes] until all have answered */
    int asked;
    unsigned char *serves; /* [n_ranks] */
    uint32_t n_serving;
    int grows;             /* those that come later are taken in */
    /* what they saw of the meeting */
    struct hb_recipe_place *places; /* where they meet; [n_places] */
    size_t n_places;
    uint32_t met_told;  /* hosts */
    unsigned char *met; /* [n_met] of nodes: met.c */
    uint32_t n_met;
    unsigned head_met; /* HB_MET_* of the head */
};

/* framework.c */
/* The recipe's name, and why it was chosen */
void job_framework_name(struct job *j, const char *name, const char *fmt, ...)
    HB_PRINTF(3, 4);

/* By what the gang says that the recipe is its framework's: 2 the gang's kind,
 * 3 a variable of its operator; 0: it does not */
int job_framework_of_gang(const struct job *j, const struct hb_recipe *r);

/* What ranks find of a variable that no recipe sets: what the user says in so
 * many words (-x NAME=VALUE, --env-file), else what hbrun itself has; NULL */
const char *job_framework_env(const struct job *j, const char *name,
                              int *is_said);

/* launchers.c */
int job_launchers_read(struct job *j, struct hpcboot_error *err);
/* What the rules for variables have a say in, once they are known. */
int job_launchers_complete(struct job *j, struct hpcboot_error *err);

/* wrapped.c */
/* How many words of argv are programs that do nothing but start what is behind
 * them; *other_path: that is looked for in a PATH of theirs. */
size_t job_wrapped_words(char *const *argv, int *other_path);
char *const *job_wrapped_program(char *const *argv);
/* hb_launch_tool of what is behind them. */
const char *job_wrapped_tool(char *const *argv);

/* processes.c */
void job_processes_read(struct job *j);
void job_processes_explain(const struct job *j, struct hb_strv *lines);

/* roles.c */
int job_roles_read(struct job *j, struct hpcboot_error *err);
int job_roles_assign(struct job *j, struct hpcboot_error *err);

/* meeting.c: the node of the rank that the others turn to */
uint32_t job_meeting_head(const struct job *j);

/* policy.c */
/* --map-by; all 0 where it is not given, or wrong. */
void job_map_by(const struct hb_options *o, struct hb_map_policy *out);
/* Does it say no more than where ranks go, however many a host has? */
int job_map_orders(const struct hb_map_policy *p);
/* Does --map-by say how many ranks there are, and not only where they go? */
int job_map_counts(const struct hb_options *o);
/* So many ranks on each host, which no option says: --map-by, which does not
 * count them, has its say about where they go. */
void job_map_per_node(struct hb_options *o, uint32_t n);

#endif
