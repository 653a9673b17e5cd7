/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The agent that a host had before. The launcher has given it up, and it may
 * not know yet: it is stopped, or waits to be adopted. Its ranks must not run
 * beside those that take their place.
 *
 * Agent and guard have the same arguments, of which the token is no other's.
 * The agent is the one whose parent is the other; when it is killed the guard
 * sweeps up all below and ends. */
#include "config.h"

#include "bin/proc/former.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bin/proc/procfs.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"

#define ARGS_BYTES 4096 /* the token stands in the fourth of them */
#define LOOK_NS 2000000 /* between one look and the next */

/* Of those found; 0: none. */
struct pair {
    pid_t pids[2];
    int n;
};

/* args: each with its NUL. */
static int has_token(const char *args, size_t len, const char *token)
{
    const char *const words[] = {NULL, "agent", "--token", token};
    size_t at = 0;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t n = strnlen(args + at, len - at);

        if (at + n == len ||
            (words[i] != NULL && strcmp(args + at, words[i]) != 0)) {
            return 0;
        }
        at += n + 1;
    }
    return 1;
}

static int is_one(int proc, const char *pid, const char *token)
{
    char path[64], args[ARGS_BYTES];
    struct stat st;
    ssize_t n;
    int fd;

    if (snprintf(path, sizeof path, "%s/cmdline", pid) >= (int)sizeof path ||
        fstatat(proc, pid, &st, 0) < 0 || st.st_uid != geteuid()) {
        return 0;
    }
    fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    n = fd >= 0 ? read(fd, args, sizeof args) : -1;
    hb_fd_close(&fd);
    return n > 0 && has_token(args, (size_t)n, token);
}

static void find(const char *token, struct pair *out)
{
    DIR *d = opendir("/proc");
    const struct dirent *e;

    out->n = 0;
    while (d != NULL && out->n < 2 && (e = readdir(d)) != NULL) {
        if (isdigit((unsigned char)e->d_name[0]) &&
            is_one(dirfd(d), e->d_name, token)) {
            out->pids[out->n++] = (pid_t)strtol(e->d_name, NULL, 10);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
}

static pid_t parent_of(pid_t pid)
{
    struct hb_procfs_stat st;

    return hb_procfs_read_stat("/proc", pid, &st) == 0 ? st.ppid : 0;
}

/* A guard that is alone is cleaning up. 1: it has been killed. */
static int end_agent(const struct pair *p)
{
    for (int i = 0; p->n == 2 && i < 2; i++) {
        if (parent_of(p->pids[i]) == p->pids[1 - i]) {
            return kill(p->pids[i], SIGKILL) == 0;
        }
    }
    return 0;
}

int hb_former_end(const char *token, int timeout_ms)
{
    static const struct timespec look = {0, LOOK_NS};
    int64_t until = hb_deadline_in_ms(timeout_ms);
    struct pair p;
    int was_there, killed = 0;

    find(token, &p);
    was_there = p.n > 0;
    while (p.n > 0 && hb_now_ns() < until) {
        killed = killed || end_agent(&p); /* once: its guard may fork, too */
        nanosleep(&look, NULL);
        find(token, &p);
    }
    return was_there;
}
