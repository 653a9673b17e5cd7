/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Why a network was chosen or not, in the words of --explain; and what the
 * user should know without asking: rails that differ between hosts. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fabric/agree_impl.h"

/* Reasons of one host are a few; the rest is for --explain. */
#define REASONS_SHOWN 3u

const char *hb_fabric_kind_name(enum hb_fabric_kind kind)
{
    static const char *const names[] = {"none", "auto", "ib", "roce", "tcp",
                                        "named"};

    return names[kind];
}

static const char *kind_words(enum hb_fabric_kind kind)
{
    return kind == HB_FABRIC_IB     ? "InfiniBand"
           : kind == HB_FABRIC_ROCE ? "RoCE"
                                    : "TCP";
}

int hb_fabric_wish_parse(const char *text, struct hb_fabric_wish *out,
                         struct hpcboot_error *err)
{
    struct hb_fabric_wish w = {.kind = HB_FABRIC_NAMED};
    size_t len = strcspn(text, ":");
    uint64_t port = 0;

    for (int k = HB_FABRIC_AUTO; k <= HB_FABRIC_TCP; k++) {
        if (strcmp(text, hb_fabric_kind_name((enum hb_fabric_kind)k)) == 0) {
            *out = (struct hb_fabric_wish){.kind = (enum hb_fabric_kind)k};
            return HPCBOOT_OK;
        }
    }
    if (len == 0 || len >= sizeof w.name || strchr(text, '/') != NULL ||
        (text[len] == ':' && hb_parse_u64(text + len + 1, 1, 254, &port) < 0)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--fabric %s: expected auto, "
                       "ib, roce, tcp, an RDMA device (mlx5_0 or mlx5_0:1), or "
                       "a net device (eth0)", text);
    }
    memcpy(w.name, text, len);
    w.port = (uint32_t)port;
    *out = w;
    return HPCBOOT_OK;
}

static void say(struct agreement *a, const struct network *net,
                const char *verdict, const char *why)
{
    struct hb_str o = HB_STR_INIT;

    hb_str_putf(&o, "fabric: %s %s, ", kind_words(net->tier.kind), net->name);
    if (net->rate_mbps != UINT32_MAX) {
        hb_rate_text(net->rate_mbps, &o);
    }
    hb_str_putf(&o, ": %s, %s", verdict, why);
    hb_strv_take(&a->plan->why, hb_str_steal(&o));
}

/* Free it. */
static char *why_not(const struct agreement *a, const struct network *net)
{
    if (net->missing != UINT32_MAX) {
        return hb_xasprintf("%s is not on it", a->hosts[net->missing].name);
    }
    if (net->clash > 0) {
        return hb_xasprintf("%s and %s have the same address there",
                            a->hosts[net->clash_first].name,
                            a->hosts[net->clash].name);
    }
    return NULL;
}

void agree_tell(struct agreement *a, const struct network *net,
                uint32_t best_mbps, uint32_t n_rails)
{
    char *fault = why_not(a, net);

    if (net->n_hosts == 0) {
        free(fault);
        return;
    }
    if (fault != NULL) {
        say(a, net, "not used", fault);
    } else if (net->rate_mbps < best_mbps / 2) {
        say(a, net, "not used", "another one has more than twice its rate");
    } else if (n_rails == 0 && (net->is_told || a->is_told)) {
        say(a, net, "not used", "another partition is used");
    } else if (n_rails == 0) {
        say(a, net, "not used", "its ports are on another one that is used");
    } else if (net->tier.routed) {
        say(a, net, "used", "no subnet is shared, and every host has such "
            "an address: routers must connect them");
    } else {
        say(a, net, "used", "all hosts are on it");
    }
    free(fault);
}

void agree_tell_tcp(struct agreement *a, const struct networks *nets,
                    const struct network *best)
{
    for (uint32_t i = 0; i < nets->n; i++) {
        char *fault = why_not(a, &nets->v[i]);

        if (&nets->v[i] == best) {
            say(a, best, "used", best->tier.routed
                    ? "no subnet is shared; by each host's default route"
                    : a->plan->kind == HB_FABRIC_TCP
                          ? "the fastest that all hosts are on"
                          : "for meeting, as all hosts are on it");
        } else {
            say(a, &nets->v[i], "not used", fault != NULL ? fault
                : a->plan->kind == HB_FABRIC_TCP
                      ? "another one is as fast, or faster"
                      : "another one has the default route, or was first");
        }
        free(fault);
    }
}

/* GIDs say nothing of InfiniBand, and of RoCE those in version 1 are last. */
static int matters(const struct tier *t, const char *refusal)
{
    return t->kind == HB_FABRIC_IB ? strstr(refusal, " GID ") == NULL
                                   : strstr(refusal, "RoCE v1") == NULL;
}

/* Ports of the other kind: a port is either, by its link. */
static uint32_t other_link(enum hb_fabric_kind kind)
{
    return kind == HB_FABRIC_IB ? HB_LINK_ETHERNET : HB_LINK_IB;
}

/* Would the port or device of this refusal, "mlx5_0 port 1: its link is down",
 * have been a way of the kind? */
static int could_be(const struct hb_fabric *f, enum hb_fabric_kind kind,
                    const char *refusal)
{
    char *name = hb_xstrndup(refusal, strcspn(refusal, " :"));
    const struct hb_rdma *d = hb_fabric_rdma(f, name);
    int could = d == NULL || d->n_ports == 0;
    unsigned port = 0;

    if (sscanf(refusal + strlen(name), " port %u", &port) != 1) {
        port = 0;
    }
    for (uint32_t i = 0; d != NULL && i < d->n_ports; i++) {
        const struct hb_port *p = &d->ports[i];

        could |= (port == 0 || p->number == port) &&
                 p->link_layer != other_link(kind);
    }
    free(name);
    return could;
}

/* A host without any port of the kind may have some of the other. */
static void put_lack(const struct hb_fabric *f, enum hb_fabric_kind kind,
                     struct hb_str *out)
{
    uint32_t link = other_link(kind);
    size_t n = 0;

    hb_str_putf(out, "it has no %s port", kind_words(kind));
    for (uint32_t i = 0; i < f->n_rdma; i++) {
        for (uint32_t k = 0; k < f->rdma[i].n_ports; k++) {
            const struct hb_port *p = &f->rdma[i].ports[k];

            if (p->link_layer == link && n++ < REASONS_SHOWN) {
                hb_str_putf(out, "%s%s port %u", n > 1 ? ", " : "; ",
                            f->rdma[i].name, p->number);
            }
        }
    }
    if (n > REASONS_SHOWN) {
        hb_str_putf(out, " and %zu more", n - REASONS_SHOWN);
    }
    if (n > 0) {
        hb_str_putf(out, " %s %s", n > 1 ? "are" : "is",
                    link == HB_LINK_IB ? "InfiniBand" : "RoCE");
    }
}

/* What keeps a host off: its refused ports, or that it has none. */
static void put_refusals(const struct host_seen *seen,
                         const struct hb_fabric *f, const struct tier *t,
                         struct hb_str *out)
{
    size_t n = 0;

    for (size_t i = 0; i < seen->refused.n; i++) {
        const char *refusal = seen->refused.v[i];

        if (matters(t, refusal) && could_be(f, t->kind, refusal) &&
            n++ < REASONS_SHOWN) {
            hb_str_putf(out, "%s%s", n > 1 ? "; " : "", refusal);
        }
    }
    if (n > REASONS_SHOWN) {
        hb_str_putf(out, "; and %zu more", n - REASONS_SHOWN);
    }
    if (n == 0) {
        put_lack(f, t->kind, out);
    }
}

static int has_kind(const struct agreement *a, uint32_t host,
                    enum hb_fabric_kind kind)
{
    const struct hb_paths *paths = &a->seen[host].paths;
    int found = 0;

    for (uint32_t i = 0; i < paths->n; i++) {
        found |= paths->v[i].kind == kind;
    }
    return found;
}

/* The first host without any way of the kind; n: all have one. */
static uint32_t host_without(const struct agreement *a,
                             enum hb_fabric_kind kind)
{
    uint32_t h = 0;

    while (h < a->n && has_kind(a, h, kind)) {
        h++;
    }
    return h;
}

void agree_tell_failed(struct agreement *a, const struct tier *t,
                       const struct networks *nets)
{
    uint32_t lacking = host_without(a, t->kind);
    struct hb_str o = HB_STR_INIT;

    if (t->kind != HB_FABRIC_TCP && lacking < a->n) {
        hb_str_putf(&o, "%s: not on %s: ", kind_words(t->kind),
                    a->hosts[lacking].name);
        put_refusals(&a->seen[lacking], a->hosts[lacking].fabric, t, &o);
    }
    for (uint32_t i = 0; lacking >= a->n && i < nets->n; i++) {
        char *fault = why_not(a, &nets->v[i]);
        hb_str_putf(&o, "%s%s %s: %s", o.len > 0 ? "; " : "",
                    kind_words(t->kind), nets->v[i].name,
                    fault != NULL ? fault : "not as it was asked for");
        free(fault);
    }
    if (o.len == 0 ||
        (a->failed.n > 0 && strcmp(a->failed.v[a->failed.n - 1], o.s) == 0)) {
        hb_str_destroy(&o);
        return;
    }
    hb_strv_pushf(&a->plan->why, "fabric: %s", o.s);
    hb_strv_take(&a->failed, hb_str_steal(&o));
}

void agree_warn(struct agreement *a)
{
    const struct hb_fabric_plan *plan = a->plan;

    for (uint32_t i = 0; i < a->n_rails; i++) {
        for (uint32_t h = 1; h < a->n; h++) {
            const struct hb_path *p = &plan->rails[i];
            const struct hb_path *q =
                &plan->rails[(size_t)h * a->n_rails + i];

            if (p->port->mtu != q->port->mtu && p->port->mtu > 0 &&
                q->port->mtu > 0) {
                hb_strv_pushf(&a->plan->warnings, "the MTU of rail %u differs: "
                              "%u on %s (%s), %u on %s (%s): set the net "
                              "devices to one MTU", i, p->port->mtu,
                              a->hosts[0].name, p->rdma->name, q->port->mtu,
                              a->hosts[h].name, q->rdma->name);
                break;
            }
        }
    }
}

/* Is this refusal one of the device that was named, "mlx5_0 port 1: ..."? */
static int is_of_name(const struct hb_fabric_wish *w, const char *refusal)
{
    size_t len = strlen(w->name);
    unsigned port;

    if (strncmp(refusal, w->name, len) != 0 ||
        (refusal[len] != ' ' && refusal[len] != ':')) {
        return 0;
    }
    return w->port == 0 || sscanf(refusal + len, " port %u", &port) != 1 ||
           port == w->port;
}

static int has_way(const struct agreement *a, uint32_t host)
{
    const struct hb_paths *paths = &a->seen[host].paths;

    for (uint32_t i = 0; i < paths->n; i++) {
        if (agree_fits_wish(a->wish, &paths->v[i])) {
            return 1;
        }
    }
    return 0;
}

/* Why a host has no way out by the device that was named. */
static void put_named(const struct agreement *a, uint32_t host,
                      struct hb_str *out)
{
    const struct hb_fabric_wish *w = a->wish;
    const struct hb_fabric *f = a->hosts[host].fabric;
    const struct hb_netdev *net = hb_fabric_netdev(f, w->name);
    const struct hb_strv *refused = &a->seen[host].refused;
    const char *name = a->hosts[host].name;
    size_t n = 0;

    if (hb_fabric_rdma(f, w->name) == NULL && net != NULL) {
        hb_str_putf(out, "%s of %s %s", w->name, name,
                    w->port != 0 ? "is a net device, which has no ports"
                    : net->type == HB_ARPHRD_LOOPBACK
                        ? "leads to no other host"
                    : !net->up ? "is down"
                               : "has no address that others could reach");
        return;
    }
    if (hb_fabric_rdma(f, w->name) == NULL) {
        hb_str_putf(out, "%s has no device %s, and it is none of auto, ib, "
                    "roce, tcp", name, w->name);
        return;
    }
    hb_str_putf(out, "on %s: ", name);
    for (size_t i = 0; i < refused->n; i++) {
        if (is_of_name(w, refused->v[i]) && n++ < REASONS_SHOWN) {
            hb_str_putf(out, "%s%s", n > 1 ? "; " : "", refused->v[i]);
        }
    }
    hb_str_put(out, n == 0 ? "it has no such port" : "");
}

static void put_unreachable(const struct agreement *a, struct hb_str *out)
{
    uint32_t n = 0;

    for (uint32_t h = 0; h < a->n; h++) {
        if (!has_kind(a, h, HB_FABRIC_TCP) && n++ < REASONS_SHOWN) {
            hb_str_putf(out, "%s%s", n > 1 ? ", " : "", a->hosts[h].name);
        }
    }
    if (n > REASONS_SHOWN) {
        hb_str_putf(out, " and %u more", n - REASONS_SHOWN);
    }
    hb_str_put(out, n == 0   ? "no host has an address to be reached at"
                    : n == 1 ? " has no address to be reached at"
                             : " have no address to be reached at");
}

int agree_fail(struct agreement *a, struct hpcboot_error *err)
{
    struct hb_str o = HB_STR_INIT;
    const struct hb_fabric_wish *w = a->wish;
    char port[24] = "";
    int rc;

    for (uint32_t h = 0; w->kind == HB_FABRIC_NAMED && h < a->n; h++) {
        if (!has_way(a, h)) {
            put_named(a, h, &o);
            break;
        }
    }
    for (size_t i = 0; o.len == 0 && i < a->failed.n; i++) {
        hb_str_putf(&o, "%s", a->failed.v[i]);
    }
    if (o.len == 0) {
        put_unreachable(a, &o);
    }
    if (w->kind == HB_FABRIC_NAMED && w->port > 0) {
        snprintf(port, sizeof port, " port %u", w->port);
    }
    rc = hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "the hosts do not share %s%s: "
                 "%s", w->kind == HB_FABRIC_NAMED ? w->name
                 : w->kind == HB_FABRIC_AUTO ? "any network"
                                             : kind_words(w->kind), port, o.s);
    hb_str_destroy(&o);
    return rc;
}
