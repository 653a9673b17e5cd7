/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Every function of libhpcboot used wrongly. Three tables: what each does
 * before hpcboot_init and after hpcboot_finalize, and what is wrong in
 * between, with the word that its text must have. `apimisuse names` prints the
 * functions of the first table, which are to be all of them; `apimisuse
 * threads` asks for HPCBOOT_THREADS_MULTIPLE. Run with any
 * number of ranks; it exits with 1 and a sentence when something is let
 * through, and does not exit at all where it crashes. */
#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hpcboot/hpcboot.h>

#define N 64 /* more than the ranks of a test */
#define MANY ((size_t)-3)
#define NO_TYPE ((enum hpcboot_type)77)

static struct hpcboot_error err;
static struct hpcboot_team *team, *other;
static struct hpcboot_request *req, *pending;
static struct hpcboot_coll_args args = HPCBOOT_COLL_ARGS_INIT, bad;
static struct hpcboot_event event = HPCBOOT_EVENT_INIT, no_event;
static struct hpcboot_transport transport = HPCBOOT_TRANSPORT_INIT;
static struct hpcboot_init_options options = HPCBOOT_INIT_OPTIONS_INIT;
static struct hpcboot_bootstrap bootstrap = HPCBOOT_BOOTSTRAP_INIT;
static int32_t a[N * N], b[N * N];
static size_t ones[N], huge[N], displs[N];
static char text[64];
static void *p;
static size_t size;
static int done, n;
static double quota;

static void fold(const void *in, void *inout, size_t count,
                 enum hpcboot_type type, void *arg)
{
}

static int is(int holds) /* as a status: the call did what it had to */
{
    snprintf(err.text, sizeof err.text, "as it should be");
    return holds ? HPCBOOT_ERR_USAGE : 0;
}

#define T HPCBOOT_INT32
#define O HPCBOOT_SUM
/* Collectives by name: blocking and started, with the same arguments. */
#define COLLS(X)                                                          \
    X(barrier, (team, &err), (team, &req, &err))                          \
    X(bcast, (a, 1, T, 0, team, &err), (a, 1, T, 0, team, &req, &err))    \
    X(scatter, (a, b, 1, T, 0, team, &err),                               \
      (a, b, 1, T, 0, team, &req, &err))                                  \
    X(scatterv, (a, ones, displs, b, 1, T, 0, team, &err),                \
      (a, ones, displs, b, 1, T, 0, team, &req, &err))                    \
    X(gather, (a, b, 1, T, 0, team, &err),                                \
      (a, b, 1, T, 0, team, &req, &err))                                  \
    X(gatherv, (a, 1, b, ones, displs, T, 0, team, &err),                 \
      (a, 1, b, ones, displs, T, 0, team, &req, &err))                    \
    X(allgather, (a, b, 1, T, team, &err), (a, b, 1, T, team, &req, &err))\
    X(allgatherv, (a, 1, b, ones, displs, T, team, &err),                 \
      (a, 1, b, ones, displs, T, team, &req, &err))                       \
    X(reduce, (a, b, 1, T, O, 0, team, &err),                             \
      (a, b, 1, T, O, 0, team, &req, &err))                               \
    X(allreduce, (a, b, 1, T, O, team, &err),                             \
      (a, b, 1, T, O, team, &req, &err))                                  \
    X(reduce_scatter, (a, b, ones, T, O, team, &err),                     \
      (a, b, ones, T, O, team, &req, &err))                               \
    X(reduce_scatter_block, (a, b, 1, T, O, team, &err),                  \
      (a, b, 1, T, O, team, &req, &err))                                  \
    X(alltoall, (a, b, 1, T, team, &err), (a, b, 1, T, team, &req, &err)) \
    X(alltoallv, (a, ones, displs, b, ones, displs, T, team, &err),       \
      (a, ones, displs, b, ones, displs, T, team, &req, &err))            \
    X(scan, (a, b, 1, T, O, team, &err), (a, b, 1, T, O, team, &req, &err))\
    X(exscan, (a, b, 1, T, O, team, &err), (a, b, 1, T, O, team, &req, &err))

/* What has to fail outside of init and finalize: name and call. */
#define OUTSIDE(X)                                                        \
    X(finalize, hpcboot_finalize(&err))                                   \
    X(put, hpcboot_put(HPCBOOT_SCOPE_JOB, "k", "v", 1, &err))             \
    X(get, hpcboot_get(0, "k", &p, &size, &err))                          \
    X(fence, hpcboot_fence(HPCBOOT_SCOPE_JOB, 0, 0, &err))                \
    X(bind, hpcboot_bind("none", &err))                                   \
    X(team_split, hpcboot_team_split(team, 0, 0, &other, &err))           \
    X(team_create, hpcboot_team_create(team, (int[]){0}, 1, &other, &err))\
    X(team_shrink, hpcboot_team_shrink(team, &other, &err))               \
    X(team_destroy, hpcboot_team_destroy(team, &err))                     \
    X(team_set, hpcboot_team_set(team, HPCBOOT_TEAM_TIMEOUT_MS, 1, &err)) \
    X(start, hpcboot_start(req, &err))                                    \
    X(test, hpcboot_test(&req, &done, &err))                              \
    X(wait, hpcboot_wait(&req, 0, &err))                                  \
    X(wait_any, hpcboot_wait_any(&req, 1, 0, &size, &err))                \
    X(wait_all, hpcboot_wait_all(&req, 1, 0, &err))                       \
    X(request_free, hpcboot_request_free(&req, &err))                     \
    X(progress, hpcboot_progress(&err))                                   \
    X(send, hpcboot_send(team, 0, 0, a, 4, &err))                         \
    X(recv, hpcboot_recv(team, 0, 0, a, 4, NULL, &err))                   \
    X(isend, hpcboot_isend(team, 0, 0, a, 4, &req, &err))                 \
    X(irecv, hpcboot_irecv(team, 0, 0, a, 4, NULL, &req, &err))           \
    X(alloc, hpcboot_alloc(4, &p, &err))                                  \
    X(next_event, hpcboot_next_event(&event, 0, &err))                    \
    X(transport_of, hpcboot_transport_of(0, &transport, &err))            \
    X(op_create, hpcboot_op_create(fold, NULL, 0, 0, &err))               \
    X(op_destroy, hpcboot_op_destroy(HPCBOOT_OP_USER, &err))              \
    X(coll, hpcboot_coll(team, &args, &err))                              \
    X(coll_start, hpcboot_coll_start(team, &args, &req, &err))            \
    X(coll_init, hpcboot_coll_init(team, &args, &req, &err))

/* What has no struct hpcboot_error, or needs no job. */
#define QUIET(X)                                                          \
    X(init, is(hpcboot_init(&(struct hpcboot_init_options){0}, NULL) < 0))\
    X(init_with, is(hpcboot_init_with(&bootstrap, NULL, NULL) < 0))       \
    X(is_initialized, is(hpcboot_is_initialized() == 0))                  \
    X(rank, hpcboot_rank())                                               \
    X(size, hpcboot_size())                                               \
    X(local_rank, hpcboot_local_rank())                                   \
    X(local_size, hpcboot_local_size())                                   \
    X(node, hpcboot_node())                                               \
    X(nodes, hpcboot_nodes())                                             \
    X(node_of, hpcboot_node_of(0))                                        \
    X(local_rank_of, hpcboot_local_rank_of(0))                            \
    X(host_of, is(hpcboot_host_of(0) == NULL))                            \
    X(launcher, is(hpcboot_launcher() == NULL))                           \
    X(epoch, is(hpcboot_epoch() == 0))                                    \
    X(version, is(hpcboot_version() != NULL))                             \
    X(status_text, is(hpcboot_status_text(-4711) != NULL))                \
    X(world, is(hpcboot_world() == NULL))                                 \
    X(node_team, is(hpcboot_node_team() == NULL))                         \
    X(team_rank, hpcboot_team_rank(team))                                 \
    X(team_size, hpcboot_team_size(team))                                 \
    X(team_world_rank, hpcboot_team_world_rank(team, 0))                  \
    X(type_size, is(hpcboot_type_size(NO_TYPE) == 0))                     \
    X(type_name, is(hpcboot_type_name(NO_TYPE) != text))                     \
    X(op_name, is(hpcboot_op_name(-1) != text))                              \
    X(coll_name, is(hpcboot_coll_name((enum hpcboot_coll)99) != text))       \
    X(free, (hpcboot_free(NULL), hpcboot_free(a), is(1)))                 \
    X(binding, hpcboot_binding(NULL, 0, &err))                            \
    X(allowed, hpcboot_allowed(NULL, 0, &quota, &err))                    \
    X(nearest_nics, hpcboot_nearest_nics(NULL, 0, &err))

static void judge(const char *name, const char *when, const char *word, int rc)
{
    if (rc >= 0) {
        fprintf(stderr, "rank %d: %s %s returned %d\n", hpcboot_rank(), name,
                when, rc);
        exit(1);
    }
    if (word != NULL && strstr(err.text, word) == NULL) {
        fprintf(stderr, "rank %d: %s %s: '%s' has no '%s'\n", hpcboot_rank(),
                name, when, err.text, word);
        exit(1);
    }
    memset(&err, 0, sizeof err);
}

static void names(void)
{
#define NAME(name, call) puts("hpcboot_" #name);
#define NAMES(name, blocking, started) \
    puts("hpcboot_" #name), puts("hpcboot_i" #name);
    OUTSIDE(NAME)
    QUIET(NAME)
    COLLS(NAMES)
}

static void outside(const char *word)
{
    static char no_team[4096]; /* a pointer that nobody may follow */

    team = (struct hpcboot_team *)no_team;
#define LOUD(name, call) judge("hpcboot_" #name, word, word, call);
#define SOFT(name, call) judge("hpcboot_" #name, word, NULL, call);
#define BOTH(name, blocking, started)                                  \
    judge("hpcboot_" #name, word, word, hpcboot_##name blocking);      \
    judge("hpcboot_i" #name, word, word, hpcboot_i##name started);
    OUTSIDE(LOUD)
    QUIET(SOFT)
    COLLS(BOTH)
    team = NULL;
}

/* The team is NULL; there is no place for the request. */
static void without_team(void)
{
#define TEAMLESS(name, blocking, started)                              \
    judge("hpcboot_" #name, "of no team", "team", hpcboot_##name blocking); \
    judge("hpcboot_i" #name, "of no team", "team", hpcboot_i##name started);
    team = NULL;
    COLLS(TEAMLESS)
    team = hpcboot_world();
}

#define W(word, call) judge(#call, "", word, call)

static void wrong_roots(void)
{
    for (int i = 0; i < 2; i++) {
        int root = i == 0 ? -1 : n;

        W("root", hpcboot_bcast(a, 1, T, root, team, &err));
        W("root", hpcboot_scatter(a, b, 1, T, root, team, &err));
        W("root", hpcboot_scatterv(a, ones, NULL, b, 1, T, root, team, &err));
        W("root", hpcboot_gather(a, b, 1, T, root, team, &err));
        W("root", hpcboot_gatherv(a, 1, b, ones, NULL, T, root, team, &err));
        W("root", hpcboot_reduce(a, b, 1, T, O, root, team, &err));
        W("root", hpcboot_ireduce(a, b, 1, T, O, root, team, &req, &err));
    }
}

static void wrong_counts(void)
{
    W("negative", hpcboot_bcast(a, MANY, T, 0, team, &err));
    W("negative", hpcboot_scatter(a, b, MANY, T, 0, team, &err));
    W("negative", hpcboot_gather(a, b, MANY, T, 0, team, &err));
    W("negative", hpcboot_allgather(a, b, MANY, T, team, &err));
    W("negative", hpcboot_reduce(a, b, MANY, T, O, 0, team, &err));
    W("negative", hpcboot_allreduce(a, b, MANY, T, O, team, &err));
    W("negative", hpcboot_allreduce(a, b, SIZE_MAX / 4, T, O, team, &err));
    W("negative", hpcboot_reduce_scatter_block(a, b, MANY, T, O, team, &err));
    W("negative", hpcboot_alltoall(a, b, MANY, T, team, &err));
    W("negative", hpcboot_scan(a, b, MANY, T, O, team, &err));
    W("negative", hpcboot_iexscan(a, b, MANY, T, O, team, &req, &err));
    W("send_counts[", hpcboot_alltoallv(a, huge, NULL, b, ones, NULL, T, team,
                                    &err));
    W("recv_counts[", hpcboot_alltoallv(a, ones, NULL, b, huge, NULL, T, team,
                                    &err));
    W("send_displs[", hpcboot_alltoallv(a, ones, huge, b, ones, displs, T,
                                        team, &err));
    W("recv_displs[", hpcboot_allgatherv(a, 1, b, ones, huge, T, team, &err));
    W("negative", hpcboot_reduce_scatter(a, b, huge, T, O, team, &err));
    W("count is 2", hpcboot_allgatherv(a, 2, b, ones, NULL, T, team, &err));
    W("recv_counts is NULL",
      hpcboot_allgatherv(a, 1, b, NULL, NULL, T, team, &err));
    W("recv_counts is NULL",
      hpcboot_reduce_scatter(a, b, NULL, T, O, team, &err));
    W("send_counts is NULL",
      hpcboot_alltoallv(a, NULL, NULL, b, NULL, NULL, T, team, &err));
    W("buffer", hpcboot_send(team, 0, 0, a, MANY, &err));
    W("buffer", hpcboot_recv(team, 0, 0, a, MANY, NULL, &err));
    W("negative", hpcboot_alloc(MANY, &p, &err));
}

static void wrong_types_and_ops(void)
{
    W("type", hpcboot_bcast(a, 1, NO_TYPE, 0, team, &err));
    W("type", hpcboot_bcast(a, 1, (enum hpcboot_type)-1, 0, team, &err));
    W("type", hpcboot_alltoallv(a, ones, NULL, b, ones, NULL, NO_TYPE, team,
                                &err));
    W("type", hpcboot_ireduce(a, b, 1, NO_TYPE, O, 0, team, &req, &err));
    W("op", hpcboot_allreduce(a, b, 1, T, -1, team, &err));
    W("op", hpcboot_allreduce(a, b, 1, T, HPCBOOT_OPS, team, &err));
    W("op", hpcboot_scan(a, b, 1, T, HPCBOOT_OP_USER + 9, team, &err));
    W("not defined", hpcboot_allreduce(a, b, 1, HPCBOOT_BYTE, O, team, &err));
    W("not defined", hpcboot_allreduce(a, b, 1, HPCBOOT_DOUBLE, HPCBOOT_BXOR,
                                       team, &err));
    W("not defined", hpcboot_allreduce(a, b, 1, HPCBOOT_FLOAT_COMPLEX,
                                       HPCBOOT_MIN, team, &err));
    W("not defined", hpcboot_allreduce(a, b, 1, T, HPCBOOT_MINLOC, team,
                                       &err));
    W("not defined", hpcboot_allreduce(a, b, 1, T, HPCBOOT_AVG, team, &err));
    W("NULL", hpcboot_op_create(NULL, NULL, 0, 0, &err));
    W("flag", hpcboot_op_create(fold, NULL, 8, 0, &err));
    W("op", hpcboot_op_destroy(HPCBOOT_SUM, &err));
    W("op", hpcboot_op_destroy(HPCBOOT_OP_USER + 9, &err));
}

static void in_place_without_a_buffer(void)
{
    const void *in = HPCBOOT_IN_PLACE;
    int rank = hpcboot_team_rank(team);

    W("recv is NULL", hpcboot_allreduce(in, NULL, 1, T, O, team, &err));
    W("recv is NULL", hpcboot_reduce(in, NULL, 1, T, O, rank, team, &err));
    W("recv is NULL", hpcboot_gather(in, NULL, 1, T, rank, team, &err));
    W("recv is NULL", hpcboot_allgather(in, NULL, 1, T, team, &err));
    W("recv is NULL", hpcboot_alltoall(in, NULL, 1, T, team, &err));
    W("recv is NULL", hpcboot_exscan(in, NULL, 1, T, O, team, &err));
    W("recv is NULL", hpcboot_reduce_scatter(in, NULL, ones, T, O, team,
                                             &err));
    W("send is NULL", hpcboot_scatter(NULL, HPCBOOT_IN_PLACE, 1, T, rank, team,
                                      &err));
}

static void wrong_buffers(void)
{
    W("buffer is NULL", hpcboot_bcast(NULL, 1, T, 0, team, &err));
    W("send is NULL", hpcboot_allreduce(NULL, b, 1, T, O, team, &err));
    W("recv is NULL", hpcboot_allreduce(a, NULL, 1, T, O, team, &err));
    in_place_without_a_buffer();
    W("overlap", hpcboot_allreduce(a, a, 1, T, O, team, &err));
    W("overlap", hpcboot_allreduce(a, a + 1, 2, T, O, team, &err));
    W("overlap", hpcboot_allgather(a, a, 1, T, team, &err));
    W("overlap", hpcboot_alltoall(a, a, 1, T, team, &err));
    W("overlap", hpcboot_scan(a, a, 1, T, O, team, &err));
    W("overlap", hpcboot_reduce_scatter(a, a, ones, T, O, team, &err));
    W("overlap", hpcboot_allgatherv(a, 1, a, ones, NULL, T, team, &err));
    W("overlap", hpcboot_alltoallv(a, ones, NULL, a, ones, NULL, T, team,
                                   &err));
    if (hpcboot_team_size(team) > 1) {
        static const size_t at_one_place[64] = {0};

        W("blocks of recv overlap: those of rank 0 and rank 1",
          hpcboot_allgatherv(a, 1, b, ones, at_one_place, T, team, &err));
        W("blocks of recv overlap: those of rank 0 and rank 1",
          hpcboot_alltoallv(a, ones, NULL, b, ones, at_one_place, T, team,
                            &err));
    }
    W("IN_PLACE stands for send",
      hpcboot_allreduce(a, HPCBOOT_IN_PLACE, 1, T, O, team, &err));
    W("buffer", hpcboot_send(team, 0, 0, NULL, 4, &err));
    W("buffer", hpcboot_irecv(team, 0, 0, NULL, 4, NULL, &req, &err));
    W("NULL", hpcboot_put(HPCBOOT_SCOPE_JOB, "k", NULL, 4, &err));
    W("NULL", hpcboot_alloc(4, NULL, &err));
    W("buffer", hpcboot_binding(text, 0, &err));
    W("buffer", hpcboot_allowed(text, 0, NULL, &err));
    hpcboot_free(a);
    hpcboot_free((char *)&err + 1);
}

static void wrong_general_form(void)
{
    args.coll = (enum hpcboot_coll)99;
    W("collective", hpcboot_coll(team, &args, &err));
    W("collective", hpcboot_coll_start(team, &args, &req, &err));
    W("collective", hpcboot_coll_init(team, &args, &req, &err));
    args.coll = HPCBOOT_COLL_BARRIER;
    W("ARGS_INIT", hpcboot_coll(team, &bad, &err));
    W("ARGS_INIT", hpcboot_coll(team, NULL, &err));
    W("NULL", hpcboot_coll_start(team, &args, NULL, &err));
    W("NULL", hpcboot_coll_init(team, &args, NULL, &err));
    W("NULL", hpcboot_ibarrier(team, NULL, &err));
    args.timeout_ms = -1;
    W("negative", hpcboot_coll(team, &args, &err));
    args.timeout_ms = 0;
    args.flags = 0x80;
    W("no flag 0x80", hpcboot_coll(team, &args, &err));
    args.flags = 0;
}

static void wrong_peers_and_requests(void)
{
    W("rank", hpcboot_send(team, n, 0, a, 4, &err));
    W("rank", hpcboot_send(team, HPCBOOT_ANY_SOURCE, 0, a, 4, &err));
    W("rank", hpcboot_recv(team, -2, 0, a, 4, NULL, &err));
    W("tag", hpcboot_send(team, 0, HPCBOOT_ANY_TAG, a, 4, &err));
    W("tag", hpcboot_send(team, 0, HPCBOOT_TAG_MAX + 1, a, 4, &err));
    W("tag", hpcboot_recv(team, 0, -2, a, 4, NULL, &err));
    W("NULL", hpcboot_isend(team, 0, 0, a, 4, NULL, &err));
    W("NULL", hpcboot_irecv(team, 0, 0, a, 4, NULL, NULL, &err));
    W("persistent", hpcboot_start(NULL, &err));
    W("request is NULL", hpcboot_test(NULL, &done, &err));
    W("answer is NULL", hpcboot_test(&req, NULL, &err));
    W("NULL", hpcboot_wait(NULL, 0, &err));
    W("negative", hpcboot_wait(&req, -1, &err));
    W("NULL", hpcboot_wait_any(NULL, 1, 0, &size, &err));
    W("NULL", hpcboot_wait_any(&req, 1, 0, NULL, &err));
    W("NULL", hpcboot_wait_all(NULL, 1, 0, &err));
    W("NULL", hpcboot_request_free(NULL, &err));
    if (hpcboot_ibarrier(team, &pending, &err) == 0) {
        W("under way", hpcboot_request_free(&pending, &err));
        W("persistent", hpcboot_start(pending, &err));
        W(NULL, is(hpcboot_wait(&pending, 0, &err) == 0));
    }
    if (hpcboot_irecv(team, 0, 5, a, 4, NULL, &pending, &err) == 0) {
        W("persistent", hpcboot_start(pending, &err));
    }
    W("EVENT_INIT", hpcboot_next_event(&no_event, 0, &err));
    W("EVENT_INIT", hpcboot_next_event(NULL, 0, &err));
    W("negative", hpcboot_next_event(&event, -1, &err));
}

static void wrong_teams_and_values(void)
{
    W(NULL, is(hpcboot_team_split(team, 0, 0, &other, &err) == 0 &&
               hpcboot_team_destroy(other, &err) == 0));
    W("no such team", hpcboot_team_destroy(other, &err));
    struct hpcboot_team *gone = other;
    W("destroyed", hpcboot_barrier(gone, &err));
    W("destroyed", hpcboot_bcast(&n, 1, HPCBOOT_INT32, 0, gone, &err));
    W("destroyed", hpcboot_send(gone, 0, 0, &n, sizeof n, &err));
    W("destroyed", hpcboot_team_set(gone, HPCBOOT_TEAM_TIMEOUT_MS, 1, &err));
    W("destroyed", hpcboot_team_split(gone, 0, 0, &other, &err));
    W("destroyed", hpcboot_team_shrink(gone, &other, &err));
    W(NULL, hpcboot_team_size(gone));
    W("NULL", hpcboot_team_split(team, 0, 0, NULL, &err));
    W("team", hpcboot_team_split(NULL, 0, 0, &other, &err));
    W("twice", hpcboot_team_create(team, (int[]){0, 0}, 2, &other, &err));
    W("none of", hpcboot_team_create(team, (int[]){n}, 1, &other, &err));
    W("ranks is NULL", hpcboot_team_create(team, NULL, 1, &other, &err));
    W("empty", hpcboot_team_create(team, (int[]){0}, 0, &other, &err));
    W("NULL", hpcboot_team_shrink(team, NULL, &err));
    W("team", hpcboot_team_shrink(NULL, &other, &err));
    W("world", hpcboot_team_destroy(team, &err));
    W("node", hpcboot_team_destroy(hpcboot_node_team(), &err));
    W("no setting 9", hpcboot_team_set(team, (enum hpcboot_team_setting)9, 1,
                                       &err));
    W("TIMEOUT_MS cannot be -1",
      hpcboot_team_set(team, HPCBOOT_TEAM_TIMEOUT_MS, -1, &err));
    W(NULL, hpcboot_team_rank(NULL));
    W(NULL, hpcboot_team_world_rank(team, n));
    W(NULL, hpcboot_team_world_rank(team, -1));
    W(NULL, hpcboot_node_of(n));
    W(NULL, hpcboot_local_rank_of(-1));
    W(NULL, is(hpcboot_host_of(n) == NULL));
    W("no rank", hpcboot_transport_of(n, &transport, &err));
    W("TRANSPORT_INIT", hpcboot_transport_of(0, NULL, &err));
    W("key", hpcboot_put(HPCBOOT_SCOPE_JOB, NULL, a, 4, &err));
    W("key", hpcboot_get(0, "", &p, NULL, &err));
    W("scope", hpcboot_put((enum hpcboot_scope)7, "k", a, 4, &err));
    W("scope", hpcboot_fence((enum hpcboot_scope)7, 0, 0, &err));
    W("flag", hpcboot_fence(HPCBOOT_SCOPE_JOB, 0x80, 0, &err));
    W("negative", hpcboot_fence(HPCBOOT_SCOPE_JOB, 0, -1, &err));
    W("bytes", hpcboot_put(HPCBOOT_SCOPE_JOB, "k", a, HPCBOOT_VALUE_MAX + 1,
                           &err));
    W("no rank", hpcboot_get(n, "k", &p, NULL, &err));
    W("value is NULL", hpcboot_get(0, "k", NULL, NULL, &err));
    W("NULL", hpcboot_bind(NULL, &err));
    W("moon", hpcboot_bind("moon", &err));
    W("a CPU number below", hpcboot_bind("99999", &err));
    W("there are none of these", hpcboot_bind("1023", &err));
    W("the range's last CPU", hpcboot_bind("3-1", &err));
    W("before", hpcboot_init(NULL, &err));
}

/* What a collective does not take may be left from another call. */
static int runs_with_what_is_left(enum hpcboot_coll coll)
{
    struct hpcboot_coll_args left = HPCBOOT_COLL_ARGS_INIT;
    int scatters = coll == HPCBOOT_COLL_REDUCE_SCATTER;
    int folds = coll == HPCBOOT_COLL_REDUCE || scatters ||
                coll == HPCBOOT_COLL_ALLREDUCE ||
                coll == HPCBOOT_COLL_REDUCE_SCATTER_BLOCK ||
                coll == HPCBOOT_COLL_SCAN || coll == HPCBOOT_COLL_EXSCAN;

    left.coll = coll;
    left.type = coll == HPCBOOT_COLL_BARRIER ? NO_TYPE : T;
    left.count = scatters || coll == HPCBOOT_COLL_BARRIER ||
                 coll == HPCBOOT_COLL_ALLTOALLV ? MANY : 1;
    left.op = folds ? O : HPCBOOT_OP_USER + 77 + hpcboot_rank();
    left.send = a;
    left.recv = b;
    left.send_counts = left.recv_counts = ones;
    left.send_displs = displs;
    left.recv_displs = scatters ? huge : displs;
    return hpcboot_coll(team, &left, &err) == 0 &&
           hpcboot_coll_start(team, &left, &req, &err) == 0 &&
           hpcboot_wait(&req, 0, &err) == 0;
}

/* What is no mistake: nothing to wait for, and rows that are the root's. */
static void nothing_wrong(void)
{
    int me = hpcboot_rank();

    for (int coll = 0; coll < HPCBOOT_COLLS; coll++) {
        W(NULL, is(runs_with_what_is_left((enum hpcboot_coll)coll)));
    }
    W(NULL, is(hpcboot_wait_all(NULL, 0, 0, &err) == 0));
    W(NULL, is(hpcboot_wait_any(NULL, 0, 0, &size, &err) == 0 &&
               size == (size_t)-1));
    W(NULL, is(hpcboot_igatherv(b, 1, a, me == 0 ? ones : huge,
                                me == 0 ? displs : NULL, T, 0, team, &req,
                                &err) == 0 &&
               hpcboot_wait(&req, 0, &err) == 0));
}

/* An op of the user's: `arg` counts its calls. */
static void calling(const void *in, void *inout, size_t count,
                    enum hpcboot_type type, void *arg)
{
    const char *word = "must not call";

    W(word, hpcboot_barrier(team, &err));
    W(word, hpcboot_allreduce(a, b, 1, T, O, team, &err));
    W(word, hpcboot_coll(team, &args, &err));
    W(word, hpcboot_send(team, 0, 0, a, 4, &err));
    W(word, hpcboot_progress(&err));
    W(word, hpcboot_fence(HPCBOOT_SCOPE_JOB, 0, 0, &err));
    W(word, hpcboot_team_split(team, 0, 0, &other, &err));
    W(word, hpcboot_alloc(4, &p, &err));
    W(word, hpcboot_finalize(&err));
    ++*(int32_t *)arg;
}

static void in_an_op(void)
{
    int32_t calls = 0, all = 0, one = 1, sum;
    int op = hpcboot_op_create(calling, &calls, 0, 0, &err);

    W(NULL, is(hpcboot_allreduce(&one, &sum, 1, T, op, team, &err) == 0));
    W(NULL, is(hpcboot_allreduce(&calls, &all, 1, T, O, team, &err) == 0));
    W(NULL, is((all > 0) == (n > 1)));
    W(NULL, is(hpcboot_op_destroy(op, &err) == 0));
}

/* A fork is none of the job's ranks, and does not harm the one that it is of.
 */
static void in_a_child(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        W("forked", hpcboot_barrier(team, &err));
        W("forked", hpcboot_put(HPCBOOT_SCOPE_JOB, "k", a, 4, &err));
        W("forked", hpcboot_fence(HPCBOOT_SCOPE_JOB, 0, 0, &err));
        W("forked", hpcboot_finalize(&err));
        W(NULL, is(!hpcboot_is_initialized()));
        exit(0);
    }
    W(NULL, is(waitpid(pid, &status, 0) == pid && status == 0));
}

/* A program that a rank starts is none of the job's ranks either, though it has
 * the rank's environment. Alone, it is as alone as its parent. */
static int be_started(void)
{
    if (hpcboot_init(NULL, &err) == 0) {
        return hpcboot_size() == 1 && hpcboot_finalize(&err) == 0 ? 0 : 1;
    }
    fprintf(stderr, "started: %s\n", err.text);
    return err.text[0] == '\0';
}

static void in_a_program(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        execl("/proc/self/exe", "apimisuse", "started", (char *)NULL);
        exit(127);
    }
    W(NULL, is(waitpid(pid, &status, 0) == pid && status == 0));
    /* The launcher still serves its rank. */
    W(NULL, is(hpcboot_fence(HPCBOOT_SCOPE_JOB, 0, 0, &err) == 0));
}

int main(int argc, char **argv)
{
    for (int i = 0; i < N; i++) {
        ones[i] = 1;
        huge[i] = MANY;
        displs[i] = (size_t)i;
    }
    if (argc > 1 && strcmp(argv[1], "names") == 0) {
        names();
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "started") == 0) {
        return be_started();
    }
    outside("before hpcboot_init");
    options.timeout_ms = -1;
    W("the timeout is negative (-1 ms)", hpcboot_init(&options, &err));
    options.threads = (enum hpcboot_threads)7;
    W("threads is 7", hpcboot_init(&options, &err));
    options.struct_size = 1;
    W("INIT_OPTIONS_INIT", hpcboot_init(&options, &err));
    W("BOOTSTRAP_INIT", hpcboot_init_with(NULL, NULL, &err));
    options = (struct hpcboot_init_options)HPCBOOT_INIT_OPTIONS_INIT;
    options.threads = HPCBOOT_THREADS_MULTIPLE;
    if (hpcboot_init(argc > 1 ? &options : NULL, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    n = hpcboot_size();
    without_team();
    wrong_roots();
    wrong_counts();
    wrong_types_and_ops();
    wrong_buffers();
    wrong_general_form();
    wrong_peers_and_requests();
    wrong_teams_and_values();
    nothing_wrong();
    in_an_op();
    in_a_child();
    in_a_program();
    /* No error has been asked for, and after all of it the team is whole. */
    if (hpcboot_barrier(NULL, NULL) != HPCBOOT_ERR_USAGE ||
        hpcboot_barrier(team, NULL) < 0 || hpcboot_finalize(NULL) < 0) {
        fprintf(stderr, "the end is not as it should be\n");
        return 1;
    }
    outside("after hpcboot_finalize");
    return 0;
}
