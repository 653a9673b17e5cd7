/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Collectives of PMIx carried by the job's fences. libpmix calls when all
 * local participants have joined; participants may be any set of ranks, and
 * several sets may be under way. A fence is named by kind, participants and a
 * round counted per set, so that two fences of one set never share a name.
 *
 * The blobs of all nodes are handed back one after the other: a blob is a row
 * of packed byte objects, and libpmix unpacks them until the end.
 *
 * Direct modex asks the node of one rank for what that rank has put; the
 * other side lets libpmix answer, which waits until the rank has put it.
 *
 * Where the clients set a limit (PMIX_TIMEOUT), libpmix sees to it until all of
 * this node have come, and leaves what happens between nodes to us. It does not
 * tell of what it ends by itself: that fence is no round here, though it may be
 * one on other nodes, so that a set is not to fence again after its limit. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/pm/pmix_impl.h"
#include "bin/pm/rankset.h"
#include "lib/base/clock.h"
#include "lib/base/collected.h"
#include "lib/base/str.h"

#define NS_PER_S 1000000000LL

struct hb_pmix_fence {
    struct hb_pmix_fence *next;
    char *key;
    pmix_op_cbfunc_t op;
    pmix_modex_cbfunc_t modex;
    struct hb_pmix_grouping group;
    void *cbdata;
    int64_t deadline;
};

struct hb_pmix_modex {
    struct hb_pmix_modex *next;
    uint64_t id;
    int64_t deadline;
    pmix_modex_cbfunc_t cb;
    void *cbdata;
};

static void fence_free(struct hb_pmix_fence *f)
{
    free(f->group.procs);
    free(f->key);
    free(f);
}

void hb_pmix_fences_destroy(struct hb_pm *pm)
{
    while (pm->fences != NULL) {
        struct hb_pmix_fence *f = pm->fences;

        pm->fences = f->next;
        fence_free(f);
    }
    while (pm->modexes != NULL) {
        struct hb_pmix_modex *m = pm->modexes;

        pm->modexes = m->next;
        free(m);
    }
}

/* ---- limits -------------------------------------------------------------- */

/* 0: no number. */
static int64_t whole_number(const pmix_value_t *v)
{
    switch (v->type) {
    case PMIX_INT:
        return v->data.integer;
    case PMIX_INT32:
        return v->data.int32;
    case PMIX_INT64:
        return v->data.int64;
    case PMIX_UINT:
        return v->data.uint;
    case PMIX_UINT32:
        return v->data.uint32;
    case PMIX_UINT64:
        return v->data.uint64 < INT64_MAX ? (int64_t)v->data.uint64
                                          : INT64_MAX;
    case PMIX_SIZE:
        return v->data.size < INT64_MAX ? (int64_t)v->data.size : INT64_MAX;
    default:
        return 0;
    }
}

/* The standard says int. Clients give what they have, and libpmix takes any. */
int64_t hb_pmix_deadline(const struct hb_pmix_event *ev)
{
    for (size_t i = 0; i < ev->n_infos; i++) {
        int64_t limit_s = PMIX_CHECK_KEY(&ev->infos[i], PMIX_TIMEOUT)
                              ? whole_number(&ev->infos[i].value) : 0;

        if (limit_s > 0) {
            return ev->since_ns
                   + NS_PER_S * (limit_s < INT32_MAX ? limit_s : INT32_MAX);
        }
    }
    return HB_NEVER;
}

/* The timer goes on as long as one of them has a limit. */
static int64_t limited(struct hb_pm *pm, const struct hb_pmix_event *ev)
{
    int64_t deadline = hb_pmix_deadline(ev);

    if (deadline != HB_NEVER) {
        hb_pmix_timer(pm, 1);
    }
    return deadline;
}

int hb_pmix_fences_wait(const struct hb_pm *pm)
{
    const struct hb_pmix_fence *f = pm->fences;
    const struct hb_pmix_modex *m = pm->modexes;

    while (f != NULL && f->deadline == HB_NEVER) {
        f = f->next;
    }
    while (m != NULL && m->deadline == HB_NEVER) {
        m = m->next;
    }
    return f != NULL || m != NULL;
}

/* What comes for them later finds nobody. */
void hb_pmix_fences_tick(struct hb_pm *pm)
{
    struct hb_pmix_fence *f = pm->fences, *next_f;
    struct hb_pmix_modex *m = pm->modexes, *next_m;
    struct hb_bytes none = {NULL, 0};

    for (; f != NULL; f = next_f) {
        next_f = f->next;
        if (hb_deadline_left_ms(f->deadline) == 0) {
            hb_pmix_fence_done(pm, (struct hb_bytes){f->key, strlen(f->key)},
                               HPCBOOT_ERR_TIMED_OUT, none);
        }
    }
    for (; m != NULL; m = next_m) {
        next_m = m->next;
        if (hb_deadline_left_ms(m->deadline) == 0) {
            hb_pmix_modex_done(pm, m->id, HPCBOOT_ERR_TIMED_OUT, none);
        }
    }
}

/* ---- who takes part ------------------------------------------------------ */

/* Ranks of this job among the participants in ascending order; *all_out: every
 * one. Positive: processes of other jobs are among them, too. */
static int ranks_of(const struct hb_pm *pm, const struct hb_pmix_event *ev,
                    uint32_t **ranks_out, uint32_t *n_out, int *all_out)
{
    uint32_t *ranks = hb_xcalloc(ev->n_procs + 1, sizeof(*ranks));
    uint32_t n = 0;
    int all = 0, others = 0;

    for (size_t i = 0; i < ev->n_procs; i++) {
        const pmix_proc_t *p = &ev->procs[i];

        if (!PMIX_CHECK_NSPACE(p->nspace, pm->nspace)) {
            others = 1;
            continue;
        }
        if (p->rank >= pm->job->map->n_ranks &&
            p->rank != PMIX_RANK_WILDCARD) {
            free(ranks);
            return HPCBOOT_ERR_UNSUPPORTED;
        }
        if (p->rank == PMIX_RANK_WILDCARD) {
            all = 1;
        } else {
            ranks[n++] = p->rank;
        }
    }
    n = hb_rankset_unique(ranks, n);
    *all_out = all || n == pm->job->map->n_ranks;
    *ranks_out = ranks;
    *n_out = n;
    return others;
}

/* Their nodes; *nodes_out is free()d by the caller. */
uint32_t hb_pmix_nodes_of(const struct hb_pm *pm, const uint32_t *ranks,
                         uint32_t n, int all, uint32_t **nodes_out)
{
    const struct hb_jobmap *map = pm->job->map;
    uint32_t *nodes, n_nodes = 0;

    if (all) {
        nodes = hb_xcalloc(map->n_nodes + 1, sizeof(*nodes));
        for (uint32_t i = 0; i < map->n_nodes; i++) {
            if (map->local_size[i] > 0) {
                nodes[n_nodes++] = i;
            }
        }
    } else {
        nodes = hb_xcalloc(n + 1, sizeof(*nodes));
        for (uint32_t i = 0; i < n; i++) {
            nodes[i] = map->node_of_rank[ranks[i]];
        }
        n_nodes = hb_rankset_unique(nodes, n);
    }
    *nodes_out = nodes;
    return n_nodes;
}

static int by_job(const void *a, const void *b)
{
    const pmix_proc_t *p = a, *q = b;
    int order = strncmp(p->nspace, q->nspace, PMIX_MAX_NSLEN);

    return order != 0 ? order : (p->rank > q->rank) - (p->rank < q->rank);
}

char *hb_pmix_name_of_all(struct hb_pmix_event *ev)
{
    struct hb_str text = HB_STR_INIT;
    uint32_t *ranks = hb_xcalloc(ev->n_procs + 1, sizeof(*ranks));

    qsort(ev->procs, ev->n_procs, sizeof(*ev->procs), by_job);
    for (size_t i = 0; i < ev->n_procs;) {
        const char *nspace = ev->procs[i].nspace;
        uint32_t n = 0;

        for (; i < ev->n_procs &&
               PMIX_CHECK_NSPACE(ev->procs[i].nspace, nspace); i++) {
            ranks[n++] = ev->procs[i].rank;
        }
        hb_str_putf(&text, "%s:", nspace);
        hb_rankset_name(&text, ranks, hb_rankset_unique(ranks, n));
        hb_str_putc(&text, ';');
    }
    free(ranks);
    return hb_str_steal(&text);
}

uint32_t hb_pmix_next_round(struct hb_pm *pm, const char *set)
{
    struct hb_bytes old;
    uint32_t round = 0;

    if (hb_kvs_get(pm->rounds, set, &old)) {
        memcpy(&round, old.data, sizeof(round));
    }
    round++;
    /* Where no more sets can be remembered, a name serves again, which is
     * sound once its fence is complete. */
    (void)hb_kvs_put(pm->rounds, set,
                     (struct hb_bytes){&round, sizeof(round)}, HB_KVS_REPLACE,
                     NULL);
    return round;
}

/* That of a group has its name and no round: its members call in any order
 * among others of the same ranks, and one after the other for themselves. */
static char *fence_key(struct hb_pm *pm, const struct hb_pmix_event *ev,
                       const uint32_t *ranks, uint32_t n, int all)
{
    struct hb_str set = HB_STR_INIT;
    char *key;

    hb_str_putf(&set, "pmix-%s/%u/", ev->word, pm->job->world);
    if (all) {
        hb_str_put(&set, "all");
    } else {
        hb_rankset_name(&set, ranks, n);
    }
    key = ev->name != NULL
              ? hb_xasprintf("%s/%s", hb_str_text(&set), ev->name)
              : hb_xasprintf("%s/%u", hb_str_text(&set),
                             hb_pmix_next_round(pm, hb_str_text(&set)));
    hb_str_destroy(&set);
    return key;
}

/* ---- collectives --------------------------------------------------------- */

static void release(void *data)
{
    free(data);
}

/* Answers the kind of callback that is set. `data` is taken; may be NULL. */
static void answer(pmix_op_cbfunc_t op, pmix_modex_cbfunc_t modex,
                   void *cbdata, pmix_status_t rc, char *data, size_t len)
{
    if (modex != NULL) {
        modex(rc, data, len, cbdata, data != NULL ? release : NULL, data);
        return;
    }
    free(data);
    hb_pmix_answer(op, rc, cbdata);
}

static void run_fence(struct hb_pm *pm, struct hb_pmix_event *ev,
                      const uint32_t *ranks, uint32_t n, int all)
{
    uint32_t *nodes = NULL, n_nodes;
    struct hb_bytes part = {ev->data, ev->len};
    struct hb_pmix_fence *f;
    struct hb_buf own;

    f = hb_xcalloc(1, sizeof(*f));
    hb_buf_init(&own, HB_FENCE_DATA_MAX);
    if (ev->grouped != NULL) {
        hb_pmix_group_part(pm, ev, &own);
        part = (struct hb_bytes){own.data, own.len};
        hb_pmix_grouping_take(&f->group, ev);
    }
    f->key = fence_key(pm, ev, ranks, n, all);
    f->op = ev->op;
    f->modex = ev->modex;
    f->cbdata = ev->cbdata;
    f->deadline = limited(pm, ev);
    f->next = pm->fences;
    pm->fences = f;
    n_nodes = hb_pmix_nodes_of(pm, ranks, n, all, &nodes);
    pm->host.fence(pm->arg, (struct hb_bytes){f->key, strlen(f->key)}, nodes,
                   n_nodes, part);
    hb_buf_destroy(&own);
    free(nodes);
}

/* Across jobs there are no groups, and no fences that carry data: what ranks of
 * others have put is asked for when it is needed. */
void hb_pmix_run_collective(struct hb_pm *pm, struct hb_pmix_event *ev)
{
    uint32_t *ranks = NULL, n = 0;
    int all = 0;
    int rc = ranks_of(pm, ev, &ranks, &n, &all);

    if (rc > 0 && ev->grouped != NULL) {
        rc = HPCBOOT_ERR_UNSUPPORTED;
    }
    if (rc < 0 && ev->grouped != NULL) {
        ev->grouped(hb_pmix_status(rc), NULL, 0, ev->cbdata, NULL, NULL);
    } else if (rc < 0) {
        answer(ev->op, ev->modex, ev->cbdata, hb_pmix_status(rc), NULL, 0);
    } else if (rc > 0) {
        hb_pmix_run_join(pm, ev, ranks, n, all);
    } else {
        run_fence(pm, ev, ranks, n, all);
    }
    free(ranks);
}

/* All blobs in a row, in memory of malloc. Negative: malformed. */
static int join_blobs(struct hb_bytes data, char **out, size_t *len_out)
{
    struct hb_buf view;
    struct hb_bytes blob;
    uint32_t node;
    char *joined = hb_xmalloc(data.len + 1);
    size_t len = 0;
    int rc;

    hb_buf_view(&view, data.data, data.len);
    while ((rc = hb_fence_data_next(&view, &node, &blob)) > 0) {
        if (blob.len > 0) {
            memcpy(joined + len, blob.data, blob.len);
        }
        len += blob.len;
    }
    if (rc < 0 || len == 0) {
        free(joined);
        joined = NULL;
    }
    *out = joined;
    *len_out = len;
    return rc;
}

void hb_pmix_fence_done(struct hb_pm *pm, struct hb_bytes key, int status,
                        struct hb_bytes data)
{
    struct hb_pmix_fence **at = &pm->fences, *f;
    char *joined = NULL;
    size_t len = 0;

    if (hb_pmix_join_fenced(pm, key, status)) {
        return;
    }
    while (*at != NULL && (strlen((*at)->key) != key.len ||
                           memcmp((*at)->key, key.data, key.len) != 0)) {
        at = &(*at)->next;
    }
    f = *at;
    if (f == NULL) {
        return;
    }
    *at = f->next;
    if (f->group.cb != NULL) {
        hb_pmix_group_done(&f->group, status, data);
    } else {
        if (status == HPCBOOT_OK) {
            status = join_blobs(data, &joined, &len);
        }
        answer(f->op, f->modex, f->cbdata, hb_pmix_status(status), joined,
               len);
    }
    fence_free(f);
}

/* ---- direct modex -------------------------------------------------------- */

void hb_pmix_run_modex(struct hb_pm *pm, struct hb_pmix_event *ev)
{
    struct hb_pmix_modex *m;

    if (!PMIX_CHECK_NSPACE(ev->proc.nspace, pm->nspace)) {
        hb_pmix_foreign_modex(pm, ev);
        return;
    }
    if (ev->proc.rank >= pm->job->map->n_ranks ||
        hb_pmix_is_local(pm, &ev->proc)) {
        answer(NULL, ev->modex, ev->cbdata, PMIX_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    m = hb_xcalloc(1, sizeof(*m));
    m->id = ++pm->last_id;
    m->cb = ev->modex;
    m->cbdata = ev->cbdata;
    m->deadline = limited(pm, ev);
    m->next = pm->modexes;
    pm->modexes = m;
    pm->host.modex(pm->arg, m->id, ev->proc.rank);
}

void hb_pmix_modex_done(struct hb_pm *pm, uint64_t id, int status,
                        struct hb_bytes data)
{
    struct hb_pmix_modex **at = &pm->modexes, *m;
    char *copy = NULL;

    while (*at != NULL && (*at)->id != id) {
        at = &(*at)->next;
    }
    m = *at;
    if (m == NULL) {
        return;
    }
    *at = m->next;
    if (status == HPCBOOT_OK && data.len > 0) {
        copy = hb_xmalloc(data.len);
        memcpy(copy, data.data, data.len);
    }
    answer(NULL, m->cb, m->cbdata, hb_pmix_status(status), copy,
           copy != NULL ? data.len : 0);
    free(m);
}

static void run_serve(struct hb_pm *pm, struct hb_pmix_event *ev)
{
    ev->reply(ev->reply_arg, ev->id, ev->status,
              (struct hb_bytes){ev->data, ev->len});
}

/* On libpmix's thread; the data is its own. */
static void served(pmix_status_t rc, char *data, size_t len, void *cbdata)
{
    struct hb_pmix_event *ev = cbdata;

    ev->status = rc == PMIX_SUCCESS ? HPCBOOT_OK : HPCBOOT_ERR_NOT_FOUND;
    if (rc == PMIX_SUCCESS && data != NULL) {
        ev->data = hb_xmalloc(len + 1);
        memcpy(ev->data, data, len);
        ev->len = len;
    }
    hb_pmix_post(ev);
}

void hb_pmix_modex_serve(struct hb_pm *pm, uint64_t id, uint32_t rank,
                         void (*reply)(void *arg, uint64_t id, int status,
                                       struct hb_bytes data), void *arg)
{
    struct hb_pmix_event *ev = hb_xcalloc(1, sizeof(*ev));
    pmix_status_t rc = PMIX_ERR_NOT_FOUND;

    ev->run = run_serve;
    ev->id = id;
    ev->reply = reply;
    ev->reply_arg = arg;
    PMIX_LOAD_PROCID(&ev->proc, pm->nspace, rank);
    if (hb_pmix_is_local(pm, &ev->proc)) {
        rc = PMIx_server_dmodex_request(&ev->proc, served, ev);
    }
    if (rc != PMIX_SUCCESS) {
        reply(arg, id, HPCBOOT_ERR_NOT_FOUND, (struct hb_bytes){NULL, 0});
        hb_pmix_event_free(ev);
    }
}
