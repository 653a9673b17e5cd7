/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot ps: the jobs of this user that run, seen from outside, with what
 * their ranks take: on this host (ps_host.c), or on all of a gang. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "bin/hpcboot/command.h"
#include "bin/hpcboot/everywhere.h"
#include "bin/hpcboot/ps.h"
#include "bin/job/verdict.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"

#define EXIT_NONE 1

struct wanted {
    struct hb_gang_wanted gang;
    const char *job;
    int here, lines, ranks, json;
};
#define AT(f) offsetof(struct wanted, f)

static const struct hb_arg args[] = {
    HB_GANG_ARGS(struct wanted),
    {"ranks", NULL, "a line for each rank (as where JOB is given)", AT(ranks),
     NULL},
    {"json", NULL, "the ranks as a list of objects", AT(json), NULL},
    {"here", NULL, "look at this host alone", AT(here), NULL},
    {"lines", NULL, "a line for each rank, fields with tabs between",
     AT(lines), NULL},
    {NULL, NULL, NULL, 0, NULL},
};

static const char *more(void)
{
    return "JOB: as this command names it; without it all jobs of this user.\n"
           "Exit status: 0; 1 there is no such job; 2 the line is wrong; "
           "else as hbrun.\n";
}

static void take_line(void *arg, const char *line)
{
    struct hb_ps_rank r;

    if (hb_ps_parse(&r, line)) {
        hb_ps_add(arg, &r);
    } else {
        fputs(line, stderr);
    }
}

static void show(const struct wanted *w, const struct hb_ps_list *l)
{
    struct hb_str out = HB_STR_INIT;
    char line[HB_PS_LINE_MAX];

    if (w->lines) {
        for (size_t i = 0; i < l->n; i++) {
            hb_ps_line(&l->v[i], line, sizeof line);
            hb_str_putf(&out, "%s\n", line);
        }
    } else if (w->json) {
        hb_ps_json(l, &out);
    } else if (l->n > 0) {
        (w->ranks || w->job != NULL ? hb_ps_ranks : hb_ps_jobs)(l, &out);
        hb_ps_lost(l, &out);
    }
    fputs(hb_str_text(&out), stdout);
    hb_str_destroy(&out);
}

static int run(const struct hb_command *self, int argc, char **argv)
{
    struct wanted w = {0};
    struct hb_ps_list list = {0};
    int rc = hb_command_scan(self, &w, argc, argv), status = 0;
    uint32_t job;

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
        hb_ps_look(&list);
    }
    hb_ps_arrange(&list, job);
    show(&w, &list);
    if (list.n == 0 && status == 0 && !w.lines) {
        hb_log(HB_INFO, "ps: %s of this user runs here",
               w.job != NULL ? "no such job" : "no job");
        status = EXIT_NONE;
    }
    hb_ps_destroy(&list);
    return status;
}

const struct hb_command hb_command_ps = {
    .name = "ps",
    .summary = "show the jobs that run, and what their ranks take",
    .operand = "[JOB]",
    .operand_at = AT(job),
    .args = args,
    .more = more,
    .run = run,
};
