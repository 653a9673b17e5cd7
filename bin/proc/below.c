/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

#include "config.h"

#include "bin/proc/below.h"

#include <dirent.h>
#include <stdio.h>

#define DEPTH_MAX 8
#define PROCESSES_MAX 64

struct walk {
    int (*visit)(void *ctx, pid_t pid);
    void *ctx;
    int seen;
};

static int look(struct walk *w, pid_t pid, int depth);

/* Those that one thread of the process has forked. */
static int look_at_thread(struct walk *w, pid_t pid, const char *thread,
                          int depth)
{
    char name[320];
    long child;
    int rc = 0;
    FILE *f;

    snprintf(name, sizeof name, "/proc/%ld/task/%s/children", (long)pid,
             thread);
    f = fopen(name, "re");
    while (f != NULL && rc == 0 && fscanf(f, "%ld", &child) == 1) { /* NOLINT */
        rc = look(w, (pid_t)child, depth + 1);
    }
    if (f != NULL) {
        fclose(f);
    }
    return rc;
}

static int look(struct walk *w, pid_t pid, int depth)
{
    const struct dirent *thread;
    char name[64];
    DIR *dir;
    int rc;

    if (depth > DEPTH_MAX || ++w->seen > PROCESSES_MAX) {
        return 0;
    }
    rc = w->visit(w->ctx, pid);
    snprintf(name, sizeof name, "/proc/%ld/task", (long)pid);
    dir = rc == 0 ? opendir(name) : NULL;
    while (dir != NULL && rc == 0 && (thread = readdir(dir)) != NULL) {
        if (thread->d_name[0] != '.') {
            rc = look_at_thread(w, pid, thread->d_name, depth);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return rc;
}

int hb_below(pid_t pid, int (*visit)(void *ctx, pid_t pid), void *ctx)
{
    struct walk w = {.visit = visit, .ctx = ctx};

    return look(&w, pid, 0);
}
