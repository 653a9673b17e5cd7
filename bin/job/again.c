/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A job that is started again: what its next life knows of the last one, and
 * which hosts it does without. lives.c has the policy, job.c the loop.
 *
 * Hosts that were lost are left out where the ranks fit on the others, spares
 * included; else they are waited for. Pods are mostly made again: where ranks
 * that had slots of their own, as these were counted, would have to share
 * them, they are waited for, too, and done without only when they do not
 * come. A spare is a host of the gang that is left out as long as there are
 * enough others, so it stands in for one that never came, too: then the job
 * begins once more, with that one left out. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "bin/job/signals.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

/* Between two lives, when the reader of --events may have read on. */
#define EVENTS_POLL_MS 100

int job_failure_read(struct job *j, struct hpcboot_error *err)
{
    int rc = hb_on_failure_parse(j->opt->on_failure, &j->on_failure, err);

    if (rc == 0 && j->opt->on_failure == NULL && j->opt->keep_going) {
        j->on_failure = HB_FAIL_CONTINUE;
    }
    if (rc == 0 && (j->on_failure == HB_FAIL_CONTINUE ||
                    j->on_failure == HB_FAIL_RESPAWN)) {
        j->orphan_ms = (uint32_t)j->opt->orphan_grace_ms;
    }
    if (rc == 0 && j->opt->spares > 0 && j->on_failure != HB_FAIL_RESTART &&
        j->on_failure != HB_FAIL_RESPAWN) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "--spares %u: nothing would ever "
                     "move there; --on-failure respawn or restart-job",
                     j->opt->spares);
    }
    return rc;
}

static void leave_out(struct job_host *h)
{
    h->left_out = 1;
    h->state = HOST_DONE;
    h->job->n_wanted--;
}

static void take_in(struct job_host *h)
{
    h->left_out = 0;
    h->state = HOST_IDLE;
    h->job->n_wanted++;
}

/* Its slots, as they were counted when it was there. */
static void recall(struct job_host *h)
{
    const struct hb_life_host *k = hb_lives_find(h->job->lives, h->spec->name);

    if (k != NULL && h->counted_slots == 0 && !job_counts_gpus(h)) {
        h->counted_slots = k->slots;
        h->quota_milli = k->quota_milli;
        h->slots_origin = hb_xstrdup("counted there before");
    }
}

static void leave_out_lost_and_spare(struct job *j)
{
    uint32_t left = 0, most = (uint32_t)j->gang.n;

    most -= j->opt->spares < most ? j->opt->spares : most;
    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        recall(h);
        if (left == most || hb_lives_was_lost(j->lives, h->spec->name)) {
            leave_out(h);
        } else {
            left++;
        }
    }
}

/* A job that keeps its size, without the lost: --min-hosts does not place its
 * ranks before the hosts have come. */
static int check_room(const struct job *j, struct hpcboot_error *err)
{
    uint64_t room = 0, ranks = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        room += j->hosts[i].left_out ? 0 : job_ranks_of(&j->hosts[i]);
    }
    for (uint32_t i = 0; j->lives->np != NULL && i < j->opt->n_apps; i++) {
        ranks += j->opt->apps[i].np_min > 0 ? 0 : j->lives->np[i];
    }
    return room >= ranks ? 0
                         : hb_fail(err, HPCBOOT_ERR_HOST, "room for %llu of "
                                   "%llu ranks", (unsigned long long)room,
                                   (unsigned long long)ranks);
}

/* The hosts that are neither lost nor spares. */
static int has_too_few(const struct job *j)
{
    return j->n_wanted == 0 || j->n_wanted < j->opt->min_hosts;
}

/* The ranks had slots of their own, and a lost pod may be there again. */
static int hopes(const struct job *j)
{
    int listed = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        listed |= hb_lives_was_lost(j->lives, j->hosts[i].spec->name);
    }
    return listed && j->gang.operator_made && !j->need_lost &&
           j->lives->wished_hosts > 0 && !j->lives->hopeless;
}

static int map_now(struct job *j, struct hpcboot_error *err)
{
    int rc;

    if (has_too_few(j)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--spares %u: the gang has %zu "
                       "hosts, which leaves %u for ranks, and --min-hosts %u "
                       "wants more: lower one of the two", j->opt->spares,
                       j->gang.n, j->n_wanted, j->opt->min_hosts);
    }
    if (!job_slots_known(j)) {
        return 0;
    }
    /* The ranks go to the hosts that come up. */
    if (!job_takes_a_part(j) || j->opt->dry_run) {
        rc = hopes(j) ? check_room(j, err) : 0;
        return rc < 0 ? rc : job_plan_map(j, err);
    }
    rc = job_check_elastic(j, err);
    return rc == 0 && j->lives->lost.n > 0 && !j->need_lost
               ? check_room(j, err) : rc;
}

/* left: hosts that are neither lost nor spares. */
static void tell_waiting(const struct hb_strv *lost, uint32_t left,
                         int too_few)
{
    struct hb_str names = HB_STR_INIT;

    for (size_t i = 0; i < lost->n; i++) {
        hb_str_putf(&names, "%s%s", i > 0 ? ", " : "", lost->v[i]);
    }
    hb_log(HB_WARN, "%s; waiting for the lost ones: %s",
           left == 0 ? "no host is left"
           : too_few ? "the hosts that are left are too few (see --min-hosts)"
                     : "the hosts that are left do not have room for all ranks",
           hb_str_text(&names));
    hb_str_destroy(&names);
}

/* One spare takes the place of one host, and may have fewer slots than that
 * had. 0: there is no further one. */
static int take_in_a_spare(struct job *j)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        if (h->left_out && !hb_lives_was_lost(j->lives, h->spec->name)) {
            take_in(h);
            return 1;
        }
    }
    return 0;
}

int job_plan_ranks(struct job *j, struct hpcboot_error *err)
{
    uint32_t left;
    int rc, too_few;

    if (j->opt->spares >= j->gang.n) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "--spares %u: the gang has %zu "
                       "host%s, and one must be left for ranks",
                       j->opt->spares, j->gang.n, j->gang.n == 1 ? "" : "s");
    }
    leave_out_lost_and_spare(j);
    rc = map_now(j, err);
    while (rc < 0 && j->lives->lost.n > 0 && take_in_a_spare(j)) {
        rc = map_now(j, err);
    }
    left = j->n_wanted;
    too_few = has_too_few(j);
    if (rc < 0 && j->lives->epoch > 0) {
        err->code = rc = HPCBOOT_ERR_HOST; /* it did fit once */
    }
    if (rc == 0 || j->lives->lost.n == 0) {
        return rc;
    }
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].left_out) {
            take_in(&j->hosts[i]);
        }
    }
    j->hopes = hopes(j) && left > 0 && !too_few;
    j->need_lost = 1;
    tell_waiting(&j->lives->lost, left, too_few);
    rc = map_now(j, err);
    if (rc < 0) {
        err->code = HPCBOOT_ERR_HOST; /* it did fit once */
        return HPCBOOT_ERR_HOST;
    }
    return 0;
}

/* So many hosts it takes at least, if each had as much room as the largest. */
static uint32_t hosts_for(const struct job *j,
                          uint32_t (*room_of)(const struct job_host *h))
{
    uint64_t most = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        uint64_t room = room_of(&j->hosts[i]);

        most = room > most ? room : most;
    }
    return most > 0 ? (uint32_t)((j->map->n_ranks + most - 1) / most) : 0;
}

/* A job that takes what there is needs none. */
static void remember_hosts(const struct job *j)
{
    struct hb_lives *l = j->lives;
    uint32_t own = hosts_for(j, job_ranks_of);
    uint64_t room = 0;

    l->needed_hosts = j->policy.by == HB_MAP_PPR_NODE
                          ? own : hosts_for(j, job_limit_of);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        room += j->hosts[i].left_out ? 0 : job_ranks_of(&j->hosts[i]);
    }
    l->hopeless = room < j->map->n_ranks;
    if (j->policy.oversubscribe <= 0 && room >= j->map->n_ranks &&
        own > l->needed_hosts) {
        l->wished_hosts = own;
    }
}

/* What the next life should know of this one. */
static void remember(struct job *j)
{
    struct hb_lives *l = j->lives;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        if (h->was_there && j->begun && !h->unfit) {
            hb_lives_note_came_up(l, h->spec->name);
        }
        if (h->gone || h->unfit || (h->state == HOST_LOST && !j->begun)) {
            hb_lives_note_lost(l, h->spec->name);
        } else if (!h->left_out && h->counted_slots > 0 && h->attempts > 0) {
            hb_lives_note_seen(l, h->spec->name, h->counted_slots,
                               h->quota_milli);
        }
    }
    if (j->gang.source != NULL) {
        free(l->source);
        l->source = hb_xstrdup(j->gang.source);
        l->expected = j->gang.expected;
    }
    if (j->map != NULL && j->opt->apps[0].np_min == 0) {
        remember_hosts(j);
    }
    l->hopeless |= j->hopes && !j->begun;
    if (l->np == NULL && j->map != NULL) {
        l->np = hb_xcalloc(j->map->n_apps, sizeof *l->np);
        for (uint32_t i = 0; i < j->map->n_apps; i++) {
            l->np[i] = j->map->apps[i].n_ranks;
        }
    }
}

static void tell(struct job *j)
{
    struct hb_lives *l = j->lives;
    struct hb_json *js = job_event(j, "job_restart");

    l->told = 1;
    if (js != NULL) {
        hb_json_int(js, "epoch", l->epoch);
        hb_json_int(js, "restart", l->restarts);
        hb_json_int(js, "delay_ms", l->delay_ms);
        hb_json_str(js, "why", j->verdict.text);
        job_event_end(j);
    }
    if (j->verdict.kind == HB_CAUSE_RESIZE) {
        hb_log(HB_INFO, "%s; all ranks are started again", j->verdict.text);
        return;
    }
    hb_log(HB_WARN, "%s; all ranks are started again in %.10g s (restart %u "
           "of at most %u)", j->verdict.text, (double)l->delay_ms / 1000,
           l->failures, j->opt->max_restarts);
}

/* The time limit of the job comes before its next life has begun. */
static void ends_before(struct job *j)
{
    struct hb_lives *l = j->lives;

    hb_log(HB_WARN, "%s; all ranks would be started again in %.10g s, and the "
           "limit of time (--timeout) comes before", j->verdict.text,
           (double)l->delay_ms / 1000);
    l->delay_ms = job_time_left_ms(j);
    l->restarts--;
    l->told = 0;
}

/* A host that never came is lost before anything has begun. The spares that
 * are left are enough to do without: nothing is to be started again then. */
static int spares_are_enough(const struct job *j)
{
    uint32_t missing = 0, spares = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        const struct job_host *h = &j->hosts[i];

        missing += h->state == HOST_LOST;
        spares += h->left_out && !hb_lives_was_lost(j->lives, h->spec->name);
    }
    return j->lives->epoch == 0 && !j->begun && missing > 0 &&
           missing <= spares && hb_lives_curable(&j->verdict);
}

/* No restart, as nothing has begun. */
static int begin_anew(struct job *j, const char *how)
{
    remember(j);
    j->lives->delay_ms = 0;
    hb_log(HB_WARN, "%s; %s", j->verdict.text, how);
    return 1;
}

static int does_without(const struct job *j)
{
    return j->hopes && !j->begun && hb_lives_curable(&j->verdict);
}

static int may_restart(const struct job *j)
{
    int had_begun = j->begun || (j->lives->epoch > 0 && !j->need_lost);

    return j->on_failure == HB_FAIL_RESTART && had_begun;
}

int job_lives_on(const struct job *j)
{
    return j->interrupts == 0 &&
           (spares_are_enough(j) || does_without(j) ||
            (may_restart(j) && hb_lives_curable(&j->verdict) &&
             j->lives->failures < j->opt->max_restarts));
}

int job_again(struct job *j)
{
    const struct hb_backoff b = {
        .first_ms = j->opt->restart_delay_ms, .max = j->opt->max_restarts,
    };

    if (j->interrupts > 0) {
        return 0;
    }
    if (spares_are_enough(j)) {
        return begin_anew(j, "spares are taken for what is missing");
    }
    if (does_without(j)) {
        return begin_anew(j, "the ranks share the hosts that are left");
    }
    if (!may_restart(j)) {
        return 0;
    }
    remember(j);
    if (!j->begun) { /* its ranks were never started */
        hb_lives_take_back(j->lives);
    }
    if (!hb_lives_again(j->lives, &b, &j->verdict)) {
        return 0;
    }
    if (j->lives->delay_ms > job_time_left_ms(j)) {
        ends_before(j);
    } else {
        tell(j);
    }
    return 1;
}

/* A file is read from its beginning again; a pipe's bytes are gone. */
void job_again_stdin(struct hb_lives *l)
{
    if (l->epoch == 0) {
        l->stdin_start = lseek(STDIN_FILENO, 0, SEEK_CUR);
    } else if (l->stdin_start >= 0) {
        (void)lseek(STDIN_FILENO, l->stdin_start, SEEK_SET);
    }
}

/* Nothing runs meanwhile: a signal that ends hbrun has nobody to be told to.
 * Returns that signal, or 0. */
int job_again_pause(const struct hb_lives *l)
{
    int64_t until = hb_deadline_in_ms(l->delay_ms);
    sigset_t ends;
    int signo;

    job_signals_that_end(&ends);
    do { /* being stopped and continued cuts it short */
        int64_t left_ms = hb_deadline_left_ms(until);
        struct timespec wait;

        if (left_ms > EVENTS_POLL_MS && job_events_wait(l)) {
            left_ms = EVENTS_POLL_MS;
        }
        wait = (struct timespec){left_ms / 1000, (left_ms % 1000) * 1000000};
        signo = sigtimedwait(&ends, NULL, &wait);
    } while (signo < 0 &&
             (errno == EINTR || hb_deadline_left_ms(until) > 0));
    job_signals_note();
    job_signals_hold(SIG_UNBLOCK);
    return signo > 0 ? signo : 0;
}
