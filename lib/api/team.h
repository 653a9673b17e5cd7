/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_API_TEAM_H
#define HB_API_TEAM_H

#include "lib/api/api.h"

/* How a team is put together, for team.c, split.c and shrink.c. */
struct hb_team_plan {
    int *world; /* [size], borrowed */
    int rank, size;
    uint32_t context;
    void *region; /* of this node's members, or NULL */
    size_t region_size;
    uint64_t region_at; /* of its head in the segment; 0: not of the heap */
    int timeout_ms, deterministic;
};

/* Numbers of teams; all members of a team must use the same one. _next tells
 * the lowest number that is free here. _take takes a number and all below it;
 * 0: another thread has taken it meanwhile, perhaps for another team. */
uint32_t hb_team_next_context(void);
int hb_team_take_context(uint32_t context);
/* That was taken here, and no team has come of it or is left; others may have
 * one. Its messages are not awaited any more. */
void hb_team_end_messages(uint32_t context);
#define HB_TEAM_REGION_FAILED UINT64_MAX
/* Of a team with so many members on a node; .._FAILED: the heap has no room. */
uint64_t hb_team_new_region(int n_local);
/* What this rank announces to the others: the region it has taken for its
 * node's members as the lowest of them, else 0; .._FAILED: it could not. */
uint64_t hb_team_take_region(const int *world, int size, int rank);
void hb_team_give_region(uint64_t region); /* that nobody came to know of */
/* A region that others may or may not come to use, and this rank does not:
 * known once all who live have come to shrink in `context`. */
void hb_team_put_aside(uint64_t region, uint32_t context);
void hb_team_give_asides(uint32_t context);
/* All have announced, by rank in the new team; `mine` is given back when one
 * of them could not. */
int hb_team_finish(struct hb_team_plan *plan, const uint64_t *announced,
                   uint64_t mine, struct hpcboot_team **out,
                   struct hpcboot_error *err);

#endif
