/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef TESTS_UNIT_FENCE_SIM_H
#define TESTS_UNIT_FENCE_SIM_H

#include "lib/rdzv/fence.h"

/* Whole trees of fence engines inside one process: a launcher that takes no
 * part and 1..64 nodes below it, k children each. Messages wait in one queue
 * per tree edge and direction (an edge keeps order, edges overtake each other)
 * and are delivered in an order drawn from a fixed seed. */
enum { MAX_NODES = 64, MAX_KEYS = 8 };

struct message {
    struct message *next;
    char *key;       /* NULL: `nodes` are not below any more */
    uint32_t last;   /* of those that are to hear that */
    uint32_t *nodes;
    uint32_t n_nodes;
    int status;
    char *data;
    size_t len;
};

struct outcome {
    int n; /* how often done was called */
    int status;
    uint64_t from; /* bit per node whose blob was in it */
    int wrong;     /* a blob that is not what its node gave */
};

struct sim;
struct node {
    struct sim *sim;
    uint32_t id, parent;
    struct hb_fence_engine *engine;
    struct message *up, *down; /* of the edge to the parent */
    struct message *asked;     /* was passed up, and not answered */
    struct outcome outcome[MAX_KEYS];
};

struct sim {
    uint32_t n, arity;
    unsigned seed;
    int broken; /* an engine refused what another sent */
    unsigned long ups; /* messages that went to the launcher */
    struct node node[MAX_NODES];
    struct node root;
};

struct hb_bytes text_bytes(const char *text);
/* All nodes below node i, itself included. */
uint32_t subtree(const struct sim *s, uint32_t i, uint32_t *out);
struct sim *sim_new(uint32_t n, uint32_t arity, unsigned seed);
void drop_messages(struct message **list);
void sim_free(struct sim *s);
/* Delivers one message that waits somewhere; 0 when none does. */
int sim_step(struct sim *s);
void sim_run(struct sim *s);
/* As the job does it where it goes on: a node is gone, and those above it hear
 * that it is not below them, from the top down. Its children are reached by the
 * launcher itself, and say again what has not been answered. Another takes its
 * place there, or nobody, and then it is lost. */
void sim_part(struct sim *s, uint32_t gone, int is_replaced);
int sim_join(struct sim *s, uint32_t node, int key, uint64_t set);
uint64_t all_of(const struct sim *s);
void assert_complete(struct sim *s, int key, uint64_t set);
void assert_nothing_open(struct sim *s);
void forget(struct sim *s, int key);

#endif
