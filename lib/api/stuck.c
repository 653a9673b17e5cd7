/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Shows whoever looks at the node's memory from outside (`hpcboot stuck`)
 * what this rank waits for, once it has waited for long. Calls that do not
 * wait for long pay nothing for it. */
#include "config.h"

#include "lib/api/api.h"
#include "lib/base/clock.h"

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
    atomic_store(&w->tag, m.mask == 0 ? -1 : (int32_t)m.tag);
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
    if (team != NULL) {
        kind = HB_WAITS_COLL + (uint32_t)what->coll;
        of_team(w, team, what);
    } else {
        of_message(w, &kind);
    }
    atomic_store(&w->since_ns, what->since_ns);
    atomic_store(&w->kind, kind);
    return hb_api_ask(team, what, err);
}
