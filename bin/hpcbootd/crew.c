/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* `hpcbootd crew`: one rank of a framework that is more than one process.
 *
 *     crew {--start N WORD... | --ready SECONDS N WORD... |
 *           --stop N WORD...}... -- [PROGRAM...]
 *
 * Goes through the commands in order: starts one in the background, repeats a
 * ready command until it succeeds. Then runs the program, runs the stop
 * commands, and ends with the program's status; without a program it serves
 * until it is told to end. A start command that ends with 0 has gone to the
 * background by itself; one that fails, at any time, is the failure of this
 * rank. Whatever comes, SIGTERM included, the stop commands are run, and what
 * was started is ended. A program that was told to end is waited for before, as
 * long as it takes: it may have a state to save, and the agent above, which
 * knows how long it may, then kills everything.
 *
 * What a command prints goes through a pipe to here, where its end is kept and
 * shown when it fails: the output of a rank is its program's, and so is the
 * input. However much is printed for however long, no more is kept.
 *
 * No event loop: the agent above has its own, and kills everything here when
 * this process hangs. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/hpcbootd/serve.h"
#include "bin/proc/guard.h"
#include "bin/recipe/recipe.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define SIGNAL_BASE 128
#define RETRY_MS 200      /* between two tries of a ready command */
#define STOP_MS 5000      /* for each stop command, then for what was started */
#define SHOWN_BYTES 4096  /* of what a command printed that failed */
/* Who tells all that are there may have looked for them so long before, and so
 * have missed a program that began since. */
#define YOUNG_MS 1000
#define READS_MAX 64      /* at a time, of one that prints without end */

enum step { START, READY, STOP };

struct command {
    enum step step;
    char **argv; /* [n + 1], of this process's own argv */
    uint64_t seconds;
    pid_t pid; /* 0: does not run */
    const char *name;
    int log[2]; /* the pipe of what it says; -1: that is the rank's output */
    char *said; /* the last [SHOWN_BYTES] of it */
    size_t n_said;
    int cut; /* there was more before them */
    int old; /* of an earlier try: the next words take their place */
};

struct crew {
    struct command command[HB_RECIPE_COMMANDS_MAX], program;
    size_t n;
    int signals; /* signalfd: CHLD, TERM, INT, HUP, QUIT */
    int told;    /* the signal that told it to end, or 0 */
    int64_t began_ns; /* the program */
    int status;  /* of the rank, once it is known; -1 */
    int killer;  /* the signal that has ended the program, or 0 */
    pid_t probe; /* a ready or stop command under way */
    int probe_status;
    volatile pid_t *missed; /* shared with children: whose exec has failed */
    int stopping, alone;
};

static void say(const struct command *c, const char *fmt, ...)
    HB_PRINTF(2, 3);

static void say(const struct command *c, const char *fmt, ...)
{
    struct hb_str text = HB_STR_INIT;
    va_list ap;

    va_start(ap, fmt);
    hb_str_vputf(&text, fmt, ap);
    va_end(ap);
    fprintf(stderr, "hpcbootd: %s %s\n", c->name, hb_str_text(&text));
    hb_str_destroy(&text);
}

static void keep(struct command *c, const char *text, size_t n)
{
    size_t over;

    if (c->old) {
        c->n_said = 0;
        c->cut = c->old = 0;
    }
    over = c->n_said + n > SHOWN_BYTES ? c->n_said + n - SHOWN_BYTES : 0;
    memmove(c->said, c->said + over, c->n_said - over);
    memcpy(c->said + c->n_said - over, text, n);
    c->n_said += n - over;
    c->cut |= over > 0;
}

static void hear(struct command *c)
{
    char text[SHOWN_BYTES];

    for (int i = 0; c->log[0] >= 0 && i < READS_MAX; i++) {
        ssize_t n = read(c->log[0], text, sizeof text);

        if (n <= 0) {
            return;
        }
        keep(c, text, (size_t)n);
    }
}

/* The last lines of what a command printed. */
static void show_log(struct command *c)
{
    const char *begin = c->said, *end;

    hear(c);
    if (c->n_said == 0) {
        return;
    }
    end = begin + c->n_said;
    if (c->cut && memchr(begin, '\n', c->n_said - 1) != NULL) {
        begin = (const char *)memchr(begin, '\n', c->n_said - 1) + 1;
    }
    fwrite(begin, 1, (size_t)(end - begin), stderr);
    if (end[-1] != '\n') {
        fputc('\n', stderr);
    }
}

static void open_log(struct command *c)
{
    if (hb_fd_pipe(c->log, NULL) < 0) {
        return; /* it says what it says as the rank */
    }
    (void)hb_fd_set_nonblock(c->log[0], 1, NULL);
    c->said = hb_xmalloc(SHOWN_BYTES);
}

static void __attribute__((noreturn))
become(const struct crew *w, const struct command *c, int own_group)
{
    sigset_t none;
    int why;

    if (c->log[1] >= 0) {
        dup2(c->log[1], STDOUT_FILENO);
        dup2(c->log[1], STDERR_FILENO);
    }
    if (own_group) { /* what comes there is for the program */
        int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

        dup2(null, STDIN_FILENO);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (own_group) {
        setpgid(0, 0);
    }
    execvp(c->argv[0], c->argv);
    why = errno;
    fprintf(stderr, "hpcbootd: cannot start %s: %s\n", c->argv[0],
            strerror(why));
    *w->missed = getpid();
    _exit(why == ENOENT ? 127 : 126);
}

/* 0: the host has no room for another process, which ends the rank. */
static pid_t run(struct crew *w, struct command *c, int own_group)
{
    pid_t pid;

    hear(c);
    c->old = 1;
    pid = fork();
    if (pid == 0) {
        become(w, c, own_group);
    }
    if (pid < 0) {
        say(c, "cannot be started: %s%s", strerror(errno),
            hb_errno_remedy(errno));
        w->status = w->status < 0 ? EXIT_HOST : w->status;
    }
    return pid > 0 ? pid : 0;
}

static int status_of(int wait_status)
{
    return WIFSIGNALED(wait_status) ? SIGNAL_BASE + WTERMSIG(wait_status)
                                    : WEXITSTATUS(wait_status);
}

static void start_ended(struct crew *w, struct command *c, int wait_status)
{
    int status = status_of(wait_status);

    c->pid = 0;
    if (status == 0 || w->stopping || w->told) {
        return;
    }
    show_log(c);
    say(c, WIFSIGNALED(wait_status) ? "was ended by signal %d"
                                    : "ended with status %d",
        WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : status);
    if (w->status < 0) {
        w->status = status;
    }
}

static void reap(struct crew *w)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == w->program.pid) {
            w->program.pid = 0;
            if (w->status < 0) {
                w->status = status_of(status);
                w->killer = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
            }
        } else if (pid == w->probe) {
            w->probe = 0;
            w->probe_status = status_of(status);
        }
        for (size_t i = 0; i < w->n; i++) {
            if (pid == w->command[i].pid) {
                start_ended(w, &w->command[i], status);
            }
        }
    }
    w->alone = pid < 0; /* no child is left */
}

/* The agent tells all that is below it, and a terminal a whole group; anybody
 * else who ends this process means the rank. */
static int program_heard(const struct crew *w,
                         const struct signalfd_siginfo *info)
{
    int by_agent = (pid_t)info->ssi_pid == getppid() &&
                   getenv("HPCBOOT_RANK") != NULL;

    return (info->ssi_code == SI_KERNEL || by_agent) &&
           hb_now_ns() - w->began_ns > (int64_t)YOUNG_MS * 1000000;
}

/* The end of a program that runs is its own; what else it is told may be no end
 * at all. */
static void take_signal(struct crew *w, const struct signalfd_siginfo *info)
{
    int signo = (int)info->ssi_signo;

    if (signo == SIGCHLD) {
        reap(w);
    } else if (w->told == 0) {
        w->told = signo == SIGTERM || w->program.pid == 0 ? signo : 0;
        if (w->program.pid == 0) {
            w->status = w->status < 0 ? SIGNAL_BASE + signo : w->status;
        } else if (!program_heard(w, info)) {
            (void)kill(w->program.pid, signo);
        }
    }
}

/* Waits for a signal or words, or for the time to be over; -1: no limit. */
static void attend(struct crew *w, int64_t ms)
{
    struct pollfd p[HB_RECIPE_COMMANDS_MAX + 1] = {
        {.fd = w->signals, .events = POLLIN},
    };
    struct signalfd_siginfo info;

    for (size_t i = 0; i < w->n; i++) {
        p[i + 1].fd = w->command[i].log[0]; /* poll skips -1 */
        p[i + 1].events = POLLIN;
    }
    if (poll(p, w->n + 1, ms < 0 ? -1 : (int)ms) <= 0) {
        return;
    }
    for (size_t i = 0; i < w->n; i++) {
        if (p[i + 1].revents != 0) {
            hear(&w->command[i]);
        }
    }
    if (p[0].revents == 0 ||
        read(w->signals, &info, sizeof info) != (ssize_t)sizeof info) {
        return;
    }
    take_signal(w, &info);
}

static int64_t ms_until(int64_t deadline_ns)
{
    int64_t left = (deadline_ns - hb_now_ns()) / 1000000;

    return left > 0 ? left : 0;
}

/* Runs a command to its end; its status, or -1: the time or the rank is over
 * first. What cannot be executed will not succeed later, and ends the rank. */
static int run_whole(struct crew *w, struct command *c, int64_t deadline_ns)
{
    pid_t pid = run(w, c, 1);

    if (pid == 0) {
        return EXIT_HOST;
    }
    w->probe_status = -1;
    w->probe = pid;
    while (w->probe > 0 && ms_until(deadline_ns) > 0 &&
           (w->status < 0 || w->stopping)) {
        attend(w, ms_until(deadline_ns));
    }
    if (w->probe > 0) {
        kill(-w->probe, SIGKILL);
        w->probe = 0;
        return -1;
    }
    if (*w->missed == pid && w->status < 0) {
        show_log(c);
        w->status = w->probe_status;
    }
    return w->probe_status;
}

static void wait_ready(struct crew *w, struct command *c)
{
    int64_t deadline = hb_now_ns() + (int64_t)c->seconds * 1000000000;
    int status = -1; /* of the last try that came to its end */

    while (w->status < 0 && ms_until(deadline) > 0) {
        int64_t again;
        int now = run_whole(w, c, deadline);

        if (now == 0) {
            return;
        }
        status = now > 0 ? now : status;
        again = hb_now_ns() + (int64_t)RETRY_MS * 1000000;
        while (w->status < 0 && ms_until(again) > 0) {
            attend(w, ms_until(again));
        }
    }
    if (w->status < 0) {
        show_log(c);
        say(c, status > 0 ? "did not succeed within %llu s (last status %d)"
                          : "did not come to an end within %llu s",
            (unsigned long long)c->seconds, status);
        w->status = EXIT_HOST;
    }
}

/* Its failure is told, and is not the rank's. */
static void stop(struct crew *w, struct command *c)
{
    int status = run_whole(w, c, hb_deadline_in_ms(STOP_MS));

    if (status == 0) {
        return;
    }
    show_log(c);
    if (status < 0) {
        say(c, "did not end within %d s, the time of a stop command",
            STOP_MS / 1000);
    } else {
        say(c, "ended with status %d", status);
    }
}

/* Each stop command has its time, and so has everything that is below this
 * process; orphans of what was started come here, too. */
static void tear_down(struct crew *w)
{
    int64_t deadline;

    w->stopping = 1;
    for (size_t i = 0; i < w->n; i++) {
        if (w->command[i].step == STOP) {
            stop(w, &w->command[i]);
        }
    }
    (void)hb_signal_descendants(SIGTERM, NULL);
    deadline = hb_deadline_in_ms(STOP_MS);
    for (reap(w); !w->alone && ms_until(deadline) > 0;) {
        attend(w, ms_until(deadline));
    }
    (void)hb_reap_all(NULL, 0, STOP_MS);
}

/* --- the command line ---------------------------------------------------- */

/* "N WORD...": cut out of argv by a NULL behind the last word. The word after
 * it is read before that. */
static int take_command(char **argv, int argc, int at, struct command *c)
{
    uint64_t n;

    if (at >= argc || hb_parse_u64(argv[at], 1, (uint64_t)argc, &n) < 0 ||
        (uint64_t)at + n >= (uint64_t)argc) {
        return -1;
    }
    c->argv = hb_xcalloc(n + 1, sizeof *c->argv);
    memcpy(c->argv, argv + at + 1, n * sizeof *c->argv);
    c->name = c->argv[0];
    open_log(c);
    return at + 1 + (int)n;
}

static int take_option(struct crew *w, char **argv, int argc, int at)
{
    static const char *const options[] = {
        [START] = "--start", [READY] = "--ready", [STOP] = "--stop"};
    struct command *c = &w->command[w->n];
    int step = START;

    while (step <= STOP && !hb_streq(argv[at], options[step])) {
        step++;
    }
    if (step > STOP || w->n == HB_RECIPE_COMMANDS_MAX) {
        return -1;
    }
    c->step = (enum step)step;
    if (step == READY &&
        (++at >= argc ||
         hb_parse_u64(argv[at], 0, UINT32_MAX, &c->seconds) < 0)) {
        return -1;
    }
    c->log[0] = c->log[1] = -1;
    w->n++;
    return take_command(argv, argc, at + 1, c);
}

static int read_line(struct crew *w, char **argv, int argc)
{
    int at = 1;

    while (at > 0 && at < argc && !hb_streq(argv[at], "--")) {
        at = take_option(w, argv, argc, at);
    }
    if (at < 0 || at >= argc) {
        return -1;
    }
    w->program.argv = argv + at + 1;
    w->program.name = argv[at + 1];
    w->program.log[0] = w->program.log[1] = -1;
    return 0;
}

/* What is passed on to a rank, whichever signal that is, is for the program,
 * which has its own way with it, and does not end this process. */
static int open_signals(struct crew *w)
{
    static const int taken[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    static const int own[] = {SIGTSTP, SIGTTIN, SIGTTOU, /* stops as well */
                              SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    sigset_t set;

    sigfillset(&set);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        sigdelset(&set, own[i]);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        sigaddset(&set, taken[i]);
    }
    w->signals = signalfd(-1, &set, SFD_CLOEXEC);
    return w->signals;
}

static void work(struct crew *w)
{
    for (size_t i = 0; i < w->n && w->status < 0; i++) {
        struct command *c = &w->command[i];

        if (c->step == START) {
            c->pid = run(w, c, 1);
        } else if (c->step == READY) {
            wait_ready(w, c);
        }
    }
    if (w->status < 0 && w->program.argv[0] != NULL) {
        w->began_ns = hb_now_ns();
        w->program.pid = run(w, &w->program, 0);
    }
    while (w->status < 0) {
        attend(w, -1);
    }
    tear_down(w);
}

static void release(struct crew *w)
{
    for (size_t i = 0; i < w->n; i++) {
        hb_fd_close(&w->command[i].log[0]);
        hb_fd_close(&w->command[i].log[1]);
        free(w->command[i].said);
        free(w->command[i].argv);
    }
    free(w);
}

/* A rank is its program, and ends as that has: by the same signal. */
static void end_by(int signo)
{
    static const struct rlimit no_core = {0, 0};
    sigset_t set;

    (void)setrlimit(RLIMIT_CORE, &no_core); /* the program's is written */
    signal(signo, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, signo);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(signo);
}

int crew_main(int argc, char **argv)
{
    struct crew *w = hb_xcalloc(1, sizeof *w);
    int status, killer;

    w->status = -1;
    w->missed = mmap(NULL, sizeof *w->missed, PROT_READ | PROT_WRITE,
                     /* cppcheck-suppress invalidFunctionArg */
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w->missed == MAP_FAILED) {
        fprintf(stderr, "hpcbootd: crew: %s\n", strerror(errno));
        release(w);
        return EXIT_HOST;
    }
    if (read_line(w, argv, argc) < 0 || open_signals(w) < 0 ||
        hb_become_subreaper(NULL) < 0) {
        fprintf(stderr, "hpcbootd: crew {--start N WORD... | --ready SECONDS "
                "N WORD... | --stop N WORD...}... -- [PROGRAM...]\n");
        release(w);
        return EXIT_USAGE;
    }
    work(w);
    status = w->status;
    killer = w->killer;
    hb_fd_close(&w->signals);
    release(w);
    if (killer > 0) {
        end_by(killer);
    }
    return status;
}
