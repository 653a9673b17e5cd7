/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Which pods form a gang, in which order, and by what they are reached.
 *
 * Every operator marks its pods with labels of its own; one row of the table
 * says which. A pod may carry several (a JobSet's pods are also a Job's), so
 * the rows stand from the whole to its parts.
 *
 * A plain Job's pods are mostly strangers to each other that each have a task
 * of their own. Only where a headless Service gives them names are they meant
 * to talk, and taken for a gang.
 *
 * A pod is called HOSTNAME.SUBDOMAIN where its spec has both, since only then
 * DNS has a record for it; by its own name where the Training Operator made a
 * Service for each pod; else by its address. */

#include "config.h"

#include "hostfile/k8s_gang.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/volcano.h"

#define NO HB_K8S_NO_MARK

static const struct hb_k8s_kind kinds[] = {
    {"Volcano Job", {HB_K8S_VC_JOB, NO}, {HB_K8S_VC_TASK, NO},
     {HB_K8S_VC_INDEX, NO}, NO, 0, 0},
    {"LeaderWorkerSet", {HB_K8S_LWS_NAME, HB_K8S_LWS_GROUP}, {NO, NO},
     {HB_K8S_LWS_INDEX, NO}, HB_K8S_LWS_SIZE, 0, 0},
    {"JobSet", {HB_K8S_JS_NAME, NO}, {HB_K8S_JS_PART, NO},
     {HB_K8S_JS_JOB, HB_K8S_JOB_INDEX}, NO, 0, 0},
    {"RayCluster", {HB_K8S_RAY_CLUSTER, NO}, {HB_K8S_RAY_TYPE, NO}, {NO, NO},
     NO, 0, 0},
    {"Kubeflow job", {HB_K8S_KF_JOB, HB_K8S_KF_OPERATOR},
     {HB_K8S_KF_TYPE, HB_K8S_KF_ROLE}, {HB_K8S_KF_INDEX, NO}, NO, 0, 0},
    {"pod group", {HB_K8S_KUEUE_GROUP, NO}, {NO, NO}, {HB_K8S_KUEUE_INDEX, NO},
     HB_K8S_KUEUE_SIZE, 0, 0},
    {"pod group", {HB_K8S_POD_GROUP, NO}, {NO, NO}, {NO, NO}, NO, 0, 0},
    {"pod group", {HB_K8S_VC_GROUP, NO}, {NO, NO}, {NO, NO}, NO, 1, 0},
    {"Job", {HB_K8S_JOB_NAME, NO}, {NO, NO}, {HB_K8S_JOB_INDEX, NO}, NO, 0, 1},
    {"Job", {HB_K8S_JOB_NAME_OLD, NO}, {NO, NO}, {HB_K8S_JOB_INDEX, NO}, NO, 0,
     1},
};

static const char *mark(const struct hb_k8s_pod *pod, enum hb_k8s_mark m)
{
    return m == NO ? NULL : pod->marks[m];
}

/* The first of two marks that the pod carries, or NULL. */
static const char *mark_of(const struct hb_k8s_pod *pod,
                           const enum hb_k8s_mark m[2])
{
    return mark(pod, m[0]) != NULL ? mark(pod, m[0]) : mark(pod, m[1]);
}

const struct hb_k8s_kind *hb_k8s_kind_of(const struct hb_k8s_pod *pod)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct hb_k8s_kind *k = &kinds[i];
        if (mark(pod, k->keys[0]) != NULL && mark(pod, k->keys[0])[0] != '\0' &&
            (!k->needs_subdomain || pod->subdomain != NULL)) {
            return k;
        }
    }
    return NULL;
}

char *hb_k8s_selector(const struct hb_k8s_kind *kind,
                      const struct hb_k8s_pod *pod)
{
    struct hb_str text = HB_STR_INIT;

    if (kind->by_annotation) {
        return NULL;
    }
    for (size_t i = 0; i < 2; i++) {
        const char *value = mark(pod, kind->keys[i]);
        if (value != NULL) {
            hb_str_putf(&text, "%s%s=%s", text.len > 0 ? "," : "",
                        hb_k8s_mark_key(kind->keys[i]), value);
        }
    }
    return hb_str_steal(&text);
}

/* 1 when the name of an object can stand in a path as it is. */
static int is_path_part(const char *name)
{
    return name != NULL && name[0] != '\0' &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.")] ==
               '\0';
}

char *hb_k8s_group_path(const struct hb_k8s_pod *pod, const char *space)
{
    const char *volcano = pod->marks[HB_K8S_VC_GROUP];
    const char *plugins = pod->marks[HB_K8S_POD_GROUP];

    if (is_path_part(volcano)) {
        return hb_xasprintf("/apis/scheduling.volcano.sh/v1beta1/namespaces/%s/"
                            "podgroups/%s", space, volcano);
    }
    if (is_path_part(plugins)) {
        return hb_xasprintf("/apis/scheduling.x-k8s.io/v1alpha1/namespaces/%s/"
                            "podgroups/%s", space, plugins);
    }
    return NULL;
}

char *hb_k8s_size_path(const struct hb_k8s_kind *kind,
                       const struct hb_k8s_pod *pod, const char *space,
                       const char **field_out)
{
    char *group = hb_k8s_group_path(pod, space);

    *field_out = "minMember";
    if (group != NULL) {
        return group;
    }
    *field_out = "parallelism";
    if (kind->needs_subdomain && hb_streq(pod->owner_kind, "Job") &&
        is_path_part(pod->owner_name)) {
        return hb_xasprintf("/apis/batch/v1/namespaces/%s/jobs/%s", space,
                            pod->owner_name);
    }
    return NULL;
}

/* 1 when the pod belongs to the same gang as this one, and is not one of an
 * earlier run of a job of that name. */
static int is_member(const struct hb_k8s_choice *c,
                     const struct hb_k8s_pod *pod)
{
    const struct hb_k8s_pod *own = c->own;

    if (c->group != NULL && !hb_streq(pod->marks[HB_K8S_VC_GROUP], c->group) &&
        !hb_streq(pod->marks[HB_K8S_POD_GROUP], c->group) &&
        !hb_streq(pod->marks[HB_K8S_KUEUE_GROUP], c->group)) {
        return 0;
    }
    if (c->kind == NULL || own == NULL) {
        return 1;
    }
    for (size_t i = 0; i < 2; i++) {
        const char *value = mark(own, c->kind->keys[i]);
        if (value != NULL && !hb_streq(mark(pod, c->kind->keys[i]), value)) {
            return 0;
        }
    }
    return !(hb_streq(own->owner_kind, pod->owner_kind) &&
             hb_streq(own->owner_name, pod->owner_name) &&
             !hb_streq(own->owner_uid, pod->owner_uid));
}

static char *name_of(const struct hb_k8s_pod *pod)
{
    if (pod->hostname != NULL && pod->subdomain != NULL) {
        return hb_xasprintf("%s.%s", pod->hostname, pod->subdomain);
    }
    if (pod->marks[HB_K8S_KF_TYPE] != NULL) {
        return hb_xstrdup(pod->name);
    }
    return pod->addresses[0] != NULL ? hb_xstrdup(pod->addresses[0]) : NULL;
}

static uint64_t number_of(const struct hb_k8s_pod *pod, enum hb_k8s_mark m)
{
    uint64_t n = 0;

    if (mark(pod, m) != NULL) {
        hb_parse_u64(mark(pod, m), 0, UINT32_MAX, &n);
    }
    return n;
}

struct entry {
    const struct hb_k8s_pod *pod;
    const char *part;
    uint64_t index[2];
};

static int is_lost(const struct hb_k8s_pod *pod)
{
    return pod->gone || pod->leaving || pod->state == HB_K8S_ENDED ||
           pod->state == HB_K8S_FAILED || pod->state == HB_K8S_EVICTED ||
           pod->state == HB_K8S_DELETED;
}

/* Sorts by place in the gang. Of several pods in one place the one that counts
 * comes first: one that is there before lost ones, then the newest. */
static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int c = strcmp(x->part, y->part);

    for (size_t i = 0; c == 0 && i < 2; i++) {
        c = (x->index[i] > y->index[i]) - (x->index[i] < y->index[i]);
    }
    if (c == 0 && x->pod->hostname != NULL && y->pod->hostname != NULL) {
        c = strverscmp(x->pod->hostname, y->pod->hostname);
        if (c == 0) {
            c = is_lost(x->pod) - is_lost(y->pod);
        }
        if (c == 0 && x->pod->created != NULL && y->pod->created != NULL) {
            c = strcmp(y->pod->created, x->pod->created);
        }
    }
    return c != 0 ? c : strverscmp(x->pod->name, y->pod->name);
}

/* A lost pod that was replaced by another one of the same host name. */
static int is_replaced(const struct entry *e, const struct entry *before)
{
    return before != NULL && is_lost(e->pod) && e->pod->hostname != NULL &&
           hb_streq(e->pod->hostname, before->pod->hostname) &&
           hb_streq(e->pod->subdomain, before->pod->subdomain);
}

/* The members in order, with those that were lost, and those that others
 * replace; returns how many. */
static size_t collect(const struct hb_k8s_pods *pods,
                      const struct hb_k8s_choice *c, struct entry *out)
{
    size_t n = 0;

    for (size_t i = 0; i < pods->n; i++) {
        const struct hb_k8s_pod *pod = &pods->v[i];
        struct entry e = {.pod = pod, .part = ""};
        if (pod->gone || !is_member(c, pod)) {
            continue;
        }
        if (c->kind != NULL) {
            const char *part = mark_of(pod, c->kind->parts);
            e.part = part != NULL ? part : "";
            e.index[0] = number_of(pod, c->kind->index[0]);
            e.index[1] = number_of(pod, c->kind->index[1]);
        }
        out[n++] = e;
    }
    qsort(out, n, sizeof(*out), by_place);
    return n;
}

/* Keeps the pods that are there; the others, but for those that another pod has
 * replaced, go to `lost`, which has room for all. */
static size_t sift(struct entry *entries, size_t n, struct entry *lost,
                   size_t *n_lost_out)
{
    const struct entry *before = NULL;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        struct entry e = entries[i];
        if (is_replaced(&e, before)) {
            continue;
        }
        if (is_lost(e.pod)) {
            lost[(*n_lost_out)++] = e;
        } else {
            entries[kept] = e;
            before = &entries[kept++];
        }
    }
    return kept;
}

/* 1 when a pod of another part had done its work before any of these was made,
 * as one that fetches data for them. */
static int has_prepared(const struct entry *e, const struct entry *entries,
                        size_t n)
{
    const char *ended = e->pod->state == HB_K8S_ENDED ? e->pod->ended : NULL;
    size_t i = 0;

    while (ended != NULL && i < n && strcmp(e->part, entries[i].part) != 0 &&
           entries[i].pod->created != NULL &&
           strcmp(ended, entries[i].pod->created) <= 0) {
        i++;
    }
    return n > 0 && i == n;
}

/* Says which are lost. Returns how many of them have prepared something. */
static size_t tell_lost(const struct entry *lost, size_t n_lost,
                        const struct entry *entries, size_t n,
                        struct hb_str *out)
{
    size_t prepared = 0;

    for (size_t i = 0; i < n_lost; i++) {
        const struct hb_k8s_pod *pod = lost[i].pod;
        if (has_prepared(&lost[i], entries, n)) {
            prepared++;
        } else {
            hb_str_putf(out, "%s%s: %s", out->len > 0 ? "; " : "", pod->name,
                        pod->why != NULL ? pod->why : "");
        }
    }
    return prepared;
}

/* The parts as tasks, so that one rule chooses among both. */
static int choose_parts(const struct entry *entries, size_t n,
                        const struct hb_k8s_choice *c, struct hb_vc_job *job,
                        const char **why_out, struct hpcboot_error *err)
{
    const struct hb_vc_said said = {
        .whose = c->kind != NULL ? c->kind->title : "gang",
        .tasks = c->tasks};
    int all = c->kind == NULL;

    job->tasks = hb_xcalloc(n + 1, sizeof(*job->tasks));
    for (size_t i = 0; i < n; i++) {
        const struct hb_k8s_pod *pod = entries[i].pod;
        struct hb_vc_task *t;
        if (i == 0 || strcmp(entries[i].part, entries[i - 1].part) != 0) {
            job->tasks[job->n++].name = hb_xstrdup(entries[i].part);
        }
        t = &job->tasks[job->n - 1];
        t->n++;
        t->own = t->own || (c->own != NULL && hb_streq(c->own->uid, pod->uid));
        /* Every replica of a Training Operator's job computes, and the head of
         * a Ray cluster is one of its nodes, where programs are started. */
        all = all || pod->marks[HB_K8S_KF_TYPE] != NULL ||
              pod->marks[HB_K8S_RAY_TYPE] != NULL;
    }
    if (!all || c->tasks != NULL) {
        return hb_vc_choose(job, &said, why_out, err);
    }
    for (size_t i = 0; i < job->n; i++) {
        job->tasks[i].chosen = 1;
    }
    *why_out = c->kind == NULL ? "all that match" : "all parts";
    return HPCBOOT_OK;
}

int hb_k8s_choose(const struct hb_k8s_pods *pods,
                  const struct hb_k8s_choice *c, struct hb_k8s_members *out,
                  struct hpcboot_error *err)
{
    struct entry *entries = hb_xcalloc(pods->n + 1, sizeof(*entries));
    struct entry *lost = hb_xcalloc(pods->n + 1, sizeof(*lost));
    struct hb_vc_job job = {0};
    size_t n, n_lost = 0, task = 0;
    int rc;

    memset(out, 0, sizeof(*out));
    n = sift(entries, collect(pods, c, entries), lost, &n_lost);
    out->n_all = n;
    out->n_prepared = tell_lost(lost, n_lost, entries, n, &out->lost);
    for (size_t i = 0; i < n_lost; i++) {
        out->n_leaving += lost[i].pod->leaving &&
                          lost[i].pod->state != HB_K8S_ENDED;
    }
    rc = choose_parts(entries, n, c, &job, &out->why, err);
    out->v = hb_xcalloc(n + 1, sizeof(*out->v));
    out->names = hb_xcalloc(n + 1, sizeof(*out->names));
    for (size_t i = 0; rc >= 0 && i < n; i++) {
        task += i > 0 && strcmp(entries[i].part, entries[i - 1].part) != 0;
        if (job.tasks[task].chosen) {
            out->v[out->n] = entries[i].pod;
            out->names[out->n] = name_of(entries[i].pod);
            out->n_named += out->names[out->n] != NULL;
            out->n++;
        }
    }
    for (size_t i = 0; i < job.n; i++) {
        free(job.tasks[i].name);
    }
    free(job.tasks);
    free(lost);
    free(entries);
    if (rc < 0) {
        hb_k8s_members_destroy(out);
    }
    return rc < 0 ? rc : HPCBOOT_OK;
}

void hb_k8s_members_destroy(struct hb_k8s_members *m)
{
    for (size_t i = 0; i < m->n; i++) {
        free(m->names[i]);
    }
    free(m->names);
    free(m->v);
    hb_str_destroy(&m->lost);
    memset(m, 0, sizeof(*m));
}
