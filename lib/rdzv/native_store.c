/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Three places: a list of what was put and is not visible; a table of what
 * is, one for all ranks, by "RANK/KEY"; and the names of what has been
 * committed and no fence has collected: a value that was replaced meanwhile
 * does not travel.
 *
 * A rank of another node is `known` when the table has all that it has
 * committed: in the beginning, when nobody has; after a fence that collected
 * from its node; after its node was asked. A fence that does not collect
 * makes it unknown, and so does every fence after one that was given up or
 * failed. */
#include "config.h"

#include "lib/rdzv/native_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/collected.h"
#include "lib/base/kvs.h"
#include "lib/base/str.h"
#include "lib/rdzv/native.h"

/* What all ranks of a job may put together, as a node holds it. */
#define STORE_MAX_BYTES ((size_t)1 << 30)
#define STAGED_MAX_BYTES ((size_t)256 << 20) /* not yet committed, one node */
#define REFUSED 2u /* in the place of 0 or 1: has it collected? */
#define FULL_KEY_SIZE (HB_NATIVE_KEY_MAX + 16)

struct staged {
    struct staged *next;
    uint32_t rank;
    int node_only;
    char *key;
    size_t len;
    unsigned char value[];
};

struct hb_native_store {
    const struct hb_jobmap *map;
    uint32_t node;
    struct staged *first, **end;
    size_t staged_bytes;
    struct hb_kvs *visible;   /* by "RANK/KEY" */
    struct hb_kvs *for_job;   /* of local ranks: "RANK/KEY" -> nothing */
    struct hb_kvs *uncollected; /* those of them */
    unsigned char *known;      /* [n_ranks] */
    int missed; /* a fence was given up: what is collected has gaps */
};

static void reset(struct hb_native_store *s)
{
    s->first = NULL;
    s->end = &s->first;
    s->staged_bytes = 0;
    (void)hb_kvs_create(&s->visible, STORE_MAX_BYTES, NULL);
    (void)hb_kvs_create(&s->for_job, STORE_MAX_BYTES, NULL);
    (void)hb_kvs_create(&s->uncollected, STORE_MAX_BYTES, NULL);
    memset(s->known, 1, s->map->n_ranks);
    s->missed = 0;
}

static void empty(struct hb_native_store *s)
{
    struct staged *next;

    for (struct staged *e = s->first; e != NULL; e = next) {
        next = e->next;
        free(e->key);
        free(e);
    }
    hb_kvs_destroy(s->visible);
    hb_kvs_destroy(s->for_job);
    hb_kvs_destroy(s->uncollected);
}

struct hb_native_store *hb_native_store_create(const struct hb_jobmap *map,
                                               uint32_t node)
{
    struct hb_native_store *s = hb_xcalloc(1, sizeof *s);

    s->map = map;
    s->node = node;
    s->known = hb_xcalloc(map->n_ranks, 1);
    reset(s);
    return s;
}

const struct hb_jobmap *hb_native_store_map(const struct hb_native_store *s)
{
    return s->map;
}

void hb_native_store_destroy(struct hb_native_store *s)
{
    if (s != NULL) {
        empty(s);
        free(s->known);
        free(s);
    }
}

void hb_native_store_clear(struct hb_native_store *s)
{
    empty(s);
    reset(s);
}

static const char *full_key(char buffer[FULL_KEY_SIZE], uint32_t rank,
                            const char *key)
{
    snprintf(buffer, FULL_KEY_SIZE, "%u/%s", rank, key);
    return buffer;
}

int hb_native_store_put(struct hb_native_store *s, uint32_t rank,
                        int node_only, const char *key, struct hb_bytes value,
                        struct hpcboot_error *err)
{
    size_t bytes = sizeof(struct staged) + strlen(key) + value.len;
    struct staged *e;

    if (s->staged_bytes + bytes > STAGED_MAX_BYTES) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT, "\"%s\": the ranks of this node "
                       "have put %zu MiB since the last fence, which is all "
                       "that may wait for one; call hpcboot_fence in between",
                       key, s->staged_bytes >> 20);
    }
    e = hb_xmalloc(sizeof *e + value.len);
    e->next = NULL;
    e->rank = rank;
    e->node_only = node_only;
    e->key = hb_xstrdup(key);
    e->len = value.len;
    if (value.len > 0) {
        memcpy(e->value, value.data, value.len);
    }
    *s->end = e;
    s->end = &e->next;
    s->staged_bytes += bytes;
    return 0;
}

/* Where there is no room for a value there is none: an older one is not what
 * its rank has put. */
static int make_visible(struct hb_native_store *s, const struct staged *e,
                        struct hpcboot_error *err)
{
    const struct hb_bytes value = {e->value, e->len}, nothing = {"", 0};
    char buffer[FULL_KEY_SIZE];
    const char *key = full_key(buffer, e->rank, e->key);
    int rc = hb_kvs_put(s->visible, key, value, HB_KVS_REPLACE, NULL);

    if (rc >= 0 && !e->node_only) {
        (void)hb_kvs_put(s->for_job, key, nothing, HB_KVS_REPLACE, NULL);
        (void)hb_kvs_put(s->uncollected, key, nothing, HB_KVS_REPLACE, NULL);
    } else {
        (void)hb_kvs_remove(s->for_job, key);
        (void)hb_kvs_remove(s->uncollected, key);
    }
    if (rc < 0) {
        (void)hb_kvs_remove(s->visible, key);
        hb_fail(err, rc, "there is no room for \"%s\" of rank %u: with it %s "
                "would hold more than %zu MiB of what the ranks have put",
                e->key, e->rank, s->map->node_names[s->node],
                STORE_MAX_BYTES >> 20);
    }
    return rc;
}

int hb_native_store_commit(struct hb_native_store *s, int node_only,
                           struct hpcboot_error *err)
{
    struct staged **at = &s->first;
    int status = 0;

    while (*at != NULL) {
        struct staged *e = *at;
        int rc;

        if (node_only && !e->node_only) {
            at = &e->next;
            continue;
        }
        rc = make_visible(s, e, status == 0 ? err : NULL);
        status = status == 0 && rc < 0 ? rc : status;
        s->staged_bytes -= sizeof *e + strlen(e->key) + e->len;
        *at = e->next;
        free(e->key);
        free(e);
    }
    s->end = at;
    return status;
}

int hb_native_store_get(const struct hb_native_store *s, uint32_t rank,
                        const char *key, struct hb_bytes *value_out)
{
    char buffer[FULL_KEY_SIZE];

    if (s->map->node_of_rank[rank] != s->node && !s->known[rank]) {
        return HPCBOOT_ERR_AGAIN;
    }
    return hb_kvs_get(s->visible, full_key(buffer, rank, key), value_out)
               ? 0 : HPCBOOT_ERR_NOT_FOUND;
}

/* {u32 rank, str key, blob value} of what is visible as "RANK/KEY". */
static void put_value(const struct hb_native_store *s, const char *name,
                      struct hb_buf *out)
{
    char *slash;
    uint32_t rank = (uint32_t)strtoul(name, &slash, 10);
    struct hb_bytes value;

    if (hb_kvs_get(s->visible, name, &value)) {
        hb_buf_put_u32(out, rank);
        hb_buf_put_str(out, slash + 1);
        hb_buf_put_blob(out, value.data, value.len);
    }
}

struct giving {
    const struct hb_native_store *s;
    struct hb_buf *data;
    const char *prefix; /* of the names that are given */
};

static void give_one(void *arg, const char *name, struct hb_bytes nothing)
{
    const struct giving *g = arg;

    if (hb_starts_with(name, g->prefix)) {
        put_value(g->s, name, g->data);
    }
}

void hb_native_store_collect(struct hb_native_store *s, int wanted,
                             struct hb_buf *data)
{
    struct giving all = {s, data, ""};

    hb_buf_put_u8(data, wanted && !s->missed);
    if (!wanted || s->missed) {
        return;
    }
    hb_kvs_each(s->uncollected, give_one, &all);
    hb_kvs_destroy(s->uncollected);
    (void)hb_kvs_create(&s->uncollected, STORE_MAX_BYTES, NULL);
}

void hb_native_store_refuse(int status, const char *why, struct hb_buf *data)
{
    hb_buf_put_u8(data, REFUSED);
    hb_buf_put_i32(data, status);
    hb_buf_put_str(data, why);
}

static int take_refusal(struct hb_native_store *s, struct hb_buf *part,
                        struct hpcboot_error *err)
{
    int32_t status = hb_buf_get_i32(part);
    const char *why = hb_buf_get_str(part, HB_NATIVE_TEXT_MAX);

    s->missed = 1;
    return hb_buf_failed(part) || status >= 0
               ? hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a fence is malformed")
               : hb_fail(err, status, "%s", why);
}

/* Values of the ranks of one node; its own are here already. */
static int take_values(struct hb_native_store *s, struct hb_buf *b,
                       uint32_t node, struct hpcboot_error *err)
{
    char buffer[FULL_KEY_SIZE];

    while (hb_buf_left(b) > 0) {
        uint32_t rank = hb_buf_get_u32(b);
        const char *key = hb_buf_get_str(b, HB_NATIVE_KEY_MAX);
        struct hb_bytes value = hb_buf_get_blob(b, HB_NATIVE_VALUE_MAX);
        int rc;

        if (hb_buf_failed(b) || rank >= s->map->n_ranks ||
            s->map->node_of_rank[rank] != node) {
            return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "the values of node %u "
                           "are malformed", node);
        }
        if (node == s->node) {
            continue;
        }
        rc = hb_kvs_put(s->visible, full_key(buffer, rank, key), value,
                        HB_KVS_REPLACE, err);
        if (rc < 0) {
            return rc;
        }
    }
    return 0;
}

/* 1 when that node has said all that it had to say, or 0. */
static int take_part(struct hb_native_store *s, uint32_t node,
                     struct hb_bytes blob, struct hpcboot_error *err)
{
    struct hb_buf part;
    unsigned kind;
    int rc;

    hb_buf_view(&part, blob.data, blob.len);
    kind = hb_buf_get_u8(&part);
    rc = kind == REFUSED ? take_refusal(s, &part, err)
                         : take_values(s, &part, node, err);
    return rc < 0 ? rc : kind == 1;
}

int hb_native_store_merge(struct hb_native_store *s, struct hb_bytes data,
                          struct hpcboot_error *err)
{
    unsigned char *collected = hb_xcalloc(s->map->n_nodes, 1);
    unsigned char *was_in = hb_xcalloc(s->map->n_nodes, 1);
    struct hb_bytes blob;
    struct hb_buf view;
    uint32_t node;
    int rc = 0, next;

    hb_buf_view(&view, data.data, data.len);
    while ((next = hb_fence_data_next(&view, &node, &blob)) != 0) {
        struct hpcboot_error *first = rc == 0 ? err : NULL;
        int kind;

        if (next < 0 || node >= s->map->n_nodes) {
            rc = hb_fail(first, HPCBOOT_ERR_PROTOCOL, "a fence is malformed");
            break;
        }
        kind = take_part(s, node, blob, first);
        was_in[node] = 1;
        collected[node] = kind == 1 && !s->missed;
        rc = rc == 0 && kind < 0 ? kind : rc;
    }
    s->missed |= rc < 0;
    for (uint32_t r = 0; r < s->map->n_ranks; r++) {
        uint32_t of = s->map->node_of_rank[r];

        s->known[r] = was_in[of] ? collected[of] : s->known[r];
    }
    free(was_in);
    free(collected);
    return rc;
}

void hb_native_store_miss(struct hb_native_store *s)
{
    s->missed = 1;
}

int hb_native_store_give(const struct hb_native_store *s, uint32_t rank,
                         struct hb_buf *data)
{
    char prefix[16];
    struct giving its = {s, data, prefix};

    snprintf(prefix, sizeof prefix, "%u/", rank);
    hb_kvs_each(s->for_job, give_one, &its);
    if (hb_buf_failed(data)) {
        hb_buf_clear(data);
        return HPCBOOT_ERR_LIMIT;
    }
    return 0;
}

int hb_native_store_take(struct hb_native_store *s, uint32_t rank,
                         struct hb_bytes data, struct hpcboot_error *err)
{
    struct hb_buf view;
    int rc;

    hb_buf_view(&view, data.data, data.len);
    rc = take_values(s, &view, s->map->node_of_rank[rank], err);
    if (rc == 0) {
        s->known[rank] = 1;
    }
    return rc;
}
