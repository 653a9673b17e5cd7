/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Key-value store: an array of buckets, each a list of pairs. Key and value
 * of a pair stand in one allocation behind its header:
 *
 *     struct pair | key NUL | value NUL
 *
 * The number of buckets is a power of two and doubles when there are as many
 * pairs, so a list stays short: a job of 100,000 ranks puts as many keys.
 *
 * It does not know where a pair came from, nor who may see it: visibility
 * (after a fence, to this node alone) is the business of its user. */
#include "config.h"

#include "lib/base/kvs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

#define FIRST_BUCKETS 64u

struct pair {
    struct pair *next;
    uint64_t hash;
    size_t key_len, value_len;
    char text[];
};

struct hb_kvs {
    struct pair **buckets;
    size_t n_buckets; /* a power of two */
    size_t count;
    size_t bytes, max_bytes;
};

/* FNV-1a: short keys, and nobody gains from colliding in his own job. */
static uint64_t hash_of(const char *key)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (; *key != '\0'; key++) {
        h = (h ^ (unsigned char)*key) * 0x100000001b3u;
    }
    return h;
}

int hb_kvs_create(struct hb_kvs **out, size_t max_bytes,
                  struct hpcboot_error *err)
{
    struct hb_kvs *kvs = hb_xcalloc(1, sizeof(*kvs));

    kvs->n_buckets = FIRST_BUCKETS;
    kvs->buckets = hb_xcalloc(kvs->n_buckets, sizeof(struct pair *));
    kvs->max_bytes = max_bytes;
    *out = kvs;
    return HPCBOOT_OK;
}

void hb_kvs_destroy(struct hb_kvs *kvs)
{
    if (kvs == NULL) {
        return;
    }
    for (size_t i = 0; i < kvs->n_buckets; i++) {
        struct pair *next;

        for (struct pair *p = kvs->buckets[i]; p != NULL; p = next) {
            next = p->next;
            free(p);
        }
    }
    free(kvs->buckets);
    free(kvs);
}

/* The link that points to the pair of `key`, or to the NULL where it would
 * be appended. */
static struct pair **find(const struct hb_kvs *kvs, const char *key,
                          uint64_t hash)
{
    struct pair **at = &kvs->buckets[hash & (kvs->n_buckets - 1)];

    while (*at != NULL &&
           ((*at)->hash != hash || strcmp((*at)->text, key) != 0)) {
        at = &(*at)->next;
    }
    return at;
}

static void grow(struct hb_kvs *kvs)
{
    size_t n = kvs->n_buckets * 2;
    struct pair **buckets = hb_xcalloc(n, sizeof(struct pair *));

    for (size_t i = 0; i < kvs->n_buckets; i++) {
        struct pair *next;

        for (struct pair *p = kvs->buckets[i]; p != NULL; p = next) {
            next = p->next;
            p->next = buckets[p->hash & (n - 1)];
            buckets[p->hash & (n - 1)] = p;
        }
    }
    free(kvs->buckets);
    kvs->buckets = buckets;
    kvs->n_buckets = n;
}

static void unlink_pair(struct hb_kvs *kvs, struct pair **at)
{
    struct pair *p = *at;

    *at = p->next;
    kvs->count--;
    kvs->bytes -= p->key_len + p->value_len;
    free(p);
}

static struct pair *new_pair(const char *key, size_t key_len, uint64_t hash,
                             struct hb_bytes value)
{
    struct pair *p = hb_xmalloc(sizeof(*p) + key_len + value.len + 2);

    p->next = NULL;
    p->hash = hash;
    p->key_len = key_len;
    p->value_len = value.len;
    memcpy(p->text, key, key_len + 1);
    if (value.len > 0) {
        memcpy(p->text + key_len + 1, value.data, value.len);
    }
    p->text[key_len + 1 + value.len] = '\0';
    return p;
}

int hb_kvs_put(struct hb_kvs *kvs, const char *key, struct hb_bytes value,
               enum hb_kvs_mode mode, struct hpcboot_error *err)
{
    size_t key_len = strlen(key), freed = 0;
    uint64_t hash = hash_of(key);
    struct pair **at = find(kvs, key, hash);

    if (*at != NULL && mode == HB_KVS_KEEP) {
        return 0;
    }
    if (*at != NULL) {
        freed = (*at)->key_len + (*at)->value_len;
    }
    if (value.len > kvs->max_bytes || key_len > kvs->max_bytes ||
        kvs->bytes - freed > kvs->max_bytes - value.len ||
        kvs->bytes - freed + value.len > kvs->max_bytes - key_len) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT,
                       "key %.64s: the key-value store is full (%zu of %zu "
                       "bytes, this pair has %zu)",
                       key, kvs->bytes, kvs->max_bytes, key_len + value.len);
    }

    /* The value may point into the pair it replaces. */
    struct pair *p = new_pair(key, key_len, hash, value);

    if (*at != NULL) {
        unlink_pair(kvs, at);
    }
    if (kvs->count >= kvs->n_buckets) {
        grow(kvs);
    }
    at = &kvs->buckets[hash & (kvs->n_buckets - 1)];
    p->next = *at;
    *at = p;
    kvs->count++;
    kvs->bytes += key_len + value.len;
    return 1;
}

int hb_kvs_get(const struct hb_kvs *kvs, const char *key,
               struct hb_bytes *out)
{
    const struct pair *p = *find(kvs, key, hash_of(key));

    if (p == NULL) {
        return 0;
    }
    out->data = p->text + p->key_len + 1;
    out->len = p->value_len;
    return 1;
}

int hb_kvs_remove(struct hb_kvs *kvs, const char *key)
{
    struct pair **at = find(kvs, key, hash_of(key));

    if (*at == NULL) {
        return 0;
    }
    unlink_pair(kvs, at);
    return 1;
}

size_t hb_kvs_count(const struct hb_kvs *kvs)
{
    return kvs->count;
}

size_t hb_kvs_bytes(const struct hb_kvs *kvs)
{
    return kvs->bytes;
}

void hb_kvs_each(const struct hb_kvs *kvs, hb_kvs_visit visit, void *arg)
{
    for (size_t i = 0; i < kvs->n_buckets; i++) {
        for (const struct pair *p = kvs->buckets[i]; p != NULL; p = p->next) {
            struct hb_bytes value = {p->text + p->key_len + 1, p->value_len};

            visit(arg, p->text, value);
        }
    }
}
