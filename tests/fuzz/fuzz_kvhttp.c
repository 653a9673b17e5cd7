/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * A request of the key-value server, in one piece and byte by byte: both ways
 * it is answered the same, once it is whole.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>

#include "bin/recipe/elastic.h"
#include "bin/recipe/kvhttp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STORE_BYTES 65536

/* The same for a rank of an elastic job, and who it is. */
static void ask(struct hb_kvs *store, const char *text, size_t size)
{
    struct hb_str reply = HB_STR_INIT;
    struct hb_elastic *e = NULL;
    char *asked = NULL;
    int64_t rank;

    if (hb_kvhttp_answer(store, text, size, &reply, &asked) == 2) {
        if (hb_elastic_create(&e, "a:0\na:1\nb:0\n", NULL) < 0) {
            abort();
        }
        hb_elastic_lose(e, 0);
        rank = hb_elastic_ask(e, asked);
        if (rank >= 0 && !hb_elastic_turn(e, 1)) {
            hb_elastic_numbers(e, (uint32_t)rank, &reply);
        }
    }
    hb_elastic_destroy(e);
    free(asked);
    hb_str_destroy(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_str reply = HB_STR_INIT;
    struct hb_kvs *store = NULL;
    const char *text = size > 0 ? (const char *)data : "";
    int whole;

    if (hb_kvs_create(&store, STORE_BYTES, NULL) < 0) {
        abort();
    }
    whole = hb_kvhttp_answer(store, text, size, &reply, NULL);
    if (whole != (reply.len > 0)) {
        abort();
    }
    hb_str_destroy(&reply);
    for (size_t i = 0; i < size && i < 512 && reply.len == 0; i++) {
        (void)hb_kvhttp_answer(store, text, i, &reply, NULL);
    }
    hb_str_destroy(&reply);
    ask(store, text, size);
    hb_kvs_destroy(store);
    return 0;
}
