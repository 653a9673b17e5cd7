/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Requests: a collective or a message under way, behind one handle. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/api/api.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"

#define LOOKS 16 /* about a microsecond */
#define TESTS_A_LOOK 64 /* the clock costs more than a test */

/* One thread alone has nobody to lock out. */
static void lock_list(void)
{
    if (hb_api.threads) {
        pthread_mutex_lock(&hb_api.requests_lock);
    }
}

static void unlock_list(void)
{
    if (hb_api.threads) {
        pthread_mutex_unlock(&hb_api.requests_lock);
    }
}

struct hpcboot_request *hb_api_request_new(struct hpcboot_team *team)
{
    struct hpcboot_request *r = hb_xcalloc(1, sizeof *r);

    r->team = team;
    lock_list();
    r->next = hb_api.requests;
    r->back = &hb_api.requests;
    if (r->next != NULL) {
        r->next->back = &r->next;
    }
    hb_api.requests = r;
    unlock_list();
    atomic_fetch_add_explicit(&team->n_requests, 1, memory_order_relaxed);
    return r;
}

void hb_api_request_destroy(struct hpcboot_request *r)
{
    if (r->coll != NULL && hb_coll_under_way(r->coll)) {
        hb_api_stage_leave(r->stage);
        r->stage = NULL;
    }
    if (r->coll != NULL) {
        hb_coll_req_destroy(r->coll);
    }
    if (r->message != NULL && hb_api_is_in()) {
        hb_api_message_give_up(r->message);
    } else if (r->message != NULL) { /* nobody will receive it */
        hb_xport_cancel(hb_api.xport, r->message);
    }
    hb_api_stage_free(r->stage);
    lock_list();
    *r->back = r->next;
    if (r->next != NULL) {
        r->next->back = r->back;
    }
    unlock_list();
    atomic_fetch_sub_explicit(&r->team->n_requests, 1, memory_order_release);
    free(r);
}

/* They end with the library, which nobody else calls any more. */
void hb_api_requests_close(void)
{
    while (hb_api.requests != NULL) {
        hb_api_request_destroy(hb_api.requests);
    }
}

static int is_active(const struct hpcboot_request *r)
{
    return r != NULL && r->active;
}

/* What a collective has brought goes where the user wants it. */
static int bring(struct hpcboot_request *r, int rc, struct hpcboot_error *err)
{
    int moved = rc > 0 ? hb_api_stage_end(r->stage, SIZE_MAX, err) : 0;

    return moved < 0 ? moved : rc;
}

/* 1 done, 0 under way, negative: its outcome. */
static int look(struct hpcboot_request *r, struct hpcboot_error *err)
{
    int rc;

    if (r->coll != NULL) {
        return bring(r, hb_coll_test(r->coll, err), err);
    }
    rc = hb_api_message_test(r, err);
    if (rc == 0) { /* its sender may wait for our part of a collective */
        (void)hb_coll_progress_requests(hb_api.engine);
    }
    return rc;
}

/* It is over: the handle goes, unless it can be started again. */
static int settle(struct hpcboot_request **request, int rc)
{
    struct hpcboot_request *r = *request;

    r->active = 0;
    r->tests = 0;
    r->tested_ns = 0;
    if (!r->persistent) {
        hb_api_request_destroy(r);
        *request = NULL;
    }
    return rc > 0 ? 0 : rc;
}

int hpcboot_start(struct hpcboot_request *request, struct hpcboot_error *err)
{
    int rc = hb_api_ready("hpcboot_start", err);

    if (rc == 0 && (request == NULL || !request->persistent)) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_start: the request is "
                     "%s (hpcboot_coll_init makes a persistent one)",
                     request == NULL ? "NULL" : "not persistent");
    } else if (rc == 0 && request->active) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_start: the request is "
                     "under way");
    }
    if (rc == 0) {
        rc = hb_api_stage_begin(request->stage, err);
    }
    if (rc == 0) {
        rc = hb_coll_start(request->coll, err);
        request->active = rc == 0;
    }
    return rc;
}

static int check(const char *call, const void *request, const void *out,
                 int timeout_ms, struct hpcboot_error *err)
{
    int rc = hb_api_ready(call, err);

    if (rc == 0 && request == NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "%s: the pointer to the request "
                     "is NULL", call);
    }
    if (rc == 0) {
        rc = hb_api_place(call, "answer", out, err);
    }
    return rc < 0 ? rc : hb_api_timeout(call, timeout_ms, err);
}

/* An array of none may be NULL. */
static int check_array(const char *call, struct hpcboot_request **requests,
                       size_t n, const void *out, int timeout_ms,
                       struct hpcboot_error *err)
{
    return check(call, n > 0 ? (const void *)requests : call, out, timeout_ms,
                 err);
}

/* A rank that tests again and again is told of a deadlock like one that waits:
 * now and then a test looks whether the request can still end. */
static void tested_in_vain(struct hpcboot_request *r)
{
    struct hb_coll_stuck what = {.on = -1, .polled = true};

    hb_coll_vain_look(hb_api.engine);
    if (++r->tests % TESTS_A_LOOK != 0) {
        return;
    }
    hb_api_look_at_node();
    if (r->coll == NULL || hb_api.threads) {
        return;
    }
    if (r->tested_ns == 0) {
        r->tested_ns = hb_now_ns();
    }
    what.since_ns = r->tested_ns;
    (void)hb_api_ask_any(&r, 1, &r->asking, &what, NULL);
}

int hpcboot_test(struct hpcboot_request **request, int *done_out,
                 struct hpcboot_error *err)
{
    int rc = check("hpcboot_test", request, done_out, 0, err);

    if (rc < 0) {
        return rc;
    }
    if (!is_active(*request)) {
        *done_out = 1;
        return 0;
    }
    rc = look(*request, err);
    *done_out = rc != 0;
    if (rc == 0) {
        tested_in_vain(*request);
        return 0;
    }
    hb_coll_look_found();
    return settle(request, rc);
}

struct one {
    struct hpcboot_request *request;
    struct hpcboot_error *err;
};

/* A message mostly comes at once: the pause in between costs more. */
static int one_ready(void *arg)
{
    struct one *o = arg;
    int rc = 0;

    for (int i = 0; rc == 0 && i < LOOKS; i++) {
        rc = look(o->request, o->err);
    }
    return rc;
}

/* What a wait for a message that has not come was for. */
static int message_late(const char *call, const struct hpcboot_request *r,
                        struct hpcboot_error *err)
{
    struct hpcboot_team *t = r->team;
    char peer[128] = "any rank", tag[32] = "any tag";

    if (r->source >= 0) {
        hb_api_who(NULL, t, r->source, peer, sizeof peer);
    }
    if (r->tag >= 0) {
        snprintf(tag, sizeof tag, "tag %d", r->tag);
    }
    return hb_fail(err, HPCBOOT_ERR_TIMED_OUT, "%s: the deadline passed while "
                   "rank %d of a team of %d waited for %s %s, %s", call,
                   t->rank, t->size,
                   r->is_recv ? "a message from" : "its message to be taken by",
                   peer, tag);
}

/* 1, or the outcome; ERR_TIMED_OUT with *under_way: it goes on. */
static int wait_one(const char *call, struct hpcboot_request *r,
                    int64_t deadline_ns, int *under_way,
                    struct hpcboot_error *err)
{
    struct one o = {r, err};
    int rc;

    if (r->coll != NULL) {
        rc = hb_coll_wait(r->coll, deadline_ns, err);
        *under_way = rc < 0 && hb_coll_under_way(r->coll);
        if (rc < 0 && !*under_way) { /* another thread has ended it since */
            rc = hb_coll_wait(r->coll, deadline_ns, err);
        }
        return bring(r, rc == 0 ? 1 : rc, err);
    }
    rc = hb_api_wait_until(
        &(struct hb_api_awaited){
            .kind = r->is_recv ? HB_WAITS_RECV : HB_WAITS_SEND, .message = r},
        one_ready, &o, deadline_ns, err);
    if (rc < 0 && rc != HPCBOOT_ERR_TIMED_OUT && r->message != NULL) {
        hb_api_message_give_up(r->message);
        r->message = NULL;
    }
    *under_way = r->message != NULL;
    return rc == HPCBOOT_ERR_TIMED_OUT && *under_way
               ? message_late(call, r, err) : rc;
}

int hb_api_wait(const char *call, struct hpcboot_request **request,
                int timeout_ms, struct hpcboot_error *err)
{
    int under_way = 0;
    int rc = wait_one(call, *request, hb_api_deadline(timeout_ms), &under_way,
                      err);

    return under_way ? rc : settle(request, rc);
}

int hpcboot_wait(struct hpcboot_request **request, int timeout_ms,
                 struct hpcboot_error *err)
{
    int rc = check("hpcboot_wait", request, request, timeout_ms, err);

    return rc < 0 || !is_active(*request)
               ? rc : hb_api_wait("hpcboot_wait", request, timeout_ms, err);
}

struct some {
    struct hpcboot_request **requests;
    size_t n, index;
    struct hpcboot_error *err;
    int active;
};

static int some_ready(void *arg)
{
    struct some *s = arg;

    for (size_t i = 0; i < s->n; i++) {
        if (is_active(s->requests[i])) {
            int rc = look(s->requests[i], s->err);

            if (rc != 0) {
                s->index = i;
                s->active = 1;
                return rc;
            }
        }
    }
    return 0;
}

/* Whom the first of them waits for. */
static int some_late(const struct some *s, struct hpcboot_error *err)
{
    struct hpcboot_error why = {0};
    size_t first = 0, under_way = 0;

    for (size_t i = s->n; i-- > 0;) {
        if (is_active(s->requests[i])) {
            first = i;
            under_way++;
        }
    }
    if (s->requests[first]->coll != NULL) {
        (void)hb_coll_late(s->requests[first]->coll, &why);
    } else {
        (void)message_late("hpcboot_wait_any", s->requests[first], &why);
    }
    return hb_fail(err, HPCBOOT_ERR_TIMED_OUT, "%.400s (the first of %zu "
                   "requests under way)", why.text, under_way);
}

int hpcboot_wait_any(struct hpcboot_request **requests, size_t n,
                     int timeout_ms, size_t *index_out,
                     struct hpcboot_error *err)
{
    struct some s = {.requests = requests, .n = n, .err = err};
    int rc = check_array("hpcboot_wait_any", requests, n, index_out,
                         timeout_ms, err);
    int any = 0;

    if (rc < 0) {
        return rc;
    }
    for (size_t i = 0; i < n; i++) {
        any |= is_active(requests[i]);
    }
    if (!any) {
        *index_out = (size_t)-1;
        return 0;
    }
    rc = hb_api_wait_until(
        &(struct hb_api_awaited){
            .kind = HB_WAITS_ANY, .any = requests, .n_any = n},
        some_ready, &s, hb_api_deadline(timeout_ms), err);
    if (!s.active) {
        return rc == HPCBOOT_ERR_TIMED_OUT ? some_late(&s, err) : rc;
    }
    *index_out = s.index;
    return settle(&requests[s.index], rc);
}

int hpcboot_wait_all(struct hpcboot_request **requests, size_t n,
                     int timeout_ms, struct hpcboot_error *err)
{
    int64_t deadline_ns = hb_api_deadline(timeout_ms);
    struct hpcboot_error why;
    int first = 0;
    int rc = check_array("hpcboot_wait_all", requests, n, &why, timeout_ms,
                         err);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        int under_way = 0, one = 0;

        if (!is_active(requests[i])) {
            continue;
        }
        one = wait_one("hpcboot_wait_all", requests[i], deadline_ns,
                       &under_way, &why);
        if (!under_way) {
            one = settle(&requests[i], one);
        }
        if (one < 0 && first == 0) {
            first = one;
            if (err != NULL) {
                *err = why;
            }
        }
    }
    return rc < 0 ? rc : first;
}

int hpcboot_request_free(struct hpcboot_request **request,
                         struct hpcboot_error *err)
{
    int rc = check("hpcboot_request_free", request, request, 0, err);

    if (rc < 0 || *request == NULL) {
        return rc;
    }
    if (is_active(*request) && (*request)->coll != NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_request_free: the "
                       "collective is under way; wait for it first");
    }
    hb_api_request_destroy(*request);
    *request = NULL;
    return 0;
}

int hpcboot_progress(struct hpcboot_error *err)
{
    int rc = hb_api_ready("hpcboot_progress", err);

    if (rc == 0) {
        int moved = hb_coll_progress(hb_api.engine) > 0;

        moved |= hb_xport_progress(hb_api.xport) > 0;
        if (!moved) {
            hb_coll_vain_look(hb_api.engine);
        } else if (!hb_api.threads) { /* else it may be another's */
            hb_coll_look_found();
        }
    }
    return rc;
}
