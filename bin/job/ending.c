/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How a job ends. The first failure, a signal to hbrun or the time limit
 * makes every agent end its ranks, with a grace period; when every agent has
 * said DONE the output is written out and the verdict is spoken. An agent
 * that does not confirm within its grace is not waited for. */
#include "config.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/job/ancestry.h"
#include "bin/job/bringup.h"
#include "bin/job/change.h"
#include "bin/job/job_impl.h"
#include "bin/job/signals.h"
#include "bin/proc/termlog.h"
#include "lib/base/clock.h"
#include "lib/base/json.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

/* Beyond the grace period: killing, draining, the way back. */
#define GIVE_UP_EXTRA_MS 10000
/* Mostly ranks that are told to end have by then. */
#define SLOW_MS 1000
/* From DONE of all to the end of their links: agents leave in a moment. */
#define FAREWELL_MS 2000
#define UNCONFIRMED_NAMED 8 /* hosts, in one line */
#define TIMEOUT_TEXT_MAX 80
#define FAILURES_TOLD 16    /* of ranks that others outlive, a line each */

static void over(struct job *j)
{
    j->phase = JOB_OVER;
    event_base_loopbreak(j->base);
}

/* One line, however many they are. */
static void say_unconfirmed(const struct hb_str *names, unsigned n)
{
    if (n > UNCONFIRMED_NAMED) {
        hb_log(HB_ERROR, "%u hosts did not confirm that their ranks have "
               "ended (%s, ...); their agents end them by themselves", n,
               hb_str_text(names));
    } else if (n > 0) {
        hb_log(HB_ERROR, "host%s %s did not confirm that %s ranks have ended; "
               "%s by %s", n > 1 ? "s" : "", hb_str_text(names),
               n > 1 ? "their" : "its",
               n > 1 ? "their agents end them" : "its agent ends them",
               n > 1 ? "themselves" : "itself");
    }
}

static int hosts_running(const struct job *j);
static void give_up_in(struct job *j, int64_t ms);

/* 1: all is done but that the reader takes no output. Who is told to end from
 * outside does not wait for it for ever: the next word would be SIGKILL. */
static int reader_sleeps(struct job *j)
{
    return j->reader_until_ns != 0 && !hosts_running(j) &&
           job_carry_pending(j);
}

static void wait_for_reader(struct job *j)
{
    int64_t left_ms = hb_deadline_left_ms(j->reader_until_ns);

    if (left_ms > 0) {
        give_up_in(j, left_ms);
        return;
    }
    hb_log(HB_WARN, "nobody reads the output: %zu bytes of it are dropped",
           hb_output_pending(j->out));
    over(j);
}

/* Who waits for the end learns for what. */
static void say_slow(struct job *j)
{
    int64_t left_ms = hb_deadline_left_ms(j->patience_ns);
    unsigned n = 0;

    for (uint32_t i = 0; i < j->gang.n; i++) {
        n += j->hosts[i].state == HOST_RUNNING;
    }
    if (n > 0 && left_ms > GIVE_UP_EXTRA_MS) {
        hb_log(HB_INFO, "%s; ranks on %u host%s have been told to end, and "
               "have %lld s left to do so (--grace); a further signal ends "
               "them at once", j->end_reason, n, n == 1 ? "" : "s",
               (long long)(left_ms - GIVE_UP_EXTRA_MS + 500) / 1000);
    }
    give_up_in(j, left_ms);
}

static void on_give_up(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;
    struct hb_str names = HB_STR_INIT;
    unsigned n = 0;

    if (j->slow) {
        say_slow(j);
        return;
    }
    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];
        int lost = h->state == HOST_RUNNING || h->state == HOST_LOST;

        if (h->state == HOST_RUNNING) {
            if (n++ < UNCONFIRMED_NAMED) {
                hb_str_putf(&names, "%s%s", n > 1 ? ", " : "", h->spec->name);
            }
            h->gone = 1;
        }
        host_close(h);
        h->state = lost ? HOST_LOST : HOST_DONE;
    }
    say_unconfirmed(&names, n);
    job_spawns_end(j, 1);
    hb_str_destroy(&names);
    if (reader_sleeps(j)) {
        wait_for_reader(j);
        return;
    }
    job_maybe_over(j);
}

static void give_up_in(struct job *j, int64_t ms)
{
    if (j->give_up_timer == NULL) {
        j->give_up_timer = evtimer_new(j->base, on_give_up, j);
    }
    j->slow = 0;
    arm_ms(j->give_up_timer, ms);
}

void job_kill(struct job *j, uint32_t grace_ms, const char *reason)
{
    int level = grace_ms > 0 ? 1 : 2;

    if (j->phase == JOB_CONNECTING) {
        over(j);
        return;
    }
    if (j->grace_given >= level) {
        return;
    }
    j->grace_given = level;
    j->end_reason = reason;
    j->phase = JOB_ENDING;
    job_event_ending(j, grace_ms, reason);
    for (uint32_t i = 0; i < j->gang.n; i++) {
        struct job_host *h = &j->hosts[i];

        if (h->state == HOST_RUNNING) {
            HOST_SEND(h, kill, .grace_ms = grace_ms, .reason = reason,
                      .signo = j->end_signal > 0 ? j->end_signal : SIGTERM);
        } else if (h->state == HOST_READY) {
            host_let_go(h); /* files were being copied to it */
        } else if (h->late && h->state < HOST_READY) {
            host_close(h);
            h->state = HOST_DONE;
        }
    }
    job_spawns_end(j, level > 1);
    j->patience_ns = hb_deadline_in_ms((int64_t)grace_ms + GIVE_UP_EXTRA_MS);
    if (grace_ms >= 2 * SLOW_MS) {
        give_up_in(j, SLOW_MS);
        j->slow = 1;
    } else {
        give_up_in(j, (int64_t)grace_ms + GIVE_UP_EXTRA_MS);
    }
    job_maybe_over(j);
}

/* Whether a cause leaves the other ranks running. */
static int goes_on(const struct job *j, const struct hb_cause *cause)
{
    enum hb_cause_kind kind = cause->kind;

    return j->on_failure == HB_FAIL_CONTINUE && !cause->ends_job &&
           (kind == HB_CAUSE_START || kind == HB_CAUSE_EXIT ||
            (kind == HB_CAUSE_HOST && j->begun) ||
            kind == HB_CAUSE_SIGNAL || kind == HB_CAUSE_NO_INIT ||
            kind == HB_CAUSE_SPAWNED || kind == HB_CAUSE_NO_FINALIZE);
}

/* Where the others go on, a failure is told when it happens. The first is said
 * once more in the end, as the reason of the exit status. */
static void tell_failure(struct job *j, const struct hb_cause *cause)
{
    struct hb_verdict one = {0};

    if (j->n_failures++ == FAILURES_TOLD) {
        hb_log(HB_WARN, "further failures are not reported one by one "
               "(--print-exit-codes lists all)");
    }
    if (j->n_failures <= FAILURES_TOLD) {
        hb_verdict_add(&one, cause);
        hb_log(HB_WARN, "%s; the job goes on (--on-failure continue)",
               one.text);
    }
}

/* Why ranks are ended. Where the job had gone on without what failed first,
 * that decides the status and the last sentence all the same. */
static const char *tell_end(struct job *j, const struct hb_cause *cause)
{
    if (j->verdict.kind == HB_CAUSE_NONE || j->grace_given || !j->begun) {
        return j->verdict.text;
    }
    hb_verdict_add(&j->ended_by, cause);
    hb_log(HB_WARN, "%s; all ranks are ended", j->ended_by.text);
    return j->ended_by.text;
}

void job_cause(struct job *j, const struct hb_cause *cause)
{
    const char *reason = goes_on(j, cause) ? NULL : tell_end(j, cause);

    /* What happens after the agents were told to end follows from that. */
    if (!j->grace_given || cause->time_ns < j->verdict.time_ns ||
        hb_verdict_explained_by(&j->verdict, cause) ||
        hb_verdict_yields_to(&j->verdict, cause)) {
        if (hb_verdict_add(&j->verdict, cause) == 1) {
            j->first_rank = cause->rank;
            job_ancestry_failed(j);
        }
    }
    if (reason != NULL) {
        job_kill(j, (uint32_t)j->opt->grace_ms, reason);
    } else if (!j->grace_given) {
        j->end_signal = 0; /* it was for this cause */
        j->verdict.outlived = 1;
        tell_failure(j, cause);
        job_meeting_settle(j); /* it may have been the last one that worked */
    }
}

static void fail(struct job *j, struct hb_cause cause, const char *fmt,
                 va_list ap)
{
    struct hb_str text = HB_STR_INIT;

    hb_str_vputf(&text, fmt, ap);
    cause.time_ns = hb_now_ns();
    cause.text = hb_str_text(&text);
    job_cause(j, &cause);
    hb_str_destroy(&text);
}

void job_fail(struct job *j, enum hb_cause_kind kind, int code,
              const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fail(j, (struct hb_cause){.kind = kind, .code = code}, fmt, ap);
    va_end(ap);
}

void job_fail_all(struct job *j, enum hb_cause_kind kind, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fail(j, (struct hb_cause){.kind = kind, .ends_job = 1}, fmt, ap);
    va_end(ap);
}

static int links_left(const struct job *j)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].link != NULL) {
            return 1;
        }
    }
    return 0;
}

/* A host that still receives files is about to run. */
static int hosts_running(const struct job *j)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        enum host_state s = j->hosts[i].state;

        if (j->hosts[i].joins) {
            continue; /* nobody waits for it */
        }
        if (s == HOST_RUNNING || (j->hosts[i].late && s < HOST_READY) ||
            (s == HOST_READY && j->phase == JOB_RUNNING)) {
            return 1;
        }
    }
    return 0;
}

/* An elastic job goes on without them, and not all of its ranks have ended as
 * they should. */
static void blame_missed(struct job *j)
{
    const struct job_host *h = j->hosts, *end = h + j->gang.n;

    if (j->live == NULL || j->verdict.kind != HB_CAUSE_NONE) {
        return;
    }
    while (h < end && !job_live_misses(h)) {
        h++;
    }
    if (h < end) {
        const struct hb_cause cause = {
            .kind = HB_CAUSE_HOST, .time_ns = hb_now_ns(),
            .host = h->spec->name, .text = host_why(h),
        };

        (void)hb_verdict_add(&j->verdict, &cause);
        job_ancestry_failed(j);
    }
}

void job_maybe_over(struct job *j)
{
    if (j->phase == JOB_CONNECTING || j->phase == JOB_OVER ||
        hosts_running(j) || job_live_waits(j) || job_spawns_wait(j)) {
        job_latecomers_look(j);
        return;
    }
    j->phase = JOB_ENDING;
    job_live_end(j);
    blame_missed(j);
    if (!links_left(j)) {
        if (!job_carry_pending(j)) {
            over(j); /* else carry.c calls again when the reader has it all */
        }
    } else {
        give_up_in(j, FAREWELL_MS);
    }
}

/* Also where what failed before has ended the ranks already: then nobody but
 * the reader is waited for. */
static void end_from_outside(struct job *j, enum hb_cause_kind kind, int code,
                             const char *text)
{
    j->reader_until_ns = hb_deadline_in_ms((int64_t)j->opt->grace_ms +
                                           GIVE_UP_EXTRA_MS);
    job_fail(j, kind, code, "%s", text);
    if (reader_sleeps(j)) {
        wait_for_reader(j);
    }
}

static void put_timeout(const struct job *j, char *text, size_t size)
{
    snprintf(text, size, "the job did not end within %.10g s (--timeout)",
             (double)j->opt->timeout_ms / 1000);
}

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
    char text[TIMEOUT_TEXT_MAX];
    struct job *j = arg;

    put_timeout(j, text, sizeof text);
    end_from_outside(j, HB_CAUSE_TIMEOUT, 0, text);
}

/* The limit is one for all lives of the job. */
int64_t job_time_left_ms(const struct job *j)
{
    int64_t left = j->opt->timeout_ms -
                   (hb_now_ns() - j->lives->begun_ns) / 1000000;

    if (j->opt->timeout_ms <= 0 || j->lives->begun_ns == 0) {
        return INT64_MAX;
    }
    return left > 0 ? left : 0;
}

void job_timeout_start(struct job *j)
{
    struct hb_lives *l = j->lives;

    if (l->begun_ns == 0) {
        l->begun_ns = hb_now_ns();
    }
    if (j->opt->timeout_ms > 0 && j->timeout_timer == NULL) {
        j->timeout_timer = evtimer_new(j->base, on_timeout, j);
        arm_ms(j->timeout_timer, job_time_left_ms(j));
    }
}

void job_timers_close(struct job *j)
{
    struct event **timers[] = {&j->timeout_timer, &j->give_up_timer};

    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++) {
        if (*timers[i] != NULL) {
            event_free(*timers[i]);
            *timers[i] = NULL;
        }
    }
}

void job_told_to_end(struct job *j, int signo)
{
    char name[64], text[128];

    hb_signal_text(signo, name, sizeof name);
    if (j->phase == JOB_CONNECTING && j->tick_timer != NULL) {
        hb_progress_done(j->progress);
        job_wait_say(j);
    }
    if (++j->interrupts > 1) {
        job_kill(j, 0, "a second signal");
        if (!hosts_running(j)) {
            over(j); /* nobody reads what is left of the output */
        }
        return;
    }
    if (signo == SIGTERM) {
        j->end_signal = j->opt->checkpoint_signal; /* its pod is to leave */
    }
    snprintf(text, sizeof text, "%s was told to end by %s",
             job_program(j->only_wait), name);
    end_from_outside(j, HB_CAUSE_USER, signo, text);
}

/* Every rank links an MPI and none of them ever called its server. Where the
 * job was ended before its ranks came to their own end, that may be because
 * they had no time to. */
static void tell_lonely(const struct job *j)
{
    const char *family = hb_pm_family_name(j->family.family);
    uint32_t told = 0;

    if (!j->family.links_mpi || j->map == NULL || j->map->n_ranks < 2 ||
        j->n_started < j->map->n_ranks || j->initialised != 0) {
        return;
    }
    for (uint32_t r = 0; r < j->map->n_ranks; r++) {
        if (j->ranks[r].contact != 0 || !j->ranks[r].ended) {
            return;
        }
        told += j->ranks[r].told;
    }
    if (j->verdict.kind == HB_CAUSE_HOST ||
        j->verdict.status == HB_EXIT_NOT_FOUND) {
        return; /* the host's end was theirs; without its libraries a program
                 * does not come to MPI_Init */
    }
    if (j->family.family == HB_PM_NONE) {
        hb_log(HB_WARN, "with --pmi none each of your %u ranks believed it "
               "was alone", j->map->n_ranks);
    } else if (told == 0) {
        hb_log(HB_WARN, "none of the %u ranks called its %s server: if the "
               "program calls MPI_Init, each of them believed it was alone, "
               "and --pmi chooses another family", j->map->n_ranks, family);
    } else if (j->verdict.kind == HB_CAUSE_EXIT) {
        hb_log(HB_WARN, "the job ended before any of its %u ranks had called "
               "its %s server: if MPI_Init was behind them, --pmi chooses "
               "another family", j->map->n_ranks, family);
    }
}

/* --print-exit-codes: how each rank ended, in rank order. */
static void tell_exit_codes(const struct job *j)
{
    for (uint32_t r = 0; j->map != NULL && r < j->map->n_ranks; r++) {
        const struct job_rank *rank = &j->ranks[r];
        const char *host = job_host_of_rank(j, r);
        char name[64];

        if (!rank->started) {
            hb_log(HB_INFO, "rank %u on %s: was not started", r, host);
        } else if (!rank->ended || rank->ended_ns == 0) { /* lost, or not yet */
            hb_log(HB_INFO, "rank %u on %s: how it ended was not reported", r,
                   host);
        } else if (WIFSIGNALED(rank->wait_status)) {
            hb_signal_text(WTERMSIG(rank->wait_status), name, sizeof name);
            hb_log(HB_INFO, "rank %u on %s: %s", r, host, name);
        } else {
            hb_log(HB_INFO, "rank %u on %s: status %d", r, host,
                   WEXITSTATUS(rank->wait_status));
        }
    }
}

static void add_restarts(struct job *j)
{
    size_t len = strlen(j->verdict.text);
    uint32_t n;

    if (!j->begun) { /* the ranks of this life were never started */
        hb_lives_take_back(j->lives);
    }
    n = j->lives->restarts;
    if (n > 0) {
        snprintf(j->verdict.text + len, sizeof j->verdict.text - len,
                 " (after %u restart%s)", n, n == 1 ? "" : "s");
    }
}

static void tell_job_end(struct job *j)
{
    struct hb_json *js = job_event(j, "job_end");

    if (js != NULL) {
        hb_json_int(js, "status", j->verdict.status);
        hb_json_real(js, "seconds",
                     (double)(hb_now_ns() - j->lives->hbrun_ns) / 1e9);
        hb_json_str(js, "why", j->verdict.text);
        job_event_end(j);
    }
}

/* Where something else has failed before, which decides. Of a reader who has
 * left it is no news. */
static void tell_lost_output(const struct job *j)
{
    int code = j->output_lost.code;

    if (code != 0 && code != HPCBOOT_ERR_CLOSED &&
        j->verdict.kind != HB_CAUSE_OUTPUT &&
        j->ended_by.kind != HB_CAUSE_OUTPUT) {
        hb_log(HB_WARN, "output of ranks is lost: %s", j->output_lost.text);
    }
}

/* The log of a spawned job's pod is that of the job that has asked for it, and
 * who has asked may know what to do. */
static void speak_verdict(struct job *j)
{
    if (j->verdict.kind == HB_CAUSE_NONE || job_ancestry_speaks(j)) {
        return;
    }
    add_restarts(j);
    hb_log(HB_ERROR, "%s", j->verdict.text);
    if (j->ancestry == NULL) {
        hb_termlog_write(j->verdict.text);
    }
}

void job_final_words(struct job *j)
{
    tell_job_end(j);
    tell_lonely(j);
    job_ancestry_judge(j);
    job_meeting_judge(j);
    if (j->opt->print_exit_codes) {
        tell_exit_codes(j);
    }
    job_carry_tell_folded(j);
    tell_lost_output(j);
    speak_verdict(j);
}

int job_lives_no_more(struct job *j, enum hb_cause_kind kind, int code,
                      const char *text)
{
    struct hb_cause cause = {
        .kind = kind, .time_ns = hb_now_ns(), .code = code, .text = text,
    };
    char late[TIMEOUT_TEXT_MAX];

    if (kind != HB_CAUSE_USER && job_time_left_ms(j) == 0) {
        put_timeout(j, late, sizeof late);
        cause.kind = HB_CAUSE_TIMEOUT;
        cause.text = late;
    }
    j->events = j->lives->events;
    hb_lives_take_back(j->lives);
    j->verdict = (struct hb_verdict){0};
    hb_verdict_add(&j->verdict, &cause);
    tell_job_end(j);
    speak_verdict(j);
    job_metrics_last(j);
    return j->verdict.status;
}
