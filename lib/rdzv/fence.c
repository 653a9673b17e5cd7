/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Fence engine: one node's view of all fences under way.
 *
 * A fence comes into being with the first contribution seen, be it this
 * node's own or a child's, and every contribution carries the list of
 * participants. From the list follows whom this node must hear: itself, and
 * each child edge that reaches a participant. Each of these parties goes
 * through
 *
 *     NOT_INVOLVED            or            EXPECTED -> JOINED -> ANSWERED
 *
 * When nobody is EXPECTED any more, the engine passes the collected data up,
 * or, where it reaches all participants itself, answers the fence at once.
 *
 * A fence that fails is kept until every expected party has joined and was
 * given the failure: a late contribution must find its answer, and nobody is
 * told of a fence before he has joined it.
 *
 * Invariants: one down per child contribution, one done per own contribution;
 * a fence is out of the table before the last callback about it is made, so
 * that the callback may begin the next one with the same key.
 *
 * It knows no ranks, no clock and no descriptors, and never looks into data
 * beyond the node numbers. */
#include "config.h"

#include "lib/rdzv/fence.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/jobmap.h"
#include "lib/base/str.h"
#include "lib/rdzv/fence_impl.h"

/* Above the edge number in `owner`. MOVED: it was reached in another way
 * before. */
#define LOST 0x80000000u
#define MOVED 0x40000000u
#define OVER 0x20000000u /* it is through, and may go */
#define ANEW 0x10000000u /* what came of it in another way before is void */
#define FLAGS (LOST | MOVED | OVER | ANEW)

/* Of fences that are open: one of the largest, and one that is too large. */
#define OPEN_MAX_BYTES (2 * (size_t)HB_FENCE_DATA_MAX)

struct hb_fence_engine {
    uint32_t self;
    int is_root;
    struct hb_fence_ops ops;
    void *arg;
    uint32_t *edges; /* [n_edges] children */
    uint32_t n_edges;
    uint32_t *owner; /* [n_owner] by node: 0 or edge number + 1, | flags */
    uint32_t n_owner;
    size_t bytes; /* that open fences take */
    struct fence *table[HB_FENCE_BUCKETS];
};

int hb_fence_engine_create(struct hb_fence_engine **out, uint32_t self,
                           int is_root, const struct hb_fence_ops *ops,
                           void *arg, struct hpcboot_error *err)
{
    if (self != HB_FENCE_ROOT && self >= HB_MAX_NODES) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT,
                       "fence engine: node %u is beyond the limit of %u",
                       self, HB_MAX_NODES);
    }
    struct hb_fence_engine *e = hb_xcalloc(1, sizeof(*e));
    e->self = self;
    e->is_root = is_root;
    e->ops = *ops;
    e->arg = arg;
    *out = e;
    return HPCBOOT_OK;
}

void hb_fence_engine_destroy(struct hb_fence_engine *e)
{
    if (e == NULL) {
        return;
    }
    for (size_t i = 0; i < HB_FENCE_BUCKETS; i++) {
        struct fence *next;

        for (struct fence *f = e->table[i]; f != NULL; f = next) {
            next = f->next;
            hb_fence_free(f);
        }
    }
    free(e->edges);
    free(e->owner);
    free(e);
}

/* ---- who reaches what ------------------------------------------------ */

static void owner_room(struct hb_fence_engine *e, uint32_t node)
{
    if (node < e->n_owner) {
        return;
    }
    uint32_t n = e->n_owner * 2 > node ? e->n_owner * 2 : node + 1;

    e->owner = hb_xrealloc(e->owner, n * sizeof(*e->owner));
    memset(e->owner + e->n_owner, 0, (n - e->n_owner) * sizeof(*e->owner));
    e->n_owner = n;
}

static int has(const struct hb_fence_engine *e, uint32_t node, uint32_t f)
{
    return node < e->n_owner && (e->owner[node] & f) != 0;
}

/* Edge number that reaches a node, or -1. */
static int64_t edge_of_node(const struct hb_fence_engine *e, uint32_t node)
{
    return node < e->n_owner ? (int64_t)(e->owner[node] & ~FLAGS) - 1
                             : -1;
}

static int64_t edge_of_child(const struct hb_fence_engine *e, uint32_t child)
{
    for (uint32_t i = 0; i < e->n_edges; i++) {
        if (e->edges[i] == child) {
            return i;
        }
    }
    return -1;
}

/* To this fence. */
static int is_lost(const struct hb_fence_engine *e, const struct fence *f,
                   uint32_t node)
{
    return has(e, node, LOST) ||
           (e->ops.is_another != NULL &&
            e->ops.is_another(e->arg, f->key, node));
}

/* Works out from whom a fence must still hear. */
static void fence_refresh(const struct hb_fence_engine *e, struct fence *f)
{
    if (f->n_edges < e->n_edges) {
        f->edges = hb_xrealloc(f->edges, e->n_edges);
        memset(f->edges + f->n_edges, NOT_INVOLVED, e->n_edges - f->n_edges);
        f->n_edges = e->n_edges;
    }
    for (uint32_t i = 0; i < f->n_edges; i++) {
        if (f->edges[i] == EXPECTED) {
            f->edges[i] = NOT_INVOLVED;
        }
    }
    f->reaches_all = 1;
    for (uint32_t i = 0; i < f->n_nodes; i++) {
        int64_t edge = edge_of_node(e, f->nodes[i]);

        if (f->nodes[i] == e->self) {
            f->self = f->self == NOT_INVOLVED ? EXPECTED : f->self;
        } else if (edge < 0) {
            f->reaches_all = 0;
        } else if (f->edges[edge] == NOT_INVOLVED &&
                   !is_lost(e, f, f->nodes[i])) {
            f->edges[edge] = EXPECTED;
        }
    }
}

static struct fence *fence_new(struct hb_fence_engine *e, struct hb_bytes key,
                               const uint32_t *nodes, uint32_t n_nodes)
{
    struct fence *f = hb_xcalloc(1, sizeof(*f));
    void *copy = hb_xmalloc(key.len + 1);

    memcpy(copy, key.data, key.len);
    f->key.data = copy;
    f->key.len = key.len;
    f->nodes = hb_xmalloc(n_nodes * sizeof(*nodes));
    memcpy(f->nodes, nodes, n_nodes * sizeof(*nodes));
    f->n_nodes = n_nodes;
    hb_buf_init(&f->data, HB_FENCE_DATA_MAX);
    fence_refresh(e, f);
    for (uint32_t i = 0; i < n_nodes; i++) {
        f->status = is_lost(e, f, nodes[i]) ? HPCBOOT_ERR_PEER_DEAD : f->status;
    }
    if (f->status == 0 && e->is_root && !f->reaches_all) {
        f->status = HPCBOOT_ERR_NOT_FOUND;
    }
    hb_fence_link(e->table, f);
    return f;
}

/* ---- progress --------------------------------------------------------- */

static int anybody(const struct fence *f, enum party state)
{
    return f->self == state ||
           (f->n_edges > 0 && memchr(f->edges, state, f->n_edges) != NULL);
}

/* Gives everyone who has joined his answer. */
static void answer(struct hb_fence_engine *e, struct fence *f, int status,
                   struct hb_bytes data)
{
    for (uint32_t i = 0; i < f->n_edges; i++) {
        if (f->edges[i] == JOINED) {
            f->edges[i] = ANSWERED;
            e->ops.down(e->arg, e->edges[i], f->key, status, data);
        }
    }
    if (f->self == JOINED) {
        f->self = ANSWERED;
        e->ops.done(e->arg, f->key, status, data);
    }
}

static void finish(struct hb_fence_engine *e, struct fence *f, int status,
                   struct hb_bytes data)
{
    hb_fence_unlink(e->table, f);
    e->bytes -= f->charged;
    answer(e, f, status, data);
    hb_fence_free(f);
}

static void advance_failed(struct hb_fence_engine *e, struct fence *f)
{
    struct hb_bytes none = {NULL, 0};

    if (f->busy) {
        return; /* a callback of answer() has come back here */
    }
    hb_buf_destroy(&f->data);
    hb_fence_charge(f, &e->bytes);
    f->busy = 1;
    while (anybody(f, JOINED) && anybody(f, EXPECTED)) {
        answer(e, f, f->status, none);
    }
    f->busy = 0;
    if (!anybody(f, EXPECTED)) {
        finish(e, f, f->status, none);
    }
}

static void advance(struct hb_fence_engine *e, struct fence *f)
{
    f->dirty = 0;
    if (hb_buf_failed(&f->data)) {
        f->status = HPCBOOT_ERR_LIMIT;
    }
    if (f->status != 0) {
        advance_failed(e, f);
        return;
    }
    if (f->sent || anybody(f, EXPECTED)) {
        return;
    }

    struct hb_bytes data = {f->data.data, f->data.len};

    if (f->reaches_all) {
        finish(e, f, HPCBOOT_OK, data);
        return;
    }
    /* The collection is on its way and comes back from above: no copy of it
     * is needed here. */
    struct hb_buf taken = f->data;

    hb_buf_init(&f->data, HB_FENCE_DATA_MAX);
    hb_fence_charge(f, &e->bytes);
    f->sent = 1;
    e->ops.up(e->arg, f->key, f->nodes, f->n_nodes, data);
    hb_buf_destroy(&taken);
}

/* Advances all that is marked. A callback may add or remove fences, so the
 * search begins anew after each. */
static void advance_dirty(struct hb_fence_engine *e)
{
    for (size_t i = 0; i < HB_FENCE_BUCKETS; i++) {
        struct fence *f = e->table[i];

        while (f != NULL) {
            if (f->dirty) {
                advance(e, f);
                f = e->table[i];
            } else {
                f = f->next;
            }
        }
    }
}

/* Nodes are reached in another way than before. */
static void refresh_all(struct hb_fence_engine *e)
{
    for (size_t i = 0; i < HB_FENCE_BUCKETS; i++) {
        for (struct fence *f = e->table[i]; f != NULL; f = f->next) {
            fence_refresh(e, f);
            f->dirty = 1;
        }
    }
    advance_dirty(e);
}

int hb_fence_set_child(struct hb_fence_engine *e, uint32_t child,
                       const uint32_t *subtree, uint32_t n,
                       struct hpcboot_error *err)
{
    int64_t edge = edge_of_child(e, child);

    for (uint32_t i = 0; i < n; i++) {
        if (subtree[i] >= HB_MAX_NODES || subtree[i] == e->self) {
            return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                           "fence engine of node %u: node %u cannot be "
                           "below child %u", e->self, subtree[i], child);
        }
    }
    if (edge < 0) {
        edge = e->n_edges++;
        e->edges = hb_xrealloc(e->edges, e->n_edges * sizeof(*e->edges));
        e->edges[edge] = child;
    }
    for (uint32_t i = 0; i < e->n_owner; i++) {
        if (edge_of_node(e, i) == edge) {
            e->owner[i] &= FLAGS;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        owner_room(e, subtree[i]);
        if (edge_of_node(e, subtree[i]) >= 0) {
            e->owner[subtree[i]] |= MOVED;
        }
        e->owner[subtree[i]] &= MOVED | ANEW;
        e->owner[subtree[i]] |= (uint32_t)edge + 1;
    }
    refresh_all(e);
    return HPCBOOT_OK;
}

void hb_fence_forget(struct hb_fence_engine *e, uint32_t child, uint32_t node)
{
    int64_t edge = edge_of_child(e, child);

    owner_room(e, node);
    e->owner[node] |= ANEW;
    for (size_t i = 0; i < HB_FENCE_BUCKETS; i++) {
        for (struct fence *f = e->table[i]; f != NULL; f = f->next) {
            if (f->status != 0 || !hb_fence_names(f->nodes, f->n_nodes, node)) {
                continue;
            }
            if (edge >= 0 && edge < f->n_edges && f->edges[edge] == JOINED) {
                f->edges[edge] = NOT_INVOLVED; /* nobody is there to answer */
            }
            hb_fence_drop(f, node);
        }
    }
}

void hb_fence_moved(struct hb_fence_engine *e, const uint32_t *nodes,
                    uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (edge_of_node(e, nodes[i]) >= 0) {
            e->owner[nodes[i]] = MOVED;
        }
    }
    refresh_all(e);
}

/* ---- contributions ---------------------------------------------------- */

/* The fence of that key, made on the way if it is new. */
static int fence_get(struct hb_fence_engine *e, struct hb_bytes key,
                     const uint32_t *nodes, uint32_t n_nodes,
                     struct fence **out, struct hpcboot_error *err)
{
    int rc = hb_fence_check(key, nodes, n_nodes, err);

    if (rc < 0) {
        return rc;
    }
    struct fence *f = hb_fence_find(e->table, key);

    if (f == NULL) {
        f = fence_new(e, key, nodes, n_nodes);
    } else if (f->n_nodes != n_nodes ||
               memcmp(f->nodes, nodes, n_nodes * sizeof(*nodes)) != 0) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "fence: two nodes name different participants (%u "
                       "and %u of them) for the same fence",
                       f->n_nodes, n_nodes);
    }
    *out = f;
    return HPCBOOT_OK;
}

int hb_fence_join(struct hb_fence_engine *e, struct hb_bytes key,
                  const uint32_t *nodes, uint32_t n_nodes,
                  struct hb_bytes data, struct hpcboot_error *err)
{
    struct fence *f;
    int rc;

    if (!hb_fence_names(nodes, n_nodes, e->self)) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "fence: node %u joins a fence without being one of "
                       "its participants", e->self);
    }
    rc = fence_get(e, key, nodes, n_nodes, &f, err);
    if (rc < 0) {
        return rc;
    }
    if (f->self != EXPECTED) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "fence: node %u contributes twice", e->self);
    }
    f->self = JOINED;
    if (data.len > 0 && f->status == 0) {
        hb_buf_put_u32(&f->data, e->self);
        hb_buf_put_blob(&f->data, data.data, data.len);
    }
    hb_fence_charge(f, &e->bytes);
    advance(e, f);
    return HPCBOOT_OK;
}

/* Checks that a child's data is of nodes that it reaches, or may have reached
 * before: it must not speak for others. */
static int check_parts(const struct hb_fence_engine *e, int64_t edge,
                       struct hb_bytes data, struct hpcboot_error *err)
{
    struct hb_buf view;
    struct hb_bytes blob;
    uint32_t node;
    int rc;

    hb_buf_view(&view, data.data, data.len);
    while ((rc = hb_fence_data_next(&view, &node, &blob)) > 0) {
        if (edge_of_node(e, node) != edge &&
            (node >= e->n_owner || !(e->owner[node] & MOVED))) {
            return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                           "fence: child %u speaks for node %u, which is "
                           "not below it", e->edges[edge], node);
        }
    }
    if (rc < 0) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "fence: malformed collection from child %u",
                       e->edges[edge]);
    }
    return HPCBOOT_OK;
}

/* Whether a child may have spoken before it knew that all it reaches of a
 * fence is lost, or reached in another way: it is answered, not blamed. */
static int spoke_before(const struct hb_fence_engine *e, const struct fence *f)
{
    int before = f->status != 0;

    for (uint32_t i = 0; i < f->n_nodes && !before; i++) {
        before = has(e, f->nodes[i], MOVED);
    }
    return before;
}

/* But for the parts that are void. */
static void put_parts(const struct hb_fence_engine *e, int64_t edge,
                      struct hb_bytes data, struct hb_buf *out)
{
    struct hb_buf view;
    struct hb_bytes blob;
    uint32_t node;

    hb_buf_view(&view, data.data, data.len);
    while (hb_fence_data_next(&view, &node, &blob) > 0) {
        if (!has(e, node, ANEW) || edge_of_node(e, node) == edge) {
            hb_buf_put_u32(out, node);
            hb_buf_put_blob(out, blob.data, blob.len);
        }
    }
}

/* A child may open as many as it likes, but not fill this process's memory. */
static int check_room(const struct hb_fence_engine *e, uint32_t child,
                      uint32_t n_nodes, struct hb_bytes data,
                      struct hpcboot_error *err)
{
    size_t more = data.len + n_nodes * sizeof(uint32_t);

    if (e->bytes + more > OPEN_MAX_BYTES) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT,
                       "fence: child %u contributes %zu bytes, and the fences "
                       "that others have not joined yet have %zu, of %zu that "
                       "they may have", child, more, e->bytes, OPEN_MAX_BYTES);
    }
    return HPCBOOT_OK;
}

int hb_fence_from_child(struct hb_fence_engine *e, uint32_t child,
                        struct hb_bytes key, const uint32_t *nodes,
                        uint32_t n_nodes, struct hb_bytes data,
                        struct hpcboot_error *err)
{
    int64_t edge = edge_of_child(e, child);
    struct fence *f;
    int rc;

    if (edge < 0) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "fence: node %u is not a child of node %u", child,
                       e->self);
    }
    rc = check_room(e, child, n_nodes, data, err);
    rc = rc == 0 ? check_parts(e, edge, data, err) : rc;
    if (rc == 0) {
        rc = fence_get(e, key, nodes, n_nodes, &f, err);
    }
    if (rc < 0) {
        return rc;
    }
    if (f->edges[edge] != EXPECTED &&
        !(f->edges[edge] == NOT_INVOLVED && spoke_before(e, f))) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "fence: child %u contributes %s", child,
                       f->edges[edge] == NOT_INVOLVED
                           ? "to a fence without participants below it"
                           : "twice");
    }
    f->edges[edge] = JOINED;
    if (f->status == 0 && !f->sent) {
        put_parts(e, edge, data, &f->data);
    }
    hb_fence_charge(f, &e->bytes);
    advance(e, f);
    return HPCBOOT_OK;
}

int hb_fence_from_parent(struct hb_fence_engine *e, struct hb_bytes key,
                         int status, struct hb_bytes data,
                         struct hpcboot_error *err)
{
    struct fence *f = hb_fence_find(e->table, key);

    if (f == NULL || !f->sent) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "fence: node %u gets an answer it did not ask for",
                       e->self);
    }
    finish(e, f, status, data);
    return HPCBOOT_OK;
}

void hb_fence_node_over(struct hb_fence_engine *e, uint32_t node)
{
    if (node < HB_MAX_NODES) {
        owner_room(e, node);
        e->owner[node] |= OVER;
    }
}

void hb_fence_node_lost(struct hb_fence_engine *e, uint32_t node)
{
    if (node >= HB_MAX_NODES || has(e, node, LOST | OVER)) {
        return;
    }
    owner_room(e, node);
    e->owner[node] |= LOST;
    for (size_t i = 0; i < HB_FENCE_BUCKETS; i++) {
        for (struct fence *f = e->table[i]; f != NULL; f = f->next) {
            /* What was passed up is decided above, alike for all. */
            if (f->sent || !hb_fence_names(f->nodes, f->n_nodes, node)) {
                continue;
            }
            f->status = f->status != 0 ? f->status : HPCBOOT_ERR_PEER_DEAD;
            fence_refresh(e, f);
            f->dirty = 1;
        }
    }
    advance_dirty(e);
}

int hb_fence_is_open(const struct hb_fence_engine *e, struct hb_bytes key)
{
    return hb_fence_find(e->table, key) != NULL;
}

size_t hb_fence_open_count(const struct hb_fence_engine *e)
{
    size_t n = 0;

    for (size_t i = 0; i < HB_FENCE_BUCKETS; i++) {
        for (const struct fence *f = e->table[i]; f != NULL; f = f->next) {
            n += f->status == 0;
        }
    }
    return n;
}
