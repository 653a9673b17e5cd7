/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * The owner file in a job's directory.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bin/proc/stale.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_owner owner;

    if (hb_owner_parse((const char *)data, size, &owner) == 0
        && (strlen(owner.boot) != HB_BOOT_ID_LEN
            || owner.pids[0] <= 0 || owner.pids[1] <= 0
            || strlen(owner.cookie) < HB_COOKIE_MIN
            || strlen(owner.cookie) > HB_COOKIE_MAX)) {
        abort();
    }
    return 0;
}
