/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Two lists, in the order of time: receives without a message, and messages
 * without a receive. Whoever comes looks through the other list from its
 * beginning, which keeps messages of one source in order.
 *
 * Ranks that only send run ahead by thousands of messages, and a root takes
 * those of all of them in turn. So what is awaited from one source is looked
 * for in a row of messages of that source, where it is the first, mostly; who
 * takes any source looks through the row of all.
 *
 * Contexts that are over are kept as bits: most teams end some time, and their
 * numbers are not used again. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/xport/impl.h"

void hb_match_init(struct hb_xport *x)
{
    x->posted_end = &x->posted;
    memset(&x->unexpected, 0, sizeof x->unexpected);
    memset(x->kin, 0, sizeof x->kin);
}

void hb_match_destroy(struct hb_xport *x)
{
    while (x->unexpected.first != NULL) {
        struct hb_inbound *in = x->unexpected.first;

        hb_match_forget(x, in);
        free(in->own);
        free(in);
    }
    while (x->posted != NULL) {
        struct hb_xport_req *r = x->posted;

        x->posted = r->next;
        free(r);
    }
    hb_match_init(x);
    free(x->over);
    x->over = NULL;
    x->over_size = 0;
}

/* Where there is no memory, what comes for it is kept as before. */
void hb_match_end(struct hb_xport *x, uint32_t context)
{
    size_t at = context / 8, size = 2 * at + 64;

    if (at >= x->over_size) {
        unsigned char *over = realloc(x->over, size);

        if (over == NULL) {
            return;
        }
        memset(over + x->over_size, 0, size - x->over_size);
        x->over = over;
        x->over_size = size;
    }
    x->over[at] |= (unsigned char)(1u << context % 8);
}

int hb_match_is_over(const struct hb_xport *x, uint32_t context)
{
    size_t at = context / 8;

    return at < x->over_size && (x->over[at] >> context % 8 & 1) != 0;
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
            r->info.source = (int)in->source; /* from now on it waits for it */
            return r;
        }
    }
    return hb_match_is_over(x, in->context) ? hb_req_nobody(x, in) : NULL;
}

static struct hb_row *kin_of(struct hb_xport *x, uint32_t source,
                             uint32_t context)
{
    return &x->kin[(source + context) % HB_KIN];
}

static void append(struct hb_row *row, int which, struct hb_inbound *in)
{
    in->in_row[which] = (struct hb_link){row->last, NULL};
    if (row->last != NULL) {
        row->last->in_row[which].next = in;
    } else {
        row->first = in;
    }
    row->last = in;
}

static void take_out(struct hb_row *row, int which, struct hb_inbound *in)
{
    struct hb_link *link = &in->in_row[which];

    *(link->prev != NULL ? &link->prev->in_row[which].next : &row->first) =
        link->next;
    *(link->next != NULL ? &link->next->in_row[which].prev : &row->last) =
        link->prev;
}

void hb_match_keep(struct hb_xport *x, struct hb_inbound *in)
{
    append(&x->unexpected, HB_ROW_ALL, in);
    append(kin_of(x, in->source, in->context), HB_ROW_KIN, in);
    in->is_kept = 1;
}

void hb_match_forget(struct hb_xport *x, struct hb_inbound *in)
{
    if (in->is_kept) {
        take_out(&x->unexpected, HB_ROW_ALL, in);
        take_out(kin_of(x, in->source, in->context), HB_ROW_KIN, in);
        in->is_kept = 0;
    }
}

struct hb_inbound *hb_match_unexpected(struct hb_xport *x,
                                       const struct hb_xport_req *req)
{
    int which = req->peer == HB_XPORT_ANY ? HB_ROW_ALL : HB_ROW_KIN;
    struct hb_inbound *in =
        which == HB_ROW_ALL
            ? x->unexpected.first
            : kin_of(x, (uint32_t)req->peer, req->context)->first;

    while (in != NULL && !fits(req, in)) {
        in = in->in_row[which].next;
    }
    if (in != NULL) {
        hb_match_forget(x, in);
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
