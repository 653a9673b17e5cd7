/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_SEATS_H
#define HB_JOB_SEATS_H

#include <stdint.h>

#include "lib/base/jobmap.h"

/* Which ranks a host gets that comes into a running job. No I/O.
 *
 * The nodes of the map are seats. One that its host has left is free, and
 * whoever takes it gets its ranks under their old numbers; else a host gets a
 * new seat, with ranks above those there are. No number reaches `most`. */
struct hb_seats {
    const struct hb_jobmap *map;
    const unsigned char *is_free; /* [map->n_nodes] */
    uint32_t most;                /* ranks of the job; MAX of --np MIN:MAX */
};

struct hb_seat {
    uint32_t node;    /* map->n_nodes: a new one */
    uint32_t n_ranks; /* there */
};

/* Ranks that could be started. */
uint32_t hb_seats_room(const struct hb_seats *s);
/* Finds a seat for a host: the one that it had if that is free, else the
 * largest free one that its slots suffice for, else, for a name that the map
 * does not have, a new one. 1: it is *out; 0: there is none. */
int hb_seats_choose(const struct hb_seats *s, const char *name, uint32_t slots,
                    struct hb_seat *out);

#endif
