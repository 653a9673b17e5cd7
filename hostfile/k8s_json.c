/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Objects of the Kubernetes API as values of ours. jansson checks the syntax;
 * here is checked that what decides is there and of the right kind: a pod
 * without a name, or with a list for its labels, is refused and named, while
 * a status of unknown shape only tells less.
 *
 * Whatever is kept may be shown on a terminal or become a host's name, so
 * texts are cut short, control characters become blanks, and names that no
 * host could have are refused. */

#include "config.h"

#include "hostfile/k8s_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "hostfile/hostname.h"

/* An end that is longer ago is no reason for what is missed now. */
#define BACK_S 600

static int load(const char *json, size_t len, json_t **out,
                struct hpcboot_error *err)
{
    json_error_t why;

    *out = json_loadb(json, len, 0, &why);
    if (*out == NULL) {
        return hb_fail(err, HPCBOOT_ERR_PARSE, "%d:%d: %s", why.line,
                       why.column, why.text);
    }
    return HPCBOOT_OK;
}

/* The text of a member, or NULL. Borrowed. */
static const char *text_at(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* A copy that is fit to be shown; NULL stays NULL. */
static char *shown(const char *text)
{
    char *copy;

    if (text == NULL) {
        return NULL;
    }
    copy = hb_xstrndup(text, HB_K8S_MAX_TEXT);
    for (unsigned char *p = (unsigned char *)copy; *p != '\0'; p++) {
        *p = *p < ' ' || *p == 0x7f ? ' ' : *p;
    }
    return copy;
}

/* A copy of something that can be a host; else NULL. */
static char *host_at(const json_t *object, const char *key)
{
    const char *text = text_at(object, key);
    size_t at;

    if (text == NULL || text[0] == '\0' ||
        hb_hostname_wrong(text, &at) != NULL) {
        return NULL;
    }
    return hb_xstrdup(text);
}

static int read_name(const json_t *meta, struct hb_k8s_pod *out,
                     struct hpcboot_error *err)
{
    const char *name = text_at(meta, "name");
    const char *uid = text_at(meta, "uid");

    out->name = host_at(meta, "name");
    if (out->name == NULL) {
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "expected a name in metadata.name%s%.64s",
                       name != NULL ? ", found " : "",
                       name != NULL ? name : "");
    }
    out->uid = shown(uid != NULL ? uid : "");
    out->version = shown(text_at(meta, "resourceVersion"));
    out->created = shown(text_at(meta, "creationTimestamp"));
    out->leaving = text_at(meta, "deletionTimestamp") != NULL;
    return HPCBOOT_OK;
}

static void read_owner(const json_t *meta, struct hb_k8s_pod *out)
{
    const json_t *owners = json_object_get(meta, "ownerReferences"), *one;
    size_t i;

    json_array_foreach(owners, i, one) {
        if (json_is_true(json_object_get(one, "controller")) &&
            out->owner_uid == NULL) {
            out->owner_kind = shown(text_at(one, "kind"));
            out->owner_name = shown(text_at(one, "name"));
            out->owner_uid = shown(text_at(one, "uid"));
        }
    }
}

static int read_marks(const json_t *meta, struct hb_k8s_pod *out,
                      struct hpcboot_error *err)
{
    static const char *const maps[] = {"annotations", "labels"};

    for (size_t m = 0; m < 2; m++) {
        const json_t *map = json_object_get(meta, maps[m]);
        if (map != NULL && !json_is_object(map) && !json_is_null(map)) {
            return hb_fail(err, HPCBOOT_ERR_PARSE,
                           "pod %s: expected an object in metadata.%s",
                           out->name, maps[m]);
        }
        for (size_t i = 0; i < HB_K8S_N_MARKS; i++) {
            const char *value = text_at(map, hb_k8s_mark_key(
                                                 (enum hb_k8s_mark)i));
            if (value != NULL) {
                free(out->marks[i]);
                out->marks[i] = shown(value);
            }
        }
    }
    return HPCBOOT_OK;
}

/* status.podIPs, with podIP as the first of them. */
static void read_addresses(const json_t *status, struct hb_k8s_pod *out)
{
    const json_t *list = json_object_get(status, "podIPs"), *one;
    size_t i, n = 0;

    json_array_foreach(list, i, one) {
        if (n < HB_K8S_MAX_ADDRESSES) {
            out->addresses[n] = host_at(one, "ip");
            n += out->addresses[n] != NULL;
        }
    }
    if (n == 0) {
        out->addresses[0] = host_at(status, "podIP");
    }
}

/* Who is about to delete a pod may say why before: Volcano's scheduler in
 * Ready, until the kubelet sets that anew, and Kueue in a condition of its
 * own. */
static int says_why_it_leaves(const char *type, int yes, const char *reason)
{
    return (strcmp(type, "Ready") == 0 && !yes && hb_streq(reason, "Evict")) ||
           (strcmp(type, "TerminationTarget") == 0 && yes);
}

static void read_conditions(const json_t *status, struct hb_k8s_facts *f)
{
    const json_t *list = json_object_get(status, "conditions"), *one;
    size_t i;

    json_array_foreach(list, i, one) {
        const char *type = text_at(one, "type");
        int yes = hb_streq(text_at(one, "status"), "True");
        const char *reason = text_at(one, "reason");
        const char *message = text_at(one, "message");
        if (type == NULL) {
            continue;
        }
        if (f->leaving && says_why_it_leaves(type, yes, reason)) {
            f->disruption_reason = reason != NULL ? reason : type;
            f->disruption_message = message;
        } else if (strcmp(type, "Ready") == 0) {
            f->ready = yes;
        } else if (strcmp(type, "PodScheduled") == 0 && !yes) {
            f->scheduled_reason = reason != NULL ? reason : "Unschedulable";
            f->scheduled_message = message;
        } else if (strcmp(type, "DisruptionTarget") == 0 && yes) {
            f->disruption_reason = reason != NULL ? reason : type;
            f->disruption_message = message;
        }
    }
}

static void take_ending(const json_t *ended, struct hb_k8s_facts *f)
{
    f->ended_reason = text_at(ended, "reason");
    f->ended_message = text_at(ended, "message");
    f->exit_code = json_integer_value(json_object_get(ended, "exitCode"));
    f->signal = json_integer_value(json_object_get(ended, "signal"));
}

static int runs(const json_t *container)
{
    return json_object_get(json_object_get(container, "state"),
                           "running") != NULL;
}

/* How badly off a container is: one that waits more than one that failed. */
static int trouble_of(const json_t *container)
{
    const json_t *state = json_object_get(container, "state");
    const json_t *waiting = json_object_get(state, "waiting");
    const json_t *ended = json_object_get(state, "terminated");
    const char *reason = text_at(waiting, "reason");

    if (ended != NULL) {
        return json_integer_value(json_object_get(ended, "exitCode")) != 0 ? 3
                                                                           : 1;
    }
    if (waiting == NULL) {
        return 0;
    }
    return hb_streq(reason, "ContainerCreating") ||
           hb_streq(reason, "PodInitializing") ? 2 : 4;
}

static void take_container(const json_t *container, struct hb_k8s_facts *f)
{
    const json_t *state = json_object_get(container, "state");
    const json_t *waiting = json_object_get(state, "waiting");
    const json_t *ended = json_object_get(state, "terminated");
    const json_t *last = json_object_get(
        json_object_get(container, "lastState"), "terminated");
    const char *name = text_at(container, "name");

    f->container = name != NULL ? name : "?";
    f->restarts = json_integer_value(json_object_get(container,
                                                     "restartCount"));
    f->waiting_reason = text_at(waiting, "reason");
    f->waiting_message = text_at(waiting, "message");
    f->ended = ended != NULL;
    if (ended != NULL || last != NULL) {
        take_ending(ended != NULL ? ended : last, f);
    }
}

/* The container of that name as the spec has it, or NULL. */
static const json_t *container_of(const json_t *spec, const char *name)
{
    static const char *const lists[] = {"containers", "initContainers"};

    for (size_t k = 0; k < 2; k++) {
        const json_t *list = json_object_get(spec, lists[k]), *one;
        size_t i;

        json_array_foreach(list, i, one) {
            if (hb_streq(text_at(one, "name"), name)) {
                return one;
            }
        }
    }
    return NULL;
}

static const char *limit_of(const json_t *container)
{
    return text_at(json_object_get(json_object_get(container, "resources"),
                                   "limits"), "memory");
}

/* Does the kubelet start it again? */
static int comes_again(const json_t *spec, const json_t *container,
                       int64_t exit_code)
{
    const char *policy = text_at(container, "restartPolicy");

    policy = policy != NULL ? policy : text_at(spec, "restartPolicy");
    return hb_streq(policy, "Always") ||
           (hb_streq(policy, "OnFailure") && exit_code != 0);
}

/* One that has ended may be there again before anybody asks why. */
static void read_those_back(const json_t *status, struct hb_k8s_facts *f)
{
    const json_t *list = json_object_get(status, "containerStatuses"), *one;
    size_t i;

    json_array_foreach(list, i, one) {
        const json_t *last = json_object_get(
            json_object_get(one, "lastState"), "terminated");

        if (runs(one) && !f->is_back &&
            hb_k8s_age_s(text_at(last, "finishedAt")) < BACK_S) {
            take_container(one, f);
            f->is_back = 1;
        }
    }
}

/* The container that is worst off; an init container only counts while it is
 * in trouble, as its good end is no news. */
static void read_containers(const json_t *status, const json_t *spec,
                            struct hb_k8s_facts *f)
{
    static const char *const lists[] = {"initContainerStatuses",
                                        "containerStatuses"};
    int worst = 0;

    for (size_t k = 0; k < 2; k++) {
        const json_t *list = json_object_get(status, lists[k]), *one;
        size_t i;
        json_array_foreach(list, i, one) {
            int trouble = trouble_of(one);
            f->runs |= k == 1 && runs(one);
            if (trouble > worst && (k == 1 || trouble > 1)) {
                worst = trouble;
                take_container(one, f);
            }
        }
    }
    if (f->container == NULL) {
        read_those_back(status, f);
    }
    if (f->container != NULL) {
        const json_t *container = container_of(spec, f->container);

        f->memory_limit = limit_of(container);
        f->again = f->ended && comes_again(spec, container, f->exit_code);
    }
}

/* When the last container ended of those that have, or NULL. Borrowed. */
static const char *last_end(const json_t *status)
{
    const json_t *list = json_object_get(status, "containerStatuses"), *one;
    const char *last = NULL;
    size_t i;

    json_array_foreach(list, i, one) {
        const char *at = text_at(
            json_object_get(json_object_get(one, "state"), "terminated"),
            "finishedAt");
        last = at != NULL && (last == NULL || strcmp(at, last) > 0) ? at : last;
    }
    return last;
}

/* The texts of `from` that are shown, as copies in `to`. */
static void judge(const struct hb_k8s_facts *from, struct hb_k8s_pod *out)
{
    struct hb_k8s_facts f = *from;
    const char **const texts[] = {
        &f.phase, &f.reason, &f.message, &f.scheduled_reason,
        &f.scheduled_message, &f.disruption_reason, &f.disruption_message,
        &f.container, &f.waiting_reason, &f.waiting_message, &f.ended_reason,
        &f.ended_message, &f.memory_limit};
    enum { N = sizeof(texts) / sizeof(texts[0]) };
    char *copies[N];

    for (size_t i = 0; i < N; i++) {
        copies[i] = shown(*texts[i]);
        *texts[i] = copies[i];
    }
    hb_k8s_judge(&f, out);
    for (size_t i = 0; i < N; i++) {
        free(copies[i]);
    }
}

static int read_pod(const json_t *top, struct hb_k8s_pod *out,
                    struct hpcboot_error *err)
{
    const json_t *meta = json_object_get(top, "metadata");
    const json_t *spec = json_object_get(top, "spec");
    const json_t *status = json_object_get(top, "status");
    struct hb_k8s_facts facts = {0};
    int rc;

    memset(out, 0, sizeof(*out));
    rc = read_name(meta, out, err);
    if (rc >= 0) {
        rc = read_marks(meta, out, err);
    }
    if (rc < 0) {
        hb_k8s_pod_destroy(out);
        return rc;
    }
    read_owner(meta, out);
    out->hostname = host_at(spec, "hostname");
    out->subdomain = host_at(spec, "subdomain");
    out->node = shown(text_at(spec, "nodeName"));
    read_addresses(status, out);
    out->ended = shown(last_end(status));
    facts.phase = text_at(status, "phase");
    facts.reason = text_at(status, "reason");
    facts.message = text_at(status, "message");
    facts.leaving = out->leaving;
    facts.killed = hb_streq(out->marks[HB_K8S_VC_KILLED], "true");
    read_conditions(status, &facts);
    read_containers(status, spec, &facts);
    judge(&facts, out);
    return HPCBOOT_OK;
}

int hb_k8s_read_pod(const char *json, size_t len, struct hb_k8s_pod *out,
                    struct hpcboot_error *err)
{
    json_t *top;
    int rc = load(json, len, &top, err);

    if (rc < 0) {
        memset(out, 0, sizeof(*out));
        return rc;
    }
    rc = read_pod(top, out, err);
    json_decref(top);
    return rc;
}

int hb_k8s_read_head(const char *json, size_t len, struct hb_k8s_head *out,
                     struct hpcboot_error *err)
{
    const json_t *meta;
    const char *more;
    json_t *top;
    int rc = load(json, len, &top, err);

    memset(out, 0, sizeof(*out));
    if (rc < 0) {
        return rc;
    }
    meta = json_object_get(top, "metadata");
    more = text_at(meta, "continue");
    if (!json_is_object(meta) || json_object_get(top, "items") == NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_PARSE, "expected a list, with "
                     "\"metadata\" and \"items\"");
    } else {
        out->version = shown(text_at(meta, "resourceVersion"));
        /* The next request sends it back byte for byte. */
        out->more = more != NULL && more[0] != '\0' ? hb_xstrdup(more) : NULL;
    }
    json_decref(top);
    return rc;
}

void hb_k8s_head_destroy(struct hb_k8s_head *head)
{
    free(head->version);
    free(head->more);
    memset(head, 0, sizeof(*head));
}

static int read_event(const json_t *top, struct hb_k8s_event *out,
                      struct hpcboot_error *err)
{
    static const struct {
        const char *name;
        enum hb_k8s_event_type type;
    } types[] = {
        {"ADDED", HB_K8S_CHANGED}, {"MODIFIED", HB_K8S_CHANGED},
        {"DELETED", HB_K8S_REMOVED}, {"BOOKMARK", HB_K8S_BOOKMARK},
        {"ERROR", HB_K8S_ERROR},
    };
    const char *type = text_at(top, "type");
    const json_t *object = json_object_get(top, "object");
    size_t i = 0, n = sizeof(types) / sizeof(types[0]);

    while (i < n && !hb_streq(type, types[i].name)) {
        i++;
    }
    if (i == n || !json_is_object(object)) {
        return hb_fail(err, HPCBOOT_ERR_PARSE, "expected an event, with a "
                       "known \"type\" and an \"object\"");
    }
    out->type = types[i].type;
    if (out->type == HB_K8S_CHANGED || out->type == HB_K8S_REMOVED) {
        return read_pod(object, &out->pod, err);
    }
    out->version = shown(text_at(json_object_get(object, "metadata"),
                                 "resourceVersion"));
    out->code = (int)json_integer_value(json_object_get(object, "code"));
    out->message = shown(text_at(object, "message"));
    return HPCBOOT_OK;
}

int hb_k8s_read_event(const char *json, size_t len, struct hb_k8s_event *out,
                      struct hpcboot_error *err)
{
    json_t *top;
    int rc = load(json, len, &top, err);

    memset(out, 0, sizeof(*out));
    if (rc < 0) {
        return rc;
    }
    rc = read_event(top, out, err);
    json_decref(top);
    return rc;
}

void hb_k8s_event_destroy(struct hb_k8s_event *event)
{
    hb_k8s_pod_destroy(&event->pod);
    free(event->version);
    free(event->message);
    memset(event, 0, sizeof(*event));
}

char *hb_k8s_read_refusal(const char *json, size_t len)
{
    json_t *top;
    char *message;

    if (load(json, len, &top, NULL) < 0) {
        return NULL;
    }
    message = shown(text_at(top, "message"));
    json_decref(top);
    return message;
}

static int is_one_of(const char *text, const char *const *list)
{
    while (*list != NULL && !hb_streq(text, *list)) {
        list++;
    }
    return *list != NULL;
}

/* The condition that changed last is the one that holds: some controllers
 * leave those that it followed as they were. */
static const json_t *last_condition(const json_t *status)
{
    const json_t *list = json_object_get(status, "conditions"), *one;
    const json_t *last = NULL;
    const char *last_time = "";
    size_t i;

    json_array_foreach(list, i, one) {
        const char *time = text_at(one, "lastTransitionTime");

        time = time != NULL ? time : "";
        if (hb_streq(text_at(one, "status"), "True") &&
            strcmp(time, last_time) >= 0) {
            last = one;
            last_time = time;
        }
    }
    return last;
}

char *hb_k8s_read_group_words(const char *json, size_t len)
{
    static const char *const held[] = {"Unschedulable", "Suspended", "Failed",
                                       NULL};
    static const char *const phases[] = {"Pending", "Inqueue", "Unknown",
                                         "Scheduling", "Failed", NULL};
    const json_t *status, *condition;
    const char *reason, *message, *phase;
    struct hb_str text = HB_STR_INIT;
    char *words = NULL;
    json_t *top;

    if (load(json, len, &top, NULL) < 0) {
        return NULL;
    }
    status = json_object_get(top, "status");
    condition = last_condition(status);
    phase = text_at(status, "phase");
    if (condition != NULL && is_one_of(text_at(condition, "type"), held)) {
        reason = text_at(condition, "reason");
        message = text_at(condition, "message");
        hb_str_put(&text, reason != NULL ? reason
                                         : text_at(condition, "type"));
        hb_str_putf(&text, "%s%s", message != NULL ? ": " : "",
                    message != NULL ? message : "");
    } else if (condition == NULL && is_one_of(phase, phases)) {
        hb_str_putf(&text, "its phase is %s", phase);
    }
    words = text.len > 0 ? shown(hb_str_text(&text)) : NULL;
    hb_str_destroy(&text);
    json_decref(top);
    return words;
}

int hb_k8s_read_spec_number(const char *json, size_t len, const char *field,
                            uint64_t *out)
{
    const json_t *value;
    json_t *top;
    int rc = 0;

    if (load(json, len, &top, NULL) < 0) {
        return 0;
    }
    value = json_object_get(json_object_get(top, "spec"), field);
    if (json_is_integer(value) && json_integer_value(value) > 0) {
        *out = (uint64_t)json_integer_value(value);
        rc = 1;
    }
    json_decref(top);
    return rc;
}
