/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_FABRIC_FABRIC_H
#define HB_FABRIC_FABRIC_H

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/error.h"
#include "lib/base/json.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

/* What a host has for talking to others: RDMA devices with their ports and
 * GIDs, net devices with their addresses, and the GPUs beside them. Plain data;
 * sysfs fills it, and libibverbs what only it knows. */

#define HB_FABRIC_NAME 40u /* of a device; the kernel's are shorter */
#define HB_FABRIC_CPUS 256u /* a list of CPUs, a way through PCI as text */

enum hb_link_layer { HB_LINK_OTHER, HB_LINK_IB, HB_LINK_ETHERNET };
enum hb_gid_type { HB_GID_IB, HB_GID_ROCE_V1, HB_GID_ROCE_V2 };
/* The kernel's numbers, which sysfs and verbs share. */
enum { HB_PORT_DOWN = 1, HB_PORT_INIT = 2, HB_PORT_ARMED = 3,
       HB_PORT_ACTIVE = 4 };
enum { HB_NODE_CA = 1 };

/* A slot of a port's GID table that is in use. */
struct hb_gid {
    uint32_t index;
    uint32_t type;               /* enum hb_gid_type */
    uint8_t raw[16];
    char netdev[HB_FABRIC_NAME]; /* "": none here (another namespace's) */
};

struct hb_counter {
    char name[HB_FABRIC_NAME];
    uint64_t value;
};

struct hb_port {
    uint32_t number;
    uint32_t link_layer; /* enum hb_link_layer */
    uint32_t state;      /* HB_PORT_* */
    uint32_t phys_state; /* 5: the link is up */
    uint32_t rate_mbps;
    uint32_t mtu, mtu_max; /* bytes of a packet's payload; 0: not known */
    uint32_t lid, sm_lid, lmc;
    struct hb_gid *gids;
    uint32_t n_gids;
    uint32_t *pkeys; /* those that are set, in the order of their indices */
    uint32_t n_pkeys;
    struct hb_counter *counters; /* of errors, those that are not 0 */
    uint32_t n_counters;
    uint32_t gids_read; /* slots that were looked at; the rest is not known */
};

/* Where a device is on the host. */
struct hb_place {
    char pci[HB_FABRIC_NAME];  /* "0000:3b:00.0"; "": not on PCI */
    char above[HB_FABRIC_CPUS]; /* PCI from the host bridge to it, "a/b" */
    int32_t numa;              /* -1: not known */
    char cpus[HB_FABRIC_CPUS]; /* next to it, "0-15"; "": not known */
};

struct hb_rdma {
    char name[HB_FABRIC_NAME]; /* "mlx5_0" */
    struct hb_place at;
    char driver[HB_FABRIC_NAME], firmware[HB_FABRIC_NAME];
    char board[HB_FABRIC_NAME];
    uint32_t vendor, device; /* PCI's; 0: not known */
    uint32_t node_type;      /* HB_NODE_CA: speaks verbs as expected */
    uint64_t node_guid;
    uint32_t is_vf, n_vfs;   /* SR-IOV: is one; has so many */
    char pf[HB_FABRIC_NAME]; /* PCI address of the function it is part of */
    char uverbs[HB_FABRIC_NAME]; /* "/dev/infiniband/uverbs0", "" : none */
    int32_t closed; /* 0: this container may open it; else the errno */
    struct hb_port *ports;
    uint32_t n_ports;
};

struct hb_netaddr {
    uint32_t family; /* 4 or 6 */
    uint32_t prefix; /* bits */
    uint8_t raw[16]; /* an IPv4 address in the first 4 */
};

#define HB_ARPHRD_LOOPBACK 772u /* a type */
struct hb_netdev {
    char name[HB_FABRIC_NAME];
    struct hb_place at;
    char driver[HB_FABRIC_NAME];
    char master[HB_FABRIC_NAME]; /* the bond or bridge it is part of; "" */
    char lower[HB_FABRIC_NAME];  /* what it stands on, as a VLAN does; "" */
    uint32_t index, mtu;
    uint32_t type;       /* ARPHRD_*: 1 Ethernet, 32 InfiniBand, 772 lo */
    uint32_t up;         /* administratively up, and with a carrier */
    uint32_t speed_mbps; /* 0: not known */
    uint32_t is_default; /* routes of last resort go through it */
    uint32_t has_gateway; /* some route of the main table, to a router */
    struct hb_netaddr *addrs;
    uint32_t n_addrs;
};

struct hb_gpu {
    struct hb_place at;
    uint32_t vendor, device;
    char driver[HB_FABRIC_NAME];
    char node[HB_FABRIC_NAME]; /* "/dev/nvidia0"; "": none */
    int32_t closed;            /* 0: may be opened; else the errno */
    uint32_t links;            /* direct links to other GPUs that sysfs shows */
};

struct hb_fabric {
    struct hb_rdma *rdma; /* by name */
    uint32_t n_rdma;
    struct hb_netdev *net; /* by index */
    uint32_t n_net;
    struct hb_gpu *gpus; /* by PCI address */
    uint32_t n_gpus;
    uint32_t nvswitches;   /* NVLink switches among the PCI functions */
    char peer_memory[120]; /* by which NICs reach GPU memory; "": nothing */
    char verbs[160];       /* "libibverbs", or why it was not asked */
    uint32_t us;           /* microseconds that looking took */
};

/* How much of a GID table is read from sysfs: a slot is a file, tables have
 * up to 1,024 of them, and those in use lie together. Pods that share a table
 * have theirs behind those of others. */
#define HB_GID_GAP 32u
#define HB_GID_FILES_MAX 256u

/* Looks at the host below `root` ("" for this one). A captured host's net
 * addresses are lines "eth0 10.0.0.1/24" in ROOT/etc/addresses. `use_verbs`
 * asks libibverbs too, on this host alone. What cannot be read is not there;
 * `notes` (may be NULL) gets a line for each field in which sysfs and verbs
 * differ. */
void hb_fabric_read(const char *root, int use_verbs, struct hb_fabric *out,
                    struct hb_strv *notes);
void hb_fabric_clear(struct hb_fabric *f); /* leaves it empty */

const struct hb_netdev *hb_fabric_netdev(const struct hb_fabric *f,
                                         const char *name);
const struct hb_rdma *hb_fabric_rdma(const struct hb_fabric *f,
                                     const char *name);

/* fields.c: as bytes for the way to the launcher (counters and what only a
 * person reads stay, and so does what is beyond 1,024 devices of a kind, or
 * addresses of one), and as JSON. decode checks all of it. */
#define HB_FABRIC_BYTES_MAX (16u << 20) /* some full tables of GIDs */
void hb_fabric_encode(const struct hb_fabric *f, struct hb_buf *out);
int hb_fabric_decode(struct hb_fabric *out, struct hb_buf *in,
                     struct hpcboot_error *err);
void hb_fabric_json(const struct hb_fabric *f, struct hb_json *j);

/* words.c */
void hb_fabric_text(const struct hb_fabric *f, struct hb_str *out);
/* A line about one device: "mlx5_0 port 1: InfiniBand, active, 100 Gb/s". */
void hb_port_words(const struct hb_rdma *d, const struct hb_port *p,
                   struct hb_str *out);
const char *hb_link_layer_name(uint32_t layer); /* "InfiniBand" */
const char *hb_port_state_name(uint32_t state); /* "active" */
const char *hb_gid_type_name(uint32_t type);    /* "RoCE v2" */
void hb_gid_text(const struct hb_gid *g, struct hb_str *out);
void hb_rate_text(uint32_t mbps, struct hb_str *out); /* "100 Gb/s" */
char *hb_netaddr_text(const struct hb_netaddr *a);    /* free() it */

/* What the module hb_verbs exports under the name hb_verbs_reader. */
struct hb_verbs_reader {
    /* Devices and ports as libibverbs shows them; what it does not say is 0. */
    int (*read)(struct hb_fabric *out, struct hpcboot_error *err);
};

#endif
