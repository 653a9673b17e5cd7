/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* By what ranks talk to each other, when --fabric asks for a say in it.
 *
 * Once the hosts are ready each is asked what it has (EXAMINE), as indices and
 * names differ from host to host. When the ranks are placed, the hosts that
 * have some are brought to one set that all of them share, and each is told
 * its own names for it (WIRE), before the job itself: the host then gives each
 * rank a part of it, nearest first. A host that comes while others run is asked
 * first of all: it takes part by what they have agreed upon, or not. So it is
 * with the hosts of a job that is started again, where they do not agree anew.
 * Without --fabric nobody is asked, and no variable of any library is touched.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/doctor/doctor.h"
#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "bin/job/missing.h"
#include "bin/job/traffic.h"
#include "bin/job/wiring.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/fabric/choose.h"

#define WORDS_MAX 160 /* why a host did not come up */

struct job_wiring {
    struct hb_fabric_wish wish; /* NONE: nothing is to be chosen */
    struct hb_fabric *fabrics;  /* [host_entries] */
    int told;
    /* Of a doctor or a preflight: */
    int checks, diagnosed;
    struct hb_findings found;
    struct hb_exam_facts *facts; /* [host_entries] */
    int64_t *asked_ns, *asked_wall_ns; /* [host_entries] */
};

int job_wiring_read(struct job *j, struct hpcboot_error *err)
{
    struct hb_fabric_wish wish = {0};
    int checks = j->report != NULL || (j->opt->preflight && !j->only_wait);
    struct job_wiring *w;
    int rc;

    if (j->opt->fabric != NULL && (!j->only_wait || j->report != NULL)) {
        rc = hb_fabric_wish_parse(j->opt->fabric, &wish, err);
        if (rc < 0) {
            return rc;
        }
    }
    if (!checks && wish.kind == HB_FABRIC_NONE) {
        return 0;
    }
    w = hb_xcalloc(1, sizeof *w);
    w->wish = wish;
    w->checks = checks;
    w->fabrics = hb_xcalloc(j->host_entries + 1, sizeof *w->fabrics);
    w->facts = hb_xcalloc(j->host_entries + 1, sizeof *w->facts);
    w->asked_ns = hb_xcalloc(j->host_entries + 1, sizeof *w->asked_ns);
    w->asked_wall_ns = hb_xcalloc(j->host_entries + 1,
                                  sizeof *w->asked_wall_ns);
    j->wiring = w;
    return 0;
}

void job_wiring_destroy(struct job *j)
{
    struct job_wiring *w = j->wiring;

    for (size_t i = 0; w != NULL && i < j->gang.n; i++) {
        hb_fabric_clear(&w->fabrics[i]);
        hb_strv_destroy(&w->facts[i].facts);
    }
    if (w != NULL) {
        free(w->fabrics);
        free(w->facts);
        free(w->asked_ns);
        free(w->asked_wall_ns);
        hb_findings_destroy(&w->found);
    }
    free(w);
}

static int is_missing(const struct job_host *h)
{
    return h->state == HOST_READY && !h->examined;
}

int job_is_examined(const struct job_host *h)
{
    return h->state == HOST_READY && h->examined;
}

/* Programs that are there already; what is copied comes later. */
static void list_programs(const struct job *j, struct hb_strv *out)
{
    if (j->report != NULL && !j->report->with_program) {
        return;
    }
    for (uint32_t i = 0; i < j->opt->n_apps; i++) {
        if (j->programs == NULL || j->programs[i] == NULL) {
            hb_strv_push(out, j->opt->apps[i].argv.v[0]);
        }
    }
}

static void ask(struct job_host *h, int checks)
{
    struct job_wiring *w = h->job->wiring;
    struct hb_strv programs = HB_STRV_INIT;

    list_programs(h->job, &programs);
    w->asked_ns[h->index] = hb_now_ns();
    w->asked_wall_ns[h->index] = hb_wall_ns();
    HOST_SEND(h, examine, .checks = (uint8_t)checks, .wdir = h->job->wdir,
              .programs = hb_wire_strv_of(hb_strv_view(&programs)));
    hb_strv_destroy(&programs);
}

static int take_findings(struct job_host *h, const struct hb_msg_examined *m,
                         struct hpcboot_error *err)
{
    struct job_wiring *w = h->job->wiring;
    struct hb_exam_facts *mine = &w->facts[h->index];
    const char *texts[HB_FINDING_TEXTS], *text;
    size_t pos = 0, n = 0;
    int rc = 0;

    while (rc == 0 && (text = hb_wire_strv_next(&m->findings, &pos)) != NULL) {
        texts[n++] = text;
        if (n == HB_FINDING_TEXTS) {
            rc = hb_finding_take(&w->found, texts, h->spec->name, err);
            n = 0;
        }
    }
    pos = 0;
    hb_strv_destroy(&mine->facts);
    while ((text = hb_wire_strv_next(&m->facts, &pos)) != NULL) {
        hb_strv_push(&mine->facts, text);
    }
    /* Its clock was read when the question came, some time after it left. */
    mine->clock_ns = (int64_t)m->time_ns - w->asked_wall_ns[h->index];
    mine->clock_off = hb_now_ns() - w->asked_ns[h->index];
    return rc;
}

static void put_rails(const struct hb_fabric_plan *plan, uint32_t host,
                      struct hb_strv *out)
{
    for (uint32_t i = 0; i < plan->n_rails; i++) {
        const struct hb_path *p = &plan->rails[host * plan->n_rails + i];
        struct hb_str gid = HB_STR_INIT;

        hb_gid_text(p->gid, &gid);
        hb_strv_pushf(out, "%s %u %s %u", p->rdma->name, p->port->number,
                      hb_str_text(&gid), p->is_told ? p->partition : 0);
        hb_str_destroy(&gid);
    }
}

static int is_ipv6(const struct hb_fabric_plan *plan)
{
    return plan->n_rails > 0 && plan->rails[0].class != HB_PATH_IPV4 &&
           plan->rails[0].class != HB_PATH_LID;
}

static void send_wire(struct job_host *h, const struct hb_fabric_plan *plan,
                      uint32_t at, int only_probe)
{
    struct hb_strv rails = HB_STRV_INIT;
    const struct hb_netdev *net = plan->tcp[at].net;

    put_rails(plan, at, &rails);
    HOST_SEND(h, wire, .kind = (uint32_t)plan->kind,
              .is_found = h->job->wiring->wish.kind == HB_FABRIC_AUTO,
              .is_named = h->job->wiring->wish.kind == HB_FABRIC_NAMED,
              .rails = hb_wire_strv_of(hb_strv_view(&rails)),
              .tcp = net != NULL ? net->name : "",
              .is_ipv6 = (uint8_t)is_ipv6(plan),
              .explain = (uint8_t)h->job->opt->explain,
              .only_probe = (uint8_t)only_probe);
    hb_strv_destroy(&rails);
}

/* What a doctor was asked to take, and a job could not. */
static void not_shared(struct job *j, const char *what, const char *where)
{
    const struct hb_finding one = {
        .grade = HB_GRADE_BAD, .check = (char *)"fabric", .what = (char *)what,
        .why = (char *)"a job with this --fabric ends at once",
        .mend = (char *)"name another, or leave the choice to hpcboot"};

    hb_finding_add(&j->wiring->found, &one, where);
}

/* Probes talk by what the job would talk by; where hosts share nothing of the
 * kind that was found already. */
static void wire_probes(struct job *j, const struct hb_exam_facts *in,
                        uint32_t n)
{
    struct hb_fabric_host *hosts = hb_xcalloc(n + 1, sizeof *hosts);
    struct hb_fabric_wish wish = j->wiring->wish;
    struct hb_fabric_plan plan;
    struct hpcboot_error err;
    uint32_t at = 0;

    for (uint32_t i = 0; i < n; i++) {
        hosts[i].name = in[i].name;
        hosts[i].fabric = in[i].fabric;
    }
    if (wish.kind == HB_FABRIC_NONE) {
        wish.kind = HB_FABRIC_AUTO;
    }
    if (hb_fabric_agree(&wish, hosts, n, &plan, &err) >= 0) {
        for (uint32_t i = 0; i < j->gang.n; i++) {
            if (job_is_examined(&j->hosts[i])) {
                send_wire(&j->hosts[i], &plan, at++, 1);
            }
        }
        hb_fabric_plan_destroy(&plan);
    } else if (j->report != NULL && j->opt->fabric != NULL && n > 0) {
        not_shared(j, err.text, hosts[0].name);
    }
    free(hosts);
}

/* A preflight lets the job begin, or not. */
static int judge(struct job *j)
{
    const struct hb_findings *f = &j->wiring->found;

    for (size_t i = 0; i < f->n; i++) {
        const struct hb_finding *one = &f->v[i];
        hb_log(one->grade == HB_GRADE_BAD ? HB_ERROR : HB_WARN,
               "preflight: %s: %s%s: %s (%s; %s)", one->check,
               one->where.n > 0 ? one->where.v[0] : "",
               one->where.n > 1 ? " and others" : "", one->what, one->why,
               one->mend);
    }
    if (hb_findings_grade(f) == HB_GRADE_BAD) {
        job_fail(j, HB_CAUSE_HOST, 0, "the preflight found what the job would "
                 "fail by; without --preflight it is tried");
        return 0;
    }
    return 1;
}

void job_wiring_conclude(struct job *j)
{
    struct job_wiring *w = j->wiring;

    hb_traffic_judge(job_traffic_of(j), &w->found);
    if (j->report != NULL) {
        j->report->found = w->found;
        j->report->traffic = *job_traffic_of(j);
        memset(&w->found, 0, sizeof w->found);
        memset(job_traffic_of(j), 0, sizeof *job_traffic_of(j));
    } else if (!judge(j)) {
        return;
    }
    job_begin(j);
}

static void add_missing(const struct job_host *h, struct hb_findings *out)
{
    char text[WORDS_MAX];
    const char *words = hb_missing_words(&h->reason, text, sizeof text);
    const struct hb_finding what = {
        .grade = HB_GRADE_DEGRADED, .check = (char *)"missing",
        .what = (char *)(words != NULL ? words : host_why(h)),
        .why = (char *)"a job begins without it only where --min-hosts lets "
                       "it",
        .mend = (char *)"see that it runs and takes logins; hpcboot wait -v -v "
                        "tells each stage of each host",
    };

    hb_finding_add(out, &what, h->spec->name);
}

/* All have answered. */
static void diagnose(struct job *j)
{
    struct job_wiring *w = j->wiring;
    struct hb_exam_facts *in = hb_xcalloc(j->gang.n + 1, sizeof *in);
    struct hb_strv notes = HB_STRV_INIT;
    size_t n = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (job_is_examined(&j->hosts[i])) {
            in[n] = w->facts[i];
            in[n].name = j->hosts[i].spec->name;
            in[n].place = job_host_place(&j->hosts[i]);
            in[n++].fabric = &w->fabrics[i];
        }
    }
    hb_exam_across(in, n, &w->found, &notes);
    for (size_t i = 0; j->report != NULL && i < n; i++) {
        hb_strv_push(&j->report->hosts, in[i].name);
    }
    for (uint32_t i = 0; j->report != NULL && i < j->gang.n; i++) {
        if (j->hosts[i].state == HOST_LOST) {
            add_missing(&j->hosts[i], &w->found);
            j->report->n_missing++;
        }
    }
    if (j->report != NULL) {
        j->report->notes = notes;
    } else {
        hb_strv_destroy(&notes);
    }
    wire_probes(j, in, (uint32_t)n);
    free(in);
    if (!job_traffic_begin(j)) {
        job_wiring_conclude(j);
    }
}

static int join(const struct job_host *h, struct hb_fabric_plan *plan,
                struct hpcboot_error *why)
{
    const struct job *j = h->job;
    int rc = hb_fabric_join(&j->lives->fabric, &j->wiring->wish,
                            &j->wiring->fabrics[h->index], plan, why);

    return rc < 0 ? hb_error_prefix(why, rc, "--fabric %s", j->opt->fabric)
                  : rc;
}

/* All that are there. */
static int do_agree(const struct job *j)
{
    struct hb_fabric_host *hosts = hb_xcalloc(j->gang.n + 1, sizeof *hosts);
    struct hb_fabric_plan plan;
    uint32_t n = 0;
    int rc;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].state == HOST_READY) {
            hosts[n].name = j->hosts[i].spec->name;
            hosts[n++].fabric = &j->wiring->fabrics[i];
        }
    }
    rc = hb_fabric_agree(&j->wiring->wish, hosts, n, &plan, NULL);
    if (rc >= 0) {
        hb_fabric_plan_destroy(&plan);
    }
    free(hosts);
    return rc >= 0;
}

static int leave_out(struct job_host *h)
{
    struct hb_fabric_plan plan;
    struct hpcboot_error why = {0};

    if (join(h, &plan, &why) >= 0) {
        hb_fabric_plan_destroy(&plan);
        return 0;
    }
    hb_log(HB_WARN, "host %s takes no part: %s", h->spec->name, why.text);
    host_set_why(h, why.text);
    h->reason = (struct hb_boot_reason){HB_WHY_OTHER, ""};
    h->unfit = 1;
    host_forget(h);
    return 1;
}

/* A spare or a newcomer is no reason to end a job that has run without it. 1:
 * some are left out, and those that stay are enough, or the job fails. */
static int sift(struct job *j)
{
    int n = 0;

    if (j->lives->epoch == 0 || j->lives->fabric.kind == HB_FABRIC_NONE ||
        do_agree(j)) {
        return 0;
    }
    for (uint32_t i = 0; i < j->gang.n; i++) {
        n += j->hosts[i].state == HOST_READY && leave_out(&j->hosts[i]);
    }
    if (n > 0) {
        job_wait_check(j);
    }
    return n > 0;
}

/* Those that were asked may have been lost since, so that no answer is the
 * last. */
int job_examine(struct job *j)
{
    int asked = 0;

    for (uint32_t i = 0; j->wiring != NULL && i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        if (is_missing(h) && !h->examining) {
            h->examining = 1;
            ask(h, j->wiring->checks);
        }
        asked |= is_missing(h);
    }
    if (!asked && j->wiring != NULL && sift(j)) {
        return 1;
    }
    if (!asked && j->wiring != NULL && j->wiring->checks &&
        !j->wiring->diagnosed) {
        j->wiring->diagnosed = 1;
        diagnose(j);
        return 1;
    }
    return asked;
}

int job_wiring_joins(struct job_host *h)
{
    const struct job_wiring *w = h->job->wiring;

    if (w == NULL || w->wish.kind == HB_FABRIC_NONE) {
        return 0;
    }
    h->examining = 1;
    ask(h, 0);
    return 1;
}

int job_wiring_asks(const struct job_host *h)
{
    return h->late && h->state == HOST_READY && h->examining && !h->examined;
}

static void wire_late(struct job_host *h)
{
    struct hb_fabric_plan plan;
    struct hpcboot_error why = {0};

    h->examined = 1;
    if (join(h, &plan, &why) < 0) {
        h->reason = (struct hb_boot_reason){HB_WHY_OTHER, ""};
        host_refuse(h, &why);
        return;
    }
    send_wire(h, &plan, 0, 0);
    h->wired = 1;
    hb_fabric_plan_destroy(&plan);
    host_wired_late(h);
}

int job_examined(struct job_host *h, const struct hb_frame *f,
                 struct hpcboot_error *err)
{
    struct job *j = h->job;
    struct hb_msg_examined m;
    struct hb_buf view;
    int rc = hb_wire_get_examined(f, &m, err);

    if (rc < 0 || j->wiring == NULL || h->examined ||
        (j->phase != JOB_CONNECTING &&
         !(j->phase == JOB_RUNNING && job_wiring_asks(h)))) {
        return rc;
    }
    hb_buf_view(&view, m.fabric.data, m.fabric.len);
    hb_fabric_clear(&j->wiring->fabrics[h->index]);
    rc = hb_fabric_decode(&j->wiring->fabrics[h->index], &view, err);
    if (rc < 0) {
        return rc;
    }
    if (j->phase == JOB_RUNNING) {
        wire_late(h);
        return 0;
    }
    rc = j->wiring->checks ? take_findings(h, &m, err) : 0;
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

/* Some have RDMA and the job does not use it. */
static void tell_lost(const struct job *j, const struct hb_fabric_plan *plan,
                      const struct hb_fabric_host *hosts)
{
    if (j->wiring->wish.kind != HB_FABRIC_AUTO ||
        plan->kind != HB_FABRIC_TCP) {
        return;
    }
    for (uint32_t i = 0; i < plan->n_hosts; i++) {
        if (hb_fabric_has_rdma(hosts[i].fabric)) {
            hb_log(HB_WARN, "the job runs over TCP although %s has RDMA: not "
                   "all hosts share it; --explain says why, --fabric roce or "
                   "ib makes it an error", hosts[i].name);
            return;
        }
    }
}

static int all_wired(const struct job *j)
{
    for (uint32_t i = 0; i < j->map->n_nodes; i++) {
        if (!j->node_host[i]->wired) {
            return 0;
        }
    }
    return 1;
}

static void wire_all(struct job *j, const struct hb_fabric_plan *plan)
{
    for (uint32_t i = 0; i < j->map->n_nodes; i++) {
        send_wire(j->node_host[i], plan, i, 0);
        j->node_host[i]->wired = 1;
    }
}

/* Comes again when an agent was lost before the job began: what the hosts share
 * may be another thing then. */
int job_wire(struct job *j, struct hpcboot_error *err)
{
    struct hb_fabric_host *hosts;
    struct hb_fabric_plan plan;
    uint32_t n;
    int rc;

    if (j->wiring == NULL || j->wiring->wish.kind == HB_FABRIC_NONE ||
        all_wired(j)) {
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
        if (!j->wiring->told) {
            tell(j, &plan);
            tell_lost(j, &plan, hosts);
        }
        j->wiring->told = 1;
        hb_fabric_terms_take(&plan, &j->lives->fabric);
        wire_all(j, &plan);
        hb_fabric_plan_destroy(&plan);
    } else {
        hb_error_prefix(err, rc, "--fabric %s", j->opt->fabric);
    }
    free(hosts);
    return rc;
}
