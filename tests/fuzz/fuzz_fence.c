/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Collected fence data from any bytes: the walk ends, and every part it
 * hands out lies inside the input. */
#include "config.h"

#include <stdlib.h>

#include "lib/rdzv/fence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_buf view;
    struct hb_bytes blob;
    uint32_t node;
    size_t seen = 0;

    hb_buf_view(&view, data, size);
    while (hb_fence_data_next(&view, &node, &blob) > 0) {
        const uint8_t *start = blob.data;

        if (blob.len > size || start < data || start + blob.len > data + size) {
            abort();
        }
        seen += 8 + blob.len;
    }
    if (seen > size) {
        abort();
    }
    return 0;
}
