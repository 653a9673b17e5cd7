/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * Frames and messages of a control link, without I/O.
 *
 * Every message is one row of messages.def. That row becomes the struct and
 * the prototypes in wire.h and, here, an encoder that puts field after field
 * and a decoder that gets field after field: the two cannot drift apart.
 * What a kind of field looks like on the wire is said in one put_ and one
 * get_ function below, and nowhere else.
 *
 * Writing: a frame is appended whole or not at all. What a peer would refuse
 * to read is refused here, where the text can still say which message it was.
 * The buffer stays failed after that: a caller that sends many messages looks
 * once, and one that never looks cannot lose a message unnoticed, because the
 * link that sends the buffer does look.
 *
 * Reading: bytes of a peer are never trusted. hb_wire_next takes a frame's
 * length, type and flags on bounds; a decoder takes a payload that is exactly
 * its fields, every string ended, every list counted, no byte left over. There
 * is one encoding of each message, so decoding and encoding again gives the
 * same bytes (the fuzz harness holds us to it).
 *
 * The buffers' sticky failure carries errors through a sequence of fields;
 * begin_frame, end_frame and end_message turn it into a status and a text.
 */
#include "config.h"

#include "lib/wire/wire.h"

#include <string.h>

#define LENGTH_WORD 4u /* does not count itself */

const char *hb_wire_type_name(unsigned type)
{
    static const char *const names[HB_MSG_TYPES] = {
#define HB_MESSAGE(ID, name, number, fields) [HB_MSG_##ID] = #ID,
#include "lib/wire/messages.def"
#undef HB_MESSAGE
    };

    if (type >= HB_MSG_TYPES || names[type] == NULL) {
        return "unknown";
    }
    return names[type];
}

static int is_type(unsigned type)
{
    switch (type) {
#define HB_MESSAGE(ID, name, number, fields) case HB_MSG_##ID:
#include "lib/wire/messages.def"
#undef HB_MESSAGE
        return 1;
    default:
        return 0;
    }
}

/* --- field kinds, writing --- */

#define put_u8 hb_buf_put_u8
#define put_u16 hb_buf_put_u16
#define put_u32 hb_buf_put_u32
#define put_u64 hb_buf_put_u64
#define put_i32 hb_buf_put_i32

static void put_str(struct hb_buf *out, const char *s)
{
    if (s != NULL && strlen(s) > HB_WIRE_STR) {
        out->failed = 1;
        return;
    }
    hb_buf_put_str(out, s);
}

static void put_blob(struct hb_buf *out, struct hb_bytes blob)
{
    if (blob.len > HB_WIRE_BLOB) {
        out->failed = 1;
        return;
    }
    hb_buf_put_blob(out, blob.data, blob.len);
}

/* u32 count, u32 bytes, the strings end to end, each with its NUL. */
static void put_strv(struct hb_buf *out, struct hb_wire_strv list)
{
    size_t at = out->len + sizeof(uint32_t), first = at + sizeof(uint32_t);
    uint32_t i;

    hb_buf_put_u32(out, list.n);
    if (list.v == NULL) {
        put_blob(out, list.raw);
        return;
    }
    hb_buf_put_u32(out, 0);
    for (i = 0; i < list.n && !hb_buf_failed(out); i++) {
        size_t len = strlen(list.v[i]);

        if (len > HB_WIRE_STR) {
            out->failed = 1;
            return;
        }
        hb_buf_put_raw(out, list.v[i], len + 1);
    }
    if (hb_buf_failed(out) || list.n > HB_WIRE_LIST
        || out->len - first > HB_WIRE_BLOB) {
        out->failed = 1;
        return;
    }
    hb_buf_patch_u32(out, at, (uint32_t)(out->len - first));
}

/* u32 count, the numbers. */
static void put_u32s(struct hb_buf *out, struct hb_wire_u32s list)
{
    uint32_t i;

    if (list.n > HB_WIRE_LIST) {
        out->failed = 1;
        return;
    }
    hb_buf_put_u32(out, list.n);
    for (i = 0; i < list.n; i++) {
        hb_buf_put_u32(out, hb_wire_u32s_at(&list, i));
    }
}

/* --- field kinds, reading --- */

#define get_u8 hb_buf_get_u8
#define get_u16 hb_buf_get_u16
#define get_u32 hb_buf_get_u32
#define get_u64 hb_buf_get_u64
#define get_i32 hb_buf_get_i32

static const char *get_str(struct hb_buf *in)
{
    return hb_buf_get_str(in, HB_WIRE_STR);
}

static struct hb_bytes get_blob(struct hb_buf *in)
{
    return hb_buf_get_blob(in, HB_WIRE_BLOB);
}

static struct hb_wire_strv get_strv(struct hb_buf *in)
{
    struct hb_wire_strv list = {NULL, 0, {"", 0}};
    uint32_t n = hb_buf_get_u32(in), i;
    struct hb_bytes raw = get_blob(in);
    const char *at = raw.data, *end = at + raw.len;

    for (i = 0; i < n; i++) {
        const char *nul = memchr(at, 0, (size_t)(end - at));

        if (nul == NULL || nul - at > HB_WIRE_STR) {
            break;
        }
        at = nul + 1;
    }
    if (i < n || at < end || n > HB_WIRE_LIST || hb_buf_failed(in)) {
        in->failed = 1;
        return list;
    }
    list.n = n;
    list.raw = raw;
    return list;
}

static struct hb_wire_u32s get_u32s(struct hb_buf *in)
{
    struct hb_wire_u32s list = {NULL, 0, {"", 0}};
    uint32_t n = hb_buf_get_u32(in);

    if (n > HB_WIRE_LIST) {
        in->failed = 1;
        return list;
    }
    list.raw = hb_buf_get_raw(in, (size_t)n * sizeof(uint32_t));
    list.n = hb_buf_failed(in) ? 0 : n;
    return list;
}

/* --- frames --- */

/* Returns where the frame begins, to take it back when it does not come out
 * whole. */
static size_t begin_frame(struct hb_buf *out, uint16_t type, uint32_t epoch,
                          uint32_t src, uint32_t dst)
{
    size_t start = out->len;

    hb_buf_put_u32(out, 0);
    hb_buf_put_u16(out, type);
    hb_buf_put_u16(out, 0);
    hb_buf_put_u32(out, epoch);
    hb_buf_put_u32(out, src);
    hb_buf_put_u32(out, dst);
    return start;
}

static int end_frame(struct hb_buf *out, size_t start, uint16_t type,
                     struct hpcboot_error *err)
{
    size_t size = out->len - start;

    if (!hb_buf_failed(out) && size <= HB_WIRE_FRAME) {
        hb_buf_patch_u32(out, start, (uint32_t)(size - LENGTH_WORD));
        return HPCBOOT_OK;
    }
    out->len = start;
    out->failed = 1;
    return hb_fail(err, HPCBOOT_ERR_LIMIT,
                   "cannot send a %s message: it is larger than the control "
                   "link or the memory allows",
                   hb_wire_type_name(type));
}

int hb_wire_put_frame(struct hb_buf *out, const struct hb_frame *frame,
                      struct hpcboot_error *err)
{
    size_t start = begin_frame(out, frame->type, frame->epoch, frame->src,
                               frame->dst);

    hb_buf_put_raw(out, frame->payload.data, frame->payload.len);
    return end_frame(out, start, frame->type, err);
}

/* What can be wrong with a header is found as soon as it is complete, long
 * before the last byte of a large frame would be waited for. */
static int check_header(uint32_t length, unsigned type, unsigned flags,
                        struct hpcboot_error *err)
{
    if (length < HB_WIRE_HEADER - LENGTH_WORD
        || length > HB_WIRE_FRAME - LENGTH_WORD) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "a frame of impossible length (%u bytes) on the "
                       "control link: something else writes to it",
                       length);
    }
    if (!is_type(type) || flags != 0) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "a frame of unknown kind (type %u, flags 0x%x) on the "
                       "control link",
                       type, flags);
    }
    return HPCBOOT_OK;
}

uint64_t hb_wire_whole(const struct hb_buf *in)
{
    struct hb_buf head;

    hb_buf_view(&head, hb_buf_next(in), hb_buf_left(in));
    return hb_buf_left(in) < LENGTH_WORD
               ? LENGTH_WORD : LENGTH_WORD + (uint64_t)hb_buf_get_u32(&head);
}

int hb_wire_next(struct hb_buf *in, struct hb_frame *frame_out,
                 struct hpcboot_error *err)
{
    struct hb_frame frame;
    struct hb_buf head;
    uint32_t length;
    unsigned flags;
    int rc;

    if (hb_buf_left(in) < HB_WIRE_HEADER) {
        return 0;
    }
    hb_buf_view(&head, hb_buf_next(in), hb_buf_left(in));
    length = hb_buf_get_u32(&head);
    frame.type = hb_buf_get_u16(&head);
    flags = hb_buf_get_u16(&head);
    frame.epoch = hb_buf_get_u32(&head);
    frame.src = hb_buf_get_u32(&head);
    frame.dst = hb_buf_get_u32(&head);
    rc = check_header(length, frame.type, flags, err);
    if (rc < 0) {
        return rc;
    }
    if (length - (HB_WIRE_HEADER - LENGTH_WORD) > hb_buf_left(&head)) {
        return 0;
    }
    frame.payload = hb_buf_get_raw(&head,
                                   length - (HB_WIRE_HEADER - LENGTH_WORD));
    hb_buf_skip(in, LENGTH_WORD + length);
    *frame_out = frame;
    return 1;
}

/* --- messages --- */

/* The view to read the fields of one message from; failed from the start
 * where the frame is of another type. */
static struct hb_buf begin_message(const struct hb_frame *frame,
                                   uint16_t type)
{
    struct hb_buf in;

    hb_buf_view(&in, frame->payload.data, frame->payload.len);
    in.failed = frame->type != type;
    return in;
}

static int end_message(const struct hb_buf *in, const struct hb_frame *frame,
                       uint16_t type, struct hpcboot_error *err)
{
    if (!hb_buf_failed(in) && hb_buf_left(in) == 0) {
        return HPCBOOT_OK;
    }
    return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                   "malformed %s message of %zu bytes (frame type %s) on the "
                   "control link",
                   hb_wire_type_name(type), frame->payload.len,
                   hb_wire_type_name(frame->type));
}

#define F(kind, field) put_##kind(out, msg->field);
#define HB_MESSAGE(ID, name, number, fields)                                \
    int hb_wire_put_##name(struct hb_buf *out, uint32_t epoch, uint32_t src, \
                           uint32_t dst, const struct hb_msg_##name *msg,    \
                           struct hpcboot_error *err)                        \
    {                                                                        \
        size_t start = begin_frame(out, HB_MSG_##ID, epoch, src, dst);       \
                                                                             \
        fields                                                               \
        return end_frame(out, start, HB_MSG_##ID, err);                      \
    }
#include "lib/wire/messages.def"
#undef HB_MESSAGE
#undef F

#define F(kind, field) msg.field = get_##kind(&in);
#define HB_MESSAGE(ID, name, number, fields)                                \
    int hb_wire_get_##name(const struct hb_frame *frame,                     \
                           struct hb_msg_##name *msg_out,                    \
                           struct hpcboot_error *err)                        \
    {                                                                        \
        struct hb_buf in = begin_message(frame, HB_MSG_##ID);                \
        struct hb_msg_##name msg;                                            \
        int rc;                                                              \
                                                                             \
        fields                                                               \
        rc = end_message(&in, frame, HB_MSG_##ID, err);                      \
        if (rc == HPCBOOT_OK) {                                              \
            *msg_out = msg;                                                  \
        }                                                                    \
        return rc;                                                           \
    }
#include "lib/wire/messages.def"
#undef HB_MESSAGE
#undef F

/* --- lists --- */

const char *hb_wire_strv_next(const struct hb_wire_strv *list, size_t *pos)
{
    const char *text;

    if (*pos >= list->raw.len) {
        return NULL;
    }
    text = (const char *)list->raw.data + *pos;
    *pos += strlen(text) + 1;
    return text;
}

void hb_wire_strv_copy(struct hb_strv *out, const struct hb_wire_strv *list)
{
    const char *s;
    size_t pos = 0;

    while ((s = hb_wire_strv_next(list, &pos)) != NULL) {
        hb_strv_push(out, s);
    }
}

uint32_t hb_wire_u32s_at(const struct hb_wire_u32s *list, uint32_t i)
{
    struct hb_buf view;

    if (i >= list->n) {
        return 0;
    }
    if (list->v != NULL) {
        return list->v[i];
    }
    hb_buf_view(&view, list->raw.data, list->raw.len);
    hb_buf_skip(&view, (size_t)i * sizeof(uint32_t));
    return hb_buf_get_u32(&view);
}

struct hb_wire_strv hb_wire_strv_of(char *const *v)
{
    struct hb_wire_strv list = {v, 0, {"", 0}};

    while (v != NULL && v[list.n] != NULL) {
        list.n++;
    }
    return list;
}
