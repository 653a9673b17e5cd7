/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Starting real programs: what they get, and what is said when they cannot
 * be started. */
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bin/proc/proc.h"
#include "bin/proc/stage.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/base/strv.h"

#define LIST(...) ((char **)(const char *[]){__VA_ARGS__, NULL})

static char *dir; /* private, per test */

static const char *basic_env[] = {"PATH=/usr/bin:/bin", NULL};

static struct hb_proc_spec spec_of(char **argv)
{
    return (struct hb_proc_spec){
        .file = argv[0], .argv = argv, .env = (char **)basic_env,
        .stdio = {-1, -1, -1}, .umask = -1,
    };
}

static int make_dir(void **state)
{
    static const char *const places[] = {"/tmp"};

    return hb_session_dir_create_in(places, 1, "spawn", 0, &dir, NULL);
}

static int drop_dir(void **state)
{
    int left = hb_session_dir_remove(dir);

    free(dir);
    return left;
}

static char *put_file(const char *name, const void *data, size_t len, int mode)
{
    char *path = hb_xasprintf("%s/%s", dir, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(hb_fd_write_all(fd, data, len, NULL), HPCBOOT_OK);
    fchmod(fd, (mode_t)mode);
    close(fd);
    return path;
}

/* What became of a start. */
struct result {
    int started; /* as hb_proc_started */
    enum hb_proc_stage stage;
    int sys_errno;
    int status;
    char *output;
};

static int wait_started(int error_fd, enum hb_proc_stage *stage, int *no)
{
    struct pollfd p = {.fd = error_fd, .events = POLLIN};
    int rc;

    while ((rc = hb_proc_started(error_fd, stage, no)) == HPCBOOT_ERR_AGAIN) {
        assert_true(poll(&p, 1, -1) >= 0 || errno == EINTR);
    }
    return rc;
}

static char *read_all(int fd)
{
    struct hb_str o = HB_STR_INIT;
    char buf[4096];
    ssize_t n;

    while ((n = read(fd, buf, sizeof(buf))) > 0) {
        hb_str_putn(&o, buf, (size_t)n);
    }
    return hb_str_steal(&o);
}

/* Starts it with its stdout (unless chosen by the test) read to the end. */
static struct result run(struct hb_proc_spec *spec)
{
    struct result r = {0};
    int out[2], error_fd = -1;
    pid_t pid = 0;

    assert_int_equal(hb_fd_pipe(out, NULL), HPCBOOT_OK);
    if (spec->stdio[1] < 0) {
        spec->stdio[1] = out[1];
    }
    assert_int_equal(hb_proc_spawn(spec, &pid, &error_fd, NULL), HPCBOOT_OK);
    hb_fd_close(&out[1]);
    r.started = wait_started(error_fd, &r.stage, &r.sys_errno);
    r.output = read_all(out[0]);
    assert_int_equal(waitpid(pid, &r.status, 0), pid);
    hb_fd_close(&error_fd);
    hb_fd_close(&out[0]);
    return r;
}

static void expect_output(struct hb_proc_spec *spec, const char *output)
{
    struct result r = run(spec);

    assert_int_equal(r.started, 0);
    assert_string_equal(r.output, output);
    assert_int_equal(r.status, 0);
    free(r.output);
}

/* The start fails at that stage with that errno, and the explanation has
 * `hint` in it. */
static void expect_failure(struct hb_proc_spec *spec, enum hb_proc_stage stage,
                           int sys_errno, const char *hint)
{
    struct hpcboot_error err = {0};
    struct result r = run(spec);

    assert_int_equal(r.started, 1);
    assert_int_equal(r.stage, stage);
    assert_int_equal(r.sys_errno, sys_errno);
    hb_proc_explain(spec, r.stage, r.sys_errno, &err);
    assert_int_equal(err.code, HPCBOOT_ERR_SPAWN);
    assert_int_equal(err.sys_errno, sys_errno);
    assert_non_null(strstr(err.text, spec->file));
    assert_non_null(strstr(err.text, hb_proc_stage_name(stage)));
    if (strstr(err.text, hint) == NULL) {
        fail_msg("'%s' is not in '%s'", hint, err.text);
    }
    free(r.output);
}

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

    assert_memory_equal(r.output, "PATH=/usr/bin:/bin\0NL=a\nb\0B=\xff", 32);
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

static void signal_state_is_the_default(void **state)
{
    struct hb_proc_spec s = spec_of(
        LIST("grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"));
    sigset_t usr1, before;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, &before);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    expect_output(&s, "SigBlk:\t0000000000000000\n"
                  "SigIgn:\t0000000000000000\n");
    signal(SIGPIPE, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
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
        {RLIMIT_CORE, {1024, 2048}, 0},
        {RLIMIT_NOFILE, {1000, RLIM_INFINITY}, 1}, /* above fs.nr_open */
    };
    struct hb_proc_spec s = spec_of(
        LIST("bash", "-c", "ulimit -c; ulimit -Hc"));

    s.limits = limits;
    s.n_limits = 2;
    expect_output(&s, "1\n2\n");
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

/* ---- what is said */

static void a_missing_program_names_path(void **state)
{
    struct hb_proc_spec s = spec_of(LIST("no-such-program-here"));

    expect_failure(&s, HB_PROC_EXEC, ENOENT, "PATH, /usr/bin:/bin");
}

static void an_empty_name_is_no_program(void **state)
{
    struct hb_proc_spec s = spec_of(LIST(""));

    expect_failure(&s, HB_PROC_EXEC, ENOENT, "");
}

static void a_missing_directory_is_named(void **state)
{
    struct hb_proc_spec s = spec_of(LIST("true"));

    s.wdir = "/nonexistent/dir";
    expect_failure(&s, HB_PROC_CHDIR, ENOENT, "/nonexistent/dir");
}

static void a_directory_is_no_program(void **state)
{
    struct hb_proc_spec s = spec_of(LIST("/usr"));

    expect_failure(&s, HB_PROC_EXEC, EACCES, "is a directory");
}

static void a_file_without_x_is_not_executable(void **state)
{
    char *path = put_file("data", "#!/bin/sh\n", 10, 0600);
    struct hb_proc_spec s = spec_of(LIST(path));

    expect_failure(&s, HB_PROC_EXEC, EACCES, "chmod +x");
    free(path);
}

static void a_missing_interpreter_is_named(void **state)
{
    char *path = put_file("script", "#!/nonexistent/python -u\n", 25, 0700);
    struct hb_proc_spec s = spec_of(LIST(path));

    expect_failure(&s, HB_PROC_EXEC, ENOENT, "/nonexistent/python ");
    free(path);
}

static void a_carriage_return_after_the_interpreter_is_named(void **state)
{
    char *path = put_file("script", "#!/bin/sh\r\necho\r\n", 17, 0700);
    struct hb_proc_spec s = spec_of(LIST(path));

    expect_failure(&s, HB_PROC_EXEC, ENOENT, "carriage return");
    free(path);
}

static void a_dead_link_is_named(void **state)
{
    char *path = hb_xasprintf("%s/link", dir);
    struct hb_proc_spec s = spec_of(LIST(path));

    assert_int_equal(symlink("/nonexistent/target", path), 0);
    expect_failure(&s, HB_PROC_EXEC, ENOENT, "/nonexistent/target");
    free(path);
}

static void a_program_of_another_machine_is_named_and_not_given_to_sh(void **st)
{
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
                                   ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                       .e_type = ET_EXEC, .e_version = EV_CURRENT};
    char *path;

#ifdef __s390x__
    head.e_machine = EM_RISCV;
#else
    head.e_machine = EM_S390;
#endif
    path = put_file("elf", &head, sizeof(head), 0700);
    struct hb_proc_spec s = spec_of(LIST(path));

    expect_failure(&s, HB_PROC_EXEC, ENOEXEC, "built for ");
    free(path);
}

static void too_long_an_argument_is_counted(void **state)
{
    char *arg = hb_xcalloc(1, 200001);
    struct hb_proc_spec s = spec_of(LIST("true", arg));

    memset(arg, 'x', 200000);
    expect_failure(&s, HB_PROC_EXEC, E2BIG, "longest has 200001");
    free(arg);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_pass_byte_for_byte),
        cmocka_unit_test(the_environment_is_exactly_what_was_given),
        cmocka_unit_test(exit_status_and_signals_are_the_programs),
        cmocka_unit_test(descriptors_that_change_places_do_not_clobber),
        cmocka_unit_test(a_kept_place_may_be_the_error_pipes_own),
        cmocka_unit_test(standard_streams_may_be_swapped),
        cmocka_unit_test(nothing_else_is_inherited),
        cmocka_unit_test(missing_streams_are_dev_null),
        cmocka_unit_test(signal_state_is_the_default),
        cmocka_unit_test(a_new_session_has_its_own_group),
        cmocka_unit_test(umask_and_directory_are_set),
        cmocka_unit_test(limits_are_set_and_optional_ones_may_fail),
        cmocka_unit_test(a_program_is_bound_to_its_cpus),
        cmocka_unit_test(cpus_that_are_not_there_are_an_error),
        cmocka_unit_test(path_is_the_childs_and_seen_from_its_directory),
        cmocka_unit_test(a_script_without_a_first_line_runs_in_sh),
        cmocka_unit_test(a_file_that_is_being_written_is_waited_for),
        cmocka_unit_test(a_file_that_stays_busy_is_an_error),
        cmocka_unit_test(a_missing_program_names_path),
        cmocka_unit_test(an_empty_name_is_no_program),
        cmocka_unit_test(a_missing_directory_is_named),
        cmocka_unit_test(a_directory_is_no_program),
        cmocka_unit_test(a_file_without_x_is_not_executable),
        cmocka_unit_test(a_missing_interpreter_is_named),
        cmocka_unit_test(a_carriage_return_after_the_interpreter_is_named),
        cmocka_unit_test(a_dead_link_is_named),
        cmocka_unit_test(
            a_program_of_another_machine_is_named_and_not_given_to_sh),
        cmocka_unit_test(too_long_an_argument_is_counted),
        cmocka_unit_test(a_program_dies_with_its_parent),
    };
    struct CMUnitTest all[sizeof(tests) / sizeof(tests[0])];

    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        all[i] = tests[i];
        all[i].setup_func = make_dir;
        all[i].teardown_func = drop_dir;
    }
    return cmocka_run_group_tests(all, NULL, NULL);
}
