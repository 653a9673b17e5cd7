/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The model's part for what the kernel copies: reads of peers' memory, and the
 * writes of who sends or gathers. */

#include "config.h"

#include "lib/coll/model_impl.h"

/* What is worth a call of its own. */
#define PART_LEAST ((size_t)8 << 10)
/* Among ranks that share cores each call finds caches that others have used,
 * as long as all that is sent on the node would stay in them. */
#define AMONG_MANY 1.3
#define AMONG_MANY_MOST ((double)((size_t)3 << 20))
/* Several reach into the root's memory, or it into theirs meanwhile. */
#define TOGETHER 1.1
/* Where all ranks reach into the root's memory at a time, the kernel lets one
 * after the other at it; of long blocks of their own, after so much, not any
 * more. */
#define IN_TURN ((double)((size_t)256 << 10))
/* Where buffers are in no cache, the kernel takes so much longer: for pages it
 * has not seen for long, and since it cannot write past the caches. */
#define COLD_READ 2.0
#define COLD_IN_TURN 1.15 /* and more where ranks take turns on a core */
/* Where ranks take turns on cores, several are in the midst of reading the
 * very same bytes, and the kernel counts each one's hold on each page: so much
 * longer a byte of a bcast takes. Through the rings, on the other hand, one of
 * them brings such bytes into the core's caches for all. */
#define SAME_PAGES 3.0
/* An allgather and a reduce_scatter read in the vectors of all ranks, but each
 * begins with another: they meet on the same pages when there are two ranks to
 * a core, or more. */
#define ALL_VECTORS 2.5
#define CROWD 2
/* A probe has measured the least of the kernel's calls; mostly they take so
 * much longer. */
#define READ_MOSTLY 1.15
/* Of a gatherv, what the first round copies. */
#define ROWS_FIRST ((double)((size_t)16 << 10))

/* Blocks that are folded: of all peers together so much, which stays in a cache
 * of the second level. */
#define FOLD_ROOM ((size_t)128 << 10)
#define FOLD_MOST ((size_t)64 << 10)
#define FOLD_LEAST ((size_t)4 << 10)

bool hb_model_cma_folds(enum hpcboot_coll coll)
{
    return coll == HPCBOOT_COLL_ALLREDUCE ||
           coll == HPCBOOT_COLL_REDUCE_SCATTER_BLOCK;
}

size_t hb_model_cma_block(int p)
{
    size_t each = FOLD_ROOM / (size_t)(p - 1) / FOLD_LEAST * FOLD_LEAST;
    return each < FOLD_LEAST ? FOLD_LEAST : hb_min(each, FOLD_MOST);
}

/* What is read of one of the others, block by block; the first takes twice as
 * long as a call that follows another. */
static double folds(int p, size_t bytes, double call, double byte)
{
    double blocks = (double)hb_rounds_for(bytes, hb_model_cma_block(p));
    return (blocks + 1) * call + (double)bytes * byte;
}

/* The root of a bcast, as the first of an exscan, has nothing else to do, while
 * one of the others moves its own block; where not all have a core, it does not
 * matter who does it. */
size_t hb_model_cma_part(const struct hb_coll_model *m, enum hpcboot_coll coll,
                         int p, size_t bytes)
{
    size_t roots = bytes / (size_t)p / HB_SHM_LINE * HB_SHM_LINE;
    bool one = coll == HPCBOOT_COLL_BCAST || coll == HPCBOOT_COLL_EXSCAN;
    return one && roots >= PART_LEAST && m != NULL &&
                   hb_model_share(m, p) <= 1
               ? roots : 0;
}

/* So much of that goes through the kernel: the root asks each first who is
 * there, which is a call more, and is done with all of them when each has read
 * the rest. */
size_t hb_model_cma_writes(const struct hb_coll_model *m,
                           enum hpcboot_coll coll, int p, size_t bytes)
{
    size_t most = hb_model_cma_part(m, coll, p, bytes);
    if (most == 0 || m->cma_ps == 0) {
        return 0;
    }
    double call = m->cma_ns * 1000.0 / (m->cma_ps * READ_MOSTLY);
    double others = p - 1;
    double part = (TOGETHER * ((double)bytes + call) - 2 * others * call) /
                  (others + TOGETHER);
    return part < (double)PART_LEAST
               ? 0 : hb_min((size_t)part / HB_SHM_LINE * HB_SHM_LINE, most);
}

/* Whether all that the ranks send and receive is more than caches hold. */
bool hb_model_is_cold(const struct hb_coll_model *m, enum hpcboot_coll coll,
                      int p, size_t bytes)
{
    double ranks = p, blocks = 0, room = (double)hb_model_room(m, p);
    if (coll == HPCBOOT_COLL_ALLGATHER || coll == HPCBOOT_COLL_ALLGATHERV) {
        blocks = ranks + 1;
    } else if (coll == HPCBOOT_COLL_ALLTOALL ||
               coll == HPCBOOT_COLL_ALLTOALLV) {
        blocks = 2 * ranks;
    }
    return room > 0 && blocks * ranks * (double)bytes > room;
}

/* Of the ranks that are not the root, each with a core of its own: how much of
 * its call each waits for all others. */
static double in_turn(enum hpcboot_coll coll, double call, double n,
                      double byte)
{
    bool same = coll == HPCBOOT_COLL_BCAST; /* the very same pages */
    return call + (same || n < IN_TURN ? n : IN_TURN) * byte;
}

/* How much longer a byte takes where ranks take turns on cores. */
static double in_crowd(enum hpcboot_coll coll, double share)
{
    if (share <= 1) {
        return 1;
    }
    switch (coll) {
    case HPCBOOT_COLL_BCAST:
        return SAME_PAGES;
    case HPCBOOT_COLL_ALLGATHER:
    case HPCBOOT_COLL_ALLGATHERV:
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
        return share < CROWD ? 1 : ALL_VECTORS;
    default:
        return 1;
    }
}

/* A write asks first who is there. */
double hb_model_calls(const struct hb_coll_model *m, enum hpcboot_coll coll,
                      int p, size_t bytes)
{
    double part = (double)hb_model_cma_writes(m, coll, p, bytes);
    double n = (double)bytes, others = p - 1, share = hb_model_share(m, p);
    double call = m->cma_ns * 1000.0, copied = 0, all = n;
    double byte = m->cma_ps * READ_MOSTLY * in_crowd(coll, share);
    if (hb_model_is_cold(m, coll, p, bytes)) {
        byte *= share > 1 ? COLD_READ * COLD_IN_TURN : COLD_READ;
    }
    if (coll == HPCBOOT_COLL_GATHERV) {
        copied = ROWS_FIRST / others < n ? ROWS_FIRST / others : n;
    }
    double own = call * (hb_model_gathers(coll) ? 2 : 1);
    double one = own + (n - part - copied) * byte +
                 copied * (p == 2 ? m->stream_ps : m->put_ps + m->get_ps);
    if (hb_model_cma_folds(coll)) {
        one = folds(p, bytes, call, byte);
    }
    double roots = part > 0 ? others * (2 * call + part * byte) : 0;
    if (!hb_model_gathers(coll) && !hb_model_sends_root(coll)) {
        one *= others;
        all *= p;
    } else if (share > 1) { /* nobody runs ahead of the root any more */
        one *= TOGETHER * others / p;
    } else {
        one += (others - 1) * in_turn(coll, own, n, byte);
        one *= others > 1 || part > 0 ? TOGETHER : 1;
    }
    if (coll == HPCBOOT_COLL_ALLTOALL || coll == HPCBOOT_COLL_ALLTOALLV) {
        all *= p;
    }
    one = share > 1 && all < AMONG_MANY_MOST ? one * AMONG_MANY : one;
    return one > roots ? one : roots;
}
