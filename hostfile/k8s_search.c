/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Lists the pods of a gang and watches them: until the gang is there, or for
 * as long as somebody wants to know how it changes.
 *
 * Pods are created one after the other, and get addresses later. Where the
 * size of the gang is known (HPCBOOT_GANG_SIZE, its pod group, its Job, a
 * mark) so many are waited for; else until no pod is new, and as many are
 * there as the request needs. A pod that is leaving is often replaced when it
 * is gone, so that is waited for, too; not for long, since the pod of a node
 * that is cut off leaves for ever. A host that cannot be named yet cannot be
 * waited for by anybody else. Who can begin with a part
 * (hb_gang_request.enough_hosts) waits only while anything moves.
 *
 * Who follows a gang gets it whole each time. Changes come in bursts, as when
 * a set of pods is scheduled: they are told together. */

#include "config.h"

#include "hostfile/k8s_search.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "hostfile/indexed.h"
#include "hostfile/k8s_pod.h"
#include "hostfile/source.h"
#include "lib/base/clock.h"

/* A gang of unknown size is complete when its newest pod is so old, or when
 * no pod was new for so long. */
#define SETTLED_AGE_S 30
#define SETTLED_QUIET_MS 3000
/* A pod has half a minute to leave, unless its spec says otherwise. */
#define LEAVING_MS 35000
/* What keeps a gang back is asked in passing. Who waits longer for an answer
 * hears of it. */
#define BRIEF_MS 2000
#define LOOK_MS 500 /* at the clock, and whether it is to stop */
#define PROGRESS_MS 5000
#define FIRST_PROGRESS_MS 1000
/* Changes are told when no other came for so long, or after so long. */
#define BURST_QUIET_MS 200
#define BURST_MAX_MS 2000
/* How long pods are awaited without which it would do, too. */
#define WISHED_MS 60000
/* How long the first list of a gang that is followed may take. */
#define LIST_MS 30000
/* So many pods are named in a message, then a count. */
#define NAMED_MAX 3

void hb_k8s_search_end(struct hb_k8s_search *s)
{
    hb_k8s_close(s->self);
    hb_k8s_close(s->list);
    hb_k8s_login_destroy(&s->login);
    free(s->selector);
    free(s->group_path);
    free(s->told);
}

static void on_change(void *arg, const struct hb_k8s_pod *before,
                      const struct hb_k8s_pod *now)
{
    struct hb_k8s_search *s = arg;

    s->is_changed = 1;
    s->changed_ms = hb_now_ms();
    if (before == NULL || now == NULL) {
        s->new_ms = s->changed_ms;
    }
    s->has_gone |= now == NULL;
}

/* The request needs no more of them, and none of them moves. */
static int is_enough(const struct hb_k8s_search *s,
                     const struct hb_k8s_members *m)
{
    return s->req->enough_hosts > 0 && m->n_named >= s->req->enough_hosts &&
           hb_now_ms() - s->changed_ms >= SETTLED_QUIET_MS;
}

/* For what the request can do without nobody waits longer than this. */
static int has_time(const struct hb_k8s_search *s, int64_t ms)
{
    return hb_now_ms() - s->listed_ms < ms &&
           hb_deadline_left_ms(s->deadline_ns) > 0;
}

/* With fewer the request can do nothing, or not well. */
static uint32_t least(const struct hb_k8s_search *s,
                      const struct hb_k8s_members *m)
{
    const struct hb_gang_request *req = s->req;
    uint32_t first = req->awaits_first != 0;
    uint32_t n = req->min_hosts > req->needed_hosts ? req->min_hosts
                                                    : req->needed_hosts;

    n = req->wished_hosts > n && has_time(s, WISHED_MS) ? req->wished_hosts : n;
    return (m->n > 0 || first) && n > 0 ? n : first;
}

/* A cluster's own number counts those that have prepared something; the user's
 * is of those that are meant. */
static uint64_t n_there(const struct hb_k8s_search *s,
                        const struct hb_k8s_members *m)
{
    return m->n_all + (s->is_stated ? 0 : m->n_prepared);
}

static int awaits_leaving(const struct hb_k8s_search *s,
                          const struct hb_k8s_members *m)
{
    return s->expected == 0 && m->n_leaving > 0 && has_time(s, LEAVING_MS);
}

/* Of a gang of unknown size: nothing says that there will be more. */
static int is_quiet(const struct hb_k8s_search *s,
                    const struct hb_k8s_members *m)
{
    if (awaits_leaving(s, m)) {
        return 0;
    }
    if (hb_now_ms() - s->new_ms >= SETTLED_QUIET_MS) {
        return 1;
    }
    for (size_t i = 0; i < m->n; i++) {
        if (hb_k8s_age_s(m->v[i]->created) < SETTLED_AGE_S) {
            return 0;
        }
    }
    return !s->has_gone || !has_time(s, INT64_MAX);
}

static int is_settled(const struct hb_k8s_search *s,
                      const struct hb_k8s_members *m)
{
    if (is_enough(s, m)) {
        return 1;
    }
    if (m->n_named < m->n || m->n < least(s, m)) {
        return 0;
    }
    if (s->expected > 0) {
        return n_there(s, m) >= s->expected;
    }
    return s->req->wait_ms == 0 || is_quiet(s, m);
}

/* What the group says of itself, where it can be asked. */
static void put_group(const struct hb_k8s_search *s, struct hb_str *text)
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
static char *missing_text(const struct hb_k8s_search *s,
                          const struct hb_k8s_members *m)
{
    struct hb_str text = HB_STR_INIT;
    size_t unnamed = 0;

    hb_str_putf(&text, "%s%s", s->lacking, s->lacking[0] != '\0' ? "; " : "");
    if (s->expected > 0 && n_there(s, m) < s->expected) {
        hb_str_putf(&text, "%llu of %llu pods are there",
                    (unsigned long long)n_there(s, m),
                    (unsigned long long)s->expected);
    } else if (m->n == 0 && least(s, m) > 0) {
        hb_str_putf(&text, "no pod %s %s is there",
                    s->choice.group != NULL ? "of pod group" : "with",
                    s->choice.group != NULL ? s->choice.group : s->selector);
    } else if (m->n < least(s, m)) {
        hb_str_putf(&text, "%zu of at least %u pods are there", m->n,
                    least(s, m));
    } else if (m->n_named == m->n && awaits_leaving(s, m)) {
        hb_str_putf(&text, "%zu of %zu pods are there", m->n,
                    m->n + m->n_leaving);
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

static void tell(struct hb_k8s_search *s, const struct hb_k8s_members *m)
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

static void tell_silent(struct hb_k8s_search *s, const struct hb_k8s *k)
{
    const char *trouble = hb_k8s_trouble(k);
    char *text = hb_xasprintf("the Kubernetes API has not answered yet%s%s",
                              trouble[0] != '\0' ? ": " : "", trouble);

    if (!hb_streq(text, s->told)) {
        s->req->progress(s->req->progress_arg, text);
    }
    free(s->told);
    s->told = text;
}

static int is_over(const struct hb_k8s_search *s, int64_t deadline_ns)
{
    return hb_deadline_left_ms(deadline_ns) == 0 ||
           (s->req->stop != NULL && s->req->stop() != 0);
}

static int await_until(struct hb_k8s_search *s, struct hb_k8s *k,
                       int64_t deadline_ns, struct hpcboot_error *err)
{
    int rc;

    do {
        int64_t look_ns = hb_deadline_in_ms(LOOK_MS);

        rc = hb_k8s_wait(k, look_ns < deadline_ns ? look_ns : deadline_ns,
                         err);
    } while (rc == HPCBOOT_ERR_TIMED_OUT && !is_over(s, deadline_ns));
    return rc;
}

int hb_k8s_search_await(struct hb_k8s_search *s, struct hb_k8s *k,
                        struct hpcboot_error *err)
{
    int64_t brief_ns = hb_deadline_in_ms(BRIEF_MS);
    int rc = HPCBOOT_ERR_TIMED_OUT;

    if (s->req->progress != NULL && brief_ns < s->deadline_ns) {
        rc = await_until(s, k, brief_ns, err);
        if (rc == HPCBOOT_ERR_TIMED_OUT) {
            tell_silent(s, k);
        }
    }
    return rc == HPCBOOT_ERR_TIMED_OUT ? await_until(s, k, s->deadline_ns, err)
                                       : rc;
}

/* Until something arrives, or it is time to look at the clock again. */
static void rest(const struct hb_k8s_search *s)
{
    struct pollfd p = {.fd = hb_k8s_fd(s->list), .events = POLLIN};
    int64_t left = hb_deadline_left_ms(s->deadline_ns);

    poll(&p, 1, left < LOOK_MS ? (int)left : LOOK_MS);
}

/* The members. Where a task that was named has no pods these may come, as long
 * as any are awaited: then *out is what is there without it. */
static int choose(struct hb_k8s_search *s, struct hb_k8s_members *out,
                  struct hpcboot_error *err)
{
    struct hb_k8s_choice any = s->choice;
    struct hpcboot_error why;
    int rc = hb_k8s_choose(hb_k8s_pods(s->list), &s->choice, out, &why);

    s->lacking[0] = '\0';
    any.tasks = NULL;
    if (rc == HPCBOOT_ERR_NOT_FOUND && s->req->wait_ms > 0 &&
        hb_k8s_choose(hb_k8s_pods(s->list), &any, out, NULL) >= 0) {
        if (!is_settled(s, out)) {
            memcpy(s->lacking, why.text, sizeof(why.text));
            return HPCBOOT_OK;
        }
        hb_k8s_members_destroy(out);
    }
    return rc < 0 ? hb_fail(err, rc, "%s", why.text) : rc;
}

static int is_whole(const struct hb_k8s_search *s,
                    const struct hb_k8s_members *m)
{
    return s->lacking[0] == '\0' && is_settled(s, m);
}

/* Lists, and watches until the gang is there or time is up; the members are
 * then in *out all the same, and rc is ERR_TIMED_OUT. */
static int await(struct hb_k8s_search *s, int64_t wait_ms,
                  struct hb_k8s_members *out, struct hpcboot_error *err)
{
    const struct hb_k8s_query query = {
        .labels = s->selector, .watch = wait_ms > 0,
        .granted_before = s->granted_before, .changed = on_change, .arg = s};
    int rc = hb_k8s_open(&s->login, &query, &s->list, err);

    if (rc >= 0) {
        rc = hb_k8s_search_await(s, s->list, err);
    }
    s->is_listed = rc >= 0;
    s->listed_ms = s->new_ms = s->changed_ms = hb_now_ms();
    s->told_ms = s->changed_ms - PROGRESS_MS + FIRST_PROGRESS_MS;
    s->deadline_ns = hb_deadline_in_ms(wait_ms);
    while (rc >= 0) {
        rc = choose(s, out, err);
        if (rc < 0 || is_whole(s, out)) {
            return rc;
        }
        tell(s, out);
        if (is_over(s, s->deadline_ns)) {
            return is_whole(s, out) ? HPCBOOT_OK : HPCBOOT_ERR_TIMED_OUT;
        }
        hb_k8s_members_destroy(out);
        rest(s);
        rc = hb_k8s_step(s->list, err);
    }
    return rc;
}

static int is_own(const struct hb_k8s_search *s, const struct hb_k8s_pod *pod)
{
    return s->choice.own != NULL && hb_streq(s->choice.own->uid, pod->uid);
}

static int take_hosts(const struct hb_k8s_search *s,
                      const struct hb_k8s_members *m, struct hb_gang *out,
                      struct hpcboot_error *err)
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

/* Pods on the network of one node have its address, and pods whose template
 * sets a host name have that one. */
static void note_shared(const struct hb_k8s_members *m, struct hb_gang *out)
{
    uint32_t *pods = hb_xcalloc(out->n + 1, sizeof(*pods)), host = 0;

    for (size_t i = 0; i < out->n_mentions; i++) {
        pods[out->mentions[i].host]++;
    }
    while (host < out->n && pods[host] < 2) {
        host++;
    }
    if (host < out->n) {
        hb_gang_note(out, "Kubernetes: %zu of %zu pods have the name or "
                     "address of another one (%u are %s), of which only one "
                     "can be reached: they are on the network of one node, or "
                     "their template sets a host name", m->n_named - out->n,
                     m->n_named, pods[host], out->hosts[host].name);
    }
    free(pods);
}

static void describe(const struct hb_k8s_search *s,
                     const struct hb_k8s_members *m, int rc,
                     struct hb_gang *out)
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
    out->expected = s->is_stated ? 0 : s->expected;
    if (rc == HPCBOOT_ERR_TIMED_OUT || m->n_named < m->n) {
        char *missing = missing_text(s, m);
        hb_gang_note(out, "Kubernetes: %s; only those that are there are used",
                     missing);
        free(missing);
    } else if (m->lost.len > 0) {
        hb_gang_note(out, "Kubernetes: not used are %s", m->lost.s);
    }
    free(where);
}

/* A gang may have more pods than its scheduler holds back for each other. */
static int needs_no_more(const struct hb_k8s_search *s,
                         const struct hb_k8s_members *m)
{
    return s->expected > 0 && !s->is_stated && s->req->min_hosts == 0 &&
           s->lacking[0] == '\0' && m->n_named >= s->expected;
}

/* Members that did not come in time are an error where they were waited for,
 * unless so few will do; where nobody waits, those are taken that are there. */
static int finish(struct hb_k8s_search *s, int64_t wait_ms, int rc,
                  struct hb_k8s_members *m, struct hb_gang *out,
                  char **reason_out, struct hpcboot_error *err)
{
    int enough = s->req->min_hosts > 0 && s->lacking[0] == '\0' &&
                 m->n_named >= s->req->min_hosts;
    char *missing;

    if (rc == HPCBOOT_ERR_TIMED_OUT && wait_ms > 0 && !enough) {
        missing = missing_text(s, m);
        rc = hb_fail(err, HPCBOOT_ERR_TIMED_OUT, "Kubernetes: %s%s", missing,
                     needs_no_more(s, m)
                         ? "; the gang's least number is there: --min-hosts "
                           "begins without the others" : "");
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
    note_shared(m, out);
    return 1;
}

int hb_k8s_search_gather(struct hb_k8s_search *s, struct hb_gang *out,
                         char **reason_out, struct hpcboot_error *err)
{
    struct hb_k8s_members m = {0};
    int rc = await(s, s->req->wait_ms, &m, err);

    if (rc >= 0 || (rc == HPCBOOT_ERR_TIMED_OUT && m.v != NULL)) {
        rc = finish(s, s->req->wait_ms, rc, &m, out, reason_out, err);
    }
    hb_k8s_members_destroy(&m);
    return rc;
}

/* A list without any host says nothing that could be told as a gang. */
static void tell_gang(struct hb_k8s_search *s, hb_gang_changed changed,
                      void *arg)
{
    struct hb_k8s_members m = {0};
    struct hb_gang gang = {0};

    s->is_changed = 0;
    if (hb_k8s_choose(hb_k8s_pods(s->list), &s->choice, &m, NULL) >= 0 &&
        m.n_named > 0 && take_hosts(s, &m, &gang, NULL) >= 0) {
        changed(arg, &gang);
    }
    hb_gang_destroy(&gang);
    hb_k8s_members_destroy(&m);
}

/* Until a burst of changes is over; negative: the API is of no more use. */
static int await_change(struct hb_k8s_search *s, struct hpcboot_error *err)
{
    struct pollfd p = {.fd = hb_k8s_fd(s->list), .events = POLLIN};
    int64_t first_ms = 0;
    int rc = 0;

    while (rc >= 0) {
        int64_t now_ms = hb_now_ms();

        first_ms = s->is_changed && first_ms == 0 ? now_ms : first_ms;
        if (s->is_changed && (now_ms - s->changed_ms >= BURST_QUIET_MS ||
                              now_ms - first_ms >= BURST_MAX_MS)) {
            return 0;
        }
        poll(&p, 1, s->is_changed ? BURST_QUIET_MS : -1);
        rc = hb_k8s_step(s->list, err);
    }
    return rc;
}

int hb_k8s_search_follow(struct hb_k8s_search *s, hb_gang_changed changed,
                         void *arg, struct hpcboot_error *err)
{
    const struct hb_k8s_query query = {
        .labels = s->selector, .watch = 1, .changed = on_change, .arg = s};
    int rc = hb_k8s_open(&s->login, &query, &s->list, err);

    if (rc >= 0) {
        rc = hb_k8s_wait(s->list, hb_deadline_in_ms(LIST_MS), err);
    }
    while (rc >= 0) {
        tell_gang(s, changed, arg);
        rc = await_change(s, err);
    }
    return rc;
}
