/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What ranks say, one frame at a time, and what is answered: meetings are
 * native_meet.c's, values native_store.c's. Who has died is told by the agent,
 * and kept here. */
#include "config.h"

#include "lib/rdzv/native_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/collected.h"
#include "lib/base/str.h"
#include "lib/rdzv/native_impl.h"

#define MISSING_NAMED 8 /* ranks, in a text */

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
    s->out = hb_xcalloc(job->map->n_ranks, 1);
    s->is_dead = hb_xcalloc(job->map->n_ranks, 1);
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
    hb_native_drop_memory(s);
    free(s->untold);
    free(s->peers);
    free(s->nodes);
    free(s->out);
    free(s->is_dead);
    free(s);
}

void hb_native_drop_memory(struct hb_native_server *s)
{
    hb_segment_close(&s->memory);
    s->n_looked = s->n_untold = 0;
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

/* ---- what ranks say ---- */

/* A program of the rank's, or another copy of the library in it. On a socket of
 * its own it is told so; on the rank's nobody knows whose the answers are. */
static int refuse_second(struct hb_native_conn *c, const struct peer *p,
                         struct hpcboot_error *err)
{
    struct hpcboot_error why = {0};

    hb_fail(&why, HPCBOOT_ERR_USAGE, "rank %u has a process that has called "
            "hpcboot_init and has not ended: it can have one at a time",
            p->rank);
    if (p->conn == c) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_init was called twice "
                       "on the socket of rank %u, by two processes or two "
                       "copies of libhpcboot; both are cut off", p->rank);
    }
    hb_native_refuse(c, why.code, why.text);
    return 0;
}

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
        (c->rank < 0 && !hb_secret_streq(token, s->job.token))) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "it says to be rank %u, and "
                       "cannot be", rank);
    }
    if (p->in || p->waits != NOWHERE) {
        return refuse_second(c, p, err);
    }
    c->rank = rank;
    p->conn = c;
    hb_native_forget_fence(p);
    hb_buf_clear(&p->address);
    hb_buf_put_raw(&p->address, address.data, address.len);
    if (s->memory.base == NULL &&
        s->host.memory(s->arg, s->job.map, &s->memory, &why) < 0) {
        hb_native_reply(p, why.code, why.text);
        return 0;
    }
    s->host.contact(s->arg, p->rank, CONTACT_CONNECTED | CONTACT_INIT);
    hb_native_join(p, s, HELLO, 0);
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
    hb_native_reply(p, rc, rc < 0 ? why.text : "");
    return 0;
}

static int on_fence(struct peer *p, struct hb_native_server *s,
                    struct hb_buf *b, struct hpcboot_error *err)
{
    enum meeting m = hb_buf_get_u8(b) != 0 ? NODE_FENCE : JOB_FENCE;
    unsigned collect = hb_buf_get_u8(b);
    int rc = hb_native_members(s, b, err);

    if (rc < 0) {
        return rc;
    }
    if (hb_buf_failed(b)) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a malformed FENCE");
    }
    if (rc == 0) {
        hb_native_reply(p, HPCBOOT_ERR_PEER_DEAD, s->dead[0] != '\0' ? s->dead
               : "the members of the job have changed");
    } else if (m == JOB_FENCE && p->owed) {
        p->owed = 0;
        hb_native_reply(p, p->ended.code, p->ended.text);
    } else {
        hb_native_join(p, s, m, collect != 0);
    }
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
        hb_str_putf(&text, "rank %u has put nothing as \"%s\" that a fence has "
                    "made visible", p->key_rank, p->key);
    }
    hb_native_answer(p, rc < 0 ? rc : 0, hb_str_text(&text), value, -1);
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

/* The launcher tells of a death before it says that nobody answers. */
static void tell_missing_value(struct peer *p,
                               const struct hb_native_server *s, int status)
{
    const char *death = hb_native_death(s, p->key_rank);
    struct hb_str text = HB_STR_INIT;

    if (status == HPCBOOT_ERR_LIMIT) {
        hb_str_putf(&text, "\"%s\": rank %u has put more than %u MiB, which is "
                    "all that another host can ask for; with HPCBOOT_COLLECT "
                    "each hpcboot_fence brings what was put before it",
                    p->key, p->key_rank, HB_FENCE_DATA_MAX >> 20);
    } else if (death != NULL) {
        hb_str_putf(&text, "%s; \"%s\" is gone with it", death, p->key);
    } else {
        hb_str_putf(&text, "rank %u is gone, and \"%s\" with it", p->key_rank,
                    p->key);
    }
    hb_native_reply(p, status, hb_str_text(&text));
    hb_str_destroy(&text);
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
    if (status < 0) {
        tell_missing_value(p, s, status);
        return;
    }
    status = hb_native_store_take(s->store, p->key_rank, data, &err);
    if (status < 0) {
        hb_native_reply(p, status, err.text);
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

/* Appends those who have not come to a meeting, or were there and gave up. */
static uint32_t put_absent(const struct hb_native_server *s, enum meeting m,
                           int gave_up, struct hb_str *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < s->n_local; i++) {
        const struct peer *p = &s->peers[i];

        if (!p->gone && p->waits != m && (p->gave_up == m) == gave_up &&
            n++ < MISSING_NAMED) {
            hb_str_putf(out, n > 1 ? ", %u" : "%u", p->rank);
        }
    }
    if (n > MISSING_NAMED) {
        hb_str_putf(out, " and %u more", n - MISSING_NAMED);
    }
    return n;
}

/* Whom a fence waits for, as far as this node knows. */
static void tell_missing(const struct hb_native_server *s, enum meeting m,
                         struct hb_str *out)
{
    struct hb_str names = HB_STR_INIT;
    int gave_up = 0;
    uint32_t n = 0;

    if (s->open != m) {
        n = put_absent(s, m, 0, &names);
        gave_up = n == 0;
        n += gave_up ? put_absent(s, m, 1, &names) : 0;
    }
    hb_str_putf(out, "hpcboot_fence%s: ", m == NODE_FENCE ? " of a node" : "");
    if (n == 0) {
        hb_str_put(out, "all ranks of this host have come, and not all of the "
                   "others");
    } else {
        hb_str_putf(out, "rank%s %s of this host ha%s %s", n > 1 ? "s" : "",
                    hb_str_text(&names), n > 1 ? "ve" : "s",
                    gave_up ? "come and given up" : "not come");
    }
    hb_str_put(out, " before the deadline");
    hb_str_destroy(&names);
}

/* Its place in a fence is free; its answer may be on its way. One that the
 * other nodes have been told of has it all the same, and ends for it, too. */
static int on_withdraw(struct peer *p, const struct hb_native_server *s)
{
    struct hb_str text = HB_STR_INIT;

    if (p->waits == NODE_FENCE || p->waits == JOB_FENCE) {
        tell_missing(s, p->waits, &text);
        p->gave_up = p->waits;
        p->away |= p->waits == JOB_FENCE && s->open == JOB_FENCE;
        hb_native_reply(p, HPCBOOT_ERR_TIMED_OUT, hb_str_text(&text));
    }
    hb_str_destroy(&text);
    return 0;
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
    if (kind == HB_NATIVE_WITHDRAW && p != NULL && p->conn == c) {
        return on_withdraw(p, s);
    }
    if (p != NULL && p->conn == c && p->gone && !p->in) {
        return 0; /* it has asked, and ended before that was read */
    }
    if (p == NULL || p->conn != c || !p->in || p->waits || p->asked) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a question out of turn");
    }
    switch (kind) {
    case HB_NATIVE_PUT:
        return on_put(p, s, &b, err);
    case HB_NATIVE_GET:
        return on_get(p, s, &b, err);
    case HB_NATIVE_FENCE:
        return on_fence(p, s, &b, err);
    case HB_NATIVE_FINALIZE:
        hb_native_join(p, s, FINALIZE, 0);
        return 0;
    case HB_NATIVE_ABORT: {
        int code = hb_buf_get_i32(&b);

        s->host.abort(s->arg, p->rank, code,
                      hb_buf_get_str(&b, HB_NATIVE_TEXT_MAX));
        return 0;
    }
    case HB_NATIVE_NOTE:
        s->host.note(s->arg, p->rank,
                     hb_buf_get_str(&b, HB_NATIVE_TEXT_MAX));
        return 0;
    default:
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a frame of kind %d",
                       (int)kind);
    }
}

/* ---- a job that grows ---- */

static void make_room(struct hb_native_server *s, uint32_t had_ranks)
{
    const struct hb_jobmap *map = s->job.map;

    s->nodes = hb_xrealloc(s->nodes, map->n_nodes * sizeof *s->nodes);
    for (uint32_t i = 0; i < map->n_nodes; i++) {
        s->nodes[i] = i;
    }
    s->out = hb_xrealloc(s->out, map->n_ranks);
    s->is_dead = hb_xrealloc(s->is_dead, map->n_ranks);
    memset(s->out, 0, map->n_ranks);
    memset(s->is_dead + had_ranks, 0, map->n_ranks - had_ranks);
    hb_native_store_destroy(s->store);
    s->store = hb_native_store_create(map, s->job.node);
}

void hb_native_take_next(struct hb_native_server *s)
{
    uint32_t had_ranks = s->job.map->n_ranks;
    struct hpcboot_error why = {0};
    int rc = 0;

    for (uint32_t i = 0; i < s->n_local; i++) {
        if (s->peers[i].in) {
            return;
        }
    }
    if (s->next.map == NULL) {
        return;
    }
    s->job.map = s->next.map;
    s->job.world = s->next.world;
    s->next.map = NULL;
    s->generation = s->round = s->members = 0;
    make_room(s, had_ranks);
    if (s->memory.base != NULL) { /* some wait in hello */
        hb_native_drop_memory(s);
        rc = s->host.memory(s->arg, s->job.map, &s->memory, &why);
    }
    s->open = NOWHERE;
    s->open_key[0] = '\0';
    if (rc < 0) {
        hb_native_give_up(s, HELLO, why.text);
    }
    hb_native_meet(s);
}

/* What those who wait in hello will see is made anew, as nobody has seen it. */
static void take_names(struct hb_native_server *s, const struct hb_jobmap *map)
{
    struct hpcboot_error why = {0};

    for (uint32_t i = 0; i < s->n_local; i++) {
        if (s->peers[i].in) {
            return;
        }
    }
    s->job.map = map;
    if (s->memory.base != NULL) {
        hb_native_drop_memory(s);
        if (s->host.memory(s->arg, map, &s->memory, &why) < 0) {
            hb_native_give_up(s, HELLO, why.text);
        }
    }
}

void hb_native_grown(struct hb_native_server *s, const struct hb_jobmap *map,
                     uint32_t world, const uint32_t *ranks, uint32_t n)
{
    const struct hb_jobmap *now = s->job.map;

    for (uint32_t i = 0; i < n; i++) {
        if (ranks[i] < now->n_ranks) {
            s->is_dead[ranks[i]] = 0;
        }
    }
    if (memchr(s->is_dead, 1, now->n_ranks) == NULL) {
        s->dead[0] = '\0';
    }
    if (world == s->job.world && map->n_ranks == now->n_ranks) {
        if (!hb_jobmap_names_agree(now, map)) {
            take_names(s, map);
        }
        return; /* else its ranks are those that begin */
    }
    s->next = s->job;
    s->next.map = map;
    s->next.world = world;
    hb_native_take_next(s);
}

int hb_native_holds(const struct hb_native_server *s,
                    const struct hb_jobmap *map)
{
    return map == s->job.map || map == s->next.map ||
           map == hb_native_store_map(s->store);
}

void hb_native_tell(struct hb_native_server *s, enum hb_news_kind kind,
                    uint32_t rank, const char *text)
{
    if (s->memory.base != NULL &&
        hb_segment_tell(&s->memory, kind, rank, text)) {
        s->host.alarm(s->arg, &s->memory);
    }
}

/* In their order, as far as the memory's lock can be had. */
static void tell_deaths(struct hb_native_server *s)
{
    uint32_t told = 0;
    int rc = 0, news = 0;

    while (told < s->n_untold) {
        const struct untold *u = &s->untold[told];

        rc = hb_segment_mark_dead(&s->memory, -1, u->rank, u->text);
        if (rc < 0) {
            break;
        }
        news |= rc;
        told++;
    }
    s->n_untold -= told;
    memmove(s->untold, s->untold + told, s->n_untold * sizeof *s->untold);
    if (news) {
        s->host.alarm(s->arg, &s->memory);
    }
    if (rc < 0) {
        s->host.later(s->arg);
    }
}

static void tell_death(struct hb_native_server *s, uint32_t rank,
                       const char *text)
{
    struct untold *u;

    s->untold = hb_xrealloc(s->untold,
                            (s->n_untold + 1) * sizeof *s->untold);
    u = &s->untold[s->n_untold++];
    u->rank = rank;
    snprintf(u->text, sizeof u->text, "%s", text);
    tell_deaths(s);
}

/* Of a rank that is known to be dead nobody needs to be told. */
void hb_native_look(struct hb_native_server *s)
{
    struct hb_death lost;

    if (s->n_untold > 0) {
        tell_deaths(s);
    }
    while (s->memory.base != NULL && s->host.lost != NULL &&
           hb_segment_lost(&s->memory, s->n_looked, &lost)) {
        s->n_looked++;
        if (lost.rank < s->job.map->n_ranks && !s->is_dead[lost.rank] &&
            hb_native_peer(s, lost.rank) == NULL) {
            s->host.lost(s->arg, lost.rank, lost.text);
        }
    }
}

static void note_death(struct hb_native_server *s, uint32_t rank,
                       const char *text)
{
    if (s->dead[0] == '\0') {
        snprintf(s->dead, sizeof s->dead, "%s", text);
    }
    s->is_dead[rank] = 1;
    if (s->memory.base != NULL) {
        tell_death(s, rank, text);
    }
    hb_native_give_up(s, HELLO, text);
    if (!s->out[rank]) {
        hb_native_give_up(s, NODE_FENCE, text);
        hb_native_give_up(s, JOB_FENCE, text);
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
        hb_native_give_up(s, HELLO, text);
    }
    hb_native_meet(s);
}

void hb_native_peer_dead(struct hb_native_server *s, uint32_t rank,
                         const char *text)
{
    if (hb_native_peer(s, rank) == NULL && rank < s->job.map->n_ranks) {
        note_death(s, rank, text);
        hb_native_meet(s);
    }
}
