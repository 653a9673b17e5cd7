/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RECIPE_LAUNCH_H
#define HB_RECIPE_LAUNCH_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/strv.h"

/* GPUs where a host has some, else cores. */
#define HB_LAUNCH_DEVICES "gpu-else-cpu"

/* Command lines of other launchers, given to hbrun: what they ask for, so that
 * hbrun does it itself instead of starting them as ranks. */
struct hb_launch {
    const char *tool;      /* "torchrun"; static */
    const char *framework; /* the recipe; static */
    struct hb_strv program; /* what a rank runs */
    struct hb_strv given;   /* NAME=VALUE for the recipe */
    struct hb_strv env;     /* NAME=VALUE for the ranks */
    struct hb_strv ignored; /* options that have no meaning here */
    uint32_t np, per_node, nodes; /* 0: not said */
    uint32_t nodes_least;         /* of a range of hosts; else nodes */
    const char *slots; /* what is counted: "gpu", or HB_LAUNCH_DEVICES; NULL:
                        * as always; static */
    const char *per_node_word; /* "auto", where per_node was no number; of
                                * argv; else NULL */
    uint32_t np_min; /* np may be less, and change; 0: it does not */
    const char *on_failure;       /* --on-failure; NULL: not said; static */
    int port;                /* of the hosts' SSH servers; 0 */
    char *host_list, *hostfile, *discover_hosts;
};

/* What operators say to torchrun in variables, for where its options say
 * nothing; NULL: nothing. A number of hosts alone is what the gang has. */
struct hb_launch_variables {
    const char *nodes;        /* PET_NNODES: only MIN:MAX counts */
    const char *max_restarts; /* PET_MAX_RESTARTS */
};

/* 1 when argv is such a line, 0 when it is not. `python` is the interpreter
 * that the tool itself would use, where argv does not name one. `framework` is
 * what the user asked for, or NULL: torchrun and deepspeed-launcher have the
 * tool itself run on each host. ERR_USAGE: it is one, and wrong. Free with
 * hb_launch_destroy in any case. */
int hb_launch_read(char *const *argv, const char *python,
                   const char *framework,
                   const struct hb_launch_variables *variables,
                   struct hb_launch *out, struct hpcboot_error *err);
/* Each process is a rank; otherwise the tool itself runs on each host. */
int hb_launch_is_per_rank(const struct hb_launch *l);
void hb_launch_destroy(struct hb_launch *l);
/* The tool that argv begins with, or NULL; static. */
const char *hb_launch_tool(char *const *argv);
/* MODULE where argv is `python ... -m MODULE`, else NULL; borrowed. */
const char *hb_launch_module(char *const *argv);

#endif
