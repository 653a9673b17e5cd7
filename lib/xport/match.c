/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Two lists, in the order of time: receives without a message, and messages
 * without a receive. Whoever comes looks through the other list from its
 * beginning, which keeps messages of one source in order. */
#include "config.h"

#include <stdlib.h>

#include "lib/xport/impl.h"

void hb_match_init(struct hb_xport *x)
{
    x->posted_end = &x->posted;
    x->unexpected_end = &x->unexpected;
}

void hb_match_destroy(struct hb_xport *x)
{
    while (x->unexpected != NULL) {
        struct hb_inbound *in = x->unexpected;

        x->unexpected = in->next;
        free(in->own);
        free(in);
    }
    while (x->posted != NULL) {
        struct hb_xport_req *r = x->posted;

        x->posted = r->next;
        free(r);
    }
    hb_match_init(x);
}

static int fits(const struct hb_xport_req *r, const struct hb_inbound *in)
{
    return r->context == in->context &&
           (r->peer == HB_XPORT_ANY || (uint32_t)r->peer == in->source) &&
           ((r->tag ^ in->tag) & r->mask) == 0;
}

struct hb_xport_req *hb_match_posted(struct hb_xport *x,
                                     const struct hb_inbound *in)
{
    for (struct hb_xport_req *r = x->posted; r != NULL; r = r->next) {
        if (fits(r, in)) {
            hb_match_unpost(x, r);
            return r;
        }
    }
    return NULL;
}

void hb_match_keep(struct hb_xport *x, struct hb_inbound *in)
{
    in->next = NULL;
    *x->unexpected_end = in;
    x->unexpected_end = &in->next;
}

void hb_match_forget(struct hb_xport *x, const struct hb_inbound *in)
{
    struct hb_inbound **at = &x->unexpected;

    while (*at != NULL && *at != in) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = in->next;
        if (*at == NULL) {
            x->unexpected_end = at;
        }
    }
}

struct hb_inbound *hb_match_unexpected(struct hb_xport *x,
                                       const struct hb_xport_req *req)
{
    struct hb_inbound **at = &x->unexpected;

    while (*at != NULL && !fits(req, *at)) {
        at = &(*at)->next;
    }
    struct hb_inbound *in = *at;
    if (in != NULL) {
        *at = in->next;
        if (*at == NULL) {
            x->unexpected_end = at;
        }
    }
    return in;
}

void hb_match_post(struct hb_xport *x, struct hb_xport_req *req)
{
    req->next = NULL;
    req->on_list = 1;
    *x->posted_end = req;
    x->posted_end = &req->next;
}

void hb_match_unpost(struct hb_xport *x, struct hb_xport_req *req)
{
    struct hb_xport_req **at = &x->posted;

    while (*at != NULL && *at != req) {
        at = &(*at)->next;
    }
    if (*at == req) {
        *at = req->next;
        req->on_list = 0;
        if (*at == NULL) {
            x->posted_end = at;
        }
    }
}

void hb_match_lost(struct hb_xport *x, uint32_t peer,
                   const struct hpcboot_error *why)
{
    struct hb_xport_req *next;

    for (struct hb_xport_req *r = x->posted; r != NULL; r = next) {
        next = r->next;
        if (r->peer == (int)peer) {
            hb_match_unpost(x, r);
            r->err = *why;
            hb_req_finish(r, why->code);
        }
    }
}
