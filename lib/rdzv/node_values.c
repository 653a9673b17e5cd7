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

/* Takes back that this rank has come; 0: the others have come meanwhile, and
 * the last of them is about to say so. */
static int withdraw(struct hb_segment_meeting *m, uint32_t turn,
                    uint32_t n_locals)
{
    uint32_t n = atomic_load(&m->arrived);

    while (atomic_load(&m->turn) == turn && n > 0 && n < n_locals) {
        if (atomic_compare_exchange_strong(&m->arrived, &n, n - 1)) {
            return 1;
        }
    }
    return 0;
}

int hb_node_meet(struct hb_segment *s, int64_t deadline_ns,
                 struct hpcboot_error *err)
{
    const struct timespec nap = {0, NAP_NS};
    struct hb_segment_meeting *m = hb_segment_meeting(s);
    uint32_t turn = atomic_load(&m->turn);

    if (atomic_fetch_add(&m->arrived, 1) + 1 == hb_segment_locals(s)) {
        atomic_store(&m->arrived, 0);
        atomic_fetch_add(&m->turn, 1);
        return 0;
    }
    for (unsigned n = 0; atomic_load(&m->turn) == turn; n++) {
        if (n < YIELDS) {
            sched_yield();
            continue;
        }
        nanosleep(&nap, NULL);
        if (hb_now_ns() > deadline_ns &&
            withdraw(m, turn, hb_segment_locals(s))) {
            return hb_fail(err, HPCBOOT_ERR_TIMED_OUT, "not all ranks of this "
                           "node have come before the deadline");
        }
    }
    return 0;
}
