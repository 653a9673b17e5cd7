/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What was said to an agent, or by it, until it is known to have come: see
 * the header. Frames lie in one buffer in their order; confirming drops them
 * from the front. A talk that outgrows the buffer goes on, it only cannot be
 * resumed any more: what follows is not kept, and known says so. */
#include "config.h"

#include "bin/link/kept.h"

#include "lib/wire/wire.h"

/* Output that waits for credit is most of it; that is bounded far below. */
#define KEPT_MAX ((size_t)64 << 20)
#define CONFIRM_EVERY 64u
#define TYPE_AT HB_WIRE_LENGTH_WORD /* in a frame: u16 */

void hb_kept_open(struct hb_kept *k)
{
    hb_kept_close(k);
    hb_buf_init(&k->frames, KEPT_MAX);
    k->is_open = 1;
}

void hb_kept_close(struct hb_kept *k)
{
    if (k->is_open) {
        hb_buf_destroy(&k->frames);
    }
    *k = (struct hb_kept){0};
}

/* Whether frames of this type (enum hb_msg_type) are counted and kept. */
static int counts(unsigned type)
{
    switch (type) {
    case HB_MSG_HELLO:
    case HB_MSG_WELCOME:
    case HB_MSG_PROVE:
    case HB_MSG_PROOF:
    case HB_MSG_PING:
    case HB_MSG_PONG:
    case HB_MSG_FENCE_UP:
    case HB_MSG_FENCE_DOWN:
    case HB_MSG_FILE_TAKEN:
    case HB_MSG_ADOPT:
    case HB_MSG_RESUME:
    case HB_MSG_RESUMED:
    case HB_MSG_ACK:
    case HB_MSG_GONE:
        return 0;
    default:
        return 1;
    }
}

void hb_kept_said(struct hb_kept *k, struct hb_bytes frame)
{
    const unsigned char *p = frame.data;

    if (!k->is_open || frame.len < HB_WIRE_HEADER ||
        !counts((unsigned)p[TYPE_AT] << 8 | p[TYPE_AT + 1])) {
        return;
    }
    k->said++;
    hb_buf_put_raw(&k->frames, frame.data, frame.len);
}

int hb_kept_came(struct hb_kept *k, unsigned type)
{
    if (!k->is_open || !counts(type)) {
        return 0;
    }
    k->came++;
    if (k->came - k->told < CONFIRM_EVERY) {
        return 0;
    }
    k->told = k->came;
    return 1;
}

int hb_kept_confirmed(struct hb_kept *k, uint64_t frames,
                      struct hpcboot_error *err)
{
    struct hb_frame f;

    if (frames > k->said) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "the other side has more "
                       "frames than it was sent");
    }
    if (hb_buf_failed(&k->frames)) {
        return HPCBOOT_OK;
    }
    while (k->known < frames && hb_wire_next(&k->frames, &f, err) == 1) {
        k->known++;
    }
    hb_buf_compact(&k->frames);
    return HPCBOOT_OK;
}

int hb_kept_known(struct hb_kept *k, uint64_t frames,
                  struct hpcboot_error *err)
{
    int rc = hb_kept_confirmed(k, frames, err);

    if (rc == HPCBOOT_OK && hb_buf_failed(&k->frames)) {
        rc = k->frames.no_memory
                 ? hb_fail(err, HPCBOOT_ERR_NOMEM, "there was no memory for "
                           "what was on its way")
                 : hb_fail(err, HPCBOOT_ERR_LIMIT, "more than %zu MiB were on "
                           "their way", KEPT_MAX >> 20);
    }
    return rc;
}

void hb_kept_repeat(const struct hb_kept *k, struct hb_buf *out)
{
    if (k->is_open) {
        hb_buf_put_raw(out, hb_buf_next(&k->frames), hb_buf_left(&k->frames));
    }
}
