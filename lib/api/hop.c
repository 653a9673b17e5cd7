/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What this rank waits in, in the words that others are asked with (ask.c), and
 * whether it has done what others wait for. A rank that is asked can know:
 *
 *   - it has begun a collective, or has not; the engine counts;
 *   - it has begun so many fences. One that is taken back does not count, and
 *     after one that has failed nobody can say how many there were;
 *   - it has been to a shrink if the number that it would give to a new team is
 *     greater than the one that the other rank has brought there;
 *   - all that it has sent has come, so that none is on its way, if the other
 *     rank has had as many messages of it.
 *
 * Fences and messages are counted with HPCBOOT_CHECK alone, in a program of one
 * thread; of a shrink it is known in any case. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/api/hop.h"
#include "lib/base/str.h"

static struct {
    uint64_t n[2];            /* of the job, of the node */
    int odd;                  /* they cannot be counted */
    int ends;                 /* the one under way has a deadline */
    struct hpcboot_error why; /* it has been ended */
} fences;

void hb_api_counts_open(void)
{
    if (hb_api.checks && !hb_api.threads) {
        hb_api.sent = hb_xcalloc((size_t)hb_api.size, sizeof *hb_api.sent);
        hb_api.came = hb_xcalloc((size_t)hb_api.size, sizeof *hb_api.came);
        hb_survey_open();
    }
}

void hb_api_counts_close(void)
{
    free(hb_api.sent);
    free(hb_api.came);
    hb_api.sent = hb_api.came = NULL;
    hb_survey_close();
}

void hb_api_fence_begins(int node_only, int ends)
{
    if (hb_api.sent != NULL) {
        fences.n[node_only]++;
        fences.ends = ends;
        fences.why.code = 0;
        hb_api.awaited = (struct hb_api_awaited){
            .kind = HB_WAITS_FENCE, .number = (uint32_t)node_only};
    }
}

int hb_api_fence_ends(int node_only, int rc, struct hpcboot_error *err)
{
    if (hb_api.sent == NULL) {
        return rc;
    }
    hb_api.awaited = (struct hb_api_awaited){.kind = HB_WAITS_NOT};
    hb_api.rdzv->stop = 0;
    if (rc != HPCBOOT_ERR_TIMED_OUT) {
        fences.odd |= rc < 0;
        return rc;
    }
    fences.n[node_only]--;
    return fences.why.code == 0
               ? rc : hb_fail(err, fences.why.code, "%s", fences.why.text);
}

/* Messages of the user's alone. */
static uint64_t came_from(int rank)
{
    return hb_api.came[rank] +
           hb_xport_kept(hb_api.xport, rank, HB_ASK_CONTEXT, HPCBOOT_TAG_MAX);
}

void hb_api_message_dropped(void *ctx, uint32_t source, uint32_t context,
                            uint64_t tag)
{
    if (hb_api.came != NULL && (context & 1) == 0 && tag <= HPCBOOT_TAG_MAX) {
        hb_api.came[source]++;
    }
}

struct hb_hop hb_hop_of(const struct hpcboot_team *team,
                         const struct hb_coll_stuck *what)
{
    return (struct hb_hop){
        .rank = hb_api.rank, .coll = what->coll, .context = team->context,
        .size = (uint32_t)team->size, .call = what->calls,
        .on = what->on >= 0 ? team->world[what->on] : -1};
}

/* A wait in a team that somebody has died of ends by itself. */
static int has_dead(const struct hpcboot_team *t)
{
    int i = 0;

    if (hb_segment_deaths(hb_api.memory) == 0) {
        return 0;
    }
    while (i < t->size &&
           hb_segment_find_death(hb_api.memory,
                                 (uint32_t)t->world[i]) == NULL) {
        i++;
    }
    return i < t->size;
}

struct ways {
    struct hb_hop *v;
    size_t n;
};

static void add(struct ways *ways, const struct hb_hop *h)
{
    ways->v = hb_xrealloc(ways->v, (ways->n + 1) * sizeof *ways->v);
    ways->v[ways->n++] = *h;
}

/* A message of any rank can come from each of the team, but for this one:
 * what that has sent itself is here. */
static void add_message(struct ways *ways, const struct hpcboot_request *r)
{
    struct hb_hop h = {
        .rank = hb_api.rank, .coll = HB_IN_RECV, .context = r->team->context,
        .size = (uint32_t)r->team->size, .tag = r->tag};
    int first = r->source >= 0 ? r->source : 0;
    int last = r->source >= 0 ? r->source : r->team->size - 1;

    for (int i = first; i <= last; i++) {
        h.on = r->team->world[i];
        if (h.on != hb_api.rank || r->source >= 0) {
            h.call = came_from(h.on);
            add(ways, &h);
        }
    }
}

/* A fence, or a shrink: for all. */
static void add_meeting(struct ways *ways, int coll, uint64_t call)
{
    const struct hb_hop h = {
        .rank = hb_api.rank, .coll = coll, .context = hb_api.awaited.number,
        .call = call, .on = -1};

    add(ways, &h);
}

/* Calls of a team are completed in their order, so it counts once. 0: it may
 * need nobody. */
static int add_call(struct ways *ways, const struct hpcboot_team *team,
                    const struct hb_coll_stuck *what)
{
    const struct hb_hop h = hb_hop_of(team, what);

    for (size_t i = 0; i < ways->n; i++) {
        if (ways->v[i].coll >= 0 && ways->v[i].context == h.context) {
            return 1;
        }
    }
    add(ways, &h);
    return h.on >= 0 && !what->sends;
}

/* Of any of several requests. A message that is to be sent may be on its way:
 * then it is not known. */
static int add_requests(struct ways *ways, const struct hb_api_awaited *a)
{
    int known = 1;

    for (size_t i = 0; i < a->n_any && known; i++) {
        const struct hpcboot_request *r = a->any[i];
        struct hb_coll_stuck what;

        if (r == NULL || !r->active) {
            continue;
        }
        known = has_dead(r->team) ? 0
                : r->coll != NULL
                    ? hb_coll_team_waits(r->team->coll, &what) &&
                          add_call(ways, r->team, &what)
                    : r->is_recv;
        if (known && r->is_recv) {
            add_message(ways, r);
        }
    }
    return known;
}

static int add_own(struct ways *ways)
{
    const struct hb_api_awaited *a = &hb_api.awaited;

    switch (a->kind) {
    case HB_WAITS_RECV:
        add_message(ways, a->message);
        return !has_dead(a->message->team);
    case HB_WAITS_FENCE:
        add_meeting(ways, HB_IN_FENCE, fences.n[a->number]);
        return !fences.ends && !fences.odd;
    case HB_WAITS_SHRINK:
        add_meeting(ways, HB_IN_SHRINK, hb_api.next_context);
        return 1;
    case HB_WAITS_ANY:
        return add_requests(ways, a);
    default:
        return 0;
    }
}

size_t hb_hop_ways(const struct hb_own_wait *w, struct hb_hop **out)
{
    struct ways ways = {0};
    int known = !w->what->polled && !w->what->sends;

    if (known && w->team != NULL) {
        known = !has_dead(w->team) && add_call(&ways, w->team, w->what);
    } else if (known) {
        known = (hb_api.sent != NULL ||
                 hb_api.awaited.kind == HB_WAITS_SHRINK) && add_own(&ways);
    }
    if (!known) {
        free(ways.v);
        ways = (struct ways){0};
    }
    *out = ways.v;
    return ways.n;
}

int hb_hop_own(const struct hb_own_wait *w, struct hb_hop *out)
{
    struct hb_hop *ways;
    size_t n = hb_hop_ways(w, &ways);

    if (n == 1) {
        *out = *ways;
    }
    free(ways);
    return n == 1;
}

struct hb_hop hb_hop_shown(const struct hb_hop *ways, size_t n)
{
    struct hb_hop h = ways[0];

    if (n > 1) {
        h.coll = hb_api.awaited.kind == HB_WAITS_ANY ? HB_IN_ANY : HB_IN_RECV;
        h.on = -1;
    }
    return h;
}

int hb_hop_is_own(const struct hb_own_wait *w, const struct hb_hop *h)
{
    struct hb_hop mine;

    return h->rank == hb_api.rank && hb_hop_own(w, &mine) &&
           mine.coll == h->coll && mine.context == h->context &&
           mine.call == h->call && mine.tag == h->tag && mine.on == h->on;
}

static int fence_is_kept(const struct hb_hop *h)
{
    const uint32_t *node_of = hb_segment_node_of(hb_api.memory);

    return !fences.odd && h->context < 2 && fences.n[h->context] < h->call &&
           (h->context == 0 ||
            node_of[h->rank] == (uint32_t)hb_api.node);
}

int hb_hop_is_kept(const struct hb_hop *h)
{
    if (hb_api.sent == NULL && h->coll != HB_IN_SHRINK) {
        return 0;
    }
    switch (h->coll) {
    case HB_IN_RECV:
        return hb_api.sent[h->rank] == h->call;
    case HB_IN_FENCE:
        return fence_is_kept(h);
    case HB_IN_SHRINK: /* who is there itself has come */
        return hb_api.next_context <= h->call &&
               !(hb_api.awaited.kind == HB_WAITS_SHRINK &&
                 hb_api.awaited.number == h->context);
    default:
        return 0;
    }
}

int hb_hop_end(const struct hpcboot_error *why, struct hpcboot_error *err)
{
    if (hb_api.awaited.kind == HB_WAITS_FENCE) {
        fences.why = *why;
        hb_api.rdzv->stop = 1;
        return 0;
    }
    *err = *why;
    return why->code;
}

static const char *team_name(const struct hb_hop *h, char *out, size_t size)
{
    if (h->context == hb_api.world->context) {
        return "the world";
    }
    snprintf(out, size, h->context == hb_api.node_team->context
                            ? "the node team" : "team %u of %u ranks",
             h->context, h->size);
    return out;
}

size_t hb_hop_put(char *out, size_t size, const struct hb_hop *h)
{
    char name[40], tag[16] = "any tag";
    int n;

    if (h->coll >= 0) {
        n = snprintf(out, size, "rank %d waits in %s of %s (its call %llu)",
                     h->rank, hb_coll_name(h->coll),
                     team_name(h, name, sizeof name),
                     (unsigned long long)h->call);
    } else if (h->coll == HB_IN_RECV) {
        if (h->tag >= 0) {
            snprintf(tag, sizeof tag, "tag %d", h->tag);
        }
        n = snprintf(out, size, "rank %d waits in recv of %s (%s)", h->rank,
                     team_name(h, name, sizeof name), tag);
    } else if (h->coll == HB_IN_ANY) {
        n = snprintf(out, size, "rank %d waits for any of its requests",
                     h->rank);
    } else {
        n = snprintf(out, size, "rank %d waits in %s", h->rank,
                     h->coll == HB_IN_FENCE    ? "fence"
                     : h->coll == HB_IN_SHRINK ? "team_shrink"
                                               : "hpcboot_finalize");
    }
    return n > 0 ? (size_t)n : 0;
}
