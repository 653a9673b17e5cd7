/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Shows whoever looks at the node's memory from outside (`hpcboot stuck`)
 * what this rank waits for, once it has waited for long. Calls that do not
 * wait for long pay nothing for it. */
#include "config.h"

#include "lib/api/api.h"
#include "lib/base/clock.h"

/* Two messages that pass each other are no deadlock: while anything moves
 * nobody is named. */
#define QUIET_NS ((int64_t)100 * 1000 * 1000)

static struct {
    int64_t since_ns, moved_ns;
    uint64_t moves;
} quiet;

static int is_quiet(const struct hb_coll_stuck *what)
{
    uint64_t moves = hb_xport_moves(hb_api.xport);
    int64_t now = hb_now_ns();

    if (quiet.since_ns != what->since_ns || quiet.moves != moves) {
        quiet.since_ns = what->since_ns;
        quiet.moves = moves;
        quiet.moved_ns = now;
    }
    return now - quiet.moved_ns >= QUIET_NS;
}

/* The caller has said what it waits for. */
static void of_awaited(struct hb_segment_wait *w,
                       const struct hb_coll_stuck *what)
{
    const struct hpcboot_request *r = hb_api.awaited.message;
    struct hb_xport_wanted m;
    int on = -1;

    if (r != NULL) {
        on = r->source >= 0 && is_quiet(what) ? r->team->world[r->source] : -1;
        atomic_store(&w->tag, r->tag);
        atomic_store(&w->team, r->team->context);
    } else if (hb_api.awaited.kind == HB_WAITS_SHRINK &&
               hb_xport_wanted(hb_api.xport, 0, &m)) {
        on = m.source;
        atomic_store(&w->team, m.context / 2);
    }
    atomic_store(&w->on, on);
    atomic_store(&w->team_size, 0);
}

/* A wait for no team is one for a message of the user's, as far as is known
 * here: for the oldest receive. */
static void of_message(struct hb_segment_wait *w, uint32_t *kind_out)
{
    struct hb_xport_wanted m;

    if (!hb_xport_wanted(hb_api.xport, 0, &m)) {
        *kind_out = HB_WAITS_OTHER;
        atomic_store(&w->on, -1);
        return;
    }
    *kind_out = HB_WAITS_RECV;
    atomic_store(&w->on, m.source);
    atomic_store(&w->tag, m.mask == UINT64_MAX ? (int32_t)m.tag : -1);
    atomic_store(&w->team, m.context / 2);
    atomic_store(&w->team_size, 0);
}

static void of_team(struct hb_segment_wait *w, const struct hpcboot_team *t,
                    const struct hb_coll_stuck *what)
{
    struct hb_xport_wanted m;
    int on = what->on >= 0 ? t->world[what->on] : -1;

    if (on < 0 && hb_xport_wanted(hb_api.xport, 1, &m)) {
        on = m.source;
    }
    atomic_store(&w->on, on);
    atomic_store(&w->team, t->context);
    atomic_store(&w->team_size, (uint32_t)t->size);
    atomic_store(&w->calls, what->calls);
}

struct until {
    int (*ready)(void *arg);
    void *arg;
};

/* Not ready; but when something has moved, more is on its way. */
static int ready_or_moved(void *arg)
{
    const struct until *u = arg;
    uint64_t before = hb_xport_moves(hb_api.xport);
    int rc = u->ready(u->arg);

    return rc == 0 && hb_xport_moves(hb_api.xport) != before ? HB_COLL_MOVED
                                                             : rc;
}

int hb_api_wait_until(const struct hb_api_awaited *what,
                      int (*ready)(void *arg), void *arg, int64_t deadline_ns,
                      struct hpcboot_error *err)
{
    struct until until = {ready, arg};
    int rc;

    if (!hb_api.threads) {
        hb_api.awaited = *what;
    }
    rc = hb_coll_wait_until(hb_api.engine, ready_or_moved, &until, deadline_ns,
                            err);
    if (!hb_api.threads) {
        hb_api.awaited = (struct hb_api_awaited){.kind = HB_WAITS_NOT};
    }
    return rc;
}

static struct hb_segment_wait *mine(void)
{
    return &hb_segment_slot(hb_api.memory,
                            (uint32_t)hb_api.local_rank)->wait;
}

void hb_api_shows(uint32_t kind)
{
    struct hb_segment_wait *w = mine();

    atomic_store(&w->on, -1);
    atomic_store(&w->since_ns, hb_now_ns());
    atomic_store(&w->kind, kind);
}

int hb_api_stuck(void *ctx, void *team, const struct hb_coll_stuck *what,
                 struct hpcboot_error *err)
{
    struct hb_segment_wait *w = mine();
    uint32_t kind;

    if (what == NULL) {
        atomic_store(&w->kind, HB_WAITS_NOT);
        return 0;
    }
    hb_api_look_at_node();
    if (team != NULL) {
        kind = HB_WAITS_COLL + (uint32_t)what->coll;
        of_team(w, team, what);
    } else if (hb_api.awaited.kind != HB_WAITS_NOT) {
        kind = hb_api.awaited.kind;
        of_awaited(w, what);
    } else {
        of_message(w, &kind);
    }
    atomic_store(&w->threads, hb_api.threads != 0);
    atomic_store(&w->since_ns, what->since_ns);
    atomic_store(&w->kind, kind);
    if (team == NULL && hb_api.awaited.n_any > 0) {
        return hb_api_ask_any(hb_api.awaited.any, hb_api.awaited.n_any, NULL,
                              what, err);
    }
    return hb_api_ask(team, what, err);
}
