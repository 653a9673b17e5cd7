/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* put, get and fence: checks, and the launcher's client. */
#include "config.h"

#include <string.h>

#include "lib/api/api.h"

static int check_key(const char *call, const char *key,
                     struct hpcboot_error *err)
{
    size_t len = key != NULL ? strnlen(key, HPCBOOT_KEY_MAX + 1) : 0;

    if (len == 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: the key is empty", call);
    }
    return len <= HPCBOOT_KEY_MAX
               ? 0 : hb_fail(err, HPCBOOT_ERR_LIMIT, "%s: a key of more than "
                             "%d bytes", call, HPCBOOT_KEY_MAX);
}

static int check_scope(const char *call, enum hpcboot_scope scope,
                       struct hpcboot_error *err)
{
    return scope == HPCBOOT_SCOPE_JOB || scope == HPCBOOT_SCOPE_NODE
               ? 0 : hb_fail(err, HPCBOOT_ERR_USAGE, "%s: %d is no scope",
                             call, (int)scope);
}

int hpcboot_put(enum hpcboot_scope scope, const char *key, const void *value,
                size_t size, struct hpcboot_error *err)
{
    const char *call = "hpcboot_put";
    struct hb_api_stage *stage = NULL;
    void *data = (void *)(uintptr_t)value;
    int rc = hb_api_ready(call, err);

    if (rc == 0) {
        rc = check_scope(call, scope, err);
    }
    if (rc == 0) {
        rc = check_key(call, key, err);
    }
    if (rc == 0 && size > HPCBOOT_VALUE_MAX) {
        rc = hb_fail(err, HPCBOOT_ERR_LIMIT, "%s: \"%s\" has %zu bytes, and %d "
                     "are the most", call, key, size, HPCBOOT_VALUE_MAX);
    }
    if (rc == 0 && value == NULL && size > 0) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "%s: \"%s\" is NULL and has %zu "
                     "bytes", call, key, size);
    }
    if (rc == 0) {
        rc = hb_api_stage_data(call, "value", &data, size, 0, &stage, err);
    }
    if (rc == 0) {
        rc = hb_api_stage_begin(stage, err);
    }
    if (rc == 0) {
        pthread_mutex_lock(&hb_api.rdzv_lock);
        rc = hb_api.rdzv->ops->put(hb_api.rdzv, scope == HPCBOOT_SCOPE_NODE,
                                   key, (struct hb_bytes){data, size}, err);
        pthread_mutex_unlock(&hb_api.rdzv_lock);
    }
    hb_api_stage_free(stage);
    return rc;
}

int hpcboot_get(int rank, const char *key, void **value_out, size_t *size_out,
                struct hpcboot_error *err)
{
    const char *call = "hpcboot_get";
    void *value = NULL;
    size_t size = 0;
    int rc = hb_api_ready(call, err);

    if (rc == 0) {
        rc = check_key(call, key, err);
    }
    if (rc == 0 && (rank < 0 || rank >= hb_api.size)) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "%s: there is no rank %d in a "
                     "job of %d", call, rank, hb_api.size);
    }
    if (rc == 0) {
        rc = hb_api_place(call, "value", value_out, err);
    }
    if (rc < 0) {
        return rc;
    }
    pthread_mutex_lock(&hb_api.rdzv_lock);
    rc = hb_api.rdzv->ops->get(hb_api.rdzv, (uint32_t)rank, key, &value, &size,
                               err);
    pthread_mutex_unlock(&hb_api.rdzv_lock);
    if (rc == 0) {
        *value_out = value;
        if (size_out != NULL) {
            *size_out = size;
        }
    }
    return rc;
}

int hpcboot_fence(enum hpcboot_scope scope, unsigned flags, int timeout_ms,
                  struct hpcboot_error *err)
{
    const char *call = "hpcboot_fence";
    int node_only = scope == HPCBOOT_SCOPE_NODE;
    int rc = hb_api_ready(call, err);

    if (rc == 0) {
        rc = check_scope(call, scope, err);
    }
    if (rc == 0) {
        rc = hb_api_flags(call, flags, HPCBOOT_COLLECT, err);
    }
    if (rc == 0) {
        rc = hb_api_timeout(call, timeout_ms, err);
    }
    if (rc < 0) {
        return rc;
    }
    pthread_mutex_lock(&hb_api.rdzv_lock);
    hb_api_shows(HB_WAITS_FENCE);
    hb_api_fence_begins(node_only, timeout_ms > 0);
    rc = hb_api.rdzv->ops->fence(hb_api.rdzv, node_only,
                                 (flags & HPCBOOT_COLLECT) != 0,
                                 hb_api_deadline(timeout_ms), err);
    rc = hb_api_fence_ends(node_only, rc, err);
    hb_api_shows(HB_WAITS_NOT);
    pthread_mutex_unlock(&hb_api.rdzv_lock);
    return rc;
}
