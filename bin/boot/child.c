/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Child processes that carry a link: started, watched, reaped.
 *
 * The end of a child is seen through a pidfd, which needs no SIGCHLD handler
 * and so does not meddle with the program's own; where the kernel has none, a
 * timer asks now and then. A child whose owner has lost interest stays on a
 * list until it has ended, so that it leaves no zombie while the program
 * lives. Only the watched pid is ever waited for. */
#include "config.h"

#include "bin/boot/child.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/proc/guard.h"
#include "bin/proc/proc.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define POLL_MS 50 /* without pidfd: a person does not notice this delay */
#define NAME_MAX_BYTES 64
/* A forked agent has its ranks to see to, a command the way to its host. */
#define SETTLE_MS 2000
#define SETTLE_KILL_MS 500 /* the killed go, unless the kernel is stuck */
#define SETTLE_LOOK_MS 1

extern char **environ;

struct hb_child {
    struct hb_child *next; /* of the released ones */
    pid_t pid;
    int pid_fd;
    struct event *end_event;
    struct event *term_event;
    int owned; /* not released yet */
    int may_end; /* released, and to be ended if it does not do so itself */
    hb_child_gone gone; /* or NULL */
    void *arg;
};

/* Keeps the released children reachable; they leave it when they end. */
static struct hb_child *released;

static void unlink_released(struct hb_child *child)
{
    for (struct hb_child **p = &released; *p; p = &(*p)->next) {
        if (*p == child) {
            *p = child->next;
            return;
        }
    }
}

static void destroy(struct hb_child *child)
{
    unlink_released(child);
    if (child->end_event) {
        event_free(child->end_event);
    }
    if (child->term_event) {
        event_free(child->term_event);
    }
    hb_fd_close(&child->pid_fd);
    free(child);
}

/* "exited with status 3", "was killed by signal 11 (SEGV)". */
static void put_status(int status, char *text, size_t size)
{
    if (WIFSIGNALED(status)) {
        int sig = WTERMSIG(status);
        const char *name = sigabbrev_np(sig);

        snprintf(text, size, "was killed by signal %d (%s)", sig,
                 name ? name : "?");
    } else {
        snprintf(text, size, "exited with status %d", WEXITSTATUS(status));
    }
}

/* The name the kernel knows the program by; it is there until the child has
 * been reaped. */
static void child_name(pid_t pid, char *name, size_t size)
{
    char path[64];
    char *text = NULL;
    size_t len = 0;

    snprintf(name, size, "process %d", (int)pid);
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    if (hb_file_read(path, NAME_MAX_BYTES, &text, &len, NULL) == 0 && len > 0) {
        text[strcspn(text, "\n")] = '\0';
        snprintf(name, size, "%s",
                 strcmp(text, HB_KEEPER_NAME) == 0 ? "the agent" : text);
    }
    free(text);
}

static void look_cb(evutil_socket_t fd, short what, void *arg)
{
    struct hb_child *child = arg;
    char how[NAME_MAX_BYTES * 2 + 64], name[NAME_MAX_BYTES], end[64];
    siginfo_t info = {0};
    int status = 0;

    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0
        && info.si_pid == 0) {
        return;
    }
    if (!child->owned) {
        (void)waitpid(child->pid, NULL, WNOHANG);
        destroy(child);
        return;
    }
    child_name(child->pid, name, sizeof name);
    if (waitpid(child->pid, &status, WNOHANG) == child->pid) {
        put_status(status, end, sizeof end);
    } else {
        snprintf(end, sizeof end, "has ended");
    }
    snprintf(how, sizeof how, "%s %s", name, end);
    event_del(child->end_event);
    if (child->gone) {
        child->gone(child->arg, how, WIFEXITED(status) ? WEXITSTATUS(status)
                                                       : 0);
    }
}

int hb_child_watch(struct hb_child **out, struct event_base *base, pid_t pid,
                   hb_child_gone gone, void *arg, struct hpcboot_error *err)
{
    static const struct timeval poll_time = {0, POLL_MS * 1000};
    struct hb_child *child = hb_xcalloc(1, sizeof *child);

    child->pid = pid;
    child->owned = 1;
    child->gone = gone;
    child->arg = arg;
    child->pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    child->end_event = event_new(base, child->pid_fd, EV_READ | EV_PERSIST,
                                 look_cb, child);
    if (!child->end_event
        || event_add(child->end_event,
                     child->pid_fd < 0 ? &poll_time : NULL) != 0) {
        destroy(child);
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for an event");
    }
    *out = child;
    return HPCBOOT_OK;
}

/* A command that is a script has children of its own. Its group bears its
 * number, and nobody else's as long as it has not been reaped. */
static void signal_group(const struct hb_child *child, int signo)
{
    if (kill(-child->pid, signo) < 0) {
        kill(child->pid, signo);
    }
}

/* One that is stopped must hear it, too: where the script has ended there is
 * nobody who would kill what it had started. */
static void end_group(const struct hb_child *child)
{
    signal_group(child, SIGTERM);
    signal_group(child, SIGCONT);
}

static void term_cb(evutil_socket_t fd, short what, void *arg)
{
    end_group(arg);
}

void hb_child_release(struct hb_child *child, int term_after_ms)
{
    struct timeval wait = {term_after_ms / 1000, term_after_ms % 1000 * 1000};

    if (!child) {
        return;
    }
    child->owned = 0;
    if (!event_pending(child->end_event, EV_READ | EV_TIMEOUT, NULL)) {
        destroy(child);
        return;
    }
    child->next = released;
    released = child;
    child->may_end = term_after_ms >= 0;
    if (!child->may_end) {
        (void)kill(child->pid, SIGCONT); /* or it never sees its stream's end */
    } else {
        child->term_event = evtimer_new(event_get_base(child->end_event),
                                        term_cb, child);
        if (child->term_event) {
            evtimer_add(child->term_event, &wait);
        }
    }
}

/* Reaps those that have ended, for so long or until none is left. */
static void reap_released(int64_t until_ns)
{
    for (;;) {
        struct hb_child *next;

        for (struct hb_child *c = released; c; c = next) {
            next = c->next;
            if (waitpid(c->pid, NULL, WNOHANG) != 0) {
                destroy(c);
            }
        }
        if (!released || hb_deadline_left_ms(until_ns) <= 0) {
            return;
        }
        (void)poll(NULL, 0, SETTLE_LOOK_MS);
    }
}

void hb_children_settle(void)
{
    for (struct hb_child *c = released; c; c = c->next) {
        if (c->may_end) {
            end_group(c);
        }
    }
    reap_released(hb_deadline_in_ms(SETTLE_MS));
    for (struct hb_child *c = released; c; c = c->next) {
        if (c->may_end) {
            signal_group(c, SIGKILL);
        }
    }
    reap_released(hb_deadline_in_ms(SETTLE_KILL_MS));
    while (released) {
        destroy(released);
    }
}

/* Until exec has happened or failed: a moment, since nothing but exec is left
 * for the child to do. */
static int wait_started(int error_fd, enum hb_proc_stage *stage,
                        int *sys_errno)
{
    struct pollfd fd = {.fd = error_fd, .events = POLLIN};
    int rc;

    do {
        while (poll(&fd, 1, -1) < 0 && errno == EINTR) {
        }
        rc = hb_proc_started(error_fd, stage, sys_errno);
    } while (rc == HPCBOOT_ERR_AGAIN);
    return rc;
}

int hb_child_spawn(const struct hb_child_spec *spec, pid_t *pid_out,
                   struct hpcboot_error *err)
{
    static const int keep_as[] = {HB_CHILD_KEPT_FD};
    struct hb_proc_spec proc = {
        .file = spec->argv[0], .argv = spec->argv,
        .env = spec->env ? spec->env : environ,
        .stdio = {spec->in, spec->out, spec->err}, .umask = -1,
        .keep_fds = &spec->keep, .keep_as = keep_as,
        .n_keep = spec->keep > 0, .new_session = 1,
        .death_signal = spec->death_signal, .waits = 1,
    };
    enum hb_proc_stage stage;
    int error_fd = -1, sys_errno = 0;
    pid_t pid = -1;
    int rc = hb_proc_spawn(&proc, &pid, &error_fd, err);

    if (rc < 0) {
        return rc;
    }
    if (wait_started(error_fd, &stage, &sys_errno) != 0) {
        hb_proc_explain(&proc, stage, sys_errno, err);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
        }
        rc = HPCBOOT_ERR_SPAWN;
    } else {
        *pid_out = pid;
    }
    hb_fd_close(&error_fd);
    return rc;
}
