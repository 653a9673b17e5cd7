/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A range in a host name: what it expands to, compressed, must expand to the
 * same again. */

#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hostfile/range.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT 500

/* Expands a list at its commas outside brackets. */
static void expand_list(char *text, struct hb_strv *out)
{
    int depth = 0;
    const char *expected;
    size_t at;
    char *from = text;

    for (char *p = text;; p++) {
        char c = *p;
        depth += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (c != '\0' && !(c == ',' && depth == 0)) {
            continue;
        }
        *p = '\0';
        if (hb_range_expand(from, LIMIT, out, &at, &expected) < 0) {
            abort();
        }
        if (c == '\0') {
            return;
        }
        from = p + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = hb_xstrndup((const char *)data, size);
    struct hb_strv names = HB_STRV_INIT, again = HB_STRV_INIT;
    struct hb_str list = HB_STR_INIT;
    const char *expected;
    size_t at;

    if (hb_range_expand(text, LIMIT, &names, &at, &expected) < 0) {
        if (at > strlen(text) || expected == NULL || names.n != 0) {
            abort();
        }
    } else if (strchr(text, ',') == NULL || strchr(text, '[') != NULL) {
        /* A comma outside brackets is part of a name only here. */
        size_t commas = 0;
        for (size_t i = 0; i < names.n; i++) {
            commas += strchr(names.v[i], ',') != NULL;
        }
        if (commas == 0) {
            hb_range_compress(names.v, names.n, &list);
            expand_list(list.s, &again);
            if (again.n != names.n) {
                abort();
            }
        }
        for (size_t i = 0; i < again.n; i++) {
            if (strcmp(again.v[i], names.v[i]) != 0) {
                abort();
            }
        }
    }
    free(text);
    hb_str_destroy(&list);
    hb_strv_destroy(&names);
    hb_strv_destroy(&again);
    return 0;
}
