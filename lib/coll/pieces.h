/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_PIECES_H
#define HB_COLL_PIECES_H

/* How bytes get into the memory that ranks of a node share, and out of it. */

#include "lib/coll/impl.h"

/* As memcpy, of bytes that lie beside a flag at `shared`: no store and no load
 * there goes over the border of a cache line. One that did would wait until
 * this core has both lines. */
static inline void hb_copy_beside(char *to, const char *from, size_t bytes,
                                  const void *shared)
{
    size_t head = -(uintptr_t)shared % HB_CACHE_LINE;
    if (head < bytes) {
        memcpy(to, from, head);
        memcpy(to + head, from + head, bytes - head);
    } else {
        memcpy(to, from, bytes);
    }
}

/* Puts bytes where peers will read them. Those beside a flag go on with it. */
static inline void hb_put(const struct hb_coll_team *t, const struct hb_op *op,
                          char *to, const char *from, size_t bytes)
{
    if (bytes == 0) {
        return;
    }
    if (bytes <= HB_SHM_INLINE) {
        hb_copy_beside(to, from, bytes, to);
        return;
    }
    if (t->near.far && bytes >= HB_STREAM_LEAST) {
        hb_kern_stream(to, from, bytes);
        return;
    }
    hb_kern_put(to, from, bytes);
    if (bytes <= op->hands_on) {
        hb_hand_on_all(to, bytes);
    }
}

/* Places a peer's bytes where they belong. Where the buffers of a call push
 * each other out of the caches anyway, a line is not fetched to be written
 * whole. */
static inline void hb_get(const struct hb_op *op, char *to, const char *from,
                          size_t bytes)
{
    if (bytes == 0) {
        return;
    }
    if (bytes <= HB_SHM_INLINE) {
        hb_copy_beside(to, from, bytes, from);
    } else if (op->spills) {
        hb_kern_stream(to, from, bytes);
    } else {
        hb_kern_get(to, from, bytes);
    }
}

/* As hb_get, bytes of this rank, or of a peer's whole buffer: nobody else is at
 * work near by. */
static inline void hb_move(const struct hb_op *op, char *to, const char *from,
                          size_t bytes)
{
    if (bytes == 0) {
        return;
    }
    if (op->spills) {
        hb_kern_stream(to, from, bytes);
    } else {
        hb_kern_copy(to, from, bytes);
    }
}

#endif
