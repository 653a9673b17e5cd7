/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Teams out of a team. A split is two allgathers over the parent: who wants to
 * be where, and where the regions are. A member whose node has no memory left
 * makes the split fail for all members of its team, at each of them. Where
 * another thread has made a team meanwhile that has the same number, all begin
 * anew. With HPCBOOT_CHECK another allgather goes before, of the lists that are
 * to be the same: who is in none makes no difference to the team, and may still
 * be wrong. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/api.h"
#include "lib/api/team.h"
#include "lib/base/str.h"

struct wish { /* of each rank of the parent */
    int32_t color, key, context;
};

/* `call`: the user's. */
static int gather(struct hpcboot_team *parent, int call, const void *mine,
                  void *all, size_t bytes, struct hpcboot_error *err)
{
    const struct hpcboot_coll_args args = {
        .struct_size = sizeof args, .coll = HPCBOOT_COLL_ALLGATHER,
        .type = HPCBOOT_BYTE, .send = mine, .recv = all, .count = bytes,
        .flags = hb_coll_as(call),
    };

    return hb_coll_run(parent->coll, &args, NULL, err);
}

/* ---- the same list at all ranks ---- */

#define SHOWN 8
struct list {
    int32_t n, first[SHOWN];
    uint32_t zero; /* no padding: lists are compared byte by byte */
    uint64_t sum;
};
_Static_assert(sizeof(struct list) == 4 * (SHOWN + 2) + 8, "has padding");

static struct list list_of(const int *ranks, int n)
{
    struct list l = {.n = n};

    for (int i = 0; i < n; i++) {
        l.sum = (l.sum + (uint64_t)ranks[i] + 1) * UINT64_C(0x9e3779b97f4a7c15);
        if (i < SHOWN) {
            l.first[i] = ranks[i];
        }
    }
    return l;
}

static void put_list(char *out, size_t size, const struct list *l)
{
    int shown = l->n < SHOWN ? l->n : SHOWN;
    size_t at = (size_t)snprintf(out, size, "team_create of");

    for (int i = 0; i < shown && at < size; i++) {
        at += (size_t)snprintf(out + at, size - at, " %d", l->first[i]);
    }
    if (shown < l->n && at < size) {
        (void)snprintf(out + at, size - at, " and %d more", l->n - shown);
    }
}

static int lists_differ(int rank, const struct list *mine, int other,
                        const struct list *his, struct hpcboot_error *err)
{
    char ours[160], theirs[160];

    put_list(ours, sizeof ours, mine);
    put_list(theirs, sizeof theirs, his);
    return hb_fail(err, HPCBOOT_ERR_USAGE,
                   "the ranks of a team have made different calls: rank %d "
                   "%s, rank %d %s", rank, ours, other, theirs);
}

static int compare_lists(struct hpcboot_team *parent, const int *ranks, int n,
                         struct hpcboot_error *err)
{
    const struct list mine = list_of(ranks, n);
    struct list *all = hb_xcalloc((size_t)parent->size, sizeof *all);
    int rc = gather(parent, HB_CALL_TEAM_CREATE, &mine, all, sizeof mine,
                    err);

    for (int i = 0; rc == 0 && i < parent->size; i++) {
        if (memcmp(&all[i], &mine, sizeof mine) != 0) {
            rc = lists_differ(parent->rank, &mine, i, &all[i], err);
        }
    }
    free(all);
    return rc;
}

/* ---- who is in which team ---- */

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

/* What a rank says in the place of its region: the number is taken there. */
#define TAKEN (UINT64_MAX - 1)
/* Then all try another; those of two parents that want one at the same time go
 * apart. */
#define AGAIN 1
#define APART 64u

static int is_taken(const uint64_t *said, int n)
{
    int i = 0;

    while (i < n && said[i] != TAKEN) {
        i++;
    }
    return i < n;
}

/* Takes number and region here, and hears of the others' regions: all[parent
 * size], by rank. */
static int take(struct hpcboot_team *parent, int call,
                struct hb_team_plan *plan, int wanted, uint64_t *all,
                struct hpcboot_error *err)
{
    uint64_t mine = TAKEN;
    int rc;

    if (hb_team_take_context(plan->context)) {
        mine = !wanted ? 0
                       : hb_team_take_region(plan->world, plan->size,
                                             plan->rank);
    }
    rc = gather(parent, call, &mine, all, sizeof mine, err);
    if (rc < 0 && mine != TAKEN) {
        hb_team_end_messages(plan->context);
        hb_team_put_aside(mine, parent->root != NULL ? parent->root_context
                                                     : parent->context);
    }
    if (rc == 0 && is_taken(all, parent->size)) {
        hb_team_give_region(mine != TAKEN ? mine : 0);
        rc = AGAIN;
    }
    return rc;
}

static int make_child(struct hpcboot_team *parent, int call,
                      const struct wish *wishes, uint32_t context,
                      struct hpcboot_team **out, struct hpcboot_error *err)
{
    size_t n_parent = (size_t)parent->size;
    int *members = hb_xcalloc(n_parent, sizeof *members);
    uint64_t *all = hb_xcalloc(n_parent, sizeof *all);
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
    rc = take(parent, call, &plan, wanted, all, err);
    for (int i = 0; i < plan.size; i++) {
        announced[i] = all[members[i]];
    }
    if (rc == 0 && wanted) {
        rc = hb_team_finish(&plan, announced, all[parent->rank], out, err);
    }
    free(members);
    free(all);
    free(announced);
    free(plan.world);
    return rc;
}

static int split(struct hpcboot_team *parent, int call, struct wish mine,
                 struct hpcboot_team **out, struct hpcboot_error *err)
{
    struct wish *wishes = hb_xcalloc((size_t)parent->size, sizeof *wishes);
    uint32_t apart = 0;
    int rc;

    *out = NULL;
    do {
        int32_t context = 0;

        mine.context = (int32_t)(hb_team_next_context() + apart);
        rc = gather(parent, call, &mine, wishes, sizeof mine, err);
        for (int i = 0; rc == 0 && i < parent->size; i++) {
            context = wishes[i].context > context ? wishes[i].context
                                                  : context;
        }
        if (rc == 0) {
            rc = make_child(parent, call, wishes, (uint32_t)context, out,
                            err);
        }
        apart = parent->context % APART;
    } while (rc == AGAIN);
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
                  : split(parent, HB_CALL_TEAM_SPLIT,
                          (struct wish){color < 0 ? -1 : color, key, 0}, out,
                          err);
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
    if (rc == 0 && hb_api.checks) {
        rc = compare_lists(parent, ranks, n_ranks, err);
    }
    return rc < 0 ? rc
                  : split(parent, HB_CALL_TEAM_CREATE,
                          (struct wish){place < 0 ? -1 : 0, place, 0}, out,
                          err);
}
