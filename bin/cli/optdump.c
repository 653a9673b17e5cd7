/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A check program: prints what the option table makes, so that the lint can
 * compare names, help, completions and the man page without hbrun. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "bin/cli/options.h"

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "names")) {
        hb_options_names(stdout);
    } else if (!strcmp(what, "help")) {
        hb_options_help(stdout, argc > 2 ? argv[2] : NULL,
                        HB_DIALECT_OPENMPI);
    } else if (!strcmp(what, "completion") && argc > 2) {
        hb_options_completion(stdout, argv[2]);
    } else {
        fprintf(stderr, "usage: optdump names|help [TOPIC]|completion SHELL\n");
        return 2;
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
