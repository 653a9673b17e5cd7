/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Participants of a fence from any bytes: what is taken is sorted, within the
 * limit, and is written as the same bytes again. */
#include "config.h"

#include <stdlib.h>

#include "lib/base/jobmap.h"
#include "lib/rdzv/runs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct hb_wire_u32s *runs, const uint32_t *nodes,
                  uint32_t n)
{
    uint32_t *again, len = hb_runs_of_nodes(nodes, n, &again);

    for (uint32_t i = 0; i < n; i++) {
        if (nodes[i] >= HB_MAX_NODES || (i > 0 && nodes[i] <= nodes[i - 1])) {
            abort();
        }
    }
    for (uint32_t i = 0; i < len; i++) {
        if (len != runs->n || again[i] != hb_wire_u32s_at(runs, i)) {
            abort();
        }
    }
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct hb_wire_u32s runs = {
        .n = (uint32_t)(size / sizeof(uint32_t)), .raw = {data, size},
    };
    uint32_t *nodes, n;

    if (hb_runs_to_nodes(&runs, &nodes, &n, NULL) == 0) {
        check(&runs, nodes, n);
        free(nodes);
    }
    return 0;
}
