/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef RDZV_USE_H
#define RDZV_USE_H

/* What a fuzzer of a way to start does with a rank that has come up. */

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/rdzv/client.h"

/* Puts, fences for so long, gets of all, and closes it. */
static inline void rdzv_use(struct hb_rdzv *r, int wait_ms)
{
    const struct hb_bytes value = {(const unsigned char *)"v", 1};
    void *got = NULL;
    size_t n;

    (void)r->ops->put(r, 0, "key", value, NULL);
    (void)r->ops->fence(r, 0, 1, hb_deadline_in_ms(wait_ms), NULL);
    for (uint32_t i = 0; i < r->size; i++) {
        if (r->ops->get(r, i, "key", &got, &n, NULL) == 0) {
            free(got);
        }
    }
    hb_rdzv_close(r);
}

#endif
