/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * The stat file of a process, whose name can be anything.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "bin/proc/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_procfs_stat st;

    if (hb_procfs_parse_stat((const char *)data, size, &st) == 0
        && st.pid <= 0) {
        abort();
    }
    return 0;
}
