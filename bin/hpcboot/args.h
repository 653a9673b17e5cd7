/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_ARGS_H
#define HB_HPCBOOT_ARGS_H

#include <stddef.h>
#include <stdio.h>

#include "lib/base/error.h"

/* One option of a subcommand. Names are written with one dash or two, values
 * as the next word or behind "=", as with hbrun. */
struct hb_arg {
    const char *names;  /* "host H": the first one is shown first */
    const char *value;  /* "LIST": takes one; NULL: a switch */
    const char *help;
    size_t offset;      /* of a const char * (value) or an int (switch) */
    const char *(*choice)(size_t i); /* the words it may be, or NULL */
    int adds_up;        /* given again, a list goes on: "a,b"; else the last */
                        /* one counts */
    int (*is_also)(const char *value); /* other names of its words, or NULL */
};

/* Every name of the option that has dashes, in turn: *state is 0 at first.
 * Returns NULL after the last. The text holds until the next call. */
const char *hb_arg_name(const struct hb_arg *arg, size_t *state, char *buffer,
                        size_t size);
#define HB_ARG_NAME_MAX 64

/* Fills `into` from argv[1] on; values last as long as argv. *operand takes
 * the one word that is no option; NULL: there is to be none. ERR_USAGE says
 * what is wrong with which word; --help sets *help_out and ends the scan. A
 * switch counts how often it was given. */
int hb_args_scan(const struct hb_arg *args, void *into, const char **operand,
                 int argc, char **argv, int *help_out,
                 struct hpcboot_error *err);
void hb_args_help(const struct hb_arg *args, FILE *out);

/* ERR_USAGE where one of the options `names` ("host port") was given, in
 * `from`: "--host goes with WITH". */
int hb_args_go_with(const struct hb_arg *args, const void *from,
                    const char *names, const char *with,
                    struct hpcboot_error *err);

/* ERR_USAGE: "there is no WHAT WORD (did you mean NAME?); HELP lists them". */
int hb_args_no_such(const char *what, const char *word,
                    const char *const *names, size_t n, const char *help,
                    struct hpcboot_error *err);

#endif
