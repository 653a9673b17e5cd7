/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What this host has for talking to others, and which of it each rank uses.
 *
 * The launcher names ports by their GID's address: the index is looked up
 * again here, as a GID table changes when addresses do. A rank's rail is the
 * nearest to its GPUs, or without any to the cores that it is bound to; among
 * equals the least used one. The variables that follow from it go into the
 * rank's environment behind everything else, and never over what is there. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/doctor/doctor.h"
#include "bin/hpcbootd/agent.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/fabric/choose.h"

/* Classes of distance between cores and a NIC. */
enum { NEAR_ALL, NEAR_SOME, SAME_PACKAGE, FAR };

struct agent_wiring {
    struct hb_fabric fabric;
    struct hb_wiring wiring;
    const struct hb_rdma **devices; /* [wiring.n_rails] */
    uint32_t *rates;                /* [wiring.n_rails] Mb/s */
    struct hb_rails_of *rails;      /* [n_ranks] */
    struct hb_strv kept; /* variables that the user has set */
    int wired, only_probe, explain, kept_told;
};

static struct agent_wiring *wiring_of(struct agent *a)
{
    if (a->wiring == NULL) {
        a->wiring = hb_xcalloc(1, sizeof *a->wiring);
    }
    return a->wiring;
}

static void forget_rails(struct agent_wiring *w)
{
    free(w->wiring.rails);
    free(w->devices);
    free(w->rates);
    memset(&w->wiring, 0, sizeof w->wiring);
}

void agent_wiring_destroy(struct agent *a)
{
    struct agent_wiring *w = a->wiring;

    if (w == NULL) {
        return;
    }
    hb_fabric_clear(&w->fabric);
    forget_rails(w);
    free(w->rails);
    hb_strv_destroy(&w->kept);
    free(w);
    a->wiring = NULL;
}

static void check(const struct agent_wiring *w,
                  const struct hb_msg_examine *m,
                  const struct hb_strv *differences, struct hb_strv *out,
                  struct hb_strv *facts)
{
    struct hb_strv programs = HB_STRV_INIT;
    struct hb_findings found = {0};
    struct hb_exam e = {.root = "", .wdir = m->wdir, .fabric = &w->fabric,
                        .differences = differences,
                        .neighbour = getppid()}; /* the guard */
    const char *text;
    size_t pos = 0;

    while ((text = hb_wire_strv_next(&m->programs, &pos)) != NULL) {
        hb_strv_push(&programs, text);
    }
    e.programs = (char *const *)hb_strv_view(&programs);
    hb_exam_host(&e, &found, facts);
    hb_findings_put(&found, out);
    hb_findings_destroy(&found);
    hb_strv_destroy(&programs);
}

int agent_examine(struct agent *a, const struct hb_frame *f,
                  struct hpcboot_error *err)
{
    struct agent_wiring *w = wiring_of(a);
    uint64_t now_ns = (uint64_t)hb_wall_ns();
    struct hb_msg_examine m;
    struct hb_strv found = HB_STRV_INIT, facts = HB_STRV_INIT;
    struct hb_strv differences = HB_STRV_INIT;
    struct hb_buf bytes;
    int rc = hb_wire_get_examine(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    hb_fabric_clear(&w->fabric);
    hb_fabric_read("", 1, &w->fabric, &differences);
    if (m.checks) {
        check(w, &m, &differences, &found, &facts);
    }
    hb_buf_init(&bytes, HB_FABRIC_BYTES_MAX);
    hb_fabric_encode(&w->fabric, &bytes);
    AGENT_SEND(a, examined, .fabric = {bytes.data, bytes.len},
               .findings = hb_wire_strv_of(hb_strv_view(&found)),
               .facts = hb_wire_strv_of(hb_strv_view(&facts)),
               .time_ns = now_ns);
    hb_buf_destroy(&bytes);
    hb_strv_destroy(&found);
    hb_strv_destroy(&facts);
    hb_strv_destroy(&differences);
    return 0;
}

/* --- what the launcher has chosen ----------------------------------------- */

static const struct hb_port *port_of(const struct hb_rdma *d, uint32_t number)
{
    for (uint32_t i = 0; d != NULL && i < d->n_ports; i++) {
        if (d->ports[i].number == number) {
            return &d->ports[i];
        }
    }
    return NULL;
}

static const struct hb_gid *gid_named(const struct hb_port *p,
                                      const char *text, enum hb_fabric_kind k)
{
    for (uint32_t i = 0; p != NULL && i < p->n_gids; i++) {
        struct hb_str mine = HB_STR_INIT;
        int same;

        hb_gid_text(&p->gids[i], &mine);
        same = strcmp(hb_str_text(&mine), text) == 0;
        hb_str_destroy(&mine);
        if (same && (k != HB_FABRIC_ROCE ||
                     p->gids[i].type == HB_GID_ROCE_V2)) {
            return &p->gids[i];
        }
    }
    return NULL;
}

/* rdma_rxe has neither a PCI function nor a driver's name in sysfs. */
static int is_soft(const struct hb_rdma *d)
{
    return d->at.pci[0] == '\0' && d->driver[0] == '\0';
}

/* "DEVICE PORT GID PARTITION" */
static int take_rail(struct agent_wiring *w, const char *text,
                     struct hpcboot_error *err)
{
    char device[HB_FABRIC_NAME], gid[64];
    struct hb_rail *r = &w->wiring.rails[w->wiring.n_rails];
    const struct hb_rdma *d;
    const struct hb_port *p;
    const struct hb_gid *g;
    unsigned port, partition;

    if (sscanf(text, "%39s %u %63s %u", device, &port, gid,
               &partition) != 4) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a rail that is none: %s",
                       text);
    }
    d = hb_fabric_rdma(&w->fabric, device);
    p = port_of(d, port);
    g = gid_named(p, gid, w->wiring.kind);
    if (g == NULL) {
        return hb_fail(err, HPCBOOT_ERR_HOST, "%s port %u has lost its GID %s "
                       "since this host was asked", device, port, gid);
    }
    memcpy(r->device, device, sizeof r->device);
    r->port = port;
    r->gid_index = g->index;
    r->partition = partition;
    r->is_soft = is_soft(d);
    w->devices[w->wiring.n_rails] = d;
    w->rates[w->wiring.n_rails++] = p->rate_mbps;
    return 0;
}

int agent_wire(struct agent *a, const struct hb_frame *f,
               struct hpcboot_error *err)
{
    struct agent_wiring *w = wiring_of(a);
    struct hb_msg_wire m;
    const char *text;
    size_t pos = 0;
    int rc = hb_wire_get_wire(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    if (a->ordered || m.rails.n > HB_RAILS_MAX ||
        m.kind < HB_FABRIC_IB || m.kind > HB_FABRIC_TCP) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a WIRE frame that cannot "
                       "be followed");
    }
    forget_rails(w);
    w->wired = 1;
    w->only_probe = m.only_probe;
    w->explain = m.explain;
    w->wiring.kind = (enum hb_fabric_kind)m.kind;
    w->wiring.is_found = m.is_found;
    w->wiring.is_named = m.is_named;
    w->wiring.is_ipv6 = m.is_ipv6;
    snprintf(w->wiring.tcp, sizeof w->wiring.tcp, "%.*s",
             (int)sizeof w->wiring.tcp - 1, m.tcp);
    for (uint32_t i = 0; i < w->fabric.n_rdma; i++) {
        w->wiring.has_other |= w->fabric.rdma[i].node_type != HB_NODE_CA;
    }
    w->wiring.rails = hb_xcalloc(m.rails.n + 1, sizeof *w->wiring.rails);
    w->devices = hb_xcalloc(m.rails.n + 1, sizeof *w->devices);
    w->rates = hb_xcalloc(m.rails.n + 1, sizeof *w->rates);
    while (rc == 0 && (text = hb_wire_strv_next(&m.rails, &pos)) != NULL) {
        rc = take_rail(w, text, err);
    }
    return rc;
}

/* --- which rank is near what ---------------------------------------------- */

/* CPUs next to a device: as hwloc says, else as sysfs does. 0: not known. */
static int cpus_near(const struct agent *a, const struct hb_rdma *d,
                     struct hb_cpus *out)
{
    const struct hb_topo *t = a->here.topo;
    const struct hb_topo_devices *nics =
        t != NULL ? &t->device[HB_TOPO_NIC] : NULL;

    hb_cpus_zero(out);
    for (uint32_t i = 0; nics != NULL && i < nics->n; i++) {
        const struct hb_topo_span *s = &nics->v[i].near;
        for (uint32_t pu = s->first;
             strcmp(nics->v[i].name, d->name) == 0 && pu < s->first + s->n;
             pu++) {
            hb_cpus_add(out, t->pu_os[pu]);
        }
    }
    if (hb_cpus_count(out) == 0 && d->at.cpus[0] != '\0') {
        (void)hb_cpus_parse(d->at.cpus, out, NULL);
    }
    return hb_cpus_count(out) > 0;
}

/* All CPUs of the packages that a set touches. */
static void whole_packages(const struct hb_topo *t, struct hb_cpus *io)
{
    struct hb_cpus all = *io;

    for (uint32_t pu = 0; t != NULL && pu < t->n_pus; pu++) {
        const struct hb_topo_span *s =
            hb_cpus_has(io, t->pu_os[pu])
                ? hb_topo_around(t, HB_TOPO_PACKAGE, pu) : NULL;
        for (uint32_t i = 0; s != NULL && i < s->n; i++) {
            hb_cpus_add(&all, t->pu_os[s->first + i]);
        }
    }
    *io = all;
}

static uint32_t from_cores(const struct agent *a, uint32_t rank,
                           const struct hb_rdma *d)
{
    struct hb_cpus near, both;

    if (!a->bind.bound || !cpus_near(a, d, &near)) {
        return NEAR_SOME;
    }
    both = near;
    hb_cpus_and(&both, &a->bind.cpus[rank]);
    if (hb_cpus_equal(&both, &a->bind.cpus[rank])) {
        return NEAR_ALL;
    }
    if (hb_cpus_count(&both) > 0) {
        return NEAR_SOME;
    }
    whole_packages(a->here.topo, &near);
    hb_cpus_and(&near, &a->bind.cpus[rank]);
    return hb_cpus_count(&near) > 0 ? SAME_PACKAGE : FAR;
}

static const struct hb_gpu *gpu_of(const struct agent *a, uint32_t rank)
{
    const struct hb_topo_devices *gpus;
    const struct agent_wiring *w = a->wiring;

    if (a->gpus == NULL || a->here.topo == NULL) {
        return NULL;
    }
    gpus = &a->here.topo->device[HB_TOPO_GPU];
    for (uint32_t i = 0; i < w->fabric.n_gpus; i++) {
        uint32_t g = a->gpus[(size_t)rank * a->bind_policy.gpus];
        if (g < gpus->n &&
            strcmp(gpus->v[g].pci, w->fabric.gpus[i].at.pci) == 0) {
            return &w->fabric.gpus[i];
        }
    }
    return NULL;
}

static uint32_t distance_of(const struct agent *a, uint32_t rank,
                            const struct hb_rdma *d)
{
    const struct hb_gpu *gpu = gpu_of(a, rank);

    return gpu != NULL ? hb_place_distance(&gpu->at, &d->at)
                       : from_cores(a, rank, d);
}

static void explain_rank(struct agent *a, uint32_t i, const uint32_t *distance)
{
    static const char *const by_cores[] = {
        "next to its cores", "as near as others, as far as is known",
        "on its package", "on another package"};
    static const char *const by_gpu[] = {
        "below one PCI switch with its GPU",
        "below one host bridge with its GPU",
        "on its GPU's NUMA node", "on another NUMA node than its GPU"};
    const struct agent_wiring *w = a->wiring;
    const struct hb_rails_of *mine = &w->rails[i];
    const char *const *words = gpu_of(a, i) != NULL ? by_gpu : by_cores;
    uint32_t n = w->wiring.n_rails;
    struct hb_str o = HB_STR_INIT;

    for (uint32_t k = 0; k < mine->n; k++) {
        const struct hb_rail *r = &w->wiring.rails[mine->v[k]];
        hb_str_putf(&o, "%s%s:%u", k > 0 ? ", " : "", r->device, r->port);
        if (w->wiring.kind == HB_FABRIC_ROCE) {
            hb_str_putf(&o, " GID %u", r->gid_index);
        }
        hb_str_putf(&o, " (%s)", words[distance[i * n + mine->v[k]]]);
    }
    for (uint32_t k = 0; k < n; k++) {
        int used = 0;
        for (uint32_t u = 0; u < mine->n; u++) {
            used |= mine->v[u] == k;
        }
        if (!used) {
            hb_str_putf(&o, "; not %s:%u (%s%s)", w->wiring.rails[k].device,
                        w->wiring.rails[k].port, words[distance[i * n + k]],
                        distance[i * n + k] == distance[i * n + mine->v[0]]
                            ? ", other ranks use it" : "");
        }
    }
    agent_note(a, HB_INFO, "fabric: rank %u uses %s", a->ranks[i].rank,
               hb_str_text(&o));
    hb_str_destroy(&o);
}

void agent_wiring_plan(struct agent *a)
{
    struct agent_wiring *w = a->wiring;
    uint32_t *distance, n;

    if (w == NULL || !w->wired || w->only_probe) {
        return;
    }
    n = w->wiring.n_rails;
    w->rails = hb_xcalloc(a->n_ranks + 1, sizeof *w->rails);
    distance = hb_xcalloc((size_t)a->n_ranks * n + 1, sizeof *distance);
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        for (uint32_t k = 0; k < n; k++) {
            distance[i * n + k] = distance_of(a, i, w->devices[k]);
        }
    }
    hb_fabric_assign(a->n_ranks, n, distance, w->rates, w->rails);
    for (uint32_t i = 0; w->explain && n > 0 && i < a->n_ranks; i++) {
        explain_rank(a, i, distance);
    }
    if (w->explain && w->wiring.tcp[0] != '\0') {
        agent_note(a, HB_INFO, "fabric: %s for %s", w->wiring.tcp,
                   n > 0 ? "what runs over TCP" : "all ranks");
    }
    free(distance);
}

/* It uses the first rail: the port that every rank would use but for where it
 * is bound. */
void agent_wiring_probe_env(const struct agent *a, struct hb_strv *env)
{
    const struct agent_wiring *w = a->wiring;
    const struct hb_rails_of first = {
        .n = w != NULL && w->wiring.n_rails > 0 ? 1 : 0};

    if (w != NULL && w->wired) {
        hb_fabric_env(&w->wiring, &first, env, NULL);
    }
}

void agent_wiring_env(const struct rank *r, struct hb_strv *env)
{
    struct agent *a = r->agent;
    struct agent_wiring *w = a->wiring;
    struct hb_str list = HB_STR_INIT;

    if (w == NULL || !w->wired || w->only_probe) {
        return;
    }
    hb_fabric_env(&w->wiring, &w->rails[r - a->ranks], env, &w->kept);
    if (w->kept.n == 0 || w->kept_told) {
        return;
    }
    w->kept_told = 1;
    for (size_t i = 0; i < w->kept.n; i++) {
        hb_str_putf(&list, "%s%s", i > 0 ? ", " : "", w->kept.v[i]);
    }
    agent_note(a, HB_WARN, "--fabric leaves what is set as it is: %s",
               list.s);
    hb_str_destroy(&list);
}
