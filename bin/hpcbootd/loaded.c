/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What rank 0 loads, where its command line named no MPI.
 *
 * `perl -e`, eval or a shell's ${P:-app} hide the program, and a guess decided
 * which server its ranks get; one that loads its MPI by dlopen gets none. A
 * program of another family's MPI does not see that server, each rank takes
 * itself for rank 0 of 1, and all of them succeed.
 * So the agent looks which libraries the processes below rank 0 have mapped,
 * often in the beginning, as a short program maps them for milliseconds, and
 * says so when the rank ends, or after ten seconds, without having called. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bin/hpcbootd/agent.h"
#include "bin/hpcbootd/sure.h"
#include "bin/pm/mpi_lib.h"
#include "bin/proc/below.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/str.h"

#define FIRST_US 5000
#define LATER_US 100000
#define BEGINNING_NS ((int64_t)500 * 1000 * 1000)
#define LOOKED_NS ((int64_t)10 * 1000 * 1000 * 1000)
#define SHARE 20 /* a look may take such a part of the time */

struct agent_loaded {
    struct event *timer;
    int64_t began_ns;
    struct hb_mpi_link found; /* links_mpi 0: nothing yet */
    int told;
};

/* The path that a line of a maps file ends with, or NULL. */
static char *path_in(char *line)
{
    char *path = strchr(line, '/');

    if (path != NULL) {
        path[strcspn(path, "\n")] = '\0';
    }
    return path;
}

/* What starts ranks of another job, which call servers of its own. */
static int is_launcher(pid_t pid)
{
    static const char *const known[] = {
        "hb-keeper", "hbrun", "mpirun", "mpiexec", "mpiexec.hydra",
        "hydra_pmi_proxy", "orterun", "orted", "prterun", "prted", "srun",
    };
    char path[64], *text = NULL;
    size_t len;
    int found = 0;

    snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
    if (hb_file_read(path, sizeof path, &text, &len, NULL) >= 0) {
        text[strcspn(text, "\n")] = '\0';
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            found |= hb_streq(text, known[i]);
        }
    }
    free(text);
    return found;
}

static int has_mapped(void *ctx, pid_t pid)
{
    struct hb_mpi_link *out = ctx;
    char name[64], *line = NULL;
    size_t room = 0;
    FILE *f;

    if (is_launcher(pid)) {
        return -1;
    }
    snprintf(name, sizeof name, "/proc/%ld/maps", (long)pid);
    f = fopen(name, "re");
    while (f != NULL && out->links_mpi == 0 && getline(&line, &room, f) > 0) {
        const char *path = path_in(line);

        if (path != NULL && hb_mpi_is_library(path)) {
            hb_mpi_link_library(out, path);
        }
    }
    free(line);
    if (f != NULL) {
        fclose(f);
    }
    return out->links_mpi;
}

/* What this thread has computed: a look that others kept from the processor is
 * no reason to look less often. */
static int64_t spent_ns(void)
{
    struct timespec t = {0, 0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 * 1000 * 1000 + t.tv_nsec;
}

static void look_again(struct agent_loaded *l, int64_t took_ns)
{
    int64_t now = hb_now_ns();
    int64_t us = now - l->began_ns < BEGINNING_NS ? FIRST_US : LATER_US;
    struct timeval next;

    if (us < took_ns * SHARE / 1000) {
        us = took_ns * SHARE / 1000;
    }
    next.tv_sec = us / 1000000;
    next.tv_usec = us % 1000000;
    if (now - l->began_ns < LOOKED_NS) {
        sure_add(l->timer, &next);
    }
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;
    const struct rank *r = agent_rank(a, 0);
    int64_t before = spent_ns();

    if (r != NULL && r->pid > 0 && r->contact == 0 &&
        !hb_below(r->pid, has_mapped, &a->loaded->found)) {
        look_again(a->loaded, spent_ns() - before);
    }
}

void agent_loaded_watch(struct agent *a)
{
    if ((a->job.flags & HB_JOB_GUESSED) == 0 || agent_rank(a, 0) == NULL) {
        return;
    }
    a->loaded = hb_xcalloc(1, sizeof *a->loaded);
    a->loaded->timer = sure_timer(a->base, on_look, a);
    a->loaded->began_ns = hb_now_ns();
    look_again(a->loaded, 0);
}

void agent_loaded_tell(struct agent *a)
{
    struct agent_loaded *l = a->loaded;
    const struct rank *r = agent_rank(a, 0);

    if (l == NULL || l->told || !l->found.links_mpi || r->contact != 0 ||
        l->found.family == a->job.family) {
        return;
    }
    l->told = 1;
    if (a->job.family == HB_PM_NONE) {
        agent_note(a, HB_WARN, "rank 0 has loaded %s, whose ranks call a %s "
                   "server, and there is none, as the command line names no "
                   "MPI: if each rank takes itself for rank 0 of 1, say "
                   "--pmi %s", l->found.where,
                   hb_pm_family_name(l->found.family),
                   hb_pm_family_name(l->found.family));
        return;
    }
    agent_note(a, HB_WARN, "rank 0 has loaded %s, whose ranks call a %s "
               "server, and has not called the %s one that was a guess: if "
               "each rank takes itself for rank 0 of 1, say --pmi %s",
               l->found.where, hb_pm_family_name(l->found.family),
               hb_pm_family_name(a->job.family),
               hb_pm_family_name(l->found.family));
}

void agent_loaded_destroy(struct agent_loaded *l)
{
    if (l != NULL && l->timer != NULL) {
        event_free(l->timer);
    }
    free(l);
}
