/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What the ranks on this host take. A rank is all its processes: one that was
 * started through a shell has two at least. It is shown by the first of them,
 * with the CPU time and the memory of all.
 *
 * A rank lives below an agent, which ends it. Where none is above it, agent
 * and guard were killed and the rank is lost. */

#include "config.h"

#include "bin/hpcboot/ps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bin/hpcboot/clean.h"
#include "bin/hpcboot/ranks_here.h"
#include "bin/proc/procfs.h"
#include "lib/base/clock.h"

#define WATCH_MS 200     /* between two looks at CPU times */
#define FILE_MAX 65536   /* of a file of /proc */
#define ANCESTORS_MAX 64 /* that are looked at for an agent */
#define KIB 1024u

/* The words of a process with blanks between. */
static void put_program(int pid, char *out, size_t size)
{
    char words[HB_PROCESS_WORDS_MAX];
    size_t len = hb_process_words(pid, words);

    for (size_t i = 0; i < len; i++) {
        words[i] = words[i] == '\0' ? ' ' : words[i];
    }
    hb_clean_copy(out, size, words);
}

static void put_cpus(int pid, char *out, size_t size)
{
    static const char key[] = "Cpus_allowed_list:";
    char *text = NULL, *at;
    size_t len = 0;

    snprintf(out, size, "-");
    if (hb_process_read(pid, "status", FILE_MAX, &text, &len) < 0) {
        return;
    }
    at = strstr(text, key);
    if (at != NULL) {
        at += strlen(key);
        at += strspn(at, " \t");
        at[strcspn(at, "\n")] = '\0';
        hb_clean_copy(out, size, at);
    }
    free(text);
}

static uint64_t resident_kib(int pid)
{
    unsigned long long pages = 0;
    char *text = NULL;
    size_t len;

    if (hb_process_read(pid, "statm", FILE_MAX, &text, &len) == 0) {
        (void)sscanf(text, "%*u %llu", &pages);
        free(text);
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE) / KIB;
}

static uint64_t age_s(uint64_t starttime)
{
    uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
    struct timespec up;

    clock_gettime(CLOCK_BOOTTIME, &up);
    return (uint64_t)up.tv_sec > starttime / hz
               ? (uint64_t)up.tv_sec - starttime / hz : 0;
}

/* An agent, or its guard, which has the same words: "hpcbootd agent ...". */
static int is_agent(int pid)
{
    char words[HB_PROCESS_WORDS_MAX];
    size_t len = hb_process_words(pid, words), first = strlen(words);
    const char *slash = strrchr(words, '/');

    return first < len &&
           hb_streq(slash != NULL ? slash + 1 : words, "hpcbootd") &&
           hb_streq(words + first + 1, "agent");
}

static int has_agent(int pid)
{
    struct hb_procfs_stat st;

    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        if (hb_procfs_read_stat("/proc", pid, &st) < 0) {
            return 1; /* it has ended, or cannot be told */
        }
        if (is_agent(st.ppid)) {
            return 1;
        }
        pid = st.ppid;
    }
    return 0;
}

static int is_same(const struct hb_rank_process *a,
                   const struct hb_rank_process *b)
{
    return a->job == b->job && a->rank == b->rank;
}

static int is_first(const struct hb_rank_process *v, size_t n, size_t i)
{
    for (size_t k = 0; k < n; k++) {
        if (is_same(&v[k], &v[i]) &&
            (v[k].starttime < v[i].starttime ||
             (v[k].starttime == v[i].starttime && v[k].pid < v[i].pid))) {
            return 0;
        }
    }
    return 1;
}

/* The rank whose first process is v[at]; `ticks` of each, `seconds` before. */
static void add_rank(struct hb_ps_list *out, const struct hb_rank_process *v,
                     size_t n, size_t at, double seconds)
{
    struct hb_ps_rank r = {
        .job = v[at].job, .rank = v[at].rank, .size = v[at].size,
        .pid = v[at].pid, .state = v[at].state,
        .age_s = age_s(v[at].starttime), .is_lost = !has_agent(v[at].pid)};

    for (size_t k = 0; k < n; k++) {
        uint64_t now;

        if (is_same(&v[k], &v[at])) {
            now = hb_process_ticks(v[k].pid);
            r.cpu += hb_percent_of_cpu(now > v[k].ticks ? now - v[k].ticks : 0,
                                       seconds);
            r.kib += resident_kib(v[k].pid);
            r.processes++;
        }
    }
    if (gethostname(r.host, sizeof r.host - 1) != 0) {
        snprintf(r.host, sizeof r.host, "-");
    }
    put_cpus(r.pid, r.cpus, sizeof r.cpus);
    put_program(r.pid, r.program, sizeof r.program);
    if (r.program[0] != '\0') { /* else it has ended meanwhile */
        hb_ps_add(out, &r);
    }
}

void hb_ps_look(struct hb_ps_list *out)
{
    const struct timespec pause = {0, WATCH_MS * 1000000L};
    int64_t begun = hb_now_ns();
    struct hb_rank_process *v;
    size_t n = hb_ranks_here(&v);

    if (n > 0) {
        nanosleep(&pause, NULL);
    }
    for (size_t i = 0; i < n; i++) {
        if (is_first(v, n, i)) {
            add_rank(out, v, n, i, (double)(hb_now_ns() - begun) / 1e9);
        }
    }
    free(v);
}
