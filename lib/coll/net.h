/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_NET_H
#define HB_COLL_NET_H

/* Carrying schedules out, for teams that span nodes. */

#include "lib/coll/impl.h"
#include "lib/coll/sched.h"

/* What a schedule follows from, as far as it differs between the calls of a
 * team. Compared as bytes. */
struct hb_net_key {
    size_t bytes, total, esize;
    int coll, root;
    uint32_t flags; /* ordered, same_bits, scales, in_place, folds_on */
    uint32_t unused;
};

#define HB_NET_KEPT 8

/* Of a team: made once, and schedules that have been made. */
struct hb_net_team {
    struct hb_layout layout;
    struct hb_wish wish;
    struct hb_model model;
    struct hb_net_kept {
        struct hb_net_key key;
        struct hb_sched sched;
        int users;
        bool valid;
    } kept[HB_NET_KEPT];
    unsigned next;
    char *room; /* for one call at a time; NULL while it is used */
    size_t room_size;
};

struct hb_net_op {
    struct hb_coll_team *team;
    const struct hb_sched *sched;
    struct hb_sched own;      /* of a call that is not kept */
    struct hb_net_kept *kept; /* whose users this is one of */
    char *base[HB_MEMS];
    char *room;
    size_t room_size;
    char *divided;            /* what is sent, as parts of an average */
    int at;                   /* the step that comes next */
    struct hb_net_sent {      /* messages under way, in order of steps */
        void *req;
        int step;
    } *sent;
    int first, end, sent_room;
    unsigned looks;
    uint64_t tag;
    struct hb_op local;       /* the step that is LOCAL, once begun */
    bool local_begun;
    size_t *rows;             /* of its blocks */
};

/* The call as its schedule follows from it; net_team is made. */
struct hb_call hb_net_call_of(struct hb_coll_team *t, const struct hb_op *op);

/* net_local.c: takes a LOCAL step as far as it goes. */
int hb_net_local(struct hb_coll_team *t, struct hb_op *op,
                 struct hb_net_op *n, const struct hb_step *s);

#endif
