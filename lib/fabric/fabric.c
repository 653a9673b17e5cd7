/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* One look at a host: sysfs first, which shows what the host has; then, when
 * there is an RDMA device, libibverbs by its module, which shows what this
 * process may use. Fields that both have are compared, those that only verbs
 * has (an InfiniBand port's MTU) are taken over. A GID table that sysfs shows
 * in part is taken whole from verbs, which gets it by one call. */

#include "config.h"

#include "lib/fabric/fabric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/module_load.h"
#include "lib/fabric/sysread.h"

void hb_fabric_clear(struct hb_fabric *f)
{
    for (uint32_t i = 0; i < f->n_rdma; i++) {
        for (uint32_t p = 0; p < f->rdma[i].n_ports; p++) {
            free(f->rdma[i].ports[p].gids);
            free(f->rdma[i].ports[p].pkeys);
            free(f->rdma[i].ports[p].counters);
        }
        free(f->rdma[i].ports);
    }
    for (uint32_t i = 0; i < f->n_net; i++) {
        free(f->net[i].addrs);
    }
    free(f->rdma);
    free(f->net);
    free(f->gpus);
    memset(f, 0, sizeof *f);
}

const struct hb_netdev *hb_fabric_netdev(const struct hb_fabric *f,
                                         const char *name)
{
    for (uint32_t i = 0; i < f->n_net; i++) {
        if (strcmp(f->net[i].name, name) == 0) {
            return &f->net[i];
        }
    }
    return NULL;
}

const struct hb_rdma *hb_fabric_rdma(const struct hb_fabric *f,
                                     const char *name)
{
    for (uint32_t i = 0; i < f->n_rdma; i++) {
        if (strcmp(f->rdma[i].name, name) == 0) {
            return &f->rdma[i];
        }
    }
    return NULL;
}

/* --- sysfs and verbs ------------------------------------------------- */

static void differ(struct hb_strv *notes, const char *device, uint32_t port,
                   const char *field, uint64_t sysfs, uint64_t verbs)
{
    if (notes != NULL && sysfs != verbs) {
        hb_strv_pushf(notes, "%s port %u: %s is %llu in sysfs and %llu by "
                      "libibverbs", device, port, field,
                      (unsigned long long)sysfs, (unsigned long long)verbs);
    }
}

static const struct hb_gid *gid_at(const struct hb_port *p, uint32_t index)
{
    for (uint32_t i = 0; i < p->n_gids; i++) {
        if (p->gids[i].index == index) {
            return &p->gids[i];
        }
    }
    return NULL;
}

static void compare_gids(const struct hb_rdma *d, const struct hb_port *sys,
                         const struct hb_port *verbs, struct hb_strv *notes)
{
    for (uint32_t i = 0; notes != NULL && i < verbs->n_gids; i++) {
        const struct hb_gid *b = &verbs->gids[i], *a = gid_at(sys, b->index);

        if (a == NULL ? b->index < sys->gids_read
                      : a->type != b->type ||
                            memcmp(a->raw, b->raw, sizeof a->raw) != 0 ||
                            strcmp(a->netdev, b->netdev) != 0) {
            hb_strv_pushf(notes, "%s port %u: GID %u differs between sysfs "
                          "and libibverbs", d->name, sys->number, b->index);
        }
    }
    for (uint32_t i = 0; notes != NULL && i < sys->n_gids; i++) {
        if (gid_at(verbs, sys->gids[i].index) == NULL) {
            hb_strv_pushf(notes, "%s port %u: GID %u is in sysfs alone",
                          d->name, sys->number, sys->gids[i].index);
        }
    }
}

/* Of the slots that were read sysfs knows better: an index of a device, which
 * libibverbs has, may be that of another network namespace. */
static void merge_gids(struct hb_port *sys, const struct hb_port *verbs)
{
    uint32_t read = sys->gids_read;

    if (verbs->n_gids == 0) {
        return;
    }
    sys->gids = hb_xrealloc(sys->gids, (sys->n_gids + verbs->n_gids) *
                                           sizeof *sys->gids);
    for (uint32_t i = 0; i < verbs->n_gids; i++) {
        if (verbs->gids[i].index >= read) {
            sys->gids[sys->n_gids++] = verbs->gids[i];
        }
    }
    sys->gids_read = verbs->gids_read;
}

static void merge_port(const struct hb_rdma *d, struct hb_port *sys,
                       const struct hb_port *verbs, struct hb_strv *notes)
{
    const struct {
        const char *name;
        uint32_t a, b;
    } both[] = {
        {"link layer", sys->link_layer, verbs->link_layer},
        {"state", sys->state, verbs->state},
        {"physical state", sys->phys_state, verbs->phys_state},
        {"rate", sys->rate_mbps, verbs->rate_mbps},
        {"LID", sys->lid, verbs->lid},
        {"SM LID", sys->sm_lid, verbs->sm_lid},
        {"LMC", sys->lmc, verbs->lmc},
        {"number of P_Keys", sys->n_pkeys, verbs->n_pkeys},
        {"MTU", sys->mtu > 0 ? sys->mtu : verbs->mtu, verbs->mtu},
    };

    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        differ(notes, d->name, sys->number, both[i].name, both[i].a,
               both[i].b);
    }
    for (uint32_t i = 0; i < sys->n_pkeys && i < verbs->n_pkeys; i++) {
        differ(notes, d->name, sys->number, "a P_Key", sys->pkeys[i],
               verbs->pkeys[i]);
    }
    compare_gids(d, sys, verbs, notes);
    sys->mtu = verbs->mtu;
    sys->mtu_max = verbs->mtu_max;
    merge_gids(sys, verbs);
}

void hb_fabric_merge(struct hb_fabric *sys, const struct hb_fabric *verbs,
                     struct hb_strv *notes)
{
    for (uint32_t i = 0; i < sys->n_rdma; i++) {
        struct hb_rdma *d = &sys->rdma[i];
        const struct hb_rdma *v = hb_fabric_rdma(verbs, d->name);

        if (v == NULL) {
            continue; /* it cannot be opened, or has no driver here */
        }
        differ(notes, d->name, 0, "node GUID", d->node_guid, v->node_guid);
        differ(notes, d->name, 0, "number of ports", d->n_ports, v->n_ports);
        for (uint32_t p = 0; p < d->n_ports && p < v->n_ports; p++) {
            merge_port(d, &d->ports[p], &v->ports[p], notes);
        }
    }
}

static void ask_verbs(struct hb_fabric *out, struct hb_strv *notes)
{
    const struct hb_verbs_reader *reader = NULL;
    struct hb_fabric verbs = {0};
    struct hpcboot_error err = {0};
    const void *symbol = NULL;
    int rc = hb_module_open("hb_verbs", "hb_verbs_reader", &symbol, &err);

    reader = symbol;
    if (rc >= 0) {
        rc = reader->read(&verbs, &err);
    }
    if (rc >= 0) {
        snprintf(out->verbs, sizeof out->verbs, "libibverbs");
        hb_fabric_merge(out, &verbs, notes);
    } else {
        hb_copy(out->verbs, sizeof out->verbs, err.text);
    }
    hb_fabric_clear(&verbs);
}

void hb_fabric_read(const char *root, int use_verbs, struct hb_fabric *out,
                    struct hb_strv *notes)
{
    int64_t begun = hb_now_ns();

    memset(out, 0, sizeof *out);
    hb_sys_netdevs(root, out);
    hb_sys_rdma(root, out);
    hb_sys_gpus(root, out);
    if (out->n_rdma == 0) {
        hb_copy(out->verbs, sizeof out->verbs, "there is no RDMA device");
    } else if (!use_verbs || root[0] != '\0') {
        hb_copy(out->verbs, sizeof out->verbs, "libibverbs was not asked");
    } else {
        ask_verbs(out, notes);
    }
    out->us = (uint32_t)((hb_now_ns() - begun) / 1000);
}
