/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_XPORT_TCP_IMPL_H
#define HB_XPORT_TCP_IMPL_H

#include "lib/xport/address.h"
#include "lib/xport/choose.h"
#include "lib/xport/impl.h"

/* Inside of the carriers between nodes: tcp_conn.c opens and ends connections,
 * tcp_meet.c has two ranks agree on one, tcp.c knows what peers may say,
 * tcp_io.c moves bytes, ucx.c moves them by UCX where choose.c says so.
 *
 * Messages up to HB_TCP_EAGER are sent at once; longer ones are offered, and
 * sent when a receive has asked for them. */
#define HB_TCP_EAGER ((size_t)64 << 10)
/* A rank keeps at most this much of one peer's messages that no receive awaits.
 * A sender that is so far ahead only offers what follows, however short. */
#define HB_TCP_AHEAD ((uint64_t)16 << 20)

enum hb_tcp_kind {
    HB_TCP_MESSAGE = 1, /* take: 1 where further ones may wait for its ACK */
    HB_TCP_OFFER, HB_TCP_TAKE, HB_TCP_DATA,
    HB_TCP_BYE, /* size: how many came by UCX before it */
    HB_TCP_CREDIT, /* size: messages of so much weight have met receives */
    /* Of a pair with rails, tcp_pair.c: */
    HB_TCP_PART, /* of what was taken, from byte `tag` on */
    HB_TCP_DONE, /* all parts of an offer are there */
    HB_TCP_LOST, /* id: the slot that has ended; size: what had come by then */
    HB_TCP_HEARD /* says nothing but its seq */
};

/* A peer whose host is silent for so long though it was asked is gone; sooner
 * where the launcher thinks so sooner (HPCBOOT_LOST_AFTER), not below what a
 * few lost packets take. */
#define HB_TCP_LIMIT_S 10u
#define HB_TCP_LEAST_S 3u

/* Both ends are of one job and one architecture: the greeting's magic number
 * differs where the order of bytes does. */
struct hb_tcp_head {
    uint32_t kind, source, context;
    /* UCX, which brings them in any order: of messages and offers. A pair with
     * rails: how much has come in order. */
    uint32_t seq;
    uint64_t tag, size;
    uint64_t id;   /* of the offer, at the sender */
    uint64_t take; /* of the receive, at the receiver; 0: none will come */
};

struct hb_tcp_conn;

struct hb_tcp_item { /* something to be written */
    struct hb_tcp_item *next, **back; /* back, conn: while with UCX */
    struct hb_tcp_conn *conn;
    struct hb_tcp_head head;
    uint64_t key; /* goes with the head where UCX carries it */
    const char *data;
    size_t size, done; /* done counts the head too */
    struct hb_xport_req *req; /* ends when all is written; may be NULL */
};

enum hb_tcp_state {
    HB_TCP_CONNECTING, HB_TCP_GREETING,
    HB_TCP_ANSWERED, /* a call that its caller may have given up */
    HB_TCP_HELD,     /* a call that is not needed, and that its caller closes */
    HB_TCP_READY, HB_TCP_DEAD
};

struct hb_tcp_pair;

struct hb_rail_pace { /* tcp_pace.c */
    uint64_t acked, busy_us; /* as last seen, since the connection began */
    uint64_t part_bytes, part_us; /* of these, while it had parts to carry */
    int has_part;
    double rate; /* bytes a second; 0: not known yet */
    int64_t known_ns; /* since when */
};

struct hb_tcp_conn {
    struct hb_tcp *tcp;
    struct hb_tcp_pair *pair; /* NULL: no rails */
    unsigned slot;            /* in it */
    struct hb_rail_pace pace;
    struct hb_tcp_conn *next; /* of t->in, or of t->gone */
    int fd, outgoing;
    enum hb_tcp_state state;
    uint32_t peer, armed; /* epoll events asked for */
    int joins; /* short messages wait for the ACK of those before, as one */
    unsigned n_ahead; /* short messages since this rank last waited, */
    uint64_t waits;   /* which was its so manieth time */
    int spoke;   /* this rank, since the peer's last message, which had */
    size_t last; /* so many bytes with its head; 0: too many to matter; */
    int met;     /* it was awaited */
    int answers; /* it has written: the system may delay its ACKs */
    int broken; /* errno of a write; what has come is read before it ends */
    /* outgoing */
    struct hb_endpoint endpoint;
    unsigned attempt, rounds; /* of all addresses */
    int was_silent; /* one took the connection, and has not answered yet */
    unsigned silent_at; /* a bit for each that ever did so */
    int was_refused; /* one has answered, and is not the peer */
    int no_port;     /* one was not called for want of a port of ours */
    int64_t begun_ns, since_ns;
    struct hb_tcp_item *first, **end;
    char why[512]; /* each attempt that failed */
    int code;      /* of the failure; 0: PEER_DEAD */
    enum hb_carrier by;
    struct hb_ucx_ep *ep;
    int ep_lost;
    struct hb_tcp_item *flying;
    uint32_t next_seq;
    uint64_t n_sent;
    char *blob; /* what follows the answer to our greeting */
    /* incoming */
    int heard; /* anything behind its greeting */
    int by_reserve; /* it has the last descriptor, to be refused by */
    int dying, said_bye; /* its end is known, but not all of it is here yet */
    int error;
    uint64_t bye;
    struct hb_tcp_head head;
    size_t got; /* of head, greeting or answer */
    struct hb_inbound *body;
    unsigned char hello[64];
};

struct hb_ucx_side;

struct hb_tcp {
    struct hb_xport *x;
    int taken; /* some of its descriptors, tcp_taken.c */
    int listen_fd, epoll_fd;
    int direct;     /* its sockets are the kernel's, and take system calls */
    int ends;       /* what UCX still brings while they close is nobody's */
    int reserve_fd; /* gives way to a caller for whom there is no other; -1 */
    unsigned char token[HB_ADDRESS_TOKEN];
    struct hb_interfaces ours;
    struct hb_tcp_conn **out; /* [size] of each; NULL: none yet */
    struct hb_tcp_conn *in, *gone;
    struct hb_row offers[HB_MATCH_ROWS], takes[HB_MATCH_ROWS]; /* by their id */
    uint64_t *ahead; /* [size] weight sent to each, not known to be received */
    uint64_t *owed;  /* [size] received from each, which is not told yet */
    struct hb_tcp_pair **pairs; /* [size]; NULL: no rails, or not yet */
    struct hpcboot_error **lost; /* [size]; NULL: its connection is not */
    struct hb_tcp_conn *hot; /* is awaited, or spoke last; or NULL */
    unsigned hot_turns;
    int64_t looked_ns;
    unsigned n_unwritten, n_dying, n_broken;
    unsigned n_joining; /* connections */
    uint64_t waits;     /* looks for a message that was not there */
    unsigned limit_s; /* HB_TCP_LIMIT_S, or less */
    char far[16]; /* congestion control of long paths; "": the system's */
    struct hb_carrier_wish wish;
    struct hb_caps caps;
    char *ports; /* of the kind of device that is wished; NULL: none is */
    struct hb_ucx_side *ucx; /* NULL: not used, for ucx_why */
    char ucx_why[512];
    char warning[768]; /* "": none */
};

/* tcp_io.c: 1 moved, 0 nothing */
int hb_tcp_write(struct hb_tcp_conn *c);
/* The same; negative errno: the connection is gone */
int hb_tcp_read(struct hb_tcp_conn *c);
void hb_tcp_arm(struct hb_tcp_conn *c, uint32_t events);
void hb_tcp_queue(struct hb_tcp_conn *c, const struct hb_tcp_head *head,
                  const char *data, size_t size, struct hb_xport_req *req);

/* A message has come whose ACK is awaited. */
void hb_tcp_answer(struct hb_tcp_conn *c);

/* tcp_tune.c: quick, and sure of the other end: who is asked and does not
 * answer is gone. */
void hb_tcp_be_quick(const struct hb_tcp *t, int fd);
/* Before it connects or listens; _far when the way is known. */
void hb_tcp_be_near(struct hb_tcp *t, int fd);
void hb_tcp_be_far(const struct hb_tcp *t, int fd);
/* To an address of ours, to call from: 0, or -1 and errno. */
int hb_tcp_bind(int fd, const struct sockaddr_storage *from);

/* tcp_open.c: why messages with a rank do not go by UCX; "": it is dearer. */
void hb_tcp_why_not_ucx(const struct hb_tcp *t, uint32_t rank, char *text,
                        size_t size);
/* errno says that this process has no descriptor left. */
int hb_tcp_is_without_fd(int error);
uint64_t hb_tcp_fds_most(void); /* that it may have */
int hb_tcp_socket(struct hb_tcp *t, int family); /* to call by; -1, errno */
void hb_tcp_take_reserve(struct hb_tcp *t);
void hb_tcp_keep_reserve(struct hb_tcp_conn *c); /* it is closed */
void hb_tcp_tell_no_fd(char *text, size_t size); /* "has no ... left" */
/* There is no socket, as errno says. 1: it is given up: no other address would
 * help, and the peer is not to blame. */
int hb_tcp_call_without_fd(struct hb_tcp_conn *c);
/* A call failed as there is no port left to call `to` from. */
int hb_tcp_is_without_port(int error, const struct sockaddr_storage *to);
void hb_tcp_tell_no_port(char *text, size_t size); /* "this rank has no ..." */

/* tcp_conn.c: the connection by which messages for a peer go, or wait */
struct hb_tcp_conn *hb_tcp_conn_to(struct hb_tcp *t, uint32_t peer,
                                   struct hpcboot_error *err);
struct hb_tcp_conn *hb_tcp_conn_new(struct hb_tcp *t, int fd, int outgoing);
/* Messages for its peer go by it from now on, those too that have waited for
 * another, which is discarded. */
void hb_tcp_keep(struct hb_tcp_conn *c);
/* Closed, and freed when no event can tell of it any more. */
void hb_tcp_discard(struct hb_tcp_conn *c);
void hb_tcp_free_gone(struct hb_tcp *t);
/* Of a message only a part has come, and no more will. */
void hb_tcp_fail_body(struct hb_tcp_conn *c, const struct hpcboot_error *why);
/* An attempt that failed (the next address follows), or the end of a
 * connection. */
void hb_tcp_lost(struct hb_tcp_conn *c, int error);
void hb_tcp_give_up(struct hb_tcp_conn *c);
/* tcp_taken.c: whether the error is that of a descriptor that is not the
 * carrier's any more; why its connection has ended; the end of all, as nothing
 * is heard of any; and closes what is still the carrier's. */
int hb_tcp_is_taken(int error);
void hb_tcp_tell_taken(struct hb_tcp_conn *c, struct hpcboot_error *why);
void hb_tcp_without_events(struct hb_tcp *t);
void hb_tcp_close(const struct hb_tcp *t, int *fd);
int hb_tcp_has_lost_its_port(const struct hb_tcp *t);
void hb_tcp_break(struct hb_tcp *t, const struct hb_xport_req *req);
/* Whoever has accepted the connection has not answered for some time. It may be
 * the peer, which computes, or a stranger at the same address: so the peer's
 * other addresses are called, if hb_tcp_may_hang_up, and this one again. */
void hb_tcp_silent(struct hb_tcp_conn *c);
/* All addresses once more. */
void hb_tcp_again(struct hb_tcp_conn *c);
void hb_tcp_look_at_broken(struct hb_tcp *t);

/* A call for a further rail, from `from` to the only address of its endpoint.
 */
void hb_tcp_call(struct hb_tcp_conn *c, const struct sockaddr_storage *from);
void hb_tcp_leave_incoming(struct hb_tcp_conn *c);

/* tcp_meet.c; an event was handled: 1 moved, 0 nothing */
void hb_tcp_accept(struct hb_tcp *t);
/* Hangs up on a caller that says nothing, which frees its descriptor; 0: there
 * is no such caller. */
int hb_tcp_make_room(struct hb_tcp *t);
int hb_tcp_connected(struct hb_tcp_conn *c);
int hb_tcp_read_answer(struct hb_tcp_conn *c);
int hb_tcp_read_greeting(struct hb_tcp_conn *c);
/* A first message has come by a call that we have answered. -EPROTO */
int hb_tcp_confirmed(struct hb_tcp_conn *c);
/* Who answers a call like this (an errno, 0: otherwise) is the peer. */
int hb_tcp_is_answer(const struct hb_tcp_conn *c, int error);
/* A call that was taken, and is not answered, may end for another. */
int hb_tcp_may_hang_up(const struct hb_tcp_conn *c);
/* The other end has closed the connection, and nothing is left to read. */
int hb_tcp_has_hung_up(const struct hb_tcp_conn *c);

void hb_tcp_look_at_dying(struct hb_tcp *t);

/* tcp.c: a head has come; what follows it goes where c->body says. */
int hb_tcp_on_head(struct hb_tcp_conn *c);
void hb_tcp_on_body(struct hb_tcp_conn *c);
/* The same, whoever has brought it; on_data's NULL: we have not asked. */
void hb_tcp_on_offer(struct hb_tcp *t, uint32_t peer,
                     const struct hb_tcp_head *head);
int hb_tcp_on_take(struct hb_tcp *t, uint32_t peer,
                   const struct hb_tcp_head *head);
void hb_tcp_on_credit(struct hb_tcp *t, uint32_t peer,
                      const struct hb_tcp_head *head);
struct hb_inbound *hb_tcp_on_data(struct hb_tcp *t, uint32_t peer,
                                  const struct hb_tcp_head *head);

/* Off those who offer or take; NULL: it is not among them. */
struct hb_xport_req *hb_tcp_take_off(struct hb_row rows[HB_MATCH_ROWS],
                                     uint64_t id, uint32_t peer);
int hb_tcp_is_with(const struct hb_xport_req *r, uint32_t peer);

/* tcp_pair.c: the pair's first connection is READY. */
void hb_pair_begin(struct hb_tcp_conn *c);
void hb_pair_tune(const struct hb_tcp_conn *c); /* one of its connections */
void hb_pair_end(struct hb_tcp_pair *p); /* nobody asks any more */
/* Rails are worth opening for so long a message. */
void hb_pair_open(struct hb_tcp_pair *p, uint64_t size);
/* A caller's rail, or one of ours, is READY; 0: there is no place for it. */
int hb_pair_join(struct hb_tcp_conn *c, unsigned slot);
/* Whether an item may be written now; called before its first byte. */
int hb_pair_may(struct hb_tcp_conn *c, struct hb_tcp_item *i);
/* 1: the item, which is written, is the pair's. */
int hb_pair_keep(struct hb_tcp_pair *p, struct hb_tcp_item *i);
void hb_pair_heard(struct hb_tcp_conn *c);             /* a head */
void hb_pair_came(struct hb_tcp_pair *p, uint64_t size); /* a message, whole */
int hb_pair_on_lost(struct hb_tcp_conn *c);
/* The message that had begun to come when its rail was lost. */
struct hb_inbound *hb_pair_half(struct hb_tcp_pair *p);
/* 1: others are left; 0: the peer is dead. */
int hb_pair_lost(struct hb_tcp_conn *c);
/* All that waits fails. */
void hb_pair_bury(struct hb_tcp *t, uint32_t peer,
                  const struct hpcboot_error *why);
/* Those but the one of t->out; NULL: none at this slot. */
#define HB_PAIR_SLOTS (HB_RAILS_MOST + 1)
struct hb_tcp_conn *hb_pair_other(const struct hb_tcp *t, uint32_t peer,
                                  unsigned slot);
void hb_pair_text(const struct hb_tcp_pair *p, char *text, size_t size);

/* tcp_cut.c: long messages in parts, over all rails */
int hb_cut_send(struct hb_tcp_pair *p, struct hb_xport_req *r, uint64_t take);
int hb_cut_spread(struct hb_tcp_pair *p); /* parts, to who has nothing else */
int hb_cut_on_part(struct hb_tcp_conn *c);
void hb_cut_part_came(struct hb_tcp_conn *c, struct hb_inbound *in);
void hb_cut_on_done(struct hb_tcp_conn *c);
void hb_cut_recall(struct hb_tcp_pair *p, unsigned slot); /* it is lost */
void hb_cut_fail(struct hb_tcp_pair *p, const struct hpcboot_error *why);
void hb_cut_recopy(struct hb_tcp_pair *p, const struct hb_xport_req *r);
/* Where parts of it go; NULL: nowhere. */
struct hb_xport_req *hb_cut_req(const struct hb_cut *k);

/* ucx.c */
int hb_ucx_open(struct hb_tcp *t, struct hpcboot_error *err); /* sets t->ucx */
int hb_ucx_join(struct hb_ucx_side *s);
void hb_ucx_close(struct hb_ucx_side *s);
const void *hb_ucx_address(struct hb_ucx_side *s, size_t *len_out);
int hb_ucx_connect(struct hb_tcp_conn *c, const void *address);
void hb_ucx_disconnect(struct hb_tcp_conn *c);
int hb_ucx_write(struct hb_tcp_conn *c);
int hb_ucx_progress(struct hb_ucx_side *s);
/* How many messages have come from a rank. */
uint64_t hb_ucx_count(const struct hb_ucx_side *s, uint32_t source);
/* Until UCX does not use the request's buffer any more. */
void hb_ucx_reclaim(struct hb_ucx_side *s, struct hb_xport_req *req);
int hb_ucx_event_fd(struct hb_ucx_side *s); /* -1: none */
int hb_ucx_arm(struct hb_ucx_side *s); /* 0: something is there */
void hb_ucx_text(const struct hb_tcp_conn *c, char *text, size_t size);

#endif
