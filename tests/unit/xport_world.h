/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TEST_XPORT_WORLD_H
#define HB_TEST_XPORT_WORLD_H

/* Ranks of this process that send each other messages, for tests of lib/xport.
 * They are there to be looked into: a test ends one, or writes its card anew.
 */

#include "lib/xport/xport.h"

#define XPORT_WORLD_MOST 3

struct xport_world {
    int n;
    struct hb_buf card[XPORT_WORLD_MOST];   /* what a rank tells of itself */
    struct hb_xport *x[XPORT_WORLD_MOST];   /* NULL: has ended */
    struct xport_rank {
        struct xport_world *w;
        int number;
        unsigned lost; /* connections that were given up */
    } ranks[XPORT_WORLD_MOST];
    int held;                               /* nobody tells why one is lost */
    uint32_t asked_of;                      /* who was lost, when last asked */
    unsigned seed;                          /* for the test's own use */
    char *rings;                            /* of ranks on one node */
};

/* n ranks, each a node of its own: they have cards and do not know each other.
 * Ends the test when one cannot be made, as the next two do. */
struct xport_world *xport_world_create(int n);
/* Each is told where the others are. */
void xport_world_join(struct xport_world *w);
/* n ranks of one node, with the smallest rings there may be, joined. */
struct xport_world *xport_world_on_a_node(int n);
/* Every rank that has not ended does what there is to do, once. */
void xport_world_move(struct xport_world *w);
/* All of them do, until the request of that rank is done; its outcome. */
int xport_world_finish(struct xport_world *w, int rank,
                       struct hb_xport_req *req, struct hb_xport_info *info,
                       struct hpcboot_error *err);
void xport_world_destroy(struct xport_world *w);
/* For cmocka: *state is a world of two ranks that are joined, until the end. */
int xport_world_set_up(void **state);
int xport_world_tear_down(void **state);
/* The loadable modules are those of this build. */
void xport_find_modules(void);
/* How many this process has open. */
int xport_descriptors(void);

#endif
