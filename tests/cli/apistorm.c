/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Random programs in which ranks are killed: `apistorm SEED VICTIMS OPS`.
 *
 * In each round the living ranks make some overlapping teams, and all call
 * the same row of collectives on them, with delays of their own; one rank
 * kills itself by a timer, wherever it is then. The others go through the
 * whole row (what has lost a member fails, the rest must be right), hear of
 * the death, shrink, put, fence, and get. The last line of each rank says how
 * long the slowest news of a death took. SEED decides everything but time. */
#include "config.h"

#include "tests/cli/apitest.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define TEAMS 4
#define MOST 40000 /* elements */
#define TIMER_US 30000
#define DELAY_US 300

static int last_words = -1;
static int64_t slowest_ms;

static int64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * (int64_t)1000000000 + ts.tv_nsec;
}

static void die(int signo)
{
    int64_t now = now_ns();

    (void)!write(last_words, &now, sizeof now);
    kill(getpid(), SIGKILL);
}

static void arm(int round, uint64_t us)
{
    struct itimerval t = {.it_value = {0, (suseconds_t)us + 1}};
    char name[32];

    snprintf(name, sizeof name, "dead.%d", round);
    last_words = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &t, NULL);
}

static void note_news(int round)
{
    int64_t then = 0;
    char name[32];
    int fd;

    snprintf(name, sizeof name, "dead.%d", round);
    fd = open(name, O_RDONLY);
    if (fd >= 0 && read(fd, &then, sizeof then) == sizeof then) {
        int64_t ms = (now_ns() - then) / 1000000;

        slowest_ms = ms > slowest_ms ? ms : slowest_ms;
    }
    close(fd);
    if (strstr(err.text, "was killed by signal 9") == NULL) {
        fail("this is not the cause");
    }
}

/* One collective: 0, ERR_PEER_DEAD, or the end of this process. */
static int call(struct hpcboot_team *t, unsigned kind, size_t count, int root)
{
    static int32_t in[MOST], out[MOST];
    struct hpcboot_request *r = NULL;
    int n = hpcboot_team_size(t), me = hpcboot_team_rank(t), rc, want;

    for (size_t i = 0; i < count; i++) {
        in[i] = me + 1;
        out[i] = me == root ? 77 : 0;
    }
    want = n * (n + 1) / 2;
    switch (kind) {
    case 0:
        rc = hpcboot_barrier(t, &err);
        count = 0;
        break;
    case 1:
        rc = hpcboot_bcast(out, count, HPCBOOT_INT32, root, t, &err);
        want = 77;
        break;
    case 2:
        rc = hpcboot_iallreduce(in, out, count, HPCBOOT_INT32, HPCBOOT_SUM, t,
                                &r, &err);
        rc = rc < 0 ? rc : hpcboot_wait(&r, 0, &err);
        break;
    case 3:
        count = count / (size_t)n;
        rc = hpcboot_reduce_scatter_block(in, out, count, HPCBOOT_INT32,
                                          HPCBOOT_SUM, t, &err);
        break;
    default:
        rc = hpcboot_allreduce(in, out, count, HPCBOOT_INT32, HPCBOOT_SUM, t,
                               &err);
        break;
    }
    if (rc < 0 && rc != HPCBOOT_ERR_PEER_DEAD) {
        fail("a collective");
    }
    for (size_t i = 0; rc == 0 && i < count; i++) {
        if (out[i] != want) {
            snprintf(err.text, sizeof err.text, "kind %u, %zu: %d is not %d",
                     kind, i, out[i], want);
            fail("a result");
        }
    }
    return rc;
}

static void make_teams(struct hpcboot_team *all, uint64_t *shared,
                       struct hpcboot_team **teams)
{
    int n = hpcboot_team_size(all), me = hpcboot_team_rank(all);

    for (int i = 0; i < TEAMS; i++) {
        uint64_t bits = next(shared);
        int mine = (bits >> (me % 30)) & 1;

        MUST(hpcboot_team_split(all, mine, (int)(bits % 5) * (n - me),
                                &teams[i], &err));
    }
}

static int run_row(struct hpcboot_team *all, struct hpcboot_team **teams,
                   int ops, uint64_t *shared, uint64_t *own)
{
    int dead = 0;

    for (int i = 0; i < ops; i++) {
        unsigned which = (unsigned)next(shared) % (TEAMS + 1);
        unsigned kind = (unsigned)next(shared) % 6;
        size_t count = next(shared) % (next(shared) % 4 ? 100 : MOST);
        struct hpcboot_team *t = which < TEAMS ? teams[which] : all;
        int root = (int)(next(shared) % (uint64_t)hpcboot_team_size(t));

        if (next(own) % 4 == 0) {
            usleep((useconds_t)(next(own) % DELAY_US));
        }
        dead |= call(t, kind, count + 1, root) < 0;
    }
    return dead;
}

/* Values of the living go round, and those of the dead stay. */
static void exchange(struct hpcboot_team *all, int round, uint64_t *shared)
{
    int me = hpcboot_rank(), n = hpcboot_team_size(all);
    unsigned flags = next(shared) % 2 ? HPCBOOT_COLLECT : 0;
    void *text;

    MUST(hpcboot_put(HPCBOOT_SCOPE_JOB, "round", &round, sizeof round, &err));
    MUST(hpcboot_put(HPCBOOT_SCOPE_NODE, "me", &me, sizeof me, &err));
    MUST(hpcboot_fence(HPCBOOT_SCOPE_JOB, flags, 0, &err));
    for (int i = 0; i < n; i++) {
        int rank = hpcboot_team_world_rank(all, i);

        MUST(hpcboot_get(rank, "round", &text, NULL, &err));
        if (memcmp(text, &round, sizeof round) != 0) {
            fail("a value of another round");
        }
        free(text);
    }
    MUST(hpcboot_fence(HPCBOOT_SCOPE_NODE, 0, 0, &err));
    MUST(hpcboot_get(me, "me", &text, NULL, &err));
    free(text);
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, shared, own;
    int victims = argc > 2 ? atoi(argv[2]) : 1;
    int ops = argc > 3 ? atoi(argv[3]) : 100;
    struct hpcboot_team *all, *teams[TEAMS], *rest;

    MUST(hpcboot_init(NULL, &err));
    all = hpcboot_world();
    shared = seed * 1000003 + 17;
    own = shared + (uint64_t)hpcboot_rank() * 7919;
    exchange(all, -1, &shared);
    for (int round = 0; round < victims; round++) {
        int victim = (int)(next(&shared) % (uint64_t)hpcboot_team_size(all));
        uint64_t us = next(&shared) % TIMER_US;

        make_teams(all, &shared, teams);
        MUST(hpcboot_barrier(all, &err));
        if (hpcboot_team_rank(all) == victim) {
            arm(round, us);
        }
        (void)run_row(all, teams, ops, &shared, &own);
        while (hpcboot_team_rank(all) == victim) {
            pause();
        }
        while (hpcboot_barrier(all, &err) != HPCBOOT_ERR_PEER_DEAD) {
        }
        note_news(round);
        for (int i = 0; i < TEAMS; i++) {
            MUST(hpcboot_team_destroy(teams[i], &err));
        }
        MUST(hpcboot_team_shrink(all, &rest, &err));
        if (all != hpcboot_world()) {
            MUST(hpcboot_team_destroy(all, &err));
        }
        all = rest;
        exchange(all, round, &shared);
    }
    printf("rank %d has lost %d, slowest news after %lld ms\n",
           hpcboot_rank(), victims, (long long)slowest_ms);
    fflush(stdout);
    MUST(hpcboot_finalize(&err));
    return 0;
}
