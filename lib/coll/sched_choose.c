/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which algorithm a call takes: each that fits is priced by a LogGP model in
 * closed form, with its radix or segment, and the cheapest is taken. All that
 * goes in is the same at all ranks, so all take the same. A user's wish comes
 * first where its algorithm fits the call. */

#include "config.h"

#include "lib/coll/sched.h"

#include "lib/coll/coll.h"

/* TCP between hosts of one rack; a message costs a system call at either end.
 * What those cost is measured, where the ranks' cards say it, and where pods
 * are of one machine there is no wire: who sends carries the message all the
 * way to the other's socket. InfiniBand or RoCE of 100 Gb/s. UCX over TCP, or
 * RDMA that the kernel carries out: bytes are touched once more. */
const struct hb_model hb_model_tcp = {
    .latency = 9000, .overhead = 4500, .receive = 4500, .gap = 4500,
    .byte = 0.3,
    .fold = 0.1, .copy = 0.06, .node = 1500,
    .eager = 65536, .big = 0.3,
};
const struct hb_model hb_model_ib = {
    .latency = 900, .overhead = 250, .receive = 250, .gap = 150, .byte = 0.08,
    .fold = 0.1, .copy = 0.06, .node = 800,
    .eager = 8192, .big = 0.08,
};

static const struct hb_model model_soft = {
    .latency = 9000, .overhead = 4500, .receive = 4500, .gap = 4500,
    .byte = 0.7,
    .fold = 0.1, .copy = 0.06, .node = 1500,
    .eager = 8192, .big = 0.7,
};

/* Virtual devices, such as those of containers, claim this rate whatever they
 * really do. */
#define CLAIMED_MBPS 10000u
#define NS_PER_BYTE_MBPS 8000.0 /* of a rate of 1 Mb/s */
/* Until who looks at its socket, or is woken there, has found a message. */
#define NO_WIRE_NS 2000
/* What sending costs is measured over the loopback device. Between pods there
 * are two devices and a bridge: two to three times as much. */
#define POD_SENDS 2

/* What is measured of TCP. */
static void know_tcp(struct hb_model *m, const struct hb_coll_net_facts *f)
{
    if (f->send_ns > 0 && f->recv_ns > 0) {
        m->overhead = m->gap = f->send_ns;
        m->receive = f->recv_ns;
    }
    if (f->one_machine) {
        m->overhead = m->gap = POD_SENDS * m->overhead;
        m->latency = NO_WIRE_NS;
        m->cpus = f->cpus;
    }
}

struct hb_model hb_model_of(const struct hb_coll_net_facts *f)
{
    struct hb_model m = f->kind == HB_COLL_NET_RDMA   ? hb_model_ib
                        : f->kind == HB_COLL_NET_SOFT ? model_soft
                                                      : hb_model_tcp;
    double wire = f->mbps > 0 ? NS_PER_BYTE_MBPS / f->mbps : 0;
    if (f->kind == HB_COLL_NET_TCP) {
        know_tcp(&m, f);
    }
    if (f->kind == HB_COLL_NET_RDMA
            ? f->mbps > 0 : wire > m.byte && f->mbps < CLAIMED_MBPS) {
        m.byte = m.big = wire;
    }
    if (f->rails > 1) {
        m.big /= f->rails;
    }
    m.wire = f->mbps == CLAIMED_MBPS ? 0
                                     : wire / (f->rails > 1 ? f->rails : 1);
    return m;
}

/* ---- prices ---- */

struct priced { /* a group of p, n bytes; alpha: a message of none */
    const struct hb_model *m;
    double p, n, rounds, alpha, message, inject, share;
    double smooth; /* a message that goes in segments */
    bool whole; /* p is a power of two */
    bool among; /* some are of one node, whose messages wake nobody */
};

double hb_log_up(double p, double radix)
{
    double n = 1, rounds = 0;
    while (n < p) {
        n *= radix;
        rounds++;
    }
    return rounds;
}

static double bytes_price(const struct hb_model *m, double n)
{
    return n * (n > m->eager ? m->big : m->byte);
}

static struct priced priced(const struct hb_model *m, int size, double n)
{
    struct priced x = {.m = m, .p = size, .n = n};
    double port = m->gap > m->overhead ? m->gap : m->overhead;
    x.rounds = hb_log_up(size, 2);
    x.whole = (size & (size - 1)) == 0;
    x.alpha = m->latency + m->overhead + m->receive;
    x.message = x.alpha + bytes_price(m, n);
    x.inject = port + bytes_price(m, n);
    x.smooth = x.alpha + n * m->byte;
    x.share = (x.p - 1) / x.p;
    return x;
}

typedef double price_fn(const struct priced *x, const struct hb_choice *how);

/* All that a call makes the ranks do, where they are more than the CPUs: those
 * take turns, and a message is work from its sender to who wakes for it. */
static double crowded_price(const struct priced *x, double messages,
                            double each)
{
    return x->m->cpus > 0 && x->p > x->m->cpus
               ? messages * each / x->m->cpus : 0;
}

/* A message that is too long to be sent unasked is offered, and asked for;
 * where others are under way, nobody waits for that. */
static double handshake(const struct priced *x)
{
    return x->n > x->m->eager ? 2 * x->alpha : 0;
}

/* Whoever has several below sends to them, or receives from them, one after
 * the other. */
static double tree_price(const struct priced *x, const struct hb_choice *how,
                         bool up)
{
    double in = x->m->receive + bytes_price(x->m, x->n) + x->m->fold * x->n;
    double each = up ? in : x->inject, once = up ? x->m->overhead
                                                 : x->m->receive;
    return hb_log_up(x->p, how->radix) *
           (x->m->latency + handshake(x) + once +
            (how->radix - 1) * each);
}

static double lanes_of(const struct hb_choice *how)
{
    return how->alg == HB_ALG_DOUBLE_TREE ? 2 : 1;
}

static double segment_of(const struct priced *x, const struct hb_choice *how)
{
    double most = x->n / lanes_of(how), seg = (double)how->segment;
    return how->alg == HB_ALG_KNOMIAL || seg > most ? most : seg;
}

/* Segments through a binary tree; of two trees, each carries half. Who has one
 * below in a tree has another in the other one, the root too. */
static double pipe_price(const struct priced *x, const struct hb_choice *how,
                         double fold)
{
    double seg = (double)how->segment < x->n ? (double)how->segment : x->n;
    double lanes = lanes_of(how);
    double steps = x->n / lanes / (seg > 0 ? seg : 1), depth = x->rounds;
    double fan = x->p > 3 || lanes > 1 ? 2 : 1, each = x->inject -
                                          bytes_price(x->m, x->n) +
                                          bytes_price(x->m, seg);
    double alone = lanes * steps <= 1 ? handshake(x) : 0;
    return (depth + (steps > 1 ? steps : 1) - 1) * fan *
               (each + x->m->receive + fold * seg) +
           depth * (x->m->latency + alone + x->m->receive);
}

/* Bytes are work at both ends. */
static double tree_work(const struct priced *x, const struct hb_choice *how,
                        double fold)
{
    double seg = segment_of(x, how), lanes = lanes_of(how);
    double steps = x->n > 0 ? x->n / lanes / seg : 1;
    return crowded_price(x, (x->p - 1) * lanes * (steps > 1 ? steps : 1),
                         x->alpha + 2 * bytes_price(x->m, seg) + fold * seg);
}

static double bcast_price(const struct priced *x, const struct hb_choice *how)
{
    return how->alg == HB_ALG_KNOMIAL ? tree_price(x, how, false)
                                      : pipe_price(x, how, 0);
}

static double reduce_path(const struct priced *x, const struct hb_choice *how)
{
    return how->alg == HB_ALG_KNOMIAL ? tree_price(x, how, true)
                                      : pipe_price(x, how, x->m->fold);
}

static double reduce_price(const struct priced *x,
                           const struct hb_choice *how)
{
    double path = reduce_path(x, how), work = tree_work(x, how, x->m->fold);
    return path > work ? path : work;
}

/* What a look at the socket takes several of. */
#define AHEAD_MOST 8192

/* Where ranks take turns, a root that only sends short messages runs ahead,
 * and the others catch up, many calls at a time: no call waits for the way
 * down the tree, and the fewer the root sends to, the sooner it goes on. */
static double bcast_alone(const struct priced *x, const struct hb_choice *how)
{
    double path = bcast_price(x, how), work = tree_work(x, how, 0);
    double below = hb_log_up(x->p, how->radix) * (how->radix - 1);
    if (work == 0 || x->among || x->n > AHEAD_MOST) {
        return path > work ? path : work;
    }
    below = how->alg != HB_ALG_KNOMIAL ? lanes_of(how)
            : below < x->p - 1         ? below : x->p - 1;
    return work + below * x->inject;
}

/* Where some ranks of a crowd are of one node, so that a message is nearly all
 * that a tree's round costs, the fewest messages are the cheapest. */
static double work_among(const struct priced *x, double messages, double each)
{
    return x->among ? crowded_price(x, messages, each) : 0;
}

static double barrier_price(const struct priced *x,
                            const struct hb_choice *how)
{
    double rounds = hb_log_up(x->p, how->radix), siblings = how->radix - 1;
    bool tree = how->alg == HB_ALG_KNOMIAL;
    double path = tree ? tree_price(x, how, true) + tree_price(x, how, false)
                       : rounds * (x->m->latency +
                                   siblings * (x->inject + x->m->receive));
    double work = work_among(x, tree ? 2 * (x->p - 1)
                                     : x->p * rounds * siblings, x->alpha);
    return path > work ? path : work;
}

static double allreduce_path(const struct priced *x,
                             const struct hb_choice *how)
{
    double fold = x->n * x->m->fold, down = x->rounds;
    double extra = x->whole ? 0 : 2 * x->smooth + fold;
    down -= x->whole ? 0 : 1;
    switch (how->alg) {
    case HB_ALG_DOUBLING:
        return down * (x->smooth + fold) + extra;
    case HB_ALG_HALVING:
        return 2 * down * x->alpha +
               x->share * (2 * x->n * x->m->byte + fold) + extra;
    case HB_ALG_RING:
        return 2 * (x->p - 1) *
                   (x->alpha + bytes_price(x->m, x->n / x->p)) +
               x->share * fold;
    default:
        return reduce_path(x, how) + bcast_price(x, how);
    }
}

static double allreduce_work(const struct priced *x,
                             const struct hb_choice *how)
{
    double each = x->alpha + 2 * bytes_price(x->m, x->n) + x->n * x->m->fold;
    double down = x->p * x->rounds, around = 2 * x->p * (x->p - 1);
    switch (how->alg) {
    case HB_ALG_DOUBLING:
        return work_among(x, down, each);
    case HB_ALG_HALVING:
        return work_among(x, 2 * down, x->alpha);
    case HB_ALG_RING:
        return work_among(x, around, x->alpha);
    default:
        return work_among(x, 2 * (x->p - 1), each);
    }
}

static double allreduce_price(const struct priced *x,
                              const struct hb_choice *how)
{
    double path = allreduce_path(x, how);
    double work = x->n <= (double)HB_CROWDED_TREE_MOST
                      ? allreduce_work(x, how) : 0;
    return path > work ? path : work;
}

static double gather_price(const struct priced *x,
                           const struct hb_choice *how)
{
    double all = x->n * (x->p - 1);
    if (how->alg == HB_ALG_LINEAR) {
        return x->m->latency + (x->p - 1) * (x->inject + x->m->receive);
    }
    return hb_log_up(x->p, how->radix) *
               (x->m->latency +
                (how->radix - 1) * (x->m->overhead + x->m->receive)) +
           all * (x->m->byte + x->m->copy) + all / 2 * x->m->byte;
}

static double allgather_price(const struct priced *x,
                              const struct hb_choice *how)
{
    if (how->alg == HB_ALG_BRUCK) {
        return x->rounds * x->alpha + x->n * (x->p - 1) * x->m->byte +
               2 * x->n * x->p * x->m->copy;
    }
    return (x->p - 1) * x->message;
}

static double alltoall_price(const struct priced *x,
                             const struct hb_choice *how)
{
    if (how->alg == HB_ALG_BRUCK) {
        return x->rounds * (x->alpha + x->n * x->p / 2 *
                                           (x->m->byte + 2 * x->m->copy)) +
               2 * x->n * x->p * x->m->copy;
    }
    return x->m->latency + (x->p - 1) * (x->inject + x->m->receive);
}

static double reduce_scatter_price(const struct priced *x,
                                   const struct hb_choice *how)
{
    double all = x->n * x->p, each = x->m->byte + x->m->fold;
    struct priced vector = priced(x->m, (int)x->p, all);
    switch (how->alg) {
    case HB_ALG_HALVING:
        return x->rounds * x->alpha + all * x->share * each +
               (x->whole ? 0 : x->message + all * each);
    case HB_ALG_PAIRWISE:
        return x->m->latency +
               (x->p - 1) * (x->inject + x->m->receive) +
               all * x->m->fold;
    default:
        return reduce_path(&vector, how) + gather_price(x, how);
    }
}

/* Each passes a piece on and takes the next meanwhile. */
static double chain_price(const struct priced *x)
{
    double most = (double)HB_CHAIN_SEGMENT;
    double seg = x->n < most ? x->n : most;
    double each = seg * (x->m->byte + x->m->fold);
    double port = x->m->gap > x->m->overhead ? x->m->gap : x->m->overhead;
    double more = x->n > most ? x->n / most - 1 : 0;
    double path = (x->p - 1) * (x->alpha + each) +
                  more * (port + x->m->receive + each);
    double work = crowded_price(x, (x->p - 1) * (1 + more), x->alpha + each);
    return path > work ? path : work;
}

/* Doubling sends more messages than a chain, many of them at a time: where
 * ranks take turns on the cores, the one that is awaited has its turn behind
 * others, while in a chain nobody else has anything to do. */
static double scan_price(const struct priced *x, const struct hb_choice *how)
{
    double fold = x->n * x->m->fold, far = 1, messages = 0;
    if (how->alg != HB_ALG_DOUBLING) {
        return chain_price(x);
    }
    for (; far < x->p; far *= 2) {
        messages += x->p - far;
    }
    double path = x->rounds * (x->message + 2 * fold);
    return path + crowded_price(x, messages, x->message + 2 * fold);
}

/* ---- what there is to choose from ---- */

#define BIT(c) (1u << HPCBOOT_COLL_##c)

static const struct way {
    unsigned colls;
    enum hb_alg alg;
    price_fn *price;
    bool commutes; /* for ops that do, and blocks of one length */
} ways[] = {
    {BIT(BARRIER), HB_ALG_DOUBLING, barrier_price, false},
    {BIT(BARRIER), HB_ALG_KNOMIAL, barrier_price, false},
    {BIT(BCAST), HB_ALG_KNOMIAL, bcast_alone, false},
    {BIT(BCAST), HB_ALG_PIPELINE, bcast_alone, false},
    {BIT(BCAST), HB_ALG_DOUBLE_TREE, bcast_alone, false},
    {BIT(REDUCE), HB_ALG_KNOMIAL, reduce_price, false},
    {BIT(REDUCE), HB_ALG_PIPELINE, reduce_price, true},
    {BIT(REDUCE), HB_ALG_DOUBLE_TREE, reduce_price, true},
    {BIT(ALLREDUCE), HB_ALG_DOUBLING, allreduce_price, false},
    {BIT(ALLREDUCE), HB_ALG_HALVING, allreduce_price, false},
    {BIT(ALLREDUCE), HB_ALG_RING, allreduce_price, true},
    {BIT(ALLREDUCE), HB_ALG_KNOMIAL, allreduce_price, false},
    {BIT(ALLREDUCE), HB_ALG_DOUBLE_TREE, allreduce_price, true},
    {BIT(GATHER) | BIT(SCATTER), HB_ALG_KNOMIAL, gather_price, false},
    {BIT(GATHER) | BIT(SCATTER), HB_ALG_LINEAR, gather_price, false},
    {BIT(ALLGATHER) | BIT(ALLGATHERV), HB_ALG_BRUCK, allgather_price, false},
    {BIT(ALLGATHER) | BIT(ALLGATHERV), HB_ALG_RING, allgather_price, false},
    {BIT(ALLTOALL), HB_ALG_BRUCK, alltoall_price, false},
    {BIT(ALLTOALL) | BIT(ALLTOALLV), HB_ALG_PAIRWISE, alltoall_price, false},
    {BIT(REDUCE_SCATTER) | BIT(REDUCE_SCATTER_BLOCK), HB_ALG_HALVING,
     reduce_scatter_price, true},
    {BIT(REDUCE_SCATTER) | BIT(REDUCE_SCATTER_BLOCK), HB_ALG_PAIRWISE,
     reduce_scatter_price, false},
    {BIT(REDUCE_SCATTER) | BIT(REDUCE_SCATTER_BLOCK), HB_ALG_KNOMIAL,
     reduce_scatter_price, false},
    {BIT(SCAN) | BIT(EXSCAN), HB_ALG_DOUBLING, scan_price, false},
    {BIT(SCAN) | BIT(EXSCAN), HB_ALG_LINEAR, scan_price, false},
};
#define WAYS (sizeof ways / sizeof ways[0])

static const int radices[] = {2, 4, 8, 16};
static const size_t segment_sizes[] = {8 << 10, 64 << 10, 256 << 10,
                                       512 << 10};
#define VARIANTS 4

static bool has_segments(enum hb_alg alg)
{
    return alg == HB_ALG_PIPELINE || alg == HB_ALG_DOUBLE_TREE;
}

static const struct way *way_of(enum hpcboot_coll coll, int alg)
{
    for (size_t i = 0; i < WAYS; i++) {
        if ((ways[i].colls >> coll & 1) != 0 && (int)ways[i].alg == alg) {
            return &ways[i];
        }
    }
    return NULL;
}

/* The best radix or segment of a way. */
static struct hb_choice best_of(const struct way *w, const struct priced *x,
                                int radix, size_t segment)
{
    struct hb_choice best = {.alg = w->alg, .cost_ns = -1};
    for (int i = 0; i < VARIANTS; i++) {
        struct hb_choice how = {w->alg, radix > 0 ? radix : radices[i],
                                0, 0};
        if (has_segments(w->alg)) {
            how.segment = segment > 0 ? segment : segment_sizes[i];
        }
        how.cost_ns = w->price(x, &how);
        if (best.cost_ns < 0 || how.cost_ns < best.cost_ns) {
            best = how;
        }
    }
    return best;
}

bool hb_is_choice(enum hpcboot_coll coll, enum hb_alg alg)
{
    return way_of(coll, (int)alg) != NULL;
}

static struct priced priced_for(const struct hb_call *c, int size,
                                size_t bytes)
{
    struct priced x = priced(c->model, size, (double)bytes);
    x.among = c->layout != NULL && size > c->layout->nodes;
    return x;
}

size_t hb_choices(const struct hb_call *c, enum hpcboot_coll coll, int size,
                  size_t bytes, struct hb_choice out[HB_ALGS])
{
    struct priced x = priced_for(c, size, bytes);
    size_t n = 0;
    for (size_t i = 0; i < WAYS; i++) {
        const struct way *w = &ways[i];
        if ((w->colls >> coll & 1) != 0 && !(w->commutes && c->ordered)) {
            out[n++] = best_of(w, &x, 0, 0);
        }
    }
    return n;
}

struct hb_choice hb_choose(const struct hb_call *c, enum hpcboot_coll coll,
                           int size, size_t bytes)
{
    struct priced x = priced_for(c, size, bytes);
    const struct way *w = way_of(coll, c->wish->alg[coll]);
    struct hb_choice best = {.alg = HB_ALG_LINEAR, .cost_ns = -1};
    struct hb_choice all[HB_ALGS];
    if (w != NULL && !(w->commutes && c->ordered)) {
        return best_of(w, &x, c->wish->radix[coll], c->wish->segment[coll]);
    }
    size_t n = hb_choices(c, coll, size, bytes, all);
    for (size_t i = 0; i < n; i++) {
        if (best.cost_ns < 0 || all[i].cost_ns < best.cost_ns) {
            best = all[i];
        }
    }
    return best;
}

double hb_predict(const struct hb_call *c, enum hpcboot_coll coll, int size,
                  size_t bytes, const struct hb_choice *how)
{
    struct priced x = priced_for(c, size, bytes);
    const struct way *w = way_of(coll, how->alg);
    return w != NULL ? w->price(&x, how) : -1;
}
