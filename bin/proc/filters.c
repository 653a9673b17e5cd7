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

static int add(void *ctx, pid_t pid)
{
    struct hb_filters *f = ctx;
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
static int reads_a_pipe(pid_t pid)
{
    char name[64];
    struct stat st;

    snprintf(name, sizeof name, "/proc/%ld/fd/0", (long)pid);
    return stat(name, &st) == 0 ? S_ISFIFO(st.st_mode) : errno == ENOENT;
}

static int look(void *ctx, pid_t child)
{
    struct hb_procfs_stat st;

    if (hb_procfs_read_stat("/proc", child, &st) == 0 && st.pgrp != child &&
        (st.exits || reads_a_pipe(child))) {
        (void)hb_below(child, add, ctx);
    }
    return 0;
}

void hb_filters_find(struct hb_filters *out)
{
    out->n = out->runs = 0;
    out->cpu = 0;
    (void)hb_children(getpid(), look, out);
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
