/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What the ranks of a node are told of others, and tell their agent: who is
 * dead, whose connections are lost, who comes and goes. Each is a table that
 * only grows; its number of entries is written behind the entry. Those of the
 * dead and of connections have room for every rank of the job, as who is not
 * told of one would wait for ever; pages without an entry take no memory.
 *
 * A connection that has ended shows a death, or that two hosts do not reach
 * each other any more. Its rank has no time to wait for who knows, and takes
 * the peer for dead; but only the agent's word is one that all ranks of the
 * job get, and so what they may agree by. */
#include "config.h"

#include <string.h>

#include "lib/base/clock.h"
#include "lib/rdzv/segment_impl.h"

/* Of the agent, which has more to do than to wait for a rank that a debugger
 * or a frozen control group has stopped inside: more than one that is only not
 * on a core takes to get out. */
#define AGENT_LOOKS 16384u

static uint32_t at_most(uint32_t n, uint32_t most)
{
    return n < most ? n : most;
}

/* As whom a local rank, or the agent, takes the lock. */
static uint32_t owner_of(const struct hb_segment *s, int local)
{
    return local < 0 ? s->layout.n_local + 1 : (uint32_t)local + 1;
}

static struct hb_death *find(struct hb_death *v, uint32_t n, uint32_t rank)
{
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].rank == rank) {
            return &v[i];
        }
    }
    return NULL;
}

static void put(struct hb_death *d, uint32_t rank, int is_sure,
                const char *text)
{
    d->since_ns = hb_now_ns();
    d->rank = rank;
    atomic_store(&d->is_sure, is_sure != 0);
    strncpy(d->text, text, sizeof d->text - 1);
}

/* ---- the dead ---- */

static struct hb_death *deaths_of(const struct hb_segment *s)
{
    return at(s, s->layout.deaths);
}

uint32_t hb_segment_deaths(const struct hb_segment *s)
{
    return at_most(atomic_load(&head_of(s)->n_deaths), s->layout.n_ranks);
}

const struct hb_death *hb_segment_death(const struct hb_segment *s,
                                        uint32_t index)
{
    return deaths_of(s) + index;
}

/* Its place among the deaths, from 1 on. Who writes one down may itself be
 * killed before it counts; then another's is written there. */
static _Atomic uint32_t *place_of(const struct hb_segment *s, uint32_t rank)
{
    return (_Atomic uint32_t *)at(s, s->layout.death_of) + rank;
}

static struct hb_death *find_death(const struct hb_segment *s, uint32_t rank)
{
    uint32_t place = rank < s->layout.n_ranks
                         ? atomic_load(place_of(s, rank)) : 0;
    struct hb_death *d;

    if (place == 0 || place > hb_segment_deaths(s)) {
        return NULL;
    }
    d = deaths_of(s) + place - 1;
    return d->rank == rank ? d : NULL;
}

const struct hb_death *hb_segment_find_death(const struct hb_segment *s,
                                             uint32_t rank)
{
    return find_death(s, rank);
}

int hb_segment_is_surely_dead(const struct hb_segment *s, uint32_t rank)
{
    const struct hb_death *d = hb_segment_find_death(s, rank);

    return d != NULL && (atomic_load(&d->is_sure) || !s->layout.agent);
}

int hb_segment_mark_dead(struct hb_segment *s, int by, uint32_t rank,
                         const char *text)
{
    const struct hb_segment_layout *l = &s->layout;
    struct hb_death *d;
    uint32_t n;
    int is_new, rc;

    if (rank >= l->n_ranks) {
        return 0;
    }
    if (hb_segment_node_of(s)[rank] == l->node) {
        uint32_t local = hb_segment_local_rank(s)[rank];

        if (local < l->n_local) {
            atomic_store(&hb_segment_slot(s, local)->state, HB_RANK_DEAD);
        }
    }
    rc = hb_segment_lock_within(s, owner_of(s, by), by < 0 ? AGENT_LOOKS : 0);
    if (rc < 0) {
        return rc;
    }
    n = hb_segment_deaths(s);
    d = find_death(s, rank);
    if (d != NULL) {
        is_new = by < 0 && atomic_exchange(&d->is_sure, 1) == 0;
    } else {
        is_new = n < l->n_ranks;
    }
    if (d == NULL && is_new) {
        put(deaths_of(s) + n, rank, by < 0, text);
        atomic_store(place_of(s, rank), n + 1);
        atomic_store(&head_of(s)->n_deaths, n + 1);
    }
    hb_segment_unlock(s);
    return is_new;
}

/* ---- lost connections ---- */

void hb_segment_mark_lost(struct hb_segment *s, int by, uint32_t rank,
                          const char *text)
{
    struct hb_segment_head *h = head_of(s);
    struct hb_death *lost = at(s, s->layout.lost);
    uint32_t n;

    hb_segment_lock(s, owner_of(s, by));
    n = atomic_load(&h->n_lost);
    if (n < s->layout.n_ranks && find(lost, n, rank) == NULL) {
        put(&lost[n], rank, 0, text);
        atomic_store(&h->n_lost, n + 1);
    }
    hb_segment_unlock(s);
}

int hb_segment_lost(const struct hb_segment *s, uint32_t index,
                    struct hb_death *out)
{
    const struct hb_death *lost = at(s, s->layout.lost);

    if (index >= at_most(atomic_load(&head_of(s)->n_lost),
                         s->layout.n_ranks)) {
        return 0;
    }
    memcpy(out, &lost[index], sizeof *out);
    out->text[sizeof out->text - 1] = '\0';
    return 1;
}

/* ---- news: the agent alone writes them, and needs no lock ---- */

int hb_segment_tell(struct hb_segment *s, enum hb_news_kind kind,
                    uint32_t rank, const char *text)
{
    struct hb_segment_head *h = head_of(s);
    uint32_t n = hb_segment_told(s);

    if (n < NEWS_MAX) {
        struct hb_news *news = (struct hb_news *)at(s, s->layout.news) + n;

        *news = (struct hb_news){.kind = kind, .rank = rank,
                                 .after = hb_segment_deaths(s)};
        strncpy(news->text, text, sizeof news->text - 1);
        atomic_store(&h->n_news, n + 1);
    }
    return n < NEWS_MAX;
}

uint32_t hb_segment_told(const struct hb_segment *s)
{
    return at_most(atomic_load(&head_of(s)->n_news), NEWS_MAX);
}

const struct hb_news *hb_segment_news(const struct hb_segment *s,
                                      uint32_t index)
{
    return (const struct hb_news *)at(s, s->layout.news) + index;
}
