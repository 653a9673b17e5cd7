/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RDZV_NATIVE_STORE_H
#define HB_RDZV_NATIVE_STORE_H

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/error.h"
#include "lib/base/jobmap.h"

/* What the ranks of a job have put, as one node knows it: of its own ranks
 * everything, of others what fences and direct questions have brought. */
struct hb_native_store;

/* The map is borrowed. */
struct hb_native_store *hb_native_store_create(const struct hb_jobmap *map,
                                               uint32_t node);
const struct hb_jobmap *hb_native_store_map(const struct hb_native_store *s);
void hb_native_store_destroy(struct hb_native_store *s); /* NULL-safe */
void hb_native_store_clear(struct hb_native_store *s); /* as after create */

/* A local rank's value; seen after a commit. node_only: other nodes are not
 * to see it. */
int hb_native_store_put(struct hb_native_store *s, uint32_t rank,
                        int node_only, const char *key, struct hb_bytes value,
                        struct hpcboot_error *err);
/* Makes visible what local ranks have put; node_only: of that scope alone.
 * ERR_LIMIT: some had no room, and are gone. */
int hb_native_store_commit(struct hb_native_store *s, int node_only,
                           struct hpcboot_error *err);
/* 0 and the value (borrowed until the next change), ERR_NOT_FOUND, or
 * ERR_AGAIN: the rank's node has to be asked. */
int hb_native_store_get(const struct hb_native_store *s, uint32_t rank,
                        const char *key, struct hb_bytes *value_out);

/* This node's part of a fence: whether it has all that was committed for the
 * job and not collected before, and that. */
void hb_native_store_collect(struct hb_native_store *s, int wanted,
                             struct hb_buf *data);
/* In the place of that: for this reason (an error) it takes no part. */
void hb_native_store_refuse(int status, const char *why, struct hb_buf *data);
/* The parts of all nodes; the reason of one that takes no part. Where it fails
 * the rest is taken, and what has gaps is asked for from now on. */
int hb_native_store_merge(struct hb_native_store *s, struct hb_bytes data,
                          struct hpcboot_error *err);
/* A fence has failed, or was given up here while others may have completed it:
 * what they collected then is not here, nor what this node did there; both are
 * asked for from now on. */
void hb_native_store_miss(struct hb_native_store *s);
/* All of a local rank's values for the job (ERR_LIMIT: more than `data` may
 * have, which is empty then); and the other side of it. */
int hb_native_store_give(const struct hb_native_store *s, uint32_t rank,
                         struct hb_buf *data);
int hb_native_store_take(struct hb_native_store *s, uint32_t rank,
                         struct hb_bytes data, struct hpcboot_error *err);

#endif
