/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HOSTFILE_K8S_HTTP_H
#define HB_HOSTFILE_K8S_HTTP_H

#include "hostfile/k8s.h"

/* One GET after the other over one connection to the API, without blocking.
 * Requests carry the token of the login, and go through no proxy. */
enum hb_http_outcome {
    HB_HTTP_ANSWERED,  /* with a status */
    HB_HTTP_CUT,       /* no connection, or it broke; another try may help */
    HB_HTTP_UNTRUSTED, /* the server is not who it should be */
    HB_HTTP_STOPPED    /* `data` said so */
};
struct hb_http_result {
    enum hb_http_outcome outcome;
    int status;              /* of HTTP; 0: none came */
    int64_t retry_after_ms;  /* < 0: nothing was said */
    char text[256];          /* why there is no good answer */
};
struct hb_http_user {
    /* Bytes of the answer's body and its status; negative stops. */
    int (*data)(void *arg, int status, const char *data, size_t len);
    void (*done)(void *arg, const struct hb_http_result *result);
    void (*alarm)(void *arg); /* after hb_http_alarm */
    void *arg;
};

struct hb_http;
int hb_http_create(const struct hb_k8s_login *login, /* borrowed */
                   const struct hb_http_user *user, struct hb_http **out,
                   struct hpcboot_error *err);
void hb_http_destroy(struct hb_http *h); /* `done` is not called */
int hb_http_fd(const struct hb_http *h);
/* Begins a GET of a path below the server; within_ms is for all of it. Of a
 * list only_metadata asks for no more of its objects. No other may be under
 * way. `done` is called from a later step. */
int hb_http_get(struct hb_http *h, const char *path, int only_metadata,
                int64_t within_ms, struct hpcboot_error *err);
/* Calls `alarm` from a step after half to the whole of `ms`, so that a gang
 * does not ask in step, and not before least_ms. */
void hb_http_alarm(struct hb_http *h, int64_t ms, int64_t least_ms);
/* Does what is ready. The user's functions may begin the next request. */
void hb_http_step(struct hb_http *h);
/* A text as part of a query; free() it. */
char *hb_http_escape(struct hb_http *h, const char *text);

#endif
