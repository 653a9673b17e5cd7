/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef NATIVE_WORLD_H
#define NATIVE_WORLD_H

/* The native rendezvous: two nodes of two ranks each, their servers joined by
 * a fence that the test completes by hand, one answer at a time. */

#include <stdint.h>

#include "lib/rdzv/native.h"
#include "lib/rdzv/native_server.h"

#define NODES 2
#define RANKS 4

struct node {
    uint32_t number;
    struct hb_native_job job;
    struct hb_native_server *server;
    struct hb_buf key, data; /* its contribution to a fence */
    unsigned joined, alarms, modexes, losses;
    uint64_t modex_id;
    uint32_t modex_rank;
    char note[64];
};

struct rank {
    struct node *node;
    struct hb_native_conn *conn;
    unsigned answers;
    int status, fd;
    char value[64], text[200];
};

struct world {
    struct hb_jobmap *map;
    struct node nodes[NODES];
    struct rank ranks[RANKS];
    uint32_t members, out; /* what their fences say: all but `out` */
};

int set_up(void **state); /* *state: the world */
int tear_down(void **state);
/* One question of a rank: HELLO of version x, text the token, value the
 * address; PUT of text, value, x: for the node; NOTE text; GET x, text; FENCE
 * x: of the node, y: collecting. What feeding it to the server returns. */
int say(struct world *w, uint32_t rank, enum hb_native_kind kind, unsigned x,
        unsigned y, const char *text, const char *value);
/* All nodes have joined: everybody gets all contributions. */
void complete(struct world *w);
void hello_all(struct world *w);
void fence_all(struct world *w, unsigned collect);

#endif
