/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* See proc_world.h. Processes tell of themselves through shared memory only:
 * whatever else they hold, they may be killed holding it. */
#include "config.h"

#include "tests/unit/proc_world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/proc/guard.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"

struct world *world;

/* ---- tools of the processes */

void enter(void)
{
    int at = atomic_fetch_add(&world->n, 1);

    world->pids[at] = getpid();
}

void stay(void)
{
    for (;;) {
        pause();
    }
}

void short_pause(void)
{
    const struct timespec t = {.tv_nsec = 1000000};

    nanosleep(&t, NULL);
}

void wait_entered(void)
{
    while (atomic_load(&world->n) < atomic_load(&world->expected)) {
        short_pause();
    }
}

void child(void (*run)(void))
{
    if (fork() == 0) {
        run();
        _exit(0);
    }
}

void sleeper(void)
{
    enter();
    stay();
}

void stubborn(void)
{
    for (int signo = 1; signo < 32; signo++) {
        signal(signo, SIG_IGN);
    }
    sleeper();
}

void stopped(void)
{
    enter();
    raise(SIGSTOP);
    stay();
}

void session_sleeper(void)
{
    setsid();
    child(sleeper);
    sleeper();
}

/* A daemon as in the books: its parent is gone at once. */
void daemon_way(void)
{
    setsid();
    child(session_sleeper);
}

static void *thread_stays(void *arg)
{
    enter();
    stay();
}

/* Its first thread has ended: /proc calls the process a zombie. */
void headless(void)
{
    pthread_t t;

    pthread_create(&t, NULL, thread_stays, NULL);
    pthread_exit(NULL);
}

/* ---- tools of the tests */

int open_pid(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int gone(int pidfd, int timeout_ms)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};

    return poll(&p, 1, timeout_ms) == 1;
}

/* One whose parent is ending at this moment is not this program's yet. */
void reap_status(pid_t pid, int *status)
{
    int64_t deadline = hb_deadline_in_ms(PATIENCE_MS);
    pid_t rc;

    while ((rc = waitpid(pid, status, 0)) < 0 &&
           (errno == EINTR ||
            (errno == ECHILD && hb_deadline_left_ms(deadline) > 0))) {
        usleep(1000);
    }
    assert_int_equal(rc, pid);
}

int make_world(void **state)
{
    void *p = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    world = p;
    return p == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1ul) < 0;
}

/* Orphans come to this program; what a failed test has left is killed. */
int drop_world(void **state)
{
    hb_reap_all(NULL, 0, PATIENCE_MS);
    return munmap(world, sizeof(*world));
}

void in_agent(int (*body)(void), int verdict)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        hb_become_subreaper(NULL);
        setsid();
        _exit(body());
    }
    reap_status(pid, &status);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), verdict);
}

pid_t stray(const char *entry, size_t padding)
{
    char *pad = hb_xcalloc(1, padding + 1);
    pid_t pid;
    int p[2];
    char c;

    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    memset(pad, 'P', padding);
    pid = fork();
    if (pid == 0) {
        char *env[] = {pad, (char *)entry, NULL};

        execle("/bin/sleep", "sleep", "1000", NULL,
               padding > 0 ? env : env + 1);
        _exit(1);
    }
    close(p[1]);
    assert_int_equal(read(p[0], &c, 1), 0); /* the exec is done */
    close(p[0]);
    free(pad);
    return pid;
}

void end_stray(pid_t pid, int expected_signal)
{
    int status;

    kill(pid, SIGTERM);
    reap_status(pid, &status);
    assert_int_equal(WTERMSIG(status), expected_signal);
}
