/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Teams that span nodes: a call becomes a schedule (sched.h), and this file
 * carries schedules out. Messages of a call bear its number, which is the
 * same at all ranks, and their stream.
 *
 * A step waits for a prefix of the messages before it; so only the oldest one
 * under way is looked at, and all of them now and then, to hear of a peer
 * that is dead.
 *
 * Schedules follow from the call alone, so that the last ones of a team are
 * kept, as is the room they work in. Where the ranks of a node can do a phase
 * among themselves, there is a LOCAL step, which runs on the node's shared
 * memory (net_local.c). */

#include "config.h"

#include "lib/coll/net.h"

#include <stdlib.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

#define TAG_STREAM_BITS 4
#define TAG_KIND_BITS 8
#define TAG_KINDS ((1u << TAG_KIND_BITS) - 1)
/* So often all messages under way are looked at. */
#define LOOK_AT_ALL 64
/* A message between ranks of a node that takes several turns of theirs. */
#define NEAR_LEAST ((size_t)16 << 10)
/* Room that a team keeps between calls. */
#define ROOM_KEPT ((size_t)32 << 20)

/* ---- messages ---- */

static int keep(struct hb_net_op *n, void *req)
{
    if (n->first == n->end) {
        n->first = n->end = 0;
    }
    if (n->end == n->sent_room) {
        int room = n->sent_room == 0 ? 16 : 2 * n->sent_room;
        struct hb_net_sent *r = realloc(n->sent, (size_t)room * sizeof *r);
        if (r == NULL) {
            return HPCBOOT_ERR_NOMEM;
        }
        n->sent = r;
        n->sent_room = room;
    }
    n->sent[n->end++] = (struct hb_net_sent){req, n->at};
    return HPCBOOT_OK;
}

static int message(struct hb_coll_team *t, struct hb_net_op *n,
                   const struct hb_step *s)
{
    void *req = NULL;
    uint64_t tag = n->tag | s->stream;
    int rc = s->kind == HB_STEP_SEND
                 ? t->net->send(t->ctx, s->peer, tag,
                                n->base[s->from.mem] + s->from.off, s->bytes,
                                &req, &t->step_error)
                 : t->net->recv(t->ctx, s->peer, tag,
                                n->base[s->to.mem] + s->to.off, s->bytes,
                                &req, &t->step_error);
    if (rc < 0 || req == NULL) {
        return rc < 0 ? rc : HPCBOOT_OK;
    }
    rc = keep(n, req);
    if (rc < 0) {
        t->net->cancel(t->ctx, req);
        hb_fail(&t->step_error, rc, "no memory for a message under way");
    }
    return rc;
}

/* One of those under way: 1 done, 0 not yet, < 0 failed. A message of another
 * length than expected is that of a call with other counts. */
static int look(struct hb_coll_team *t, struct hb_net_op *n,
                struct hb_net_sent *m)
{
    const struct hb_step *s = &n->sched->steps[m->step];
    size_t got = s->bytes;
    int done = m->req == NULL ? 1 : t->net->test(t->ctx, m->req, &got,
                                                 &t->step_error);
    m->req = done == 0 ? m->req : NULL;
    if (s->kind == HB_STEP_RECV && got != s->bytes &&
        (done > 0 || done == HPCBOOT_ERR_LIMIT)) {
        return hb_lengths_differ((n->tag >> TAG_STREAM_BITS) & TAG_KINDS,
                                 s->peer, got, t->rank, s->bytes,
                                 &t->step_error);
    }
    return done;
}

static int look_at_all(struct hb_coll_team *t, struct hb_net_op *n)
{
    for (int i = n->first; i < n->end; i++) {
        int done = look(t, n, &n->sent[i]);
        if (done < 0) {
            return done;
        }
    }
    return HPCBOOT_OK;
}

/* OK when the messages of all steps below `after` are done. */
static int await(struct hb_coll_team *t, struct hb_net_op *n, int after)
{
    while (n->first < n->end && n->sent[n->first].step < after) {
        int done = look(t, n, &n->sent[n->first]);
        if (done < 0) {
            return done;
        }
        if (done == 0) {
            int rc = ++n->looks % LOOK_AT_ALL == 0 ? look_at_all(t, n)
                                                   : HPCBOOT_OK;
            return rc < 0 ? rc : HB_AGAIN;
        }
        n->first++;
    }
    return HPCBOOT_OK;
}

/* ---- what a rank does alone ---- */

static void copy_rows(const struct hb_net_op *n, const struct hb_step *s)
{
    char *to = n->base[s->to.mem] + s->to.off;
    const char *from = n->base[s->from.mem] + s->from.off;
    for (uint32_t i = 0; i < s->rows; i++) {
        memmove(to, from, s->bytes);
        to += s->to_stride;
        from += s->from_stride;
    }
}

/* In stretches that an op of the user has room for. */
static void fold(struct hb_coll_team *t, struct hb_op *op,
                 const struct hb_net_op *net, const struct hb_step *s)
{
    int n = s->kind == HB_STEP_FOLD_ALL ? (int)s->rows : 2;
    char *to = net->base[s->to.mem] + s->to.off;
    const char *from = net->base[s->from.mem] + s->from.off;
    const char *with = net->base[s->with.mem] + s->with.off;
    size_t most = (HB_SHM_BIG > op->esize ? HB_SHM_BIG : op->esize) /
                  op->esize * op->esize;
    for (size_t at = 0; at < s->bytes; at += most) {
        if (s->kind == HB_STEP_FOLD_ALL) {
            for (int j = 0; j < n; j++) {
                t->src[j] = from + (size_t)j * s->bytes + at;
            }
        } else {
            bool low = s->kind == HB_STEP_FOLD;
            t->src[0] = (low ? from : with) + at;
            t->src[1] = (low ? with : from) + at;
        }
        hb_op_fold(t, op, to + at, n, hb_min(most, s->bytes - at));
    }
}

static void divide(const struct hb_op *op, void *to, const void *from,
                   size_t bytes)
{
    hb_fold_fn avg = hb_kern_fold(HPCBOOT_AVG, op->type);
    avg(to, &from, 1, bytes / op->esize, op->ranks);
}

static void scale(struct hb_op *op, const struct hb_net_op *n,
                  const struct hb_step *s)
{
    char *to = n->base[s->to.mem] + s->to.off;
    divide(op, to, to, s->bytes);
}

/* The sums on the way to an average may be more than a float16 holds, which
 * they have to be between nodes: there its parts are divided first. */
static bool divide_first(struct hb_net_op *n, const struct hb_op *op,
                         struct hb_call *c)
{
    if (!c->scales || op->type != HPCBOOT_FLOAT16) {
        return true;
    }
    c->scales = false;
    if (c->coll == HPCBOOT_COLL_EXSCAN && c->rank == 0) {
        c->in_place = false; /* its recv stays as it is */
    }
    if (c->in_place) {
        divide(op, op->recv, op->recv, c->total);
        return true;
    }
    n->divided = malloc(c->total + 1);
    if (n->divided != NULL && c->total > 0) {
        divide(op, n->divided, op->send, c->total);
    }
    return n->divided != NULL;
}

static int take(struct hb_coll_team *t, struct hb_op *op, struct hb_net_op *n)
{
    const struct hb_step *s = &n->sched->steps[n->at];
    int rc = await(t, n, s->after);
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    switch ((enum hb_step_kind)s->kind) {
    case HB_STEP_SEND:
    case HB_STEP_RECV:
        return message(t, n, s);
    case HB_STEP_COPY:
        copy_rows(n, s);
        break;
    case HB_STEP_FOLD:
    case HB_STEP_FOLD_R:
    case HB_STEP_FOLD_ALL:
        fold(t, op, n, s);
        break;
    case HB_STEP_SCALE:
        scale(op, n, s);
        break;
    case HB_STEP_LOCAL:
        return hb_net_local(t, op, n, s);
    default:
        break;
    }
    return HPCBOOT_OK;
}

int hb_net_waits_for(const void *net, bool *sends_out)
{
    const struct hb_net_op *n = net;
    for (int i = n->first; i < n->end; i++) {
        if (n->sent[i].req != NULL) {
            const struct hb_step *s = &n->sched->steps[n->sent[i].step];
            *sends_out = s->kind == HB_STEP_SEND;
            return s->peer;
        }
    }
    return -1;
}

bool hb_net_met_other(const struct hb_coll_team *t, const void *net,
                      int *from_out, int *call_out)
{
    const struct hb_net_op *n = net;
    const uint64_t kind = (uint64_t)TAG_KINDS << TAG_STREAM_BITS;
    const uint64_t number = UINT64_MAX << (TAG_KIND_BITS + TAG_STREAM_BITS);
    uint64_t tag = n->tag;
    if (t->net->other == NULL ||
        t->net->other(t->ctx, &tag, number, kind, from_out) == 0) {
        return false;
    }
    *call_out = (int)((tag & kind) >> TAG_STREAM_BITS);
    return true;
}

bool hb_net_waits_for_near(const void *net)
{
    const struct hb_net_op *n = net;
    for (int i = n->first; n->team->p > 1 && i < n->end; i++) {
        const struct hb_step *s = &n->sched->steps[n->sent[i].step];
        if (n->sent[i].req != NULL && s->bytes >= NEAR_LEAST &&
            n->team->local_of[s->peer] >= 0) {
            return true;
        }
    }
    return false;
}

static int net_step(struct hb_coll_team *t, struct hb_op *op)
{
    struct hb_net_op *n = op->net;
    int rc = HPCBOOT_OK, at = n->at, first = n->first;
    t->want = -1;
    while (rc == HPCBOOT_OK && n->at < n->sched->count) {
        rc = take(t, op, n);
        n->at += rc == HPCBOOT_OK;
    }
    if (rc == HPCBOOT_OK) {
        rc = await(t, n, n->sched->count);
    }
    t->moves += n->at != at || n->first != first;
    if (rc < 0) {
        t->step_error.code = rc;
    }
    return rc;
}

/* ---- schedules, made and kept ---- */

int hb_net_check_wish(const char *text, struct hpcboot_error *err)
{
    struct hb_wish wish;
    return hb_wish_parse(text, &wish, err);
}

static int make_team(struct hb_coll_team *t, struct hpcboot_error *err)
{
    struct hb_net_team *nt = calloc(1, sizeof *nt);
    if (nt == NULL ||
        hb_layout_make(&nt->layout, t->node_of, t->size) != HPCBOOT_OK ||
        hb_layout_leaves(&nt->layout, t->leaf_of) != HPCBOOT_OK) {
        if (nt != NULL) {
            hb_layout_clear(&nt->layout);
        }
        free(nt);
        return hb_fail(err, HPCBOOT_ERR_NOMEM,
                       "no memory for a team of %d on %d nodes", t->size,
                       t->nodes);
    }
    nt->model = hb_model_of(&t->net_facts);
    t->engine->outnumbered |= nt->model.cpus > 0 &&
                              t->size > nt->model.cpus;
    t->net_team = nt;
    return hb_wish_parse(t->engine->config.net_wish, &nt->wish, err);
}

void hb_net_team_destroy(struct hb_coll_team *t)
{
    struct hb_net_team *nt = t->net_team;
    if (nt == NULL) {
        return;
    }
    for (int i = 0; i < HB_NET_KEPT; i++) {
        hb_sched_clear(&nt->kept[i].sched);
    }
    hb_layout_clear(&nt->layout);
    free(nt->room);
    free(nt);
    t->net_team = NULL;
}

static size_t vector_of(const struct hb_coll_team *t, const struct hb_op *op)
{
    switch (op->coll) {
    case HPCBOOT_COLL_SCATTER:
    case HPCBOOT_COLL_GATHER:
    case HPCBOOT_COLL_ALLGATHER:
    case HPCBOOT_COLL_ALLTOALL:
        return op->bytes * (size_t)t->size;
    default:
        return op->total;
    }
}

/* Has the same bits in whatever order it is folded. */
static bool is_exact(const struct hb_op *op)
{
    return op->op < HPCBOOT_OP_USER && op->type <= HPCBOOT_UINT64;
}

struct hb_call hb_net_call_of(struct hb_coll_team *t, const struct hb_op *op)
{
    bool folds = hb_call_folds(op->coll);
    bool same = (t->deterministic ||
                 (op->flags & HPCBOOT_DETERMINISTIC) != 0) && folds &&
                !is_exact(op);
    return (struct hb_call){
        .coll = op->coll,
        .root = op->root,
        .bytes = op->bytes,
        .total = vector_of(t, op),
        .esize = op->esize,
        .ordered = folds && op->op >= HPCBOOT_OP_USER &&
                   !op->user.commutative,
        .same_bits = same,
        .folds_on = hb_plan_folds_on(op),
        .scales = folds && op->op == HPCBOOT_AVG && !same,
        .in_place = op->own_placed,
        .send_len = op->send_len,
        .send_off = op->send_off,
        .recv_len = op->recv_len,
        .recv_off = op->recv_off,
        .rank = t->rank,
        .layout = &t->net_team->layout,
        .model = &t->net_team->model,
        .wish = &t->net_team->wish,
    };
}

static struct hb_net_kept *find_kept(struct hb_net_team *nt,
                                     const struct hb_net_key *key)
{
    for (int i = 0; i < HB_NET_KEPT; i++) {
        if (nt->kept[i].valid &&
            memcmp(&nt->kept[i].key, key, sizeof *key) == 0) {
            return &nt->kept[i];
        }
    }
    return NULL;
}

/* A place for a new one; NULL while all are used. */
static struct hb_net_kept *place_for(struct hb_net_team *nt)
{
    for (int i = 0; i < HB_NET_KEPT; i++) {
        struct hb_net_kept *k = &nt->kept[nt->next++ % HB_NET_KEPT];
        if (k->users == 0) {
            hb_sched_clear(&k->sched);
            k->valid = false;
            return k;
        }
    }
    return NULL;
}

static void choose_schedule(struct hb_net_op *n, struct hb_net_team *nt,
                            const struct hb_call *c)
{
    struct hb_net_key key;
    memset(&key, 0, sizeof key);
    key.bytes = c->bytes;
    key.total = c->total;
    key.esize = c->esize;
    key.coll = (int)c->coll;
    key.root = c->root;
    key.flags = (uint32_t)c->ordered | (uint32_t)c->same_bits << 1 |
                (uint32_t)c->scales << 2 | (uint32_t)c->in_place << 3 |
                (uint32_t)c->folds_on << 4;
    bool rows = c->send_len != NULL || c->recv_len != NULL;
    struct hb_net_kept *k = rows ? NULL : find_kept(nt, &key);
    if (k == NULL) {
        k = rows ? NULL : place_for(nt);
        struct hb_sched *s = k != NULL ? &k->sched : &n->own;
        hb_sched_make(s, c);
        if (k != NULL) {
            k->key = key;
            k->valid = !s->failed;
        }
        n->sched = s;
    } else {
        n->sched = &k->sched;
    }
    n->kept = k;
    if (k != NULL) {
        k->users++;
    }
}

static bool take_room(struct hb_net_op *n, struct hb_net_team *nt)
{
    size_t bytes = n->sched->room;
    if (bytes == 0 || n->team->net->send == NULL) { /* it is only explained */
        return true;
    }
    if (nt->room != NULL && nt->room_size >= bytes) {
        n->room = nt->room;
        n->room_size = nt->room_size;
        nt->room = NULL;
        return true;
    }
    n->room = malloc(bytes);
    n->room_size = bytes;
    return n->room != NULL;
}

int hb_net_setup(struct hb_coll_team *t, struct hb_op *op,
                 struct hpcboot_error *err)
{
    int rc = t->net_team == NULL ? make_team(t, err) : HPCBOOT_OK;
    if (rc != HPCBOOT_OK) {
        return rc;
    }
    struct hb_net_op *n = hb_zalloc(sizeof *n);
    if (n == NULL) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "%s: no memory for a schedule",
                       hb_coll_name(op->coll));
    }
    struct hb_call c = hb_net_call_of(t, op);
    op->net = n;
    op->step = net_step;
    n->team = t;
    if (c.scales) {
        op->fold = hb_kern_fold(HPCBOOT_SUM, op->type);
    }
    if (!divide_first(n, op, &c)) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "%s: no memory for %zu bytes "
                       "of an average", hb_coll_name(op->coll), c.total);
    }
    choose_schedule(n, t->net_team, &c);
    if (n->sched->failed || !take_room(n, t->net_team)) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM,
                       "%s: no memory for a schedule of %d steps and %zu "
                       "bytes on their way", hb_coll_name(op->coll),
                       n->sched->count, n->sched->room);
    }
    n->tag = (++t->net_calls << TAG_KIND_BITS |
              (unsigned)hb_call_of(op->coll, op->flags)) << TAG_STREAM_BITS;
    n->base[HB_MEM_SEND] = n->divided != NULL ? n->divided
                                              : (char *)(uintptr_t)op->send;
    n->base[HB_MEM_RECV] = op->recv;
    n->base[HB_MEM_ROOM] = n->room;
    return HPCBOOT_OK;
}

/* Fresh memory costs a fault for each of its pages. */
static void keep_room(struct hb_net_op *n, struct hb_net_team *nt)
{
    size_t has = nt->room != NULL ? nt->room_size : 0;
    if (n->room_size > has && n->room_size <= ROOM_KEPT) {
        free(nt->room);
        nt->room = n->room;
        nt->room_size = n->room_size;
        n->room = NULL;
    }
}

void hb_net_clear(void *net)
{
    struct hb_net_op *n = net;
    if (n == NULL) {
        return;
    }
    struct hb_net_team *nt = n->team->net_team;
    for (int i = n->first; i < n->end; i++) {
        if (n->sent[i].req != NULL) {
            n->team->net->cancel(n->team->ctx, n->sent[i].req);
        }
    }
    if (n->kept != NULL) {
        n->kept->users--;
    }
    keep_room(n, nt);
    hb_op_clear(&n->local);
    hb_sched_clear(&n->own);
    free(n->room);
    free(n->divided);
    free(n->rows);
    free(n->sent);
    free(n);
}
