/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_XPORT_XPORT_H
#define HB_XPORT_XPORT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/error.h"
#include "lib/xport/choose.h"

/* Tagged messages between the ranks of a job: through the memory of the node
 * where two ranks share one, else over TCP. A message has a context (a team
 * and a use of it), a tag and a source; a receive names them, or takes any
 * source and any tag. Messages with the same of all three arrive in order.
 *
 * Between nodes a pair uses TCP of our own or UCX (RDMA), whichever choose.h's
 * model finds the cheaper for what both have: UCX where both hosts have
 * InfiniBand, or RoCE, of hardware. HPCBOOT_TRANSPORTS=tcp, =ucx and --fabric
 * ib|roce|tcp say otherwise, and what they ask for is used or is an error. By
 * TCP, long messages go over all networks that both hosts are in (rails.c), and
 * go on by those that are left when one is cut.
 *
 * Ranks are those of the world. Any thread may call; each call takes the
 * transport's lock. Nothing blocks but hb_xport_flush; things move in
 * hb_xport_progress, and in the calls that start them. */
struct hb_xport;
struct hb_xport_req;

#define HB_XPORT_ANY (-1)
#define HB_XPORT_RING_LEAST 2048u

/* The job as this rank sees it; all borrowed until destroy. */
struct hb_xport_job {
    uint32_t rank, size, node, local_rank, n_local;
    const uint32_t *node_of, *local_rank_of; /* [size] */
    void *ctx; /* of the functions below */
    const void *(*address)(void *ctx, uint32_t rank, size_t *len_out);
    const char *(*host)(void *ctx, uint32_t rank);
    /* Memory of the node: ring_bytes for what local rank `from` sends to
     * `to`, zero in the beginning. Not used where n_local is 1 or 0. */
    void *(*ring)(void *ctx, uint32_t to, uint32_t from);
    size_t ring_bytes; /* HB_XPORT_RING_LEAST or more */
    /* The connection to a rank is given up for good, whether or not a request
     * waits for it; called with the transport's lock held. May be NULL. */
    void (*lost)(void *ctx, uint32_t rank, const struct hpcboot_error *why);
    /* Asked by a test of a request whose connection to a rank is gone, as *why
     * says; since_ns: when the first of its tests found that. 0: it is under
     * way still, since somebody may soon know more; ERR_PEER_DEAD: it fails
     * with *why as it is then. Called with the transport's lock held. NULL: it
     * fails at once. */
    int (*explain)(void *ctx, uint32_t rank, int64_t since_ns,
                   struct hpcboot_error *why);
    /* A message that nobody has asked for is dropped, since its context is
     * over; called with the transport's lock held. May be NULL. */
    void (*dropped)(void *ctx, uint32_t source, uint32_t context,
                    uint64_t tag);
};

/* Opens the way in for ranks of other nodes, and says how they come. A rank
 * whose job is on one node does without. */
int hb_xport_open(struct hb_xport **out, struct hb_buf *address,
                  struct hpcboot_error *err);
/* Behind that address: what a short message by TCP costs this machine. */
void hb_xport_put_costs(struct hb_buf *address, uint32_t send_ns,
                        uint32_t recv_ns);
/* What the user should know of how they come; "": nothing. Of x, or of NULL. */
const char *hb_xport_warning(const struct hb_xport *x);
/* Now that the job is known; *x may be NULL where nothing was opened. */
int hb_xport_join(struct hb_xport **x, const struct hb_xport_job *job,
                  struct hpcboot_error *err);
/* Requests that are left are freed. NULL-safe. */
void hb_xport_destroy(struct hb_xport *x);

/* `data` is borrowed until the request is done. To a rank whose connection is
 * gone it is a request that fails. */
int hb_xport_send(struct hb_xport *x, int dest, uint32_t context, uint64_t tag,
                  const void *data, size_t size, struct hb_xport_req **out,
                  struct hpcboot_error *err);
/* mask: bits of the tag that must agree; 0: any tag. From a rank whose
 * connection is gone only what has come already can be had. */
int hb_xport_recv(struct hb_xport *x, int source, uint32_t context,
                  uint64_t tag, uint64_t mask, void *data, size_t capacity,
                  struct hb_xport_req **out, struct hpcboot_error *err);

struct hb_xport_info {
    int source;
    uint64_t tag;
    size_t size; /* of the message, which may not have fitted */
};
/* The oldest receive that has no message yet, of contexts that are odd (1) or
 * even (0); source may be HB_XPORT_ANY. 0: there is none. */
struct hb_xport_wanted {
    int source;
    uint32_t context;
    uint64_t tag, mask;
};
int hb_xport_wanted(struct hb_xport *x, uint32_t odd,
                    struct hb_xport_wanted *out);

/* How many messages of a rank have come that no receive has asked for, of even
 * contexts but that one, with tags up to tag_most. */
uint64_t hb_xport_kept(struct hb_xport *x, int source, uint32_t but,
                       uint64_t tag_most);

/* The oldest message of a context that no receive has asked for, whose tag is
 * this one in the bits of `mask`, and not in those of `but`. 0: none. */
int hb_xport_other(struct hb_xport *x, uint32_t context, uint64_t tag,
                   uint64_t mask, uint64_t but, struct hb_xport_info *out);

/* 1: done, *info (may be NULL) is that of a receive; 0: under way; negative:
 * failed. The request is freed unless it is under way. ERR_LIMIT: the message
 * was longer than the capacity; ERR_PEER_DEAD: the connection to info->source
 * is gone. */
int hb_xport_test(struct hb_xport *x, struct hb_xport_req *req,
                  struct hb_xport_info *info, struct hpcboot_error *err);
/* Gives a request up; its buffer is free at once. A message that is on its way
 * to a receive is dropped, one that is being sent goes on from a copy. */
void hb_xport_cancel(struct hb_xport *x, struct hb_xport_req *req);
/* The same, but a message that is on its way to a receive, or has come, is
 * there for the next receive. Of one that was longer than the buffer only as
 * much. */
void hb_xport_put_back(struct hb_xport *x, struct hb_xport_req *req);
/* Ends a context: no receive of it is left, and this rank begins none any more.
 * Its messages, those that are here and those that will come, are dropped; for
 * their senders they count as received. */
void hb_xport_end(struct hb_xport *x, uint32_t context);
/* Whose message a receive has met, though it may not be whole; -1: none. */
int hb_xport_meets(struct hb_xport *x, const struct hb_xport_req *req);
int hb_xport_progress(struct hb_xport *x); /* > 0: something moved */
/* How often something has moved. */
uint64_t hb_xport_moves(const struct hb_xport *x);
/* Sleeps until a message from another node may have come, or can leave; `ns`
 * at most. Messages within the node wake nobody. */
void hb_xport_idle(struct hb_xport *x, int64_t ns);
/* How messages to and from a rank go: "self", "shm", "tcp" or "ucx", "none"
 * before the first; detail: by what device or to which addresses, one for each
 * network that is used, and why not by UCX. */
const char *hb_xport_transport(struct hb_xport *x, uint32_t rank, char *detail,
                               size_t size);
/* What serves between all of these ranks, as their cards say, and so the same
 * answer at each of them. */
struct hb_xport_net {
    int by_ucx;    /* else by TCP */
    int is_device; /* UCX: of hardware */
    uint32_t mbps; /* the slowest; 0: not known */
    uint32_t rails; /* networks that long messages are cut over; 1 or more */
    struct hb_costs costs; /* the most, and the fewest CPUs; 0: somebody does
                            * not know. machine: 0 unless all are of one */
};
void hb_xport_net(const struct hb_xport *x, const int *ranks, int n,
                  struct hb_xport_net *out);
/* Until all that was sent is with the other side's system. */
int hb_xport_flush(struct hb_xport *x, struct hpcboot_error *err);

#endif
