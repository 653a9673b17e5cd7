/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Ranks that were looked at: as lines between hosts, and as tables of jobs and
 * of ranks. */

#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/cli/table.h"
#include "bin/hpcboot/clean.h"
#include "bin/hpcboot/ps.h"
#include "lib/base/json.h"

#define LINE_FIELDS 13

void hb_ps_add(struct hb_ps_list *l, const struct hb_ps_rank *r)
{
    l->v = hb_xrealloc(l->v, (l->n + 1) * sizeof *l->v);
    l->v[l->n++] = *r;
}

void hb_ps_destroy(struct hb_ps_list *l)
{
    free(l->v);
    l->v = NULL;
    l->n = 0;
}

void hb_ps_line(const struct hb_ps_rank *r, char *out, size_t size)
{
    char host[HB_PS_HOST_MAX];

    hb_clean_copy(host, sizeof host, r->host);
    snprintf(out, size, "%08x\t%u\t%u\t%d\t%c\t%u\t%u\t%llu\t%llu\t%d\t%s\t%s"
             "\t%s", r->job, r->rank, r->size, r->pid, r->state, r->cpu,
             r->processes, (unsigned long long)r->kib,
             (unsigned long long)r->age_s, r->is_lost, host, r->cpus,
             r->program);
}

int hb_ps_parse(struct hb_ps_rank *out, const char *line)
{
    struct hb_ps_rank r = {0};
    unsigned long long kib, age;
    char host[HB_PS_HOST_MAX], cpus[HB_PS_CPUS_MAX];
    char program[HB_PS_PROGRAM_MAX];

    if (sscanf(line, "%8x\t%u\t%u\t%d\t%c\t%u\t%u\t%llu\t%llu\t%d"
               "\t%63[^\t\n]\t%63[^\t\n]\t%159[^\t\n]", &r.job, &r.rank,
               &r.size, &r.pid, &r.state, &r.cpu, &r.processes, &kib, &age,
               &r.is_lost, host, cpus, program) != LINE_FIELDS ||
        r.pid <= 0 || !isalpha((unsigned char)r.state)) {
        return 0; /* a number that kill(1) would take for more than one */
    }
    r.kib = kib;
    r.age_s = age;
    hb_clean_copy(r.host, sizeof r.host, host);
    hb_clean_copy(r.cpus, sizeof r.cpus, cpus);
    hb_clean_copy(r.program, sizeof r.program, program);
    *out = r;
    return 1;
}

static int by_rank(const void *a, const void *b)
{
    const struct hb_ps_rank *x = a, *y = b;

    return x->job != y->job ? (x->job < y->job ? -1 : 1)
           : x->rank != y->rank ? (x->rank < y->rank ? -1 : 1)
           : x->pid != y->pid ? (x->pid < y->pid ? -1 : 1)
                              : strcmp(x->host, y->host);
}

void hb_ps_merge(struct hb_ps_list *l)
{
    size_t n = l->n > 0;

    for (size_t i = 1; i < l->n; i++) {
        if (by_rank(&l->v[i], &l->v[n - 1]) != 0) {
            l->v[n++] = l->v[i];
        }
    }
    l->n = n;
}

void hb_ps_arrange(struct hb_ps_list *l, uint32_t job)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n; i++) {
        if (job == 0 || l->v[i].job == job) {
            l->v[n++] = l->v[i];
        }
    }
    l->n = n;
    if (n > 0) {
        qsort(l->v, n, sizeof *l->v, by_rank);
    }
}

static const char *age_text(uint64_t s, char *out, size_t size)
{
    if (s >= 86400) {
        snprintf(out, size, "%llud%lluh", (unsigned long long)(s / 86400),
                 (unsigned long long)(s / 3600 % 24));
    } else if (s >= 3600) {
        snprintf(out, size, "%lluh%llum", (unsigned long long)(s / 3600),
                 (unsigned long long)(s / 60 % 60));
    } else {
        snprintf(out, size, "%llum%llus", (unsigned long long)(s / 60),
                 (unsigned long long)(s % 60));
    }
    return out;
}

static const char *memory_text(uint64_t kib, char *out, size_t size)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double v = (double)kib;
    size_t u = 0;

    while (v >= 1024 && u + 1 < sizeof units / sizeof *units) {
        v /= 1024;
        u++;
    }
    snprintf(out, size, "%.*f %s", v < 10 && u > 0 ? 1 : 0, v, units[u]);
    return out;
}

/* Where the ranks of the job of v[at] end. */
static size_t end_of_job(const struct hb_ps_list *l, size_t at)
{
    size_t end = at;

    while (end < l->n && l->v[end].job == l->v[at].job) {
        end++;
    }
    return end;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t count_hosts(const struct hb_ps_rank *v, size_t n)
{
    const char **names = hb_xcalloc(n, sizeof *names);
    size_t hosts = 1;

    for (size_t i = 0; i < n; i++) {
        names[i] = v[i].host;
    }
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 1; i < n; i++) {
        hosts += strcmp(names[i], names[i - 1]) != 0;
    }
    free(names);
    return hosts;
}

/* Columns of the two tables. */
#define JOB_NAME (1u << 0)
#define HOST_NAME (1u << 1)

static void put_job(struct hb_table *t, const struct hb_ps_rank *v, size_t n)
{
    uint64_t kib = 0, age = 0;
    unsigned cpu = 0;
    char text[32];

    for (size_t i = 0; i < n; i++) {
        kib += v[i].kib;
        cpu += v[i].cpu;
        age = v[i].age_s > age ? v[i].age_s : age;
    }
    hb_table_cell(t, "%08x", v->job);
    hb_table_cell(t, "%s", age_text(age, text, sizeof text));
    hb_table_cell(t, "%zu", count_hosts(v, n));
    if (v->size != 0 && v->size != n) {
        hb_table_cell(t, "%zu of %u", n, v->size);
    } else {
        hb_table_cell(t, "%zu", n);
    }
    hb_table_cell(t, "%u%%", cpu);
    hb_table_cell(t, "%s", memory_text(kib, text, sizeof text));
    hb_table_cell(t, "%s", v->program);
}

void hb_ps_jobs(const struct hb_ps_list *l, struct hb_str *out)
{
    static const char *const headings[] = {"job", "since", "hosts", "ranks",
                                           "cpu", "memory", "program", NULL};
    struct hb_table t;

    hb_table_begin(&t, headings);
    t.names = JOB_NAME;
    for (size_t i = 0, end; i < l->n; i = end) {
        end = end_of_job(l, i);
        put_job(&t, &l->v[i], end - i);
    }
    hb_table_put(&t, out);
    hb_table_destroy(&t);
}

static void put_rank(struct hb_table *t, const struct hb_ps_rank *r)
{
    char text[32];

    hb_table_cell(t, "%u", r->rank);
    hb_table_cell(t, "%s", r->host);
    hb_table_cell(t, "%d", r->pid);
    hb_table_cell(t, "%c", r->state);
    hb_table_cell(t, "%s", age_text(r->age_s, text, sizeof text));
    hb_table_cell(t, "%u%%", r->cpu);
    hb_table_cell(t, "%s", memory_text(r->kib, text, sizeof text));
    hb_table_cell(t, "%s", r->cpus);
    hb_table_cell(t, "%s", r->program);
}

void hb_ps_ranks(const struct hb_ps_list *l, struct hb_str *out)
{
    static const char *const headings[] = {
        "rank", "host", "pid", "state", "since", "cpu", "memory", "cpus",
        "program", NULL};
    struct hb_table t;

    for (size_t i = 0, end; i < l->n; i = end) {
        end = end_of_job(l, i);
        hb_str_putf(out, "%sjob %08x: %zu of %u ranks\n", i > 0 ? "\n" : "",
                    l->v[i].job, end - i, l->v[i].size);
        hb_table_begin(&t, headings);
        t.names = HOST_NAME;
        for (size_t k = i; k < end; k++) {
            put_rank(&t, &l->v[k]);
        }
        hb_table_put(&t, out);
        hb_table_destroy(&t);
    }
}

void hb_ps_json(const struct hb_ps_list *l, struct hb_str *out)
{
    struct hb_json j;
    char job[16], state[2] = "";

    hb_json_begin(&j, out);
    hb_json_array(&j, NULL);
    for (size_t i = 0; i < l->n; i++) {
        const struct hb_ps_rank *r = &l->v[i];

        snprintf(job, sizeof job, "%08x", r->job);
        state[0] = r->state;
        hb_json_object(&j, NULL);
        hb_json_str(&j, "job", job);
        hb_json_int(&j, "rank", r->rank);
        hb_json_int(&j, "size", r->size);
        hb_json_str(&j, "host", r->host);
        hb_json_int(&j, "pid", r->pid);
        hb_json_str(&j, "state", state);
        hb_json_int(&j, "since_s", (int64_t)r->age_s);
        hb_json_int(&j, "cpu_percent", r->cpu);
        hb_json_int(&j, "resident_kib", (int64_t)r->kib);
        hb_json_int(&j, "processes", r->processes);
        hb_json_str(&j, "cpus", r->cpus);
        hb_json_bool(&j, "lost", r->is_lost);
        hb_json_str(&j, "program", r->program);
        hb_json_end_object(&j);
    }
    hb_json_end_array(&j);
    hb_str_putc(out, '\n');
}

void hb_ps_lost(const struct hb_ps_list *l, struct hb_str *out)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].is_lost) {
            hb_str_putf(out, "rank %u of job %08x on %s has no agent any more "
                        "and will not be ended: kill %d there\n", l->v[i].rank,
                        l->v[i].job, l->v[i].host, l->v[i].pid);
        }
    }
}
