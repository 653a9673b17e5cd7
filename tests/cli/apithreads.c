/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Random programs of several threads in each rank: `apithreads SEED STEPS`.
 *
 * Each thread has a team of its own, of all ranks, and tags of its own in the
 * world. The threads of a number draw the same steps at all ranks: collectives
 * that block, are waited for, or are asked for again and again, messages round
 * the ring of ranks, some taken from anybody, and teams out of their team, with
 * the same tags. Every result is looked at. */
#include "config.h"

#include "tests/cli/apitest.h"

#include <pthread.h>

#define THREADS 3
#define MOST 20000 /* elements */
#define FEW 200
#define SPLITS 10

struct work {
    int number, step;
    uint64_t dice;
    struct hpcboot_team *team;
    struct hpcboot_error err;
    int64_t *in, *out;
    size_t count;
};

static int steps, op;

static void broken(const struct work *w, const char *what)
{
    fprintf(stderr, "rank %d, thread %d, step %d: %s: %s\n", hpcboot_rank(),
            w->number, w->step, what, w->err.text);
    exit(1);
}

#define DO(call)                                                           \
    do {                                                                   \
        if ((call) < 0) {                                                  \
            broken(w, #call);                                              \
        }                                                                  \
    } while (0)

static void add(const void *in, void *inout, size_t count,
                enum hpcboot_type type, void *arg)
{
    const int64_t *a = in;
    int64_t *b = inout;

    for (size_t i = 0; i < count; i++) {
        b[i] += a[i];
    }
}

static void look_for(const struct work *w, int64_t want)
{
    for (size_t i = 0; i < w->count; i++) {
        if (w->out[i] != want) {
            broken(w, "a result is wrong");
        }
    }
}

static int64_t sum_of(const struct work *w)
{
    int64_t n = hpcboot_size();

    return n * (n - 1) / 2 + n * w->step;
}

static void block(struct work *w)
{
    DO(hpcboot_allreduce(w->in, w->out, w->count, HPCBOOT_INT64, HPCBOOT_SUM,
                         w->team, &w->err));
    look_for(w, sum_of(w));
    DO(hpcboot_barrier(w->team, &w->err));
}

static void start_and_wait(struct work *w)
{
    struct hpcboot_request *r = NULL;
    int rc;

    DO(hpcboot_iallreduce(w->in, w->out, w->count, HPCBOOT_INT64, op, w->team,
                          &r, &w->err));
    do {
        rc = hpcboot_wait(&r, w->step % 2, &w->err);
    } while (rc == HPCBOOT_ERR_TIMED_OUT && r != NULL);
    DO(rc);
    look_for(w, sum_of(w));
}

static void start_and_ask(struct work *w)
{
    struct hpcboot_request *r = NULL;
    int done = 0, n = hpcboot_size();

    DO(hpcboot_ibcast(w->in, w->count, HPCBOOT_INT64, w->step % n, w->team, &r,
                      &w->err));
    while (!done) {
        DO(hpcboot_test(&r, &done, &w->err));
    }
    for (size_t i = 0; i < w->count; i++) {
        w->out[i] = w->in[i];
    }
    look_for(w, w->step % n + w->step);
}

static void send_round(struct work *w)
{
    int n = hpcboot_size(), me = hpcboot_rank(), left = (me + n - 1) % n;
    int tag = w->number * steps + w->step;
    struct hpcboot_request *r[2] = {NULL};
    size_t bytes = w->count * sizeof *w->in;

    DO(hpcboot_irecv(hpcboot_world(), w->step % 2 ? HPCBOOT_ANY_SOURCE : left,
                     tag, w->out, bytes, NULL, &r[0], &w->err));
    DO(hpcboot_isend(hpcboot_world(), (me + 1) % n, tag, w->in, bytes, &r[1],
                     &w->err));
    DO(hpcboot_wait_all(r, 2, 0, &w->err));
    look_for(w, left + w->step);
}

static void split_and_send(struct work *w)
{
    int n = hpcboot_size(), me = hpcboot_rank(), came = -1;

    for (int i = 0; i < SPLITS; i++) {
        struct hpcboot_request *r[2] = {NULL};
        struct hpcboot_team *team;

        DO(hpcboot_team_split(w->team, 0, 0, &team, &w->err));
        DO(hpcboot_irecv(team, (me + n - 1) % n, 0, &came, sizeof came, NULL,
                         &r[0], &w->err));
        DO(hpcboot_isend(team, (me + 1) % n, 0, &w->number, sizeof w->number,
                         &r[1], &w->err));
        DO(hpcboot_wait_all(r, 2, 0, &w->err));
        DO(hpcboot_team_destroy(team, &w->err));
        if (came != w->number) {
            broken(w, "a message of another team");
        }
    }
}

static void *be_thread(void *arg)
{
    static void (*const kinds[])(struct work *) = {
        block, start_and_wait, start_and_ask, send_round, split_and_send};
    struct work *w = arg;

    for (w->step = 0; w->step < steps; w->step++) {
        w->count = roll(&w->dice, roll(&w->dice, 8) == 0 ? MOST : FEW) + 1;
        for (size_t i = 0; i < w->count; i++) {
            w->in[i] = hpcboot_rank() + w->step;
            w->out[i] = -1;
        }
        kinds[roll(&w->dice, sizeof kinds / sizeof kinds[0])](w);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct hpcboot_init_options options = HPCBOOT_INIT_OPTIONS_INIT;
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    struct work work[THREADS] = {{0}};
    pthread_t threads[THREADS];

    steps = argc > 2 ? atoi(argv[2]) : 100;
    options.threads = HPCBOOT_THREADS_MULTIPLE;
    MUST(hpcboot_init(&options, &err));
    op = hpcboot_op_create(add, NULL, HPCBOOT_COMMUTATIVE, 0, &err);
    MUST(op);
    for (int i = 0; i < THREADS; i++) {
        work[i].number = i;
        work[i].dice = seed * THREADS + (uint64_t)i;
        work[i].in = malloc(MOST * sizeof *work[i].in);
        work[i].out = malloc(MOST * sizeof *work[i].out);
        MUST(hpcboot_team_split(hpcboot_world(), 0, 0, &work[i].team, &err));
    }
    for (int i = 0; i < THREADS; i++) {
        HOLDS(pthread_create(&threads[i], NULL, be_thread, &work[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        HOLDS(pthread_join(threads[i], NULL) == 0);
        MUST(hpcboot_team_destroy(work[i].team, &err));
        free(work[i].in);
        free(work[i].out);
    }
    MUST(hpcboot_finalize(&err));
    printf("%d steps of %d threads\n", steps, THREADS);
    return 0;
}
