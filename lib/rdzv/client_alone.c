/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A process that nobody started: rank 0 of 1. What it puts it gets, after a
 * fence as elsewhere; a program that works here keeps its order there. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/jobmap.h"
#include "lib/base/str.h"
#include "lib/rdzv/client.h"
#include "lib/rdzv/native_store.h"

#define HOST_SIZE 256

struct alone {
    struct hb_rdzv r;
    struct hb_jobmap *map;
    struct hb_native_store *store;
};

static int alone_put(struct hb_rdzv *r, int node_only, const char *key,
                     struct hb_bytes value, struct hpcboot_error *err)
{
    struct alone *a = (struct alone *)r;

    return hb_native_store_put(a->store, 0, node_only, key, value, err);
}

static int alone_get(struct hb_rdzv *r, uint32_t rank, const char *key,
                     void **value_out, size_t *size_out,
                     struct hpcboot_error *err)
{
    struct alone *a = (struct alone *)r;
    struct hb_bytes value;
    char *copy;

    if (hb_native_store_get(a->store, rank, key, &value) < 0) {
        return hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "rank %u has put nothing as "
                       "\"%s\" that a fence has made visible", rank, key);
    }
    copy = hb_xmalloc(value.len + 1);
    if (value.len > 0) {
        memcpy(copy, value.data, value.len);
    }
    copy[value.len] = '\0';
    *value_out = copy;
    *size_out = value.len;
    return 0;
}

static int alone_fence(struct hb_rdzv *r, int node_only, int collect,
                       int64_t deadline_ns, struct hpcboot_error *err)
{
    return hb_native_store_commit(((struct alone *)r)->store, node_only, err);
}

static int alone_finalize(struct hb_rdzv *r, struct hpcboot_error *err)
{
    return 0;
}

static void alone_destroy(struct hb_rdzv *r)
{
    struct alone *a = (struct alone *)r;

    hb_native_store_destroy(a->store);
    hb_jobmap_destroy(a->map);
    free(a);
}

static const struct hb_rdzv_ops alone_ops = {
    .name = "alone", .put = alone_put, .get = alone_get,
    .fence = alone_fence, .finalize = alone_finalize,
    .destroy = alone_destroy,
};

int hb_rdzv_alone_open(struct hb_rdzv **out, const struct hb_rdzv_spec *spec,
                       struct hpcboot_error *err)
{
    static const uint32_t zero = 0;
    static const struct hb_job_app app = {0, 1};
    char host[HOST_SIZE] = "localhost", *names[] = {host};
    const struct hb_segment_spec memory = {
        .n_ranks = 1, .n_nodes = 1, .n_local = 1, .node_of = &zero,
        .local_rank = &zero, .names = names,
        .region_bytes = spec->region_bytes(1),
        .region_small = spec->region_small(1),
        .heap_bytes = hb_rdzv_heap_bytes(),
        .heap_least = hb_rdzv_heap_least(),
    };
    struct alone *a = hb_xcalloc(1, sizeof *a);
    int rc;

    (void)gethostname(host, sizeof host - 1);
    a->r.ops = &alone_ops;
    a->r.size = 1;
    a->r.memory = (struct hb_segment)HB_SEGMENT_INIT;
    rc = hb_jobmap_create(&a->map, 1, &zero, 1, names, 1, &app, 1, err);
    if (rc == 0) {
        a->store = hb_native_store_create(a->map, 0);
        rc = hb_segment_create(&a->r.memory, &memory, err);
    }
    if (rc < 0) {
        alone_destroy(&a->r);
        return rc;
    }
    *out = &a->r;
    return 0;
}
