/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What the ranks on this host wait for, from outside. Of a rank's processes
 * the one is shown that the library names, else the first of them.
 * Ranks of libhpcboot have the memory of their job open: what they wait for
 * stands there. Of all others the kernel tells whether they run, and in which
 * system call they sleep.
 *
 * Whatever is read may be gone, or may be nonsense by intent: each source is
 * bounded, and what is missing is left out. */

#include "config.h"

#include "bin/hpcboot/stuck.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bin/hpcboot/ranks_here.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/coll/coll.h"
#include "lib/rdzv/segment.h"

#define WORD_FILE_MAX 4096 /* of a file of /proc with one word */
#define FDS_MOST 4096          /* of a process that are looked at */
#define WATCH_MS 200           /* between two looks at CPU times */
#define WORLD 1u               /* numbers of the teams that always exist */
#define NODE_TEAM 2u

struct found {
    struct hb_stuck_rank shown;
    uint64_t ticks, begun;
    int is_named; /* by the library: it is the rank itself */
    int waits;    /* for others, says the library */
    int locks;    /* so that others wait for it */
};

struct host {
    struct found *v;
    size_t n;
    char name[HB_STUCK_HOST_MAX];
};

static void look_around(struct host *h)
{
    struct hb_rank_process *v;

    h->n = hb_ranks_here(&v);
    h->v = hb_xcalloc(h->n, sizeof *h->v);
    for (size_t i = 0; i < h->n; i++) {
        struct hb_stuck_rank *r = &h->v[i].shown;

        h->v[i].ticks = v[i].ticks;
        h->v[i].begun = v[i].starttime;
        r->job = v[i].job;
        r->rank = v[i].rank;
        r->size = v[i].size;
        r->on = -1;
        r->pid = v[i].pid;
        r->state = v[i].state;
        snprintf(r->host, sizeof r->host, "%s", h->name);
    }
    free(v);
}

/* ---- the memory of a job ---- */

/* Looks through what a process has open; 0: found. */
static int find_memory(int pid, struct hb_segment_look *out)
{
    int rc = -1;

    for (int fd = 3; fd < FDS_MOST && rc < 0; fd++) {
        char path[64];
        struct stat st;
        int mine;

        snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
        if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 0) {
            continue;
        }
        mine = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (mine >= 0) {
            rc = hb_segment_look(mine, out, NULL);
            close(mine);
        }
    }
    return rc;
}

static void put_team(char *out, size_t size, const struct hb_segment_seen *s)
{
    if (s->team == WORLD) {
        snprintf(out, size, "of the world");
    } else if (s->team == NODE_TEAM) {
        snprintf(out, size, "of the node's team (%u ranks)", s->team_size);
    } else {
        snprintf(out, size, "of team %u (%u ranks)", s->team, s->team_size);
    }
}

static void put_call(char *out, size_t size, const struct hb_segment_seen *s)
{
    uint32_t coll = s->kind - HB_WAITS_COLL;
    char team[64], tag[32] = "any tag";

    put_team(team, sizeof team, s);
    if (s->kind >= HB_WAITS_COLL && coll < HB_CALLS) {
        snprintf(out, size, "in %s %s, call %llu",
                 hb_coll_name((int)coll), team,
                 (unsigned long long)s->calls);
    } else if (s->kind == HB_WAITS_RECV || s->kind == HB_WAITS_SEND) {
        if (s->tag >= 0) {
            snprintf(tag, sizeof tag, "tag %d", s->tag);
        }
        snprintf(out, size, "in %s (team %u, %s)",
                 s->kind == HB_WAITS_RECV ? "recv" : "send", s->team, tag);
    } else if (s->kind == HB_WAITS_SHRINK) {
        snprintf(out, size, "in team_shrink of team %u", s->team);
    } else if (s->kind == HB_WAITS_ANY) {
        snprintf(out, size, "waits for any of its requests");
    } else if (s->kind == HB_WAITS_EVENT) {
        snprintf(out, size, "waits for an event");
    } else if (s->kind == HB_WAITS_FENCE) {
        snprintf(out, size, "in fence");
    } else if (s->kind == HB_WAITS_FINALIZE) {
        snprintf(out, size, "in finalize");
    } else {
        snprintf(out, size, "waits for a request");
    }
}

static void say_what(struct hb_stuck_rank *r, const struct hb_segment_seen *s,
                     uint32_t n_ranks)
{
    double age = (double)(hb_now_ns() - s->since_ns) / 1e9;
    char call[96], on[32] = "";

    if (s->state == HB_RANK_ABSENT) {
        snprintf(r->what, sizeof r->what, "has not come to hpcboot_init");
    } else if (s->state != HB_RANK_IN) {
        snprintf(r->what, sizeof r->what, "has left by hpcboot_finalize");
    } else if (s->kind == HB_WAITS_NOT) {
        snprintf(r->what, sizeof r->what, "waits in no call of hpcboot");
    } else {
        put_call(call, sizeof call, s);
        if (s->on >= 0 && (uint32_t)s->on < n_ranks) {
            r->on = s->on;
            snprintf(on, sizeof on, ", waits for rank %d", s->on);
        }
        snprintf(r->what, sizeof r->what, "%s%s, since %.1f s%s", call, on,
                 age > 0 ? age : 0, s->threads != 0 ? HB_STUCK_THREAD : "");
    }
}

/* All ranks of one job on this host, from the memory that one of them has. */
static void ask_memory(struct host *h, uint32_t job,
                       const struct hb_segment_look *look)
{
    struct stat own;
    uint64_t space = stat("/proc/self/ns/pid", &own) == 0 ? own.st_ino : 0;

    for (size_t i = 0; i < h->n; i++) {
        struct found *f = &h->v[i];

        for (uint32_t k = 0; f->shown.job == job && k < look->n; k++) {
            const struct hb_segment_seen *s = &look->v[k];

            if (s->rank == f->shown.rank) {
                f->is_named = s->pid == f->shown.pid &&
                              s->pid_space == space;
                f->waits = s->state == HB_RANK_IN && s->kind != HB_WAITS_NOT;
                f->locks = s->locks;
                say_what(&f->shown, s, look->n_ranks);
            }
        }
    }
}

static void ask_jobs(struct host *h)
{
    uint32_t done = 0; /* the job asked last */

    for (size_t i = 0; i < h->n; i++) {
        struct hb_segment_look look;

        if (h->v[i].shown.job != done && h->v[i].shown.what[0] == '\0' &&
            find_memory(h->v[i].shown.pid, &look) == 0) {
            done = h->v[i].shown.job;
            ask_memory(h, done, &look);
            free(look.v);
        }
    }
}

/* ---- what the kernel tells ---- */

static const char *syscall_name(long n)
{
    static const struct {
        long number;
        const char *name;
    } names[] = {
        {SYS_read, "read"}, {SYS_write, "write"}, {SYS_futex, "futex"},
        {SYS_ppoll, "ppoll"}, {SYS_pselect6, "pselect"},
        {SYS_epoll_pwait, "epoll_wait"}, {SYS_nanosleep, "nanosleep"},
        {SYS_clock_nanosleep, "nanosleep"}, {SYS_wait4, "wait"},
        {SYS_waitid, "wait"}, {SYS_recvmsg, "recvmsg"},
        {SYS_recvfrom, "recv"}, {SYS_sendmsg, "sendmsg"},
        {SYS_accept4, "accept"}, {SYS_connect, "connect"},
        {SYS_fsync, "fsync"}, {SYS_flock, "flock"}, {SYS_openat, "open"},
#ifdef SYS_poll
        {SYS_poll, "poll"}, {SYS_select, "select"},
        {SYS_epoll_wait, "epoll_wait"}, {SYS_pause, "pause"},
        {SYS_accept, "accept"}, {SYS_open, "open"},
#endif
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].number == n) {
            return names[i].name;
        }
    }
    return NULL;
}

/* One word of the kernel's own, or nothing. */
static void put_word(int pid, const char *file, char *out, size_t size)
{
    char *text = NULL;
    size_t len = 0, n = 0;

    *out = '\0';
    if (hb_process_read(pid, file, WORD_FILE_MAX, &text, &len) == 0) {
        while (n < len && n + 1 < size &&
               (isalnum((unsigned char)text[n]) || text[n] == '_')) {
            n++;
        }
        memcpy(out, text, n);
        out[n] = '\0';
        free(text);
    }
}

static void put_sleep(int pid, char *out, size_t size)
{
    char wchan[64], number[24];
    const char *name = NULL;
    uint64_t n;

    put_word(pid, "syscall", number, sizeof number);
    put_word(pid, "wchan", wchan, sizeof wchan);
    if (hb_parse_u64(number, 0, 100000, &n) == 0) {
        name = syscall_name((long)n);
    }
    snprintf(out, size, "sleeps%s%s%s%s%s", name != NULL ? " in " : "",
             name != NULL ? name : "", strlen(wchan) > 1 ? " (" : "",
             strlen(wchan) > 1 ? wchan : "", strlen(wchan) > 1 ? ")" : "");
}

/* What the kernel says comes first where it is stopped, is all there is of
 * ranks without the library, and tells more of those that wait for nobody. */
static void ask_kernel(struct found *f)
{
    struct hb_stuck_rank *r = &f->shown;
    char words[HB_STUCK_WHAT_MAX], before[HB_STUCK_WHAT_MAX];

    if (f->waits && strchr("tT", r->state) == NULL) {
        return;
    }
    if (strchr("tT", r->state) != NULL) {
        snprintf(words, sizeof words, "stopped by a %s%s",
                 r->state == 'T' ? "signal" : "debugger",
                 f->locks ? ", with the lock of the node's memory" : "");
    } else if (r->state == 'R') {
        snprintf(words, sizeof words, "runs");
    } else {
        put_sleep(r->pid, words, sizeof words);
    }
    memcpy(before, r->what, sizeof before);
    snprintf(r->what, sizeof r->what, "%.90s%s%.100s", words,
             before[0] != '\0' ? "; " : "", before);
}

static void watch_cpu(struct host *h)
{
    const struct timespec pause = {0, WATCH_MS * 1000000L};
    int64_t begun = hb_now_ns();

    nanosleep(&pause, NULL);
    for (size_t i = 0; i < h->n; i++) {
        struct found *f = &h->v[i];
        double seconds = (double)(hb_now_ns() - begun) / 1e9;
        uint64_t now = hb_process_ticks(f->shown.pid);

        f->shown.cpu = hb_percent_of_cpu(now > f->ticks ? now - f->ticks : 0,
                                         seconds);
    }
}

/* Of a rank's processes, whether `a` is to be shown rather than `b`. */
static int better(const struct found *a, const struct found *b)
{
    if (a->is_named != b->is_named) {
        return a->is_named;
    }
    return a->begun != b->begun ? a->begun < b->begun
                                : a->shown.pid < b->shown.pid;
}

/* The CPU time is that of all processes of the rank. */
static int is_best(struct host *h, size_t i)
{
    unsigned cpu = 0;

    for (size_t k = 0; k < h->n; k++) {
        if (h->v[k].shown.job == h->v[i].shown.job &&
            h->v[k].shown.rank == h->v[i].shown.rank) {
            if (k != i && !better(&h->v[i], &h->v[k])) {
                return 0;
            }
            cpu += h->v[k].shown.cpu;
        }
    }
    h->v[i].shown.cpu = cpu;
    return 1;
}

void hb_stuck_look(struct hb_stuck_list *out)
{
    struct host h = {0};

    if (gethostname(h.name, sizeof h.name - 1) != 0) {
        snprintf(h.name, sizeof h.name, "-");
    }
    look_around(&h);
    watch_cpu(&h);
    ask_jobs(&h);
    for (size_t i = 0; i < h.n; i++) {
        ask_kernel(&h.v[i]);
    }
    for (size_t i = 0; i < h.n; i++) {
        if (is_best(&h, i)) {
            hb_stuck_add(out, &h.v[i].shown);
        }
    }
    free(h.v);
}
