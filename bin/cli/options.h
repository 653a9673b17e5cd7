/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_OPTIONS_H
#define HB_CLI_OPTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/error.h"
#include "lib/base/strv.h"

/* What a command line of hbrun says, after configuration files, variables
 * and the dialects (Open MPI 4/5, Hydra, srun) have been read. Made by
 * hb_options_parse from the one table opts.def. Texts are owned. */
struct hb_app_options { /* one MPMD segment */
    uint32_t np;         /* 0: not given */
    uint32_t np_min;     /* of --np MIN:MAX, np is MAX then; 0: not elastic */
    struct hb_strv argv; /* the program and its arguments, byte for byte */
    struct hb_strv env_rules; /* bin/proc/env.h */
    char *wdir;          /* NULL: the launcher's */
    char *path;          /* --path: where to look for the program */
    int preload_binary;  /* > 0: copy the program to the hosts */
    struct hb_strv preload_files; /* copy these, too */
    int session_wdir;    /* > 0: start where such copies are */
    char *host_list;     /* this segment's own hosts, where a later segment
                          * has some; hb_options.host_list is then all of
                          * them. NULL: any host */
};

/* A set of signals is a number with one bit for each of Linux's 64. */
#define HB_SIGNAL_BIT(signo) (UINT64_C(1) << ((signo) - 1))

enum hb_dialect { HB_DIALECT_OPENMPI, HB_DIALECT_HYDRA, HB_DIALECT_SRUN };

/* How lines are labelled: by the option that asked for it. */
enum hb_tag {
    HB_TAG_NONE,
    HB_TAG_OPENMPI, /* "[1,RANK]<stdout>: " */
    HB_TAG_HYDRA,   /* "[RANK] " */
    HB_TAG_SRUN     /* "RANK: ", padded to the widest rank */
};

struct hb_options {
    enum hb_dialect dialect;
    /* frameworks */
    char *framework, *recipe, *role; /* NULL: not given */
    struct hb_strv recipe_set;       /* NAME=VALUE */
    /* hosts */
    char *host_list, *hostfile, *discover_hosts, *default_hostfile;
    char *pod_selector, *pod_group;
    char *default_slots;       /* of a host without a count: a number, auto,
                                * cpu or gpu; NULL: auto */
    int64_t wait_hosts_ms;     /* deadline for hosts to come up; < 0: by gang */
    uint32_t min_hosts;        /* as many will do; 0: all of them */
    uint32_t universe;         /* that ranks are told of; 0: all slots */
    uint32_t nodes;            /* use at most so many hosts; 0: all */
    uint32_t nodes_least;      /* with fewer hosts a warning; 0: none */
    /* start */
    char *launch_with, *prefix, *kex, *identity, *ssh_config, *user;
    int port;
    char *host_keys;           /* "strict", "pin" or NULL */
    int64_t connect_timeout_ms;
    uint32_t payload_width;    /* the same for jobs with files; 0: chosen */
    uint32_t tree_width;       /* 0: chosen; 1: the launcher starts all */
    int64_t heartbeat_ms;      /* one beat; dead after 5; 0: none */
    struct hb_strv ssh_args;   /* what operators add to ssh; what of it has a
                                * meaning is in port, user, identity and
                                * connect_timeout_ms already */
    /* placement */
    char *map_by, *rank_by, *bind_to; /* texts, checked by their modules */
    char *map_inside;          /* Hydra's --map-by: an object of hosts */
    int oversubscribe;         /* 1, 0, -1 = forbidden */
    int nolocal, report_bindings;
    uint32_t per_node;         /* -N, -ppn; 0: not given */
    uint32_t cpus_per_rank;    /* --cpus-per-rank, srun -c; 0: not given */
    int use_hwthreads;         /* count hardware threads as slots */
    uint32_t gpus_per_rank;    /* GPUs that each rank sees; 0: all */
    char *mem_bind;            /* "none", "preferred", "bind"; NULL */
    char *grid;                /* "tp=8,dp=4"; NULL */
    char *order;               /* "topology", "given"; NULL: as given */
    char *fabric;              /* "auto", "roce", "mlx5_0", ...; NULL */
    char *topology;            /* file that says how hosts are connected */
    struct hb_strv topo_of;    /* "HOST=FILE", for --dry-run */
    /* environment */
    char *pmi;                 /* NULL: auto; "pmi1", "pmi2", "pmix", "none" */
    struct hb_strv env_rules;  /* for all segments */
    struct hb_strv env_files;  /* --env-file; their rules come before others */
    struct hb_strv mca;        /* "name=value" as given, to be shown; the
                                * ranks get them by env_rules already */
    /* output */
    int tag_output;            /* enum hb_tag */
    int timestamp_output, merge_stderr, unbuffered, quiet, verbose;
    char *output_dir;          /* --output-filename */
    int output_dir_only;       /* not on the terminal too */
    int patterns_copied;       /* those below are, unless output_dir_only */
    int output_dir_no_job;     /* without the level "1/" */
    char *out_pattern, *err_pattern; /* files by rank: %r; else NULL */
    char *stdin_target;        /* "0", "all", "none", "RANK"; NULL: rank 0 */
    char *events;              /* --events FILE or fd:N; NULL */
    char *metrics;             /* --metrics FILE; NULL */
    int report_timing;         /* a table of phases at the end */
    int print_exit_codes;      /* one line with every rank's status */
    /* life */
    int64_t timeout_ms;        /* 0: none */
    int64_t grace_ms;
    int keep_going;            /* a failed rank does not end the others */
    char *on_failure;          /* "abort", "continue", "respawn",
                                * "restart-job"; NULL: by keep_going */
    uint32_t max_restarts;     /* of a rank, or of the job */
    int64_t restart_delay_ms;  /* before the first of them */
    uint32_t spares;           /* hosts without ranks */
    int64_t orphan_grace_ms;   /* of agents whose parent is lost */
    int checkpoint_signal;     /* 0: TERM */
    uint64_t forward_signals;  /* of HB_SIGNAL_BIT; 0: the usual ones */
    int no_forward_signals;    /* none but those that end the job */
    /* looking */
    int preflight;             /* examine hosts, refuse bad ones */
    int dry_run, json, explain, help, version;
    int only_looks;            /* HB_USE_LOOK */
    int show_progress;         /* 1: where stderr is a terminal; 0: never */
    char *help_topic;
    char *completion;          /* --completion SHELL; NULL */
    /* programs */
    struct hb_app_options *apps;
    uint32_t n_apps;
    struct hb_strv warnings;   /* one sentence each, to be printed once */
};

struct hb_options_source { /* everything but argv that decides */
    char *const *env;
    const char *etc_dir;  /* where hpcboot.conf stands; NULL: no such file */
    const char *home;     /* or NULL */
    const char *use;      /* HB_USE_*; NULL: what the environment says */
};

/* In the environment of an hbrun that a command of hpcboot has started: what
 * the ranks are for; in `use`, where a command goes to hosts without ranks.
 * Settings of files and variables that would be in the way are none then: how
 * ranks' lines are shown and whether there are ranks, which _LINES reads; with
 * _LOOK, for a rank on each host that looks at it, also which ranks there are
 * and what becomes of them. */
#define HB_USE_VAR "HBRUN_USE"
#define HB_USE_LINES "lines"
#define HB_USE_LOOK "look"

/* On success *out holds what was said; with help, version or completion set
 * no program need be there. Errors are one sentence, ERR_USAGE or ERR_PARSE,
 * and nothing was contacted. */
int hb_options_parse(struct hb_options **out, int argc, char *const *argv,
                     const struct hb_options_source *src,
                     struct hpcboot_error *err);
void hb_options_destroy(struct hb_options *o); /* NULL-safe */

/* For the launcher of a spawned job, ranks that ranks have started: what was
 * typed, as words for hb_options_parse, but for the programs; */
void hb_options_retype(const struct hb_options *o, struct hb_strv *words);
/* and, once that is parsed, without what belongs to one job alone: the programs
 * (there are n_apps empty ones now), their places, files and policies. */
void hb_options_make_spawned(struct hb_options *o, uint32_t n_apps);

/* Where an option's value came from: "command line", "/etc/hpcboot.conf:3",
 * "variable HPCBOOT_GRACE", "default". By its long name without dashes.
 * Borrowed from `o`. */
const char *hb_options_origin(const struct hb_options *o, const char *name);
/* Of one value of an option whose values add up. */
const char *hb_options_origin_of(const struct hb_options *o, const char *name,
                                 const char *value);
/* On the command line, by whichever of its names. */
int hb_options_is_typed(const struct hb_options *o, const char *name);
/* Puts behind an error that begins with an option's name where that option
 * came from, unless it was typed. */
void hb_options_blame(const struct hb_options *o, struct hpcboot_error *err);
/* One line per option that is not at its default: name, value, origin. */
void hb_options_explain(const struct hb_options *o, struct hb_strv *lines_out);

/* The variables that libhpcboot reads in the ranks. */
extern const char *const hb_library_variables[];
extern const size_t hb_library_variables_n;

/* topic: a section's name, an option's name, "all", or NULL for the options
 * that have an effect, by their names in this dialect. */
void hb_options_help(FILE *out, const char *topic, enum hb_dialect dialect);
/* Does `topic` name something hb_options_help knows? */
int hb_options_help_knows(const char *topic);
/* "bash", "zsh", "fish"; writes nothing for another shell. */
void hb_options_completion(FILE *out, const char *shell);
/* What completion scripts of all our programs have in common: for bash, lines
 * that make of --name=value what "--name value" would be (cur and prev), with
 * kind=none as no program stands there; for zsh, a text in an _arguments spec,
 * inside '...', without a ':' '[' ']' or quote as such, and the lines by which
 * a script serves both as a file of fpath and for `source`; for fish, a text
 * inside '...', and the words of an option "--name" or "-n" for `complete`. */
extern const char hb_bash_after_equals[];
void hb_zsh_text(FILE *out, const char *text);
void hb_zsh_register(FILE *out, const char *program);
void hb_fish_text(FILE *out, const char *text);
void hb_fish_option(FILE *out, const char *name, const char *help);
/* For checks: every name of every option with its dashes, and "option",
 * "alias", "ignored" or "refused"; one name per line. */
void hb_options_names(FILE *out);

#endif
