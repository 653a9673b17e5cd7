/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What hbrun would do here without options: its own parser reads the
 * configuration files and variables for every command. */

#include "config.h"

#include <stdlib.h>

#include "bin/cli/options.h"
#include "bin/hpcboot/command.h"
#include "lib/base/log.h"

extern char **environ;

int hb_command_settings(struct hb_options **out, struct hpcboot_error *err)
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
