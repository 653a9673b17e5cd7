/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RDZV_NATIVE_H
#define HB_RDZV_NATIVE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/error.h"

/* What a rank that uses libhpcboot and its agent say to each other, over a
 * socket that the rank inherits or, when it was closed on the way, over the
 * agent's private one. A rank asks, the agent answers; one question at a time.
 *
 * A frame is u32 length of what follows, u8 kind, then (big-endian):
 *
 *   HELLO     u32 version, u32 rank, str token, blob address
 *             (the answer carries the descriptor of the node's memory)
 *   PUT       u8 scope, str key, blob value
 *   GET       u32 rank, str key
 *   FENCE     u8 scope, u8 collect, u32 members, u32 n, n times u32 dead rank
 *   WITHDRAW  -                           (of the FENCE under way, which is
 *             answered with ERR_TIMED_OUT, if it has no answer yet)
 *   FINALIZE  -
 *   ABORT     i32 code, str text          (no answer)
 *   NOTE      str text                    (a warning for the user; no answer)
 *   ANSWER    i32 status, str text, blob value
 *
 * The token is the job's cookie; it matters on the private socket alone.
 *
 * `members` names the set of ranks that the fence is for, as its caller knows
 * it: 0 is all, and each shrinking of the world's team makes a new number,
 * greater than the last, for all but the dead that follow. */
#define HB_NATIVE_VERSION 2u
#define HB_NATIVE_FD_VAR "HPCBOOT_FD"         /* "43:INODE" */
#define HB_NATIVE_SOCKET_VAR "HPCBOOT_SOCKET" /* path of the private socket */
#define HB_NATIVE_TOKEN_MAX 256u
#define HB_NATIVE_KEY_MAX 255u
#define HB_NATIVE_VALUE_MAX (1u << 20)
#define HB_NATIVE_TEXT_MAX 511u
/* The largest frame: a value, its key, and fields around them. */
#define HB_NATIVE_FRAME_MAX (HB_NATIVE_VALUE_MAX + 4096u)

enum hb_native_kind {
    HB_NATIVE_HELLO = 1, HB_NATIVE_PUT, HB_NATIVE_GET, HB_NATIVE_FENCE,
    HB_NATIVE_FINALIZE, HB_NATIVE_ABORT, HB_NATIVE_ANSWER,
    HB_NATIVE_NOTE, HB_NATIVE_WITHDRAW
};

/* Begins a frame at the end of b; end patches its length. */
size_t hb_native_begin(struct hb_buf *b, enum hb_native_kind kind);
void hb_native_end(struct hb_buf *b, size_t begun);
/* The next whole frame of `in`: 1 and *body (borrowed, behind the kind), 0:
 * not whole yet, ERR_PROTOCOL: longer than may be. */
int hb_native_next(struct hb_buf *in, enum hb_native_kind *kind_out,
                   struct hb_bytes *body_out, struct hpcboot_error *err);

#endif
