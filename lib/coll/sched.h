/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_SCHED_H
#define HB_COLL_SCHED_H

/* Schedules: a collective between nodes as the row of steps that one rank
 * takes. A schedule follows from its arguments alone: no memory is touched
 * and no message sent while it is made, and it names memory by offset. net.c
 * carries it out; the simulator (tests/unit/sched_sim.c) plays the same rows
 * for tens of thousands of ranks.
 *
 * Steps are taken in their order. Messages are under way from their step on;
 * a step with `after` = n waits until all messages of steps below n are done.
 * Between two ranks, messages of one stream are sent and received in the same
 * order. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/coll/coll.h"

enum hb_step_kind {
    HB_STEP_SEND,     /* `from` to peer */
    HB_STEP_RECV,     /* from peer, to `to` */
    HB_STEP_COPY,     /* `rows` rows of `bytes`, as far apart as the strides */
    HB_STEP_FOLD,     /* to = from op with: `from` is of lower ranks */
    HB_STEP_FOLD_R,   /* to = with op from: `from` is of higher ranks */
    HB_STEP_FOLD_ALL, /* to = from[0] op from[1] ...: `rows` in a row */
    HB_STEP_SCALE,    /* AVG: divide */
    HB_STEP_LOCAL,    /* `coll` among the ranks of this node; root in peer */
    HB_STEP_NONE      /* holds an `after` */
};

/* What a LOCAL step's blocks are, by local rank. */
enum hb_cut {
    HB_CUT_EVEN,   /* `bytes` each */
    HB_CUT_SLICES, /* `bytes` cut into `rows` slices, for the first ranks */
    HB_CUT_TEAM    /* as the call cuts its vector, by rank of the team */
};

enum hb_mem { HB_MEM_SEND, HB_MEM_RECV, HB_MEM_ROOM, HB_MEMS };

struct hb_at {
    enum hb_mem mem;
    size_t off;
};

struct hb_step {
    uint8_t kind, coll, cut, stream;
    int peer;
    int after;
    uint32_t rows;
    struct hb_at from, to, with;
    size_t bytes;
    size_t from_stride, to_stride;
};

enum hb_alg {
    HB_ALG_KNOMIAL,      /* trees of a radix */
    HB_ALG_PIPELINE,     /* binary tree, in segments */
    HB_ALG_DOUBLE_TREE,  /* two binary trees, half of the vector each */
    HB_ALG_DOUBLING,     /* recursive doubling; dissemination of a barrier */
    HB_ALG_HALVING,      /* recursive halving, then doubling */
    HB_ALG_RING,
    HB_ALG_BRUCK,
    HB_ALG_PAIRWISE,     /* each with each, throttled */
    HB_ALG_LINEAR,       /* root with each, throttled; a chain of scan */
    HB_ALGS
};

struct hb_choice {
    enum hb_alg alg;
    int radix;
    size_t segment; /* bytes; 0: whole */
    double cost_ns; /* as the model predicts */
};

/* What a schedule has taken for a phase between nodes; for who asks. */
struct hb_phase {
    enum hpcboot_coll coll;
    int size;     /* ranks that take part */
    size_t bytes; /* of the vector, or of one block */
    struct hb_choice how;
};
#define HB_PHASES 3

struct hb_sched {
    struct hb_step *steps;
    int count, capacity;
    bool failed;  /* no memory for a step */
    int after;    /* of the steps that are added next */
    uint8_t stream;
    size_t room;  /* bytes of HB_MEM_ROOM */
    struct hb_phase phases[HB_PHASES];
    int n_phases, within; /* a phase that is made of others */
};

/* Which rank is where; the same at all ranks of a team. */
struct hb_layout {
    int size, nodes, least; /* least: ranks on the smallest node */
    bool in_order;          /* the ranks of each node follow one another */
    int *node_of, *place;   /* [size]: of a rank: node, rank among its own */
    int *first;             /* [nodes + 1]: where a node begins in `ranks` */
    int *ranks;             /* [size], by node, ascending */
    int *leaf;              /* [nodes]: alike where one switch serves both;
                             * NULL: not known */
};
int hb_layout_make(struct hb_layout *l, const int *node_of, int size);
/* Adds the leaves of its nodes; NULL: they are not known. */
int hb_layout_leaves(struct hb_layout *l, const int *leaf);
void hb_layout_clear(struct hb_layout *l);

/* The network as LogGP sees it, in nanoseconds, and in nanoseconds a byte:
 * latency, overhead of a message at the end that sends and at the one that
 * receives, gap between messages, gap between bytes; what folding and copying
 * cost; and what a phase among the ranks of a node costs beside its bytes. */
struct hb_model {
    double latency, overhead, receive, gap, byte, fold, copy, node;
    double eager, big; /* messages beyond `eager` bytes cost `big` a byte */
    double wire; /* of a node's devices, which its ranks share; 0: not known */
    double cpus; /* that all ranks share, of whatever node; 0: not known */
};
extern const struct hb_model hb_model_tcp, hb_model_ib;
struct hb_model hb_model_of(const struct hb_coll_net_facts *f);

/* What the user wants instead: "allreduce=ring,bcast=knomial:4,flat". */
struct hb_wish {
    int alg[HPCBOOT_COLLS]; /* -1: as the model says */
    int radix[HPCBOOT_COLLS];
    size_t segment[HPCBOOT_COLLS];
    int hierarchy; /* -1: as the model says; 0: flat; 1: nodes */
    int leaders;   /* 0: as the model says */
};
/* 0, or ERR_USAGE with what is wrong; NULL is no wish. */
int hb_wish_parse(const char *text, struct hb_wish *out,
                  struct hpcboot_error *err);

/* A call as all ranks know it; of the rows of the v-kinds, what this rank
 * knows. */
struct hb_call {
    enum hpcboot_coll coll;
    int root;
    size_t bytes, total, esize; /* as in struct hb_op */
    bool ordered;   /* the op does not commute */
    bool same_bits; /* folded in rank order in one go */
    bool folds_on;  /* what has been folded and is folded on has these bits */
    bool scales;    /* AVG, as a sum that is divided at the end */
    bool in_place;
    /* [size] in bytes; NULL: blocks of `bytes`, one after the other */
    const size_t *send_len, *send_off, *recv_len, *recv_off;
    int rank;
    const struct hb_layout *layout;
    const struct hb_model *model;
    const struct hb_wish *wish;
};

/* The schedule of a call; s->failed where memory was short. */
void hb_sched_make(struct hb_sched *s, const struct hb_call *c);
void hb_sched_clear(struct hb_sched *s);
/* net_node.c: nodes first; false where each rank is for itself. */
bool hb_sched_nodes(struct hb_sched *s, const struct hb_call *c);
/* Why it is. */
enum hb_flat {
    HB_FLAT_NOT,       /* nodes first */
    HB_FLAT_SINGLE,    /* no node has two ranks */
    HB_FLAT_WISH,      /* the user's */
    HB_FLAT_NO_WAY,    /* a rank knows no counts but its own */
    HB_FLAT_SAME_BITS, /* on every layout */
    HB_FLAT_ELEMENT,   /* it fits in no slot of the shared memory */
    HB_FLAT_ORDER,     /* ranks of a node do not follow one another */
    HB_FLAT_LONG,      /* blocks; hb_sched_block_most() are not */
    HB_FLAT_ROOM,      /* one rank would keep too much for others */
    HB_FLAT_CHAIN,     /* of all ranks: they share few CPUs */
    HB_FLAT_CROWD      /* as there, and the call is short */
};
enum hb_flat hb_sched_flat(const struct hb_call *c);
size_t hb_sched_block_most(enum hpcboot_coll coll); /* bytes; 0: any */

/* ---- building ---- */

struct hb_step *hb_sched_add(struct hb_sched *s, enum hb_step_kind kind);
void hb_sched_wait(struct hb_sched *s); /* what follows: after all before */
void hb_sched_send(struct hb_sched *s, int peer, struct hb_at from,
                   size_t bytes);
void hb_sched_recv(struct hb_sched *s, int peer, struct hb_at to,
                   size_t bytes);
void hb_sched_do(struct hb_sched *s, enum hb_step_kind kind,
                 struct hb_at from, struct hb_at to, size_t bytes);
/* FOLD or FOLD_R into another place than what it is folded with. */
void hb_sched_fold(struct hb_sched *s, enum hb_step_kind kind,
                   struct hb_at from, struct hb_at with, struct hb_at to,
                   size_t bytes);
void hb_sched_copy(struct hb_sched *s, struct hb_at from, struct hb_at to,
                   size_t bytes);
void hb_sched_rows(struct hb_sched *s, struct hb_at from, size_t from_stride,
                   struct hb_at to, size_t to_stride, size_t bytes,
                   size_t rows);
void hb_sched_local(struct hb_sched *s, enum hpcboot_coll coll, int root,
                    struct hb_at from, struct hb_at to, size_t bytes);
void hb_sched_scale(struct hb_sched *s, const struct hb_call *c,
                    struct hb_at at, size_t bytes);
/* A phase begins; those that it is made of are not noted where `within`. */
void hb_sched_note(struct hb_sched *s, enum hpcboot_coll coll, int size,
                   size_t bytes, const struct hb_choice *how);
/* Room that is this schedule's own. */
struct hb_at hb_sched_room(struct hb_sched *s, size_t bytes);

static inline struct hb_at hb_at(enum hb_mem mem, size_t off)
{
    return (struct hb_at){mem, off};
}
static inline struct hb_at hb_plus(struct hb_at at, size_t off)
{
    at.off += off;
    return at;
}

/* Ranks of the team among whom a phase runs; me: this rank's place. */
struct hb_group {
    const int *ranks; /* NULL: the team itself */
    int size, me;
    const int *leaf;  /* [size] by member; NULL: not known */
};
static inline int hb_member(const struct hb_group *g, int i)
{
    return g->ranks != NULL ? g->ranks[i] : i;
}

/* Blocks of a vector, by member. */
struct hb_blocks {
    const size_t *len, *off; /* NULL: `each` bytes, one after the other */
    size_t each;
    struct hb_at base;
};
static inline size_t hb_block_len(const struct hb_blocks *b, int i)
{
    return b->len != NULL ? b->len[i] : b->each;
}
static inline struct hb_at hb_block(const struct hb_blocks *b, int i)
{
    return hb_plus(b->base,
                   b->off != NULL ? b->off[i] : (size_t)i * b->each);
}

/* Bytes of a block, in the mean of n. */
size_t hb_blocks_mean(const struct hb_blocks *b, int n);

/* Where slice i of n begins, elements whole. */
size_t hb_slice(size_t bytes, size_t esize, int n, int i);
int hb_log2_up(int n);

/* ---- algorithms, among a group ---- */

/* A vector that is folded: `at` holds this rank's own and is changed; where
 * `apart` is set it is still at `own`, which is only read, and `at` is written
 * with the first fold. The result of lower members goes before that of higher
 * ones. */
struct hb_vector {
    struct hb_at at;
    size_t bytes, esize;
    bool ordered, apart;
    struct hb_at own;
};
static inline struct hb_at hb_vector_own(const struct hb_vector *v)
{
    return v->apart ? v->own : v->at;
}

/* sched_tree.c. v: place counted from the root; those below v are
 * [v, v + span). */
struct hb_knomial {
    int v, size, root, radix;
    int parent; /* -1: the root */
    int64_t span;
};
struct hb_knomial hb_knomial_of(const struct hb_group *g, int root, int radix);
static inline int hb_knomial_peer(const struct hb_knomial *k,
                                  const struct hb_group *g, int64_t v)
{
    return hb_member(g, (int)((v + k->root) % k->size));
}
#define HB_RADIX_MOST 64
static inline int hb_radix(const struct hb_choice *how)
{
    return how->radix < 2                ? 2
           : how->radix > HB_RADIX_MOST ? HB_RADIX_MOST
                                        : how->radix;
}
void hb_sched_barrier(struct hb_sched *s, const struct hb_group *g,
                      const struct hb_choice *how);
/* Where local_root >= 0, each segment is then broadcast on the node. */
void hb_sched_bcast(struct hb_sched *s, const struct hb_group *g, int root,
                    struct hb_at at, size_t bytes,
                    const struct hb_choice *how, int local_root);
/* The node's part of it, for who is no member. */
void hb_sched_bcast_local(struct hb_sched *s, struct hb_at at, size_t bytes,
                          const struct hb_choice *how, int local_root);
/* To member `root`, which must be 0 where the order counts. */
void hb_sched_reduce(struct hb_sched *s, const struct hb_group *g, int root,
                     const struct hb_vector *v, const struct hb_choice *how);

/* Over a k-nomial tree, whatever the group's leaves are. */
void hb_knomial_bcast(struct hb_sched *s, const struct hb_group *g, int root,
                      struct hb_at at, size_t bytes, int radix);
void hb_knomial_reduce(struct hb_sched *s, const struct hb_group *g, int root,
                       const struct hb_vector *v, int radix);
/* sched_leaf.c: over k-nomial trees, one of leaves and one in each. */
void hb_leaf_bcast(struct hb_sched *s, const struct hb_group *g, int root,
                   struct hb_at at, size_t bytes, int radix);
void hb_leaf_reduce(struct hb_sched *s, const struct hb_group *g, int root,
                    const struct hb_vector *v, int radix);

/* sched_root.c; `own` is this member's block. */
void hb_sched_gather(struct hb_sched *s, const struct hb_group *g, int root,
                     const struct hb_blocks *b, struct hb_at own,
                     const struct hb_choice *how);
void hb_sched_scatter(struct hb_sched *s, const struct hb_group *g, int root,
                      const struct hb_blocks *b, struct hb_at own,
                      const struct hb_choice *how);

/* sched_fold.c */
void hb_sched_allreduce(struct hb_sched *s, const struct hb_group *g,
                        const struct hb_vector *v,
                        const struct hb_choice *how);
/* Member i's block of the folded vector to `own`; v->at is changed. */
void hb_sched_reduce_scatter(struct hb_sched *s, const struct hb_group *g,
                             const struct hb_vector *v,
                             const struct hb_blocks *b, struct hb_at own,
                             const struct hb_choice *how);
/* A chain passes a vector on in pieces. */
#define HB_CHAIN_SEGMENT ((size_t)64 << 10)
/* What members below have, folded, to `below` (nothing at member 0), and the
 * fold up to this one to v->at: what is wanted of both. They may be one place
 * where v is apart and only v->at is wanted. */
enum { HB_SCAN_BELOW = 1, HB_SCAN_AT = 2 };
void hb_sched_scan(struct hb_sched *s, const struct hb_group *g,
                   const struct hb_vector *v, struct hb_at below, int wants,
                   const struct hb_choice *how);

/* sched_move.c; own blocks are in place */
void hb_sched_allgather(struct hb_sched *s, const struct hb_group *g,
                        const struct hb_blocks *b,
                        const struct hb_choice *how);
void hb_sched_alltoall(struct hb_sched *s, const struct hb_group *g,
                       const struct hb_blocks *from,
                       const struct hb_blocks *to,
                       const struct hb_choice *how);

/* sched_choose.c: the cheapest way by the model, the same at all ranks.
 * bytes: of the vector, or of one block. */
struct hb_choice hb_choose(const struct hb_call *c, enum hpcboot_coll coll,
                           int size, size_t bytes);
/* Whether an algorithm is one of a collective's. */
bool hb_is_choice(enum hpcboot_coll coll, enum hb_alg alg);
/* What it chooses from: each that fits, with its best radix or segment.
 * Returns how many. */
size_t hb_choices(const struct hb_call *c, enum hpcboot_coll coll, int size,
                  size_t bytes, struct hb_choice out[HB_ALGS]);
/* Rounds until all of p are reached, each reaching radix - 1 more. */
double hb_log_up(double p, double radix);
/* Who waits longer for its turn in a tree parks, and is late when it comes. */
#define HB_CROWDED_TREE_MOST ((size_t)4 << 10)
/* sched_crowd.c: what a short call costs ranks whose nodes outnumber the CPUs
 * of their one machine: each for itself, or nodes first. Both 0 where that is
 * not so. */
struct hb_crowd {
    double flat_ns, nodes_ns;
};
struct hb_crowd hb_crowd_prices(const struct hb_call *c);
/* What hb_choose compares: the price of one way in a call of c's layout. */
double hb_predict(const struct hb_call *c, enum hpcboot_coll coll, int size,
                  size_t bytes, const struct hb_choice *how);
const char *hb_alg_name(enum hb_alg alg);

#endif
