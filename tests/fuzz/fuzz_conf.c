/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Any bytes as hpcboot.conf. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bin/cli/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int entry(void *arg, const struct hb_conf_entry *e,
                 struct hpcboot_error *err)
{
    size_t *n = arg;

    if (e->key == NULL) {
        *n += strlen(e->profile) + e->column;
        return 0;
    }
    *n += strlen(e->key) + strlen(e->value) + e->line;
    if (e->column == 0 || e->value_column <= e->column) {
        abort();
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hpcboot_error err;
    size_t n = 0;

    hb_conf_parse("conf", (const char *)data, size, entry, &n, &err);
    return 0;
}
