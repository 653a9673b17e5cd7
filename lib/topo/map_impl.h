/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_MAP_IMPL_H
#define HB_TOPO_MAP_IMPL_H

#include "lib/topo/map.h"
#include "lib/topo/rankfile.h"

/* A placement under way, private to map.c and map_place.c. */
struct hb_map_plan {
    const struct hb_map_policy *policy;
    const struct hb_map_host *hosts;
    uint32_t n_hosts;
    uint32_t *offer;  /* [n_hosts] filled first */
    uint32_t *limit;  /* [n_hosts] never exceeded */
    uint32_t *used;   /* [n_hosts] ranks of all apps so far */
    uint32_t *count;  /* [n_hosts] ranks of the app at hand */
    uint32_t *ring;   /* [n_hosts] hosts that still take part in a deal */
    struct hb_map_turn *turns; /* mentions, for seq and wrap */
    uint32_t n_turns;
    uint32_t next;      /* the host a deal starts with */
    uint32_t turn;      /* the mention that is next */
    uint32_t turn_used; /* ranks it has taken in this turn */
    uint32_t *host_of_rank;
    struct hb_job_app *apps;
    uint32_t n_apps, n_ranks;
    const struct hb_map_app *asked;
};


/* Room that is left on a host below `cap`. */
uint32_t hb_map_room(const uint32_t *cap, const uint32_t *used, uint32_t host);
int hb_map_too_few(const struct hb_map_plan *p, struct hpcboot_error *err);
/* Those of np that hosts with so many each do not take. */
int hb_map_too_few_each(const struct hb_map_plan *p, uint32_t np, uint32_t left,
                        const char *each, struct hpcboot_error *err);

/* Places and numbers np ranks from `first` on in one go. */
typedef int (*hb_map_place_fn)(struct hb_map_plan *p, uint32_t first,
                               uint32_t np, struct hpcboot_error *err);
/* map_place.c: the way that counting out does not do, or NULL. */
hb_map_place_fn hb_map_special(const struct hb_map_policy *policy);

#endif
