/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_API_API_H
#define HB_API_API_H

/* What the files of the public library share: this process's one job, its
 * teams, requests, and the way from one to the engines below. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "hpcboot/hpcboot.h"
#include "lib/base/error.h"
#include "lib/coll/coll.h"
#include "lib/rdzv/client.h"
#include "lib/xport/move.h"
#include "lib/xport/xport.h"

enum api_phase {
    API_BEFORE, API_STARTING, API_IN, API_ENDING, API_OVER,
    API_FORKED /* a copy of a rank, which is none */
};

struct hpcboot_team {
    int rank, size;
    int *world;       /* [size] rank in the world of each */
    int *rank_of;     /* [world size] rank in the team, -1; NULL: world team */
    struct hb_coll_team *coll;
    uint64_t region;  /* offset of its header in the segment; 0: none */
    uint32_t context; /* tells its messages from those of other teams */
    int timeout_ms, deterministic;
    int permanent;    /* world and node team */
    int whole;        /* all that lives: the world, and what it shrank to */
    /* The team that this one came from by shrinking, however often: there its
     * members meet to shrink it. NULL: it is its own. */
    int *root;        /* ranks in the world */
    int root_size;
    uint32_t root_context;
    _Atomic unsigned n_requests; /* under way or persistent */
    int failed;       /* ERR_PEER_DEAD was seen */
    unsigned asked;   /* in which round (ask.c) */
    struct hpcboot_team *next;
};

struct api_user_op {
    struct hb_coll_user_op op;
    int used;
};

struct api_state {
    _Atomic int phase;
    pthread_mutex_t lock; /* of everything here but coll's own */
    pthread_mutex_t rdzv_lock; /* of the launcher's client, which may wait */
    int threads, checks, deterministic; /* as asked for */
    unsigned held; /* standard descriptors: the program has them closed */
    struct hb_rdzv *rdzv;
    struct hb_segment *memory; /* rdzv's */
    int rank, size, node, nodes, local_rank, local_size;
    int *leaf; /* [nodes] that of the network; NULL: not known */
    struct hb_coll_engine *engine;
    struct hb_xport *xport;
    struct hpcboot_team *world, *node_team, *teams;
    struct hpcboot_request *requests; /* under way or persistent */
    pthread_mutex_t requests_lock;    /* of that list, with several threads */
    uint32_t next_context;
    struct api_user_op *ops;
    int n_ops;
    _Atomic uint32_t events_told, news_told;
    struct hb_api_awaited { /* what a wait for no team is for */
        uint32_t kind;      /* enum hb_segment_waits; NOT: nobody has said */
        const struct hpcboot_request *message; /* of RECV and SEND */
        struct hpcboot_request *const *any;    /* [n_any] of ANY */
        size_t n_any;
        uint32_t number;        /* of FENCE: 1: of the node; of SHRINK: */
        const int *members;     /* [n_members] in the world, and the context */
        int n_members;
        int on;                 /* of SHRINK: who of them is the next */
    } awaited; /* kept up only where one thread calls */
    /* By rank: messages of the user's that have been sent, and received. NULL
     * unless calls are checked, and one thread makes them (hop.c). */
    uint64_t *sent, *came;
    /* Where the heap was, for a late hpcboot_free. */
    char *heap;
    size_t heap_size;
};
extern struct api_state hb_api;

/* check.c: ERR_USAGE with a text unless the library is between init and
 * finalize, and not within an op of the user's; */
int hb_api_ready(const char *call, struct hpcboot_error *err);
int hb_api_team(const char *call, const struct hpcboot_team *team,
                struct hpcboot_error *err);
/* unless a struct begins with its size, which `init` sets; */
int hb_api_sized(const char *call, const char *init, const void *sized,
                 size_t size, struct hpcboot_error *err);
/* for a place for `what` that is NULL; */
int hb_api_place(const char *call, const char *what, const void *place,
                 struct hpcboot_error *err);
/* for a negative timeout; and for flags that are not among the known. */
int hb_api_timeout(const char *call, int timeout_ms,
                   struct hpcboot_error *err);
int hb_api_flags(const char *call, unsigned flags, unsigned known,
                 struct hpcboot_error *err);
static inline int hb_api_is_in(void)
{
    return atomic_load_explicit(&hb_api.phase, memory_order_relaxed) == API_IN;
}
/* Whether hb_api_ready need not be asked. */
static inline int hb_api_is_ready(void)
{
    return hb_api_is_in() &&
           atomic_load_explicit(&hb_coll_folding, memory_order_relaxed) == 0;
}

/* device.c: whose memory is at p; NULL: the host's. The regions of addresses
 * that are known to be the host's spare the question. */
struct hb_api_device {
    const char *name, *shared; /* "CUDA"; what gets memory that both share */
    enum hb_ucxmove_kind kind;
    /* By its own driver, whole on return; NULL: by UCX (lib/xport/move.h). */
    int (*copy)(void *to, const void *from, size_t size, int to_device,
                struct hpcboot_error *err);
    /* NULL: it cannot. Pages of the host's for copies from and to what is at
     * `there`: hb_cuda_pin. */
    int (*pin)(void *pages, size_t size, const void *there);
    void (*unpin)(void *pages, int pinned_for);
};
#define HB_API_REGION_SHIFT 21
#define HB_API_REGIONS 64u
extern _Atomic uintptr_t hb_api_host_regions[HB_API_REGIONS];
static inline int hb_api_is_host(const void *p)
{
    uintptr_t region = (uintptr_t)p >> HB_API_REGION_SHIFT;

    return atomic_load_explicit(&hb_api_host_regions[region % HB_API_REGIONS],
                                memory_order_relaxed) == region;
}
const struct hb_api_device *hb_api_device_of(const void *p);

/* stage.c: what stands in the host's memory for buffers of a call that are a
 * device's. NULL: none is. */
struct hb_api_stage;
/* *args, which were checked but for this, get buffers of the host's;
 * ERR_UNSUPPORTED: UCX cannot read the device here. */
int hb_api_stage_coll(struct hpcboot_team *team,
                      struct hpcboot_coll_args *args,
                      const struct hb_coll_user_op *op,
                      struct hb_api_stage **out, struct hpcboot_error *err);
/* The same of one buffer, which the call reads, or writes if is_out. */
int hb_api_stage_data(const char *call, const char *what, void **data,
                      size_t size, int is_out, struct hb_api_stage **out,
                      struct hpcboot_error *err);
/* Before the call's work: what it reads is copied from the device. */
int hb_api_stage_begin(struct hb_api_stage *stage, struct hpcboot_error *err);
/* Afterwards: what it has written, `size` bytes of each buffer at most, is
 * copied to it. */
int hb_api_stage_end(struct hb_api_stage *stage, size_t size,
                     struct hpcboot_error *err);
void hb_api_stage_free(struct hb_api_stage *stage);
/* As free, of a call that is under way: an engine may have its buffers until
 * close. */
void hb_api_stage_leave(struct hb_api_stage *stage);
void hb_api_stage_close(void); /* after the engines */

/* leaves.c: of HPCBOOT_LEAVES, which is checked before ranks meet */
int hb_api_leaves_check(struct hpcboot_error *err);
void hb_api_leaves_open(void);
void hb_api_leaves_close(void);

/* team.c */
int hb_api_teams_open(struct hpcboot_error *err);
void hb_api_teams_close(void);

/* leave.c: all living ranks have come to hpcboot_finalize. */
void hb_api_leave_together(void);

/* peers.c */
/* Of struct hb_coll_config. */
int hb_api_alive(void *ctx, void *team, struct hpcboot_error *err);
/* The same: "rank 3 on pod-2". */
void hb_api_who(void *ctx, void *team, int rank, char *out, size_t size);
/* Of who waits for long, again and again: where no agent tells of deaths. */
void hb_api_look_at_node(void);
extern const struct hb_coll_net hb_api_net;
/* ERR_PEER_DEAD with the death's text; 0: no such death is known. */
int hb_api_peer_dead(int world_rank, struct hpcboot_error *err);
/* The same for who waits; 1, and *err: what it sent may be on its way. */
int hb_api_peer_silent(int world_rank, struct hpcboot_error *err);

/* Of struct hb_xport_job: the agent is to know; and it knows more, and soon
 * tells. */
void hb_api_connection_lost(void *ctx, uint32_t rank,
                            const struct hpcboot_error *why);
int hb_api_explain(void *ctx, uint32_t rank, int64_t since_ns,
                   struct hpcboot_error *why);
/* A request has failed for that: unless it is known, all of this node are to
 * know. */
void hb_api_peer_lost(int world_rank, const struct hpcboot_error *why);

/* op.c: an op of the user's; ERR_USAGE: there is none. */
int hb_api_user_op(int op, struct hb_coll_user_op *out,
                   struct hpcboot_error *err);
void hb_api_ops_close(void);

/* request.c */
struct hb_api_asking { /* for a wait, less and less often (ask.c) */
    int64_t since_ns, next_ns;
    unsigned times;
};
struct hpcboot_request {
    struct hpcboot_request *next, **back; /* of all that there are */
    struct hpcboot_team *team;
    struct hb_coll_req *coll; /* or */
    struct hb_xport_req *message;
    struct hpcboot_message *info; /* of a receive; may be NULL */
    struct hb_api_stage *stage;   /* NULL: its buffers are the host's */
    int persistent, is_recv, source, tag; /* source: or receiver */
    int active; /* started, and nobody has been told its outcome */
    unsigned tests; /* in vain, and when they began */
    int64_t tested_ns;
    struct hb_api_asking asking;
};
struct hpcboot_request *hb_api_request_new(struct hpcboot_team *team);
void hb_api_request_destroy(struct hpcboot_request *r);
void hb_api_requests_close(void); /* those that nobody has waited for */
/* hpcboot_wait of one that is active, by the name of `call` in errors. */
int hb_api_wait(const char *call, struct hpcboot_request **request,
                int timeout_ms, struct hpcboot_error *err);

/* message.c: of one that nobody waits for any more: what has come of it stays
 * for the next that asks for it, except a part of it that was shown. */
void hb_api_message_give_up(struct hb_xport_req *m);
/* 1 done, 0 under way, < 0 the outcome. */
int hb_api_message_test(struct hpcboot_request *r, struct hpcboot_error *err);

/* hb_coll_wait_until, which shows outsiders what it is for. */
int hb_api_wait_until(const struct hb_api_awaited *what,
                      int (*ready)(void *arg), void *arg, int64_t deadline_ns,
                      struct hpcboot_error *err);

/* stuck.c: of struct hb_coll_config. */
int hb_api_stuck(void *ctx, void *team, const struct hb_coll_stuck *what,
                 struct hpcboot_error *err);

/* ask.c: of a wait that has grown long; team NULL: it is no team's. An error:
 * there is no point in it. */
int hb_api_ask(struct hpcboot_team *team, const struct hb_coll_stuck *what,
               struct hpcboot_error *err);
/* The same of requests[n], of which any will do, or of one that is tested again
 * and again, which keeps `a` of its own (NULL: of the one wait that this rank
 * is in). What is heard of collectives ends them. */
int hb_api_ask_any(struct hpcboot_request *const *requests, size_t n,
                   struct hb_api_asking *a, const struct hb_coll_stuck *what,
                   struct hpcboot_error *err);
/* To those who ask, while the launcher is waited for; 1: somebody may. */
int hb_api_answer(void);
/* The team goes, with the error it met: those who ask later are told. */
void hb_api_ask_keep(const struct hpcboot_team *team);
/* This rank could not make the team of that context, which others may have; why
 * may be NULL. */
void hb_api_ask_keep_unmade(uint32_t context, int code,
                            const struct hpcboot_error *why);

/* hop.c: of struct hb_xport_job. */
void hb_api_message_dropped(void *ctx, uint32_t source, uint32_t context,
                            uint64_t tag);
/* What is counted for the checks. `ends`: it has a deadline; what
 * hb_api_fence_ends returns is the fence's outcome. */
void hb_api_counts_open(void);
void hb_api_counts_close(void);
void hb_api_fence_begins(int node_only, int ends);
int hb_api_fence_ends(int node_only, int rc, struct hpcboot_error *err);

/* A call that the launcher carries out begins (enum hb_segment_waits) or ends
 * (HB_WAITS_NOT): these may be seen to wait from their beginning on. */
void hb_api_shows(uint32_t kind);

/* A moment from a timeout in ms; 0: none. */
int64_t hb_api_deadline(int timeout_ms);

#endif
