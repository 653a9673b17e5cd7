/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What the ranks of a PMI job have put, as this node knows it: the job's
 * key-value store, attributes of the node, who waits for an attribute, who
 * waits for the name service.
 *
 * A put is visible on its own node at once and elsewhere after the next
 * barrier (bin/pm/pmi_barrier.c): until then it also stands in `fresh`, which
 * the barrier carries. A get is always answered from here, so that N ranks
 * asking for N cards cost no network at all.
 *
 * Keys that begin with PMI_ belong to the server and are made up on demand. */
#include "config.h"

#include "bin/pm/pmi_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

/* A job of 100,000 ranks puts about 1 KiB each. */
#define STORE_MAX (256u << 20)
#define PAIR_OVERHEAD 10u /* of two strings in `fresh`: lengths and NULs */
#define NODE_STORE_MAX (16u << 20)
#define RESERVED "PMI_"

struct parked {
    struct parked *next;
    char *key;
    struct hb_pmi_waiter who;
    hb_pmi_wake wake;
};

struct asked {
    struct asked *next;
    uint64_t id;
    enum hb_pm_name_op op;
    struct hb_pmi_waiter who;
};

void hb_pmi_waiter_set(struct hb_pmi_waiter *w, struct hb_pmi_rank *rank,
                       const char *thrid, const char *group)
{
    w->rank = rank;
    w->thrid = thrid != NULL ? hb_xstrdup(thrid) : NULL;
    w->group = group != NULL ? hb_xstrdup(group) : NULL;
}

void hb_pmi_waiter_clear(struct hb_pmi_waiter *w)
{
    free(w->thrid);
    free(w->group);
    memset(w, 0, sizeof(*w));
}

int hb_pmi_store_create(struct hb_pmi_store **out, const struct hb_pm *pm,
                        struct hpcboot_error *err)
{
    struct hb_pmi_store *s = hb_xcalloc(1, sizeof(*s));
    int rc;

    hb_buf_init(&s->fresh, HB_FENCE_DATA_MAX);
    s->mapping = hb_jobmap_process_mapping(pm->job->map);
    rc = hb_kvs_create(&s->kvs, STORE_MAX, err);
    if (rc == 0) {
        rc = hb_kvs_create(&s->node_kvs, NODE_STORE_MAX, err);
    }
    if (rc == 0) {
        rc = hb_pmi_barriers_create(&s->barriers, pm->job, err);
    }
    if (rc < 0) {
        hb_pmi_store_destroy(s);
        return rc;
    }
    *out = s;
    return HPCBOOT_OK;
}

/* What a spawned job's parents have put for it, on every node alike. */
int hb_pmi_store_preput(struct hb_pm *pm, struct hpcboot_error *err)
{
    char *const *pair = pm->job->preput;
    int rc = 0;

    for (; rc == 0 && pair != NULL && *pair != NULL; pair++) {
        size_t len = strcspn(*pair, "=");
        const char *value = *pair + len + ((*pair)[len] == '=');
        char *key = hb_xstrndup(*pair, len);

        rc = hb_kvs_put(pm->store->kvs, key,
                        (struct hb_bytes){value, strlen(value)},
                        HB_KVS_REPLACE, err);
        free(key);
    }
    return rc;
}

static void parked_free(struct parked *p)
{
    free(p->key);
    hb_pmi_waiter_clear(&p->who);
    free(p);
}

void hb_pmi_store_destroy(struct hb_pmi_store *s)
{
    if (s == NULL) {
        return;
    }
    while (s->parked != NULL) {
        struct parked *p = s->parked;

        s->parked = p->next;
        parked_free(p);
    }
    while (s->asked != NULL) {
        struct asked *a = s->asked;

        s->asked = a->next;
        hb_pmi_waiter_clear(&a->who);
        free(a);
    }
    hb_pmi_barriers_destroy(s->barriers);
    hb_kvs_destroy(s->kvs);
    hb_kvs_destroy(s->node_kvs);
    hb_buf_destroy(&s->fresh);
    free(s->mapping);
    free(s->dead);
    free(s->lost);
    free(s);
}

/* ---- the job's store --------------------------------------------------- */

static const char *refuse(const char *key, const char *value)
{
    size_t key_len = strlen(key), value_len = strlen(value);

    if (hb_starts_with(key, RESERVED)) {
        return "keys_with_PMI__prefix_are_reserved";
    }
    if (key_len == 0 || key_len > HB_PMI_KEY_MAX) {
        return "key_length_out_of_range";
    }
    if (value_len == 0 || value_len > HB_PMI_VALUE_MAX) {
        return "value_length_out_of_range";
    }
    return strchr(value, '\n') != NULL ? "value_is_not_one_line" : NULL;
}

static struct hb_bytes text_bytes(const char *text)
{
    return (struct hb_bytes){text, strlen(text)};
}

/* What a rank of this node puts is kept as {text, NUL, rank}: a text to those
 * who get it. What comes from other nodes is the text alone. */
static int store_local(struct hb_pmi_store *s, const char *key,
                       const char *value, uint32_t rank)
{
    size_t len = strlen(value) + 1;
    char *both = hb_xmalloc(len + sizeof(rank));
    int rc;

    memcpy(both, value, len);
    memcpy(both + len, &rank, sizeof(rank));
    rc = hb_kvs_put(s->kvs, key, (struct hb_bytes){both, len + sizeof(rank)},
                    HB_KVS_KEEP, NULL);
    free(both);
    return rc;
}

/* A key belongs to who put it. Where two ranks put one, both take themselves
 * for the same rank, since something changed their variables; the MPIs that
 * are refused then may go on all the same and wait for each other for ever. */
static const char *refuse_twice(struct hb_pm *pm,
                                const struct hb_pmi_rank *rank,
                                const char *key, struct hb_bytes old)
{
    const char *text = old.data;
    size_t len = strlen(text) + 1;
    uint32_t other = rank->rank;
    char why[HB_PMI_KEY_MAX + 160];

    if (old.len == len + sizeof(other)) {
        memcpy(&other, text + len, sizeof(other));
    }
    if (other != rank->rank) {
        snprintf(why, sizeof(why), "it stores the key %s, which rank %u has "
                 "stored with another value: both take themselves for the "
                 "same rank; what changes PMI_RANK?", key, other);
        pm->host.abort(pm->arg, rank->rank, 1, why);
    }
    return "duplicate_key";
}

const char *hb_pmi_put(struct hb_pm *pm, const struct hb_pmi_rank *rank,
                       const char *key, const char *value)
{
    struct hb_pmi_store *s = pm->store;
    const char *reason = refuse(key, value);
    struct hb_bytes old;

    if (reason != NULL) {
        return reason;
    }
    if (hb_kvs_get(s->kvs, key, &old)) {
        return strcmp(old.data, value) == 0 ? NULL
                                            : refuse_twice(pm, rank, key, old);
    }
    if (s->fresh.len + strlen(key) + strlen(value) + PAIR_OVERHEAD >
            HB_FENCE_DATA_MAX ||
        store_local(s, key, value, rank->rank) < 0) {
        return "store_is_full";
    }
    hb_buf_put_str(&s->fresh, key);
    hb_buf_put_str(&s->fresh, value);
    return NULL;
}

/* An answer must fit what get_maxes has promised. */
static const char *fitting(const char *value)
{
    return strlen(value) < HB_PMI_VALUE_MAX ? value : NULL;
}

const char *hb_pmi_get(const struct hb_pm *pm, const char *key)
{
    struct hb_bytes value;

    if (strcmp(key, "PMI_process_mapping") == 0) {
        return fitting(pm->store->mapping);
    }
    if (strcmp(key, "PMI_dead_processes") == 0) {
        return pm->store->dead != NULL ? fitting(pm->store->dead) : NULL;
    }
    if (strcmp(key, "PMI_hwloc_xmlfile") == 0) {
        /* Without one MPICH discovers by itself. */
        return pm->job->topology_file != NULL
                   ? fitting(pm->job->topology_file) : "unavailable";
    }
    return hb_kvs_get(pm->store->kvs, key, &value) ? value.data : NULL;
}

int hb_pmi_merge(struct hb_pm *pm, struct hb_bytes puts)
{
    struct hb_buf view;

    hb_buf_view(&view, puts.data, puts.len);
    while (hb_buf_left(&view) > 0) {
        const char *key = hb_buf_get_str(&view, HB_PMI_KEY_MAX);
        const char *value = hb_buf_get_str(&view, HB_PMI_VALUE_MAX);
        int rc;

        if (hb_buf_failed(&view)) {
            return HPCBOOT_ERR_PROTOCOL;
        }
        rc = hb_kvs_put(pm->store->kvs, key, text_bytes(value), HB_KVS_KEEP,
                        NULL);
        if (rc < 0) {
            return rc;
        }
    }
    return hb_buf_failed(&view) ? HPCBOOT_ERR_PROTOCOL : HPCBOOT_OK;
}

/* ---- attributes of the node -------------------------------------------- */

static void wake_waiters(struct hb_pm *pm, const char *key,
                         const char *value)
{
    struct parked **at = &pm->store->parked;

    while (*at != NULL) {
        struct parked *p = *at;

        if (strcmp(p->key, key) != 0) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        if (!p->who.rank->gone) {
            p->wake(pm, &p->who, value);
        }
        parked_free(p);
    }
}

const char *hb_pmi_node_put(struct hb_pm *pm, const char *key,
                            const char *value)
{
    const char *reason = refuse(key, value);

    if (reason != NULL) {
        return reason;
    }
    if (hb_kvs_put(pm->store->node_kvs, key, text_bytes(value),
                   HB_KVS_REPLACE, NULL) < 0) {
        return "store_is_full";
    }
    wake_waiters(pm, key, value);
    return NULL;
}

const char *hb_pmi_node_get(const struct hb_pm *pm, const char *key)
{
    struct hb_bytes value;

    return hb_kvs_get(pm->store->node_kvs, key, &value) ? value.data : NULL;
}

void hb_pmi_node_wait(struct hb_pm *pm, const char *key,
                      struct hb_pmi_rank *rank, const char *thrid,
                      hb_pmi_wake wake)
{
    struct parked *p = hb_xcalloc(1, sizeof(*p));
    struct parked **at = &pm->store->parked;

    while (*at != NULL) {
        at = &(*at)->next;
    }
    p->key = hb_xstrdup(key);
    p->wake = wake;
    hb_pmi_waiter_set(&p->who, rank, thrid, NULL);
    *at = p;
}

/* ---- the job's name service -------------------------------------------- */

void hb_pmi_name(struct hb_pm *pm, struct hb_pmi_rank *rank,
                 enum hb_pm_name_op op, const char *name, const char *value,
                 const char *thrid)
{
    struct asked *a = hb_xcalloc(1, sizeof(*a));
    struct hb_bytes bytes = text_bytes(value != NULL ? value : "");

    a->id = ++pm->store->last_id;
    a->op = op;
    hb_pmi_waiter_set(&a->who, rank, thrid, NULL);
    a->next = pm->store->asked;
    pm->store->asked = a;
    if (hb_starts_with(name, HB_PM_NAMES_OURS)) {
        hb_pmi_name_done(pm, a->id, HPCBOOT_ERR_USAGE, text_bytes(""));
    } else {
        pm->host.name(pm->arg, a->id, op, name, bytes);
    }
}

void hb_pmi_name_done(struct hb_pm *pm, uint64_t id, int status,
                      struct hb_bytes value)
{
    struct asked **at = &pm->store->asked;
    struct asked *a;
    char *text;

    while (*at != NULL && (*at)->id != id) {
        at = &(*at)->next;
    }
    a = *at;
    if (a == NULL) {
        return;
    }
    *at = a->next;
    text = hb_xstrndup(value.len > 0 ? value.data : "", value.len);
    if (!a->who.rank->gone) {
        a->who.rank->dialect->name_reply(pm, &a->who, a->op, status, text);
    }
    free(text);
    hb_pmi_waiter_clear(&a->who);
    free(a);
}
