/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* A former agent is found by its token and ended, stopped or not, and its guard
 * is waited for; nobody else is. The program plays both of them itself. */
#include "config.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/proc/former.h"

#define LIMIT_MS 60000 /* only a hang takes so long */
#define CLEANING_US 100000
#define TOKEN "0123456789abcdef0123456789abcdef"

/* The guard: starts the agent, says so, and cleans up after it. */
static int play(void)
{
    pid_t agent = fork();

    if (agent == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)raise(SIGSTOP);
        for (;;) {
            pause();
        }
    }
    if (waitpid(agent, NULL, WUNTRACED) != agent || write(1, "x", 1) != 1) {
        _exit(1);
    }
    (void)waitpid(agent, NULL, 0);
    usleep(CLEANING_US);
    return write(1, "y", 1) == 1 ? 0 : 1;
}

/* What it has to say comes from *out. */
static pid_t start(const char *option, const char *token, int *out)
{
    int ready[2];
    pid_t guard;
    char c;

    assert_int_equal(pipe(ready), 0);
    guard = fork();
    if (guard == 0) {
        dup2(ready[1], 1);
        close(ready[0]);
        close(ready[1]);
        execl("/proc/self/exe", "hpcbootd", "agent", option, token,
              (char *)NULL);
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    *out = ready[0];
    return guard;
}

static void an_agent_that_is_stopped_ends_and_its_guard(void **state)
{
    int out, status;
    pid_t guard = start("--token", TOKEN, &out);
    char c = 0;

    assert_int_equal(hb_former_end(TOKEN, LIMIT_MS), 1);
    assert_int_equal(fcntl(out, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(read(out, &c, 1), 1); /* it has cleaned up */
    close(out);
    assert_int_equal(waitpid(guard, &status, 0), guard);
    assert_int_equal(status, 0);
    assert_int_equal(hb_former_end(TOKEN, LIMIT_MS), 0);
}

static void others_are_left_alone(void **state)
{
    int out[2];
    pid_t another = start("--token", TOKEN "0", &out[0]);
    pid_t no_agent = start("-t", TOKEN, &out[1]);
    siginfo_t how = {0};

    assert_int_equal(hb_former_end(TOKEN, LIMIT_MS), 0);
    assert_int_equal(waitid(P_ALL, 0, &how, WEXITED | WNOHANG | WNOWAIT), 0);
    assert_int_equal(how.si_pid, 0);
    assert_int_equal(hb_former_end(TOKEN "0", LIMIT_MS), 1);
    kill(no_agent, SIGKILL);
    waitpid(another, NULL, 0);
    waitpid(no_agent, NULL, 0);
    close(out[0]);
    close(out[1]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_that_is_stopped_ends_and_its_guard),
        cmocka_unit_test(others_are_left_alone),
    };

    if (argc > 1 && strcmp(argv[1], "agent") == 0) {
        return play();
    }
    return cmocka_run_group_tests_name("proc_former", tests, NULL, NULL);
}
