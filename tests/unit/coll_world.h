/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef COLL_WORLD_H
#define COLL_WORLD_H

/* Ranks of one node, as threads of this process or as processes that each
 * map the same memfd. */

#include <stdbool.h>
#include <stddef.h>

#include "lib/coll/coll.h"

struct coll_rank {
    int rank, size;
    struct hb_coll_engine *engine;
    struct hb_coll_team *team;  /* all ranks */
    void *heap;                 /* shared by all ranks, zeroed; or NULL */
    size_t heap_size;
    void *extra;                /* regions of further teams; see below */
    struct hb_coll_node_page *page;
    void *arg;
};

struct coll_world {
    int ranks;
    bool processes;
    bool threads_call;        /* config.threads */
    const char *net_wish;     /* config.net_wish */
    bool check;
    int wait_mode;
    const char *tune;         /* HPCBOOT_COLL_TUNE; NULL: no model is shared */
    int extra_regions;        /* each for `ranks` local ranks, zeroed */
    size_t heap_size;
    int timeout_ms;           /* of each call; 0: 240 s, so that a test that
                               * would hang says where */
    int (*alive)(void *ctx, void *team_ctx, struct hpcboot_error *err);
};

/* Runs `fn` at each rank and waits for all. fn returns NULL, or a static or
 * leaked text of what is wrong. Returns 0 when all were right; otherwise
 * prints rank and text, and returns how many were not. */
int coll_world_run(const struct coll_world *w,
                   const char *(*fn)(struct coll_rank *r), void *arg);
/* The region of a further team, 0 <= i < extra_regions; and such a team of all
 * ranks, NULL: there is none. */
void *coll_world_region(const struct coll_rank *r, int i);
struct hb_coll_team *coll_further_team(const struct coll_rank *r, int i);
/* An allreduce of n 32-bit integers. */
struct hpcboot_coll_args coll_sum_of(const int *in, int *out, size_t n);
/* Rank 0 has got what it wanted of a call, and does not come to its end:
 * ranks that wait are told so where coll_rank_0_left is their `alive`. */
void coll_leave(const struct coll_rank *r);
int coll_rank_0_left(void *ctx, void *team_ctx, struct hpcboot_error *err);
/* A text that stays: printf into memory that is never freed. */
const char *coll_text(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

#endif
