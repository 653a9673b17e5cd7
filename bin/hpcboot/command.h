/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_COMMAND_H
#define HB_HPCBOOT_COMMAND_H

#include "bin/hpcboot/args.h"

/* A subcommand: hpcboot NAME [options]. Each has a file of its own and a row
 * in the table of main.c; help and completion come out of these tables. */
struct hb_command {
    const char *name;
    const char *summary;        /* a few words, for hpcboot --help */
    const char *operand;        /* "COLLECTIVE": its one word that is no */
    size_t operand_at;          /* option, a const char * of `into` */
    const char *(*operand_name)(size_t i); /* the words it may be, or NULL */
    const struct hb_arg *args;  /* ended by one without names */
    const char *(*more)(void);  /* text below the options, or NULL; static */
    /* The exit status. argv[0] is the command's name. */
    int (*run)(const struct hb_command *self, int argc, char **argv);
};

extern const struct hb_command hb_command_doctor;
extern const struct hb_command hb_command_explain;
extern const struct hb_command hb_command_hostfile;
extern const struct hb_command hb_command_keys;
extern const struct hb_command hb_command_manifest;
extern const struct hb_command hb_command_perf;
extern const struct hb_command hb_command_ps;
extern const struct hb_command hb_command_stuck;
extern const struct hb_command hb_command_topo;
extern const struct hb_command hb_command_wait;
/* Ended by NULL. */
extern const struct hb_command *const hb_commands[];

/* Scans a command's options into `into`. 1: go on; 0: --help was answered;
 * negative: the line was wrong and that was said. */
int hb_command_scan(const struct hb_command *command, void *into, int argc,
                    char **argv);

/* settings.c: the gang hbrun would find here, with the hosts that `wanted`
 * names, or else those of its configuration files and HPCBOOT_ variables, whose
 * warnings are logged. */
struct hb_gang;
struct hb_gang_request;
int hb_command_gang(const struct hb_gang_request *wanted, struct hb_gang *out,
                    struct hpcboot_error *err);

/* completion.c: what "hpcboot --completion SHELL" prints; 0: no such shell. */
int hb_completion_print(const char *shell);

#endif
