/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The hosts of a Slurm job: SLURM_JOB_ID, a node list with ranges, and the
 * tasks of each node as "8(x3),4,2". The list of the whole job goes before
 * that of a step, because a launcher that was started as a step is there to
 * use the job. Counts may be of more nodes than the list has (a step's list
 * beside the job's counts): the first ones hold. Without tasks per node the
 * slots are the CPUs per node, divided by the CPUs of a task. So they are in a
 * step, where srun has written the step's tasks over the job's and left the
 * job's list. A heterogeneous job is the hosts of all its components.
 *
 * Variables that images and shells carry around are passed over: a list
 * without a job, or one that this host is not in where there is no srun. */

#include "config.h"

#include "hostfile/source.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/pod.h"
#include "hostfile/slurm.h"
#include "lib/base/str.h"

/* Between the name of a variable and the number of a component. */
#define GROUP "_HET_GROUP_"
/* Slurm's own limit is 128. */
#define MAX_COMPONENTS 1024

/* The number at *p, up to `max`; -1 when there is none. */
static long number_at(const char **p, long max)
{
    size_t digits = strspn(*p, "0123456789");
    char *text = hb_xstrndup(*p, digits);
    uint64_t n;
    int rc = hb_parse_u64(text, 1, (uint64_t)max, &n);

    free(text);
    if (rc < 0) {
        return -1;
    }
    *p += digits;
    return (long)n;
}

static int wrong(const char *what, const char *text, const char *at,
                 const char *expected, struct hpcboot_error *err)
{
    return hb_fail(err, HPCBOOT_ERR_PARSE, "%s, column %zu: expected %s", what,
                   (size_t)(at - text) + 1, expected);
}

/* "COUNT" or "COUNT(xREPEAT)" at *p. */
static int read_entry(const char *what, const char *text, const char **p,
                      long *count, long *repeat, struct hpcboot_error *err)
{
    *repeat = 1;
    *count = number_at(p, HB_MAX_SLOTS);
    if (*count < 0) {
        return wrong(what, text, *p, "a number of tasks", err);
    }
    if (strncmp(*p, "(x", 2) != 0) {
        return HPCBOOT_OK;
    }
    *p += 2;
    *repeat = number_at(p, HB_MAX_HOSTS);
    if (*repeat < 0) {
        return wrong(what, text, *p, "a number of nodes", err);
    }
    if (**p != ')') {
        return wrong(what, text, *p, "\")\"", err);
    }
    (*p)++;
    return HPCBOOT_OK;
}

int hb_slurm_counts(const char *what, const char *text, int *counts, size_t n,
                    struct hpcboot_error *err)
{
    const char *p = text;
    size_t done = 0;

    for (;;) {
        long count, repeat;
        int rc = read_entry(what, text, &p, &count, &repeat, err);
        if (rc < 0) {
            return rc;
        }
        for (; repeat > 0 && done < n; repeat--) {
            counts[done++] = (int)count;
        }
        if (*p == '\0') {
            break;
        }
        if (*p != ',') {
            return wrong(what, text, p, "\",\" or the end", err);
        }
        p++;
    }
    if (done < n) {
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "%s: expected the counts of %zu nodes, found %zu", what,
                       n, done);
    }
    return HPCBOOT_OK;
}

#define STEP_TASKS "SLURM_STEP_TASKS_PER_NODE"

/* A list and the counts that belong to it. */
struct variables {
    const char *nodes, *tasks, *cpus;
    const char *cpus_per_task;
};

static const struct variables lists[] = {
    {"SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE",
     "SLURM_CPUS_PER_TASK"},
    {"SLURM_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE",
     "SLURM_CPUS_PER_TASK"},
    {"SLURM_STEP_NODELIST", STEP_TASKS,
     "SLURM_JOB_CPUS_PER_NODE", "SLURM_CPUS_PER_TASK"},
};
#define N_LISTS (sizeof(lists) / sizeof(lists[0]))

/* The CPUs of each node become the tasks that have room on it. */
static int divide(const struct hb_gang_request *req, const char *by,
                  int *counts, size_t n)
{
    uint64_t cpus;

    if (!hb_source_number(req, by, 2, HB_MAX_SLOTS, &cpus)) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        counts[i] = (uint64_t)counts[i] > cpus ? counts[i] / (int)cpus : 1;
    }
    return 1;
}

static int is_set(const struct hb_gang_request *req, const char *name)
{
    const char *text = hb_source_env(req, name);

    return text != NULL && text[0] != '\0';
}

/* Whether the tasks beside the job's list are those of a step. */
static int are_of_step(const struct hb_gang_request *req,
                       const struct variables *v)
{
    return hb_streq(v->tasks, lists[0].tasks) && is_set(req, v->tasks) &&
           hb_streq(hb_source_env(req, v->tasks),
                    hb_source_env(req, STEP_TASKS));
}

/* Where the counts are from, in words, is *from_out; free() it. */
static int add_counts(const struct hb_gang_request *req,
                      const struct variables *v, struct hb_gang *out,
                      char **from_out, struct hpcboot_error *err)
{
    const char *name = is_set(req, v->tasks) && !are_of_step(req, v) ? v->tasks
                                                                     : v->cpus;
    int *counts, rc, divided = 0;

    if (!is_set(req, name)) {
        *from_out = hb_xstrdup("slots are not told");
        return HPCBOOT_OK;
    }
    counts = hb_xcalloc(out->n, sizeof(*counts));
    rc = hb_slurm_counts(name, hb_source_env(req, name), counts, out->n, err);
    if (rc >= 0 && name == v->cpus) {
        divided = divide(req, v->cpus_per_task, counts, out->n);
    }
    for (size_t i = 0; rc >= 0 && i < out->n; i++) {
        out->hosts[i].slots = counts[i];
        if (out->n_mentions == out->n) {
            out->mentions[i].slots = (uint32_t)counts[i];
            out->mentions[i].stated = 1;
        }
    }
    free(counts);
    if (rc >= 0) {
        *from_out = hb_xasprintf("slots in %s%s%s", name,
                                 divided ? ", divided by " : "",
                                 divided ? v->cpus_per_task : "");
    }
    return rc;
}

/* The hosts of one list; *from_out as above. */
static int read_hosts(const struct hb_gang_request *req,
                      const struct variables *v, struct hb_gang *out,
                      char **from_out, struct hpcboot_error *err)
{
    int rc = hb_source_read_value(req, v->nodes, hb_source_env(req, v->nodes),
                                  HB_TALLY_NONE, out, err);

    return rc < 0 ? rc : add_counts(req, v, out, from_out, err);
}

static int read_list(const struct hb_gang_request *req,
                     const struct variables *v, struct hb_gang *out,
                     struct hpcboot_error *err)
{
    char *from = NULL;
    int rc = read_hosts(req, v, out, &from, err);

    if (rc >= 0) {
        out->detail = hb_xasprintf("%zu host%s in %s, %s", out->n,
                                   out->n == 1 ? "" : "s", v->nodes, from);
    }
    free(from);
    return rc < 0 ? rc : 1;
}

/* Adds the hosts of component `i` of a heterogeneous job. */
static int add_component(const struct hb_gang_request *req, unsigned i,
                         struct hb_members *m, char **from_out,
                         struct hpcboot_error *err)
{
    char *nodes = hb_xasprintf("%s" GROUP "%u", lists[0].nodes, i);
    char *tasks = hb_xasprintf("%s" GROUP "%u", lists[0].tasks, i);
    char *cpus = hb_xasprintf("%s" GROUP "%u", lists[0].cpus, i);
    char *by = hb_xasprintf("%s" GROUP "%u", lists[0].cpus_per_task, i);
    const struct variables v = {nodes, tasks, cpus, by};
    struct hb_gang part = {0};
    int rc = HPCBOOT_ERR_NOT_FOUND;

    if (!is_set(req, nodes)) {
        hb_fail(err, rc, "%s is not set", nodes);
    } else {
        rc = read_hosts(req, &v, &part, from_out, err);
    }
    for (size_t k = 0; rc >= 0 && k < part.n; k++) {
        m->slots = part.hosts[k].slots;
        hb_members_add(m, err, "%s", part.hosts[k].name);
        rc = m->failed;
    }
    hb_gang_destroy(&part);
    free(nodes);
    free(tasks);
    free(cpus);
    free(by);
    return rc;
}

/* A heterogeneous job: each of its components has a list of its own, and the
 * variables without a number are those of the first. */
static int read_components(const struct hb_gang_request *req, unsigned n,
                           struct hb_gang *out, struct hpcboot_error *err)
{
    struct hb_members m;
    char *from = NULL;
    int rc = HPCBOOT_OK, ended;

    hb_members_begin(&m, "SLURM_JOB_NODELIST" GROUP "*", 0);
    for (unsigned i = 0; rc >= 0 && i < n; i++) {
        free(from);
        from = NULL;
        rc = add_component(req, i, &m, &from, err);
    }
    m.failed = rc < 0 ? rc : m.failed;
    ended = hb_members_end(&m, req, out);
    if (ended >= 0) {
        out->detail = hb_xasprintf("%zu hosts in the %u components of a "
                                   "heterogeneous job, %s", out->n, n, from);
    }
    free(from);
    return ended < 0 ? ended : 1;
}

/* 1: all components of a heterogeneous job; 0: it is none, or one whose
 * components are not all told. */
static int ask_components(const struct hb_gang_request *req,
                          struct hb_gang *out, char **lacking_out,
                          struct hpcboot_error *err)
{
    uint64_t n;
    int rc;

    if (!hb_source_number(req, "SLURM_HET_SIZE", 2, MAX_COMPONENTS, &n)) {
        return 0;
    }
    rc = read_components(req, (unsigned)n, out, err);
    if (rc != HPCBOOT_ERR_NOT_FOUND) {
        return rc;
    }
    *lacking_out = hb_xstrdup(err->text);
    return 0;
}

/* The first list that is set; all components where that is the job's. */
static int read_any(const struct hb_gang_request *req, struct hb_gang *out,
                    struct hpcboot_error *err)
{
    char *lacking = NULL;
    size_t i = 0;
    int rc = ask_components(req, out, &lacking, err);

    while (rc == 0 && i < N_LISTS && !is_set(req, lists[i].nodes)) {
        i++;
    }
    if (rc == 0 && i < N_LISTS) {
        rc = read_list(req, &lists[i], out, err);
    }
    if (rc > 0 && lacking != NULL) {
        hb_gang_note(out, "this is a heterogeneous job of Slurm, but %s: only "
                     "the hosts in %s are used", lacking, lists[i].nodes);
    }
    free(lacking);
    return rc;
}

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    static const char *const ids[] = {"SLURM_JOB_ID", "SLURM_JOBID", NULL};
    struct hpcboot_error why = {0};
    int rc;

    if (hb_source_env_of(req, ids) == NULL) {
        *reason_out = hb_xstrdup("SLURM_JOB_ID is not set");
        return 0;
    }
    rc = read_any(req, out, &why);
    if (rc == 0) {
        *reason_out = hb_xstrdup("SLURM_JOB_ID is set, but no node list");
        return 0;
    }
    if (!hb_source_is_here(req, "Slurm", "srun", rc, out, reason_out, &why)) {
        return 0;
    }
    return rc < 0 ? hb_fail(err, rc, "%s", why.text) : rc;
}

const struct hb_source hb_source_slurm = {
    .name = "Slurm", .own_hosts = 1, .ask = ask};
