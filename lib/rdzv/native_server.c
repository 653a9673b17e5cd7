/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Meeting: a rank that says hello, fence or finalize waits until all local
 * ranks have said the same. What concerns the node alone is then answered; of
 * the rest one contribution goes to the fence engine, and its result is the
 * answer. A rank that ends without finalize fails those who wait, and those
 * who come later, by name; finalize alone goes on without the dead.
 *
 * Values are native_store.c's; this file moves frames and meetings. */
#include "config.h"

#include "lib/rdzv/native_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/collected.h"
#include "lib/base/str.h"
#include "lib/rdzv/native_impl.h"
#include "lib/rdzv/native_store.h"

#define CONTACT_CONNECTED 1u
#define CONTACT_INIT 2u
#define CONTACT_FINAL 4u
#define ADDRESS_MAX (HB_SEGMENT_ADDRESS_MAX - 1)

struct hb_native_server *
hb_native_server_create(const struct hb_native_job *job,
                        const struct hb_native_host *host, void *arg)
{
    struct hb_native_server *s = hb_xcalloc(1, sizeof *s);
    uint32_t *local = NULL;

    s->job = *job;
    s->host = *host;
    s->arg = arg;
    s->memory = (struct hb_segment)HB_SEGMENT_INIT;
    s->n_local = job->map->local_size[job->node];
    s->peers = hb_xcalloc(s->n_local, sizeof *s->peers);
    hb_jobmap_ranks_of_node(job->map, job->node, &local);
    for (uint32_t i = 0; i < s->n_local; i++) {
        s->peers[i].rank = local[i];
        hb_buf_init(&s->peers[i].address, ADDRESS_MAX);
    }
    free(local);
    s->nodes = hb_xcalloc(job->map->n_nodes, sizeof *s->nodes);
    for (uint32_t i = 0; i < job->map->n_nodes; i++) {
        s->nodes[i] = i;
    }
    s->store = hb_native_store_create(job->map, job->node);
    return s;
}

void hb_native_server_destroy(struct hb_native_server *s)
{
    if (s == NULL) {
        return;
    }
    while (s->conns != NULL) {
        hb_native_conn_close(s->conns);
    }
    for (uint32_t i = 0; i < s->n_local; i++) {
        hb_buf_destroy(&s->peers[i].address);
    }
    hb_native_store_destroy(s->store);
    hb_segment_close(&s->memory);
    free(s->peers);
    free(s->nodes);
    free(s);
}

struct peer *hb_native_peer(struct hb_native_server *s, int64_t rank)
{
    const struct hb_jobmap *map = s->job.map;

    if (rank < 0 || rank >= map->n_ranks ||
        map->node_of_rank[rank] != s->job.node) {
        return NULL;
    }
    return &s->peers[map->local_rank[rank]];
}

static void answer_fd(struct peer *p, int status, const char *text,
                      struct hb_bytes value, int fd)
{
    struct hb_native_conn *c = p->conn;
    struct hb_buf b;
    size_t begun;

    p->waits = NOWHERE;
    p->asked = 0;
    if (c == NULL) {
        return;
    }
    hb_buf_init(&b, HB_NATIVE_FRAME_MAX + 64);
    begun = hb_native_begin(&b, HB_NATIVE_ANSWER);
    hb_buf_put_i32(&b, status);
    hb_buf_put_str(&b, text);
    hb_buf_put_blob(&b, value.data, value.len);
    hb_native_end(&b, begun);
    c->server->host.send(c->server->arg, c->arg, b.data, b.len, fd);
    hb_buf_destroy(&b);
}

static void answer(struct peer *p, int status, const char *text)
{
    answer_fd(p, status, text, (struct hb_bytes){NULL, 0}, -1);
}

/* Answers all who wait for a meeting (NOWHERE: any). */
static void answer_all(struct hb_native_server *s, enum meeting m, int status,
                       const char *text)
{
    for (uint32_t i = 0; i < s->n_local; i++) {
        struct peer *p = &s->peers[i];

        if (p->waits != NOWHERE && (m == NOWHERE || p->waits == m)) {
            answer(p, status, text);
        }
    }
}

static void fail_for_death(struct hb_native_server *s, enum meeting m)
{
    struct hb_str text = HB_STR_INIT;

    hb_str_putf(&text, "%s%s", s->dead[0] != '\0' ? s->dead : s->left,
                m == HELLO ? "; no rank can begin without it" : "");
    answer_all(s, m, HPCBOOT_ERR_PEER_DEAD, hb_str_text(&text));
    hb_str_destroy(&text);
}

static void put_addresses(struct hb_native_server *s, struct hb_buf *data)
{
    for (uint32_t i = 0; i < s->n_local; i++) {
        struct peer *p = &s->peers[i];

        if (p->address.len > 0) {
            hb_buf_put_u32(data, p->rank);
            hb_buf_put_blob(data, p->address.data, p->address.len);
        }
    }
}

/* This node's part of a fence of the whole job. */
static void contribute(struct hb_native_server *s, enum meeting m)
{
    unsigned collect = 0;
    struct hb_str key = HB_STR_INIT;
    struct hb_buf data;

    hb_str_putf(&key, HB_NATIVE_FENCE_PREFIX "%u/%u/%d/%u", s->job.epoch,
                s->generation, (int)m, m == JOB_FENCE ? s->round : 0);
    hb_buf_init(&data, HB_FENCE_DATA_MAX / 2);
    for (uint32_t i = 0; i < s->n_local; i++) {
        collect |= s->peers[i].collect;
    }
    if (m == HELLO) {
        put_addresses(s, &data);
    } else if (m == JOB_FENCE) {
        s->round++;
        hb_native_store_commit(s->store, 0);
        hb_buf_put_u8(&data, collect != 0);
        if (collect) {
            hb_native_store_collect(s->store, &data);
        }
    }
    s->open = m;
    if (hb_buf_failed(&data)) {
        s->open = NOWHERE;
        answer_all(s, m, HPCBOOT_ERR_LIMIT, "the ranks of this node have put "
                   "more than a fence can carry");
    } else {
        struct hb_bytes k = {hb_str_text(&key), key.len};
        struct hb_bytes d = {data.data, data.len};

        s->host.fence(s->arg, k, s->nodes, s->job.map->n_nodes, d);
    }
    hb_buf_destroy(&data);
    hb_str_destroy(&key);
}

/* Looks whether all who can come have come. */
static void meet(struct hb_native_server *s)
{
    enum meeting m = NOWHERE;
    uint32_t waiting = 0, living = 0;

    for (uint32_t i = 0; i < s->n_local; i++) {
        const struct peer *p = &s->peers[i];

        living += !p->gone;
        waiting += p->waits != NOWHERE && !p->gone;
        if (p->waits != NOWHERE && m != NOWHERE && p->waits != m) {
            m = FINALIZE + 1;
        } else if (p->waits != NOWHERE) {
            m = p->waits;
        }
    }
    if (waiting < living || s->open != NOWHERE) {
        return;
    }
    if (m == FINALIZE + 1) {
        answer_all(s, NOWHERE, HPCBOOT_ERR_USAGE, "the ranks of this node do "
                   "not wait for the same: some are in hpcboot_fence, others "
                   "in a fence of another scope, hpcboot_init or "
                   "hpcboot_finalize");
    } else if (m == NODE_FENCE) {
        hb_native_store_commit(s->store, 1);
        answer_all(s, m, HPCBOOT_OK, "");
    } else if (m != NOWHERE || (living == 0 && s->memory.base != NULL)) {
        /* Nobody is left here: the others shall be able to finalise. */
        contribute(s, m != NOWHERE ? m : FINALIZE);
    }
}

static void join(struct peer *p, struct hb_native_server *s, enum meeting m,
                 unsigned collect)
{
    p->waits = m;
    p->collect = collect;
    if ((s->dead[0] != '\0' && m != FINALIZE) ||
        (s->left[0] != '\0' && m == HELLO)) {
        fail_for_death(s, m);
        return;
    }
    meet(s);
}

/* The answer to hello carries the memory, with all addresses in it. */
static void welcome(struct hb_native_server *s)
{
    for (uint32_t i = 0; i < s->n_local; i++) {
        struct peer *p = &s->peers[i];

        if (p->waits == HELLO) {
            p->in = 1;
            answer_fd(p, HPCBOOT_OK, "", (struct hb_bytes){NULL, 0},
                      s->memory.fd);
        }
    }
}

static void farewell(struct hb_native_server *s)
{
    for (uint32_t i = 0; i < s->n_local; i++) {
        struct peer *p = &s->peers[i];

        if (p->waits == FINALIZE) {
            p->in = 0;
            hb_buf_clear(&p->address);
            s->host.contact(s->arg, p->rank, CONTACT_CONNECTED | CONTACT_INIT |
                                                 CONTACT_FINAL);
            answer(p, HPCBOOT_OK, "");
        }
    }
    hb_segment_close(&s->memory);
    hb_native_store_clear(s->store);
    s->generation++;
}

static int take_addresses(struct hb_native_server *s, struct hb_bytes data,
                          struct hpcboot_error *err)
{
    struct hb_bytes blob;
    struct hb_buf view, part;
    uint32_t node;
    int rc;

    hb_buf_view(&view, data.data, data.len);
    while ((rc = hb_fence_data_next(&view, &node, &blob)) > 0) {
        hb_buf_view(&part, blob.data, blob.len);
        while (rc > 0 && hb_buf_left(&part) > 0) {
            uint32_t rank = hb_buf_get_u32(&part);
            struct hb_bytes a = hb_buf_get_blob(&part, ADDRESS_MAX);

            if (hb_buf_failed(&part) ||
                hb_segment_set_address(&s->memory, rank, a.data, a.len,
                                       err) < 0) {
                return hb_fail(err, HPCBOOT_ERR_PROTOCOL,
                               "the addresses of node %u are malformed", node);
            }
        }
    }
    return rc;
}

void hb_native_fence_done(struct hb_native_server *s, struct hb_bytes key,
                          int status, struct hb_bytes data)
{
    struct hpcboot_error err = {0};
    enum meeting m = s->open;
    int rc = status;

    s->open = NOWHERE;
    hb_fail(&err, status, "%s", s->dead[0] != '\0' ? s->dead
            : "a host of the job is lost");
    if (rc >= 0 && m == HELLO) {
        rc = take_addresses(s, data, &err);
    } else if (rc >= 0 && m == JOB_FENCE) {
        rc = hb_native_store_merge(s->store, data, &err);
    }
    if (m == FINALIZE) {
        farewell(s);
    } else if (rc < 0) {
        answer_all(s, m, rc, err.text);
    } else if (m == HELLO) {
        welcome(s);
    } else {
        answer_all(s, m, HPCBOOT_OK, "");
    }
    meet(s);
}

/* ---- what ranks say ---- */

static int on_hello(struct hb_native_conn *c, struct hb_buf *b,
                    struct hpcboot_error *err)
{
    struct hb_native_server *s = c->server;
    uint32_t version = hb_buf_get_u32(b), rank = hb_buf_get_u32(b);
    const char *token = hb_buf_get_str(b, HB_NATIVE_TOKEN_MAX);
    struct hb_bytes address = hb_buf_get_blob(b, ADDRESS_MAX);
    struct peer *p = hb_native_peer(s, rank);
    struct hpcboot_error why = {0};

    if (hb_buf_failed(b) || version != HB_NATIVE_VERSION) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "it is of another version of "
                       "hpcboot");
    }
    if (p == NULL || (c->rank >= 0 && c->rank != rank) ||
        (c->rank < 0 && strcmp(token, s->job.token) != 0)) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "it says to be rank %u, and "
                       "cannot be", rank);
    }
    if (p->in || p->waits != NOWHERE) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "rank %u has a process "
                       "already", rank);
    }
    c->rank = rank;
    p->conn = c;
    hb_buf_clear(&p->address);
    hb_buf_put_raw(&p->address, address.data, address.len);
    if (s->memory.base == NULL &&
        s->host.memory(s->arg, &s->memory, &why) < 0) {
        answer(p, why.code, why.text);
        return 0;
    }
    s->host.contact(s->arg, p->rank, CONTACT_CONNECTED | CONTACT_INIT);
    join(p, s, HELLO, 0);
    return 0;
}

static int on_put(struct peer *p, struct hb_native_server *s,
                  struct hb_buf *b, struct hpcboot_error *err)
{
    unsigned scope = hb_buf_get_u8(b);
    const char *key = hb_buf_get_str(b, HB_NATIVE_KEY_MAX);
    struct hb_bytes value = hb_buf_get_blob(b, HB_NATIVE_VALUE_MAX);
    struct hpcboot_error why = {0};
    int rc;

    if (hb_buf_failed(b)) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a malformed PUT");
    }
    rc = hb_native_store_put(s->store, p->rank, scope != 0, key, value, &why);
    answer(p, rc, rc < 0 ? why.text : "");
    return 0;
}

/* The answer, or 0 when another node has to be asked. */
static int give(struct peer *p, struct hb_native_server *s)
{
    struct hb_bytes value = {NULL, 0};
    struct hb_str text = HB_STR_INIT;
    int rc = hb_native_store_get(s->store, p->key_rank, p->key, &value);

    if (rc == HPCBOOT_ERR_AGAIN) {
        return 0;
    }
    if (rc < 0) {
        hb_str_putf(&text, "rank %u has put nothing as '%s' that a fence has "
                    "made visible", p->key_rank, p->key);
    }
    answer_fd(p, rc < 0 ? rc : 0, hb_str_text(&text), value, -1);
    hb_str_destroy(&text);
    return 1;
}

static int on_get(struct peer *p, struct hb_native_server *s,
                  struct hb_buf *b, struct hpcboot_error *err)
{
    const char *key;

    p->key_rank = hb_buf_get_u32(b);
    key = hb_buf_get_str(b, HB_NATIVE_KEY_MAX);
    if (hb_buf_failed(b) || p->key_rank >= s->job.map->n_ranks) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a malformed GET");
    }
    snprintf(p->key, sizeof p->key, "%s", key);
    if (!give(p, s)) {
        p->asked = 1;
        s->host.modex(s->arg, HB_NATIVE_MODEX_BIT | (uint32_t)(p - s->peers),
                      p->key_rank);
    }
    return 0;
}

void hb_native_modex_done(struct hb_native_server *s, uint64_t id, int status,
                          struct hb_bytes data)
{
    uint64_t local = id & ~HB_NATIVE_MODEX_BIT;
    struct hpcboot_error err = {0};
    struct peer *p;

    if (local >= s->n_local || !s->peers[local].asked) {
        return;
    }
    p = &s->peers[local];
    hb_fail(&err, status, "rank %u is gone, and '%s' with it", p->key_rank,
            p->key);
    if (status >= 0) {
        status = hb_native_store_take(s->store, p->key_rank, data, &err);
    }
    if (status < 0) {
        answer(p, status, err.text);
    } else {
        (void)give(p, s);
    }
}

int hb_native_modex_serve(struct hb_native_server *s, uint32_t rank,
                          struct hb_buf *b)
{
    return hb_native_peer(s, rank) != NULL
               ? hb_native_store_give(s->store, rank, b)
               : HPCBOOT_ERR_NOT_FOUND;
}

int hb_native_on_frame(struct hb_native_conn *c, enum hb_native_kind kind,
                       struct hb_bytes body, struct hpcboot_error *err)
{
    struct hb_native_server *s = c->server;
    struct peer *p = hb_native_peer(s, c->rank);
    struct hb_buf b;

    hb_buf_view(&b, body.data, body.len);
    if (kind == HB_NATIVE_HELLO) {
        return on_hello(c, &b, err);
    }
    if (p == NULL || p->conn != c || !p->in || p->waits || p->asked) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a question out of turn");
    }
    switch (kind) {
    case HB_NATIVE_PUT:
        return on_put(p, s, &b, err);
    case HB_NATIVE_GET:
        return on_get(p, s, &b, err);
    case HB_NATIVE_FENCE: {
        unsigned scope = hb_buf_get_u8(&b), collect = hb_buf_get_u8(&b);

        join(p, s, scope != 0 ? NODE_FENCE : JOB_FENCE, collect != 0);
        return 0;
    }
    case HB_NATIVE_FINALIZE:
        join(p, s, FINALIZE, 0);
        return 0;
    case HB_NATIVE_ABORT: {
        int code = hb_buf_get_i32(&b);

        s->host.abort(s->arg, p->rank, code,
                      hb_buf_get_str(&b, HB_NATIVE_TEXT_MAX));
        return 0;
    }
    default:
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a frame of kind %d",
                       (int)kind);
    }
}

static void note_death(struct hb_native_server *s, uint32_t rank,
                       const char *text)
{
    if (s->dead[0] == '\0') {
        snprintf(s->dead, sizeof s->dead, "%s", text);
    }
    if (s->memory.base != NULL &&
        hb_segment_mark_dead(&s->memory, rank, s->job.epoch, text)) {
        s->host.alarm(s->arg, &s->memory);
    }
    for (enum meeting m = HELLO; m < FINALIZE; m++) {
        fail_for_death(s, m);
    }
}

void hb_native_rank_gone(struct hb_native_server *s, uint32_t rank,
                         const char *text)
{
    struct peer *p = hb_native_peer(s, rank);

    if (p == NULL || p->gone) {
        return;
    }
    p->gone = 1;
    if (s->left[0] == '\0') {
        snprintf(s->left, sizeof s->left, "%s", text);
    }
    if (p->in || p->waits != NOWHERE) {
        p->in = 0;
        p->waits = NOWHERE;
        note_death(s, rank, text);
    } else {
        fail_for_death(s, HELLO);
    }
    meet(s);
}

void hb_native_peer_dead(struct hb_native_server *s, uint32_t rank,
                         const char *text)
{
    if (hb_native_peer(s, rank) == NULL && rank < s->job.map->n_ranks) {
        note_death(s, rank, text);
        meet(s);
    }
}
