/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_NET_H
#define HB_COLL_NET_H

/* Schedules: a collective of a team that spans nodes, as the row of steps
 * that this rank takes. */

#include "lib/coll/impl.h"

enum hb_net_kind {
    HB_NET_SEND,   /* `from` to peer, under way until the next WAIT */
    HB_NET_RECV,   /* from peer, to `to` */
    HB_NET_WAIT,   /* for all messages under way */
    HB_NET_COPY,
    HB_NET_FOLD,   /* to = from op to: `from` is of lower ranks */
    HB_NET_FOLD_R, /* to = to op from: `from` is of higher ranks */
    HB_NET_FOLD_ALL, /* to = from[0] op from[1] ..., `peer` vectors in a row */
    HB_NET_SCALE,  /* AVG: divide */
    HB_NET_LOCAL   /* a collective among the ranks of this node: coll, root
                    * in `peer`, on from and to */
};

struct hb_net_step {
    enum hb_net_kind kind;
    enum hpcboot_coll coll;
    int peer;
    const char *from;
    char *to;
    size_t bytes;
};

struct hb_net_op {
    struct hb_coll_team *team;
    struct hb_net_step *steps;
    int count, room, at;
    bool failed;      /* no memory for a step */
    bool in_order;    /* folded in rank order in one go: the same bits */
    bool scales;      /* AVG as a sum that is divided at the end */
    void **reqs;      /* under way */
    int under_way, reqs_room;
    uint64_t tag;
    struct hb_op local; /* the step that is LOCAL, once begun */
    bool local_begun;
    char byte[2];     /* what a barrier sends and receives */
};

void hb_net_add(struct hb_net_op *n, struct hb_net_step step);
static inline void hb_net_send(struct hb_net_op *n, int peer,
                               const char *from, size_t bytes)
{
    hb_net_add(n, (struct hb_net_step){.kind = HB_NET_SEND, .peer = peer,
                                       .from = from, .bytes = bytes});
}
static inline void hb_net_recv(struct hb_net_op *n, int peer, char *to,
                               size_t bytes)
{
    hb_net_add(n, (struct hb_net_step){.kind = HB_NET_RECV, .peer = peer,
                                       .to = to, .bytes = bytes});
}
static inline void hb_net_do(struct hb_net_op *n, enum hb_net_kind kind,
                             const char *from, char *to, size_t bytes)
{
    hb_net_add(n, (struct hb_net_step){.kind = kind, .from = from, .to = to,
                                       .bytes = bytes});
}

/* Makes op->scratch; 0 or ERR_NOMEM. */
int hb_net_scratch(struct hb_op *op, size_t bytes, struct hpcboot_error *err);

/* A group: ranks of the team among whom a phase runs; me its place. */
struct hb_net_group {
    const int *ranks; /* NULL: the team itself */
    int size, me;
};
static inline int hb_net_rank(const struct hb_net_group *g, int i)
{
    return g->ranks != NULL ? g->ranks[i] : i;
}
void hb_net_barrier(struct hb_net_op *n, const struct hb_net_group *g);
void hb_net_bcast(struct hb_net_op *n, const struct hb_net_group *g, int root,
                  char *buf, size_t bytes);
/* To place 0 of the group, in order of places; `acc` holds the rank's own
 * vector and is changed everywhere, `room` is as large. */
void hb_net_reduce(struct hb_net_op *n, const struct hb_net_group *g,
                   char *acc, char *room, size_t bytes);

/* net_flat.c: all ranks alike. net_node.c: nodes first; false where that
 * does not fit the call. */
int hb_net_plan_flat(struct hb_coll_team *t, struct hb_op *op,
                     struct hb_net_op *n, struct hpcboot_error *err);
int hb_net_plan_node(struct hb_coll_team *t, struct hb_op *op,
                     struct hb_net_op *n, bool *done_out,
                     struct hpcboot_error *err);

#endif
