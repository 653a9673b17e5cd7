/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What an ssh-agent answers, any bytes: what is left of a list of keys is one
 * again, of none but the chosen key; any other answer stays as it is. */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bin/boot/agent_keys.h"

#define CHOSEN "key"
#define CHOSEN_BASE64 "a2V5"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_list(struct hb_buf *b)
{
    uint32_t n;

    if (hb_buf_get_u32(b) != b->len - HB_AGENT_LENGTH_BYTES ||
        hb_buf_get_u8(b) != HB_AGENT_KEYS) {
        abort();
    }
    n = hb_buf_get_u32(b);
    if ((n > 0) != hb_agent_keys_any(b)) {
        abort();
    }
    for (; n > 0; n--) {
        struct hb_bytes key = hb_buf_get_blob(b, HB_AGENT_MAX_BYTES);

        (void)hb_buf_get_blob(b, HB_AGENT_MAX_BYTES);
        if (hb_buf_failed(b) || key.len != strlen(CHOSEN) ||
            memcmp(key.data, CHOSEN, key.len) != 0) {
            abort();
        }
    }
    if (hb_buf_left(b) != 0) {
        abort();
    }
}

/* The bytes are what follows the length. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_strv only = HB_STRV_INIT;
    struct hb_buf answer;

    hb_buf_init(&answer, HB_AGENT_MAX_BYTES);
    hb_buf_put_u32(&answer, (uint32_t)size);
    hb_buf_put_raw(&answer, data, size);
    (void)hb_buf_get_u32(&answer);
    if (size > 0 && !hb_buf_failed(&answer)) {
        hb_strv_push(&only, CHOSEN_BASE64);
        hb_agent_keys_choose(&answer, &only);
        if (data[0] == HB_AGENT_KEYS) {
            answer.pos = 0;
            check_list(&answer);
        } else if (answer.len != HB_AGENT_LENGTH_BYTES + size ||
                   hb_agent_keys_any(&answer)) {
            abort();
        }
    }
    hb_strv_destroy(&only);
    hb_buf_destroy(&answer);
    return 0;
}
