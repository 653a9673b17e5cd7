/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_MAP_H
#define HB_TOPO_MAP_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/jobmap.h"

/* Which rank runs on which node. A pure function of its arguments. */
enum hb_map_by { HB_MAP_DEFAULT, HB_MAP_SLOT, HB_MAP_NODE, HB_MAP_PPR_NODE, HB_MAP_SEQ };
enum hb_rank_by { HB_RANK_DEFAULT, HB_RANK_SLOT, HB_RANK_NODE, HB_RANK_FILL, HB_RANK_SPAN };

struct hb_map_policy {
    enum hb_map_by by;
    uint32_t ppr;         /* HB_MAP_PPR_NODE: ranks per node */
    enum hb_rank_by rank_by;
    int oversubscribe;    /* 1: beyond stated slots, -1: not even beyond counted */
    int nolocal;          /* leave out the launcher's own host */
};
struct hb_map_host {
    const char *name;
    uint32_t slots;
    int stated;    /* slots are a limit, not a default */
    uint32_t max_slots;
    int is_local;
    const char *origin; /* for messages: where `slots` came from */
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
/* "slot", "node:OVERSUBSCRIBE", "ppr:2:node", ... */
int hb_map_by_parse(const char *text, struct hb_map_policy *io,
                    struct hpcboot_error *err);
int hb_rank_by_parse(const char *text, struct hb_map_policy *io,
                     struct hpcboot_error *err);

#endif
