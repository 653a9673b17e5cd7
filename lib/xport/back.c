/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A receive is given up when its message has begun to come, straight into its
 * buffer, or is there. The message goes to the front of those that nobody
 * awaits, with a copy of what is here. Whoever carries it knows the receive
 * alone: that lives on as an orphan without its user, its buffer is the copy,
 * and when it ends the message is whole. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/xport/impl.h"

/* Which bytes have come is the carrier's to know: all are copied. */
static struct hb_inbound *copy_of(const struct hb_xport_req *r)
{
    struct hb_inbound *in = hb_xcalloc(1, sizeof *in);
    size_t most = r->info.size < r->size ? r->info.size : r->size;
    size_t has = r->done ? r->has : most;

    in->source = (uint32_t)r->info.source;
    in->context = r->context;
    in->tag = r->info.tag;
    in->size = r->info.size;
    in->missing = r->info.size - has;
    in->order = r->order;
    in->is_counted = 1;
    in->own = malloc(has + 1);
    in->lost = in->own == NULL;
    if (has > 0 && !in->lost) {
        memcpy(in->own, r->buffer, has);
    }
    return in;
}

/* Another receive may have been posted meanwhile. */
static void offer(struct hb_xport *x, struct hb_inbound *in)
{
    in->req = hb_match_posted(x, in);
    if (in->req == NULL) {
        hb_match_keep_first(x, in);
        return;
    }
    in->req->from = in;
    if (in->complete) {
        hb_inbound_finish(in);
    }
}

void hb_back_put(struct hb_xport *x, struct hb_xport_req *r)
{
    struct hb_inbound *in = r->from;

    if (!r->done && in != NULL) { /* its bytes never were in our buffer */
        free(r);
        offer(x, in);
        return;
    }
    if (!r->done && x->tcp != NULL) {
        (void)hb_tcp_cancel(x->tcp, r); /* UCX may have to end it */
    }
    if (r->done && r->status < 0 && r->status != HPCBOOT_ERR_LIMIT) {
        free(r);
        return;
    }
    in = copy_of(r);
    if (r->done) {
        in->complete = 1;
        free(r);
    } else {
        in->x = x;
        r->back = in;
        r->orphan = 1;
        r->buffer = in->own;
        r->size = (size_t)(in->size - in->missing);
    }
    offer(x, in);
}

void hb_back_came(struct hb_xport_req *orphan)
{
    struct hb_inbound *in = orphan->back;
    struct hb_xport_req *r = in->req;

    if (orphan->status < 0 && orphan->status != HPCBOOT_ERR_LIMIT &&
        orphan->status != HPCBOOT_ERR_NOMEM) {
        hb_match_forget(in->x, in);
        free(in->own);
        free(in);
        if (r != NULL) {
            r->err = orphan->err;
            hb_req_finish(r, orphan->status);
        }
        return;
    }
    in->is_void = orphan->status == HPCBOOT_ERR_NOMEM && !in->lost;
    in->complete = 1;
    if (r != NULL) {
        hb_inbound_finish(in);
    }
}

void hb_back_free(struct hb_xport_req *orphan)
{
    struct hb_inbound *in = orphan->back;

    if (in != NULL && !in->is_kept) { /* its receive is an orphan, too */
        hb_back_free(in->req);
        free(in->own);
        free(in);
    }
    free(orphan->copy);
    free(orphan);
}
