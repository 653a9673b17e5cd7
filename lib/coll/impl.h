/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_IMPL_H
#define HB_COLL_IMPL_H

/* What the files of this folder share. The shared-memory engine in short:
 *
 * A collective is a row of rounds, numbered through a team's life and the
 * same at all its ranks. In a round a rank may put bytes where its peers can
 * read them, then posts the round's number in its cell, then gets what
 * others have put once their cells show that number. A posted round r says
 * two things: what I put in rounds <= r can be read, and I have read
 * whatever I wanted of rounds < r. So no other acknowledgement is needed,
 * and a rank that reads nothing may run ahead by as many rounds as there are
 * cells, or slots for what it puts. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/coll/coll.h"
#include "lib/coll/kern.h"
#include "lib/coll/model.h"
#include "lib/coll/near.h"
#include "lib/coll/region.h"
#include "lib/coll/spill.h"

enum {
    HB_AGAIN = 1,  /* of a step: a peer has not come yet */
    HB_MISMATCH = 2, /* t->want has made another call */
    HB_LENGTHS = 3   /* t->want sends another number of bytes: t->lengths */
};
#define HB_SIGN_BITS 24
/* or a local rank; HB_LATER: another has yet to put */
enum { HB_ALL = -1, HB_NONE = -2, HB_BELOW = -3, HB_LATER = -4 };

#define HB_LIKELY(x) __builtin_expect(!!(x), 1)
/* Out of the way of a call whose peers have come. */
#define HB_COLD __attribute__((noinline, cold))

/* Of two deadlines, of which 0 is none. */
static inline int64_t hb_sooner(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static inline size_t hb_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Bytes of piece k of `total` bytes cut into pieces of `piece`. */
static inline size_t hb_piece(size_t total, size_t piece, uint64_t k)
{
    size_t at = (size_t)k * piece;
    return at >= total ? 0 : hb_min(piece, total - at);
}

static inline void hb_relax(void) /* some ten nanoseconds */
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Where a peer reads this rank's memory through the kernel (cma.c), and what
 * it finds at cookie_at: a process that is not the rank has another there. */
struct hb_cma_card {
    uint64_t cookie_at, cookie;
    uint64_t gate_at; /* who writes to this rank writes a byte there first */
    int32_t pid;
};

struct hb_coll_engine {
    struct hb_coll_config config;
    struct hb_cma_card card;
    bool peers_let_in; /* where the kernel asks for that; cma.c */
    struct hb_coll_node_page *page; /* own_page where there is none */
    struct hb_coll_node_page own_page;
    const struct hb_coll_model *model; /* NULL: nobody has shared one */
    struct hb_coll_team *active; /* teams with requests under way */
    pthread_mutex_t lock;
    bool locking;
    uint32_t crowded;    /* what page->crowded was with this rank; 0: never */
    bool outnumbered;    /* ranks of several nodes, and one machine's CPUs */
    bool stuck;          /* config.stuck was told of a wait */
    bool asymmetric;     /* parking pays for the fence of posting */
    int64_t sample_ns;   /* when involuntary switches were last counted */
    long sample_switches;
    unsigned yields, long_yields; /* since crowded was last weighed */
};

struct hb_op;

/* How a collective runs on a node. put: places bytes for round op->k and
 * returns who reads them, or HB_LATER (hb_shm_has_put); sets op->from. get:
 * takes what op->from have put. tail: what some ranks do after the rounds,
 * as a step; NULL: nothing. */
struct hb_plan {
    int (*put)(struct hb_coll_team *t, struct hb_op *op);
    void (*get)(struct hb_coll_team *t, struct hb_op *op);
    int (*tail)(struct hb_coll_team *t, struct hb_op *op);
    /* While peers are awaited: whether there was something to do. NULL: there
     * never is. */
    bool (*meanwhile)(struct hb_coll_team *t, struct hb_op *op);
    bool awaited; /* peers wait for who only reads, too */
};

struct hb_op {
    int (*step)(struct hb_coll_team *t, struct hb_op *op); /* or HB_AGAIN */
    const struct hb_plan *plan;
    const struct hb_plan *inner; /* if the buffers are not in the heap */
    enum hpcboot_coll coll;
    enum hpcboot_type type;
    int op;
    int root;             /* local rank on one node */
    int from;             /* of this round */
    bool getting;         /* posted, waiting for peers */
    bool tiny;            /* what is put fits beside the flag */
    bool wide;            /* though not all of it into its line */
    size_t beside_at;     /* if tiny: where there it begins */
    bool own_placed;      /* this rank's own block is where it belongs */
    size_t own_done;      /* bytes of it that have been copied; plan_heap.c */
    bool spills;          /* what is got goes past the caches; spill.c */
    struct hb_spill *spill; /* NULL: that is not tried; else of so many */
    size_t spill_bytes;
    size_t hands_on;      /* pieces of up to so many bytes, when written */
    size_t area;          /* bytes of the ring that a round uses */
    size_t at, before;    /* where in the ring, this round; one before */
    struct hb_shm_part *part; /* of the ring, this round, if area is not 0 */
    /* Peers compare the low bits of the first word with their own: the call
     * is the same. The rest is the length, or what the plan tells. */
    uint64_t sign, word;
    bool loose;           /* lengths may differ between ranks */
    bool tells;           /* who sends says how much, in the first round */
    uint64_t k, rounds;
    uint64_t tail;        /* pieces of a tail that are done, */
    int tail_from;        /* and whose is next */
    size_t longest;       /* block of a v-kind that is known here */
    size_t esize;         /* bytes that are never cut */
    size_t bytes;         /* of the vector, or of one block */
    struct hb_way_choice choice;
    size_t piece;         /* bytes per round (per block) */
    size_t first;         /* as above in the first round, if `loose` */
    size_t beside;        /* a block so short lies beside the flag then, */
    bool dry;             /* and in this round all: the ring is not written */
    size_t stride;        /* between the pieces of a round */
    const char *send;
    char *recv;
    /* Of each rank's block, in bytes, [size]; NULL: all are `bytes` long and
     * lie one after the other. */
    size_t *send_len, *send_off, *recv_len, *recv_off;
    size_t *rows;         /* owned: where these four lie, */
    uint64_t *lent;       /* and hb_lent_by of an alltoallv */
    hb_fold_fn fold;
    int ranks;            /* of the team; divisor of AVG */
    struct hb_coll_user_op user;
    char *scratch;        /* owned; what is got before it may be placed */
    char *result;         /* where `finish` places it */
    size_t total;         /* bytes of the whole vector of a reduction */
    void (*finish)(struct hb_coll_team *t, struct hb_op *op); /* may be NULL */
    void *net;            /* owned; state of the message engine */
    struct hb_cma_op {        /* a call that peers may read for; plan_cma.c */
        const struct hb_plan *plan; /* the copying one, and what it needs */
        uint64_t rounds;
        size_t stride, area;
        bool on;          /* the node's ranks may read each other */
        size_t part;      /* of a block, what its sender writes; its end */
        size_t writes;    /* the same, of what goes through the kernel */
        int turn;         /* which peer is next, in order */
        size_t done;      /* bytes that have come of its block */
        size_t folded;    /* bytes of the result; plan_cma_fold.c */
        int64_t refused_ns; /* since when the kernel refuses; 0: it does not */
        bool pays;        /* to lend the longest block; plan_rows.c */
        bool lends;       /* this rank, what is long */
        bool borrows;     /* somebody lends */
        uint64_t root_at; /* hb_lent_by */
    } cma;
    int64_t deadline_ns;
    unsigned flags;
    struct hb_again {         /* what a call just like it would set up anew */
        bool kept;
        size_t count, esize, send_bytes, recv_bytes; /* of its arguments */
        const struct hb_plan *plan;
        uint64_t rounds;
        size_t stride, area;
    } again;
};

#define HB_KEPT 8 /* blocking calls of a team whose plans are kept, by kind */

/* How many of its last calls a rank remembers. A rank that only sends may be
 * ahead of its peers by as many, and they compare their calls with its. */
#define HB_MADE HB_SHM_CELLS

enum hb_cma_state { HB_CMA_UNKNOWN, HB_CMA_YES, HB_CMA_NO };
#define HB_CMA_OWN 4

/* Whether the ranks of a team on a node may read each other; cma.c. */
struct hb_cma_team {
    enum hb_cma_state state; /* the same at all of them */
    struct hb_cma_card *card; /* [p] */
    void *gate;              /* a page of this rank's own: cma.c; or NULL */
    struct hb_op meet;       /* while they find out */
    bool good;               /* as this rank has found */
    char *room;              /* for a block of each peer; plan_cma_fold.c */
    size_t room_size;
    struct {
        uintptr_t at;
        size_t bytes;
    } own[HB_CMA_OWN];       /* buffers known to be readable, the last few */
    unsigned next_own;
};

/* How asking whether buffers are in the heap has gone lately, in calls of one
 * kind and length; plan_heap.c. The same at all ranks of a node. */
struct hb_asked {
    size_t bytes;
    unsigned vain; /* answers in a row that were no */
    unsigned pass; /* calls that are yet to go by unasked */
};

struct hb_coll_team {
    struct hb_coll_engine *engine;
    int rank, size;           /* in the team */
    int me, p;                /* on this node */
    int *local;               /* team rank of each local rank */
    int *local_of;            /* local rank of each team rank, or -1 */
    int *node_of;             /* NULL: one node */
    int *leaf_of;             /* [nodes]; NULL: not known */
    int nodes;
    struct hb_shm_head *head;
    struct hb_shm_rank *ranks; /* [p] */
    char *slots;
    uint64_t round;           /* the last that this rank posted */
    bool take_turns;          /* on a core; the same at all ranks, as the */
    uint64_t cell_mask;       /* bits of a round's number that tell its cell */
    uint64_t *seen;           /* [p] the last that each is known to have */
    struct hb_shm_use cell_use[HB_SHM_CELLS];
    struct hb_shm_use slot_use[HB_SHM_SLOTS_MOST + HB_SHM_SHARED_MOST];
    size_t ring;              /* bytes that each rank has of its own */
    size_t small;             /* bytes of a round for HB_PART_SMALL */
    struct hb_shm_part part[HB_PARTS]; /* the same at all ranks */
    struct hb_nearness near;
    struct hb_spill spill[HPCBOOT_COLLS][HB_SPILL_SIZES];
    int want;                 /* whom the last step waited for */
    uint64_t want_round;
    _Atomic uint64_t *want_count; /* reaches want_round; NULL: its cell does */
    uint64_t tails;           /* what is in tail_put of this rank */
    struct hb_lengths {       /* of a step that has found they differ */
        int from;             /* rank in the team */
        uint64_t sent, expected;
    } lengths;
    uint64_t moves;           /* how often a call between nodes went on */
    struct hb_cma_team cma;
    struct hb_asked asked[HPCBOOT_COLLS];
    const void **src;         /* [size] for folds */
    char *fold_room;          /* for ops of the user; made when needed */
    size_t fold_room_size;
    struct hb_op kept[HB_KEPT]; /* of blocking calls; the last of a kind */
    struct hb_coll_req *first, *last; /* under way, in order */
    int64_t soonest_ns; /* no deadline of these is earlier; 0: none has one */
    struct hb_coll_team *next_active;
    const struct hb_coll_net *net;
    struct hb_coll_net_facts net_facts;
    void *ctx;
    int64_t timeout_ms;
    bool deterministic;
    uint64_t calls;           /* begun: the same at all ranks */
    uint64_t net_calls;       /* of a team that spans nodes; as above */
    struct hb_coll_made made[HB_MADE]; /* the last of a team that does */
    const struct hb_op *running; /* a blocking call that waits */
    struct hb_net_team *net_team; /* net.h; made by its first call */
    uint32_t changes_seen;
    struct hpcboot_error error; /* code 0: sound */
    struct hpcboot_error step_error; /* why a step of messages failed */
    void *own_region;         /* of the only rank on a node */
};

/* shm.c: the region and its rounds */
int hb_shm_attach(struct hb_coll_team *t, void *region, size_t size,
                  struct hpcboot_error *err);
int hb_shm_step(struct hb_coll_team *t, struct hb_op *op);
/* For a plan's put: whether rank j has put its part of the round to come. */
bool hb_shm_has_put(struct hb_coll_team *t, int j);
/* Whether the rank that the last step waited for has come. */
bool hb_shm_ready(struct hb_coll_team *t);

/* Tails: pieces of HB_SHM_PIECE that one rank puts for another beside the
 * rounds. They lie in the writer's ring, in all slots but the one that rounds
 * are filling, round and round; so many there are, and there is the k-th. The
 * first of a call whose writer has put `count` before, behind them: where the
 * next slot begins. */
size_t hb_shm_tail_room(const struct hb_coll_team *t);
uint64_t hb_shm_tail_first(uint64_t count);
size_t hb_shm_tail_at(const struct hb_coll_team *t, uint64_t k);
/* Whether the k-th may be put for the first time in a call without a word from
 * whoever reads it: nobody reads there any more, or the piece before it, in
 * the same slot, has been put. */
bool hb_shm_tail_is_free(struct hb_coll_team *t, uint64_t k);
/* Rounds to come leave it alone until `reader` is done with this call. */
void hb_shm_tail_use(struct hb_coll_team *t, size_t at, int reader);
/* Whether a count that rank j raises has come to n. */
bool hb_shm_has_counted(struct hb_coll_team *t, int j,
                        _Atomic uint64_t *count, uint64_t n);
void hb_shm_count(struct hb_coll_team *t, _Atomic uint64_t *count, uint64_t n);

/* The ring that all share lies behind the last rank's own. */
static inline char *hb_shm_ring(struct hb_coll_team *t, int rank, size_t at)
{
    size_t before = (size_t)(at < t->ring ? rank : t->p - 1);
    return t->slots + before * t->ring + at;
}

static inline struct hb_shm_cell *hb_shm_cell(struct hb_coll_team *t,
                                              int rank, uint64_t round)
{
    return &t->ranks[rank].cell[round & t->cell_mask];
}

void hb_stream_look(struct hb_coll_team *t); /* how far the peers are */
/* What this machine's caches have: l2_kib, and for buffers l3_kib, l3s. */
void hb_stream_caches(struct hb_coll_model *m);

/* Whether what lies beside a flag is worth handing on, too: op->wide. */
static inline bool hb_is_wide(const struct hb_coll_team *t, size_t bytes)
{
    return bytes > HB_SHM_FIRST && !t->take_turns;
}

/* wait.c: how a rank waits. `t` NULL: for something that is no team's. */
struct hb_wait {
    int64_t began_ns;  /* or when something moved last */
    int64_t since_ns;  /* when it began, whatever moved; for outsiders */
    int64_t told_ns;   /* when they were told last */
    int64_t deadline_ns;
    uint64_t moves; /* of the network, as it was last seen */
    unsigned turns;
    unsigned vain; /* yields in a row that found nobody to run */
    bool polled; /* struct hb_coll_stuck */
    bool last_look; /* the deadline has passed, and was not told yet */
};
int hb_wait_pause(struct hb_wait *w, struct hb_coll_engine *e,
                  struct hb_coll_team *t, struct hpcboot_error *err);
/* ERR_TIMED_OUT, and whom was waited for: a deadline of `call` has passed (its
 * own, or that of a wait for it) while *op, maybe one before it, was under
 * way. */
int hb_wait_late(const struct hb_coll_team *t, const struct hb_op *op,
                 int call, const char *whose,
                 struct hpcboot_error *err);
void hb_wait_wake(struct hb_coll_team *t); /* after a post */
void hb_wait_over(struct hb_coll_engine *e); /* who looks on may know */
void hb_wait_fence_all(void); /* for ranks whose engine is `asymmetric` */
void hb_wait_setup(struct hb_coll_engine *e);
void hb_wait_teardown(struct hb_coll_engine *e);
/* Looks at the node's page and asks `alive`; an error is kept by the team. */
int hb_team_alive(struct hb_coll_team *t, struct hpcboot_error *err);
int hb_team_fail(struct hb_coll_team *t, const struct hpcboot_error *why,
                 struct hpcboot_error *err);

/* overlap.c */
/* One side of a call: blocks from a base on, or one block (n 1). */
struct hb_side {
    const char *base;
    const size_t *counts, *displs;
    size_t e;
    int n;
};
bool hb_sides_overlap(const struct hb_side *s, const struct hb_side *r);
/* Two blocks of one side that share elements; where memory is short they are
 * not looked for unless they lie in the order of ranks. */
bool hb_blocks_overlap(const size_t *counts, const size_t *displs, int n,
                       int *a_out, int *b_out);

/* args.c, op.c */
bool hb_call_is_loose(enum hpcboot_coll coll);
bool hb_call_is_rooted(enum hpcboot_coll coll);
bool hb_call_has_row(enum hpcboot_coll coll); /* of counts, alike at all */
bool hb_call_folds(enum hpcboot_coll coll); /* takes an op */
int hb_args_check(const struct hb_coll_team *t,
                  const struct hpcboot_coll_args *a,
                  const struct hb_coll_user_op *user,
                  struct hpcboot_error *err);
/* Where in *a the arrays stand that the call takes at this rank; how many. */
int hb_args_rows(const struct hb_coll_team *t, struct hpcboot_coll_args *a,
                 const size_t **rows[4]);
/* Fills *op from checked arguments, plan chosen. */
int hb_op_setup(struct hb_coll_team *t, struct hb_op *op,
                const struct hpcboot_coll_args *a,
                const struct hb_coll_user_op *user,
                struct hpcboot_error *err);
/* Whether `a` is the call that *op was last set up for, but for the buffers
 * (where it has no rows), and right: *op is ready to run again then. */
bool hb_op_again(struct hb_op *op, const struct hpcboot_coll_args *a);
size_t hb_op_hands_on(const struct hb_coll_team *t, enum hpcboot_coll coll);
/* Of n short blocks beside the flag, and what lies before them. */
void hb_op_set_wide(const struct hb_coll_team *t, struct hb_op *op,
                    size_t before, size_t n);
void hb_op_clear(struct hb_op *op); /* frees what it owns */

/* plan_*.c: choose and prepare the plan on one node */
void hb_plan_move(struct hb_coll_team *t, struct hb_op *op);
int hb_plan_reduce(struct hb_coll_team *t, struct hb_op *op,
                   struct hpcboot_error *err);
/* Whether a fold of a fold has the bits of one that goes through all, and that
 * of one vector is a copy. */
bool hb_plan_folds_on(const struct hb_op *op);
/* Whole vectors are gathered, by all ranks, and folded at the end. A block that
 * is only placed at the end is that of a rank in place: others may not be. */
static inline bool hb_plan_collects(const struct hb_op *op)
{
    return op->finish != NULL && !op->own_placed;
}
extern const struct hb_plan hb_plan_allgather;
/* plan_last.c: an allreduce in one round, where the last to come folds; false:
 * not of so many bytes. */
bool hb_plan_last(struct hb_coll_team *t, struct hb_op *op);
/* plan_rows.c: gatherv, scatterv, alltoallv */
void hb_plan_rows(struct hb_coll_team *t, struct hb_op *op);
/* In the first round of a call that tells lengths: whether what peers send is
 * what this rank expects; t->lengths. */
bool hb_plan_lengths_agree(struct hb_coll_team *t, struct hb_op *op);
/* Asks first, where it may pay, whether the buffers are in the heap. */
void hb_plan_heap(struct hb_coll_team *t, struct hb_op *op);
/* plan_cma.c: reads the peers' buffers through the kernel, where it may pay
 * and is allowed; after hb_plan_heap. */
void hb_plan_cma(struct hb_coll_team *t, struct hb_op *op);
/* The end of a call with rows: reads what is lent. */
int hb_plan_borrow(struct hb_coll_team *t, struct hb_op *op);

/* cma.c */
void hb_cma_setup(struct hb_coll_engine *e);
/* Until all ranks of the node know whether they may read each other. */
int hb_cma_meet(struct hb_coll_team *t, const struct hb_op *op);
/* Whether peers can read this rank's buffer. */
bool hb_cma_is_readable(struct hb_coll_team *t, const void *at, size_t bytes);
/* Reads from local rank j's memory: a step, which goes on where it was. */
int hb_cma_read(struct hb_coll_team *t, struct hb_op *op, int j, char *to,
                uint64_t from, size_t bytes);
/* As above, to local rank j's. */
int hb_cma_write(struct hb_coll_team *t, struct hb_op *op, int j, uint64_t to,
                 const char *from, size_t bytes);
/* Between two moves: whether something else has to be looked at; then the step
 * ends with this HB_AGAIN. */
bool hb_cma_must_look(const struct hb_coll_team *t, const struct hb_op *op);
int hb_cma_look_up(struct hb_coll_team *t);
/* The team has failed here: once this returns, nobody writes to this rank's
 * buffers any more. */
void hb_cma_leave(struct hb_coll_team *t);
/* A step: local rank j has left a call while this rank was at its buffer. */
int hb_cma_left(struct hb_coll_team *t, struct hb_op *op, int j);
void hb_cma_teardown(struct hb_coll_team *t);

/* plan_reduce.c: folds the first n of t->src. */
void hb_op_fold(struct hb_coll_team *t, struct hb_op *op, void *dst, int n,
                size_t bytes);
/* As hb_op_fold, to where nobody reads soon; changes t->src. */
void hb_fold_out(struct hb_coll_team *t, struct hb_op *op, char *dst, int n,
                 size_t bytes);

static inline size_t hb_send_len(const struct hb_op *op, int j)
{
    return op->send_len != NULL ? op->send_len[j] : op->bytes;
}

static inline size_t hb_recv_len(const struct hb_op *op, int j)
{
    return op->recv_len != NULL ? op->recv_len[j] : op->bytes;
}

/* In a call whose blocks differ in length: the address of the block that local
 * rank j lets this rank read in its memory; 0: it lets none be read. */
static inline uint64_t *hb_lent_by(struct hb_op *op, int j)
{
    return op->coll == HPCBOOT_COLL_ALLTOALLV ? &op->lent[j]
                                              : &op->cma.root_at;
}

static inline const char *hb_send_at(const struct hb_op *op, int j)
{
    return op->send +
           (op->send_off != NULL ? op->send_off[j] : (size_t)j * op->bytes);
}

static inline char *hb_recv_at(const struct hb_op *op, int j)
{
    return op->recv +
           (op->recv_off != NULL ? op->recv_off[j] : (size_t)j * op->bytes);
}

static inline char *hb_beside(struct hb_coll_team *t, const struct hb_op *op,
                              int j, uint64_t round)
{
    return (char *)hb_shm_cell(t, j, round)->bytes + op->beside_at;
}

/* Where this rank puts in the round to come, and where peer j has put in
 * the round that is being got. */
static inline char *hb_mine(struct hb_coll_team *t, const struct hb_op *op)
{
    return op->tiny ? hb_beside(t, op, t->me, t->round + 1)
                    : hb_shm_ring(t, t->me, op->at);
}

static inline const char *hb_theirs(struct hb_coll_team *t,
                                    const struct hb_op *op, int j)
{
    return op->tiny ? hb_beside(t, op, j, t->round)
                    : hb_shm_ring(t, j, op->at);
}

/* What rank `from` has put for rank `to` lies here, in strides. */
static inline size_t hb_place(const struct hb_coll_team *t, int from, int to)
{
    return (size_t)(to > from ? to - from - 1 : to - from - 1 + t->p);
}

static inline uint64_t hb_word_of(struct hb_coll_team *t, int j)
{
    return hb_shm_cell(t, j, t->round)->word >> HB_SIGN_BITS;
}

/* Cuts blocks of at most `longest` bytes, `blocks` of which are put in one
 * round, so that they fit. */
void hb_plan_cut(const struct hb_coll_team *t, struct hb_op *op,
                 size_t longest, size_t blocks);
uint64_t hb_rounds_for(size_t bytes, size_t piece);
size_t hb_longest(const size_t *len, int n);

/* net*.c: teams that span nodes */
int hb_net_setup(struct hb_coll_team *t, struct hb_op *op,
                 struct hpcboot_error *err);
void hb_net_clear(void *net); /* gives up what is under way */
/* The rank of the team whose message, or whose receiving, is waited for
 * longest; -1: nobody's. */
int hb_net_waits_for(const void *net, bool *sends_out);
/* hb_coll_team_met_other, of the call `net`. */
bool hb_net_met_other(const struct hb_coll_team *t, const void *net,
                      int *from_out, int *call_out);
/* Whether one of the messages that are waited for is a long one between ranks
 * of this node. */
bool hb_net_waits_for_near(const void *net);
void hb_net_team_destroy(struct hb_coll_team *t);
/* ERR_USAGE: config.net_wish is none. */
int hb_net_check_wish(const char *text, struct hpcboot_error *err);

/* Whatever a call is made of, the one that the user knows. */
static inline int hb_call_of(enum hpcboot_coll coll, unsigned flags)
{
    return flags >> HB_CALL_AT != 0 ? (int)(flags >> HB_CALL_AT) : (int)coll;
}

/* check.c. The sign tells one call from another, but for bytes; its low
 * HB_SIGN_BITS nearly do, with a row that is alike at all ranks in the place
 * of a root. */
uint64_t hb_call_sign(const struct hpcboot_coll_args *a);
uint64_t hb_row_sign(const size_t *row, int n);
/* The sentence about lengths that do not fit together; ERR_USAGE. */
int hb_lengths_differ(int call, int from, uint64_t sent, int to,
                      uint64_t expected, struct hpcboot_error *err);
/* Of what a step on one node has found: HB_MISMATCH, HB_LENGTHS. */
void hb_call_found(struct hb_coll_team *t, const struct hb_op *op, int found,
                   struct hpcboot_error *err);

/* engine.c */
int hb_engine_progress(struct hb_coll_engine *e);
/* What the user calls it that *op is a part of. */
int hb_team_call(const struct hb_coll_team *t, const struct hb_op *op);

#endif
