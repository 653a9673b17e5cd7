/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Whether what a call reads and what it writes are in each other's way. Blocks
 * lie anywhere and in any order; those of one side are not compared with each
 * other. */

#include "config.h"

#include "lib/coll/impl.h"

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
