/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Real messages before there is a job. Each host runs a probe; what it says
 * goes through its agent's link to here. A part of an allgather is kept until
 * the parts of all have come, and then all of them go to everybody; a report
 * is taken as it is. The first probe that is gone gives the others a moment,
 * as they end together where all is well; a limit ends them in any case. */
#include "config.h"

#include "bin/job/traffic.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "bin/job/job_impl.h"
#include "bin/job/wiring.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

/* The whole may take LIMIT_MS, and ROUND_MS for each round, which may wait for
 * a message that does not come. */
#define LIMIT_MS 20000
#define ROUND_MS 8000
#define LAST_MS 5000
/* Enough for a rate, and little enough for a preflight of many hosts. */
#define DOCTOR_BYTES (1u << 20)
#define DOCTOR_COUNT 8u
#define PREFLIGHT_BYTES (256u << 10)
#define PREFLIGHT_COUNT 4u

struct probe {
    struct job_host *host;
    struct hb_buf part; /* of the present allgather */
    int has_part, has_reported, has_ended;
};

struct job_traffic {
    struct hb_traffic result;
    struct probe *probes; /* [n] */
    const char **names;   /* [n] */
    uint32_t n, n_parts, n_ended;
    int under_way, is_last;
    struct event *timer;
};

struct hb_traffic *job_traffic_of(struct job *j)
{
    return &j->traffic->result;
}

int job_traffic_under_way(const struct job *j)
{
    return j->traffic != NULL && j->traffic->under_way;
}

void job_traffic_destroy(struct job *j)
{
    struct job_traffic *t = j->traffic;

    if (t == NULL) {
        return;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        hb_buf_destroy(&t->probes[i].part);
    }
    if (t->timer != NULL) {
        event_free(t->timer);
    }
    hb_traffic_destroy(&t->result);
    free(t->probes);
    free(t->names);
    free(t);
    j->traffic = NULL;
}

/* --- the end --------------------------------------------------------- */

static void conclude(struct job *j)
{
    struct job_traffic *t = j->traffic;
    int explained = 0;

    t->under_way = 0;
    evtimer_del(t->timer);
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->probes[i].host->state == HOST_READY) { /* it may be lost */
            HOST_SEND(t->probes[i].host, probe, .size = 0);
        }
        explained |= t->result.hosts[i].error != NULL;
    }
    /* Where one has failed the others could not come to their end. */
    for (uint32_t i = 0; i < t->n && !explained; i++) {
        if (!t->probes[i].has_ended) {
            hb_traffic_missing(&t->result, i, "it did not come to its end");
        }
    }
    job_wiring_conclude(j);
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
    conclude(arg);
}

static void one_ended(struct job *j, struct probe *p)
{
    struct job_traffic *t = j->traffic;

    t->n_ended += !p->has_ended;
    p->has_ended = 1;
    if (t->n_ended == t->n) {
        conclude(j);
    } else if (!t->is_last) {
        t->is_last = 1;
        arm_ms(t->timer, LAST_MS);
    }
}

/* --- what probes say ------------------------------------------------- */

static struct probe *probe_of(struct job_host *h)
{
    struct job_traffic *t = h->job->traffic;

    for (uint32_t i = 0; t != NULL && t->under_way && i < t->n; i++) {
        if (t->probes[i].host == h) {
            return &t->probes[i];
        }
    }
    return NULL;
}

static int send_all(struct job *j, struct hb_buf *all,
                    struct hpcboot_error *err)
{
    const struct hb_msg_probe_data m = {.kind = HB_PROBE_GATHER,
                                        .data = {all->data, all->len}};
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        if (h->via == NULL && h->link != NULL && h->state == HOST_READY) {
            rc = hb_wire_put_probe_data(hb_link_out(h->link), j->lives->epoch,
                                        HB_NODE_LAUNCHER, HB_NODE_ALL, &m,
                                        err);
            hb_link_flush(h->link);
        }
    }
    return rc;
}

static int take_part(struct job *j, struct probe *p, struct hb_bytes data,
                     struct hpcboot_error *err)
{
    struct job_traffic *t = j->traffic;
    struct hb_buf all;
    int rc = 0;

    if (p->has_part || (t->n_parts > 0 && data.len != t->probes[0].part.len &&
                        t->probes[0].has_part)) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "its probe is out of step");
    }
    hb_buf_put_raw(&p->part, data.data, data.len);
    p->has_part = 1;
    if (++t->n_parts < t->n) {
        return 0;
    }
    hb_buf_init(&all, HB_WIRE_BLOB);
    for (uint32_t i = 0; i < t->n; i++) {
        hb_buf_put_raw(&all, t->probes[i].part.data, t->probes[i].part.len);
        hb_buf_clear(&t->probes[i].part);
        t->probes[i].has_part = 0;
    }
    t->n_parts = 0;
    if (hb_buf_failed(&all)) {
        conclude(j); /* more hosts than bytes: nobody will come to an end */
    } else {
        rc = send_all(j, &all, err);
    }
    hb_buf_destroy(&all);
    return rc;
}

int job_traffic_data(struct job_host *h, const struct hb_frame *f,
                     struct hpcboot_error *err)
{
    struct probe *p = probe_of(h);
    struct hb_msg_probe_data m;
    int rc = hb_wire_get_probe_data(f, &m, err);

    if (rc < 0 || p == NULL) {
        return rc;
    }
    if (m.kind == HB_PROBE_GATHER) {
        return take_part(h->job, p, m.data, err);
    }
    p->has_reported = 1;
    return hb_traffic_take(&h->job->traffic->result,
                           (uint32_t)(p - h->job->traffic->probes),
                           m.data.data, m.data.len, err);
}

int job_traffic_ended(struct job_host *h, const struct hb_frame *f,
                      struct hpcboot_error *err)
{
    struct probe *p = probe_of(h);
    struct hb_msg_probed m;
    int rc = hb_wire_get_probed(f, &m, err);
    char words[64], *why;

    if (rc < 0 || p == NULL || p->has_ended) {
        return rc;
    }
    if (p->has_reported) {
        one_ended(h->job, p);
        return 0;
    }
    hb_signal_text(WTERMSIG(m.wait_status), words, sizeof words);
    why = m.text[0] != '\0' ? hb_xstrdup(m.text)
          : WIFSIGNALED(m.wait_status)
              ? hb_xasprintf("it was killed by %s", words)
              : hb_xasprintf("it ended with status %d",
                             WEXITSTATUS(m.wait_status));
    hb_traffic_missing(&h->job->traffic->result,
                       (uint32_t)(p - h->job->traffic->probes), why);
    free(why);
    one_ended(h->job, p);
    return 0;
}

/* --- the beginning --------------------------------------------------- */

/* What the user says to UCX, probes are to hear. */
static void pass_on(const struct job *j, struct hb_strv *env)
{
    for (char *const *e = j->env; *e != NULL; e++) {
        if (hb_starts_with(*e, "UCX_")) {
            hb_strv_push(env, *e);
        }
    }
}

static void start(struct job *j, int all)
{
    struct job_traffic *t = j->traffic;
    struct hb_strv env = HB_STRV_INIT;
    int whole = j->report != NULL;

    pass_on(j, &env);
    for (uint32_t i = 0; i < t->n; i++) {
        HOST_SEND(t->probes[i].host, probe, .rank = i, .size = t->n,
                  .all = (uint8_t)all,
                  .bytes = whole ? DOCTOR_BYTES : PREFLIGHT_BYTES,
                  .count = whole ? DOCTOR_COUNT : PREFLIGHT_COUNT,
                  .env = hb_wire_strv_of(hb_strv_view(&env)));
    }
    hb_strv_destroy(&env);
}

int job_traffic_begin(struct job *j)
{
    struct job_traffic *t = hb_xcalloc(1, sizeof *t);
    int all = j->report != NULL && j->report->traffic_how == HB_TRAFFIC_ALL;

    j->traffic = t;
    t->probes = hb_xcalloc(j->gang.n + 1, sizeof *t->probes);
    t->names = hb_xcalloc(j->gang.n + 1, sizeof *t->names);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (job_is_examined(&j->hosts[i])) {
            t->names[t->n] = j->report != NULL ? j->report->hosts.v[t->n]
                                               : j->hosts[i].spec->name;
            hb_buf_init(&t->probes[t->n].part, HB_PROBE_FRAME_MAX);
            t->probes[t->n++].host = &j->hosts[i];
        }
    }
    hb_traffic_init(&t->result, t->n, t->names);
    if (t->n < 2 ||
        (j->report != NULL && j->report->traffic_how == HB_TRAFFIC_NONE)) {
        return 0;
    }
    all |= t->n <= HB_TRAFFIC_ALL_MAX;
    t->result.rounds = hb_traffic_rounds(t->n, all);
    t->under_way = 1;
    t->timer = evtimer_new(j->base, on_time, j);
    arm_ms(t->timer, LIMIT_MS + (int64_t)t->result.rounds * ROUND_MS);
    start(j, all);
    return 1;
}
