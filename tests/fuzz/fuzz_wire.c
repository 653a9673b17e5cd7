/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * A stream of frames from any bytes, each decoded and its lists walked. A
 * message that is accepted must give the same bytes when encoded again.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define walk_u8(v) ((void)(v))
#define walk_u32(v) ((void)(v))
#define walk_i32(v) ((void)(v))
#define walk_u64(v) ((void)(v))
#define walk_blob(v) ((void)(v))

static void walk_str(const char *s)
{
    if (strlen(s) > HB_WIRE_STR) {
        abort();
    }
}

static void walk_strv(struct hb_wire_strv list)
{
    size_t pos = 0;
    uint32_t n = 0;

    while (hb_wire_strv_next(&list, &pos) != NULL) {
        n++;
    }
    if (n != list.n) {
        abort();
    }
}

static void walk_u32s(struct hb_wire_u32s list)
{
    uint32_t i;

    for (i = 0; i < list.n; i++) {
        hb_wire_u32s_at(&list, i);
    }
}

/* Decodes the frame and, where that succeeds, encodes it into out. */
static int decode_again(const struct hb_frame *frame, struct hb_buf *out)
{
    switch (frame->type) {
#define F(kind, field) walk_##kind(msg.field);
#define HB_MESSAGE(ID, name, number, fields)                                 \
    case HB_MSG_##ID: {                                                      \
        struct hb_msg_##name msg;                                            \
                                                                             \
        if (hb_wire_get_##name(frame, &msg, NULL) < 0) {                     \
            return 0;                                                        \
        }                                                                    \
        fields                                                               \
        return hb_wire_put_##name(out, frame->epoch, frame->src, frame->dst, \
                                  &msg, NULL) == 0                           \
                   ? 1                                                       \
                   : -1;                                                     \
    }
#include "lib/wire/messages.def"
#undef HB_MESSAGE
#undef F
    default:
        return -1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hb_buf in, out;
    struct hb_frame frame;
    size_t before;
    int rc;

    hb_buf_view(&in, data, size);
    hb_buf_init(&out, HB_WIRE_FRAME);
    for (before = 0; hb_wire_next(&in, &frame, NULL) == 1; before = in.pos) {
        hb_buf_clear(&out);
        rc = decode_again(&frame, &out);
        if (rc < 0
            || (rc > 0
                && (out.len != in.pos - before
                    || memcmp(out.data, data + before, out.len) != 0))) {
            abort();
        }
    }
    hb_buf_destroy(&out);
    return 0;
}
