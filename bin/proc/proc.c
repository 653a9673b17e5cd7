/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Starts one process.
 *
 * hb_proc_spawn prepares everything that needs memory or decisions (the paths
 * to try, the argument vector of a script, room for descriptor numbers), forks,
 * and the child walks through `steps`. The step that fails is written as
 * (stage, errno) into a close-on-exec pipe; a successful exec closes the pipe
 * without a word. What a failure means in plain language is explain.c.
 *
 * Why fork, and not vfork, unless the caller says that it waits for the exec
 * anyway: with vfork the parent stands still until the exec
 * is done, and an exec can hang on a dead file server; the parent is an event
 * loop that has heartbeats to send. A child that shares the parent's memory
 * without stopping it would have to outlive the parent's next changes to that
 * memory. Measured with 64 copies of `true`: 0.3 ms each both ways while the
 * parent is small, 0.3 ms more per 20 MB that the parent has touched. So the
 * parent is kept small.
 *
 * The parent may have threads (libpmix makes one), so the child calls only
 * async-signal-safe functions, and no handler of the parent's can run in it:
 * all signals are blocked across the fork. The programs along PATH are tried
 * by the child: a look at them by the parent could block, and relative
 * entries of PATH are relative to the child's directory. */
#include "config.h"

#include "bin/proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bin/proc/first.h"
#include "bin/proc/search.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

/* What a child ends with that never became the program; the pipe says why. */
#define EXIT_NOT_STARTED 127

/* A program that has just been written (preloaded, compiled) stays "busy"
 * while its writer's descriptor is open somewhere, at least in some other
 * child between its fork and its exec: for a moment. */
#define BUSY_TRIES 50
#define BUSY_PAUSE_NS 4000000L

/* How many bytes of a file decide whether /bin/sh may try it. */
#define SCRIPT_PEEK 256

/* Where the kernel cannot close a range (before 5.9), this many are closed;
 * descriptors of ours are close-on-exec anyway, those of libraries may not. */
#define SWEEP_FDS 1024

/* The kernel's signals, and the size of a set of them. */
#define LAST_SIGNAL 64
#define SIGNAL_SET_BYTES 8

/* Bytes of a CPU mask: 32768 CPUs, four times what Linux can be built for. */
#define MASK_BYTES 4096

struct report {
    int stage;
    int sys_errno;
};

/* What the child needs and may not allocate. */
struct plan {
    struct hb_strv paths;     /* programs to try, in order */
    const char **shell_argv;  /* /bin/sh, slot for the script, its arguments */
    int *copies;              /* [3 + n_keep + 1] see place_fds */
    int error_fd;             /* where the report goes */
    pid_t parent;
};

typedef int (*step)(const struct hb_proc_spec *spec, struct plan *plan);

static const char *const stage_names[] = {
    [HB_PROC_FORK] = "fork",     [HB_PROC_STDIO] = "stdio",
    [HB_PROC_SESSION] = "session", [HB_PROC_LIMITS] = "limits",
    [HB_PROC_BIND] = "bind",     [HB_PROC_MEMORY] = "memory",
    [HB_PROC_CHDIR] = "chdir",   [HB_PROC_EXEC] = "exec",
};

const char *hb_proc_stage_name(enum hb_proc_stage stage)
{
    size_t n = sizeof(stage_names) / sizeof(stage_names[0]);

    return (size_t)stage < n ? stage_names[stage] : "unknown stage";
}

/* ---- in the child: async-signal-safe calls only */

/* By the system call: the C library hides two signals that it uses itself,
 * and whoever started us may have left those ignored, too. All zeros is the
 * kernel's way to say SIG_DFL without flags. */
static void reset_signals(void)
{
    static const unsigned long dfl[8];

    for (int signo = 1; signo <= LAST_SIGNAL; signo++) {
        /* KILL and STOP say EINVAL: there is nothing to reset. */
        (void)syscall(SYS_rt_sigaction, signo, dfl, NULL, SIGNAL_SET_BYTES);
    }
}

static void unblock_signals(void)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_from_to(unsigned first, unsigned last)
{
    if (first > last || syscall(SYS_close_range, first, last, 0u) == 0) {
        return;
    }
    for (unsigned fd = first; fd <= last && fd < SWEEP_FDS; fd++) {
        close((int)fd);
    }
}

/* Closes all but 0, 1, 2 and keep[n], which it puts in order. They are closed
 * here, not marked: the exec of a file that this process itself still has
 * open for writing would never succeed. */
static void close_others(int *keep, size_t n)
{
    unsigned from = 3;

    for (size_t i = 1; i < n; i++) {
        for (size_t k = i; k > 0 && keep[k] < keep[k - 1]; k--) {
            int t = keep[k];

            keep[k] = keep[k - 1];
            keep[k - 1] = t;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (keep[i] >= (int)from) {
            close_from_to(from, (unsigned)keep[i] - 1);
            from = (unsigned)keep[i] + 1;
        }
    }
    close_from_to(from, ~0u);
}

static int source_of(const struct hb_proc_spec *spec, size_t i)
{
    return i < 3 ? spec->stdio[i] : spec->keep_fds[i - 3];
}

static int target_of(const struct hb_proc_spec *spec, size_t i)
{
    return i < 3 ? (int)i : spec->keep_as[i - 3];
}

/* A copy of a source at or above `floor`. */
static int copy_above(int fd, int is_stdio, int floor)
{
    int opened = -1, copy;

    if (fd < 0 && is_stdio) {
        fd = opened = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (fd < 0) {
            return -1; /* why is told, not what is wrong with -1 */
        }
    }
    copy = fcntl(fd, F_DUPFD_CLOEXEC, floor);
    hb_fd_close(&opened);
    return copy;
}

/* All sources, and the error pipe, are first copied above every target;
 * then no move can overwrite a descriptor that is still needed. In the end
 * only the targets and the error pipe are open. */
static int place_fds(const struct hb_proc_spec *spec, struct plan *plan)
{
    size_t n = 3 + spec->n_keep;
    int floor = 3;

    for (size_t i = 0; i < n; i++) {
        int target = target_of(spec, i);

        floor = target >= floor ? target + 1 : floor;
    }
    int moved = fcntl(plan->error_fd, F_DUPFD_CLOEXEC, floor);

    if (moved < 0) {
        return -1;
    }
    plan->error_fd = moved;
    for (size_t i = 0; i < n; i++) {
        plan->copies[i] = copy_above(source_of(spec, i), i < 3, floor);
        if (plan->copies[i] < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (dup2(plan->copies[i], target_of(spec, i)) < 0) {
            return -1;
        }
        plan->copies[i] = target_of(spec, i);
    }
    plan->copies[n] = plan->error_fd;
    close_others(plan->copies, n + 1);
    return 0;
}

/* The parent may have died before the kernel was told what to do then; its
 * child belongs to somebody else by now. */
static int enter_session(const struct hb_proc_spec *spec, struct plan *plan)
{
    if (spec->death_signal != 0) {
        if (prctl(PR_SET_PDEATHSIG, (unsigned long)spec->death_signal) < 0) {
            return -1;
        }
        if (getppid() != plan->parent) {
            _exit(EXIT_NOT_STARTED);
        }
    }
    if (spec->new_group && setpgid(0, 0) < 0) {
        return -1;
    }
    return spec->new_session && setsid() < 0 ? -1 : 0;
}

static int set_limits(const struct hb_proc_spec *spec, struct plan *plan)
{
    if (spec->umask >= 0) {
        umask((mode_t)spec->umask);
    }
    for (size_t i = 0; i < spec->n_limits; i++) {
        const struct hb_proc_limit *l = &spec->limits[i];

        if (setrlimit(l->resource, &l->value) < 0 && !l->optional) {
            return -1;
        }
    }
    return 0;
}

/* Both masks have the machine's byte order, so any order will do here. */
static int bit(const unsigned char *mask, size_t bytes, size_t cpu)
{
    return cpu / 8 < bytes && (mask[cpu / 8] >> (cpu % 8) & 1);
}

/* The kernel quietly drops what the cgroup's cpuset forbids, so what was set
 * is read back; less than was asked for is an error (ENXIO). */
static int bind_cpus(const struct hb_proc_spec *spec, struct plan *plan)
{
    static unsigned char got[MASK_BYTES] __attribute__((aligned(8)));
    const unsigned char *want = (const unsigned char *)spec->cpuset;

    if (spec->cpuset == NULL) {
        return 0;
    }
    if (sched_setaffinity(0, spec->cpuset_size, spec->cpuset) < 0
        || sched_getaffinity(0, sizeof(got), (cpu_set_t *)got) < 0) {
        return -1;
    }
    for (size_t cpu = 0; cpu < spec->cpuset_size * 8; cpu++) {
        if (bit(want, spec->cpuset_size, cpu) && !bit(got, sizeof(got), cpu)) {
            errno = ENXIO;
            return -1;
        }
    }
    return 0;
}

/* What is only preferred may be refused. */
static int bind_memory(const struct hb_proc_spec *spec, struct plan *plan)
{
    if (spec->mem_mode != 0 &&
        syscall(SYS_set_mempolicy, spec->mem_mode, spec->mem_nodes,
                spec->mem_bits) < 0 && spec->mem_mode == MPOL_BIND) {
        return -1;
    }
    return 0;
}

static int change_dir(const struct hb_proc_spec *spec, struct plan *plan)
{
    return spec->wdir != NULL ? chdir(spec->wdir) : 0;
}

/* What execvp hands to /bin/sh without a look: here not programs of another
 * machine, and nothing else with a NUL in its first line. */
static int is_script(const char *path)
{
    char head[SCRIPT_PEEK];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n;

    if (fd < 0) {
        return 0;
    }
    n = read(fd, head, sizeof(head));
    close(fd);
    for (ssize_t i = 0; i < n && head[i] != '\n'; i++) {
        if (head[i] == '\0') {
            return 0;
        }
    }
    return n >= 0;
}

/* Returns only when it failed, errno set. */
static void try_path(const char *path, const struct hb_proc_spec *spec,
                     struct plan *plan)
{
    const struct timespec pause = {.tv_nsec = BUSY_PAUSE_NS};

    for (int i = 0; i < BUSY_TRIES; i++) {
        execve(path, spec->argv, spec->env);
        if (errno != ETXTBSY) {
            break;
        }
        nanosleep(&pause, NULL);
        errno = ETXTBSY;
    }
    if (errno == ENOEXEC && is_script(path)) {
        plan->shell_argv[1] = path;
        execve("/bin/sh", (char *const *)plan->shell_argv, spec->env);
        errno = ENOEXEC;
    }
}

/* 1 when the search along PATH goes on after this errno, as execvp has it. */
static int search_goes_on(int sys_errno)
{
    return sys_errno == EACCES || sys_errno == ENOENT || sys_errno == ESTALE
           || sys_errno == ENOTDIR || sys_errno == ENODEV
           || sys_errno == ETIMEDOUT;
}

/* A directory of PATH that may not be searched says of no name whether it is
 * there; an image made for root often has one. */
static int is_hidden(const char *path, const struct hb_proc_spec *spec)
{
    return strchr(spec->file, '/') == NULL && access(path, F_OK) < 0;
}

static int exec_program(const struct hb_proc_spec *spec, struct plan *plan)
{
    int refused = 0;

    unblock_signals();
    errno = ENOENT;
    for (size_t i = 0; i < plan->paths.n; i++) {
        try_path(plan->paths.v[i], spec, plan);
        if (!search_goes_on(errno)) {
            return -1;
        }
        if (errno == EACCES) {
            errno = is_hidden(plan->paths.v[i], spec) ? ENOENT : EACCES;
        }
        refused |= errno == EACCES;
    }
    if (refused) {
        errno = EACCES; /* it is there, which says more than "not found" */
    }
    return -1;
}

static const struct {
    enum hb_proc_stage stage;
    step run;
} steps[] = {
    {HB_PROC_STDIO, place_fds},     {HB_PROC_SESSION, enter_session},
    {HB_PROC_LIMITS, set_limits},   {HB_PROC_BIND, bind_cpus},
    {HB_PROC_MEMORY, bind_memory},
    {HB_PROC_CHDIR, change_dir},    {HB_PROC_EXEC, exec_program},
};

static void __attribute__((noreturn))
run_child(const struct hb_proc_spec *spec, struct plan *plan)
{
    reset_signals();
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (steps[i].run(spec, plan) < 0) {
            struct report report = {(int)steps[i].stage, errno};
            ssize_t n = write(plan->error_fd, &report, sizeof(report));

            (void)n; /* nobody is left to be told */
            break;
        }
    }
    _exit(EXIT_NOT_STARTED);
}

/* ---- in the parent */

static int check_spec(const struct hb_proc_spec *spec,
                      struct hpcboot_error *err)
{
    if (spec->file == NULL || spec->argv == NULL || spec->argv[0] == NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "no program is named");
    }
    for (size_t i = 0; i < spec->n_keep; i++) {
        if (spec->keep_as[i] < 3) {
            return hb_fail(err, HPCBOOT_ERR_INTERNAL,
                           "descriptor %d is not free for a program to keep",
                           spec->keep_as[i]);
        }
    }
    return HPCBOOT_OK;
}

static void prepare(struct plan *plan, const struct hb_proc_spec *spec)
{
    size_t argc = 0;

    (spec->tries_wdir ? hb_search_program : hb_search_paths)(
        spec->file, spec->env, &plan->paths);
    while (spec->argv[argc] != NULL) {
        argc++;
    }
    plan->shell_argv = hb_xcalloc(argc + 2, sizeof(*plan->shell_argv));
    plan->shell_argv[0] = "/bin/sh";
    for (size_t i = 1; i < argc; i++) {
        plan->shell_argv[i + 1] = spec->argv[i];
    }
    plan->copies = hb_xcalloc(3 + spec->n_keep + 1, sizeof(*plan->copies));
    plan->parent = getpid();
}

static void release(struct plan *plan)
{
    hb_strv_destroy(&plan->paths);
    free(plan->shell_argv);
    free(plan->copies);
}

static pid_t fork_child(const struct hb_proc_spec *spec, struct plan *plan)
{
    sigset_t all, before;
    pid_t pid;
    int saved;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = spec->waits ? vfork() : fork();
    if (pid == 0) {
        run_child(spec, plan);
    }
    saved = errno;
    if (pid > 0 && spec->new_group) {
        (void)setpgid(pid, pid); /* the child may not have come to it yet */
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return pid;
}

int hb_proc_spawn(const struct hb_proc_spec *spec, pid_t *pid_out,
                  int *error_fd_out, struct hpcboot_error *err)
{
    struct plan plan = {.paths = HB_STRV_INIT};
    int fds[2] = {-1, -1};
    pid_t pid;
    int rc = check_spec(spec, err);

    if (rc < 0) {
        return rc;
    }
    prepare(&plan, spec);
    rc = hb_fd_pipe(fds, err);
    if (rc < 0) {
        goto out;
    }
    rc = hb_fd_set_nonblock(fds[0], 1, err);
    if (rc < 0) {
        goto out;
    }
    plan.error_fd = fds[1];
    pid = fork_child(spec, &plan);
    if (pid < 0) {
        hb_proc_explain(spec, HB_PROC_FORK, errno, err);
        rc = HPCBOOT_ERR_SPAWN;
        goto out;
    }
    hb_first_own(pid);
    *pid_out = pid;
    *error_fd_out = fds[0];
    fds[0] = -1;
out:
    hb_fd_close(&fds[0]);
    hb_fd_close(&fds[1]);
    release(&plan);
    return rc;
}

int hb_proc_started(int error_fd, enum hb_proc_stage *stage_out, int *errno_out)
{
    struct report report;
    ssize_t n;

    do {
        n = read(error_fd, &report, sizeof(report));
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) {
        return HPCBOOT_ERR_AGAIN;
    }
    if (n != (ssize_t)sizeof(report)) {
        return 0;
    }
    *stage_out = (enum hb_proc_stage)report.stage;
    *errno_out = report.sys_errno;
    return 1;
}
