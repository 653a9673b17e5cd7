/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * A shell's text that is looked through for the programs it names. Every
 * command that is handed out has a first word, and the environment with it.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "bin/pm/shelltext.h"
#include "lib/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int visit(void *arg, char *const *argv, char *const *env)
{
    if (argv == NULL || argv[0] == NULL || env == NULL || env[0] == NULL) {
        abort();
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char one[] = "./prog", two[] = "two words";
    char home[] = "HOME=/home";
    char *args[] = {one, two, NULL};
    char *env[] = {home, NULL};
    char *text = hb_xstrndup((const char *)data, size);

    hb_shell_commands(text, "./zero", args, env, visit, NULL);
    free(text);
    return 0;
}
