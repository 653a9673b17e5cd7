/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The agent that a host had before. The launcher has given it up, and it may
 * not know yet: it is stopped, or waits to be adopted. Its ranks must not run
 * beside those that take their place.
 *
 * Agent and guard have the same arguments, of which the token is no other's.
 * The agent is the one whose parent has them, too; when it is killed the guard
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

/* Who has started it, as "PID". */
static int parent_of(const char *pid, char *out, size_t size)
{
    struct hb_procfs_stat st;

    return hb_procfs_read_stat("/proc", (pid_t)strtol(pid, NULL, 10), &st) ==
               0 && snprintf(out, size, "%d", (int)st.ppid) < (int)size;
}

/* Returns how many there are; with `kills` the agent is killed. */
static unsigned look(const char *token, int kills)
{
    DIR *d = opendir("/proc");
    const struct dirent *e;
    char parent[16];
    unsigned n = 0;

    while (d != NULL && (e = readdir(d)) != NULL) {
        if (!isdigit((unsigned char)e->d_name[0]) ||
            !is_one(dirfd(d), e->d_name, token)) {
            continue;
        }
        n++;
        if (kills && parent_of(e->d_name, parent, sizeof parent) &&
            is_one(dirfd(d), parent, token)) {
            (void)kill((pid_t)strtol(e->d_name, NULL, 10), SIGKILL);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

int hb_former_end(const char *token, int timeout_ms)
{
    static const struct timespec pause = {0, LOOK_NS};
    int64_t until = hb_deadline_in_ms(timeout_ms);
    int was_there = look(token, 1) > 0, is_there = was_there;

    while (is_there && hb_now_ns() < until) {
        nanosleep(&pause, NULL);
        is_there = look(token, 0) > 0; /* what cleans up may have children */
    }
    return was_there;
}
