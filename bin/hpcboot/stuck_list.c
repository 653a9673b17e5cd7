/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Ranks that were looked at, as lines between hosts, and as tables with who
 * holds up whom. */

#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/hpcboot/clean.h"
#include "bin/hpcboot/stuck.h"
#include "lib/base/str.h"

#define RANKS_NAMED 8 /* in a sentence */
#define LINE_FIELDS 9

void hb_stuck_add(struct hb_stuck_list *l, const struct hb_stuck_rank *r)
{
    l->v = hb_xrealloc(l->v, (l->n + 1) * sizeof *l->v);
    l->v[l->n++] = *r;
}

void hb_stuck_destroy(struct hb_stuck_list *l)
{
    free(l->v);
    l->v = NULL;
    l->n = 0;
}

void hb_stuck_line(const struct hb_stuck_rank *r, char *out, size_t size)
{
    char host[HB_STUCK_HOST_MAX], what[HB_STUCK_WHAT_MAX];

    hb_clean_copy(host, sizeof host, r->host);
    hb_clean_copy(what, sizeof what, r->what);
    snprintf(out, size, "%08x\t%u\t%u\t%d\t%d\t%c\t%u\t%s\t%s", r->job,
             r->rank, r->size, r->on, r->pid, r->state, r->cpu, host, what);
}

int hb_stuck_parse(struct hb_stuck_rank *out, const char *line)
{
    struct hb_stuck_rank r = {0};
    char host[HB_STUCK_HOST_MAX] = "", what[HB_STUCK_WHAT_MAX] = "";

    if (sscanf(line, "%8x\t%u\t%u\t%d\t%d\t%c\t%u\t%63[^\t\n]\t%199[^\t\n]",
               &r.job, &r.rank, &r.size, &r.on, &r.pid, &r.state, &r.cpu,
               host, what) != LINE_FIELDS ||
        r.pid <= 0 || !isalpha((unsigned char)r.state)) {
        return 0; /* both are shown, and given to other programs */
    }
    hb_clean_copy(r.host, sizeof r.host, host);
    hb_clean_copy(r.what, sizeof r.what, what);
    *out = r;
    return 1;
}

static int by_rank(const void *a, const void *b)
{
    const struct hb_stuck_rank *x = a, *y = b;

    return x->job != y->job ? (x->job < y->job ? -1 : 1)
           : x->rank != y->rank ? (x->rank < y->rank ? -1 : 1)
           : x->pid != y->pid ? (x->pid < y->pid ? -1 : 1)
                              : strcmp(x->host, y->host);
}

/* Where several names lead to one host its ranks were seen by each. */
static void arrange(struct hb_stuck_list *l)
{
    size_t n = l->n > 0;

    if (l->n > 0) {
        qsort(l->v, l->n, sizeof *l->v, by_rank);
    }
    for (size_t i = 1; i < l->n; i++) {
        if (by_rank(&l->v[i], &l->v[n - 1]) != 0) {
            l->v[n++] = l->v[i];
        }
    }
    l->n = n;
}

/* What a rank that was stopped waited for may have come meanwhile. */
static int is_stopped(const struct hb_stuck_rank *r)
{
    return strchr("tT", r->state) != NULL;
}

/* The ranks v[n] of one job. */
struct job {
    const struct hb_stuck_rank *v;
    size_t n;
};

/* They are in the order of their ranks. */
static const struct hb_stuck_rank *of_rank(const struct job *j, int rank)
{
    size_t from = 0, to = rank >= 0 ? j->n : 0;

    while (from < to) {
        size_t at = from + (to - from) / 2;

        if (j->v[at].rank < (uint32_t)rank) {
            from = at + 1;
        } else {
            to = at;
        }
    }
    return rank >= 0 && from < j->n && j->v[from].rank == (uint32_t)rank
               ? &j->v[from] : NULL;
}

/* NULL: nobody whose end of waiting would surely end its own. */
static const struct hb_stuck_rank *awaited_by(const struct job *j,
                                              const struct hb_stuck_rank *r)
{
    return is_stopped(r) ? NULL : of_rank(j, r->on);
}

static void put_ranks(const uint32_t *ranks, size_t n)
{
    printf("rank%s", n == 1 ? "" : "s");
    for (size_t i = 0; i < n && i < RANKS_NAMED; i++) {
        printf("%s%u", i == 0 ? " " : i + 1 == n ? " and " : ", ", ranks[i]);
    }
    if (n > RANKS_NAMED) {
        printf(" and %zu more", n - RANKS_NAMED);
    }
}

/* Follows who waits for whom from each rank on. Where it ends at a rank that
 * waits for nobody, that rank holds up the others; where it comes back, the
 * ranks of the circle wait for each other. */
static void say_circle(const struct job *j, const struct hb_stuck_rank *in)
{
    uint32_t ranks[RANKS_NAMED + 1];
    const struct hb_stuck_rank *r = in;
    int threads = 0;
    size_t n = 0;

    do {
        if (r->rank < in->rank) {
            return; /* told from its lowest rank */
        }
        if (n <= RANKS_NAMED) {
            ranks[n] = r->rank;
        }
        n++;
        threads |= strstr(r->what, HB_STUCK_THREAD) != NULL;
        r = awaited_by(j, r);
    } while (r != in && n <= j->n);
    put_ranks(ranks, n);
    printf(" wait for each other: %s\n",
           threads ? "none of them can go on, unless by a thread not seen here"
                   : "none of them can go on");
}

/* Ranks for a sentence, of which the first are named. */
struct some {
    uint32_t ranks[RANKS_NAMED];
    size_t n;
};

static void add_some(struct some *s, uint32_t rank)
{
    if (s->n < RANKS_NAMED) {
        s->ranks[s->n] = rank;
    }
    s->n++;
}

static void waiting_for(const struct job *j, uint32_t rank, struct some *out)
{
    *out = (struct some){.n = 0};
    for (size_t i = 0; i < j->n; i++) {
        if (j->v[i].on == (int)rank) {
            add_some(out, j->v[i].rank);
        }
    }
}

static void say_holder(const struct job *j, const struct hb_stuck_rank *end)
{
    struct some s;

    waiting_for(j, end->rank, &s);
    if (s.n > 0) {
        put_ranks(s.ranks, s.n);
        printf(" wait%s for rank %u on %s, which %s: pid %d, %s\n",
               s.n == 1 ? "s" : "", end->rank, end->host,
               is_stopped(end) ? "is stopped"
               : strncmp(end->what, "in ", 3) == 0 ||
                       strncmp(end->what, "waits for ", 10) == 0
                   ? "names nobody" : "waits for nobody",
               end->pid, end->what);
    }
}

/* Once for each rank that is awaited and was not seen. */
static void say_unseen(const struct job *j, const struct hb_stuck_rank *first)
{
    struct some s;

    if (first->on < 0 || of_rank(j, first->on) != NULL) {
        return;
    }
    waiting_for(j, (uint32_t)first->on, &s);
    if (s.ranks[0] == first->rank) {
        put_ranks(s.ranks, s.n);
        printf(" wait%s for rank %d, which was not seen: its host did not "
               "answer or was not asked, or it has ended\n",
               s.n == 1 ? "s" : "", first->on);
    }
}

/* All have to come to `call`, which names nobody. */
static void say_absent(const struct job *j, const char *call)
{
    struct some in = {.n = 0}, out = {.n = 0};

    for (size_t i = 0; i < j->n; i++) {
        add_some(strncmp(j->v[i].what, call, strlen(call)) == 0 ? &in : &out,
                 j->v[i].rank);
    }
    if (in.n > 0 && out.n > 0) {
        put_ranks(in.ranks, in.n);
        printf(" %s %s, and ", in.n == 1 ? "is" : "are", call);
        put_ranks(out.ranks, out.n);
        printf(" %s not\n", out.n == 1 ? "is" : "are");
    }
}

static int is_in_circle(const struct job *j, const struct hb_stuck_rank *in)
{
    const struct hb_stuck_rank *r = awaited_by(j, in);

    for (size_t n = 0; r != NULL && r != in && n < j->n; n++) {
        r = awaited_by(j, r);
    }
    return r == in;
}

static void show_job(const struct job *j)
{
    size_t width = strlen("host");

    for (size_t i = 0; i < j->n; i++) {
        size_t n = strlen(j->v[i].host);
        width = n > width ? n : width;
    }
    printf("job %08x: %zu of %u ranks\n%6s  %-*s %8s %5s %5s  %s\n",
           j->v->job, j->n, j->v->size, "rank", (int)width, "host", "pid",
           "state", "cpu", "what");
    for (size_t i = 0; i < j->n; i++) {
        const struct hb_stuck_rank *r = &j->v[i];

        printf("%6u  %-*s %8d %5c %4u%%  %s\n", r->rank, (int)width, r->host,
               r->pid, r->state, r->cpu, r->what);
    }
    for (size_t i = 0; i < j->n; i++) {
        if (is_in_circle(j, &j->v[i])) {
            say_circle(j, &j->v[i]);
        } else if (j->v[i].on < 0 || is_stopped(&j->v[i])) {
            say_holder(j, &j->v[i]);
        } else {
            say_unseen(j, &j->v[i]);
        }
    }
    say_absent(j, "in fence");
    say_absent(j, "in finalize");
}

size_t hb_stuck_show(struct hb_stuck_list *l, uint32_t job)
{
    size_t shown = 0;

    arrange(l);
    for (size_t i = 0, end; i < l->n; i = end) {
        for (end = i; end < l->n && l->v[end].job == l->v[i].job; end++) {
        }
        if (job == 0 || job == l->v[i].job) {
            const struct job j = {&l->v[i], end - i};

            printf("%s", shown > 0 ? "\n" : "");
            show_job(&j);
            shown += j.n;
        }
    }
    return shown;
}
