/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Why hosts of a gang are not there, as the cluster says it. The pods of the
 * namespace are listed once; hosts that no pod is are told to be missing,
 * since a pod that was never made has nobody else to say so. For a pod that
 * no scheduler has given a node its group is asked as well: what holds all of
 * them back is often said there alone. */

#include "config.h"

#include "hostfile/k8s.h"

#include <stdlib.h>
#include <string.h>

#include "hostfile/k8s_gang.h"
#include "hostfile/k8s_pod.h"
#include "lib/base/clock.h"

/* The groups whose words were asked for; most gangs are one group. */
#define GROUPS_MAX 4

struct groups {
    const struct hb_k8s_login *login;
    int64_t deadline_ns;
    char *paths[GROUPS_MAX], *words[GROUPS_MAX];
    size_t n;
};

/* What the pod's group says, or NULL. */
static const char *words_of_group(struct groups *g,
                                  const struct hb_k8s_pod *pod)
{
    char *path = hb_k8s_group_path(pod, g->login->space);
    size_t i = 0;

    while (path != NULL && i < g->n && strcmp(g->paths[i], path) != 0) {
        i++;
    }
    if (path == NULL || i == GROUPS_MAX) {
        free(path);
        return NULL;
    }
    if (i < g->n) {
        free(path);
        return g->words[i];
    }
    g->paths[i] = path;
    g->n++;
    /* An account that may list pods only is the rule: no words then. */
    hb_k8s_group_words(g->login, path, g->deadline_ns, &g->words[i], NULL);
    return g->words[i];
}

static void groups_end(struct groups *g)
{
    for (size_t i = 0; i < g->n; i++) {
        free(g->paths[i]);
        free(g->words[i]);
    }
}

static int is_held(const struct hb_k8s_pod *pod)
{
    return pod->state == HB_K8S_PENDING || pod->state == HB_K8S_GATED ||
           pod->state == HB_K8S_UNSCHEDULABLE;
}

static char *pod_reason(const struct hb_k8s_pod *pod, const char *host,
                        const char *space)
{
    if (pod == NULL) {
        return hb_xasprintf("no pod of namespace %s is called so: it was "
                            "deleted, or not made yet", space);
    }
    if (pod->why == NULL || (strcspn(host, ".") == strlen(pod->name) &&
                             hb_starts_with(host, pod->name))) {
        return pod->why != NULL ? hb_xstrdup(pod->why) : NULL;
    }
    return hb_xasprintf("%s: %s", pod->name, pod->why);
}

static char *reason_of(const struct hb_k8s_names *names, const char *host,
                       struct groups *groups)
{
    const struct hb_k8s_pod *pod = hb_k8s_names_find(names, host);
    char *own = pod_reason(pod, host, groups->login->space), *both;
    const char *words = own != NULL && pod != NULL && is_held(pod)
                            ? words_of_group(groups, pod) : NULL;

    if (words == NULL) {
        return own;
    }
    both = hb_xasprintf("%s; its pod group: %s", own, words);
    free(own);
    return both;
}

int hb_k8s_reasons(const struct hb_gang_request *req,
                   const char *const *hosts, size_t n, int64_t timeout_ms,
                   char **texts_out, struct hpcboot_error *err)
{
    const struct hb_k8s_query query = {0};
    struct hb_k8s_login login;
    struct groups groups = {
        .login = &login, .deadline_ns = hb_deadline_in_ms(timeout_ms)};
    struct hb_k8s_names *names;
    struct hb_k8s *k = NULL;
    char *reason = NULL;
    int rc, found = 0;

    memset(texts_out, 0, n * sizeof(*texts_out));
    if (!hb_k8s_login_read(req, &login, &reason)) {
        rc = hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "%s", reason);
        free(reason);
        return rc;
    }
    rc = hb_k8s_open(&login, &query, &k, err);
    if (rc >= 0) {
        rc = hb_k8s_wait(k, groups.deadline_ns, err);
    }
    if (rc >= 0) {
        names = hb_k8s_names_create(hb_k8s_pods(k));
        for (size_t i = 0; i < n; i++) {
            texts_out[i] = reason_of(names, hosts[i], &groups);
            found += texts_out[i] != NULL;
        }
        groups_end(&groups);
        hb_k8s_names_destroy(names);
    }
    hb_k8s_close(k);
    hb_k8s_login_destroy(&login);
    return rc < 0 ? rc : found;
}
