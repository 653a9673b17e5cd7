/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The way to a host: fork, a login of the launcher's own, or a command, which
 * is the user's or the gang's.
 *
 * In the launcher of an MPIJob v1 a variable names the operator's script as
 * the command. It runs kubectl without -i, so that an agent would hear nothing;
 * what the script does is done with input instead, wherever it is named. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/bringup.h"
#include "bin/job/job_impl.h"
#include "hostfile/mpijob_v1.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define KUBEXEC "kubexec.sh"
#define SCRIPT_MAX ((size_t)64 << 10)

/* The path that the command begins with, where it is such a script. */
static char *script_of(const char *command)
{
    size_t len = strcspn(command, " ");
    char *path = hb_xstrndup(command, len);

    if (len < sizeof KUBEXEC ||
        strcmp(path + len - strlen("/" KUBEXEC), "/" KUBEXEC) != 0) {
        free(path);
        return NULL;
    }
    return path;
}

static char *command_with_input(const char *command)
{
    char *path = script_of(command), *text = NULL, *out = NULL;
    size_t len;

    if (path != NULL &&
        hb_file_read(path, SCRIPT_MAX, &text, &len, NULL) == 0) {
        out = hb_kubexec_template(text, len);
    }
    free(text);
    free(path);
    return out;
}

static int is_way_of(const struct job *j, const struct hb_host *host)
{
    return j->opt->launch_with != NULL
               ? !hb_streq(j->opt->launch_with, "fork") &&
                     !hb_streq(host->origin, HB_ORIGIN_THIS_HOST)
               : j->gang.launch_with != NULL && !host->is_local;
}

int job_choose_way(struct job *j, struct hpcboot_error *err)
{
    struct hb_boot_config *b = &j->boot;

    b->launch_with = j->gang.launch_with;
    if (j->opt->launch_with != NULL) {
        j->command = command_with_input(j->opt->launch_with);
        b->launch_with = j->command != NULL ? j->command : j->opt->launch_with;
    }
    return b->launch_with == NULL || hb_streq(b->launch_with, "fork")
               ? 0 : hb_boot_check_command(b->launch_with, err);
}

void job_way_explain(const struct job *j, struct hb_strv *lines)
{
    if (j->command != NULL) {
        hb_strv_pushf(lines, "agents are started with: %s, since %s passes no "
                      "input on", j->command, j->opt->launch_with);
    }
}

/* An explicit command goes before everything, so that it can be tried on one
 * machine; this host needs no login. An operator's own command stands in for
 * SSH, and for nothing else. */
enum hb_boot_way host_way(const struct job_host *h)
{
    if (is_way_of(h->job, h->spec)) {
        return HB_BOOT_COMMAND;
    }
    return hb_streq(h->job->opt->launch_with, "fork") || h->spec->is_local
               ? HB_BOOT_FORK : HB_BOOT_SSH;
}
