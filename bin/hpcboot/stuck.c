/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot stuck: who waits for whom, seen from outside.
 *
 * On one host its processes are looked at (stuck_host.c); where the gang has
 * other hosts, or hosts are named, on each of them (everywhere.c). */

#include "config.h"

#include <stdio.h>

#include "bin/hpcboot/everywhere.h"
#include "bin/hpcboot/stuck.h"
#include "lib/base/log.h"

static const struct hb_arg args[] = {
    HB_EVERYWHERE_ARGS,
    {NULL, NULL, NULL, 0, NULL},
};

static const char *more(void)
{
    return "JOB: as this command names it; without it all jobs of this user.\n"
           "Exit status: 0; 1 there is no such rank; 2 the line is wrong; "
           "else as hbrun.\n";
}

static int take(void *list, const char *line)
{
    struct hb_stuck_rank r;

    if (!hb_stuck_parse(&r, line)) {
        return 0;
    }
    hb_stuck_add(list, &r);
    return 1;
}

static void look_here(void *list)
{
    hb_stuck_look(list);
}

static const struct hb_everywhere_ops ops = {look_here, take};

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
    struct hb_everywhere w = {0};
    struct hb_stuck_list list = {0};
    int status = hb_everywhere_scan(self, &w, argc, argv);
    size_t n;

    if (status >= 0) {
        return status;
    }
    status = hb_everywhere_look(self, &w, &ops, &list);
    n = w.lines ? show_lines(&list, w.job_id) :
                  hb_stuck_show(&list, w.job_id);
    hb_stuck_destroy(&list);
    if (n == 0 && status == 0 && !w.lines) {
        hb_log(HB_ERROR, "stuck: there is no rank of %s of this user",
               w.job != NULL ? "such a job" : "any job");
        status = HB_EXIT_NONE;
    }
    return status;
}

const struct hb_command hb_command_stuck = {
    .name = "stuck",
    .summary = "show which ranks wait for whom",
    .operand = "[JOB]",
    .operand_at = HB_EVERYWHERE_AT(job),
    .args = args,
    .more = more,
    .run = run,
};
