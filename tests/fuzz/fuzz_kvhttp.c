/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * A request of the key-value server, in one piece and byte by byte: both ways
 * it is answered the same, once it is whole.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "bin/recipe/kvhttp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STORE_BYTES 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_str reply = HB_STR_INIT;
    struct hb_kvs *store = NULL;
    const char *text = size > 0 ? (const char *)data : "";
    int whole;

    if (hb_kvs_create(&store, STORE_BYTES, NULL) < 0) {
        abort();
    }
    whole = hb_kvhttp_answer(store, text, size, &reply);
    if (whole != (reply.len > 0)) {
        abort();
    }
    hb_str_destroy(&reply);
    for (size_t i = 0; i < size && i < 512 && reply.len == 0; i++) {
        (void)hb_kvhttp_answer(store, text, i, &reply);
    }
    hb_str_destroy(&reply);
    hb_kvs_destroy(store);
    return 0;
}
