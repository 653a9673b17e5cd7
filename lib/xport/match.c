/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Receives without a message, and messages without a receive, in the order of
 * time. Whoever comes takes the oldest of the others that fits, which keeps
 * messages of one source in order.
 *
 * Ranks that only send run ahead by thousands of messages, a root takes those
 * of all of them in turn, and codes post thousands of receives in an order that
 * is not that of arrival. So what names its source and its whole tag is looked
 * for among its like, where it is the first, mostly; a receive of one source
 * and any tag looks through what came from there, and one of any source through
 * all. A message looks for who has named it, and for who has not, and takes who
 * was first.
 *
 * Contexts that are over are kept as bits: most teams end some time, and their
 * numbers are not used again. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/xport/impl.h"

/* ---- rows ---- */

void hb_row_append(struct hb_row *row, struct hb_link *link, void *of)
{
    *link = (struct hb_link){row->last, NULL, of};
    *(row->last != NULL ? &row->last->next : &row->first) = link;
    row->last = link;
}

void hb_row_take_out(struct hb_row *row, const struct hb_link *link)
{
    *(link->prev != NULL ? &link->prev->next : &row->first) = link->next;
    *(link->next != NULL ? &link->next->prev : &row->last) = link->prev;
}

static struct hb_row *kin_of(struct hb_row rows[HB_KIN], uint32_t source,
                             uint32_t context)
{
    return &rows[(source + context) % HB_KIN];
}

/* Tags count, mostly, or have their meaning in some of their bits. */
static struct hb_row *twins_of(struct hb_row rows[HB_KIN], uint32_t source,
                               uint32_t context, uint64_t tag)
{
    uint64_t mixed = tag * UINT64_C(0x9e3779b97f4a7c15);

    return kin_of(rows, source + (uint32_t)(mixed >> 32), context);
}

static int is_exact(const struct hb_xport_req *r)
{
    return r->peer != HB_XPORT_ANY && r->mask == UINT64_MAX;
}

static int fits(const struct hb_xport_req *r, const struct hb_inbound *in)
{
    return r->context == in->context &&
           (r->peer == HB_XPORT_ANY || (uint32_t)r->peer == in->source) &&
           ((r->tag ^ in->tag) & r->mask) == 0;
}

void hb_match_init(struct hb_xport *x)
{
    memset(&x->posted, 0, sizeof x->posted);
    memset(x->posted_twins, 0, sizeof x->posted_twins);
    memset(&x->posted_wide, 0, sizeof x->posted_wide);
    memset(&x->unexpected, 0, sizeof x->unexpected);
    memset(x->kin, 0, sizeof x->kin);
    memset(x->twins, 0, sizeof x->twins);
}

void hb_match_destroy(struct hb_xport *x)
{
    while (x->unexpected.first != NULL) {
        struct hb_inbound *in = x->unexpected.first->of;

        hb_match_forget(x, in);
        free(in->own);
        free(in);
    }
    while (x->posted.first != NULL) {
        struct hb_xport_req *r = x->posted.first->of;

        hb_match_unpost(x, r);
        free(r);
    }
    free(x->over);
    x->over = NULL;
    x->over_size = 0;
}

/* ---- contexts that are over ---- */

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

/* ---- receives without a message ---- */

static struct hb_row *like_of(struct hb_xport *x, const struct hb_xport_req *r)
{
    return is_exact(r) ? twins_of(x->posted_twins, (uint32_t)r->peer,
                                  r->context, r->tag)
                       : &x->posted_wide;
}

void hb_match_post(struct hb_xport *x, struct hb_xport_req *req)
{
    hb_row_append(&x->posted, &req->posted[HB_POSTED_ALL], req);
    hb_row_append(like_of(x, req), &req->posted[HB_POSTED_LIKE], req);
    req->turn = x->n_posted++;
    req->on_list = 1;
}

void hb_match_unpost(struct hb_xport *x, struct hb_xport_req *req)
{
    hb_row_take_out(&x->posted, &req->posted[HB_POSTED_ALL]);
    hb_row_take_out(like_of(x, req), &req->posted[HB_POSTED_LIKE]);
    req->on_list = 0;
}

static struct hb_xport_req *first_for(const struct hb_row *row,
                                      const struct hb_inbound *in)
{
    const struct hb_link *l = row->first;

    while (l != NULL && !fits(l->of, in)) {
        l = l->next;
    }
    return l != NULL ? l->of : NULL;
}

struct hb_xport_req *hb_match_posted(struct hb_xport *x,
                                     const struct hb_inbound *in)
{
    struct hb_xport_req *r = first_for(
        twins_of(x->posted_twins, in->source, in->context, in->tag), in);
    struct hb_xport_req *wide = first_for(&x->posted_wide, in);

    if (r == NULL || (wide != NULL && wide->turn < r->turn)) {
        r = wide;
    }
    if (r == NULL) {
        return hb_match_is_over(x, in->context) ? hb_req_nobody(x, in) : NULL;
    }
    hb_match_unpost(x, r);
    r->info.source = (int)in->source; /* from now on it waits for it */
    return r;
}

void hb_match_lost(struct hb_xport *x, uint32_t peer,
                   const struct hpcboot_error *why)
{
    const struct hb_link *next;

    for (const struct hb_link *l = x->posted.first; l != NULL; l = next) {
        struct hb_xport_req *r = l->of;

        next = l->next;
        if (r->peer == (int)peer) {
            hb_match_unpost(x, r);
            r->err = *why;
            hb_req_finish(r, why->code);
        }
    }
}

/* ---- messages without a receive ---- */

void hb_match_keep(struct hb_xport *x, struct hb_inbound *in)
{
    hb_row_append(&x->unexpected, &in->in_row[HB_ROW_ALL], in);
    hb_row_append(kin_of(x->kin, in->source, in->context),
                  &in->in_row[HB_ROW_KIN], in);
    hb_row_append(twins_of(x->twins, in->source, in->context, in->tag),
                  &in->in_row[HB_ROW_TWIN], in);
    in->is_kept = 1;
}

void hb_match_forget(struct hb_xport *x, struct hb_inbound *in)
{
    if (in->is_kept) {
        hb_row_take_out(&x->unexpected, &in->in_row[HB_ROW_ALL]);
        hb_row_take_out(kin_of(x->kin, in->source, in->context),
                        &in->in_row[HB_ROW_KIN]);
        hb_row_take_out(twins_of(x->twins, in->source, in->context, in->tag),
                        &in->in_row[HB_ROW_TWIN]);
        in->is_kept = 0;
    }
}

static const struct hb_row *row_for(struct hb_xport *x,
                                    const struct hb_xport_req *r)
{
    if (r->peer == HB_XPORT_ANY) {
        return &x->unexpected;
    }
    return is_exact(r) ? twins_of(x->twins, (uint32_t)r->peer, r->context,
                                  r->tag)
                       : kin_of(x->kin, (uint32_t)r->peer, r->context);
}

struct hb_inbound *hb_match_unexpected(struct hb_xport *x,
                                       const struct hb_xport_req *req)
{
    const struct hb_link *l = row_for(x, req)->first;

    while (l != NULL && !fits(req, l->of)) {
        l = l->next;
    }
    if (l == NULL) {
        return NULL;
    }
    hb_match_forget(x, l->of);
    return l->of;
}
