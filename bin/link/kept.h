/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_LINK_KEPT_H
#define HB_LINK_KEPT_H

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/error.h"

/* One end of the talk between the launcher and one agent that has others in
 * between: what was said and is not known to have come is kept, so that it
 * can be said again on another way. Frames are counted at both ends, from
 * WELCOME on. What concerns a single link (fences, files, the greeting, and
 * the messages that serve this count) is not counted. No I/O. */
struct hb_kept {
    int is_open;
    struct hb_buf frames; /* those kept, end to end */
    uint64_t said, known; /* counted frames: said; known to have come */
    uint64_t came, told;  /* from the other end: came; were confirmed */
};

void hb_kept_open(struct hb_kept *k); /* anew, at zero */
void hb_kept_close(struct hb_kept *k); /* also one that is not open */

/* One encoded frame was said; kept when it counts. */
void hb_kept_said(struct hb_kept *k, struct hb_bytes frame);
/* A frame of that type has come: 1 when it is time to confirm k->came. */
int hb_kept_came(struct hb_kept *k, unsigned type);
/* The other end has so many, and the talk goes on. HPCBOOT_ERR_PROTOCOL: it
 * cannot have. */
int hb_kept_confirmed(struct hb_kept *k, uint64_t frames,
                      struct hpcboot_error *err);
/* The same where it is to be resumed. HPCBOOT_ERR_LIMIT: more had to be kept
 * than there was room for. */
int hb_kept_known(struct hb_kept *k, uint64_t frames,
                  struct hpcboot_error *err);
/* Appends all that is not known to have come. */
void hb_kept_repeat(const struct hb_kept *k, struct hb_buf *out);

#endif
