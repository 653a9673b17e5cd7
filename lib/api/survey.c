/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A wait that any of several ranks can end, for a message of any rank or for
 * any of several requests, is a deadlock when all of them wait for who waits,
 * directly or through each other, or are in hpcboot_finalize. No chain of
 * questions (ask.c) can tell: its rank, the root, makes a survey.
 *
 * It asks each rank that can end its wait. Who is asked says nothing if it has
 * done what the other waits for, or is in no wait that others alone can end.
 * Else, when it is asked for the first time, it asks those in its turn who can
 * end its own wait, and confirms when all of them have confirmed; when it is
 * asked again, it confirms at once: the first answer waits for the rest. It
 * does so only while it is in the very wait in which it was asked first. When
 * all have confirmed to the root, nobody in the survey can move: the first to
 * do so would need something of another that had not done it when it was
 * asked, and has waited ever since.
 *
 * What a rank has done within a collective may be on its way to who asks about
 * it. So whoever is confirmed to looks once more for what has come, in a later
 * turn of its wait, and takes a wait that has moved for another. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/api/hop.h"
#include "lib/base/str.h"

/* What this rank knows of the survey of one root. */
struct survey {
    uint32_t round;     /* the latest one that it was asked in */
    uint32_t left;      /* so many have not confirmed */
    int is_ripe;        /* all have; one more look */
    uint64_t wait;      /* in which it was asked */
    struct hb_hop from; /* on whose behalf, at first */
};

static struct survey *surveys; /* by root; NULL: calls are not checked */
static unsigned n_ripe;
static struct hb_hop *met; /* who has confirmed to this rank's own */
static size_t n_met;

void hb_survey_open(void)
{
    surveys = hb_xcalloc((size_t)hb_api.size, sizeof *surveys);
    met = hb_xcalloc((size_t)hb_api.size, sizeof *met);
    n_ripe = 0;
    n_met = 0;
}

void hb_survey_close(void)
{
    free(surveys);
    free(met);
    surveys = NULL;
    met = NULL;
}

static uint64_t mixed(uint64_t sum, uint64_t with)
{
    sum = (sum ^ with) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 29;
}

/* Tells a wait from another one, and from itself once it has moved. */
static uint64_t wait_of(const struct hb_own_wait *w, const struct hb_hop *ways,
                        size_t n)
{
    uint64_t sum = mixed(n, (uint64_t)w->what->since_ns);

    for (size_t i = 0; i < n; i++) {
        const struct hb_hop *h = &ways[i];

        sum = mixed(sum, h->call);
        sum = mixed(sum, (uint64_t)h->context << 32 | (uint32_t)h->coll);
        sum = mixed(sum, (uint64_t)(uint32_t)h->tag << 32 | (uint32_t)h->on);
    }
    return sum;
}

static void send(uint32_t kind, int root, uint32_t round, int to,
                 const struct hb_hop *hop, const struct hb_hop *own)
{
    struct hb_note note = {.kind = kind, .n = own != NULL ? 2 : 1,
                           .root = root, .round = round,
                           .deaths = hb_segment_deaths(hb_api.memory)};

    note.hops[0] = *hop;
    if (own != NULL) {
        note.hops[1] = *own;
    }
    hb_note_post(to, &note);
}

/* Who waits for all waits for the root. */
static void send_questions(int root, uint32_t round, const struct hb_hop *ways,
                           size_t n)
{
    for (size_t i = 0; i < n; i++) {
        send(HB_NOTE_SURVEYS, root, round, ways[i].on >= 0 ? ways[i].on : root,
             &ways[i], NULL);
    }
}

static void set_ripe(struct survey *s, int is_ripe)
{
    n_ripe += (unsigned)is_ripe;
    n_ripe -= (unsigned)s->is_ripe;
    s->is_ripe = is_ripe;
}

static void begin(struct survey *s, uint32_t round,
                  const struct hb_own_wait *w, const struct hb_hop *ways,
                  size_t n)
{
    set_ripe(s, 0);
    s->round = round;
    s->wait = wait_of(w, ways, n);
    s->left = (uint32_t)n;
}

void hb_survey_begin(const struct hb_own_wait *w)
{
    struct hb_hop *ways;
    size_t n = hb_hop_ways(w, &ways);

    if (surveys != NULL && n > 0) {
        struct survey *s = &surveys[hb_api.rank];

        begin(s, s->round + 1, w, ways, n);
        n_met = 0;
        send_questions(hb_api.rank, s->round, ways, n);
    }
    free(ways);
}

/* ---- who is asked ---- */

/* Whether this rank keeps that one waiting, and by its own wait. */
static int keeps(const struct hb_own_wait *w, const struct hb_hop *h)
{
    struct hpcboot_team *t;

    if (h->coll < 0) {
        return hb_hop_is_kept(h);
    }
    t = hb_note_team(h->context);
    if (t == NULL || hb_coll_team_error(t->coll, NULL) < 0) {
        return 0;
    }
    return hb_coll_team_calls(t->coll) < h->call ||
           (w->team == t && w->what->calls <= h->call);
}

static void be_asked(const struct hb_own_wait *w, const struct hb_note *note,
                     const struct hb_hop *ways, size_t n)
{
    const struct hb_hop *h = note->hops;
    const struct hb_hop own = hb_hop_shown(ways, n);
    struct survey *s = &surveys[note->root];

    if (s->round == note->round) {
        if (s->wait == wait_of(w, ways, n)) {
            send(HB_NOTE_CONFIRMS, note->root, note->round, h->rank, h, &own);
        }
    } else if (note->root != hb_api.rank &&
               (ways->coll != HB_IN_SHRINK ||
                hb_note_shrinks_with(note->root))) {
        begin(s, note->round, w, ways, n);
        s->from = *h;
        send_questions(note->root, note->round, ways, n);
    }
}

static void asked(const struct hb_own_wait *w, const struct hb_note *note)
{
    const struct hb_hop *h = note->hops;
    const struct hb_hop ended = {.rank = hb_api.rank, .coll = HB_IN_FINALIZE,
                                 .on = -1};
    struct hb_hop *ways;
    size_t n;

    if (!keeps(w, h)) {
        return;
    }
    if (atomic_load(&hb_api.phase) == API_ENDING) {
        send(HB_NOTE_CONFIRMS, note->root, note->round, h->rank, h, &ended);
        return;
    }
    n = hb_hop_ways(w, &ways);
    if (n > 0) {
        be_asked(w, note, ways, n);
    }
    free(ways);
}

/* ---- who has asked ---- */

static void meet(const struct hb_hop *h)
{
    for (size_t i = 0; i < n_met; i++) {
        if (met[i].rank == h->rank) {
            return;
        }
    }
    if (h->rank != hb_api.rank) {
        met[n_met++] = *h;
    }
}

static void confirmed(const struct hb_note *note)
{
    struct survey *s = &surveys[note->root];

    if (note->n != 2 || note->hops[0].rank != hb_api.rank ||
        s->round != note->round || s->left == 0) {
        return;
    }
    if (note->root == hb_api.rank) {
        meet(&note->hops[1]);
    }
    if (--s->left == 0) {
        set_ripe(s, 1);
    }
}

void hb_survey_hear(const struct hb_own_wait *w, const struct hb_note *note)
{
    if (surveys == NULL || !hb_note_is_of_now(note)) {
        return;
    }
    if (note->kind == HB_NOTE_SURVEYS) {
        asked(w, note);
    } else {
        confirmed(note);
    }
}

static size_t put_for(char *out, size_t size, const struct hb_hop *h)
{
    int n = h->on >= 0 ? snprintf(out, size, " for rank %d", h->on)
            : h->coll == HB_IN_RECV ? snprintf(out, size, " for any rank")
                                    : 0;

    return n > 0 ? (size_t)n : 0;
}

static int found(const struct hb_hop *own, struct hpcboot_error *err)
{
    char text[HPCBOOT_ERROR_TEXT_MAX] = "";
    struct hpcboot_error why = {0};
    size_t at = hb_hop_put(text, sizeof text, own);

    at += put_for(text + at, sizeof text - at, own);
    for (size_t i = 0; i < n_met && at < sizeof text - 2; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, ", ");
        at += hb_hop_put(text + at, sizeof text - at, &met[i]);
        if (at < sizeof text) {
            at += put_for(text + at, sizeof text - at, &met[i]);
        }
    }
    hb_fail(&why, HPCBOOT_ERR_USAGE, "deadlock, calls that do not fit "
            "together: %s", text);
    for (size_t i = 0; i < n_met; i++) {
        hb_note_tell(&met[i], &why);
    }
    return hb_hop_end(&why, err);
}

int hb_survey_look(const struct hb_own_wait *w, struct hpcboot_error *err)
{
    struct hb_hop *ways, own;
    size_t n;
    int rc = 0;

    if (n_ripe == 0) {
        return 0;
    }
    n = hb_hop_ways(w, &ways);
    for (int root = 0; root < hb_api.size && rc == 0 && n_ripe > 0; root++) {
        struct survey *s = &surveys[root];

        if (!s->is_ripe) {
            continue;
        }
        set_ripe(s, 0);
        if (n == 0 || s->wait != wait_of(w, ways, n)) {
            continue;
        }
        own = hb_hop_shown(ways, n);
        if (root == hb_api.rank) {
            rc = found(&own, err);
        } else {
            send(HB_NOTE_CONFIRMS, root, s->round, s->from.rank, &s->from,
                 &own);
        }
    }
    free(ways);
    return rc;
}
