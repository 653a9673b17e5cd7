/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_EVERYWHERE_H
#define HB_HPCBOOT_EVERYWHERE_H

#include <stddef.h>
#include <stdint.h>

#include "bin/hpcboot/command.h"
#include "bin/hpcboot/gang_args.h"

/* Commands that look at the processes of jobs: on this host, or on each of
 * the gang's. */

/* What their options and their operand, a job's name, leave. */
struct hb_everywhere {
    struct hb_gang_wanted gang;
    const char *job; /* NULL: all */
    int here, lines;
    uint32_t job_id; /* of job; 0: all */
};

/* The first rows of their tables; their own struct begins with a
 * struct hb_everywhere. */
#define HB_EVERYWHERE_AT(f) offsetof(struct hb_everywhere, f)
#define HB_EVERYWHERE_ARGS \
    HB_GANG_ARGS(struct hb_everywhere), \
    {"here", NULL, "look at this host alone", HB_EVERYWHERE_AT(here), NULL}, \
    {"lines", NULL, "a line for each rank, fields with tabs between", \
     HB_EVERYWHERE_AT(lines), NULL}

#define HB_EXIT_NONE 1 /* there is no such job or rank */

/* Scans the line into `w`. -1: go on; else the exit status. */
int hb_everywhere_scan(const struct hb_command *self, struct hb_everywhere *w,
                       int argc, char **argv);

/* Looks here by here(arg), or runs the command once on each host and gives
 * its lines to take(arg, line), which returns 0 for what is none of them: that
 * goes to stderr. Returns an exit status. */
struct hb_everywhere_ops {
    void (*here)(void *arg);
    int (*take)(void *arg, const char *line);
};
int hb_everywhere_look(const struct hb_command *self,
                       const struct hb_everywhere *w,
                       const struct hb_everywhere_ops *ops, void *arg);

#endif
