/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* --launch-with templates of any bytes: either refused, or a command with at
 * least one word. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bin/boot/template.h"
#include "lib/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char sh[] = "/bin/sh", *words[] = {sh, NULL};
    struct hb_template_values values = {
        .host = "n1", .user_default = "me", .agent_line = "agent",
        .agent_words = words,
    };
    char *text = hb_xstrndup((const char *)data, size);
    struct hb_strv argv = HB_STRV_INIT;
    struct hpcboot_error err;

    if (hb_template_expand(text, &values, &argv, &err) == HPCBOOT_OK
        && argv.n == 0) {
        abort();
    }
    hb_strv_destroy(&argv);
    free(text);
    return 0;
}
