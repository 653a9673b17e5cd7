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
 * need not agree, but try at the same time, as they count the same calls. */

#include "config.h"

#include "lib/coll/kinds.h"

#include "lib/base/clock.h"

#define TRIES 8u
#define AGAIN 512u
/* A guest counts on a fourth of the cache. */
#define ALL_OF_IT 4

/* What this rank's buffers are taken for, so that all of them together are. */
static size_t bytes_of(const struct hb_coll_team *t,
                       const struct hpcboot_coll_args *a)
{
    struct hb_extent x = hb_extent_of(t, a);
    return hb_in(a->coll, SCATTERS | GATHERS) /* the root's: all others' */
               ? 2 * a->count * hb_coll_type_size(a->type) : x.send + x.recv;
}

void hb_spill_setup(struct hb_coll_team *t, struct hb_op *op,
                    const struct hpcboot_coll_args *a)
{
    const struct hb_coll_model *m = t->engine->model;
    size_t bytes = bytes_of(t, a);
    size_t room = m != NULL && t->nodes == 1
                      ? hb_model_room(m, t->p) / (size_t)t->p : 0;
    struct hb_spill *s = &t->spill[a->coll];
    op->spills = room > 0 && bytes > room;
    op->tries_spill = op->spills && bytes <= ALL_OF_IT * room &&
                      m->cache_kib == 0 &&
                      (m->cpus == 0 || m->cpus >= (uint32_t)t->p);
    if (!op->tries_spill) {
        return;
    }
    if (s->bytes != bytes) {
        *s = (struct hb_spill){.bytes = bytes, .past = true};
    }
    op->spills = s->past;
}

void hb_spill_begin(struct hb_coll_team *t, struct hb_op *op)
{
    struct hb_spill *s = &t->spill[op->coll];
    unsigned turn = s->calls % AGAIN / TRIES;
    op->spills = turn < 2 ? turn == 1 : s->past;
    s->began_ns = turn < 2 ? hb_now_ns() : 0;
}

void hb_spill_end(struct hb_coll_team *t, const struct hb_op *op)
{
    struct hb_spill *s = &t->spill[op->coll];
    unsigned call = s->calls++ % AGAIN;
    int64_t ns;
    if (call >= 2 * TRIES) {
        return;
    }
    ns = hb_now_ns() - s->began_ns;
    if (call % TRIES < TRIES / 2) {
        s->least_ns[op->spills] = INT64_MAX;
    } else if (ns < s->least_ns[op->spills]) {
        s->least_ns[op->spills] = ns;
    }
    if (call == 2 * TRIES - 1) {
        s->past = s->least_ns[1] < s->least_ns[0];
    }
}
