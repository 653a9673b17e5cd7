/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_REGION_H
#define HB_COLL_REGION_H

/* What lies in the region that the ranks of a team on a node share: shm.c. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/cache.h"

#define HB_SHM_LINE 128 /* processors fetch lines in pairs */
/* A rank that only writes runs ahead so far: what it waits for then comes once
 * in half as many calls, and where ranks take turns on a core, each turn is
 * paid for by all of them. Symmetric rounds need two. Ranks with a core each
 * use half of them, which the nearest cache holds beside other things. A power
 * of two. */
#define HB_SHM_CELLS 128
#define HB_SHM_SLOT ((size_t)64 << 10)
/* What is large goes round a ring that is longer than all second-level caches
 * of who writes and who reads: to write again a line that a peer's cache still
 * holds takes five times longer than one that has gone from there, and it goes
 * only when twice as much has come since. Of what all ranks write, the rings of
 * all go through each cache; what one writes for all goes round a ring that the
 * team shares, if that is longer than the rank's own. Small rounds have a ring
 * of their own, for the writer's cache to hold; of two ranks, whose rings are
 * the longest, it holds most of that one, and only the smallest rounds. All
 * rings stay in a third-level cache. */
#define HB_SHM_SLOTS_MOST 64
#define HB_SHM_SLOTS_LEAST 4
#define HB_SHM_RINGS ((size_t)8 << 20)
#define HB_SHM_SMALL_RING ((size_t)512 << 10)
#define HB_SHM_SMALL_RING_OF_TWO ((size_t)1536 << 10)
#define HB_SHM_SMALL ((size_t)16 << 10) /* of a round; hb_model_small */
#define HB_SHM_SMALL_OF_TWO ((size_t)4 << 10)
#define HB_SHM_SHARED ((size_t)4 << 20)
#define HB_SHM_SHARED_MOST 96 /* slots, where second-level caches are large */
#define HB_SHM_BIG (2 * HB_SHM_SLOT) /* two slots as one */
/* What travels in the line of the flag, and its neighbour. */
#define HB_SHM_INLINE 112
/* So much of it is in the line of the flag itself. */
#define HB_SHM_FIRST (HB_CACHE_LINE - (HB_SHM_LINE - HB_SHM_INLINE))
/* What moves at once, so that one rank reads while the next piece is put. */
#define HB_SHM_PIECE ((size_t)32 << 10)

struct hb_shm_cell {
    _Alignas(HB_SHM_LINE) _Atomic uint64_t round;
    uint64_t word; /* which call this is, and a number; struct hb_op */
    uint8_t bytes[HB_SHM_INLINE];
};

struct hb_shm_rank {
    struct hb_shm_cell cell[HB_SHM_CELLS];
    _Alignas(HB_SHM_LINE) _Atomic uint32_t bell; /* futex of the owner */
    _Atomic int waits_for; /* while parked: local rank + 1; 0: awake */
    _Atomic int writes_to; /* whose memory now: local rank + 1, or HEAPS */
    /* The team has failed at this rank, and its buffers belong to its caller
     * again: what was read there since is not used. Whoever writes there looks
     * at this before each write, so it has a line that seldom changes. */
    _Alignas(HB_SHM_LINE) _Atomic uint32_t gone;
    _Atomic int pid; /* who to ask whether it still lives */
    uint64_t pid_space;
    _Alignas(HB_SHM_LINE) _Atomic uint64_t calls; /* begun; stream.c */
    /* Of a rank that sends more in a gatherv than a round takes, counted
     * through the team's life: pieces put by it, and got by who reads. */
    _Alignas(HB_SHM_LINE) _Atomic uint64_t tail_put;
    _Alignas(HB_SHM_LINE) _Atomic uint64_t tail_got;
};

#define HB_WRITES_HEAPS (-1) /* what anybody has in the node's heap */

struct hb_shm_head {
    _Alignas(HB_SHM_LINE) _Atomic uint32_t sleepers;
    /* Of rounds in which one folds for all: who has taken that on, as round *
     * ranks + rank, and the last round that is folded; plan_last.c. */
    _Alignas(HB_SHM_LINE) _Atomic uint64_t taken;
    _Atomic uint64_t folded;
};

struct hb_shm_use { /* of a cell or slot: who reads it last */
    uint64_t round;
    int readers;
    bool tail; /* free, too, once all tails of this rank have been got */
};

enum hb_part {
    HB_PART_LARGE,
    HB_PART_SMALL,  /* rounds of few bytes; len 0: they have none */
    HB_PART_SHARED, /* rounds that one rank writes; len 0: there is none */
    HB_PARTS
};

/* A part of a ring: where it begins, how long it is, and where in it the last
 * round ended. A rank's own parts lie one behind the other; the part that all
 * ranks share follows. */
struct hb_shm_part {
    size_t base, len, pos;
};

#endif
