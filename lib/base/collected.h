/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BASE_COLLECTED_H
#define HB_BASE_COLLECTED_H

#include <stdint.h>

#include "lib/base/buf.h"

/* What a fence has collected from its nodes: a sequence of {u32 node, blob},
 * without those whose blob is empty. The engine (lib/rdzv/fence.h) makes it,
 * the process-management servers read it. */
#define HB_FENCE_DATA_MAX (256u << 20) /* what a frame of lib/wire holds */

/* The next part of a view: 1, 0 at the end, HPCBOOT_ERR_PROTOCOL where it is
 * malformed. The blob points into the view. */
int hb_fence_data_next(struct hb_buf *view, uint32_t *node_out,
                       struct hb_bytes *blob_out);

#endif
