/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_CLI_OPTIONS_H
#define HB_CLI_OPTIONS_H

#include <stdint.h>
#include <stdio.h>

#include "lib/base/error.h"
#include "lib/base/strv.h"

/* What a command line of hbrun says, after configuration files, variables
 * and the dialects (Open MPI 4/5, Hydra, srun) have been read. Made by
 * hb_options_parse from the one table opts.def. Texts are owned. */
struct hb_app_options { /* one MPMD segment */
    uint32_t np;         /* 0: not given */
    struct hb_strv argv; /* the program and its arguments, byte for byte */
    struct hb_strv env_rules; /* bin/proc/env.h */
    char *wdir;          /* NULL: the launcher's */
    char *path;          /* --path: where to look for the program */
    char *host_list;     /* -H inside a later segment */
};

enum hb_dialect { HB_DIALECT_OPENMPI, HB_DIALECT_HYDRA, HB_DIALECT_SRUN };

struct hb_options {
    enum hb_dialect dialect;
    /* hosts */
    char *host_list, *hostfile, *default_hostfile;
    int64_t wait_hosts_ms;     /* whole deadline for hosts to come up */
    /* start */
    char *launch_with, *prefix, *kex, *identity, *ssh_config, *user;
    int port;
    char *host_keys;           /* "strict", "pin" or NULL */
    int64_t connect_timeout_ms;
    int64_t heartbeat_ms;      /* one beat; dead after 5 */
    /* placement */
    char *map_by, *rank_by, *bind_to; /* texts, checked by their modules */
    int oversubscribe;         /* 1, 0, -1 = forbidden */
    int nolocal, report_bindings;
    uint32_t per_node;         /* -N, -ppn; 0: not given */
    /* environment */
    char *pmi;                 /* NULL: auto */
    struct hb_strv env_rules;  /* for all segments */
    struct hb_strv mca;        /* "name=value", for the ranks */
    /* output */
    int tag_output, timestamp_output, merge_stderr, quiet, verbose;
    char *output_dir;          /* --output-filename */
    char *stdin_target;        /* "0", "all", "none", "RANK"; NULL: rank 0 */
    char *events;              /* --events FILE or fd:N; NULL */
    /* life */
    int64_t timeout_ms;        /* 0: none */
    int64_t grace_ms;
    struct hb_strv forward_signals;
    /* looking */
    int dry_run, json, explain, help, version, show_progress;
    char *help_topic;
    /* programs */
    struct hb_app_options *apps;
    uint32_t n_apps;
    struct hb_strv warnings;   /* one sentence each, to be printed once */
};

struct hb_options_source { /* everything but argv that decides */
    char *const *env;
    const char *etc_dir;  /* where hpcboot.conf stands */
    const char *home;     /* or NULL */
};

int hb_options_parse(struct hb_options **out, int argc, char *const *argv,
                     const struct hb_options_source *src,
                     struct hpcboot_error *err);
void hb_options_destroy(struct hb_options *o); /* NULL-safe */

/* Where an option's value came from: "command line", "/etc/hpcboot.conf:3",
 * "variable HPCBOOT_GRACE", "default". By its long name without dashes. */
const char *hb_options_origin(const struct hb_options *o, const char *name);
/* One line per option that is not at its default: name, value, origin. */
void hb_options_explain(const struct hb_options *o, struct hb_strv *lines_out);

void hb_options_help(FILE *out, const char *topic); /* NULL: all sections */
void hb_options_completion(FILE *out, const char *shell); /* "bash", "zsh" */

#endif
