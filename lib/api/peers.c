/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A team's peers: the messages of its collectives, and who of them has died.
 * Deaths are in the node's memory, where the agent writes them. A connection
 * that has ended is only a sign of one, and often its first: a request that
 * fails with it is under way until it is known what that means, or nobody has
 * told for long, so that the caller hears the cause. It may also mean that two
 * hosts do not reach each other any more though both live. Then one of them is
 * given up by the launcher, which therefore has to hear of every connection
 * that is lost, whoever waits for it or not.
 *
 * Who dies may have done its part in calls that others are still in, and what
 * it sent is on its way. So a call that is under way when a death becomes known
 * has a moment to complete before it fails. */
#include "config.h"

#include <stdio.h>

#include "lib/api/api.h"
#include "lib/base/clock.h"

/* How long an agent may take to tell of what a connection has shown: it waits
 * a moment for what kills a whole host, and the launcher for what others say of
 * a cut (bin/job/cut.c). */
#define LOST_NS ((int64_t)2500 * 1000 * 1000)
/* How long a call may take to complete without the dead: as what is on its way
 * takes, and ranks that wait for their turn on a core. */
#define LAST_WORDS_NS ((int64_t)100 * 1000 * 1000)

/* Where no agent tells, ranks that wait look after those of their node. */
#define LOOK_NS ((int64_t)500 * 1000 * 1000)

void hb_api_look_at_node(void)
{
    static _Atomic int64_t last_ns;
    int64_t now;

    if (hb_api.rdzv->ops->look == NULL) {
        return;
    }
    now = hb_now_ns();
    if (now - atomic_load_explicit(&last_ns, memory_order_relaxed) < LOOK_NS) {
        return;
    }
    atomic_store_explicit(&last_ns, now, memory_order_relaxed);
    if (hb_api.rdzv->ops->look(hb_api.rdzv) > 0) {
        hb_coll_node_changed(hb_segment_page(hb_api.memory));
    }
}

static int is_member(const struct hpcboot_team *t, uint32_t world)
{
    return t->rank_of == NULL || t->rank_of[world] >= 0;
}

/* Of several deaths in a team its members hear the first that they are told
 * of: others may be what follows from it. */
static const struct hb_death *first_death(const struct hpcboot_team *t)
{
    uint32_t n = hb_segment_deaths(hb_api.memory);

    for (uint32_t i = 0; i < n; i++) {
        const struct hb_death *d = hb_segment_death(hb_api.memory, i);

        if (is_member(t, d->rank)) {
            return d;
        }
    }
    return NULL;
}

/* 0: of nobody. */
static int fail_with(const struct hb_death *d, struct hpcboot_error *err)
{
    return d == NULL ? 0 : hb_fail(err, HPCBOOT_ERR_PEER_DEAD, "%s", d->text);
}

/* The same, but 1 while it is too new for calls that are under way, unless
 * their deadline passes. */
static int fail_in_time(const struct hb_death *d, struct hpcboot_error *err)
{
    int64_t old = d != NULL ? hb_now_ns() - d->since_ns : 0;
    int rc = fail_with(d, err);

    return rc < 0 && old >= 0 && old < LAST_WORDS_NS ? 1 : rc;
}

/* ---- messages of the collectives ---- */

static int net_send(void *team_ctx, int to, uint64_t tag, const void *bytes,
                    size_t size, void **req_out, struct hpcboot_error *err)
{
    const struct hpcboot_team *t = team_ctx;

    return hb_xport_send(hb_api.xport, t->world[to], 2 * t->context + 1, tag,
                         bytes, size, (struct hb_xport_req **)req_out, err);
}

static int net_recv(void *team_ctx, int from, uint64_t tag, void *bytes,
                    size_t size, void **req_out, struct hpcboot_error *err)
{
    const struct hpcboot_team *t = team_ctx;

    return hb_xport_recv(hb_api.xport, t->world[from], 2 * t->context + 1, tag,
                         UINT64_MAX, bytes, size,
                         (struct hb_xport_req **)req_out, err);
}

static int net_test(void *team_ctx, void *req, size_t *got_out,
                    struct hpcboot_error *err)
{
    struct hb_xport_info info = {.size = *got_out};
    int rc = hb_xport_test(hb_api.xport, req, &info, err);

    *got_out = info.size;
    if (rc == HPCBOOT_ERR_PEER_DEAD) {
        hb_api_peer_lost(info.source, err);
        fail_with(first_death(team_ctx), err);
    }
    return rc;
}

static void net_cancel(void *team_ctx, void *req)
{
    hb_xport_cancel(hb_api.xport, req);
}

static int net_other(void *team_ctx, uint64_t *tag, uint64_t mask,
                     uint64_t but, int *from_out)
{
    const struct hpcboot_team *t = team_ctx;
    struct hb_xport_info info;
    int found = hb_xport_other(hb_api.xport, 2 * t->context + 1, *tag, mask,
                               but, &info);

    if (found) {
        *tag = info.tag;
        *from_out = info.source;
    }
    return found;
}

const struct hb_coll_net hb_api_net = {
    .send = net_send, .recv = net_recv, .test = net_test,
    .cancel = net_cancel, .other = net_other,
};

/* ---- the dead ---- */

static const struct hb_death *death_of(int world_rank)
{
    return hb_segment_deaths(hb_api.memory) == 0 ? NULL
           : hb_segment_find_death(hb_api.memory, (uint32_t)world_rank);
}

int hb_api_peer_dead(int world_rank, struct hpcboot_error *err)
{
    return fail_with(death_of(world_rank), err);
}

int hb_api_peer_silent(int world_rank, struct hpcboot_error *err)
{
    return fail_in_time(death_of(world_rank), err);
}

int hb_api_explain(void *ctx, uint32_t rank, int64_t since_ns,
                   struct hpcboot_error *why)
{
    const struct hb_death *d = hb_segment_find_death(hb_api.memory, rank);

    if (d != NULL) {
        return fail_with(d, why);
    }
    return hb_segment_has_agent(hb_api.memory) &&
                   hb_now_ns() - since_ns < LOST_NS
               ? 0 : HPCBOOT_ERR_PEER_DEAD;
}

void hb_api_peer_lost(int world_rank, const struct hpcboot_error *why)
{
    if (hb_segment_mark_dead(hb_api.memory, hb_api.local_rank,
                             (uint32_t)world_rank, why->text)) {
        hb_coll_node_changed(hb_segment_page(hb_api.memory));
    }
}

/* In finalize those who were faster hang up. */
void hb_api_connection_lost(void *ctx, uint32_t rank,
                            const struct hpcboot_error *why)
{
    if (why->code == HPCBOOT_ERR_PEER_DEAD &&
        atomic_load(&hb_api.phase) != API_ENDING) {
        hb_segment_mark_lost(hb_api.memory, hb_api.local_rank, rank,
                             why->text);
    }
}

void hb_api_who(void *ctx, void *team, int rank, char *out, size_t size)
{
    const struct hpcboot_team *t = team;
    int world = t->world[rank];
    const char *host = hb_segment_name(
        hb_api.memory, hb_segment_node_of(hb_api.memory)[world]);

    if (world == rank) {
        snprintf(out, size, "rank %d on %.64s", rank, host);
    } else {
        snprintf(out, size, "rank %d (rank %d of the world, on %.64s)", rank,
                 world, host);
    }
}

int hb_api_alive(void *ctx, void *team, struct hpcboot_error *err)
{
    return fail_in_time(first_death(team), err);
}
