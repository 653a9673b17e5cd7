/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Brings receives and messages together: what finds no partner waits in a row,
 * in the order of time. A message takes the oldest receive that fits, a receive
 * the oldest message, which keeps the messages of one source in order.
 *
 * Rows may be long: ranks that only send run ahead by thousands of messages,
 * and some programs post thousands of receives in another order than that of
 * arrival. So a receive that names its source and its whole tag, and a message
 * on its way to such a one, are found by a hash of these. A receive of one
 * source and any tag looks through the messages of that source, and one of any
 * source through all messages. A message looks among the receives that name its
 * source and tag, and among those that name less, and takes the older of the
 * two that it finds. Tables of that hash grow with what is in them: who looks
 * in vain, for one rank that is late among others that are far ahead, looks
 * through all of a row.
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

/* Behind those that met a receive before. */
static void put_first(struct hb_row *row, struct hb_link *link, void *of)
{
    const struct hb_inbound *in = of, *at;
    struct hb_link *next = row->first;

    while (next != NULL && (at = next->of)->order != 0 &&
           at->order < in->order) {
        next = next->next;
    }
    *link = (struct hb_link){next != NULL ? next->prev : row->last, next, of};
    *(link->prev != NULL ? &link->prev->next : &row->first) = link;
    *(next != NULL ? &next->prev : &row->last) = link;
}

void hb_row_take_out(struct hb_row *row, const struct hb_link *link)
{
    *(link->prev != NULL ? &link->prev->next : &row->first) = link->next;
    *(link->next != NULL ? &link->next->prev : &row->last) = link->prev;
}

static struct hb_row *source_row(struct hb_row rows[HB_MATCH_ROWS],
                                 uint32_t source, uint32_t context)
{
    return &rows[(source + context) % HB_MATCH_ROWS];
}

/* ---- tables ---- */

#define TABLE_GROWS_BITS 2

static void table_init(struct hb_table *t)
{
    memset(t, 0, sizeof *t);
    t->rows = t->first;
    t->n_rows = HB_MATCH_ROWS;
    t->shift = 64 - HB_MATCH_BITS;
}

static void table_destroy(struct hb_table *t)
{
    if (t->rows != t->first) {
        free(t->rows);
    }
}

/* Most programs count their tags up, or give some bits of them a meaning: all
 * bits go into the upper ones of the product. */
static struct hb_row *tag_row(const struct hb_table *t, uint32_t source,
                              uint32_t context, uint64_t tag)
{
    uint64_t from = ((uint64_t)source << 32 | context) *
                    UINT64_C(0xd1342543de82ef95);
    uint64_t mixed = (tag + from) * UINT64_C(0x9e3779b97f4a7c15);

    return &t->rows[mixed >> t->shift];
}

/* More rows, if there are as many things in them as there are rows, and memory.
 * Who calls it puts these into them, in the order of time; there are so many
 * times more, then, so that it seldom has to. */
static int table_grow(struct hb_table *t)
{
    uint32_t n = t->n_rows << TABLE_GROWS_BITS;
    struct hb_row *rows = t->n >= t->n_rows && n > t->n_rows
                              ? calloc(n, sizeof *rows) : NULL;

    if (rows == NULL) {
        return 0;
    }
    table_destroy(t);
    t->rows = rows;
    t->n_rows = n;
    t->shift -= TABLE_GROWS_BITS;
    return 1;
}

enum { NAMES_SOURCE = 1, NAMES_TAG = 2, NAMES_BOTH = 3 };

static unsigned names(const struct hb_xport_req *r)
{
    return (r->peer != HB_XPORT_ANY ? NAMES_SOURCE : 0u) |
           (r->mask == UINT64_MAX ? NAMES_TAG : 0u);
}

static int is_exact(const struct hb_xport_req *r)
{
    return names(r) == NAMES_BOTH;
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
    table_init(&x->posted_exact);
    table_init(&x->posted_wide);
    memset(x->n_wide, 0, sizeof x->n_wide);
    memset(&x->unexpected, 0, sizeof x->unexpected);
    memset(x->by_source, 0, sizeof x->by_source);
    table_init(&x->by_tag);
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
    table_destroy(&x->posted_exact);
    table_destroy(&x->posted_wide);
    table_destroy(&x->by_tag);
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

#define NO_SOURCE UINT32_MAX
#define NO_TAG UINT64_MAX

/* Of receives that name so much of these. */
static struct hb_row *wide_row(const struct hb_xport *x, unsigned named,
                               uint32_t source, uint32_t context, uint64_t tag)
{
    return tag_row(&x->posted_wide,
                   (named & NAMES_SOURCE) != 0 ? source : NO_SOURCE, context,
                   (named & NAMES_TAG) != 0 ? tag : NO_TAG);
}

static struct hb_row *posted_row(const struct hb_xport *x,
                                 const struct hb_xport_req *r)
{
    uint32_t source = (uint32_t)r->peer;

    return is_exact(r)
               ? tag_row(&x->posted_exact, source, r->context, r->tag)
               : wide_row(x, names(r), source, r->context, r->tag);
}

static void put_into_table(struct hb_xport *x, struct hb_xport_req *req)
{
    int exact = is_exact(req);
    struct hb_table *t = exact ? &x->posted_exact : &x->posted_wide;

    if (table_grow(t)) {
        for (struct hb_link *l = x->posted.first; l != NULL; l = l->next) {
            struct hb_xport_req *r = l->of;

            if (is_exact(r) == exact) {
                hb_row_append(posted_row(x, r), &r->posted[HB_POSTED_HASHED],
                              r);
            }
        }
    }
    hb_row_append(posted_row(x, req), &req->posted[HB_POSTED_HASHED], req);
    t->n++;
}

void hb_match_post(struct hb_xport *x, struct hb_xport_req *req)
{
    put_into_table(x, req);
    if (!is_exact(req)) {
        x->n_wide[names(req)]++;
    }
    hb_row_append(&x->posted, &req->posted[HB_POSTED_ALL], req);
    req->number = x->n_posted++;
    req->on_list = 1;
}

void hb_match_unpost(struct hb_xport *x, struct hb_xport_req *req)
{
    hb_row_take_out(&x->posted, &req->posted[HB_POSTED_ALL]);
    hb_row_take_out(posted_row(x, req), &req->posted[HB_POSTED_HASHED]);
    if (is_exact(req)) {
        x->posted_exact.n--;
    } else {
        x->posted_wide.n--;
        x->n_wide[names(req)]--;
    }
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

/* The older of `r` and the oldest that names less; either may be NULL. */
static struct hb_xport_req *or_wide(const struct hb_xport *x,
                                    struct hb_xport_req *r,
                                    const struct hb_inbound *in)
{
    for (unsigned named = 0; named < HB_WIDE_SORTS; named++) {
        struct hb_xport_req *wide =
            x->n_wide[named] == 0
                ? NULL : first_for(wide_row(x, named, in->source, in->context,
                                            in->tag), in);

        if (r == NULL || (wide != NULL && wide->number < r->number)) {
            r = wide;
        }
    }
    return r;
}

struct hb_xport_req *hb_match_posted(struct hb_xport *x,
                                     const struct hb_inbound *in)
{
    struct hb_xport_req *r = first_for(
        tag_row(&x->posted_exact, in->source, in->context, in->tag), in);

    if (x->posted_wide.n > 0) {
        r = or_wide(x, r, in);
    }
    if (r == NULL) {
        return hb_match_is_over(x, in->context) ? hb_req_nobody(x, in) : NULL;
    }
    hb_match_unpost(x, r);
    hb_req_meets(x, r, in);
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

static struct hb_row *row_of(const struct hb_xport *x,
                             const struct hb_inbound *in)
{
    return tag_row(&x->by_tag, in->source, in->context, in->tag);
}

static void keep(struct hb_xport *x, struct hb_inbound *in,
                 void (*put)(struct hb_row *row, struct hb_link *link,
                             void *of))
{
    if (table_grow(&x->by_tag)) {
        for (struct hb_link *l = x->unexpected.first; l != NULL; l = l->next) {
            struct hb_inbound *at = l->of;

            hb_row_append(row_of(x, at), &at->in_row[HB_ROW_TAG], at);
        }
    }
    put(&x->unexpected, &in->in_row[HB_ROW_ALL], in);
    put(source_row(x->by_source, in->source, in->context),
        &in->in_row[HB_ROW_SOURCE], in);
    put(row_of(x, in), &in->in_row[HB_ROW_TAG], in);
    x->by_tag.n++;
    in->is_kept = 1;
}

void hb_match_keep(struct hb_xport *x, struct hb_inbound *in)
{
    keep(x, in, hb_row_append);
}

void hb_match_keep_first(struct hb_xport *x, struct hb_inbound *in)
{
    keep(x, in, put_first);
}

void hb_match_forget(struct hb_xport *x, struct hb_inbound *in)
{
    if (in->is_kept) {
        hb_row_take_out(&x->unexpected, &in->in_row[HB_ROW_ALL]);
        hb_row_take_out(source_row(x->by_source, in->source, in->context),
                        &in->in_row[HB_ROW_SOURCE]);
        hb_row_take_out(row_of(x, in), &in->in_row[HB_ROW_TAG]);
        x->by_tag.n--;
        in->is_kept = 0;
    }
}

static const struct hb_row *row_for(struct hb_xport *x,
                                    const struct hb_xport_req *r)
{
    if (r->peer == HB_XPORT_ANY) {
        return &x->unexpected;
    }
    return is_exact(r) ? tag_row(&x->by_tag, (uint32_t)r->peer, r->context,
                                 r->tag)
                       : source_row(x->by_source, (uint32_t)r->peer,
                                    r->context);
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
