/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_LINK_PONG_H
#define HB_LINK_PONG_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/wire/wire.h"

/* Which PINGs are answered: each, unless the PONG before it has not left yet.
 * Of those that come meanwhile the last one is, so that a peer that asks and
 * does not read fills no memory. No I/O; zeroed at first. */
struct hb_pong {
    size_t to_go; /* bytes of `out` to the end of the PONG in it; 0: none */
    int is_asked; /* by the PING of these: */
    uint32_t epoch, src, dst;
    uint64_t time_ns;
};

void hb_pong_ask(struct hb_pong *p, const struct hb_frame *ping,
                 uint64_t time_ns);
/* So many bytes of `out` have gone. */
void hb_pong_sent(struct hb_pong *p, size_t n);
/* Puts the answer that is due, if any, where the bytes that have not gone are.
 * 1: it did, or `out` has failed. */
int hb_pong_put(struct hb_pong *p, struct hb_buf *out);

/* Load average of this machine times 1000; 0: not known. */
uint32_t hb_load_milli(void);

#endif
