/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hpcbootd: the per-host agent, and the server that starts it in pods without
 * sshd. Nobody types `hpcbootd agent`: hbrun starts it on each host of a job,
 * over SSH or by fork, with the control link on its standard input and output.
 *
 * Three processes come of it. The first two become keeper and guard, which only
 * wait and make sure that nothing survives; the third is the agent proper. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "bin/hpcbootd/agent.h"
#include "bin/hpcbootd/serve.h"
#include "bin/proc/guard.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

static const char usage_text[] =
    "usage: hpcbootd serve [options]        a pod's entry point, without sshd\n"
    "       hpcbootd health [--port N]      how it is, for a probe\n"
    "       hpcbootd agent --token TOKEN    started by hbrun, not by hand\n"
    "       hpcbootd crew ... -- [PROGRAM]  started by agents\n"
    "       hpcbootd join ... PROGRAM       started by agents\n"
    "       hpcbootd kv --port N            started by a recipe\n"
    "       hpcbootd --version | --help\n"
    "See hpcbootd(8).\n";

static int usage(const char *problem, const char *word)
{
    fprintf(stderr, "hpcbootd: %s%s\n%s", problem, word, usage_text);
    return EXIT_USAGE;
}

int hpcbootd_answer(const char *text)
{
    if (fputs(text, stdout) < 0 || fflush(stdout) != 0) {
        fprintf(stderr, "hpcbootd: stdout cannot be written\n");
        return EXIT_OUTPUT;
    }
    return 0;
}

/* No link goes through a file, nor through /dev/null, which is what a command
 * has that was to pass its own input on and does not. */
static int carries(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) &&
           (!S_ISCHR(st.st_mode) || isatty(fd));
}

/* A terminal as logins have it; srun of Slurm may have one that changes
 * nothing. */
static int changes_bytes(void)
{
    struct termios in, out;

    return (tcgetattr(STDIN_FILENO, &in) == 0 &&
            (in.c_lflag & (ICANON | ECHO)) != 0) ||
           (tcgetattr(STDOUT_FILENO, &out) == 0 &&
            (out.c_oflag & OPOST) != 0);
}

/* Moves the link off descriptors 0 and 1, so that nothing that prints by
 * accident can write into it. */
static int take_link(int *in_out, int *out_out, struct hpcboot_error *err)
{
    int in, out, null;

    if (changes_bytes()) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "standard input or output is "
                       "a terminal, which changes bytes; what starts the agent "
                       "must go without one, as ssh without -t does");
    }
    if (!carries(STDIN_FILENO) || !carries(STDOUT_FILENO)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "standard input or output is "
                       "a file or /dev/null; what starts the agent must pass "
                       "both on, as kubectl exec -i does");
    }
    in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (in < 0 || out < 0 || null < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             null < 0 && in >= 0 && out >= 0
                                 ? "cannot open /dev/null"
                                 : "cannot set up the control link");
    }
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    close(null);
    *in_out = in;
    *out_out = out;
    return 0;
}

/* Many ranks take many descriptors; what the system grants is taken. */
static void raise_descriptor_limit(void)
{
    struct rlimit lim;

    if (getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur < lim.rlim_max) {
        lim.rlim_cur = lim.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &lim);
    }
}

static int run_agent(const char *token, int served, int counted)
{
    struct hpcboot_error err = {0};
    int guard_fd = -1, in = -1, out = -1;

    agent_take_key_file();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow fails its write */
    /* Batch systems send these to every process of a job, for its ranks. The
     * guard, which waits for one of them with all blocked, still gets it. */
    signal(SIGUSR1, SIG_IGN);
    signal(SIGUSR2, SIG_IGN);
    hb_guard_watch_link(STDOUT_FILENO);
    if (hb_guard_enter(&guard_fd, &err) < 0 || take_link(&in, &out, &err) < 0) {
        fprintf(stderr, "hpcbootd: %s\n", err.text);
        return EXIT_HOST;
    }
    return agent_run(token, in, out, guard_fd, served, counted);
}

static int agent_main(int argc, char **argv)
{
    int served = argc == 4 && hb_streq(argv[3], "--served");
    int counted = argc == 4 && hb_streq(argv[3], "--counted");

    if (argc != 3 + served + counted || !hb_streq(argv[1], "--token")) {
        return usage("agent needs --token TOKEN", "");
    }
    return run_agent(argv[2], served && agent_served_open(), counted);
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
} commands[] = {
    {"agent", agent_main},
    {"crew", crew_main},
    {"health", health_main},
    {"join", join_main},
    {"kv", kv_main},
    {"serve", serve_main},
};

/* As hbrun takes an agent's own words for the cause. */
static void prepare_last_words(void)
{
    static char words[160];

    snprintf(words, sizeof words, "hpcbootd: out of memory%s\n",
             hb_errno_remedy(ENOMEM));
    hb_no_memory_says(words);
}

int main(int argc, char **argv)
{
    struct hpcboot_error err = {0};
    size_t i = 0;

    prepare_last_words();
    if (hb_fd_fill_standard(&err) < 0) {
        fprintf(stderr, "hpcbootd: %s\n", err.text); /* if it is there */
        return EXIT_HOST;
    }
    if (argc == 2 && hb_streq(argv[1], "--version")) {
        return hpcbootd_answer("hpcbootd (hpcboot) " PACKAGE_VERSION "\n");
    }
    if (argc == 2 && hb_streq(argv[1], "--help")) {
        return hpcbootd_answer(usage_text);
    }
    while (argc > 1 && i < sizeof commands / sizeof *commands
           && !hb_streq(commands[i].name, argv[1])) {
        i++;
    }
    if (argc < 2 || i == sizeof commands / sizeof *commands) {
        return argc < 2 ? usage("a command is missing", "")
                        : usage("there is no command ", argv[1]);
    }
    raise_descriptor_limit();
    hb_guard_words(argv);
    return commands[i].run(argc - 1, argv + 1);
}
