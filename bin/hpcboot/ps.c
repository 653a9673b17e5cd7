/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot ps: the jobs of this user that run, seen from outside, with what
 * their ranks take: on this host (ps_host.c), or on all of a gang. */

#include "config.h"

#include <stdio.h>

#include "bin/hpcboot/everywhere.h"
#include "bin/hpcboot/ps.h"
#include "bin/job/verdict.h"
#include "lib/base/log.h"

struct wanted {
    struct hb_everywhere look;
    int ranks, json;
};
#define AT(f) offsetof(struct wanted, f)

static const struct hb_arg args[] = {
    HB_EVERYWHERE_ARGS,
    {"ranks", NULL, "a line for each rank (as where JOB is given)", AT(ranks),
     NULL},
    {"json", NULL, "the ranks as a list of objects", AT(json), NULL},
    {NULL, NULL, NULL, 0, NULL},
};

static const char *more(void)
{
    return "JOB: as this command names it; without it all jobs of this user.\n"
           "Exit status: 0; 1 there is no such job; 2 the line is wrong; "
           "else as hbrun.\n";
}

static int take(void *list, const char *line)
{
    struct hb_ps_rank r;

    if (!hb_ps_parse(&r, line)) {
        return 0;
    }
    hb_ps_add(list, &r);
    return 1;
}

static void look_here(void *list)
{
    hb_ps_look(list);
}

static const struct hb_everywhere_ops ops = {look_here, take};

static void show(const struct wanted *w, struct hb_ps_list *l)
{
    struct hb_str out = HB_STR_INIT;
    char line[HB_PS_LINE_MAX];

    if (!w->look.lines) {
        hb_ps_merge(l);
    }
    if (w->look.lines) {
        for (size_t i = 0; i < l->n; i++) {
            hb_ps_line(&l->v[i], line, sizeof line);
            hb_str_putf(&out, "%s\n", line);
        }
    } else if (w->json) {
        hb_ps_json(l, &out);
    } else if (l->n > 0) {
        (w->ranks || w->look.job != NULL ? hb_ps_ranks : hb_ps_jobs)(l, &out);
        hb_ps_lost(l, &out);
    }
    fputs(hb_str_text(&out), stdout);
    hb_str_destroy(&out);
}

static int run(const struct hb_command *self, int argc, char **argv)
{
    struct wanted w = {0};
    struct hb_ps_list list = {0};
    int status = hb_everywhere_scan(self, &w.look, argc, argv);

    if (status >= 0) {
        return status;
    }
    if (w.json && w.look.lines) {
        hb_log(HB_ERROR, "ps: --json and --lines: one of the two");
        return HB_EXIT_USAGE;
    }
    status = hb_everywhere_look(self, &w.look, &ops, &list);
    hb_ps_arrange(&list, w.look.job_id);
    show(&w, &list);
    if (list.n == 0 && status == 0 && !w.look.lines) {
        hb_log(HB_INFO, "ps: %s of this user runs here",
               w.look.job != NULL ? "no such job" : "no job");
        status = HB_EXIT_NONE;
    }
    hb_ps_destroy(&list);
    return status;
}

const struct hb_command hb_command_ps = {
    .name = "ps",
    .summary = "show the jobs that run, and what their ranks take",
    .operand = "[JOB]",
    .operand_at = HB_EVERYWHERE_AT(job),
    .args = args,
    .more = more,
    .run = run,
};
