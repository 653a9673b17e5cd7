/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* By what ranks talk to each other, when --fabric asks for a say in it.
 *
 * Once the hosts are ready each is asked what it has (EXAMINE), as indices and
 * names differ from host to host. When the ranks are placed, the hosts that
 * have some are brought to one set that all of them share, and each is told
 * its own names for it (WIRE), before the job itself: the host then gives each
 * rank a part of it, nearest first. Without --fabric nobody is asked, and no
 * variable of any library is touched. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/job_impl.h"
#include "bin/job/wiring.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/fabric/choose.h"

struct job_wiring {
    struct hb_fabric_wish wish;
    struct hb_fabric *fabrics; /* [gang.n] */
    struct hb_strv why;        /* for --explain */
};

int job_wiring_read(struct job *j, struct hpcboot_error *err)
{
    struct hb_fabric_wish wish;
    int rc;

    if (j->opt->fabric == NULL) {
        return 0;
    }
    rc = hb_fabric_wish_parse(j->opt->fabric, &wish, err);
    if (rc < 0) {
        return rc;
    }
    j->wiring = hb_xcalloc(1, sizeof *j->wiring);
    j->wiring->wish = wish;
    j->wiring->fabrics = hb_xcalloc(j->gang.n + 1,
                                    sizeof *j->wiring->fabrics);
    return 0;
}

void job_wiring_destroy(struct job *j)
{
    struct job_wiring *w = j->wiring;

    for (size_t i = 0; w != NULL && i < j->gang.n; i++) {
        hb_fabric_clear(&w->fabrics[i]);
    }
    if (w != NULL) {
        free(w->fabrics);
        hb_strv_destroy(&w->why);
    }
    free(w);
}

static int is_missing(const struct job_host *h)
{
    return h->state == HOST_READY && !h->examined;
}

int job_examine(struct job *j)
{
    int asked = 0;

    for (uint32_t i = 0; j->wiring != NULL && i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        if (is_missing(h) && !h->examining) {
            h->examining = 1;
            HOST_SEND(h, examine, .checks = 0, .wdir = j->wdir);
        }
        asked |= is_missing(h);
    }
    return asked;
}

int job_examined(struct job_host *h, const struct hb_frame *f,
                 struct hpcboot_error *err)
{
    struct job *j = h->job;
    struct hb_msg_examined m;
    struct hb_buf view;
    int rc = hb_wire_get_examined(f, &m, err);

    if (rc < 0 || j->phase != JOB_CONNECTING || j->wiring == NULL ||
        h->examined) {
        return rc;
    }
    hb_buf_view(&view, m.fabric.data, m.fabric.len);
    rc = hb_fabric_decode(&j->wiring->fabrics[h->index], &view, err);
    if (rc < 0) {
        return rc;
    }
    h->examined = 1;
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (is_missing(&j->hosts[i])) {
            return 0;
        }
    }
    job_begin(j);
    return 0;
}

/* --- after the ranks are placed ------------------------------------------- */

static void put_rails(const struct hb_fabric_plan *plan, uint32_t host,
                      struct hb_strv *out)
{
    for (uint32_t i = 0; i < plan->n_rails; i++) {
        const struct hb_path *p = &plan->rails[host * plan->n_rails + i];
        struct hb_str gid = HB_STR_INIT;

        hb_gid_text(p->gid, &gid);
        hb_strv_pushf(out, "%s %u %s", p->rdma->name, p->port->number,
                      hb_str_text(&gid));
        hb_str_destroy(&gid);
    }
}

static int is_ipv6(const struct hb_fabric_plan *plan)
{
    return plan->n_rails > 0 && plan->rails[0].class != HB_PATH_IPV4 &&
           plan->rails[0].class != HB_PATH_LID;
}

static void send_wire(struct job_host *h, const struct hb_fabric_plan *plan,
                      uint32_t at)
{
    struct hb_strv rails = HB_STRV_INIT;
    const struct hb_netdev *net = plan->tcp[at].net;

    put_rails(plan, at, &rails);
    HOST_SEND(h, wire, .kind = (uint32_t)plan->kind,
              .rails = hb_wire_strv_of(hb_strv_view(&rails)),
              .tcp = net != NULL ? net->name : "",
              .is_ipv6 = (uint8_t)is_ipv6(plan),
              .explain = (uint8_t)h->job->opt->explain);
    hb_strv_destroy(&rails);
}

/* What --fabric auto settled for, when that is not the best there is, is said
 * without asking: a job on TCP is slow for no visible reason. */
static void tell(struct job *j, const struct hb_fabric_plan *plan)
{
    for (size_t i = 0; i < plan->warnings.n; i++) {
        hb_log(HB_WARN, "%s", plan->warnings.v[i]);
    }
    for (size_t i = 0; j->opt->explain && i < plan->why.n; i++) {
        hb_log(HB_INFO, "%s", plan->why.v[i]);
    }
    if (j->opt->explain) {
        hb_log(HB_INFO, "fabric: %s on %u host%s (--fabric %s, %s)",
               hb_fabric_kind_name(plan->kind), plan->n_hosts,
               plan->n_hosts == 1 ? "" : "s", j->opt->fabric,
               hb_options_origin(j->opt, "fabric"));
    }
}

static int has_rdma(const struct hb_fabric *f)
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

/* Some have RDMA and the job does not use it. */
static void tell_lost(const struct job *j, const struct hb_fabric_plan *plan,
                      const struct hb_fabric_host *hosts)
{
    if (j->wiring->wish.kind != HB_FABRIC_AUTO ||
        plan->kind != HB_FABRIC_TCP) {
        return;
    }
    for (uint32_t i = 0; i < plan->n_hosts; i++) {
        if (has_rdma(hosts[i].fabric)) {
            hb_log(HB_WARN, "the job runs over TCP although %s has RDMA: not "
                   "all hosts share it; --explain says why, --fabric roce or "
                   "ib makes it an error", hosts[i].name);
            return;
        }
    }
}

int job_wire(struct job *j, struct hpcboot_error *err)
{
    struct hb_fabric_host *hosts;
    struct hb_fabric_plan plan;
    uint32_t n;
    int rc;

    if (j->wiring == NULL) {
        return 0;
    }
    n = j->map->n_nodes;
    hosts = hb_xcalloc(n + 1, sizeof *hosts);
    for (uint32_t i = 0; i < n; i++) {
        const struct job_host *h = j->node_host[i];
        hosts[i].name = h->spec->name;
        hosts[i].fabric = &j->wiring->fabrics[h->index];
    }
    rc = hb_fabric_agree(&j->wiring->wish, hosts, n, &plan, err);
    if (rc >= 0) {
        tell(j, &plan);
        tell_lost(j, &plan, hosts);
        for (uint32_t i = 0; i < n; i++) {
            send_wire(j->node_host[i], &plan, i);
        }
        hb_fabric_plan_destroy(&plan);
    } else {
        hb_error_prefix(err, rc, "--fabric %s", j->opt->fabric);
    }
    free(hosts);
    return rc;
}
