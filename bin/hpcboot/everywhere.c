/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Looking at all hosts of a gang: an hbrun of its own starts the same command
 * once on each of them, and the lines that come back are put together. The
 * job that is looked at need not answer for itself, and its launcher may hang
 * as well. */

#include "config.h"

#include "bin/hpcboot/everywhere.h"

#include <stdlib.h>
#include <unistd.h>

#include "bin/hpcboot/command.h"
#include "bin/hpcboot/run_hbrun.h"
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

int hb_wants_everywhere(const struct hb_gang_wanted *wanted)
{
    for (size_t i = 0; i < sizeof wanted->texts / sizeof *wanted->texts; i++) {
        if (wanted->texts[i] != NULL) {
            return 1;
        }
    }
    return has_others();
}

int hb_look_everywhere(const struct hb_arg *args, const void *wanted,
                       const char *command,
                       void (*take)(void *arg, const char *line), void *arg)
{
    struct hb_strv line = HB_STRV_INIT;
    int status;

    hb_gang_words(args, wanted, &line);
    hb_strv_push(&line, "--npernode=1");
    hb_strv_push(&line, "--bind-to=none");
    hb_strv_take(&line, hb_self_exe());
    hb_strv_push(&line, command);
    hb_strv_push(&line, "--here");
    hb_strv_push(&line, "--lines");
    status = hb_run_hbrun(&line, command, take, arg);
    hb_strv_destroy(&line);
    return status;
}

int hb_job_parse(const char *command, const char *text, uint32_t *out)
{
    char *end = NULL;
    unsigned long v = text != NULL ? strtoul(text, &end, 16) : 0;

    if (text != NULL && (*end != '\0' || v == 0 || v > UINT32_MAX)) {
        hb_log(HB_ERROR, "%s: %s is not how a job is named here (eight "
               "digits, as hpcboot %s shows)", command, text, command);
        return -1;
    }
    *out = (uint32_t)v;
    return 0;
}

void hb_clean_copy(char *out, size_t size, const char *text)
{
    size_t n = 0;

    for (; *text != '\0' && n + 1 < size; text++) {
        out[n++] = *text >= ' ' && *text != 0x7f ? *text : '?';
    }
    out[n] = '\0';
}
