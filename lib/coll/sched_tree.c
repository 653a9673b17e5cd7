/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Trees: barrier by doubling, or up a tree and down; bcast and reduce over
 * k-nomial trees, where the members below one are a row; those of large vectors
 * in segments, over one binary tree or two.
 *
 * Two trees take half of the vector each, and whoever passes data on in one
 * is a leaf of the other, so that every member's port is used both ways.
 *
 * Segments: receives are posted WINDOW ahead; a segment is passed on when it
 * has come, and the sends of WINDOW segments ago are done by then. Segments
 * of two trees take turns from the first receive on: what a step waits for is
 * then always of an earlier turn, or of its own tree. */

#include "config.h"

#include "lib/coll/sched.h"

#define WINDOW 4
#define ROUNDS_MOST 32 /* of radix 2, of any int of members */
/* Receives of a reduction are posted at once where their room is small. */
#define POST_ALL ((size_t)256 << 10)

/* The member whose number in this radix has the same digits as mine but for the
 * one of value d, which is greater by j (modulo the radix). */
static int sibling(const struct hb_group *g, int64_t d, int radix, int j)
{
    int digit = (int)(g->me / d % radix);
    return (int)(g->me + ((digit + j) % radix - digit) * d);
}

/* Where the members fill all digits, those of a round exchange messages, which
 * is cheaper than a ring of them: the network acknowledges what came with what
 * leaves, and a member has half as many partners. */
static void disseminate(struct hb_sched *s, const struct hb_group *g,
                        int radix)
{
    struct hb_at none = {HB_MEM_ROOM, 0};
    int64_t p = g->size, full = 1;
    while (full < p) {
        full *= radix;
    }
    for (int64_t d = 1; d < p; d *= radix) {
        for (int j = 1; j < radix && j * d < p; j++) {
            int from = full == p ? sibling(g, d, radix, radix - j)
                                 : (int)((g->me - j * d + p) % p);
            hb_sched_recv(s, hb_member(g, from), none, 0);
        }
        for (int j = 1; j < radix && j * d < p; j++) {
            int to = full == p ? sibling(g, d, radix, j)
                               : (int)((g->me + j * d) % p);
            hb_sched_send(s, hb_member(g, to), none, 0);
        }
        hb_sched_wait(s);
    }
}

/* Up a tree and down again: more rounds, and the fewest messages. */
static void up_and_down(struct hb_sched *s, const struct hb_group *g,
                        const struct hb_choice *how)
{
    struct hb_at none = {HB_MEM_ROOM, 0};
    struct hb_blocks empty = {.base = none};
    hb_sched_gather(s, g, 0, &empty, none, how);
    hb_sched_wait(s);
    hb_sched_bcast(s, g, 0, none, 0, how, -1);
}

void hb_sched_barrier(struct hb_sched *s, const struct hb_group *g,
                      const struct hb_choice *how)
{
    hb_sched_note(s, HPCBOOT_COLL_BARRIER, g->size, 0, how);
    if (how->alg == HB_ALG_KNOMIAL) {
        s->within++;
        up_and_down(s, g, how);
        s->within--;
    } else {
        disseminate(s, g, how->radix);
    }
    hb_sched_wait(s);
}

/* ---- k-nomial ---- */

struct hb_knomial hb_knomial_of(const struct hb_group *g, int root, int radix)
{
    struct hb_knomial k = {(g->me - root + g->size) % g->size, g->size, root,
                        radix, -1, 1};
    while (k.span < k.size && k.v / k.span % radix == 0) {
        k.span *= radix;
    }
    if (k.v != 0) {
        k.parent = (int)(k.v - k.v / k.span % radix * k.span);
    }
    return k;
}

void hb_knomial_bcast(struct hb_sched *s, const struct hb_group *g, int root,
                      struct hb_at at, size_t bytes, int radix)
{
    struct hb_knomial k = hb_knomial_of(g, root, radix);
    if (k.parent >= 0) {
        hb_sched_recv(s, hb_knomial_peer(&k, g, k.parent), at, bytes);
        hb_sched_wait(s);
    }
    for (int64_t d = k.span / radix; d > 0; d /= radix) {
        for (int j = 1; j < radix; j++) {
            if (k.v + j * d < k.size) {
                hb_sched_send(s, hb_knomial_peer(&k, g, k.v + j * d), at,
                              bytes);
            }
        }
    }
}

/* How many members hang directly below. */
static int children(const struct hb_knomial *k)
{
    int n = 0;
    for (int64_t d = 1; d < k->span; d *= k->radix) {
        for (int j = 1; j < k->radix; j++) {
            n += k->v + j * d < k->size;
        }
    }
    return n;
}

/* Posts the receives of a round into rooms from *used on. */
static int post_round(struct hb_sched *s, const struct hb_group *g,
                      const struct hb_knomial *k, int64_t d, struct hb_at room,
                      size_t bytes)
{
    int n = 0;
    for (int j = 1; j < k->radix && k->v + j * d < k->size; j++) {
        hb_sched_recv(s, hb_knomial_peer(k, g, k->v + j * d),
                      hb_plus(room, (size_t)n++ * bytes), bytes);
    }
    return n;
}

static int round_size(const struct hb_knomial *k, int64_t d)
{
    int n = 0;
    while (n + 1 < k->radix && k->v + (n + 1) * d < k->size) {
        n++;
    }
    return n;
}

void hb_knomial_reduce(struct hb_sched *s, const struct hb_group *g, int root,
                       const struct hb_vector *v, int radix)
{
    struct hb_knomial k = hb_knomial_of(g, root, radix);
    size_t all = (size_t)children(&k) * v->bytes;
    bool at_once = all <= POST_ALL;
    size_t most = (size_t)(radix - 1) * v->bytes;
    struct hb_at room = hb_sched_room(s, at_once || all < most ? all : most);
    struct hb_at now = hb_vector_own(v);
    int64_t d;
    int used = 0, marks[ROUNDS_MOST] = {0}, round = 0;
    for (d = 1; at_once && d < k.span; d *= radix) {
        used += post_round(s, g, &k, d,
                           hb_plus(room, (size_t)used * v->bytes), v->bytes);
        marks[round++] = s->count;
    }
    used = round = 0;
    for (d = 1; d < k.span; d *= radix) {
        int n = round_size(&k, d);
        if (!at_once) {
            post_round(s, g, &k, d, room, v->bytes);
            used = 0;
        }
        s->after = at_once ? marks[round++] : s->count;
        for (int j = 0; j < n; j++) {
            hb_sched_fold(s, HB_STEP_FOLD_R,
                          hb_plus(room, (size_t)(used + j) * v->bytes), now,
                          v->at, v->bytes);
            now = v->at;
        }
        used += n;
    }
    if (k.parent >= 0) {
        hb_sched_send(s, hb_knomial_peer(&k, g, k.parent), now, v->bytes);
    } else {
        hb_sched_copy(s, now, v->at, v->bytes);
    }
}

/* ---- binary trees, in segments ---- */

struct tree {
    int parent, child[2]; /* members; -1: none */
};

/* Places 0 to p - 1; 0 is the root and has one child, below whom the tree is
 * in order: even places pass on, odd ones are leaves. */
static struct tree binary(int v, int p)
{
    struct tree t = {-1, {-1, -1}};
    int bit = v & -v, low = bit / 2;
    if (v == 0) {
        while (low < 1 ? p > 1 : 2 * low < p) {
            low = low < 1 ? 1 : 2 * low;
        }
        t.child[0] = low < 1 ? -1 : low;
        return t;
    }
    t.parent = (v ^ bit) | (bit << 1);
    t.parent = t.parent >= p ? v ^ bit : t.parent;
    t.child[0] = low == 0 ? -1 : v - low;
    while (low > 0 && v + low >= p) {
        low /= 2;
    }
    t.child[1] = low == 0 ? -1 : v + low;
    return t;
}

/* The second tree's place of v, and back: turned round or shifted, whichever
 * makes even places odd. The root stays. */
static int twisted(int v, int p)
{
    return v == 0 ? 0 : p % 2 == 1 ? p - v : v % (p - 1) + 1;
}

static int untwisted(int w, int p)
{
    return w <= 0 ? w : p % 2 == 1 ? p - w : w == 1 ? p - 1 : w - 1;
}

static int untwist_member(int w, int p, int root)
{
    int v = untwisted(w, p);
    return v < 0 ? -1 : (v + root) % p;
}

static bool in_segments(const struct hb_choice *how)
{
    return (how->alg == HB_ALG_PIPELINE || how->alg == HB_ALG_DOUBLE_TREE) &&
           how->segment > 0;
}

struct lane {
    struct tree tree;
    struct hb_at at, own, room; /* own: before the first fold */
    size_t bytes, segment;
    int mark[WINDOW];
    uint8_t stream;
};

static struct lane lane_of(const struct hb_group *g, int root, int which)
{
    int v = (g->me - root + g->size) % g->size;
    struct lane l = {.stream = (uint8_t)which};
    if (g->size == 1) {
        l.tree = (struct tree){-1, {-1, -1}};
        return l;
    }
    struct tree t = binary(which == 0 ? v : twisted(v, g->size), g->size);
    int *w[] = {&t.parent, &t.child[0], &t.child[1]};
    for (int i = 0; i < 3; i++) {
        if (which == 1) {
            *w[i] = untwist_member(*w[i], g->size, root);
        } else if (*w[i] >= 0) {
            *w[i] = (*w[i] + root) % g->size;
        }
    }
    l.tree = t;
    return l;
}

static size_t seg_len(const struct lane *l, size_t i)
{
    size_t at = i * l->segment;
    return at >= l->bytes ? 0 : l->bytes - at < l->segment ? l->bytes - at
                                                            : l->segment;
}

static struct hb_at seg_at(const struct lane *l, size_t i)
{
    return hb_plus(l->at, i * l->segment);
}

static size_t segments(const struct lane *l)
{
    return (l->bytes + l->segment - 1) / l->segment;
}

/* The lanes of a vector: one, or two with half each. */
static int make_lanes(struct lane lane[2], const struct hb_group *g, int root,
                      struct hb_at at, size_t bytes, size_t esize,
                      const struct hb_choice *how)
{
    int n = how->alg == HB_ALG_DOUBLE_TREE ? 2 : 1;
    size_t segment = how->segment / esize * esize;
    for (int i = 0; i < n; i++) {
        size_t from = hb_slice(bytes, esize, n, i);
        lane[i] = lane_of(g, root, i);
        lane[i].at = hb_plus(at, from);
        lane[i].bytes = hb_slice(bytes, esize, n, i + 1) - from;
        lane[i].segment = segment > 0 ? segment : esize;
    }
    return n;
}

static void post_down(struct hb_sched *s, const struct hb_group *g,
                      struct lane *l, size_t i)
{
    if (l->tree.parent >= 0 && seg_len(l, i) > 0) {
        s->stream = l->stream;
        hb_sched_recv(s, hb_member(g, l->tree.parent), seg_at(l, i),
                      seg_len(l, i));
        l->mark[i % WINDOW] = s->count;
    }
}

/* What comes next is of this lane, and needs the segment. */
static void wait_for_segment(struct hb_sched *s, const struct lane *l,
                             size_t i)
{
    int mark = l->mark[i % WINDOW];

    s->stream = l->stream;
    s->after = mark > s->after ? mark : s->after;
}

static void pass_down(struct hb_sched *s, const struct hb_group *g,
                      struct lane *l, size_t i, int local_root)
{
    size_t bytes = seg_len(l, i);
    if (bytes == 0) {
        return;
    }
    wait_for_segment(s, l, i);
    for (int j = 0; j < 2; j++) {
        if (l->tree.child[j] >= 0) {
            hb_sched_send(s, hb_member(g, l->tree.child[j]), seg_at(l, i),
                          bytes);
        }
    }
    if (l->tree.parent < 0) {
        l->mark[i % WINDOW] = s->count;
    }
    post_down(s, g, l, i + WINDOW);
    if (local_root >= 0) {
        hb_sched_local(s, HPCBOOT_COLL_BCAST, local_root, seg_at(l, i),
                       seg_at(l, i), bytes);
    }
}

static void tree_bcast(struct hb_sched *s, const struct hb_group *g, int root,
                       struct hb_at at, size_t bytes,
                       const struct hb_choice *how, int local_root)
{
    struct lane lane[2];
    int n = make_lanes(lane, g, root, at, bytes, 1, how);
    for (size_t i = 0; i < WINDOW; i++) {
        for (int j = 0; j < n; j++) {
            lane[j].mark[i] = s->after;
            post_down(s, g, &lane[j], i);
        }
    }
    for (size_t i = 0; i < segments(&lane[n - 1]) ||
                       i < segments(&lane[0]); i++) {
        for (int j = 0; j < n; j++) {
            pass_down(s, g, &lane[j], i, local_root);
        }
    }
    s->stream = 0;
}

void hb_sched_bcast_local(struct hb_sched *s, struct hb_at at, size_t bytes,
                          const struct hb_choice *how, int local_root)
{
    struct hb_group alone = {NULL, 1, 0};
    struct lane lane[2];
    if (!in_segments(how)) {
        hb_sched_local(s, HPCBOOT_COLL_BCAST, local_root, at, at, bytes);
        return;
    }
    int n = make_lanes(lane, &alone, 0, at, bytes, 1, how);
    for (size_t i = 0; i < segments(&lane[n - 1]) ||
                       i < segments(&lane[0]); i++) {
        for (int j = 0; j < n; j++) {
            pass_down(s, &alone, &lane[j], i, local_root);
        }
    }
    s->stream = 0;
}

static void post_up(struct hb_sched *s, const struct hb_group *g,
                    struct lane *l, size_t i)
{
    size_t bytes = seg_len(l, i);
    s->stream = l->stream;
    for (size_t j = 0; j < 2 && bytes > 0; j++) {
        if (l->tree.child[j] >= 0) {
            hb_sched_recv(s, hb_member(g, l->tree.child[j]),
                          hb_plus(l->room,
                                  (i % WINDOW * 2 + j) * l->segment), bytes);
            l->mark[i % WINDOW] = s->count;
        }
    }
}

static void pass_up(struct hb_sched *s, const struct hb_group *g,
                    struct lane *l, size_t i)
{
    size_t bytes = seg_len(l, i);
    if (bytes == 0) {
        return;
    }
    wait_for_segment(s, l, i);
    struct hb_at now = hb_plus(l->own, i * l->segment);
    for (size_t j = 0; j < 2; j++) {
        if (l->tree.child[j] >= 0) {
            hb_sched_fold(s, HB_STEP_FOLD_R,
                          hb_plus(l->room,
                                  (i % WINDOW * 2 + j) * l->segment),
                          now, seg_at(l, i), bytes);
            now = seg_at(l, i);
        }
    }
    if (l->tree.parent >= 0) {
        hb_sched_send(s, hb_member(g, l->tree.parent), now, bytes);
    } else {
        hb_sched_copy(s, now, seg_at(l, i), bytes);
    }
    if (l->tree.child[0] < 0 && l->tree.child[1] < 0) {
        l->mark[i % WINDOW] = s->count;
    }
    post_up(s, g, l, i + WINDOW);
}

static void tree_reduce(struct hb_sched *s, const struct hb_group *g,
                        int root, const struct hb_vector *v,
                        const struct hb_choice *how)
{
    struct lane lane[2];
    int n = make_lanes(lane, g, root, v->at, v->bytes, v->esize, how);
    for (int j = 0; j < n; j++) {
        lane[j].own = hb_plus(hb_vector_own(v), lane[j].at.off - v->at.off);
        if (lane[j].tree.child[0] >= 0 || lane[j].tree.child[1] >= 0) {
            lane[j].room = hb_sched_room(s, 2 * WINDOW * lane[j].segment);
        }
    }
    for (size_t i = 0; i < WINDOW; i++) {
        for (int j = 0; j < n; j++) {
            lane[j].mark[i] = s->after;
            post_up(s, g, &lane[j], i);
        }
    }
    for (size_t i = 0; i < segments(&lane[n - 1]) ||
                       i < segments(&lane[0]); i++) {
        for (int j = 0; j < n; j++) {
            pass_up(s, g, &lane[j], i);
        }
    }
    s->stream = 0;
}

/* ---- by choice ---- */

void hb_sched_bcast(struct hb_sched *s, const struct hb_group *g, int root,
                    struct hb_at at, size_t bytes,
                    const struct hb_choice *how, int local_root)
{
    hb_sched_note(s, HPCBOOT_COLL_BCAST, g->size, bytes, how);
    if (in_segments(how)) {
        tree_bcast(s, g, root, at, bytes, how, local_root);
        return;
    }
    if (how->alg == HB_ALG_LINEAR) {
        hb_knomial_bcast(s, g, root, at, bytes, g->size);
    } else {
        hb_leaf_bcast(s, g, root, at, bytes, hb_radix(how));
    }
    if (local_root >= 0) {
        hb_sched_local(s, HPCBOOT_COLL_BCAST, local_root, at, at, bytes);
    }
}

void hb_sched_reduce(struct hb_sched *s, const struct hb_group *g, int root,
                     const struct hb_vector *v, const struct hb_choice *how)
{
    hb_sched_note(s, HPCBOOT_COLL_REDUCE, g->size, v->bytes, how);
    if (in_segments(how) && !v->ordered) {
        tree_reduce(s, g, root, v, how);
    } else {
        hb_leaf_reduce(s, g, root, v, hb_radix(how));
    }
}
