/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The memory of a job as an onlooker reads it: sound, then written over with
 * any bytes, two of which say where. What comes out is bounded, and all of it
 * can be read. */

#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/rdzv/segment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t node_of[] = {0, 1, 0}, local_rank[] = {0, 0, 1};
    char left[] = "left", right[] = "right", *names[] = {left, right};
    const struct hb_segment_spec spec = {
        .n_ranks = 3, .n_nodes = 2, .n_local = 2, .node_of = node_of,
        .local_rank = local_rank, .names = names, .region_bytes = 4096,
        .heap_bytes = 4096,
    };
    struct hb_segment s = HB_SEGMENT_INIT;
    struct hb_segment_look look;
    uint64_t sum = 0;

    if (size < 2 || hb_segment_create(&s, &spec, NULL) < 0) {
        return 0;
    }
    (void)!pwrite(s.fd, data + 2, size - 2, data[0] << 8 | data[1]);
    if (hb_segment_look(s.fd, &look, NULL) == 0) {
        for (uint32_t i = 0; i < look.n; i++) {
            sum += look.v[i].rank + look.v[i].calls;
        }
        free(look.v);
    }
    hb_segment_close(&s);
    return sum == UINT64_MAX;
}
