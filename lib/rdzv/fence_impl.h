/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RDZV_FENCE_IMPL_H
#define HB_RDZV_FENCE_IMPL_H

#include "lib/rdzv/fence.h"

/* Between fence.c and fence_table.c, and of no interest elsewhere. */

enum party { NOT_INVOLVED, EXPECTED, JOINED, ANSWERED };

struct fence {
    struct fence *next;
    uint64_t hash;
    struct hb_bytes key; /* owned */
    uint32_t *nodes;
    uint32_t n_nodes;
    unsigned char self;   /* enum party */
    unsigned char *edges; /* enum party [n_edges] */
    uint32_t n_edges;
    int reaches_all; /* every participant is self or below */
    int sent;        /* passed up, waits for the parent */
    int status;      /* 0 until it fails */
    int dirty;       /* advance() is due */
    int busy;        /* failure answers are being given */
    size_t charged;  /* bytes, of what all that are open take */
    struct hb_buf data;
};

/* Open fences of a node are few (one per communicator that is being made);
 * the table only has to keep thousands from being slow. */
#define HB_FENCE_BUCKETS 256u

/* A table is struct fence *[HB_FENCE_BUCKETS]. */
struct fence *hb_fence_find(struct fence *const *table, struct hb_bytes key);
/* Puts a fence in, under its key. */
void hb_fence_link(struct fence **table, struct fence *f);
void hb_fence_unlink(struct fence **table, struct fence *f);
void hb_fence_free(struct fence *f);
/* Whether a list of nodes has that one. */
int hb_fence_names(const uint32_t *nodes, uint32_t n_nodes, uint32_t node);
/* Only what is in order may come to be a fence. */
int hb_fence_check(struct hb_bytes key, const uint32_t *nodes,
                   uint32_t n_nodes, struct hpcboot_error *err);
/* Makes a fence's part of *bytes what it takes now. */
void hb_fence_charge(struct fence *f, size_t *bytes);
/* Takes out of its data what a node has contributed. */
void hb_fence_drop(struct fence *f, uint32_t node);

#endif
