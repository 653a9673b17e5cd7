/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The two processes above an agent: the guard, and above it the keeper, which
 * is there for the case that guard and agent are killed together.
 *
 * Who cleans up after whom, for every order of SIGKILL:
 *
 *   agent          the kernel hands its children to the guard (the nearest
 *                  subreaper above), ranks that asked for it are killed by
 *                  their parent-death signal at once, the guard sweeps up the
 *                  rest and ends as the agent did
 *   guard          its end of a pipe closes; the agent sees that and sweeps.
 *                  The keeper gives it the time for that
 *   both at once   all below are the keeper's children then, and it sweeps
 *   keeper         its death is a signal to the guard, which ends the agent
 *   all three      parent-death signals end the ranks; what has left their
 *                  sessions is found by the next agent (stale.c)
 *   launcher       the agent sees the end of its link and leaves; when it does
 *                  not, being stopped or hung, the guard kills it
 *
 * The keeper has a name of its own in lists of processes, so that it is not
 * among those that somebody kills by the name of the agent.
 *
 * An agent may be stopped, as by a debugger; a guard would be of no use then,
 * and its keeper lets it go on at once.
 *
 * A process below may have made itself a session, a process group, another
 * parent, or be stopped; it stays a descendant. What has left the tree by way
 * of a process outside of it is found by the cookie in its environment.
 *
 * The guard allocates nothing, opens nothing and listens to nobody until the
 * agent has ended, so there is little that can go wrong with it. */
#include "config.h"

#include "bin/proc/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/proc/segments.h"
#include "bin/proc/stage.h"
#include "bin/proc/stale.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

/* What SIGKILL does not end sleeps in the kernel, on a dead file server or
 * device; after this nobody waits for it any longer. */
#define GUARD_SWEEP_MS 30000

/* Descriptors closed one by one where the kernel has no close_range (before
 * 5.9); an agent that has just been started has few. */
#define SWEEP_FDS 1024

/* How often the link is looked at, and after how many looks at a dead one an
 * agent that is still there will not leave by itself. */
#define LOOK_S 1
#define LOOKS_AT_DEAD 4

/* What an agent that has lost its guard may take to end its ranks and to tell
 * the launcher of it, before the keeper does the former. */
#define AGENT_ALONE_MS 5000
/* To the guard from the kernel, when the keeper is dead. */
#define KEEPER_GONE SIGUSR1

/* A shell's way to say that a signal ended something. */
#define EXIT_SIGNAL_BASE 128

/* A text that the agent leaves for its guard. It counts once `set` is not 0,
 * so what an agent has half written when it dies is never used. */
struct note {
    atomic_int set;
    char text[HB_COOKIE_MAX + 1];
};

/* Memory of all three. */
struct shared {
    _Atomic pid_t agent;
    struct note cookie, session_dir, shm_dir;
    _Atomic int64_t link_again_ns; /* when the link is looked at again */
    _Atomic int64_t segments_ns;   /* 0: no rank has been started */
    _Atomic int64_t apart_ns;      /* of the clocks, then */
};

static struct shared *shared;
static int link_fd = -1;
static char **own_words;

void hb_guard_words(char **argv)
{
    own_words = argv;
}

void hb_guard_watch_link(int fd)
{
    link_fd = fd;
}

void hb_guard_leave_link(int64_t ms)
{
    if (shared != NULL) {
        atomic_store(&shared->link_again_ns,
                     ms < 0 ? INT64_MAX : hb_deadline_in_ms(ms));
    }
}

static void write_note(struct note *n, const char *text, size_t len)
{
    atomic_store(&n->set, 0);
    memcpy(n->text, text, len);
    n->text[len] = '\0';
    atomic_store(&n->set, 1);
}

static const char *read_note(const struct note *n)
{
    return atomic_load(&n->set) ? n->text : NULL;
}

char *hb_guard_cookie_of(const char *job_cookie, const char *token)
{
    return hb_xasprintf("%s.%.16s", job_cookie, token);
}

void hb_guard_set_cookie(const char *cookie)
{
    size_t len = strlen(cookie);

    if (shared != NULL && len >= HB_COOKIE_MIN && len <= HB_COOKIE_MAX) {
        write_note(&shared->cookie, cookie, len);
    }
}

static void set_dir(struct note *n, const char *path)
{
    size_t len = strlen(path);

    _Static_assert(HB_SESSION_PATH_MAX <= HB_COOKIE_MAX, "a note's room");
    if (len <= HB_SESSION_PATH_MAX) {
        write_note(n, path, len);
    }
}

void hb_guard_set_session_dir(const char *path)
{
    if (shared != NULL) {
        set_dir(&shared->session_dir, path);
    }
}

void hb_guard_set_shm_dir(const char *path)
{
    if (shared != NULL) {
        set_dir(&shared->shm_dir, path);
    }
}

void hb_guard_set_segments(int64_t stamp_ns, int64_t apart_ns)
{
    if (shared != NULL) {
        atomic_store(&shared->apart_ns, apart_ns);
        atomic_store(&shared->segments_ns, stamp_ns);
    }
}

int hb_become_subreaper(struct hpcboot_error *err)
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1ul) < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             "cannot become a child subreaper");
    }
    return HPCBOOT_OK;
}

int hb_can_wait(struct hpcboot_error *err)
{
    pid_t nobodys = getpid();

    if (waitpid(nobodys, NULL, WNOHANG) < 0 && errno != ECHILD) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             "processes cannot be waited for (wait4)");
    }
    return HPCBOOT_OK;
}

/* ---- the guard */

/* Leaves `keep` to `last` and 0 to 2, which become /dev/null. */
static void let_go_of_files(int keep, int last)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = 0; fd < 3; fd++) {
        if (null >= 0) {
            dup2(null, fd);
        } else {
            close(fd);
        }
    }
    if (syscall(SYS_close_range, (unsigned)last + 1, ~0u, 0u) < 0
        || (keep > 3 && syscall(SYS_close_range, 3u, keep - 1u, 0u) < 0)) {
        for (int fd = 3; fd < SWEEP_FDS; fd++) {
            if (fd < keep || fd > last) {
                close(fd);
            }
        }
    }
}

/* Ends this process the way `status` says another one ended. */
static void __attribute__((noreturn)) end_like(int status)
{
    if (WIFSIGNALED(status)) {
        sigset_t none;

        /* The core, if there is one, is the agent's. */
        prctl(PR_SET_DUMPABLE, 0ul);
        sigemptyset(&none);
        signal(WTERMSIG(status), SIG_DFL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        raise(WTERMSIG(status));
        _exit(EXIT_SIGNAL_BASE + WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

static int link_is_dead(int fd)
{
    struct pollfd p = {.fd = fd}; /* asks for nothing but the end */

    return fd >= 0 && hb_now_ns() >= atomic_load(&shared->link_again_ns)
           && poll(&p, 1, 0) > 0;
}

/* Waits for a signal, not for ever where there is something to be looked at. */
static int next_signal(int looks)
{
    const struct timespec look = {.tv_sec = LOOK_S};
    sigset_t all;

    sigfillset(&all);
    return looks ? sigtimedwait(&all, NULL, &look) : sigwaitinfo(&all, NULL);
}

/* Waits for a child, reaps whoever else ends; passes TERM on. Everything else
 * is blocked and, being taken by sigwaitinfo, without effect. `keeper`: the
 * child is killed when that one is this process's parent no more; 0: this is
 * the keeper, and its child is not left stopped. */
static int wait_for(pid_t child, int link, pid_t keeper)
{
    int flags = WNOHANG | __WALL | (keeper == 0 ? WUNTRACED : 0);
    int status, signo, dead = 0;

    for (;;) {
        pid_t pid = waitpid(-1, &status, flags);

        if (pid == child && WIFSTOPPED(status)) {
            kill(child, SIGCONT);
        } else if (pid == child) {
            return status;
        }
        if (pid < 0 && errno == ECHILD) {
            /* Cannot be: it is a child. Nothing is left to guard. */
            return EXIT_SIGNAL_BASE << 8;
        }
        if (pid > 0) {
            continue;
        }
        signo = next_signal(link >= 0);
        if (signo == SIGTERM) {
            kill(child, SIGTERM);
        } else if (signo < 0 && errno == EAGAIN) {
            dead = link_is_dead(link) ? dead + 1 : 0;
        }
        if (dead >= LOOKS_AT_DEAD ||
            (signo == KEEPER_GONE && keeper > 0 && getppid() != keeper)) {
            kill(child, SIGKILL);
        }
    }
}

/* Puts the link behind the pipe that tells the agent of the guard; -1 where
 * that cannot be. */
static int keep_link(int alive_fd)
{
    return link_fd < 0 ? -1 : dup3(link_fd, alive_fd + 1, O_CLOEXEC);
}

/* Who ended well has swept: its last orphans are ours by now, and the walk
 * through /proc for the cookie can be spared. Among what is killed may be all
 * three of a job that a rank has begun: their directories are nobody's. */
static void sweep_after(int status)
{
    int64_t segments_ns = atomic_load(&shared->segments_ns);
    int killed = hb_reap_all(status != 0 ? read_note(&shared->cookie) : NULL,
                             0, GUARD_SWEEP_MS);
    struct hb_stale_report stale;

    hb_session_dir_remove(read_note(&shared->session_dir));
    hb_session_dir_remove(read_note(&shared->shm_dir));
    if (status != 0 && segments_ns > 0) {
        hb_segments_remove(hb_segments_since(segments_ns,
                                             atomic_load(&shared->apart_ns)));
    }
    if (killed > 0) {
        hb_stale_clear(NULL, 0, GUARD_SWEEP_MS, &stale);
    }
}

static void __attribute__((noreturn))
guard_run(pid_t keeper, pid_t agent, int alive_fd)
{
    int status, link;

    (void)setsid();
    (void)!chdir("/");
    link = keep_link(alive_fd);
    let_go_of_files(alive_fd, link < 0 ? alive_fd : link);
    status = wait_for(agent, link, keeper);
    hb_fd_close(&link);
    sweep_after(status);
    if (getppid() == keeper) {
        (void)kill(keeper, SIGCONT); /* it must see this, also stopped */
    }
    end_like(status);
}

/* ---- the keeper */

/* Lists of processes show the memory in which argv lies, word behind word: the
 * new name is written there. */
static void take_name(char **argv)
{
    char *end = argv != NULL ? argv[0] : NULL;
    size_t room;

    prctl(PR_SET_NAME, HB_KEEPER_NAME);
    for (char **word = argv; end != NULL && *word == end; word++) {
        end += strlen(end) + 1;
    }
    room = end != NULL ? (size_t)(end - argv[0]) : 0;
    if (room >= sizeof HB_KEEPER_NAME) {
        memset(argv[0], 0, room);
        memcpy(argv[0], HB_KEEPER_NAME, sizeof HB_KEEPER_NAME);
    }
}

/* An agent whose guard is gone has become a child of the keeper's. */
static void let_agent_end(pid_t agent)
{
    int64_t deadline = hb_deadline_in_ms(AGENT_ALONE_MS);

    while (agent > 0 && waitpid(agent, NULL, WNOHANG | __WALL) == 0 &&
           hb_deadline_left_ms(deadline) > 0) {
        (void)next_signal(1);
    }
}

static void __attribute__((noreturn)) keeper_run(pid_t guard)
{
    int status;

    (void)setsid(); /* fails for a group leader, which has a group anyway */
    (void)!chdir("/");
    let_go_of_files(0, 2);
    take_name(own_words);
    status = wait_for(guard, -1, 0);
    let_agent_end(atomic_load(&shared->agent));
    sweep_after(status);
    end_like(status);
}

/* ---- becoming three */

static int map_shared(struct hpcboot_error *err)
{
    void *p = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                   /* cppcheck-suppress invalidFunctionArg */
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             "cannot share memory with the guard");
    }
    shared = p;
    return HPCBOOT_OK;
}

/* A pipe clear of 0 to 2, which the starter may have left closed. */
static int open_watch(int fds[2], struct hpcboot_error *err)
{
    int low[2];
    int rc = hb_fd_pipe(low, err);

    if (rc < 0) {
        return rc;
    }
    for (int i = 0; i < 2; i++) {
        fds[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 3);
        if (fds[i] < 0) {
            rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                               "cannot watch the guard");
        }
        hb_fd_close(&low[i]);
    }
    return rc;
}

static pid_t fork_below(struct hpcboot_error *err)
{
    pid_t pid = fork();

    if (pid < 0) {
        hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                      "cannot fork the agent and its guard");
    }
    return pid;
}

/* Returns in the agent with 0, or in a guard that cannot make one with -1. */
static pid_t below_keeper(pid_t keeper, int alive_fd,
                          struct hpcboot_error *err)
{
    pid_t agent;

    prctl(PR_SET_PDEATHSIG, (unsigned long)KEEPER_GONE);
    if (getppid() != keeper) {
        hb_fail(err, HPCBOOT_ERR_SYSTEM, "the keeper, above the agent and its "
                "guard, has ended: was it killed?");
        return -1;
    }
    if (hb_become_subreaper(err) < 0) {
        return -1;
    }
    agent = fork_below(err);
    if (agent > 0) {
        guard_run(keeper, agent, alive_fd);
    }
    if (agent == 0) {
        atomic_store(&shared->agent, getpid());
        (void)setsid();
    }
    return agent;
}

int hb_guard_enter(int *watch_fd_out, struct hpcboot_error *err)
{
    int fds[2] = {-1, -1};
    sigset_t all, before;
    pid_t keeper = getpid(), guard, agent = -1;
    int rc = hb_become_subreaper(err);

    if (rc == HPCBOOT_OK) {
        rc = hb_can_wait(err);
    }
    if (rc == HPCBOOT_OK) {
        rc = map_shared(err);
    }
    if (rc == HPCBOOT_OK) {
        rc = open_watch(fds, err);
    }
    if (rc < 0) {
        goto out;
    }
    /* A starter that ignored SIGCHLD would have the kernel throw statuses
     * away. */
    signal(SIGCHLD, SIG_DFL);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    guard = fork_below(err);
    if (guard > 0) {
        keeper_run(guard);
    }
    if (guard == 0) {
        agent = below_keeper(keeper, fds[1], err);
    }
    rc = agent < 0 ? HPCBOOT_ERR_SYSTEM : hb_become_subreaper(err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (rc == HPCBOOT_OK) {
        *watch_fd_out = fds[0];
        fds[0] = -1;
    }
out:
    hb_fd_close(&fds[0]);
    hb_fd_close(&fds[1]);
    return rc;
}
