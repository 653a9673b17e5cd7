/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

#include "config.h"

#include "bin/proc/below.h"

#include <dirent.h>
#include <stdio.h>

#define DEPTH_MAX 8
#define PROCESSES_MAX 64

/* Those that one thread of the process has forked. */
static int children_of(pid_t pid, const char *thread,
                       int (*visit)(void *ctx, pid_t pid), void *ctx)
{
    char name[320];
    long child;
    int rc = 0;
    FILE *f;

    snprintf(name, sizeof name, "/proc/%ld/task/%s/children", (long)pid,
             thread);
    f = fopen(name, "re");
    while (f != NULL && rc == 0 && fscanf(f, "%ld", &child) == 1) { /* NOLINT */
        rc = visit(ctx, (pid_t)child);
    }
    if (f != NULL) {
        fclose(f);
    }
    return rc;
}

int hb_children(pid_t pid, int (*visit)(void *ctx, pid_t pid), void *ctx)
{
    const struct dirent *thread;
    char name[64];
    int rc = 0;
    DIR *dir;

    snprintf(name, sizeof name, "/proc/%ld/task", (long)pid);
    dir = opendir(name);
    while (dir != NULL && rc == 0 && (thread = readdir(dir)) != NULL) {
        if (thread->d_name[0] != '.') {
            rc = children_of(pid, thread->d_name, visit, ctx);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return rc;
}

struct walk {
    int (*visit)(void *ctx, pid_t pid);
    void *ctx;
    int seen, depth;
};

static int look(void *walk, pid_t pid)
{
    struct walk *w = walk;
    int rc;

    if (w->depth > DEPTH_MAX || ++w->seen > PROCESSES_MAX) {
        return 0;
    }
    rc = w->visit(w->ctx, pid);
    if (rc == 0) {
        w->depth++;
        rc = hb_children(pid, look, w);
        w->depth--;
    }
    return rc > 0 ? rc : 0;
}

int hb_below(pid_t pid, int (*visit)(void *ctx, pid_t pid), void *ctx)
{
    struct walk w = {.visit = visit, .ctx = ctx};

    return look(&w, pid);
}
