/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Reading of what a fence has collected. It came from other hosts, so each
 * length is checked; whether a node may speak for that number is the engine's
 * business, and what a blob says its reader's. */
#include "config.h"

#include "lib/base/collected.h"

#include "lib/base/error.h"

int hb_fence_data_next(struct hb_buf *view, uint32_t *node_out,
                       struct hb_bytes *blob_out)
{
    if (hb_buf_left(view) == 0) {
        return hb_buf_failed(view) ? HPCBOOT_ERR_PROTOCOL : 0;
    }
    uint32_t node = hb_buf_get_u32(view);
    struct hb_bytes blob = hb_buf_get_blob(view, HB_FENCE_DATA_MAX);

    if (hb_buf_failed(view)) {
        return HPCBOOT_ERR_PROTOCOL;
    }
    *node_out = node;
    *blob_out = blob;
    return 1;
}
