/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Messages between ranks of a team. Their context is the team's, doubled; the
 * odd ones are those of the collectives. */
#include "config.h"

#include <stdio.h>

#include "lib/api/api.h"

#define TAG_MASK UINT64_MAX
/* The library's own words in a team's context have tags beyond these. */
#define ANY_TAG_MASK (~(uint64_t)HPCBOOT_TAG_MAX)

static int check(const char *call, const struct hpcboot_team *team, int peer,
                 int tag, const void *data, size_t size, int is_recv,
                 struct hpcboot_error *err)
{
    int rc = hb_api_team(call, team, err);

    if (rc < 0) {
        return rc;
    }
    if ((peer < 0 && !(is_recv && peer == HPCBOOT_ANY_SOURCE)) ||
        peer >= team->size) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: there is no rank %d in a "
                       "team of %d", call, peer, team->size);
    }
    if ((tag < 0 && !(is_recv && tag == HPCBOOT_ANY_TAG)) ||
        tag > HPCBOOT_TAG_MAX) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: %d is no tag (0 to %d)",
                       call, tag, HPCBOOT_TAG_MAX);
    }
    if (size > PTRDIFF_MAX || (data == NULL && size > 0)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: a buffer of %lld bytes at "
                       "%p", call, (long long)size, data);
    }
    return 0;
}

int hpcboot_transport_of(int rank, struct hpcboot_transport *out,
                         struct hpcboot_error *err)
{
    const char *call = "hpcboot_transport_of";
    int rc = hb_api_ready(call, err);

    if (rc == 0 && (rank < 0 || rank >= hb_api.size)) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "%s: there is no rank %d in a "
                     "job of %d", call, rank, hb_api.size);
    }
    if (rc == 0) {
        rc = hb_api_sized(call, "HPCBOOT_TRANSPORT_INIT", out, sizeof *out,
                          err);
    }
    if (rc == 0) {
        snprintf(out->name, sizeof out->name, "%s",
                 hb_xport_transport(hb_api.xport, (uint32_t)rank, out->detail,
                                    sizeof out->detail));
    }
    return rc;
}

/* Long messages need their sender as they go: who waits is to look. */
static void note_message(int world_rank)
{
    struct hb_coll_node_page *page = hb_segment_page(hb_api.memory);

    if (page != NULL && world_rank != hb_api.rank &&
        atomic_load_explicit(&page->messages, memory_order_relaxed) == 0 &&
        hpcboot_node_of(world_rank) == hb_api.node) {
        atomic_store(&page->messages, 1);
    }
}

static int rank_in(const struct hpcboot_team *team, int world)
{
    return team->rank_of == NULL ? world : team->rank_of[world];
}

/* Whether it can still come; 1, and *err: not for long. A peer that lives may
 * have heard of a death that this rank has not asked for, and be out of the
 * team for good. */
static int look_at_peers(const struct hpcboot_request *r,
                         struct hpcboot_error *err)
{
    const struct hpcboot_team *t = r->team;
    int rc = r->source == HPCBOOT_ANY_SOURCE
                 ? 0 : hb_api_peer_silent(t->world[r->source], err);

    return rc < 0 ? rc : hb_api_alive(NULL, r->team, err);
}

/* What a dead rank has sent in part never comes whole, and would be what the
 * next receive meets. */
void hb_api_message_give_up(struct hb_xport_req *m)
{
    int source = hb_xport_meets(hb_api.xport, m);

    if (source >= 0 && hb_api_peer_dead(source, NULL) < 0) {
        hb_xport_cancel(hb_api.xport, m);
    } else {
        hb_xport_put_back(hb_api.xport, m);
    }
}

/* 1 done, 0 under way, negative with *why: the outcome. */
static int test(struct hpcboot_request *r, struct hb_xport_info *info,
                struct hpcboot_error *why)
{
    int rc = hb_xport_test(hb_api.xport, r->message, info, why), last;

    if (rc == HPCBOOT_ERR_PEER_DEAD && r->source >= 0) {
        hb_api_peer_lost(r->team->world[r->source], why);
    }
    if (rc != 0) {
        return rc;
    }
    rc = look_at_peers(r, why);
    if (rc >= 0) {
        return 0;
    }
    last = hb_xport_test(hb_api.xport, r->message, info, NULL);
    if (last == 0) { /* it has not come just before */
        hb_api_message_give_up(r->message);
    }
    return last > 0 ? last : rc;
}

int hb_api_message_test(struct hpcboot_request *r, struct hpcboot_error *err)
{
    struct hb_xport_info info;
    struct hpcboot_error why;
    int rc, moved;

    if (r->message == NULL) {
        return 1;
    }
    rc = test(r, &info, &why);
    if (rc == 0) {
        return 0;
    }
    r->message = NULL;
    if (rc < 0 && err != NULL) {
        *err = why;
    }
    if (!r->is_recv || (rc < 0 && rc != HPCBOOT_ERR_LIMIT)) {
        return rc;
    }
    moved = hb_api_stage_end(r->stage, info.size, err);
    if (hb_api.came != NULL) {
        hb_api.came[info.source]++;
    }
    if (r->info != NULL) {
        r->info->source = rank_in(r->team, info.source);
        r->info->tag = (int)info.tag;
        r->info->size = info.size;
    }
    return moved < 0 ? moved : rc;
}

int hpcboot_isend(struct hpcboot_team *team, int dest, int tag,
                  const void *data, size_t size, struct hpcboot_request **out,
                  struct hpcboot_error *err)
{
    const char *call = "hpcboot_send";
    struct hb_api_stage *stage = NULL;
    struct hb_xport_req *m;
    void *host = (void *)(uintptr_t)data;
    int rc = check(call, team, dest, tag, data, size, 0, err);

    if (rc == 0) {
        rc = hb_api_place("hpcboot_isend", "request", out, err);
    }
    if (rc == 0) {
        rc = hb_api_peer_dead(team->world[dest], err);
    }
    if (rc == 0) {
        rc = hb_api_stage_data(call, "data", &host, size, 0, &stage, err);
    }
    if (rc == 0) {
        rc = hb_api_stage_begin(stage, err);
    }
    if (rc == 0) {
        note_message(team->world[dest]);
        rc = hb_xport_send(hb_api.xport, team->world[dest], 2 * team->context,
                           (uint64_t)tag, host, size, &m, err);
    }
    if (rc < 0) {
        hb_api_stage_free(stage);
    } else {
        *out = hb_api_request_new(team);
        (*out)->message = m;
        (*out)->stage = stage;
        (*out)->active = 1;
        (*out)->source = dest;
        (*out)->tag = tag;
        if (hb_api.sent != NULL) {
            hb_api.sent[team->world[dest]]++;
        }
    }
    return rc;
}

int hpcboot_irecv(struct hpcboot_team *team, int source, int tag, void *data,
                  size_t capacity, struct hpcboot_message *message,
                  struct hpcboot_request **out, struct hpcboot_error *err)
{
    const char *call = "hpcboot_recv";
    struct hb_api_stage *stage = NULL;
    struct hb_xport_req *m;
    int rc = check(call, team, source, tag, data, capacity, 1, err);

    if (rc == 0) {
        rc = hb_api_place("hpcboot_irecv", "request", out, err);
    }
    if (rc == 0) {
        rc = hb_api_stage_data(call, "data", &data, capacity, 1, &stage, err);
    }
    if (rc == 0) {
        rc = hb_api_stage_begin(stage, err);
    }
    if (rc == 0) {
        rc = hb_xport_recv(hb_api.xport,
                           source < 0 ? HB_XPORT_ANY : team->world[source],
                           2 * team->context, tag < 0 ? 0 : (uint64_t)tag,
                           tag < 0 ? ANY_TAG_MASK : TAG_MASK, data, capacity,
                           &m, err);
    }
    if (rc < 0) {
        hb_api_stage_free(stage);
    } else {
        *out = hb_api_request_new(team);
        (*out)->message = m;
        (*out)->stage = stage;
        (*out)->active = 1;
        (*out)->info = message;
        (*out)->is_recv = 1;
        (*out)->source = source;
        (*out)->tag = tag;
    }
    return rc;
}

/* Blocking: a deadline that passes gives the request up. A death that is known
 * by then is the cause. */
static int finish(const char *call, struct hpcboot_team *team,
                  struct hpcboot_request *r, struct hpcboot_error *err)
{
    int rc = hb_api_wait(call, &r, team->timeout_ms, err);

    if (rc == HPCBOOT_ERR_TIMED_OUT && r != NULL &&
        look_at_peers(r, err) != 0) {
        rc = HPCBOOT_ERR_PEER_DEAD;
    }
    if (r != NULL) {
        hb_api_request_destroy(r);
    }
    return rc;
}

int hpcboot_send(struct hpcboot_team *team, int dest, int tag,
                 const void *data, size_t size, struct hpcboot_error *err)
{
    struct hpcboot_request *r;
    int rc = hpcboot_isend(team, dest, tag, data, size, &r, err);

    return rc < 0 ? rc : finish("hpcboot_send", team, r, err);
}

int hpcboot_recv(struct hpcboot_team *team, int source, int tag, void *data,
                 size_t capacity, struct hpcboot_message *message,
                 struct hpcboot_error *err)
{
    struct hpcboot_request *r;
    int rc = hpcboot_irecv(team, source, tag, data, capacity, message, &r,
                           err);

    return rc < 0 ? rc : finish("hpcboot_recv", team, r, err);
}
