/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Meetings: a rank that says hello, fence or finalize waits until all living
 * ranks of the node have said the same. What concerns the node alone is then
 * answered; of the rest one contribution goes to the fence engine, and its
 * result is the answer.
 *
 * A rank whose deadline passes in a fence that this node has contributed to is
 * in it all the same. Where it ends before the rank comes again, its outcome is
 * kept: the rank's next fence is this one.
 *
 * A rank that ends without finalize fails those who wait in a fence, and
 * those who come later, by name, until they come with a set of members that
 * it is out of; finalize goes on without the dead anyway. A fence that was
 * given up so may still be open in the engine: its key is not used again, and
 * its answer is nobody's. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/collected.h"
#include "lib/base/str.h"
#include "lib/rdzv/native_impl.h"

#define WITHOUT_COLLECTING                                                    \
    "hpcboot_fence without HPCBOOT_COLLECT leaves values where they are "     \
    "until they are asked for"

static void put_answer(struct hb_native_conn *c, int status, const char *text,
                       struct hb_bytes value, int fd)
{
    struct hb_buf b;
    size_t begun;

    hb_buf_init(&b, HB_NATIVE_FRAME_MAX + 64);
    begun = hb_native_begin(&b, HB_NATIVE_ANSWER);
    hb_buf_put_i32(&b, status);
    hb_buf_put_str(&b, text);
    hb_buf_put_blob(&b, value.data, value.len);
    hb_native_end(&b, begun);
    if (hb_buf_failed(&b)) {
        hb_no_memory(); /* who has asked would wait for ever */
    }
    c->server->host.send(c->server->arg, c->arg, b.data, b.len, fd);
    hb_buf_destroy(&b);
}

void hb_native_answer(struct peer *p, int status, const char *text,
                      struct hb_bytes value, int fd)
{
    p->waits = NOWHERE;
    p->asked = 0;
    if (p->conn != NULL) {
        put_answer(p->conn, status, text, value, fd);
    }
}

void hb_native_refuse(struct hb_native_conn *c, int status, const char *text)
{
    put_answer(c, status, text, (struct hb_bytes){NULL, 0}, -1);
}

void hb_native_reply(struct peer *p, int status, const char *text)
{
    hb_native_answer(p, status, text, (struct hb_bytes){NULL, 0}, -1);
}

/* Answers all who wait for a meeting (NOWHERE: any). */
static void answer_all(struct hb_native_server *s, enum meeting m, int status,
                       const char *text)
{
    for (uint32_t i = 0; i < s->n_local; i++) {
        struct peer *p = &s->peers[i];

        if (p->waits != NOWHERE && (m == NOWHERE || p->waits == m)) {
            hb_native_reply(p, status, text);
        }
    }
}

void hb_native_forget_fence(struct peer *p)
{
    p->away = p->owed = 0;
}

static void forget_fences(struct hb_native_server *s)
{
    for (uint32_t i = 0; i < s->n_local; i++) {
        hb_native_forget_fence(&s->peers[i]);
    }
}

/* The open fence of the job has ended, and how. */
static void owe(struct hb_native_server *s, int status, const char *text)
{
    for (uint32_t i = 0; i < s->n_local; i++) {
        struct peer *p = &s->peers[i];

        if (p->away) {
            p->away = 0;
            p->owed = 1;
            hb_fail(&p->ended, status, "%s", text);
        }
    }
}

/* Those who wait in this meeting hear why it cannot be, and it is given up. */
void hb_native_give_up(struct hb_native_server *s, enum meeting m,
                           const char *why)
{
    struct hb_str text = HB_STR_INIT;

    hb_str_putf(&text, "%s%s", why,
                m == HELLO ? "; no rank can begin without it" : "");
    if (s->open == m) {
        s->open = NOWHERE;
        s->open_key[0] = '\0';
        hb_native_store_miss(s->store);
        forget_fences(s);
    }
    answer_all(s, m, HPCBOOT_ERR_PEER_DEAD, hb_str_text(&text));
    hb_str_destroy(&text);
}

const char *hb_native_death(const struct hb_native_server *s, uint32_t rank)
{
    const struct hb_death *d = s->memory.base != NULL
                                   ? hb_segment_find_death(&s->memory, rank)
                                   : NULL;

    return d != NULL ? d->text : NULL;
}

/* A member of the fences that are asked for now has died; NULL: none. */
static const char *dead_member(const struct hb_native_server *s)
{
    for (uint32_t r = 0; s->dead[0] != '\0' && r < s->job.map->n_ranks; r++) {
        if (s->is_dead[r] && !s->out[r]) {
            const char *text = hb_native_death(s, r);

            return text != NULL ? text : s->dead;
        }
    }
    return NULL;
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

/* The nodes that take part: of a fence, those with a member that lives. */
static uint32_t participants(struct hb_native_server *s, enum meeting m)
{
    const struct hb_jobmap *map = s->job.map;
    unsigned char *living = hb_xcalloc(map->n_nodes, 1);
    uint32_t n = 0;

    for (uint32_t r = 0; r < map->n_ranks; r++) {
        living[map->node_of_rank[r]] |= m != JOB_FENCE || !s->out[r];
    }
    for (uint32_t i = 0; i < map->n_nodes; i++) {
        if (living[i]) {
            s->nodes[n++] = i;
        }
    }
    free(living);
    return n;
}

static void name_fence(struct hb_native_server *s, enum meeting m)
{
    int job = m == JOB_FENCE;

    snprintf(s->open_key, sizeof s->open_key,
             HB_NATIVE_FENCE_PREFIX "%u/%u/%d/%u/%u", s->job.world,
             s->generation, (int)m, job ? s->members : 0, job ? s->round : 0);
    s->open = m;
}

int64_t hb_native_fence_world(struct hb_bytes key)
{
    const size_t len = strlen(HB_NATIVE_FENCE_PREFIX);
    const char *text = key.data;
    int64_t world = 0;

    if (key.len <= len || memcmp(text, HB_NATIVE_FENCE_PREFIX, len) != 0) {
        return -1;
    }
    for (size_t i = len; i < key.len && text[i] != '/'; i++) {
        if (text[i] < '0' || text[i] > '9' || world > UINT32_MAX) {
            return -1;
        }
        world = world * 10 + (text[i] - '0');
    }
    return world;
}

/* To the others, by the name of the open fence. What is not awaited is no
 * part: the answer will be nobody's. */
static void pass_on(struct hb_native_server *s, enum meeting m, int awaited,
                    const struct hb_buf *data)
{
    char name[HB_NATIVE_FENCE_KEY_SIZE]; /* ours may be the next one's */
    uint32_t n = participants(s, m);

    memcpy(name, s->open_key, sizeof name);
    if (!awaited) {
        s->open = NOWHERE;
        s->open_key[0] = '\0';
    }
    s->host.fence(s->arg, (struct hb_bytes){name, strlen(name)}, s->nodes, n,
                  (struct hb_bytes){data->data, data->len});
}

/* The open fence of the job: the other nodes would wait for this one's part. */
static void refuse_fence(struct hb_native_server *s, int status,
                         const char *why)
{
    struct hb_buf data;

    hb_native_store_miss(s->store);
    hb_buf_init(&data, HB_NATIVE_TEXT_MAX + 16);
    hb_native_store_refuse(status, why, &data);
    pass_on(s, JOB_FENCE, 0, &data);
    hb_buf_destroy(&data);
    answer_all(s, JOB_FENCE, status, why);
}

static void tell_too_much(struct hb_native_server *s)
{
    struct hb_str text = HB_STR_INIT;

    hb_str_putf(&text, "the ranks of %s have put more than a fence that "
                "collects can carry; " WITHOUT_COLLECTING,
                s->job.map->node_names[s->job.node]);
    refuse_fence(s, HPCBOOT_ERR_LIMIT, hb_str_text(&text));
    hb_str_destroy(&text);
}

/* This node's part of a fence of the whole job. */
static void contribute(struct hb_native_server *s, enum meeting m)
{
    unsigned collect = 0;
    struct hpcboot_error why;
    struct hb_buf data;
    int rc = 0;

    name_fence(s, m);
    hb_buf_init(&data, HB_FENCE_DATA_MAX / 2);
    for (uint32_t i = 0; i < s->n_local; i++) {
        collect |= s->peers[i].collect;
    }
    if (m == HELLO) {
        put_addresses(s, &data);
    } else if (m == JOB_FENCE) {
        s->round++;
        rc = hb_native_store_commit(s->store, 0, &why);
        hb_native_store_collect(s->store, collect != 0, &data);
    }
    if (rc < 0) {
        refuse_fence(s, rc, why.text);
    } else if (hb_buf_failed(&data)) {
        tell_too_much(s); /* addresses are short */
    } else {
        pass_on(s, m, 1, &data);
    }
    hb_buf_destroy(&data);
}

/* Ranks wait for different things, which never comes to an end; but for those
 * in finalize: the others will come there, too. */
static void mismatch(struct hb_native_server *s)
{
    static const char *const calls[] = {
        [HELLO] = "hpcboot_init", [NODE_FENCE] = "hpcboot_fence of the node",
        [JOB_FENCE] = "hpcboot_fence", [FINALIZE] = "hpcboot_finalize"};
    struct hb_str text = HB_STR_INIT;
    unsigned seen = 0;

    hb_str_putf(&text, "the ranks of %s do not wait for the same: ",
                s->job.map->node_names[s->job.node]);
    for (uint32_t i = 0; i < s->n_local; i++) {
        enum meeting m = s->peers[i].waits;

        if (m != NOWHERE && (seen & 1u << m) == 0) {
            hb_str_putf(&text, seen == 0 ? "rank %u is in %s"
                                         : ", rank %u in %s",
                        s->peers[i].rank, calls[m]);
            seen |= 1u << m;
        }
    }
    if ((seen & 1u << JOB_FENCE) != 0) {
        name_fence(s, JOB_FENCE);
        s->round++;
        refuse_fence(s, HPCBOOT_ERR_USAGE, hb_str_text(&text));
    }
    for (enum meeting m = HELLO; m < FINALIZE; m++) {
        answer_all(s, m, HPCBOOT_ERR_USAGE, hb_str_text(&text));
    }
    hb_str_destroy(&text);
}

/* Looks whether all who can come have come. */
void hb_native_meet(struct hb_native_server *s)
{
    enum meeting m = NOWHERE;
    uint32_t waiting = 0, living = 0;
    struct hpcboot_error why;
    int rc;

    for (uint32_t i = 0; i < s->n_local; i++) {
        const struct peer *p = &s->peers[i];

        living += !p->gone;
        waiting += p->waits != NOWHERE && !p->gone;
        if (p->waits != NOWHERE && m != NOWHERE && p->waits != m) {
            m = SEVERAL;
        } else if (p->waits != NOWHERE) {
            m = p->waits;
        }
    }
    if (waiting < living || s->open != NOWHERE) {
        return;
    }
    if (m == SEVERAL) {
        mismatch(s);
    } else if (m == NODE_FENCE) {
        rc = hb_native_store_commit(s->store, 1, &why);
        answer_all(s, m, rc, rc < 0 ? why.text : "");
    } else if (m != NOWHERE || (living == 0 && s->memory.base != NULL)) {
        /* Nobody is left here: the others shall be able to finalise. */
        contribute(s, m != NOWHERE ? m : FINALIZE);
    }
}

void hb_native_join(struct peer *p, struct hb_native_server *s, enum meeting m,
                 unsigned collect)
{
    const char *why = NULL;

    p->waits = m;
    p->gave_up = NOWHERE;
    p->away &= m != JOB_FENCE;
    p->collect = collect;
    if (m == HELLO && (s->dead[0] != '\0' || s->left[0] != '\0')) {
        why = s->dead[0] != '\0' ? s->dead : s->left;
    } else if (m == NODE_FENCE || m == JOB_FENCE) {
        why = dead_member(s);
    }
    if (why != NULL) {
        hb_native_give_up(s, m, why);
    } else {
        hb_native_meet(s);
    }
}

/* A rank comes with a set of members: a later one than this node's takes its
 * place, and who waits with the old one has not heard what the others have. */
int hb_native_members(struct hb_native_server *s, struct hb_buf *b,
                        struct hpcboot_error *err)
{
    uint32_t members = hb_buf_get_u32(b), n = hb_buf_get_u32(b);
    const char *why;

    if (members <= s->members) {
        return (int)(members == s->members);
    }
    memset(s->out, 0, s->job.map->n_ranks);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rank = hb_buf_get_u32(b);

        if (hb_buf_failed(b) || rank >= s->job.map->n_ranks) {
            return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a malformed FENCE");
        }
        s->out[rank] = 1;
    }
    s->members = members;
    s->round = 0;
    forget_fences(s);
    why = s->dead[0] != '\0' ? s->dead : "the members of the job have changed";
    hb_native_give_up(s, NODE_FENCE, why);
    hb_native_give_up(s, JOB_FENCE, why);
    return 1;
}

/* The answer to hello carries the memory, with all addresses in it. */
static void welcome(struct hb_native_server *s)
{
    s->host.contact(s->arg, s->peers[0].rank, CONTACT_BEGUN);
    for (uint32_t i = 0; i < s->n_local; i++) {
        struct peer *p = &s->peers[i];

        if (p->waits == HELLO) {
            p->in = 1;
            hb_native_answer(p, HPCBOOT_OK, "", (struct hb_bytes){NULL, 0},
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
            hb_native_reply(p, HPCBOOT_OK, "");
        }
    }
    hb_native_drop_memory(s);
    hb_native_store_clear(s->store);
    s->generation++;
    s->members = 0;
    memset(s->out, 0, s->job.map->n_ranks);
    hb_native_take_next(s);
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

/* A fence that the others could not complete either. */
static void tell_failed(struct hb_native_server *s, enum meeting m, int status,
                        struct hpcboot_error *err)
{
    if (m == JOB_FENCE) {
        hb_native_store_miss(s->store);
    }
    if (m == JOB_FENCE && status == HPCBOOT_ERR_LIMIT) {
        hb_fail(err, status, "all ranks have put more than the %u MiB that a "
                "fence which collects can carry; " WITHOUT_COLLECTING,
                HB_FENCE_DATA_MAX >> 20);
    } else {
        hb_fail(err, status, "%s", s->dead[0] != '\0' ? s->dead
                : "a host of the job is lost");
    }
}

void hb_native_fence_done(struct hb_native_server *s, struct hb_bytes key,
                          int status, struct hb_bytes data)
{
    struct hpcboot_error err = {0};
    enum meeting m = s->open;
    int rc = status;

    if (m == NOWHERE || key.len != strlen(s->open_key) ||
        memcmp(key.data, s->open_key, key.len) != 0) {
        return; /* one that was given up */
    }
    s->open = NOWHERE;
    s->open_key[0] = '\0';
    if (rc < 0) {
        tell_failed(s, m, status, &err);
    } else if (m == HELLO) {
        rc = take_addresses(s, data, &err);
    } else if (m == JOB_FENCE) {
        rc = hb_native_store_merge(s->store, data, &err);
    }
    if (m == JOB_FENCE) {
        owe(s, rc < 0 ? rc : HPCBOOT_OK, rc < 0 ? err.text : "");
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
    hb_native_meet(s);
}
