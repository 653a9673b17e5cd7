/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A program that starts its ranks itself, as processes that share a mapping,
 * and brings them together with hpcboot_init_with. The last rank is killed;
 * each way to wait for it hears so, and the others go on as a team.
 *
 *     apiwith RANKS coll|recv|test|fence */
#include "config.h"

#include "tests/cli/apitest.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS_MOST 16
#define PIECE 65536

static struct shared {
    _Atomic int arrived, round;
    char piece[RANKS_MOST][PIECE];
} *shared;

static int ranks, me;

static void meet(void)
{
    int round = atomic_load(&shared->round);

    if (atomic_fetch_add(&shared->arrived, 1) + 1 == ranks) {
        atomic_store(&shared->arrived, 0);
        atomic_store(&shared->round, round + 1);
    }
    while (atomic_load(&shared->round) == round) {
        sched_yield();
    }
}

static int gather(void *arg, const void *send, void *recv, size_t size)
{
    if (size > PIECE) {
        return -1;
    }
    memcpy(shared->piece[me], send, size);
    meet();
    for (int i = 0; i < ranks; i++) {
        memcpy((char *)recv + (size_t)i * size, shared->piece[i], size);
    }
    meet();
    return 0;
}

static int wait_for_the_dead(const char *how)
{
    struct hpcboot_team *world = hpcboot_world();
    struct hpcboot_request *request;
    int word, done = 0, rc;

    if (strcmp(how, "recv") == 0) {
        return hpcboot_recv(world, ranks - 1, 0, &word, sizeof word, NULL,
                            &err);
    }
    if (strcmp(how, "test") == 0) {
        MUST(hpcboot_ibarrier(world, &request, &err));
        do {
            rc = hpcboot_test(&request, &done, &err);
        } while (rc == 0 && !done);
        return rc;
    }
    if (strcmp(how, "fence") == 0) {
        return hpcboot_fence(HPCBOOT_SCOPE_NODE, 0, 0, &err);
    }
    return hpcboot_barrier(world, &err);
}

static int rank(const char *how)
{
    struct hpcboot_bootstrap b = HPCBOOT_BOOTSTRAP_INIT;
    struct hpcboot_team *team;
    int one = 1, sum = 0;

    b.rank = me;
    b.size = ranks;
    b.name = "a mapping";
    b.allgather = gather;
    MUST(hpcboot_init_with(&b, NULL, &err));
    MUST(hpcboot_barrier(hpcboot_world(), &err));
    if (me == ranks - 1) {
        raise(SIGKILL);
    }
    HOLDS(wait_for_the_dead(how) == HPCBOOT_ERR_PEER_DEAD);
    printf("rank %d hears: %s\n", me, err.text);
    MUST(hpcboot_team_shrink(hpcboot_world(), &team, &err));
    MUST(hpcboot_allreduce(&one, &sum, 1, HPCBOOT_INT32, HPCBOOT_SUM, team,
                           &err));
    printf("rank %d is one of %d\n", me, sum);
    return fflush(stdout);
}

int main(int argc, char **argv)
{
    HOLDS(argc == 3);
    ranks = atoi(argv[1]);
    HOLDS(ranks > 1 && ranks <= RANKS_MOST);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    HOLDS(shared != MAP_FAILED);
    for (me = 0; me < ranks; me++) {
        if (fork() == 0) {
            _exit(rank(argv[2]));
        }
    }
    while (wait(NULL) > 0) {
    }
    return 0;
}
