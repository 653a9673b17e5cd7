/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A program that starts its ranks itself, as processes that share a mapping,
 * and brings them together with hpcboot_init_with.
 *
 *     apiwith RANKS coll|recv|test|fence  the last rank is killed; each way to
 *                      wait for it hears so, and the others go on as a team
 *     apiwith RANKS values  many fences take no more memory than a few, and
 *                      one carries much
 *     apiwith RANKS full  a fence that would have to carry too much loses it,
 *                      and the next carries what was put since; from 5 ranks on
 *     apiwith RANKS device|setting  the last rank cannot be one at first; all
 *                      hear why, and once it can they begin
 *     apiwith RANKS reversed|alike  the ranks' numbers are not the places that
 *                      their bytes stand at; all hear so
 *     apiwith RANKS end  the first rank ends while its messages are under way,
 *                      of which nobody has a request any more */
#include "config.h"

#include "tests/cli/apitest.h"

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS_MOST 16
#define FEW 20
#define MANY 1000
#define PIECE ((size_t)8 << 20)
#define MOST ((uint64_t)256 << 20) /* of a rank in a fence */

static struct shared {
    _Atomic int arrived, round;
    char piece[RANKS_MOST][PIECE];
} *shared;

static int ranks, me;
static int exaggerates; /* each rank is said to have put a fence's most */

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
    for (int i = 0; exaggerates && i < ranks; i++) {
        ((uint64_t *)recv)[i] = MOST;
    }
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

static int lose_one(const char *how)
{
    struct hpcboot_team *team;
    int one = 1, sum = 0;

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

static void put(const char *key, const char *value, size_t size)
{
    MUST(hpcboot_put(HPCBOOT_SCOPE_JOB, key, value, size, &err));
}

static void fence(void)
{
    MUST(hpcboot_fence(HPCBOOT_SCOPE_JOB, HPCBOOT_COLLECT, 0, &err));
}

static void expect(int from, const char *key, const char *value, size_t size)
{
    void *got = NULL;
    size_t n = 0;

    MUST(hpcboot_get(from, key, &got, &n, &err));
    HOLDS(n == size && memcmp(got, value, n) == 0);
    free(got);
}

/* Rank 1 puts much more than the others, and at last nothing. */
static void many_fences(char *value)
{
    size_t mine = me == 1 ? FEW * 1000 : 10, before = 0;

    for (int i = 0; i < MANY; i++) {
        memset(value, i, mine);
        put("progress", value, mine);
        fence();
        before = i == FEW ? mallinfo2().uordblks : before;
    }
    HOLDS(mallinfo2().uordblks < before + FEW * FEW * 1000);
    fence();
    memset(value, MANY - 1, FEW * 1000);
    for (int i = 0; i < ranks; i++) {
        expect(i, "progress", value, i == 1 ? FEW * 1000 : 10);
    }
}

/* More than what an allgather of all carries. */
static void much(char *value)
{
    char key[] = "a";

    for (; key[0] <= 'f'; key[0]++) {
        memset(value, key[0], HPCBOOT_VALUE_MAX);
        value[1] = (char)me;
        if (me > 0) {
            put(key, value, HPCBOOT_VALUE_MAX - (size_t)me);
        }
    }
    fence();
    for (key[0] = 'a'; key[0] <= 'f'; key[0]++) {
        memset(value, key[0], HPCBOOT_VALUE_MAX);
        for (int i = 1; i < ranks; i++) {
            value[1] = (char)i;
            expect(i, key, value, HPCBOOT_VALUE_MAX - (size_t)i);
        }
    }
}

static int use_values(void)
{
    char *value = calloc(1, HPCBOOT_VALUE_MAX);

    HOLDS(value != NULL);
    many_fences(value);
    much(value);
    free(value);
    MUST(hpcboot_finalize(&err));
    printf("rank %d has got all\n", me);
    return fflush(stdout);
}

static int put_too_much(void)
{
    void *got = NULL;
    size_t n;

    put("before", "lost", 4);
    exaggerates = 1;
    HOLDS(hpcboot_fence(HPCBOOT_SCOPE_JOB, HPCBOOT_COLLECT, 0, &err) ==
          HPCBOOT_ERR_LIMIT);
    exaggerates = 0;
    put("after", "kept", 4);
    fence();
    for (int i = 0; i < ranks; i++) {
        expect(i, "after", "kept", 4);
        HOLDS(hpcboot_get(i, "before", &got, &n, NULL) ==
              HPCBOOT_ERR_NOT_FOUND);
    }
    MUST(hpcboot_finalize(&err));
    printf("rank %d: %s\n", me, err.text);
    return fflush(stdout);
}

static int end_early(void)
{
    struct hpcboot_request *request;
    char *bytes = calloc(1, HPCBOOT_VALUE_MAX);

    HOLDS(bytes != NULL);
    for (int i = 1; me == 0 && i < ranks; i++) {
        MUST(hpcboot_isend(hpcboot_world(), i, 0, bytes, HPCBOOT_VALUE_MAX,
                           &request, &err));
        MUST(hpcboot_request_free(&request, &err));
    }
    if (me > 0) {
        MUST(hpcboot_recv(hpcboot_world(), 0, 0, bytes, HPCBOOT_VALUE_MAX,
                          NULL, &err));
    }
    MUST(hpcboot_finalize(&err));
    free(bytes);
    printf("rank %d has ended\n", me);
    return fflush(stdout);
}

/* None of the others waits for who has failed. */
static int refuse_one(const struct hpcboot_bootstrap *b, const char *how)
{
    int is_device = strcmp(how, "device") == 0;

    if (me == ranks - 1 && is_device) {
        setenv("HPCBOOT_FABRIC", "tcp", 1);
        setenv("HPCBOOT_FABRIC_WISH", "device", 1);
        setenv("HPCBOOT_FABRIC_TCP", "nosuch9", 1);
    } else if (me == ranks - 1) {
        setenv("HPCBOOT_HEAP_MB", "much", 1);
    }
    HOLDS(hpcboot_init_with(b, NULL, &err) ==
          (is_device ? HPCBOOT_ERR_UNSUPPORTED : HPCBOOT_ERR_USAGE));
    printf("rank %d: %s\n", me, err.text);
    unsetenv("HPCBOOT_FABRIC");
    unsetenv("HPCBOOT_HEAP_MB");
    MUST(hpcboot_init_with(b, NULL, &err));
    MUST(hpcboot_finalize(&err));
    return fflush(stdout);
}

static int mistake_ranks(struct hpcboot_bootstrap *b, const char *how)
{
    b->rank = strcmp(how, "alike") == 0 ? 0 : ranks - 1 - me;
    HOLDS(hpcboot_init_with(b, NULL, &err) == HPCBOOT_ERR_USAGE);
    printf("rank %d: %s\n", me, err.text);
    return fflush(stdout);
}

static int rank(const char *how)
{
    struct hpcboot_bootstrap b = HPCBOOT_BOOTSTRAP_INIT;

    b.rank = me;
    b.size = ranks;
    b.name = "a mapping";
    b.allgather = gather;
    if (strcmp(how, "device") == 0 || strcmp(how, "setting") == 0) {
        return refuse_one(&b, how);
    }
    if (strcmp(how, "reversed") == 0 || strcmp(how, "alike") == 0) {
        return mistake_ranks(&b, how);
    }
    MUST(hpcboot_init_with(&b, NULL, &err));
    return strcmp(how, "values") == 0 ? use_values()
           : strcmp(how, "full") == 0 ? put_too_much()
           : strcmp(how, "end") == 0  ? end_early()
                                      : lose_one(how);
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
