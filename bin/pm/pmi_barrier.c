/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Barriers of a PMI job: of all ranks, of the ranks of a node, of a list of
 * ranks. Local ranks gather here; when the last of them has come, the node
 * joins a fence of the nodes that take part, with what was put here as its
 * blob. When the fence is complete, the other nodes' puts are merged and the
 * ranks let go.
 *
 * A rank may be ahead of the others and join the next barrier of a group
 * while one is open (PMI 1.2 lets it), so a group has a queue of rounds; a
 * rank joins the first one it is not in.
 *
 * A barrier with a rank that is lost fails, whether it is open or begins: those
 * who wait there would wait for ever.
 *
 * A barrier of some nodes carries everything put since the last barrier of
 * all nodes, again and again: the nodes outside it have not seen it yet. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bin/pm/pmi_store.h"
#include "bin/pm/rankset.h"
#include "lib/base/str.h"

#define WORLD "WORLD"
#define NODE "NODE"
#define TAG_MAX 256u
/* Open at a time: a program has a handful; this many is a client gone mad. */
#define BARRIERS_MAX 4096u
#define GROUPS_MAX (16u << 20) /* bytes of groups remembered with their round */

struct barrier {
    struct barrier *next;
    char *group; /* identity, alike on all nodes; without the round */
    char *key;   /* of the fence: identity and round */
    uint32_t *nodes;
    uint32_t n_nodes;
    uint32_t *ranks; /* [n_ranks] ascending; NULL: all of its nodes */
    uint32_t n_ranks;
    uint32_t n_expected; /* local ranks */
    uint32_t n_waiters;
    struct hb_pmi_waiter *waiters; /* [n_expected] */
};

struct hb_pmi_barriers {
    struct barrier *open, **open_end;
    uint32_t n_open;
    struct hb_kvs *rounds; /* group -> u32 */
    uint32_t *nodes;       /* those with ranks, ascending */
    uint32_t n_nodes;
};

/* A group, understood. */
struct group {
    char *identity;
    uint32_t *nodes; /* owned */
    uint32_t n_nodes;
    uint32_t *ranks; /* owned; NULL: all of the nodes */
    uint32_t n_ranks;
    uint32_t n_local;
};

int hb_pmi_barriers_create(struct hb_pmi_barriers **out,
                           const struct hb_pm_job *job,
                           struct hpcboot_error *err)
{
    struct hb_pmi_barriers *b = hb_xcalloc(1, sizeof(*b));
    const struct hb_jobmap *map = job->map;
    int rc = hb_kvs_create(&b->rounds, GROUPS_MAX, err);

    if (rc < 0) {
        free(b);
        return rc;
    }
    b->open_end = &b->open;
    b->nodes = hb_xcalloc(map->n_nodes + 1, sizeof(*b->nodes));
    for (uint32_t i = 0; i < map->n_nodes; i++) {
        if (map->local_size[i] > 0) {
            b->nodes[b->n_nodes++] = i;
        }
    }
    *out = b;
    return HPCBOOT_OK;
}

static void barrier_free(struct barrier *b)
{
    for (uint32_t i = 0; i < b->n_waiters; i++) {
        hb_pmi_waiter_clear(&b->waiters[i]);
    }
    free(b->waiters);
    free(b->nodes);
    free(b->ranks);
    free(b->group);
    free(b->key);
    free(b);
}

void hb_pmi_barriers_destroy(struct hb_pmi_barriers *b)
{
    if (b == NULL) {
        return;
    }
    while (b->open != NULL) {
        struct barrier *next = b->open->next;

        barrier_free(b->open);
        b->open = next;
    }
    hb_kvs_destroy(b->rounds);
    free(b->nodes);
    free(b);
}

/* ---- what a group means ------------------------------------------------ */

/* "0,3,5" of `len` bytes to ranks in ascending order. */
static int parse_ranks(const char *text, size_t len, uint32_t n_ranks,
                       uint32_t **out, uint32_t *n_out,
                       struct hpcboot_error *err)
{
    char *copy = hb_xstrndup(text, len), *save = NULL;
    uint32_t *list = hb_xcalloc(len / 2 + 1, sizeof(*list));
    uint32_t n = 0;
    int rc = HPCBOOT_OK;

    for (char *p = strtok_r(copy, ",", &save); p != NULL;
         p = strtok_r(NULL, ",", &save)) {
        uint64_t rank;

        if (hb_parse_u64(p, 0, n_ranks - 1, &rank) < 0) {
            rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                         "PMI: \"%.32s\" in a barrier group is no rank of 0 "
                         "to %u", p, n_ranks - 1);
            break;
        }
        list[n++] = (uint32_t)rank;
    }
    free(copy);
    if (rc == 0 && n == 0) {
        rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL, "PMI: an empty barrier group");
    }
    if (rc < 0) {
        free(list);
        return rc;
    }
    *n_out = hb_rankset_unique(list, n);
    *out = list;
    return HPCBOOT_OK;
}

static int group_of_list(const struct hb_pm *pm, uint32_t rank,
                         const char *text, size_t len, struct group *out,
                         struct hb_str *identity, struct hpcboot_error *err)
{
    const struct hb_jobmap *map = pm->job->map;
    uint32_t *ranks, n;
    int member = 0, rc;

    rc = parse_ranks(text, len, map->n_ranks, &ranks, &n, err);
    if (rc < 0) {
        return rc;
    }
    hb_rankset_name(identity, ranks, n);
    out->ranks = hb_xmalloc(n * sizeof(*ranks));
    memcpy(out->ranks, ranks, n * sizeof(*ranks));
    out->n_ranks = n;
    for (uint32_t i = 0; i < n; i++) {
        member |= ranks[i] == rank;
        ranks[i] = map->node_of_rank[ranks[i]];
        out->n_local += ranks[i] == pm->job->node;
    }
    if (!member) {
        free(ranks);
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "PMI: rank %u joins a barrier of a group that it is "
                       "not in", rank);
    }
    out->n_nodes = hb_rankset_unique(ranks, n);
    out->nodes = ranks;
    return HPCBOOT_OK;
}

static void group_of_nodes(const struct hb_pm *pm, const uint32_t *nodes,
                           uint32_t n, struct group *out)
{
    out->nodes = hb_xmalloc(n * sizeof(*nodes));
    memcpy(out->nodes, nodes, n * sizeof(*nodes));
    out->n_nodes = n;
    out->n_local = pm->n_local;
}

static int group_parse(const struct hb_pm *pm, const struct hb_pmi_rank *rank,
                       const char *text, struct group *out,
                       struct hpcboot_error *err)
{
    const struct hb_pmi_barriers *b = pm->store->barriers;
    size_t len = strcspn(text, ":");
    const char *tag = text[len] == ':' ? text + len + 1 : "";
    struct hb_str id = HB_STR_INIT;
    int rc = HPCBOOT_OK;

    memset(out, 0, sizeof(*out));
    hb_str_putf(&id, "%s/%u/", rank->dialect->name, pm->job->world);
    if (strlen(tag) > TAG_MAX) {
        rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                     "PMI: a barrier tag of more than %u bytes", TAG_MAX);
    } else if (len == strlen(WORLD) && memcmp(text, WORLD, len) == 0) {
        hb_str_put(&id, "world");
        group_of_nodes(pm, b->nodes, b->n_nodes, out);
    } else if (len == strlen(NODE) && memcmp(text, NODE, len) == 0) {
        hb_str_putf(&id, "node %u", pm->job->node);
        group_of_nodes(pm, &pm->job->node, 1, out);
    } else {
        rc = group_of_list(pm, rank->rank, text, len, out, &id, err);
    }
    hb_str_putf(&id, ":%s", tag);
    out->identity = hb_str_steal(&id);
    return rc;
}

static void group_clear(struct group *g)
{
    free(g->identity);
    free(g->nodes);
    free(g->ranks);
}

/* ---- joining ------------------------------------------------------------ */

static uint32_t next_round(struct hb_pmi_barriers *b, const char *group)
{
    struct hb_bytes old;
    uint32_t round = 0;

    if (hb_kvs_get(b->rounds, group, &old)) {
        memcpy(&round, old.data, sizeof(round));
    }
    round++;
    /* Where this many groups cannot be remembered, the oldest name serves
     * again: a key may be used anew once its fence is complete. */
    (void)hb_kvs_put(b->rounds, group,
                     (struct hb_bytes){&round, sizeof(round)},
                     HB_KVS_REPLACE, NULL);
    return round;
}

static int waits_in(const struct barrier *b, const struct hb_pmi_rank *rank)
{
    for (uint32_t i = 0; i < b->n_waiters; i++) {
        if (b->waiters[i].rank == rank) {
            return 1;
        }
    }
    return 0;
}

static struct barrier *barrier_of(struct hb_pmi_barriers *all,
                                  const struct hb_pmi_rank *rank,
                                  struct group *g)
{
    struct barrier *b;

    for (b = all->open; b != NULL; b = b->next) {
        if (strcmp(b->group, g->identity) == 0 && !waits_in(b, rank)) {
            return b;
        }
    }
    b = hb_xcalloc(1, sizeof(*b));
    b->group = hb_xstrdup(g->identity);
    b->key = hb_xasprintf("%s/%u", b->group, next_round(all, b->group));
    b->nodes = g->nodes;
    g->nodes = NULL;
    b->n_nodes = g->n_nodes;
    b->ranks = g->ranks;
    g->ranks = NULL;
    b->n_ranks = g->n_ranks;
    b->n_expected = g->n_local;
    b->waiters = hb_xcalloc(g->n_local, sizeof(*b->waiters));
    *all->open_end = b;
    all->open_end = &b->next;
    all->n_open++;
    return b;
}

static struct hb_bytes key_bytes(const struct barrier *b)
{
    return (struct hb_bytes){b->key, strlen(b->key)};
}

/* The node's part: everybody here has come. */
static void contribute(struct hb_pm *pm, struct barrier *b)
{
    struct hb_pmi_store *s = pm->store;
    struct hb_buf part = s->fresh;
    int all = b->n_nodes == s->barriers->n_nodes && b->n_nodes > 1;

    if (b->n_nodes == 1) {
        pm->host.fence(pm->arg, key_bytes(b), b->nodes, 1,
                       (struct hb_bytes){NULL, 0});
        return;
    }
    if (all) {
        hb_buf_init(&s->fresh, HB_FENCE_DATA_MAX);
    }
    pm->host.fence(pm->arg, key_bytes(b), b->nodes, b->n_nodes,
                   (struct hb_bytes){part.data, part.len});
    if (all) {
        hb_buf_destroy(&part);
    }
}

static int holds(const uint32_t *list, uint32_t n, uint32_t value)
{
    for (uint32_t i = 0; i < n; i++) {
        if (list[i] == value) {
            return 1;
        }
    }
    return 0;
}

/* Whether it waits for a rank that will not come. */
static int has_lost(const struct hb_pm *pm, const struct barrier *b)
{
    const struct hb_pmi_store *s = pm->store;

    for (uint32_t i = 0; i < s->n_lost; i++) {
        uint32_t rank = s->lost[i];

        if (b->ranks != NULL
                ? holds(b->ranks, b->n_ranks, rank)
                : holds(b->nodes, b->n_nodes,
                        pm->job->map->node_of_rank[rank])) {
            return 1;
        }
    }
    return 0;
}

/* Each round, since an answer may bring a client's next request in. */
static void fail_lost(struct hb_pm *pm)
{
    struct barrier *b = pm->store->barriers->open;

    while (b != NULL) {
        if (!has_lost(pm, b)) {
            b = b->next;
            continue;
        }
        hb_pmi_fence_done(pm, key_bytes(b), HPCBOOT_ERR_PEER_DEAD,
                          (struct hb_bytes){NULL, 0});
        b = pm->store->barriers->open;
    }
}

void hb_pmi_ranks_lost(struct hb_pm *pm, const uint32_t *ranks, uint32_t n)
{
    struct hb_pmi_store *s = pm->store;
    struct hb_str text = HB_STR_INIT;

    s->lost = hb_xrealloc(s->lost, (s->n_lost + n + 1) * sizeof(*s->lost));
    for (uint32_t i = 0; i < n; i++) {
        if (ranks[i] < pm->job->map->n_ranks) {
            s->lost[s->n_lost++] = ranks[i];
        }
    }
    s->n_lost = hb_rankset_unique(s->lost, s->n_lost);
    for (uint32_t i = 0; i < s->n_lost; i++) {
        hb_str_putf(&text, "%s%u", i > 0 ? "," : "", s->lost[i]);
    }
    free(s->dead);
    s->dead = hb_str_steal(&text);
    fail_lost(pm);
}

int hb_pmi_join(struct hb_pm *pm, struct hb_pmi_rank *rank,
                const char *group, const char *thrid,
                struct hpcboot_error *err)
{
    struct group g;
    int rc = group_parse(pm, rank, group != NULL ? group : WORLD, &g, err);

    if (rc == 0 && pm->store->barriers->n_open >= BARRIERS_MAX) {
        rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                     "PMI: more than %u barriers open at a time",
                     BARRIERS_MAX);
    }
    if (rc == 0) {
        struct barrier *b = barrier_of(pm->store->barriers, rank, &g);

        hb_pmi_waiter_set(&b->waiters[b->n_waiters++], rank, thrid, group);
        if (has_lost(pm, b)) {
            hb_pmi_fence_done(pm, key_bytes(b), HPCBOOT_ERR_PEER_DEAD,
                              (struct hb_bytes){NULL, 0});
        } else if (b->n_waiters == b->n_expected) {
            contribute(pm, b);
        }
    }
    group_clear(&g);
    return rc;
}

/* ---- letting go --------------------------------------------------------- */

static int merge_all(struct hb_pm *pm, struct hb_bytes data)
{
    struct hb_buf view;
    struct hb_bytes blob;
    uint32_t node;
    int rc;

    hb_buf_view(&view, data.data, data.len);
    while ((rc = hb_fence_data_next(&view, &node, &blob)) > 0) {
        if (node != pm->job->node) {
            rc = hb_pmi_merge(pm, blob);
        }
        if (rc < 0) {
            break;
        }
    }
    return rc;
}

static struct barrier *take(struct hb_pmi_barriers *all, struct hb_bytes key)
{
    struct barrier **at = &all->open, *b;

    while (*at != NULL && (strlen((*at)->key) != key.len ||
                           memcmp((*at)->key, key.data, key.len) != 0)) {
        at = &(*at)->next;
    }
    b = *at;
    if (b != NULL) {
        *at = b->next;
        all->n_open--;
        if (all->open_end == &b->next) {
            all->open_end = at;
        }
    }
    return b;
}

void hb_pmi_fence_done(struct hb_pm *pm, struct hb_bytes key, int status,
                       struct hb_bytes data)
{
    struct barrier *b = take(pm->store->barriers, key);

    if (b == NULL) {
        return;
    }
    if (status == HPCBOOT_OK) {
        status = merge_all(pm, data);
    }
    for (uint32_t i = 0; i < b->n_waiters; i++) {
        if (!b->waiters[i].rank->gone) {
            b->waiters[i].rank->dialect->fence_reply(pm, &b->waiters[i],
                                                     status);
        }
    }
    barrier_free(b);
}
