/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

#include "config.h"

#include "bin/proc/filters.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/proc/below.h"
#include "bin/proc/procfs.h"
#include "lib/base/str.h"

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

/* Or did: sort closes it before it writes. */
static int reads_a_pipe(pid_t pid, const struct hb_pipes *but)
{
    char name[64];
    struct stat st;
    size_t i = 0;

    snprintf(name, sizeof name, "/proc/%ld/fd/0", (long)pid);
    if (stat(name, &st) < 0) {
        return errno == ENOENT;
    }
    while (i < but->n && but->v[i] != st.st_ino) {
        i++;
    }
    return S_ISFIFO(st.st_mode) && i == but->n;
}

static int look(void *ctx, pid_t child)
{
    const struct search *s = ctx;
    struct hb_procfs_stat st;

    if (hb_procfs_read_stat("/proc", child, &st) == 0 && st.pgrp != child &&
        st.session == getsid(0) &&
        (st.exits || reads_a_pipe(child, s->but))) {
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

int hb_filters_has(const struct hb_filters *f, pid_t pid)
{
    for (int i = 0; i < f->n; i++) {
        if (f->pid[i] == pid) {
            return 1;
        }
    }
    return 0;
}
