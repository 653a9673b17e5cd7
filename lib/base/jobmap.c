/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/*
 * The map of a placed job: rank to node, and what follows from it.
 *
 * On the wire and in PMI's process mapping the map is a list of blocks
 * (first node, nodes, ranks per node): ranks are dealt out block after
 * block, inside a block node after node. A by-slot layout on equal nodes is
 * one block whatever its size; round-robin is a block per round.
 *
 *   wire: u32 n_ranks, n_nodes, n_apps, universe_slots
 *         str node name [n_nodes]
 *         {u32 first_rank, n_ranks} [n_apps]
 *         u32 n_blocks {u32 node, n_nodes, per_node} [n_blocks]
 *
 * Invariants of a map, checked in one place (check_map) whether it was made
 * here or came from outside: counts within their limits and at least one,
 * node numbers in range, names unique, apps consecutive and without gaps.
 */
#include "config.h"

#include "lib/base/jobmap.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"

#define NODE_NAME_MAX 1024u /* a DNS name has 253; aliases may be odd */

struct block {
    uint32_t node, n_nodes, per_node;
};

struct block_list {
    struct block *v;
    size_t n, cap;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int names_unique(char *const *names, uint32_t n)
{
    char **sorted = hb_xmalloc(n * sizeof(*sorted));
    uint32_t i;
    int unique = 1;

    memcpy(sorted, names, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare_names);
    for (i = 1; i < n && unique; i++) {
        unique = strcmp(sorted[i - 1], sorted[i]) != 0;
    }
    free(sorted);
    return unique;
}

static int apps_cover(const struct hb_job_app *apps, uint32_t n_apps,
                      uint32_t n_ranks)
{
    uint64_t next = 0;
    uint32_t i;

    for (i = 0; i < n_apps; i++) {
        if (apps[i].first_rank != next || apps[i].n_ranks == 0) {
            return 0;
        }
        next += apps[i].n_ranks;
    }
    return next == n_ranks;
}

static const char *check_counts(uint32_t n_ranks, uint32_t n_nodes,
                                uint32_t n_apps, uint32_t universe_slots)
{
    if (n_ranks == 0 || n_ranks > HB_MAX_RANKS) {
        return "number of ranks out of range";
    }
    if (n_nodes == 0 || n_nodes > HB_MAX_NODES) {
        return "number of nodes out of range";
    }
    if (n_apps == 0 || n_apps > HB_MAX_APPS) {
        return "number of program segments out of range";
    }
    return universe_slots == 0 ? "a universe without slots" : NULL;
}

/* NULL, or what is wrong. */
static const char *check_map(uint32_t n_ranks, const uint32_t *node_of_rank,
                             uint32_t n_nodes, char *const *node_names,
                             uint32_t n_apps, const struct hb_job_app *apps)
{
    uint32_t i;

    for (i = 0; i < n_ranks; i++) {
        if (node_of_rank[i] >= n_nodes) {
            return "a rank on a node that is not in the list";
        }
    }
    if (!names_unique(node_names, n_nodes)) {
        return "two nodes of the same name";
    }
    if (!apps_cover(apps, n_apps, n_ranks)) {
        return "program segments that do not cover the ranks in order";
    }
    return NULL;
}

/* The arrays that grow with the job are asked for politely. */
static struct hb_jobmap *alloc_map(uint32_t n_ranks, uint32_t n_nodes,
                                   uint32_t n_apps)
{
    struct hb_jobmap *map = hb_xcalloc(1, sizeof(*map));

    map->node_names = calloc(n_nodes, sizeof(*map->node_names));
    map->node_of_rank = calloc(n_ranks, sizeof(*map->node_of_rank));
    map->local_rank = calloc(n_ranks, sizeof(*map->local_rank));
    map->local_size = calloc(n_nodes, sizeof(*map->local_size));
    map->apps = calloc(n_apps, sizeof(*map->apps));
    if (map->node_names == NULL || map->node_of_rank == NULL
        || map->local_rank == NULL || map->local_size == NULL
        || map->apps == NULL) {
        hb_jobmap_destroy(map);
        return NULL;
    }
    map->n_ranks = n_ranks;
    map->n_nodes = n_nodes;
    map->n_apps = n_apps;
    return map;
}

int hb_jobmap_create(struct hb_jobmap **out, uint32_t n_ranks,
                     const uint32_t *node_of_rank, uint32_t n_nodes,
                     char *const *node_names, uint32_t n_apps,
                     const struct hb_job_app *apps, uint32_t universe_slots,
                     struct hpcboot_error *err)
{
    const char *wrong = check_counts(n_ranks, n_nodes, n_apps, universe_slots);
    struct hb_jobmap *map;
    uint32_t i;

    if (wrong == NULL) {
        wrong = check_map(n_ranks, node_of_rank, n_nodes, node_names, n_apps,
                          apps);
    }
    if (wrong != NULL) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "map of the job: %s", wrong);
    }
    map = alloc_map(n_ranks, n_nodes, n_apps);
    if (map == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM,
                       "no memory for a map of %u ranks", n_ranks);
    }
    map->universe_slots = universe_slots;
    memcpy(map->apps, apps, n_apps * sizeof(*apps));
    for (i = 0; i < n_nodes; i++) {
        map->node_names[i] = hb_xstrdup(node_names[i]);
    }
    for (i = 0; i < n_ranks; i++) {
        map->node_of_rank[i] = node_of_rank[i];
        map->local_rank[i] = map->local_size[node_of_rank[i]]++;
    }
    *out = map;
    return HPCBOOT_OK;
}

void hb_jobmap_destroy(struct hb_jobmap *map)
{
    uint32_t i;

    if (map == NULL) {
        return;
    }
    for (i = 0; i < map->n_nodes; i++) {
        free(map->node_names[i]);
    }
    free(map->node_names);
    free(map->node_of_rank);
    free(map->local_rank);
    free(map->local_size);
    free(map->apps);
    free(map);
}

int hb_jobmap_grow(const struct hb_jobmap *map, const char *node_name,
                   uint32_t n_ranks, struct hb_jobmap **out,
                   struct hpcboot_error *err)
{
    uint32_t n = map->n_ranks + n_ranks;
    uint32_t *nodes = hb_xcalloc(n, sizeof(*nodes));
    char **names = hb_xcalloc(map->n_nodes + 1, sizeof(*names));
    struct hb_job_app *apps = hb_xcalloc(map->n_apps, sizeof(*apps));
    char *name = hb_xstrdup(node_name);
    int rc;

    memcpy(nodes, map->node_of_rank, map->n_ranks * sizeof(*nodes));
    for (uint32_t r = map->n_ranks; r < n; r++) {
        nodes[r] = map->n_nodes;
    }
    memcpy(names, map->node_names, map->n_nodes * sizeof(*names));
    names[map->n_nodes] = name;
    memcpy(apps, map->apps, map->n_apps * sizeof(*apps));
    apps[map->n_apps - 1].n_ranks += n_ranks;
    rc = hb_jobmap_create(out, n, nodes, map->n_nodes + 1, names, map->n_apps,
                          apps, map->universe_slots + n_ranks, err);
    free(nodes);
    free(names);
    free(apps);
    free(name);
    return rc;
}

int hb_jobmap_rename(struct hb_jobmap *map, uint32_t node, const char *name)
{
    char *new_name;

    if (hb_streq(map->node_names[node], name)) {
        return 0;
    }
    for (uint32_t i = 0; i < map->n_nodes; i++) {
        if (hb_streq(map->node_names[i], name)) {
            char *old = map->node_names[node];

            map->node_names[node] = map->node_names[i];
            map->node_names[i] = old;
            return 1;
        }
    }
    new_name = hb_xstrdup(name);
    free(map->node_names[node]);
    map->node_names[node] = new_name;
    return 1;
}

int hb_jobmap_names_agree(const struct hb_jobmap *a, const struct hb_jobmap *b)
{
    for (uint32_t i = 0; i < a->n_nodes && i < b->n_nodes; i++) {
        if (!hb_streq(a->node_names[i], b->node_names[i])) {
            return 0;
        }
    }
    return 1;
}

int hb_jobmap_begins(const struct hb_jobmap *map,
                     const struct hb_jobmap *grown)
{
    if (grown->n_ranks < map->n_ranks || grown->n_nodes < map->n_nodes ||
        grown->n_apps != map->n_apps ||
        memcmp(map->node_of_rank, grown->node_of_rank,
               map->n_ranks * sizeof(*map->node_of_rank)) != 0) {
        return 0;
    }
    for (uint32_t i = 0; i < map->n_nodes; i++) {
        if (map->local_size[i] != grown->local_size[i]) {
            return 0;
        }
    }
    return 1;
}

uint32_t hb_jobmap_app_of(const struct hb_jobmap *map, uint32_t rank)
{
    uint32_t low = 0, high = map->n_apps, middle;

    while (high - low > 1) {
        middle = low + (high - low) / 2;
        if (map->apps[middle].first_rank <= rank) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

void hb_jobmap_ranks_of_node(const struct hb_jobmap *map, uint32_t node,
                             uint32_t **ranks_out)
{
    uint32_t *ranks = hb_xmalloc(map->local_size[node] * sizeof(*ranks));
    uint32_t rank;

    for (rank = 0; rank < map->n_ranks; rank++) {
        if (map->node_of_rank[rank] == node) {
            ranks[map->local_rank[rank]] = rank;
        }
    }
    *ranks_out = ranks;
}

/* Adds a run of ranks on one node; it joins the last block where it goes on
 * in the same manner. */
static void add_run(struct block_list *list, uint32_t node, uint32_t n_ranks)
{
    struct block *last = list->n > 0 ? &list->v[list->n - 1] : NULL;

    if (last != NULL && last->node + last->n_nodes == node
        && last->per_node == n_ranks) {
        last->n_nodes++;
        return;
    }
    if (list->n == list->cap) {
        list->cap = list->cap > 0 ? list->cap * 2 : 16;
        list->v = hb_xrealloc(list->v, list->cap * sizeof(*list->v));
    }
    list->v[list->n++] = (struct block){node, 1, n_ranks};
}

/* Blocks of the first n_ranks ranks. free(list->v) */
static void make_blocks(const uint32_t *node_of_rank, uint32_t n_ranks,
                        struct block_list *list)
{
    uint32_t first = 0, i;

    memset(list, 0, sizeof(*list));
    for (i = 1; i <= n_ranks; i++) {
        if (i == n_ranks || node_of_rank[i] != node_of_rank[first]) {
            add_run(list, node_of_rank[first], i - first);
            first = i;
        }
    }
}

void hb_jobmap_encode(const struct hb_jobmap *map, struct hb_buf *b)
{
    struct block_list list;
    size_t i;

    hb_buf_put_u32(b, map->n_ranks);
    hb_buf_put_u32(b, map->n_nodes);
    hb_buf_put_u32(b, map->n_apps);
    hb_buf_put_u32(b, map->universe_slots);
    for (i = 0; i < map->n_nodes; i++) {
        hb_buf_put_str(b, map->node_names[i]);
    }
    for (i = 0; i < map->n_apps; i++) {
        hb_buf_put_u32(b, map->apps[i].first_rank);
        hb_buf_put_u32(b, map->apps[i].n_ranks);
    }
    make_blocks(map->node_of_rank, map->n_ranks, &list);
    hb_buf_put_u32(b, (uint32_t)list.n);
    for (i = 0; i < list.n; i++) {
        hb_buf_put_u32(b, list.v[i].node);
        hb_buf_put_u32(b, list.v[i].n_nodes);
        hb_buf_put_u32(b, list.v[i].per_node);
    }
    free(list.v);
}

/* Deals out one block from `next` on; 0 when it leaves the map. */
static int deal_block(struct hb_jobmap *map, const struct block *block,
                      uint32_t *next)
{
    uint64_t n = (uint64_t)block->n_nodes * block->per_node;
    uint32_t i;

    if (n == 0 || n > map->n_ranks - *next || block->node >= map->n_nodes
        || block->n_nodes > map->n_nodes - block->node) {
        return 0;
    }
    for (i = 0; i < n; i++) {
        map->node_of_rank[(*next)++] = block->node + i / block->per_node;
    }
    return 1;
}

static int read_blocks(struct hb_jobmap *map, struct hb_buf *b)
{
    uint32_t n_blocks = hb_buf_get_u32(b), next = 0, i;

    for (i = 0; i < n_blocks; i++) {
        struct block block = {0};

        block.node = hb_buf_get_u32(b);
        block.n_nodes = hb_buf_get_u32(b);
        block.per_node = hb_buf_get_u32(b);
        if (hb_buf_failed(b) || !deal_block(map, &block, &next)) {
            return 0;
        }
    }
    return next == map->n_ranks;
}

/* Fills the arrays of a map that hb_jobmap_create would copy. */
static const char *read_map(struct hb_jobmap *map, struct hb_buf *b)
{
    uint32_t i;

    for (i = 0; i < map->n_nodes && !hb_buf_failed(b); i++) {
        map->node_names[i] = hb_xstrdup(hb_buf_get_str(b, NODE_NAME_MAX));
    }
    for (i = 0; i < map->n_apps && !hb_buf_failed(b); i++) {
        map->apps[i].first_rank = hb_buf_get_u32(b);
        map->apps[i].n_ranks = hb_buf_get_u32(b);
    }
    if (hb_buf_failed(b) || !read_blocks(map, b)) {
        return "cut short, or ranks that do not add up";
    }
    for (i = 0; i < map->n_ranks; i++) {
        map->local_rank[i] = map->local_size[map->node_of_rank[i]]++;
    }
    return check_map(map->n_ranks, map->node_of_rank, map->n_nodes,
                     map->node_names, map->n_apps, map->apps);
}

int hb_jobmap_decode(struct hb_jobmap **out, struct hb_buf *b,
                     struct hpcboot_error *err)
{
    const size_t least_per_node = 5, least_per_app = 8; /* bytes */
    struct hb_jobmap *map = NULL;
    uint32_t n_ranks = hb_buf_get_u32(b), n_nodes = hb_buf_get_u32(b);
    uint32_t n_apps = hb_buf_get_u32(b), slots = hb_buf_get_u32(b);
    const char *wrong = check_counts(n_ranks, n_nodes, n_apps, slots);

    /* Memory is taken for what the bytes at hand can hold, no more. */
    if (wrong == NULL && n_nodes > hb_buf_left(b) / least_per_node) {
        wrong = "more nodes than bytes";
    }
    if (wrong == NULL && n_apps > hb_buf_left(b) / least_per_app) {
        wrong = "more program segments than bytes";
    }
    if (wrong == NULL) {
        map = alloc_map(n_ranks, n_nodes, n_apps);
        if (map == NULL) {
            return hb_fail(err, HPCBOOT_ERR_NOMEM,
                           "no memory for a map of %u ranks", n_ranks);
        }
        map->universe_slots = slots;
        wrong = read_map(map, b);
    }
    if (wrong != NULL) {
        hb_jobmap_destroy(map);
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                       "malformed map of the job: %s", wrong);
    }
    *out = map;
    return HPCBOOT_OK;
}

static char *mapping_text(const struct hb_jobmap *map, uint32_t n_ranks)
{
    struct hb_str text = HB_STR_INIT;
    struct block_list list;
    size_t i;

    make_blocks(map->node_of_rank, n_ranks, &list);
    hb_str_put(&text, "(vector");
    for (i = 0; i < list.n; i++) {
        hb_str_putf(&text, ",(%u,%u,%u)", list.v[i].node, list.v[i].n_nodes,
                    list.v[i].per_node);
    }
    hb_str_putc(&text, ')');
    free(list.v);
    return hb_str_steal(&text);
}

/* The shortest n such that rank r and rank r+n are always on one node: the
 * border table of Knuth, Morris and Pratt. Returns n_ranks when the layout
 * does not repeat. */
static uint32_t period_of(const uint32_t *v, uint32_t n)
{
    uint32_t *border = hb_xcalloc((size_t)n + 1, sizeof(*border));
    uint32_t i, k = 0, period;

    for (i = 1; i < n; i++) {
        while (k > 0 && v[i] != v[k]) {
            k = border[k];
        }
        k += v[i] == v[k];
        border[i + 1] = k;
    }
    period = n - border[n];
    free(border);
    return period;
}

/* Clients begin again at the first block when ranks are left over, so one
 * round of a layout that repeats says it all. The full list is what every
 * client understands without that rule: it is kept as long as it fits. */
char *hb_jobmap_process_mapping(const struct hb_jobmap *map)
{
    char *text = mapping_text(map, map->n_ranks);

    if (strlen(text) >= HB_PROCESS_MAPPING_MAX) {
        free(text);
        text = mapping_text(map, period_of(map->node_of_rank, map->n_ranks));
    }
    return text;
}
