/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Sorted node numbers as runs, and back. What comes from outside is measured
 * before it is given memory: four bytes of a frame may stand for a million
 * nodes, but never for more. Only the one shortest form of a list is taken. */
#include "config.h"

#include "lib/rdzv/runs.h"

#include "lib/base/jobmap.h"
#include "lib/base/str.h"

uint32_t hb_runs_of_nodes(const uint32_t *nodes, uint32_t n,
                          uint32_t **runs_out)
{
    uint32_t *runs = hb_xmalloc((2 * (size_t)n + 1) * sizeof *runs);
    uint32_t len = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || nodes[i] != nodes[i - 1] + 1) {
            runs[len] = nodes[i];
            runs[len + 1] = 0;
            len += 2;
        }
        runs[len - 1]++;
    }
    *runs_out = runs;
    return len;
}

/* How many nodes there are; -1: no list has these runs. */
static int64_t measure(const struct hb_wire_u32s *runs)
{
    uint64_t n = 0, end = 0; /* of the run before */

    if (runs->n % 2 != 0) {
        return -1;
    }
    for (uint32_t i = 0; i < runs->n; i += 2) {
        uint64_t first = hb_wire_u32s_at(runs, i);
        uint64_t count = hb_wire_u32s_at(runs, i + 1);

        if (count == 0 || first + count > HB_MAX_NODES ||
            (i > 0 && first <= end)) {
            return -1;
        }
        n += count;
        end = first + count;
    }
    return (int64_t)n;
}

int hb_runs_to_nodes(const struct hb_wire_u32s *runs, uint32_t **nodes_out,
                     uint32_t *n_out, struct hpcboot_error *err)
{
    int64_t n = measure(runs);
    uint32_t *nodes, at = 0;

    if (n < 0) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "fence: its participants are no runs of node numbers");
    }
    nodes = hb_xmalloc(((size_t)n + 1) * sizeof *nodes);
    for (uint32_t i = 0; i < runs->n; i += 2) {
        uint32_t first = hb_wire_u32s_at(runs, i);
        uint32_t count = hb_wire_u32s_at(runs, i + 1);

        for (uint32_t k = 0; k < count; k++) {
            nodes[at++] = first + k;
        }
    }
    *nodes_out = nodes;
    *n_out = (uint32_t)n;
    return 0;
}
