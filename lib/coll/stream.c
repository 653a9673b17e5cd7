/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How a rank writes what its peers read: into its cache, or past it.
 *
 * A line that a peer on the same third-level cache has written comes from
 * there faster than from memory. Where caches are far apart (other sockets,
 * other parts of a chip, a hypervisor that has moved a CPU) it is the other
 * way round: to get it costs more than a trip to memory, and to write it
 * again costs as much once more, since the peer's copy has to go first. Then
 * pieces are streamed to memory, several times as fast.
 *
 * Which it is, is not a property of the machine but of where the ranks' CPUs
 * are just now. So a rank looks every few calls how long a line takes that a
 * peer has written since: the one with its count of calls, which is there
 * anyway. Only who writes need know; the readers cannot tell the difference,
 * so nothing has to be agreed on. */

#include "config.h"

#include "lib/coll/impl.h"

#include "lib/base/clock.h"

#define LOOK_EVERY 8
/* Looks that must agree before another way is taken: an interrupt makes one
 * of them long. */
#define AGREE 3

/* How long it takes to read the peer's line, above what a second look at it
 * takes; < 0: it has not been written since the last look. */
static int64_t line_ns(struct hb_coll_team *t, int peer)
{
    _Atomic uint64_t *line = &t->ranks[peer].calls;
    int64_t begun = hb_now_ns();
    uint64_t calls = atomic_load(line);
    int64_t first = hb_now_ns();
    uint64_t again = atomic_load(line);
    int64_t second = hb_now_ns();
    bool written = calls != t->near.calls || peer != t->near.peer;
    t->near.calls = again;
    t->near.peer = peer;
    int64_t ns = 2 * first - begun - second;
    return !written ? -1 : ns > 0 ? ns : 1;
}

static int64_t far_ns(const struct hb_coll_model *m)
{
    return m != NULL && m->far_ns > 0 ? (int64_t)m->far_ns : HB_FAR_NS;
}

void hb_stream_look(struct hb_coll_team *t)
{
    struct hb_nearness *n = &t->near;
    if (t->p < 2 || n->looks++ % LOOK_EVERY != 0) {
        return;
    }
    int peer = (t->me + 1 + (int)(n->looks / LOOK_EVERY) % (t->p - 1)) % t->p;
    int64_t ns = line_ns(t, peer);
    if (ns < 0) {
        return;
    }
    bool far = ns >= far_ns(t->engine->model);
    n->differ = far != n->far ? n->differ + 1 : 0;
    if (n->differ >= AGREE) {
        n->far = !n->far;
        n->differ = 0;
    }
}
