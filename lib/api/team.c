/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Teams. The world and the node team use regions that were made with the
 * node's memory; a new team's members on one node share a piece of the heap,
 * which the lowest of them takes and the last of the living gives back. Who
 * comes to be in one, split.c and shrink.c find out. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/api.h"
#include "lib/api/team.h"
#include "lib/base/str.h"

#define WORLD_CONTEXT 1u
#define NODE_CONTEXT 2u
/* A smaller one does where the heap has room for fewer than so many. */
#define REGIONS_LEAST 64u

/* ---- messages ---- */

static int is_there(uint32_t context)
{
    const struct hpcboot_team *t = hb_api.teams;

    while (t != NULL && t->context != context) {
        t = t->next;
    }
    return t != NULL;
}

/* Where teams that are left meet to shrink (shrink.c). */
static int is_root(uint32_t context)
{
    const struct hpcboot_team *t = hb_api.teams;

    while (t != NULL && (t->root == NULL || t->root_context != context)) {
        t = t->next;
    }
    return t != NULL;
}

void hb_team_end_messages(uint32_t context)
{
    pthread_mutex_lock(&hb_api.lock);
    if (!is_there(context)) {
        hb_xport_end(hb_api.xport, 2 * context + 1);
        if (!is_root(context)) {
            hb_xport_end(hb_api.xport, 2 * context);
        }
    }
    pthread_mutex_unlock(&hb_api.lock);
}

/* ---- making and ending one ---- */

static void link_in(struct hpcboot_team *t)
{
    pthread_mutex_lock(&hb_api.lock);
    t->next = hb_api.teams;
    hb_api.teams = t;
    pthread_mutex_unlock(&hb_api.lock);
}

static void leave_region(uint64_t region)
{
    if (region != 0) {
        hb_segment_leave(hb_api.memory, (uint32_t)hb_api.local_rank, region);
    }
}

static void release(struct hpcboot_team *t)
{
    hb_coll_team_destroy(t->coll);
    leave_region(t->region);
    free(t->world);
    free(t->rank_of);
    free(t->root);
}

static void team_free(struct hpcboot_team *t)
{
    if (t != NULL) {
        release(t);
        free(t);
    }
}

/* Who has destroyed a team and uses it is to hear of it: the shells of the last
 * ones are kept, with coll NULL (hb_api_team). */
#define SHELLS 64

static void keep_shell(struct hpcboot_team *t)
{
    static struct hpcboot_team *shells[SHELLS];
    static size_t n;

    *t = (struct hpcboot_team){.rank = HPCBOOT_ERR_USAGE,
                               .size = HPCBOOT_ERR_USAGE};
    pthread_mutex_lock(&hb_api.lock);
    free(shells[n % SHELLS]);
    shells[n++ % SHELLS] = t;
    pthread_mutex_unlock(&hb_api.lock);
}

/* Which members of a team are on this node, on which of the team's nodes each
 * member is, and behind which switch of the network each node. */
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

static void come_to_region(const struct hb_team_plan *plan,
                           const struct places *p)
{
    uint32_t *ranks = hb_xcalloc((size_t)p->n_local, sizeof *ranks);

    for (int i = 0; i < p->n_local; i++) {
        ranks[i] = (uint32_t)plan->world[p->local_ranks[i]];
    }
    hb_segment_come(hb_api.memory, (uint32_t)hb_api.local_rank,
                    plan->region_at, ranks, (uint32_t)p->n_local);
    free(ranks);
}

static int make_team(const struct hb_team_plan *plan, struct hpcboot_team **out,
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
        come_to_region(plan, &p);
        t->region = plan->region_at;
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
        hb_team_end_messages(plan->context);
        hb_api_ask_keep_unmade(plan->context, rc, err);
        return rc;
    }
    link_in(t);
    *out = t;
    return 0;
}

/* ---- regions that others may use ---- */

/* Regions whose takers do not know who has been told of them. */
struct aside {
    uint64_t region;
    uint32_t context;
    struct aside *next;
};

static struct aside *asides;

void hb_team_put_aside(uint64_t region, uint32_t context)
{
    struct aside *a;

    if (region == 0 || region == HB_TEAM_REGION_FAILED) {
        return;
    }
    a = hb_xmalloc(sizeof *a);
    pthread_mutex_lock(&hb_api.lock);
    *a = (struct aside){region, context, asides};
    asides = a;
    pthread_mutex_unlock(&hb_api.lock);
}

void hb_team_give_asides(uint32_t context)
{
    struct aside **p = &asides, *a;

    pthread_mutex_lock(&hb_api.lock);
    while ((a = *p) != NULL) {
        if (a->context == context) {
            *p = a->next;
            hb_team_give_region(a->region);
            free(a);
        } else {
            p = &a->next;
        }
    }
    pthread_mutex_unlock(&hb_api.lock);
}

static void drop_asides(void)
{
    while (asides != NULL) {
        struct aside *a = asides;

        asides = a->next;
        free(a);
    }
}

/* ---- the teams that always exist ---- */

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
    rc = make_team(&plan, out, err);
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
    drop_asides();
}

/* ---- the numbers and regions of new ones ---- */

uint32_t hb_team_next_context(void)
{
    uint32_t next;

    pthread_mutex_lock(&hb_api.lock);
    next = hb_api.next_context;
    pthread_mutex_unlock(&hb_api.lock);
    return next;
}

int hb_team_take_context(uint32_t context)
{
    int is_free;

    pthread_mutex_lock(&hb_api.lock);
    is_free = context >= hb_api.next_context;
    if (is_free) {
        hb_api.next_context = context + 1;
    }
    pthread_mutex_unlock(&hb_api.lock);
    return is_free;
}

static uint64_t take_heap(size_t size)
{
    uint64_t at;

    return hb_segment_alloc_shared(hb_api.memory,
                                   (uint32_t)hb_api.local_rank, size, &at,
                                   NULL) < 0
               ? HB_TEAM_REGION_FAILED : at;
}

uint64_t hb_team_new_region(int n_local)
{
    const size_t sizes[] = {hb_coll_region_size(n_local),
                            hb_coll_region_small(n_local),
                            hb_coll_region_least(n_local)};
    size_t heap, i;
    uint64_t at = HB_TEAM_REGION_FAILED;

    (void)hb_segment_heap(hb_api.memory, &heap);
    i = sizes[0] > heap / REGIONS_LEAST;
    for (; i < 3 && at == HB_TEAM_REGION_FAILED; i++) {
        at = take_heap(sizes[i]);
    }
    return at;
}

uint64_t hb_team_take_region(const int *world, int size, int rank)
{
    struct places p;
    uint64_t at = 0;

    find_places(world, size, &p);
    if (p.n_local > 1 && p.local_ranks[0] == rank) {
        at = hb_team_new_region(p.n_local);
    }
    places_free(&p);
    return at;
}

void hb_team_give_region(uint64_t region)
{
    if (region != 0 && region != HB_TEAM_REGION_FAILED) {
        hb_segment_give_up(hb_api.memory, (uint32_t)hb_api.local_rank,
                           region);
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
    if (at != 0) {
        plan->region = hb_segment_shared(hb_api.memory, at,
                                         &plan->region_size);
    }
    if (at != 0 && plan->region == NULL) {
        hb_team_give_region(mine);
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a rank is of another "
                       "version: what it says of a team's memory is not so");
    }
    return make_team(plan, out, err);
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

static int bad_setting(enum hpcboot_team_setting setting, int value,
                       struct hpcboot_error *err)
{
    static const char *const names[] = {
        [HPCBOOT_TEAM_TIMEOUT_MS] = "TIMEOUT_MS",
        [HPCBOOT_TEAM_DETERMINISTIC] = "DETERMINISTIC",
    };

    return (size_t)setting < sizeof names / sizeof names[0]
               ? hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_team_set: the "
                         "setting HPCBOOT_TEAM_%s cannot be %d",
                         names[setting], value)
               : hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_team_set: there is "
                         "no setting %d", (int)setting);
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
        return bad_setting(setting, value, err);
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
        return "it has requests left: those under way are to be waited for, "
               "and persistent ones freed";
    }
    *at = team->next;
    hb_api_ask_keep(team);
    return NULL;
}

int hpcboot_team_destroy(struct hpcboot_team *team, struct hpcboot_error *err)
{
    int rc = hb_api_ready("hpcboot_team_destroy", err);
    uint32_t context, root;
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
    context = team->context;
    root = team->root != NULL ? team->root_context : context;
    release(team);
    hb_team_end_messages(context);
    hb_team_end_messages(root); /* if it was the last to shrink there */
    keep_shell(team);
    return 0;
}
