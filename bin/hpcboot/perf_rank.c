/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A rank of `hpcboot perf`: the calls of libhpcboot that perf_loop.c times.
 * An error of a call is the end of the rank, and so of the job. */

#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/hpcboot/perf.h"
#include "bin/job/verdict.h"
#include "hpcboot/hpcboot.h"
#include "lib/base/log.h"

#define PING_TAG 1
#define PAGE ((size_t)4096)

struct rank {
    int rank, size;
    struct hpcboot_team *team;
    size_t *counts; /* [size] of the calls with a count for each rank */
    double *room;   /* where means arrive */
    int n_room;
    size_t buffer;  /* bytes of each */
    int alloc;
    void *send, *recv;
};

static void must(int rc, const struct hpcboot_error *err)
{
    if (rc < 0) {
        hb_log(HB_ERROR, "perf: %s", err->text);
        _exit(rc == HPCBOOT_ERR_USAGE ? HB_EXIT_USAGE : HB_EXIT_INTERNAL);
    }
}

static int ping_pong(struct rank *r, const struct hb_perf_call *c,
                     struct hpcboot_error *err)
{
    int other = r->rank == 0 ? r->size - 1 : 0, rc = 0;

    if (r->rank == 0) {
        rc = hpcboot_send(r->team, other, PING_TAG, c->send, c->bytes, err);
        rc = rc < 0 ? rc : hpcboot_recv(r->team, other, PING_TAG, c->recv,
                                        c->bytes, NULL, err);
    } else if (r->rank == r->size - 1) {
        rc = hpcboot_recv(r->team, 0, PING_TAG, c->recv, c->bytes, NULL, err);
        rc = rc < 0 ? rc : hpcboot_send(r->team, 0, PING_TAG, c->recv,
                                        c->bytes, err);
    }
    return rc;
}

/* Calls with a count for each rank; all counts are n. */
static int call_counted(struct rank *r, const struct hb_perf_call *c,
                        enum hpcboot_type t, size_t n,
                        struct hpcboot_error *err)
{
    for (int i = 0; i < r->size; i++) {
        r->counts[i] = n;
    }
    switch (c->kind) {
    case HPCBOOT_COLL_SCATTERV:
        return hpcboot_scatterv(c->send, r->counts, NULL, c->recv, n, t, 0,
                                r->team, err);
    case HPCBOOT_COLL_GATHERV:
        return hpcboot_gatherv(c->send, n, c->recv, r->counts, NULL, t, 0,
                               r->team, err);
    case HPCBOOT_COLL_ALLGATHERV:
        return hpcboot_allgatherv(c->send, n, c->recv, r->counts, NULL, t,
                                  r->team, err);
    case HPCBOOT_COLL_REDUCE_SCATTER:
        return hpcboot_reduce_scatter(c->send, c->recv, r->counts, t,
                                      HPCBOOT_SUM, r->team, err);
    default:
        return hpcboot_alltoallv(c->send, r->counts, NULL, c->recv, r->counts,
                                 NULL, t, r->team, err);
    }
}

static int call(struct rank *r, const struct hb_perf_call *c,
                struct hpcboot_error *err)
{
    int words = c->bytes % sizeof(float) == 0;
    enum hpcboot_type t = words ? HPCBOOT_FLOAT : HPCBOOT_UINT8;
    size_t n = words ? c->bytes / sizeof(float) : c->bytes;
    struct hpcboot_team *team = r->team;

    switch (c->kind) {
    case HPCBOOT_COLL_BARRIER:
        return hpcboot_barrier(team, err);
    case HPCBOOT_COLL_BCAST:
        return hpcboot_bcast(c->recv, n, t, 0, team, err);
    case HPCBOOT_COLL_SCATTER:
        return hpcboot_scatter(c->send, c->recv, n, t, 0, team, err);
    case HPCBOOT_COLL_GATHER:
        return hpcboot_gather(c->send, c->recv, n, t, 0, team, err);
    case HPCBOOT_COLL_ALLGATHER:
        return hpcboot_allgather(c->send, c->recv, n, t, team, err);
    case HPCBOOT_COLL_REDUCE:
        return hpcboot_reduce(c->send, c->recv, n, t, HPCBOOT_SUM, 0, team,
                              err);
    case HPCBOOT_COLL_ALLREDUCE:
        return hpcboot_allreduce(c->send, c->recv, n, t, HPCBOOT_SUM, team,
                                 err);
    case HPCBOOT_COLL_REDUCE_SCATTER_BLOCK:
        return hpcboot_reduce_scatter_block(c->send, c->recv, n, t,
                                            HPCBOOT_SUM, team, err);
    case HPCBOOT_COLL_ALLTOALL:
        return hpcboot_alltoall(c->send, c->recv, n, t, team, err);
    case HPCBOOT_COLL_SCAN:
        return hpcboot_scan(c->send, c->recv, n, t, HPCBOOT_SUM, team, err);
    case HPCBOOT_COLL_EXSCAN:
        return hpcboot_exscan(c->send, c->recv, n, t, HPCBOOT_SUM, team, err);
    case HB_PERF_PINGPONG:
        return ping_pong(r, c, err);
    default:
        return call_counted(r, c, t, n, err);
    }
}

static void call_op(void *ctx, const struct hb_perf_call *c)
{
    struct hpcboot_error err;

    must(call(ctx, c, &err), &err);
}

static void mean_op(void *ctx, double *values, int n)
{
    struct rank *r = ctx;
    struct hpcboot_error err;

    if (n > r->n_room) {
        r->room = hb_xrealloc(r->room, (size_t)n * sizeof *r->room);
        r->n_room = n;
    }
    must(hpcboot_allreduce(values, r->room, (size_t)n, HPCBOOT_DOUBLE,
                           HPCBOOT_AVG, r->team, &err), &err);
    memcpy(values, r->room, (size_t)n * sizeof *values);
}

static void *take(size_t bytes)
{
    struct hpcboot_error err;
    void *p = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);

    if (p == NULL) {
        must(hb_fail(&err, HPCBOOT_ERR_NOMEM, "no memory for a buffer of %zu "
                     "bytes", bytes), &err);
    }
    return p;
}

/* Buffers grow with the rows, each time anew: as large as is used. */
static void take_buffers(struct rank *r, size_t bytes)
{
    struct hpcboot_error err;

    if (bytes <= r->buffer) {
        return;
    }
    if (r->alloc) {
        hpcboot_free(r->send);
        hpcboot_free(r->recv);
        must(hpcboot_alloc(bytes, &r->send, &err), &err);
        must(hpcboot_alloc(bytes, &r->recv, &err), &err);
    } else {
        free(r->send);
        free(r->recv);
        r->send = take(bytes);
        r->recv = take(bytes);
    }
    r->buffer = bytes;
}

/* Why a row cannot be measured here, or NULL. */
static const char *obstacle(const struct rank *r,
                            const struct hb_perf_plan *plan,
                            const struct hb_perf_item *item)
{
    if (hb_perf_room(item->kind, item->bytes, r->size) > plan->most_bytes) {
        return "its buffers are larger than --most";
    }
    return item->kind == HB_PERF_PINGPONG && r->size < 2
               ? "it takes two ranks" : NULL;
}

/* Said once for the sizes of a collective, which follow each other. */
static void leave_out(const struct hb_perf_plan *plan, size_t i,
                      const char *why, int *told)
{
    if (*told != plan->v[i].kind) {
        hb_log(HB_WARN, "perf: %s is left out from %zu bytes on: %s",
               hb_perf_name(plan->v[i].kind), plan->v[i].bytes, why);
    }
    *told = plan->v[i].kind;
}

/* The exit status: of the line where it leaves no row to measure. */
static int measure(struct rank *r, const struct hb_perf_plan *plan,
                    struct hb_perf_view *view)
{
    static const struct hb_perf_ops ops = {.call = call_op, .mean = mean_op};
    size_t n_rows = 0;
    int told = -1;

    for (size_t i = 0; i < plan->n; i++) {
        const struct hb_perf_item *item = &plan->v[i];
        const char *why = obstacle(r, plan, item);
        size_t room = hb_perf_room(item->kind, item->bytes, r->size);
        struct hb_perf_call c = {.kind = item->kind, .bytes = item->bytes,
                                 .rank = r->rank, .size = r->size,
                                 .sync = plan->sync};
        struct hb_perf_row row;

        if (why != NULL && r->rank == 0) {
            leave_out(plan, i, why, &told);
        }
        if (why != NULL) {
            continue;
        }
        take_buffers(r, room > 0 ? room : 1);
        c.send = r->send;
        c.recv = r->recv;
        hb_perf_measure(&ops, r, &c, plan->time_us, &row);
        n_rows++;
        if (r->rank == 0) {
            hb_perf_view_add(view, &row);
        }
    }
    if (n_rows == 0 && r->rank == 0) {
        hb_log(HB_ERROR, "perf: nothing is left to measure");
    }
    return n_rows > 0 ? 0 : HB_EXIT_USAGE;
}

static int pin(const struct rank *r)
{
    if (hb_perf_pin(r->rank) != 0) {
        hb_log(HB_ERROR, "perf: rank %d cannot be bound to a CPU: %s",
               r->rank, strerror(errno));
        return HB_EXIT_INTERNAL;
    }
    return 0;
}

static int is_of_size(const struct rank *r, uint64_t wanted)
{
    if (wanted != 0 && wanted != (uint64_t)r->size && r->rank == 0) {
        hb_log(HB_ERROR, "perf: -n %llu: this is a job of %d ranks, which its "
               "launcher has started; how many is said to that",
               (unsigned long long)wanted, r->size);
    }
    return wanted == 0 || wanted == (uint64_t)r->size;
}

int hb_perf_rank(const struct hb_perf_plan *plan, struct hb_perf_view *view)
{
    struct rank r = {.alloc = plan->alloc};
    struct hpcboot_error err;
    int status = 0;

    must(hpcboot_init(NULL, &err), &err);
    r.rank = hpcboot_rank();
    r.size = hpcboot_size();
    r.team = hpcboot_world();
    r.counts = hb_xcalloc((size_t)r.size, sizeof *r.counts);
    if (!is_of_size(&r, plan->ranks)) {
        status = HB_EXIT_USAGE;
    } else if (plan->pin) {
        status = pin(&r);
    }
    if (status == 0) {
        status = measure(&r, plan, view);
    }
    must(hpcboot_finalize(&err), &err);
    free(r.counts);
    free(r.room);
    if (!plan->alloc) {
        free(r.send);
        free(r.recv);
    }
    return status != 0 || r.rank != 0 ? status : hb_perf_view_end(view);
}
