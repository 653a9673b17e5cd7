/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_XPORT_TCP_IMPL_H
#define HB_XPORT_TCP_IMPL_H

#include "lib/xport/address.h"
#include "lib/xport/impl.h"

/* Inside of the TCP carrier: tcp_conn.c makes connections, tcp.c knows what
 * peers may say, tcp_io.c moves bytes.
 *
 * A connection carries messages one way, from who opened it; an answer goes
 * over the other's own. Messages up to HB_TCP_EAGER are sent at once; longer
 * ones are offered, and sent when a receive has asked for them. */
#define HB_TCP_EAGER ((size_t)64 << 10)

enum hb_tcp_kind { HB_TCP_MESSAGE = 1, HB_TCP_OFFER, HB_TCP_TAKE, HB_TCP_DATA };

/* Both ends are of one job and one architecture: the greeting's magic number
 * differs where the order of bytes does. */
struct hb_tcp_head {
    uint32_t kind, source, context, unused;
    uint64_t tag, size;
    uint64_t id;   /* of the offer, at the sender */
    uint64_t take; /* of the receive, at the receiver */
};

struct hb_tcp_item { /* something to be written */
    struct hb_tcp_item *next;
    struct hb_tcp_head head;
    const char *data;
    size_t size, done; /* done counts the head too */
    struct hb_xport_req *req; /* ends when all is written; may be NULL */
};

enum hb_tcp_state {
    HB_TCP_CONNECTING, HB_TCP_GREETING, HB_TCP_READY, HB_TCP_DEAD
};

struct hb_tcp_conn {
    struct hb_tcp *tcp;
    struct hb_tcp_conn *next; /* of those that came in */
    int fd, outgoing;
    enum hb_tcp_state state;
    uint32_t peer, armed; /* epoll events asked for */
    /* outgoing */
    struct hb_endpoint endpoint;
    unsigned attempt;
    int64_t since_ns;
    struct hb_tcp_item *first, **end;
    char why[256]; /* each attempt that failed */
    /* incoming */
    struct hb_tcp_head head;
    size_t got; /* of head, greeting or acknowledgement */
    struct hb_inbound *body;
    unsigned char hello[32];
};

struct hb_tcp {
    struct hb_xport *x;
    int listen_fd, epoll_fd;
    unsigned char token[HB_ADDRESS_TOKEN];
    struct hb_interfaces ours;
    struct hb_tcp_conn **out; /* [size], NULL: none yet */
    struct hb_tcp_conn *in;
    struct hb_xport_req *offers, *takes;
    unsigned n_connecting, n_unwritten;
};

/* tcp_io.c: 1 moved, 0 nothing, negative errno: the connection is gone */
int hb_tcp_write(struct hb_tcp_conn *c);
int hb_tcp_read(struct hb_tcp_conn *c);
void hb_tcp_arm(struct hb_tcp_conn *c, uint32_t events);
void hb_tcp_queue(struct hb_tcp_conn *c, const struct hb_tcp_head *head,
                  const char *data, size_t size, struct hb_xport_req *req);

/* tcp_conn.c; an event was handled: 1 moved, 0 nothing */
struct hb_tcp_conn *hb_tcp_conn_to(struct hb_tcp *t, uint32_t peer,
                                   struct hpcboot_error *err);
void hb_tcp_accept(struct hb_tcp *t);
int hb_tcp_connected(struct hb_tcp_conn *c);
int hb_tcp_read_ack(struct hb_tcp_conn *c);
int hb_tcp_read_greeting(struct hb_tcp_conn *c); /* c may be gone */
/* An attempt that failed (the next address follows), or the end of a
 * connection; one that came in is freed. */
void hb_tcp_lost(struct hb_tcp_conn *c, int error);

/* tcp.c: a head has come; what follows it goes where c->body says. */
int hb_tcp_on_head(struct hb_tcp_conn *c);
void hb_tcp_on_body(struct hb_tcp_conn *c);

#endif
