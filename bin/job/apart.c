/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The host that is apart from most others. Complaints of a host's ranks are
 * counted once for each host that they are about, and those of both sides of a
 * pair as one pair: a side may be too busy to have noticed. */
#include "config.h"

#include "bin/job/apart.h"

#include <stdlib.h>

#include "lib/base/str.h"

struct tally {
    uint32_t pairs, complaints;
};

static int compare(const void *a, const void *b)
{
    const struct hb_apart *x = a, *y = b;

    return x->by != y->by       ? (x->by < y->by ? -1 : 1)
           : x->from != y->from ? (x->from < y->from ? -1 : 1)
                                : 0;
}

/* Sorted, each once; how many there are. */
static size_t each_once(struct hb_apart *v, size_t n)
{
    size_t left = 0;

    qsort(v, n, sizeof *v, compare);
    for (size_t i = 0; i < n; i++) {
        if (left == 0 || compare(&v[left - 1], &v[i]) != 0) {
            v[left++] = v[i];
        }
    }
    return left;
}

static int is_worse(const struct tally *a, const struct tally *b, int b_is_own)
{
    return a->pairs != b->pairs             ? a->pairs > b->pairs
           : a->complaints != b->complaints ? a->complaints > b->complaints
                                            : b_is_own;
}

uint32_t hb_apart_worst(struct hb_apart *v, size_t n, uint32_t n_hosts,
                        uint32_t own)
{
    struct tally *t = hb_xcalloc(n_hosts, sizeof *t);
    uint32_t worst = n_hosts;

    n = each_once(v, n);
    for (size_t i = 0; i < n; i++) {
        t[v[i].from].complaints++;
        if (v[i].by > v[i].from) {
            v[i] = (struct hb_apart){v[i].from, v[i].by};
        }
    }
    n = each_once(v, n);
    for (size_t i = 0; i < n; i++) {
        t[v[i].by].pairs++;
        t[v[i].from].pairs++;
    }
    for (uint32_t h = n_hosts; h-- > 0;) {
        if (t[h].pairs > 0 && (worst == n_hosts ||
                               is_worse(&t[h], &t[worst], worst == own))) {
            worst = h;
        }
    }
    free(t);
    return worst;
}
