/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Messages within a node: for each pair of ranks a ring of cells, one cache
 * line each, that one of them writes and the other reads. A record is a cell
 * with a head and the first bytes, and as many further cells as the rest of
 * its bytes fill. A message is one record, or, where it is long, several that
 * pass through the ring one after the other, straight into the buffer of the
 * receive if there is one.
 *
 * The first word of a record is written last, and says that it is there: who
 * reads looks at one line and finds a short message whole in it. The reader
 * clears the first word of each cell before it gives the cells back, so that
 * bytes of an old message are never taken for a record; it does that when it
 * has nothing else to do, or a good part of the ring to give: an answer would
 * wait for these lines to be fetched from the writer. The writer reads how far
 * the reader is only when the ring seems full. Nobody waits for anybody
 * within a record, so that a rank which dies leaves at worst half a message.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cache.h"
#include "lib/base/str.h"
#include "lib/xport/impl.h"

#define CELL 64u
#define HEAD 24u           /* of a record, in its first cell */
#define IS_VOID 4u         /* its message ends here, and is none */
#define IS_RECORD 2u       /* in its first word, also where it has no bytes */
#define IS_FIRST 1u        /* of its message */
#define LENGTH_SHIFT 3
/* A record fills at most so much of a ring: the next is written while this
 * one is read. */
#define PARTS 4u
/* A record of up to so many cells is handed on in less time than its reader
 * saves. */
#define HANDED_ON 17u

struct cell {
    _Alignas(CELL) _Atomic uint32_t word; /* length << 3 | flags; 0: none */
    uint32_t context;
    uint64_t tag, size;
    unsigned char bytes[CELL - HEAD];
};

struct ring {
    _Alignas(CELL) _Atomic uint64_t taken; /* cells the reader gave back */
    struct cell cells[];
};

struct hb_ring_peer { /* a rank of this node */
    uint32_t rank;
    struct ring *in, *out;
    uint64_t read, given;    /* cells of `in`; those given back */
    uint64_t written, taken; /* cells of `out`; as last seen */
    struct hb_inbound *half; /* a message that is not all here yet */
    struct hb_xport_req *first, **end; /* sends that wait for room */
};

static uint64_t cells_of(size_t len)
{
    return 1 + (len > CELL - HEAD ? (len - (CELL - HEAD) + CELL - 1) / CELL
                                  : 0);
}

void hb_ring_join(struct hb_xport *x)
{
    const struct hb_xport_job *job = &x->job;

    if (job->n_local < 2) {
        return;
    }
    x->cells = (uint32_t)((job->ring_bytes - sizeof(struct ring)) / CELL);
    x->peers = hb_xcalloc(job->n_local, sizeof *x->peers);
    for (uint32_t r = 0; r < job->size; r++) {
        uint32_t local = job->local_rank_of[r];

        if (job->node_of[r] == job->node && local != job->local_rank) {
            struct hb_ring_peer *p = &x->peers[local];

            p->rank = r;
            p->in = job->ring(job->ctx, job->local_rank, local);
            p->out = job->ring(job->ctx, local, job->local_rank);
            p->end = &p->first;
        }
    }
}

void hb_ring_leave(struct hb_xport *x)
{
    for (uint32_t i = 0; x->peers != NULL && i < x->job.n_local; i++) {
        struct hb_ring_peer *p = &x->peers[i];

        while (p->first != NULL) {
            struct hb_xport_req *r = p->first;

            p->first = r->next;
            free(r->copy);
            free(r);
        }
        if (p->half != NULL && p->half->req != NULL) {
            if (p->half->req->orphan) {
                hb_back_free(p->half->req);
            }
            hb_match_forget(x, p->half);
            free(p->half->own);
            free(p->half);
        }
    }
    free(x->peers);
    x->peers = NULL;
}

/* ---- bytes of a record, which may go round the end of the ring ---- */

static void copy_in(struct hb_xport *x, struct ring *ring, uint64_t cell,
                    const char *from, size_t len)
{
    size_t at = (size_t)(cell % x->cells) * CELL + HEAD;
    size_t room = (size_t)x->cells * CELL - at;
    size_t part = len < room ? len : room;

    memcpy((char *)ring->cells + at, from, part);
    if (len > part) {
        memcpy((char *)ring->cells, from + part, len - part);
    }
}

static void copy_out(const struct hb_xport *x, const struct ring *ring,
                     uint64_t cell, char *to, size_t len)
{
    size_t at = (size_t)(cell % x->cells) * CELL + HEAD;
    size_t room = (size_t)x->cells * CELL - at;
    size_t part = len < room ? len : room;

    memcpy(to, (const char *)ring->cells + at, part);
    if (len > part) {
        memcpy(to + part, (const char *)ring->cells, len - part);
    }
}

/* ---- sending ---- */

static int has_room(const struct hb_xport *x, struct hb_ring_peer *p,
                    uint64_t cells)
{
    if (x->cells - (p->written - p->taken) < cells) {
        p->taken = atomic_load_explicit(&p->out->taken, memory_order_acquire);
    }
    return x->cells - (p->written - p->taken) >= cells;
}

/* Where it has a single line, its reader, who looks for that, gains nothing. */
static void hand_on(const struct hb_xport *x, const struct hb_ring_peer *p,
                    uint64_t n)
{
    uint64_t at = p->written % x->cells;

    for (; n > 0; n--) {
        hb_hand_on(&p->out->cells[at]);
        at = at + 1 < x->cells ? at + 1 : 0;
    }
}

static void put_record(struct hb_xport *x, struct hb_ring_peer *p,
                       const struct hb_xport_req *req, size_t len)
{
    struct cell *c = &p->out->cells[p->written % x->cells];
    uint32_t word = (uint32_t)len << LENGTH_SHIFT | IS_RECORD |
                    (req->is_void ? IS_VOID : 0);
    uint64_t n = cells_of(len);

    c->context = req->context;
    c->tag = req->tag;
    c->size = req->size;
    if (len > 0) {
        copy_in(x, p->out, p->written, req->data + req->sent, len);
    }
    atomic_store_explicit(&c->word, req->begun ? word : word | IS_FIRST,
                          memory_order_release);
    if (n > 1 && n <= HANDED_ON) {
        hand_on(x, p, n);
    }
    p->written += n;
}

/* 1: all of it is in the ring. */
static int push(struct hb_xport *x, struct hb_ring_peer *p,
                struct hb_xport_req *req)
{
    size_t most = (size_t)(x->cells / PARTS) * CELL - HEAD;

    do {
        size_t left = req->is_void ? 0 : req->size - req->sent;
        size_t len = left < most ? left : most;

        if (!has_room(x, p, cells_of(len))) {
            return 0;
        }
        put_record(x, p, req, len);
        req->begun = 1;
        req->sent += len;
    } while (req->sent < req->size && !req->is_void);
    hb_req_finish(req, 0);
    return 1;
}

void hb_ring_send(struct hb_xport *x, struct hb_xport_req *req)
{
    struct hb_ring_peer *p = &x->peers[x->job.local_rank_of[req->peer]];

    if (p->first != NULL || !push(x, p, req)) {
        req->next = NULL;
        *p->end = req;
        p->end = &req->next;
    }
}

static int push_waiting(struct hb_xport *x, struct hb_ring_peer *p)
{
    int moved = 0;

    while (p->first != NULL) {
        struct hb_xport_req *r = p->first, *next = r->next;
        size_t before = r->sent;

        if (!push(x, p, r)) {
            return moved || r->sent != before;
        }
        moved = 1;
        p->first = next;
        if (next == NULL) {
            p->end = &p->first;
        }
    }
    return moved;
}

/* ---- receiving ---- */

/* `now` serves for a message that is whole and awaited. */
static struct hb_inbound *begin(struct hb_xport *x, uint32_t source,
                                const struct cell *c, size_t len,
                                struct hb_inbound *now)
{
    struct hb_inbound *in;

    *now = (struct hb_inbound){.source = source, .context = c->context,
                               .tag = c->tag, .size = c->size};
    now->req = hb_match_posted(x, now);
    if (now->req != NULL && len >= now->size) {
        return now;
    }
    in = hb_xmalloc(sizeof *in);
    *in = *now;
    if (in->req == NULL) {
        hb_inbound_make_room(in);
        hb_match_keep(x, in);
    }
    return in;
}

/* Where the next bytes go, and how many of them fit there. */
static char *place_of(const struct hb_inbound *in, size_t *len)
{
    size_t room = 0;
    char *to = NULL;

    if (in->own != NULL) {
        room = (size_t)in->size;
        to = in->own;
    } else if (!in->lost) {
        room = in->req->size;
        to = in->req->buffer;
    }
    if (in->got >= room || to == NULL) {
        *len = 0;
        return NULL;
    }
    *len = *len < room - in->got ? *len : room - (size_t)in->got;
    return to + in->got;
}

static void give_back(const struct hb_xport *x, struct hb_ring_peer *p)
{
    for (; p->given < p->read; p->given++) {
        atomic_store_explicit(&p->in->cells[p->given % x->cells].word, 0,
                              memory_order_relaxed);
    }
    atomic_store_explicit(&p->in->taken, p->given, memory_order_release);
}

static void take_record(struct hb_xport *x, struct hb_ring_peer *p,
                        struct cell *c, uint32_t word)
{
    size_t len = word >> LENGTH_SHIFT, fits = len;
    struct hb_inbound now;
    struct hb_inbound *in = word & IS_FIRST ? begin(x, p->rank, c, len, &now)
                                            : p->half;
    char *to = place_of(in, &fits);

    if (fits > 0) {
        copy_out(x, p->in, p->read, to, fits);
    }
    in->got += len;
    p->read += cells_of(len);
    if (p->read - p->given >= x->cells / PARTS) {
        give_back(x, p);
    }
    in->is_void = (word & IS_VOID) != 0;
    in->complete = in->got >= in->size || in->is_void;
    p->half = in->complete ? NULL : in;
    if (in == &now) {
        hb_inbound_deliver(in);
    } else if (in->complete && in->req != NULL) {
        hb_inbound_finish(in);
    }
}

static int take_records(struct hb_xport *x, struct hb_ring_peer *p)
{
    int n = 0;

    for (;; n++) {
        struct cell *c = &p->in->cells[p->read % x->cells];
        uint32_t word = atomic_load_explicit(&c->word, memory_order_acquire);

        if (word == 0) {
            if (n == 0 && p->given < p->read) {
                give_back(x, p);
            }
            return n;
        }
        take_record(x, p, c, word);
    }
}

int hb_ring_progress(struct hb_xport *x)
{
    int moved = 0;

    for (uint32_t i = 0; x->peers != NULL && i < x->job.n_local; i++) {
        struct hb_ring_peer *p = &x->peers[i];

        if (p->in != NULL) {
            moved += take_records(x, p);
        }
        if (p->first != NULL) {
            moved += push_waiting(x, p);
        }
    }
    return moved;
}

/* ---- giving up ---- */

int hb_ring_cancel(struct hb_xport *x, struct hb_xport_req *req)
{
    for (uint32_t i = 0; x->peers != NULL && i < x->job.n_local; i++) {
        struct hb_ring_peer *p = &x->peers[i];

        if (p->half != NULL && p->half->req == req) {
            return 1;
        }
        if (p->in == NULL || req->is_recv || (uint32_t)req->peer != p->rank) {
            continue;
        }
        req->copy = malloc(req->size + 1);
        req->is_void = req->copy == NULL;
        if (req->copy != NULL && req->size > 0) {
            memcpy(req->copy, req->data, req->size);
        }
        req->data = req->copy;
        return 1;
    }
    return 0;
}
