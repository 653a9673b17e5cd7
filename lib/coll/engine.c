/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Engines and teams: who may wait for what, in which order.
 *
 * Requests of a team run one after the other, in the order in which they were
 * started, which is the same at all ranks; `advance` takes the first as far
 * as it goes, and the next when it is done. Teams with requests under way are
 * in the engine's list, and every wait moves them all on. A blocking call on
 * a team without requests runs in place, without a request; otherwise it
 * waits for its turn like any other. How requests are made, started and
 * waited for is in request.c.
 *
 * An error other than one of usage ends the team: its rounds no longer agree
 * with its peers'. All its requests fail with that error. */

#include "config.h"

#include "lib/coll/engine.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"

void hb_coll_node_changed(struct hb_coll_node_page *page)
{
    atomic_fetch_add(&page->changes, 1);
}

int hb_coll_create(const struct hb_coll_config *config,
                   struct hb_coll_engine **engine_out,
                   struct hpcboot_error *err)
{
    int rc = hb_net_check_wish(config->net_wish, err);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    struct hb_coll_engine *e =
        aligned_alloc(_Alignof(struct hb_coll_engine),
                      (sizeof *e + 127) / 128 * 128);
    if (e == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM,
                       "no memory for the engine of collectives");
    }
    memset(e, 0, sizeof *e);
    e->config = *config;
    e->page = config->page != NULL ? config->page : &e->own_page;
    e->model = hb_model_shared(e->page);
    e->locking = config->threads;
    pthread_mutex_init(&e->lock, NULL);
    hb_wait_setup(e);
    hb_cma_setup(e);
    *engine_out = e;
    return HPCBOOT_OK;
}

void hb_coll_destroy(struct hb_coll_engine *engine)
{
    if (engine != NULL) {
        hb_wait_teardown(engine);
        pthread_mutex_destroy(&engine->lock);
        free(engine);
    }
}

int hb_team_fail(struct hb_coll_team *t, const struct hpcboot_error *why,
                 struct hpcboot_error *err)
{
    if (t->error.code == 0) {
        t->error = *why;
        if (t->ranks != NULL) {
            hb_cma_leave(t);
        }
    }
    struct hb_coll_req *r = t->first;
    if (r != NULL) {
        hb_team_unlist(t);
    }
    while (r != NULL) {
        struct hb_coll_req *next = r->next;
        hb_req_complete(r, t->error.code);
        r = next;
    }
    return hb_coll_team_error(t, err);
}

int hb_coll_team_error(const struct hb_coll_team *team,
                       struct hpcboot_error *err)
{
    if (err != NULL && team->error.code != 0) {
        *err = team->error;
    }
    return team->error.code;
}

int hb_team_alive(struct hb_coll_team *t, struct hpcboot_error *err)
{
    struct hb_coll_engine *e = t->engine;
    uint32_t now = atomic_load_explicit(&e->page->changes,
                                        memory_order_acquire);
    if (t->error.code != 0) { /* another thread has ended it */
        return hb_coll_team_error(t, err);
    }
    if (HB_LIKELY(now == t->changes_seen) || e->config.alive == NULL) {
        return HPCBOOT_OK;
    }
    struct hpcboot_error why = {0};
    int rc = e->config.alive(e->config.ctx, t->ctx, &why);
    if (rc >= 0) {
        t->changes_seen = rc == 0 ? now : t->changes_seen;
        return HPCBOOT_OK;
    }
    why.code = rc;
    return hb_team_fail(t, &why, err);
}

static HB_COLD int step_failed(struct hb_coll_team *t, struct hb_op *op,
                               int rc, struct hpcboot_error *err)
{
    struct hpcboot_error why = t->step_error;
    if (rc == HB_MISMATCH || rc == HB_LENGTHS) {
        hb_call_found(t, op, rc, &why);
    }
    return hb_team_fail(t, &why, err);
}

/* A step's answer: 1 done, 0 not yet, < 0 the team has failed. */
static inline int step(struct hb_coll_team *t, struct hb_op *op,
                       struct hpcboot_error *err)
{
    int rc = op->step(t, op);
    if (HB_LIKELY(rc == HPCBOOT_OK)) {
        if (op->finish != NULL) {
            op->finish(t, op);
        }
        return 1;
    }
    return rc == HB_AGAIN ? 0 : step_failed(t, op, rc, err);
}

int hb_team_call(const struct hb_coll_team *t, const struct hb_op *op)
{
    return t->first != NULL ? t->first->call
                            : hb_call_of(op->coll, op->flags);
}

static int late(struct hb_coll_team *t, struct hb_op *op, int call,
                struct hpcboot_error *err)
{
    struct hb_coll_engine *e = t->engine;
    struct hpcboot_error why = {0};
    if (e->config.alive == NULL ||
        e->config.alive(e->config.ctx, t->ctx, &why) == 0) {
        (void)hb_wait_late(t, op, call, "its", &why);
    }
    return hb_team_fail(t, &why, err);
}

/* The first request whose deadline has passed, wherever it stands in the row:
 * what it waits for is what the first one waits for. */
static struct hb_coll_req *late_one(struct hb_coll_team *t)
{
    int64_t now, soonest = 0;
    if (t->soonest_ns == 0 || (now = hb_now_ns()) <= t->soonest_ns) {
        return NULL;
    }
    for (struct hb_coll_req *r = t->first; r != NULL; r = r->next) {
        if (r->op.deadline_ns > 0 && r->op.deadline_ns < now) {
            return r;
        }
        soonest = hb_sooner(soonest, r->op.deadline_ns);
    }
    t->soonest_ns = soonest; /* the one it was of is over */
    return NULL;
}

int hb_team_advance(struct hb_coll_team *t)
{
    int completed = 0;
    while (t->first != NULL) {
        struct hb_coll_req *r = t->first;
        uint64_t before = t->round + t->moves;
        struct hb_coll_req *overdue = late_one(t); /* looked at once more */
        int rc = step(t, &r->op, NULL);
        if (rc < 0) {
            return 1;
        }
        if (rc == 0) {
            completed += t->round + t->moves != before;
            if (hb_team_alive(t, NULL) == HPCBOOT_OK && overdue != NULL) {
                late(t, &r->op, overdue->call, NULL);
            }
            return completed;
        }
        t->first = r->next;
        if (t->first == NULL) {
            hb_team_unlist(t);
        }
        struct hpcboot_error why = {0};
        bool good = r->judge == NULL || r->judge(r, &why) == HPCBOOT_OK;
        hb_req_complete(r, HPCBOOT_OK);
        if (!good) {
            hb_team_fail(t, &why, NULL);
            return 1;
        }
        completed++;
    }
    return completed;
}

int hb_engine_progress(struct hb_coll_engine *e)
{
    int moved = 0;
    if (hb_engine_has_messages(e)) {
        moved = e->config.progress(e->config.ctx);
    }
    for (struct hb_coll_team *t = e->active, *next; t != NULL; t = next) {
        next = t->next_active;
        moved += hb_team_advance(t);
    }
    return moved;
}

int hb_coll_progress(struct hb_coll_engine *engine)
{
    hb_engine_enter(engine);
    return hb_engine_leave(engine, hb_engine_progress(engine));
}

int hb_coll_progress_if_any(struct hb_coll_engine *engine)
{
    hb_engine_enter(engine);
    bool any = engine->active != NULL || hb_engine_has_messages(engine);
    return hb_engine_leave(engine, any ? hb_engine_progress(engine) : -1);
}

int hb_coll_progress_requests(struct hb_coll_engine *engine)
{
    hb_engine_enter(engine);
    bool any = engine->active != NULL;
    return hb_engine_leave(engine, any ? hb_engine_progress(engine) : 0);
}

int64_t hb_team_deadline(const struct hb_coll_team *t, int timeout_ms)
{
    int64_t ms = timeout_ms > 0 ? timeout_ms : t->timeout_ms;
    return ms > 0 ? hb_now_ns() + ms * 1000000 : 0;
}

void hb_team_count_call(struct hb_coll_team *t, const struct hb_op *op)
{
    t->calls++;
    atomic_store_explicit(&t->ranks[t->me].calls, t->calls,
                          memory_order_relaxed);
    if (t->nodes > 1) {
        t->made[t->calls % HB_MADE] =
            (struct hb_coll_made){hb_op_sign(op), op->loose ? 0 : op->word};
    }
}

/* The slow half of a blocking call: peers have not come. */
static HB_COLD int run_waiting(struct hb_coll_team *t, struct hb_op *op,
                               struct hpcboot_error *err)
{
    struct hb_wait w = {.deadline_ns = op->deadline_ns};
    int rc = 0;
    t->running = op;
    while (rc == 0) {
        rc = hb_wait_pause(&w, t->engine, t, err);
        if (rc == HPCBOOT_ERR_TIMED_OUT && t->error.code == 0) {
            rc = late(t, op, hb_team_call(t, op), err);
        }
        uint64_t before = t->round + t->moves;
        rc = rc == HPCBOOT_OK ? step(t, op, err) : rc;
        if (t->round + t->moves != before) {
            w.began_ns = w.since_ns = 0; /* another, which may be short */
        }
    }
    t->running = NULL;
    hb_wait_over(t->engine);
    return rc < 0 ? rc : HPCBOOT_OK;
}

static struct hb_op *kept_for(struct hb_coll_team *t,
                              const struct hpcboot_coll_args *a)
{
    return &t->kept[(unsigned)a->coll % HB_KEPT];
}

/* A call that is not the one before again. */
static HB_COLD int set_up(struct hb_coll_team *t, struct hb_op *op,
                          const struct hpcboot_coll_args *args,
                          const struct hb_coll_user_op *user,
                          struct hpcboot_error *err)
{
    int rc = hb_args_check(t, args, user, err);
    return rc == HPCBOOT_OK ? hb_op_setup(t, op, args, user, err) : rc;
}

static int run(struct hb_coll_team *t, const struct hpcboot_coll_args *args,
               const struct hb_coll_user_op *user, struct hpcboot_error *err)
{
    if (t->error.code != 0) {
        return hb_coll_team_error(t, err);
    }
    if (t->first != NULL || hb_team_is_checked(t)) {
        return hb_req_run(t, args, user, err);
    }
    struct hb_op *op = kept_for(t, args);
    int rc = hb_op_again(op, args) ? HPCBOOT_OK
                                   : set_up(t, op, args, user, err);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    op->deadline_ns = hb_team_deadline(t, args->timeout_ms);
    hb_team_count_call(t, op);
    if (__builtin_expect(op->spill != NULL, 0)) {
        hb_spill_begin(op);
    }
    rc = step(t, op, err);
    rc = rc > 0 ? HPCBOOT_OK : rc < 0 ? rc : run_waiting(t, op, err);
    if (__builtin_expect(op->spill != NULL && rc == HPCBOOT_OK, 0)) {
        hb_spill_end(op);
    }
    if (!op->again.kept) {
        hb_op_clear(op);
    }
    return rc;
}

int hb_coll_run(struct hb_coll_team *team,
                const struct hpcboot_coll_args *args,
                const struct hb_coll_user_op *user,
                struct hpcboot_error *err)
{
    if (HB_LIKELY(!team->engine->locking)) {
        return run(team, args, user, err);
    }
    hb_engine_enter(team->engine);
    return hb_engine_leave(team->engine, run(team, args, user, err));
}

int hb_coll_barrier(struct hb_coll_team *team, struct hpcboot_error *err)
{
    static const struct hpcboot_coll_args barrier = {
        .struct_size = sizeof barrier, .coll = HPCBOOT_COLL_BARRIER};
    return hb_coll_run(team, &barrier, NULL, err);
}

int hb_coll_wait_until(struct hb_coll_engine *engine, int (*ready)(void *arg),
                       void *arg, int64_t deadline_ns,
                       struct hpcboot_error *err)
{
    struct hb_wait w = {.deadline_ns = deadline_ns == HB_NEVER ? 0
                                                               : deadline_ns};
    w.polled = w.deadline_ns != 0;
    for (;;) {
        int rc = ready(arg);
        if (rc == HB_COLL_MOVED) {
            w.began_ns = 0;
            rc = 0;
        }
        if (rc == 0) {
            hb_engine_enter(engine);
            rc = hb_engine_leave(engine, hb_wait_pause(&w, engine, NULL, err));
        }
        if (rc != HPCBOOT_OK) {
            hb_engine_enter(engine);
            hb_wait_over(engine);
            return hb_engine_leave(engine, rc);
        }
    }
}
