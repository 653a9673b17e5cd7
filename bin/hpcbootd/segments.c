/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Shared memory that ranks leave behind. An MPI removes its segment in
 * /dev/shm in MPI_Finalize, which ranks that fail or are ended do not come to;
 * a pod's 64 MB are full after some twenty restarts of MPICH, and the next
 * start dies of SIGBUS. (Open MPI is given a directory of the job.)
 *
 * So when a rank has failed, and before ranks are ended, the agent notes which
 * such files they have mapped, and when all have ended it removes those. A
 * file has to bear a name that an MPI gives to its own, be this user's and be
 * mapped by a rank of this job: all else is somebody's. What the last rank of
 * a host had mapped when it died by itself is not known. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bin/hpcbootd/agent.h"
#include "bin/proc/below.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define PLACE "/dev/shm/"
#define SEGMENTS_MAX 256

/* MPICH 5, MPICH 4, Intel MPI, PSM2 and PSM3 (libfabric, Open MPI), UCX. */
static const char *const prefixes[] = {
    "mpich_shm_", "mpich_shar_tmp", "Intel_MPI_", "psm2_shm.", "psm3_shm.",
    "ucx_shm_posix_",
};

struct agent_segments {
    struct segment {
        char *path;
        dev_t dev;
        ino_t ino;
    } at[SEGMENTS_MAX];
    unsigned n;
};

static int is_an_mpis(const char *path)
{
    const char *name = path + strlen(PLACE);

    if (strncmp(path, PLACE, strlen(PLACE)) != 0) {
        return 0;
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            return strchr(name, '/') == NULL;
        }
    }
    return 0;
}

static int is_noted(const struct agent_segments *s, const char *path)
{
    for (unsigned i = 0; i < s->n; i++) {
        if (strcmp(s->at[i].path, path) == 0) {
            return 1;
        }
    }
    return 0;
}

/* ino: what is mapped, in the rank's mount namespace. */
static void note(struct agent_segments *s, const char *path, ino_t ino)
{
    struct stat st;

    if (s->n < SEGMENTS_MAX && !is_noted(s, path) && lstat(path, &st) == 0 &&
        S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_ino == ino) {
        s->at[s->n++] = (struct segment){hb_xstrdup(path), st.st_dev, ino};
    }
}

/* "7f..-7f.. rw-s 00000000 00:17 1234   /dev/shm/NAME" */
static void note_line(struct agent_segments *s, char *line)
{
    char *path = strchr(line, '/');
    unsigned long long ino;

    if (path == NULL) {
        return;
    }
    path[strcspn(path, "\n")] = '\0';
    if (is_an_mpis(path) &&
        sscanf(line, "%*s %*s %*s %*s %llu", &ino) == 1) { /* NOLINT */
        note(s, path, (ino_t)ino);
    }
}

static int note_process(void *ctx, pid_t pid)
{
    char name[64], *line = NULL;
    size_t room = 0;
    FILE *f;

    snprintf(name, sizeof name, "/proc/%ld/maps", (long)pid);
    f = fopen(name, "re");
    while (f != NULL && getline(&line, &room, f) > 0) {
        note_line(ctx, line);
    }
    free(line);
    if (f != NULL) {
        fclose(f);
    }
    return 0;
}

void agent_segments_note(struct agent *a)
{
    if (a->segments == NULL) {
        a->segments = hb_xcalloc(1, sizeof *a->segments);
    }
    for (uint32_t i = 0; i < a->n_ranks; i++) {
        if (a->ranks[i].pid > 0) {
            (void)hb_below(a->ranks[i].pid, note_process, a->segments);
        }
    }
}

void agent_segments_remove(struct agent *a)
{
    struct agent_segments *s = a->segments;
    struct stat st;

    while (s != NULL && s->n > 0) {
        struct segment *g = &s->at[--s->n];

        if (lstat(g->path, &st) == 0 && st.st_dev == g->dev &&
            st.st_ino == g->ino && unlink(g->path) == 0) {
            agent_note(a, HB_DEBUG, "removed %s, which ranks left behind",
                       g->path);
        }
        free(g->path);
    }
    free(s);
    a->segments = NULL;
}
