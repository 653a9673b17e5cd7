/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_XPORT_IMPL_H
#define HB_XPORT_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "lib/xport/xport.h"

/* Inside of the transport: match.c brings messages and receives together,
 * xport.c starts and ends requests, back.c takes back what comes for one that
 * was given up, ring.c and tcp.c carry. */

/* Rows of match.c, each in the order of time. A receive or a message stands in
 * several at once: in that of all, and in hashed ones by source and context, or
 * by source, context and tag. So a search walks through a few rows; what has
 * the same hash and something else stands there too. */
struct hb_link {
    struct hb_link *prev, *next;
    void *of; /* the receive or the message */
};
struct hb_row {
    struct hb_link *first, *last;
};
#define HB_MATCH_BITS 8
#define HB_MATCH_ROWS (1u << HB_MATCH_BITS)
/* Rows by a hash: HB_MATCH_ROWS, or, where there was memory for them, at least
 * as many as there ever were things in them. */
struct hb_table {
    struct hb_row *rows, first[HB_MATCH_ROWS];
    uint32_t n_rows, n; /* a power of two, and how many are in them */
    int shift;          /* the upper bits of a hash that number a row */
};

enum { HB_POSTED_ALL, HB_POSTED_HASHED, HB_POSTED_ROWS };
/* By what of source and tag a receive names: neither, either; not both. */
enum { HB_WIDE_SORTS = 3 };
enum { HB_ROW_ALL, HB_ROW_SOURCE, HB_ROW_TAG, HB_ROWS };

struct hb_xport_req {
    struct hb_xport_req *next; /* in a list: waiting for room, or a peer */
    struct hb_link posted[HB_POSTED_ROWS]; /* [0]: of an offer, a take, too */
    uint64_t number;   /* receives are counted as they are posted */
    int is_recv, done, status;
    int on_list;       /* posted, or in a peer's outbox */
    uint64_t order;    /* of a receive: of its message, once it has met it */
    int orphan;        /* cancelled while under way: freed when done */
    struct hb_inbound *back; /* what comes goes there, as nobody awaits it */
    struct hb_inbound *from; /* the message it waits for keeps its own bytes */
    int fetching;      /* UCX writes to its buffer */
    int peer;          /* source or destination; HB_XPORT_ANY */
    uint32_t context;
    uint64_t tag, mask;
    char *buffer;      /* of a receive; NULL once cancelled */
    const char *data;  /* of a send */
    char *copy;        /* of the data, once cancelled */
    size_t size;       /* of the send, capacity of the receive */
    size_t sent;       /* bytes in the ring */
    size_t has;        /* bytes of its message, once it is done */
    int begun;         /* a record of it is there */
    int is_void;       /* given up, and there was no memory for the rest */
    uint64_t id;       /* in a rendezvous */
    int64_t lost_ns;   /* when a test found its connection gone; 0: none */
    struct hb_xport_info info;
    struct hpcboot_error err; /* the last: its text is not cleared */
};

struct hb_cut;

/* A message that has begun to arrive. */
struct hb_inbound {
    struct hb_link in_row[HB_ROWS];
    int is_kept; /* it is in those rows: nobody awaits it yet */
    struct hb_xport *x; /* of one that was put back while it came */
    uint32_t source, context;
    uint64_t tag, size, got;
    uint64_t missing; /* at its end, which a short buffer had cut off */
    char *own;                /* its bytes, where no buffer awaits them */
    struct hb_xport_req *req; /* who gets it */
    int is_offer;             /* of a rendezvous: the bytes are at the sender */
    uint64_t offer_id;
    int complete;
    int is_part; /* of a message that comes over several rails: */
    struct hb_cut *cut; /* NULL: it is here already */
    uint64_t at;
    uint64_t order; /* in which messages met their receives; 0: not yet */
    int is_counted; /* its sender was told that it is received */
    int lost; /* nobody awaited it, and there was no memory to keep it */
    int is_void; /* its sender gave it up half-way, without a copy */
};

struct hb_tcp;
struct hb_ring_peer;

struct hb_xport {
    struct hb_xport_job job;
    pthread_mutex_t lock;
    /* Receives without a message: all; those of one source and one tag, by
     * these; those of any source, or with a mask, by what they name, and how
     * many there are of each sort (match.c). */
    struct hb_row posted;
    struct hb_table posted_exact, posted_wide;
    uint32_t n_wide[HB_WIDE_SORTS];
    uint64_t n_posted, n_met; /* since the beginning */
    /* Messages without a receive: all, by source, by source and tag. */
    struct hb_row unexpected, by_source[HB_MATCH_ROWS];
    struct hb_table by_tag;
    unsigned char *over; /* [over_size] a bit for each context; see xport.h */
    size_t over_size;
    struct hb_ring_peer *peers; /* [n_local]; NULL: alone on this node */
    uint32_t cells;             /* of each ring */
    struct hb_tcp *tcp; /* NULL: one node */
    uint64_t next_id;
    _Atomic uint64_t moves;
};

/* match.c */
void hb_row_append(struct hb_row *row, struct hb_link *link, void *of);
void hb_row_take_out(struct hb_row *row, const struct hb_link *link);
void hb_match_init(struct hb_xport *x);
void hb_match_destroy(struct hb_xport *x);
/* Who waits for such a message; taken off the list. Where its context is over,
 * a receive that nobody waits for. */
struct hb_xport_req *hb_match_posted(struct hb_xport *x,
                                     const struct hb_inbound *in);
void hb_match_keep(struct hb_xport *x, struct hb_inbound *in);
/* It had met a receive: all that has met none is younger, of its source and
 * tag, and what has met one later. */
void hb_match_keep_first(struct hb_xport *x, struct hb_inbound *in);
/* Off the list of those that nobody awaits, if it is there. */
void hb_match_forget(struct hb_xport *x, struct hb_inbound *in);
/* The first message for a receive; taken off the list. */
struct hb_inbound *hb_match_unexpected(struct hb_xport *x,
                                       const struct hb_xport_req *req);
void hb_match_post(struct hb_xport *x, struct hb_xport_req *req);
void hb_match_unpost(struct hb_xport *x, struct hb_xport_req *req);
/* A context is over; whether it is. */
void hb_match_end(struct hb_xport *x, uint32_t context);
int hb_match_is_over(const struct hb_xport *x, uint32_t context);
/* A peer is gone: receives that name it fail. */
void hb_match_lost(struct hb_xport *x, uint32_t peer,
                   const struct hpcboot_error *why);

/* xport.c */
void hb_req_finish(struct hb_xport_req *req, int status);
/* From now on a receive waits for this message. */
void hb_req_meets(struct hb_xport *x, struct hb_xport_req *req,
                  const struct hb_inbound *in);
/* The job is told of a message whose context is over. */
void hb_xport_dropped(struct hb_xport *x, const struct hb_inbound *in);
/* The same, and a receive that has been given up: its bytes go nowhere. */
struct hb_xport_req *hb_req_nobody(struct hb_xport *x,
                                   const struct hb_inbound *in);
/* A message that is whole in memory, for who waits or will wait. */
void hb_xport_arrived(struct hb_xport *x, uint32_t source, uint32_t context,
                      uint64_t tag, const char *data, size_t size);
/* Memory for the bytes of a message that nobody awaits yet. */
void hb_inbound_make_room(struct hb_inbound *in);
/* The bytes of `in` are all here: its receive ends; _finish frees `in`. */
void hb_inbound_deliver(struct hb_inbound *in);
void hb_inbound_finish(struct hb_inbound *in);

/* back.c */
/* A receive that has met its message: that is there for the next receive. */
void hb_back_put(struct hb_xport *x, struct hb_xport_req *req);
/* All of it has come, or will not: req->status. */
void hb_back_came(struct hb_xport_req *req);
/* An orphan, at the end of its transport. */
void hb_back_free(struct hb_xport_req *req);

/* ring.c: between ranks of this node */
void hb_ring_join(struct hb_xport *x);
void hb_ring_leave(struct hb_xport *x);
void hb_ring_send(struct hb_xport *x, struct hb_xport_req *req);
int hb_ring_progress(struct hb_xport *x);
/* 1: the request is under way here, and goes on without its buffer. */
int hb_ring_cancel(struct hb_xport *x, struct hb_xport_req *req);

/* tcp.c */
/* What a message that nobody awaits takes of its receiver's memory, however
 * short it is. */
static inline uint64_t hb_xport_weight(uint64_t size)
{
    return size + 256;
}
/* Of a rank that opens none: whether what the user asks for is sound. */
int hb_tcp_check_wishes(struct hpcboot_error *err);
int hb_tcp_open(struct hb_tcp **out, struct hb_buf *address,
                struct hpcboot_error *err);
int hb_tcp_join(struct hb_tcp *t, struct hb_xport *x,
                struct hpcboot_error *err);
void hb_tcp_destroy(struct hb_tcp *t);
const char *hb_tcp_warning(const struct hb_tcp *t);
int hb_tcp_send(struct hb_tcp *t, struct hb_xport_req *req,
                struct hpcboot_error *err);
/* A receive has met a message of that weight, which was sent at once. */
void hb_tcp_received(struct hb_tcp *t, uint32_t source, uint64_t weight);
/* A receive has met an offer; where it cannot be taken the receive fails. */
void hb_tcp_accept_offer(struct hb_tcp *t, struct hb_inbound *in,
                         struct hb_xport_req *req);
/* No receive ever will. */
void hb_tcp_decline_offer(struct hb_tcp *t, struct hb_inbound *in);
int hb_tcp_progress(struct hb_tcp *t);
/* Why nothing comes from a rank any more; NULL: it may. */
const struct hpcboot_error *hb_tcp_why_lost(const struct hb_tcp *t,
                                            uint32_t peer);
/* A message of this peer is what the caller waits for. */
void hb_tcp_await(struct hb_tcp *t, uint32_t source);
/* This rank waits: what it has sent does not any more (tcp_io.c). */
void hb_tcp_part(struct hb_tcp *t);
/* What a sleeper may rely on. */
enum hb_idle {
    HB_IDLE_NOT,     /* something has come */
    HB_IDLE_BRIEFLY, /* UCX is at something that no descriptor tells of */
    HB_IDLE_LONG     /* one of fds becomes readable when something comes */
};
enum hb_idle hb_tcp_arm_idle(struct hb_tcp *t, int fds[2]);
const char *hb_tcp_transport(struct hb_tcp *t, uint32_t rank, char *detail,
                             size_t size);
int hb_tcp_busy(const struct hb_tcp *t); /* something is not written yet */
/* All is written: peers learn how much that was. */
void hb_tcp_bye(struct hb_tcp *t);
/* 1: nothing of the request's buffer is used any more (tcp_io.c). */
int hb_tcp_cancel(struct hb_tcp *t, struct hb_xport_req *req);

#endif
