/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The sweep by itself: what it finds, what it leaves alone, and that it comes
 * to an end whatever the processes do meanwhile. */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/proc/guard.h"
#include "tests/unit/proc_world.h"

/* A process that sweeps once it is told to, and ends with the number killed.
 * Strays are made meanwhile: only younger ones are looked at. */
static pid_t sweeper(const char *cookie)
{
    pid_t pid = fork();

    if (pid == 0) {
        while (!atomic_load(&world->flag)) {
            short_pause();
        }
        _exit(hb_reap_all(cookie, 0, PATIENCE_MS));
    }
    return pid;
}

static void expect_killed(pid_t sweeping, int killed)
{
    int status;

    atomic_store(&world->flag, 1);
    reap_status(sweeping, &status);
    assert_int_equal(WEXITSTATUS(status), killed);
    atomic_store(&world->flag, 0);
}

/* Environments are read in steps of 16384 bytes: around two such borders. */
static void the_cookie_is_found_anywhere_in_an_environment(void **state)
{
    static const size_t at[] = {16300, 16340, 16370, 16383, 16384, 16385,
                                32700, 32768, 100000};

    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        pid_t sweeping = sweeper(COOKIE);
        pid_t pid = stray(HB_COOKIE_VAR "=" COOKIE, at[i] - 1);

        expect_killed(sweeping, 1);
        end_stray(pid, SIGKILL);
    }
}

static void a_short_cookie_is_not_used(void **state)
{
    pid_t sweeping = sweeper("short");
    pid_t pid = stray(HB_COOKIE_VAR "=short", 0);

    expect_killed(sweeping, 0);
    end_stray(pid, SIGTERM);
}

/* A process that has a child of its own and sweeps strays only. */
static pid_t stray_sweeper(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        child(sleeper);
        while (!atomic_load(&world->flag)) {
            short_pause();
        }
        _exit(hb_reap_strays(COOKIE, PATIENCE_MS));
    }
    return pid;
}

static void who_is_no_agent_kills_strays_alone(void **state)
{
    pid_t sweeping, pid;
    int own;

    atomic_store(&world->expected, 1);
    sweeping = stray_sweeper();
    wait_entered();
    own = open_pid(world->pids[0]);
    pid = stray(HB_COOKIE_VAR "=" COOKIE, 0);
    expect_killed(sweeping, 1);
    end_stray(pid, SIGKILL);
    assert_false(gone(own, 0));
    close(own);
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

#define FAMILY 8

static int sweep_family(void)
{
    int killed;

    atomic_store(&world->expected, FAMILY);
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
    in_agent(sweep_family, FAMILY);
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
    n = hb_signal_descendants(SIGTERM, NULL);
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

#define WORLD_TEST(f) \
    cmocka_unit_test_setup_teardown(f, make_world, drop_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(the_cookie_is_found_anywhere_in_an_environment),
        WORLD_TEST(a_short_cookie_is_not_used),
        WORLD_TEST(who_is_no_agent_kills_strays_alone),
        WORLD_TEST(where_nothing_is_nothing_is_killed),
        WORLD_TEST(all_are_counted_and_reaped),
        WORLD_TEST(one_can_be_spared),
        WORLD_TEST(a_fork_bomb_is_outrun),
        WORLD_TEST(a_process_that_always_is_another_one_is_caught),
        WORLD_TEST(what_belongs_to_another_user_is_counted_not_awaited),
        WORLD_TEST(a_signal_reaches_every_descendant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
