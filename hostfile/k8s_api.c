/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A list of pods that is read from the Kubernetes API and kept up to date.
 *
 *   list, page after page -> complete -> watch -> ends -> watch -> ...
 *     ^                                    |
 *     +--- 410: the version is too old ----+
 *
 * Each page asks for the next by the token that came with it; pods are
 * gathered aside, and take the place of the old ones when the last page is
 * there, so a list is never half new. What a second list does not hold any
 * more is gone; that and every change of a watch is told to the caller.
 *
 * Passing troubles are tried again with growing pauses, or when the server
 * says: 408, 429, 5xx, a connection that cannot be made or is cut. A page token
 * or a version that is too old (410) begins a new list. A token that is refused
 * (401) is read from its file once more, since it may just have been renewed.
 * Who could list has not lost the right at once, nor the server its name: one
 * that has just started knows no Roles yet, and the file of a cluster's new
 * authority comes to the pod a minute later.
 * Anything else is final, and told in words that name what would help. */

#include "config.h"

#include "hostfile/k8s_module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hostfile/k8s_cut.h"
#include "hostfile/k8s_http.h"
#include "hostfile/k8s_json.h"
#include "lib/base/clock.h"

/* As other clients ask: large enough for few pages, small for the server. */
#define PAGE_PODS 500
#define PAGE_TIMEOUT_MS 60000
/* The server ends a watch after so long; a little later we do. */
#define WATCH_S 300
#define WATCH_TIMEOUT_MS ((WATCH_S + 30) * 1000)
/* A watch that ends sooner has not been one: the next one waits. */
#define WATCH_MIN_MS 1000
/* All that one list may be: 200,000 pods of 10 KiB. */
#define MAX_LIST_BYTES (2048ull << 20)
#define MAX_REFUSAL_BYTES (16u << 10)
#define RETRY_FIRST_MS 250
#define RETRY_MAX_MS 30000
#define RETRY_SAID_MAX_MS 300000
/* Refusals in a row of what was granted before: a minute of growing pauses. */
#define REFUSALS_MAX 8
/* After so many lists that expired before their end, pages are not used. */
#define PAGED_LISTS_MAX 3

enum phase { LISTING, WATCHING };

struct hb_k8s {
    struct hb_k8s_login login;
    struct hb_k8s_query query;
    char *labels, *fields;     /* of the query; or NULL */
    char *path, *field;        /* of one object, instead of a list; or NULL */
    char *rule;                /* a list at `path` of other things; or NULL */
    struct hb_k8s_things things;
    struct hb_k8s_object object;
    struct hb_http *http;
    struct hb_k8s_cut cut;
    enum phase phase;
    struct hb_k8s_pods pods;   /* complete */
    struct hb_k8s_pods fresh;  /* of the list that is being read */
    uint64_t list_bytes;
    char *version, *more;
    struct hb_str refusal;     /* the body of an answer that says no */
    int64_t watch_began_ms;
    unsigned tries;            /* in a row that failed */
    unsigned expired;          /* lists in a row that were too slow */
    unsigned refusals;         /* in a row */
    int token_reread, relist, complete, failed, only_metadata;
    struct hpcboot_error error; /* why no more is tried */
    char trouble[HPCBOOT_ERROR_TEXT_MAX];
};

/* What a server has said is nobody's command line: PARSE is not for it. */
static int give_up(struct hb_k8s *k)
{
    if (k->error.code == HPCBOOT_ERR_PARSE) {
        k->error.code = HPCBOOT_ERR_PROTOCOL;
    }
    k->failed = k->error.code < 0 ? k->error.code : HPCBOOT_ERR_INTERNAL;
    return k->failed;
}

static void try_later(struct hb_k8s *k, int64_t said_ms)
{
    int64_t ms = RETRY_FIRST_MS << (k->tries < 8 ? k->tries : 8);

    k->tries++;
    hb_http_alarm(k->http, ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS,
                  said_ms < RETRY_SAID_MAX_MS ? said_ms : RETRY_SAID_MAX_MS);
}

static void told(struct hb_k8s *k, const struct hb_k8s_pod *before,
                 const struct hb_k8s_pod *now)
{
    if (k->complete && k->query.changed != NULL) {
        k->query.changed(k->query.arg, before, now);
    }
}

static int take_thing(struct hb_k8s *k, const char *json, size_t len,
                      struct hpcboot_error *err)
{
    struct hb_k8s_thing thing;
    int rc = hb_k8s_read_thing(json, len, &thing, err);

    return rc < 0 ? rc : hb_k8s_things_append(&k->things, &thing, err);
}

static int take_listed(void *arg, const char *json, size_t len,
                       struct hpcboot_error *err)
{
    struct hb_k8s *k = arg;
    struct hb_k8s_pod pod;
    int rc;

    if (k->rule != NULL) {
        return take_thing(k, json, len, err);
    }
    if (k->path != NULL) {
        hb_k8s_read_spec_number(json, len, k->field, &k->object.number);
        free(k->object.words);
        k->object.words = hb_k8s_read_group_words(json, len);
        return HPCBOOT_OK;
    }
    rc = hb_k8s_read_pod(json, len, &pod, err);
    if (rc < 0) {
        return hb_error_prefix(err, rc, "item %zu", k->fresh.n + 1);
    }
    return hb_k8s_pods_append(&k->fresh, &pod, err);
}

static void set_version(struct hb_k8s *k, const char *version)
{
    if (version != NULL && version[0] != '\0') {
        free(k->version);
        k->version = hb_xstrdup(version);
    }
}

static int take_pod(struct hb_k8s *k, struct hb_k8s_pod *pod, int removed,
                    struct hpcboot_error *err)
{
    struct hb_k8s_pod old;
    const struct hb_k8s_pod *now;
    char *name;
    int rc;

    set_version(k, pod->version);
    if (removed) {
        pod->gone = 1;
        if (pod->state != HB_K8S_EVICTED) {
            pod->state = HB_K8S_DELETED;
        }
    }
    name = hb_xstrdup(pod->name);
    rc = hb_k8s_pods_put(&k->pods, pod, &old, err);
    if (rc >= 0) {
        now = removed ? NULL : hb_k8s_pods_find(&k->pods, name);
        told(k, old.name != NULL && !old.gone ? &old : NULL, now);
        hb_k8s_pod_destroy(&old);
    }
    free(name);
    return rc;
}

static int take_event(void *arg, const char *json, size_t len,
                      struct hpcboot_error *err)
{
    struct hb_k8s *k = arg;
    struct hb_k8s_event event;
    int rc = hb_k8s_read_event(json, len, &event, err);

    if (rc < 0) {
        return hb_error_prefix(err, rc, "a change");
    }
    switch (event.type) {
    case HB_K8S_CHANGED:
    case HB_K8S_REMOVED:
        rc = take_pod(k, &event.pod, event.type == HB_K8S_REMOVED, err);
        break;
    case HB_K8S_BOOKMARK:
        set_version(k, event.version);
        break;
    case HB_K8S_ERROR:
        k->relist = 1;
        snprintf(k->trouble, sizeof(k->trouble), "the watch ended: %d %s",
                 event.code, event.message != NULL ? event.message : "");
        rc = HPCBOOT_ERR_AGAIN;
        break;
    }
    hb_k8s_event_destroy(&event);
    return rc;
}

static int on_data(void *arg, int status, const char *data, size_t len)
{
    struct hb_k8s *k = arg;
    int rc;

    if (status != 200) {
        size_t room = MAX_REFUSAL_BYTES - k->refusal.len;
        hb_str_putn(&k->refusal, data, len < room ? len : room);
        return HPCBOOT_OK;
    }
    k->trouble[0] = '\0';
    k->list_bytes += len;
    if (k->phase == LISTING && k->list_bytes > MAX_LIST_BYTES) {
        return hb_fail(&k->error, HPCBOOT_ERR_LIMIT,
                       "the Kubernetes API's list is larger than 2 GiB");
    }
    rc = hb_k8s_cut_feed(&k->cut, data, len, &k->error);
    if (rc < 0 && !k->relist) {
        hb_error_prefix(&k->error, rc, "the Kubernetes API's answer");
    }
    return rc;
}

static void put_parameter(struct hb_k8s *k, struct hb_str *path,
                          const char *name, const char *value)
{
    if (value != NULL) {
        char *escaped = hb_http_escape(k->http, value);
        hb_str_putf(path, "%s%s=%s",
                    strchr(path->s, '?') != NULL ? "&" : "?", name, escaped);
        free(escaped);
    }
}

static char *path_of(struct hb_k8s *k)
{
    struct hb_str path = HB_STR_INIT;
    char number[24];

    if (k->field != NULL) {
        return hb_xstrdup(k->path);
    }
    if (k->path != NULL) {
        hb_str_put(&path, k->path);
    } else {
        hb_str_putf(&path, "/api/v1/namespaces/%s/pods", k->login.space);
    }
    put_parameter(k, &path, "labelSelector", k->labels);
    put_parameter(k, &path, "fieldSelector", k->fields);
    if (k->phase == WATCHING) {
        snprintf(number, sizeof(number), "%d", WATCH_S);
        put_parameter(k, &path, "watch", "1");
        put_parameter(k, &path, "resourceVersion", k->version);
        put_parameter(k, &path, "allowWatchBookmarks", "true");
        put_parameter(k, &path, "timeoutSeconds", number);
    } else if (k->expired < PAGED_LISTS_MAX) {
        snprintf(number, sizeof(number), "%d", PAGE_PODS);
        put_parameter(k, &path, "limit", number);
        put_parameter(k, &path, "continue", k->more);
    }
    return hb_str_steal(&path);
}

static void request(struct hb_k8s *k)
{
    int streams = k->phase == WATCHING || k->field != NULL;
    char *path = path_of(k);

    hb_k8s_cut_destroy(&k->cut);
    hb_k8s_cut_begin(&k->cut, streams ? HB_K8S_CUT_STREAM : HB_K8S_CUT_LIST,
                     k->phase == WATCHING ? take_event : take_listed, k);
    hb_str_destroy(&k->refusal);
    k->relist = 0;
    k->watch_began_ms = hb_now_ms();
    if (hb_http_get(k->http, path, k->only_metadata,
                    k->phase == WATCHING ? WATCH_TIMEOUT_MS : PAGE_TIMEOUT_MS,
                    &k->error) < 0) {
        give_up(k);
    }
    free(path);
}

static void begin_list(struct hb_k8s *k)
{
    k->phase = LISTING;
    k->list_bytes = 0;
    free(k->more);
    k->more = NULL;
    hb_k8s_pods_destroy(&k->fresh);
    hb_k8s_things_destroy(&k->things);
}

static void end_list(struct hb_k8s *k)
{
    hb_k8s_things_sort(&k->things);
    hb_k8s_pods_sort(&k->fresh);
    hb_k8s_pods_renew(&k->pods, &k->fresh,
                      k->complete ? k->query.changed : NULL, k->query.arg);
    k->complete = 1;
    k->expired = 0;
    if (k->query.watch) {
        k->phase = WATCHING;
        request(k);
    }
}

static void end_page(struct hb_k8s *k)
{
    struct hb_k8s_head head;
    int rc = hb_k8s_cut_end(&k->cut, &k->error);

    if (rc >= 0 && k->field != NULL) {
        k->complete = 1;
        return;
    }
    if (rc >= 0) {
        rc = hb_k8s_read_head(hb_str_text(&k->cut.head), k->cut.head.len,
                              &head, &k->error);
    }
    if (rc < 0) {
        hb_error_prefix(&k->error, rc, "the Kubernetes API's answer");
        give_up(k);
        return;
    }
    set_version(k, head.version);
    free(k->more);
    k->more = head.more;
    head.more = NULL;
    hb_k8s_head_destroy(&head);
    if (k->more != NULL) {
        request(k);
    } else {
        end_list(k);
    }
}

/* The server's own words where it has some. */
static void put_words(const struct hb_k8s *k,
                      const struct hb_http_result *result, char *buffer,
                      size_t size)
{
    char *message = hb_k8s_read_refusal(hb_str_text(&k->refusal),
                                        k->refusal.len);

    snprintf(buffer, size, "%d%s%.240s", result->status,
             message != NULL ? " " : "", message != NULL ? message : "");
    free(message);
}

static void refuse(struct hb_k8s *k, const struct hb_http_result *result)
{
    char words[256];

    put_words(k, result, words, sizeof(words));
    if (result->status == 403) {
        hb_fail(&k->error, HPCBOOT_ERR_AUTH,
                "the Kubernetes API refuses (%s): give this pod's service "
                "account a %s with the rule {%s, verbs: [get, list%s]}", words,
                k->rule != NULL ? "ClusterRole" : "Role",
                k->rule != NULL ? k->rule
                                : "apiGroups: [\"\"], resources: [pods]",
                k->rule != NULL ? "" : ", watch");
        k->error.sys_errno = EACCES;
    } else if (result->status == 401) {
        hb_fail(&k->error, HPCBOOT_ERR_AUTH,
                "the Kubernetes API does not accept the token in %s (%s): it "
                "has expired, as a copy or a subPath of a mounted one does, or "
                "is another cluster's", k->login.token, words);
    } else {
        hb_fail(&k->error, result->status == 404 ? HPCBOOT_ERR_NOT_FOUND
                                                 : HPCBOOT_ERR_PROTOCOL,
                "the Kubernetes API answers %s", words);
    }
    give_up(k);
}

static int is_passing(struct hb_k8s *k, int status)
{
    if ((k->complete || k->query.granted_before) &&
        (status == 0 || status == 401 || status == 403)) {
        return k->refusals++ < REFUSALS_MAX;
    }
    return status == 408 || status == 429 || status == 500 || status == 502 ||
           status == 503 || status == 504;
}

/* Was there a watch, however it ended (what stands between may cut each)? */
static int has_watched(const struct hb_k8s *k,
                       const struct hb_http_result *result)
{
    return k->phase == WATCHING && result->status == 200 &&
           hb_now_ms() - k->watch_began_ms >= WATCH_MIN_MS;
}

static void on_status(struct hb_k8s *k, const struct hb_http_result *result)
{
    if (result->status == 200) {
        k->refusals = 0;
        k->token_reread = 0;
    }
    if (result->status == 200 && k->phase == LISTING) {
        k->tries = 0;
        k->trouble[0] = '\0';
        end_page(k);
    } else if (has_watched(k, result)) {
        k->tries = 0;
        request(k);
    } else if (result->status == 200) {
        try_later(k, 0);
    } else if (result->status == 410) {
        k->expired += k->phase == LISTING;
        begin_list(k);
        try_later(k, result->retry_after_ms);
    } else if (is_passing(k, result->status)) {
        snprintf(k->trouble, sizeof(k->trouble), "it answers ");
        put_words(k, result, k->trouble + strlen(k->trouble),
                  sizeof(k->trouble) - strlen(k->trouble));
        try_later(k, result->retry_after_ms);
    } else if (result->status == 401 && !k->token_reread) {
        k->token_reread = 1;
        request(k);
    } else {
        refuse(k, result);
    }
}

static void on_done(void *arg, const struct hb_http_result *result)
{
    struct hb_k8s *k = arg;
    int is_late = result->outcome == HB_HTTP_UNTRUSTED && is_passing(k, 0);

    switch (is_late ? HB_HTTP_CUT : result->outcome) {
    case HB_HTTP_ANSWERED:
        on_status(k, result);
        break;
    case HB_HTTP_CUT:
        snprintf(k->trouble, sizeof(k->trouble), "%s", result->text);
        if (has_watched(k, result)) {
            k->tries = 0;
        } else if (k->phase == LISTING && k->more == NULL) {
            begin_list(k);
        } else if (k->phase == LISTING) {
            /* What came of this page would come twice; the sort of the
             * table keeps one of each. */
            k->list_bytes = 0;
        }
        try_later(k, 0);
        break;
    case HB_HTTP_UNTRUSTED:
        hb_fail(&k->error, HPCBOOT_ERR_AUTH,
                "%s is not trusted as the Kubernetes API (%s): its "
                "certificate is not one that %s vouches for", k->login.server,
                result->text, k->login.ca);
        give_up(k);
        break;
    case HB_HTTP_STOPPED:
        if (k->relist) {
            begin_list(k);
            try_later(k, 0);
        } else {
            give_up(k);
        }
        break;
    }
}

static void on_alarm(void *arg)
{
    struct hb_k8s *k = arg;

    if (!k->failed) {
        request(k);
    }
}

static void k8s_close(struct hb_k8s *k)
{
    if (k == NULL) {
        return;
    }
    hb_http_destroy(k->http);
    hb_k8s_cut_destroy(&k->cut);
    hb_k8s_pods_destroy(&k->pods);
    hb_k8s_pods_destroy(&k->fresh);
    hb_k8s_things_destroy(&k->things);
    hb_k8s_login_destroy(&k->login);
    hb_str_destroy(&k->refusal);
    free(k->labels);
    free(k->fields);
    free(k->path);
    free(k->field);
    free(k->rule);
    free(k->object.words);
    free(k->version);
    free(k->more);
    free(k);
}

static int start(struct hb_k8s *k, const struct hb_k8s_login *login,
                 struct hb_k8s **out, struct hpcboot_error *err)
{
    const struct hb_http_user user = {
        .data = on_data, .done = on_done, .alarm = on_alarm, .arg = k};
    int rc;

    k->login.server = hb_xstrdup(login->server);
    k->login.ca = hb_xstrdup(login->ca);
    k->login.token = hb_xstrdup(login->token);
    k->login.space = hb_xstrdup(login->space);
    rc = hb_http_create(&k->login, &user, &k->http, err);
    if (rc >= 0) {
        request(k);
        rc = k->failed;
        if (rc < 0 && err != NULL) {
            *err = k->error;
        }
    }
    if (rc < 0) {
        k8s_close(k);
        return rc;
    }
    *out = k;
    return HPCBOOT_OK;
}

static int k8s_open(const struct hb_k8s_login *login,
                    const struct hb_k8s_query *query, struct hb_k8s **out,
                    struct hpcboot_error *err)
{
    struct hb_k8s *k = hb_xcalloc(1, sizeof(*k));

    k->query = *query;
    k->labels = query->labels != NULL ? hb_xstrdup(query->labels) : NULL;
    k->fields = query->fields != NULL ? hb_xstrdup(query->fields) : NULL;
    return start(k, login, out, err);
}

static int k8s_open_path(const struct hb_k8s_login *login,
                         const struct hb_k8s_path *path, struct hb_k8s **out,
                         struct hpcboot_error *err)
{
    struct hb_k8s *k = hb_xcalloc(1, sizeof(*k));

    k->path = hb_xstrdup(path->path);
    k->field = path->field != NULL ? hb_xstrdup(path->field) : NULL;
    k->rule = path->rule != NULL ? hb_xstrdup(path->rule) : NULL;
    k->only_metadata = path->only_metadata;
    return start(k, login, out, err);
}

static int k8s_step(struct hb_k8s *k, struct hpcboot_error *err)
{
    if (!k->failed) {
        hb_http_step(k->http);
    }
    if (k->failed && err != NULL) {
        *err = k->error;
    }
    return k->failed ? k->failed : k->complete;
}

static int k8s_fd(const struct hb_k8s *k)
{
    return hb_http_fd(k->http);
}

static const struct hb_k8s_pods *k8s_pods(const struct hb_k8s *k)
{
    return &k->pods;
}

static const struct hb_k8s_things *k8s_things(const struct hb_k8s *k)
{
    return &k->things;
}

static const char *k8s_trouble(const struct hb_k8s *k)
{
    return k->trouble;
}

static const struct hb_k8s_object *k8s_object(const struct hb_k8s *k)
{
    return &k->object;
}

extern const struct hb_k8s_ops hb_k8s_ops;
const struct hb_k8s_ops hb_k8s_ops = {
    .open = k8s_open, .open_path = k8s_open_path, .close = k8s_close,
    .fd = k8s_fd, .step = k8s_step, .pods = k8s_pods, .things = k8s_things,
    .trouble = k8s_trouble, .object = k8s_object,
};
