/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The table in which an engine (fence.c) finds its fences by their keys, and
 * what may become one. */
#include "config.h"

#include "lib/rdzv/fence_impl.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/jobmap.h"

static uint64_t hash_of(struct hb_bytes key)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    const unsigned char *p = key.data;

    for (size_t i = 0; i < key.len; i++) {
        h = (h ^ p[i]) * 0x100000001b3u;
    }
    return h;
}

struct fence *hb_fence_find(struct fence *const *table, struct hb_bytes key)
{
    uint64_t hash = hash_of(key);
    struct fence *f = table[hash % HB_FENCE_BUCKETS];

    while (f != NULL &&
           (f->hash != hash || f->key.len != key.len ||
            memcmp(f->key.data, key.data, key.len) != 0)) {
        f = f->next;
    }
    return f;
}

void hb_fence_link(struct fence **table, struct fence *f)
{
    f->hash = hash_of(f->key);
    f->next = table[f->hash % HB_FENCE_BUCKETS];
    table[f->hash % HB_FENCE_BUCKETS] = f;
}

void hb_fence_unlink(struct fence **table, struct fence *f)
{
    struct fence **at = &table[f->hash % HB_FENCE_BUCKETS];

    while (*at != f) {
        at = &(*at)->next;
    }
    *at = f->next;
}

void hb_fence_free(struct fence *f)
{
    free((void *)f->key.data);
    free(f->nodes);
    free(f->edges);
    hb_buf_destroy(&f->data);
    free(f);
}

int hb_fence_names(const uint32_t *nodes, uint32_t n_nodes, uint32_t node)
{
    for (uint32_t i = 0; i < n_nodes; i++) {
        if (nodes[i] == node) {
            return 1;
        }
    }
    return 0;
}

int hb_fence_check(struct hb_bytes key, const uint32_t *nodes,
                   uint32_t n_nodes, struct hpcboot_error *err)
{
    if (key.len == 0 || key.len > HB_FENCE_KEY_MAX) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "fence: a key of %zu bytes (1 to %u are allowed)",
                       key.len, HB_FENCE_KEY_MAX);
    }
    if (n_nodes == 0 || n_nodes > HB_MAX_NODES) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "fence: %u participants (1 to %u are allowed)",
                       n_nodes, HB_MAX_NODES);
    }
    for (uint32_t i = 0; i < n_nodes; i++) {
        if (nodes[i] >= HB_MAX_NODES || (i > 0 && nodes[i] <= nodes[i - 1])) {
            return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                           "fence: participant %u of the list (node %u) is "
                           "out of order or range", i, nodes[i]);
        }
    }
    return HPCBOOT_OK;
}

void hb_fence_charge(struct fence *f, size_t *bytes)
{
    size_t now = sizeof(*f) + f->key.len + f->n_nodes * sizeof(*f->nodes) +
                 f->n_edges + f->data.len;

    *bytes += now - f->charged;
    f->charged = now;
}

void hb_fence_drop(struct fence *f, uint32_t node)
{
    struct hb_buf had = f->data, view;
    struct hb_bytes blob;
    uint32_t of;

    hb_buf_init(&f->data, HB_FENCE_DATA_MAX);
    hb_buf_view(&view, had.data, had.len);
    while (hb_fence_data_next(&view, &of, &blob) > 0) {
        if (of != node) {
            hb_buf_put_u32(&f->data, of);
            hb_buf_put_blob(&f->data, blob.data, blob.len);
        }
    }
    hb_buf_destroy(&had);
}
