/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The line of an exec request, any bytes: a token that is taken is one that
 * may stand on a command line. */
#include "config.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bin/boot/serve_line.h"
#include "lib/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line = hb_xstrndup((const char *)data, size);
    char token[HB_SERVE_TOKEN_MAX + 1];

    if (hb_serve_line_parse(line, token)) {
        size_t n = strlen(token);

        if (n == 0 || token[0] == '-' || !strstr(line, token)) {
            abort();
        }
        for (size_t i = 0; i < n; i++) {
            if (!isalnum((unsigned char)token[i])
                && !strchr("._-", token[i])) {
                abort();
            }
        }
    }
    free(line);
    return 0;
}
