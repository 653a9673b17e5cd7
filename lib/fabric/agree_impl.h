/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_FABRIC_AGREE_IMPL_H
#define HB_FABRIC_AGREE_IMPL_H

#include "lib/fabric/choose.h"
#include "lib/fabric/sysread.h"

/* Between agree.c, which decides, reasons.c, which says why, and join.c. */

struct tier { /* a kind of way, the best first */
    enum hb_fabric_kind kind;
    enum hb_path_class class;
    int routed; /* hosts are on different subnets */
};

struct network {
    struct tier tier;
    char name[HB_NETWORK_MAX];
    uint32_t order;     /* in which it was seen */
    uint32_t n_hosts;   /* that are on it */
    uint32_t missing;   /* the first that is not, or UINT32_MAX */
    uint32_t clash;     /* a host with the address of another; 0: none, */
    uint32_t clash_first; /* which is that one */
    uint32_t rate_mbps; /* of the slowest host */
    int is_alias;
    uint32_t partition; /* of InfiniBand */
    int is_told;        /* on some host, see choose.h */
};
struct networks {
    struct network *v;
    uint32_t n;
};

struct rails {
    struct hb_path v[HB_RAILS_MAX];
    uint32_t n;
};

struct host_seen {
    struct hb_paths paths;
    struct hb_strv refused;
    struct rails rails;
};

struct agreement {
    const struct hb_fabric_wish *wish;
    const struct hb_fabric_host *hosts;
    uint32_t n, n_rails;
    uint32_t partition; /* of all rails; 0: they are in several */
    int is_told;
    struct host_seen *seen; /* [n] */
    struct hb_fabric_plan *plan;
    struct hb_strv failed; /* what was tried, and who lacks it */
    /* The device that was named is an RDMA device of some host, with ports of
     * these kinds. */
    int is_rdma_name, has_ib, has_roce;
};

/* Is it of the device that was named, where one was? */
int agree_fits_wish(const struct hb_fabric_wish *w, const struct hb_path *p);
/* n_rails: that came of it. */
void agree_tell(struct agreement *a, const struct network *net,
                uint32_t best_mbps, uint32_t n_rails);
void agree_tell_tcp(struct agreement *a, const struct networks *nets,
                    const struct network *best);
void agree_tell_failed(struct agreement *a, const struct tier *t,
                       const struct networks *nets);
void agree_warn(struct agreement *a);
int agree_fail(struct agreement *a, struct hpcboot_error *err);

#endif
