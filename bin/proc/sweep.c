/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Finds and kills what is left of a job.
 *
 * One pass reads the stat file of every process, marks those that descend
 * from this one, and looks for the cookie into the environment of the others
 * of this user that are younger than this one.
 * (/proc/PID/task/TID/children would be quicker, and is not there in every
 * kernel, nor reliable while processes fork.) As this process is a subreaper,
 * none of its descendants can leave by losing its parent.
 *
 * Processes may fork while they are looked at, so a sweep first stops what it
 * finds until a pass finds nobody new, and kills then: a stopped process does
 * not fork, and it still takes the place in the process limit that a fork
 * bomb would use again. Whole process groups are signalled as well, as far as
 * they lie in sessions that were made below this process: a process that
 * forks and exits all the time is always gone when its pid has been read, but
 * no fork slips past a signal to its group. Killing is repeated until a pass
 * finds nobody alive.
 *
 * Nobody else's process is hit: a pid is signalled only while it belongs to
 * the process that was looked at (pidfd, start time), a process of another
 * user that answers EPERM is counted and left, and where /proc shows the pids
 * of another name space nothing is done at all. Programs are never known by
 * their names. */
#include "config.h"

#include "bin/proc/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bin/proc/known.h"
#include "bin/proc/procfs.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

/* Passes that stop newcomers before killing starts. A bomb is not faster
 * than this for long; if it is, the killing passes go on. */
#define FREEZE_PASSES 32

/* Between killing passes: a killed process is usually gone in less. */
#define PAUSE_FIRST_US 200
#define PAUSE_MAX_US 20000

/* Environments are read in steps; the overlap holds a cookie entry. */
#define ENVIRON_STEP 16384
#define COOKIE_ENTRY_MAX (sizeof(HB_COOKIE_VAR) + HB_COOKIE_MAX + 2)
/* Looks, PAUSE_FIRST_US apart, at who shows no environment because it is
 * within execve: that takes some microseconds, more where a CPU is awaited. */
#define EXEC_LOOKS 50

enum kin { KIN_UNKNOWN, KIN_PENDING, KIN_NO, KIN_YES };

struct proc {
    struct hb_procfs_stat st;
    enum kin kin;
};

/* All processes at (nearly) one moment, ordered by pid. */
struct snapshot {
    struct proc *v;
    size_t n, cap;
};

struct sweep {
    const char *entry; /* "HPCBOOT_COOKIE=...", or NULL */
    pid_t self, session, sparing;
    int strays_only; /* descendants need the cookie like all others */
    uint64_t born; /* strays are not older; 0: start time of this process */
    struct hb_known stopped, killed, refused;
    int ending; /* of those killed, by themselves */
    struct hb_known groups; /* of this pass; pid is the group's number */
};

/* ---- looking */

static int by_pid(const void *a, const void *b)
{
    pid_t x = ((const struct hb_procfs_stat *)a)->pid;
    pid_t y = ((const struct hb_procfs_stat *)b)->pid;

    return (x > y) - (x < y);
}

/* /proc/self leads to this process: the pids in /proc mean what kill means. */
static int proc_is_ours(void)
{
    char link[32];
    ssize_t n = readlink("/proc/self", link, sizeof(link) - 1);

    if (n <= 0) {
        return 0;
    }
    link[n] = '\0';
    return strtol(link, NULL, 10) == (long)getpid();
}

/* When this process was started; 0 (all others are younger) if unknown. */
static uint64_t own_start(void)
{
    struct hb_procfs_stat st;

    return hb_procfs_read_stat("/proc", getpid(), &st) == 0 ? st.starttime : 0;
}

static void snapshot_take(struct snapshot *s)
{
    DIR *d = opendir("/proc");
    struct dirent *e;

    s->n = 0;
    while (d != NULL && (e = readdir(d)) != NULL) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

        if (s->n == s->cap) {
            s->cap = s->cap ? s->cap * 2 : 256;
            s->v = hb_xrealloc(s->v, s->cap * sizeof(*s->v));
        }
        if (pid > 0 && hb_procfs_read_stat("/proc", pid, &s->v[s->n].st) == 0) {
            s->v[s->n++].kin = KIN_UNKNOWN;
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    if (s->n > 0) {
        qsort(s->v, s->n, sizeof(*s->v), by_pid);
    }
}

static struct proc *snapshot_find(const struct snapshot *s, pid_t pid)
{
    struct proc key = {.st.pid = pid};

    if (s->n == 0) {
        return NULL;
    }
    return bsearch(&key, s->v, s->n, sizeof(*s->v), by_pid);
}

/* Climbs until somebody's kinship is known, then tells all on the way. A
 * loop, which a reused pid could make, ends at a pending one. */
static int descends(const struct snapshot *s, struct proc *p, pid_t self)
{
    struct proc *at = p;
    enum kin found = KIN_NO;

    while (at != NULL && at->kin == KIN_UNKNOWN) {
        at->kin = KIN_PENDING;
        if (at->st.ppid == self) {
            found = KIN_YES;
            break;
        }
        at = snapshot_find(s, at->st.ppid);
        if (at != NULL && at->kin == KIN_YES) {
            found = KIN_YES;
        }
    }
    for (at = p; at != NULL && at->kin == KIN_PENDING;
         at = snapshot_find(s, at->st.ppid)) {
        at->kin = found;
    }
    return p->kin == KIN_YES;
}

/* 1 when a NUL-terminated entry of data[len] is `entry`; `at_start` tells
 * that data begins with a whole entry. */
static int has_entry(const char *data, size_t len, const char *entry,
                     int at_start)
{
    size_t want = strlen(entry) + 1;
    const char *at = data;

    while ((at = memmem(at, len - (size_t)(at - data), entry, want)) != NULL) {
        if (at == data ? at_start : at[-1] == '\0') {
            return 1;
        }
        at++;
    }
    return 0;
}

static void pause_us(long us)
{
    const struct timespec t = {.tv_nsec = us * 1000};

    nanosleep(&t, NULL);
}

/* 1 when the environment behind fd has the entry, -1 when it is empty. */
static int environ_has(int fd, const char *entry)
{
    char data[COOKIE_ENTRY_MAX + ENVIRON_STEP];
    size_t kept = 0, want = strlen(entry) + 2;
    int first = 1, found = -1;
    ssize_t n;

    while (found <= 0 && (n = read(fd, data + kept, ENVIRON_STEP)) > 0) {
        size_t len = kept + (size_t)n;

        found = has_entry(data, len, entry, first);
        kept = len < want ? len : want;
        first = first && kept == len;
        memmove(data, data + len - kept, kept);
    }
    return found;
}

/* 1 when the process has a program and not yet its arguments: the kernel
 * fills new memory in steps. A kernel thread has no program. */
static int is_within_exec(pid_t pid)
{
    char path[32], c;
    int fd, empty;

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    if (readlink(path, &c, 1) < 1) {
        return 0;
    }
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    empty = fd >= 0 && read(fd, &c, 1) == 0;
    hb_fd_close(&fd);
    return empty;
}

/* As environ_has, of a process of this user; 0 of anybody else's. */
static int look_for(pid_t pid, const char *entry)
{
    char path[32];
    struct stat st;
    int fd, found = 0;

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid()) {
        found = environ_has(fd, entry);
    }
    hb_fd_close(&fd);
    return found;
}

/* 1 when the process is this user's and carries the cookie. */
static int carries(pid_t pid, const char *entry)
{
    int found = look_for(pid, entry), again = 1;

    for (int i = 0; found < 0 && again && i < EXEC_LOOKS; i++) {
        again = is_within_exec(pid); /* before the last look, not after it */
        if (again) {
            pause_us(PAUSE_FIRST_US);
        }
        found = look_for(pid, entry);
    }
    return found > 0;
}

/* ---- signalling */

static int still_it(const struct hb_procfs_stat *st)
{
    struct hb_procfs_stat now;

    return hb_procfs_read_stat("/proc", st->pid, &now) == 0
           && now.starttime == st->starttime;
}

/* Signals this very process. 0, or -1 with errno: EPERM, ESRCH. A child of
 * ours keeps its pid until we reap it; any other pid is pinned first. */
static int send_exact(const struct hb_procfs_stat *st, pid_t self, int signo)
{
    int fd, rc, saved;

    if (st->ppid == self) {
        return kill(st->pid, signo);
    }
    fd = (int)syscall(SYS_pidfd_open, st->pid, 0);
    if (fd < 0 && errno == ESRCH) {
        return -1;
    }
    if (!still_it(st)) {
        hb_fd_close(&fd);
        errno = ESRCH;
        return -1;
    }
    if (fd < 0) {
        return kill(st->pid, signo); /* a kernel without pidfds */
    }
    rc = (int)syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0);
    saved = errno;
    hb_fd_close(&fd);
    errno = saved;
    return rc;
}

/* A process whose first thread has ended shows 'Z' while others run on. */
static int is_dead(const struct hb_procfs_stat *st)
{
    return (st->state == 'Z' || st->state == 'X') && st->threads <= 1;
}

static int is_target(const struct sweep *w, const struct snapshot *s,
                     struct proc *p)
{
    if (p->st.pid == w->self || p->st.pid == w->sparing) {
        return 0;
    }
    return (!w->strays_only && descends(s, p, w->self))
           || (w->entry != NULL && p->st.starttime >= w->born
               && !is_dead(&p->st) && carries(p->st.pid, w->entry));
}

/* Remembers the group of a descendant that is not in this process's session:
 * sessions are only inherited, so such a one was made further down, and all
 * who are in it are descendants. */
static void note_group(struct sweep *w, const struct proc *p)
{
    const struct hb_procfs_stat group = {.pid = p->st.pgrp};

    if (p->kin == KIN_YES && p->st.session != w->session && p->st.pgrp > 1
        && (w->groups.n == 0
            || w->groups.v[w->groups.n - 1].pid != group.pid)) {
        hb_known_add(&w->groups, &group);
    }
}

/* Pids go round in a circle: a group seen in this pass is still that group,
 * or gone. The one to be spared would be hit by a signal to its group. */
static void signal_groups(struct sweep *w, int signo)
{
    pid_t spared = w->sparing > 0 ? getpgid(w->sparing) : 0;

    hb_known_settle(&w->groups);
    for (size_t i = 0; i < w->groups.n; i++) {
        if (w->groups.v[i].pid != spared) {
            (void)kill(-w->groups.v[i].pid, signo);
        }
    }
    w->groups.n = w->groups.sorted = 0;
}

/* A dead descendant. Its group may have living members that are never seen
 * alive, so it counts, once, unless it is known why it died. */
static int bury(struct sweep *w, const struct proc *p)
{
    if (p->kin != KIN_YES || p->st.ppid != w->self) {
        return 0;
    }
    note_group(w, p);
    (void)waitpid(p->st.pid, NULL, WNOHANG | __WALL);
    return !hb_known_has(&w->killed, &p->st);
}

/* Stops everybody who is not stopped yet. Returns how many were new. */
static int freeze_pass(struct sweep *w, struct snapshot *s)
{
    int fresh = 0;

    snapshot_take(s);
    for (size_t i = 0; i < s->n; i++) {
        struct proc *p = &s->v[i];

        if (hb_known_has(&w->stopped, &p->st) || !is_target(w, s, p)) {
            continue;
        }
        if (is_dead(&p->st)) {
            fresh += bury(w, p);
            continue;
        }
        hb_known_add(&w->stopped, &p->st);
        note_group(w, p);
        (void)send_exact(&p->st, w->self, SIGSTOP);
        fresh++;
    }
    signal_groups(w, SIGSTOP);
    hb_known_settle(&w->stopped);
    return fresh;
}

/* Kills everybody, reaps children. Returns how many are still there, or have
 * come and gone. */
static int kill_pass(struct sweep *w, struct snapshot *s)
{
    int left = 0;

    snapshot_take(s);
    for (size_t i = 0; i < s->n; i++) {
        struct proc *p = &s->v[i];

        if (hb_known_has(&w->refused, &p->st) || !is_target(w, s, p)) {
            continue;
        }
        if (is_dead(&p->st)) {
            left += bury(w, p);
            continue;
        }
        note_group(w, p);
        if (hb_known_has(&w->killed, &p->st)) {
            left++;
        } else if (send_exact(&p->st, w->self, SIGKILL) == 0) {
            hb_known_add(&w->killed, &p->st);
            w->ending += hb_known_ended(&w->stopped, &p->st);
            left++;
        } else if (errno == EPERM) {
            hb_known_add(&w->refused, &p->st);
        }
    }
    signal_groups(w, SIGKILL);
    hb_known_settle(&w->killed);
    hb_known_settle(&w->refused);
    return left;
}

/* No child means no descendant, as orphans become children of a subreaper. */
static int has_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

static void run_sweep(struct sweep *w, int timeout_ms,
                      struct hb_reap_report *out)
{
    int64_t deadline = hb_deadline_in_ms(timeout_ms);
    struct snapshot s = {0};
    long pause = PAUSE_FIRST_US;
    int passes = 0;

    while (passes < FREEZE_PASSES && freeze_pass(w, &s) > 0) {
        passes++;
    }
    while (passes > 0 && (out->left = kill_pass(w, &s)) > 0
           && hb_deadline_left_ms(deadline) > 0) {
        pause_us(pause);
        pause = pause * 2 < PAUSE_MAX_US ? pause * 2 : PAUSE_MAX_US;
    }
    out->killed = (int)w->killed.n - w->ending;
    out->refused = (int)w->refused.n;
    free(s.v);
}

/* Children that had ended before anybody looked. */
static void reap_zombies(pid_t sparing)
{
    siginfo_t info;

    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0
            || info.si_pid == 0 || info.si_pid == sparing
            || waitpid(info.si_pid, NULL, WNOHANG | __WALL) <= 0) {
            return;
        }
    }
}

/* Sweeps unless there is nobody to be found, and frees what that took. */
static void reap(struct sweep *w, const char *cookie, int timeout_ms,
                 struct hb_reap_report *out)
{
    size_t len = cookie != NULL ? strlen(cookie) : 0;
    char entry[COOKIE_ENTRY_MAX];

    memset(out, 0, sizeof(*out));
    w->self = getpid();
    w->session = getsid(0);
    if (len >= HB_COOKIE_MIN && len <= HB_COOKIE_MAX) {
        snprintf(entry, sizeof(entry), "%s=%s", HB_COOKIE_VAR, cookie);
        w->entry = entry;
        w->born = w->born > 0 ? w->born : own_start();
    }
    if (!proc_is_ours()) {
        out->blind = w->entry != NULL || has_children();
    } else if (w->entry != NULL || (!w->strays_only && has_children())) {
        run_sweep(w, timeout_ms, out);
    }
    free(w->stopped.v);
    free(w->killed.v);
    free(w->refused.v);
    free(w->groups.v);
}

void hb_reap(const char *cookie, pid_t sparing, int timeout_ms,
             struct hb_reap_report *out)
{
    struct sweep w = {.sparing = sparing};

    reap(&w, cookie, timeout_ms, out);
    reap_zombies(sparing);
}

int hb_reap_strays(const char *cookie, int timeout_ms)
{
    return hb_reap_strays_since(cookie, 0, timeout_ms);
}

int hb_reap_strays_since(const char *cookie, uint64_t born, int timeout_ms)
{
    struct sweep w = {.strays_only = 1, .born = born};
    struct hb_reap_report report;

    reap(&w, cookie, timeout_ms, &report);
    return report.killed;
}

int hb_reap_all(const char *cookie, pid_t sparing, int timeout_ms)
{
    struct hb_reap_report report;

    hb_reap(cookie, sparing, timeout_ms, &report);
    return report.killed;
}

int hb_signal_group(pid_t group, int signo, const struct hb_filters *sparing)
{
    struct snapshot s = {0};
    int n = 0;

    if (!proc_is_ours()) {
        return HPCBOOT_ERR_SYSTEM;
    }
    snapshot_take(&s);
    for (size_t i = 0; i < s.n; i++) {
        if (s.v[i].st.pgrp == group && !is_dead(&s.v[i].st) &&
            !hb_filters_has(sparing, s.v[i].st.pid)) {
            n += send_exact(&s.v[i].st, getpid(), signo) == 0;
        }
    }
    free(s.v);
    return n;
}

int hb_group_is_left(pid_t group)
{
    struct snapshot s = {0};
    pid_t self = getpid();
    int left = 0, anew = 0;

    if (!proc_is_ours()) {
        return kill(group, 0) < 0 && errno == ESRCH;
    }
    snapshot_take(&s);
    for (size_t i = 0; i < s.n; i++) {
        anew |= s.v[i].st.pid == group;
        left |= s.v[i].st.pgrp == group && descends(&s, &s.v[i], self);
    }
    free(s.v);
    return left && !anew;
}

int hb_signal_descendants(int signo, const struct hb_filters *sparing)
{
    struct sweep w = {.self = getpid()};
    struct snapshot s = {0};
    int n = 0;

    if (!has_children()) {
        return 0;
    }
    if (!proc_is_ours()) {
        return HPCBOOT_ERR_SYSTEM;
    }
    snapshot_take(&s);
    for (size_t i = 0; i < s.n; i++) {
        if (!is_dead(&s.v[i].st) && is_target(&w, &s, &s.v[i]) &&
            (sparing == NULL || !hb_filters_has(sparing, s.v[i].st.pid)) &&
            send_exact(&s.v[i].st, w.self, signo) == 0) {
            n++;
        }
    }
    free(s.v);
    return n;
}
