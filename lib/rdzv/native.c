/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The frames between a rank and its agent; see native.h. Both sides are of
 * one build or differ in the version that HELLO says. */
#include "config.h"

#include "lib/rdzv/native.h"

#define LENGTH_BYTES 4u

size_t hb_native_begin(struct hb_buf *b, enum hb_native_kind kind)
{
    size_t begun = b->len;

    hb_buf_put_u32(b, 0);
    hb_buf_put_u8(b, (uint8_t)kind);
    return begun;
}

void hb_native_end(struct hb_buf *b, size_t begun)
{
    if (!hb_buf_failed(b)) {
        hb_buf_patch_u32(b, begun, (uint32_t)(b->len - begun - LENGTH_BYTES));
    }
}

int hb_native_next(struct hb_buf *in, enum hb_native_kind *kind_out,
                   struct hb_bytes *body_out, struct hpcboot_error *err)
{
    struct hb_buf view;
    uint32_t len;

    if (hb_buf_left(in) < LENGTH_BYTES) {
        return 0;
    }
    hb_buf_view(&view, hb_buf_next(in), LENGTH_BYTES);
    len = hb_buf_get_u32(&view);
    if (len == 0 || len > HB_NATIVE_FRAME_MAX) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a rendezvous frame of %u "
                       "bytes", len);
    }
    if (hb_buf_left(in) < LENGTH_BYTES + len) {
        return 0;
    }
    hb_buf_skip(in, LENGTH_BYTES);
    *kind_out = (enum hb_native_kind)hb_buf_get_u8(in);
    *body_out = hb_buf_get_raw(in, len - 1);
    return 1;
}
