/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What all hosts of a job share.
 *
 * Kinds of ways are tried from the best to the least: InfiniBand, RoCE on
 * IPv4, on IPv6, RoCE that is routed between subnets, then TCP. A kind will do
 * when every host is on the same network of it. Of a kind all networks are
 * rails, the fastest ones: a network with less than half the rate of the best
 * is left out, as a stripe would wait for it. A port is in one rail only. Of
 * InfiniBand, libraries take the first partition of each port by themselves;
 * another one they can be told, the same for all ports.
 *
 * A subnet by which two hosts have the same address connects nobody: that is
 * how bridges of container engines look, the same on every machine. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/fabric/agree_impl.h"

static const struct tier tiers[] = {
    {HB_FABRIC_IB, HB_PATH_LID, 0},
    {HB_FABRIC_ROCE, HB_PATH_IPV4, 0},
    {HB_FABRIC_ROCE, HB_PATH_IPV6, 0},
    {HB_FABRIC_ROCE, HB_PATH_IPV4, 1},
    {HB_FABRIC_ROCE, HB_PATH_IPV6, 1},
    {HB_FABRIC_ROCE, HB_PATH_LINK_LOCAL, 0}, /* only when asked for RoCE */
    {HB_FABRIC_TCP, HB_PATH_IPV4, 0},
    {HB_FABRIC_TCP, HB_PATH_IPV6, 0},
    {HB_FABRIC_TCP, HB_PATH_IPV4, 1},
    {HB_FABRIC_TCP, HB_PATH_IPV6, 1},
};
#define N_TIERS (sizeof tiers / sizeof *tiers)

/* --- who is on a network -------------------------------------------------- */

int agree_fits_wish(const struct hb_fabric_wish *w, const struct hb_path *p)
{
    if (w->kind != HB_FABRIC_NAMED) {
        return 1;
    }
    if (p->rdma != NULL) {
        return strcmp(p->rdma->name, w->name) == 0 &&
               (w->port == 0 || w->port == p->port->number);
    }
    return w->port == 0 && strcmp(p->net->name, w->name) == 0;
}

static int is_on(const struct agreement *a, const struct network *net,
                 const struct hb_path *p)
{
    return p->kind == net->tier.kind && p->class == net->tier.class &&
           (net->tier.routed ? p->kind != HB_FABRIC_TCP || p->net->is_default
                             : strcmp(p->network, net->name) == 0) &&
           agree_fits_wish(a->wish, p);
}

static const struct hb_path *path_on(const struct agreement *a, uint32_t host,
                                     const struct network *net)
{
    const struct hb_paths *paths = &a->seen[host].paths;
    const struct hb_path *best = NULL;

    for (uint32_t i = 0; i < paths->n; i++) {
        if (is_on(a, net, &paths->v[i]) &&
            (best == NULL || paths->v[i].rate_mbps > best->rate_mbps)) {
            best = &paths->v[i];
        }
    }
    return best;
}

/* Whether libraries have to be told of it, by one of the host's ports. */
static int is_told_on(const struct agreement *a, uint32_t host,
                      const struct network *net)
{
    const struct hb_paths *paths = &a->seen[host].paths;

    for (uint32_t i = 0; i < paths->n; i++) {
        if (paths->v[i].is_told && is_on(a, net, &paths->v[i])) {
            return 1;
        }
    }
    return 0;
}

static int same_address(const struct hb_path *x, const struct hb_path *y)
{
    return x->addr != NULL && y->addr != NULL &&
           x->addr->family == y->addr->family &&
           memcmp(x->addr->raw, y->addr->raw, sizeof x->addr->raw) == 0;
}

static int has_address(const struct hb_paths *paths, const struct hb_path *p)
{
    for (uint32_t i = 0; i < paths->n; i++) {
        if (paths->v[i].kind == p->kind && same_address(&paths->v[i], p)) {
            return 1;
        }
    }
    return 0;
}

/* Two names of one machine have all addresses in common. */
static int is_same_machine(const struct hb_paths *x, const struct hb_paths *y)
{
    for (uint32_t i = 0; i < x->n; i++) {
        if (x->v[i].kind == HB_FABRIC_TCP && !has_address(y, &x->v[i])) {
            return 0;
        }
    }
    return 1;
}

struct holder { /* of an address */
    const struct hb_path *path;
    uint32_t host;
};

static int by_address(const void *va, const void *vb)
{
    const struct holder *a = va, *b = vb;
    int family = (int)a->path->addr->family - (int)b->path->addr->family;
    int raw = memcmp(a->path->addr->raw, b->path->addr->raw,
                     sizeof a->path->addr->raw);

    return family != 0 ? family : raw != 0 ? raw : a->host < b->host ? -1 : 1;
}

/* Two hosts with one address. */
static void find_clash(const struct agreement *a, struct holder *v, uint32_t n,
                       struct network *net)
{
    if (n > 1) {
        qsort(v, n, sizeof *v, by_address);
    }
    for (uint32_t i = 1; i < n && net->clash == 0; i++) {
        uint32_t x = v[i - 1].host, y = v[i].host;

        if (same_address(v[i - 1].path, v[i].path) &&
            !is_same_machine(&a->seen[x].paths, &a->seen[y].paths)) {
            net->clash_first = x;
            net->clash = y;
        }
    }
}

/* Fills who is on the network, and how fast it is at the slowest of them. */
static void count(struct agreement *a, struct network *net)
{
    struct holder *holders = hb_xcalloc(a->n + 1, sizeof *holders);
    uint32_t n = 0;

    net->missing = UINT32_MAX;
    net->rate_mbps = UINT32_MAX;
    for (uint32_t h = 0; h < a->n; h++) {
        const struct hb_path *p = path_on(a, h, net);

        if (p == NULL) {
            net->missing = net->missing == UINT32_MAX ? h : net->missing;
            continue;
        }
        net->n_hosts++;
        net->is_alias |= p->is_alias;
        net->is_told |= is_told_on(a, h, net);
        net->partition = p->partition;
        net->rate_mbps = p->rate_mbps < net->rate_mbps ? p->rate_mbps
                                                       : net->rate_mbps;
        if (p->addr != NULL) {
            holders[n++] = (struct holder){p, h};
        }
    }
    find_clash(a, holders, n, net);
    free(holders);
}

static int by_worth(const void *va, const void *vb)
{
    const struct network *a = va, *b = vb;

    if (a->is_alias != b->is_alias) {
        return a->is_alias - b->is_alias;
    }
    if (a->is_told != b->is_told) {
        return a->is_told - b->is_told;
    }
    if (a->rate_mbps != b->rate_mbps) {
        return a->rate_mbps > b->rate_mbps ? -1 : 1;
    }
    return a->order < b->order ? -1 : 1;
}

static int is_known(const struct networks *v, const struct hb_path *p)
{
    for (uint32_t i = 0; i < v->n; i++) {
        if (strcmp(v->v[i].name, p->network) == 0) {
            return 1;
        }
    }
    return 0;
}

static void add_network(struct agreement *a, struct networks *out,
                        const struct tier *tier, const char *name)
{
    struct network net = {.tier = *tier, .order = out->n};

    hb_copy(net.name, sizeof net.name, name);
    count(a, &net);
    out->v = hb_xrealloc(out->v, (out->n + 1) * sizeof *out->v);
    out->v[out->n++] = net;
}

/* The networks of a tier that some host is on, best first. */
static void find_networks(struct agreement *a, const struct tier *tier,
                          struct networks *out)
{
    memset(out, 0, sizeof *out);
    if (tier->routed) {
        add_network(a, out, tier, "routed");
        return;
    }
    for (uint32_t h = 0; h < a->n; h++) {
        for (uint32_t i = 0; i < a->seen[h].paths.n; i++) {
            const struct hb_path *p = &a->seen[h].paths.v[i];
            if (p->kind == tier->kind && p->class == tier->class &&
                agree_fits_wish(a->wish, p) && !is_known(out, p)) {
                add_network(a, out, tier, p->network);
            }
        }
    }
    if (out->n > 1) {
        qsort(out->v, out->n, sizeof *out->v, by_worth);
    }
}

/* --- rails ---------------------------------------------------------------- */

static int is_taken(const struct rails *r, const struct hb_path *p)
{
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->v[i].rdma == p->rdma && r->v[i].port == p->port) {
            return 1;
        }
    }
    return 0;
}

/* Paths of a host on a network that are free and fast enough, one for each
 * port; that of the port's own net device comes before a VLAN's. */
static void find_free(const struct agreement *a, uint32_t host,
                      const struct network *net, uint32_t best_mbps,
                      struct rails *out)
{
    const struct hb_paths *paths = &a->seen[host].paths;
    const struct rails *mine = &a->seen[host].rails;

    out->n = 0;
    for (int alias = 0; alias < 2; alias++) {
        for (uint32_t i = 0; i < paths->n; i++) {
            const struct hb_path *p = &paths->v[i];

            if (p->is_alias == alias && is_on(a, net, p) &&
                p->rate_mbps >= best_mbps / 2 && !is_taken(mine, p) &&
                !is_taken(out, p) && mine->n + out->n < HB_RAILS_MAX) {
                out->v[out->n++] = *p;
            }
        }
    }
}

/* Returns how many rails that gives. */
static uint32_t take_network(struct agreement *a, const struct network *net,
                             uint32_t best_mbps)
{
    struct rails *found = hb_xcalloc(a->n, sizeof *found);
    uint32_t least = UINT32_MAX, who = 0;

    for (uint32_t h = 0; h < a->n; h++) {
        find_free(a, h, net, best_mbps, &found[h]);
        if (found[h].n < least) {
            least = found[h].n;
            who = h;
        }
    }
    for (uint32_t h = 0; h < a->n; h++) {
        struct rails *mine = &a->seen[h].rails;

        memcpy(mine->v + mine->n, found[h].v, least * sizeof *found[h].v);
        mine->n += least;
        if (found[h].n > least) {
            hb_strv_pushf(&a->plan->why, "fabric: not used on %s: %u more "
                          "port%s on %s, as %s has %u there", a->hosts[h].name,
                          found[h].n - least,
                          found[h].n - least == 1 ? "" : "s", net->name,
                          a->hosts[who].name, least);
        }
    }
    free(found);
    a->n_rails += least;
    return least;
}

static int is_shared(const struct agreement *a, const struct network *net)
{
    return net->n_hosts == a->n && net->clash == 0;
}

/* Whether a port that would be a rail there is not in that partition first. */
static int must_be_told(const struct agreement *a, const struct network *net,
                        uint32_t best_mbps)
{
    for (uint32_t h = 0; net->is_told && h < a->n; h++) {
        struct rails found;

        find_free(a, h, net, best_mbps, &found);
        for (uint32_t i = 0; i < found.n; i++) {
            if (found.v[i].is_told) {
                return 1;
            }
        }
    }
    return 0;
}

/* Whether libraries can use it beside the rails that are there. */
static int fits_rails(const struct agreement *a, const struct network *net,
                      int is_told)
{
    return a->n_rails == 0 || (!a->is_told && !is_told) ||
           net->partition == a->partition;
}

static uint32_t try_network(struct agreement *a, const struct network *net,
                            uint32_t best_mbps)
{
    int is_first = a->n_rails == 0;
    int is_told = must_be_told(a, net, best_mbps);
    uint32_t n = fits_rails(a, net, is_told)
                     ? take_network(a, net, best_mbps) : 0;

    if (n > 0) {
        a->partition = is_first || a->partition == net->partition
                           ? net->partition : 0;
        a->is_told |= is_told;
    }
    return n;
}

static int take_rails(struct agreement *a, const struct networks *nets)
{
    uint32_t best = 0;

    for (uint32_t i = 0; i < nets->n; i++) {
        best = is_shared(a, &nets->v[i]) && nets->v[i].rate_mbps > best
                   ? nets->v[i].rate_mbps : best;
    }
    for (uint32_t i = 0; i < nets->n; i++) {
        const struct network *net = &nets->v[i];
        uint32_t n = 0;

        if (is_shared(a, net) && net->rate_mbps >= best / 2) {
            n = try_network(a, net, best);
        }
        agree_tell(a, net, best, n);
    }
    return a->n_rails > 0;
}

/* --- which TCP ------------------------------------------------------------ */

/* For the work itself the fastest, for meeting the one of the default route,
 * which reaches everybody. */
static int better_tcp(const struct agreement *a, const struct network *x,
                      const struct network *y)
{
    const struct hb_path *p = path_on(a, 0, x);
    const struct hb_path *q = path_on(a, 0, y);
    int by_rate = (x->rate_mbps > y->rate_mbps) -
                  (x->rate_mbps < y->rate_mbps);
    int by_route = (p->net->is_default != 0) - (q->net->is_default != 0);
    int order = a->plan->kind == HB_FABRIC_TCP && by_rate != 0 ? by_rate
                                                               : by_route;

    return order != 0 ? order > 0 : p->net->index < q->net->index;
}

static int take_tcp(struct agreement *a, const struct networks *nets)
{
    const struct network *best = NULL;

    for (uint32_t i = 0; i < nets->n; i++) {
        if (is_shared(a, &nets->v[i]) &&
            (best == NULL || better_tcp(a, &nets->v[i], best))) {
            best = &nets->v[i];
        }
    }
    for (uint32_t h = 0; best != NULL && h < a->n; h++) {
        a->plan->tcp[h] = *path_on(a, h, best);
    }
    if (best != NULL) {
        agree_tell_tcp(a, nets, best);
    }
    return best != NULL;
}

/* --- one after the other -------------------------------------------------- */

static void look_at_name(struct agreement *a, uint32_t host)
{
    const struct hb_fabric_wish *w = a->wish;
    const struct hb_rdma *d = hb_fabric_rdma(a->hosts[host].fabric, w->name);

    for (uint32_t i = 0; d != NULL && i < d->n_ports; i++) {
        const struct hb_port *p = &d->ports[i];

        if (w->port == 0 || w->port == p->number) {
            a->has_ib |= p->link_layer == HB_LINK_IB;
            a->has_roce |= p->link_layer == HB_LINK_ETHERNET;
        }
    }
    a->is_rdma_name |= d != NULL;
}

static int is_wanted(const struct agreement *a, const struct tier *t)
{
    switch (a->wish->kind) {
    case HB_FABRIC_AUTO:
        return t->class != HB_PATH_LINK_LOCAL;
    case HB_FABRIC_NAMED:
        return t->kind == HB_FABRIC_TCP  ? !a->is_rdma_name
               : t->kind == HB_FABRIC_IB ? a->has_ib
                                         : a->has_roce;
    default:
        return t->kind == a->wish->kind;
    }
}

static int try_tier(struct agreement *a, const struct tier *t)
{
    struct networks nets;
    int done;

    find_networks(a, t, &nets);
    a->plan->kind = t->kind;
    done = t->kind == HB_FABRIC_TCP ? take_tcp(a, &nets)
                                    : take_rails(a, &nets);
    if (!done) {
        a->plan->kind = HB_FABRIC_NONE;
        agree_tell_failed(a, t, &nets);
    }
    free(nets.v);
    return done;
}

/* What meets over TCP although the work does not. */
static void choose_tcp(struct agreement *a)
{
    const struct hb_fabric_wish any = {.kind = HB_FABRIC_AUTO};
    const struct hb_fabric_wish *was = a->wish;
    struct networks nets;
    int done = 0;

    a->wish = &any;
    for (size_t i = 0; i < N_TIERS && !done; i++) {
        if (tiers[i].kind == HB_FABRIC_TCP) {
            find_networks(a, &tiers[i], &nets);
            done = take_tcp(a, &nets);
            free(nets.v);
        }
    }
    a->wish = was;
}

static void hand_over(struct agreement *a)
{
    struct hb_fabric_plan *plan = a->plan;

    plan->n_rails = a->n_rails;
    plan->rails = hb_xcalloc((size_t)a->n * a->n_rails + 1,
                             sizeof *plan->rails);
    for (uint32_t h = 0; h < a->n && a->n_rails > 0; h++) {
        memcpy(plan->rails + (size_t)h * a->n_rails, a->seen[h].rails.v,
               a->n_rails * sizeof *plan->rails);
    }
    agree_warn(a);
}

int hb_fabric_agree(const struct hb_fabric_wish *wish,
                    const struct hb_fabric_host *hosts, uint32_t n,
                    struct hb_fabric_plan *out, struct hpcboot_error *err)
{
    struct agreement a = {.wish = wish, .hosts = hosts, .n = n, .plan = out};
    int done = 0, rc = HPCBOOT_OK;

    memset(out, 0, sizeof *out);
    out->n_hosts = n;
    out->tcp = hb_xcalloc(n + 1, sizeof *out->tcp);
    a.seen = hb_xcalloc(n + 1, sizeof *a.seen);
    for (uint32_t h = 0; h < n; h++) {
        hb_fabric_paths(hosts[h].fabric, &a.seen[h].paths,
                        &a.seen[h].refused);
        look_at_name(&a, h);
    }
    for (size_t i = 0; i < N_TIERS && !done; i++) {
        done = is_wanted(&a, &tiers[i]) && try_tier(&a, &tiers[i]);
    }
    if (done && out->kind != HB_FABRIC_TCP) {
        choose_tcp(&a);
    }
    if (done) {
        hand_over(&a);
    } else {
        rc = agree_fail(&a, err);
    }
    for (uint32_t h = 0; h < n; h++) {
        hb_paths_destroy(&a.seen[h].paths);
        hb_strv_destroy(&a.seen[h].refused);
    }
    free(a.seen);
    hb_strv_destroy(&a.failed);
    if (rc < 0) {
        hb_fabric_plan_destroy(out);
    }
    return rc;
}

void hb_fabric_plan_destroy(struct hb_fabric_plan *plan)
{
    free(plan->rails);
    free(plan->tcp);
    hb_strv_destroy(&plan->why);
    hb_strv_destroy(&plan->warnings);
    memset(plan, 0, sizeof *plan);
}
