/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Pods as values: a table sorted by name, and finding the pod that a host of
 * a gang is.
 *
 * A list arrives page by page and is sorted once; changes come one at a time
 * and are put in place. A pod that is gone stays in the table until another
 * takes its name, so that it can be said that it was there. */

#include "config.h"

#include "hostfile/k8s_pod.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "lib/base/clock.h"

const char *hb_k8s_mark_key(enum hb_k8s_mark mark)
{
    static const char *const keys[] = {
#define HB_X(name, key) key,
        HB_K8S_MARKS(HB_X)
#undef HB_X
    };

    return keys[mark];
}

int64_t hb_k8s_age_s(const char *time)
{
    struct tm tm = {0};

    if (time == NULL || strptime(time, "%Y-%m-%dT%H:%M:%SZ", &tm) == NULL) {
        return INT64_MAX;
    }
    return hb_wall_ns() / 1000000000 - (int64_t)timegm(&tm);
}

void hb_k8s_pod_destroy(struct hb_k8s_pod *pod)
{
    if (pod == NULL) {
        return;
    }
    free(pod->name);
    free(pod->uid);
    free(pod->version);
    free(pod->hostname);
    free(pod->subdomain);
    free(pod->node);
    for (size_t i = 0; i < HB_K8S_MAX_ADDRESSES; i++) {
        free(pod->addresses[i]);
    }
    free(pod->owner_kind);
    free(pod->owner_name);
    free(pod->owner_uid);
    for (size_t i = 0; i < HB_K8S_N_MARKS; i++) {
        free(pod->marks[i]);
    }
    free(pod->created);
    free(pod->ended);
    free(pod->why);
    memset(pod, 0, sizeof(*pod));
}

void hb_k8s_pods_destroy(struct hb_k8s_pods *pods)
{
    for (size_t i = 0; i < pods->n; i++) {
        hb_k8s_pod_destroy(&pods->v[i]);
    }
    free(pods->v);
    memset(pods, 0, sizeof(*pods));
}

/* Forgets the pods that are gone, to make room. */
static void purge(struct hb_k8s_pods *pods)
{
    size_t kept = 0;

    for (size_t i = 0; i < pods->n; i++) {
        if (pods->v[i].gone) {
            hb_k8s_pod_destroy(&pods->v[i]);
        } else {
            pods->v[kept++] = pods->v[i];
        }
    }
    pods->n = kept;
}

static int make_room(struct hb_k8s_pods *pods, struct hpcboot_error *err)
{
    if (pods->n >= HB_K8S_MAX_PODS) {
        purge(pods);
    }
    if (pods->n >= HB_K8S_MAX_PODS) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT,
                       "the Kubernetes API lists more than %u pods",
                       HB_K8S_MAX_PODS);
    }
    if (pods->n == pods->cap) {
        pods->cap = pods->cap > 0 ? 2 * pods->cap : 64;
        pods->v = hb_xrealloc(pods->v, pods->cap * sizeof(*pods->v));
    }
    return HPCBOOT_OK;
}

int hb_k8s_pods_append(struct hb_k8s_pods *pods, struct hb_k8s_pod *pod,
                       struct hpcboot_error *err)
{
    int rc = make_room(pods, err);

    if (rc < 0) {
        hb_k8s_pod_destroy(pod);
        return rc;
    }
    pods->v[pods->n++] = *pod;
    memset(pod, 0, sizeof(*pod));
    return HPCBOOT_OK;
}

struct numbered {
    struct hb_k8s_pod pod;
    size_t number;
};

static int by_name_then_number(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    int c = strcmp(x->pod.name, y->pod.name);

    return c != 0 ? c : (x->number > y->number) - (x->number < y->number);
}

static int is_sorted(const struct hb_k8s_pods *pods)
{
    size_t i = 1;

    while (i < pods->n && strcmp(pods->v[i - 1].name, pods->v[i].name) < 0) {
        i++;
    }
    return i >= pods->n;
}

void hb_k8s_pods_sort(struct hb_k8s_pods *pods)
{
    struct numbered *all;
    size_t kept = 0;

    if (is_sorted(pods)) { /* the API's own order */
        return;
    }
    all = hb_xcalloc(pods->n, sizeof(*all));
    for (size_t i = 0; i < pods->n; i++) {
        all[i] = (struct numbered){.pod = pods->v[i], .number = i};
    }
    qsort(all, pods->n, sizeof(*all), by_name_then_number);
    for (size_t i = 0; i < pods->n; i++) {
        if (i + 1 < pods->n &&
            strcmp(all[i].pod.name, all[i + 1].pod.name) == 0) {
            hb_k8s_pod_destroy(&all[i].pod);
        } else {
            pods->v[kept++] = all[i].pod;
        }
    }
    pods->n = kept;
    free(all);
}

/* Where `name` is or would be. */
static size_t place_of(const struct hb_k8s_pods *pods, const char *name,
                       int *found_out)
{
    size_t low = 0, high = pods->n;

    *found_out = 0;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = strcmp(pods->v[mid].name, name);
        if (c == 0) {
            *found_out = 1;
            return mid;
        }
        if (c < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

int hb_k8s_pods_put(struct hb_k8s_pods *pods, struct hb_k8s_pod *pod,
                    struct hb_k8s_pod *old, struct hpcboot_error *err)
{
    int found, rc;
    size_t at = place_of(pods, pod->name, &found);

    memset(old, 0, sizeof(*old));
    if (found) {
        *old = pods->v[at];
    } else {
        rc = make_room(pods, err);
        if (rc < 0) {
            hb_k8s_pod_destroy(pod);
            return rc;
        }
        at = place_of(pods, pod->name, &found);
        memmove(&pods->v[at + 1], &pods->v[at],
                (pods->n - at) * sizeof(*pods->v));
        pods->n++;
    }
    pods->v[at] = *pod;
    memset(pod, 0, sizeof(*pod));
    return HPCBOOT_OK;
}

static void no_change(void *arg, const struct hb_k8s_pod *before,
                      const struct hb_k8s_pod *now)
{
    (void)arg;
    (void)before;
    (void)now;
}

void hb_k8s_pods_renew(struct hb_k8s_pods *pods, struct hb_k8s_pods *newer,
                       void (*changed)(void *arg,
                                       const struct hb_k8s_pod *before,
                                       const struct hb_k8s_pod *now),
                       void *arg)
{
    struct hb_k8s_pods all = {0};
    size_t i = 0, j = 0;

    changed = changed != NULL ? changed : no_change;
    all.cap = pods->n + newer->n;
    all.v = hb_xcalloc(all.cap + 1, sizeof(*all.v));
    while (i < pods->n || j < newer->n) {
        struct hb_k8s_pod *old = i < pods->n ? &pods->v[i] : NULL;
        struct hb_k8s_pod *now = j < newer->n ? &newer->v[j] : NULL;
        int c = old == NULL ? 1 : now == NULL ? -1
                                              : strcmp(old->name, now->name);
        if (c < 0 && !old->gone) {
            changed(arg, old, NULL);
            old->gone = 1;
            old->state = HB_K8S_DELETED;
        } else if (c > 0 || (c == 0 && old->gone)) {
            changed(arg, NULL, now);
        } else if (c == 0 && !hb_streq(old->version, now->version)) {
            changed(arg, old, now);
        }
        all.v[all.n++] = c < 0 ? *old : *now;
        memset(c < 0 ? old : now, 0, sizeof(*now));
        i += c <= 0;
        j += c >= 0;
    }
    hb_k8s_pods_destroy(pods);
    hb_k8s_pods_destroy(newer);
    *pods = all;
    if (pods->n > HB_K8S_MAX_PODS) {
        purge(pods);
    }
}

const struct hb_k8s_pod *hb_k8s_pods_find(const struct hb_k8s_pods *pods,
                                          const char *name)
{
    int found;
    size_t at = place_of(pods, name, &found);

    return found ? &pods->v[at] : NULL;
}

struct called {
    const char *name; /* borrowed from the pod */
    const struct hb_k8s_pod *pod;
};
struct hb_k8s_names {
    struct called *v;
    size_t n;
};

/* A pod that is there before one that is gone, by the same name. */
static int by_called(const void *a, const void *b)
{
    const struct called *x = a, *y = b;
    int c = strcasecmp(x->name, y->name);

    return c != 0 ? c : (x->pod->gone + x->pod->leaving) -
                            (y->pod->gone + y->pod->leaving);
}

static void add_name(struct hb_k8s_names *names, const char *name,
                     const struct hb_k8s_pod *pod)
{
    if (name != NULL) {
        names->v[names->n++] = (struct called){.name = name, .pod = pod};
    }
}

struct hb_k8s_names *hb_k8s_names_create(const struct hb_k8s_pods *pods)
{
    struct hb_k8s_names *names = hb_xcalloc(1, sizeof(*names));

    names->v = hb_xcalloc(pods->n + 1, (2 + HB_K8S_MAX_ADDRESSES) *
                                           sizeof(*names->v));
    for (size_t i = 0; i < pods->n; i++) {
        const struct hb_k8s_pod *pod = &pods->v[i];
        add_name(names, pod->name, pod);
        if (!hb_streq(pod->hostname, pod->name)) {
            add_name(names, pod->hostname, pod);
        }
        for (size_t k = 0; k < HB_K8S_MAX_ADDRESSES; k++) {
            add_name(names, pod->addresses[k], pod);
        }
    }
    qsort(names->v, names->n, sizeof(*names->v), by_called);
    return names;
}

void hb_k8s_names_destroy(struct hb_k8s_names *names)
{
    if (names != NULL) {
        free(names->v);
        free(names);
    }
}

/* The first of that name, which by_called puts before others. */
static const struct hb_k8s_pod *look_up(const struct hb_k8s_names *names,
                                        const char *name)
{
    size_t low = 0, high = names->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (strcasecmp(names->v[mid].name, name) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < names->n && strcasecmp(names->v[low].name, name) == 0
               ? names->v[low].pod : NULL;
}

const struct hb_k8s_pod *hb_k8s_names_find(const struct hb_k8s_names *names,
                                           const char *host)
{
    const struct hb_k8s_pod *pod = look_up(names, host);
    char *label;

    if (pod == NULL && strchr(host, ':') == NULL) {
        label = hb_xstrndup(host, strcspn(host, "."));
        pod = look_up(names, label);
        free(label);
    }
    return pod;
}
