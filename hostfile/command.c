/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* One command, its output and its end: what a source does whose batch system
 * keeps its hosts to itself. stdin is empty, and stderr goes nowhere, as the
 * caller has words of its own for a failure. */

#include "config.h"

#include "hostfile/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

/* A busy broker answers within a second or two. */
#define MAX_WAIT_MS 10000

/* It does not outlive its caller, however that ends. */
static void become(char *const *argv, char *const *env, int out_fd,
                   int error_fd, pid_t parent)
{
    int null = open("/dev/null", O_RDWR), why;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && null >= 0 && dup2(null, 0) >= 0 &&
        dup2(out_fd, 1) >= 0 && dup2(null, 2) >= 0) {
        execvpe(argv[0], argv, env);
    }
    why = errno;
    (void)hb_fd_write_all(error_fd, &why, sizeof why, NULL);
    _exit(127);
}

/* 0, or the errno of what failed. */
static int start(char *const *argv, char *const *env, int out_fd, pid_t *pid)
{
    int fds[2], why = 0;
    pid_t parent = getpid();

    if (hb_fd_pipe(fds, NULL) < 0) {
        return errno;
    }
    *pid = fork();
    if (*pid == 0) {
        become(argv, env, out_fd, fds[1], parent);
    }
    why = *pid < 0 ? errno : 0;
    hb_fd_close(&fds[1]);
    if (*pid > 0 && read(fds[0], &why, sizeof why) == (ssize_t)sizeof why) {
        (void)waitpid(*pid, NULL, 0);
    }
    hb_fd_close(&fds[0]);
    return why;
}

/* 1: the end was seen; 0: too long; negative: too much. */
static int collect(int fd, size_t max_bytes, struct hb_str *out)
{
    int64_t until = hb_deadline_in_ms(MAX_WAIT_MS);
    char chunk[8192];

    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int left = (int)hb_deadline_left_ms(until);
        ssize_t n;
        if (left <= 0) {
            return 0;
        }
        if (poll(&p, 1, left) <= 0) {
            continue;
        }
        n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return 1;
        }
        if (out->len + (size_t)n > max_bytes) {
            return -1;
        }
        hb_str_putn(out, chunk, (size_t)n);
    }
}

static int wait_for(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return status;
}

/* After `end` of collect. */
static int no_output(const char *program, int end, int status,
                     struct hpcboot_error *err)
{
    char how[64] = "answers more than can be";

    if (end == 0) {
        snprintf(how, sizeof how, "does not answer");
    } else if (end > 0 && WIFSIGNALED(status)) {
        snprintf(how, sizeof how, "was ended by signal %d", WTERMSIG(status));
    } else if (end > 0) {
        snprintf(how, sizeof how, "failed: status %d", WEXITSTATUS(status));
    }
    return hb_fail(err, HPCBOOT_ERR_SYSTEM, "%s %s", program, how);
}

int hb_command_output(char *const *argv, char *const *env, size_t max_bytes,
                      char **text_out, size_t *len_out,
                      struct hpcboot_error *err)
{
    struct hb_str out = HB_STR_INIT;
    int fds[2], rc, end, status;
    pid_t pid = -1;

    rc = hb_fd_pipe(fds, err);
    if (rc < 0) {
        return rc;
    }
    end = start(argv, env, fds[1], &pid);
    hb_fd_close(&fds[1]);
    if (end != 0) {
        hb_fd_close(&fds[0]);
        return hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "%s cannot be started: "
                       "%s%s", argv[0], strerror(end), hb_errno_remedy(end));
    }
    end = collect(fds[0], max_bytes, &out);
    hb_fd_close(&fds[0]);
    if (end <= 0) {
        kill(pid, SIGKILL);
    }
    status = wait_for(pid);
    if (end <= 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        hb_str_destroy(&out);
        return no_output(argv[0], end, status, err);
    }
    *len_out = out.len;
    hb_str_put(&out, "");
    *text_out = hb_str_steal(&out);
    return HPCBOOT_OK;
}
