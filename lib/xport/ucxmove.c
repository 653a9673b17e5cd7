/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Copies to and from the memory of a device: a message of a UCX worker to
 * itself. What the user's UCX_TLS says is of the network; here the one
 * transport is meant that knows the device.
 *
 * UCX is told what memory each side is, but where it keeps a cache of that it
 * believes the cache, which knows nothing of what was allocated before UCX
 * came. So it is switched off, unless another library has brought UCX in. Where
 * it is on all the same nothing is copied: UCX would touch the device's memory
 * as if it were the host's. */
#include "config.h"

#include "lib/xport/ucxmove.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <ucp/api/ucp.h>
#include <ucs/config/global_opts.h>

#include "lib/xport/ucxlog.h"

#define TAG 1u
#define ALL_BITS UINT64_MAX

/* Numbers are those of ucs/memory/memory_type.h; 1.13 has no ZE yet. */
static const struct kind {
    const char *transports;
    unsigned memory;
} kinds[] = {
    [HB_UCXMOVE_CUDA] = {"self,cuda_copy", UCS_MEMORY_TYPE_CUDA},
    [HB_UCXMOVE_ROCM] = {"self,rocm_copy", UCS_MEMORY_TYPE_ROCM},
    [HB_UCXMOVE_ZE] = {"self,ze_copy", 7},
};

struct hb_ucxmove {
    const struct kind *kind;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h self;
};

static int has_cache(void)
{
    char value[16] = "";

    if (!hb_ucxlog_is_shared() && !hb_ucxlog_user_has("MEMTYPE_CACHE")) {
        (void)ucs_global_opts_set_value("MEMTYPE_CACHE", "n");
    }
    return ucs_global_opts_get_value("MEMTYPE_CACHE", value, sizeof value) ==
               UCS_OK && value[0] != 'n';
}

static ucs_status_t make_context(struct hb_ucxmove *m)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_TAG, .name = "hpcboot-move",
    };
    ucp_config_t *config;
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);

    if (status == UCS_OK) {
        status = ucp_config_modify(config, "TLS", m->kind->transports);
        if (status == UCS_OK) {
            status = ucp_init(&params, config, &m->context);
        }
        ucp_config_release(config);
    }
    return status;
}

static int knows_memory(const struct hb_ucxmove *m)
{
    ucp_context_attr_t attr = {.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES};

    return ucp_context_query(m->context, &attr) == UCS_OK &&
           (attr.memory_types >> m->kind->memory & 1) != 0;
}

static ucs_status_t connect_to_self(struct hb_ucxmove *m)
{
    const ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    ucp_ep_params_t to = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t *address;
    size_t len;
    ucs_status_t status = ucp_worker_create(m->context, &params, &m->worker);

    if (status == UCS_OK) {
        status = ucp_worker_get_address(m->worker, &address, &len);
    }
    if (status == UCS_OK) {
        to.address = address;
        status = ucp_ep_create(m->worker, &to, &m->self);
        ucp_worker_release_address(m->worker, address);
    }
    return status;
}

/* Until it is over. */
static ucs_status_t finish(struct hb_ucxmove *m, ucs_status_ptr_t request)
{
    ucs_status_t status = UCS_PTR_STATUS(request);

    if (!UCS_PTR_IS_PTR(request)) {
        return status;
    }
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
        (void)ucp_worker_progress(m->worker);
    }
    ucp_request_free(request);
    return status;
}

static int move_copy(struct hb_ucxmove *m, void *to, const void *from,
                     size_t size, int to_device, char *why, size_t why_size)
{
    const ucs_memory_type_t device = (ucs_memory_type_t)m->kind->memory;
    ucp_request_param_t sent = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .memory_type = to_device ? UCS_MEMORY_TYPE_HOST : device,
    }, came = sent;
    ucs_status_ptr_t in, out;
    ucs_status_t status, received;

    came.memory_type = to_device ? device : UCS_MEMORY_TYPE_HOST;
    hb_ucxlog_enter();
    in = ucp_tag_recv_nbx(m->worker, to, size, TAG, ALL_BITS, &came);
    if (UCS_PTR_IS_ERR(in)) {
        status = UCS_PTR_STATUS(in);
    } else {
        out = ucp_tag_send_nbx(m->self, from, size, TAG, &sent);
        status = finish(m, out);
        if (status != UCS_OK && UCS_PTR_IS_PTR(in)) {
            ucp_request_cancel(m->worker, in);
        }
        received = finish(m, in);
        status = status == UCS_OK ? received : status;
    }
    hb_ucxlog_leave();
    return status == UCS_OK ? 0
                            : hb_ucxlog_fail(why, why_size, "copying", status);
}

static void move_close(struct hb_ucxmove *m)
{
    hb_ucxlog_enter();
    if (m->self != NULL) {
        const ucp_request_param_t plain = {0};

        (void)finish(m, ucp_ep_close_nbx(m->self, &plain));
    }
    if (m->worker != NULL) {
        ucp_worker_destroy(m->worker);
    }
    if (m->context != NULL) {
        ucp_cleanup(m->context);
    }
    hb_ucxlog_leave();
    free(m);
}

static int move_open(enum hb_ucxmove_kind kind, int shared,
                     struct hb_ucxmove **out, char *why, size_t why_size)
{
    struct hb_ucxmove *m = calloc(1, sizeof *m);
    ucs_status_t status;
    int knows;

    if (m == NULL) {
        return hb_ucxlog_fail(why, why_size, "opening", UCS_ERR_NO_MEMORY);
    }
    hb_ucxlog_open(shared);
    if (has_cache()) {
        free(m);
        snprintf(why, why_size, "its cache of what memory is where is on, "
                 "which may be wrong; set UCX_MEMTYPE_CACHE=n");
        return -1;
    }
    m->kind = &kinds[kind];
    hb_ucxlog_enter();
    status = make_context(m);
    knows = status == UCS_OK ? knows_memory(m) : status != UCS_ERR_NO_DEVICE;
    if (status == UCS_OK && knows) {
        status = connect_to_self(m);
    }
    hb_ucxlog_leave();
    if (status == UCS_OK && knows) {
        *out = m;
        return 0;
    }
    if (!knows) {
        snprintf(why, why_size, "it has no transport for that (%s)",
                 m->kind->transports + sizeof "self");
    } else {
        (void)hb_ucxlog_fail(why, why_size, "opening", status);
    }
    move_close(m);
    return -1;
}

const struct hb_ucxmover hb_ucxmove = {
    .open = move_open, .close = move_close, .copy = move_copy,
    .version = ucp_get_version_string,
};
