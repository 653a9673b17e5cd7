/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* An elastic job keeps an eye on its source of hosts (lookout.c). Where its
 * policy lets ranks come and go, live.c hears of what has changed. Where it
 * lets the job live again, a host that has come and takes logins, or one that
 * the source no longer names, is the end of this life: ranks get the
 * checkpoint signal and their grace, and the next life has the new size.
 *
 * The gang is judged when it is told, and again now and then: a host that is
 * named need not take logins yet. One that was taken in twice and did not come
 * up is not tried again. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "bin/job/lookout.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define LOOK_MS 3000 /* between what was judged or told and the next look */
#define TRIES_MAX 2u
#define CANDIDATES_MAX 16u /* at a time, as probes are */

struct candidate { /* a host that takes no part, and might */
    char *name;
    struct job_probe *probe; /* NULL: it cannot be asked, and is believed */
};

struct elastic {
    struct job *job;
    struct candidate candidates[CANDIDATES_MAX];
    uint32_t n, waiting; /* how many there are; have not been judged */
    size_t first;        /* line of names at which the next look begins */
    struct job_lookout *lookout;
    struct event *timer;
    char *names; /* a line for each host of the gang; NULL: not known */
};

static unsigned tries_of(const struct hb_lives *l, const char *name)
{
    unsigned n = 0;

    for (size_t i = 0; i < l->tried.n; i++) {
        n += (unsigned)hb_streq(l->tried.v[i], name);
    }
    return n;
}

/* Takes no part now, and might. */
static int is_new(const struct job *j, const char *name)
{
    const struct job_host *h = job_host_named(j, name);

    if (h != NULL && h->unfit) {
        return 0;
    }
    return (h == NULL || hb_lives_was_lost(j->lives, name) ||
            (h->state == HOST_LOST && h->node == HB_NODE_UNSET)) &&
           tries_of(j->lives, name) < TRIES_MAX;
}

/* --- what is told -------------------------------------------------------- */

static int has_line(const char *names, const char *name)
{
    const char *p = names;
    size_t len = strlen(name);

    while (p != NULL && *p != '\0') {
        if (strncmp(p, name, len) == 0 && p[len] == ' ') {
            return 1;
        }
        p = strchr(p, '\n');
        p = p != NULL ? p + 1 : NULL;
    }
    return 0;
}

/* One that has gone from the source, and has ranks. */
static const struct job_host *vanished(const struct job *j,
                                       const char *names)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        if (h->state == HOST_RUNNING && h->node != HB_NODE_UNSET &&
            !has_line(names, h->spec->name)) {
            return h;
        }
    }
    return NULL;
}

static void forget_candidates(struct elastic *e)
{
    for (uint32_t i = 0; i < e->n; i++) {
        job_probe_end(e->candidates[i].probe);
        free(e->candidates[i].name);
    }
    e->n = 0;
}

/* All candidates are judged: takes in those that take logins. */
static void take_in(struct elastic *e)
{
    struct job *j = e->job;
    struct hb_str come = HB_STR_INIT;
    unsigned n = 0;

    for (uint32_t i = 0; i < e->n; i++) {
        const struct candidate *c = &e->candidates[i];

        if (c->probe == NULL || job_probe_takes_logins(c->probe)) {
            hb_strv_push(&j->lives->tried, c->name);
            hb_lives_note_back(j->lives, c->name);
            hb_str_putf(&come, "%s%s", come.len > 0 ? ", " : "", c->name);
            n++;
        } else { /* a life that begins now does without it */
            hb_lives_note_lost(j->lives, c->name);
        }
    }
    forget_candidates(e);
    if (come.len > 0) {
        j->end_signal = j->opt->checkpoint_signal;
        job_fail(j, HB_CAUSE_RESIZE, 0, "host%s %s %s come into the gang (%s)",
                 n > 1 ? "s" : "", hb_str_text(&come), n > 1 ? "have" : "has",
                 j->gang.source);
    }
    hb_str_destroy(&come);
    arm_ms(e->timer, LOOK_MS);
}

static void on_judged(void *arg)
{
    struct elastic *e = arg;

    if (--e->waiting == 0 && e->job->phase == JOB_RUNNING) {
        take_in(e);
    }
}

/* Only logins over SSH can be tried without starting anything. */
static void add_candidate(struct elastic *e, const struct hb_host *host)
{
    struct job *j = e->job;
    struct candidate *c = &e->candidates[e->n];
    const struct hb_boot_target target = {
        .host = host->name, .port = host->port, .user = host->user,
        .token = "",
    };

    if (!is_new(j, host->name)) {
        return;
    }
    c->probe = NULL;
    if (j->boot.launch_with == NULL && !hb_host_is_self(host->name)) {
        c->probe = job_probe_begin(j, &target, on_judged, e);
        if (c->probe == NULL) {
            return;
        }
        e->waiting++;
    }
    c->name = hb_xstrdup(host->name);
    e->n++;
}

static void split(const char *names, struct hb_strv *lines)
{
    char *copy = hb_xstrdup(names), *save = NULL;

    for (char *line = strtok_r(copy, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        hb_strv_push(lines, line);
    }
    free(copy);
}

/* Where there is no room for all candidates, the next look begins behind those
 * that are asked now: they may never answer, and hide the others. */
static void each_host(struct elastic *e)
{
    struct job *j = e->job;
    struct hb_strv lines = HB_STRV_INIT;
    size_t i = 0;

    split(e->names, &lines);
    for (; i < lines.n && e->n < CANDIDATES_MAX; i++) {
        char *line = lines.v[(e->first + i) % lines.n];
        struct hb_host host;

        if (job_lookout_read(line, &host) < 0) {
            continue; /* its name could be taken for two words */
        }
        if (j->live != NULL) {
            job_live_named(j, &host);
        } else {
            add_candidate(e, &host);
        }
    }
    e->first = i < lines.n ? (e->first + i) % lines.n : 0;
    hb_strv_destroy(&lines);
}

static void judge_live(struct elastic *e)
{
    struct job *j = e->job;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (!has_line(e->names, j->hosts[i].spec->name)) {
            job_live_vanished(&j->hosts[i]);
        }
    }
    each_host(e);
    if (j->phase == JOB_RUNNING) {
        arm_ms(e->timer, LOOK_MS);
    }
}

static void judge(struct elastic *e)
{
    struct job *j = e->job;
    const struct job_host *gone;

    if (j->live != NULL) {
        judge_live(e);
        return;
    }
    gone = vanished(j, e->names);
    if (gone != NULL) {
        j->end_signal = j->opt->checkpoint_signal;
        job_fail(j, HB_CAUSE_RESIZE, 0, "host %s is no longer in the gang "
                 "(%s)", gone->spec->name, j->gang.source);
        return;
    }
    if (e->waiting > 0) {
        return; /* those that are asked now are judged first */
    }
    if (j->map->n_ranks < j->opt->apps[0].np) {
        each_host(e);
    }
    if (e->waiting == 0) {
        take_in(e);
    }
}

static void on_told(void *arg, const char *lines)
{
    struct elastic *e = arg;

    if (e->job->phase != JOB_RUNNING) {
        return;
    }
    if (lines == NULL) {
        arm_ms(e->timer, LOOK_MS);
        return;
    }
    free(e->names);
    e->names = hb_xstrdup(lines);
    judge(e);
}

static void on_look_due(evutil_socket_t fd, short what, void *arg)
{
    struct elastic *e = arg;
    int rc;

    if (e->job->phase == JOB_RUNNING && e->job->live != NULL) {
        job_live_count(e->job);
    }
    if (e->job->phase != JOB_RUNNING) {
        return;
    }
    rc = job_lookout_look(e->lookout);
    if (rc == 0 && e->names != NULL) {
        judge(e); /* who did not take logins may do so now */
    } else if (rc <= 0) {
        arm_ms(e->timer, LOOK_MS);
    }
}

int job_is_elastic(const struct job *j)
{
    return !j->only_wait && j->opt->apps[0].np_min > 0 &&
           (j->on_failure == HB_FAIL_RESTART || job_is_live(j));
}

/* Hosts that have slots by their source or by an option; of others each has
 * one at least. */
uint32_t job_elastic_hosts(const struct job *j)
{
    uint32_t least = j->opt->apps[0].np_min, each = j->opt->per_node;
    enum hb_count unused;
    int slots = 0;

    if (!job_is_elastic(j)) {
        return 0;
    }
    if (each == 0 && j->opt->default_slots != NULL) {
        hb_slots_word(j->opt->default_slots, &slots, &unused);
        each = (uint32_t)slots;
    }
    return each > 0 ? (least + each - 1) / each : least;
}

void job_elastic_watch(struct job *j)
{
    struct elastic *e;

    if (!job_is_elastic(j)) {
        return;
    }
    job_live_open(j);
    e = hb_xcalloc(1, sizeof *e);
    e->job = j;
    e->lookout = job_lookout_open(j, on_told, e);
    e->timer = evtimer_new(j->base, on_look_due, e);
    j->elastic = e;
    arm_ms(e->timer, LOOK_MS);
}

void job_elastic_close(struct job *j)
{
    if (j->elastic != NULL) {
        job_lookout_close(j->elastic->lookout);
        forget_candidates(j->elastic);
        event_free(j->elastic->timer);
        free(j->elastic->names);
        free(j->elastic);
        j->elastic = NULL;
    }
}

void job_elastic_explain(const struct job *j, struct hb_strv *lines)
{
    const struct hb_app_options *app = &j->opt->apps[0];

    if (app->np_min > 0) {
        hb_strv_pushf(lines, "elastic: %u to %u ranks: hosts that come and go "
                      "%s (--on-failure %s)", app->np_min, app->np,
                      j->on_failure == HB_FAIL_RESTART
                          ? "make all start again in the new size"
                      : job_is_live(j)
                          ? "do so while the others run"
                          : "are not looked for",
                      hb_on_failure_name(j->on_failure));
    }
}
