/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A team's peers: the messages of its collectives, and who of them has died.
 * Deaths are in the node's memory, where the agent writes them. A connection
 * that has ended is only a sign of one, and often its first; what it means is
 * waited for, so that the caller hears the cause. It may also mean that two
 * hosts do not reach each other any more though both live. Then one of them is
 * given up by the launcher, which therefore has to hear of every connection
 * that is lost, whoever waits for it or not. */
#include "config.h"

#include <time.h>

#include "lib/api/api.h"

/* How long an agent may take to tell of what a connection has shown: it waits
 * a moment for what kills a whole host, and the launcher for what others say of
 * a cut (bin/job/cut.c). */
#define LOST_NAPS 1250
#define LOST_NAP_NS (2 * 1000 * 1000)

/* ---- messages of the collectives ---- */

static int net_send(void *team_ctx, int to, uint64_t tag, const void *bytes,
                    size_t size, void **req_out, struct hpcboot_error *err)
{
    const struct hpcboot_team *t = team_ctx;
    int rc = hb_xport_send(hb_api.xport, t->world[to], 2 * t->context + 1,
                           tag, bytes, size, (struct hb_xport_req **)req_out,
                           err);

    return rc == HPCBOOT_ERR_PEER_DEAD ? hb_api_peer_lost(t->world[to], err)
                                       : rc;
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
    return rc == HPCBOOT_ERR_PEER_DEAD ? hb_api_peer_lost(info.source, err)
                                       : rc;
}

static void net_cancel(void *team_ctx, void *req)
{
    hb_xport_cancel(hb_api.xport, req);
}

const struct hb_coll_net hb_api_net = {
    .send = net_send, .recv = net_recv, .test = net_test,
    .cancel = net_cancel,
};

/* ---- the dead ---- */

static int is_member(const struct hpcboot_team *t, uint32_t world)
{
    return t->rank_of == NULL || t->rank_of[world] >= 0;
}

int hb_api_peer_dead(const struct hpcboot_team *team, int world_rank,
                     struct hpcboot_error *err)
{
    const struct hb_death *d;

    if (hb_segment_deaths(hb_api.memory) == 0) {
        return 0;
    }
    d = hb_segment_find_death(hb_api.memory, (uint32_t)world_rank);
    return d == NULL ? 0 : hb_fail(err, HPCBOOT_ERR_PEER_DEAD, "%s", d->text);
}

int hb_api_peer_lost(int world_rank, struct hpcboot_error *err)
{
    const struct timespec nap = {0, LOST_NAP_NS};
    const struct hb_death *d = NULL;

    for (int i = 0; d == NULL && world_rank >= 0 && i < LOST_NAPS; i++) {
        d = hb_segment_find_death(hb_api.memory, (uint32_t)world_rank);
        if (d == NULL && !hb_segment_has_agent(hb_api.memory)) {
            break;
        }
        if (d == NULL) {
            nanosleep(&nap, NULL);
        }
    }
    if (d != NULL) {
        return hb_fail(err, HPCBOOT_ERR_PEER_DEAD, "%s", d->text);
    }
    if (world_rank >= 0 && err != NULL &&
        hb_segment_mark_dead(hb_api.memory, hb_api.local_rank,
                             (uint32_t)world_rank, err->text)) {
        hb_coll_node_changed(hb_segment_page(hb_api.memory));
    }
    return HPCBOOT_ERR_PEER_DEAD;
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

int hb_api_alive(void *ctx, void *team, struct hpcboot_error *err)
{
    struct hpcboot_team *t = team;
    uint32_t n = hb_segment_deaths(hb_api.memory);

    for (uint32_t i = 0; i < n; i++) {
        const struct hb_death *d = hb_segment_death(hb_api.memory, i);

        if (is_member(t, d->rank)) {
            return hb_fail(err, HPCBOOT_ERR_PEER_DEAD, "%s", d->text);
        }
    }
    return 0;
}
