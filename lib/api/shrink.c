/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A team of the survivors. The broken team's collectives cannot be used, so
 * the survivors agree by messages: each tells the lowest rank that it knows
 * to be alive that it has come; that one, the leader, waits for everybody who
 * lives, and tells all of them who is in the new team, and where its regions
 * are. The lowest survivor of a node brings a region along; where it turns
 * out that a node has none, because who should have brought it died, all come
 * together once more.
 *
 * Whoever waits for somebody that dies meanwhile begins anew, with the next
 * leader; deaths are seen by all, so the search for a leader ends. A connection
 * that is lost is no death yet: where both ends live, each would go on without
 * the other. Only what the agents say counts; they soon do, of one of the two
 * (bin/job/cut.c). A leader that dies may have told some and not all. Those go
 * on with a team that has a dead member, find that out when they use it, and
 * shrink it: all shrinking of a team and of what it shrank to happens in one
 * place, the first of these teams (its root), so that they meet those who were
 * told nothing. A message to a leader that lives is taken and answered exactly
 * once, so that nothing old is left for the next time. Only a leader that is in
 * hpcboot_finalize answers nobody any more. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/api.h"
#include "lib/api/team.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"

/* Beyond what hpcboot_send can say, and hpcboot_recv hears. */
#define TAG_COME ((uint64_t)1 << 40)
#define TAG_TEAM ((uint64_t)2 << 40)

/* Where a team is shrunk. Ranks here are those of the root. */
struct root {
    const int *world; /* [size] */
    int size, rank;
    uint32_t context;
};

struct coming { /* what a survivor tells the leader */
    uint64_t region;
    uint32_t context;
};

/* The new team as the leader says it. */
struct decision {
    int32_t size;
    uint32_t context;
    uint32_t again; /* a region is missing: come once more */
    struct member {
        int32_t rank;
        uint64_t region;
    } members[];
};

/* A context is two numbers of the transport. */
#define CONTEXT_MAX (UINT32_MAX / 2 - 1)

static size_t decision_bytes(const struct root *t)
{
    return sizeof(struct decision) + (size_t)t->size * sizeof(struct member);
}

static struct root root_of(const struct hpcboot_team *team)
{
    struct root t = {team->world, team->size, -1, team->context};

    if (team->root != NULL) {
        t = (struct root){team->root, team->root_size, -1,
                          team->root_context};
    }
    while (t.world[++t.rank] != hb_api.rank) {
    }
    return t;
}

static int is_dead(const struct root *t, int rank)
{
    return hb_segment_deaths(hb_api.memory) > 0 &&
           hb_segment_is_surely_dead(hb_api.memory,
                                     (uint32_t)t->world[rank]);
}

struct note {
    const struct root *root;
    struct hb_xport_req *req; /* NULL: it has failed */
    int peer;
    struct hpcboot_error *err; /* not NULL */
};

static void give_up(struct note *n)
{
    if (n->req != NULL) {
        hb_xport_cancel(hb_api.xport, n->req);
        n->req = NULL;
    }
}

/* The connection is lost, and with it the request. */
static int when_lost(struct note *n)
{
    int world = n->root->world[n->peer];

    if (!hb_segment_has_agent(hb_api.memory)) {
        hb_api_peer_lost(world, n->err);
        return HPCBOOT_ERR_PEER_DEAD;
    }
    (void)hb_xport_progress(hb_api.xport);
    return is_dead(n->root, n->peer) ? hb_api_peer_dead(world, n->err)
                                     : 0;
}

/* 1 done; ERR_PEER_DEAD: it will not come. */
static int note_ready(void *arg)
{
    struct note *n = arg;
    int rc = n->req != NULL
                 ? hb_xport_test(hb_api.xport, n->req, NULL, n->err)
                 : HPCBOOT_ERR_PEER_DEAD;

    if (rc == 0 && is_dead(n->root, n->peer)) {
        rc = hb_xport_test(hb_api.xport, n->req, NULL, n->err);
        if (rc == 0) {
            give_up(n);
            return hb_api_peer_dead(n->root->world[n->peer], n->err);
        }
    }
    n->req = rc == 0 ? n->req : NULL;
    return rc == HPCBOOT_ERR_PEER_DEAD ? when_lost(n) : rc;
}

static int finish(struct note *n)
{
    int rc = hb_api_wait_until(
        &(struct hb_api_awaited){
            .kind = HB_WAITS_SHRINK, .number = n->root->context,
            .members = n->root->world, .n_members = n->root->size,
            .on = n->root->world[n->peer]},
        note_ready, n, HB_NEVER, n->err);

    give_up(n); /* what has ended by itself is gone already */
    return rc > 0 ? 0 : rc;
}

static int tell(const struct root *t, int to, uint64_t tag, const void *data,
                size_t size, struct hpcboot_error *err)
{
    struct note n = {.root = t, .peer = to, .err = err};
    int rc = hb_xport_send(hb_api.xport, t->world[to], 2 * t->context, tag,
                           data, size, &n.req, err);

    return rc < 0 ? rc : finish(&n);
}

static int hear(const struct root *t, int from, uint64_t tag, void *data,
                size_t size, struct hpcboot_error *err)
{
    struct note n = {.root = t, .peer = from, .err = err};
    int rc = hb_xport_recv(hb_api.xport, t->world[from], 2 * t->context, tag,
                           UINT64_MAX, data, size, &n.req, err);

    return rc < 0 ? rc : finish(&n);
}

static uint32_t node_of(const struct root *t, int rank)
{
    return hb_segment_node_of(hb_api.memory)[t->world[rank]];
}

static int lowest_alive(const struct root *t)
{
    int r = 0;

    while (r < t->rank && is_dead(t, r)) {
        r++;
    }
    return r;
}

/* Of a region, as many as its members are in all: who brings it may know of
 * deaths that the leader does not. */
static int members_here(const struct root *t)
{
    int n = 0;

    for (int r = 0; r < t->size; r++) {
        n += node_of(t, r) == (uint32_t)hb_api.node;
    }
    return n;
}

/* A region for the survivors of this node, if this rank is the lowest. */
static uint64_t bring_region(const struct root *t)
{
    int n = 0;

    for (int r = 0; r < t->size; r++) {
        if (node_of(t, r) == (uint32_t)hb_api.node &&
            (r == t->rank || !is_dead(t, r))) {
            if (r < t->rank) {
                return 0;
            }
            n++;
        }
    }
    return n > 1 ? hb_team_new_region(members_here(t)) : 0;
}

/* Whether each node with several members has a region, or one that failed. */
static int regions_missing(const struct root *t, const struct decision *d)
{
    unsigned char *members = hb_xcalloc((size_t)hb_api.nodes, 1);
    unsigned char *has = hb_xcalloc((size_t)hb_api.nodes, 1);
    int missing = 0;

    for (int i = 0; i < d->size; i++) {
        uint32_t node = node_of(t, d->members[i].rank);

        members[node] += members[node] < 2;
        has[node] |= d->members[i].region != 0;
    }
    for (int n = 0; n < hb_api.nodes; n++) {
        missing |= members[n] > 1 && !has[n];
    }
    free(members);
    free(has);
    return missing;
}

static int no_sense(const struct root *t, int from, struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "what rank %d says of the "
                   "survivors of a team of %d ranks makes no sense; it is of "
                   "another version, or the message was damaged",
                   t->world[from], t->size);
}

/* The members are some of the root's, each once, and this rank is one; the
 * number is none that it has used. */
static int check_decision(const struct root *t, int leader,
                          const struct decision *d, uint32_t least_context,
                          struct hpcboot_error *err)
{
    int holds = d->size > 0 && d->size <= t->size &&
                d->context >= least_context && d->context <= CONTEXT_MAX;
    int before = -1, is_in = 0;

    for (int i = 0; holds && i < d->size; i++) {
        int r = d->members[i].rank;

        holds = r > before && r < t->size;
        is_in |= r == t->rank;
        before = r;
    }
    return holds && is_in ? 0 : no_sense(t, leader, err);
}

static int lead(const struct root *t, const struct coming *mine,
                struct decision *d, struct hpcboot_error *err)
{
    d->size = 0;
    d->context = mine->context;
    for (int r = 0; r < t->size; r++) {
        struct coming c = *mine;
        int rc = r == t->rank ? 0
                 : is_dead(t, r) ? HPCBOOT_ERR_PEER_DEAD
                                 : hear(t, r, TAG_COME, &c, sizeof c, err);

        if (rc < 0 && rc != HPCBOOT_ERR_PEER_DEAD) {
            return rc;
        }
        if (rc == 0 && c.context > CONTEXT_MAX) {
            return no_sense(t, r, err);
        }
        if (rc == 0) {
            d->members[d->size++] = (struct member){r, c.region};
            d->context = c.context > d->context ? c.context : d->context;
        }
    }
    d->again = (uint32_t)regions_missing(t, d);
    for (int i = 0; i < d->size; i++) {
        if (d->members[i].rank != t->rank) {
            (void)tell(t, d->members[i].rank, TAG_TEAM, d, decision_bytes(t),
                       err);
        }
    }
    return 0;
}

/* Others may have been told of a region by a leader that has died. Who was has
 * made that team before it comes to the next leader. */
static int agree(const struct root *t, struct decision *d, uint64_t *region,
                 struct hpcboot_error *err)
{
    int rc = HPCBOOT_ERR_PEER_DEAD;

    while (rc == HPCBOOT_ERR_PEER_DEAD) {
        int leader = lowest_alive(t);
        struct coming mine = {bring_region(t), hb_team_next_context()};

        *region = mine.region;
        if (leader == t->rank) {
            rc = lead(t, &mine, d, err);
        } else {
            rc = tell(t, leader, TAG_COME, &mine, sizeof mine, err);
            if (rc == 0) {
                rc = hear(t, leader, TAG_TEAM, d, decision_bytes(t), err);
            }
            if (rc == 0) {
                rc = check_decision(t, leader, d, mine.context, err);
            }
        }
        if (rc < 0) {
            hb_team_put_aside(mine.region, t->context);
        }
    }
    if (rc == 0) {
        hb_team_give_asides(t->context);
    }
    return rc;
}

/* Fences go on without those who are not in what the world has become. */
static void leave_out_the_dead(const struct hb_team_plan *plan)
{
    unsigned char *in = hb_xcalloc((size_t)hb_api.size, 1);
    uint32_t n = (uint32_t)(hb_api.size - plan->size), at = 0;
    uint32_t *dead = hb_xcalloc((size_t)n + 1, sizeof *dead);

    for (int i = 0; i < plan->size; i++) {
        in[plan->world[i]] = 1;
    }
    for (int r = 0; r < hb_api.size && at < n; r++) {
        if (!in[r]) {
            dead[at++] = (uint32_t)r;
        }
    }
    free(in);
    pthread_mutex_lock(&hb_api.rdzv_lock);
    hb_rdzv_set_members(hb_api.rdzv, plan->context, dead, n);
    pthread_mutex_unlock(&hb_api.rdzv_lock);
}

static void remember_root(struct hpcboot_team *t, const struct root *root,
                          int whole)
{
    t->root = hb_xmalloc((size_t)root->size * sizeof *t->root);
    memcpy(t->root, root->world, (size_t)root->size * sizeof *t->root);
    t->root_size = root->size;
    t->root_context = root->context;
    t->whole = whole;
}

/* The region of each node is the first that one of its members brought; a
 * member that is alone there needs none, also where it had not known that. All
 * decide alike. */
static void announce(const struct root *t, const struct decision *d,
                     uint64_t *announced)
{
    for (int i = 0; i < d->size; i++) {
        uint32_t node = node_of(t, d->members[i].rank);
        int before = 0, there = 0;

        for (int j = 0; j < d->size; j++) {
            int same = node_of(t, d->members[j].rank) == node;

            there += same;
            before += same && j < i && announced[j] != 0;
        }
        announced[i] = before == 0 && there > 1 ? d->members[i].region : 0;
    }
}

static int build(struct hpcboot_team *team, const struct root *t,
                 const struct decision *d, uint64_t mine,
                 struct hpcboot_team **out, struct hpcboot_error *err)
{
    uint64_t *announced = hb_xcalloc((size_t)t->size, sizeof *announced);
    struct hb_team_plan plan = {
        .world = hb_xcalloc((size_t)t->size, sizeof(int)), .size = d->size,
        .context = d->context, .timeout_ms = team->timeout_ms,
        .deterministic = team->deterministic,
    };
    int rc;

    for (int i = 0; i < d->size; i++) {
        int r = d->members[i].rank;

        plan.world[i] = t->world[r];
        plan.rank = r == t->rank ? i : plan.rank;
    }
    announce(t, d, announced);
    if (announced[plan.rank] == 0) { /* another's, or none */
        hb_team_give_region(mine);
        mine = 0;
    }
    (void)hb_team_take_context(d->context);
    rc = hb_team_finish(&plan, announced, mine, out, err);
    if (rc == 0) {
        remember_root(*out, t, team->whole);
        if (team->whole) {
            leave_out_the_dead(&plan);
        }
    }
    free(plan.world);
    free(announced);
    return rc;
}

int hpcboot_team_shrink(struct hpcboot_team *team, struct hpcboot_team **out,
                        struct hpcboot_error *err)
{
    struct hpcboot_error own = {0};
    struct decision *d;
    struct root t;
    uint64_t mine = 0;
    int rc = hb_api_team("hpcboot_team_shrink", team, err);

    err = err != NULL ? err : &own;
    if (rc == 0) {
        rc = hb_api_place("hpcboot_team_shrink", "team", out, err);
    }
    if (rc < 0) {
        return rc;
    }
    t = root_of(team);
    d = hb_xcalloc(1, decision_bytes(&t));
    do {
        rc = agree(&t, d, &mine, err);
        if (rc == 0 && d->again) {
            hb_team_give_region(mine);
        }
    } while (rc == 0 && d->again);
    if (rc == 0) {
        rc = build(team, &t, d, mine, out, err);
    }
    free(d);
    return rc;
}
