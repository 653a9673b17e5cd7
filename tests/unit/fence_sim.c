/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* See fence_sim.h. */
#include "config.h"

#include "tests/unit/fence_sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/str.h"

struct hb_bytes text_bytes(const char *text)
{
    return (struct hb_bytes){text, strlen(text)};
}

static void append(struct message **list, struct message *m)
{
    while (*list != NULL) {
        list = &(*list)->next;
    }
    *list = m;
}

static struct message *message(struct hb_bytes key, int status,
                               struct hb_bytes data)
{
    struct message *m = hb_xcalloc(1, sizeof(*m));

    m->key = key.data != NULL ? hb_xstrndup(key.data, key.len) : NULL;
    m->status = status;
    m->data = hb_xmalloc(data.len + 1);
    m->len = data.len;
    if (data.len > 0) {
        memcpy(m->data, data.data, data.len);
    }
    return m;
}

static void give_nodes(struct message *m, const uint32_t *nodes, uint32_t n)
{
    m->n_nodes = n;
    m->nodes = hb_xmalloc(n * sizeof(*nodes));
    memcpy(m->nodes, nodes, n * sizeof(*nodes));
}

static struct message *copy(const struct message *m)
{
    struct message *c = message(text_bytes(m->key), m->status,
                                (struct hb_bytes){m->data, m->len});

    give_nodes(c, m->nodes, m->n_nodes);
    return c;
}

static void message_free(struct message *m)
{
    free(m->key);
    free(m->nodes);
    free(m->data);
    free(m);
}

static void on_up(void *arg, struct hb_bytes key, const uint32_t *nodes,
                  uint32_t n_nodes, struct hb_bytes data)
{
    struct node *node = arg;
    struct message *m = message(key, 0, data);

    give_nodes(m, nodes, n_nodes);
    append(&node->up, m);
    append(&node->asked, copy(m));
    node->sim->ups += node->parent == HB_FENCE_ROOT;
}

static void on_down(void *arg, uint32_t child, struct hb_bytes key,
                    int status, struct hb_bytes data)
{
    struct node *node = arg;

    append(&node->sim->node[child].down, message(key, status, data));
}

static void blob_of(uint32_t node, int key, char out[32])
{
    snprintf(out, 32, "node %u key %d", node, key);
}

static void on_done(void *arg, struct hb_bytes key, int status,
                    struct hb_bytes data)
{
    struct node *node = arg;
    int k = *(const char *)key.data - '0';
    struct outcome *o = &node->outcome[k];
    struct hb_buf view;
    struct hb_bytes blob;
    uint32_t from;
    char want[32];

    o->n++;
    o->status = status;
    hb_buf_view(&view, data.data, data.len);
    while (hb_fence_data_next(&view, &from, &blob) > 0) {
        blob_of(from, k, want);
        o->wrong |= from >= MAX_NODES || (o->from >> from & 1) ||
                    blob.len != strlen(want) ||
                    memcmp(blob.data, want, blob.len) != 0;
        o->from |= (uint64_t)1 << (from % MAX_NODES);
    }
    o->wrong |= hb_buf_failed(&view);
}

static const struct hb_fence_ops sim_ops = {on_up, on_down, on_done};

uint32_t subtree(const struct sim *s, uint32_t i, uint32_t *out)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < s->n; k++) {
        uint32_t at = k;

        while (at != i && at != HB_FENCE_ROOT) {
            at = s->node[at].parent;
        }
        if (at == i) {
            out[n++] = k;
        }
    }
    return n;
}

static struct node *parent_of(struct sim *s, const struct node *node)
{
    return node->parent == HB_FENCE_ROOT ? &s->root : &s->node[node->parent];
}

struct sim *sim_new(uint32_t n, uint32_t arity, unsigned seed)
{
    struct sim *s = hb_xcalloc(1, sizeof(*s));
    uint32_t list[MAX_NODES];

    s->n = n;
    s->arity = arity;
    s->seed = seed;
    s->root.sim = s;
    s->root.id = HB_FENCE_ROOT;
    assert_int_equal(hb_fence_engine_create(&s->root.engine, HB_FENCE_ROOT, 1,
                                            &sim_ops, &s->root, NULL), 0);
    for (uint32_t i = 0; i < n; i++) {
        struct node *node = &s->node[i];

        node->sim = s;
        node->id = i;
        node->parent = i < arity ? HB_FENCE_ROOT : i / arity - 1;
        assert_int_equal(hb_fence_engine_create(&node->engine, i, 0, &sim_ops,
                                                node, NULL), 0);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = subtree(s, i, list);

        assert_int_equal(
            hb_fence_set_child(parent_of(s, &s->node[i])->engine, i, list, k,
                               NULL), 0);
    }
    return s;
}

void drop_messages(struct message **list)
{
    while (*list != NULL) {
        struct message *m = *list;

        *list = m->next;
        message_free(m);
    }
}

void sim_free(struct sim *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        hb_fence_engine_destroy(s->node[i].engine);
        drop_messages(&s->node[i].up);
        drop_messages(&s->node[i].down);
        drop_messages(&s->node[i].asked);
    }
    hb_fence_engine_destroy(s->root.engine);
    free(s);
}

static struct message *pop(struct message **list)
{
    struct message *m = *list;

    *list = m->next;
    return m;
}

static void answered(struct node *node, const char *key)
{
    struct message **at = &node->asked;

    while (*at != NULL && strcmp((*at)->key, key) != 0) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        message_free(pop(at));
    }
}

/* The next to hear is below this one, on the way to the last. */
static void tell_next(struct sim *s, uint32_t by, const uint32_t *nodes,
                      uint32_t n, uint32_t last)
{
    uint32_t at = last;
    struct message *m;

    if (by == last) {
        return;
    }
    while (s->node[at].parent != by) {
        at = s->node[at].parent;
    }
    m = message((struct hb_bytes){NULL, 0}, 0, (struct hb_bytes){NULL, 0});
    m->last = last;
    give_nodes(m, nodes, n);
    append(&s->node[at].down, m);
}

static int take_down(struct node *node, const struct message *m,
                     struct hpcboot_error *err)
{
    if (m->key == NULL) {
        hb_fence_moved(node->engine, m->nodes, m->n_nodes);
        tell_next(node->sim, node->id, m->nodes, m->n_nodes, m->last);
        return 0;
    }
    answered(node, m->key);
    return hb_fence_from_parent(node->engine, text_bytes(m->key), m->status,
                                (struct hb_bytes){m->data, m->len}, err);
}

static void reach_directly(struct sim *s, uint32_t i)
{
    uint32_t list[MAX_NODES], n;

    s->node[i].parent = HB_FENCE_ROOT;
    n = subtree(s, i, list);
    assert_int_equal(hb_fence_set_child(s->root.engine, i, list, n, NULL), 0);
}

void sim_part(struct sim *s, uint32_t gone, int is_replaced)
{
    struct node *lost = &s->node[gone];
    uint32_t list[MAX_NODES], n = subtree(s, gone, list);

    tell_next(s, HB_FENCE_ROOT, list, n, lost->parent);
    for (uint32_t i = 0; i < s->n; i++) {
        struct node *child = &s->node[i];

        if (child->parent == gone) {
            drop_messages(&child->up);
            for (struct message *m = child->asked; m != NULL; m = m->next) {
                append(&child->up, copy(m));
            }
            reach_directly(s, i);
        }
    }
    drop_messages(&lost->up);
    drop_messages(&lost->down);
    drop_messages(&lost->asked);
    hb_fence_engine_destroy(lost->engine);
    assert_int_equal(hb_fence_engine_create(&lost->engine, gone, 0, &sim_ops,
                                            lost, NULL), 0);
    if (is_replaced) {
        reach_directly(s, gone);
    } else {
        hb_fence_node_lost(s->root.engine, gone);
    }
}

int sim_step(struct sim *s)
{
    uint32_t start = (uint32_t)rand_r(&s->seed) % s->n;
    struct hpcboot_error err;

    for (uint32_t k = 0; k < s->n; k++) {
        struct node *node = &s->node[(start + k) % s->n];
        int rc;

        if (node->up != NULL) {
            struct message *m = pop(&node->up);

            rc = hb_fence_from_child(parent_of(s, node)->engine, node->id,
                                     text_bytes(m->key), m->nodes, m->n_nodes,
                                     (struct hb_bytes){m->data, m->len}, &err);
            message_free(m);
        } else if (node->down != NULL) {
            struct message *m = pop(&node->down);

            rc = take_down(node, m, &err);
            message_free(m);
        } else {
            continue;
        }
        if (rc < 0) {
            print_error("%s\n", err.text);
            s->broken = 1;
        }
        return 1;
    }
    return 0;
}

void sim_run(struct sim *s)
{
    while (sim_step(s)) {
    }
    assert_int_equal(s->broken, 0);
}

static uint32_t members(uint64_t set, uint32_t *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < MAX_NODES; i++) {
        if (set >> i & 1) {
            out[n++] = i;
        }
    }
    return n;
}

int sim_join(struct sim *s, uint32_t node, int key, uint64_t set)
{
    uint32_t nodes[MAX_NODES], n = members(set, nodes);
    char name[8], blob[32];

    snprintf(name, sizeof(name), "%d", key);
    blob_of(node, key, blob);
    return hb_fence_join(s->node[node].engine, text_bytes(name), nodes, n,
                         text_bytes(blob), NULL);
}

uint64_t all_of(const struct sim *s)
{
    return s->n == MAX_NODES ? ~(uint64_t)0 : ((uint64_t)1 << s->n) - 1;
}

void assert_complete(struct sim *s, int key, uint64_t set)
{
    for (uint32_t i = 0; i < s->n; i++) {
        struct outcome *o = &s->node[i].outcome[key];

        assert_int_equal(o->n, set >> i & 1);
        if (o->n > 0) {
            assert_int_equal(o->status, HPCBOOT_OK);
            assert_int_equal(o->wrong, 0);
            assert_true(o->from == set);
        }
    }
}

void assert_nothing_open(struct sim *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        assert_int_equal(hb_fence_open_count(s->node[i].engine), 0);
    }
    assert_int_equal(hb_fence_open_count(s->root.engine), 0);
}

void forget(struct sim *s, int key)
{
    for (uint32_t i = 0; i < s->n; i++) {
        memset(&s->node[i].outcome[key], 0, sizeof(struct outcome));
    }
}
