/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcboot wait: waits until the gang's hosts are ready, as hbrun would, and
 * starts nothing there. For scripts and init containers in front of another
 * launcher. Its options are some of hbrun's and mean the same, so they are
 * handed to hbrun's own parser, which adds configuration and variables. */

#include "config.h"

#include <stdlib.h>

#include "bin/cli/logsink.h"
#include "bin/cli/options.h"
#include "bin/hpcboot/command.h"
#include "bin/job/job.h"
#include "bin/job/verdict.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

extern char **environ;

#define N_TEXTS 17
#define N_SWITCHES 2

struct wanted {
    const char *texts[N_TEXTS];
    int switches[N_SWITCHES];
};

#define TEXT(i) offsetof(struct wanted, texts[i])
#define SWITCH(i) offsetof(struct wanted, switches[i])
static const struct hb_arg args[] = {
    {"wait-hosts", "TIME", "how long hosts may take (default 5 min)", TEXT(0),
     NULL},
    {"min-hosts", "N", "N hosts or more will do when the time is over",
     TEXT(1), NULL},
    {"host H", "LIST", "hosts to wait for: a,b,n[01-16]", TEXT(2), NULL},
    {"hostfile machinefile", "FILE", "hosts to wait for, from FILE", TEXT(3),
     NULL},
    {"events", "FILE", "what happens, as JSON lines", TEXT(4), NULL},
    {"port", "N", "port of the hosts' SSH servers", TEXT(5), NULL},
    {"user", "NAME", "login name on the hosts", TEXT(6), NULL},
    {"identity", "FILE", "private key to log in with", TEXT(7), NULL},
    {"ssh-config", "FILE", "SSH configuration instead of ~/.ssh/config",
     TEXT(8), NULL},
    {"host-keys", "HOW", "strict or pin: trust known host keys only, or the "
     "first one seen", TEXT(9), NULL},
    {"launch-with", "COMMAND", "start agents with COMMAND; %h stands for the "
     "host", TEXT(10), NULL},
    {"prefix", "DIR", "where hpcboot is installed on the hosts", TEXT(11),
     NULL},
    {"connect-timeout", "TIME", "limit of each step of a login", TEXT(12),
     NULL},
    {"progress", "YES|NO", "a live line on a terminal (default yes)",
     TEXT(13), NULL},
    {"default-hostfile", "FILE", "hosts where nothing else names any",
     TEXT(14), NULL},
    {"pod-selector", "LABELS", "hosts to wait for: the pods with these labels",
     TEXT(15), NULL},
    {"pod-group", "NAME", "hosts to wait for: the pods of this PodGroup",
     TEXT(16), NULL},
    {"quiet q", NULL, "errors only", SWITCH(0), NULL},
    {"verbose v", NULL, "say more", SWITCH(1), NULL},
    {NULL, NULL, NULL, 0, NULL},
};

static const char *more(void)
{
    return "Exit status: 0 the hosts are ready, 75 they are not, 2 the line "
           "is wrong.\n";
}

/* The line of an hbrun that would wait in this way. */
static void put_words(const struct wanted *w, struct hb_strv *line)
{
    hb_strv_push(line, "hbrun");
    for (const struct hb_arg *a = args; a->names != NULL; a++) {
        const char *at = (const char *)w + a->offset;
        char buffer[HB_ARG_NAME_MAX];
        size_t state = 0;
        const char *name = hb_arg_name(a, &state, buffer, sizeof buffer);

        if (a->value == NULL) {
            if (*(const int *)(const void *)at) {
                hb_strv_push(line, name);
            }
        } else if (*(const char *const *)(const void *)at != NULL) {
            hb_strv_pushf(line, "%s=%s", name,
                          *(const char *const *)(const void *)at);
        }
    }
    hb_strv_push(line, "true");
}

static enum hb_log_level level_of(const struct hb_options *o)
{
    return o->quiet ? HB_ERROR : o->verbose ? HB_DEBUG : HB_INFO;
}

static int run(const struct hb_command *self, int argc, char **argv)
{
    const struct hb_options_source source = {
        .env = environ, .etc_dir = HB_SYSCONFDIR, .home = getenv("HOME"),
    };
    struct wanted w = {0};
    struct hb_strv line = HB_STRV_INIT;
    struct hb_options *opt = NULL;
    struct hpcboot_error err = {0};
    int rc = hb_command_scan(self, &w, argc, argv), status;

    if (rc <= 0) {
        return rc < 0 ? HB_EXIT_USAGE : 0;
    }
    if (hb_fd_fill_standard(&err) < 0) {
        return HB_EXIT_INTERNAL; /* there may be nowhere to say it */
    }
    put_words(&w, &line);
    rc = hb_options_parse(&opt, (int)line.n, line.v, &source, &err);
    if (rc < 0) {
        hb_log(HB_ERROR, "wait: %s", err.text);
        status = HB_EXIT_USAGE;
    } else {
        hb_logsink_open("hpcboot", level_of(opt));
        for (size_t i = 0; i < opt->warnings.n; i++) {
            hb_log(HB_WARN, "%s", opt->warnings.v[i]);
        }
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
