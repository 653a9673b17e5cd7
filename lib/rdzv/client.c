/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Who started this process? The nearest launcher wins: a caller's bootstrap,
 * the agent of hbrun, PMIx, PMI-1; a process that nobody speaks of is rank 0
 * of 1. A launcher that is named in the environment and does not answer is an
 * error, never a reason to be alone: every rank would be. */
#include "config.h"

#include "lib/rdzv/client.h"

#include <stdlib.h>

#include "lib/base/str.h"

/* Of addresses, not of memory: what nobody touches is not allocated. */
#define HEAP_MB 8192u
#define HEAP_MB_MAX (1u << 24)

size_t hb_rdzv_heap_bytes(void)
{
    const char *text = getenv("HPCBOOT_HEAP_MB");
    uint64_t mb = HEAP_MB;

    if (text != NULL && hb_parse_u64(text, 1, HEAP_MB_MAX, &mb) < 0) {
        mb = HEAP_MB;
    }
    return (size_t)mb << 20;
}

int hb_rdzv_open(struct hb_rdzv **out, const struct hb_rdzv_spec *spec,
                 struct hpcboot_error *err)
{
    static int (*const clients[])(struct hb_rdzv **,
                                  const struct hb_rdzv_spec *,
                                  struct hpcboot_error *) = {
        hb_rdzv_native_open, hb_rdzv_pmix_open, hb_rdzv_pmi1_open,
        hb_rdzv_alone_open,
    };
    int rc = HPCBOOT_ERR_NOT_FOUND;

    if (spec->bootstrap != NULL) {
        return hb_rdzv_with_open(out, spec, err);
    }
    for (size_t i = 0; rc == HPCBOOT_ERR_NOT_FOUND &&
         i < sizeof clients / sizeof *clients; i++) {
        rc = clients[i](out, spec, err);
    }
    return rc;
}

void hb_rdzv_close(struct hb_rdzv *r)
{
    if (r != NULL) {
        struct hb_segment memory = r->memory;

        free(r->dead);
        r->ops->destroy(r);
        hb_segment_close(&memory);
    }
}

void hb_rdzv_set_members(struct hb_rdzv *r, uint32_t members, uint32_t *dead,
                         uint32_t n_dead)
{
    free(r->dead);
    r->members = members;
    r->dead = dead;
    r->n_dead = n_dead;
}
