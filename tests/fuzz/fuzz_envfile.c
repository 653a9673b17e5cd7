/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * A file of --env-file. Every rule that is made of it must be one.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "bin/proc/env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_strv rules = HB_STRV_INIT;

    (void)hb_env_text_rules("file", (const char *)data, size, &rules, NULL);
    for (size_t i = 0; i < rules.n; i++) {
        if (hb_env_check_rule(rules.v[i], NULL) != HPCBOOT_OK) {
            abort();
        }
    }
    hb_strv_destroy(&rules);
    return 0;
}
