/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Signals to hbrun: INT, TERM, HUP and QUIT end the job, a second one at once;
 * USR1, USR2 and WINCH go to the ranks; TSTP stops the ranks and then hbrun
 * itself, CONT continues both.
 *
 * One that ends it may come while no loop hears it: hosts are gathered, which
 * may take minutes, and nothing has been started. It is said, and hbrun ends;
 * as process 1 of a pod it would not even do that of its own accord, as the
 * kernel drops a signal that process 1 has no handler for. One that is passed
 * on ends nothing then: there is nobody to have it. The loop's own handlers
 * take the place of these.
 *
 * Before another life, and as soon as events have begun, the job has a reader
 * of its last word who wants an end, and perhaps metrics. There the signal is
 * noted, and whoever waits looks for it; a second one does not wait, and hbrun
 * ends by the first.
 *
 * Behind the job's last word the first one changes nothing; a second one ends
 * hbrun with the status that the job has. */
#include "config.h"

#include "bin/job/signals.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bin/cli/logsink.h"
#include "bin/job/bringup.h"
#include "bin/job/job_impl.h"
#include "bin/proc/first.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"

#define SIGNAL_STATUS 128
#define STOP_WITHIN_MS 5000 /* hosts that do not answer are not waited for */
#define STOP_LOOK_MS 5
#define TOLD_TURNS 2 /* of the loop: signals that came are noted, and told */
/* timeout(1) signals its child and then the group it is in; a terminal and its
 * shell both do. Nobody presses a key twice in that time. */
#define ONE_INTERRUPT_MS 50

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define N_ENDS (sizeof ends / sizeof *ends)

static char *words[N_ENDS]; /* made beforehand: a handler may not */
static volatile sig_atomic_t noted; /* the first that ends it, or 0 */
static struct timespec noted_at;    /* of the handler alone */
static volatile sig_atomic_t is_over, status_of_job;

void job_signals_that_end(sigset_t *out)
{
    struct sigaction now;

    sigemptyset(out);
    for (size_t i = 0; i < N_ENDS; i++) {
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) {
            sigaddset(out, ends[i]);
        }
    }
}

static void end_at_once(int signo)
{
    if (is_over) {
        _exit(status_of_job);
    }
    for (size_t i = 0; i < N_ENDS; i++) {
        if (ends[i] == signo) {
            (void)!write(STDERR_FILENO, words[i], strlen(words[i]));
        }
    }
    _exit(SIGNAL_STATUS + signo);
}

/* By calls that a handler may make. */
static int64_t noted_before_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - noted_at.tv_sec) * 1000 +
           (now.tv_nsec - noted_at.tv_nsec) / 1000000;
}

static void note_end(int signo)
{
    if (noted == 0) {
        noted = signo;
        clock_gettime(CLOCK_MONOTONIC, &noted_at);
    } else if (noted_before_ms() > ONE_INTERRUPT_MS) {
        end_at_once(noted);
    }
}

const char *job_program(int only_wait)
{
    return only_wait ? "hpcboot" : "hbrun";
}

static int is_an_end(int signo)
{
    size_t i = 0;

    while (i < N_ENDS && ends[i] != signo) {
        i++;
    }
    return i < N_ENDS;
}

/* Ignored: a handler would cut short what waits, for hosts or their answers.
 * TSTP stops hbrun all the same, and who ignores CHLD hears of no child. USR1
 * and USR2 that are not to be passed on would kill hbrun without a word. */
static void ignore_passed(const struct hb_options *opt)
{
    uint64_t set = HB_SIGNAL_BIT(SIGUSR1) | HB_SIGNAL_BIT(SIGUSR2);

    if (!opt->no_forward_signals) {
        set |= opt->forward_signals;
    }
    for (int s = 1; s < NSIG; s++) {
        if ((set & HB_SIGNAL_BIT(s)) != 0 && !is_an_end(s) &&
            s != SIGTSTP && s != SIGCHLD) {
            (void)signal(s, SIG_IGN);
        }
    }
}

/* With all of them held: one handler is not interrupted by another. */
static void handle_ends(void (*handler)(int signo))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

    job_signals_that_end(&action.sa_mask);
    for (size_t i = 0; i < N_ENDS; i++) {
        if (sigismember(&action.sa_mask, ends[i]) == 1) {
            (void)sigaction(ends[i], &action, NULL);
        }
    }
}

void job_signals_note(void)
{
    noted = 0;
    handle_ends(note_end);
}

void job_signals_settle(int status)
{
    status_of_job = status;
    is_over = 1;
}

int job_signals_noted(void)
{
    return noted;
}

void job_signals_begin(const struct hb_options *opt, int only_wait)
{
    for (size_t i = 0; i < N_ENDS; i++) {
        char name[64], *text;

        hb_signal_text(ends[i], name, sizeof name);
        text = hb_xasprintf("%s was told to end by %s",
                           job_program(only_wait), name);
        free(words[i]);
        words[i] = hb_logsink_line(HB_ERROR, text);
        free(text);
    }
    handle_ends(end_at_once);
    ignore_passed(opt);
}

/* ---- in the loop ---- */

static void to_all_ranks(struct job *j, int signo)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].state == HOST_RUNNING) {
            HOST_SEND(&j->hosts[i], signal, .rank = HB_ALL_RANKS,
                      .signo = signo);
        }
    }
    job_spawns_signal(j, signo);
}

/* Of the hosts that can be told. */
static int is_told(const struct job_host *h)
{
    return h->state >= HOST_READY && h->state != HOST_LOST && !h->bye_sent;
}

static void set_heartbeats(struct job *j, uint32_t beat_ms)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (is_told(&j->hosts[i])) {
            host_send_welcome(&j->hosts[i], beat_ms);
        }
    }
}

static volatile sig_atomic_t of_a_key; /* the last SIGTSTP, and of no kill() */
static volatile sig_atomic_t n_continued;
static void (*loops_stop)(int signo), (*loops_cont)(int signo);

static void note_key(int signo, siginfo_t *info, void *context)
{
    of_a_key = info->si_code == SI_KERNEL;
    loops_stop(signo);
}

static void note_cont(int signo)
{
    n_continued++;
    loops_cont(signo);
}

/* The loop's handlers are not told where a signal comes from, nor at once. */
static void note_stops(void)
{
    struct sigaction act;

    sigaction(SIGTSTP, NULL, &act);
    loops_stop = act.sa_handler;
    act.sa_sigaction = note_key;
    act.sa_flags |= SA_SIGINFO;
    sigaction(SIGTSTP, &act, NULL);
    sigaction(SIGCONT, NULL, &act);
    loops_cont = act.sa_handler;
    act.sa_handler = note_cont;
    sigaction(SIGCONT, &act, NULL);
}

/* What hbrun is to stop by is sent before anybody can see a rank stop, and
 * held: the kernel then keeps the order. A SIGCONT takes it away; a stop that
 * is sent later would take away the SIGCONT, and nobody would send another. */
static struct sigaction held_before; /* of SIGTTOU */
static int is_held;
static sig_atomic_t continued_before;

static void mask_held(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTTOU);
    pthread_sigmask(how, &set, NULL);
}

static void hold_stop(void)
{
    struct sigaction stop = {.sa_handler = SIG_DFL};

    sigaction(SIGTTOU, &stop, &held_before);
    mask_held(SIG_BLOCK);
    is_held = 1;
    continued_before = n_continued;
    raise(SIGTTOU);
}

/* With SIG_DFL hbrun stops here unless it has been continued, and is back when
 * it is; with SIG_IGN it does not stop. */
static void let_stop(void (*how)(int signo))
{
    struct sigaction act = {.sa_handler = how};

    if (is_held) {
        sigaction(SIGTTOU, &act, NULL);
        mask_held(SIG_UNBLOCK);
        sigaction(SIGTTOU, &held_before, NULL);
        is_held = 0;
    }
}

static int is_continued(void)
{
    return n_continued != continued_before;
}

/* The shell that is to continue hbrun waits until it has stopped, and says of
 * SIGTSTP that it was the key. Where no shell could continue it, as behind ssh
 * -t, the kernel lets nothing stop. */
static void stop_by_key(void)
{
    struct sigaction stop = {.sa_handler = SIG_DFL}, before;

    let_stop(SIG_IGN);
    if (!is_continued()) {
        sigaction(SIGTSTP, &stop, &before);
        raise(SIGTSTP);
        sigaction(SIGTSTP, &before, NULL);
    }
}

static void go_on(struct job *j)
{
    event_del(j->stop_timer);
    let_stop(SIG_IGN);
    j->stop_by_ns = 0;
    set_heartbeats(j, (uint32_t)j->opt->heartbeat_ms);
    to_all_ranks(j, SIGCONT);
}

/* What came in that time may be heard later, where hbrun had no CPU. */
static void on_interrupt_timer(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;

    if (j->interrupt_turns++ < TOLD_TURNS) {
        arm_ms(j->interrupt_timer, 0);
    }
}

static int comes_twice(struct job *j)
{
    if (evtimer_pending(j->interrupt_timer, NULL)) {
        return 1;
    }
    j->interrupt_turns = 0;
    arm_ms(j->interrupt_timer, ONE_INTERRUPT_MS);
    return 0;
}

static void on_end_signal(evutil_socket_t signo, short what, void *arg)
{
    struct job *j = arg;

    if (j->stop_by_ns != 0) {
        go_on(j);
    }
    if (!comes_twice(j)) {
        job_told_to_end(j, (int)signo);
    }
}

static int has_ranks(const struct job *j)
{
    uint32_t i = 0;

    while (i < j->gang.n && j->hosts[i].state != HOST_RUNNING) {
        i++;
    }
    return i < j->gang.n;
}

/* Whether it ends a job otherwise; the two that everybody ends one by do so in
 * any case. */
static int is_passed_instead(const struct job *j, int signo)
{
    sigset_t heard;

    job_signals_that_end(&heard);
    return !j->opt->no_forward_signals && signo != SIGINT &&
           signo != SIGTERM && sigismember(&heard, signo) == 1 &&
           (j->opt->forward_signals & HB_SIGNAL_BIT(signo)) != 0;
}

/* One that ends a job is not lost where nobody can have it. */
static void on_pass_signal(evutil_socket_t signo, short what, void *arg)
{
    struct job *j = arg;

    if (is_passed_instead(j, (int)signo) && !has_ranks(j)) {
        on_end_signal(signo, what, arg);
    } else if (signo == SIGCONT && j->stop_by_ns != 0) {
        go_on(j);
    } else {
        to_all_ranks(j, (int)signo);
    }
}

static void ask_all(struct job *j)
{
    for (uint32_t i = 0; i < j->gang.n; i++) {
        if (j->hosts[i].link != NULL && is_told(&j->hosts[i])) {
            hb_link_ask(j->hosts[i].link);
        }
    }
}

static int all_have_answered(const struct job *j)
{
    uint32_t i = 0;

    while (i < j->gang.n && (j->hosts[i].link == NULL ||
                             hb_link_has_answered(j->hosts[i].link))) {
        i++;
    }
    return i == j->gang.n;
}

/* The loop hears of the SIGCONT. A key that could not stop hbrun stops no rank;
 * a kill does until somebody sends the other. */
static void on_stop_timer(evutil_socket_t fd, short what, void *arg)
{
    struct job *j = arg;

    if (!all_have_answered(j) && hb_deadline_left_ms(j->stop_by_ns) > 0) {
        arm_ms(j->stop_timer, STOP_LOOK_MS);
        return;
    }
    if (!of_a_key) {
        let_stop(SIG_DFL);
        return;
    }
    stop_by_key();
    if (!is_continued()) {
        go_on(j);
    }
}

/* A stopped launcher sends no heartbeats: the agents are told not to expect
 * any, and before it stops they have to have read that, which may lie behind
 * much of the ranks' standard input. SIGTSTP would be ignored by ranks in
 * sessions of their own, so they get SIGSTOP. A second one does not wait. */
static void on_stop_signal(evutil_socket_t signo, short what, void *arg)
{
    struct job *j = arg;

    if (j->stop_by_ns == 0) {
        hold_stop();
        to_all_ranks(j, SIGSTOP);
        set_heartbeats(j, 0);
        ask_all(j);
        j->stop_by_ns = hb_deadline_in_ms(STOP_WITHIN_MS);
        arm_ms(j->stop_timer, 0);
    } else {
        j->stop_by_ns = hb_now_ns();
    }
}

static int watch_signal(struct job *j, int signo, event_callback_fn fn)
{
    struct event *ev = evsignal_new(j->base, signo, fn, j);

    if (ev == NULL || event_add(ev, NULL) < 0) {
        if (ev != NULL) {
            event_free(ev);
        }
        return -1;
    }
    j->signals[j->n_signals++] = ev;
    return 0;
}

/* For who has listed SIGTSTP alone. */
static void on_cont(evutil_socket_t signo, short what, void *arg)
{
    struct job *j = arg;

    if (j->stop_by_ns != 0) {
        go_on(j);
    }
}

static int watch_stops(struct job *j, uint64_t set, struct hpcboot_error *err)
{
    if ((set & HB_SIGNAL_BIT(SIGCONT)) == 0 &&
        watch_signal(j, SIGCONT, on_cont) < 0) {
        return hb_fail(err, HPCBOOT_ERR_SYSTEM, "SIGCONT cannot be caught");
    }
    note_stops();
    return 0;
}

/* The default set, or what --forward-signals lists. */
static int watch_passed(struct job *j, struct hpcboot_error *err)
{
    uint64_t set = j->opt->forward_signals;

    if (j->opt->no_forward_signals) {
        return 0;
    }
    if (set == 0) {
        set = HB_SIGNAL_BIT(SIGUSR1) | HB_SIGNAL_BIT(SIGUSR2) |
              HB_SIGNAL_BIT(SIGWINCH) | HB_SIGNAL_BIT(SIGCONT) |
              HB_SIGNAL_BIT(SIGTSTP);
    }
    for (int s = 1; s < NSIG; s++) {
        char name[64];

        if ((set & HB_SIGNAL_BIT(s)) != 0 &&
            watch_signal(j, s, s == SIGTSTP ? on_stop_signal
                                            : on_pass_signal) < 0) {
            hb_signal_text(s, name, sizeof name);
            return hb_fail(err, HPCBOOT_ERR_USAGE, "--forward-signals: %s "
                           "cannot be caught, so it cannot be passed on; "
                           "leave it out", name);
        }
    }
    return (set & HB_SIGNAL_BIT(SIGTSTP)) != 0 ? watch_stops(j, set, err) : 0;
}

static void on_child_end(evutil_socket_t signo, short what, void *arg)
{
    hb_first_reap();
}

int job_signals_open(struct job *j, struct hpcboot_error *err)
{
    sigset_t heard;

    signal(SIGPIPE, SIG_IGN);
    j->stop_timer = evtimer_new(j->base, on_stop_timer, j);
    j->interrupt_timer = evtimer_new(j->base, on_interrupt_timer, j);
    job_signals_that_end(&heard);
    for (int s = 1; s < NSIG; s++) {
        if (sigismember(&heard, s) == 1 && !is_passed_instead(j, s)) {
            (void)watch_signal(j, s, on_end_signal);
        }
    }
    if (hb_is_first()) {
        (void)watch_signal(j, SIGCHLD, on_child_end);
        hb_first_reap(); /* who has ended before */
    }
    return watch_passed(j, err);
}

/* From the end of the loop of one life to that of the pause before the next:
 * nobody hears them, and none is to be lost. */
void job_signals_hold(int how)
{
    sigset_t set;

    job_signals_that_end(&set);
    sigprocmask(how, &set, NULL);
}

static void free_timer(struct event **timer)
{
    if (*timer != NULL) {
        event_free(*timer);
        *timer = NULL;
    }
}

void job_signals_close(struct job *j)
{
    while (j->n_signals > 0) {
        event_free(j->signals[--j->n_signals]);
    }
    if (is_over) {
        handle_ends(note_end);
    }
    let_stop(SIG_IGN);
    free_timer(&j->stop_timer);
    free_timer(&j->interrupt_timer);
}
