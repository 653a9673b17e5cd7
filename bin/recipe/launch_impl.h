/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The launchers whose command lines are understood, and what each of their
 * options means here. */
#ifndef HB_RECIPE_LAUNCH_IMPL_H
#define HB_RECIPE_LAUNCH_IMPL_H

#include <stddef.h>

enum hb_launch_meaning {
    NOTHING,      /* here it changes nothing that the user would miss */
    WITHOUT,      /* has no effect; said */
    REFUSED,      /* without it another job would run; `text` says what to do */
    GIVE,         /* the recipe's variable `to` */
    SWITCH,       /* the same, with a fixed text */
    VARIABLE,     /* an environment variable of the ranks */
    TURN,         /* the same, with a fixed text */
    MEGABYTES,    /* the same, in bytes */
    INTERFACES,   /* a list of networks: in `to` the first one alone */
    NODES, PER_NODE, RANKS, MIN_RANKS, MAX_RANKS, MAX_RESTARTS, HOSTS,
    HOSTFILE, DISCOVER, INCLUDE, MODULE, NO_PYTHON, USE_ENV, NO_LOCAL_RANK,
    MASTER_PORT, SSH_PORT, RDZV_BACKEND, RDZV_ENDPOINT,
};

struct hb_launch_option {
    const char *name; /* without dashes, '-' for '_' */
    int n_values;
    enum hb_launch_meaning means;
    const char *to, *text;
};

struct hb_launch_tool {
    const char *name;    /* of the program, or of the module after -m */
    const char *framework;
    const struct hb_launch_option *options;
    int is_module;
    const char *local_rank; /* the script gets it as this argument; or NULL */
    int any_program; /* what follows is a command, not a Python script */
    const char *slots; /* what it counts where nobody says how many; or NULL */
};

/* The tool that argv names, and how many words name it; NULL: none. */
const struct hb_launch_tool *hb_launch_find_tool(char *const *argv,
                                                 size_t *n_words);
/* The option of that name, where '_' is the same as '-'; NULL: none. */
const struct hb_launch_option *
hb_launch_find_option(const struct hb_launch_tool *t, const char *word,
                      size_t len);
/* The option whose name alone begins so; *other_out is set where another does,
 * too. NULL: none. */
const struct hb_launch_option *
hb_launch_find_beginning(const struct hb_launch_tool *t, const char *word,
                         size_t len, const struct hb_launch_option **other_out);

#endif
