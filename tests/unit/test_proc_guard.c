/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Nothing stays behind: real agents under real guards, with processes below
 * them that do what they can to stay, killed in every order.
 *
 * Each test makes a guard and an agent below this program. The agent makes
 * its processes, which enter themselves into a page shared with the test, and
 * says that it is ready; the test holds a pidfd of each, kills, and waits for
 * the pidfds. This program is a subreaper, so nothing can escape it. */
#include "config.h"

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
#include <stdio.h>
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
#include "bin/proc/proc.h"
#include "lib/base/str.h"

#define MAX_PIDS 64
#define PATIENCE_MS 60000 /* when a test has failed, not how long it takes */
#define COOKIE "0123456789abcdef0123456789abcdef"

/* Shared with all processes of a test. */
struct world {
    atomic_int n;
    pid_t pids[MAX_PIDS];
    atomic_int expected; /* so many enter themselves */
    atomic_int flag, count;
    pid_t agent;
};

static struct world *world;

/* ---- tools of the processes */

static void enter(void)
{
    int at = atomic_fetch_add(&world->n, 1);

    world->pids[at] = getpid();
}

static void __attribute__((noreturn)) stay(void)
{
    for (;;) {
        pause();
    }
}

static void short_pause(void)
{
    const struct timespec t = {.tv_nsec = 1000000};

    nanosleep(&t, NULL);
}

/* Until all that are expected have entered; the agent's last step. */
static void wait_entered(void)
{
    while (atomic_load(&world->n) < atomic_load(&world->expected)) {
        short_pause();
    }
}

static void child(void (*run)(void))
{
    if (fork() == 0) {
        run();
        _exit(0);
    }
}

static void sleeper(void)
{
    enter();
    stay();
}

static void stubborn(void)
{
    for (int signo = 1; signo < 32; signo++) {
        signal(signo, SIG_IGN);
    }
    sleeper();
}

static void stopped(void)
{
    enter();
    raise(SIGSTOP);
    stay();
}

static void session_sleeper(void)
{
    setsid();
    child(sleeper);
    sleeper();
}

/* A daemon as in the books: its parent is gone at once. */
static void daemon_way(void)
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
static void headless(void)
{
    pthread_t t;

    pthread_create(&t, NULL, thread_stays, NULL);
    pthread_exit(NULL);
}

/* ---- tools of the tests */

static int open_pid(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* 1 when the process has ended. */
static int gone(int pidfd, int timeout_ms)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};

    return poll(&p, 1, timeout_ms) == 1;
}

static void reap_status(pid_t pid, int *status)
{
    pid_t rc;

    do {
        rc = waitpid(pid, status, 0);
    } while (rc < 0 && errno == EINTR);
    assert_int_equal(rc, pid);
}

static int make_world(void **state)
{
    void *p = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    world = p;
    return p == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1ul) < 0;
}

/* Orphans come to this program; what a failed test has left is killed. */
static int drop_world(void **state)
{
    hb_reap_all(NULL, 0, PATIENCE_MS);
    return munmap(world, sizeof(*world));
}

/* A guard (the result) with an agent below it that runs `agent`. */
static pid_t start(void (*agent)(int watch_fd), int expected)
{
    pid_t guard;

    atomic_store(&world->expected, expected);
    guard = fork();
    if (guard == 0) {
        int watch_fd = -1;

        if (hb_guard_enter(&watch_fd, NULL) < 0) {
            _exit(99);
        }
        world->agent = getpid();
        agent(watch_fd);
        _exit(0);
    }
    return guard;
}

/* Pidfds of all that have entered. */
static void hold_all(int fds[MAX_PIDS])
{
    wait_entered();
    for (int i = 0; i < atomic_load(&world->expected); i++) {
        fds[i] = open_pid(world->pids[i]);
        assert_true(fds[i] >= 0);
    }
}

static void assert_all_gone(int fds[MAX_PIDS])
{
    for (int i = 0; i < atomic_load(&world->expected); i++) {
        assert_true(gone(fds[i], PATIENCE_MS));
        close(fds[i]);
    }
}

/* Runs `body` in a process that is a subreaper of its own; its exit status
 * is the test's verdict. */
static void in_agent(int (*body)(void), int verdict)
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

/* ---- orders of death */

#define FAMILY 10

static void make_family(void)
{
    child(sleeper);
    child(stubborn);
    child(stopped);
    child(session_sleeper); /* 2 */
    child(daemon_way);      /* 2 */
    child(headless);
    daemon_way(); /* 2, and the agent has a session already */
}

static void agent_with_family(int watch_fd)
{
    make_family();
    stay();
}

static void a_killed_agent_leaves_nothing(void **state)
{
    int fds[MAX_PIDS], status;
    pid_t guard = start(agent_with_family, FAMILY);

    hold_all(fds);
    kill(world->agent, SIGKILL);
    reap_status(guard, &status);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_all_gone(fds);
}

static void agent_that_watches(int watch_fd)
{
    struct pollfd p = {.fd = watch_fd, .events = POLLIN};

    make_family();
    while (poll(&p, 1, -1) < 1) {
    }
    hb_reap_all(NULL, 0, PATIENCE_MS);
    atomic_store(&world->flag, 1);
}

static void a_killed_guard_is_noticed_by_the_agent(void **state)
{
    int fds[MAX_PIDS], status, agent_fd;
    pid_t guard = start(agent_that_watches, FAMILY);

    hold_all(fds);
    agent_fd = open_pid(world->agent);
    kill(guard, SIGKILL);
    reap_status(guard, &status);
    assert_all_gone(fds);
    assert_true(gone(agent_fd, PATIENCE_MS));
    reap_status(world->agent, &status);
    assert_int_equal(status, 0);
    assert_int_equal(atomic_load(&world->flag), 1);
    close(agent_fd);
}

static void agent_with_ranks(int watch_fd)
{
    static const char *const argv[] = {"sleep", "1000", NULL};
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};
    const struct hb_proc_spec spec = {
        .file = "sleep", .argv = (char **)argv, .env = (char **)env,
        .stdio = {-1, -1, -1}, .umask = -1, .new_session = 1,
        .death_signal = SIGKILL,
    };

    for (int i = 0; i < 3; i++) {
        struct pollfd p = {.events = POLLIN};
        pid_t pid;

        if (hb_proc_spawn(&spec, &pid, &p.fd, NULL) < 0) {
            _exit(98);
        }
        poll(&p, 1, -1); /* until it runs */
        world->pids[atomic_fetch_add(&world->n, 1)] = pid;
    }
    stay();
}

static void both_killed_at_once_end_the_ranks(void **state)
{
    int fds[MAX_PIDS], status;
    pid_t guard = start(agent_with_ranks, 3);

    hold_all(fds);
    kill(guard, SIGSTOP); /* it cannot help any more */
    kill(world->agent, SIGKILL);
    kill(guard, SIGKILL);
    reap_status(guard, &status);
    assert_all_gone(fds);
}

/* ---- the guard's manners */

static void agent_that_exits(int watch_fd)
{
    _exit(7);
}

static void the_guard_ends_with_the_agents_status(void **state)
{
    int status;

    reap_status(start(agent_that_exits, 0), &status);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

static void on_term(int signo)
{
    _exit(15);
}

static void agent_that_hears_term(int watch_fd)
{
    signal(SIGTERM, on_term);
    enter();
    stay();
}

static void only_term_is_passed_on(void **state)
{
    static const int deaf[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTOU,
                               SIGTTIN, SIGUSR1, SIGPIPE};
    int status;
    pid_t guard = start(agent_that_hears_term, 1);

    wait_entered();
    for (size_t i = 0; i < sizeof(deaf) / sizeof(deaf[0]); i++) {
        kill(guard, deaf[i]);
    }
    kill(guard, SIGTERM);
    reap_status(guard, &status);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 15);
}

static void agent_that_stays(int watch_fd)
{
    sleeper();
}

/* The open descriptors of a process, as "LINK,LINK,...". */
static void list_files(pid_t pid, struct hb_str *o)
{
    for (int fd = 0; fd < 1024; fd++) {
        char *path = hb_xasprintf("/proc/%d/fd/%d", (int)pid, fd);
        char target[256];
        ssize_t n = readlink(path, target, sizeof(target) - 1);

        free(path);
        if (n > 0) {
            target[n] = '\0';
            target[strcspn(target, "[")] = '\0';
            hb_str_putf(o, "%s,", target);
        }
    }
}

static void the_guard_lets_go_of_all_files(void **state)
{
    int leak = open("/dev/zero", O_RDONLY), status, right = 0;
    pid_t guard = start(agent_that_stays, 1);

    wait_entered();
    for (int ms = 0; !right && ms < PATIENCE_MS; ms++) {
        struct hb_str files = HB_STR_INIT;

        list_files(guard, &files);
        right = hb_streq(hb_str_text(&files),
                         "/dev/null,/dev/null,/dev/null,pipe:,");
        hb_str_destroy(&files);
        short_pause();
    }
    assert_true(right);
    kill(guard, SIGTERM);
    reap_status(guard, &status);
    close(leak);
}

/* ---- the cookie */

/* A process that is nobody's descendant but this test's. */
static pid_t stray(const char *entry, size_t padding)
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

static void end_stray(pid_t pid, int expected_signal)
{
    int status;

    kill(pid, SIGTERM);
    reap_status(pid, &status);
    assert_int_equal(WTERMSIG(status), expected_signal);
}

static void agent_with_cookie(int watch_fd)
{
    hb_guard_set_cookie(COOKIE);
    sleeper();
}

static void a_stray_with_the_cookie_is_found(void **state)
{
    pid_t mine = stray(HB_COOKIE_VAR "=" COOKIE, 0);
    pid_t longer = stray(HB_COOKIE_VAR "=" COOKIE "0", 0);
    pid_t other = stray("X" HB_COOKIE_VAR "=" COOKIE, 0);
    pid_t guard = start(agent_with_cookie, 1);
    int status;

    wait_entered();
    kill(world->agent, SIGKILL);
    reap_status(guard, &status);
    end_stray(mine, SIGKILL);
    end_stray(longer, SIGTERM);
    end_stray(other, SIGTERM);
}

/* Environments are read in steps of 16384 bytes: around two such borders. */
static void the_cookie_is_found_anywhere_in_an_environment(void **state)
{
    static const size_t at[] = {16300, 16340, 16370, 16383, 16384, 16385,
                                32700, 32768, 100000};

    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        pid_t pid = stray(HB_COOKIE_VAR "=" COOKIE, at[i] - 1);
        struct hb_reap_report r;
        pid_t agent = fork();
        int status;

        if (agent == 0) {
            hb_reap(COOKIE, 0, PATIENCE_MS, &r);
            _exit(r.killed);
        }
        reap_status(agent, &status);
        assert_int_equal(WEXITSTATUS(status), 1);
        end_stray(pid, SIGKILL);
    }
}

static int sweep_with_short_cookie(void)
{
    return hb_reap_all("short", 0, 0);
}

static void a_short_cookie_is_not_used(void **state)
{
    pid_t pid = stray(HB_COOKIE_VAR "=short", 0);

    in_agent(sweep_with_short_cookie, 0);
    end_stray(pid, SIGTERM);
}

/* ---- sweeping */

static int sweep_nothing(void)
{
    return hb_reap_all(NULL, 0, PATIENCE_MS);
}

static void where_nothing_is_nothing_is_killed(void **state)
{
    in_agent(sweep_nothing, 0);
}

static int sweep_family(void)
{
    int killed;

    atomic_store(&world->expected, FAMILY - 2);
    child(sleeper);
    child(stubborn);
    child(stopped);
    child(session_sleeper);
    child(daemon_way);
    child(headless);
    wait_entered();
    killed = hb_reap_all(NULL, 0, PATIENCE_MS);
    return waitpid(-1, NULL, 0) < 0 && errno == ECHILD ? killed : 100;
}

static void all_are_counted_and_reaped(void **state)
{
    in_agent(sweep_family, FAMILY - 2);
}

static int sweep_but_one(void)
{
    int killed, status;
    pid_t spared;

    atomic_store(&world->expected, 3);
    child(sleeper);
    child(sleeper);
    spared = fork();
    if (spared == 0) {
        sleeper();
    }
    wait_entered();
    killed = hb_reap_all(NULL, spared, PATIENCE_MS);
    kill(spared, SIGTERM);
    waitpid(spared, &status, 0);
    return WTERMSIG(status) == SIGTERM ? killed : 100;
}

static void one_can_be_spared(void **state)
{
    in_agent(sweep_but_one, 2);
}

/* Its children make children; bounded, should a sweep fail. */
static void bomb(void)
{
    while (atomic_fetch_add(&world->count, 1) < 2000) {
        if (fork() == 0) {
            atomic_fetch_add(&world->n, 1);
        }
    }
    stay();
}

static int sweep_bomb(void)
{
    for (int i = 0; i < 2; i++) {
        child(bomb);
    }
    while (atomic_load(&world->n) < 20) {
        short_pause();
    }
    hb_reap_all(NULL, 0, PATIENCE_MS);
    return waitpid(-1, NULL, 0) < 0 && errno == ECHILD ? 0 : 1;
}

static void a_fork_bomb_is_outrun(void **state)
{
    in_agent(sweep_bomb, 0);
}

/* One process at any time, and never the same; not for ever, should a sweep
 * fail. */
static void hop(void)
{
    setsid();
    while (atomic_fetch_add(&world->count, 1) < 300000) {
        if (fork() != 0) {
            _exit(0);
        }
    }
}

static int sweep_hopper(void)
{
    struct hb_reap_report r;

    child(hop);
    while (atomic_load(&world->count) < 100) {
        short_pause();
    }
    hb_reap(NULL, 0, PATIENCE_MS, &r);
    return r.left == 0 && waitpid(-1, NULL, 0) < 0 && errno == ECHILD ? 0 : 1;
}

static void a_process_that_always_is_another_one_is_caught(void **state)
{
    in_agent(sweep_hopper, 0);
}

/* As root only: a child that this process, having become nobody, may not
 * signal. */
static int sweep_foreign(void)
{
    struct hb_reap_report r;

    atomic_store(&world->expected, 1);
    child(sleeper);
    wait_entered();
    if (setresuid(65534, 65534, 65534) < 0) {
        return 100;
    }
    hb_reap(NULL, 0, PATIENCE_MS, &r);
    return r.killed == 0 && r.refused == 1 && r.left == 0 ? 0 : 1;
}

static void what_belongs_to_another_user_is_counted_not_awaited(void **state)
{
    if (geteuid() != 0) {
        skip();
    }
    in_agent(sweep_foreign, 0);
    kill(world->pids[0], SIGKILL);
    reap_status(world->pids[0], &(int){0});
}

static int signal_family(void)
{
    int n;

    atomic_store(&world->expected, 3);
    child(session_sleeper);
    child(sleeper);
    wait_entered();
    n = hb_signal_descendants(SIGTERM, 0);
    for (int i = 0; i < 3; i++) {
        int status;

        if (waitpid(-1, &status, 0) <= 0 || WTERMSIG(status) != SIGTERM) {
            return 100;
        }
    }
    return n;
}

static void a_signal_reaches_every_descendant(void **state)
{
    in_agent(signal_family, 3);
}

#define GUARD_TEST(f) cmocka_unit_test_setup_teardown(f, make_world, drop_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GUARD_TEST(a_killed_agent_leaves_nothing),
        GUARD_TEST(a_killed_guard_is_noticed_by_the_agent),
        GUARD_TEST(both_killed_at_once_end_the_ranks),
        GUARD_TEST(the_guard_ends_with_the_agents_status),
        GUARD_TEST(only_term_is_passed_on),
        GUARD_TEST(the_guard_lets_go_of_all_files),
        GUARD_TEST(a_stray_with_the_cookie_is_found),
        GUARD_TEST(the_cookie_is_found_anywhere_in_an_environment),
        GUARD_TEST(a_short_cookie_is_not_used),
        GUARD_TEST(where_nothing_is_nothing_is_killed),
        GUARD_TEST(all_are_counted_and_reaped),
        GUARD_TEST(one_can_be_spared),
        GUARD_TEST(a_fork_bomb_is_outrun),
        GUARD_TEST(a_process_that_always_is_another_one_is_caught),
        GUARD_TEST(what_belongs_to_another_user_is_counted_not_awaited),
        GUARD_TEST(a_signal_reaches_every_descendant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
