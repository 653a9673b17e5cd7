/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Values and meetings within a node that no agent serves. What a rank puts
 * hangs before its slot as a chain of pieces of the heap, the newest first,
 * and stays until the job ends; a reader remembers the newest it has seen. */
#include "config.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/rdzv/foreign.h"

#define YIELDS 1000 /* then the others take their time */
#define NAP_NS (200 * 1000)

struct piece {
    uint64_t next; /* offset of the one before; 0: none */
    uint64_t len;
    char bytes[];
};

static struct piece *piece_at(const struct hb_segment *s, uint64_t offset)
{
    return (struct piece *)((char *)s->base + offset);
}

int hb_node_publish(struct hb_segment *s, uint32_t local, struct hb_buf *what,
                    struct hpcboot_error *err)
{
    struct hb_segment_slot *slot = hb_segment_slot(s, local);
    uint64_t offset;
    struct piece *p;
    int rc;

    if (what->len == 0) {
        return 0;
    }
    rc = hb_segment_alloc(s, local, sizeof *p + what->len, &offset, err);
    if (rc < 0) {
        return rc;
    }
    p = piece_at(s, offset);
    p->next = atomic_load(&slot->values);
    p->len = what->len;
    memcpy(p->bytes, what->data, what->len);
    atomic_store(&slot->values, offset);
    hb_buf_clear(what);
    return 0;
}

int hb_node_take(struct hb_segment *s, uint32_t local, uint64_t *seen,
                 int (*visit)(void *arg, struct hb_bytes piece,
                              struct hpcboot_error *err),
                 void *arg, struct hpcboot_error *err)
{
    uint64_t newest = atomic_load(&hb_segment_slot(s, local)->values);
    uint64_t *chain = NULL;
    size_t n = 0;
    int rc = 0;

    for (uint64_t at = newest; at != *seen; at = piece_at(s, at)->next) {
        chain = hb_xrealloc(chain, (n + 1) * sizeof *chain);
        chain[n++] = at;
    }
    while (rc == 0 && n > 0) {
        const struct piece *p = piece_at(s, chain[--n]);

        rc = visit(arg, (struct hb_bytes){p->bytes, (size_t)p->len}, err);
    }
    if (rc == 0) {
        *seen = newest;
    }
    free(chain);
    return rc;
}

static uint32_t turn_of(uint64_t state)
{
    return (uint32_t)(state >> 32);
}

static uint64_t state_of(uint32_t turn, uint32_t arrived)
{
    return (uint64_t)turn << 32 | arrived;
}

/* The turn that this rank has come to; it is over if this one was the last. */
static uint32_t arrive(struct hb_segment_meeting *m, uint32_t n_locals)
{
    uint64_t old = atomic_load(&m->state), new;

    do {
        uint32_t turn = turn_of(old), n = (uint32_t)old + 1;

        new = n < n_locals ? state_of(turn, n) : state_of(turn + 1, 0);
    } while (!atomic_compare_exchange_weak(&m->state, &old, new));
    return turn_of(old);
}

/* Takes back that this rank has come; 0: all others have come meanwhile. */
static int withdraw(struct hb_segment_meeting *m, uint32_t turn)
{
    uint64_t old = atomic_load(&m->state);

    while (turn_of(old) == turn) {
        if (atomic_compare_exchange_weak(&m->state, &old, old - 1)) {
            return 1;
        }
    }
    return 0;
}

/* 0: there is no reason to wait no more. */
static int why_not(const struct hb_segment *s, int64_t deadline_ns,
                   struct hpcboot_error *err)
{
    uint32_t n = hb_segment_deaths(s), node = hb_segment_node(s);

    for (uint32_t i = 0; i < n; i++) {
        const struct hb_death *d = hb_segment_death(s, i);

        if (d->rank < hb_segment_ranks(s) &&
            hb_segment_node_of(s)[d->rank] == node) {
            return hb_fail(err, HPCBOOT_ERR_PEER_DEAD, "%s", d->text);
        }
    }
    return hb_now_ns() <= deadline_ns
               ? 0 : hb_fail(err, HPCBOOT_ERR_TIMED_OUT, "not all ranks of "
                             "this node have come before the deadline");
}

/* Works for those who have to come yet, or leaves them the CPU for the n-th
 * time: how often that was in vain. */
static unsigned leave_time(const struct hb_rdzv *r, unsigned n)
{
    const struct timespec nap = {0, NAP_NS};

    if (r->work != NULL && r->work() > 0) {
        return 0;
    }
    if (n < YIELDS) {
        sched_yield();
        return n + 1;
    }
    nanosleep(&nap, NULL);
    return n;
}

int hb_node_meet(struct hb_rdzv *r, int64_t deadline_ns,
                 struct hpcboot_error *err)
{
    const struct hb_segment *s = &r->memory;
    struct hb_segment_meeting *m = hb_segment_meeting(s);
    uint32_t turn = arrive(m, hb_segment_locals(s));
    unsigned n = 0;

    while (turn_of(atomic_load(&m->state)) == turn) {
        if (why_not(s, deadline_ns, NULL) < 0 && withdraw(m, turn)) {
            return why_not(s, deadline_ns, err);
        }
        n = leave_time(r, n);
    }
    return 0;
}
