/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BASE_KVS_H
#define HB_BASE_KVS_H

#include <stddef.h>

#include "lib/base/buf.h"
#include "lib/base/error.h"

/* A hashed key-value store in memory: text keys, values of any bytes. Holds
 * at most the given number of bytes of keys and values together, so that what
 * a rank puts cannot eat its host's memory. One thread at a time. */
struct hb_kvs;

int hb_kvs_create(struct hb_kvs **out, size_t max_bytes,
                  struct hpcboot_error *err);
void hb_kvs_destroy(struct hb_kvs *kvs); /* NULL-safe */

enum hb_kvs_mode {
    HB_KVS_KEEP,   /* an older value of the same key stays */
    HB_KVS_REPLACE /* the newer value wins */
};

/* Copies key and value. Returns 1 when stored, 0 when an older value was
 * kept, HPCBOOT_ERR_LIMIT when the store is full. */
int hb_kvs_put(struct hb_kvs *kvs, const char *key, struct hb_bytes value,
               enum hb_kvs_mode mode, struct hpcboot_error *err);

/* 1 and the value (borrowed until the key changes), or 0. A NUL stands behind
 * the value's last byte, so that a text needs no copy. */
int hb_kvs_get(const struct hb_kvs *kvs, const char *key,
               struct hb_bytes *out);
int hb_kvs_remove(struct hb_kvs *kvs, const char *key); /* 1 if it was there */
size_t hb_kvs_count(const struct hb_kvs *kvs);
size_t hb_kvs_bytes(const struct hb_kvs *kvs); /* of all keys and values */

/* Calls `visit` for every pair, in no order. `visit` leaves the store alone. */
typedef void (*hb_kvs_visit)(void *arg, const char *key,
                             struct hb_bytes value);
void hb_kvs_each(const struct hb_kvs *kvs, hb_kvs_visit visit, void *arg);

#endif
