/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang of a Volcano Job, seen from any of its pods.
 *
 * The svc plugin mounts /etc/volcano: for each task a file TASK.host with one
 * name per line (the "-" of the task's name written "_", no newline at the
 * end, empty for a task without replicas), beside "..data" and files that
 * repeat the variables VC_TASK_HOSTS and VC_TASK_NUM. The variables are what
 * the files said when the container started, so files are preferred: they
 * follow a change of the job. Without them the variables are used, and last
 * MPI_HOST of the mpi plugin, where the names in it look like a Job's.
 *
 * Neither gives slots (they are counted on the hosts) or says which tasks
 * compute (volcano_choose.c). The ssh plugin's key and port are found beside
 * it (volcano_ssh.c).
 *
 * A pod of a Job without the svc plugin has no names for its peers. That is
 * said, with what to add to the Job. */

#include "config.h"

#include "hostfile/source.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hostfile/dialect.h"
#include "hostfile/hostname.h"
#include "hostfile/pod.h"
#include "hostfile/volcano.h"
#include "lib/base/str.h"

#define DIR_PATH "/etc/volcano"
#define SUFFIX ".host"
#define VAR_BEGIN "VC_"
#define VAR_END "_HOSTS"

static void job_destroy(struct hb_vc_job *job)
{
    for (size_t i = 0; i < job->n; i++) {
        free(job->tasks[i].name);
        free(job->tasks[i].where);
        free(job->tasks[i].text);
        free(job->tasks[i].first);
    }
    free(job->tasks);
}

/* Takes where and text. The name is that of the file or of the variable. */
static void add_task(struct hb_vc_job *job, const char *name, size_t name_len,
                     char *where, char *text, size_t len)
{
    struct hb_vc_task *t;

    job->tasks = hb_xrealloc(job->tasks,
                             (job->n + 1) * sizeof(*job->tasks));
    t = &job->tasks[job->n++];
    memset(t, 0, sizeof(*t));
    t->name = hb_xstrndup(name, name_len);
    for (char *p = t->name; *p != '\0'; p++) {
        *p = *p == '_' ? '-' : (char)tolower((unsigned char)*p);
    }
    t->where = where;
    t->text = text;
    t->len = len;
}

/* "..data" and its like begin with a dot. */
static int is_host_file(const struct dirent *e)
{
    return e->d_name[0] != '.' && hb_ends_with(e->d_name, SUFFIX);
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* One file of the folder. A link that leads nowhere is one that the kubelet is
 * taking away; a task whose file cannot be read would be missing without a
 * word. */
static int read_task(const struct hb_gang_request *req, const char *name,
                     struct hb_vc_job *job, struct hpcboot_error *err)
{
    char *where = hb_xasprintf(DIR_PATH "/%s", name), *text;
    size_t len;
    int rc = hb_source_load(req, where, &text, &len, err);

    if (rc >= 0) {
        add_task(job, name, strlen(name) - strlen(SUFFIX), where, text, len);
        return rc;
    }
    free(where);
    return rc == HPCBOOT_ERR_NOT_FOUND ? HPCBOOT_OK : rc;
}

static int read_dir(const struct hb_gang_request *req, struct hb_vc_job *job,
                    struct hpcboot_error *err)
{
    char *dir = hb_xasprintf("%s" DIR_PATH, hb_source_root(req));
    struct dirent **list = NULL;
    int n = scandir(dir, &list, is_host_file, by_bytes), rc = HPCBOOT_OK;

    if (n < 0 && errno != ENOENT && errno != ENOTDIR) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM, "cannot read " DIR_PATH);
    }
    for (int i = 0; i < n; i++) {
        if (rc >= 0) {
            rc = read_task(req, list[i]->d_name, job, err);
        }
        free(list[i]);
    }
    free(list);
    free(dir);
    return rc;
}

static char *as_lines(const char *list)
{
    char *text = hb_xstrdup(list);

    for (char *p = text; *p != '\0'; p++) {
        *p = *p == ',' ? '\n' : *p;
    }
    return text;
}

/* VC_TASK_HOSTS=a,b of the environment. */
static void read_variables(const struct hb_gang_request *req,
                           struct hb_vc_job *job)
{
    job->from_env = 1;
    for (char *const *e = req->env; e != NULL && *e != NULL; e++) {
        size_t n = strcspn(*e, "="), begin = strlen(VAR_BEGIN),
               end = strlen(VAR_END);
        if ((*e)[n] == '\0' || n <= begin + end ||
            strncmp(*e, VAR_BEGIN, begin) != 0 ||
            strncmp(*e + n - end, VAR_END, end) != 0) {
            continue;
        }
        add_task(job, *e + begin, n - begin - end, hb_xstrndup(*e, n),
                 as_lines(*e + n + 1), strlen(*e + n + 1));
    }
}

/* MPI_HOST alone; a variable of that name is believed only when its hosts are
 * pods of one task. */
static void read_mpi_host(const char *mpi_host, struct hb_vc_job *job)
{
    char *first = hb_xstrndup(mpi_host, strcspn(mpi_host, ","));
    char *last = hb_xstrdup(strrchr(mpi_host, ',') != NULL
                                ? strrchr(mpi_host, ',') + 1 : mpi_host);

    if (strchr(first, '.') != NULL && hb_vc_same_task(first, last)) {
        add_task(job, "MPI_HOST", strlen("MPI_HOST"), hb_xstrdup("MPI_HOST"),
                 as_lines(mpi_host), strlen(mpi_host));
    }
    free(first);
    free(last);
}

/* Counts the hosts of a task and finds this pod among them. */
static int look_at(struct hb_vc_task *t, const char *root,
                   struct hpcboot_error *err)
{
    struct hb_gang gang = {0};
    int rc = HPCBOOT_OK;

    if (t->len > strspn(t->text, " \t\r\n")) {
        rc = hb_form_parse(&hb_form_plain, t->where, t->text, t->len, &gang,
                           err);
    }
    if (rc >= 0) {
        hb_gang_mark_local(&gang, root);
        t->n = gang.n;
        t->first = gang.n > 0 ? hb_xstrdup(gang.hosts[0].name) : NULL;
        for (size_t i = 0; i < gang.n; i++) {
            t->own = t->own || gang.hosts[i].is_local;
        }
    }
    hb_gang_destroy(&gang);
    return rc;
}

/* The hosts of the chosen tasks, in the tasks' order. */
static int take_hosts(const struct hb_vc_job *job, struct hb_gang *out,
                      struct hpcboot_error *err)
{
    struct hb_build *b = hb_build_create(HB_TALLY_NONE);
    int rc = HPCBOOT_OK;

    for (size_t i = 0; rc >= 0 && i < job->n; i++) {
        const struct hb_vc_task *t = &job->tasks[i];
        struct hb_lines lines;
        if (!t->chosen) {
            continue;
        }
        hb_lines_begin(&lines, t->where, t->text, t->len);
        rc = hb_form_plain.read(b, &lines, err);
        hb_lines_end(&lines);
    }
    if (rc >= 0) {
        hb_build_finish(b, out);
    }
    hb_build_destroy(b);
    return rc;
}

/* A list of lines against a list with commas. */
static int same_list(const char *lines, size_t len, const char *list)
{
    size_t n = strlen(list);

    while (len > 0 && strchr("\r\n", lines[len - 1]) != NULL) {
        len--;
    }
    for (size_t i = 0; i < n && i < len; i++) {
        if (list[i] != lines[i] && !(list[i] == ',' && lines[i] == '\n')) {
            return 0;
        }
    }
    return n == len;
}

static char *variable_of(const struct hb_vc_task *t)
{
    char *name = hb_xasprintf(VAR_BEGIN "%s" VAR_END, t->name);

    for (char *p = name; *p != '\0'; p++) {
        *p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
    }
    return name;
}

static void compare(const struct hb_gang_request *req,
                    const struct hb_vc_task *t, const char *name,
                    struct hb_gang *out)
{
    const char *value = hb_source_env(req, name);

    if (value != NULL && value[0] != '\0' &&
        !same_list(t->text, t->len, value)) {
        hb_gang_note(out, "%s and %s name different hosts; the file is "
                     "believed, as it follows changes of the job", t->where,
                     name);
    }
}

/* Pods of a task whose template sets a host name share that name. */
static void check_shared_name(const struct hb_vc_task *t, struct hb_gang *out)
{
    size_t stem, n = strlen(t->name);

    if (t->n == 1 && (hb_pod_index(t->first, &stem) < 0 || stem < n ||
                      strncmp(t->first + stem - n, t->name, n) != 0)) {
        hb_gang_note(out, "%s: task %s sets a host name of its own, %s, which "
                     "is shared by all its pods; only one of them can be "
                     "reached", t->where, t->name, t->first);
    }
}

static void compare_mpi_host(const struct hb_gang_request *req,
                             const struct hb_vc_task *t, struct hb_gang *out)
{
    const char *value = hb_source_env(req, "MPI_HOST");
    char *first = value != NULL ? hb_xstrndup(value, strcspn(value, ","))
                                : NULL;

    if (first != NULL && t->first != NULL &&
        hb_vc_same_task(t->first, first)) {
        compare(req, t, "MPI_HOST", out);
    }
    free(first);
}

/* A pod of the job that is none of its hosts is on its node's network, where
 * nothing says which it is. Whoever named the tasks has not left it to that. */
static void check_own(const struct hb_gang_request *req,
                      const struct hb_vc_job *job, struct hb_gang *out)
{
    static const char *const named[] = {"HPCBOOT_TASKS", "MPI_HOST", NULL};
    static const char *const marks[] = {"VC_TASK_INDEX", "VK_TASK_INDEX",
                                        NULL};
    struct hb_self *self = hb_self_create(hb_source_root(req));
    int own = 0;

    for (size_t i = 0; i < job->n; i++) {
        own = own || job->tasks[i].own;
    }
    if (!own && hb_source_env_of(req, marks) != NULL &&
        hb_source_env_of(req, named) == NULL) {
        hb_gang_note(out, "this is a pod of a Volcano Job, but its host name, "
                     "%s, is none of the job's hosts, so it is taken for none "
                     "of them: give the container the variable POD_NAME with "
                     "metadata.name (downward API)", hb_self_name(self));
    }
    hb_self_destroy(self);
}

static void check_tasks(const struct hb_gang_request *req,
                        const struct hb_vc_job *job, struct hb_gang *out)
{
    for (size_t i = 0; i < job->n && !job->from_env; i++) {
        const struct hb_vc_task *t = &job->tasks[i];
        char *name = variable_of(t);
        if (t->chosen) {
            compare(req, t, name, out);
            compare_mpi_host(req, t, out);
            check_shared_name(t, out);
        }
        free(name);
    }
}

/* The port is in the directory of the key. */
static void add_port(struct hb_gang *out)
{
    char *slash = out->gang_key != NULL ? strrchr(out->gang_key, '/') : NULL;
    char *path, *text;
    size_t len;
    int port;

    if (slash == NULL) {
        return;
    }
    path = hb_xasprintf("%.*s/config", (int)(slash - out->gang_key),
                        out->gang_key);
    text = hb_source_text(&(struct hb_gang_request){.root = ""}, path, &len);
    port = text != NULL
               ? hb_vc_ssh_port(text, len, out->hosts[0].name) : 0;
    for (size_t i = 0; port > 0 && port != 22 && i < out->n; i++) {
        out->hosts[i].port = port;
    }
    free(text);
    free(path);
}

static char *where_of(const struct hb_vc_job *job, const char *why)
{
    struct hb_str text = HB_STR_INIT;
    int n = 0;

    for (size_t i = 0; i < job->n; i++) {
        if (job->tasks[i].chosen) {
            hb_str_putf(&text, "%s%s", n++ > 0 ? ", " : "",
                        job->tasks[i].where);
        }
    }
    hb_str_putf(&text, " (%s)", why);
    return hb_str_steal(&text);
}

/* Of several tasks that nobody named one may be over before the job begins, as
 * one that only prepares something. */
static void tell_tasks(const struct hb_vc_job *job,
                       const struct hb_vc_said *said, struct hb_gang *out)
{
    struct hb_str names = HB_STR_INIT;
    size_t n = 0;

    for (size_t i = 0; i < job->n; i++) {
        if (job->tasks[i].chosen) {
            hb_str_putf(&names, "%s%s", n++ > 0 ? ", " : "",
                        job->tasks[i].name);
        }
    }
    if (n > 1 && (said->tasks == NULL || said->tasks[0] == '\0')) {
        out->if_missed = hb_xasprintf(
            "all pods of the tasks %s are asked for; HPCBOOT_TASKS=TASK,... "
            "names those that run ranks", hb_str_text(&names));
    }
    hb_str_destroy(&names);
}

static int gather(const struct hb_gang_request *req, struct hb_vc_job *job,
                  struct hb_gang *out, char **reason_out,
                  struct hpcboot_error *err)
{
    const struct hb_vc_said said = {
        .whose = "Volcano Job",
        .tasks = hb_source_env(req, "HPCBOOT_TASKS"),
        .mpi_host = hb_source_env(req, "MPI_HOST"),
        .master_addr = hb_source_env(req, "MASTER_ADDR"),
        .world_size = hb_source_env(req, "WORLD_SIZE"),
        .rank = hb_source_env(req, "RANK"),
        .tf_config = hb_source_env(req, "TF_CONFIG"),
    };
    const char *why = "";
    char *where;
    int rc = HPCBOOT_OK;

    for (size_t i = 0; rc >= 0 && i < job->n; i++) {
        rc = look_at(&job->tasks[i], hb_source_root(req), err);
    }
    if (rc >= 0) {
        rc = hb_vc_choose(job, &said, &why, err);
    }
    if (rc >= 0) {
        rc = take_hosts(job, out, err);
    }
    if (rc < 0) {
        return rc;
    }
    if (out->n == 0) {
        *reason_out = said.tasks != NULL && said.tasks[0] != '\0'
            ? hb_xasprintf("the tasks that HPCBOOT_TASKS names (%.100s) have "
                           "no pods", said.tasks)
            : hb_xstrdup("no task of the job has pods");
        hb_source_note_unused(out, "Volcano", *reason_out);
        return 0;
    }
    if (hb_vc_is_torch(job, &said)) {
        out->source = hb_xstrdup("Volcano Job, torch");
    }
    hb_gang_mark_local(out, hb_source_root(req));
    where = where_of(job, why);
    hb_source_operator_made(req, out, where);
    free(where);
    add_port(out);
    tell_tasks(job, &said, out);
    check_tasks(req, job, out);
    check_own(req, job, out);
    return 1;
}

/* Nothing names hosts: is this a pod of a Job all the same? */
static void explain(const struct hb_gang_request *req, struct hb_gang *out,
                    char **reason_out)
{
    if (hb_source_env(req, "VC_TASK_INDEX") == NULL &&
        hb_source_env(req, "VK_TASK_INDEX") == NULL) {
        *reason_out = hb_xstrdup("there is no " DIR_PATH "/*" SUFFIX
                                 ", and no variable names hosts");
        return;
    }
    *reason_out = hb_xstrdup("VC_TASK_INDEX is set, but nothing names hosts");
    hb_gang_note(out, "this is a pod of a Volcano Job without the svc plugin, "
                 "so its pods have no names: add \"svc: []\" and \"ssh: []\" "
                 "to spec.plugins of the Job, or name the pods' addresses "
                 "with -H");
}

static int ask(const struct hb_gang_request *req, struct hb_gang *out,
               char **reason_out, struct hpcboot_error *err)
{
    const char *mpi_host = hb_source_env(req, "MPI_HOST");
    struct hb_vc_job job = {0};
    int rc = read_dir(req, &job, err);

    if (rc >= 0 && job.n == 0) {
        read_variables(req, &job);
    }
    if (rc >= 0 && job.n == 0 && mpi_host != NULL && mpi_host[0] != '\0') {
        read_mpi_host(mpi_host, &job);
    }
    if (rc >= 0 && job.n == 0) {
        explain(req, out, reason_out);
    } else if (rc >= 0) {
        rc = gather(req, &job, out, reason_out, err);
    }
    job_destroy(&job);
    return rc;
}

const struct hb_source hb_source_volcano = {
    .name = "Volcano Job", .own_hosts = 1, .ask = ask};
