/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Gather and scatter: over k-nomial trees, where the blocks of those below a
 * member are a row that travels as one message; or root with each. The root
 * sends from and receives to where blocks lie as long as a row lies there in
 * one piece; otherwise, and on the way, rows have room of their own. */

#include "config.h"

#include "lib/coll/sched.h"

#define LINEAR_WINDOW 32

/* Bytes of the blocks of places [v, v + n). */
static size_t row_bytes(const struct hb_knomial *k, const struct hb_blocks *b,
                        int64_t v, int64_t n)
{
    size_t sum = 0;
    if (b->len == NULL) {
        return (size_t)(v + n > k->size ? k->size - v : n) * b->each;
    }
    for (int64_t i = v; i < v + n && i < k->size; i++) {
        sum += hb_block_len(b, (int)((i + k->root) % k->size));
    }
    return sum;
}

/* At the root: the row of places [v, v + n), one after the other at `at`,
 * is copied to or from where the blocks lie. */
static void spread(struct hb_sched *s, const struct hb_knomial *k,
                   const struct hb_blocks *b, int64_t v, int64_t n,
                   struct hb_at at, bool out)
{
    for (int64_t i = v; i < v + n && i < k->size; i++) {
        int m = (int)((i + k->root) % k->size);
        size_t len = hb_block_len(b, m);
        struct hb_at place = hb_block(b, m);
        hb_sched_copy(s, out ? place : at, out ? at : place, len);
        at = hb_plus(at, len);
    }
}

/* Whether the blocks of a row lie one after the other. */
static bool is_row(const struct hb_knomial *k, const struct hb_blocks *b,
                   int64_t v, int64_t n)
{
    n = v + n > k->size ? k->size - v : n;
    int first = (int)((v + k->root) % k->size);
    if (first + n > k->size) {
        return false;
    }
    for (int i = 1; b->off != NULL && i < n; i++) {
        if (b->off[first + i] != b->off[first + i - 1] +
                                     hb_block_len(b, first + i - 1)) {
            return false;
        }
    }
    return true;
}

static void root_gathers(struct hb_sched *s, const struct hb_group *g,
                         const struct hb_knomial *k, const struct hb_blocks *b)
{
    size_t begun = s->room;
    for (int pass = 0; pass < 2; pass++) {
        s->room = begun;
        for (int64_t d = 1; d < k->span; d *= k->radix) {
            for (int64_t v = d; v < k->radix * d && v < k->size; v += d) {
                size_t bytes = row_bytes(k, b, v, d);
                bool row = is_row(k, b, v, d);
                struct hb_at room =
                    row ? hb_block(b, (int)((v + k->root) % k->size))
                        : hb_sched_room(s, bytes);
                if (pass == 0) {
                    hb_sched_recv(s, hb_knomial_peer(k, g, v), room, bytes);
                } else if (!row) {
                    spread(s, k, b, v, d, room, false);
                }
            }
        }
        hb_sched_wait(s);
    }
}

static void knomial_gather(struct hb_sched *s, const struct hb_group *g,
                           int root, const struct hb_blocks *b,
                           struct hb_at own, int radix)
{
    struct hb_knomial k = hb_knomial_of(g, root, radix);
    if (k.parent < 0) {
        root_gathers(s, g, &k, b);
        return;
    }
    size_t all = row_bytes(&k, b, k.v, k.span);
    size_t mine = hb_block_len(b, g->me);
    struct hb_at room = own;
    if (k.span > 1 && k.v + 1 < k.size) {
        room = hb_sched_room(s, all);
        hb_sched_copy(s, own, room, mine);
    }
    for (int64_t d = 1; d < k.span; d *= radix) {
        for (int64_t v = k.v + d; v < k.v + radix * d && v < k.size; v += d) {
            hb_sched_recv(s, hb_knomial_peer(&k, g, v),
                          hb_plus(room, row_bytes(&k, b, k.v, v - k.v)),
                          row_bytes(&k, b, v, d));
        }
    }
    hb_sched_wait(s);
    hb_sched_send(s, hb_knomial_peer(&k, g, k.parent), room, all);
}

static void root_scatters(struct hb_sched *s, const struct hb_group *g,
                          const struct hb_knomial *k, const struct hb_blocks *b)
{
    for (int64_t d = k->span / k->radix; d > 0; d /= k->radix) {
        for (int64_t v = d; v < k->radix * d && v < k->size; v += d) {
            size_t bytes = row_bytes(k, b, v, d);
            struct hb_at from = hb_block(b, (int)((v + k->root) % k->size));
            if (!is_row(k, b, v, d)) {
                from = hb_sched_room(s, bytes);
                spread(s, k, b, v, d, from, true);
            }
            hb_sched_send(s, hb_knomial_peer(k, g, v), from, bytes);
        }
    }
}

static void knomial_scatter(struct hb_sched *s, const struct hb_group *g,
                            int root, const struct hb_blocks *b,
                            struct hb_at own, int radix)
{
    struct hb_knomial k = hb_knomial_of(g, root, radix);
    if (k.parent < 0) {
        root_scatters(s, g, &k, b);
        return;
    }
    bool leaf = k.span == 1 || k.v + 1 >= k.size;
    size_t all = row_bytes(&k, b, k.v, k.span);
    struct hb_at room = leaf ? own : hb_sched_room(s, all);
    hb_sched_recv(s, hb_knomial_peer(&k, g, k.parent), room, all);
    hb_sched_wait(s);
    for (int64_t d = k.span / radix; d > 0; d /= radix) {
        for (int64_t v = k.v + d; v < k.v + radix * d && v < k.size; v += d) {
            hb_sched_send(s, hb_knomial_peer(&k, g, v),
                          hb_plus(room, row_bytes(&k, b, k.v, v - k.v)),
                          row_bytes(&k, b, v, d));
        }
    }
    hb_sched_copy(s, room, own, hb_block_len(b, g->me));
}

/* Root with each, a window at a time. */
static void linear(struct hb_sched *s, const struct hb_group *g, int root,
                   const struct hb_blocks *b, struct hb_at own, bool in)
{
    if (g->me != root && in) {
        hb_sched_send(s, hb_member(g, root), own, hb_block_len(b, g->me));
    } else if (g->me != root) {
        hb_sched_recv(s, hb_member(g, root), own, hb_block_len(b, g->me));
    }
    for (int i = 1; i < g->size && g->me == root; i++) {
        int j = (root + i) % g->size;
        if (in) {
            hb_sched_recv(s, hb_member(g, j), hb_block(b, j),
                          hb_block_len(b, j));
        } else {
            hb_sched_send(s, hb_member(g, j), hb_block(b, j),
                          hb_block_len(b, j));
        }
        if (i % LINEAR_WINDOW == 0) {
            hb_sched_wait(s);
        }
    }
}

void hb_sched_gather(struct hb_sched *s, const struct hb_group *g, int root,
                     const struct hb_blocks *b, struct hb_at own,
                     const struct hb_choice *how)
{
    hb_sched_note(s, HPCBOOT_COLL_GATHER, g->size, hb_blocks_mean(b, g->size),
                  how);
    if (g->me == root) {
        hb_sched_copy(s, own, hb_block(b, root), hb_block_len(b, root));
    }
    if (how->alg == HB_ALG_LINEAR) {
        linear(s, g, root, b, own, true);
    } else {
        knomial_gather(s, g, root, b, own, hb_radix(how));
    }
}

void hb_sched_scatter(struct hb_sched *s, const struct hb_group *g, int root,
                      const struct hb_blocks *b, struct hb_at own,
                      const struct hb_choice *how)
{
    hb_sched_note(s, HPCBOOT_COLL_SCATTER, g->size, hb_blocks_mean(b, g->size),
                  how);
    if (g->me == root) {
        hb_sched_copy(s, hb_block(b, root), own, hb_block_len(b, root));
    }
    if (how->alg == HB_ALG_LINEAR) {
        linear(s, g, root, b, own, false);
    } else {
        knomial_scatter(s, g, root, b, own, hb_radix(how));
    }
}
