/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* An inventory in words, a device to a line and its ports and GIDs below. */

#include "config.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fabric/fabric.h"

static const char *name_of(const char *const *names, size_t n, uint32_t i)
{
    return i < n && names[i] != NULL ? names[i] : "unknown";
}
#define NAME_OF(names, i) name_of(names, sizeof names / sizeof *names, i)

const char *hb_link_layer_name(uint32_t layer)
{
    static const char *const names[] = {"unknown", "InfiniBand", "Ethernet"};

    return NAME_OF(names, layer);
}

const char *hb_port_state_name(uint32_t state)
{
    static const char *const names[] = {NULL, "down", "initializing", "armed",
                                        "active", "active, deferred"};

    return NAME_OF(names, state);
}

const char *hb_gid_type_name(uint32_t type)
{
    static const char *const names[] = {"IB", "RoCE v1", "RoCE v2"};

    return NAME_OF(names, type);
}

void hb_gid_text(const struct hb_gid *g, struct hb_str *out)
{
    char text[INET6_ADDRSTRLEN] = "";

    (void)inet_ntop(AF_INET6, g->raw, text, sizeof text);
    hb_str_put(out, text);
}

char *hb_netaddr_text(const struct hb_netaddr *a)
{
    char text[INET6_ADDRSTRLEN] = "";

    (void)inet_ntop(a->family == 6 ? AF_INET6 : AF_INET, a->raw, text,
                    sizeof text);
    return hb_xasprintf("%s/%u", text, a->prefix);
}

void hb_rate_text(uint32_t mbps, struct hb_str *out)
{
    if (mbps == 0) {
        hb_str_put(out, "unknown speed");
    } else if (mbps < 1000) {
        hb_str_putf(out, "%u Mb/s", mbps);
    } else {
        hb_str_putf(out, "%g Gb/s", mbps / 1000.0);
    }
}

void hb_port_words(const struct hb_rdma *d, const struct hb_port *p,
                   struct hb_str *out)
{
    hb_str_putf(out, "%s port %u: %s, %s, ", d->name, p->number,
                hb_link_layer_name(p->link_layer),
                hb_port_state_name(p->state));
    hb_rate_text(p->rate_mbps, out);
}

static void put_place(const struct hb_place *at, struct hb_str *out)
{
    if (at->pci[0] != '\0') {
        hb_str_putf(out, " at %s", at->pci);
    }
    if (at->numa >= 0) {
        hb_str_putf(out, ", NUMA node %d", at->numa);
    }
    if (at->cpus[0] != '\0') {
        hb_str_putf(out, ", next to CPUs %s", at->cpus);
    }
}

static void put_gids(const struct hb_port *p, struct hb_str *out)
{
    for (uint32_t i = 0; i < p->n_gids; i++) {
        const struct hb_gid *g = &p->gids[i];

        hb_str_putf(out, "    GID %u: ", g->index);
        hb_gid_text(g, out);
        hb_str_putf(out, ", %s", hb_gid_type_name(g->type));
        if (g->netdev[0] != '\0') {
            hb_str_putf(out, ", %s", g->netdev);
        } else if (p->link_layer == HB_LINK_ETHERNET) {
            hb_str_put(out, ", no net device here");
        }
        hb_str_putc(out, '\n');
    }
}

static void put_port(const struct hb_rdma *d, const struct hb_port *p,
                     struct hb_str *out)
{
    hb_str_put(out, "  ");
    hb_port_words(d, p, out);
    if (p->mtu > 0) {
        hb_str_putf(out, ", MTU %u", p->mtu);
    }
    if (p->link_layer == HB_LINK_IB) {
        hb_str_putf(out, ", LID %u, SM at %u", p->lid, p->sm_lid);
    }
    for (uint32_t i = 0; i < p->n_pkeys; i++) {
        hb_str_putf(out, "%s0x%04x", i == 0 ? ", P_Keys " : " ",
                    p->pkeys[i] & 0xffff);
    }
    hb_str_putc(out, '\n');
    put_gids(p, out);
    for (uint32_t i = 0; i < p->n_counters; i++) {
        hb_str_putf(out, "    %s: %llu\n", p->counters[i].name,
                    (unsigned long long)p->counters[i].value);
    }
}

static void put_rdma(const struct hb_rdma *d, struct hb_str *out)
{
    hb_str_putf(out, "rdma %s", d->name);
    put_place(&d->at, out);
    if (d->driver[0] != '\0') {
        hb_str_putf(out, ", %s", d->driver);
    }
    if (d->firmware[0] != '\0') {
        hb_str_putf(out, ", firmware %s", d->firmware);
    }
    if (d->is_vf) {
        hb_str_putf(out, ", a virtual function of %s", d->pf);
    }
    if (d->n_vfs > 0) {
        hb_str_putf(out, ", %u virtual functions", d->n_vfs);
    }
    if (d->node_type != HB_NODE_CA) {
        hb_str_put(out, ", no channel adapter");
    }
    if (d->uverbs[0] == '\0') {
        hb_str_put(out, "; has no device file: cannot be opened");
    } else if (d->closed != 0) {
        hb_str_putf(out, "; %s cannot be opened: %s", d->uverbs,
                    strerror(d->closed));
    } else {
        hb_str_putf(out, "; %s can be opened", d->uverbs);
    }
    hb_str_putc(out, '\n');
    for (uint32_t i = 0; i < d->n_ports; i++) {
        put_port(d, &d->ports[i], out);
    }
}

static void put_net(const struct hb_netdev *d, struct hb_str *out)
{
    hb_str_putf(out, "net %s", d->name);
    put_place(&d->at, out);
    hb_str_putf(out, ": %s, MTU %u, ", d->up ? "up" : "down", d->mtu);
    hb_rate_text(d->speed_mbps, out);
    if (d->master[0] != '\0') {
        hb_str_putf(out, ", part of %s", d->master);
    }
    if (d->lower[0] != '\0') {
        hb_str_putf(out, ", on %s", d->lower);
    }
    for (uint32_t i = 0; i < d->n_addrs; i++) {
        char *text = hb_netaddr_text(&d->addrs[i]);
        hb_str_putf(out, ", %s", text);
        free(text);
    }
    hb_str_putf(out, "%s\n", d->is_default ? ", default route" : "");
}

static void put_gpu(const struct hb_gpu *g, struct hb_str *out)
{
    hb_str_putf(out, "gpu %04x:%04x", g->vendor, g->device);
    put_place(&g->at, out);
    if (g->links > 0) {
        hb_str_putf(out, ", %u direct links", g->links);
    }
    if (g->node[0] == '\0') {
        hb_str_put(out, "; has no device file: cannot be opened");
    } else if (g->closed != 0) {
        hb_str_putf(out, "; %s cannot be opened: %s", g->node,
                    strerror(g->closed));
    } else {
        hb_str_putf(out, "; %s can be opened", g->node);
    }
    hb_str_putc(out, '\n');
}

void hb_fabric_text(const struct hb_fabric *f, struct hb_str *out)
{
    for (uint32_t i = 0; i < f->n_rdma; i++) {
        put_rdma(&f->rdma[i], out);
    }
    for (uint32_t i = 0; i < f->n_net; i++) {
        put_net(&f->net[i], out);
    }
    for (uint32_t i = 0; i < f->n_gpus; i++) {
        put_gpu(&f->gpus[i], out);
    }
    if (f->nvswitches > 0) {
        hb_str_putf(out, "NVLink switches: %u\n", f->nvswitches);
    }
    if (f->n_gpus > 0) {
        hb_str_putf(out, "GPU memory for NICs: %s\n",
                    f->peer_memory[0] != '\0' ? f->peer_memory
                                              : "no module for it is loaded");
    }
    hb_str_putf(out, "fabric: %u RDMA device%s; %s; %u.%03u ms\n", f->n_rdma,
                f->n_rdma == 1 ? "" : "s", f->verbs, f->us / 1000,
                f->us % 1000);
}
