/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_ENGINE_H
#define HB_COLL_ENGINE_H

/* What engine.c, request.c, check.c and team.c share: the engine's lock, and
 * requests. */

#include "lib/coll/impl.h"

struct hb_coll_req {
    struct hb_coll_engine *engine;
    struct hb_coll_team *team;
    struct hb_coll_req *next; /* of the team, in the order of starting */
    struct hpcboot_coll_args args;
    struct hb_coll_user_op user;
    struct hb_op op;
    int call;        /* as the user knows it: what a check is for */
    uint64_t number;        /* of that call, on the team */
    bool under_way;
    bool orphan; /* destroyed while under way */
    int result;
    /* check.c: what the others have said of the call that follows is looked at;
     * an error is the team's. */
    int (*judge)(struct hb_coll_req *r, struct hpcboot_error *err);
    void *sides; /* owned */
    size_t *rows; /* owned: the arrays of args */
};

static inline void hb_engine_enter(struct hb_coll_engine *e)
{
    if (e->locking) {
        pthread_mutex_lock(&e->lock);
    }
}

static inline int hb_engine_leave(struct hb_coll_engine *e, int rc)
{
    if (e->locking) {
        pthread_mutex_unlock(&e->lock);
    }
    return rc;
}

/* Whether calls are compared, by a call of their own before each. */
static inline bool hb_team_is_checked(const struct hb_coll_team *t)
{
    return t->engine->config.check && t->size > 1;
}

/* engine.c */
/* Takes the team's requests as far as they go; > 0: one was completed. */
int hb_team_advance(struct hb_coll_team *t);
/* When a call that begins now is late; 0: never. */
int64_t hb_team_deadline(const struct hb_coll_team *t, int timeout_ms);
/* One more call is begun. */
void hb_team_count_call(struct hb_coll_team *t, const struct hb_op *op);

/* request.c */
/* The team has no request left: the engine forgets it. */
void hb_team_unlist(struct hb_coll_team *t);
/* The outcome of a run; a request that nobody asks for any more is freed. */
void hb_req_complete(struct hb_coll_req *r, int rc);
/* A blocking call while requests are under way on its team. */
int hb_req_run(struct hb_coll_team *t, const struct hpcboot_coll_args *args,
               const struct hb_coll_user_op *user, struct hpcboot_error *err);

/* check.c: a request that compares the call of `r` over the team; it goes
 * before r and is freed when it is done. */
int hb_check_make(const struct hb_coll_req *r, struct hb_coll_req **out,
                  struct hpcboot_error *err);
/* As struct hb_coll_made has it: the low bits of a sign, and all of a root. */
uint64_t hb_op_sign(const struct hb_op *op);

/* Whether there may be messages to look after while waiting. */
static inline bool hb_engine_has_messages(const struct hb_coll_engine *e)
{
    return e->config.progress != NULL &&
           (!e->config.node_only ||
            atomic_load_explicit(&e->page->messages, memory_order_relaxed));
}

#endif
