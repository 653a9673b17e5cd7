/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A rank whose collective has waited for long, or has been tested for long,
 * asks the rank that it waits for. What is asked names the call: its team, and
 * which call of that team it is. Who is asked, and waits itself, answers
 *
 *   - that it will not come: the team has failed there, and why, or the rank
 *     is in hpcboot_finalize;
 *   - that its own call of that number is another one;
 *   - or, with HPCBOOT_CHECK, passes the question on to the rank that it
 *     waits for in its turn, with its own wait added. A question that comes
 *     back to the rank where it began, which has not done what the last one
 *     waits for, has gone round a deadlock. All in it are told.
 *
 * With HPCBOOT_CHECK a wait for a message of the user's asks as well, and may
 * be a part of a chain. So may a fence and a shrink, which wait for everybody,
 * and hence for the rank where the question began. A shrink always asks whom it
 * waits for: one that is in hpcboot_finalize will not come.
 *
 * Nobody is blocked whom a chain of such waits names wrongly: who is asked
 * knows whether it has done what the other one waits for, whatever is still on
 * its way (hop.c), and answers nothing where one of the two knows of a death
 * that the other may not have heard of yet. A wait to get rid of a message
 * needs nothing of its receiver and is not followed, nor is one that ends in
 * time, nor any where several threads call. Where several ranks can end a wait,
 * all are asked: survey.c.
 *
 * Questions are messages of a context of their own. They are read by those
 * who wait for long, also for all to finalize, so that a job that moves pays
 * nothing; each rank asks less and less often. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/hop.h"
#include "lib/base/clock.h"

#define FIRST_NS ((int64_t)1000 * 1000 * 1000)
#define FIRST_CHECKED_NS ((int64_t)100 * 1000 * 1000)
#define READ_NS ((int64_t)10 * 1000 * 1000)
#define KEPT 8 /* errors of teams that are gone */
#define LEFT 256 /* teams that are gone */

static _Thread_local struct hb_api_asking asking; /* each has a wait */
static int64_t next_read_ns;

static struct gone {
    uint32_t context; /* also of a team that could not be made here */
    struct hpcboot_error why;
} gone[KEPT];
static unsigned n_gone;

static struct left {
    uint32_t context;
    int code;       /* of its error; 0: none */
    uint64_t calls; /* that were made there */
} left[LEFT];
static unsigned n_left;

void hb_api_ask_keep(const struct hpcboot_team *team)
{
    struct hpcboot_error why;
    int code = hb_coll_team_error(team->coll, &why);

    left[n_left++ % LEFT] = (struct left){team->context, code,
                                          hb_coll_team_calls(team->coll)};
    if (code < 0) {
        gone[n_gone % KEPT] = (struct gone){team->context, why};
        n_gone++;
    }
}

void hb_api_ask_keep_unmade(uint32_t context, int code,
                            const struct hpcboot_error *why)
{
    struct gone g = {.context = context};

    if (why != NULL) {
        g.why = *why;
    } else {
        hb_fail(&g.why, code, "it could not be made there");
    }
    if (hb_api_is_in()) { /* else its hpcboot_init fails, and asks nobody */
        pthread_mutex_lock(&hb_api.lock);
        gone[n_gone++ % KEPT] = g;
        pthread_mutex_unlock(&hb_api.lock);
    }
}

/* Ends the call that the team is in; of this rank's own wait, the error is
 * returned to who waits. */
static int end(const struct hb_own_wait *w, struct hpcboot_team *t,
               const struct hpcboot_error *why, struct hpcboot_error *err)
{
    if (t == w->team) {
        *err = *why;
        return why->code;
    }
    hb_coll_team_break(t->coll, why);
    return 0;
}

static int hear(const struct hb_own_wait *w, const struct hb_note *note,
                struct hpcboot_error *err)
{
    struct hpcboot_error why = {.code = note->code};
    const struct hb_hop *h = &note->hops[0];
    struct hpcboot_team *t = hb_note_team(h->context);
    struct hb_coll_stuck now;

    snprintf(why.text, sizeof why.text, "%s", note->text);
    if (h->coll < 0) {
        return note->code < 0 && hb_hop_is_own(w, h) ? hb_hop_end(&why, err)
                                                     : 0;
    }
    if (t == NULL || note->code >= 0 ||
        !hb_coll_team_waits(t->coll, &now) || now.calls != h->call) {
        return 0;
    }
    return end(w, t, &why, err);
}

/* ---- answers ---- */

static void tell_failed(const struct hb_hop *h, const struct hpcboot_error *why)
{
    struct hpcboot_error more = {.code = why->code};

    snprintf(more.text, sizeof more.text, "rank %d takes no more part in the "
             "team: %.400s", hb_api.rank, why->text);
    hb_note_tell(h, &more);
}

/* 1: answered from what is known of a team that is gone. */
static int tell_gone(const struct hb_hop *h)
{
    for (unsigned i = 0; i < KEPT; i++) {
        if (gone[i].context == h->context && gone[i].why.code < 0) {
            tell_failed(h, &gone[i].why);
            return 1;
        }
    }
    return 0;
}

/* Who has destroyed a team makes no further call there. */
static void tell_left(const struct hb_hop *h)
{
    struct hpcboot_error why;
    unsigned i = 0;

    while (i < LEFT && left[i].context != h->context) {
        i++;
    }
    if (i < LEFT && left[i].code < 0) {
        hb_fail(&why, left[i].code, "rank %d takes no more part in the team, "
                "which had failed there", hb_api.rank);
        hb_note_tell(h, &why);
    } else if (i < LEFT && left[i].calls < h->call) {
        hb_fail(&why, HPCBOOT_ERR_USAGE, "the ranks of a team have made "
                "different calls: rank %d %s, rank %d hpcboot_team_destroy",
                h->rank, hb_coll_name(h->coll),
                hb_api.rank);
        hb_note_tell(h, &why);
    }
}

/* Whether the call of that number is another one here; *rc: as of end. */
static int answer_other(const struct hb_own_wait *w, struct hpcboot_team *t,
                        const struct hb_note *note, int *rc,
                        struct hpcboot_error *err)
{
    const struct hb_hop *last = &note->hops[note->n - 1];
    const struct hb_coll_made *his = &note->made;
    struct hb_coll_made mine;
    struct hpcboot_error why = {0};
    struct hb_coll_stuck now;

    if (!note->is_known || !hb_coll_team_made(t->coll, last->call, &mine) ||
        (mine.sign == his->sign && mine.bytes == his->bytes)) {
        return 0;
    }
    hb_coll_made_differ(hb_api.rank, &mine, last->rank, his, &why);
    hb_note_tell(last, &why);
    *rc = hb_coll_team_waits(t->coll, &now) ? end(w, t, &why, err) : 0;
    if (*rc == 0) {
        hb_coll_team_break(t->coll, &why);
    }
    return 1;
}

/* ---- deadlocks ---- */

/* Whether only the order of calls is wrong. */
static int is_order(const struct hb_note *note)
{
    uint32_t i = 0;

    while (i < note->n && note->hops[i].coll >= 0) {
        i++;
    }
    return i == note->n;
}

static int found(const struct hb_note *note, struct hpcboot_error *err)
{
    char text[HPCBOOT_ERROR_TEXT_MAX];
    size_t at = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < note->n && at < sizeof text - 1; i++) {
        if (i > 0) {
            at += (size_t)snprintf(text + at, sizeof text - at, ", ");
        }
        if (at < sizeof text - 1) {
            at += hb_hop_put(text + at, sizeof text - at, &note->hops[i]);
        }
        if (at < sizeof text - 1) {
            at += (size_t)snprintf(text + at, sizeof text - at, " for rank %d",
                                   note->hops[(i + 1) % note->n].rank);
        }
    }
    hb_fail(err, HPCBOOT_ERR_USAGE, "deadlock, calls %s: %s",
            is_order(note) ? "of different teams in different orders"
                           : "that do not fit together", text);
    for (uint32_t i = 1; i < note->n; i++) {
        hb_note_tell(&note->hops[i], err);
    }
    return HPCBOOT_ERR_USAGE;
}

/* To whom the last hop waits for; all: to the first one. The call is the hop's
 * own, of its team `t`, never that of the hop before; NULL: it is none. */
static void send_on(struct hb_note *note, const struct hpcboot_team *t,
                    const struct hb_hop *h)
{
    note->is_known = t != NULL &&
                     hb_coll_team_made(t->coll, h->call, &note->made);
    note->hops[note->n++] = *h;
    hb_note_post(h->on >= 0 ? h->on : note->hops[0].rank, note);
}

static void add_hop(struct hb_note *note, const struct hpcboot_team *t,
                    const struct hb_coll_stuck *what)
{
    const struct hb_hop h = hb_hop_of(t, what);

    send_on(note, t, &h);
}

static int has_been_here(const struct hb_note *note)
{
    for (uint32_t i = 0; i < note->n; i++) {
        if (note->hops[i].rank == hb_api.rank) {
            return 1;
        }
    }
    return 0;
}

int hb_note_shrinks_with(int rank)
{
    const struct hb_api_awaited *a = &hb_api.awaited;
    int i = 0;

    while (i < a->n_members && a->members[i] != rank) {
        i++;
    }
    return i < a->n_members;
}

/* This rank keeps the last hop, by not having done what that waits for. What it
 * waits for itself may keep it, or close the circle. */
static int follow_own(const struct hb_own_wait *w, struct hb_note *note,
                      struct hpcboot_error *err)
{
    const struct hb_hop *first = note->hops;
    struct hb_hop mine;

    if (!hb_hop_own(w, &mine)) {
        return 0;
    }
    if (hb_hop_is_own(w, first)) {
        return found(note, err);
    }
    if (note->n == HB_HOPS_MOST || has_been_here(note)) {
        return 0;
    }
    if (mine.coll != HB_IN_SHRINK || hb_note_shrinks_with(first->rank)) {
        send_on(note, mine.coll >= 0 ? hb_note_team(mine.context) : NULL,
                &mine);
    }
    return 0;
}

/* Whom this rank waits for, if that keeps the call of the last hop. */
static int pass_on(const struct hb_own_wait *w, const struct hpcboot_team *t,
                   struct hb_note *note, struct hpcboot_error *err)
{
    const struct hb_hop *last = &note->hops[note->n - 1];
    struct hb_coll_stuck what;

    if (note->sends || !hb_note_is_of_now(note)) {
        return 0;
    }
    if (hb_coll_team_calls(t->coll) < last->call) {
        return follow_own(w, note, err);
    }
    if (hb_coll_team_waits(t->coll, &what) && what.calls <= last->call &&
        what.on >= 0 && !what.sends && note->n < HB_HOPS_MOST &&
        !has_been_here(note)) {
        add_hop(note, t, &what);
    }
    return 0;
}

/* 1: this rank begins no call any more. */
static int tell_finalized(const struct hb_hop *h, const struct hpcboot_team *t)
{
    struct hpcboot_error why;

    if (atomic_load(&hb_api.phase) != API_ENDING ||
        hb_coll_team_calls(t->coll) >= h->call) {
        return 0;
    }
    hb_fail(&why, HPCBOOT_ERR_USAGE, "the ranks of a team have made different "
            "calls: rank %d %s, rank %d hpcboot_finalize", h->rank,
            hb_coll_name(h->coll), hb_api.rank);
    hb_note_tell(h, &why);
    return 1;
}

static int answer_other_wait(const struct hb_own_wait *w, struct hb_note *note,
                             struct hpcboot_error *err)
{
    const struct hb_hop *last = &note->hops[note->n - 1];
    struct hpcboot_error why;
    char text[128];

    if (!hb_hop_is_kept(last)) {
        return 0;
    }
    if (atomic_load(&hb_api.phase) != API_ENDING) {
        return hb_api.sent != NULL && hb_note_is_of_now(note)
                   ? follow_own(w, note, err) : 0;
    }
    if (last->coll == HB_IN_RECV || last->coll == HB_IN_SHRINK) {
        (void)hb_hop_put(text, sizeof text, last);
        hb_fail(&why, HPCBOOT_ERR_USAGE, "%s for rank %d, which %sis in "
                "hpcboot_finalize", text, hb_api.rank,
                last->coll == HB_IN_RECV ? "has sent no such message and "
                                         : "");
        hb_note_tell(last, &why);
    }
    return 0;
}

static int answer(const struct hb_own_wait *w, struct hb_note *note,
                  struct hpcboot_error *err)
{
    const struct hb_hop *last = &note->hops[note->n - 1];
    struct hpcboot_team *t = hb_note_team(last->context);
    struct hpcboot_error why;
    int rc = 0;

    if (last->coll < 0) {
        rc = answer_other_wait(w, note, err);
    } else if (t == NULL) {
        if (!tell_gone(last)) {
            tell_left(last);
        }
    } else if (hb_coll_team_error(t->coll, &why) < 0) {
        tell_failed(last, &why);
    } else if (!tell_finalized(last, t) &&
               !answer_other(w, t, note, &rc, err) && hb_api.checks &&
               !hb_api.threads) {
        rc = pass_on(w, t, note, err);
    }
    return rc;
}

/* No team goes meanwhile. */
static int read_all(const struct hb_own_wait *w, struct hpcboot_error *err)
{
    struct hb_note note;
    int rc;

    pthread_mutex_lock(&hb_api.lock);
    rc = hb_survey_look(w, err);
    while (rc == 0 && hb_note_take(&note)) {
        if (note.kind >= HB_NOTE_SURVEYS) {
            hb_survey_hear(w, &note);
        } else {
            rc = note.kind == HB_NOTE_TELLS ? hear(w, &note, err)
                                            : answer(w, &note, err);
        }
    }
    pthread_mutex_unlock(&hb_api.lock);
    return rc;
}

static int read_now_and_then(const struct hb_own_wait *w,
                             struct hpcboot_error *err)
{
    int64_t now = hb_now_ns();

    if (now < next_read_ns) {
        return 0;
    }
    next_read_ns = now + READ_NS;
    return read_all(w, err);
}

int hb_api_answer(void)
{
    const struct hb_coll_stuck what = {.on = -1};
    const struct hb_own_wait w = {NULL, &what};
    int failed = n_gone > 0 || hb_api.checks;
    int is_ending = atomic_load(&hb_api.phase) == API_ENDING;

    if (hb_api.size == 1 || (hb_api.threads && !is_ending)) {
        return 0;
    }
    for (const struct hpcboot_team *t = hb_api.teams; t != NULL; t = t->next) {
        failed |= hb_coll_team_error(t->coll, NULL) < 0;
    }
    if (failed || is_ending) {
        (void)read_now_and_then(&w, NULL);
    }
    return failed;
}

static int may_ask(void)
{
    return hb_api.size > 1 && hb_api.xport != NULL && hb_api.world != NULL;
}

/* The how manieth time it is to ask for a wait that began then; 0: not yet. */
static unsigned due(struct hb_api_asking *a, int64_t since_ns)
{
    int64_t now = hb_now_ns();

    if (a->since_ns != since_ns) {
        a->since_ns = since_ns;
        a->times = 0;
        a->next_ns = since_ns +
                     (hb_api.checks ? FIRST_CHECKED_NS : FIRST_NS);
    }
    if (now < a->next_ns) {
        return 0;
    }
    a->next_ns = now + (now - since_ns);
    return ++a->times;
}

/* Who is far ahead does not know any more what this call was there, or reads
 * no question for long; but what it has sent in it may be here. */
static int meet_other(const struct hb_own_wait *w, struct hpcboot_team *team,
                      const struct hb_coll_stuck *what,
                      struct hpcboot_error *err)
{
    struct hpcboot_error why;
    int other, his;

    if (!hb_coll_team_met_other(team->coll, &other, &his)) {
        return 0;
    }
    hb_fail(&why, HPCBOOT_ERR_USAGE, "the ranks of a team have made different "
            "calls: rank %d %s, rank %d %s", hb_api.rank,
            hb_coll_name(what->coll), other,
            hb_coll_name(his));
    return end(w, team, &why, err);
}

/* Whoever can answer says more than is known here, and so is asked first. */
static int ask(const struct hb_own_wait *w, struct hpcboot_team *team,
               const struct hb_coll_stuck *what, unsigned times,
               struct hpcboot_error *err)
{
    struct hb_note note = {.kind = HB_NOTE_ASKS, .sends = what->sends,
                           .deaths = hb_segment_deaths(hb_api.memory)};
    int rc = times > 1 ? meet_other(w, team, what, err) : 0;

    if (rc == 0 && what->on >= 0) {
        add_hop(&note, team, what);
    }
    return rc;
}

/* Of a wait that is no team's: one for a message of a certain rank, or that
 * several ranks can end. */
static void ask_senders(const struct hb_own_wait *w)
{
    struct hb_note note = {.kind = HB_NOTE_ASKS,
                           .deaths = hb_segment_deaths(hb_api.memory)};
    struct hb_hop *ways;
    size_t n = hb_hop_ways(w, &ways);

    if (n == 1 && ways->coll == HB_IN_SHRINK && hb_api.awaited.on >= 0) {
        note.hops[note.n++] = *ways;
        hb_note_post(hb_api.awaited.on, &note);
    } else if (n > 1) {
        hb_survey_begin(w);
    } else if (n == 1 && ways->coll == HB_IN_RECV) {
        send_on(&note, NULL, ways);
    }
    free(ways);
}

int hb_api_ask(struct hpcboot_team *team, const struct hb_coll_stuck *what,
               struct hpcboot_error *err)
{
    const struct hb_own_wait w = {team, what};
    unsigned times;
    int rc;

    if (!may_ask()) {
        return 0;
    }
    rc = read_now_and_then(&w, err);
    times = rc < 0 ? 0 : due(&asking, what->since_ns);
    if (times == 0) {
        return rc;
    }
    if (team != NULL) {
        return ask(&w, team, what, times, err);
    }
    ask_senders(&w);
    return 0;
}

int hb_api_ask_any(struct hpcboot_request *const *requests, size_t n,
                   struct hb_api_asking *a, const struct hb_coll_stuck *what,
                   struct hpcboot_error *err)
{
    const struct hb_own_wait w = {NULL, what};
    static unsigned round; /* each team is asked for once in one */
    unsigned times;
    int rc;

    if (!may_ask()) {
        return 0;
    }
    rc = read_now_and_then(&w, err);
    times = rc < 0 ? 0 : due(a != NULL ? a : &asking, what->since_ns);
    if (times == 0) {
        return rc;
    }
    round++;
    for (size_t i = 0; i < n; i++) {
        const struct hpcboot_request *r = requests[i];
        struct hb_coll_stuck call;

        if (r != NULL && r->active && r->coll != NULL &&
            r->team->asked != round &&
            hb_coll_team_waits(r->team->coll, &call)) {
            r->team->asked = round;
            (void)ask(&w, r->team, &call, times, err);
        }
    }
    ask_senders(&w);
    return 0;
}
