/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The collectives by name, and the general form they all become. Arguments
 * are checked by the engine, which knows what each collective takes; here:
 * that there is a job and a team, and counts that are negative numbers in
 * disguise.
 *
 * Each row of the two tables at the end is one function: how it is declared
 * in hpcboot/coll.h, and which fields of the general form its parameters
 * fill. */
#include "config.h"

#include <stdint.h>

#include "lib/api/api.h"

static int check_count(const char *name, const struct hpcboot_coll_args *a,
                       struct hpcboot_error *err)
{
    return a->count <= PTRDIFF_MAX || !hb_coll_takes_count(a->coll)
               ? 0 : hb_fail(err, HPCBOOT_ERR_USAGE, "%s: the count is "
                             "negative (%lld)", name, (long long)a->count);
}

static int check_args(const struct hpcboot_coll_args *a, const char *name,
                      struct hpcboot_error *err)
{
    int rc = hb_api_sized("hpcboot_coll", "HPCBOOT_COLL_ARGS_INIT", a,
                          sizeof *a, err);

    if (rc == 0) {
        rc = hb_api_flags(name, a->flags, HPCBOOT_DETERMINISTIC, err);
    }
    return rc < 0 ? rc : hb_api_timeout(name, a->timeout_ms, err);
}

static int check(const struct hpcboot_team *team,
                 const struct hpcboot_coll_args *a, struct hpcboot_error *err)
{
    const char *name = a != NULL ? hb_coll_name(a->coll) : "hpcboot_coll";
    int rc = hb_api_team(name, team, err);

    if (rc == 0 &&
        __builtin_expect(a == NULL || a->struct_size != sizeof *a ||
                         (a->flags & ~(unsigned)HPCBOOT_DETERMINISTIC) ||
                         a->timeout_ms < 0, 0)) {
        rc = check_args(a, name, err);
    }
    return rc < 0 ? rc : check_count(name, a, err);
}

static int is_host(const struct hpcboot_coll_args *a)
{
    return hb_api_is_host(a->send) && hb_api_is_host(a->recv);
}

/* 1: *op is one of the user's; 0: none, which the call may not even take. */
static int find_op(const struct hpcboot_coll_args *a,
                   struct hb_coll_user_op *op, struct hpcboot_error *err)
{
    int rc;

    if (a->op < HPCBOOT_OP_USER || !hb_coll_takes_op(a->coll)) {
        return 0;
    }
    rc = hb_api_user_op(a->op, op, err);
    return rc < 0 ? rc : 1;
}

static int run_staged(struct hpcboot_team *team,
                      const struct hpcboot_coll_args *a,
                      const struct hb_coll_user_op *op,
                      struct hpcboot_error *err)
{
    struct hpcboot_coll_args host = *a;
    struct hb_api_stage *stage = NULL;
    int rc = hb_api_stage_coll(team, &host, op, &stage, err);

    if (rc == 0) {
        rc = hb_api_stage_begin(stage, err);
    }
    if (rc == 0) {
        rc = hb_coll_run(team->coll, &host, op, err);
    }
    if (rc == 0) {
        rc = hb_api_stage_end(stage, SIZE_MAX, err);
    }
    hb_api_stage_free(stage);
    return rc;
}

static int run(struct hpcboot_team *team, const struct hpcboot_coll_args *a,
               struct hpcboot_error *err)
{
    struct hb_coll_user_op op, *user = NULL;
    int rc = 0;

    if (__builtin_expect(!hb_api_is_ready() || team == NULL ||
                         team->coll == NULL || a->count > PTRDIFF_MAX, 0)) {
        rc = check(team, a, err);
    }
    if (__builtin_expect(rc == 0 && a->op >= HPCBOOT_OP_USER, 0)) {
        rc = find_op(a, &op, err);
        user = rc > 0 ? &op : NULL;
    }
    if (__builtin_expect(rc < 0, 0)) {
        return rc;
    }
    return __builtin_expect(is_host(a), 1)
               ? hb_coll_run(team->coll, a, user, err)
               : run_staged(team, a, user, err);
}

int hpcboot_coll(struct hpcboot_team *team,
                 const struct hpcboot_coll_args *args,
                 struct hpcboot_error *err)
{
    int rc = check(team, args, err);

    return rc < 0 ? rc : run(team, args, err);
}

static int init(struct hpcboot_team *team, const struct hpcboot_coll_args *a,
                struct hpcboot_request **out, struct hpcboot_error *err)
{
    struct hpcboot_coll_args host = *a;
    struct hb_coll_user_op op, *user = NULL;
    struct hb_coll_req *req = NULL;
    struct hb_api_stage *stage = NULL;
    int rc = find_op(a, &op, err);

    if (rc > 0) {
        user = &op;
        rc = 0;
    }
    if (rc == 0 && !is_host(a)) {
        rc = hb_api_stage_coll(team, &host, user, &stage, err);
    }
    if (rc == 0) {
        rc = hb_coll_init(team->coll, &host, user, &req, err);
    }
    if (rc < 0) {
        hb_api_stage_free(stage);
        return rc;
    }
    *out = hb_api_request_new(team);
    (*out)->coll = req;
    (*out)->stage = stage;
    (*out)->persistent = 1;
    return 0;
}

int hpcboot_coll_init(struct hpcboot_team *team,
                      const struct hpcboot_coll_args *args,
                      struct hpcboot_request **out,
                      struct hpcboot_error *err)
{
    int rc = check(team, args, err);

    if (rc == 0) {
        rc = hb_api_place(hb_coll_name(args->coll), "request", out, err);
    }
    return rc < 0 ? rc : init(team, args, out, err);
}

int hpcboot_coll_start(struct hpcboot_team *team,
                       const struct hpcboot_coll_args *args,
                       struct hpcboot_request **out,
                       struct hpcboot_error *err)
{
    struct hpcboot_request *r = NULL;
    int rc = out == NULL && team != NULL
                 ? hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_coll_start: the "
                           "place for the request is NULL")
                 : hpcboot_coll_init(team, args, &r, err);

    if (rc < 0) {
        return rc;
    }
    rc = hb_api_stage_begin(r->stage, err);
    if (rc == 0) {
        rc = hb_coll_start(r->coll, err);
    }
    if (rc < 0) {
        hb_api_request_destroy(r);
        return rc;
    }
    r->persistent = 0;
    r->active = 1;
    *out = r;
    return 0;
}

int hpcboot_barrier(struct hpcboot_team *team, struct hpcboot_error *err)
{
    int rc = 0;

    if (__builtin_expect(!hb_api_is_ready() || team == NULL ||
                         team->coll == NULL, 0)) {
        rc = hb_api_team("barrier", team, err);
    }
    return rc < 0 ? rc : hb_coll_barrier(team->coll, err);
}

int hpcboot_ibarrier(struct hpcboot_team *team, struct hpcboot_request **out,
                     struct hpcboot_error *err)
{
    const struct hpcboot_coll_args a = {.struct_size = sizeof a,
                                        .coll = HPCBOOT_COLL_BARRIER};

    return hpcboot_coll_start(team, &a, out, err);
}

/* name, NAME, (parameters before the team), fields */
#define COLLECTIVES(X)                                                       \
    X(bcast, BCAST,                                                          \
      (void *buffer, size_t count, enum hpcboot_type type, int root),        \
      .recv = buffer, .count = count, .type = type, .root = root)            \
    X(scatter, SCATTER,                                                      \
      (const void *send, void *recv, size_t count, enum hpcboot_type type,   \
       int root),                                                            \
      .send = send, .recv = recv, .count = count, .type = type,              \
      .root = root)                                                          \
    X(scatterv, SCATTERV,                                                    \
      (const void *send, const size_t *send_counts,                          \
       const size_t *send_displs, void *recv, size_t count,                  \
       enum hpcboot_type type, int root),                                    \
      .send = send, .send_counts = send_counts, .send_displs = send_displs,  \
      .recv = recv, .count = count, .type = type, .root = root)              \
    X(gather, GATHER,                                                        \
      (const void *send, void *recv, size_t count, enum hpcboot_type type,   \
       int root),                                                            \
      .send = send, .recv = recv, .count = count, .type = type,              \
      .root = root)                                                          \
    X(gatherv, GATHERV,                                                      \
      (const void *send, size_t count, void *recv,                           \
       const size_t *recv_counts, const size_t *recv_displs,                 \
       enum hpcboot_type type, int root),                                    \
      .send = send, .recv = recv, .count = count,                            \
      .recv_counts = recv_counts, .recv_displs = recv_displs, .type = type,  \
      .root = root)                                                          \
    X(allgather, ALLGATHER,                                                  \
      (const void *send, void *recv, size_t count, enum hpcboot_type type),  \
      .send = send, .recv = recv, .count = count, .type = type)              \
    X(allgatherv, ALLGATHERV,                                                \
      (const void *send, size_t count, void *recv,                           \
       const size_t *recv_counts, const size_t *recv_displs,                 \
       enum hpcboot_type type),                                              \
      .send = send, .recv = recv, .count = count,                            \
      .recv_counts = recv_counts, .recv_displs = recv_displs, .type = type)  \
    X(reduce, REDUCE,                                                        \
      (const void *send, void *recv, size_t count, enum hpcboot_type type,   \
       int op, int root),                                                    \
      .send = send, .recv = recv, .count = count, .type = type, .op = op,    \
      .root = root)                                                          \
    X(allreduce, ALLREDUCE,                                                  \
      (const void *send, void *recv, size_t count, enum hpcboot_type type,   \
       int op),                                                              \
      .send = send, .recv = recv, .count = count, .type = type, .op = op)    \
    X(reduce_scatter, REDUCE_SCATTER,                                        \
      (const void *send, void *recv, const size_t *recv_counts,              \
       enum hpcboot_type type, int op),                                      \
      .send = send, .recv = recv, .recv_counts = recv_counts, .type = type,  \
      .op = op)                                                              \
    X(reduce_scatter_block, REDUCE_SCATTER_BLOCK,                            \
      (const void *send, void *recv, size_t count, enum hpcboot_type type,   \
       int op),                                                              \
      .send = send, .recv = recv, .count = count, .type = type, .op = op)    \
    X(alltoall, ALLTOALL,                                                    \
      (const void *send, void *recv, size_t count, enum hpcboot_type type),  \
      .send = send, .recv = recv, .count = count, .type = type)              \
    X(alltoallv, ALLTOALLV,                                                  \
      (const void *send, const size_t *send_counts,                          \
       const size_t *send_displs, void *recv, const size_t *recv_counts,     \
       const size_t *recv_displs, enum hpcboot_type type),                   \
      .send = send, .send_counts = send_counts, .send_displs = send_displs,  \
      .recv = recv, .recv_counts = recv_counts,                              \
      .recv_displs = recv_displs, .type = type)                              \
    X(scan, SCAN,                                                            \
      (const void *send, void *recv, size_t count, enum hpcboot_type type,   \
       int op),                                                              \
      .send = send, .recv = recv, .count = count, .type = type, .op = op)    \
    X(exscan, EXSCAN,                                                        \
      (const void *send, void *recv, size_t count, enum hpcboot_type type,   \
       int op),                                                              \
      .send = send, .recv = recv, .count = count, .type = type, .op = op)

#define PARAMETERS(...) __VA_ARGS__
#define ARGS(NAME, ...)                                                      \
    const struct hpcboot_coll_args args = {                                  \
        .struct_size = sizeof args, .coll = HPCBOOT_COLL_##NAME, __VA_ARGS__ \
    }

#define BLOCKING(name, NAME, parameters, ...)                                \
    int hpcboot_##name(PARAMETERS parameters, struct hpcboot_team *team,     \
                       struct hpcboot_error *err)                            \
    {                                                                        \
        ARGS(NAME, __VA_ARGS__);                                             \
        return run(team, &args, err);                                        \
    }
#define STARTED(name, NAME, parameters, ...)                                 \
    int hpcboot_i##name(PARAMETERS parameters, struct hpcboot_team *team,    \
                        struct hpcboot_request **out,                        \
                        struct hpcboot_error *err)                           \
    {                                                                        \
        ARGS(NAME, __VA_ARGS__);                                             \
        return hpcboot_coll_start(team, &args, out, err);                    \
    }

COLLECTIVES(BLOCKING)
COLLECTIVES(STARTED)
