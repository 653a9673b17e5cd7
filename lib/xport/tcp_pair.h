/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_XPORT_TCP_PAIR_H
#define HB_XPORT_TCP_PAIR_H

#include "lib/xport/tcp_impl.h"

/* Inside of a pair with rails: tcp_pair.c keeps its order, tcp_cut.c cuts its
 * long messages. */

#define HB_CUT_PART ((uint64_t)128 << 10)

struct hb_cut { /* a long message, under way */
    struct hb_cut *next;
    struct hb_xport_req *req;
    uint64_t id, take, size;
    uint64_t n, left; /* parts; that nobody has taken, or that are not here */
    unsigned char part[]; /* [n] its slot + 1, or whether it is here; 0: no */
};

struct hb_tcp_pair {
    struct hb_tcp *tcp;
    uint32_t peer;
    struct hb_rail rail[HB_RAILS_MOST];
    unsigned n_rails;
    int is_open; /* the further ones were called */
    int is_early; /* they are to be when the peer has spoken */
    /* [0] is whichever was there first, [i + 1] is rail i. */
    struct hb_tcp_conn *slot[HB_PAIR_SLOTS];
    uint32_t gone; /* slots that have ended, as bits */
    int awaits;    /* what has come by this slot, from the peer; -1: nothing */
    /* In order, modulo 2^32: what the peer has, what we have, have told. */
    uint32_t acked, got, told;
    uint64_t untold; /* bytes */
    struct hb_tcp_item *kept, **kept_end; /* written, and not heard of */
    struct hb_inbound *half;
    struct hb_cut *out, *in;
    uint64_t n_left; /* parts of `out` that no rail has taken */
    int spreading;
};

/* tcp_pace.c: what a rail has to carry already, and how fast it is. */
struct hb_pace {
    uint64_t queued;    /* bytes */
    double rate, least; /* of them a second, and at least; 0: not known */
};
void hb_pace_look(struct hb_tcp_conn *c, struct hb_pace *out);
/* Whether one more part is there by rail `mine` of v[n] before another one has
 * brought all `left` bytes. Of rails that are looked at together one at least
 * is worth it: `least` is no more than a `rate` that is known. */
int hb_pace_is_worth(const struct hb_pace *v, unsigned n, unsigned mine,
                     uint64_t left);

#endif
