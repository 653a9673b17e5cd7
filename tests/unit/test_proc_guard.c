/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Nothing stays behind: real agents under real guards, killed in every order.
 *
 * Each test makes a guard and an agent below this program. The agent makes
 * its processes, which enter themselves into a page shared with the test, and
 * says that it is ready; the test holds a pidfd of each, kills, and waits for
 * the pidfds. */
#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/proc/guard.h"
#include "bin/proc/proc.h"
#include "bin/proc/stage.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "tests/unit/proc_world.h"

static atomic_int is_orphan;

/* In the place of the C library's. */
pid_t getppid(void)
{
    return atomic_load(&is_orphan) ? 1 : (pid_t)syscall(SYS_getppid);
}

static char own_words[] = "test_proc_guard\0" "and its words";

/* A keeper (the result), a guard and an agent that runs `agent`. */
static pid_t start(void (*agent)(int watch_fd), int expected)
{
    pid_t keeper;

    atomic_store(&world->expected, expected);
    keeper = fork();
    if (keeper == 0) {
        int watch_fd = -1;

        if (hb_guard_enter(&watch_fd, NULL) < 0) {
            _exit(99);
        }
        world->agent = getpid();
        world->guard = getppid();
        agent(watch_fd);
        _exit(0);
    }
    return keeper;
}

static void a_keeper_that_is_gone_at_once_is_named(void **state)
{
    int fds[2], status;
    char text[HPCBOOT_ERROR_TEXT_MAX] = "";
    pid_t keeper;

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    keeper = fork();
    if (keeper == 0) {
        struct hpcboot_error err = {0};
        int watch_fd = -1;

        atomic_store(&is_orphan, 1);
        if (hb_guard_enter(&watch_fd, &err) < 0) {
            hb_fd_write_all(fds[1], err.text, strlen(err.text), NULL);
        }
        _exit(0);
    }
    close(fds[1]);
    assert_true(read(fds[0], text, sizeof text - 1) > 0);
    close(fds[0]);
    assert_non_null(strstr(text, "the keeper"));
    assert_int_equal(waitpid(keeper, &status, 0), keeper);
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

static int far_end; /* of the link */

static void agent_on_a_link(int watch_fd)
{
    hb_fd_close(&far_end);
    make_family();
    stay();
}

static void a_stopped_agent_ends_some_time_after_its_link(void **state)
{
    int fds[MAX_PIDS], status, link[2];
    pid_t guard;

    assert_int_equal(hb_fd_socketpair(link, NULL), 0);
    far_end = link[0];
    hb_guard_watch_link(link[1]);
    guard = start(agent_on_a_link, FAMILY);
    hb_guard_watch_link(-1);
    hb_fd_close(&link[1]);
    hold_all(fds);
    kill(world->agent, SIGSTOP);
    hb_fd_close(&far_end);
    reap_status(guard, &status);
    assert_true(WIFSIGNALED(status));
    assert_all_gone(fds);
}

static void a_guard_that_is_stopped_goes_on(void **state)
{
    int fds[MAX_PIDS], status;
    pid_t keeper = start(agent_with_family, FAMILY);

    hold_all(fds);
    kill(world->guard, SIGSTOP);
    kill(world->agent, SIGKILL);
    reap_status(keeper, &status);
    assert_true(WIFSIGNALED(status));
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
    int fds[MAX_PIDS], status;
    pid_t keeper = start(agent_that_watches, FAMILY);

    hold_all(fds);
    kill(world->guard, SIGKILL);
    reap_status(keeper, &status);
    assert_true(WIFSIGNALED(status));
    assert_all_gone(fds);
    assert_int_equal(atomic_load(&world->flag), 1); /* it was given the time */
}

/* Stops them first, so that none can do anything about another's end. */
static void kill_all_of(const pid_t *pids, int n)
{
    for (int i = 0; i < n; i++) {
        kill(pids[i], SIGSTOP);
    }
    for (int i = 0; i < n; i++) {
        kill(pids[i], SIGKILL);
    }
}

static void guard_and_agent_killed_at_once_leave_nothing(void **state)
{
    int fds[MAX_PIDS], status;
    pid_t keeper = start(agent_with_family, FAMILY);

    hold_all(fds);
    kill_all_of((pid_t[]){world->guard, world->agent}, 2);
    reap_status(keeper, &status);
    assert_true(WIFSIGNALED(status));
    assert_all_gone(fds);
}

static void a_killed_keeper_is_the_end_of_all_below(void **state)
{
    int fds[MAX_PIDS], status;
    pid_t keeper = start(agent_with_family, FAMILY);

    hold_all(fds);
    kill(keeper, SIGKILL);
    reap_status(keeper, &status);
    assert_all_gone(fds);
    reap_status(world->guard, &status);
    assert_true(WIFSIGNALED(status));
}

static void keeper_and_agent_killed_at_once_leave_nothing(void **state)
{
    int fds[MAX_PIDS], status;
    pid_t keeper = start(agent_with_family, FAMILY);

    hold_all(fds);
    kill_all_of((pid_t[]){keeper, world->agent}, 2);
    reap_status(keeper, &status);
    assert_all_gone(fds);
    reap_status(world->guard, &status);
}

static void keeper_and_guard_killed_at_once_are_noticed(void **state)
{
    int fds[MAX_PIDS], status;
    pid_t keeper = start(agent_that_watches, FAMILY);

    hold_all(fds);
    kill_all_of((pid_t[]){keeper, world->guard}, 2);
    reap_status(keeper, &status);
    assert_all_gone(fds);
    reap_status(world->agent, &status);
    assert_int_equal(atomic_load(&world->flag), 1);
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

static void all_three_killed_at_once_end_the_ranks(void **state)
{
    int fds[MAX_PIDS], status;
    pid_t keeper = start(agent_with_ranks, 3);

    hold_all(fds);
    kill_all_of((pid_t[]){keeper, world->guard, world->agent}, 3);
    reap_status(keeper, &status);
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

static void wait_for_files(pid_t pid, const char *expected)
{
    int right = 0;

    for (int ms = 0; !right && ms < PATIENCE_MS; ms++) {
        struct hb_str files = HB_STR_INIT;

        list_files(pid, &files);
        right = hb_streq(hb_str_text(&files), expected);
        hb_str_destroy(&files);
        short_pause();
    }
    assert_true(right);
}

static void guard_and_keeper_let_go_of_all_files(void **state)
{
    int leak = open("/dev/zero", O_RDONLY), status;
    pid_t keeper = start(agent_that_stays, 1);

    wait_entered();
    wait_for_files(world->guard, "/dev/null,/dev/null,/dev/null,pipe:,");
    wait_for_files(keeper, "/dev/null,/dev/null,/dev/null,");
    kill(keeper, SIGTERM);
    reap_status(keeper, &status);
    close(leak);
}

static void agent_that_tells_of_words(int watch_fd)
{
    atomic_store(&world->flag, hb_streq(own_words, "test_proc_guard"));
    sleeper();
}

static int has_comm(pid_t pid, const char *comm)
{
    char *path = hb_xasprintf("/proc/%d/comm", (int)pid), *text = NULL;
    size_t len = 0;
    int same = hb_file_read(path, 64, &text, &len, NULL) == 0 &&
               hb_streq(text, comm);

    free(path);
    free(text);
    return same;
}

static void the_keeper_has_a_name_of_its_own(void **state)
{
    char *words[] = {own_words, own_words + sizeof "test_proc_guard", NULL};
    pid_t keeper;
    int status;

    hb_guard_words(words);
    keeper = start(agent_that_tells_of_words, 1);
    hb_guard_words(NULL);
    wait_entered();
    for (int ms = 0; !has_comm(keeper, "hb-keeper\n"); ms++) {
        assert_true(ms < PATIENCE_MS);
        short_pause();
    }
    assert_false(has_comm(world->guard, "hb-keeper\n"));
    assert_int_equal(atomic_load(&world->flag), 1); /* others' are as before */
    kill(keeper, SIGTERM);
    reap_status(keeper, &status);
}

static void agent_with_cookie(int watch_fd)
{
    hb_guard_set_cookie(COOKIE);
    sleeper();
}

static void a_stray_with_the_cookie_is_found(void **state)
{
    pid_t guard = start(agent_with_cookie, 1);
    pid_t mine = stray(HB_COOKIE_VAR "=" COOKIE, 0);
    pid_t longer = stray(HB_COOKIE_VAR "=" COOKIE "0", 0);
    pid_t other = stray("X" HB_COOKIE_VAR "=" COOKIE, 0);
    int status;

    wait_entered();
    kill(world->agent, SIGKILL);
    reap_status(guard, &status);
    end_stray(mine, SIGKILL);
    end_stray(longer, SIGTERM);
    end_stray(other, SIGTERM);
}

static char session_dir[HB_SESSION_PATH_MAX + 1];

static void agent_with_session_dir(int watch_fd)
{
    hb_guard_set_session_dir(session_dir);
    sleeper();
}

static void a_killed_agents_session_directory_is_removed(void **state)
{
    static const char *const places[] = {"/tmp"};
    char *path = NULL;
    pid_t guard;
    int status;

    assert_int_equal(hb_session_dir_create_in(places, 1, "guard", 0, &path,
                                              NULL), HPCBOOT_OK);
    memcpy(session_dir, path, strlen(path) + 1);
    guard = start(agent_with_session_dir, 1);
    wait_entered();
    kill(world->agent, SIGKILL);
    reap_status(guard, &status);
    assert_int_equal(access(path, F_OK), -1);
    free(path);
}

#define WORLD_TEST(f) \
    cmocka_unit_test_setup_teardown(f, make_world, drop_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_keeper_that_is_gone_at_once_is_named),
        WORLD_TEST(a_killed_agent_leaves_nothing),
        WORLD_TEST(a_killed_guard_is_noticed_by_the_agent),
        WORLD_TEST(a_stopped_agent_ends_some_time_after_its_link),
        WORLD_TEST(a_guard_that_is_stopped_goes_on),
        WORLD_TEST(guard_and_agent_killed_at_once_leave_nothing),
        WORLD_TEST(a_killed_keeper_is_the_end_of_all_below),
        WORLD_TEST(keeper_and_agent_killed_at_once_leave_nothing),
        WORLD_TEST(keeper_and_guard_killed_at_once_are_noticed),
        WORLD_TEST(all_three_killed_at_once_end_the_ranks),
        WORLD_TEST(the_guard_ends_with_the_agents_status),
        WORLD_TEST(only_term_is_passed_on),
        WORLD_TEST(guard_and_keeper_let_go_of_all_files),
        WORLD_TEST(the_keeper_has_a_name_of_its_own),
        WORLD_TEST(a_stray_with_the_cookie_is_found),
        WORLD_TEST(a_killed_agents_session_directory_is_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
