/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Whether a rank writes what it gets past its caches (hb_get). Where the
 * buffers of all ranks are more than the caches hold they would push each other
 * out, and a line that is written whole need not be fetched first. Where they
 * fit it costs twice the time.
 *
 * How much fits nobody says: the third-level cache is others' as well, and a
 * guest sees all of it and none of the others. So what surely fits is kept,
 * what cannot fit is not, and of what lies between a rank tries both: TRIES
 * calls each way, the first half of which fills the caches as that way does,
 * and then goes the way that has had the fastest call, for AGAIN calls. Ranks
 * need not agree, but mostly try at the same time, as they count the same
 * calls. Buffers of a size count together to the next power of two. */

#include "config.h"

#include "lib/coll/kinds.h"

#include <math.h>

#include "lib/base/clock.h"

#define TRIES 4u
#define AGAIN 512u
/* A guest counts on a fourth of the cache. */
#define ALL_OF_IT 4

/* Bytes of this rank's buffers. In a call with a root the ranks' buffers differ
 * in length; each rank then counts an equal part of all of them. */
static size_t bytes_of(const struct hb_coll_team *t,
                       const struct hpcboot_coll_args *a)
{
    struct hb_extent x = hb_extent_of(t, a);
    return hb_in(a->coll, SCATTERS | GATHERS | BIT(REDUCE))
               ? 2 * a->count * hb_coll_type_size(a->type) : x.send + x.recv;
}

void hb_spill_setup(struct hb_coll_team *t, struct hb_op *op,
                    const struct hpcboot_coll_args *a)
{
    const struct hb_coll_model *m = t->engine->model;
    size_t bytes = bytes_of(t, a);
    size_t room = m != NULL && t->nodes == 1
                      ? hb_model_room(m, t->p) / (size_t)t->p : 0;
    op->spills = room > 0 && bytes > room;
    op->spill = NULL;
    if (op->spills && bytes <= ALL_OF_IT * room && m->cache_kib == 0 &&
        (m->cpus == 0 || m->cpus >= (uint32_t)t->p)) {
        int size = __builtin_clzll((unsigned long long)bytes);
        op->spill = &t->spill[a->coll][size % HB_SPILL_SIZES];
        op->spill_bytes = bytes;
        op->spills = !op->spill->stays;
    }
}

void hb_spill_begin(struct hb_op *op)
{
    struct hb_spill *s = op->spill;
    unsigned turn = s->calls % AGAIN / TRIES;
    op->spills = turn < 2 ? turn == 0 : !s->stays;
    s->began_ns = turn < 2 ? hb_now_ns() : 0;
}

void hb_spill_end(const struct hb_op *op)
{
    struct hb_spill *s = op->spill;
    unsigned call = s->calls++ % AGAIN;
    double ns;
    if (call >= 2 * TRIES) {
        return;
    }
    ns = (double)(hb_now_ns() - s->began_ns) / (double)op->spill_bytes;
    if (call % TRIES < TRIES / 2) {
        s->least_ns[op->spills] = INFINITY;
    } else if (ns < s->least_ns[op->spills]) {
        s->least_ns[op->spills] = ns;
    }
    if (call == 2 * TRIES - 1) {
        s->stays = s->least_ns[0] < s->least_ns[1];
    }
}
