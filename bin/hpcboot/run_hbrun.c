/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* hbrun, started by a command whose work its ranks do. hbrun ends the ranks;
 * here it is only seen to that it always gets the chance. */

#include "config.h"

#include "bin/hpcboot/run_hbrun.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bin/cli/options.h"
#include "bin/job/verdict.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

static volatile sig_atomic_t hbrun_pid;
static volatile sig_atomic_t reader_gone; /* of what this process shows */

/* A terminal's Ctrl-C has reached hbrun as well: twice would mean "at once". */
static void pass_on(int signo, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code != SI_KERNEL && hbrun_pid > 0) {
        kill((pid_t)hbrun_pid, signo);
    }
}

static void note_reader_gone(int signo)
{
    reader_gone = 1;
}

/* To this process a closed pipe is an error of write: were it the end, hbrun
 * would hear of a launcher that is gone. */
static void catch_pipe(struct sigaction *before)
{
    struct sigaction action = {.sa_handler = note_reader_gone};

    sigaction(SIGPIPE, NULL, before);
    if (before->sa_handler != SIG_IGN) {
        sigaction(SIGPIPE, &action, NULL);
    }
}

static void pass_signals_on(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_sigaction = pass_on,
                               .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction before;

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        sigaction(signals[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) {
            sigaction(signals[i], &action, NULL);
        }
    }
}

static void become_hbrun(const char *path, const struct hb_strv *line,
                         int out, pid_t parent, const char *command)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || dup2(out, STDOUT_FILENO) < 0) {
        _exit(HB_EXIT_INTERNAL);
    }
    execv(path, line->v);
    hb_log(HB_ERROR, "%s: %s cannot be started: %s", command, path,
           strerror(errno));
    _exit(HB_EXIT_NOT_FOUND);
}

/* When nobody reads what is shown (`| head`), hbrun's own reader goes, too: it
 * ends the job for that reason, and says so. */
static void read_lines(int fd, void (*take)(void *arg, const char *line),
                       void *arg)
{
    FILE *in = fdopen(fd, "r");
    char *line = NULL;
    size_t size = 0;

    while (in != NULL && !reader_gone && getline(&line, &size, in) > 0) {
        take(arg, line);
    }
    free(line);
    if (in != NULL) {
        fclose(in);
    }
}

static int ended(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static pid_t start(struct hpcboot_error *err)
{
    pid_t pid = fork();

    if (pid < 0) {
        hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "hbrun cannot be started");
    }
    return pid;
}

int hb_run_hbrun(const struct hb_strv *line, const char *command,
                 const char *use,
                 void (*take)(void *arg, const char *line), void *arg)
{
    char *self = hb_self_exe(), *slash = strrchr(self, '/');
    char *path = hb_xasprintf("%.*s/hbrun", (int)(slash - self), self);
    int out[2] = {-1, -1}, status = HB_EXIT_INTERNAL;
    struct hpcboot_error err;
    struct sigaction pipe_before;
    pid_t parent = getpid(), pid = -1;

    (void)setenv(HB_USE_VAR, use, 1);
    if (hb_fd_pipe(out, &err) < 0 || (pid = start(&err)) < 0) {
        hb_log(HB_ERROR, "%s: %s", command, err.text);
        goto out;
    }
    if (pid == 0) {
        become_hbrun(path, line, out[1], parent, command);
    }
    hbrun_pid = pid;
    pass_signals_on();
    catch_pipe(&pipe_before);
    hb_fd_close(&out[1]);
    read_lines(out[0], take, arg);
    out[0] = -1; /* closed with its stream */
    status = ended(pid);
    sigaction(SIGPIPE, &pipe_before, NULL);
    if (status == 0 && reader_gone) {
        status = 128 + SIGPIPE;
    }
out:
    hb_fd_close(&out[0]);
    hb_fd_close(&out[1]);
    free(path);
    free(self);
    return status;
}
