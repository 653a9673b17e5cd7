/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Making an end. Ranks are told by SIGTERM and get a grace period, then
 * everything below this agent is killed. When the last rank has ended, what
 * its ranks left running is killed as well, but for filters of their output
 * that are at work, the rest of the output is carried home, and DONE tells the
 * launcher that this host is clean. The agent leaves when the launcher says BYE
 * or its link is gone. */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "bin/boot/boot.h"
#include "bin/hpcbootd/agent.h"
#include "bin/hpcbootd/sure.h"
#include "bin/proc/guard.h"
#include "bin/proc/segments.h"
#include "bin/proc/stale.h"
#include "lib/base/log.h"

/* Descendants that outlive the last rank may hold its output pipes, or be
 * filters that write what it wrote to a file. They are left alone as long as
 * they keep writing, or filters computing, with pauses shorter than this, but
 * not for ever. While the launcher does not take what was written, as its
 * reader pauses, nothing can be seen of them, and no time is counted. */
#define LINGER_MS 1000
#define LINGER_ROUNDS 100
/* After that many it is told that they write. */
#define WRITERS_ROUNDS 3
/* How long a sweep may take before the guard is left with the rest. */
#define REAP_MS 2000
/* A launcher that does not answer DONE is not waited for any longer, besides
 * the grace in which a host above may have no way to it. */
#define LEAVE_MS 30000

static struct timeval in_ms(uint32_t ms)
{
    struct timeval t = {ms / 1000, (suseconds_t)(ms % 1000) * 1000};

    return t;
}

static void arm(struct agent *a, struct event **ev, event_callback_fn fn,
                uint32_t ms)
{
    struct timeval t = in_ms(ms);

    if (*ev == NULL) {
        *ev = sure_timer(a->base, fn, a);
    }
    sure_add(*ev, &t);
}

static void add_filters(struct hb_filters *f, const struct rank *r)
{
    const int own[] = {r->out[0].fd, r->out[1].fd};

    if (r->pid > 0) {
        hb_filters_add_of(f, r->pid, own);
    }
}

/* A filter of the rank's output is not meant: it would end by most signals, and
 * what the rank has to say by SIGPIPE then. */
static void signal_rank(const struct rank *r, int signo)
{
    struct hb_filters filters = {.n = 0};

    if (signo != SIGKILL && signo != SIGSTOP && signo != SIGCONT) {
        add_filters(&filters, r);
    }
    if (filters.n > 0 && hb_signal_group(r->pid, signo, &filters) > 0) {
        return;
    }
    (void)kill(-r->pid, signo);
}

void agent_signal(struct agent *a, uint32_t rank, int signo)
{
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        const struct rank *r = &a->ranks[i];

        if (r->pid > 0 && (rank == HB_ALL_RANKS || rank == r->rank)) {
            signal_rank(r, signo);
        }
    }
}

/* To everything below; where that cannot be seen, to the ranks' groups. What
 * a rank has written into a filter may be the word why: filters end by
 * themselves, and are not told to. */
static void signal_all(struct agent *a, int signo)
{
    struct hb_filters filters = {.n = 0};

    if (signo == SIGTERM) {
        hb_filters_find(&filters, &a->stdin_pipes);
        for (uint32_t i = 0; i < a->n_ranks; i++) {
            add_filters(&filters, &a->ranks[i]);
        }
    }
    if (hb_signal_descendants(signo, &filters) < 0) {
        agent_signal(a, HB_ALL_RANKS, signo);
    }
}

/* A set-user-ID program that has become another user altogether. */
static void tell_out_of_reach(struct agent *a)
{
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        const struct rank *r = &a->ranks[i];

        if (r->pid > 0 && kill(r->pid, 0) < 0 && errno == EPERM) {
            agent_note(a, HB_WARN, "rank %u cannot be ended and runs on: its "
                       "process %d belongs to another user", r->rank,
                       (int)r->pid);
        }
    }
}

/* Kills everything below; ranks' ends are noticed by the reaper as usual. */
static void kill_now(struct agent *a)
{
    a->killing = 2;
    signal_all(a, SIGKILL);
    tell_out_of_reach(a);
    agent_reap(a);
}

static void on_grace_over(evutil_socket_t fd, short what, void *arg)
{
    kill_now(arg);
}

void agent_kill(struct agent *a, uint32_t grace_ms, int signo)
{
    if (a->killing >= 2 || (a->killing == 1 && grace_ms > 0)) {
        return;
    }
    agent_reap(a); /* who has ended so far was not told to */
    if (grace_ms == 0) {
        kill_now(a);
        return;
    }
    a->killing = 1;
    if (signo == SIGTERM) {
        signal_all(a, signo);
    } else { /* a checkpoint is made by the ranks themselves */
        agent_signal(a, HB_ALL_RANKS, signo);
    }
    signal_all(a, SIGCONT); /* a stopped rank hears it as well */
    agent_reap(a);          /* nobody is started again from here on */
    arm(a, &a->kill_timer, on_grace_over, grace_ms);
}

/* A job that a rank had begun may have been killed with the guards of its
 * agents: nobody else removes its directories. */
static void clear_jobs_below(const struct agent *a, int killed)
{
    struct hb_stale_report report;

    if (killed > 0 || a->killing >= 2) {
        hb_stale_clear(a->job_id, a->host, REAP_MS, &report);
    }
}

/* Orphans of ranks are children of this process by now, so its descendants
 * are all there is; looking for the cookie too would cost a walk through
 * /proc at the end of every job. */
static void sweep(struct agent *a)
{
    struct hb_reap_report report;
    const char *why = NULL;

    hb_reap(NULL, 0, REAP_MS, &report);
    clear_jobs_below(a, report.killed);
    if (!a->killing) { /* else they were about to end, as they were told */
        a->leftovers += report.killed;
    }
    a->linger_over = 1;
    if (report.blind) {
        why = "they cannot be found without /proc";
    } else if (report.refused > 0) {
        why = "they belong to another user";
    } else if (report.left > 0) {
        why = "they have not ended after SIGKILL, as what waits in the kernel "
              "for a disk or a file server does not";
    }
    if (why != NULL) {
        agent_note(a, HB_WARN, "processes that ranks left behind run on: %s",
                   why);
    }
}

static void remove_segments(struct agent *a)
{
    int n = a->segments_ns == 0 ? 0
        : hb_segments_remove(hb_segments_since(a->segments_ns, a->apart_ns));

    if (n > 0) {
        agent_note(a, HB_DEBUG, "removed %d segments of shared memory that "
                   "ranks left behind", n);
    }
}

/* What cannot be killed keeps the pipes of its rank open for ever. */
static void give_up_output(struct agent *a)
{
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        rank_output_end(&a->ranks[i]);
    }
}

/* Whether filters have done anything since this was asked the last time. */
static int filters_work(struct agent *a)
{
    struct hb_filters f;
    int work;

    hb_filters_find(&f, &a->stdin_pipes);
    work = f.runs > 0 || (f.n > 0 && f.cpu != a->filters_cpu);
    a->filters_cpu = f.cpu;
    if (work && a->linger_rounds == 0) {
        agent_note(a, HB_INFO, "the ranks have ended; what they wrote into "
                   "process %d is waited for", (int)f.pid[0]);
    } else if (work && a->linger_rounds == LINGER_ROUNDS) {
        agent_note(a, HB_WARN, "what ranks wrote into process %d is cut off: "
                   "it has not come to its end in %d s", (int)f.pid[0],
                   LINGER_ROUNDS * LINGER_MS / 1000);
    }
    return work;
}

static void on_linger_over(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;
    int busy = a->output_seen;
    int work = !a->linger_over && filters_work(a);

    if (a->output_seen && !work && a->linger_rounds == WRITERS_ROUNDS) {
        agent_note(a, HB_INFO, "the ranks have ended; what processes that "
                   "they have left behind write is waited for, %d s at most",
                   LINGER_ROUNDS * LINGER_MS / 1000);
    }
    a->output_seen = 0;
    if (a->credit <= 0 ||
        ((work || busy) && a->linger_rounds++ < LINGER_ROUNDS)) {
        arm(a, &a->linger_timer, on_linger_over, LINGER_MS);
        return;
    }
    if (a->linger_over) {
        give_up_output(a);
    } else {
        sweep(a);
    }
    agent_maybe_done(a);
}

static void on_leave(evutil_socket_t fd, short what, void *arg)
{
    agent_leave(arg, 1);
}

static int all_drained(const struct agent *a)
{
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        if (!rank_drained(&a->ranks[i])) {
            return 0;
        }
    }
    return 1;
}

static int filters_are_left(const struct agent *a)
{
    struct hb_filters f;

    hb_filters_find(&f, &a->stdin_pipes);
    return f.n > 0;
}

void agent_maybe_done(struct agent *a)
{
    if (a->done_sent || !a->ordered || a->n_ended < a->n_ranks) {
        return;
    }
    if (!all_drained(a) || (!a->linger_over && filters_are_left(a))) {
        if (a->linger_timer == NULL ||
            !evtimer_pending(a->linger_timer, NULL)) {
            arm(a, &a->linger_timer, on_linger_over, LINGER_MS);
        }
        return;
    }
    if (!a->linger_over) {
        sweep(a);
    }
    remove_segments(a);
    agent_pm_stop(a);
    agent_meet_tell(a);
    agent_ports_destroy(a);
    a->done_sent = 1;
    AGENT_SEND(a, done, .leftovers_killed = (uint32_t)a->leftovers,
               .fence_ns = (uint64_t)a->fence_ns,
               .output_ns = (uint64_t)a->output_ns);
    if (a->tree == NULL) { /* else others may be reached through it for long */
        arm(a, &a->leave_timer, on_leave,
            LEAVE_MS + agent_orphan_grace_ms(a));
    }
}

/* The link is gone. A cut that heals too late brings the words to hbrun all the
 * same: stderr is another way than the frames'. */
void agent_cut_off(struct agent *a, const struct hpcboot_error *why)
{
    agent_kill(a, 0, SIGKILL);
    if (why->code == HPCBOOT_ERR_TIMED_OUT) {
        fprintf(stderr, "hpcbootd: the way to hbrun: %s; the ranks here were "
                "ended\n", why->text);
    }
    agent_leave(a, HB_EXIT_LOST);
}

void agent_leave(struct agent *a, int status)
{
    if (a->ordered && !a->done_sent) {
        clear_jobs_below(a, hb_reap_all(a->cookie, 0, REAP_MS));
    }
    remove_segments(a);
    (void)kill(getppid(), SIGCONT); /* the guard must see it, also stopped */
    a->exit_status = status;
    event_base_loopbreak(a->base);
}
