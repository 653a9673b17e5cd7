/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_FABRIC_CHOOSE_H
#define HB_FABRIC_CHOOSE_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/strv.h"
#include "lib/fabric/fabric.h"

/* Which ways ranks talk to each other: what each host offers, what all of them
 * share, and which of it each rank uses. Pure. */

enum hb_fabric_kind {
    HB_FABRIC_NONE, HB_FABRIC_AUTO, HB_FABRIC_IB, HB_FABRIC_ROCE,
    HB_FABRIC_TCP, HB_FABRIC_NAMED
};
const char *hb_fabric_kind_name(enum hb_fabric_kind kind); /* "roce" */

/* --fabric auto|ib|roce|tcp|NAME: NAME is an RDMA device ("mlx5_0", or one of
 * its ports "mlx5_0:1") or a net device. */
struct hb_fabric_wish {
    enum hb_fabric_kind kind;
    char name[HB_FABRIC_NAME];
    uint32_t port; /* 0: any */
};
int hb_fabric_wish_parse(const char *text, struct hb_fabric_wish *out,
                         struct hpcboot_error *err);

/* A port of one host on one network. */
enum hb_path_class { /* how good a way it is, among those of a kind */
    HB_PATH_LINK_LOCAL, HB_PATH_IPV6, HB_PATH_IPV4, HB_PATH_LID
};
#define HB_NETWORK_MAX 64u
struct hb_path {
    enum hb_fabric_kind kind;       /* IB, ROCE or TCP */
    enum hb_path_class class;
    const struct hb_rdma *rdma;     /* of IB and RoCE */
    const struct hb_port *port;
    const struct hb_gid *gid;
    const struct hb_netdev *net;    /* of RoCE and TCP */
    const struct hb_netaddr *addr;
    char network[HB_NETWORK_MAX];   /* "10.9.0.0/24" */
    uint32_t rate_mbps;
    int is_alias; /* a VLAN or another device on top of the port's own */
    uint32_t partition; /* of InfiniBand: a P_Key without its upper bit */
    int is_told; /* libraries have to be: it is not the port's first one */
};
struct hb_paths {
    struct hb_path *v;
    uint32_t n;
};

/* gid.c: every way out of a host, best first within a port. `refused` (may be
 * NULL) gets a line for each port and GID that is none, and why. Borrows
 * from f. */
void hb_fabric_paths(const struct hb_fabric *f, struct hb_paths *out,
                     struct hb_strv *refused);
void hb_paths_destroy(struct hb_paths *p); /* leaves it empty */
/* Whether one of them is by RDMA. */
int hb_fabric_has_rdma(const struct hb_fabric *f);

/* agree.c: the ways that all hosts of a job share. */
struct hb_fabric_host {
    const char *name;
    const struct hb_fabric *fabric;
};
struct hb_fabric_plan {
    enum hb_fabric_kind kind;    /* IB, ROCE or TCP */
    uint32_t n_hosts, n_rails;
    struct hb_path *rails;       /* [n_hosts * n_rails], a host's together */
    struct hb_path *tcp;         /* [n_hosts] for what runs over TCP */
    struct hb_strv why;          /* each decision, its reason, runners-up */
    struct hb_strv warnings;
};
/* One consistent set: rail i of a host is on the network of rail i of every
 * other. ERR_UNSUPPORTED: they do not share what was asked for; the text names
 * the hosts that lack it, and why. The plan borrows from the inventories. */
int hb_fabric_agree(const struct hb_fabric_wish *wish,
                    const struct hb_fabric_host *hosts, uint32_t n,
                    struct hb_fabric_plan *out, struct hpcboot_error *err);
void hb_fabric_plan_destroy(struct hb_fabric_plan *plan);

/* join.c: a host that comes when the others keep what they have agreed upon. */
struct hb_fabric_term { /* what one way of each host is on */
    enum hb_fabric_kind kind;
    enum hb_path_class class;
    int is_routed; /* they are, or may be, on different subnets */
    char network[HB_NETWORK_MAX];
};
struct hb_fabric_terms {
    enum hb_fabric_kind kind;
    uint32_t n_rails;
    struct hb_fabric_term *rails; /* [n_rails] */
    struct hb_fabric_term tcp;    /* of kind NONE where none was chosen */
};
/* *out is empty, or has older ones. Borrows nothing. */
void hb_fabric_terms_take(const struct hb_fabric_plan *plan,
                          struct hb_fabric_terms *out);
void hb_fabric_terms_destroy(struct hb_fabric_terms *t);
/* A plan of this host alone; it borrows from the inventory. ERR_UNSUPPORTED:
 * the host has no way to what was agreed upon; the text says to what. */
int hb_fabric_join(const struct hb_fabric_terms *terms,
                   const struct hb_fabric_wish *wish, const struct hb_fabric *f,
                   struct hb_fabric_plan *out, struct hpcboot_error *err);

/* assign.c: which rails of a host each of its ranks uses. */
#define HB_RAILS_MAX 64u
#define HB_RAILS_EACH 4u /* that one rank is given at most */
struct hb_rails_of {
    uint32_t n, v[HB_RAILS_EACH]; /* nearest first */
};
/* How far two devices are: 0 below one PCI switch, 1 below one host bridge,
 * 2 on one NUMA node, 3 further; 2 when it cannot be known. */
uint32_t hb_place_distance(const struct hb_place *a, const struct hb_place *b);
/* distance: [n_ranks * n_rails], small is near; rates: [n_rails] in Mb/s.
 * The nearest rail, and of those that are equally near the least used. Rails
 * that nobody has go to ranks that are as near to them. */
void hb_fabric_assign(uint32_t n_ranks, uint32_t n_rails,
                      const uint32_t *distance, const uint32_t *rates,
                      struct hb_rails_of *out);

/* env.c: what a rank's libraries read. */
struct hb_rail {
    char device[HB_FABRIC_NAME];
    uint32_t port, gid_index;
    int is_soft; /* rdma_rxe, which needs a check of UCX's turned off */
    uint32_t partition; /* which libraries have to be told; 0: none */
};
struct hb_wiring {
    enum hb_fabric_kind kind;
    int is_found; /* by --fabric auto: what cannot use it does without */
    int is_named; /* a device was: nothing but it */
    struct hb_rail *rails; /* of the host */
    uint32_t n_rails;
    char tcp[HB_FABRIC_NAME]; /* net device; "" where none was chosen */
    int is_ipv6;              /* RoCE by IPv6 GIDs */
    int has_other; /* a device that speaks no verbs, but libfabric's own */
};
/* Sets variables of Open MPI, MPICH, UCX, NCCL, Gloo and libhpcboot. What is
 * set stays: `kept` (may be NULL) gets its name. */
void hb_fabric_env(const struct hb_wiring *w, const struct hb_rails_of *mine,
                   struct hb_strv *env, struct hb_strv *kept);

#endif
