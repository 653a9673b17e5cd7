/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which tasks of a Volcano Job run ranks. A Job has tasks of any names, and
 * the one with the launcher in it may or may not be meant to compute. In this
 * order:
 *
 *   1. HPCBOOT_TASKS=a,b names them.
 *   2. MPI_HOST, which the mpi plugin sets in the master, names the hosts of
 *      the worker task: that task, and the master runs no ranks.
 *   3. The only task with hosts.
 *   4. MASTER_ADDR, WORLD_SIZE and RANK together are the pytorch plugin's: the
 *      task whose first host is MASTER_ADDR, and that of the workers. The
 *      master computes too, and goes first, as the plugin numbers them.
 *   5. The tensorflow plugin's TF_CONFIG names hosts of tasks: each of these
 *      tasks, whatever its role.
 *   6. This pod is alone in its task: it is the master of the others, which
 *      run the ranks. Of two tasks with one pod each, the one that is called
 *      a master is it.
 *   7. This pod is one of several of its task: that task.
 *   8. This pod is in none of the lists: all tasks. */

#include "config.h"

#include "hostfile/volcano.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/pod.h"
#include "lib/base/str.h"

static size_t choose_where(struct hb_vc_job *job, int own)
{
    size_t chosen = 0;

    for (size_t i = 0; i < job->n; i++) {
        struct hb_vc_task *t = &job->tasks[i];
        t->chosen = t->n > 0 && (own < 0 || t->own == own);
        chosen += (size_t)t->chosen;
    }
    return chosen;
}

/* The files and variables of a task are spelt with an underscore for a dash. */
static int is_called(const struct hb_vc_task *t, const char *name)
{
    size_t i = 0;

    while (name[i] != '\0' &&
           (t->name[i] == name[i] || (t->name[i] == '-' && name[i] == '_'))) {
        i++;
    }
    return name[i] == '\0' && t->name[i] == '\0';
}

static struct hb_vc_task *find(struct hb_vc_job *job, const char *name)
{
    for (size_t i = 0; i < job->n; i++) {
        if (is_called(&job->tasks[i], name)) {
            return &job->tasks[i];
        }
    }
    return NULL;
}

static int no_task(const struct hb_vc_job *job, const char *whose,
                   const char *name, struct hpcboot_error *err)
{
    struct hb_str names = HB_STR_INIT;
    int rc;

    for (size_t i = 0; i < job->n; i++) {
        hb_str_putf(&names, "%s%s", names.len > 0 ? ", " : "",
                    job->tasks[i].name);
    }
    rc = hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "HPCBOOT_TASKS: this %s has no "
                 "task %.64s, %s%.300s", whose, name,
                 names.len > 0 ? "but " : "and none that has a name",
                 hb_str_text(&names));
    hb_str_destroy(&names);
    return rc;
}

static int choose_named(struct hb_vc_job *job, const struct hb_vc_said *said,
                        struct hpcboot_error *err)
{
    char *list = hb_xstrdup(said->tasks), *save = NULL;
    int n = 0;

    for (char *name = strtok_r(list, ", ", &save); n >= 0 && name != NULL;
         name = strtok_r(NULL, ", ", &save)) {
        struct hb_vc_task *t = find(job, name);
        if (t == NULL) {
            n = no_task(job, said->whose, name, err);
        } else {
            t->chosen = 1;
            n++;
        }
    }
    free(list);
    return n;
}

int hb_vc_same_task(const char *a, const char *b)
{
    size_t na, nb;

    return hb_pod_index(a, &na) >= 0 && hb_pod_index(b, &nb) >= 0 &&
           na == nb && strncmp(a, b, na) == 0 &&
           strcmp(a + strcspn(a, "."), b + strcspn(b, ".")) == 0;
}

static int choose_mpi(struct hb_vc_job *job, const char *mpi_host)
{
    char *first = hb_xstrndup(mpi_host, strcspn(mpi_host, ","));
    int n = 0;

    for (size_t i = 0; i < job->n; i++) {
        struct hb_vc_task *t = &job->tasks[i];
        t->chosen = t->first != NULL && hb_vc_same_task(t->first, first);
        n += t->chosen;
    }
    free(first);
    return n;
}

/* The task whose first host is MASTER_ADDR; NULL: the pytorch plugin has not
 * made this a pod of its master or workers. */
static struct hb_vc_task *torch_master(const struct hb_vc_job *job,
                                       const struct hb_vc_said *said)
{
    if (said->master_addr == NULL || said->world_size == NULL ||
        said->rank == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < job->n; i++) {
        if (hb_streq(job->tasks[i].first, said->master_addr)) {
            return &job->tasks[i];
        }
    }
    return NULL;
}

int hb_vc_is_torch(const struct hb_vc_job *job, const struct hb_vc_said *said)
{
    return torch_master(job, said) != NULL;
}

/* The master's workers: the task of this pod, or the one that makes up
 * WORLD_SIZE with the master, best by the name that the plugin expects. NULL:
 * WORLD_SIZE fits none, as in pods that are older than a change of the job. */
static struct hb_vc_task *torch_workers(const struct hb_vc_job *job,
                                        const struct hb_vc_task *master,
                                        uint64_t world)
{
    struct hb_vc_task *found = NULL;

    for (size_t i = 0; i < job->n; i++) {
        struct hb_vc_task *t = &job->tasks[i];

        if (t == master || t->n == 0) {
            continue;
        }
        if (t->own) {
            return t;
        }
        if (t->n + master->n == world &&
            (found == NULL || is_called(t, "worker"))) {
            found = t;
        }
    }
    return found;
}

static void put_first(struct hb_vc_job *job, const struct hb_vc_task *task)
{
    struct hb_vc_task one = *task;

    memmove(job->tasks + 1, job->tasks,
            (size_t)(task - job->tasks) * sizeof(one));
    job->tasks[0] = one;
}

static int choose_torch(struct hb_vc_job *job, const struct hb_vc_said *said)
{
    struct hb_vc_task *master = torch_master(job, said), *workers;
    uint64_t world = 0;
    int n = 0;

    if (master == NULL) {
        return 0;
    }
    hb_parse_u64(said->world_size, 1, HB_MAX_HOSTS, &world);
    workers = torch_workers(job, master, world);
    for (size_t i = 0; i < job->n; i++) {
        struct hb_vc_task *t = &job->tasks[i];

        t->chosen = t == master || t == workers ||
                    (workers == NULL && t->n > 0 && world != master->n);
        n += t->chosen;
    }
    put_first(job, master);
    return n;
}

/* TF_CONFIG has "HOST:PORT" for each host of a role, and all hosts of a task or
 * none: no more of it needs to be understood. */
static int choose_tensorflow(struct hb_vc_job *job, const char *tf_config)
{
    int n = 0;

    for (size_t i = 0; tf_config != NULL && i < job->n; i++) {
        struct hb_vc_task *t = &job->tasks[i];
        char *member = hb_xasprintf("\"%s:", t->n > 0 ? t->first : "");

        t->chosen = t->n > 0 && strstr(tf_config, member) != NULL;
        n += t->chosen;
        free(member);
    }
    return n;
}

static int is_called_master(const char *name)
{
    static const char *const words[] = {"master", "launcher", "head", "driver",
                                        "chief"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strstr(name, words[i]) != NULL) {
            return 1;
        }
    }
    return 0;
}

/* 1 when this pod is the master of other tasks: alone in its own task, and
 * not the one pod that another single pod, called a master, is master of. */
static int is_master(const struct hb_vc_job *job)
{
    const struct hb_vc_task *own = NULL, *other = NULL;
    size_t others = 0;

    for (size_t i = 0; i < job->n; i++) {
        const struct hb_vc_task *t = &job->tasks[i];
        own = t->own ? t : own;
        if (!t->own && t->n > 0) {
            other = t;
            others += t->n;
        }
    }
    if (own == NULL || own->n != 1 || others == 0) {
        return 0;
    }
    return others > 1 || is_called_master(own->name) ||
           !is_called_master(other->name);
}

/* What the plugins of frameworks say; 0: nothing. */
static int choose_plugins(struct hb_vc_job *job, const struct hb_vc_said *said,
                          const char **why_out)
{
    int n = choose_torch(job, said);

    *why_out = "MASTER_ADDR is the first of them";
    if (n > 0) {
        return n;
    }
    *why_out = "TF_CONFIG names them";
    return choose_tensorflow(job, said->tf_config);
}

/* By where this pod is. */
static int choose_around(struct hb_vc_job *job, const char **why_out)
{
    int n;

    if (is_master(job)) {
        *why_out = "this pod is their master and runs no ranks";
        return (int)choose_where(job, 0);
    }
    *why_out = "this pod's own task";
    n = (int)choose_where(job, 1);
    if (n > 0) {
        return n;
    }
    *why_out = "all tasks, as this pod is in none of the lists";
    return (int)choose_where(job, -1);
}

int hb_vc_choose(struct hb_vc_job *job, const struct hb_vc_said *said,
                 const char **why_out, struct hpcboot_error *err)
{
    int n;

    if (said->tasks != NULL && said->tasks[0] != '\0') {
        *why_out = "HPCBOOT_TASKS names them";
        return choose_named(job, said, err);
    }
    if (said->mpi_host != NULL && said->mpi_host[0] != '\0') {
        *why_out = "MPI_HOST names them";
        n = choose_mpi(job, said->mpi_host);
        if (n > 0) {
            return n;
        }
    }
    n = (int)choose_where(job, -1);
    *why_out = "the only task with pods";
    if (n <= 1) {
        return n;
    }
    n = choose_plugins(job, said, why_out);
    return n > 0 ? n : choose_around(job, why_out);
}
