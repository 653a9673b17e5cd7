/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What the network between some ranks is like, from their cards alone. Cards
 * are collected before any rank goes on, and are the same in the table of
 * each node; so ranks that ask about the same ranks get the same answer
 * without a message, and may make choices by it that must agree.
 *
 * The answer is of the worst pair: a collective is as slow as that. Which way
 * a pair really takes is settled when it connects (tcp_conn.c), by the same
 * rule. */
#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/xport/address.h"
#include "lib/xport/impl.h"

#define BOOT_ID_MOST 128

/* All 0 where a rank has told nothing. */
static void read_card(const struct hb_xport_job *job, int rank,
                      struct hb_endpoint *out)
{
    struct hb_buf b;
    size_t len;
    const void *card = job->address(job->ctx, (uint32_t)rank, &len);

    hb_buf_view(&b, card, len);
    if (hb_endpoint_get(&b, NULL, out) < 0) {
        *out = (struct hb_endpoint){.n = 0};
    }
}

/* With the first of them: the networks of a cluster are those of its hosts. */
static uint32_t fewer_rails(uint32_t least, const struct hb_endpoint *first,
                            const struct hb_endpoint *other)
{
    struct hb_rail rail[HB_RAILS_MOST];
    unsigned n = hb_rails_between(first, other, rail);

    return n < least ? n : least;
}

static uint32_t slower(uint32_t a, uint32_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static void worsen(struct hb_caps *all, const struct hb_caps *one)
{
    int has_both = all->ucx_kind != HB_UCX_NONE &&
                   one->ucx_kind != HB_UCX_NONE &&
                   !hb_caps_ucx_differs(all, one);
    int ib_and_other = (all->ucx_kind == HB_UCX_IB) !=
                       (one->ucx_kind == HB_UCX_IB);

    all->may &= one->may;
    all->ucx_kind = !has_both || ib_and_other ? HB_UCX_NONE
                    : all->ucx_kind > one->ucx_kind ? all->ucx_kind
                                                    : one->ucx_kind;
    all->ucx_mbps = slower(all->ucx_mbps, one->ucx_mbps);
    all->tcp_mbps = slower(all->tcp_mbps, one->tcp_mbps);
}

static uint32_t more(uint32_t a, uint32_t b)
{
    return a == 0 || b == 0 ? 0 : a > b ? a : b;
}

static void worsen_costs(struct hb_costs *all, const struct hb_costs *one)
{
    all->send_ns = more(all->send_ns, one->send_ns);
    all->recv_ns = more(all->recv_ns, one->recv_ns);
    all->cpus = slower(all->cpus, one->cpus);
    all->machine = all->machine == one->machine ? one->machine : 0;
}

/* The kernel's number of this boot, which pods of one machine share. */
static uint64_t machine(void)
{
    char *text = NULL;
    size_t len = 0;
    uint64_t h = 14695981039346656037u; /* FNV-1a */

    if (hb_file_read("/proc/sys/kernel/random/boot_id", BOOT_ID_MOST, &text,
                     &len, NULL) < 0 || len == 0) {
        h = 0;
    }
    for (size_t i = 0; h != 0 && i < len; i++) {
        h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    }
    free(text);
    return h;
}

void hb_xport_put_costs(struct hb_buf *address, uint32_t send_ns,
                        uint32_t recv_ns)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const struct hb_costs costs = {.send_ns = send_ns, .recv_ns = recv_ns,
                                   .cpus = cpus > 0 ? (uint32_t)cpus : 0,
                                   .machine = machine()};

    hb_endpoint_put_costs(address, &costs);
}

void hb_xport_net(const struct hb_xport *x, const int *ranks, int n,
                  struct hb_xport_net *out)
{
    struct hb_endpoint first = {.n = 0}, one;
    struct hb_caps all = {0};
    uint32_t rails = HB_RAILS_MOST;

    out->costs = (struct hb_costs){0};
    for (int i = 0; i < n; i++) {
        read_card(&x->job, ranks[i], &one);
        if (i == 0) {
            first = one;
            all = one.caps;
            out->costs = one.costs;
        } else {
            rails = fewer_rails(rails, &first, &one);
        }
        worsen(&all, &one.caps);
        worsen_costs(&out->costs, &one.costs);
    }
    out->by_ucx = hb_carry_by(&all, &all) == HB_BY_UCX;
    out->is_device = out->by_ucx && all.ucx_kind < HB_UCX_SOFT;
    out->rails = out->by_ucx || rails < 1 ? 1 : rails;
    out->mbps = out->by_ucx ? all.ucx_mbps : all.tcp_mbps;
}
