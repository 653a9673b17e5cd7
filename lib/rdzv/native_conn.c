/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What ranks write, cut into frames. A rank may have had several sockets; the
 * one of its last hello gets its answers. */
#include "config.h"

#include <stdlib.h>

#include "lib/base/str.h"
#include "lib/rdzv/native_impl.h"

/* A whole frame and the beginning of the next. */
#define INPUT_MAX (2 * (HB_NATIVE_FRAME_MAX + 5u))

struct hb_native_conn *hb_native_conn_open(struct hb_native_server *s,
                                           int64_t rank, void *conn_arg)
{
    struct hb_native_conn *c = hb_xcalloc(1, sizeof *c);

    c->server = s;
    c->arg = conn_arg;
    c->rank = rank;
    hb_buf_init(&c->in, INPUT_MAX);
    c->next = s->conns;
    s->conns = c;
    return c;
}

int hb_native_conn_feed(struct hb_native_conn *c, const void *data,
                        size_t len, struct hpcboot_error *err)
{
    enum hb_native_kind kind;
    struct hb_bytes body;
    int rc;

    hb_buf_put_raw(&c->in, data, len);
    if (hb_buf_failed(&c->in)) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "more questions than "
                       "answers");
    }
    while ((rc = hb_native_next(&c->in, &kind, &body, err)) > 0) {
        rc = hb_native_on_frame(c, kind, body, err);
        if (rc < 0) {
            return rc;
        }
    }
    hb_buf_compact(&c->in);
    return rc;
}

void hb_native_conn_close(struct hb_native_conn *c)
{
    struct hb_native_conn **at = &c->server->conns;
    struct peer *p = hb_native_peer(c->server, c->rank);

    while (*at != c) {
        at = &(*at)->next;
    }
    *at = c->next;
    if (p != NULL && p->conn == c) {
        p->conn = NULL;
    }
    hb_buf_destroy(&c->in);
    free(c);
}
