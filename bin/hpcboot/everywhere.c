/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Looking at all hosts of a gang: an hbrun of its own starts the same command
 * once on each of them, and the lines that come back are put together. The
 * job that is looked at need not answer for itself, and its launcher may hang
 * as well. */

#include "config.h"

#include "bin/hpcboot/everywhere.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/cli/options.h"
#include "bin/hpcboot/run_hbrun.h"
#include "bin/job/verdict.h"
#include "hostfile/hostfile.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define NAME_MAX_HERE 256 /* of this host */

static int has_others(void)
{
    const struct hb_gang_request nothing = {0};
    struct hb_gang gang = {0};
    char self[NAME_MAX_HERE] = "";
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

/* Whether it is said which hosts, or how to get there. */
static int names_hosts(const struct hb_gang_wanted *gang)
{
    for (size_t i = 0; i < sizeof gang->texts / sizeof *gang->texts; i++) {
        if (gang->texts[i] != NULL) {
            return 1;
        }
    }
    return 0;
}

/* As the commands print it, eight digits. */
static int parse_job(const char *command, const char *text, uint32_t *out)
{
    size_t n = text != NULL ? strspn(text, "0123456789abcdefABCDEF") : 0;
    unsigned long v = text != NULL ? strtoul(text, NULL, 16) : 0;

    if (text != NULL && (text[n] != '\0' || v == 0 || v > UINT32_MAX)) {
        hb_log(HB_ERROR, "%s: %s is not how a job is named here (eight "
               "digits, as hpcboot %s shows)", command, text, command);
        return -1;
    }
    *out = (uint32_t)v;
    return 0;
}

int hb_everywhere_scan(const struct hb_command *self, struct hb_everywhere *w,
                       int argc, char **argv)
{
    int rc = hb_command_scan(self, w, argc, argv);

    if (rc <= 0) {
        return rc < 0 ? HB_EXIT_USAGE : 0;
    }
    if (parse_job(self->name, w->job, &w->job_id) < 0) {
        return HB_EXIT_USAGE;
    }
    if (w->here && names_hosts(&w->gang)) {
        hb_log(HB_ERROR, "%s: --here looks at this host alone; which hosts, "
               "and how to get there, does not go with it", self->name);
        return HB_EXIT_USAGE;
    }
    return -1;
}

struct taker {
    const struct hb_everywhere_ops *ops;
    void *arg;
};

static void take_line(void *arg, const char *line)
{
    const struct taker *t = arg;

    if (!t->ops->take(t->arg, line)) {
        fputs(line, stderr);
    }
}

/* A host that does not answer is one of the reasons for looking: the others
 * are not kept waiting for it. */
static void put_patience(const struct hb_everywhere *w, struct hb_strv *line)
{
    if (w->gang.texts[HB_GANG_WAIT_HOSTS] == NULL) {
        hb_strv_push(line, "--wait-hosts=10");
    }
    if (w->gang.texts[HB_GANG_MIN_HOSTS] == NULL) {
        hb_strv_push(line, "--min-hosts=1");
    }
}

int hb_everywhere_look(const struct hb_command *self,
                       const struct hb_everywhere *w,
                       const struct hb_everywhere_ops *ops, void *arg)
{
    struct taker taker = {ops, arg};
    struct hb_strv line = HB_STRV_INIT;
    int status;

    if (w->here || (!names_hosts(&w->gang) && !has_others())) {
        ops->here(arg);
        return 0;
    }
    hb_gang_words(self->args, w, &line);
    put_patience(w, &line);
    hb_strv_push(&line, "--npernode=1");
    hb_strv_push(&line, "--bind-to=none");
    hb_strv_push(&line, "--stdin=none"); /* it is whose who asks */
    hb_strv_push(&line, "--pmi=none"); /* they look, and do not meet */
    hb_strv_take(&line, hb_self_exe());
    hb_strv_push(&line, self->name);
    hb_strv_push(&line, "--here");
    hb_strv_push(&line, "--lines");
    status = hb_run_hbrun(&line, self->name, HB_USE_LOOK, take_line, &taker);
    hb_strv_destroy(&line);
    return status;
}
