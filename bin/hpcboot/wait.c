/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot wait: waits until the gang's hosts are ready, as hbrun would, and
 * starts nothing there. For scripts and init containers in front of another
 * launcher. */

#include "config.h"

#include "bin/cli/options.h"
#include "bin/hpcboot/command.h"
#include "bin/hpcboot/gang_args.h"
#include "bin/job/job.h"
#include "bin/job/verdict.h"
#include "lib/base/strv.h"

extern char **environ;

struct wanted {
    struct hb_gang_wanted gang;
};

static const struct hb_arg args[] = {
    HB_GANG_ARGS(struct wanted),
    {NULL, NULL, NULL, 0, NULL},
};

static const char *more(void)
{
    return "Exit status: 0 the hosts are ready, 75 they are not, 2 the line "
           "is wrong.\n";
}

static int run(const struct hb_command *self, int argc, char **argv)
{
    struct wanted w = {0};
    struct hb_strv line = HB_STRV_INIT;
    struct hb_options *opt = NULL;
    int rc = hb_command_scan(self, &w, argc, argv), status = HB_EXIT_USAGE;

    if (rc <= 0) {
        return rc < 0 ? HB_EXIT_USAGE : 0;
    }
    hb_gang_words(args, &w, &line);
    hb_strv_push(&line, "true");
    if (hb_gang_options(&opt, &line, "wait") >= 0) {
        status = hb_job_wait(opt, environ);
    }
    hb_options_destroy(opt);
    hb_strv_destroy(&line);
    return status;
}

const struct hb_command hb_command_wait = {
    .name = "wait",
    .summary = "wait until the gang's hosts are ready",
    .args = args,
    .more = more,
    .run = run,
};
