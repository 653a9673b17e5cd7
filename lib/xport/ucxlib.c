/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The module that speaks to UCX; see ucxlib.h. One context, one worker, an
 * endpoint per peer with errors handled (UCX would abort otherwise), active
 * messages for all: short ones carry their bytes, long ones are fetched by
 * the receiver, by RDMA where the device can.
 *
 * UCX is told what we want through its configuration, and only what the
 * user's own UCX_* variables leave open; nothing is put into the environment.
 * Where another library of the process (an MPI) has brought UCX in, its log and
 * its global settings are left alone (ucxlog.h).
 *
 * What UCX is at with an endpoint fails when the endpoint is closed. UCX lets
 * go of some of it later, and calls back then; and to close takes a device that
 * ends each transfer, which is waited for no longer than CLOSE_NS. So flights
 * are reported as failed, and stay with their endpoint until UCX has let go of
 * both, or is closed. */
#include "config.h"

#include "lib/xport/ucxlib.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ucp/api/ucp.h>

#include "lib/xport/ucxlog.h"

#define MESSAGE_ID 0u
#define CLOSE_NS ((int64_t)1000 * 1000 * 1000)

struct hb_ucx {
    struct hb_ucx_config config;
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_len;
    struct hb_ucx_ep *closing;
};

/* What UCX is at. */
struct flight {
    struct hb_ucx *ucx;
    struct flight *next, **back; /* of its endpoint */
    void *cookie;                /* NULL: nobody awaits it any more */
    void (*ended)(void *ctx, void *cookie, const char *why);
    char head[HB_UCX_HEAD_MAX];
    char body[]; /* of a short message */
};

struct hb_ucx_ep {
    struct hb_ucx *ucx;
    void *peer;
    ucp_ep_h ep;
    struct flight *flights;
    ucs_status_ptr_t close; /* under way */
    struct hb_ucx_ep *next; /* of those that are closing */
};

/* ---- messages ---- */

static ucs_status_t on_message(void *arg, const void *head, size_t head_len,
                               void *data, size_t size,
                               const ucp_am_recv_param_t *param)
{
    struct hb_ucx *u = arg;
    int later = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    int kept = u->config.arrived(u->config.ctx, head, head_len,
                                 later ? NULL : size > 0 ? data : "", size,
                                 later ? data : NULL);

    return kept && later ? UCS_INPROGRESS : UCS_OK;
}

static const char *text_of(ucs_status_t status)
{
    return status == UCS_OK ? NULL : ucs_status_string(status);
}

static void flight_free(struct flight *f)
{
    *f->back = f->next;
    if (f->next != NULL) {
        f->next->back = f->back;
    }
    free(f);
}

static struct flight *flight_new(struct hb_ucx_ep *ep, size_t body_bytes,
                                 void *cookie,
                                 void (*ended)(void *ctx, void *cookie,
                                               const char *why))
{
    struct flight *f = malloc(sizeof *f + body_bytes);

    if (f != NULL) {
        f->ucx = ep->ucx;
        f->cookie = cookie;
        f->ended = ended;
        f->next = ep->flights;
        f->back = &ep->flights;
        if (f->next != NULL) {
            f->next->back = &f->next;
        }
        ep->flights = f;
    }
    return f;
}

static void on_end(void *request, ucs_status_t status, struct flight *f)
{
    struct hb_ucx *u = f->ucx;
    void *cookie = f->cookie;
    void (*ended)(void *ctx, void *cookie, const char *why) = f->ended;

    ucp_request_free(request);
    flight_free(f);
    if (cookie != NULL) {
        ended(u->config.ctx, cookie, text_of(status));
    }
}

static void on_sent(void *request, ucs_status_t status, void *flight)
{
    on_end(request, status, flight);
}

static void on_fetched(void *request, ucs_status_t status, size_t length,
                       void *flight)
{
    on_end(request, status, flight);
}

static int settle(ucs_status_ptr_t p, struct flight *f, const char *what,
                  char *why, size_t why_size)
{
    hb_ucxlog_leave();
    if (UCS_PTR_IS_PTR(p)) {
        return 0;
    }
    flight_free(f);
    return p == NULL ? 1
                     : hb_ucxlog_fail(why, why_size, what, UCS_PTR_STATUS(p));
}

static int lib_send(struct hb_ucx_ep *ep, const void *head, size_t head_len,
                    const void *data, size_t size, int by_fetch, void *cookie,
                    char *why, size_t why_size)
{
    size_t copied = size <= ep->ucx->config.copied_bytes ? size : 0;
    struct flight *f = flight_new(ep, copied, cookie, ep->ucx->config.sent);
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
        .flags = by_fetch ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER,
        .cb.send = on_sent, .user_data = f,
    };

    if (f == NULL) {
        return hb_ucxlog_fail(why, why_size, "sending", UCS_ERR_NO_MEMORY);
    }
    memcpy(f->head, head, head_len);
    if (copied > 0) {
        data = memcpy(f->body, data, copied);
    }
    hb_ucxlog_enter();
    return settle(ucp_am_send_nbx(ep->ep, MESSAGE_ID, f->head, head_len, data,
                                  size, &param), f, "sending", why, why_size);
}

static int lib_fetch(struct hb_ucx_ep *ep, void *message, void *to,
                     size_t size, void *cookie, char *why, size_t why_size)
{
    struct flight *f = flight_new(ep, 0, cookie, ep->ucx->config.fetched);
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA,
        .cb.recv_am = on_fetched, .user_data = f,
    };

    if (f == NULL) {
        return hb_ucxlog_fail(why, why_size, "receiving", UCS_ERR_NO_MEMORY);
    }
    hb_ucxlog_enter();
    return settle(ucp_am_recv_data_nbx(ep->ucx->worker, message, to, size,
                                       &param), f, "receiving", why, why_size);
}

static void lib_refuse(struct hb_ucx *u, void *message)
{
    ucp_am_data_release(u->worker, message);
}

static int is_closed(const struct hb_ucx_ep *ep)
{
    return !UCS_PTR_IS_PTR(ep->close) ||
           ucp_request_check_status(ep->close) != UCS_INPROGRESS;
}

static void ep_free(struct hb_ucx_ep *ep)
{
    if (UCS_PTR_IS_PTR(ep->close)) {
        ucp_request_free(ep->close);
    }
    free(ep);
}

static void free_closed(struct hb_ucx *u)
{
    struct hb_ucx_ep **at = &u->closing;

    while (*at != NULL) {
        struct hb_ucx_ep *ep = *at;

        if (is_closed(ep) && ep->flights == NULL) {
            *at = ep->next;
            ep_free(ep);
        } else {
            at = &ep->next;
        }
    }
}

static int lib_progress(struct hb_ucx *u)
{
    int moved;

    hb_ucxlog_enter();
    moved = (int)ucp_worker_progress(u->worker);
    hb_ucxlog_leave();
    if (u->closing != NULL) {
        free_closed(u);
    }
    return moved;
}

static int lib_event_fd(struct hb_ucx *u)
{
    int fd;

    return ucp_worker_get_efd(u->worker, &fd) == UCS_OK ? fd : -1;
}

static int lib_arm(struct hb_ucx *u)
{
    return ucp_worker_arm(u->worker) == UCS_OK;
}

/* ---- endpoints ---- */

static void on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    struct hb_ucx_ep *e = arg;

    if (e->peer != NULL) {
        e->ucx->config.lost(e->ucx->config.ctx, e->peer,
                            ucs_status_string(status));
    }
}

static int lib_connect(struct hb_ucx *u, const void *address, void *peer,
                       struct hb_ucx_ep **out, char *why, size_t why_size)
{
    struct hb_ucx_ep *e = calloc(1, sizeof *e);
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = address, .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = on_error, .arg = e},
    };
    ucs_status_t status;

    if (e == NULL) {
        return hb_ucxlog_fail(why, why_size, "connecting", UCS_ERR_NO_MEMORY);
    }
    e->ucx = u;
    e->peer = peer;
    hb_ucxlog_enter();
    status = ucp_ep_create(u->worker, &params, &e->ep);
    hb_ucxlog_leave();
    if (status != UCS_OK) {
        free(e);
        return hb_ucxlog_fail(why, why_size, "connecting", status);
    }
    *out = e;
    return 0;
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 * 1000 * 1000 + t.tv_nsec;
}

static void report_flights(struct hb_ucx_ep *ep)
{
    for (struct flight *f = ep->flights; f != NULL; f = f->next) {
        void *cookie = f->cookie;

        f->cookie = NULL;
        f->ended(ep->ucx->config.ctx, cookie, "the connection is closed");
    }
}

static void lib_disconnect(struct hb_ucx *u, struct hb_ucx_ep *ep)
{
    const ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_EP_CLOSE_FLAG_FORCE,
    };
    int64_t end;

    if (ep == NULL) {
        return;
    }
    hb_ucxlog_enter();
    ep->peer = NULL;
    end = now_ns() + CLOSE_NS;
    ep->close = ucp_ep_close_nbx(ep->ep, &param);
    while (!is_closed(ep) && now_ns() < end) {
        (void)ucp_worker_progress(u->worker);
    }
    hb_ucxlog_leave();
    report_flights(ep);
    ep->next = u->closing;
    u->closing = ep;
    free_closed(u);
}

/* The worker is gone, and its requests with it. */
static void free_left(struct hb_ucx *u)
{
    while (u->closing != NULL) {
        struct hb_ucx_ep *ep = u->closing;

        u->closing = ep->next;
        while (ep->flights != NULL) {
            flight_free(ep->flights);
        }
        free(ep);
    }
}

/* "lane[0]:  2:rc_verbs/mlx5_0:1.0 md[..." of the first lane. */
static void name_lane(const char *text, char *out, size_t size)
{
    const char *lane = strstr(text, "lane[0]:"), *slash, *from;
    size_t n;

    slash = lane != NULL ? strchr(lane, '/') : NULL;
    if (slash == NULL) {
        snprintf(out, size, "?");
        return;
    }
    for (from = slash; from > lane && from[-1] != ' ' && from[-1] != ':';) {
        from--;
    }
    n = strcspn(from, " .\n"); /* .N: which path of the device */
    snprintf(out, size, "%.*s", (int)n, from);
}

static void lib_describe(struct hb_ucx_ep *ep, char *text, size_t size)
{
    char *all = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&all, &len);

    snprintf(text, size, "?");
    if (f == NULL) {
        return;
    }
    ucp_ep_print_info(ep->ep, f);
    fclose(f);
    if (all != NULL) {
        name_lane(all, text, size);
    }
    free(all);
}

/* ---- the worker ---- */

static ucs_status_t configure(const struct hb_ucx_config *c,
                              ucp_config_t *config)
{
    ucs_status_t status = UCS_OK;

    for (size_t i = 0; status == UCS_OK && i < c->n_settings; i++) {
        const struct hb_ucx_setting *s = &c->settings[i];

        if (!hb_ucxlog_user_has(s->name)) {
            status = ucp_config_modify(config, s->name, s->value);
        }
        /* Which of the two it is depends on the version. */
        if (s->optional && (status == UCS_ERR_NO_ELEM ||
                            status == UCS_ERR_INVALID_PARAM)) {
            status = UCS_OK;
        }
    }
    return status;
}

static ucs_status_t make_context(struct hb_ucx *u)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME,
        .features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP, .name = "hpcboot",
    };
    ucp_config_t *config;
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);

    if (status == UCS_OK) {
        status = configure(&u->config, config);
        if (status == UCS_OK) {
            status = ucp_init(&params, config, &u->context);
        }
        ucp_config_release(config);
    }
    return status;
}

static ucs_status_t make_worker(struct hb_ucx *u)
{
    const ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED,
    };
    const ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                      UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = MESSAGE_ID, .flags = UCP_AM_FLAG_WHOLE_MSG, .cb = on_message,
        .arg = u,
    };
    ucs_status_t status = ucp_worker_create(u->context, &params, &u->worker);

    if (status == UCS_OK) {
        status = ucp_worker_set_am_recv_handler(u->worker, &handler);
    }
    if (status == UCS_OK) {
        status = ucp_worker_get_address(u->worker, &u->address,
                                        &u->address_len);
    }
    return status;
}

static void lib_close(struct hb_ucx *u)
{
    if (u == NULL) {
        return;
    }
    hb_ucxlog_enter();
    if (u->address != NULL) {
        ucp_worker_release_address(u->worker, u->address);
    }
    if (u->worker != NULL) {
        ucp_worker_destroy(u->worker);
    }
    if (u->context != NULL) {
        ucp_cleanup(u->context);
    }
    hb_ucxlog_leave();
    free_left(u);
    free(u);
}

static int lib_open(const struct hb_ucx_config *config, struct hb_ucx **out,
                    char *why, size_t why_size)
{
    struct hb_ucx *u = calloc(1, sizeof *u);
    ucs_status_t status;

    if (u == NULL) {
        return hb_ucxlog_fail(why, why_size, "opening", UCS_ERR_NO_MEMORY);
    }
    hb_ucxlog_open(config->shared);
    u->config = *config;
    hb_ucxlog_enter();
    status = make_context(u);
    if (status == UCS_OK) {
        status = make_worker(u);
    }
    hb_ucxlog_leave();
    if (status != UCS_OK) {
        (void)hb_ucxlog_fail(why, why_size, "opening", status);
        lib_close(u);
        return -1;
    }
    *out = u;
    return 0;
}

static const void *lib_address(struct hb_ucx *u, size_t *len_out)
{
    *len_out = u->address_len;
    return u->address;
}

static const char *lib_version(void)
{
    return ucp_get_version_string();
}

const struct hb_ucxlib hb_ucxlib = {
    .open = lib_open, .close = lib_close, .address = lib_address,
    .connect = lib_connect, .disconnect = lib_disconnect, .send = lib_send,
    .fetch = lib_fetch, .refuse = lib_refuse, .progress = lib_progress,
    .event_fd = lib_event_fd, .arm = lib_arm, .describe = lib_describe,
    .version = lib_version,
};
