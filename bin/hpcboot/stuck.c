/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot stuck: who waits for whom, seen from outside.
 *
 * On one host its processes are looked at (stuck_host.c); where the gang has
 * other hosts, or hosts are named, on each of them (everywhere.c). */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "bin/hpcboot/command.h"
#include "bin/hpcboot/everywhere.h"
#include "bin/hpcboot/stuck.h"
#include "bin/job/verdict.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define EXIT_NONE 1

struct wanted {
    struct hb_gang_wanted gang;
    const char *job;
    int here, lines;
};
#define AT(f) offsetof(struct wanted, f)

static const struct hb_arg args[] = {
    HB_GANG_ARGS(struct wanted),
    {"here", NULL, "look at this host alone", AT(here), NULL},
    {"lines", NULL, "a line for each rank, fields with tabs between",
     AT(lines), NULL},
    {NULL, NULL, NULL, 0, NULL},
};

static const char *more(void)
{
    return "JOB: as this command names it; without it all jobs of this user.\n"
           "Exit status: 0; 1 there is no such rank; 2 the line is wrong; "
           "else as hbrun.\n";
}

static void take_line(void *arg, const char *line)
{
    struct hb_stuck_rank r;

    if (hb_stuck_parse(&r, line)) {
        hb_stuck_add(arg, &r);
    } else {
        fputs(line, stderr);
    }
}

static size_t show_lines(const struct hb_stuck_list *l, uint32_t job)
{
    char line[HB_STUCK_LINE_MAX];
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++) {
        if (job == 0 || job == l->v[i].job) {
            hb_stuck_line(&l->v[i], line, sizeof line);
            printf("%s\n", line);
            n++;
        }
    }
    return n;
}

static int run(const struct hb_command *self, int argc, char **argv)
{
    struct wanted w = {0};
    struct hb_stuck_list list = {0};
    int rc = hb_command_scan(self, &w, argc, argv), status = 0;
    uint32_t job;
    size_t n;

    if (rc <= 0) {
        return rc < 0 ? HB_EXIT_USAGE : 0;
    }
    if (hb_fd_fill_standard(NULL) < 0) {
        return HB_EXIT_INTERNAL; /* there may be nowhere to say it */
    }
    if (hb_job_parse(self->name, w.job, &job) < 0) {
        return HB_EXIT_USAGE;
    }
    if (!w.here && hb_wants_everywhere(&w.gang)) {
        status = hb_look_everywhere(args, &w, self->name, take_line, &list);
    } else {
        hb_stuck_look(&list);
    }
    n = w.lines ? show_lines(&list, job) : hb_stuck_show(&list, job);
    hb_stuck_destroy(&list);
    if (n == 0 && status == 0 && !w.lines) {
        hb_log(HB_ERROR, "stuck: there is no rank of %s of this user",
               w.job != NULL ? "such a job" : "any job");
        status = EXIT_NONE;
    }
    return status;
}

const struct hb_command hb_command_stuck = {
    .name = "stuck",
    .summary = "show which ranks wait for whom",
    .operand = "[JOB]",
    .operand_at = AT(job),
    .args = args,
    .more = more,
    .run = run,
};
