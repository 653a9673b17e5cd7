/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Growth of the tree of agents.
 *
 * Two rings: hosts that wait for a login, and parents that have room for one.
 * The next login takes the first of each; the parent goes to the end of its
 * ring as long as it has room, so that work spreads evenly. The launcher is
 * parent number n and stands in the same ring.
 *
 * The launcher's room counts only children that can start others, for those
 * are what a width is for: where no agent has a key, it starts all hosts
 * itself. When nothing is under way and nobody has room, it goes beyond its
 * width rather than stop.
 *
 * Edges are kept as lists of siblings, so that what hangs below a lost host is
 * found without looking at all hosts. */
#include "config.h"

#include "bin/job/grow.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

enum state { IDLE, WAITING, WAITING_DIRECT, STARTING, UP };

struct member {
    unsigned char state;
    unsigned char may_start; /* has what it takes to start others */
    unsigned char in_ring;   /* of parents with room */
    uint32_t parent;         /* while STARTING or UP; n is the launcher */
    uint32_t first_child, next_sibling, prev_sibling; /* NOBODY: none */
    uint32_t n_children;     /* STARTING and UP */
    uint32_t n_starters;     /* of them those that may start others, or may
                              * turn out to */
    uint32_t under_way;      /* logins */
};

#define NOBODY UINT32_MAX

struct ring { /* never fuller than its size */
    uint32_t *v, size, head, n;
};

struct hb_grow {
    struct hb_grow_limits limits;
    uint32_t n, under_way;
    struct member *m; /* [n + 1]; the last is the launcher */
    struct ring waiting, direct, parents;
};

static void ring_put(struct ring *r, uint32_t value)
{
    r->v[(r->head + r->n++) % r->size] = value;
}

static uint32_t ring_take(struct ring *r)
{
    uint32_t value = r->v[r->head];

    r->head = (r->head + 1) % r->size;
    r->n--;
    return value;
}

static void ring_make(struct ring *r, uint32_t size)
{
    r->size = size;
    r->v = hb_xcalloc(size, sizeof *r->v);
}

static int has_room(const struct hb_grow *g, uint32_t who)
{
    const struct member *m = &g->m[who];
    int is_root = who == g->n;

    if (!is_root && (m->state != UP || !m->may_start || g->limits.flat)) {
        return 0;
    }
    return m->under_way < (is_root ? g->limits.root_at_once
                                   : g->limits.at_once) &&
           (m->n_starters < g->limits.width ||
            (is_root && g->limits.flat));
}

static void offer(struct hb_grow *g, uint32_t who)
{
    if (!g->m[who].in_ring && has_room(g, who)) {
        g->m[who].in_ring = 1;
        ring_put(&g->parents, who);
    }
}

struct hb_grow *hb_grow_create(uint32_t n,
                               const struct hb_grow_limits *limits)
{
    struct hb_grow *g = hb_xcalloc(1, sizeof *g);

    g->n = n;
    g->limits = *limits;
    g->m = hb_xcalloc((size_t)n + 1, sizeof *g->m);
    for (uint32_t i = 0; i <= n; i++) {
        g->m[i].first_child = NOBODY;
    }
    ring_make(&g->waiting, n + 1);
    ring_make(&g->direct, n + 1);
    ring_make(&g->parents, n + 1);
    g->m[n].state = UP;
    g->m[n].may_start = 1;
    offer(g, n);
    return g;
}

void hb_grow_destroy(struct hb_grow *g)
{
    if (g != NULL) {
        free(g->waiting.v);
        free(g->direct.v);
        free(g->parents.v);
        free(g->m);
        free(g);
    }
}

void hb_grow_put(struct hb_grow *g, uint32_t host, int direct)
{
    struct member *m = &g->m[host];

    if (m->state == IDLE) {
        m->state = direct ? WAITING_DIRECT : WAITING;
        ring_put(direct ? &g->direct : &g->waiting, host);
    }
}

/* A parent with room; stale entries of the ring fall out here. */
static uint32_t take_parent(struct hb_grow *g)
{
    while (g->parents.n > 0) {
        uint32_t who = ring_take(&g->parents);

        g->m[who].in_ring = 0;
        if (has_room(g, who)) {
            return who;
        }
    }
    return g->under_way == 0 ? g->n : NOBODY;
}

/* Below a parent, first among its children. */
static void hang(struct hb_grow *g, uint32_t host, uint32_t parent)
{
    struct member *m = &g->m[host], *p = &g->m[parent];

    m->parent = parent;
    m->prev_sibling = NOBODY;
    m->next_sibling = p->first_child;
    if (p->first_child != NOBODY) {
        g->m[p->first_child].prev_sibling = host;
    }
    p->first_child = host;
    p->n_children++;
    p->n_starters += m->may_start;
}

static void unhang(struct hb_grow *g, uint32_t host)
{
    const struct member *m = &g->m[host];
    struct member *p = &g->m[m->parent];

    if (m->prev_sibling != NOBODY) {
        g->m[m->prev_sibling].next_sibling = m->next_sibling;
    } else {
        p->first_child = m->next_sibling;
    }
    if (m->next_sibling != NOBODY) {
        g->m[m->next_sibling].prev_sibling = m->prev_sibling;
    }
    p->n_children--;
    p->n_starters -= m->may_start;
}

static void join(struct hb_grow *g, uint32_t host, uint32_t parent)
{
    g->m[host].state = STARTING;
    g->m[host].may_start = 1; /* until it is known better */
    hang(g, host, parent);
    g->m[parent].under_way++;
    g->under_way++;
}

static void login_over(struct hb_grow *g, uint32_t host)
{
    if (g->m[host].state == STARTING) {
        g->m[g->m[host].parent].under_way--;
        g->under_way--;
    }
}

/* Takes a host that has no children off its parent. */
static void part(struct hb_grow *g, uint32_t host)
{
    struct member *m = &g->m[host];

    login_over(g, host);
    unhang(g, host);
    m->state = IDLE;
    m->may_start = 0;
    offer(g, m->parent);
}

int hb_grow_next(struct hb_grow *g, uint32_t *host_out, uint32_t *parent_out)
{
    uint32_t parent = g->n;

    if (g->direct.n > 0 && g->m[g->n].under_way < g->limits.root_at_once) {
        *host_out = ring_take(&g->direct);
    } else if (g->waiting.n > 0) {
        parent = take_parent(g);
        if (parent == NOBODY) {
            return 0;
        }
        *host_out = ring_take(&g->waiting);
    } else {
        return 0;
    }
    join(g, *host_out, parent);
    offer(g, parent);
    *parent_out = parent == g->n ? HB_GROW_ROOT : parent;
    return 1;
}

void hb_grow_forbid(struct hb_grow *g, uint32_t host)
{
    struct member *m = &g->m[host];

    if (m->may_start && (m->state == STARTING || m->state == UP)) {
        m->may_start = 0;
        g->m[m->parent].n_starters--;
        offer(g, m->parent);
    }
}

void hb_grow_ready(struct hb_grow *g, uint32_t host, int parent)
{
    login_over(g, host);
    g->m[host].state = UP;
    if (!parent) {
        hb_grow_forbid(g, host);
    }
    offer(g, host);
    offer(g, g->m[host].parent);
}

int hb_grow_failed(struct hb_grow *g, uint32_t host)
{
    int by_agent = g->m[host].parent != g->n;

    if (g->m[host].state != STARTING) {
        return 0;
    }
    part(g, host);
    return by_agent;
}

void hb_grow_lost(struct hb_grow *g, uint32_t host,
                  void (*gone)(void *arg, uint32_t host), void *arg)
{
    uint32_t at = host;

    if (g->m[host].state != STARTING && g->m[host].state != UP) {
        return;
    }
    for (;;) {
        uint32_t up;

        while (g->m[at].first_child != NOBODY) {
            at = g->m[at].first_child;
        }
        up = g->m[at].parent;
        part(g, at);
        gone(arg, at);
        if (at == host) {
            return;
        }
        at = up;
    }
}

void hb_grow_lost_alone(struct hb_grow *g, uint32_t host,
                        void (*left)(void *arg, uint32_t host, int is_up),
                        void *arg)
{
    struct member *m = &g->m[host];

    if (m->state != STARTING && m->state != UP) {
        return;
    }
    while (m->first_child != NOBODY) {
        uint32_t child = m->first_child;
        int is_up = g->m[child].state == UP;

        if (is_up) {
            unhang(g, child);
            hang(g, child, g->n);
        } else {
            part(g, child);
        }
        left(arg, child, is_up);
    }
    part(g, host);
}

uint32_t hb_grow_parent(const struct hb_grow *g, uint32_t host)
{
    const struct member *m = &g->m[host];
    int below = m->state == STARTING || m->state == UP;

    return below && m->parent != g->n ? m->parent : HB_GROW_ROOT;
}

uint32_t hb_grow_children(const struct hb_grow *g, uint32_t host)
{
    return g->m[host == HB_GROW_ROOT ? g->n : host].n_children;
}

uint32_t hb_grow_depth(const struct hb_grow *g)
{
    uint32_t deepest = 0;

    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t depth = 0;

        if (g->m[i].state != UP) {
            continue;
        }
        for (uint32_t at = i; at != g->n; at = g->m[at].parent) {
            depth++;
        }
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}
