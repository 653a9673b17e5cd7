/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

#include "config.h"

#include "bin/proc/known.h"

#include <stdlib.h>

#include "lib/base/str.h"

#define FIRST_CAP 64

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const struct hb_procfs_stat *)a)->pid;
    pid_t y = ((const struct hb_procfs_stat *)b)->pid;

    return (x > y) - (x < y);
}

static const struct hb_procfs_stat *find(const struct hb_known *k,
                                         const struct hb_procfs_stat *st)
{
    const struct hb_procfs_stat *hit = NULL;

    if (k->sorted > 0) {
        hit = bsearch(st, k->v, k->sorted, sizeof(*k->v), by_pid);
    }
    return hit != NULL && hit->starttime == st->starttime ? hit : NULL;
}

int hb_known_has(const struct hb_known *k, const struct hb_procfs_stat *st)
{
    return find(k, st) != NULL;
}

int hb_known_ended(const struct hb_known *k, const struct hb_procfs_stat *st)
{
    const struct hb_procfs_stat *then = find(k, st);

    return then != NULL && then->exits;
}

void hb_known_add(struct hb_known *k, const struct hb_procfs_stat *st)
{
    if (k->n == k->cap) {
        k->cap = k->cap ? k->cap * 2 : FIRST_CAP;
        k->v = hb_xrealloc(k->v, k->cap * sizeof(*k->v));
    }
    k->v[k->n++] = *st;
}

/* A pass never meets a pid twice, so sorting between passes is enough. Of a
 * pid that was reused the newest process is kept. */
void hb_known_settle(struct hb_known *k)
{
    size_t to = 0;

    if (k->sorted == k->n) {
        return;
    }
    qsort(k->v, k->n, sizeof(*k->v), by_pid);
    for (size_t i = 0; i < k->n; i++) {
        if (to > 0 && k->v[to - 1].pid == k->v[i].pid) {
            if (k->v[i].starttime > k->v[to - 1].starttime) {
                k->v[to - 1] = k->v[i];
            }
        } else {
            k->v[to++] = k->v[i];
        }
    }
    k->n = k->sorted = to;
}
