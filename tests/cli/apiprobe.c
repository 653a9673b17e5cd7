/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A rank of libhpcboot for the bats tests: `apiprobe WORD...` does what each
 * word says, in order, prints a line of facts or nothing, and exits with 1
 * and a sentence when something is not as it must be. */
#include "config.h"

#include "tests/cli/apitest.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define BIG (1 << 20)

static void say_who(void)
{
    char cpus[256];

    MUST(hpcboot_binding(cpus, sizeof cpus, &err));
    printf("rank %d of %d, local %d of %d, node %d of %d, host %s, by %s\n",
           hpcboot_rank(), hpcboot_size(), hpcboot_local_rank(),
           hpcboot_local_size(), hpcboot_node(), hpcboot_nodes(),
           hpcboot_host_of(hpcboot_rank()), hpcboot_launcher());
}

static void put_number(enum hpcboot_scope scope, const char *key, int value)
{
    char text[32];

    snprintf(text, sizeof text, "%d", value);
    MUST(hpcboot_put(scope, key, text, strlen(text), &err));
}

static void expect_number(int rank, const char *key, int value)
{
    void *text = NULL;

    MUST(hpcboot_get(rank, key, &text, NULL, &err));
    HOLDS(atoi(text) == value);
    free(text);
}

/* Values of all ranks, with and without collecting, and replaced ones. */
static void use_kvs(void)
{
    int me = hpcboot_rank(), n = hpcboot_size();

    for (int turn = 0; turn < 4; turn++) {
        put_number(HPCBOOT_SCOPE_JOB, "number", 1000 * turn + me);
        MUST(hpcboot_fence(HPCBOOT_SCOPE_JOB, turn % 2 ? HPCBOOT_COLLECT : 0,
                           0, &err));
        for (int r = 0; r < n; r++) {
            expect_number(r, "number", 1000 * turn + r);
        }
        MUST(hpcboot_fence(HPCBOOT_SCOPE_JOB, 0, 0, &err));
    }
    put_number(HPCBOOT_SCOPE_NODE, "near", me);
    MUST(hpcboot_fence(HPCBOOT_SCOPE_NODE, 0, 0, &err));
    for (int r = 0; r < n; r++) {
        if (hpcboot_node_of(r) == hpcboot_node()) {
            expect_number(r, "near", r);
        }
    }
    HOLDS(hpcboot_get(0, "nothing", (void *[]){NULL}, NULL, &err) ==
          HPCBOOT_ERR_NOT_FOUND);
}

static void use_big_values(void)
{
    int me = hpcboot_rank(), peer = (me + 1) % hpcboot_size();
    unsigned char *blob = malloc(BIG), *got;
    void *value;
    size_t size;

    memset(blob, me, BIG);
    MUST(hpcboot_put(HPCBOOT_SCOPE_JOB, "blob", blob, BIG, &err));
    MUST(hpcboot_put(HPCBOOT_SCOPE_JOB, "empty", NULL, 0, &err));
    MUST(hpcboot_fence(HPCBOOT_SCOPE_JOB, HPCBOOT_COLLECT, 0, &err));
    MUST(hpcboot_get(peer, "blob", &value, &size, &err));
    got = value;
    HOLDS(size == BIG && got[0] == peer % 256 && got[BIG - 1] == peer % 256);
    free(value);
    MUST(hpcboot_get(peer, "empty", &value, &size, &err));
    HOLDS(size == 0);
    free(value);
    free(blob);
}

static void expect_late(int rc)
{
    HOLDS(rc == HPCBOOT_ERR_TIMED_OUT);
}

/* Rank 0 comes late to a fence that the others have given up for a while. */
static void fence_late(void)
{
    const enum hpcboot_scope job = HPCBOOT_SCOPE_JOB;
    int me = hpcboot_rank(), n = hpcboot_size();

    put_number(job, "late", me);
    if (me != 0) {
        expect_late(hpcboot_fence(job, 0, 50, &err));
        expect_late(hpcboot_fence(job, 0, 50, &err));
        put_number(job, "between", me);
        HOLDS(hpcboot_get(0, "late", (void *[]){NULL}, NULL, &err) ==
              HPCBOOT_ERR_NOT_FOUND);
        expect_late(hpcboot_fence(HPCBOOT_SCOPE_NODE, 0, 50, &err));
        expect_late(hpcboot_fence(job, 0, 50, &err));
    }
    MUST(hpcboot_barrier(hpcboot_world(), &err));
    MUST(hpcboot_fence(job, 0, 0, &err));
    expect_number((me + 1) % n, "late", (me + 1) % n);
    MUST(hpcboot_fence(job, 0, 0, &err));
    if (n > 1) {
        expect_number(n - 1, "between", n - 1);
    }
    if (me != 0) {
        expect_late(hpcboot_fence(job, 0, 50, &err));
    }
    MUST(hpcboot_barrier(hpcboot_world(), &err)); /* and then the end */
}

static void use_collectives(void)
{
    struct hpcboot_team *world = hpcboot_world();
    int me = hpcboot_rank(), n = hpcboot_size();
    int64_t mine = me + 1, sum = 0, *all = calloc((size_t)n, sizeof *all);
    double *big = malloc(BIG * sizeof *big);

    MUST(hpcboot_barrier(world, &err));
    MUST(hpcboot_allreduce(&mine, &sum, 1, HPCBOOT_INT64, HPCBOOT_SUM, world,
                           &err));
    HOLDS(sum == (int64_t)n * (n + 1) / 2);
    MUST(hpcboot_allgather(&mine, all, 1, HPCBOOT_INT64, world, &err));
    for (int i = 0; i < n; i++) {
        HOLDS(all[i] == i + 1);
    }
    for (int i = 0; i < BIG; i++) {
        big[i] = me + i % 7;
    }
    MUST(hpcboot_allreduce(HPCBOOT_IN_PLACE, big, BIG, HPCBOOT_DOUBLE,
                           HPCBOOT_MAX, world, &err));
    for (int i = 0; i < BIG; i++) {
        HOLDS(big[i] == n - 1 + i % 7);
    }
    mine = me == n - 1 ? 4711 : 0;
    MUST(hpcboot_bcast(&mine, 1, HPCBOOT_INT64, n - 1, world, &err));
    HOLDS(mine == 4711);
    free(all);
    free(big);
}

static void use_requests(void)
{
    struct hpcboot_team *world = hpcboot_world();
    struct hpcboot_request *r[3] = {NULL}, *again = NULL;
    struct hpcboot_coll_args args = HPCBOOT_COLL_ARGS_INIT;
    int32_t in[3] = {1, 2, 3}, out[3] = {0}, n = hpcboot_size();
    size_t index = 0;
    int done = 0;

    for (int i = 0; i < 3; i++) {
        MUST(hpcboot_iallreduce(&in[i], &out[i], 1, HPCBOOT_INT32,
                                HPCBOOT_SUM, world, &r[i], &err));
    }
    for (int i = 0; i < 3; i++) {
        MUST(hpcboot_wait_any(r, 3, 0, &index, &err));
        HOLDS(index < 3 && r[index] == NULL);
        HOLDS(out[index] == in[index] * n);
    }
    args.coll = HPCBOOT_COLL_ALLREDUCE;
    args.type = HPCBOOT_INT32;
    args.send = &in[0];
    args.recv = &out[0];
    args.count = 1;
    MUST(hpcboot_coll_init(world, &args, &again, &err));
    for (int i = 0; i < 5; i++) {
        in[0] = i;
        MUST(hpcboot_start(again, &err));
        for (done = 0; !done;) {
            MUST(hpcboot_test(&again, &done, &err));
        }
        HOLDS(out[0] == i * n && again != NULL);
    }
    MUST(hpcboot_request_free(&again, &err));
}

static void use_teams(void)
{
    struct hpcboot_team *world = hpcboot_world(), *half, *back, *odd;
    int me = hpcboot_rank(), n = hpcboot_size(), sum = 0;

    for (int i = 0; i < 20; i++) {
        MUST(hpcboot_team_split(world, me % 2, -me, &half, &err));
        HOLDS(hpcboot_team_size(half) == (me % 2 ? n / 2 : (n + 1) / 2));
        HOLDS(hpcboot_team_world_rank(half, hpcboot_team_rank(half)) == me);
        MUST(hpcboot_allreduce(&me, &sum, 1, HPCBOOT_INT32, HPCBOOT_MIN, half,
                               &err));
        HOLDS(sum == me % 2);
        MUST(hpcboot_team_split(half, 0, 0, &back, &err));
        MUST(hpcboot_barrier(back, &err));
        MUST(hpcboot_team_destroy(half, &err));
        MUST(hpcboot_barrier(back, &err));
        MUST(hpcboot_team_destroy(back, &err));
    }
    MUST(hpcboot_team_create(world, (int[]){n - 1}, 1, &odd, &err));
    HOLDS((odd != NULL) == (me == n - 1));
    MUST(hpcboot_team_destroy(odd, &err));
    MUST(hpcboot_barrier(hpcboot_node_team(), &err));
    HOLDS(hpcboot_team_size(hpcboot_node_team()) == hpcboot_local_size());
}

static void use_messages(void)
{
    struct hpcboot_team *world = hpcboot_world();
    int me = hpcboot_rank(), n = hpcboot_size();
    struct hpcboot_request *out = NULL;
    struct hpcboot_message m;
    size_t size = 3 * BIG;
    char *from = malloc(size), *to = malloc(size);
    int word;

    if (me == 0) {
        for (int i = 1; i < 2 * n - 1; i++) {
            MUST(hpcboot_recv(world, HPCBOOT_ANY_SOURCE, HPCBOOT_ANY_TAG,
                              &word, sizeof word, &m, &err));
            HOLDS(m.size == sizeof word && word == 100 * m.source + m.tag);
        }
    } else {
        for (int tag = 5; tag < 7; tag++) {
            word = 100 * me + tag;
            MUST(hpcboot_send(world, 0, tag, &word, sizeof word, &err));
        }
    }
    MUST(hpcboot_barrier(world, &err)); /* what comes now is no "any" */
    memset(from, me + 1, size);
    MUST(hpcboot_isend(world, (me + 1) % n, 9, from, size, &out, &err));
    MUST(hpcboot_recv(world, (me + n - 1) % n, 9, to, size, &m, &err));
    HOLDS(m.size == size && to[0] == (me + n - 1) % n + 1 &&
          to[size - 1] == to[0]);
    MUST(hpcboot_wait(&out, 0, &err));
    free(from);
    free(to);
}

static void use_heap(void)
{
    struct hpcboot_team *world = hpcboot_world();
    int n = hpcboot_size();
    void *a, *b;
    float *x, *y;

    for (int i = 0; i < 50; i++) {
        MUST(hpcboot_alloc(BIG, &a, &err));
        MUST(hpcboot_alloc(BIG, &b, &err));
        x = a;
        y = b;
        HOLDS(x[0] == 0 && x[BIG / 4 - 1] == 0);
        x[0] = x[BIG / 4 - 1] = 1;
        MUST(hpcboot_allreduce(x, y, BIG / 4, HPCBOOT_FLOAT, HPCBOOT_SUM,
                               world, &err));
        HOLDS(y[0] == (float)n && y[1] == 0 && y[BIG / 4 - 1] == (float)n);
        hpcboot_free(a);
        hpcboot_free(b);
    }
}

static void misuse(int code, const char *word)
{
    HOLDS(code < 0);
    if (strstr(err.text, word) == NULL) {
        fail(word);
    }
    memset(&err, 0, sizeof err);
}

static void use_wrongly(void)
{
    struct hpcboot_team *world = hpcboot_world();
    struct hpcboot_request *r = NULL;
    int x = 0, y = 0;
    int n = hpcboot_size();

    misuse(hpcboot_init(NULL, &err), "before");
    misuse(hpcboot_bcast(&x, 1, HPCBOOT_INT32, n, world, &err), "root");
    misuse(hpcboot_allreduce(&x, &y, (size_t)-1, HPCBOOT_INT32, HPCBOOT_SUM,
                             world, &err), "negative");
    misuse(hpcboot_allreduce(&x, &x, 1, HPCBOOT_INT32, HPCBOOT_SUM, world,
                             &err), "overlap");
    misuse(hpcboot_allreduce(&x, &y, 1, (enum hpcboot_type)77, HPCBOOT_SUM,
                             world, &err), "type");
    misuse(hpcboot_allreduce(&x, &y, 1, HPCBOOT_INT32, 99, world, &err), "op");
    misuse(hpcboot_allreduce(&x, &y, 1, HPCBOOT_INT32, HPCBOOT_OP_USER + 3,
                             world, &err), "op");
    misuse(hpcboot_barrier(NULL, &err), "team");
    misuse(hpcboot_send(world, n, 0, &x, sizeof x, &err), "rank");
    misuse(hpcboot_send(world, 0, -5, &x, sizeof x, &err), "tag");
    misuse(hpcboot_put(HPCBOOT_SCOPE_JOB, "", &x, 1, &err), "key");
    misuse(hpcboot_put(HPCBOOT_SCOPE_JOB, "k", &x, BIG + 1, &err), "bytes");
    misuse(hpcboot_get(n, "k", (void *[]){NULL}, NULL, &err), "rank");
    misuse(hpcboot_team_destroy(world, &err), "world");
    misuse(hpcboot_start(r, &err), "persistent");
    misuse(hpcboot_team_create(world, (int[]){0, 0}, 2, (struct hpcboot_team
           *[]){NULL}, &err), "twice");
    MUST(hpcboot_barrier(world, &err));
}

static void use_place(void)
{
    char text[4096];
    double quota;

    MUST(hpcboot_allowed(text, sizeof text, &quota, &err));
    MUST(hpcboot_nearest_nics(text, sizeof text, &err));
    MUST(hpcboot_bind("package", &err));
    MUST(hpcboot_bind("none", &err));
    misuse(hpcboot_bind("moon", &err), "moon");
    misuse(hpcboot_binding(text, 1, &err), "buffer");
}

/* Rank 1 goes; the others are told in whatever they wait in. */
static void lose_rank_1(int killed)
{
    struct hpcboot_event event = HPCBOOT_EVENT_INIT;
    int me = hpcboot_rank(), in = 1, out, rc;

    signal(SIGTERM, SIG_IGN);
    MUST(hpcboot_barrier(hpcboot_world(), &err));
    if (me == 1 && killed) {
        raise(SIGKILL);
    } else if (me == 1) {
        _exit(0);
    }
    if (me == 3) { /* of one that lives, and has nothing more to say */
        HOLDS(hpcboot_recv(hpcboot_world(), 2, 0, &in, sizeof in, NULL,
                           &err) == HPCBOOT_ERR_PEER_DEAD);
    }
    rc = me == 0 ? hpcboot_recv(hpcboot_world(), 1, 0, &in, sizeof in, NULL,
                                &err)
                 : hpcboot_allreduce(&in, &out, 1, HPCBOOT_INT32, HPCBOOT_SUM,
                                     hpcboot_world(), &err);
    HOLDS(rc == HPCBOOT_ERR_PEER_DEAD);
    printf("rank %d hears: %s\n", me, err.text);
    HOLDS(hpcboot_next_event(&event, 1000, &err) == 1);
    printf("rank %d event: rank %d, %s\n", me, event.rank, event.text);
    HOLDS(hpcboot_next_event(&event, 0, &err) == 0);
    HOLDS(hpcboot_barrier(hpcboot_world(), &err) == HPCBOOT_ERR_PEER_DEAD);
    HOLDS(hpcboot_fence(HPCBOOT_SCOPE_JOB, 0, 0, &err) ==
          HPCBOOT_ERR_PEER_DEAD);
    fflush(stdout);
}

static void be_killed(void)
{
    lose_rank_1(1);
}

/* The survivors go on with a team of their own. */
static void shrink_without_1(int killed)
{
    struct hpcboot_team *rest = NULL;
    int me = hpcboot_rank(), n = hpcboot_size(), sum = 0;

    lose_rank_1(killed);
    MUST(hpcboot_team_shrink(hpcboot_world(), &rest, &err));
    HOLDS(hpcboot_team_size(rest) == n - 1);
    for (int i = 0; i < 100; i++) {
        MUST(hpcboot_allreduce(&me, &sum, 1, HPCBOOT_INT32, HPCBOOT_SUM, rest,
                               &err));
        HOLDS(sum == n * (n - 1) / 2 - 1);
    }
    printf("rank %d goes on as %d of %d\n", me, hpcboot_team_rank(rest),
           hpcboot_team_size(rest));
    fflush(stdout);
    MUST(hpcboot_team_destroy(rest, &err));
}

static void shrink(void)
{
    shrink_without_1(1);
}

static void slip(void)
{
    shrink_without_1(0);
}

/* Until somebody dies; then the others put and get. */
static void go_on_without(int rc)
{
    struct hpcboot_team *rest = NULL;
    int me = hpcboot_rank();

    HOLDS(rc == HPCBOOT_ERR_PEER_DEAD);
    printf("rank %d hears: %s\n", me, err.text);
    do { /* a host's ranks are not all known to be dead at once */
        MUST(hpcboot_team_shrink(hpcboot_world(), &rest, &err));
        put_number(HPCBOOT_SCOPE_JOB, "after", me + 100);
        rc = hpcboot_fence(HPCBOOT_SCOPE_JOB, HPCBOOT_COLLECT, 0, &err);
    } while (rc == HPCBOOT_ERR_PEER_DEAD);
    MUST(rc);
    for (int i = 0; i < hpcboot_team_size(rest); i++) {
        expect_number(hpcboot_team_world_rank(rest, i), "after",
                      hpcboot_team_world_rank(rest, i) + 100);
        expect_number(hpcboot_team_world_rank(rest, i), "before",
                      hpcboot_team_world_rank(rest, i));
    }
    printf("rank %d goes on as %d of %d\n", me, hpcboot_team_rank(rest),
           hpcboot_team_size(rest));
    fflush(stdout);
}

static void leave(void)
{
    lose_rank_1(0);
}

static void meet_before(void)
{
    put_number(HPCBOOT_SCOPE_JOB, "before", hpcboot_rank());
    MUST(hpcboot_fence(HPCBOOT_SCOPE_JOB, HPCBOOT_COLLECT, 0, &err));
    MUST(hpcboot_barrier(hpcboot_world(), &err));
    printf("rank %d waits\n", hpcboot_rank());
    fflush(stdout);
}

static void survive(void)
{
    int rc;

    meet_before();
    while ((rc = hpcboot_barrier(hpcboot_world(), &err)) == 0) {
    }
    go_on_without(rc);
}

/* Each waits for a message that never comes, of the one before it. */
static void await(void)
{
    int me = hpcboot_rank(), n = hpcboot_size(), got, rc;

    for (int r = 0; r < n; r++) { /* all become connected */
        if (r != me) {
            struct hpcboot_request *sent;
            MUST(hpcboot_isend(hpcboot_world(), r, 1, &me, sizeof me, &sent,
                               &err));
            MUST(hpcboot_recv(hpcboot_world(), r, 1, &got, sizeof got, NULL,
                              &err));
            MUST(hpcboot_wait(&sent, 0, &err));
        }
    }
    meet_before();
    rc = hpcboot_recv(hpcboot_world(), (me + n - 1) % n, 2, &got, sizeof got,
                      NULL, &err);
    go_on_without(rc);
}

/* Meets until the folder's file `enough` is there for rank 0. */
static void meet_on(void)
{
    int enough = 0;

    meet_before();
    while (!enough) {
        enough = access("/tmp/enough", F_OK) == 0;
        MUST(hpcboot_bcast(&enough, 1, HPCBOOT_INT32, 0, hpcboot_world(),
                           &err));
        MUST(hpcboot_barrier(hpcboot_world(), &err));
    }
    printf("rank %d has met the others\n", hpcboot_rank());
}

/* Begins anew with those that come, up to GROW_TO ranks; 0: ends then. */
static void grow(void)
{
    const char *to = getenv("GROW_TO");
    struct hpcboot_event event = HPCBOOT_EVENT_INIT;
    int n = hpcboot_size(), one = 1, sum = 0, most = to != NULL ? atoi(to) : 1;

    MUST(hpcboot_allreduce(&one, &sum, 1, HPCBOOT_INT32, HPCBOOT_SUM,
                           hpcboot_world(), &err));
    HOLDS(sum == n);
    printf("rank %d of %d\n", hpcboot_rank(), n);
    fflush(stdout);
    if (n >= most && most > 0) {
        return;
    }
    do {
        HOLDS(hpcboot_next_event(&event, 60000, &err) == 1);
        printf("rank %d is told: %s\n", hpcboot_rank(), event.text);
        fflush(stdout);
    } while (event.kind == HPCBOOT_EVENT_PEER_DEAD);
    HOLDS(event.kind == HPCBOOT_EVENT_RANK_COMES);
    if (most > 0) {
        MUST(hpcboot_finalize(&err));
        HOLDS(execl("/proc/self/exe", "apiprobe", "grow", (char *)NULL) == 0);
    }
}

/* Until its host or another one is let go. */
static void hear(void)
{
    struct hpcboot_event event = HPCBOOT_EVENT_INIT;

    printf("rank %d listens\n", hpcboot_rank());
    fflush(stdout);
    while (hpcboot_next_event(&event, 1000, &err) == 0) {
    }
    HOLDS(event.kind == HPCBOOT_EVENT_RANK_LEAVES);
    printf("rank %d is told: %s\n", hpcboot_rank(), event.text);
    fflush(stdout);
}

/* Rank 1 of 2 comes when rank 0 has given up waiting, three times. */
static void be_late(void)
{
    struct hpcboot_team *world = hpcboot_world(), *pair, *also;
    struct hpcboot_coll_args args = HPCBOOT_COLL_ARGS_INIT;
    struct hpcboot_request *r = NULL;
    int word = 0, me = hpcboot_rank();
    size_t which;

    MUST(hpcboot_team_split(world, 0, 0, &pair, &err));
    MUST(hpcboot_team_split(world, 0, 0, &also, &err));
    if (me == 0) {
        args.coll = HPCBOOT_COLL_BARRIER;
        args.timeout_ms = 20;
        HOLDS(hpcboot_coll(pair, &args, &err) == HPCBOOT_ERR_TIMED_OUT);
        MUST(hpcboot_irecv(world, 1, 1, &word, sizeof word, NULL, &r, &err));
        HOLDS(hpcboot_wait(&r, 20, &err) == HPCBOOT_ERR_TIMED_OUT && r);
        HOLDS(strstr(err.text, "hpcboot_wait: the deadline passed while rank "
                     "0 of a team of 2 waited for a message from rank 1 on "));
        HOLDS(strstr(err.text, ", tag 1"));
        HOLDS(hpcboot_wait_any(&r, 1, 20, &which, &err) ==
              HPCBOOT_ERR_TIMED_OUT && r);
        HOLDS(strstr(err.text, ", tag 1 (the first of 1 requests under way)"));
        MUST(hpcboot_team_set(also, HPCBOOT_TEAM_TIMEOUT_MS, 20, &err));
        HOLDS(hpcboot_recv(also, HPCBOOT_ANY_SOURCE, HPCBOOT_ANY_TAG, NULL, 0,
                           NULL, &err) == HPCBOOT_ERR_TIMED_OUT);
        HOLDS(strstr(err.text, "hpcboot_recv: the deadline passed while rank "
                     "0 of a team of 2 waited for a message from any rank, "
                     "any tag"));
        MUST(hpcboot_send(world, 1, 2, NULL, 0, &err));
        MUST(hpcboot_wait(&r, 0, &err));
        HOLDS(word == 5);
    } else {
        MUST(hpcboot_recv(world, 0, 2, NULL, 0, NULL, &err));
        word = 5;
        MUST(hpcboot_send(world, 0, 1, &word, sizeof word, &err));
    }
    MUST(hpcboot_team_destroy(pair, &err));
    MUST(hpcboot_barrier(world, &err));
}

static void fill_heap(void)
{
    void *p[4] = {NULL};

    misuse(hpcboot_alloc(2 * BIG, &p[0], &err), "HPCBOOT_HEAP_MB");
    MUST(hpcboot_alloc(100, &p[0], &err));
    MUST(hpcboot_alloc(0, &p[1], &err));
    HOLDS(p[0] != p[1]);
    hpcboot_free(p[0]);
    hpcboot_free(p[1]);
    hpcboot_free(NULL);
}

static const struct {
    const char *word;
    void (*run)(void);
} words[] = {
    {"who", say_who}, {"kvs", use_kvs}, {"blobs", use_big_values},
    {"coll", use_collectives}, {"requests", use_requests},
    {"teams", use_teams}, {"messages", use_messages}, {"heap", use_heap},
    {"misuse", use_wrongly}, {"place", use_place}, {"killed", be_killed},
    {"grow", grow}, {"hear", hear}, {"shrink", shrink}, {"survive", survive},
    {"slip", slip}, {"await", await}, {"meet", meet_on}, {"left", leave},
    {"late", be_late}, {"full", fill_heap}, {"fences", fence_late},
};

int main(int argc, char **argv)
{
    misuse(hpcboot_barrier(hpcboot_world(), &err), "before hpcboot_init");
    MUST(hpcboot_init(NULL, &err));
    for (int i = 1; i < argc; i++) {
        size_t w = 0, n = sizeof words / sizeof *words;

        while (w < n && strcmp(argv[i], words[w].word) != 0) {
            w++;
        }
        HOLDS(w < n);
        words[w].run();
    }
    MUST(hpcboot_finalize(&err));
    misuse(hpcboot_barrier(hpcboot_world(), &err), "after hpcboot_finalize");
    misuse(hpcboot_finalize(&err), "after hpcboot_finalize");
    return 0;
}
