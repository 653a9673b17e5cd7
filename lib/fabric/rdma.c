/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* RDMA devices from sysfs: /sys/class/infiniband/DEVICE/ports/N.
 *
 * A GID table is a file per slot, and a thousand slots are not rare. Slots in
 * use lie together, so reading ends HB_GID_GAP empty slots behind the last one
 * in use, and at HB_GID_FILES_MAX in any case. Of an empty slot the kernel
 * refuses to say the type or the device with EINVAL. Several network namespaces
 * share a table: what belongs to the others is empty here, or is there with
 * the name that its device has in its own one.
 *
 * The MTU of a RoCE port follows from that of its net device as the kernel
 * reckons it; that of an InfiniBand port sysfs does not tell. */

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/str.h"
#include "lib/fabric/sysread.h"

#define CLASS "/sys/class/infiniband"
#define PKEYS_MAX 128u /* of any HCA's table */
#define PKEYS_GAP 8u
/* Headers of a RoCE v2 packet that the kernel sets aside. */
#define ROCE_OVERHEAD 96u

/* Errors that explain a slow or failing job. */
static const char *const counters[] = {
    "counters/symbol_error", "counters/link_error_recovery",
    "counters/link_downed", "counters/port_rcv_errors",
    "counters/port_xmit_discards", "counters/local_link_integrity_errors",
    "counters/port_xmit_wait", "hw_counters/out_of_sequence",
    "hw_counters/packet_seq_err", "hw_counters/local_ack_timeout_err",
    "hw_counters/rnr_nak_retry_err", "hw_counters/implied_nak_seq_err",
    "hw_counters/duplicate_request", "hw_counters/out_of_seq_request",
    "hw_counters/retry_exceeded_err", "hw_counters/rx_icrc_encapsulated",
};

/* "fe80:0000:...": 8 groups of 4 digits. */
static int parse_gid(const char *text, uint8_t raw[16])
{
    for (unsigned i = 0; i < 8; i++) {
        unsigned long v;
        char *end;
        v = strtoul(text, &end, 16);
        if (end - text != 4 || *end != (i < 7 ? ':' : '\0')) {
            return 0;
        }
        raw[2 * i] = (uint8_t)(v >> 8);
        raw[2 * i + 1] = (uint8_t)v;
        text = end + 1;
    }
    return 1;
}

/* A slot that is empty has a GID of zeros, or one with the default prefix
 * alone. */
static int is_empty(const uint8_t raw[16])
{
    static const uint8_t zeros[16];

    return memcmp(raw + 8, zeros, 8) == 0;
}

static uint32_t type_of(const char *text, uint32_t layer)
{
    if (strcmp(text, "RoCE v2") == 0) {
        return HB_GID_ROCE_V2;
    }
    return layer == HB_LINK_ETHERNET ? HB_GID_ROCE_V1 : HB_GID_IB;
}

static void read_gids(const char *root, const char *dir, struct hb_port *p)
{
    uint32_t gap = 0, i;

    for (i = 0; i < HB_GID_FILES_MAX && gap < HB_GID_GAP; i++) {
        char text[64], type[32];
        struct hb_gid g = {.index = i};

        if (hb_sys_text(text, sizeof text, root, "%s/gids/%u", dir, i) < 0 &&
            !hb_sys_exists(root, "%s/gids/%u", dir, i)) {
            break;
        }
        gap++;
        if (!parse_gid(text, g.raw) || is_empty(g.raw)) {
            continue;
        }
        gap = 0;
        if (hb_sys_text(type, sizeof type, root, "%s/gid_attrs/types/%u", dir,
                        i) <= 0 && p->link_layer == HB_LINK_ETHERNET) {
            continue;
        }
        g.type = type_of(type, p->link_layer);
        hb_sys_text(g.netdev, sizeof g.netdev, root, "%s/gid_attrs/ndevs/%u",
                    dir, i);
        p->gids = hb_xrealloc(p->gids, (p->n_gids + 1) * sizeof *p->gids);
        p->gids[p->n_gids++] = g;
    }
    p->gids_read = i;
}

static void read_pkeys(const char *root, const char *dir, struct hb_port *p)
{
    uint32_t gap = 0;

    for (uint32_t i = 0; i < PKEYS_MAX && gap < PKEYS_GAP; i++) {
        int64_t key = hb_sys_number(-1, root, "%s/pkeys/%u", dir, i);

        if (key < 0) {
            break;
        }
        gap = key == 0 ? gap + 1 : 0;
        if (key > 0) {
            p->pkeys = hb_xrealloc(p->pkeys,
                                   (p->n_pkeys + 1) * sizeof *p->pkeys);
            p->pkeys[p->n_pkeys++] = (uint32_t)key;
        }
    }
}

static void read_counters(const char *root, const char *dir, struct hb_port *p)
{
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        int64_t value = hb_sys_number(0, root, "%s/%s", dir, counters[i]);
        struct hb_counter c = {.value = (uint64_t)value};

        if (value > 0) {
            hb_copy(c.name, sizeof c.name, strchr(counters[i], '/') + 1);
            p->counters = hb_xrealloc(
                p->counters, (p->n_counters + 1) * sizeof *p->counters);
            p->counters[p->n_counters++] = c;
        }
    }
}

/* "56 Gb/sec (4X FDR)", "2.5 Gb/sec (1X SDR)" */
static uint32_t parse_rate(const char *text)
{
    double rate = strtod(text, NULL);

    return rate > 0 && rate < 1e6 ? (uint32_t)(rate * 1000 + 0.5) : 0;
}

/* The largest packet that fits, as the kernel chooses it. */
static uint32_t roce_mtu(int64_t mtu)
{
    uint32_t fits = 0;

    for (uint32_t size = 256; size <= 4096; size *= 2) {
        fits = mtu >= (int64_t)size + ROCE_OVERHEAD ? size : fits;
    }
    return fits;
}

/* The net device of a RoCE port is that of its first GID. */
static void mtu_of(const char *root, struct hb_port *p)
{
    for (uint32_t i = 0; i < p->n_gids && p->mtu == 0; i++) {
        if (p->link_layer == HB_LINK_ETHERNET && p->gids[i].netdev[0] != '\0') {
            p->mtu = roce_mtu(hb_sys_number(0, root, "/sys/class/net/%s/mtu",
                                            p->gids[i].netdev));
        }
    }
}

static void read_port(const char *root, const char *device, const char *name,
                      struct hb_port *p)
{
    char dir[PATH_MAX], text[64];

    snprintf(dir, sizeof dir, CLASS "/%s/ports/%s", device, name);
    p->number = (uint32_t)strtoul(name, NULL, 10);
    hb_sys_text(text, sizeof text, root, "%s/link_layer", dir);
    p->link_layer = strcmp(text, "InfiniBand") == 0 ? HB_LINK_IB
                    : strcmp(text, "Ethernet") == 0 ? HB_LINK_ETHERNET
                                                    : HB_LINK_OTHER;
    p->state = (uint32_t)hb_sys_number(0, root, "%s/state", dir);
    p->phys_state = (uint32_t)hb_sys_number(0, root, "%s/phys_state", dir);
    hb_sys_text(text, sizeof text, root, "%s/rate", dir);
    p->rate_mbps = parse_rate(text);
    p->lid = (uint32_t)hb_sys_number(0, root, "%s/lid", dir);
    p->sm_lid = (uint32_t)hb_sys_number(0, root, "%s/sm_lid", dir);
    p->lmc = (uint32_t)hb_sys_number(0, root, "%s/lid_mask_count", dir);
    read_gids(root, dir, p);
    read_pkeys(root, dir, p);
    read_counters(root, dir, p);
    mtu_of(root, p);
}

/* May it be opened? Only trying tells: a device cgroup does not show. */
static void try_uverbs(const char *root, struct hb_rdma *d)
{
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof path, "%s%s", root, d->uverbs);
    fd = open(path, O_RDWR | O_CLOEXEC);
    d->closed = fd >= 0 ? 0 : errno;
    if (fd >= 0) {
        close(fd);
    }
}

static void find_uverbs(const char *root, const struct hb_strv *nodes,
                        struct hb_rdma *d)
{
    char owner[HB_FABRIC_NAME];

    d->closed = ENOENT;
    for (size_t i = 0; i < nodes->n && d->uverbs[0] == '\0'; i++) {
        hb_sys_text(owner, sizeof owner, root,
                    "/sys/class/infiniband_verbs/%s/ibdev", nodes->v[i]);
        if (strcmp(owner, d->name) == 0) {
            snprintf(d->uverbs, sizeof d->uverbs, "/dev/infiniband/%.20s",
                     nodes->v[i]);
            try_uverbs(root, d);
        }
    }
}

static uint64_t guid_of(const char *text)
{
    uint64_t v = 0;

    for (; *text != '\0'; text++) {
        const char *digits = "0123456789abcdef", *at = strchr(digits, *text);
        v = at != NULL ? v << 4 | (uint64_t)(at - digits) : v;
    }
    return v;
}

/* What stands in front of a colon: "1: CA". */
static void read_device(const char *root, const char *name, struct hb_rdma *d)
{
    char dir[PATH_MAX], text[64];
    struct hb_strv ports = HB_STRV_INIT;

    hb_copy(d->name, sizeof d->name, name);
    snprintf(dir, sizeof dir, CLASS "/%s/device", name);
    hb_sys_place(&d->at, root, dir);
    hb_sys_link(d->driver, sizeof d->driver, root, "%s/driver", dir);
    d->vendor = (uint32_t)hb_sys_number(0, root, "%s/vendor", dir);
    d->device = (uint32_t)hb_sys_number(0, root, "%s/device", dir);
    d->n_vfs = (uint32_t)hb_sys_number(0, root, "%s/sriov_numvfs", dir);
    hb_sys_link(d->pf, sizeof d->pf, root, "%s/physfn", dir);
    d->is_vf = d->pf[0] != '\0';
    hb_sys_text(d->firmware, sizeof d->firmware, root, CLASS "/%s/fw_ver",
                name);
    hb_sys_text(d->board, sizeof d->board, root, CLASS "/%s/board_id", name);
    d->node_type = (uint32_t)hb_sys_number(0, root, CLASS "/%s/node_type",
                                           name);
    hb_sys_text(text, sizeof text, root, CLASS "/%s/node_guid", name);
    d->node_guid = guid_of(text);
    hb_sys_list(&ports, root, CLASS "/%s/ports", name);
    d->ports = hb_xcalloc(ports.n + 1, sizeof *d->ports);
    for (size_t i = 0; i < ports.n; i++) {
        read_port(root, name, ports.v[i], &d->ports[d->n_ports++]);
    }
    hb_strv_destroy(&ports);
}

void hb_sys_rdma(const char *root, struct hb_fabric *out)
{
    struct hb_strv names = HB_STRV_INIT, nodes = HB_STRV_INIT;

    hb_sys_list(&names, root, CLASS);
    if (names.n > 0) {
        hb_sys_list(&nodes, root, "/sys/class/infiniband_verbs");
    }
    out->rdma = hb_xcalloc(names.n + 1, sizeof *out->rdma);
    for (size_t i = 0; i < names.n; i++) {
        struct hb_rdma *d = &out->rdma[out->n_rdma++];
        read_device(root, names.v[i], d);
        find_uverbs(root, &nodes, d);
    }
    hb_strv_destroy(&names);
    hb_strv_destroy(&nodes);
}
