/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Decoding a job map from any bytes. One that is accepted must survive being
 * encoded and decoded again, with the same text for PMI.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/jobmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A few bytes can stand for millions of ranks, which is no use here. */
#define RANKS_MAX 100000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_jobmap *map = NULL, *again = NULL;
    struct hb_buf in, out;
    char *a, *b;

    hb_buf_view(&in, data, size);
    if (hb_buf_get_u32(&in) > RANKS_MAX) {
        return 0;
    }
    hb_buf_view(&in, data, size);
    if (hb_jobmap_decode(&map, &in, NULL) < 0) {
        return 0;
    }
    hb_buf_init(&out, size);
    hb_jobmap_encode(map, &out);
    if (hb_jobmap_decode(&again, &out, NULL) < 0) {
        abort();
    }
    a = hb_jobmap_process_mapping(map);
    b = hb_jobmap_process_mapping(again);
    if (strcmp(a, b) != 0) {
        abort();
    }
    free(a);
    free(b);
    hb_buf_destroy(&out);
    hb_jobmap_destroy(map);
    hb_jobmap_destroy(again);
    return 0;
}
