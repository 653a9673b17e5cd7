/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

#include "config.h"

#include "bin/proc/filters.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bin/proc/below.h"
#include "bin/proc/procfs.h"
#include "lib/base/str.h"

/* What a shell does between its fork and the pipe's being standard input, on a
 * machine with more to do. */
#define YOUNG_S 1

struct search {
    struct hb_filters *found;
    const struct hb_pipes *but;
};

void hb_pipes_add(struct hb_pipes *p, int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0) {
        p->v = hb_xrealloc(p->v, (p->n + 1) * sizeof *p->v);
        p->v[p->n++] = st.st_ino;
    }
}

static int add(void *ctx, pid_t pid)
{
    struct hb_filters *f = ((struct search *)ctx)->found;
    struct hb_procfs_stat st;

    if (hb_procfs_read_stat("/proc", pid, &st) == 0 && st.state != 'Z' &&
        f->n < HB_FILTERS_MAX) {
        f->pid[f->n++] = pid;
        f->runs += st.state == 'R' || st.state == 'D';
        f->cpu += st.cpu;
    }
    return 0;
}

/* The pipe that a descriptor of a process is; 0: it is none, and errno says
 * whether it is closed (ENOENT). */
static ino_t pipe_of(pid_t pid, int fd)
{
    char name[64];
    struct stat st;

    snprintf(name, sizeof name, "/proc/%ld/fd/%d", (long)pid, fd);
    errno = 0;
    return stat(name, &st) == 0 && S_ISFIFO(st.st_mode) ? st.st_ino : 0;
}

static int is_one_of(const struct hb_pipes *p, ino_t pipe)
{
    size_t i = 0;

    while (i < p->n && p->v[i] != pipe) {
        i++;
    }
    return i < p->n;
}

/* Or did: sort closes it before it writes. */
static int reads_a_pipe(pid_t pid, const struct hb_pipes *but)
{
    ino_t pipe = pipe_of(pid, 0);

    return pipe == 0 ? errno == ENOENT : !is_one_of(but, pipe);
}

/* A copy of the shell that has forked it just now. */
static int is_new(const struct hb_procfs_stat *st)
{
    uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), now;
    struct timespec up;

    clock_gettime(CLOCK_BOOTTIME, &up);
    now = (uint64_t)up.tv_sec * hz + (uint64_t)up.tv_nsec * hz / 1000000000;
    return st->is_copy && now <= st->starttime + YOUNG_S * hz;
}

/* The pipe that a descriptor is to be read from, or 0. Of files nobody asks
 * their file system, which may be one that does not answer. */
static ino_t pipe_to_read(int dir, const char *fd)
{
    unsigned long long pipe = 0;
    char to[64];
    struct stat link;
    ssize_t n = readlinkat(dir, fd, to, sizeof to - 1);

    if (n <= 0 || fstatat(dir, fd, &link, AT_SYMLINK_NOFOLLOW) < 0 ||
        (link.st_mode & S_IRUSR) == 0) { /* which says what it is open for */
        return 0;
    }
    to[n] = '\0';
    return sscanf(to, "pipe:[%llu]", &pipe) == 1 ? (ino_t)pipe : 0;
}

/* Whether any of its descriptors is the end to read from of a pipe that meets
 * wanted. A process whose parent has been that quick is a filter before it has
 * made that its standard input. */
static int holds_a_pipe(pid_t pid, int (*wanted)(const void *ctx, ino_t pipe),
                        const void *ctx)
{
    char name[64];
    DIR *d;
    struct dirent *e;
    int holds = 0;

    snprintf(name, sizeof name, "/proc/%ld/fd", (long)pid);
    d = opendir(name);
    while (d != NULL && !holds && (e = readdir(d)) != NULL) {
        ino_t pipe = pipe_to_read(dirfd(d), e->d_name);

        holds = pipe != 0 && wanted(ctx, pipe);
    }
    if (d != NULL) {
        closedir(d);
    }
    return holds;
}

static int is_of_no_rank(const void *but, ino_t pipe)
{
    return !is_one_of(but, pipe);
}

static int look(void *ctx, pid_t child)
{
    const struct search *s = ctx;
    struct hb_procfs_stat st;

    if (hb_procfs_read_stat("/proc", child, &st) == 0 && st.pgrp != child &&
        st.session == getsid(0) &&
        (st.exits || reads_a_pipe(child, s->but) ||
         (is_new(&st) && holds_a_pipe(child, is_of_no_rank, s->but)))) {
        (void)hb_below(child, add, ctx);
    }
    return 0;
}

void hb_filters_find(struct hb_filters *out, const struct hb_pipes *but)
{
    struct search s = {out, but};

    out->n = out->runs = 0;
    out->cpu = 0;
    (void)hb_children(getpid(), look, &s);
}

/* A process below a rank: its pipes, and whether it is a filter. */
struct member {
    pid_t pid, parent;
    ino_t reads, writes[2]; /* 0: none, or the rank's own */
    int is_copy, filters;
};

struct family {
    struct member v[HB_FILTERS_MAX];
    int n;
    ino_t own[2];
};

static ino_t inode_of(int fd)
{
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static int look_below(void *ctx, pid_t pid)
{
    struct family *f = ctx;
    struct member *m = &f->v[f->n];
    struct hb_procfs_stat st;

    if (f->n == HB_FILTERS_MAX || hb_procfs_read_stat("/proc", pid, &st) < 0) {
        return 0;
    }
    *m = (struct member){pid, st.ppid, pipe_of(pid, 0), {0, 0}, st.is_copy, 0};
    for (int i = 0; i < 2; i++) {
        ino_t to = pipe_of(pid, i + 1);

        m->writes[i] = to != f->own[0] && to != f->own[1] ? to : 0;
    }
    f->n++;
    return 0;
}

static int writes(const struct member *m, ino_t pipe)
{
    return pipe != 0 && (pipe == m->writes[0] || pipe == m->writes[1]);
}

struct pair {
    const struct member *of, *by;
};

/* A worker that has been forked by a program that reads its own output back has
 * both ends of the pipe, and writes to it. */
static int is_between(const void *ctx, ino_t pipe)
{
    const struct pair *p = ctx;

    return writes(p->by, pipe) && !writes(p->of, pipe);
}

/* Or will: a copy of the shell that is about to make the pipe its standard
 * input. */
static int reads_of(const struct member *m, const struct member *by)
{
    const struct pair p = {m, by};

    return writes(by, m->reads) ||
           (m->is_copy && holds_a_pipe(m->pid, is_between, &p));
}

/* Parents come before their children. One that reads what somebody above it
 * writes; not what its neighbour does, as in a shell's `cat in | solver`. */
static int is_filter(const struct family *f, const struct member *m)
{
    pid_t above = m->parent;

    for (int i = f->n; i-- > 0;) {
        const struct member *p = &f->v[i];

        if (p->pid != above) {
            continue;
        }
        if (p->filters || reads_of(m, p)) {
            return 1;
        }
        above = p->parent;
    }
    return 0;
}

void hb_filters_add_of(struct hb_filters *out, pid_t rank, const int own[2])
{
    struct search s = {out, NULL};
    struct family f;

    f.n = 0;
    f.own[0] = inode_of(own[0]);
    f.own[1] = inode_of(own[1]);
    (void)hb_below(rank, look_below, &f);
    for (int i = 1; i < f.n; i++) {
        f.v[i].filters = is_filter(&f, &f.v[i]);
        if (f.v[i].filters) {
            (void)add(&s, f.v[i].pid);
        }
    }
}

int hb_filters_has(const struct hb_filters *f, pid_t pid)
{
    for (int i = 0; i < f->n; i++) {
        if (f->pid[i] == pid) {
            return 1;
        }
    }
    return 0;
}
