/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Starting real programs: what they get, where they are found, and that they
 * die with their parent. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/proc/proc.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "tests/unit/proc_run.h"

/* ---- what a program gets */

static void arguments_pass_byte_for_byte(void **state)
{
    struct hb_proc_spec s = spec_of(LIST("printf", "[%s]", "", "a b\n", "*",
                                         "\xff\x01", "$X"));

    expect_output(&s, "[][a b\n][*][\xff\x01][$X]");
}

static void the_environment_is_exactly_what_was_given(void **state)
{
    struct hb_proc_spec s = spec_of(LIST("env", "-0"));

    s.env = LIST("PATH=/usr/bin:/bin", "NL=a\nb", "B=\xff");
    struct result r = run(&s);

    assert_memory_equal(r.output, "PATH=/usr/bin:/bin\0NL=a\nb\0B=\xff", 30);
    free(r.output);
}

static void exit_status_and_signals_are_the_programs(void **state)
{
    struct hb_proc_spec s = spec_of(LIST("sh", "-c", "exit 3"));
    struct result r = run(&s);

    assert_int_equal(WEXITSTATUS(r.status), 3);
    free(r.output);
    s = spec_of(LIST("sh", "-c", "kill -9 $$"));
    r = run(&s);
    assert_int_equal(WTERMSIG(r.status), SIGKILL);
    free(r.output);
}

static void descriptors_that_change_places_do_not_clobber(void **state)
{
    int a[2], b[2];
    char *got_a, *got_b;

    assert_int_equal(hb_fd_pipe(a, NULL), HPCBOOT_OK);
    assert_int_equal(hb_fd_pipe(b, NULL), HPCBOOT_OK);
    int keep[] = {a[1], b[1]}, as[] = {b[1], a[1]};
    char *script = hb_xasprintf("echo to-b >&%d; echo to-a >&%d", a[1], b[1]);
    struct hb_proc_spec s = spec_of(LIST("bash", "-c", script));

    s.keep_fds = keep;
    s.keep_as = as;
    s.n_keep = 2;
    expect_output(&s, "");
    hb_fd_close(&a[1]);
    hb_fd_close(&b[1]);
    got_a = read_all(a[0]);
    got_b = read_all(b[0]);
    assert_string_equal(got_a, "to-a\n");
    assert_string_equal(got_b, "to-b\n");
    hb_fd_close(&a[0]);
    hb_fd_close(&b[0]);
    free(got_a);
    free(got_b);
    free(script);
}

/* The error pipe's own number is the place of a kept descriptor: the lowest
 * free ones, whatever they are here. */
static void a_kept_place_may_be_the_error_pipes_own(void **state)
{
    int p[2], as[12], keep[12];
    struct hb_proc_spec s = spec_of(LIST("true"));

    assert_int_equal(hb_fd_pipe(p, NULL), HPCBOOT_OK);
    for (int i = 0; i < 12; i++) {
        as[i] = 3 + i;
        keep[i] = p[1];
    }
    s.keep_fds = keep;
    s.keep_as = as;
    s.n_keep = 12;
    expect_output(&s, "");
    s = spec_of(LIST("/nonexistent/program"));
    s.keep_fds = keep;
    s.keep_as = as;
    s.n_keep = 12;
    expect_failure(&s, HB_PROC_EXEC, ENOENT, "no such file");
    hb_fd_close(&p[0]);
    hb_fd_close(&p[1]);
}

static void standard_streams_may_be_swapped(void **state)
{
    int in[2];
    struct hb_proc_spec s = spec_of(LIST("sh", "-c", "cat; echo err >&2"));

    assert_int_equal(hb_fd_pipe(in, NULL), HPCBOOT_OK);
    assert_int_equal(hb_fd_write_all(in[1], "hi\n", 3, NULL), HPCBOOT_OK);
    hb_fd_close(&in[1]);
    s.stdio[0] = in[0];
    expect_output(&s, "hi\n");
    hb_fd_close(&in[0]);
}

static void nothing_else_is_inherited(void **state)
{
    int leak = open("/dev/null", O_RDONLY); /* not close-on-exec */
    struct hb_proc_spec s = spec_of(
        LIST("sh", "-c", "i=3; while [ $i -lt 100 ]; do "
             "! test -e /proc/$$/fd/$i || echo $i; i=$((i + 1)); done"));
    int high = fcntl(leak, F_DUPFD, 90);

    assert_true(high >= 90);
    expect_output(&s, "");
    close(high);
    close(leak);
}

static void missing_streams_are_dev_null(void **state)
{
    struct hb_proc_spec s = spec_of(
        LIST("sh", "-c", "cat; readlink /proc/$$/fd/0 /proc/$$/fd/2"));

    expect_output(&s, "/dev/null\n/dev/null\n");
}

/* One of the two that the C library keeps to itself. */
static void ignore_hidden_signal(int on)
{
    const unsigned long action[8] = {on ? (unsigned long)SIG_IGN : 0};

    syscall(SYS_rt_sigaction, 33, action, NULL, 8);
}

static void signal_state_is_the_default(void **state)
{
    /* 32 and 33 are the C library's own: some of its calls leave them ignored
     * in what they start (make among it), and nobody can change that. */
    struct hb_proc_spec s = spec_of(
        LIST("sed", "-nE", "s/^(SigIgn:\t0000000)18/\\100/; "
             "/^Sig(Blk|Ign):/p", "/proc/self/status"));
    sigset_t usr1, before;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, &before);
    signal(SIGPIPE, SIG_IGN);
    ignore_hidden_signal(1);
    expect_output(&s, "SigBlk:\t0000000000000000\n"
                  "SigIgn:\t0000000000000000\n");
    ignore_hidden_signal(0);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void a_new_session_has_its_own_group(void **state)
{
    struct hb_proc_spec s = spec_of(
        LIST("sh", "-c", "set -- $(cut -d' ' -f5,6 /proc/$$/stat); "
             "test $1 = $$ && test $2 = $$ && echo own"));

    s.new_session = 1;
    expect_output(&s, "own\n");
}

/* Whoever signals or looks at what was started need not know how far it is.
 * A child may be quick, so it takes several to see one that is not. */
static void a_new_group_is_there_at_once(void **state)
{
    struct hb_proc_spec s = spec_of(LIST("true"));

    s.new_group = 1;
    for (int i = 0; i < 100; i++) {
        pid_t pid = 0, group;
        int error_fd = -1, status;

        assert_int_equal(hb_proc_spawn(&s, &pid, &error_fd, NULL), 0);
        group = getpgid(pid);
        hb_fd_close(&error_fd);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(group, pid);
        assert_int_equal(status, 0);
    }
}

static void umask_and_directory_are_set(void **state)
{
    struct hb_proc_spec s = spec_of(LIST("sh", "-c", "umask; pwd"));

    s.umask = 027;
    s.wdir = "/usr";
    expect_output(&s, "0027\n/usr\n");
}

static void limits_are_set_and_optional_ones_may_fail(void **state)
{
    struct hb_proc_limit limits[] = {
        {RLIMIT_NOFILE, {100, 200}, 0},
        {RLIMIT_NOFILE, {1000, RLIM_INFINITY}, 1}, /* above fs.nr_open */
    };
    struct hb_proc_spec s = spec_of(
        LIST("bash", "-c", "ulimit -n; ulimit -Hn"));

    s.limits = limits;
    s.n_limits = 2;
    expect_output(&s, "100\n200\n");
    limits[1].optional = 0;
    s.stdio[1] = -1;
    expect_failure(&s, HB_PROC_LIMITS, EPERM, "privileges");
}

static void a_program_is_bound_to_its_cpus(void **state)
{
    cpu_set_t mine, one;
    int cpu = 0;
    struct hb_proc_spec s = spec_of(
        LIST("grep", "Cpus_allowed_list", "/proc/self/status"));

    assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
    while (!CPU_ISSET(cpu, &mine)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    s.cpuset = &one;
    s.cpuset_size = sizeof(one);
    char *want = hb_xasprintf("Cpus_allowed_list:\t%d\n", cpu);

    expect_output(&s, want);
    free(want);
}

static void cpus_that_are_not_there_are_an_error(void **state)
{
    cpu_set_t mine, more;
    struct hb_proc_spec s = spec_of(LIST("true"));

    assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
    more = mine;
    CPU_SET(CPU_SETSIZE - 1, &more);
    s.cpuset = &more;
    s.cpuset_size = sizeof(more);
    expect_failure(&s, HB_PROC_BIND, ENXIO, "--bind-to none");
}

static void memory_comes_from_where_it_is_bound_to(void **state)
{
    struct hb_proc_spec s = spec_of(LIST("sh", "-c", "grep -o -m 1 bind:0 "
                                         "/proc/self/numa_maps"));
    unsigned long nodes = 1;

    if (access("/proc/self/numa_maps", R_OK) != 0 ||
        syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0) != 0) {
        skip();
    }
    s.mem_mode = MPOL_BIND;
    s.mem_nodes = &nodes;
    s.mem_bits = sizeof(nodes) * 8;
    expect_output(&s, "bind:0\n");
}

static void memory_that_may_not_be_had_is_an_error_only_when_bound(void **state)
{
    struct hb_proc_spec s = spec_of(LIST("echo", "ran"));
    unsigned long nodes = 1ul << 62; /* no machine here has so many */

    if (syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0) != 0) {
        skip();
    }
    s.mem_nodes = &nodes;
    s.mem_bits = sizeof(nodes) * 8;
    s.mem_mode = MPOL_PREFERRED;
    expect_output(&s, "ran\n");
    s.mem_mode = MPOL_BIND;
    expect_failure(&s, HB_PROC_MEMORY, EINVAL, "--mem-bind preferred");
}

/* ---- finding the program */

static void path_is_the_childs_and_seen_from_its_directory(void **state)
{
    char *bin = hb_xasprintf("%s/bin", dir);
    char *tool;
    struct hb_proc_spec s = spec_of(LIST("my-tool", "x"));

    mkdir(bin, 0700);
    tool = put_file("bin/my-tool", "#!/bin/sh\necho tool $1\n", 23, 0700);
    s.wdir = dir;
    s.env = LIST("PATH=/nonexistent::bin:/usr/bin");
    expect_output(&s, "tool x\n");
    free(bin);
    free(tool);
}

static void a_script_without_a_first_line_runs_in_sh(void **state)
{
    char *path = put_file("script", "echo plain \"$1\" $0\n", 19, 0700);
    struct hb_proc_spec s = spec_of(LIST(path, "a  b"));
    char *want = hb_xasprintf("plain a  b %s\n", path);

    expect_output(&s, want);
    free(want);
    free(path);
}

static void a_file_that_is_being_written_is_waited_for(void **state)
{
    char *path = put_file("busy", "#!/bin/sh\necho ran\n", 19, 0700);
    int writer = open(path, O_WRONLY | O_CLOEXEC);
    struct hb_proc_spec s = spec_of(LIST(path));
    int error_fd = -1, no = 0, status;
    enum hb_proc_stage stage = HB_PROC_FORK;
    pid_t pid = 0;

    assert_int_equal(hb_proc_spawn(&s, &pid, &error_fd, NULL), HPCBOOT_OK);
    close(writer);
    assert_int_equal(wait_started(error_fd, &stage, &no), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    hb_fd_close(&error_fd);
    free(path);
}

static void a_file_that_stays_busy_is_an_error(void **state)
{
    char *path = put_file("busy", "#!/bin/sh\necho ran\n", 19, 0700);
    int writer = open(path, O_WRONLY | O_CLOEXEC);
    struct hb_proc_spec s = spec_of(LIST(path));

    expect_failure(&s, HB_PROC_EXEC, ETXTBSY, "open for writing");
    close(writer);
    free(path);
}

/* ---- death of the parent */

/* A child of this test, a subreaper, spawns a sleeper and dies by SIGKILL;
 * the sleeper comes to the test and must have died of its signal. */
static void a_program_dies_with_its_parent(void **state)
{
    int out[2], status;
    pid_t middle, sleeper = 0;

    assert_int_equal(hb_fd_pipe(out, NULL), HPCBOOT_OK);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1ul), 0);
    middle = fork();
    if (middle == 0) {
        struct hb_proc_spec s = spec_of(LIST("sleep", "1000"));
        enum hb_proc_stage stage;
        int fd = -1, no;

        s.death_signal = SIGKILL;
        s.new_session = 1;
        if (hb_proc_spawn(&s, &sleeper, &fd, NULL) < 0
            || wait_started(fd, &stage, &no) != 0
            || write(out[1], &sleeper, sizeof(sleeper)) < 0) {
            _exit(1);
        }
        raise(SIGKILL);
    }
    hb_fd_close(&out[1]);
    assert_int_equal(read(out[0], &sleeper, sizeof(sleeper)), sizeof(sleeper));
    assert_int_equal(waitpid(middle, &status, 0), middle);
    assert_int_equal(waitpid(sleeper, &status, 0), sleeper);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    hb_fd_close(&out[0]);
    prctl(PR_SET_CHILD_SUBREAPER, 0ul);
}

#define RUN_TEST(f) \
    cmocka_unit_test_setup_teardown(f, make_dir, drop_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN_TEST(arguments_pass_byte_for_byte),
        RUN_TEST(the_environment_is_exactly_what_was_given),
        RUN_TEST(exit_status_and_signals_are_the_programs),
        RUN_TEST(descriptors_that_change_places_do_not_clobber),
        RUN_TEST(a_kept_place_may_be_the_error_pipes_own),
        RUN_TEST(standard_streams_may_be_swapped),
        RUN_TEST(nothing_else_is_inherited),
        RUN_TEST(missing_streams_are_dev_null),
        RUN_TEST(signal_state_is_the_default),
        RUN_TEST(a_new_session_has_its_own_group),
        RUN_TEST(a_new_group_is_there_at_once),
        RUN_TEST(umask_and_directory_are_set),
        RUN_TEST(limits_are_set_and_optional_ones_may_fail),
        RUN_TEST(a_program_is_bound_to_its_cpus),
        RUN_TEST(cpus_that_are_not_there_are_an_error),
        RUN_TEST(memory_comes_from_where_it_is_bound_to),
        RUN_TEST(memory_that_may_not_be_had_is_an_error_only_when_bound),
        RUN_TEST(path_is_the_childs_and_seen_from_its_directory),
        RUN_TEST(a_script_without_a_first_line_runs_in_sh),
        RUN_TEST(a_file_that_is_being_written_is_waited_for),
        RUN_TEST(a_file_that_stays_busy_is_an_error),
        RUN_TEST(a_program_dies_with_its_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
