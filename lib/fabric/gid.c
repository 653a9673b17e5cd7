/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What a host offers: a list of ways out of it, each on a network, and for
 * everything that is none a reason.
 *
 * A RoCE port is entered once for each network that it has a good GID on:
 * RoCE v2, of a net device of this namespace that is up, and of an address
 * that the device has. Indices follow from that and are nowhere fixed: they
 * differ between the pods of one host. An InfiniBand port is on the subnet of
 * its first GID, once in each partition that it is a full member of. */

#include "config.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fabric/choose.h"

#define PKEY_FULL 0x8000u
#define PARTITION_MASK 0x7fffu

static struct hb_path *add(struct hb_paths *out, const struct hb_path *p)
{
    out->v = hb_xrealloc(out->v, (out->n + 1) * sizeof *out->v);
    out->v[out->n] = *p;
    return &out->v[out->n++];
}

static void refuse(struct hb_strv *refused, const struct hb_rdma *d,
                   const struct hb_port *p, const struct hb_gid *g,
                   const char *why)
{
    struct hb_str o = HB_STR_INIT;

    if (refused == NULL) {
        return;
    }
    hb_str_put(&o, d->name);
    if (p != NULL) {
        hb_str_putf(&o, " port %u", p->number);
    }
    if (g != NULL) {
        hb_str_putf(&o, " GID %u (", g->index);
        hb_gid_text(g, &o);
        hb_str_putc(&o, ')');
    }
    hb_str_putf(&o, ": %s", why);
    hb_strv_take(refused, hb_str_steal(&o));
}

/* --- addresses ---------------------------------------------------------- */

static int is_mapped(const uint8_t raw[16])
{
    static const uint8_t front[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(raw, front, sizeof front) == 0;
}

static int is_link_local(uint32_t family, const uint8_t *raw)
{
    return family == 4 ? raw[0] == 169 && raw[1] == 254
                       : raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80;
}

/* The device's own address that a GID stands for, or NULL. */
static const struct hb_netaddr *address_of(const struct hb_netdev *d,
                                           const struct hb_gid *g)
{
    uint32_t family = is_mapped(g->raw) ? 4 : 6;
    const uint8_t *raw = family == 4 ? g->raw + 12 : g->raw;

    for (uint32_t i = 0; i < d->n_addrs; i++) {
        if (d->addrs[i].family == family &&
            memcmp(d->addrs[i].raw, raw, family == 4 ? 4 : 16) == 0) {
            return &d->addrs[i];
        }
    }
    return NULL;
}

/* "10.9.0.0/24" */
static void network_of(const struct hb_netaddr *a, char *out, size_t size)
{
    char text[INET6_ADDRSTRLEN] = "";
    uint8_t raw[16];
    uint32_t bytes = a->family == 4 ? 4 : 16;

    memcpy(raw, a->raw, sizeof raw);
    for (uint32_t bit = a->prefix; bit < bytes * 8; bit++) {
        raw[bit / 8] &= (uint8_t)~(0x80u >> bit % 8);
    }
    (void)inet_ntop(a->family == 4 ? AF_INET : AF_INET6, raw, text,
                    sizeof text);
    snprintf(out, size, "%s/%u", text, a->prefix);
}

/* --- RoCE ---------------------------------------------------------------- */

static int has_link_local(const struct hb_netdev *d)
{
    for (uint32_t i = 0; i < d->n_addrs; i++) {
        if (d->addrs[i].family == 6 && is_link_local(6, d->addrs[i].raw)) {
            return 1;
        }
    }
    return 0;
}

/* Why a GID is of no use, or NULL. The net device is known by its name, which
 * one of another network namespace may have, too. A link-local GID comes from
 * the hardware's address, also where the device has no such address. */
static const char *fault_of(const struct hb_gid *g, const struct hb_netdev *net,
                            const struct hb_netaddr *addr)
{
    if (g->type != HB_GID_ROCE_V2) {
        return "RoCE v1 does not leave its segment";
    }
    if (g->netdev[0] == '\0' || net == NULL) {
        return "its net device is not in this network namespace";
    }
    if (!net->up) {
        return "its net device is down";
    }
    return addr == NULL && (!is_link_local(6, g->raw) || has_link_local(net))
               ? "its net device does not have this address" : NULL;
}

static int has_network(const struct hb_paths *paths, uint32_t from,
                       const char *network)
{
    for (uint32_t i = from; i < paths->n; i++) {
        if (strcmp(paths->v[i].network, network) == 0) {
            return 1;
        }
    }
    return 0;
}

static void add_gid(const struct hb_fabric *f, const struct hb_path *port,
                    const struct hb_gid *g, uint32_t from,
                    struct hb_paths *out, struct hb_strv *refused)
{
    struct hb_path p = *port;
    const char *fault;

    p.kind = HB_FABRIC_ROCE;
    p.gid = g;
    p.net = hb_fabric_netdev(f, g->netdev);
    p.addr = p.net != NULL ? address_of(p.net, g) : NULL;
    fault = fault_of(g, p.net, p.addr);
    if (fault != NULL) {
        refuse(refused, p.rdma, p.port, g, fault);
        return;
    }
    p.class = is_mapped(g->raw) ? HB_PATH_IPV4
              : is_link_local(6, g->raw) ? HB_PATH_LINK_LOCAL : HB_PATH_IPV6;
    p.is_alias = p.net->lower[0] != '\0' && p.net->master[0] == '\0';
    if (p.addr != NULL && p.class != HB_PATH_LINK_LOCAL) {
        network_of(p.addr, p.network, sizeof p.network);
    } else {
        snprintf(p.network, sizeof p.network, "fe80::/64");
    }
    if (has_network(out, from, p.network)) {
        refuse(refused, p.rdma, p.port, g,
               "another GID of the port is on the same network");
        return;
    }
    add(out, &p);
}

/* --- InfiniBand ---------------------------------------------------------- */

static void add_partition(const struct hb_path *port, uint32_t key,
                          uint32_t from, struct hb_paths *out)
{
    struct hb_path p = *port;
    const uint8_t *raw;

    p.kind = HB_FABRIC_IB;
    p.class = HB_PATH_LID;
    p.gid = &p.port->gids[0];
    p.partition = key & PARTITION_MASK;
    p.is_told = out->n > from;
    raw = p.gid->raw;
    snprintf(p.network, sizeof p.network,
             "subnet %02x%02x:%02x%02x:%02x%02x:%02x%02x partition 0x%04x",
             raw[0], raw[1], raw[2], raw[3], raw[4], raw[5], raw[6],
             raw[7], p.partition);
    if (!has_network(out, from, p.network)) {
        add(out, &p);
    }
}

static void add_ib(const struct hb_path *port, struct hb_paths *out,
                   struct hb_strv *refused)
{
    const struct hb_port *p = port->port;
    uint32_t from = out->n, n_full = 0;

    for (uint32_t i = 0; i < p->n_pkeys; i++) {
        int is_full = (p->pkeys[i] & PKEY_FULL) != 0;

        n_full += (uint32_t)is_full;
        if (is_full && p->n_gids > 0) {
            add_partition(port, p->pkeys[i], from, out);
        }
    }
    if (n_full == 0) {
        refuse(refused, port->rdma, p, NULL,
               "it is a full member of no partition (P_Key)");
    } else if (p->n_gids == 0) {
        refuse(refused, port->rdma, p, NULL, "it has no GID: no subnet "
               "manager has seen it");
    }
}

/* --- a host -------------------------------------------------------------- */

static void add_port(const struct hb_fabric *f, const struct hb_rdma *d,
                     const struct hb_port *port, struct hb_paths *out,
                     struct hb_strv *refused)
{
    const struct hb_path p = {.rdma = d, .port = port,
                              .rate_mbps = port->rate_mbps};
    uint32_t from = out->n;

    if (port->state != HB_PORT_ACTIVE) {
        char *why = hb_xasprintf("its link is %s",
                                 hb_port_state_name(port->state));
        refuse(refused, d, port, NULL, why);
        free(why);
    } else if (port->link_layer == HB_LINK_IB) {
        add_ib(&p, out, refused);
    } else if (port->link_layer != HB_LINK_ETHERNET) {
        refuse(refused, d, port, NULL, "it is neither InfiniBand nor RoCE");
    } else if (port->n_gids == 0) {
        refuse(refused, d, port, NULL, "it has no GID in this container");
    } else {
        for (uint32_t i = 0; i < port->n_gids; i++) {
            add_gid(f, &p, &port->gids[i], from, out, refused);
        }
    }
}

static void add_rdma(const struct hb_fabric *f, const struct hb_rdma *d,
                     struct hb_paths *out, struct hb_strv *refused)
{
    if (d->node_type != HB_NODE_CA) {
        refuse(refused, d, NULL, NULL, "it is no channel adapter and does not "
               "carry reliable connections");
    } else if (d->closed != 0) {
        char *why = hb_xasprintf("%s: %s", d->uverbs[0] != '\0'
                                     ? d->uverbs : "no device file",
                                 strerror(d->closed));
        refuse(refused, d, NULL, NULL, why);
        free(why);
    } else {
        for (uint32_t i = 0; i < d->n_ports; i++) {
            add_port(f, d, &d->ports[i], out, refused);
        }
    }
}

static void add_net(const struct hb_netdev *d, struct hb_paths *out)
{
    uint32_t from = out->n;

    for (uint32_t i = 0; i < d->n_addrs; i++) {
        struct hb_path p = {.kind = HB_FABRIC_TCP, .net = d,
                            .addr = &d->addrs[i],
                            .rate_mbps = d->speed_mbps,
                            .class = d->addrs[i].family == 4 ? HB_PATH_IPV4
                                                             : HB_PATH_IPV6};
        network_of(p.addr, p.network, sizeof p.network);
        if (d->up && !is_link_local(d->addrs[i].family, d->addrs[i].raw) &&
            !has_network(out, from, p.network)) {
            add(out, &p);
        }
    }
}

void hb_fabric_paths(const struct hb_fabric *f, struct hb_paths *out,
                     struct hb_strv *refused)
{
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < f->n_rdma; i++) {
        add_rdma(f, &f->rdma[i], out, refused);
    }
    for (uint32_t i = 0; i < f->n_net; i++) {
        if (f->net[i].type != HB_ARPHRD_LOOPBACK) {
            add_net(&f->net[i], out);
        }
    }
}

void hb_paths_destroy(struct hb_paths *p)
{
    free(p->v);
    memset(p, 0, sizeof *p);
}

int hb_fabric_has_rdma(const struct hb_fabric *f)
{
    struct hb_paths paths;
    int found = 0;

    hb_fabric_paths(f, &paths, NULL);
    for (uint32_t i = 0; i < paths.n; i++) {
        found |= paths.v[i].rdma != NULL;
    }
    hb_paths_destroy(&paths);
    return found;
}
