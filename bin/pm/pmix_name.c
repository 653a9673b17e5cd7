/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Publish, lookup and unpublish of PMIx on the job's name service. One call
 * may carry many keys; each becomes a question of its own, and the caller is
 * answered when the last of them is. A published value travels as libpmix
 * packs it: the publisher, then the value. What is published for the first who
 * reads it is gone then: Open MPI meets by such names each time that a port is
 * used.
 *
 * A lookup with PMIX_WAIT is answered when all its names are there or its
 * PMIX_TIMEOUT is over. It waits at the service, so that who has come first is
 * served first, until it is given up. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/pm/pmix_impl.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"

#define RESERVED "pmix." /* keys that are directives, not names */

/* A call of a client. */
struct request {
    struct request *next;
    pmix_op_cbfunc_t op;
    pmix_lookup_cbfunc_t lookup;
    void *cbdata;
    size_t n_open; /* questions that are under way */
    int status;    /* the first failure */
    pmix_proc_t by;   /* who calls */
    int wait;         /* it is a lookup that waits */
    int given_up;
    int64_t deadline; /* of a lookup that waits */
    char **keys;      /* of a lookup; owned */
    size_t n_keys;
    pmix_pdata_t *found; /* [n_keys]; an empty key: not found yet */
};

struct question {
    struct question *next;
    uint64_t id;
    struct request *request;
    size_t key; /* index of a lookup's key */
    struct published *published; /* what it publishes, unless that goes by
                                  * itself; owned */
};

/* Remembered for an unpublish without keys: everything that this rank has
 * published, and was not refused, but what goes by itself. */
struct published {
    struct published *next;
    pmix_rank_t rank;
    char *key;
};

struct hb_pmix_names {
    struct request *requests;
    struct question *questions;
    struct published *published;
    size_t n_timed; /* requests with a deadline; they keep the timer going */
    pmix_rank_t *for_one; /* [n_for_one] have published what goes by itself */
    size_t n_for_one;
};

int hb_pmix_names_create(struct hb_pm *pm, struct hpcboot_error *err)
{
    pm->names = hb_xcalloc(1, sizeof(*pm->names));
    return HPCBOOT_OK;
}

static void published_free(struct published *p)
{
    if (p != NULL) {
        free(p->key);
        free(p);
    }
}

static void request_free(struct request *r)
{
    for (size_t i = 0; i < r->n_keys; i++) {
        free(r->keys[i]);
    }
    free(r->keys);
    if (r->found != NULL) {
        PMIX_PDATA_FREE(r->found, r->n_keys);
    }
    free(r);
}

void hb_pmix_names_destroy(struct hb_pm *pm)
{
    struct hb_pmix_names *n = pm->names;

    if (n == NULL) {
        return;
    }
    while (n->requests != NULL) {
        struct request *r = n->requests;

        n->requests = r->next;
        request_free(r);
    }
    while (n->questions != NULL) {
        struct question *q = n->questions;

        n->questions = q->next;
        published_free(q->published);
        free(q);
    }
    while (n->published != NULL) {
        struct published *p = n->published;

        n->published = p->next;
        published_free(p);
    }
    free(n->for_one);
    free(n);
    pm->names = NULL;
}

/* ---- requests ------------------------------------------------------------ */

static struct request *request_new(struct hb_pm *pm,
                                   const struct hb_pmix_event *ev)
{
    struct request *r = hb_xcalloc(1, sizeof(*r));

    r->op = ev->op;
    r->lookup = ev->lookup;
    r->cbdata = ev->cbdata;
    r->by = ev->proc;
    r->deadline = HB_NEVER;
    r->n_open = 1; /* held until all questions are asked */
    r->next = pm->names->requests;
    pm->names->requests = r;
    return r;
}

/* What was found stands first in the answer. */
static size_t gather_found(struct request *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_keys; i++) {
        if (r->found[i].key[0] != '\0') {
            pmix_pdata_t moved = r->found[n];

            r->found[n] = r->found[i];
            r->found[i] = i == n ? r->found[i] : moved;
            n++;
        }
    }
    return n;
}

static void finish(struct hb_pm *pm, struct request *r)
{
    struct request **at = &pm->names->requests;
    pmix_status_t rc = hb_pmix_status(r->status);

    while (*at != r) {
        at = &(*at)->next;
    }
    *at = r->next;
    pm->names->n_timed -= r->deadline != HB_NEVER;
    if (r->lookup == NULL && r->status == HPCBOOT_ERR_USAGE) {
        rc = PMIX_ERR_DUPLICATE_KEY; /* somebody has published the name */
    }
    if (r->lookup != NULL) {
        size_t n = gather_found(r);

        /* libpmix sends data with a success alone, and its clients see by its
         * type what was not found. */
        if (n > 0 && r->status == HPCBOOT_ERR_NOT_FOUND) {
            rc = PMIX_SUCCESS;
        } else if (n == 0 && rc == PMIX_SUCCESS) {
            rc = PMIX_ERR_NOT_FOUND;
        }
        hb_pmix_answer_lookup(r->lookup, rc, r->cbdata, r->found, n,
                              r->n_keys);
        r->found = NULL;
    } else {
        hb_pmix_answer(r->op, rc, r->cbdata);
    }
    request_free(r);
}

static struct question *question_new(struct hb_pm *pm, struct request *r)
{
    struct question *q = hb_xcalloc(1, sizeof(*q));

    q->id = ++pm->last_id;
    q->request = r;
    q->next = pm->names->questions;
    pm->names->questions = q;
    r->n_open++;
    return q;
}

/* The publisher, and where info is not NULL its value. */
static int pack(const pmix_proc_t *proc, pmix_info_t *info,
                pmix_byte_object_t *out)
{
    pmix_data_buffer_t buffer;
    pmix_proc_t copy = *proc;
    pmix_status_t rc;

    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    rc = PMIx_Data_pack(NULL, &buffer, &copy, 1, PMIX_PROC);
    if (rc == PMIX_SUCCESS && info != NULL) {
        rc = PMIx_Data_pack(NULL, &buffer, &info->value, 1, PMIX_VALUE);
    }
    if (rc == PMIX_SUCCESS) {
        rc = PMIx_Data_unload(&buffer, out);
    }
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    return rc == PMIX_SUCCESS ? HPCBOOT_OK : HPCBOOT_ERR_PROTOCOL;
}

static int is_ours(const char *key)
{
    return hb_starts_with(key, HB_PM_NAMES_OURS);
}

static void look_up(struct hb_pm *pm, struct request *r, size_t key)
{
    pmix_byte_object_t by = {NULL, 0};
    struct question *q;

    if (is_ours(r->keys[key])) {
        r->status = HPCBOOT_ERR_NOT_FOUND;
        return;
    }
    q = question_new(pm, r);
    q->key = key;
    (void)pack(&r->by, NULL, &by);
    pm->host.name(pm->arg, q->id, r->wait ? HB_PM_WAIT : HB_PM_LOOKUP,
                  r->keys[key], (struct hb_bytes){by.bytes, by.size});
    PMIX_BYTE_OBJECT_DESTRUCT(&by);
}

/* Each question that still waits is answered now: nothing is found. */
static void give_up(struct hb_pm *pm, struct request *r)
{
    r->given_up = 1;
    for (struct question *q = pm->names->questions; q != NULL; q = q->next) {
        if (q->request == r) {
            pm->host.name(pm->arg, q->id, HB_PM_GIVE_UP, r->keys[q->key],
                          (struct hb_bytes){NULL, 0});
        }
    }
}

/* One question less; the last one decides. */
static void settle(struct hb_pm *pm, struct request *r)
{
    if (--r->n_open > 0) {
        return;
    }
    if (r->given_up && r->status == HPCBOOT_ERR_NOT_FOUND) {
        r->status = HPCBOOT_ERR_TIMED_OUT;
    }
    finish(pm, r);
}

/* ---- publish and unpublish ----------------------------------------------- */

static void forget(struct hb_pm *pm, pmix_rank_t rank, const char *key)
{
    struct published **at = &pm->names->published;

    while (*at != NULL) {
        struct published *p = *at;

        if (p->rank != rank || strcmp(p->key, key) != 0) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        published_free(p);
    }
}

static struct published *published_new(pmix_rank_t rank, const char *key)
{
    struct published *p = hb_xcalloc(1, sizeof(*p));

    p->rank = rank;
    p->key = hb_xstrdup(key);
    return p;
}

/* Takes p, which may be NULL. */
static void remember(struct hb_pm *pm, struct published *p)
{
    if (p != NULL) {
        forget(pm, p->rank, p->key);
        p->next = pm->names->published;
        pm->names->published = p;
    }
}

static int is_for_one(const struct hb_pmix_event *ev)
{
    for (size_t i = 0; i < ev->n_infos; i++) {
        const pmix_info_t *info = &ev->infos[i];

        if (PMIX_CHECK_KEY(info, PMIX_PERSISTENCE) &&
            info->value.type == PMIX_PERSIST) {
            return info->value.data.persist == PMIX_PERSIST_FIRST_READ;
        }
    }
    return 0;
}

static size_t find_for_one(const struct hb_pmix_names *n, pmix_rank_t rank)
{
    size_t i = 0;

    while (i < n->n_for_one && n->for_one[i] != rank) {
        i++;
    }
    return i;
}

static void note_for_one(struct hb_pmix_names *n, pmix_rank_t rank)
{
    if (find_for_one(n, rank) == n->n_for_one) {
        n->for_one = hb_xrealloc(n->for_one,
                                 (n->n_for_one + 1) * sizeof *n->for_one);
        n->for_one[n->n_for_one++] = rank;
    }
}

/* Others may wait at the service for their turn behind it. */
static void tell_gone(struct hb_pm *pm, pmix_rank_t rank)
{
    struct hb_pmix_names *n = pm->names;
    size_t i = find_for_one(n, rank);
    pmix_byte_object_t by = {NULL, 0};
    pmix_proc_t proc;

    if (i == n->n_for_one) {
        return;
    }
    n->for_one[i] = n->for_one[--n->n_for_one];
    PMIX_LOAD_PROCID(&proc, pm->nspace, rank);
    if (pack(&proc, NULL, &by) == 0) {
        pm->host.name(pm->arg, 0, HB_PM_GONE, "",
                      (struct hb_bytes){by.bytes, by.size});
    }
    PMIX_BYTE_OBJECT_DESTRUCT(&by);
}

void hb_pmix_run_publish(struct hb_pm *pm, struct hb_pmix_event *ev)
{
    struct request *r = request_new(pm, ev);
    int for_one = is_for_one(ev);
    struct question *q;

    if (for_one) {
        note_for_one(pm->names, ev->proc.rank);
    }
    for (size_t i = 0; i < ev->n_infos; i++) {
        pmix_byte_object_t packed = {NULL, 0};
        const char *key = ev->infos[i].key;

        if (hb_starts_with(key, RESERVED)) {
            continue;
        }
        if (is_ours(key)) {
            r->status = HPCBOOT_ERR_UNSUPPORTED;
            continue;
        }
        if (pack(&ev->proc, &ev->infos[i], &packed) < 0) {
            r->status = HPCBOOT_ERR_PROTOCOL;
            continue;
        }
        q = question_new(pm, r);
        q->published = for_one ? NULL : published_new(ev->proc.rank, key);
        pm->host.name(pm->arg, q->id, for_one ? HB_PM_PUBLISH_ONCE
                                              : HB_PM_PUBLISH, key,
                      (struct hb_bytes){packed.bytes, packed.size});
        PMIX_BYTE_OBJECT_DESTRUCT(&packed);
    }
    settle(pm, r);
}

/* What others have published stays. */
static void take_back(struct hb_pm *pm, struct request *r,
                      const pmix_proc_t *by, const char *key)
{
    pmix_byte_object_t packed = {NULL, 0};

    if (is_ours(key)) {
        r->status = HPCBOOT_ERR_NOT_FOUND;
        return;
    }
    if (pack(by, NULL, &packed) < 0) {
        r->status = HPCBOOT_ERR_PROTOCOL;
        return;
    }
    pm->host.name(pm->arg, question_new(pm, r)->id, HB_PM_UNPUBLISH_OWN, key,
                  (struct hb_bytes){packed.bytes, packed.size});
    PMIX_BYTE_OBJECT_DESTRUCT(&packed);
}

void hb_pmix_run_unpublish(struct hb_pm *pm, struct hb_pmix_event *ev)
{
    struct request *r = request_new(pm, ev);
    struct published **at = &pm->names->published;

    for (char **k = ev->keys; k != NULL && *k != NULL; k++) {
        forget(pm, ev->proc.rank, *k);
        take_back(pm, r, &ev->proc, *k);
    }
    while (ev->keys == NULL && *at != NULL) {
        struct published *p = *at;

        if (p->rank != ev->proc.rank) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        take_back(pm, r, &ev->proc, p->key);
        published_free(p);
    }
    settle(pm, r);
}

/* ---- lookup -------------------------------------------------------------- */

static void read_directives(struct hb_pm *pm, struct request *r,
                            const struct hb_pmix_event *ev)
{
    int64_t deadline = hb_pmix_deadline(ev);

    for (size_t i = 0; i < ev->n_infos; i++) {
        r->wait |= PMIX_CHECK_KEY(&ev->infos[i], PMIX_WAIT) != 0;
    }
    if (r->wait && deadline != HB_NEVER) {
        r->deadline = deadline;
        pm->names->n_timed++;
        hb_pmix_timer(pm, 1);
    }
}

void hb_pmix_run_lookup(struct hb_pm *pm, struct hb_pmix_event *ev)
{
    struct request *r = request_new(pm, ev);

    while (ev->keys != NULL && ev->keys[r->n_keys] != NULL) {
        r->n_keys++;
    }
    r->keys = ev->keys;
    ev->keys = NULL;
    if (r->n_keys > 0) {
        PMIX_PDATA_CREATE(r->found, r->n_keys);
    }
    read_directives(pm, r, ev);
    for (size_t i = 0; i < r->n_keys; i++) {
        look_up(pm, r, i);
    }
    settle(pm, r);
}

static int unpack(struct hb_bytes value, const char *key, pmix_pdata_t *out)
{
    pmix_byte_object_t packed = {(char *)value.data, value.len};
    pmix_data_buffer_t buffer;
    pmix_status_t rc;
    int32_t one = 1;

    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    rc = PMIx_Data_embed(&buffer, &packed);
    if (rc == PMIX_SUCCESS) {
        rc = PMIx_Data_unpack(NULL, &buffer, &out->proc, &one, PMIX_PROC);
    }
    if (rc == PMIX_SUCCESS) {
        one = 1;
        rc = PMIx_Data_unpack(NULL, &buffer, &out->value, &one, PMIX_VALUE);
    }
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    if (rc != PMIX_SUCCESS) {
        return HPCBOOT_ERR_PROTOCOL;
    }
    PMIX_LOAD_KEY(out->key, key);
    return HPCBOOT_OK;
}

void hb_pmix_name_done(struct hb_pm *pm, uint64_t id, int status,
                       struct hb_bytes value)
{
    struct question **at = &pm->names->questions, *q;
    struct request *r;

    if (hb_pmix_join_name_done(pm, id, status, value)) {
        return;
    }
    while (*at != NULL && (*at)->id != id) {
        at = &(*at)->next;
    }
    q = *at;
    if (q == NULL) {
        return;
    }
    *at = q->next;
    r = q->request;
    if (status == HPCBOOT_OK && r->lookup != NULL) {
        status = unpack(value, r->keys[q->key], &r->found[q->key]);
    }
    if (status < 0 && r->status == HPCBOOT_OK) {
        r->status = status;
    }
    if (status == HPCBOOT_OK) {
        remember(pm, q->published);
    } else {
        published_free(q->published);
    }
    free(q);
    settle(pm, r);
}

void hb_pmix_names_gone(struct hb_pm *pm, uint32_t rank)
{
    for (struct request *r = pm->names->requests; r != NULL; r = r->next) {
        if (r->by.rank == rank && r->wait && !r->given_up) {
            give_up(pm, r);
        }
    }
    tell_gone(pm, rank);
}

void hb_pmix_names_tick(struct hb_pm *pm)
{
    for (struct request *r = pm->names->requests; r != NULL; r = r->next) {
        if (r->wait && !r->given_up && hb_deadline_left_ms(r->deadline) <= 0) {
            give_up(pm, r);
        }
    }
    if (pm->names->n_timed == 0 && !hb_pmix_joins_wait(pm) &&
        !hb_pmix_fences_wait(pm)) {
        hb_pmix_timer(pm, 0);
    }
}
