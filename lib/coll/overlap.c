/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Whether what a call reads and what it writes are in each other's way, or
 * blocks that are written are in each other's. Blocks lie anywhere and in any
 * order. */

#include "config.h"

#include "lib/coll/impl.h"

#include <stdlib.h>

/* Whether a block of the side lies in [from, to); and its hull, from the
 * first to the last byte of all blocks. */
static bool touches(const struct hb_side *s, const char *from, const char *to,
                    const char **first, const char **last)
{
    const char *next = s->base;
    bool hit = false;
    for (int j = 0; j < s->n; j++) {
        const char *at = s->displs != NULL ? s->base + s->displs[j] * s->e
                                           : next;
        const char *end = at + s->counts[j] * s->e;
        next = end;
        if (end > at) {
            hit |= at < to && from < end;
            *first = *first == NULL || at < *first ? at : *first;
            *last = *last == NULL || end > *last ? end : *last;
        }
    }
    return hit;
}

/* Blocks are compared one by one only where their hulls overlap. */
bool hb_sides_overlap(const struct hb_side *s, const struct hb_side *r)
{
    const char *first = NULL, *last = NULL, *next = r->base, *x = NULL;
    (void)touches(s, NULL, NULL, &first, &last);
    if (!touches(r, first, last, &x, &x)) {
        return false;
    }
    for (int j = 0; j < r->n; j++) {
        const char *at = r->displs != NULL ? r->base + r->displs[j] * r->e
                                           : next;
        next = at + r->counts[j] * r->e;
        if (next > at && touches(s, at, next, &first, &last)) {
            return true;
        }
    }
    return false;
}

/* Blocks that lie in the order of ranks, as they mostly do, need one look. */
static bool in_rank_order(const size_t *counts, const size_t *displs, int n)
{
    size_t end = 0;
    for (int j = 0; j < n; j++) {
        if (counts[j] > 0 && displs[j] < end) {
            return false;
        }
        end = counts[j] > 0 ? displs[j] + counts[j] : end;
    }
    return true;
}

struct block {
    size_t at, len;
    int rank;
};

static int by_place(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at)
                          : (x->rank > y->rank) - (x->rank < y->rank);
}

bool hb_blocks_overlap(const size_t *counts, const size_t *displs, int n,
                       int *a_out, int *b_out)
{
    int used = 0;
    bool hit = false;
    if (displs == NULL || in_rank_order(counts, displs, n)) {
        return false;
    }
    struct block *b = malloc((size_t)n * sizeof *b);
    for (int j = 0; b != NULL && j < n; j++) {
        if (counts[j] > 0) {
            b[used++] = (struct block){displs[j], counts[j], j};
        }
    }
    if (used > 1) {
        qsort(b, (size_t)used, sizeof *b, by_place);
    }
    for (int i = 1; i < used && !hit; i++) {
        hit = b[i].at < b[i - 1].at + b[i - 1].len;
        *a_out = b[i - 1].rank;
        *b_out = b[i].rank;
    }
    free(b);
    return hit;
}
