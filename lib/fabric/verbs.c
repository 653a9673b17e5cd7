/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The module hb_verbs: the same facts as sysfs, by libibverbs. A device that
 * does not open is left out, as sysfs says that it is there; a GID table comes
 * by one call, with the valid entries alone. */

#include "config.h"

#include <endian.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/fabric/fabric.h"

#define PKEYS_MAX 128
#define GIDS_MAX 4096 /* more than any table has */

static uint32_t mtu_bytes(enum ibv_mtu mtu)
{
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096
               ? 128u << (unsigned)mtu : 0;
}

/* Of one lane, in Mb/s, by the bits of active_speed. */
static uint32_t lane_mbps(unsigned speed)
{
    static const struct {
        unsigned bit;
        uint32_t mbps;
    } speeds[] = {
        {1, 2500}, {2, 5000}, {4, 10000}, {8, 10000}, {16, 14000},
        {32, 25000}, {64, 50000}, {128, 100000}, {256, 200000},
    };

    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++) {
        if (speeds[i].bit == speed) {
            return speeds[i].mbps;
        }
    }
    return 0;
}

static uint32_t lanes(unsigned width)
{
    static const struct {
        unsigned bit;
        uint32_t n;
    } widths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}};

    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        if (widths[i].bit == width) {
            return widths[i].n;
        }
    }
    return 0;
}

static uint32_t layer_of(const struct ibv_port_attr *a)
{
    switch (a->link_layer) {
    case IBV_LINK_LAYER_ETHERNET:
        return HB_LINK_ETHERNET;
    case IBV_LINK_LAYER_INFINIBAND:
        return HB_LINK_IB;
    default:
        return HB_LINK_OTHER;
    }
}

static uint32_t type_of(uint32_t type)
{
    return type == IBV_GID_TYPE_ROCE_V2   ? HB_GID_ROCE_V2
           : type == IBV_GID_TYPE_ROCE_V1 ? HB_GID_ROCE_V1
                                          : HB_GID_IB;
}

/* A table holds the entries of all ports. */
static void take_gids(const struct ibv_gid_entry *table, ssize_t n,
                      uint32_t slots, struct hb_port *p)
{
    static const uint8_t zeros[8];

    p->gids_read = slots;
    for (ssize_t i = 0; i < n; i++) {
        struct hb_gid g = {.index = table[i].gid_index,
                           .type = type_of(table[i].gid_type)};
        char name[IF_NAMESIZE];

        memcpy(g.raw, table[i].gid.raw, sizeof g.raw);
        if (table[i].port_num != p->number ||
            memcmp(g.raw + 8, zeros, sizeof zeros) == 0) {
            continue;
        }
        if (table[i].ndev_ifindex != 0 &&
            if_indextoname(table[i].ndev_ifindex, name) != NULL) {
            snprintf(g.netdev, sizeof g.netdev, "%s", name);
        }
        p->gids = hb_xrealloc(p->gids, (p->n_gids + 1) * sizeof *p->gids);
        p->gids[p->n_gids++] = g;
    }
}

static void take_pkeys(struct ibv_context *ctx, unsigned table_len,
                       struct hb_port *p)
{
    for (unsigned i = 0; i < table_len && i < PKEYS_MAX; i++) {
        __be16 key;

        if (ibv_query_pkey(ctx, (uint8_t)p->number, (int)i, &key) != 0) {
            return;
        }
        if (key != 0) {
            p->pkeys = hb_xrealloc(p->pkeys,
                                   (p->n_pkeys + 1) * sizeof *p->pkeys);
            p->pkeys[p->n_pkeys++] = be16toh(key);
        }
    }
}

static int take_port(struct ibv_context *ctx, uint32_t number,
                     struct hb_port *p, uint32_t *slots)
{
    struct ibv_port_attr a = {0};

    if (ibv_query_port(ctx, (uint8_t)number, &a) != 0) {
        return -1;
    }
    p->number = number;
    p->link_layer = layer_of(&a);
    p->state = (uint32_t)a.state;
    p->phys_state = a.phys_state;
    p->rate_mbps = lane_mbps(a.active_speed) * lanes(a.active_width);
    p->mtu = mtu_bytes(a.active_mtu);
    p->mtu_max = mtu_bytes(a.max_mtu);
    p->lid = a.lid;
    p->sm_lid = a.sm_lid;
    p->lmc = a.lmc;
    *slots = a.gid_tbl_len > 0 ? (uint32_t)a.gid_tbl_len : 0;
    take_pkeys(ctx, a.pkey_tbl_len, p);
    return 0;
}

static void take_ports(struct ibv_context *ctx, uint32_t n, struct hb_rdma *d)
{
    struct ibv_gid_entry *table;
    uint32_t all = 0, slots[UINT8_MAX + 1] = {0};
    ssize_t found;

    d->ports = hb_xcalloc(n + 1, sizeof *d->ports);
    for (uint32_t i = 0; i < n; i++) {
        if (take_port(ctx, i + 1, &d->ports[d->n_ports], &slots[i]) == 0) {
            all += slots[i];
            d->n_ports++;
        }
    }
    all = all < GIDS_MAX ? all : GIDS_MAX;
    table = hb_xcalloc(all + 1, sizeof *table);
    found = ibv_query_gid_table(ctx, table, all, 0);
    for (uint32_t i = 0; i < d->n_ports; i++) {
        take_gids(table, found, slots[d->ports[i].number - 1], &d->ports[i]);
    }
    free(table);
}

static void take_device(struct ibv_device *device, struct hb_fabric *out)
{
    struct ibv_context *ctx = ibv_open_device(device);
    struct ibv_device_attr attr = {0};
    struct hb_rdma *d = &out->rdma[out->n_rdma];

    if (ctx == NULL) {
        return;
    }
    if (ibv_query_device(ctx, &attr) == 0) {
        snprintf(d->name, sizeof d->name, "%s", ibv_get_device_name(device));
        snprintf(d->firmware, sizeof d->firmware, "%.39s", attr.fw_ver);
        d->node_guid = be64toh(attr.node_guid);
        d->node_type = (uint32_t)device->node_type;
        take_ports(ctx, attr.phys_port_cnt, d);
        out->n_rdma++;
    }
    (void)ibv_close_device(ctx);
}

static int read_verbs(struct hb_fabric *out, struct hpcboot_error *err)
{
    int n = 0;
    struct ibv_device **list = ibv_get_device_list(&n);

    if (list == NULL) {
        return hb_fail_errno(err, HPCBOOT_ERR_UNSUPPORTED,
                             "libibverbs cannot list devices");
    }
    out->rdma = hb_xcalloc((size_t)n + 1, sizeof *out->rdma);
    for (int i = 0; i < n; i++) {
        take_device(list[i], out);
    }
    ibv_free_device_list(list);
    return HPCBOOT_OK;
}

extern const struct hb_verbs_reader hb_verbs_reader;
const struct hb_verbs_reader hb_verbs_reader = {.read = read_verbs};
