/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BASE_JOBMAP_H
#define HB_BASE_JOBMAP_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/error.h"

/* A placed job: which rank runs on which node. Plain data, made by the
 * mapping at the launcher, carried to every agent, read by the
 * process-management servers. Rank spaces: a rank is 0..n_ranks-1 over the
 * whole job, a local rank counts the ranks of one node in rank order, an app
 * rank counts the ranks of one app (MPMD segment). Node 0..n_nodes-1. */
struct hb_job_app {
    uint32_t first_rank; /* its ranks are consecutive */
    uint32_t n_ranks;
};

struct hb_jobmap {
    uint32_t n_ranks, n_nodes, n_apps;
    uint32_t universe_slots;  /* slots of the whole gang; >= 1 */
    char **node_names;        /* [n_nodes], unique, owned */
    uint32_t *node_of_rank;   /* [n_ranks] */
    uint32_t *local_rank;     /* [n_ranks] */
    uint32_t *local_size;     /* [n_nodes] */
    struct hb_job_app *apps;  /* [n_apps] */
};

#define HB_MAX_RANKS (1u << 24)
#define HB_MAX_NODES (1u << 20)
#define HB_MAX_APPS 4096u

/* Allocates a map whose local_rank and local_size follow from node_of_rank.
 * All arguments are copied. NULL-safe destroy. */
int hb_jobmap_create(struct hb_jobmap **out, uint32_t n_ranks,
                     const uint32_t *node_of_rank, uint32_t n_nodes,
                     char *const *node_names, uint32_t n_apps,
                     const struct hb_job_app *apps, uint32_t universe_slots,
                     struct hpcboot_error *err);
void hb_jobmap_destroy(struct hb_jobmap *map);
/* A copy with one more node, of n_ranks ranks above the others, which belong
 * to the last app. */
int hb_jobmap_grow(const struct hb_jobmap *map, const char *node_name,
                   uint32_t n_ranks, struct hb_jobmap **out,
                   struct hpcboot_error *err);
/* Another host has the ranks of this node. A node that has its name already
 * gets the old one. 1: something has changed. */
int hb_jobmap_rename(struct hb_jobmap *map, uint32_t node, const char *name);
/* Have the nodes of two maps the same names, as far as both have them? */
int hb_jobmap_names_agree(const struct hb_jobmap *a,
                          const struct hb_jobmap *b);
/* Are all ranks and nodes of `map` in `grown`, under the same numbers? Their
 * hosts, and with them the names, may be others. */
int hb_jobmap_begins(const struct hb_jobmap *map,
                     const struct hb_jobmap *grown);
uint32_t hb_jobmap_app_of(const struct hb_jobmap *map, uint32_t rank);
/* The j-th rank of a node in rank order; *ranks_out has local_size[node]
 * entries, free() it. */
void hb_jobmap_ranks_of_node(const struct hb_jobmap *map, uint32_t node,
                             uint32_t **ranks_out);
/* Compact encoding (runs of ranks); decode checks every bound. */
void hb_jobmap_encode(const struct hb_jobmap *map, struct hb_buf *b);
int hb_jobmap_decode(struct hb_jobmap **out, struct hb_buf *b,
                     struct hpcboot_error *err);
/* "(vector,(0,2,4))" as PMI_process_mapping wants it, runs compressed; free().
 * A layout without any order gives a text longer than a PMI value may be
 * (HB_PROCESS_MAPPING_MAX with its NUL, vallen_max of PMI-1 and PMI-2): the
 * server then answers that there is no such key, and clients compare host
 * names instead. */
#define HB_PROCESS_MAPPING_MAX 1024u
char *hb_jobmap_process_mapping(const struct hb_jobmap *map);

#endif
