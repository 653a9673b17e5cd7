/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Trees that know behind which switch of the network a member is: one tree
 * over a head of each leaf, and one in each leaf below its head. A message
 * crosses from leaf to leaf once for each leaf but the root's, which is the
 * least there can be; a tree that knows nothing of leaves does so several
 * times as often wherever leaves are no power of its radix, or its root is not
 * the first member.
 *
 * A leaf is a run of members that follow one another, so that the members
 * below one are a row here, too, and ops that do not commute are folded in
 * their order. Members of a leaf that stand apart count as several leaves.
 *
 * Trees in segments pass on at most two copies at each member and would need
 * a third at heads; in order as they are, they cross rarely (tests/unit/
 * test_leaves.c counts). Rings cross once a leaf by themselves. */

#include "config.h"

#include "lib/coll/sched.h"

#include <stdlib.h>

/* A group, as seen from the leaf of one member. */
struct leaves {
    int *room;
    struct hb_group heads, mine;
    int root; /* its leaf among the heads */
    int head; /* of this leaf, by place in it */
};

static bool begins(const struct hb_group *g, int i)
{
    return i == 0 || g->leaf[i] != g->leaf[i - 1];
}

static int count_leaves(const struct hb_group *g)
{
    int n = 0;
    for (int i = 0; i < g->size; i++) {
        n += begins(g, i);
    }
    return n;
}

/* Member i is of run k, which began with `first`. */
static void add_member(struct leaves *l, const struct hb_group *g, int root,
                       int i, int k, int my_run)
{
    int *heads = l->room, *mine = l->room + g->size;
    if (begins(g, i) || i == root) {
        heads[k] = hb_member(g, i);
        l->heads.me = i == g->me ? k : l->heads.me == k ? -1 : l->heads.me;
    }
    l->root = i == root ? k : l->root;
    if (k == my_run) {
        l->head = i == root ? l->mine.size : l->head;
        l->mine.me = i == g->me ? l->mine.size : l->mine.me;
        mine[l->mine.size++] = hb_member(g, i);
    }
}

/* False: leaves make no difference, or there is no memory (s->failed). */
static bool split(struct leaves *l, struct hb_sched *s,
                  const struct hb_group *g, int root)
{
    int runs = g->leaf != NULL ? count_leaves(g) : 1, my_run = -1, k = -1;
    if (runs == 1 || runs == g->size) {
        return false;
    }
    *l = (struct leaves){.heads = {.size = runs, .me = -1}};
    l->room = malloc(2 * (size_t)g->size * sizeof *l->room);
    if (l->room == NULL) {
        s->failed = true;
        return false;
    }
    for (int i = 0; i <= g->me; i++) {
        my_run += begins(g, i);
    }
    for (int i = 0; i < g->size; i++) {
        k += begins(g, i);
        add_member(l, g, root, i, k, my_run);
    }
    l->heads.ranks = l->room;
    l->mine.ranks = l->room + g->size;
    return true;
}

void hb_leaf_bcast(struct hb_sched *s, const struct hb_group *g, int root,
                   struct hb_at at, size_t bytes, int radix)
{
    struct leaves l;
    if (!split(&l, s, g, root)) {
        hb_knomial_bcast(s, g, root, at, bytes, radix);
        return;
    }
    if (l.heads.me >= 0) {
        hb_knomial_bcast(s, &l.heads, l.root, at, bytes, radix);
    }
    hb_knomial_bcast(s, &l.mine, l.head, at, bytes, radix);
    free(l.room);
}

void hb_leaf_reduce(struct hb_sched *s, const struct hb_group *g, int root,
                    const struct hb_vector *v, int radix)
{
    struct leaves l;
    struct hb_vector folded = *v;
    if (!split(&l, s, g, root)) {
        hb_knomial_reduce(s, g, root, v, radix);
        return;
    }
    hb_knomial_reduce(s, &l.mine, l.head, v, radix);
    if (l.heads.me >= 0) {
        folded.apart = false;
        hb_knomial_reduce(s, &l.heads, l.root, &folded, radix);
    }
    free(l.room);
}
