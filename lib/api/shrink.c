/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A team of the survivors. The broken team's collectives cannot be used, so
 * the survivors agree by messages: each tells the lowest rank that it knows
 * to be alive that it has come; that one, the leader, waits for everybody who
 * lives, and tells all of them who is in the new team. On each node the lowest
 * member then takes a region and tells the others of its node.
 *
 * Who waits for somebody that dies meanwhile begins anew, with the next
 * leader; deaths are seen by all, so the search for a leader ends. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/api.h"
#include "lib/api/team.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"

/* Beyond what hpcboot_send can say. */
#define TAG_COME ((uint64_t)1 << 40)
#define TAG_TEAM ((uint64_t)2 << 40)
#define TAG_REGION ((uint64_t)3 << 40)

struct note {
    struct hpcboot_team *team;
    struct hb_xport_req *req;
    int peer; /* rank in the team */
    struct hpcboot_error *err;
};

static int is_dead(const struct hpcboot_team *t, int rank)
{
    return hb_api_peer_dead(t, t->world[rank], NULL) < 0;
}

/* 1 done; ERR_PEER_DEAD: it will not come. */
static int note_ready(void *arg)
{
    struct note *n = arg;
    int rc = hb_xport_test(hb_api.xport, n->req, NULL, n->err);

    if (rc == 0 && is_dead(n->team, n->peer)) {
        rc = hb_xport_test(hb_api.xport, n->req, NULL, n->err);
        if (rc == 0) {
            hb_xport_cancel(hb_api.xport, n->req);
            rc = HPCBOOT_ERR_PEER_DEAD;
        }
    }
    return rc;
}

static int finish(struct note *n)
{
    int rc = hb_coll_wait_until(hb_api.engine, note_ready, n, HB_NEVER,
                                n->err);

    return rc > 0 ? 0 : rc;
}

static int tell(struct hpcboot_team *t, int to, uint64_t tag, const void *data,
                size_t size, struct hpcboot_error *err)
{
    struct note n = {.team = t, .peer = to, .err = err};
    int rc = hb_xport_send(hb_api.xport, t->world[to], 2 * t->context, tag,
                           data, size, &n.req, err);

    return rc < 0 ? rc : finish(&n);
}

static int hear(struct hpcboot_team *t, int from, uint64_t tag, void *data,
                size_t size, struct hpcboot_error *err)
{
    struct note n = {.team = t, .peer = from, .err = err};
    int rc = hb_xport_recv(hb_api.xport, t->world[from], 2 * t->context, tag,
                           UINT64_MAX, data, size, &n.req, err);

    return rc < 0 ? rc : finish(&n);
}

static int lowest_alive(const struct hpcboot_team *t)
{
    int r = 0;

    while (r < t->rank && is_dead(t, r)) {
        r++;
    }
    return r;
}

/* The new team as the leader says it: size, context, ranks of the old. */
struct decision {
    int32_t size;
    uint32_t context;
    int32_t ranks[];
};

static size_t decision_bytes(const struct hpcboot_team *t)
{
    return sizeof(struct decision) + (size_t)t->size * sizeof(int32_t);
}

static int lead(struct hpcboot_team *t, struct decision *d,
                struct hpcboot_error *err)
{
    d->size = 0;
    d->context = hb_api.next_context;
    for (int r = 0; r < t->size; r++) {
        uint32_t context = 0;
        int rc = r == t->rank ? 0
                 : is_dead(t, r) ? HPCBOOT_ERR_PEER_DEAD
                                 : hear(t, r, TAG_COME, &context,
                                        sizeof context, err);

        if (rc < 0 && rc != HPCBOOT_ERR_PEER_DEAD) {
            return rc;
        }
        if (rc == 0) {
            d->ranks[d->size++] = r;
            d->context = context > d->context ? context : d->context;
        }
    }
    for (int i = 0; i < d->size; i++) {
        if (d->ranks[i] != t->rank) {
            (void)tell(t, d->ranks[i], TAG_TEAM, d, decision_bytes(t), err);
        }
    }
    return 0;
}

static int agree(struct hpcboot_team *t, struct decision *d,
                 struct hpcboot_error *err)
{
    int rc = HPCBOOT_ERR_PEER_DEAD;

    while (rc == HPCBOOT_ERR_PEER_DEAD) {
        uint32_t context = hb_api.next_context;
        int leader = lowest_alive(t);

        if (leader == t->rank) {
            return lead(t, d, err);
        }
        rc = tell(t, leader, TAG_COME, &context, sizeof context, err);
        if (rc == 0) {
            rc = hear(t, leader, TAG_TEAM, d, decision_bytes(t), err);
        }
    }
    return rc;
}

/* The region of this node, from its lowest member. */
static int share_region(struct hpcboot_team *t, const struct decision *d,
                        struct hb_team_plan *plan, uint64_t *mine,
                        uint64_t *announced, struct hpcboot_error *err)
{
    const uint32_t *node_of = hb_segment_node_of(hb_api.memory);
    int first = -1, rc = 0;

    *mine = hb_team_take_region(plan->world, plan->size, plan->rank,
                                &plan->region_size);
    for (int i = 0; rc == 0 && i < plan->size; i++) {
        if (node_of[plan->world[i]] != (uint32_t)hb_api.node) {
            continue;
        }
        first = first < 0 ? i : first;
        if (first == plan->rank && i != first) {
            (void)tell(t, d->ranks[i], TAG_REGION, mine, sizeof *mine, err);
        } else if (i == plan->rank && i != first) {
            rc = hear(t, d->ranks[first], TAG_REGION, &announced[first],
                      sizeof *mine, err);
        }
    }
    if (first == plan->rank) {
        announced[first] = *mine;
    }
    return rc;
}

int hpcboot_team_shrink(struct hpcboot_team *team, struct hpcboot_team **out,
                        struct hpcboot_error *err)
{
    struct hb_team_plan plan = {0};
    struct decision *d;
    uint64_t *announced, mine = 0;
    int rc = hb_api_team("hpcboot_team_shrink", team, err);

    if (rc == 0 && out == NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_team_shrink: the place "
                     "for the team is NULL");
    }
    if (rc < 0) {
        return rc;
    }
    d = hb_xcalloc(1, decision_bytes(team));
    announced = hb_xcalloc((size_t)team->size, sizeof *announced);
    plan.world = hb_xcalloc((size_t)team->size, sizeof(int));
    rc = agree(team, d, err);
    if (rc == 0) {
        plan.size = d->size;
        plan.context = d->context;
        plan.timeout_ms = team->timeout_ms;
        plan.deterministic = team->deterministic;
        hb_api.next_context = d->context + 1;
        for (int i = 0; i < d->size; i++) {
            plan.world[i] = team->world[d->ranks[i]];
            plan.rank = d->ranks[i] == team->rank ? i : plan.rank;
        }
        rc = share_region(team, d, &plan, &mine, announced, err);
    }
    if (rc == 0) {
        rc = hb_team_finish(&plan, announced, mine, out, err);
    }
    free(plan.world);
    free(announced);
    free(d);
    return rc;
}
