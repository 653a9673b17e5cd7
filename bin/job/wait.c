/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* When a host is tried again, and when the waiting is over.
 *
 * A host that is not there yet is tried again until the deadline, later and
 * later, with chance in it so that the hosts of a gang spread; each try looks
 * its name up anew. What a host says no to for good ends its waiting early;
 * some refusals are believed only when they are repeated, since keys and
 * agents may come into a pod after its sshd.
 *
 * The waiting is over when every wanted host is ready or given up. Then, and
 * at the deadline, the job begins if all hosts are there, or as many as
 * --min-hosts asks for; else it ends and says who is missing and why. Where
 * too few can still come, that is known before the deadline; the others then
 * get a moment, so that one run tells everything that is wrong. A job that can
 * grow begins when the hosts that are ready have room for its least size, and
 * no other has come for a moment. */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "bin/job/ancestry.h"
#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "bin/job/missing.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define RETRY_FIRST_MS 250
#define RETRY_MAX_MS 4000
#define RETRY_SHARE_MS 10    /* for each host of the gang: 100 tries a second
                              * are what name servers bear */
#define VERDICT_WAIT_MS 1000 /* from the first loss to the report */
#define ENOUGH_WAIT_MS 5000  /* for others, after the last that came */
#define EXAMPLES 2u          /* hosts of a kind whose own words are shown */
#define LAST_TRY_MS 5000     /* for a host whose name was late */
#define REASONS_WAIT_MS 5000 /* for what the cluster knows */
#define REASONS_LAST_MS 2000 /* that, when a job is at its end */
#define NO_LIMIT UINT_MAX

/* How often in a row a host may give the same answer before it counts. */
static const unsigned patience[HB_WHY_N] = {
    [HB_WHY_OTHER] = 1,
    [HB_WHY_NO_NAME] = NO_LIMIT, [HB_WHY_NAME_SILENT] = NO_LIMIT,
    [HB_WHY_UNREACHABLE] = NO_LIMIT, [HB_WHY_SILENT] = NO_LIMIT,
    [HB_WHY_REFUSED] = NO_LIMIT, [HB_WHY_HUNG_UP] = NO_LIMIT,
    [HB_WHY_BANNER] = NO_LIMIT, [HB_WHY_VANISHED] = NO_LIMIT,
    [HB_WHY_BROKE_OFF] = 8,
    [HB_WHY_HOST_KEY] = 1, [HB_WHY_LOGIN] = 3, [HB_WHY_AGENT] = 3,
};

static uint32_t die(uint32_t sides)
{
    uint32_t n;

    if (getrandom(&n, sizeof n, 0) != (ssize_t)sizeof n) {
        n = (uint32_t)hb_now_ns();
    }
    return n % sides;
}

static int64_t retry_in_ms(const struct job_host *h)
{
    int64_t most = (int64_t)h->job->gang.n * RETRY_SHARE_MS;
    int64_t ms = RETRY_FIRST_MS;

    most = most > RETRY_MAX_MS ? most : RETRY_MAX_MS;
    for (unsigned i = 1; i < h->failed_in_row && ms < most; i++) {
        ms *= 2;
    }
    ms = ms < most ? ms : most;
    return ms + die((uint32_t)ms / 2);
}

/* A host that gets further than before, or fails in another way, is on its
 * way: it is asked soon again. */
static void note_failure(struct job_host *h, enum hb_boot_stage stage)
{
    if (stage > h->failed_stage) {
        h->failed_in_row = 0;
    }
    h->same_answers = h->attempts > 1 && h->last_why == h->reason.why
                          ? h->same_answers + 1 : 1;
    h->last_why = h->reason.why;
    h->failed_stage = stage;
    h->failed_in_row++;
}

static void event_retry(struct job_host *h, int64_t ms)
{
    struct hb_json *js = job_event(h->job, "host_retry");

    if (js != NULL) {
        hb_json_str(js, "host", h->spec->name);
        hb_json_str(js, "stage", hb_boot_stage_name(h->failed_stage));
        hb_json_str(js, "why", hb_missing_key(h->reason.why));
        hb_json_str(js, "detail", host_why(h));
        hb_json_int(js, "tries", h->attempts);
        hb_json_int(js, "next_ms", ms);
        job_event_end(h->job);
    }
}

int64_t host_wait_again(struct job_host *h, enum hb_boot_stage stage)
{
    unsigned limit = h->misused    ? 1
                     : h->stubborn ? NO_LIMIT : patience[h->reason.why];
    int64_t ms;

    note_failure(h, stage);
    if (h->same_answers >= limit ||
        hb_deadline_left_ms(h->job->wait_until_ns) == 0) {
        return -1;
    }
    ms = retry_in_ms(h);
    event_retry(h, ms);
    hb_log(HB_DEBUG, "host %s: %s; trying again in %lld ms", h->spec->name,
           host_why(h), (long long)ms);
    return ms;
}

static uint32_t hosts_needed(const struct job *j)
{
    return j->opt->min_hosts > 0 ? j->opt->min_hosts : j->n_wanted;
}

/* The hosts that are there do for now, and others are taken in when they come.
 * Where ranks have been placed already all of their hosts are needed. */
static int has_enough(const struct job *j)
{
    return j->map == NULL && job_takes_in_later(j) &&
           job_ranks_ready(j) >= j->opt->apps[0].np_min;
}

/* Ranks that were placed are placed for good. */
static int map_has_its_hosts(const struct job *j)
{
    for (uint32_t i = 0; j->map != NULL && i < j->map->n_nodes; i++) {
        if (j->node_host[i]->state != HOST_READY) {
            return 0;
        }
    }
    return 1;
}

static size_t list_missing(const struct job *j, struct hb_missing *m)
{
    size_t n = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        if (h->state == HOST_LOST) {
            m[n].host = h->spec->name;
            m[n++].reason = &h->reason;
        }
    }
    return n;
}

/* The words of the first hosts of each kind; the others would say the same. */
static void show_examples(const struct job *j, enum hb_log_level level)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];
        const struct hb_missing own = {h->spec->name, &h->reason};
        unsigned alike = 0;

        for (uint32_t k = 0; k < i && h->state == HOST_LOST; k++) {
            const struct hb_missing other = {"", &j->hosts[k].reason};

            alike += j->hosts[k].state == HOST_LOST &&
                     hb_missing_alike(&own, &other);
        }
        if (h->state == HOST_LOST && alike < EXAMPLES) {
            hb_log(level, "host %s: %s", h->spec->name, host_why(h));
        }
    }
}

/* Each thing that is said once, with the first host it is said of. */
static void show_words(const char *const *hosts, char **words, size_t n,
                       enum hb_log_level level)
{
    for (size_t i = 0; i < n; i++) {
        unsigned others = 0;
        for (size_t k = i + 1; words[i] != NULL && k < n; k++) {
            if (words[k] != NULL && strcmp(words[i], words[k]) == 0) {
                free(words[k]);
                words[k] = NULL;
                others++;
            }
        }
        if (words[i] != NULL && others > 0) {
            hb_log(level, "host %s and %u other%s: their pods: %s",
                   hosts[i], others, others > 1 ? "s" : "", words[i]);
        } else if (words[i] != NULL) {
            hb_log(level, "host %s: its pod: %s", hosts[i], words[i]);
        }
    }
}

/* What the cluster itself knows of hosts that are missing. */
static void ask_cluster(const struct job *j, enum hb_log_level level,
                        int limit_ms)
{
    char **words = hb_xcalloc(j->gang.n, sizeof *words);
    const char **hosts = hb_xcalloc(j->gang.n, sizeof *hosts);
    size_t n = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].state == HOST_LOST && !j->hosts[i].spec->is_local) {
            hosts[n++] = j->hosts[i].spec->name;
        }
    }
    if (n > 0) {
        j->reasons.ask(j->reasons.arg, hosts, n, limit_ms, words);
    }
    show_words(hosts, words, n, level);
    for (size_t i = 0; i < n; i++) {
        free(words[i]);
    }
    free(words);
    free(hosts);
}

/* The end of a link does not say that a pod was evicted. Nobody waits for that
 * word who has told the job to end, and a parent job's host is its own to tell
 * of. */
void job_tell_lost_pods(const struct job *j)
{
    if (j->begun && j->verdict.kind == HB_CAUSE_HOST && j->interrupts == 0 &&
        !job_ancestry_speaks(j) && j->reasons.ask != NULL) {
        ask_cluster(j, job_lives_on(j) ? HB_WARN : HB_ERROR, REASONS_LAST_MS);
    }
}

static void event_end(struct job *j, const struct job_tally *t,
                      const char *how, const char *missing)
{
    struct hb_json *js = job_event(j, "wait_end");

    if (js != NULL) {
        hb_json_str(js, "how", how);
        hb_json_int(js, "ready", t->ready);
        hb_json_int(js, "hosts", j->n_wanted);
        hb_json_real(js, "seconds",
                     (double)(hb_now_ns() - j->wait_begun_ns) / 1e9);
        if (missing[0] != '\0') {
            hb_json_str(js, "missing", missing);
        }
        job_event_end(j);
    }
}

/* "; 3 others had not answered yet", or "" */
static void put_others(unsigned n, struct hb_str *out)
{
    if (n > 0) {
        hb_str_putf(out, "; %u other%s had not answered yet", n,
                    n > 1 ? "s" : "");
    }
}

static void missing_text(const struct job *j, struct hb_str *out)
{
    struct hb_missing *m = hb_xcalloc(j->gang.n, sizeof *m);

    hb_missing_text(m, list_missing(j, m), out);
    free(m);
}

/* A key or a configuration that is none: no try would ever succeed. */
static int is_misused(const struct job *j)
{
    uint32_t i = 0;

    while (i < j->gang.n && !(j->hosts[i].misused &&
                              j->hosts[i].state == HOST_LOST)) {
        i++;
    }
    return i < j->gang.n;
}

static void fail(struct job *j, const struct job_tally *t)
{
    struct hb_str missing = HB_STR_INIT;
    char within[48] = "", enough[32] = "";
    enum hb_log_level level;

    missing_text(j, &missing);
    put_others(t->open, &missing);
    if (j->wait_over && j->wait_ms > 0) {
        snprintf(within, sizeof within, " within %g s",
                 (double)j->wait_ms / 1000);
    }
    if (j->opt->min_hosts > 0) {
        snprintf(enough, sizeof enough, " (--min-hosts %u)",
                 j->opt->min_hosts);
    }
    job_fail(j, is_misused(j) ? HB_CAUSE_USAGE : HB_CAUSE_HOST, 0,
             "%u of %u host%s did not come up%s%s: %s", t->lost, j->n_wanted,
             j->n_wanted > 1 ? "s" : "", within, enough,
             hb_str_text(&missing));
    /* It is no error of a job that goes on without them. */
    level = job_lives_on(j) ? HB_WARN : HB_ERROR;
    hb_progress_done(j->progress);
    show_examples(j, level);
    if (j->reasons.ask != NULL) {
        ask_cluster(j, level, REASONS_WAIT_MS);
    }
    if (j->gang.if_missed != NULL && !is_misused(j)) {
        hb_log(level, "%s", j->gang.if_missed);
    }
    event_end(j, t, "missing", hb_str_text(&missing));
    hb_str_destroy(&missing);
}

static void begin(struct job *j, const struct job_tally *t)
{
    struct hb_str missing = HB_STR_INIT;
    double s = (double)(hb_now_ns() - j->wait_begun_ns) / 1e9;

    event_del(j->verdict_timer);
    event_del(j->enough_timer); /* the deadline stays: a host may be lost yet */
    missing_text(j, &missing);
    event_end(j, t, t->lost > 0 ? "part" : "all", hb_str_text(&missing));
    if (t->lost > 0) {
        hb_log(HB_WARN, "going on with %u of %u hosts after %.1f s: %s",
               t->ready, j->n_wanted, s, hb_str_text(&missing));
    } else if (j->waiting_said || j->only_wait) {
        hb_log(HB_INFO, "%u of %u host%s ready after %.1f s", t->ready,
               j->n_wanted, j->n_wanted == 1 ? "" : "s", s);
    }
    hb_str_destroy(&missing);
    job_begin(j);
}

/* Others that are on their way spare the job a change of its size. */
static void wait_a_little(struct job *j, uint32_t ready)
{
    if (j->n_enough < ready || !evtimer_pending(j->enough_timer, NULL)) {
        j->n_enough = ready;
        arm_ms(j->enough_timer, ENOUGH_WAIT_MS);
    }
}

void job_wait_enough(struct job *j)
{
    struct job_tally t;

    job_tally(j, &t);
    if (j->phase == JOB_CONNECTING && t.open > 0 && has_enough(j)) {
        wait_a_little(j, t.ready);
    }
}

void job_wait_check(struct job *j)
{
    struct job_tally t;

    if (j->phase != JOB_CONNECTING) {
        return;
    }
    job_tally(j, &t);
    if (t.open == 0 && map_has_its_hosts(j) &&
        (t.ready >= hosts_needed(j) || has_enough(j))) {
        begin(j, &t);
    } else if (t.open > 0 && has_enough(j)) {
        wait_a_little(j, t.ready);
    } else if (t.open == 0) {
        arm_ms(j->verdict_timer, 0);
    } else if (t.ready + t.open < hosts_needed(j) &&
               !evtimer_pending(j->verdict_timer, NULL)) {
        arm_ms(j->verdict_timer, VERDICT_WAIT_MS);
    }
}

static void on_verdict_due(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    struct job_tally t;

    if (j->phase == JOB_CONNECTING) {
        job_tally(j, &t);
        fail(j, &t);
    }
}

/* The last words on a host that is being tried: what it says now, unless the
 * try before came further. */
static void look_at(struct job_host *h)
{
    struct hpcboot_error err = {0};

    if (h->via != NULL) {
        hb_fail(&err, HPCBOOT_ERR_TIMED_OUT, "host %s was starting it: "
                "%s", h->via->spec->name, hb_boot_stage_name(h->stage));
        h->reason = (struct hb_boot_reason){HB_WHY_OTHER, ""};
    } else if (h->state == HOST_BOOTING &&
        (h->attempts == 1 || h->stage > h->failed_stage)) {
        hb_boot_explain(h->boot, &err);
        h->reason = *hb_boot_reason(h->boot);
    } else if (h->state == HOST_LINKED) {
        hb_fail(&err, HPCBOOT_ERR_TIMED_OUT,
                "the agent has not answered yet");
        h->reason = (struct hb_boot_reason){HB_WHY_AGENT, ""};
    } else if (h->attempts == 0) {
        hb_fail(&err, HPCBOOT_ERR_TIMED_OUT, "it was not tried yet: its "
                "turn did not come");
        h->reason = (struct hb_boot_reason){HB_WHY_OTHER, ""};
    }
    if (err.code != 0) {
        host_set_why(h, err.text);
    }
}

static void stop_trying(struct job *j)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].state < HOST_READY) {
            look_at(&j->hosts[i]);
            host_forget(&j->hosts[i]);
        }
    }
    job_wait_check(j);
}

/* Where all are there they are being asked, and the waiting is over. */
static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    struct job_tally t;

    job_tally(j, &t);
    if (j->phase == JOB_CONNECTING && t.open > 0) {
        j->wait_over = 1;
        stop_trying(j);
    }
}

/* Its pod is there, and slow at most. */
static int somebody_logs_in(const struct job *j)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        if (h->state == HOST_LINKED ||
            (h->state == HOST_BOOTING && h->stage > HB_STAGE_CONNECT)) {
            return 1;
        }
    }
    return 0;
}

static void on_enough(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;

    if (j->phase != JOB_CONNECTING || !has_enough(j)) {
        j->n_enough = 0;
    } else if (somebody_logs_in(j)) {
        arm_ms(j->enough_timer, ENOUGH_WAIT_MS);
    } else {
        stop_trying(j);
    }
}

/* The gathering may have waited for pods to get names and addresses; a host
 * that came in the last moment is tried nevertheless. */
static int64_t left_to_wait_ms(const struct job *j)
{
    int64_t gone_ms = (hb_now_ns() - j->wait_begun_ns) / 1000000;
    int64_t least_ms = j->wait_ms < LAST_TRY_MS ? j->wait_ms : LAST_TRY_MS;
    int64_t left_ms = j->wait_ms - gone_ms;

    return left_ms > least_ms ? left_ms : least_ms;
}

int job_wait_open(struct job *j, struct hpcboot_error *err)
{
    int64_t left_ms = left_to_wait_ms(j);
    struct hb_json *js;

    j->verdict_timer = evtimer_new(j->base, on_verdict_due, j);
    j->wait_timer = evtimer_new(j->base, on_deadline, j);
    j->enough_timer = evtimer_new(j->base, on_enough, j);
    if (j->verdict_timer == NULL || j->wait_timer == NULL ||
        j->enough_timer == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for an event");
    }
    j->wait_until_ns = hb_deadline_in_ms(left_ms);
    if (j->wait_ms > 0) {
        arm_ms(j->wait_timer, left_ms);
    }
    js = job_event(j, "wait_begin");
    if (js != NULL) {
        hb_json_int(js, "hosts", j->n_wanted);
        hb_json_int(js, "min_hosts", hosts_needed(j));
        hb_json_real(js, "limit_seconds", (double)j->wait_ms / 1000);
        job_event_end(j);
    }
    return 0;
}
