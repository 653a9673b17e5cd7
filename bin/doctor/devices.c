/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What is wrong with a host's RDMA devices and GPUs. In a pod it is usual that
 * devices show which are not the pod's, so one without a device file counts
 * only when the host has no other. */

#include "config.h"

#include <errno.h>
#include <string.h>

#include "bin/doctor/impl.h"
#include "lib/fabric/choose.h"

/* An Ethernet of 1,500 bytes leaves RoCE packets of 1,024. */
#define ROCE_MTU_GOOD 4096u

static uint32_t count_open(const struct hb_fabric *f)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n_rdma; i++) {
        n += f->rdma[i].closed == 0;
    }
    return n;
}

static void check_file(struct look *l, const struct hb_rdma *d, int others)
{
    if (d->closed == 0 || (d->closed == ENOENT && others)) {
        return;
    }
    look_found(l, HB_GRADE_BAD, "device-file",
               "ranks of this container cannot use the device and fall back "
               "to TCP, or fail",
               d->closed == ENOENT
                   ? "give the container the device: the resource of its "
                     "device plugin in the pod's spec, or docker run --device "
                     "/dev/infiniband"
                   : "allow it: mode 0666 by udev's rule, or the container's "
                     "device list",
               "%s: %s cannot be opened: %s", d->name,
               d->uverbs[0] != '\0' ? d->uverbs : "its device file",
               strerror(d->closed));
}

/* The best class of the port's ways out; -1: it has none. */
static int best_way(const struct hb_paths *paths, const struct hb_port *p)
{
    int best = -1;

    for (uint32_t i = 0; i < paths->n; i++) {
        if (paths->v[i].port == p && (int)paths->v[i].class > best) {
            best = (int)paths->v[i].class;
        }
    }
    return best;
}

static void check_port(struct look *l, const struct hb_rdma *d,
                       const struct hb_port *p, const struct hb_paths *paths)
{
    if (p->state != HB_PORT_ACTIVE) {
        look_found(l, HB_GRADE_DEGRADED, "port",
                   "nothing can be sent by it",
                   p->link_layer == HB_LINK_IB && p->state == HB_PORT_INIT
                       ? "start a subnet manager on its network"
                       : "check the cable and the switch, and that its net "
                         "device is up: ip link",
                   "%s port %u: its link is %s", d->name, p->number,
                   hb_port_state_name(p->state));
    } else if (p->link_layer == HB_LINK_ETHERNET &&
               best_way(paths, p) <= HB_PATH_LINK_LOCAL) {
        look_found(l, HB_GRADE_DEGRADED, "gid",
                   "RoCE needs a GID in version 2 of a net device that is up "
                   "in this container",
                   "give its net device an address, and bring it into this "
                   "container's network namespace",
                   "%s port %u has %s", d->name, p->number,
                   best_way(paths, p) < 0 ? "no usable GID"
                                          : "only a link-local GID");
    } else if (p->link_layer == HB_LINK_ETHERNET && p->mtu > 0 &&
               p->mtu < ROCE_MTU_GOOD) {
        look_found(l, HB_GRADE_DEGRADED, "mtu",
                   "small packets cost throughput, and all hosts must have "
                   "the same",
                   "set the MTU of its net device to 4200 or more, on the "
                   "switches too",
                   "%s port %u has an MTU of %u", d->name, p->number, p->mtu);
    }
}

static void check_counters(struct look *l, const struct hb_rdma *d,
                           const struct hb_port *p)
{
    static const char *const bad[] = {"symbol_error", "link_downed",
                                      "port_rcv_errors", "packet_seq_err",
                                      "out_of_sequence"};

    for (uint32_t i = 0; i < p->n_counters; i++) {
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            if (strcmp(p->counters[i].name, bad[k]) == 0) {
                look_found(l, HB_GRADE_DEGRADED, "counters",
                           "packets were lost or damaged since the host was "
                           "started: a bad cable, or congestion",
                           "see whether it grows; then the cable, the switch "
                           "port, and flow control (PFC, ECN)",
                           "%s port %u: %s is %llu", d->name, p->number,
                           p->counters[i].name,
                           (unsigned long long)p->counters[i].value);
            }
        }
    }
}

static void check_gpus(struct look *l)
{
    const struct hb_fabric *f = l->e->fabric;
    uint32_t open = 0;

    for (uint32_t i = 0; i < f->n_gpus; i++) {
        open += f->gpus[i].closed == 0;
    }
    if (open > 0 && count_open(f) > 0 && f->peer_memory[0] == '\0') {
        look_found(l, HB_GRADE_DEGRADED, "peer-memory",
                   "NICs cannot read GPU memory directly, unless the drivers "
                   "share it as dma-buf; data is copied through the host",
                   "modprobe nvidia_peermem",
                   "GPUs and RDMA devices, and no module between them");
    }
}

void look_at_devices(struct look *l)
{
    const struct hb_fabric *f = l->e->fabric;
    struct hb_paths paths;
    int others;

    if (f == NULL) {
        return;
    }
    others = count_open(f) > 0;
    hb_fabric_paths(f, &paths, NULL);
    for (uint32_t i = 0; i < f->n_rdma; i++) {
        const struct hb_rdma *d = &f->rdma[i];

        check_file(l, d, others);
        for (uint32_t p = 0; d->closed == 0 && p < d->n_ports; p++) {
            check_port(l, d, &d->ports[p], &paths);
            check_counters(l, d, &d->ports[p]);
        }
    }
    for (size_t i = 0; l->e->differences != NULL &&
                       i < l->e->differences->n; i++) {
        look_found(l, HB_GRADE_DEGRADED, "verbs",
                   "library and kernel do not see the same device",
                   "update rdma-core to fit the kernel", "%s",
                   l->e->differences->v[i]);
    }
    check_gpus(l);
    hb_paths_destroy(&paths);
}
