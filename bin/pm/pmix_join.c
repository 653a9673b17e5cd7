/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* PMIx_Connect, PMIx_Disconnect and fences across jobs: a spawned one and that
 * which has started it. Each job has servers of its own, and all that these
 * have in common is the name service; by it they tell each other what a server
 * must know of another job's ranks. To connect, in each job:
 *
 *  1. each node publishes what its own participants have put (their modex), and
 *     waits for none that has put nothing so far;
 *  2. the participants' nodes fence among themselves, so that 1 is done on all;
 *  3. one of them announces the job: its map;
 *  4. every node awaits the other jobs' announcements, registers those jobs
 *     with libpmix, and answers its clients.
 *
 * To disconnect, and for a fence, 2 to 4 without what is said. Each node that
 * is through says so of what it has awaited, and of how many it is one; that
 * goes with the last of them (bin/job/kept_names.c). What another
 * job's rank has put is looked up when a client asks for it (direct modex).
 *
 * A name that is not there yet is asked for again in intervals. Where the
 * clients set a limit (PMIX_TIMEOUT), all of it ends with that: the questions
 * that are under way are nobody's then. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/pm/pmix_impl.h"
#include "lib/base/clock.h"
#include "lib/base/str.h"

#define MAP_MAX (64u << 20)
/* Up to release 5 libpmix goes on with a limit of a connect when it has called,
 * and takes no second answer. Ours comes before, by a quarter of the limit and
 * at most so much: the loop may be busy, and a tick comes late. */
#define CONNECT_EARLIER_NS 1000000000LL

enum what { MODEX_PUT, MODEX_GET, ANNOUNCED, AWAITED };

/* A question to the name service. */
struct hb_pmix_ask {
    struct hb_pmix_ask *next;
    uint64_t id;
    enum what what;
    int waiting; /* it was not there: asked again by the timer */
    int served;  /* MODEX_PUT: there is something to publish */
    char *name;
    struct hb_pmix_join *join; /* NULL: MODEX_GET, or it is over */
    size_t other;              /* AWAITED: which of its jobs */
    pmix_modex_cbfunc_t modex; /* MODEX_GET */
    void *cbdata;
};

struct other { /* job that takes part */
    pmix_nspace_t nspace;
    uint32_t n_nodes; /* it takes part with; of its announcement */
};

struct hb_pmix_join {
    struct hb_pmix_join *next;
    char *key; /* alike in all jobs: kind, who takes part, which time */
    const char *kind;
    int announces; /* this node does, for its job */
    int fenced;
    uint32_t *nodes, n_nodes;
    struct other *others;
    size_t n_others;
    size_t n_open; /* questions that are under way */
    int status;
    int64_t deadline;
    pmix_op_cbfunc_t op;       /* or, of a fence, */
    pmix_modex_cbfunc_t modex;
    void *cbdata;
};

/* ---- questions ----------------------------------------------------------- */

static void ask_free(struct hb_pmix_ask *a)
{
    free(a->name);
    free(a);
}

static struct hb_pmix_ask *ask_new(struct hb_pm *pm, enum what what,
                                   char *name)
{
    struct hb_pmix_ask *a = hb_xcalloc(1, sizeof(*a));

    a->what = what;
    a->name = name;
    a->id = ++pm->last_id;
    a->next = pm->asks;
    pm->asks = a;
    return a;
}

static void look_up(struct hb_pm *pm, struct hb_pmix_ask *a)
{
    pm->host.name(pm->arg, a->id, HB_PM_LOOKUP, a->name,
                  (struct hb_bytes){NULL, 0});
}

static char *modex_name(const char *nspace, uint32_t rank)
{
    return hb_xasprintf("hpcboot/modex/%s/%u", nspace, rank);
}

static char *announced_name(const struct hb_pmix_join *j, const char *nspace)
{
    return hb_xasprintf("hpcboot/%s/%s/%s", j->kind, j->key, nspace);
}

/* ---- joins --------------------------------------------------------------- */

static void join_free(struct hb_pmix_join *j)
{
    free(j->key);
    free(j->nodes);
    free(j->others);
    free(j);
}

void hb_pmix_joins_destroy(struct hb_pm *pm)
{
    while (pm->asks != NULL) {
        struct hb_pmix_ask *a = pm->asks;

        pm->asks = a->next;
        ask_free(a);
    }
    while (pm->joins != NULL) {
        struct hb_pmix_join *j = pm->joins;

        pm->joins = j->next;
        join_free(j);
    }
    hb_strv_destroy(&pm->known);
}

static void say_read(struct hb_pm *pm, const struct hb_pmix_join *j)
{
    uint32_t n_all = j->n_nodes;
    struct hb_buf readers;

    for (size_t i = 0; i < j->n_others; i++) {
        n_all += j->others[i].n_nodes;
    }
    for (size_t i = 0; i < j->n_others; i++) {
        char *name = announced_name(j, j->others[i].nspace);

        hb_buf_init(&readers, sizeof n_all);
        hb_buf_put_u32(&readers, n_all - j->others[i].n_nodes);
        pm->host.name(pm->arg, ++pm->last_id, HB_PM_UNPUBLISH, name,
                      (struct hb_bytes){readers.data, readers.len});
        hb_buf_destroy(&readers);
        free(name);
    }
}

static void finish(struct hb_pm *pm, struct hb_pmix_join *j)
{
    struct hb_pmix_join **at = &pm->joins;

    if (j->status >= 0) {
        say_read(pm, j);
    }
    while (*at != j) {
        at = &(*at)->next;
    }
    *at = j->next;
    if (j->modex != NULL) {
        j->modex(hb_pmix_status(j->status), NULL, 0, j->cbdata, NULL, NULL);
    } else {
        hb_pmix_answer(j->op, hb_pmix_status(j->status), j->cbdata);
    }
    join_free(j);
}

static void fail(struct hb_pmix_join *j, int status)
{
    j->status = j->status < 0 ? j->status : status;
}

/* Step 3 and 4, once the own fence is over. */
static void announce(struct hb_pm *pm, struct hb_pmix_join *j)
{
    struct hb_pmix_ask *a;
    struct hb_buf map;

    hb_buf_init(&map, MAP_MAX);
    hb_buf_put_u32(&map, j->n_nodes);
    if (strcmp(j->kind, HB_PMIX_CONNECT) == 0) {
        hb_jobmap_encode(pm->job->map, &map);
    }
    a = ask_new(pm, ANNOUNCED, announced_name(j, pm->nspace));
    a->join = j;
    j->n_open++;
    pm->host.name(pm->arg, a->id, HB_PM_PUBLISH, a->name,
                  (struct hb_bytes){map.data, map.len});
    hb_buf_destroy(&map);
}

static void await_others(struct hb_pm *pm, struct hb_pmix_join *j)
{
    j->n_open++; /* held until all are asked */
    if (j->announces && j->n_others > 0) {
        announce(pm, j);
    }
    for (size_t i = 0; i < j->n_others; i++) {
        struct hb_pmix_ask *a = ask_new(
            pm, AWAITED, announced_name(j, j->others[i].nspace));

        a->join = j;
        a->other = i;
        j->n_open++;
        look_up(pm, a);
    }
    j->n_open--;
}

static char *fence_key(const struct hb_pmix_join *j)
{
    return hb_xasprintf("pmix-%s-jobs/%s", j->kind, j->key);
}

/* One question less; the last one of a step leads to the next. */
static void settle(struct hb_pm *pm, struct hb_pmix_join *j)
{
    char *key;

    if (--j->n_open > 0) {
        return;
    }
    if (j->fenced || j->status < 0) {
        finish(pm, j);
        return;
    }
    key = fence_key(j);
    pm->host.fence(pm->arg, (struct hb_bytes){key, strlen(key)}, j->nodes,
                   j->n_nodes, (struct hb_bytes){NULL, 0});
    free(key);
}

int hb_pmix_join_fenced(struct hb_pm *pm, struct hb_bytes key, int status)
{
    struct hb_pmix_join *j = pm->joins;

    for (; j != NULL; j = j->next) {
        char *ours = fence_key(j);
        int same = strlen(ours) == key.len &&
                   memcmp(ours, key.data, key.len) == 0;

        free(ours);
        if (same) {
            break;
        }
    }
    if (j == NULL) {
        return 0;
    }
    j->fenced = 1;
    j->n_open = 1;
    if (status < 0) {
        fail(j, status);
    } else {
        await_others(pm, j);
    }
    settle(pm, j);
    return 1;
}

/* ---- step 1 -------------------------------------------------------------- */

/* What a local rank has put; `arg` is the question. */
static void modex_served(void *arg, uint64_t id, int status,
                         struct hb_bytes data)
{
    struct hb_pm *pm = arg;
    struct hb_pmix_ask *a = pm->asks;

    while (a != NULL && a->id != id) {
        a = a->next;
    }
    if (a != NULL) {
        a->served = 1;
        pm->host.name(pm->arg, id, HB_PM_PUBLISH, a->name,
                      status == HPCBOOT_OK ? data
                                           : (struct hb_bytes){NULL, 0});
    }
}

static void publish_modex(struct hb_pm *pm, struct hb_pmix_join *j,
                          uint32_t rank)
{
    struct hb_pmix_ask *a = ask_new(pm, MODEX_PUT,
                                    modex_name(pm->nspace, rank));

    a->join = j;
    j->n_open++;
    hb_pmix_modex_serve(pm, a->id, rank, modex_served, pm);
}

/* What ranks put that had nothing when they connected is published when they
 * do; nobody waits for it. */
static void run_put_over(struct hb_pm *pm, struct hb_pmix_event *ev)
{
    for (struct hb_pmix_ask *a = pm->asks; a != NULL; a = a->next) {
        struct hb_pmix_join *j = a->join;

        if (a->what == MODEX_PUT && !a->served && a->id <= ev->id &&
            j != NULL) {
            a->join = NULL;
            settle(pm, j);
        }
    }
}

static void put_over(pmix_status_t rc, void *event)
{
    hb_pmix_post(event);
}

/* libpmix keeps a question after a rank's data until there is some, and does
 * not say that it does. It takes one thing after the other: once it has
 * answered a call that changes nothing, it has answered what it can of those
 * before. */
static void put_so_far(struct hb_pm *pm)
{
    struct hb_pmix_event *ev = hb_xcalloc(1, sizeof(*ev));
    pmix_proc_t nobody;

    ev->run = run_put_over;
    ev->id = pm->last_id;
    PMIX_LOAD_PROCID(&nobody, "nobody", 0);
    PMIx_server_deregister_client(&nobody, put_over, ev);
}

/* ---- who takes part ------------------------------------------------------ */

static void add_other(struct hb_pmix_join *j, const char *nspace)
{
    for (size_t i = 0; i < j->n_others; i++) {
        if (PMIX_CHECK_NSPACE(j->others[i].nspace, nspace)) {
            return;
        }
    }
    j->others = hb_xrealloc(j->others, (j->n_others + 1) * sizeof *j->others);
    PMIX_LOAD_NSPACE(j->others[j->n_others].nspace, nspace);
    j->n_others++;
}

static int64_t deadline_of(struct hb_pm *pm, const struct hb_pmix_event *ev)
{
    int64_t deadline = hb_pmix_deadline(ev), quarter;

    if (deadline == HB_NEVER) {
        return deadline;
    }
    hb_pmix_timer(pm, 1);
    if (strcmp(ev->word, HB_PMIX_CONNECT) != 0) {
        return deadline;
    }
    quarter = (deadline - ev->since_ns) / 4;
    return deadline
           - (quarter < CONNECT_EARLIER_NS ? quarter : CONNECT_EARLIER_NS);
}

static struct hb_pmix_join *join_new(struct hb_pm *pm,
                                     struct hb_pmix_event *ev)
{
    struct hb_pmix_join *j = hb_xcalloc(1, sizeof(*j));
    char *all = hb_pmix_name_of_all(ev), *set;

    j->kind = ev->word;
    set = hb_xasprintf("%s/%s", j->kind, all);
    j->key = hb_xasprintf("%s/%u", all, hb_pmix_next_round(pm, set));
    free(set);
    free(all);
    for (size_t i = 0; i < ev->n_procs; i++) {
        if (!PMIX_CHECK_NSPACE(ev->procs[i].nspace, pm->nspace)) {
            add_other(j, ev->procs[i].nspace);
        }
    }
    j->deadline = deadline_of(pm, ev);
    j->op = ev->op;
    j->modex = ev->modex;
    j->cbdata = ev->cbdata;
    j->n_open = 1; /* held until all is asked */
    j->next = pm->joins;
    pm->joins = j;
    return j;
}

void hb_pmix_run_join(struct hb_pm *pm, struct hb_pmix_event *ev,
                      const uint32_t *ranks, uint32_t n, int all)
{
    const struct hb_jobmap *map = pm->job->map;
    struct hb_pmix_join *j = join_new(pm, ev);
    int connects = strcmp(j->kind, HB_PMIX_CONNECT) == 0;

    j->n_nodes = hb_pmix_nodes_of(pm, ranks, n, all, &j->nodes);
    j->announces = j->n_nodes > 0 && j->nodes[0] == pm->job->node;
    for (uint32_t i = 0; connects && i < (all ? map->n_ranks : n); i++) {
        uint32_t rank = all ? i : ranks[i];

        if (map->node_of_rank[rank] == pm->job->node) {
            publish_modex(pm, j, rank);
        }
    }
    if (connects) {
        put_so_far(pm);
    }
    settle(pm, j);
}

/* ---- another job's rank -------------------------------------------------- */

void hb_pmix_foreign_modex(struct hb_pm *pm, const struct hb_pmix_event *ev)
{
    struct hb_pmix_ask *a = ask_new(pm, MODEX_GET,
                                    modex_name(ev->proc.nspace,
                                               ev->proc.rank));

    a->modex = ev->modex;
    a->cbdata = ev->cbdata;
    look_up(pm, a);
}

/* ---- answers ------------------------------------------------------------- */

static void release(void *data)
{
    free(data);
}

static void modex_came(const struct hb_pmix_ask *a, int status,
                       struct hb_bytes value)
{
    char *copy = NULL;

    if (status == HPCBOOT_OK && value.len > 0) {
        copy = hb_xmalloc(value.len);
        memcpy(copy, value.data, value.len);
    }
    a->modex(hb_pmix_status(status), copy, copy != NULL ? value.len : 0,
             a->cbdata, copy != NULL ? release : NULL, copy);
}

static int register_other(struct hb_pm *pm, const struct hb_pmix_join *j,
                          size_t which, struct hb_bytes value)
{
    struct other *o = &j->others[which];
    const char *nspace = o->nspace;
    struct hb_jobmap *map = NULL;
    struct hpcboot_error err;
    struct hb_buf view;
    int rc;

    hb_buf_view(&view, value.data, value.len);
    o->n_nodes = hb_buf_get_u32(&view);
    if (hb_buf_failed(&view)) {
        return HPCBOOT_ERR_PROTOCOL;
    }
    if (strcmp(j->kind, HB_PMIX_CONNECT) != 0) {
        return HPCBOOT_OK;
    }
    for (size_t i = 0; i < pm->known.n; i++) {
        if (strcmp(pm->known.v[i], nspace) == 0) {
            return HPCBOOT_OK;
        }
    }
    rc = hb_jobmap_decode(&map, &view, &err);
    if (rc == 0) {
        rc = hb_pmix_register_other(pm, nspace, map);
    }
    if (rc == 0) {
        hb_strv_push(&pm->known, nspace);
    }
    hb_jobmap_destroy(map);
    return rc;
}

/* 1: it is asked again later. */
static int is_early(struct hb_pm *pm, struct hb_pmix_ask *a, int status)
{
    if (a->what != AWAITED || status != HPCBOOT_ERR_NOT_FOUND ||
        a->join == NULL || hb_deadline_left_ms(a->join->deadline) <= 0) {
        return 0;
    }
    a->waiting = 1;
    hb_pmix_timer(pm, 1);
    return 1;
}

static void take_answer(struct hb_pm *pm, struct hb_pmix_ask *a, int status,
                        struct hb_bytes value)
{
    struct hb_pmix_join *j = a->join;

    if (a->what == MODEX_GET) {
        modex_came(a, status, value);
    }
    if (j == NULL) {
        return;
    }
    switch (a->what) {
    case AWAITED:
        if (status == HPCBOOT_ERR_NOT_FOUND) {
            status = HPCBOOT_ERR_TIMED_OUT;
        }
        fail(j, status < 0 ? status
                           : register_other(pm, j, a->other, value));
        break;
    case ANNOUNCED:
        fail(j, status);
        break;
    case MODEX_PUT: /* it may have been published before */
    case MODEX_GET:
        break;
    }
    settle(pm, j);
}

int hb_pmix_join_name_done(struct hb_pm *pm, uint64_t id, int status,
                           struct hb_bytes value)
{
    struct hb_pmix_ask **at = &pm->asks, *a;

    while (*at != NULL && (*at)->id != id) {
        at = &(*at)->next;
    }
    a = *at;
    if (a == NULL) {
        return 0;
    }
    if (!is_early(pm, a, status)) {
        *at = a->next;
        take_answer(pm, a, status, value);
        ask_free(a);
    }
    return 1;
}

int hb_pmix_joins_wait(const struct hb_pm *pm)
{
    const struct hb_pmix_ask *a = pm->asks;
    const struct hb_pmix_join *j = pm->joins;

    while (a != NULL && !a->waiting) {
        a = a->next;
    }
    while (j != NULL && j->deadline == HB_NEVER) {
        j = j->next;
    }
    return a != NULL || j != NULL;
}

/* What waits to be asked again is forgotten; the others are answered yet. */
static void give_up(struct hb_pm *pm, struct hb_pmix_join *j)
{
    struct hb_pmix_ask **at = &pm->asks;

    while (*at != NULL) {
        struct hb_pmix_ask *a = *at;

        if (a->join == j) {
            a->join = NULL;
        }
        if (a->join == NULL && a->waiting) {
            *at = a->next;
            ask_free(a);
        } else {
            at = &a->next;
        }
    }
    fail(j, HPCBOOT_ERR_TIMED_OUT);
    finish(pm, j);
}

void hb_pmix_joins_tick(struct hb_pm *pm)
{
    struct hb_pmix_join *j = pm->joins, *next;

    for (; j != NULL; j = next) {
        next = j->next;
        if (hb_deadline_left_ms(j->deadline) == 0) {
            give_up(pm, j);
        }
    }
    for (struct hb_pmix_ask *a = pm->asks; a != NULL; a = a->next) {
        if (a->waiting) {
            a->waiting = 0;
            look_up(pm, a); /* the answer comes later, from the loop */
        }
    }
}
