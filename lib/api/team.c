/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Teams. The world and the node team use regions that were made with the
 * node's memory; a new team's members on one node share a piece of the heap,
 * which the lowest of them takes and whoever leaves last gives back.
 *
 * A split is two allgathers over the parent: who wants to be where, and where
 * the regions are. A member whose node has no memory left makes the split fail
 * for all members of its team, at each of them. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/api.h"
#include "lib/api/team.h"
#include "lib/base/str.h"

#define WORLD_CONTEXT 1u
#define NODE_CONTEXT 2u
/* Before a region: who still uses it; keeps the region's alignment. */
#define REGION_HEAD 4096u
#define USERS_UNKNOWN UINT32_MAX

/* ---- making and ending one ---- */

static void link_in(struct hpcboot_team *t)
{
    pthread_mutex_lock(&hb_api.lock);
    t->next = hb_api.teams;
    hb_api.teams = t;
    pthread_mutex_unlock(&hb_api.lock);
}

static _Atomic uint32_t *users_of(uint64_t region)
{
    return (_Atomic uint32_t *)((char *)hb_api.memory->base + region);
}

/* Before any of them can leave: the first to come says how many they are. */
static void expect_users(uint64_t region, int n)
{
    uint32_t unknown = USERS_UNKNOWN;

    (void)atomic_compare_exchange_strong(users_of(region), &unknown,
                                         (uint32_t)n);
}

static void leave_region(uint64_t region)
{
    if (region != 0 && atomic_fetch_sub(users_of(region), 1) == 1) {
        (void)hb_segment_free(hb_api.memory, region);
    }
}

static void team_free(struct hpcboot_team *t)
{
    if (t != NULL) {
        hb_coll_team_destroy(t->coll);
        leave_region(t->region);
        free(t->world);
        free(t->rank_of);
        free(t->root);
        free(t);
    }
}

/* Which members are here, on which of its nodes each one is, and behind which
 * switch of the network each of those. */
struct places {
    int *local_ranks, n_local;
    int *node_of, n_nodes;
    int *leaf_of; /* [n_nodes]; NULL: not known */
};

static void find_places(const int *world, int size, struct places *out)
{
    const uint32_t *node_of = hb_segment_node_of(hb_api.memory);
    int *number = hb_xcalloc((size_t)hb_api.nodes, sizeof *number);

    memset(out, 0, sizeof *out);
    out->local_ranks = hb_xcalloc((size_t)size, sizeof(int));
    out->node_of = hb_xcalloc((size_t)size, sizeof(int));
    if (hb_api.leaf != NULL) {
        out->leaf_of = hb_xcalloc((size_t)hb_api.nodes, sizeof(int));
    }
    for (int i = 0; i < size; i++) {
        uint32_t node = node_of[world[i]];

        if (number[node] == 0) {
            number[node] = ++out->n_nodes;
            if (out->leaf_of != NULL) {
                out->leaf_of[number[node] - 1] = hb_api.leaf[node];
            }
        }
        out->node_of[i] = number[node] - 1;
        if (node == (uint32_t)hb_api.node) {
            out->local_ranks[out->n_local++] = i;
        }
    }
    free(number);
}

static void places_free(struct places *p)
{
    free(p->local_ranks);
    free(p->node_of);
    free(p->leaf_of);
}

static void index_ranks(struct hpcboot_team *t)
{
    t->rank_of = hb_xmalloc((size_t)hb_api.size * sizeof(int));
    memset(t->rank_of, -1, (size_t)hb_api.size * sizeof(int));
    for (int i = 0; i < t->size; i++) {
        t->rank_of[t->world[i]] = i;
    }
}

/* The first ranks of the job on the nodes of these, who have measured. */
static void find_firsts(const int *ranks, int n, int *firsts)
{
    const uint32_t *node_of = hb_segment_node_of(hb_api.memory);
    const uint32_t *local = hb_segment_local_rank(hb_api.memory);
    int *first = hb_xcalloc((size_t)hb_api.nodes, sizeof *first);

    for (int i = 0; i < hb_api.size; i++) {
        if (local[i] == 0) {
            first[node_of[i]] = i;
        }
    }
    for (int i = 0; i < n; i++) {
        firsts[i] = first[node_of[ranks[i]]];
    }
    free(first);
}

/* What the model is to know of the network: by one rank of each node. */
static void describe_net(const struct hb_team_plan *plan,
                         const struct places *p,
                         struct hb_coll_team_args *args)
{
    int *leaders = hb_xcalloc((size_t)p->n_nodes, sizeof *leaders), n = 0;
    int *firsts = hb_xcalloc((size_t)p->n_nodes, sizeof *firsts);
    struct hb_xport_net net, costs;

    for (int i = 0; i < plan->size; i++) {
        if (p->node_of[i] == n) { /* numbers are given in this order */
            leaders[n++] = plan->world[i];
        }
    }
    find_firsts(leaders, n, firsts);
    hb_xport_net(hb_api.xport, leaders, n, &net);
    hb_xport_net(hb_api.xport, firsts, n, &costs);
    net.costs = costs.costs;
    free(leaders);
    free(firsts);
    args->net = &hb_api_net;
    args->net_facts = (struct hb_coll_net_facts){
        .kind = !net.by_ucx     ? HB_COLL_NET_TCP
                : net.is_device ? HB_COLL_NET_RDMA
                                : HB_COLL_NET_SOFT,
        .mbps = net.mbps, .rails = net.rails,
        .send_ns = net.costs.send_ns, .recv_ns = net.costs.recv_ns,
        .one_machine = net.costs.machine != 0, .cpus = net.costs.cpus,
    };
}

int hb_team_make(const struct hb_team_plan *plan, struct hpcboot_team **out,
                 struct hpcboot_error *err)
{
    struct hpcboot_team *t = hb_xcalloc(1, sizeof *t);
    struct hb_coll_team_args args = HB_COLL_TEAM_INIT;
    struct places p;
    int rc;

    t->rank = plan->rank;
    t->size = plan->size;
    t->context = plan->context;
    t->world = hb_xmalloc((size_t)plan->size * sizeof(int));
    memcpy(t->world, plan->world, (size_t)plan->size * sizeof(int));
    if (plan->context != WORLD_CONTEXT) {
        index_ranks(t);
    }
    find_places(plan->world, plan->size, &p);
    args.rank = plan->rank;
    args.size = plan->size;
    args.local_ranks = p.local_ranks;
    args.local_size = p.n_local;
    args.node_of = p.n_nodes > 1 ? p.node_of : NULL;
    args.leaf_of = p.n_nodes > 1 ? p.leaf_of : NULL;
    args.region = p.n_local > 1 ? plan->region : NULL;
    args.region_size = p.n_local > 1 ? plan->region_size : 0;
    if (p.n_nodes > 1) {
        describe_net(plan, &p, &args);
    }
    if (plan->region_at != 0) {
        expect_users(plan->region_at, p.n_local);
    }
    args.team_ctx = t;
    args.timeout_ms = plan->timeout_ms;
    args.deterministic = plan->deterministic != 0;
    t->timeout_ms = plan->timeout_ms;
    t->deterministic = plan->deterministic;
    rc = hb_coll_team_create(hb_api.engine, &args, &t->coll, err);
    places_free(&p);
    if (rc < 0) {
        team_free(t);
        return rc;
    }
    t->region = plan->region_at;
    link_in(t);
    *out = t;
    return 0;
}

static int make_permanent(int node_only, struct hpcboot_team **out,
                          struct hpcboot_error *err)
{
    const uint32_t *node_of = hb_segment_node_of(hb_api.memory);
    int *world = hb_xcalloc((size_t)hb_api.size, sizeof *world);
    struct hb_team_plan plan = {
        .world = world, .context = node_only ? NODE_CONTEXT : WORLD_CONTEXT,
        .deterministic = hb_api.deterministic,
    };
    int rc;

    for (int i = 0; i < hb_api.size; i++) {
        if (!node_only || node_of[i] == (uint32_t)hb_api.node) {
            plan.rank = i == hb_api.rank ? plan.size : plan.rank;
            world[plan.size++] = i;
        }
    }
    plan.region = hb_segment_region(hb_api.memory, node_only != 0,
                                    &plan.region_size);
    rc = hb_team_make(&plan, out, err);
    if (rc == 0) {
        (*out)->permanent = 1;
        (*out)->whole = !node_only;
    }
    free(world);
    return rc;
}

int hb_api_teams_open(struct hpcboot_error *err)
{
    int rc = make_permanent(0, &hb_api.world, err);

    return rc < 0 ? rc : make_permanent(1, &hb_api.node_team, err);
}

void hb_api_teams_close(void)
{
    while (hb_api.teams != NULL) {
        struct hpcboot_team *t = hb_api.teams;

        hb_api.teams = t->next;
        team_free(t);
    }
    hb_api.world = hb_api.node_team = NULL;
}

/* ---- splitting ---- */

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

uint64_t hb_team_take_region(const int *world, int size, int rank,
                             size_t *size_out)
{
    struct places p;
    uint64_t at = 0;

    find_places(world, size, &p);
    *size_out = hb_coll_region_size(p.n_local);
    if (p.n_local > 1 && p.local_ranks[0] == rank) {
        if (hb_segment_alloc(hb_api.memory, (uint32_t)hb_api.local_rank,
                             REGION_HEAD + *size_out, &at, NULL) < 0) {
            at = HB_TEAM_REGION_FAILED;
        } else {
            atomic_store(users_of(at), USERS_UNKNOWN);
        }
    }
    places_free(&p);
    return at;
}

void hb_team_give_region(uint64_t region)
{
    if (region != 0 && region != HB_TEAM_REGION_FAILED) {
        (void)hb_segment_free(hb_api.memory, region);
    }
}

/* The region of my node among those that leaders have announced, by rank in
 * the new team; HB_TEAM_REGION_FAILED when one of them has none. */
static uint64_t find_region(const uint64_t *announced, const int *world,
                            int size)
{
    const uint32_t *node_of = hb_segment_node_of(hb_api.memory);
    uint64_t mine = 0;

    for (int i = 0; i < size; i++) {
        if (announced[i] == HB_TEAM_REGION_FAILED) {
            return HB_TEAM_REGION_FAILED;
        }
        if (announced[i] != 0 && node_of[world[i]] == (uint32_t)hb_api.node) {
            mine = announced[i];
        }
    }
    return mine;
}

int hb_team_finish(struct hb_team_plan *plan, const uint64_t *announced,
                   uint64_t mine, struct hpcboot_team **out,
                   struct hpcboot_error *err)
{
    uint64_t at = find_region(announced, plan->world, plan->size);

    if (at == HB_TEAM_REGION_FAILED) {
        hb_team_give_region(mine);
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "the heap of a node has no room "
                       "for one more team (HPCBOOT_HEAP_MB makes it larger)");
    }
    plan->region_at = at;
    plan->region = at != 0 ? (char *)hb_api.memory->base + at + REGION_HEAD
                           : NULL;
    return hb_team_make(plan, out, err);
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

    if (rc == 0 && out == NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_team_split: the place "
                     "for the team is NULL");
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

    if (rc == 0 && (out == NULL || ranks == NULL || n_ranks < 1)) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_team_create: the list of "
                     "ranks is empty, or there is no place for the team");
    }
    if (rc == 0) {
        rc = find_in_list(parent, ranks, n_ranks, &place, err);
    }
    return rc < 0 ? rc
                  : split(parent, (struct wish){place < 0 ? -1 : 0, place, 0},
                          out, err);
}

/* ---- what they tell ---- */

struct hpcboot_team *hpcboot_world(void)
{
    return hb_api_is_in() ? hb_api.world : NULL;
}

struct hpcboot_team *hpcboot_node_team(void)
{
    return hb_api_is_in() ? hb_api.node_team : NULL;
}

int hpcboot_team_rank(const struct hpcboot_team *team)
{
    return hb_api_is_in() && team != NULL ? team->rank : HPCBOOT_ERR_USAGE;
}

int hpcboot_team_size(const struct hpcboot_team *team)
{
    return hb_api_is_in() && team != NULL ? team->size : HPCBOOT_ERR_USAGE;
}

int hpcboot_team_world_rank(const struct hpcboot_team *team, int rank)
{
    return hb_api_is_in() && team != NULL && rank >= 0 && rank < team->size
               ? team->world[rank] : HPCBOOT_ERR_USAGE;
}

int hpcboot_team_set(struct hpcboot_team *team,
                     enum hpcboot_team_setting setting, int value,
                     struct hpcboot_error *err)
{
    int rc = hb_api_team("hpcboot_team_set", team, err);

    if (rc < 0) {
        return rc;
    }
    if (setting == HPCBOOT_TEAM_TIMEOUT_MS && value >= 0) {
        team->timeout_ms = value;
    } else if (setting == HPCBOOT_TEAM_DETERMINISTIC &&
               (value == 0 || value == 1)) {
        team->deterministic = value;
    } else {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_team_set: setting %d "
                       "cannot be %d", (int)setting, value);
    }
    hb_coll_team_set(team->coll, team->timeout_ms, team->deterministic != 0);
    return 0;
}

/* Out of the list. Who has been destroyed before is in none, and not looked
 * into. */
static const char *take_out(struct hpcboot_team *team)
{
    struct hpcboot_team **at = &hb_api.teams;

    while (*at != NULL && *at != team) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        return "there is no such team; it has been destroyed before?";
    }
    if (team->permanent) {
        return "the world and the node team end with hpcboot_finalize";
    }
    if (team->n_requests > 0) {
        return "the team has requests left";
    }
    *at = team->next;
    hb_api_ask_keep(team);
    return NULL;
}

int hpcboot_team_destroy(struct hpcboot_team *team, struct hpcboot_error *err)
{
    int rc = hb_api_ready("hpcboot_team_destroy", err);
    const char *wrong;

    if (rc < 0 || team == NULL) {
        return rc;
    }
    pthread_mutex_lock(&hb_api.lock);
    wrong = take_out(team);
    pthread_mutex_unlock(&hb_api.lock);
    if (wrong != NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_team_destroy: %s",
                       wrong);
    }
    team_free(team);
    return 0;
}
