/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot perf: how long collectives take here.
 *
 * A process that a launcher has started as a rank (of hbrun, or of any that
 * speaks PMIx or PMI-1) measures together with the other ranks. Any other
 * starts hbrun, which lies beside it, with itself as the program, reads the
 * rows of the first rank, and shows them: so a picture is written here, not
 * on the first rank's host. */

#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/cli/options.h"
#include "bin/hpcboot/command.h"
#include "bin/hpcboot/gang_args.h"
#include "bin/hpcboot/perf.h"
#include "bin/hpcboot/result.h"
#include "bin/hpcboot/run_hbrun.h"
#include "bin/job/verdict.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/strv.h"

struct wanted {
    struct hb_gang_wanted gang;
    const char *collectives, *np, *sizes, *time, *most, *svg;
    int json, csv, alloc, pin, sync;
};
#define AT(f) offsetof(struct wanted, f)

#define SIZES "1:1M"
#define TIME "100ms"
#define MOST "256M"

static const struct hb_arg args[] = {
    HB_GANG_ARGS(struct wanted),
    {"np n", "RANKS", "start so many ranks (default as hbrun)", AT(np), NULL},
    {"sizes", "RANGE", "bytes FROM:TO, doubled, or FROM:TO:FACTOR (" SIZES ")",
     AT(sizes), NULL},
    {"time", "TIME", "measure each row for so long (" TIME ")", AT(time),
     NULL},
    {"most", "BYTES", "leave out rows with larger buffers (" MOST ")",
     AT(most), NULL},
    {"alloc", NULL, "buffers of hpcboot_alloc", AT(alloc), NULL},
    {"pin", NULL, "bind rank r to the r-th CPU, round and round", AT(pin),
     NULL},
    {"sync", NULL, "a barrier before each call, which is timed alone",
     AT(sync), NULL},
    {"json", NULL, "a list of rows instead of a table", AT(json), NULL},
    {"csv", NULL, "lines with commas instead of a table", AT(csv), NULL},
    {"svg", "FILE", "draw median times into FILE", AT(svg), NULL},
    {NULL, NULL, NULL, 0, NULL},
};

static const char *more(void)
{
    static char text[1024];
    size_t n = (size_t)snprintf(text, sizeof text, "COLLECTIVE: NAME[:BYTES],"
                                "... of all");

    for (int k = 0; k < HB_PERF_KINDS; k++) {
        n += (size_t)snprintf(text + n, sizeof text - n, ",%s%s",
                              k % 5 == 0 ? "\n  " : " ", hb_perf_name(k));
    }
    snprintf(text + n, sizeof text - n, "\nExit status: 0; 1 a result was "
             "wrong; 2 the line is wrong; else as hbrun.\n");
    return text;
}

static const char *collective_name(size_t i)
{
    return i < HB_PERF_KINDS ? hb_perf_name((int)i)
           : i == HB_PERF_KINDS ? "all" : NULL;
}

/* Whether a launcher has started this process as a rank. */
static int is_rank(void)
{
    static const char *const names[] = {"HPCBOOT_RANK", "PMIX_RANK",
                                        "PMI_RANK", "PMI_FD", "PMI_PORT"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (getenv(names[i]) != NULL) {
            return 1;
        }
    }
    return 0;
}

/* The launcher has said how many there are. Only another number is wrong. */
static int expect_ranks(const char *np, struct hb_perf_plan *plan,
                        struct hpcboot_error *err)
{
    return np == NULL || hb_parse_u64(np, 1, INT_MAX, &plan->ranks) >= 0
               ? 0 : hb_fail(err, HPCBOOT_ERR_USAGE, "-n %s: expected a "
                             "number of ranks; bytes are said by --sizes",
                             np);
}

static int plan_of(const struct wanted *w, struct hb_perf_plan *plan,
                   struct hpcboot_error *err)
{
    const char *time = w->time != NULL ? w->time : TIME;
    const char *most = w->most != NULL ? w->most : MOST;
    int64_t ms;

    if (w->collectives == NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "expected a collective, such "
                       "as allreduce, or all; hpcboot perf --help lists them");
    }
    if (hb_parse_duration_ms(time, &ms) < 0 || ms == 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--time %s: expected a time of "
                       "1ms or more, such as 100ms", time);
    }
    if (hb_perf_bytes(most, &plan->most_bytes) < 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--most %s: expected bytes, "
                       "such as 64M", most);
    }
    if (w->json && w->csv) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--json and --csv: one of the "
                       "two");
    }
    plan->time_us = (double)ms * 1000;
    plan->alloc = w->alloc;
    plan->pin = w->pin;
    plan->sync = w->sync;
    if (is_rank() && expect_ranks(w->np, plan, err) < 0) {
        return HPCBOOT_ERR_USAGE;
    }
    return hb_perf_plan(plan, w->collectives,
                        w->sizes != NULL ? w->sizes : SIZES, err);
}

/* The command line of hbrun: up to its program as for the gang's hosts, and
 * with what the ranks' library is told; then this command again, as a rank. */
static void launch_words(const struct wanted *w, struct hb_strv *line)
{
    char *self = hb_self_exe();

    static const struct {
        const char *name;
        size_t at;
    } texts[] = {{"--sizes", AT(sizes)}, {"--time", AT(time)},
                 {"--most", AT(most)}};

    hb_gang_words(args, w, line);
    hb_strv_push(line, "--stdin=none");
    if (w->np != NULL) {
        hb_strv_pushf(line, "--np=%s", w->np);
    }
    if (w->pin) {
        hb_strv_push(line, "--bind-to=none");
    }
    for (size_t i = 0; i < hb_library_variables_n; i++) {
        const char *name = hb_library_variables[i], *value = getenv(name);
        if (value != NULL) { /* -x is not every dialect's */
            hb_strv_pushf(line, "--set-env=%s=%s", name, value);
        }
    }
    hb_strv_take(line, self);
    hb_strv_push(line, "perf");
    hb_strv_push(line, w->collectives);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *value =
            *(const char *const *)(const void *)((const char *)w +
                                                 texts[i].at);
        if (value != NULL) {
            hb_strv_pushf(line, "%s=%s", texts[i].name, value);
        }
    }
    if (w->alloc) {
        hb_strv_push(line, "--alloc");
    }
    if (w->pin) {
        hb_strv_push(line, "--pin");
    }
    if (w->sync) {
        hb_strv_push(line, "--sync");
    }
    hb_strv_push(line, "--csv");
}

struct taker {
    struct hb_perf_view *view;
    int begun; /* the head has come */
};

/* Rows are shown; whatever else ranks print is passed on. */
static void take_line(void *arg, const char *line)
{
    struct taker *t = arg;
    struct hb_perf_row row;

    if (hb_perf_row_parse(&row, line)) {
        hb_perf_view_add(t->view, &row);
    } else if (strncmp(line, HB_PERF_CSV_HEAD "\n",
                       sizeof HB_PERF_CSV_HEAD) == 0) {
        t->begun = 1;
    } else {
        fputs(line, stderr);
    }
}

static int launch(const struct wanted *w, struct hb_perf_view *view)
{
    struct taker taker = {.view = view};
    struct hb_strv line = HB_STRV_INIT;
    int status, shown;

    launch_words(w, &line);
    status = hb_run_hbrun(&line, "perf", HB_USE_LINES, take_line, &taker);
    shown = hb_perf_view_end(view);
    hb_strv_destroy(&line);
    if (status == 0 && !taker.begun) {
        hb_log(HB_ERROR, "perf: hbrun ended with 0, and no rank has shown "
               "what it measured");
        return HB_EXIT_INTERNAL;
    }
    return status != 0 ? status : shown;
}

static int run(const struct hb_command *self, int argc, char **argv)
{
    struct wanted w = {0};
    struct hb_perf_plan plan = {0};
    struct hb_perf_view view = {0};
    struct hpcboot_error err;
    int rc = hb_command_scan(self, &w, argc, argv), status = HB_EXIT_USAGE;

    if (rc <= 0) {
        return rc < 0 ? HB_EXIT_USAGE : 0;
    }
    view.form = w.json ? HB_PERF_JSON : w.csv ? HB_PERF_CSV : HB_PERF_TABLE;
    view.svg = w.svg;
    if (plan_of(&w, &plan, &err) < 0) {
        hb_log(HB_ERROR, "perf: %s", err.text);
    } else if (hb_result_check(w.svg, &err) < 0) {
        hb_log(HB_ERROR, "perf: --svg %s", err.text);
        status = HB_EXIT_OUTPUT;
    } else if (is_rank()) {
        status = hb_perf_rank(&plan, &view);
    } else {
        status = launch(&w, &view);
    }
    hb_perf_plan_destroy(&plan);
    return status;
}

const struct hb_command hb_command_perf = {
    .name = "perf",
    .summary = "measure how long collectives take",
    .operand = "COLLECTIVE",
    .operand_at = AT(collectives),
    .operand_name = collective_name,
    .args = args,
    .more = more,
    .run = run,
};
