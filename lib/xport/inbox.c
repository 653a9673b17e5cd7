/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Messages within a node. The sender takes a piece of the node's heap, writes
 * head and bytes, and hangs it before the receiver's inbox, a word in the
 * shared memory; the receiver takes the whole chain at once, turns it round,
 * and gives each piece back. No lock is held over anything, so that a rank
 * which dies leaves no more than pieces nobody frees.
 *
 * Where the heap is full a send waits, in order, for memory. */
#include "config.h"

#include <string.h>

#include "lib/xport/impl.h"

struct piece {
    uint64_t next; /* offset of the one that came before; 0: none */
    uint32_t source, context;
    uint64_t tag, size;
    char bytes[];
};

static struct piece *piece_at(const struct hb_xport *x, uint64_t offset)
{
    return (struct piece *)(x->job.base + offset);
}

static void hang(struct hb_xport *x, uint32_t local, uint64_t offset)
{
    _Atomic uint64_t *inbox = x->job.inbox(x->job.ctx, local);
    struct piece *p = piece_at(x, offset);
    uint64_t head = atomic_load(inbox);

    do {
        p->next = head;
    } while (!atomic_compare_exchange_weak(inbox, &head, offset));
}

/* 1: sent; 0: there is no memory. */
static int try_send(struct hb_xport *x, struct hb_xport_req *req)
{
    uint64_t offset;
    struct piece *p;

    if (x->job.take(x->job.ctx, sizeof *p + req->size, &offset) < 0) {
        return 0;
    }
    p = piece_at(x, offset);
    p->source = x->job.rank;
    p->context = req->context;
    p->tag = req->tag;
    p->size = req->size;
    if (req->size > 0) {
        memcpy(p->bytes, req->data, req->size);
    }
    hang(x, x->job.local_rank_of[req->peer], offset);
    hb_req_finish(req, 0);
    return 1;
}

int hb_inbox_send(struct hb_xport *x, struct hb_xport_req *req)
{
    if (x->starved != NULL || !try_send(x, req)) {
        req->next = NULL;
        *x->starved_end = req;
        x->starved_end = &req->next;
    }
    return 0;
}

static void feed_starved(struct hb_xport *x)
{
    while (x->starved != NULL) {
        struct hb_xport_req *r = x->starved, *next = r->next;

        if (!try_send(x, r)) {
            return;
        }
        x->starved = next;
        if (next == NULL) {
            x->starved_end = &x->starved;
        }
    }
}

/* The chain that hangs there, in the order of arrival. */
static uint64_t take_chain(struct hb_xport *x)
{
    _Atomic uint64_t *inbox = x->job.inbox(x->job.ctx, x->job.local_rank);
    uint64_t at, turned = 0;

    if (atomic_load_explicit(inbox, memory_order_relaxed) == 0) {
        return 0;
    }
    at = atomic_exchange(inbox, 0);
    while (at != 0) {
        uint64_t next = piece_at(x, at)->next;

        piece_at(x, at)->next = turned;
        turned = at;
        at = next;
    }
    return turned;
}

int hb_inbox_progress(struct hb_xport *x)
{
    uint64_t at = take_chain(x);
    int moved = at != 0;

    while (at != 0) {
        struct piece *p = piece_at(x, at);
        uint64_t next = p->next;

        hb_xport_arrived(x, p->source, p->context, p->tag, p->bytes,
                         (size_t)p->size);
        x->job.give(x->job.ctx, at);
        at = next;
    }
    if (x->starved != NULL) {
        feed_starved(x);
    }
    return moved;
}

void hb_inbox_drain(struct hb_xport *x)
{
    uint64_t at = take_chain(x);

    while (at != 0) {
        uint64_t next = piece_at(x, at)->next;

        x->job.give(x->job.ctx, at);
        at = next;
    }
}
