/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_COLL_COLL_H
#define HB_COLL_COLL_H

/* Collectives of a team: what lib/api calls.
 *
 * An engine is one rank's view of its node (one per process; tests make one
 * per thread). A team is a list of ranks; those on this node share a region
 * of memory, all others are reached through an ops struct of messages.
 *
 * Order: collectives of one team start in the same order on all its ranks
 * and run in that order; those of different teams are independent. Any call
 * that waits moves on everything that has been started on the engine.
 *
 * A rank that has seen an error on a team (a dead peer, a deadline that has
 * passed, a network error) sees that error again on each later call of that
 * team: its sequence numbers no longer agree with its peers'. A usage error
 * leaves the team as it was. */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hpcboot/coll.h"
#include "hpcboot/status.h"

struct hb_coll_engine;
struct hb_coll_team;
struct hb_coll_req;

/* How a rank waits for its peers; set per node, never per rank: one that
 * spins starves those that yield. */
enum hb_coll_wait {
    HB_COLL_WAIT_SPIN,  /* a core for each rank: spin, then yield, then park */
    HB_COLL_WAIT_YIELD, /* ranks share cores, or a quota caps them */
    HB_COLL_WAIT_PARK   /* as YIELD, and park soon: others want the cores */
};

/* What a machine's memory costs, and what its user says of the choice between
 * ways; lib/coll/model.h has the words. */
enum { HB_MODEL_TYPICAL, HB_MODEL_KEPT, HB_MODEL_PROBED };
#define HB_COLL_RULES 6
struct hb_coll_model {
    uint32_t source;
    uint32_t cpus;      /* of the node; 0: one for each rank */
    uint32_t round_ns;  /* a flag, from a core to another */
    uint32_t switch_ns; /* from a rank to the next that shares its core */
    uint32_t put_ps, get_ps, fold_ps, copy_ps; /* a byte */
    uint32_t stream_ps; /* one that one rank puts while another gets others */
    uint32_t n_rules;
    uint32_t far_ns; /* a peer whose lines take so long is far */
    uint32_t cache_kib; /* for the buffers of all ranks; 0: as it seems */
    uint32_t l2_kib; /* of a second-level cache; 0: nobody says */
    uint32_t l3_kib, l3s; /* it seems: of each third-level cache, and how many
                           * there are; 0: nobody says */
    uint32_t send_ns, recv_ns; /* a short message by TCP; 0: not known */
    uint32_t cma_ns, cma_ps; /* process_vm_readv: a call, a byte; 0: none */
    uint32_t past_ps; /* as stream_ps, of pieces put past the cache */
    /* No padding: models are compared byte by byte. */
    struct hb_coll_rule {
        uint64_t least, most; /* bytes */
        uint16_t coll, way;
        uint32_t piece;       /* 0: the model's */
    } rules[HB_COLL_RULES];
};

/* The page that all ranks of a job on one node share. All zero is a valid
 * beginning; whoever makes it sets `wait_mode` before the ranks start, and
 * nobody changes it. */
struct hb_coll_node_page {
    /* Raised by one whenever a rank of the job is known to be dead or a team
     * is revoked. Every wait loop looks at it. */
    _Alignas(128) _Atomic uint32_t changes;
    _Alignas(128) _Atomic uint32_t wait_mode; /* enum hb_coll_wait */
    _Atomic uint32_t crowded; /* ranks that find their core is shared; wait.c */
    /* Not 0 once the user has sent messages between ranks of this node: from
     * then on every wait moves these on, too. */
    _Atomic uint32_t messages;
    _Alignas(128) _Atomic uint32_t model_state; /* hb_coll_model_share */
    struct hb_coll_model model;
};

/* Called by each of the node's ranks before it makes its engine: the first
 * that comes finds what the machine costs (by a probe of 20 ms at most, where
 * nothing is kept and each rank has a core), the others wait for it, not long.
 * Fails for a HPCBOOT_COLL_TUNE that is wrong. */
int hb_coll_model_share(struct hb_coll_node_page *page, int ranks,
                        struct hpcboot_error *err);

/* Raises `changes`; callable by the agent. */
void hb_coll_node_changed(struct hb_coll_node_page *page);

/* A piece of memory that every rank of the node has mapped, each perhaps at
 * another address: the heap of hpcboot_alloc. Buffers that lie in it are
 * read and written by peers without a copy. size 0: there is none; all ranks
 * of a node have one, or none has. */
struct hb_coll_heap {
    void *base;
    size_t size;
};

/* A call of a team that waits. */
struct hb_coll_stuck {
    int coll;         /* enum hpcboot_coll */
    int on;           /* rank in the team; -1: not known */
    uint64_t calls;   /* which call of the team it is, from 1 */
    int64_t since_ns; /* monotonic clock; of a wait that has grown long */
    bool sends;       /* it has something for `on`, and needs nothing of it */
    bool polled;      /* the caller gets the call back, under way, in time */
};

struct hb_coll_config {
    size_t struct_size;
    struct hb_coll_node_page *page; /* NULL: one rank on this node */
    struct hb_coll_heap heap;
    int node_rank;  /* this rank among the job's ranks on its node */
    int node_size;
    uint64_t pid_space; /* in which getpid() counts, if that is known */
    bool threads;   /* several threads call: each call takes a lock */
    bool check;     /* compare each call's arguments over the team */
    /* Asked by who waits when `changes` has moved: is this team still whole?
     * 0, or a code with the text that the waiting call reports (rank, host,
     * cause); > 0: ask again, it will soon be the code in *err, and is it when
     * the call's deadline passes. ctx and team_ctx are the caller's. */
    int (*alive)(void *ctx, void *team_ctx, struct hpcboot_error *err);
    /* Moves the network on; called now and then while waiting, also by
     * hb_coll_progress. > 0: something moved. NULL: there is no network. */
    int (*progress)(void *ctx);
    /* Another number once something has moved, whoever moved it on. NULL: that
     * is not known. */
    uint64_t (*moves)(void *ctx);
    bool node_only; /* it moves messages of this node alone */
    /* Sleeps until the network has something to move on, `ns` at most. NULL:
     * nothing tells, so naps stay short. */
    void (*idle)(void *ctx, int64_t ns);
    /* Told while a wait is long, and once when it is over (what NULL).
     * team_ctx NULL: it waits for something that is no team's, and of *what
     * since_ns alone counts. An error ends the wait, and the team. NULL:
     * nobody is to know. */
    int (*stuck)(void *ctx, void *team_ctx, const struct hb_coll_stuck *what,
                 struct hpcboot_error *err);
    /* Who a rank of the team is, for texts. NULL: "rank 3" says it. */
    void (*who)(void *ctx, void *team_ctx, int rank, char *out, size_t size);
    void *ctx;
    /* How collectives between nodes are to be made, the same at all ranks:
     * "flat" or "nodes", "leaders=N", COLLECTIVE=ALGORITHM[:RADIX or
     * :SEGMENT], separated by commas; borrowed. NULL: as the model says. */
    const char *net_wish;
};
#define HB_COLL_CONFIG_INIT {.struct_size = sizeof(struct hb_coll_config)}

int hb_coll_create(const struct hb_coll_config *config,
                   struct hb_coll_engine **engine_out,
                   struct hpcboot_error *err);
void hb_coll_destroy(struct hb_coll_engine *engine); /* after its teams */

/* Messages between ranks of a team, used where a team spans nodes. Ordered
 * between two ranks for equal tags. Requests are the transport's: test
 * returns 1 done (the request is gone), 0 not yet, < 0 failed (it is gone as
 * well); *got_out is the size of a message that was received, also of one
 * that did not fit (ERR_LIMIT). A buffer stays untouched until its request is
 * done. `tag` is unique
 * per team, collective and step. cancel gives a request up. */
struct hb_coll_net {
    int (*send)(void *team_ctx, int to, uint64_t tag, const void *bytes,
                size_t size, void **req_out, struct hpcboot_error *err);
    int (*recv)(void *team_ctx, int from, uint64_t tag, void *bytes,
                size_t size, void **req_out, struct hpcboot_error *err);
    int (*test)(void *team_ctx, void *req, size_t *got_out,
                struct hpcboot_error *err);
    void (*cancel)(void *team_ctx, void *req);
    /* One that has come and is awaited by nobody: its tag is *tag in the bits
     * of `mask`, and not in those of `but`. 1: *tag, and its sender in the
     * world. NULL: that is not known. */
    int (*other)(void *team_ctx, uint64_t *tag, uint64_t mask, uint64_t but,
                 int *from_out);
};

/* What those messages cost: the model chooses by it, so it must be the same at
 * all ranks of the team. */
enum hb_coll_net_kind {
    HB_COLL_NET_TCP,
    HB_COLL_NET_RDMA, /* of hardware */
    HB_COLL_NET_SOFT  /* RDMA's calls, carried out by the kernel */
};
struct hb_coll_net_facts {
    enum hb_coll_net_kind kind;
    uint32_t mbps;             /* 0: not known */
    uint32_t rails;            /* that long messages are cut over; 0, 1: one */
    uint32_t send_ns, recv_ns; /* a short message by TCP; 0: not known */
    bool one_machine;          /* the nodes are pods of one machine */
    uint32_t cpus;             /* which has so many; 0: not known */
};

/* What such a message costs this machine: as HPCBOOT_COLL_TUNE says, as it is
 * kept, or (where `probe`) measured now, in HB_NET_PROBE_MS at most, and kept.
 * 0 where that is not to be had; never an error. */
void hb_coll_net_costs(bool probe, uint32_t *send_ns_out,
                       uint32_t *recv_ns_out);

struct hb_coll_team_args {
    size_t struct_size;
    int rank, size;          /* in the team */
    const int *local_ranks;  /* team ranks on this node, ascending, this one
                              * among them; NULL: all of the team */
    int local_size;          /* how many; 0 with NULL */
    const int *node_of;      /* [size] node number of each team rank, counted
                              * from 0 by first appearance; NULL: one node */
    const int *leaf_of;      /* by node number: alike where one switch of the
                              * network serves both; NULL: not known */
    void *region;            /* hb_coll_region_size(local_size) bytes, or at
                              * least .._least, zeroed before any rank
                              * attaches; 128-aligned; NULL where local_size
                              * is 1 */
    size_t region_size;      /* the same at all its ranks */
    const struct hb_coll_net *net; /* NULL: one node */
    struct hb_coll_net_facts net_facts; /* the same at all ranks */
    void *team_ctx;          /* for net and alive */
    int64_t timeout_ms;      /* of each call; <= 0: none */
    bool deterministic;      /* as HPCBOOT_DETERMINISTIC in each call */
};
#define HB_COLL_TEAM_INIT {.struct_size = sizeof(struct hb_coll_team_args)}

/* Bytes of shared memory that the ranks of a team on one node need; for more
 * ranks there are no fewer. Memory that is never touched is never allocated:
 * small teams stay small. */
size_t hb_coll_region_size(int local_size);
/* What works too, if more slowly for large messages: for many teams, or where
 * memory is short; and the least. */
size_t hb_coll_region_small(int local_size);
size_t hb_coll_region_least(int local_size);

/* Local: no message is exchanged. The region must outlive the team on each
 * rank; before it is given to another team, all have destroyed this one. */
int hb_coll_team_create(struct hb_coll_engine *engine,
                        const struct hb_coll_team_args *args,
                        struct hb_coll_team **team_out,
                        struct hpcboot_error *err);
void hb_coll_team_destroy(struct hb_coll_team *team);
/* Of the calls that follow; the same at all ranks for `deterministic`. */
void hb_coll_team_set(struct hb_coll_team *team, int64_t timeout_ms,
                      bool deterministic);
/* The first error the team met; 0: it is sound. */
int hb_coll_team_error(const struct hb_coll_team *team,
                       struct hpcboot_error *err);

/* From within config.stuck alone, which has the engine's lock: the call that
 * the team is in at this rank (false: in none), how many it has begun, what
 * tells one of the last of them from others (false: not known any more), and
 * the end of the team with an error. */
bool hb_coll_team_waits(const struct hb_coll_team *team,
                        struct hb_coll_stuck *out);
uint64_t hb_coll_team_calls(const struct hb_coll_team *team);
struct hb_coll_made {
    uint64_t sign, bytes;
};
bool hb_coll_team_made(const struct hb_coll_team *team, uint64_t call,
                       struct hb_coll_made *out);
/* Whether a rank of the world has sent, in the place of the call that the team
 * is in, a message of another one. */
bool hb_coll_team_met_other(const struct hb_coll_team *team, int *from_out,
                            int *call_out);
void hb_coll_team_break(struct hb_coll_team *team,
                        const struct hpcboot_error *why);
/* The sentence about two calls that are not the same; ERR_USAGE. */
int hb_coll_made_differ(int rank, const struct hb_coll_made *made, int other,
                        const struct hb_coll_made *his,
                        struct hpcboot_error *err);

/* An op of hpcboot_op_create; lib/api looks it up and hands it over. */
struct hb_coll_user_op {
    hpcboot_op_fn fn;
    void *arg;
    bool commutative;
    size_t element_bytes; /* for HPCBOOT_BYTE: never cut; 0: 1 */
};

/* How many threads are in an op of the user's now, and whether this one is: it
 * must not call the library. */
extern _Atomic unsigned hb_coll_folding;
bool hb_coll_is_folding(void);

/* Calls of the user that lib/api makes of others, and that are told by their
 * own names: hb_coll_as puts one into the flags of a call's arguments. */
enum {
    HB_CALL_TEAM_SPLIT = HPCBOOT_COLLS,
    HB_CALL_TEAM_CREATE,
    HB_CALLS /* how many there are, with the collectives */
};
#define HB_CALL_AT 16 /* in the flags; the public ones are below */
static inline unsigned hb_coll_as(int call)
{
    return (unsigned)call << HB_CALL_AT;
}

/* `args` is as hpcboot/coll.h has it, and checked here: struct_size, coll,
 * type, op on type, root, NULL buffers, overlaps. timeout_ms 0 is the team's.
 * `user` is NULL unless args->op is HPCBOOT_OP_USER or more; it is copied. */

/* Blocking. 0, or an error with text. */
int hb_coll_run(struct hb_coll_team *team,
                const struct hpcboot_coll_args *args,
                const struct hb_coll_user_op *user,
                struct hpcboot_error *err);
int hb_coll_barrier(struct hb_coll_team *team, struct hpcboot_error *err);

/* Nonblocking and persistent: init checks, and copies arrays of counts; start
 * may be called again once the run before is done. The outcome of a run is what
 * the test says that sees its end. */
int hb_coll_init(struct hb_coll_team *team,
                 const struct hpcboot_coll_args *args,
                 const struct hb_coll_user_op *user,
                 struct hb_coll_req **req_out, struct hpcboot_error *err);
int hb_coll_start(struct hb_coll_req *req, struct hpcboot_error *err);
/* 1 done (or never started), 0 under way, < 0 failed. Moves things on. */
int hb_coll_test(struct hb_coll_req *req, struct hpcboot_error *err);
/* Until done, or ERR_TIMED_OUT at `deadline_ns` (0, HB_NEVER: none), which
 * leaves the request under way. */
int hb_coll_wait(struct hb_coll_req *req, int64_t deadline_ns,
                 struct hpcboot_error *err);
bool hb_coll_under_way(const struct hb_coll_req *req);
/* ERR_TIMED_OUT, with whom a wait for this request is for. */
int hb_coll_late(struct hb_coll_req *req, struct hpcboot_error *err);
/* NULL: no-op. One that is under way goes when its run is done. */
void hb_coll_req_destroy(struct hb_coll_req *req);

/* Moves on whatever is under way on this engine; > 0: something moved. */
int hb_coll_progress(struct hb_coll_engine *engine);
/* As above, or negative: nothing is under way, and no message can come. */
int hb_coll_progress_if_any(struct hb_coll_engine *engine);
/* As hb_coll_progress where requests are under way; elsewhere it costs next to
 * nothing. */
int hb_coll_progress_requests(struct hb_coll_engine *engine);
/* After a look that has found nothing: who looks again and again is waiting,
 * and where ranks share cores it is put behind those that it waits for. */
void hb_coll_vain_look(struct hb_coll_engine *engine);
/* What this thread looked for has come. */
void hb_coll_look_found(void);
/* Waits as collectives wait, until ready(arg) returns non-zero (which is
 * returned) or the deadline passes (HPCBOOT_ERR_TIMED_OUT). For tagged
 * messages and the like; of one that is on its way ready says HB_COLL_MOVED,
 * and the wait stays awake. deadline_ns 0 or HB_NEVER: none. */
#define HB_COLL_MOVED INT_MAX
int hb_coll_wait_until(struct hb_coll_engine *engine, int (*ready)(void *arg),
                       void *arg, int64_t deadline_ns,
                       struct hpcboot_error *err);

/* Types and operations, for argument checks and for lib/api. */
size_t hb_coll_type_size(enum hpcboot_type type); /* 0: no such type */
const char *hb_coll_type_name(enum hpcboot_type type);
const char *hb_coll_op_name(int op);
const char *hb_coll_name(int call); /* "allreduce", "team_split" */
/* Whether a call takes `op`, or `count`; no such collective: neither. */
bool hb_coll_takes_op(enum hpcboot_coll coll);
bool hb_coll_takes_count(enum hpcboot_coll coll);
/* Whether op is defined on type (one of the user: on all). */
bool hb_coll_op_defined(int op, enum hpcboot_type type);

/* How many bytes from `send` and from `recv` on a call may touch at this rank,
 * to the end of the last block; 0 where it is HPCBOOT_IN_PLACE. */
struct hb_coll_spans {
    size_t send, recv;
    bool recv_in, recv_out; /* what is at recv before the call is its input; it
                             * is written to */
};
/* The arguments are checked first: ERR_USAGE and ERR_UNSUPPORTED as of
 * hb_coll_run. */
int hb_coll_spans(const struct hb_coll_team *t,
                  const struct hpcboot_coll_args *a,
                  const struct hb_coll_user_op *user,
                  struct hb_coll_spans *out, struct hpcboot_error *err);
/* What of the span at recv the call may touch: blocks that do not follow one
 * another, as many as the team has ranks at most; of arguments that are
 * checked. Returns how many. */
struct hb_coll_block {
    size_t at, bytes;
};
size_t hb_coll_recv_blocks(const struct hb_coll_team *t,
                           const struct hpcboot_coll_args *a,
                           const struct hb_coll_spans *spans,
                           struct hb_coll_block *out);

#endif
