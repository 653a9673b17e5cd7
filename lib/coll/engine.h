/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_ENGINE_H
#define HB_COLL_ENGINE_H

/* A request, as engine.c and team.c know it. */

#include "lib/coll/impl.h"

struct hb_coll_req {
    struct hb_coll_engine *engine;
    struct hb_coll_team *team;
    struct hb_coll_req *next; /* of the team, in the order of starting */
    struct hpcboot_coll_args args;
    struct hb_coll_user_op user;
    struct hb_op op;
    enum hpcboot_coll call; /* as the user knows it: what a check is for */
    uint64_t number;        /* of that call, on the team */
    bool under_way;
    bool orphan; /* destroyed while under way */
    int result;
    /* check.c: what the others have said of the call that follows is looked at;
     * an error is the team's. */
    int (*judge)(struct hb_coll_req *r, struct hpcboot_error *err);
    void *sides; /* owned */
};

/* check.c: a request that compares the call of `r` over the team; it goes
 * before r and is freed when it is done. */
int hb_check_make(const struct hb_coll_req *r, struct hb_coll_req **out,
                  struct hpcboot_error *err);

#endif
