/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot stuck: who waits for whom, seen from outside.
 *
 * On one host its processes are looked at (stuck_host.c). Where the gang has
 * other hosts, or hosts are named, an hbrun of its own starts this command
 * once on each of them, and the lines that come back are put together: the
 * job that is looked at need not answer for itself, and its launcher may hang
 * as well. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/hpcboot/command.h"
#include "bin/hpcboot/gang_args.h"
#include "bin/hpcboot/run_hbrun.h"
#include "bin/hpcboot/stuck.h"
#include "bin/job/verdict.h"
#include "hostfile/hostfile.h"
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

static int names_hosts(const struct wanted *w)
{
    for (size_t i = 0; i < sizeof w->gang.texts / sizeof *w->gang.texts; i++) {
        if (w->gang.texts[i] != NULL) {
            return 1;
        }
    }
    return 0;
}

/* Whether the gang that hbrun would find has other hosts than this one. */
static int has_others(void)
{
    const struct hb_gang_request nothing = {0};
    struct hb_gang gang = {0};
    char self[HB_STUCK_HOST_MAX] = "";
    int others = 0;

    (void)gethostname(self, sizeof self - 1);
    if (hb_command_gang(&nothing, &gang, NULL) < 0) {
        return 0;
    }
    for (size_t i = 0; i < gang.n; i++) {
        others |= !hb_streq(gang.hosts[i].name, self) &&
                  !hb_streq(gang.hosts[i].name, "localhost");
    }
    hb_gang_destroy(&gang);
    return others;
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

static int look_everywhere(const struct wanted *w, struct hb_stuck_list *out)
{
    struct hb_strv line = HB_STRV_INIT;
    int status;

    hb_gang_words(args, w, &line);
    hb_strv_push(&line, "--npernode=1");
    hb_strv_push(&line, "--bind-to=none");
    hb_strv_take(&line, hb_self_exe());
    hb_strv_push(&line, "stuck");
    hb_strv_push(&line, "--here");
    hb_strv_push(&line, "--lines");
    status = hb_run_hbrun(&line, "stuck", take_line, out);
    hb_strv_destroy(&line);
    return status;
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

static int parse_job(const char *text, uint32_t *out)
{
    char *end = NULL;
    unsigned long v = text != NULL ? strtoul(text, &end, 16) : 0;

    if (text != NULL && (*end != '\0' || v == 0 || v > UINT32_MAX)) {
        hb_log(HB_ERROR, "stuck: %s is not how a job is named here (eight "
               "digits, as hpcboot stuck shows)", text);
        return -1;
    }
    *out = (uint32_t)v;
    return 0;
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
    if (parse_job(w.job, &job) < 0) {
        return HB_EXIT_USAGE;
    }
    if (!w.here && (names_hosts(&w) || has_others())) {
        status = look_everywhere(&w, &list);
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
