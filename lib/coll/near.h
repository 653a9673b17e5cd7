/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_NEAR_H
#define HB_COLL_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the peers' caches are near; stream.c. Found out by looks, each of
 * which takes a line from a peer. */
struct hb_nearness {
    bool far;
    size_t put;        /* bytes, so far; */
    unsigned quiet;    /* and calls that put few */
    unsigned looks;
    uint32_t window;   /* of the last looks, the last in bit 0: 1 is long */
    unsigned taken;    /* of them, since it was far */
    unsigned lasts;    /* how many looks it is taken to be far; 0: it was not */
    unsigned left_out; /* so many are still */
    int peer;          /* whose line was looked at last, */
    uint64_t calls;    /* and what was in it */
};

/* Fewer bytes are written sooner than memory answers. */
#define HB_STREAM_LEAST ((size_t)1 << 10)
/* From one look to the next: bytes put, or calls that put few. */
#define HB_LOOK_BYTES ((size_t)256 << 10)
#define HB_LOOK_CALLS 1024

/* Whether there is to be a look; else one is left out, and the last of those
 * ends what was taken to be far. */
bool hb_near_due(struct hb_nearness *n);
/* What a look has shown. */
void hb_near_weigh(struct hb_nearness *n, bool is_long);

#endif
