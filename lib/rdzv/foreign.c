/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Ranks without an agent. In round 0 each publishes a card: on which machine
 * and in which network namespace it is, how those beside it reach it, and its
 * network address; or why it takes no part, since the others would wait for it.
 * Ranks of the same machine and namespace are a node; the lowest makes the
 * memory and hands it over.
 *
 * Afterwards each fence is a round whose blobs hold what was put since the
 * last; a get fetches the rounds of that rank that it has not seen, so that a
 * value which was replaced is never an old one. Where nobody keeps rounds all
 * are read at once. Values for the node alone go through its memory. */
#include "config.h"

#include "lib/rdzv/foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/fd.h"
#include "lib/base/str.h"

#define HOST_MAX 255u
#define KEY_MAX 255u
#define VALUE_MAX (1u << 20)
#define STORE_MAX ((size_t)1 << 30)
#define STAGED_MAX HB_FOREIGN_ROUND_MAX
#define CARD_MAX 1024u
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_MAX 64u
#define NET_SPACE "/proc/self/ns/net"
#define FULL_KEY_SIZE (KEY_MAX + 16)

struct card {
    uint32_t rank;
    char machine[BOOT_ID_MAX];
    uint64_t net_space;
    char host[HOST_MAX + 1];
    char socket[HB_LOCAL_NAME_SIZE];
    unsigned char address[HB_SEGMENT_ADDRESS_MAX];
    size_t address_len;
};

/* ---- cards ---- */

static void read_machine(struct card *c)
{
    char *text = NULL;
    struct stat st;
    size_t len;

    if (hb_file_read(BOOT_ID, BOOT_ID_MAX, &text, &len, NULL) >= 0) {
        snprintf(c->machine, sizeof c->machine, "%.*s",
                 (int)strcspn(text, "\n"), text);
    }
    free(text);
    c->net_space = stat(NET_SPACE, &st) == 0 ? st.st_ino : 0;
    (void)gethostname(c->host, sizeof c->host - 1);
}

static void put_card(struct hb_buf *b, const struct card *c,
                     const struct hpcboot_error *refusal)
{
    hb_buf_put_u32(b, c->rank);
    hb_buf_put_str(b, c->machine);
    hb_buf_put_u64(b, c->net_space);
    hb_buf_put_str(b, c->host);
    hb_buf_put_str(b, c->socket);
    hb_buf_put_blob(b, c->address, c->address_len);
    hb_buf_put_u32(b, (uint32_t)-refusal->code);
    hb_buf_put_str(b, refusal->text);
}

static int get_card(struct hb_buf *b, struct card *c,
                    struct hpcboot_error *refusal)
{
    uint32_t rank = hb_buf_get_u32(b);
    const char *machine = hb_buf_get_str(b, BOOT_ID_MAX - 1);
    uint64_t space = hb_buf_get_u64(b);
    const char *host = hb_buf_get_str(b, HOST_MAX);
    const char *name = hb_buf_get_str(b, HB_LOCAL_NAME_SIZE - 1);
    struct hb_bytes address = hb_buf_get_blob(b, HB_SEGMENT_ADDRESS_MAX - 1);
    uint32_t code = hb_buf_get_u32(b);
    const char *why = hb_buf_get_str(b, HPCBOOT_ERROR_TEXT_MAX - 1);

    if (hb_buf_failed(b) || code > INT32_MAX) {
        return HPCBOOT_ERR_PROTOCOL;
    }
    c->rank = rank;
    snprintf(c->machine, sizeof c->machine, "%s", machine);
    snprintf(c->host, sizeof c->host, "%s", host);
    snprintf(c->socket, sizeof c->socket, "%s", name);
    c->net_space = space;
    c->address_len = address.len;
    if (address.len > 0) {
        memcpy(c->address, address.data, address.len);
    }
    (void)hb_fail(refusal, -(int)code, "%s", why);
    return 0;
}

static int same_node(const struct card *a, const struct card *b)
{
    return a->net_space == b->net_space && strcmp(a->machine, b->machine) == 0;
}

static int put_address(struct hb_foreign *f, const struct hb_rdzv_spec *spec,
                       struct card *mine, struct hpcboot_error *err)
{
    struct hb_buf address;
    int rc = 0;

    hb_buf_init(&address, HB_SEGMENT_ADDRESS_MAX - 1);
    if (f->r.size > 1) {
        rc = spec->address(spec->arg, &address, err);
    }
    if (rc == 0 && address.len > 0) {
        mine->address_len = address.len;
        memcpy(mine->address, address.data, address.len);
    }
    hb_buf_destroy(&address);
    return rc;
}

/* What this rank needs of its own host. `refusal` has no code where it has all
 * of it. */
static void make_card(struct hb_foreign *f, const struct hb_rdzv_spec *spec,
                      struct card *mine, int *listen_fd,
                      struct hpcboot_error *refusal)
{
    read_machine(mine);
    if (spec->refusal != NULL) {
        *refusal = *spec->refusal;
        return;
    }
    *listen_fd = hb_local_listen(mine->socket, refusal);
    if (*listen_fd >= 0) {
        f->life_fd = hb_local_live(mine->socket, refusal);
    }
    if (f->life_fd >= 0) {
        (void)put_address(f, spec, mine, refusal);
    }
}

static int publish_card(struct hb_foreign *f, const struct hb_rdzv_spec *spec,
                        const struct card *mine,
                        const struct hpcboot_error *refusal,
                        struct hpcboot_error *err)
{
    struct hb_buf b;
    int rc;

    hb_buf_init(&b, CARD_MAX);
    put_card(&b, mine, refusal);
    rc = f->f->publish(f, 0, (struct hb_bytes){b.data, b.len}, err);
    if (rc == 0) {
        rc = f->f->sync(f, 0, 1, spec->deadline_ns, err);
    }
    hb_buf_destroy(&b);
    return rc;
}

static int fetch_card(struct hb_foreign *f, uint32_t rank, struct card *card,
                      struct hpcboot_error *err)
{
    struct hpcboot_error refusal;
    struct hb_buf b;
    int rc;

    hb_buf_init(&b, CARD_MAX);
    rc = f->f->fetch(f, rank, 0, &b, err);
    if (rc == 0 && get_card(&b, card, &refusal) < 0) {
        rc = hb_fail(err, HPCBOOT_ERR_PROTOCOL, "rank %u is of another version "
                     "of hpcboot", rank);
    } else if (rc == 0 && card->rank != rank) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "%s: what rank %u gives is at the "
                     "place of rank %u", f->f->name, card->rank, rank);
    } else if (rc == 0 && refusal.code < 0) {
        rc = hb_fail(err, refusal.code, "rank %u on %s: %s", rank, card->host,
                     refusal.text);
    }
    hb_buf_destroy(&b);
    return rc;
}

static int fetch_cards(struct hb_foreign *f, struct card *cards,
                       struct hpcboot_error *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < f->r.size; i++) {
        rc = fetch_card(f, i, &cards[i], err);
    }
    return rc;
}

/* ---- who is where ---- */

struct table {
    uint32_t *node_of, *local_rank, *n_local; /* n_local by node */
    uint32_t *first;                          /* lowest rank of each node */
    char **names;
    uint32_t n_nodes;
};

static uint32_t node_of_card(struct table *t, const struct card *cards,
                             uint32_t rank)
{
    uint32_t n = 0;

    while (n < t->n_nodes && !same_node(&cards[t->first[n]], &cards[rank])) {
        n++;
    }
    if (n == t->n_nodes) {
        t->first[n] = rank;
        t->names[n] = hb_xstrdup(cards[rank].host);
        t->n_nodes++;
    }
    return n;
}

static void table_fill(struct table *t, const struct card *cards, uint32_t n)
{
    t->node_of = hb_xcalloc(n, sizeof *t->node_of);
    t->local_rank = hb_xcalloc(n, sizeof *t->local_rank);
    t->n_local = hb_xcalloc(n, sizeof *t->n_local);
    t->first = hb_xcalloc(n, sizeof *t->first);
    t->names = hb_xcalloc(n, sizeof *t->names);
    for (uint32_t i = 0; i < n; i++) {
        t->node_of[i] = node_of_card(t, cards, i);
        t->local_rank[i] = t->n_local[t->node_of[i]]++;
    }
}

static void table_free(struct table *t)
{
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        free(t->names[i]);
    }
    free(t->names);
    free(t->node_of);
    free(t->local_rank);
    free(t->n_local);
    free(t->first);
}

/* ---- the memory ---- */

static int make_memory(struct hb_foreign *f, const struct hb_rdzv_spec *spec,
                       const struct table *t, const struct card *cards,
                       struct hpcboot_error *err)
{
    uint32_t node = t->node_of[f->r.rank];
    const struct hb_segment_spec memory = {
        .n_ranks = f->r.size, .n_nodes = t->n_nodes, .node = node,
        .n_local = t->n_local[node], .node_of = t->node_of,
        .local_rank = t->local_rank, .names = t->names,
        .region_bytes = spec->region_bytes((int)t->n_local[node]),
        .region_small = spec->region_small((int)t->n_local[node]),
        .heap_bytes = hb_rdzv_heap_bytes(),
        .heap_least = hb_rdzv_heap_least(),
    };
    int rc = hb_segment_create(&f->r.memory, &memory, err);

    if (rc == 0 && spec->prepare != NULL) {
        spec->prepare(spec->arg, &f->r.memory);
    }
    for (uint32_t i = 0; rc == 0 && t->n_nodes > 1 && i < f->r.size; i++) {
        rc = hb_segment_set_address(&f->r.memory, i, cards[i].address,
                                    cards[i].address_len, err);
    }
    return rc;
}

static int share_memory(struct hb_foreign *f, const struct hb_rdzv_spec *spec,
                        int listen_fd, const struct card *cards,
                        struct hpcboot_error *err)
{
    struct table t = {0};
    uint32_t node;
    int fd, rc;

    table_fill(&t, cards, f->r.size);
    node = t.node_of[f->r.rank];
    if (t.first[node] == f->r.rank) {
        rc = make_memory(f, spec, &t, cards, err);
        if (rc == 0) {
            rc = hb_local_hand_over(listen_fd, f->r.memory.fd,
                                    t.n_local[node] - 1, spec->deadline_ns,
                                    err);
        }
    } else {
        fd = hb_local_receive(cards[t.first[node]].socket, spec->deadline_ns,
                              err);
        rc = fd < 0 ? fd : hb_segment_attach(&f->r.memory, fd, err);
    }
    table_free(&t);
    return rc;
}

/* So many bytes for each rank of this node, and the name of its socket. */
static void keep_names(struct hb_foreign *f, const struct card *cards)
{
    const struct hb_segment *s = &f->r.memory;

    f->names = hb_xcalloc(hb_segment_locals(s), sizeof *f->names);
    for (uint32_t i = 0; i < f->r.size; i++) {
        if (hb_segment_node_of(s)[i] == hb_segment_node(s)) {
            memcpy(f->names[hb_segment_local_rank(s)[i]], cards[i].socket,
                   sizeof *f->names);
        }
    }
}

int hb_foreign_meet(struct hb_foreign *f, const struct hb_rdzv_spec *spec,
                    struct hpcboot_error *err)
{
    struct card mine = {.rank = f->r.rank},
                *cards = hb_xcalloc(f->r.size, sizeof *cards);
    struct hpcboot_error refusal = {0};
    int listen_fd = -1, rc;

    make_card(f, spec, &mine, &listen_fd, &refusal);
    rc = publish_card(f, spec, &mine, &refusal, err);
    if (refusal.code < 0) {
        rc = refusal.code;
        if (err != NULL) {
            *err = refusal;
        }
    }
    if (rc == 0) {
        rc = fetch_cards(f, cards, err);
    }
    if (f->f->drop != NULL) {
        f->f->drop(f);
    }
    if (rc == 0) {
        rc = share_memory(f, spec, listen_fd, cards, err);
    }
    if (rc == 0) {
        keep_names(f, cards);
    }
    f->round = 1;
    for (uint32_t i = 0; i < f->r.size; i++) {
        f->fetched[i] = 1;
    }
    hb_fd_close(&listen_fd);
    free(cards);
    return rc;
}

/* ---- put, get, fence ---- */

static int foreign_put(struct hb_rdzv *r, int node_only, const char *key,
                       struct hb_bytes value, struct hpcboot_error *err)
{
    struct hb_foreign *f = (struct hb_foreign *)r;

    struct hb_buf *staged = node_only ? &f->staged_node : &f->staged;

    if (staged->len + value.len + FULL_KEY_SIZE > STAGED_MAX) {
        return hb_fail(err, HPCBOOT_ERR_LIMIT, "\"%s\": this rank has put %zu "
                       "MiB since the last fence", key, staged->len >> 20);
    }
    hb_buf_put_str(staged, key);
    hb_buf_put_blob(staged, value.data, value.len);
    return 0;
}

static const char *full_key(char buffer[FULL_KEY_SIZE], uint32_t rank,
                            const char *key)
{
    snprintf(buffer, FULL_KEY_SIZE, "%u/%s", rank, key);
    return buffer;
}

struct taking {
    struct hb_foreign *f;
    uint32_t rank;
};

/* {str key, blob value}... of a rank become visible. */
static int take_values(void *arg, struct hb_bytes piece,
                       struct hpcboot_error *err)
{
    const struct taking *t = arg;
    char buffer[FULL_KEY_SIZE];
    struct hb_buf b;
    int rc = 0;

    hb_buf_view(&b, piece.data, piece.len);
    while (rc >= 0 && hb_buf_left(&b) > 0) {
        const char *key = hb_buf_get_str(&b, KEY_MAX);
        struct hb_bytes value = hb_buf_get_blob(&b, VALUE_MAX);

        rc = hb_buf_failed(&b)
                 ? hb_fail(err, HPCBOOT_ERR_PROTOCOL, "what rank %u has put is "
                           "malformed", t->rank)
                 : hb_kvs_put(t->f->visible, full_key(buffer, t->rank, key),
                              value, HB_KVS_REPLACE, err);
    }
    return rc < 0 ? rc : 0;
}

static int take_round(struct hb_foreign *f, uint32_t rank,
                      struct hpcboot_error *err)
{
    struct taking t = {f, rank};
    struct hb_buf b;
    int rc;

    hb_buf_init(&b, STAGED_MAX);
    rc = f->f->fetch(f, rank, f->fetched[rank], &b, err);
    if (rc == 0) {
        rc = take_values(&t, (struct hb_bytes){b.data, b.len}, err);
    }
    hb_buf_destroy(&b);
    if (rc == 0) {
        f->fetched[rank]++;
    }
    return rc;
}

static int foreign_get(struct hb_rdzv *r, uint32_t rank, const char *key,
                       void **value_out, size_t *size_out,
                       struct hpcboot_error *err)
{
    struct hb_foreign *f = (struct hb_foreign *)r;
    struct taking t = {f, rank};
    char buffer[FULL_KEY_SIZE], *copy;
    struct hb_bytes value;

    if (hb_segment_node_of(&r->memory)[rank] == hb_segment_node(&r->memory)) {
        uint32_t local = hb_segment_local_rank(&r->memory)[rank];
        int rc = hb_node_take(&r->memory, local, &f->seen[local], take_values,
                              &t, err);

        if (rc < 0) {
            return rc;
        }
    }
    while (f->fetched[rank] < f->round) {
        int rc = take_round(f, rank, err);

        if (rc < 0) {
            return rc;
        }
    }
    if (!hb_kvs_get(f->visible, full_key(buffer, rank, key), &value)) {
        return hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "rank %u has put nothing as "
                       "\"%s\" that a fence has made visible", rank, key);
    }
    copy = hb_xmalloc(value.len + 1);
    memcpy(copy, value.data, value.len + 1);
    *value_out = copy;
    *size_out = value.len;
    return 0;
}

/* Once per round: others may have read what a fence before this one, whose
 * deadline has passed, has published. */
static int publish_round(struct hb_foreign *f, struct hpcboot_error *err)
{
    struct hb_bytes blob = {f->staged.data, f->staged.len};
    int rc = f->published ? 0 : f->f->publish(f, f->round, blob, err);

    if (rc == 0 && !f->published) {
        f->published = 1;
        f->published_len = blob.len;
    }
    return rc;
}

/* What cannot be read now never can. */
static int take_all(struct hb_foreign *f, struct hpcboot_error *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < f->r.size; i++) {
        int one = take_round(f, i, rc == 0 ? err : NULL);

        rc = rc == 0 ? one : rc;
        f->fetched[i] = f->round;
    }
    f->f->drop(f);
    return rc;
}

static void drop_published(struct hb_foreign *f)
{
    hb_buf_skip(&f->staged, f->published_len);
    hb_buf_compact(&f->staged);
    f->published = 0;
}

static int end_round(struct hb_foreign *f, struct hpcboot_error *err)
{
    drop_published(f);
    f->round++;
    return f->f->drop != NULL ? take_all(f, err) : 0;
}

static int foreign_fence(struct hb_rdzv *r, int node_only, int collect,
                         int64_t deadline_ns, struct hpcboot_error *err)
{
    struct hb_foreign *f = (struct hb_foreign *)r;
    uint32_t local = hb_segment_local_rank(&r->memory)[r->rank];
    int rc = hb_node_publish(&r->memory, local, &f->staged_node, err);

    if (rc < 0 || node_only) {
        return rc < 0 ? rc : hb_node_meet(r, deadline_ns, err);
    }
    rc = publish_round(f, err);
    if (rc == 0) {
        rc = f->f->sync(f, f->round, collect, deadline_ns, err);
    }
    if (rc == HPCBOOT_ERR_LIMIT) { /* at all ranks, and would be again */
        drop_published(f);
    }
    return rc == 0 ? end_round(f, err) : rc;
}

static int has_died(const struct hb_foreign *f, uint32_t rank)
{
    const struct hb_segment *s = &f->r.memory;
    uint32_t local = hb_segment_local_rank(s)[rank];
    const struct hb_segment_slot *slot = hb_segment_slot(s, local);

    return rank != f->r.rank && atomic_load(&slot->state) != HB_RANK_DEAD &&
           hb_local_is_gone(f->names[local]) &&
           atomic_load(&slot->state) != HB_RANK_OUT; /* it said so before */
}

static int foreign_look(struct hb_rdzv *r)
{
    struct hb_foreign *f = (struct hb_foreign *)r;
    struct hb_segment *s = &r->memory;
    char text[HB_DEATH_TEXT_MAX];
    int found = 0;

    for (uint32_t i = 0; i < r->size; i++) {
        if (hb_segment_node_of(s)[i] == hb_segment_node(s) && has_died(f, i)) {
            snprintf(text, sizeof text, "rank %u on %s has ended without "
                     "hpcboot_finalize", i,
                     hb_segment_name(s, hb_segment_node(s)));
            found += hb_segment_mark_dead(
                s, (int)hb_segment_local_rank(s)[r->rank], i, text) > 0;
        }
    }
    return found;
}

static int foreign_finalize(struct hb_rdzv *r, struct hpcboot_error *err)
{
    struct hb_foreign *f = (struct hb_foreign *)r;

    return f->f->finalize(f, err);
}

static void foreign_destroy(struct hb_rdzv *r)
{
    hb_foreign_destroy((struct hb_foreign *)r);
}

void hb_foreign_init(struct hb_foreign *f, const struct hb_foreign_ops *ops,
                     struct hb_rdzv_ops *client)
{
    *client = (struct hb_rdzv_ops){
        .name = ops->name, .put = foreign_put, .get = foreign_get,
        .fence = foreign_fence, .look = foreign_look,
        .finalize = foreign_finalize,
        .destroy = foreign_destroy,
    };
    f->r.ops = client;
    f->r.memory = (struct hb_segment)HB_SEGMENT_INIT;
    f->f = ops;
    f->life_fd = -1;
    (void)hb_kvs_create(&f->visible, STORE_MAX, NULL);
    hb_buf_init(&f->staged, STAGED_MAX);
    hb_buf_init(&f->staged_node, STAGED_MAX);
    f->seen = hb_xcalloc(f->r.size, sizeof *f->seen);
    f->fetched = hb_xcalloc(f->r.size, sizeof *f->fetched);
}

void hb_foreign_destroy(struct hb_foreign *f)
{
    hb_kvs_destroy(f->visible);
    hb_buf_destroy(&f->staged);
    hb_buf_destroy(&f->staged_node);
    free(f->fetched);
    free(f->seen);
    free(f->names);
    hb_fd_close(&f->life_fd);
    f->f->destroy(f);
}
