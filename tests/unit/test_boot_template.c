/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* --launch-with templates, and the command line that finds the agent: the
 * latter by running it through the shells this machine has. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/boot/remote.h"
#include "bin/boot/template.h"
#include "lib/base/str.h"

static char agent0[] = "/bin/sh", agent1[] = "-c", agent2[] = "S";
static char *agent_words[] = {agent0, agent1, agent2, NULL};

static const struct hb_template_values plain = {
    .host = "n1", .user_default = "me", .agent_line = "LINE",
    .agent_words = agent_words
};

/* The words joined by '|'. */
static char *expand(const char *text, const struct hb_template_values *v)
{
    struct hb_strv argv = HB_STRV_INIT;
    struct hb_str out = HB_STR_INIT;
    struct hpcboot_error err;

    if (hb_template_expand(text, v, &argv, &err) < 0) {
        hb_str_putf(&out, "error: %s", err.text);
        return hb_str_steal(&out);
    }
    for (size_t i = 0; i < argv.n; i++) {
        hb_str_putf(&out, "%s%s", i ? "|" : "", argv.v[i]);
    }
    hb_strv_destroy(&argv);
    return hb_str_steal(&out);
}

static void assert_expands(const char *text,
                           const struct hb_template_values *v,
                           const char *expected)
{
    char *got = expand(text, v);

    assert_string_equal(got, expected);
    free(got);
}

static void ssh_gets_the_host_and_one_word(void **state)
{
    assert_expands("ssh", &plain, "ssh|n1|LINE");
    assert_expands("/usr/bin/ssh -v", &plain, "/usr/bin/ssh|-v|n1|LINE");
}

static void ssh_with_a_host_gets_one_word(void **state)
{
    assert_expands("ssh -J gate %h", &plain, "ssh|-J|gate|n1|LINE");
}

static void ssh_is_told_a_user_and_a_port_that_were_asked_for(void **state)
{
    struct hb_template_values v = plain;

    v.user = "joe";
    v.port = 2222;
    assert_expands("ssh", &v, "ssh|-p|2222|-l|joe|n1|LINE");
    assert_expands("ssh -p %p", &v, "ssh|-p|2222|-l|joe|n1|LINE");
    assert_expands("rsh", &v, "rsh|-l|joe|n1|LINE");
    assert_expands("kubexec.sh", &v, "kubexec.sh|n1|LINE");
}

static void other_commands_get_words(void **state)
{
    assert_expands("srun -w %h -N1 -n1", &plain,
                   "srun|-w|n1|-N1|-n1|/bin/sh|-c|S");
}

static void agent_line_stands_where_it_is_asked_for(void **state)
{
    assert_expands("sh -c %a", &plain, "sh|-c|LINE");
    assert_expands("ssh %u@%h 'cd /x && '%a", &plain,
                   "ssh|me@n1|cd /x && LINE");
}

static void quotes_work_as_in_a_shell(void **state)
{
    assert_expands("a 'b c' \"d\\\" $e\" f\\ g '' %a", &plain,
                   "a|b c|d\" $e|f g||LINE");
    assert_expands("x%%y %a", &plain, "x%y|LINE");
}

static void a_value_adds_no_word(void **state)
{
    struct hb_template_values v = plain;

    v.host = "a b'c";
    assert_expands("x %h %a", &v, "x|a b'c|LINE");
}

static void mistakes_are_named(void **state)
{
    assert_expands("ssh 'x", &plain,
                   "error: --launch-with: a quote is not closed in: "
                   "ssh 'x");
    assert_expands("ssh %q", &plain,
                   "error: --launch-with: \"%q\" in \"%q\" is not one of "
                   "%h %p %u %a %%");
    assert_expands("  ", &plain, "error: --launch-with: no command");
    assert_expands("ssh %", &plain,
                   "error: --launch-with: \"%\" in \"%\" is not one of "
                   "%h %p %u %a %%");
}

/* A directory with an agent in it that prints its arguments. */
static char dir[256];

static int make_agent(void **state)
{
    const char *tmp = getenv("TMPDIR");
    char path[512];
    FILE *f;

    snprintf(dir, sizeof dir, "%s/it's a !dir\\ XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir)) {
        return -1;
    }
    snprintf(path, sizeof path, "%s/sbin", dir);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/sbin/hpcbootd", dir);
    f = fopen(path, "w");
    if (!f) {
        return -1;
    }
    fputs("#!/bin/sh\necho \"$@\"\n", f);
    fclose(f);
    return chmod(path, 0700);
}

static int remove_agent(void **state)
{
    char path[512];

    snprintf(path, sizeof path, "%s/sbin/hpcbootd", dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/sbin", dir);
    rmdir(path);
    return rmdir(dir);
}

/* Runs the command line as sshd does; what it prints on both streams comes
 * back in out. */
static int through_shell(const char *shell, const char *line, char *out,
                         size_t size)
{
    int fds[2], status;
    size_t len = 0;
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        dup2(fds[1], 1);
        dup2(fds[1], 2);
        close(fds[0]);
        execlp(shell, shell, "-c", line, (char *)NULL);
        _exit(99);
    }
    close(fds[1]);
    while (len < size - 1
           && (n = read(fds[0], out + len, size - 1 - len)) > 0) {
        len += (size_t)n;
    }
    out[len] = '\0';
    close(fds[0]);
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

static const char *const shells[] = {"sh", "bash", "tcsh", "fish", "dash"};

static const struct hb_boot_target target = {.host = "n1", .token = "t0k!n"};

static void agent_is_found_below_the_prefix_by_each_shell(void **state)
{
    struct hb_boot_config config = {.prefix = dir};
    char *line = hb_boot_remote_command(&config, &target);
    char out[4096];

    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        int rc = through_shell(shells[i], line, out, sizeof out);

        if (rc == 99) {
            continue; /* not installed */
        }
        assert_string_equal(out, "agent --token t0k!n\n");
        assert_int_equal(rc, 0);
    }
    free(line);
}

static void a_missing_agent_is_said_in_one_line_with_127(void **state)
{
    struct hb_boot_config config = {.prefix = "/nowhere/p",
                                    .agent_path = "/nowhere/hpcbootd"};
    char *line = hb_boot_remote_command(&config, &target);
    char out[4096];

    if (access("/usr/sbin/hpcbootd", F_OK) == 0
        || access("/usr/local/sbin/hpcbootd", F_OK) == 0) {
        free(line);
        skip();
    }
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        int rc = through_shell(shells[i], line, out, sizeof out);

        if (rc == 99) {
            continue;
        }
        assert_string_equal(out, "hpcbootd: not found on n1 (looked in "
                            "/nowhere/p/sbin/hpcbootd, "
                            "/nowhere/p/bin/hpcbootd, /nowhere/hpcbootd, "
                            "PATH, /usr/local/sbin/hpcbootd, "
                            "/usr/sbin/hpcbootd); install hpcboot there, or "
                            "say where it is with --prefix\n");
        assert_int_equal(rc, 127);
    }
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ssh_gets_the_host_and_one_word),
        cmocka_unit_test(ssh_with_a_host_gets_one_word),
        cmocka_unit_test(ssh_is_told_a_user_and_a_port_that_were_asked_for),
        cmocka_unit_test(other_commands_get_words),
        cmocka_unit_test(agent_line_stands_where_it_is_asked_for),
        cmocka_unit_test(quotes_work_as_in_a_shell),
        cmocka_unit_test(a_value_adds_no_word),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test_setup_teardown(
            agent_is_found_below_the_prefix_by_each_shell, make_agent,
            remove_agent),
        cmocka_unit_test(a_missing_agent_is_said_in_one_line_with_127),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
