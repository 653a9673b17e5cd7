/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What hbrun would do here without options: its own parser reads the
 * configuration files and variables for every command. */

#include "config.h"

#include <stdlib.h>

#include "bin/cli/options.h"
#include "bin/hpcboot/command.h"
#include "hostfile/hostfile.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

extern char **environ;

/* Warnings are logged. Destroy with hb_options_destroy(). */
static int read_settings(struct hb_options **out, struct hpcboot_error *err)
{
    /* A line that only asks for words would not read them; no program is
     * looked for yet. */
    char *const argv[] = {(char *)"hbrun", (char *)"program", NULL};
    const struct hb_options_source source = {
        .env = environ, .etc_dir = HB_SYSCONFDIR, .home = getenv("HOME"),
    };
    int rc = hb_options_parse(out, 2, argv, &source, err);

    for (size_t i = 0; rc >= 0 && i < (*out)->warnings.n; i++) {
        hb_log(HB_WARN, "%s", (*out)->warnings.v[i]);
    }
    return rc;
}

int hb_command_gang(const struct hb_gang_request *wanted, struct hb_gang *out,
                    struct hpcboot_error *err)
{
    struct hb_gang_request req = *wanted;
    struct hb_options *opt = NULL;
    int rc = read_settings(&opt, err);

    if (rc < 0) {
        return rc;
    }
    req.env = environ;
    req.root = "";
    req.filter = 1;
    if (req.hostfile == NULL && req.discover == NULL &&
        req.pod_selector == NULL && req.pod_group == NULL) {
        /* A list that is given selects from what the others have. */
        req.host_list = req.host_list ? req.host_list : opt->host_list;
        req.hostfile = opt->hostfile;
        req.discover = opt->discover_hosts;
        req.pod_selector = opt->pod_selector;
        req.pod_group = opt->pod_group;
        req.filters_found = 1;
    }
    if (req.pod_selector == NULL && hb_streq(opt->pod_selector, "none")) {
        req.pod_selector = opt->pod_selector;
    }
    if (req.default_hostfile == NULL) {
        req.default_hostfile = opt->default_hostfile;
    }
    rc = req.hostfile_form != NULL && req.hostfile == NULL
        ? hb_fail(err, HPCBOOT_ERR_USAGE, "--from goes with --hostfile")
        : hb_gang_gather(&req, out, err);
    if (rc >= 0) {
        hb_gang_default_word(out, opt->default_slots);
    }
    hb_options_destroy(opt);
    return rc;
}
