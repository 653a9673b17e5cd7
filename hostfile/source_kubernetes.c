/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The gang as the Kubernetes API lists it: for gangs whose files and variables
 * do not name the members, or pods that the user selects.
 *
 *   --pod-selector, --pod-group   those pods; that they cannot be listed is
 *                                 an error
 *   nothing                       the gang that this pod carries the marks of
 *
 * Without an option the API is asked for this pod first, whose labels tell the
 * gang, and then for its members. In a pod whose variables show that it is one
 * of several the API is given time; in any other it is asked once, briefly,
 * since most pods may not ask it at all and are no gang. A job that is started
 * again on a gang that was found so goes on with that or not at all: on this
 * host alone it would be another job.
 *
 * What is listed, waited for and followed then is k8s_search.c's. */

#include "config.h"

#include "hostfile/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hostfile/hostname.h"
#include "hostfile/indexed.h"
#include "hostfile/k8s_search.h"
#include "lib/base/clock.h"

/* How long the API may take where something tells of a gang, and where
 * nothing does. */
#define PATIENT_MS 30000
#define BRIEF_MS 2000

#define ROLE_HELP                                                           \
    "a Role with the rule {apiGroups: [\"\"], resources: [pods], verbs: "   \
    "[get, list, watch]} bound to this pod's service account"

/* Variables that only pods of a gang have. */
static int shows_a_gang(const struct hb_gang_request *req)
{
    static const char *const names[] = {
        "VC_TASK_INDEX", "VK_TASK_INDEX", "JOB_COMPLETION_INDEX",
        "RAY_CLUSTER_NAME", "K_MPI_JOB_ROLE", "LWS_LEADER_ADDRESS",
        "PET_NNODES", "JAX_COORDINATOR_ADDRESS", HB_GANG_SIZE_VARIABLE, NULL};

    return hb_source_env_of(req, names) != NULL;
}

/* The job's former life had its hosts from here. */
static int has_named(const struct hb_gang_request *req)
{
    return hb_streq(req->before, hb_source_kubernetes.name);
}

static int had_selected(const struct hb_gang_request *req)
{
    return hb_streq(req->before, hb_source_pods.name);
}

/* How long the API may take where nobody else can say what it does: as long as
 * hosts may, where somebody waits for them or they were there once. */
static int64_t patience_ms(const struct hb_gang_request *req)
{
    if (!req->awaits_first || req->wait_ms == 0) {
        return PATIENT_MS;
    }
    return req->wait_ms > BRIEF_MS ? req->wait_ms : BRIEF_MS;
}

/* The address that the kubelet wrote beside this pod's name into /etc/hosts;
 * free() it. */
static char *own_address(const struct hb_gang_request *req, const char *name)
{
    size_t len;
    char *text = hb_source_text(req, "/etc/hosts", &len), *found = NULL;
    char *save = NULL, *words = NULL;

    for (char *line = text != NULL ? strtok_r(text, "\n", &save) : NULL;
         line != NULL && found == NULL; line = strtok_r(NULL, "\n", &save)) {
        char *address = strtok_r(line, " \t", &words), *word;
        while (address != NULL && found == NULL &&
               (word = strtok_r(NULL, " \t\r", &words)) != NULL) {
            if (address[0] != '#' && !hb_is_loopback(address) &&
                strcmp(word, name) == 0) {
                found = hb_xstrdup(address);
            }
        }
    }
    free(text);
    return found;
}

/* 1: s->self lists one pod; 0: none. */
static int list_one(struct hb_k8s_search *s, const char *field,
                    const char *value, struct hpcboot_error *err)
{
    char *fields = hb_xasprintf("%s=%s", field, value);
    const struct hb_k8s_query query = {
        .fields = fields, .granted_before = s->granted_before};
    int rc;

    hb_k8s_close(s->self);
    s->self = NULL;
    rc = hb_k8s_open(&s->login, &query, &s->self, err);
    if (rc >= 0) {
        rc = hb_k8s_search_await(s, s->self, err);
    }
    free(fields);
    return rc < 0 ? rc : hb_k8s_pods(s->self)->n == 1;
}

/* Where the pod does not know its name: its host name is that, or (under a Job,
 * behind which stands a random word) not; its address is the second way. */
static int find_self(struct hb_k8s_search *s, struct hpcboot_error *err)
{
    struct hb_self *self = hb_self_create(hb_source_root(s->req));
    char *name = hb_xstrndup(hb_self_name(self),
                             strcspn(hb_self_name(self), "."));
    char *address = own_address(s->req, name);
    const char *pod = hb_self_pod(self);
    int rc = list_one(s, "metadata.name", pod != NULL ? pod : name, err);

    if (rc == 0 && pod == NULL && address != NULL) {
        rc = list_one(s, "status.podIP", address, err);
    }
    if (rc > 0) {
        s->choice.own = &hb_k8s_pods(s->self)->v[0];
    }
    free(address);
    free(name);
    hb_self_destroy(self);
    return rc;
}

/* That number of the object; negative: it cannot be learnt. Some time is left
 * for the list, which may be had where the object is not. */
static int learn_number(struct hb_k8s_search *s, const char *path,
                        const char *field, uint64_t *out)
{
    const int64_t until_ns = s->deadline_ns;
    int64_t half_ms = hb_deadline_left_ms(until_ns) / 2;
    struct hb_k8s *k = NULL;
    int rc = hb_k8s_open_object(&s->login, path, field, &k, NULL);

    if (rc >= 0) {
        s->deadline_ns -= 1000000 * (half_ms < PATIENT_MS ? half_ms
                                                          : PATIENT_MS);
        rc = hb_k8s_search_await(s, k, NULL);
        s->deadline_ns = until_ns;
    }
    if (rc > 0 && hb_k8s_number(k) > 0) {
        *out = hb_k8s_number(k);
    }
    hb_k8s_close(k);
    return rc;
}

/* What was learnt of a group in the job's former life is not forgotten because
 * it cannot be asked now. */
static void recall_size(struct hb_k8s_search *s)
{
    if (s->expected == 0 && s->granted_before) {
        s->expected = s->req->expected_before;
    }
}

/* How many members there are to be; that it cannot be learnt is no error. */
static void learn_size(struct hb_k8s_search *s)
{
    const struct hb_k8s_kind *kind = s->choice.kind;
    const char *field, *said;

    if (kind != NULL) {
        s->group_path = hb_k8s_size_path(kind, s->choice.own, s->login.space,
                                         &field);
    }
    if (s->expected > 0 || kind == NULL) {
        return;
    }
    said = kind->size != HB_K8S_NO_MARK ? s->choice.own->marks[kind->size]
                                        : NULL;
    if (said != NULL &&
        hb_parse_u64(said, 1, HB_MAX_HOSTS, &s->expected) >= 0) {
        return;
    }
    if (s->group_path != NULL &&
        learn_number(s, s->group_path, field, &s->expected) < 0) {
        recall_size(s);
    }
}

/* The same for a group that the user names: whose kind it is, is found by
 * asking. */
static void learn_group(struct hb_k8s_search *s, const char *name)
{
    static const enum hb_k8s_mark marks[] = {HB_K8S_VC_GROUP,
                                             HB_K8S_POD_GROUP};
    uint64_t said = 0;

    for (size_t i = 0; s->group_path == NULL && i < 2; i++) {
        struct hb_k8s_pod pod = {0};
        char *path;

        pod.marks[marks[i]] = (char *)name;
        path = hb_k8s_group_path(&pod, s->login.space);
        if (path != NULL &&
            learn_number(s, path, "minMember", &said) >= 0) {
            s->group_path = path;
        } else {
            free(path);
        }
    }
    s->expected = s->expected > 0 ? s->expected : said;
    if (s->group_path == NULL) {
        recall_size(s);
    }
}

static int selects(const struct hb_gang_request *req)
{
    return req->pod_selector != NULL && !hb_streq(req->pod_selector, "none");
}

/* The pods of --pod-selector and --pod-group. */
static int begin_named(struct hb_k8s_search *s, struct hpcboot_error *err)
{
    const struct hb_gang_request *req = s->req;
    char *reason = NULL;
    int rc = 0;

    if (!hb_k8s_login_read(req, &s->login, &reason)) {
        rc = hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                     "pods cannot be listed by the Kubernetes API: %s",
                     reason);
    }
    free(reason);
    s->choice.group = req->pod_group;
    s->selector = selects(req) ? hb_xstrdup(req->pod_selector) : NULL;
    s->deadline_ns = hb_deadline_in_ms(patience_ms(req));
    return rc;
}

static int ask_named(const struct hb_gang_request *req, struct hb_gang *out,
                     char **reason_out, struct hpcboot_error *err)
{
    struct hb_k8s_search s = {.req = req,
                              .granted_before = had_selected(req)};
    char *reason = NULL;
    int rc;

    if (!selects(req) && req->pod_group == NULL) {
        *reason_out = hb_xstrdup("not given");
        return 0;
    }
    rc = begin_named(&s, err);
    if (rc < 0) {
        hb_k8s_search_end(&s);
        return rc;
    }
    rc = hb_gang_size(req, &s.expected, err);
    s.is_stated = rc > 0;
    if (rc >= 0 && req->pod_group != NULL) {
        learn_group(&s, req->pod_group);
    }
    rc = rc < 0 ? rc : hb_k8s_search_gather(&s, out, &reason, err);
    if (rc == 0) {
        rc = hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "namespace %s, %s %s: %s",
                     s.login.space,
                     req->pod_group != NULL ? "pod group" : "pods with",
                     req->pod_group != NULL ? req->pod_group : s.selector,
                     reason);
    }
    free(reason);
    hb_k8s_search_end(&s);
    return rc;
}

/* Why the API was of no use; with what would help where it was needed. No Role
 * does where the token, or the server, is not believed. */
static int pass_over(const struct hb_k8s_search *s, int needed,
                     const struct hpcboot_error *why, struct hb_gang *out,
                     char **reason_out)
{
    *reason_out = hb_xstrdup(why->text);
    if (needed && why->sys_errno == EACCES) {
        hb_gang_note(out, "%s (kubectl -n %s create role hpcboot --verb=get,"
                     "list,watch --resource=pods; kubectl -n %s create "
                     "rolebinding hpcboot --role=hpcboot --serviceaccount=%s:"
                     "ACCOUNT)", why->text, s->login.space, s->login.space,
                     s->login.space);
    } else if (needed && why->code == HPCBOOT_ERR_AUTH) {
        hb_gang_note(out, "%s; the list of pods would name the gang; without "
                     "it, name hosts with -H", why->text);
    } else if (needed) {
        hb_gang_note(out, "%s; the list of pods would name the gang, which "
                     "needs " ROLE_HELP, why->text);
    }
    return 0;
}

/* 1: the gang that this pod is of is known. */
static int find_gang(struct hb_k8s_search *s, int needed, struct hb_gang *out,
                     char **reason_out)
{
    struct hpcboot_error why = {0};
    int rc = find_self(s, &why);

    if (rc < 0) {
        return pass_over(s, needed, &why, out, reason_out);
    }
    if (rc == 0) {
        *reason_out = hb_xstrdup("it lists no pod of this host name or "
                                 "address");
        return 0;
    }
    s->choice.kind = hb_k8s_kind_of(s->choice.own);
    if (s->choice.kind == NULL) {
        *reason_out = hb_xasprintf("pod %s carries no mark of a gang; "
                                   "--pod-selector selects pods",
                                   s->choice.own->name);
        return 0;
    }
    s->choice.tasks = hb_source_env(s->req, "HPCBOOT_TASKS");
    s->selector = hb_k8s_selector(s->choice.kind, s->choice.own);
    learn_size(s);
    return 1;
}

static int ask_own(const struct hb_gang_request *req, struct hb_gang *out,
                   char **reason_out, struct hpcboot_error *err)
{
    int needed = shows_a_gang(req), rc;
    int64_t patient_ms = has_named(req) ? patience_ms(req) : PATIENT_MS;
    int64_t brief_ms = needed || has_named(req) ? patient_ms : BRIEF_MS;
    struct hb_k8s_search s = {.req = req, .granted_before = has_named(req)};
    struct hpcboot_error why = {0};

    rc = hb_gang_size(req, &s.expected, err);
    s.is_stated = rc > 0;
    if (rc < 0) {
        return rc;
    }
    if (hb_streq(req->pod_selector, "none")) {
        *reason_out = hb_xstrdup("--pod-selector none");
        return 0;
    }
    if (!hb_k8s_login_read(req, &s.login, reason_out)) {
        if (needed && hb_source_env(req, "KUBERNETES_SERVICE_HOST") != NULL) {
            hb_gang_note(out, "the Kubernetes API cannot be asked for this "
                         "pod's gang: %s; it needs " ROLE_HELP, *reason_out);
        }
        return 0;
    }
    s.deadline_ns = hb_deadline_in_ms(brief_ms);
    rc = find_gang(&s, needed, out, reason_out);
    if (rc > 0) {
        s.deadline_ns = hb_deadline_in_ms(patient_ms);
        rc = hb_k8s_search_gather(&s, out, reason_out, &why);
    }
    if (rc < 0 && !s.is_listed) {
        rc = pass_over(&s, needed, &why, out, reason_out);
    } else if (rc < 0 && err != NULL) {
        *err = why;
    }
    hb_k8s_search_end(&s);
    return rc;
}

/* Nobody else's hosts are those of a gang that the API has named. */
static int ask_own_again(const struct hb_gang_request *req,
                         struct hb_gang *out, char **reason_out,
                         struct hpcboot_error *err)
{
    int rc = ask_own(req, out, reason_out, err);

    if (rc == 0 && has_named(req)) {
        rc = hb_fail(err, HPCBOOT_ERR_HOST, "the Kubernetes API has named the "
                     "hosts before, and cannot now: %s", *reason_out);
    }
    return rc;
}

static int follow_named(const struct hb_gang_request *req,
                        hb_gang_changed changed, void *arg,
                        struct hpcboot_error *err)
{
    struct hb_k8s_search s = {.req = req};
    int rc = begin_named(&s, err);

    rc = rc < 0 ? rc : hb_k8s_search_follow(&s, changed, arg, err);
    hb_k8s_search_end(&s);
    return rc;
}

static int follow_own(const struct hb_gang_request *req,
                      hb_gang_changed changed, void *arg,
                      struct hpcboot_error *err)
{
    struct hb_k8s_search s = {.req = req,
                              .deadline_ns = hb_deadline_in_ms(PATIENT_MS)};
    struct hb_gang unused = {0};
    char *reason = NULL;
    int rc;

    if (hb_k8s_login_read(req, &s.login, &reason) &&
        find_gang(&s, 0, &unused, &reason) > 0) {
        rc = hb_k8s_search_follow(&s, changed, arg, err);
    } else {
        rc = hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "the Kubernetes API: %s",
                     reason);
    }
    free(reason);
    hb_k8s_search_end(&s);
    return rc;
}

const struct hb_source hb_source_pods = {
    .name = "--pod-selector", .own_hosts = 1, .ask = ask_named,
    .follow = follow_named};
const struct hb_source hb_source_kubernetes = {
    .name = "Kubernetes API", .is_slow = 1, .ask = ask_own_again,
    .follow = follow_own};
