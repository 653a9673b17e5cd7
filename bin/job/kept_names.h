/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_KEPT_NAMES_H
#define HB_JOB_KEPT_NAMES_H

#include "lib/wire/wire.h"

/* The names that are published, at the first launcher, and who waits for one.
 * Of a name that goes with the first who looks it up there may be several. Who
 * has published one and then waits for another is about to meet somebody, as
 * Open MPI does at a port: several who come to one are served in the order in
 * which they have published, so that both ends take each other. Nobody is
 * before others who waits for something else, has looked up something without
 * waiting, is gone, or was read by who meets nobody. */
struct kept_names { /* zeroed: none */
    struct name *v;
    size_t n, n_left; /* the latter: after a job that took part */
    size_t bytes; /* of names and values */
    size_t n_turns, n_waiting;
    struct waiting *first, *last;
    struct turn *turns;
    uint64_t n_published; /* so far */
    int full_said;
};

/* Removed: what servers of PMIx have published of the job behind it. */
#define KEPT_NAMES_OVER "hpcboot/over/"

/* Who is told: `who` under its own number `src`; a value is borrowed. */
typedef void (*kept_names_told)(void *who, uint32_t src,
                                const struct hb_msg_name_reply *reply);

/* It is answered at once or, of a question that waits, later. */
void kept_names_ask(struct kept_names *all, const struct hb_msg_name *m,
                    kept_names_told told, void *who, uint32_t src);
/* It is gone. */
void kept_names_forget(struct kept_names *all, const void *who);
void kept_names_clear(struct kept_names *all); /* answers nobody */

#endif
