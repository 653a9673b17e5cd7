/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BASE_CACHE_H
#define HB_BASE_CACHE_H

/* Lines that another core is about to read. */

#include <stddef.h>

#define HB_CACHE_LINE 64

/* The line goes on to the cache that all cores share: a reader finds it there
 * sooner than in the cache of the core that wrote it. It takes some five
 * nanoseconds of the writer; processors that cannot do nothing. */
static inline void hb_hand_on(const void *line)
{
#ifdef __x86_64__
    __asm__ volatile("cldemote %0" : : "m"(*(const char *)line));
#endif
}

/* All lines, from one that begins there. */
static inline void hb_hand_on_all(const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += HB_CACHE_LINE) {
        hb_hand_on((const char *)data + i);
    }
}

#endif
