/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Random programs of everything at once: `apimix SEED STEPS`.
 *
 * All ranks draw the same row of steps: a collective of a team, blocking,
 * started, or prepared and started again; messages between members of a team,
 * some received from any source; a put, a fence and gets; a team made or
 * destroyed; each on one of a few overlapping teams. What was started is
 * completed when a rank's own dice say so, in an order of its own, with delays
 * of its own, so that every kind of wait meets every kind of thing under way.
 * Contents follow from the step and the rank that they come from, and each
 * byte is looked at. SEED decides everything but time. */
#include "config.h"

#include "tests/cli/apitest.h"

#include <string.h>
#include <unistd.h>

#define TEAMS 6
#define PENDING 24
#define PERSISTENT 3
#define LETTERS 5    /* of one step */
#define BIG 300000   /* elements: beyond all slots, rings and eager limits */
#define SMALL 200
#define DELAY_US 200

static uint64_t shared, own; /* the dice: all ranks' alike, and this rank's */
static struct hpcboot_team *teams[TEAMS]; /* NULL: not a member, or none */
static int made[TEAMS];                   /* at all ranks alike */

static void *room(size_t count)
{
    void *p = malloc((count + 1) * sizeof(int32_t));

    if (p == NULL) {
        snprintf(err.text, sizeof err.text, "no memory");
        fail("malloc");
    }
    return p;
}

static int32_t value(int from, int to, size_t i, uint32_t salt)
{
    return (int32_t)((uint32_t)(from * 31 + to * 7) + salt * 101 +
                     (uint32_t)(i % 1009));
}

/* ---- one collective: its buffers, and what must come of it ---- */

struct work {
    struct hpcboot_team *team;
    struct hpcboot_coll_args args;
    int32_t *send, *recv;
    size_t n_send, n_recv; /* elements */
    uint32_t salt;
};

static const enum hpcboot_coll kinds[] = {
    HPCBOOT_COLL_BARRIER, HPCBOOT_COLL_BCAST, HPCBOOT_COLL_ALLREDUCE,
    HPCBOOT_COLL_ALLGATHER, HPCBOOT_COLL_ALLTOALL, HPCBOOT_COLL_GATHER,
    HPCBOOT_COLL_SCATTER, HPCBOOT_COLL_SCAN,
    HPCBOOT_COLL_REDUCE_SCATTER_BLOCK,
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void fill(struct work *w)
{
    int me = hpcboot_team_rank(w->team);
    size_t count = w->args.count;

    for (size_t i = 0; i < w->n_send; i++) {
        w->send[i] = value(me, count > 0 ? (int)(i / count) : 0, i, w->salt);
    }
    memset(w->recv, 0x55, w->n_recv * sizeof *w->recv);
    if (w->args.coll == HPCBOOT_COLL_BCAST && me == w->args.root) {
        for (size_t i = 0; i < count; i++) {
            w->recv[i] = value(me, 0, i, w->salt);
        }
    }
}

static void draw(struct work *w, struct hpcboot_team *team, uint64_t *dice)
{
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    uint64_t kind = roll(dice, KINDS), large = roll(dice, 6);
    uint64_t count = roll(dice, large == 0 ? BIG : SMALL);
    uint64_t root = roll(dice, 1 << 20);
    int blocks, n;

    memset(w, 0, sizeof *w);
    w->salt = (uint32_t)roll(dice, 1 << 20);
    if (team == NULL) {
        return; /* the dice have been rolled as at the members */
    }
    n = hpcboot_team_size(team);
    a.coll = kinds[kind];
    a.type = HPCBOOT_INT32;
    a.op = HPCBOOT_SUM;
    blocks = a.coll == HPCBOOT_COLL_ALLGATHER ||
             a.coll == HPCBOOT_COLL_ALLTOALL ||
             a.coll == HPCBOOT_COLL_GATHER || a.coll == HPCBOOT_COLL_SCATTER ||
             a.coll == HPCBOOT_COLL_REDUCE_SCATTER_BLOCK;
    a.count = (size_t)count / (blocks ? (size_t)n : 1);
    a.root = (int)(root % (uint64_t)n);
    w->n_send = w->n_recv = a.count * (blocks ? (size_t)n : 1);
    w->send = room(w->n_send);
    w->recv = room(w->n_recv);
    a.send = w->send;
    a.recv = w->recv;
    w->args = a;
    w->team = team;
    fill(w);
}

static int32_t sum(const struct work *w, int last, size_t i)
{
    uint32_t total = 0;
    size_t count = w->args.count;

    for (int r = 0; r <= last; r++) {
        total += (uint32_t)value(r, (int)(i / count), i, w->salt);
    }
    return (int32_t)total;
}

/* What element i of recv must be; *any: it does not matter. */
static int32_t expected(const struct work *w, size_t i, int *any)
{
    int me = hpcboot_team_rank(w->team), n = hpcboot_team_size(w->team);
    size_t c = w->args.count;
    int block = (int)(i / c), root = w->args.root;

    switch (w->args.coll) {
    case HPCBOOT_COLL_BCAST:
        return value(root, 0, i, w->salt);
    case HPCBOOT_COLL_ALLREDUCE:
        return sum(w, n - 1, i);
    case HPCBOOT_COLL_SCAN:
        return sum(w, me, i);
    case HPCBOOT_COLL_GATHER:
        *any = me != root;
        return value(block, 0, i % c, w->salt);
    case HPCBOOT_COLL_ALLGATHER:
        return value(block, 0, i % c, w->salt);
    case HPCBOOT_COLL_ALLTOALL:
        return value(block, me, (size_t)me * c + i % c, w->salt);
    case HPCBOOT_COLL_SCATTER:
        *any = block > 0;
        return value(root, me, (size_t)me * c + i, w->salt);
    default:
        *any = block > 0;
        return sum(w, n - 1, (size_t)me * c + i % c);
    }
}

static void look_at(const struct work *w)
{
    for (size_t i = 0; w->args.coll != HPCBOOT_COLL_BARRIER && i < w->n_recv;
         i++) {
        int any = 0;
        int32_t want = expected(w, i, &any);

        if (!any && w->recv[i] != want) {
            snprintf(err.text, sizeof err.text, "%s of %zu, element %zu: %d "
                     "is not %d", hpcboot_coll_name(w->args.coll),
                     w->args.count, i, w->recv[i], want);
            fail("a result");
        }
    }
}

static void let_go(struct work *w)
{
    free(w->send);
    free(w->recv);
}

/* ---- what is under way ---- */

struct pending {
    struct hpcboot_request *request; /* NULL: a free place */
    struct work work;                /* of a collective, or */
    struct hpcboot_message message;  /* of a receive */
    int32_t *letter;
    int is_recv, tag, kept; /* kept: place in persistent[], or -1 */
};
static struct pending pending[PENDING];

static struct persistent {
    struct hpcboot_request *request;
    struct work work;
    int started, made;
} persistent[PERSISTENT];

static size_t letter_size(int from, int tag)
{
    uint64_t dice = (uint64_t)tag * 131 + (uint64_t)from;

    (void)roll(&dice, 2);
    return roll(&dice, roll(&dice, 5) == 0 ? BIG : SMALL);
}

static void look_at_letter(const struct pending *p)
{
    size_t n = letter_size(p->message.source, p->tag);

    if (p->message.tag != p->tag || p->message.size != n * sizeof(int32_t)) {
        snprintf(err.text, sizeof err.text, "tag %d and %zu bytes from %d",
                 p->message.tag, p->message.size, p->message.source);
        fail("a message");
    }
    for (size_t i = 0; i < n; i++) {
        if (p->letter[i] != value(p->message.source, 0, i, (uint32_t)p->tag)) {
            snprintf(err.text, sizeof err.text, "element %zu from %d", i,
                     p->message.source);
            fail("a message");
        }
    }
}

static void completed(struct pending *p)
{
    if (p->kept >= 0) {
        look_at(&persistent[p->kept].work);
        persistent[p->kept].started = 0;
    } else if (p->work.team != NULL) {
        look_at(&p->work);
        let_go(&p->work);
    } else if (p->is_recv) {
        look_at_letter(p);
    }
    free(p->letter);
    memset(p, 0, sizeof *p);
}

/* A persistent request stays where it is. */
static struct hpcboot_request **handle(struct pending *p)
{
    return p->kept >= 0 ? &persistent[p->kept].request : &p->request;
}

static void complete_any(void)
{
    struct hpcboot_request *some[PENDING];
    struct hpcboot_error why;
    size_t which = 0;

    for (int i = 0; i < PENDING; i++) {
        some[i] = pending[i].request;
    }
    err.text[0] = '\0';
    if (hpcboot_wait_any(some, PENDING, 0, &which, &why) < 0) {
        err = why;
        fail("wait_any");
    }
    if (which < PENDING) {
        completed(&pending[which]);
    }
}

static void complete(struct pending *p)
{
    int done = 0;

    if (p->request == NULL) {
        return;
    }
    if (roll(&own, 2) == 0) {
        MUST(hpcboot_wait(handle(p), 0, &err));
        done = 1;
    }
    while (!done) {
        MUST(hpcboot_test(handle(p), &done, &err));
    }
    completed(p);
}

static void complete_some(void)
{
    for (uint64_t n = roll(&own, 4); n > 0; n--) {
        if (roll(&own, 3) == 0) {
            complete_any();
        } else {
            complete(&pending[roll(&own, PENDING)]);
        }
    }
    if (roll(&own, 8) == 0) {
        MUST(hpcboot_progress(&err));
    }
}

static void complete_all(void)
{
    uint64_t first = roll(&own, PENDING);

    for (uint64_t i = 0; i < PENDING; i++) {
        complete(&pending[(first + i) % PENDING]);
    }
}

static struct pending *place(void)
{
    for (;;) {
        for (int i = 0; i < PENDING; i++) {
            if (pending[i].request == NULL) {
                memset(&pending[i], 0, sizeof pending[i]);
                pending[i].kept = -1;
                return &pending[i];
            }
        }
        complete_any();
    }
}

/* ---- the steps ---- */

static struct hpcboot_team *some_team(void)
{
    uint64_t which = roll(&shared, TEAMS + 1);

    return which < TEAMS && made[which] ? teams[which] : hpcboot_world();
}

static void call_now(void)
{
    struct hpcboot_team *team = some_team();
    struct work w;

    draw(&w, team, &shared);
    if (team != NULL) {
        MUST(hpcboot_coll(team, &w.args, &err));
        look_at(&w);
        let_go(&w);
    }
}

static void call_started(void)
{
    struct hpcboot_team *team = some_team();
    struct pending *p = place();

    draw(&p->work, team, &shared);
    if (team != NULL) {
        MUST(hpcboot_coll_start(team, &p->work.args, &p->request, &err));
    }
}

/* Prepared once, started when its turn comes, now and then made anew. */
static void call_persistent(void)
{
    int k = (int)roll(&shared, PERSISTENT), anew = roll(&shared, 5) == 0;
    struct persistent *q = &persistent[k];
    struct pending *p;

    for (int i = 0; q->started && i < PENDING; i++) {
        if (pending[i].request != NULL && pending[i].kept == k) {
            complete(&pending[i]);
        }
    }
    if (q->made && anew) {
        MUST(hpcboot_request_free(&q->request, &err));
        let_go(&q->work);
        q->made = 0;
    } else if (!q->made) {
        draw(&q->work, hpcboot_world(), &shared);
        MUST(hpcboot_coll_init(hpcboot_world(), &q->work.args, &q->request,
                               &err));
        q->made = 1;
    } else {
        q->work.salt += 77;
        fill(&q->work);
        p = place();
        MUST(hpcboot_start(q->request, &err));
        q->started = 1;
        p->kept = k;
        p->request = q->request;
    }
}

static void post_letter(struct hpcboot_team *team, int from, int to,
                        int blocking)
{
    size_t n = letter_size(from, step);
    struct pending *p = place();

    p->letter = room(n);
    for (size_t i = 0; i < n; i++) {
        p->letter[i] = value(from, 0, i, (uint32_t)step);
    }
    n *= sizeof(int32_t);
    if (blocking) {
        MUST(hpcboot_send(team, to, step, p->letter, n, &err));
        free(p->letter);
        memset(p, 0, sizeof *p);
    } else {
        MUST(hpcboot_isend(team, to, step, p->letter, n, &p->request, &err));
    }
}

static void await_letter(struct hpcboot_team *team, int from)
{
    struct pending *p = place();

    p->letter = room(BIG);
    p->is_recv = 1;
    p->tag = step;
    MUST(hpcboot_irecv(team, from, step, p->letter, BIG * sizeof(int32_t),
                       &p->message, &p->request, &err));
}

/* Receives come first or last, from the sender or from anybody: to each rank
 * no two go from one. A blocking send needs its receive to be there. */
static void send_letters(void)
{
    struct hpcboot_team *team = some_team();
    uint64_t n = 1 + roll(&shared, LETTERS), shift = roll(&shared, 1 << 16);
    uint64_t any = roll(&shared, 2), early = roll(&shared, 2);
    int size, me;

    if (team == NULL) {
        return;
    }
    size = hpcboot_team_size(team);
    me = hpcboot_team_rank(team);
    n = n < (uint64_t)size ? n : (uint64_t)size;
    for (int turn = 0; turn < 2; turn++) {
        for (uint64_t k = 0; k < n; k++) {
            int to = (int)(((uint64_t)me + shift + k) % (uint64_t)size);
            int from = (int)(((uint64_t)me + (uint64_t)size * 70000 - shift -
                              k) % (uint64_t)size);

            if ((turn == 0) == (early != 0)) {
                await_letter(team, any ? HPCBOOT_ANY_SOURCE : from);
            } else {
                post_letter(team, me, to, early && roll(&own, 2) == 0);
            }
        }
    }
}

static void exchange(void)
{
    unsigned flags = roll(&shared, 2) ? HPCBOOT_COLLECT : 0;
    size_t n = roll(&shared, 4) == 0 ? 50000 : 10, got;
    int peer = (int)(roll(&own, (uint64_t)hpcboot_size()));
    int32_t *v = room(n), *his;
    void *text;

    for (size_t i = 0; i < n; i++) {
        v[i] = value(hpcboot_rank(), 0, i, (uint32_t)step);
    }
    MUST(hpcboot_put(HPCBOOT_SCOPE_JOB, "mix", v, n * sizeof *v, &err));
    MUST(hpcboot_fence(HPCBOOT_SCOPE_JOB, flags, 0, &err));
    MUST(hpcboot_get(peer, "mix", &text, &got, &err));
    his = text;
    if (got != n * sizeof *v || his[n - 1] != value(peer, 0, n - 1,
                                                    (uint32_t)step)) {
        fail("a value");
    }
    free(text);
    free(v);
    /* Nobody puts the next while another still reads this one. */
    MUST(hpcboot_barrier(hpcboot_world(), &err));
}

static void change_team(void)
{
    uint64_t k = roll(&shared, TEAMS), bits = roll(&shared, 1 << 30);
    uint64_t from = roll(&shared, TEAMS);
    struct hpcboot_team *parent = hpcboot_world();
    int me = hpcboot_rank();

    if (made[k]) {
        complete_all();
        MUST(hpcboot_team_destroy(teams[k], &err));
        teams[k] = NULL;
        made[k] = 0;
        return;
    }
    made[k] = 1;
    if (bits % 3 == 0 && from != k && made[from]) {
        parent = teams[from];
    }
    if (parent != NULL) {
        int color = (int)((bits >> (me % 20)) & 3) - (bits % 2 == 0);

        MUST(hpcboot_team_split(parent, color, (int)(bits % 7) * -me,
                                &teams[k], &err));
    }
}

static void take_step(void)
{
    static void (*const steps[])(void) = {
        call_now, call_now, call_started, call_started, call_started,
        call_persistent, call_persistent, send_letters, send_letters,
        send_letters, exchange, change_team,
    };

    steps[roll(&shared, sizeof steps / sizeof steps[0])]();
    if (roll(&own, 5) == 0) {
        usleep((useconds_t)roll(&own, DELAY_US));
    }
    complete_some();
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    int steps = argc > 2 ? atoi(argv[2]) : 200;

    MUST(hpcboot_init(NULL, &err));
    shared = seed * 1000003 + 5;
    own = shared + (uint64_t)(hpcboot_rank() + 1) * 7919;
    for (step = 0; step < steps; step++) {
        take_step();
    }
    complete_all();
    for (int k = 0; k < PERSISTENT; k++) {
        if (persistent[k].made) {
            MUST(hpcboot_request_free(&persistent[k].request, &err));
            let_go(&persistent[k].work);
        }
    }
    for (int k = 0; k < TEAMS; k++) {
        MUST(hpcboot_team_destroy(teams[k], &err));
    }
    MUST(hpcboot_finalize(&err));
    printf("%d steps\n", steps);
    return 0;
}
