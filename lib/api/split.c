/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Teams out of a team. A split is two allgathers over the parent: who wants to
 * be where, and where the regions are. A member whose node has no memory left
 * makes the split fail for all members of its team, at each of them. */
#include "config.h"

#include <stdlib.h>

#include "lib/api/api.h"
#include "lib/api/team.h"
#include "lib/base/str.h"

struct wish { /* of each rank of the parent */
    int32_t color, key, context;
};

static int gather(struct hpcboot_team *parent, const void *mine, void *all,
                  size_t bytes, struct hpcboot_error *err)
{
    const struct hpcboot_coll_args args = {
        .struct_size = sizeof args, .coll = HPCBOOT_COLL_ALLGATHER,
        .type = HPCBOOT_BYTE, .send = mine, .recv = all, .count = bytes,
    };

    return hb_coll_run(parent->coll, &args, NULL, err);
}

struct seat {
    int32_t key;
    int parent_rank;
};

static int by_key(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;

    return x->key != y->key ? (x->key < y->key ? -1 : 1)
                            : x->parent_rank - y->parent_rank;
}

/* The members of my color in their order, as ranks of the parent. */
static int my_members(const struct hpcboot_team *parent,
                      const struct wish *wishes, int *members)
{
    struct seat *seats = hb_xcalloc((size_t)parent->size, sizeof *seats);
    int n = 0;

    for (int i = 0; i < parent->size; i++) {
        if (wishes[i].color == wishes[parent->rank].color) {
            seats[n++] = (struct seat){wishes[i].key, i};
        }
    }
    qsort(seats, (size_t)n, sizeof *seats, by_key);
    for (int i = 0; i < n; i++) {
        members[i] = seats[i].parent_rank;
    }
    free(seats);
    return n;
}

static int make_child(struct hpcboot_team *parent, const struct wish *wishes,
                      uint32_t context, struct hpcboot_team **out,
                      struct hpcboot_error *err)
{
    size_t n_parent = (size_t)parent->size;
    int *members = hb_xcalloc(n_parent, sizeof *members);
    uint64_t *all = hb_xcalloc(n_parent, sizeof *all), mine = 0;
    uint64_t *announced = hb_xcalloc(n_parent, sizeof *announced);
    struct hb_team_plan plan = {
        .world = hb_xcalloc(n_parent, sizeof(int)), .context = context,
        .timeout_ms = parent->timeout_ms,
        .deterministic = parent->deterministic,
    };
    int wanted = wishes[parent->rank].color >= 0, rc;

    plan.size = my_members(parent, wishes, members);
    for (int i = 0; i < plan.size; i++) {
        plan.world[i] = parent->world[members[i]];
        plan.rank = members[i] == parent->rank ? i : plan.rank;
    }
    if (wanted) {
        mine = hb_team_take_region(plan.world, plan.size, plan.rank,
                                   &plan.region_size);
    }
    rc = gather(parent, &mine, all, sizeof mine, err);
    for (int i = 0; i < plan.size; i++) {
        announced[i] = all[members[i]];
    }
    if (rc == 0 && wanted) {
        rc = hb_team_finish(&plan, announced, mine, out, err);
    }
    free(members);
    free(all);
    free(announced);
    free(plan.world);
    return rc;
}

static int split(struct hpcboot_team *parent, struct wish mine,
                 struct hpcboot_team **out, struct hpcboot_error *err)
{
    struct wish *wishes = hb_xcalloc((size_t)parent->size, sizeof *wishes);
    int32_t context = 0;
    int rc;

    *out = NULL;
    mine.context = (int32_t)hb_api.next_context;
    rc = gather(parent, &mine, wishes, sizeof mine, err);
    for (int i = 0; rc == 0 && i < parent->size; i++) {
        context = wishes[i].context > context ? wishes[i].context : context;
    }
    if (rc == 0) {
        hb_api.next_context = (uint32_t)context + 1;
        rc = make_child(parent, wishes, (uint32_t)context, out, err);
    }
    free(wishes);
    return rc;
}

int hpcboot_team_split(struct hpcboot_team *parent, int color, int key,
                       struct hpcboot_team **out, struct hpcboot_error *err)
{
    int rc = hb_api_team("hpcboot_team_split", parent, err);

    if (rc == 0) {
        rc = hb_api_place("hpcboot_team_split", "team", out, err);
    }
    return rc < 0 ? rc
                  : split(parent, (struct wish){color < 0 ? -1 : color, key, 0},
                          out, err);
}

/* Where `rank` stands in the list, -1: nowhere; ERR_USAGE: no such list. */
static int find_in_list(const struct hpcboot_team *parent, const int *ranks,
                        int n_ranks, int *place_out, struct hpcboot_error *err)
{
    char *seen = hb_xcalloc((size_t)parent->size, 1);
    int rc = 0;

    *place_out = -1;
    for (int i = 0; rc == 0 && i < n_ranks; i++) {
        if (ranks[i] < 0 || ranks[i] >= parent->size || seen[ranks[i]]) {
            rc = hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_team_create: rank %d "
                         "at place %d is %s", ranks[i], i,
                         ranks[i] < 0 || ranks[i] >= parent->size
                             ? "none of the parent" : "there twice");
        } else {
            seen[ranks[i]] = 1;
            *place_out = ranks[i] == parent->rank ? i : *place_out;
        }
    }
    free(seen);
    return rc;
}

int hpcboot_team_create(struct hpcboot_team *parent, const int *ranks,
                        int n_ranks, struct hpcboot_team **out,
                        struct hpcboot_error *err)
{
    int place = -1, rc = hb_api_team("hpcboot_team_create", parent, err);

    if (rc == 0) {
        rc = hb_api_place("hpcboot_team_create", "team", out, err);
    }
    if (rc == 0 && (ranks == NULL || n_ranks < 1)) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_team_create: the list of "
                     "ranks is %s", ranks == NULL ? "NULL" : "empty");
    }
    if (rc == 0) {
        rc = find_in_list(parent, ranks, n_ranks, &place, err);
    }
    return rc < 0 ? rc
                  : split(parent, (struct wish){place < 0 ? -1 : 0, place, 0},
                          out, err);
}
