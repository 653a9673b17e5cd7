/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The keys that an ssh-agent lists. The answer is u8 12, u32 count, and for
 * each key two blobs: its public part, and a comment. */
#include "config.h"

#include "bin/boot/agent_keys.h"

#include "lib/base/str.h"
#include "lib/trust/base64.h"

#define COUNT_AT (HB_AGENT_TYPE_AT + 1)

static int is_chosen(struct hb_bytes key, const struct hb_strv *only)
{
    struct hb_str text = HB_STR_INIT;
    int found = 0;

    hb_base64_encode(&text, key.data, key.len, 0);
    for (size_t i = 0; i < only->n; i++) {
        found |= hb_streq(only->v[i], hb_str_text(&text));
    }
    hb_str_destroy(&text);
    return found;
}

void hb_agent_keys_choose(struct hb_buf *answer, const struct hb_strv *only)
{
    struct hb_buf out;
    uint32_t n, chosen = 0;

    if (hb_buf_get_u8(answer) != HB_AGENT_KEYS) {
        return;
    }
    hb_buf_init(&out, HB_AGENT_MAX_BYTES);
    hb_buf_put_u32(&out, 0);
    hb_buf_put_u8(&out, HB_AGENT_KEYS);
    hb_buf_put_u32(&out, 0);
    for (n = hb_buf_get_u32(answer); n > 0 && !hb_buf_failed(answer); n--) {
        struct hb_bytes key = hb_buf_get_blob(answer, HB_AGENT_MAX_BYTES);
        struct hb_bytes comment = hb_buf_get_blob(answer, HB_AGENT_MAX_BYTES);

        if (!hb_buf_failed(answer) && is_chosen(key, only)) {
            hb_buf_put_blob(&out, key.data, key.len);
            hb_buf_put_blob(&out, comment.data, comment.len);
            chosen++;
        }
    }
    hb_buf_patch_u32(&out, 0, (uint32_t)(out.len - HB_AGENT_LENGTH_BYTES));
    hb_buf_patch_u32(&out, COUNT_AT, chosen);
    hb_buf_destroy(answer);
    *answer = out;
}

int hb_agent_keys_any(const struct hb_buf *answer)
{
    struct hb_buf list;

    hb_buf_view(&list, answer->data + HB_AGENT_TYPE_AT,
                answer->len - HB_AGENT_TYPE_AT);
    return hb_buf_get_u8(&list) == HB_AGENT_KEYS && hb_buf_get_u32(&list) > 0;
}
