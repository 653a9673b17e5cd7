/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* hpcboot_alloc: pages of the node's memory. The library remembers where it
 * was mapped, so that freeing after finalize is harmless. */
#include "config.h"

#include "lib/api/api.h"

int hpcboot_alloc(size_t size, void **out, struct hpcboot_error *err)
{
    uint64_t offset;
    int rc = hb_api_ready("hpcboot_alloc", err);

    if (rc == 0) {
        rc = hb_api_place("hpcboot_alloc", "pointer", out, err);
    }
    if (rc == 0 && size > PTRDIFF_MAX) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_alloc: the size is "
                     "negative (%lld)", (long long)size);
    }
    if (rc == 0) {
        rc = hb_segment_alloc(hb_api.memory, (uint32_t)hb_api.local_rank, size,
                              &offset, err);
    }
    if (rc == 0) {
        *out = (char *)hb_api.memory->base + offset;
    }
    return rc;
}

void hpcboot_free(void *memory)
{
    char *at = memory;

    if (at == NULL || !hb_api_is_in() || at < hb_api.heap ||
        at >= hb_api.heap + hb_api.heap_size) {
        return;
    }
    (void)hb_segment_free(hb_api.memory, (uint32_t)hb_api.local_rank,
                          (uint64_t)(at - (char *)hb_api.memory->base));
}
