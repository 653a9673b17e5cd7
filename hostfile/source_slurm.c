/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The hosts of a Slurm job: SLURM_JOB_ID, a node list with ranges, and the
 * tasks of each node as "8(x3),4,2". The list of the whole job goes before
 * that of a step, because a launcher that was started as a step is there to
 * use the job. Counts may be of more nodes than the list has (a step's list
 * beside the job's counts): the first ones hold. Without tasks per node the
 * CPUs per node are the slots.
 *
 * Variables that images and shells carry around are passed over: a list
 * without a job, or one that this host is not in where there is no srun. */

#include "config.h"

#include "hostfile/source.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/slurm.h"
#include "lib/base/str.h"

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

/* Lists and the counts that belong to them. */
static const struct {
    const char *nodes, *tasks, *cpus;
} lists[] = {
    {"SLURM_JOB_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"},
    {"SLURM_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_JOB_CPUS_PER_NODE"},
    {"SLURM_STEP_NODELIST", "SLURM_STEP_TASKS_PER_NODE",
     "SLURM_JOB_CPUS_PER_NODE"},
};
#define N_LISTS (sizeof(lists) / sizeof(lists[0]))

static int add_counts(const struct hb_gang_request *req, size_t which,
                      struct hb_gang *out, const char **from_out,
                      struct hpcboot_error *err)
{
    const char *const names[] = {lists[which].tasks, lists[which].cpus};
    int *counts, rc = HPCBOOT_OK;

    *from_out = NULL;
    for (size_t i = 0; i < 2 && *from_out == NULL; i++) {
        const char *text = hb_source_env(req, names[i]);
        *from_out = text != NULL && text[0] != '\0' ? names[i] : NULL;
    }
    if (*from_out == NULL) {
        return HPCBOOT_OK;
    }
    counts = hb_xcalloc(out->n, sizeof(*counts));
    rc = hb_slurm_counts(*from_out, hb_source_env(req, *from_out), counts,
                         out->n, err);
    for (size_t i = 0; rc >= 0 && i < out->n; i++) {
        out->hosts[i].slots = counts[i];
        if (out->n_mentions == out->n) {
            out->mentions[i].slots = (uint32_t)counts[i];
            out->mentions[i].stated = 1;
        }
    }
    free(counts);
    return rc;
}

static int read_list(const struct hb_gang_request *req, size_t which,
                     const char *text, struct hb_gang *out,
                     struct hpcboot_error *err)
{
    const char *from;
    int rc = hb_source_read_value(req, lists[which].nodes, text,
                                  HB_TALLY_NONE, out, err);

    if (rc >= 0) {
        rc = add_counts(req, which, out, &from, err);
    }
    if (rc < 0) {
        return rc;
    }
    out->detail = hb_xasprintf("%zu host%s in %s, %s%s", out->n,
                               out->n == 1 ? "" : "s",
                               lists[which].nodes,
                               from != NULL ? "slots in " :
                               "slots are not told",
                               from != NULL ? from : "");
    return 1;
}

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    static const char *const ids[] = {"SLURM_JOB_ID", "SLURM_JOBID", NULL};

    if (hb_source_env_of(req, ids) == NULL) {
        *reason_out = hb_xstrdup("SLURM_JOB_ID is not set");
        return 0;
    }
    for (size_t i = 0; i < N_LISTS; i++) {
        const char *text = hb_source_env(req, lists[i].nodes);
        struct hpcboot_error why = {0};
        int rc;
        if (text == NULL || text[0] == '\0') {
            continue;
        }
        rc = read_list(req, i, text, out, &why);
        if (!hb_source_is_here(req, "Slurm", "srun", rc, out, reason_out,
                               &why)) {
            return 0;
        }
        return rc < 0 ? hb_fail(err, rc, "%s", why.text) : rc;
    }
    *reason_out = hb_xstrdup("SLURM_JOB_ID is set, but no node list");
    return 0;
}

const struct hb_source hb_source_slurm = {
    .name = "Slurm", .own_hosts = 1, .ask = ask};
