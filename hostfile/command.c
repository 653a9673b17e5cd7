/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* One command, its output and its end: what a source does whose batch system
 * keeps its hosts to itself. stdin is empty; the first line of stderr is told
 * where the command fails. Scripts wait for programs of their own: one that is
 * given up ends with all of its process group. */

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

#define SAID_MAX_BYTES 200 /* of stderr; what follows is dropped */
#define NAP_MS 1

struct run {
    pid_t pid;
    int out_fd, err_fd;
    int64_t until_ns;
    size_t max_bytes;
    struct hb_str out;
    char said[SAID_MAX_BYTES + 1];
    size_t n_said;
};

static void run_close(struct run *r)
{
    hb_fd_close(&r->out_fd);
    hb_fd_close(&r->err_fd);
    hb_str_destroy(&r->out);
}

/* The caller's handlers would write into its own pipe. */
static void take_no_signal(void)
{
    struct sigaction had;

    for (int s = 1; s < NSIG; s++) {
        if (sigaction(s, NULL, &had) == 0 && had.sa_handler != SIG_IGN) {
            signal(s, SIG_DFL);
        }
    }
    signal(SIGCHLD, SIG_DFL);
}

static void end_group(int signo)
{
    kill(0, SIGKILL);
}

static void become(char *const *argv, char *const *env, const int fds[3])
{
    int null = open("/dev/null", O_RDWR), why;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (null >= 0 && dup2(null, 0) >= 0 && dup2(fds[0], 1) >= 0 &&
        dup2(fds[1], 2) >= 0) {
        execvpe(argv[0], argv, env);
    }
    why = errno;
    (void)hb_fd_write_all(fds[2], &why, sizeof why, NULL);
    _exit(127);
}

static void __attribute__((noreturn)) end_like(int status)
{
    if (WIFSIGNALED(status)) {
        prctl(PR_SET_DUMPABLE, 0ul); /* the core, if there is one, is its */
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 127);
}

/* Above the command, and first of a process group: what that has started does
 * not outlive the caller either, however that ends. fds: what the command
 * writes to, and where it is told that it cannot be started. */
static void __attribute__((noreturn))
watch_over(char *const *argv, char *const *env, const int fds[3], pid_t parent)
{
    int status = 0;
    pid_t pid;

    (void)setpgid(0, 0);
    take_no_signal();
    signal(SIGTERM, end_group);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    pid = getppid() == parent ? fork() : -1;
    if (pid == 0) {
        become(argv, env, fds);
    }
    if (pid < 0) {
        status = errno;
        (void)hb_fd_write_all(fds[2], &status, sizeof status, NULL);
        _exit(127);
    }
    hb_fd_close_as_exec(-1); /* the command's ends are its alone */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    end_like(status);
}

/* 0, or the errno of what failed. */
static int start(struct run *r, char *const *argv, char *const *env,
                 int out_fd, int err_fd)
{
    int fds[2], why = 0;
    pid_t parent = getpid();

    if (hb_fd_pipe(fds, NULL) < 0) {
        return errno;
    }
    r->pid = fork();
    if (r->pid == 0) {
        watch_over(argv, env, (int[]){out_fd, err_fd, fds[1]}, parent);
    }
    why = r->pid < 0 ? errno : 0;
    hb_fd_close(&fds[1]);
    if (r->pid > 0 && read(fds[0], &why, sizeof why) == (ssize_t)sizeof why) {
        (void)waitpid(r->pid, NULL, 0);
    }
    hb_fd_close(&fds[0]);
    return why;
}

/* ENOENT is said of a script's interpreter as well. */
static const char *remedy_of(int why, const char *command)
{
    return why == ENOENT && strchr(command, '/') != NULL &&
           access(command, F_OK) == 0
               ? " (its interpreter is not on this host)"
               : hb_errno_remedy(why);
}

static int run_open(struct run *r, char *const *argv, char *const *env,
                    struct hpcboot_error *err)
{
    int out[2] = {-1, -1}, errors[2] = {-1, -1}, why = 0;
    int rc = hb_fd_pipe(out, err);

    rc = rc < 0 ? rc : hb_fd_pipe(errors, err);
    r->out_fd = out[0];
    r->err_fd = errors[0];
    if (rc >= 0) {
        why = start(r, argv, env, out[1], errors[1]);
    }
    hb_fd_close(&out[1]);
    hb_fd_close(&errors[1]);
    if (why != 0) {
        rc = hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "%s cannot be started: %s%s",
                     argv[0], strerror(why), remedy_of(why, argv[0]));
    }
    return rc;
}

/* 1: there may be more; 0: its end was seen; negative: it is too much. */
static int take_output(struct run *r)
{
    char chunk[8192];
    ssize_t n = read(r->out_fd, chunk, sizeof chunk);

    if (n <= 0) {
        return n < 0 && errno == EINTR;
    }
    if (r->out.len + (size_t)n > r->max_bytes) {
        return -1;
    }
    hb_str_putn(&r->out, chunk, (size_t)n);
    return 1;
}

static void take_said(struct run *r)
{
    char chunk[8192];
    ssize_t n = read(r->err_fd, chunk, sizeof chunk);
    size_t fits = SAID_MAX_BYTES - r->n_said;

    if (n > 0) {
        fits = fits < (size_t)n ? fits : (size_t)n;
        memcpy(r->said + r->n_said, chunk, fits);
        r->n_said += fits;
    } else if (n == 0) {
        hb_fd_close(&r->err_fd); /* poll passes it over from here on */
    }
}

/* 1: the end was seen; 0: too long; negative: too much. */
static int collect(struct run *r)
{
    int more = 1;

    while (more > 0) {
        struct pollfd p[] = {{.fd = r->out_fd, .events = POLLIN},
                             {.fd = r->err_fd, .events = POLLIN}};
        int left = (int)hb_deadline_left_ms(r->until_ns);

        if (left <= 0) {
            return 0;
        }
        if (poll(p, 2, left) <= 0) {
            continue;
        }
        if (p[1].revents != 0) {
            take_said(r);
        }
        more = p[0].revents != 0 ? take_output(r) : 1;
    }
    return more < 0 ? -1 : 1;
}

/* It may go on after its output has ended. 1: the end was seen. */
static int wait_for(struct run *r, int *status)
{
    pid_t pid = 0;

    while ((pid = waitpid(r->pid, status, WNOHANG)) == 0 &&
           hb_deadline_left_ms(r->until_ns) > 0) {
        poll(NULL, 0, NAP_MS);
    }
    return pid == r->pid;
}

static void end_it(struct run *r)
{
    kill(-r->pid, SIGKILL);
    while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

/* `end` is what collect and wait_for say. */
static int no_output(struct run *r, const char *program, int end, int status,
                     struct hpcboot_error *err)
{
    char how[64] = "answers more than can be";
    struct pollfd p = {.fd = r->err_fd, .events = POLLIN};

    if (p.fd >= 0 && poll(&p, 1, 0) > 0) {
        take_said(r);
    }
    r->said[strcspn(r->said, "\n")] = '\0';
    hb_mask_controls(r->said);
    if (end == 0) {
        snprintf(how, sizeof how, "has not answered within %d s",
                 MAX_WAIT_MS / 1000);
    } else if (end > 0 && WIFSIGNALED(status)) {
        snprintf(how, sizeof how, "was ended by signal %d", WTERMSIG(status));
    } else if (end > 0) {
        snprintf(how, sizeof how, "failed: status %d", WEXITSTATUS(status));
    }
    return hb_fail(err, HPCBOOT_ERR_SYSTEM, "%s %s%s%s", program, how,
                   r->said[0] != '\0' ? ": " : "", r->said);
}

int hb_command_output(char *const *argv, char *const *env, size_t max_bytes,
                      char **text_out, size_t *len_out,
                      struct hpcboot_error *err)
{
    struct run r = {.out = HB_STR_INIT, .max_bytes = max_bytes,
                    .until_ns = hb_deadline_in_ms(MAX_WAIT_MS)};
    int rc = run_open(&r, argv, env, err), end, status = 0;

    if (rc < 0) {
        run_close(&r);
        return rc;
    }
    end = collect(&r);
    end = end > 0 ? wait_for(&r, &status) : end;
    if (end <= 0) {
        end_it(&r);
    }
    if (end <= 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        rc = no_output(&r, argv[0], end, status, err);
    } else {
        *len_out = r.out.len;
        hb_str_put(&r.out, "");
        *text_out = hb_str_steal(&r.out);
    }
    run_close(&r);
    return rc;
}
