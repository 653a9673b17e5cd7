/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_XPORT_CHOOSE_H
#define HB_XPORT_CHOOSE_H

#include <stdint.h>

#include "lib/base/error.h"

/* Which carrier two ranks of different nodes use. Each side says what it may
 * use and how good its devices are; the choice is a function of both that does
 * not mind their order, so that both directions are alike. */
enum hb_carrier { HB_BY_NONE, HB_BY_TCP, HB_BY_UCX };
const char *hb_carrier_name(enum hb_carrier c); /* "tcp" */

enum hb_ucx_kind { /* what UCX would run over */
    HB_UCX_NONE, HB_UCX_IB, HB_UCX_ROCE, HB_UCX_SOFT, HB_UCX_TCP,
    HB_UCX_KINDS
};

/* Both ends are of one job and one architecture; see tcp_meet.c. */
struct hb_caps {
    uint32_t may;      /* 1u << enum hb_carrier, each */
    uint32_t ucx_kind; /* enum hb_ucx_kind */
    uint32_t ucx_mbps, tcp_mbps; /* 0: not known */
    uint32_t ucx_version; /* HB_UCX_VERSION */
};
/* Without the patch level: UCX of one does not understand that of another, and
 * ends the process, or says that the peer cannot be reached. */
#define HB_UCX_VERSION(major, minor) ((uint32_t)(major) << 16 | (minor))
#define HB_UCX_MAJOR(version) ((version) >> 16)
#define HB_UCX_MINOR(version) ((version) & 0xffffu)

/* What a short message costs a host by TCP, and which machine the host is of:
 * pods of one have the same number, and share its CPUs. 0: not known. */
struct hb_costs {
    uint32_t send_ns, recv_ns, cpus;
    uint64_t machine;
};

/* What the user wants, from the environment:
 *   HPCBOOT_TRANSPORTS  tcp, ucx, or both; anything else is an error
 *   HPCBOOT_FABRIC      ib, roce: UCX on that kind of device, or an error;
 *                       tcp: no UCX; auto, and unset: whichever is better
 *   HPCBOOT_FABRIC_WISH auto: such a kind is what was found, not demanded; TCP
 *                       serves where it cannot be used, with a warning.
 *                       device: with tcp, TCP keeps to the net device that
 *                       HPCBOOT_FABRIC_TCP names, as the user named it
 * HPCBOOT_TRANSPORTS is about this library, and wins. */
struct hb_carrier_wish {
    uint32_t may;
    uint32_t fabric;     /* HB_UCX_IB or HB_UCX_ROCE must be it; 0: any */
    int is_found;        /* ... should be it */
    int names_ucx;       /* UCX is named: also where there is no device */
    const char *devices; /* HPCBOOT_FABRIC_DEVICES, or NULL */
    const char *tcp_device; /* the only one for TCP, or NULL: any */
    char from[128];      /* "HPCBOOT_TRANSPORTS=ucx": who forbids others, or
                          * expects a kind; "" where nobody does */
};
int hb_carrier_wish_read(struct hb_carrier_wish *out,
                         struct hpcboot_error *err);

/* RDMA devices that /sys shows and whose device files open, with ports that
 * are up; `root` is put before the paths. `devices`: only these,
 * "mlx5_0:1,mlx5_1:1"; NULL: all. `kind`: only HB_UCX_IB, or only HB_UCX_ROCE,
 * also in software; 0: any. Sets the best kind and its rate; 0: there are none.
 * ports_out: NULL, or set to the ports of that kind as such a list, which the
 * caller frees; unchanged where there are none. */
int hb_caps_rdma(const char *root, const char *devices, uint32_t kind,
                 struct hb_caps *caps, char **ports_out);
/* What the driver of a net device says; 0: it does not know (-1, an error). */
uint32_t hb_net_mbps(const char *root, const char *device);
/* The fastest net device that is up. */
void hb_caps_net(const char *root, struct hb_caps *caps);

/* Whether both have UCX, and of these none understands the other. */
int hb_caps_ucx_differs(const struct hb_caps *a, const struct hb_caps *b);
enum hb_carrier hb_carry_by(const struct hb_caps *a, const struct hb_caps *b);

#endif
