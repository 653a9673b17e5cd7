/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Allgather and alltoall among members that are all alike.
 *
 *   allgather  Bruck: what a member has doubles each round, in any number of
 *              members; a ring, one block a round, for large blocks
 *   alltoall   Bruck: log2 rounds, in each of which half of all blocks
 *              travel; pairwise, so many at once, for larger ones */

#include "config.h"

#include "lib/coll/sched.h"

#define WINDOW 16

/* ---- allgather ---- */

/* Bytes of the blocks of n members from `first` on, round and round. */
static size_t bytes_from(const struct hb_group *g, const struct hb_blocks *b,
                         int first, int n)
{
    size_t sum = 0;
    if (b->len == NULL) {
        return (size_t)n * b->each;
    }
    for (int i = 0; i < n; i++) {
        sum += hb_block_len(b, (first + i) % g->size);
    }
    return sum;
}

/* To their places: in two pieces where blocks lie in a row. */
static void place_turned(struct hb_sched *s, const struct hb_group *g,
                         const struct hb_blocks *b, struct hb_at room)
{
    int p = g->size;
    if (b->len == NULL && b->off == NULL) {
        size_t high = (size_t)(p - g->me) * b->each;
        hb_sched_copy(s, room, hb_block(b, g->me), high);
        hb_sched_copy(s, hb_plus(room, high), b->base,
                      (size_t)g->me * b->each);
        return;
    }
    for (int i = 0; i < p; i++) {
        int j = (g->me + i) % p;
        hb_sched_copy(s, room, hb_block(b, j), hb_block_len(b, j));
        room = hb_plus(room, hb_block_len(b, j));
    }
}

static void allgather_bruck(struct hb_sched *s, const struct hb_group *g,
                            const struct hb_blocks *b)
{
    int p = g->size;
    struct hb_at room = hb_sched_room(s, bytes_from(g, b, 0, p));
    hb_sched_copy(s, hb_block(b, g->me), room, hb_block_len(b, g->me));
    for (int64_t d = 1; d < p; d *= 2) {
        int n = (int)(d < p - d ? d : p - d);
        int to = (int)((g->me - d + p) % p), from = (int)((g->me + d) % p);
        hb_sched_recv(s, hb_member(g, from),
                      hb_plus(room, bytes_from(g, b, g->me, (int)d)),
                      bytes_from(g, b, from, n));
        hb_sched_send(s, hb_member(g, to), room,
                      bytes_from(g, b, g->me, n));
        hb_sched_wait(s);
    }
    place_turned(s, g, b, room);
}

static void allgather_ring(struct hb_sched *s, const struct hb_group *g,
                           const struct hb_blocks *b)
{
    int p = g->size, next = hb_member(g, (g->me + 1) % p);
    int before = hb_member(g, (g->me - 1 + p) % p), posted = s->count;
    for (int i = 0; i < p - 1; i++) {
        int out = (g->me - i + p) % p, in = (g->me - i - 1 + p) % p;
        hb_sched_recv(s, before, hb_block(b, in), hb_block_len(b, in));
        /* A block is passed on when it has come; the next may come before
         * it has left. */
        s->after = i == 0 ? s->after : posted;
        posted = s->count;
        hb_sched_send(s, next, hb_block(b, out), hb_block_len(b, out));
    }
}

void hb_sched_allgather(struct hb_sched *s, const struct hb_group *g,
                        const struct hb_blocks *b,
                        const struct hb_choice *how)
{
    hb_sched_note(s, HPCBOOT_COLL_ALLGATHER, g->size,
                  hb_blocks_mean(b, g->size), how);
    if (g->size > 1 && how->alg == HB_ALG_BRUCK) {
        allgather_bruck(s, g, b);
    } else {
        allgather_ring(s, g, b);
    }
    hb_sched_wait(s);
}

/* ---- alltoall ---- */

/* Blocks whose number has bit d set, of p that lie in a row at `room`, are
 * packed to `pack`, or back from there. */
static size_t pack_bit(struct hb_sched *s, int p, int64_t d, size_t each,
                       struct hb_at room, struct hb_at pack, bool back)
{
    size_t run = (size_t)d * each, whole = (size_t)(p / (2 * d));
    size_t rest = (size_t)(p % (2 * d)), last = 0;
    struct hb_at row = hb_plus(room, run);
    if (rest > (size_t)d) {
        last = (rest - (size_t)d) * each;
    }
    struct hb_at row_end = hb_plus(row, whole * 2 * run);
    struct hb_at pack_end = hb_plus(pack, whole * run);
    if (back) {
        hb_sched_rows(s, pack, run, row, 2 * run, run, whole);
        hb_sched_copy(s, pack_end, row_end, last);
    } else {
        hb_sched_rows(s, row, 2 * run, pack, run, run, whole);
        hb_sched_copy(s, row_end, pack_end, last);
    }
    return whole * run + last;
}

static void alltoall_bruck(struct hb_sched *s, const struct hb_group *g,
                           const struct hb_blocks *from,
                           const struct hb_blocks *to)
{
    int p = g->size;
    size_t each = from->each, all = (size_t)p * each;
    struct hb_at room = hb_sched_room(s, all), pack = hb_sched_room(s, all);
    struct hb_at in = hb_sched_room(s, all);
    size_t high = (size_t)(p - g->me) * each;
    hb_sched_copy(s, hb_block(from, g->me), room, high);
    hb_sched_copy(s, from->base, hb_plus(room, high), all - high);
    for (int64_t d = 1; d < p; d *= 2) {
        size_t n = pack_bit(s, p, d, each, room, pack, false);
        hb_sched_recv(s, hb_member(g, (int)((g->me - d + p) % p)), in, n);
        hb_sched_send(s, hb_member(g, (int)((g->me + d) % p)), pack, n);
        hb_sched_wait(s);
        pack_bit(s, p, d, each, room, in, true);
    }
    for (int i = 0; i < p; i++) {
        hb_sched_copy(s, hb_plus(room, (size_t)i * each),
                      hb_block(to, (g->me - i + p) % p), each);
    }
}

static void alltoall_pairwise(struct hb_sched *s, const struct hb_group *g,
                              const struct hb_blocks *from,
                              const struct hb_blocks *to)
{
    int p = g->size, marks[WINDOW] = {0};
    hb_sched_copy(s, hb_block(from, g->me), hb_block(to, g->me),
                  hb_block_len(to, g->me));
    for (int i = 1; i < p; i++) {
        int out = (g->me + i) % p, in = (g->me - i + p) % p;
        s->after = i > WINDOW && marks[i % WINDOW] > s->after
                       ? marks[i % WINDOW] : s->after;
        hb_sched_recv(s, hb_member(g, in), hb_block(to, in),
                      hb_block_len(to, in));
        hb_sched_send(s, hb_member(g, out), hb_block(from, out),
                      hb_block_len(from, out));
        marks[i % WINDOW] = s->count;
    }
}

void hb_sched_alltoall(struct hb_sched *s, const struct hb_group *g,
                       const struct hb_blocks *from,
                       const struct hb_blocks *to,
                       const struct hb_choice *how)
{
    hb_sched_note(s, from->len == NULL ? HPCBOOT_COLL_ALLTOALL
                                       : HPCBOOT_COLL_ALLTOALLV,
                  g->size, hb_blocks_mean(from, g->size), how);
    if (how->alg == HB_ALG_BRUCK && from->len == NULL && g->size > 1) {
        alltoall_bruck(s, g, from, to);
    } else {
        alltoall_pairwise(s, g, from, to);
    }
    hb_sched_wait(s);
}
