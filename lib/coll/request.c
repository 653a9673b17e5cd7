/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Requests: calls that are begun now and waited for later, once or again and
 * again. Started, a request stands last in its team's row, and its team in
 * the engine's list; engine.c moves both on. A call that others are compared
 * for (HPCBOOT_CHECK) has a request before it that does so. */

#include "config.h"

#include "lib/coll/engine.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/error.h"

/* Teams with requests under way; the list is short. */
static void enlist(struct hb_coll_team *t, struct hb_coll_req *r)
{
    if (t->first == NULL) {
        t->first = r;
        t->next_active = t->engine->active;
        t->engine->active = t;
    } else {
        t->last->next = r;
    }
    t->last = r;
    r->next = NULL;
    t->soonest_ns = hb_sooner(t->soonest_ns, r->op.deadline_ns);
}

void hb_team_unlist(struct hb_coll_team *t)
{
    struct hb_coll_team **at = &t->engine->active;
    while (*at != NULL && *at != t) {
        at = &(*at)->next_active;
    }
    if (*at == t) {
        *at = t->next_active;
    }
    t->first = t->last = NULL;
    t->soonest_ns = 0;
}

static void req_free(struct hb_coll_req *r)
{
    hb_op_clear(&r->op);
    free(r->sides);
    free(r->rows);
    free(r);
}

void hb_req_complete(struct hb_coll_req *r, int rc)
{
    hb_op_clear(&r->op);
    r->under_way = false;
    r->result = rc;
    if (r->orphan) {
        req_free(r);
    }
}

/* What was checked is what runs, at each start, whatever becomes of the
 * caller's arrays. */
static int keep_rows(struct hb_coll_req *r, struct hpcboot_error *err)
{
    const size_t **rows[4];
    size_t size = (size_t)r->team->size;
    int n = hb_args_rows(r->team, &r->args, rows);

    if (n == 0) {
        return HPCBOOT_OK;
    }
    r->rows = malloc((size_t)n * size * sizeof *r->rows);
    if (r->rows == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for a request");
    }
    for (int i = 0; i < n; i++) {
        if (*rows[i] != NULL) {
            *rows[i] = memcpy(r->rows + (size_t)i * size, *rows[i],
                              size * sizeof *r->rows);
        }
    }
    return HPCBOOT_OK;
}

int hb_coll_init(struct hb_coll_team *team,
                 const struct hpcboot_coll_args *args,
                 const struct hb_coll_user_op *user,
                 struct hb_coll_req **req_out, struct hpcboot_error *err)
{
    int rc = hb_args_check(team, args, user, err);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    struct hb_coll_req *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for a request");
    }
    r->team = team;
    r->engine = team->engine;
    r->args = *args;
    r->call = hb_call_of(args->coll, args->flags);
    if (user != NULL) {
        r->user = *user;
    }
    rc = keep_rows(r, err);
    if (rc != HPCBOOT_OK) {
        req_free(r);
        return rc;
    }
    *req_out = r;
    return HPCBOOT_OK;
}

static int start(struct hb_coll_req *r, struct hpcboot_error *err);

static int start_check(struct hb_coll_req *r, struct hpcboot_error *err)
{
    struct hb_coll_req *check = NULL;
    int rc = hb_check_make(r, &check, err);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    check->orphan = true;
    rc = start(check, err);
    if (rc != HPCBOOT_OK) {
        req_free(check);
        return rc;
    }
    return hb_coll_team_error(r->team, err);
}

static int start(struct hb_coll_req *r, struct hpcboot_error *err)
{
    struct hb_coll_team *t = r->team;
    if (r->under_way) {
        return hb_fail(err, HPCBOOT_ERR_USAGE,
                       "%s: the request is under way already",
                       hb_coll_name(r->args.coll));
    }
    if (t->error.code != 0) {
        return hb_coll_team_error(t, err);
    }
    int rc = r->judge == NULL && hb_team_is_checked(t)
                 ? start_check(r, err) : HPCBOOT_OK;
    if (rc == HPCBOOT_OK) {
        rc = hb_op_setup(t, &r->op, &r->args, &r->user, err);
    }
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    r->number = t->calls + 1;
    if (r->judge == NULL) {
        hb_team_count_call(t, &r->op);
    }
    r->op.deadline_ns = hb_team_deadline(t, r->args.timeout_ms);
    r->under_way = true;
    r->result = HPCBOOT_OK;
    bool first = t->first == NULL;
    enlist(t, r);
    if (first) {
        hb_team_advance(t);
    }
    return HPCBOOT_OK;
}

int hb_coll_start(struct hb_coll_req *req, struct hpcboot_error *err)
{
    hb_engine_enter(req->team->engine);
    return hb_engine_leave(req->team->engine, start(req, err));
}

static int outcome(const struct hb_coll_req *r, struct hpcboot_error *err)
{
    return r->result == HPCBOOT_OK ? 1 : hb_coll_team_error(r->team, err);
}

int hb_coll_test(struct hb_coll_req *req, struct hpcboot_error *err)
{
    struct hb_coll_engine *e = req->team->engine;
    hb_engine_enter(e);
    if (req->under_way) {
        hb_engine_progress(e);
    }
    return hb_engine_leave(e, req->under_way ? 0 : outcome(req, err));
}

bool hb_coll_under_way(const struct hb_coll_req *req)
{
    hb_engine_enter(req->engine);
    return hb_engine_leave(req->engine, req->under_way) != 0;
}

static int wait_late(struct hb_coll_req *r, struct hpcboot_error *err)
{
    struct hb_coll_team *t = r->team;
    return hb_wait_late(t, t->first != NULL ? &t->first->op : &r->op, r->call,
                        "the wait's", err);
}

int hb_coll_late(struct hb_coll_req *req, struct hpcboot_error *err)
{
    hb_engine_enter(req->engine);
    return hb_engine_leave(req->engine, wait_late(req, err));
}

static int wait_for(struct hb_coll_req *r, int64_t deadline_ns,
                    struct hpcboot_error *err)
{
    struct hb_coll_team *t = r->team;
    struct hb_wait w = {.deadline_ns = deadline_ns == HB_NEVER ? 0
                                                               : deadline_ns,
                        .polled = deadline_ns != 0 && deadline_ns != HB_NEVER};
    if (r->under_way) {
        hb_engine_progress(t->engine);
    }
    while (r->under_way) {
        int rc = hb_wait_pause(&w, t->engine, t, err);
        if (rc != HPCBOOT_OK && r->under_way) {
            hb_wait_over(r->engine);
            return rc == HPCBOOT_ERR_TIMED_OUT ? wait_late(r, err) : rc;
        }
        if (r->under_way && hb_team_advance(t) > 0) {
            w.began_ns = w.since_ns = 0;
        }
    }
    hb_wait_over(r->engine);
    int rc = outcome(r, err);
    return rc > 0 ? HPCBOOT_OK : rc;
}

int hb_coll_wait(struct hb_coll_req *req, int64_t deadline_ns,
                 struct hpcboot_error *err)
{
    hb_engine_enter(req->team->engine);
    return hb_engine_leave(req->team->engine, wait_for(req, deadline_ns, err));
}

int hb_req_run(struct hb_coll_team *t, const struct hpcboot_coll_args *args,
               const struct hb_coll_user_op *user, struct hpcboot_error *err)
{
    struct hb_coll_req *r = NULL;
    int rc = hb_coll_init(t, args, user, &r, err);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    rc = start(r, err);
    if (rc == HPCBOOT_OK) {
        rc = wait_for(r, 0, err);
    }
    req_free(r);
    return rc;
}

void hb_coll_req_destroy(struct hb_coll_req *req)
{
    if (req == NULL) {
        return;
    }
    struct hb_coll_engine *e = req->engine; /* the team may be gone */
    hb_engine_enter(e);
    if (req->under_way) {
        req->orphan = true;
    } else {
        req_free(req);
    }
    hb_engine_leave(e, 0);
}
