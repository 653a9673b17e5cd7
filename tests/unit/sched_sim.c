/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A rank runs until it waits for a message that has not been sent, or for
 * ranks of its node; whoever sends it puts it back into the queue. Messages
 * find their receives by pair and stream, first come first served.
 *
 * Time: a message costs its sender `overhead`, occupies the sender's port for
 * its bytes, is `latency` on its way, occupies the receiver's port, and costs
 * `receive` when it is awaited. A phase of a node begins when its last rank is
 * there. */

#include "config.h"

#include "sched_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/coll/coll.h"
#include "sched_data.h"

struct rank {
    struct hb_sched s;
    struct sched_data data;
    double now, out_free, in_free;
    double *done;   /* [steps] when a message step is done; < 0: unknown */
    int at, awaited, phase; /* phase: of the node, that it waits for */
    bool queued, in_phase;
    uint64_t bytes;
    int messages;
};

struct waiting { /* a send without its receive, or the other way round */
    struct waiting *next;
    int rank, step;
    double arrival;
    bool is_send;
    char *bytes;
};

struct pair {
    struct pair *next;
    uint64_t key;
    struct waiting *first, *last;
};

struct node {
    int arrived, done;
    double latest;
    struct hb_step phase; /* of the first that came to it */
};

struct sim {
    const struct sched_case *c;
    struct hb_layout layout;
    struct hb_wish wish;
    struct rank *ranks;
    struct node *nodes;
    struct pair **table;
    size_t buckets;
    int *queue, head, tail, finished;
    uint64_t crossings;
};

static void push(struct sim *m, int r)
{
    if (!m->ranks[r].queued) {
        m->ranks[r].queued = true;
        m->queue[m->tail++ % m->c->size] = r;
    }
}

static struct pair *pair_of(struct sim *m, int from, int to, int stream)
{
    uint64_t key = ((uint64_t)from << 32 | (uint64_t)to) << 2 |
                   (uint64_t)stream;
    uint64_t mixed = (key ^ key >> 29) * 0x9e3779b97f4a7c15u;
    struct pair **at = &m->table[(mixed >> 20) % m->buckets];
    while (*at != NULL && (*at)->key != key) {
        at = &(*at)->next;
    }
    if (*at == NULL) {
        *at = calloc(1, sizeof **at);
        (*at)->key = key;
    }
    return *at;
}

static void deliver(struct sim *m, int to, int step, double arrival,
                    char *bytes)
{
    struct rank *r = &m->ranks[to];
    const struct hb_step *s = &r->s.steps[step];
    double length = (double)s->bytes * m->c->model->byte;
    double done = r->in_free + length > arrival ? r->in_free + length
                                                : arrival;
    r->in_free = done;
    r->done[step] = done;
    if (bytes != NULL) {
        sched_data_put(&r->data, s->to, bytes, s->bytes);
    }
    free(bytes);
    push(m, to);
}

/* A message and a receive have met. */
static bool met(struct sim *m, const struct waiting *w, bool is_send,
                int rank, int step, double arrival, char *bytes)
{
    int sender = is_send ? rank : w->rank, receiver = is_send ? w->rank : rank;
    int s = is_send ? step : w->step, r = is_send ? w->step : step;
    if (m->ranks[sender].s.steps[s].bytes !=
        m->ranks[receiver].s.steps[r].bytes) {
        printf("rank %d sends %zu bytes and rank %d wants %zu\n", sender,
               m->ranks[sender].s.steps[s].bytes, receiver,
               m->ranks[receiver].s.steps[r].bytes);
        free(bytes);
        return false;
    }
    deliver(m, receiver, r, arrival, bytes);
    return true;
}

static bool offer(struct sim *m, int rank, int step, double arrival,
                  char *bytes)
{
    const struct hb_step *s = &m->ranks[rank].s.steps[step];
    bool is_send = s->kind == HB_STEP_SEND;
    struct pair *p = is_send ? pair_of(m, rank, s->peer, s->stream)
                             : pair_of(m, s->peer, rank, s->stream);
    struct waiting *w = p->first;
    if (w != NULL && w->is_send != is_send) {
        p->first = w->next;
        bool ok = met(m, w, is_send, rank, step,
                      is_send ? arrival : w->arrival,
                      is_send ? bytes : w->bytes);
        free(w);
        return ok;
    }
    w = calloc(1, sizeof *w);
    *w = (struct waiting){NULL, rank, step, arrival, is_send, bytes};
    if (p->first == NULL) {
        p->first = w;
    } else {
        p->last->next = w;
    }
    p->last = w;
    return true;
}

static bool send(struct sim *m, int r, const struct hb_step *s)
{
    struct rank *k = &m->ranks[r];
    const struct hb_model *l = m->c->model;
    k->now += l->overhead;
    double begin = k->now > k->out_free ? k->now : k->out_free;
    double length = (double)s->bytes * l->byte;
    k->out_free = begin + (length > l->gap ? length : l->gap);
    k->done[k->at] = begin + length;
    k->messages++;
    k->bytes += s->bytes;
    m->crossings += m->c->leaf != NULL &&
                    m->c->leaf[m->layout.node_of[r]] !=
                        m->c->leaf[m->layout.node_of[s->peer]];
    return offer(m, r, k->at, begin + length + l->latency,
                 m->c->bytes ? sched_data_get(&k->data, s->from, s->bytes)
                             : NULL);
}

/* Ranks of a node that meet in a phase have to mean the same. */
static bool same_phase(const struct hb_step *a, const struct hb_step *b, int r)
{
    bool same = a->coll == b->coll && a->cut == b->cut &&
                a->peer == b->peer && a->bytes == b->bytes &&
                a->rows == b->rows;
    if (!same) {
        printf("rank %d comes to collective %d of %zu bytes, its node to "
               "%d of %zu\n", r, b->coll, b->bytes, a->coll, a->bytes);
    }
    return same;
}

/* 1: this rank may go on behind its phase, 0: it waits, -1: wrong. */
static int local(struct sim *m, int r, const struct hb_step *s)
{
    struct rank *k = &m->ranks[r];
    int node = m->layout.node_of[r];
    struct node *n = &m->nodes[node];
    int all = m->layout.first[node + 1] - m->layout.first[node];
    if (!k->in_phase) {
        k->in_phase = true;
        k->phase = n->done;
        n->latest = n->arrived == 0 || k->now > n->latest ? k->now
                                                          : n->latest;
        n->phase = n->arrived == 0 ? *s : n->phase;
        if (!same_phase(&n->phase, s, r)) {
            return -1;
        }
        if (++n->arrived < all) {
            return false;
        }
        n->arrived = 0;
        n->done++;
        n->latest += m->c->model->node +
                     2 * (double)s->bytes * m->c->model->copy;
        for (int i = m->layout.first[node]; i < m->layout.first[node + 1];
             i++) {
            m->ranks[m->layout.ranks[i]].now = n->latest;
            push(m, m->layout.ranks[i]);
        }
    }
    k->in_phase = k->phase == n->done;
    return !k->in_phase;
}

/* False: a message below `after` has not come. */
static bool await(struct sim *m, struct rank *k, int after)
{
    for (; k->awaited < after; k->awaited++) {
        const struct hb_step *s = &k->s.steps[k->awaited];
        double done = k->done[k->awaited];
        if (s->kind != HB_STEP_SEND && s->kind != HB_STEP_RECV) {
            continue;
        }
        if (done < 0) {
            return false;
        }
        k->now = done > k->now ? done : k->now;
        k->now += s->kind == HB_STEP_RECV ? m->c->model->receive : 0;
    }
    return true;
}

/* 1 done, 0 waits, -1 wrong. */
static int take(struct sim *m, int r, const struct hb_step *s)
{
    struct rank *k = &m->ranks[r];
    double bytes = (double)s->bytes * s->rows;
    switch ((enum hb_step_kind)s->kind) {
    case HB_STEP_SEND:
        return send(m, r, s) ? 1 : -1;
    case HB_STEP_RECV:
        return offer(m, r, k->at, 0, NULL) ? 1 : -1;
    case HB_STEP_LOCAL:
        return local(m, r, s);
    case HB_STEP_COPY:
        k->now += bytes * m->c->model->copy;
        break;
    default:
        k->now += bytes * m->c->model->fold;
    }
    if (m->c->bytes) {
        sched_data_do(&k->data, s);
    }
    return 1;
}

static bool run_rank(struct sim *m, int r)
{
    struct rank *k = &m->ranks[r];
    while (k->at < k->s.count) {
        const struct hb_step *s = &k->s.steps[k->at];
        if (!await(m, k, s->after)) {
            return true;
        }
        int done = take(m, r, s);
        if (done <= 0) {
            return done == 0;
        }
        k->at++;
    }
    if (k->awaited < k->s.count && await(m, k, k->s.count)) {
        m->finished++;
    }
    return true;
}

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int endpoints(const struct hb_sched *s, int *room)
{
    int n = 0, different = 0;
    for (int i = 0; i < s->count; i++) {
        if (s->steps[i].kind == HB_STEP_SEND ||
            s->steps[i].kind == HB_STEP_RECV) {
            room[n++] = s->steps[i].peer;
        }
    }
    qsort(room, (size_t)n, sizeof *room, compare_ints);
    for (int i = 0; i < n; i++) {
        different += i == 0 || room[i] != room[i - 1];
    }
    return different;
}

static void make_rank(struct sim *m, int r)
{
    struct rank *k = &m->ranks[r];
    struct hb_call call = m->c->call;
    call.rank = r;
    call.layout = &m->layout;
    call.model = m->c->model;
    call.wish = &m->wish;
    hb_sched_make(&k->s, &call);
    struct hb_step *fitted =
        realloc(k->s.steps, ((size_t)k->s.count + 1) * sizeof *fitted);
    k->s.steps = fitted != NULL ? fitted : k->s.steps;
    k->s.capacity = k->s.count;
    k->done = malloc(((size_t)k->s.count + 1) * sizeof *k->done);
    for (int i = 0; i < k->s.count; i++) {
        k->done[i] = -1;
    }
    if (m->c->bytes) {
        sched_data_make(&k->data, &m->c->call, m->c->size, r, k->s.room);
    }
    m->finished += k->s.count == 0;
    push(m, r);
}

static bool begin(struct sim *m, const struct sched_case *c)
{
    int *node_of = malloc((size_t)c->size * sizeof *node_of);
    memset(m, 0, sizeof *m);
    m->c = c;
    for (int r = 0; r < c->size; r++) {
        node_of[r] = c->node_of != NULL ? c->node_of[r] : r / c->per_node;
    }
    bool ok = hb_layout_make(&m->layout, node_of, c->size) == 0 &&
              hb_layout_leaves(&m->layout,
                               c->knows_leaves ? c->leaf : NULL) == 0 &&
              hb_wish_parse(c->wish, &m->wish, NULL) == 0;
    free(node_of);
    m->ranks = calloc((size_t)c->size, sizeof *m->ranks);
    m->nodes = calloc((size_t)m->layout.nodes, sizeof *m->nodes);
    m->queue = calloc((size_t)c->size, sizeof *m->queue);
    m->buckets = 1;
    for (int r = 0; ok && r < c->size; r++) {
        make_rank(m, r);
        m->buckets += (size_t)m->ranks[r].s.count;
    }
    m->table = calloc(m->buckets, sizeof(struct pair *));
    return ok;
}

static void end(struct sim *m)
{
    for (size_t i = 0; i < m->buckets; i++) {
        while (m->table[i] != NULL) {
            struct pair *p = m->table[i];
            m->table[i] = p->next;
            while (p->first != NULL) {
                struct waiting *w = p->first;
                p->first = w->next;
                free(w->bytes);
                free(w);
            }
            free(p);
        }
    }
    for (int r = 0; r < m->c->size; r++) {
        hb_sched_clear(&m->ranks[r].s);
        sched_data_free(&m->ranks[r].data);
        free(m->ranks[r].done);
    }
    hb_layout_clear(&m->layout);
    free(m->ranks);
    free(m->nodes);
    free(m->queue);
    free(m->table);
}

static void count(struct sim *m, struct sched_stats *out)
{
    *out = (struct sched_stats){.crossings = m->crossings};
    for (int r = 0; r < m->c->size; r++) {
        struct rank *k = &m->ranks[r];
        int *room = malloc(((size_t)k->s.count + 1) * sizeof *room);
        int n = endpoints(&k->s, room);
        free(room);
        out->messages += (uint64_t)k->messages;
        out->bytes_sent += k->bytes;
#define MOST(field, value)                                                   \
    out->field = (value) > out->field ? (value) : out->field
        MOST(us, k->now / 1000);
        MOST(most_messages, k->messages);
        MOST(most_endpoints, n);
        MOST(most_steps, k->s.count);
        MOST(most_bytes, k->bytes);
        MOST(most_room, k->s.room);
    }
}

static int verdict(struct sim *m)
{
    int wrong = 0;
    for (int r = 0; r < m->c->size && m->finished < m->c->size; r++) {
        if (m->ranks[r].awaited < m->ranks[r].s.count && wrong++ < 4) {
            printf("rank %d is stuck at step %d of %d\n", r,
                   m->ranks[r].at, m->ranks[r].s.count);
        }
    }
    for (int r = 0; r < m->c->size && m->c->bytes && wrong == 0; r++) {
        wrong += !sched_data_right(&m->ranks[r].data, &m->c->call,
                                   m->c->size, r);
    }
    return wrong;
}

struct hb_call sched_sim_call(enum hpcboot_coll coll, int size, size_t bytes,
                              size_t esize)
{
    struct hb_call c = {.coll = coll, .bytes = bytes, .total = bytes,
                        .esize = esize};
    bool blocks = coll == HPCBOOT_COLL_GATHER || coll == HPCBOOT_COLL_SCATTER ||
                  coll == HPCBOOT_COLL_ALLGATHER ||
                  coll == HPCBOOT_COLL_ALLTOALL ||
                  coll == HPCBOOT_COLL_REDUCE_SCATTER_BLOCK;
    c.total = blocks ? bytes * (size_t)size : bytes;
    return c;
}

bool sched_sim_has_rows(enum hpcboot_coll coll)
{
    return coll == HPCBOOT_COLL_SCATTERV || coll == HPCBOOT_COLL_GATHERV ||
           coll == HPCBOOT_COLL_ALLGATHERV ||
           coll == HPCBOOT_COLL_ALLTOALLV ||
           coll == HPCBOOT_COLL_REDUCE_SCATTER;
}

int sched_sim_run(const struct sched_case *c, struct sched_stats *out)
{
    struct sim m;
    bool ok = begin(&m, c);
    while (ok && m.head != m.tail) {
        int r = m.queue[m.head++ % c->size];
        m.ranks[r].queued = false;
        ok = run_rank(&m, r);
    }
    int wrong = ok ? verdict(&m) : 1;
    if (out != NULL) {
        count(&m, out);
    }
    end(&m);
    return wrong;
}
