/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RDZV_SEGMENT_IMPL_H
#define HB_RDZV_SEGMENT_IMPL_H

/* The head of a segment, for segment.c, which makes and uses it,
 * segment_heap.c, which has its heap,
 * segment_told.c, which has its tables of what becomes of ranks, and
 * segment_look.c, which reads that of a stranger. */

#include "lib/rdzv/segment.h"

#define MAGIC 0x68706373656763ull /* "hpcsegc" */
#define PAGE 4096u
#define NEWS_MAX 1024u /* of ranks that come and go */

struct hb_segment_head {
    struct hb_segment_layout layout;
    _Alignas(128) _Atomic uint32_t lock; /* 0, or local rank + 1 */
    _Atomic uint32_t n_deaths;
    _Atomic uint32_t n_news;
    _Atomic uint32_t n_lost;
    _Atomic uint64_t hint; /* where a search of the heap begins */
    struct hb_segment_meeting meeting;
    _Alignas(1024) unsigned char page[HB_SEGMENT_PAGE_BYTES];
};

static inline struct hb_segment_head *head_of(const struct hb_segment *s)
{
    return s->base;
}

static inline void *at(const struct hb_segment *s, uint64_t offset)
{
    return (char *)s->base + offset;
}

static inline uint64_t up_to_page(uint64_t n)
{
    return (n + PAGE - 1) / PAGE * PAGE;
}

/* self: local rank + 1; n_local + 1: the agent. */
void hb_segment_lock(struct hb_segment *s, uint32_t self);
/* Tries `looks` times to get a lock whose owner is alive, then gives up with
 * ERR_AGAIN; with 0 looks it tries until it succeeds. */
int hb_segment_lock_within(struct hb_segment *s, uint32_t self,
                           unsigned looks);
void hb_segment_unlock(struct hb_segment *s);

/* Whether all of it lies inside `size` bytes. */
int hb_segment_sound(const struct hb_segment_layout *l, uint64_t size);

#endif
