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
 * since most pods may not ask it at all and are no gang.
 *
 * Pods are created one after the other, and get addresses later. Where the
 * size of the gang is known (HPCBOOT_GANG_SIZE, its pod group, its Job, a
 * mark) so many are waited for; else until no pod is new. A host that cannot
 * be named yet cannot be waited for by anybody else. */

#include "config.h"

#include "hostfile/source.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hostfile/hostname.h"
#include "hostfile/indexed.h"
#include "hostfile/k8s_gang.h"
#include "lib/base/clock.h"

/* How long the API may take where something tells of a gang, and where
 * nothing does. */
#define PATIENT_MS 30000
#define BRIEF_MS 2000
/* A gang of unknown size is complete when its newest pod is so old, or when
 * no pod was new for so long. */
#define SETTLED_AGE_S 30
#define SETTLED_QUIET_MS 3000
#define PROGRESS_MS 5000
#define FIRST_PROGRESS_MS 1000
/* So many pods are named in a message, then a count. */
#define NAMED_MAX 3

#define ROLE_HELP                                                           \
    "a Role with the rule {apiGroups: [\"\"], resources: [pods], verbs: "   \
    "[get, list, watch]} bound to this pod's service account"

/* What is known while a gang is looked for. */
struct search {
    const struct hb_gang_request *req;
    struct hb_k8s_login login;
    struct hb_k8s_choice choice;
    struct hb_k8s *self; /* holds this pod */
    struct hb_k8s *list; /* holds the members */
    char *selector;
    char *group_path;    /* of what keeps all of them back; or NULL */
    uint64_t expected;   /* members; 0: not known */
    int64_t deadline_ns;
    int64_t changed_ms;  /* when a pod was new last */
    int64_t told_ms;
    char *told;          /* the last that was said */
    int is_listed;
};

static void search_end(struct search *s)
{
    hb_k8s_close(s->self);
    hb_k8s_close(s->list);
    hb_k8s_login_destroy(&s->login);
    free(s->selector);
    free(s->group_path);
    free(s->told);
}

/* Variables that only pods of a gang have. */
static int shows_a_gang(const struct hb_gang_request *req)
{
    static const char *const names[] = {
        "VC_TASK_INDEX", "VK_TASK_INDEX", "JOB_COMPLETION_INDEX",
        "RAY_CLUSTER_NAME", "K_MPI_JOB_ROLE", "LWS_LEADER_ADDRESS",
        "PET_NNODES", "JAX_COORDINATOR_ADDRESS", HB_GANG_SIZE_VARIABLE, NULL};

    return hb_source_env_of(req, names) != NULL;
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
            if (address[0] != '#' && strncmp(address, "127.", 4) != 0 &&
                strcmp(address, "::1") != 0 && strcmp(word, name) == 0) {
                found = hb_xstrdup(address);
            }
        }
    }
    free(text);
    return found;
}

/* 1: s->self lists one pod; 0: none. */
static int list_one(struct search *s, const char *field, const char *value,
                    struct hpcboot_error *err)
{
    char *fields = hb_xasprintf("%s=%s", field, value);
    const struct hb_k8s_query query = {.fields = fields};
    int rc;

    hb_k8s_close(s->self);
    s->self = NULL;
    rc = hb_k8s_open(&s->login, &query, &s->self, err);
    if (rc >= 0) {
        rc = hb_k8s_wait(s->self, s->deadline_ns, err);
    }
    free(fields);
    return rc < 0 ? rc : hb_k8s_pods(s->self)->n == 1;
}

/* A pod's host name is its own name, or (under a Job, behind which stands a
 * random word) not; its address is the second way. */
static int find_self(struct search *s, struct hpcboot_error *err)
{
    struct hb_self *self = hb_self_create(hb_source_root(s->req));
    char *name = hb_xstrndup(hb_self_name(self),
                             strcspn(hb_self_name(self), "."));
    char *address = own_address(s->req, name);
    int rc = list_one(s, "metadata.name", name, err);

    if (rc == 0 && address != NULL) {
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

/* How many members there are to be; that it cannot be learnt is no error. */
static void learn_size(struct search *s)
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
    if (s->group_path != NULL) {
        hb_k8s_spec_number(&s->login, s->group_path, field, s->deadline_ns,
                           &s->expected, NULL);
    }
}

/* The same for a group that the user names: whose kind it is, is found by
 * asking. */
static void learn_group(struct search *s, const char *name)
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
            hb_k8s_spec_number(&s->login, path, "minMember", s->deadline_ns,
                               &said, NULL) >= 0) {
            s->group_path = path;
        } else {
            free(path);
        }
    }
    s->expected = s->expected > 0 ? s->expected : said;
}

static void on_change(void *arg, const struct hb_k8s_pod *before,
                      const struct hb_k8s_pod *now)
{
    struct search *s = arg;

    if (before == NULL && now != NULL) {
        s->changed_ms = hb_now_ms();
    }
}

/* Seconds since a time as the API writes them; a large number where it is not
 * understood. */
static int64_t age_s(const char *created)
{
    struct tm tm = {0};

    if (created == NULL ||
        strptime(created, "%Y-%m-%dT%H:%M:%SZ", &tm) == NULL) {
        return INT64_MAX;
    }
    return hb_wall_ns() / 1000000000 - (int64_t)timegm(&tm);
}

static int is_settled(const struct search *s, const struct hb_k8s_members *m)
{
    if (m->n_named < m->n) {
        return 0;
    }
    if (s->expected > 0) {
        return m->n_all >= s->expected;
    }
    if (s->req->wait_ms == 0 ||
        hb_now_ms() - s->changed_ms >= SETTLED_QUIET_MS) {
        return 1;
    }
    for (size_t i = 0; i < m->n; i++) {
        if (age_s(m->v[i]->created) < SETTLED_AGE_S) {
            return 0;
        }
    }
    return 1;
}

/* What the group says of itself, where it can be asked. */
static void put_group(const struct search *s, struct hb_str *text)
{
    char *words = NULL;

    if (s->group_path != NULL &&
        hb_k8s_group_words(&s->login, s->group_path,
                           hb_deadline_in_ms(BRIEF_MS), &words, NULL) > 0) {
        hb_str_putf(text, "; %s: %s", strrchr(s->group_path, '/') + 1, words);
    }
    free(words);
}

/* "62 of 64 pods are there; no address: lm-1 (Unschedulable: ...)"; free(). */
static char *missing_text(const struct search *s,
                          const struct hb_k8s_members *m)
{
    struct hb_str text = HB_STR_INIT;
    size_t unnamed = 0;

    if (s->expected > 0 && m->n_all < s->expected) {
        hb_str_putf(&text, "%zu of %llu pods are there", m->n_all,
                    (unsigned long long)s->expected);
    } else {
        hb_str_putf(&text, "%zu of %zu pods have an address", m->n_named,
                    m->n);
    }
    for (size_t i = 0; i < m->n; i++) {
        if (m->names[i] == NULL && unnamed++ < NAMED_MAX) {
            hb_str_putf(&text, "; %s: %s", m->v[i]->name,
                        m->v[i]->why != NULL ? m->v[i]->why : "no address");
        }
    }
    if (unnamed > NAMED_MAX) {
        hb_str_putf(&text, "; and %zu more", unnamed - NAMED_MAX);
    }
    if (m->lost.len > 0) {
        hb_str_putf(&text, "; lost: %s", m->lost.s);
    }
    put_group(s, &text);
    return hb_str_steal(&text);
}

static void tell(struct search *s, const struct hb_k8s_members *m)
{
    char *text;

    if (s->req->progress == NULL || hb_now_ms() - s->told_ms < PROGRESS_MS) {
        return;
    }
    s->told_ms = hb_now_ms();
    text = missing_text(s, m);
    if (!hb_streq(text, s->told)) {
        s->req->progress(s->req->progress_arg, text);
    }
    free(s->told);
    s->told = text;
}

/* Until something arrives, or it is time to look at the clock again. */
static void rest(const struct search *s)
{
    struct pollfd p = {.fd = hb_k8s_fd(s->list), .events = POLLIN};
    int64_t left = hb_deadline_left_ms(s->deadline_ns);

    poll(&p, 1, left < 500 ? (int)left : 500);
}

/* Lists, and watches until the gang is there or time is up; the members are
 * then in *out all the same, and rc is ERR_TIMED_OUT. */
static int follow(struct search *s, int64_t wait_ms,
                  struct hb_k8s_members *out, struct hpcboot_error *err)
{
    const struct hb_k8s_query query = {
        .labels = s->selector, .watch = wait_ms > 0, .changed = on_change,
        .arg = s};
    int rc = hb_k8s_open(&s->login, &query, &s->list, err);

    if (rc >= 0) {
        rc = hb_k8s_wait(s->list, s->deadline_ns, err);
    }
    s->is_listed = rc >= 0;
    s->changed_ms = hb_now_ms();
    s->told_ms = s->changed_ms - PROGRESS_MS + FIRST_PROGRESS_MS;
    s->deadline_ns = hb_deadline_in_ms(wait_ms);
    while (rc >= 0) {
        rc = hb_k8s_choose(hb_k8s_pods(s->list), &s->choice, out, err);
        if (rc < 0 || is_settled(s, out)) {
            return rc;
        }
        tell(s, out);
        if (hb_deadline_left_ms(s->deadline_ns) == 0) {
            return HPCBOOT_ERR_TIMED_OUT;
        }
        hb_k8s_members_destroy(out);
        rest(s);
        rc = hb_k8s_step(s->list, err);
    }
    return rc;
}

static int is_own(const struct search *s, const struct hb_k8s_pod *pod)
{
    return s->choice.own != NULL && hb_streq(s->choice.own->uid, pod->uid);
}

static int take_hosts(const struct search *s, const struct hb_k8s_members *m,
                      struct hb_gang *out, struct hpcboot_error *err)
{
    struct hb_members hosts;
    int rc;

    hb_members_begin(&hosts, "the Kubernetes API", 0);
    for (size_t i = 0; i < m->n; i++) {
        if (m->names[i] != NULL) {
            hb_members_add(&hosts, err, "%s", m->names[i]);
        }
    }
    rc = hb_members_end(&hosts, s->req, out);
    for (size_t i = 0; rc >= 0 && i < m->n; i++) {
        for (size_t k = 0; is_own(s, m->v[i]) && m->names[i] != NULL &&
                           k < out->n; k++) {
            out->hosts[k].is_local |= hb_streq(out->hosts[k].name, m->names[i]);
        }
    }
    return rc;
}

static void describe(const struct search *s, const struct hb_k8s_members *m,
                     int rc, struct hb_gang *out)
{
    const struct hb_k8s_kind *kind = s->choice.kind;
    char *where = kind != NULL
        ? hb_xasprintf("%s %s as %s lists it (%s)", kind->title,
                       s->choice.own->marks[kind->keys[0]], s->login.server,
                       m->why)
        : hb_xasprintf("namespace %s as %s lists it (%s)", s->login.space,
                       s->login.server, s->choice.group != NULL
                                            ? s->choice.group : s->selector);

    hb_source_operator_made(s->req, out, where);
    if (rc == HPCBOOT_ERR_TIMED_OUT) {
        char *missing = missing_text(s, m);
        hb_gang_note(out, "Kubernetes: %s; only those that are there are used",
                     missing);
        free(missing);
    } else if (m->lost.len > 0) {
        hb_gang_note(out, "Kubernetes: not used are %s", m->lost.s);
    }
    free(where);
}

/* Members that did not come in time are an error where they were waited for,
 * unless so few will do; where nobody waits, those are taken that are there. */
static int finish(struct search *s, int64_t wait_ms, int rc,
                  struct hb_k8s_members *m, struct hb_gang *out,
                  char **reason_out, struct hpcboot_error *err)
{
    int enough = s->req->min_hosts > 0 && m->n_named >= s->req->min_hosts;
    char *missing;

    if (rc == HPCBOOT_ERR_TIMED_OUT && wait_ms > 0 && !enough) {
        missing = missing_text(s, m);
        rc = hb_fail(err, HPCBOOT_ERR_TIMED_OUT, "Kubernetes: %s", missing);
        free(missing);
        return rc;
    }
    if (m->n_named == 0) {
        *reason_out = m->lost.len > 0
            ? hb_xasprintf("no pod is left: %s", m->lost.s)
            : hb_xstrdup("it lists no such pods with an address");
        return 0;
    }
    if (take_hosts(s, m, out, err) < 0) {
        return HPCBOOT_ERR_PARSE;
    }
    describe(s, m, rc, out);
    return 1;
}

static int gather(struct search *s, struct hb_gang *out, char **reason_out,
                  struct hpcboot_error *err)
{
    struct hb_k8s_members m = {0};
    int rc = follow(s, s->req->wait_ms, &m, err);

    if (rc >= 0 || (rc == HPCBOOT_ERR_TIMED_OUT && m.v != NULL)) {
        rc = finish(s, s->req->wait_ms, rc, &m, out, reason_out, err);
    }
    hb_k8s_members_destroy(&m);
    return rc;
}

/* --pod-selector and --pod-group. */
static int ask_named(const struct hb_gang_request *req, struct hb_gang *out,
                     char **reason_out, struct hpcboot_error *err)
{
    struct search s = {.req = req, .choice.group = req->pod_group,
                       .deadline_ns = hb_deadline_in_ms(PATIENT_MS)};
    char *reason = NULL;
    int rc;

    if ((req->pod_selector == NULL || hb_streq(req->pod_selector, "none")) &&
        req->pod_group == NULL) {
        *reason_out = hb_xstrdup("not given");
        return 0;
    }
    if (!hb_k8s_login_read(req, &s.login, &reason)) {
        rc = hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                     "pods cannot be listed by the Kubernetes API: %s",
                     reason);
        free(reason);
        return rc;
    }
    s.selector = req->pod_selector != NULL ? hb_xstrdup(req->pod_selector)
                                           : NULL;
    rc = hb_gang_size(req, &s.expected, err);
    if (rc >= 0 && req->pod_group != NULL) {
        learn_group(&s, req->pod_group);
    }
    rc = rc < 0 ? rc : gather(&s, out, &reason, err);
    if (rc == 0) {
        rc = hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "namespace %s, %s %s: %s",
                     s.login.space,
                     req->pod_group != NULL ? "pod group" : "pods with",
                     req->pod_group != NULL ? req->pod_group : s.selector,
                     reason);
    }
    free(reason);
    search_end(&s);
    return rc;
}

/* Why the API was of no use; with what would help where it was needed. */
static int pass_over(const struct search *s, int needed,
                     const struct hpcboot_error *why, struct hb_gang *out,
                     char **reason_out)
{
    *reason_out = hb_xstrdup(why->text);
    if (needed && why->code == HPCBOOT_ERR_AUTH) {
        hb_gang_note(out, "%s (kubectl -n %s create role hpcboot --verb=get,"
                     "list,watch --resource=pods; kubectl -n %s create "
                     "rolebinding hpcboot --role=hpcboot --serviceaccount=%s:"
                     "ACCOUNT)", why->text, s->login.space, s->login.space,
                     s->login.space);
    } else if (needed) {
        hb_gang_note(out, "%s; the list of pods would name the gang, which "
                     "needs " ROLE_HELP, why->text);
    }
    return 0;
}

/* 1: the gang that this pod is of is known. */
static int find_gang(struct search *s, int needed, struct hb_gang *out,
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
    struct search s = {.req = req};
    struct hpcboot_error why = {0};

    rc = hb_gang_size(req, &s.expected, err);
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
    s.deadline_ns = hb_deadline_in_ms(needed ? PATIENT_MS : BRIEF_MS);
    rc = find_gang(&s, needed, out, reason_out);
    if (rc > 0) {
        s.deadline_ns = hb_deadline_in_ms(PATIENT_MS);
        rc = gather(&s, out, reason_out, &why);
    }
    if (rc < 0 && !s.is_listed) {
        rc = pass_over(&s, needed, &why, out, reason_out);
    } else if (rc < 0 && err != NULL) {
        *err = why;
    }
    search_end(&s);
    return rc;
}

const struct hb_source hb_source_pods = {
    .name = "--pod-selector", .own_hosts = 1, .ask = ask_named};
const struct hb_source hb_source_kubernetes = {
    .name = "Kubernetes API", .is_slow = 1, .ask = ask_own};
