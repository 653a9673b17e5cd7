/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_EVERYWHERE_H
#define HB_HPCBOOT_EVERYWHERE_H

#include <stddef.h>
#include <stdint.h>

#include "bin/hpcboot/gang_args.h"

/* Commands that look at processes: on this host, or on each of the gang's. */

/* Whether the options name hosts, or the gang that hbrun would find without
 * them has other hosts than this one. */
int hb_wants_everywhere(const struct hb_gang_wanted *wanted);

/* Runs "hpcboot COMMAND --here --lines" once on each host. args: a table whose
 * first rows are HB_GANG_ARGS; wanted: what was scanned. take() gets each line
 * with its end. Returns hbrun's exit status. */
int hb_look_everywhere(const struct hb_arg *args, const void *wanted,
                       const char *command,
                       void (*take)(void *arg, const char *line), void *arg);

/* A job's name as the commands print it, eight digits; *out is 0 where text
 * is NULL. -1: it is none, and that was said for `command`. */
int hb_job_parse(const char *command, const char *text, uint32_t *out);

/* A copy that has nothing a terminal would obey, and no tab. */
void hb_clean_copy(char *out, size_t size, const char *text);

#endif
