/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_MAP_H
#define HB_TOPO_MAP_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/jobmap.h"

/* Which rank runs on which node. A pure function of its arguments.
 *
 * The objects inside a node (core, numa, ...) order the ranks of that node
 * when they are bound; over nodes they place as `slot` does, with SPAN as
 * `node` does, one object's worth of ranks at a time. */
enum hb_map_by {
    HB_MAP_DEFAULT, HB_MAP_SLOT, HB_MAP_NODE, HB_MAP_PPR_NODE, HB_MAP_SEQ,
    HB_MAP_HWTHREAD, HB_MAP_CORE, HB_MAP_L1CACHE, HB_MAP_L2CACHE,
    HB_MAP_L3CACHE, HB_MAP_NUMA, HB_MAP_PACKAGE, HB_MAP_PPR_OBJECT,
    HB_MAP_GPU, HB_MAP_NIC, /* a rank for each device */
    HB_MAP_RANKFILE, HB_MAP_PE_LIST
};
enum hb_rank_by {
    HB_RANK_DEFAULT, HB_RANK_SLOT, HB_RANK_NODE, HB_RANK_FILL, HB_RANK_SPAN,
    HB_RANK_TURN /* over the objects of each host in turn */
};

/* One mention of a host in a host list. */
struct hb_map_turn {
    uint32_t host;
    uint32_t slots; /* ranks it takes per turn under `wrap`; 0: the host's */
};

#define HB_MAP_LIST_MAX 512u /* bytes of a CPU list, with its NUL */
#define HB_MAP_FILE_MAX 1024u
#define HB_GRID_MAX 8u       /* dimensions */

struct hb_map_policy {
    enum hb_map_by by;
    uint32_t ppr;         /* HB_MAP_PPR_*: ranks per node or object;
                           * HB_MAP_NODE: of a program the most on each node,
                           * 0: as many as there are slots */
    enum hb_map_by ppr_object; /* HB_MAP_PPR_OBJECT: of which kind */
    enum hb_rank_by rank_by;
    int oversubscribe;    /* 1: beyond stated slots, -1: not beyond counted */
    int nolocal;          /* leave out the launcher's own host */
    int wrap;             /* Hydra: the list starts again when it is used up */
    uint32_t pe;          /* CPUs of each rank; 0: not given */
    int span;             /* SPAN */
    int cpu_kind;         /* 1: HWTCPUS, -1: CORECPUS, 0: not given */
    int inherit;          /* 1: INHERIT, -1: NOINHERIT, 0: not given */
    int ordered;          /* ORDERED: with pe-list, one of it for each rank */
    char list[HB_MAP_LIST_MAX]; /* HB_MAP_PE_LIST: logical cores, in order */
    char file[HB_MAP_FILE_MAX]; /* FILE= of seq and rankfile */
    const struct hb_rankfile *rankfile; /* HB_MAP_RANKFILE: read, borrowed */
    uint32_t grid[HB_GRID_MAX]; /* sizes from the innermost dimension on */
    uint32_t n_grid;      /* 0: no grid */
    /* HB_MAP_SEQ and wrap: hosts as they were mentioned, borrowed. NULL: each
     * host once. */
    const struct hb_map_turn *turns;
    uint32_t n_turns;
};
struct hb_map_host {
    const char *name;
    uint32_t slots;
    int stated;    /* slots are a limit, not a default */
    uint32_t max_slots;
    uint32_t taken; /* ranks of programs before, which are among those slots */
    int is_local;
    const char *absent; /* why it gets no ranks, as "did not come up"; NULL:
                         * it may get some */
    const char *origin; /* for messages: where `slots` came from */
    uint32_t objects;   /* allowed objects of the kind the policy names; 0:
                         * not known */
    uint32_t room;      /* ranks that have CPUs of their own under the policy;
                         * 0: not known */
};
struct hb_map_app { uint32_t np; /* 0: not given */ const char *program; };

/* Nodes without ranks are left out of the map; *host_of_node_out has n_nodes
 * entries (indices into hosts), free() it. Too few slots: ERR_LIMIT, with how
 * many, where each number came from and the ways out. */
int hb_map_ranks(const struct hb_map_policy *policy,
                 const struct hb_map_host *hosts, uint32_t n_hosts,
                 const struct hb_map_app *apps, uint32_t n_apps,
                 struct hb_jobmap **out, uint32_t **host_of_node_out,
                 struct hpcboot_error *err);

/* Does the policy place by what is inside of hosts, so that `objects` and
 * `room` must be known? */
int hb_map_needs_inside(const struct hb_map_policy *policy);

/* SPAN counts where ranks are placed on objects, and slots are none. */
int hb_map_spans(const struct hb_map_policy *policy);

/* "slot", "node:OVERSUBSCRIBE", "ppr:2:node", "numa:PE=4,SPAN", ":NOLOCAL".
 * Only what the text names is set. */
int hb_map_by_parse(const char *text, struct hb_map_policy *io,
                    struct hpcboot_error *err);
/* "slot", "fill", ...; or an object ("core") not larger than the places, which
 * are to be known by then. */
int hb_rank_by_parse(const char *text, struct hb_map_policy *io,
                     struct hpcboot_error *err);
/* "tp=8,dp=4": names are for people, the first one is the innermost. */
int hb_grid_parse(const char *text, struct hb_map_policy *io,
                  struct hpcboot_error *err);
uint64_t hb_grid_ranks(const struct hb_map_policy *policy); /* 0: no grid */

#endif
