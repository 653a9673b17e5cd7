/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Collectives of teams that span nodes, against the reference: ranks are
 * threads, nodes are regions, messages come late, in the order of each pair. */

#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coll_ref.h"
#include "coll_world.h"
#include "lib/coll/engine.h"
#include "lib/coll/net.h"
#include "lib/coll/net_explain.h"

#define RANKS_MOST 9

struct message {
    struct message *next;
    uint64_t tag;
    size_t size;
    char bytes[];
};

/* One queue for each pair of ranks. */
static struct {
    pthread_mutex_t lock;
    struct message *first[RANKS_MOST][RANKS_MOST];
    int dead; /* rank + 1 whose messages fail */
} post = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Receives of a rank in the order of their posting, in which those of one
 * source and tag get what comes, whichever is asked for first. */
struct wanted {
    struct wanted *next;
    int from, me, delay;
    uint64_t tag;
    char *to;
    size_t size;
};

static struct wanted *posted[RANKS_MOST]; /* each rank's is its own thread's */

static bool is_next(const struct wanted *w)
{
    const struct wanted *p = posted[w->me];
    while (p->from != w->from || p->tag != w->tag) {
        p = p->next;
    }
    return p == w;
}

static void forget(struct wanted *w)
{
    struct wanted **at = &posted[w->me];
    while (*at != w) {
        at = &(*at)->next;
    }
    *at = w->next;
    free(w);
}

static int post_send(void *ctx, int to, uint64_t tag, const void *bytes,
                     size_t size, void **req_out, struct hpcboot_error *err)
{
    struct coll_rank *r = ctx;
    struct message *m = malloc(sizeof *m + size);
    (void)err;
    *m = (struct message){NULL, tag, size};
    if (size > 0) {
        memcpy(m->bytes, bytes, size);
    }
    pthread_mutex_lock(&post.lock);
    struct message **at = &post.first[r->rank][to];
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = m;
    pthread_mutex_unlock(&post.lock);
    *req_out = NULL;
    return 0;
}

static int post_recv(void *ctx, int from, uint64_t tag, void *bytes,
                     size_t size, void **req_out, struct hpcboot_error *err)
{
    struct coll_rank *r = ctx;
    struct wanted *w = malloc(sizeof *w), **at = &posted[r->rank];
    (void)err;
    *w = (struct wanted){NULL, from, r->rank, (int)(tag + (uint64_t)from) % 3,
                         tag, bytes, size};
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = w;
    *req_out = w;
    return 0;
}

static int post_test(void *ctx, void *req, size_t *got_out,
                     struct hpcboot_error *err)
{
    struct wanted *w = req;
    (void)ctx;
    if (post.dead == w->from + 1) {
        forget(w);
        err->code = HPCBOOT_ERR_PEER_DEAD;
        snprintf(err->text, sizeof err->text, "rank %d is dead", post.dead - 1);
        return HPCBOOT_ERR_PEER_DEAD;
    }
    if (!is_next(w) || w->delay-- > 0) {
        return 0;
    }
    pthread_mutex_lock(&post.lock);
    struct message **at = &post.first[w->from][w->me];
    while (*at != NULL && (*at)->tag != w->tag) {
        at = &(*at)->next;
    }
    struct message *m = *at;
    if (m != NULL) {
        *at = m->next;
    }
    pthread_mutex_unlock(&post.lock);
    if (m == NULL) {
        return 0;
    }
    int rc = m->size <= w->size ? 1 : HPCBOOT_ERR_LIMIT;
    *got_out = m->size;
    if (rc == 1 && m->size > 0) {
        memcpy(w->to, m->bytes, m->size);
    }
    free(m);
    forget(w);
    return rc;
}

static void post_cancel(void *ctx, void *req)
{
    (void)ctx;
    forget(req);
}

static const struct hb_coll_net net = {post_send, post_recv, post_test,
                                       post_cancel};

struct plan {
    int nodes;
    bool scattered; /* ranks go round the nodes instead of filling them */
    bool leaves;    /* of two nodes each */
    int cases;
    uint64_t seed;
};

static int node_of(const struct plan *p, int size, int rank)
{
    return p->scattered ? rank % p->nodes : rank * p->nodes / size;
}

static struct hb_coll_team *spanning_team(struct coll_rank *r,
                                          const struct plan *p)
{
    int nodes[RANKS_MOST], local[RANKS_MOST], leaf[RANKS_MOST], n = 0;
    struct hb_coll_team *team = NULL;
    struct hb_coll_team_args a = HB_COLL_TEAM_INIT;
    for (int i = 0; i < r->size; i++) {
        nodes[i] = node_of(p, r->size, i);
        if (nodes[i] == node_of(p, r->size, r->rank)) {
            local[n++] = i;
        }
    }
    for (int i = 0; i < p->nodes; i++) {
        leaf[i] = i / 2;
    }
    a.rank = r->rank;
    a.size = r->size;
    a.leaf_of = p->leaves ? leaf : NULL;
    a.local_ranks = local;
    a.local_size = n;
    a.node_of = nodes;
    a.region = coll_world_region(r, nodes[r->rank]);
    a.region_size = hb_coll_region_size(n);
    a.net = &net;
    a.team_ctx = r;
    a.timeout_ms = 20000;
    return hb_coll_team_create(r->engine, &a, &team, NULL) == 0 ? team : NULL;
}

static bool half(enum hpcboot_type t)
{
    return t == HPCBOOT_FLOAT16 || t == HPCBOOT_BFLOAT16;
}

static bool inexact(const struct coll_case *c)
{
    bool floats = c->type >= HPCBOOT_FLOAT16 &&
                  c->type <= HPCBOOT_DOUBLE_COMPLEX;
    return half(c->type) || (floats && c->op == HPCBOOT_PROD);
}

static struct coll_case pick(const struct plan *p, int ranks, uint64_t *rng)
{
    static const size_t sizes[] = {0, 1, 8, 300, 4096, 40000, 300000};
    struct coll_case c = {.ranks = ranks, .seed = coll_ref_random(rng)};
    c.coll = (enum hpcboot_coll)(coll_ref_random(rng) % HPCBOOT_COLLS);
    do {
        c.op = (int)(coll_ref_random(rng) % (HPCBOOT_OPS + 1));
        c.type = (enum hpcboot_type)(coll_ref_random(rng) % HPCBOOT_TYPES);
        if (c.op == HPCBOOT_OPS) {
            c.op = HPCBOOT_OP_USER;
            c.type = HPCBOOT_BYTE;
        }
    } while (!hb_coll_op_defined(c.op, c.type));
    size_t bytes = sizes[coll_ref_random(rng) % 7];
    c.count = bytes / hb_coll_type_size(c.type) / (bytes > 5000 ? 4 : 1);
    c.count &= c.op >= HPCBOOT_OP_USER ? ~(size_t)1 : ~(size_t)0;
    c.root = (int)(coll_ref_random(rng) % (uint64_t)ranks);
    c.in_place = coll_ref_random(rng) % 3 == 0 &&
                 c.coll > HPCBOOT_COLL_BCAST;
    return c;
}

static const char *run_cases(struct coll_rank *r)
{
    const struct plan *p = r->arg;
    struct hb_coll_team *team = spanning_team(r, p);
    uint64_t rng = p->seed;
    const char *wrong = team == NULL ? "no team" : NULL;
    for (int i = 0; i < p->cases && wrong == NULL; i++) {
        struct coll_case c = pick(p, r->size, &rng);
        struct coll_buffers b;
        struct hpcboot_error err = {0};
        struct hb_coll_req *q = NULL;
        coll_ref_make(&c, r->rank, NULL, &b);
        b.args.flags = inexact(&c) ? HPCBOOT_DETERMINISTIC : 0;
        int rc = i % 2 == 0
                     ? hb_coll_run(team, &b.args, &coll_ref_user, &err)
                     : hb_coll_init(team, &b.args, &coll_ref_user, &q, &err);
        if (rc == 0 && q != NULL) {
            rc = hb_coll_start(q, &err);
            rc = rc == 0 ? hb_coll_wait(q, 0, &err) : rc;
        }
        wrong = rc != 0 ? coll_text("%s", err.text)
                        : coll_ref_compare(&c, r->rank, &b);
        hb_coll_req_destroy(q);
        coll_ref_free(&b, false);
    }
    hb_coll_team_destroy(team);
    return wrong;
}

static void empty_queues(void)
{
    for (int i = 0; i < RANKS_MOST * RANKS_MOST; i++) {
        struct message **at = &post.first[i / RANKS_MOST][i % RANKS_MOST];
        while (*at != NULL) {
            struct message *m = *at;
            *at = m->next;
            free(m);
        }
    }
}

static void agree_over_nodes(const char *wish, int most_nodes, bool leaves)
{
    for (int ranks = 2; ranks <= RANKS_MOST; ranks++) {
        for (int nodes = 2; nodes <= ranks && nodes <= most_nodes; nodes++) {
            struct plan p = {nodes, ranks % 2 == 0 && nodes % 2 == 0,
                             leaves, 30, (uint64_t)(ranks * 31 + nodes)};
            struct coll_world w = {.ranks = ranks, .extra_regions = nodes,
                                   .wait_mode = HB_COLL_WAIT_YIELD,
                                   .net_wish = wish};
            assert_int_equal(coll_world_run(&w, run_cases, &p), 0);
        }
    }
}

static void agrees_with_the_reference_over_nodes(void **state)
{
    agree_over_nodes(NULL, 5, false);
}

static void agrees_with_several_leaders_on_each_node(void **state)
{
    agree_over_nodes("leaders=2", 3, false);
    agree_over_nodes("leaders=3", 2, false);
}

static void agrees_where_leaves_are_known(void **state)
{
    agree_over_nodes("barrier=knomial:2,bcast=knomial:2,reduce=knomial:2,"
                     "allreduce=knomial:4,reduce_scatter=knomial:2", 9, true);
}

/* 60000 as a float16; two of them are too many for one. */
static const char *average_of_halves(struct coll_rank *r)
{
    struct hb_coll_team *team = spanning_team(r, r->arg);
    uint16_t in = 0x7b53, out = in;
    struct hpcboot_coll_args a = coll_sum_of(NULL, (void *)&out, 1);
    a.type = HPCBOOT_FLOAT16;
    a.op = HPCBOOT_AVG;
    int rc = 0;
    for (int i = 0; i < 3 && rc == 0; i++) { /* rank 0 keeps what it has */
        a.coll = i < 2 ? HPCBOOT_COLL_ALLREDUCE : HPCBOOT_COLL_EXSCAN;
        a.send = i == 0 ? &in : HPCBOOT_IN_PLACE;
        rc = hb_coll_run(team, &a, NULL, NULL);
        rc += out != in && (i < 2 || r->rank == 0);
    }
    hb_coll_team_destroy(team);
    return rc != 0 ? coll_text("%#x", rc) : NULL;
}

static void an_average_is_finite_where_the_sum_is_not(void **state)
{
    struct plan p = {.nodes = 2};
    struct coll_world w = {.ranks = 4, .extra_regions = 2};
    assert_int_equal(coll_world_run(&w, average_of_halves, &p), 0);
}

/* Rank 1 is away; the network says so to whoever wants its message. */
static const char *barrier_with_a_dead_rank(struct coll_rank *r)
{
    struct plan p = {.nodes = r->size};
    struct hb_coll_team *team = spanning_team(r, &p);
    struct hpcboot_error err = {0};
    const char *wrong = NULL;
    if (r->rank != 1) {
        int rc = hb_coll_barrier(team, &err);
        int again = hb_coll_barrier(team, NULL);
        if (rc != HPCBOOT_ERR_PEER_DEAD || again != rc ||
            strstr(err.text, "rank 1 is dead") == NULL) {
            wrong = coll_text("%d, %d: %s", rc, again, err.text);
        }
    }
    hb_coll_team_destroy(team);
    return wrong;
}

static void a_network_error_ends_the_team(void **state)
{
    struct coll_world w = {.ranks = 2, .extra_regions = 2};
    post.dead = 2;
    assert_int_equal(coll_world_run(&w, barrier_with_a_dead_rank, NULL), 0);
    post.dead = 0;
    empty_queues();
}

/* Of two ranks of a node; in their phase they move whole vectors. */
static const char *differ_on_a_node(struct coll_rank *r)
{
    struct plan p = {.nodes = 2};
    struct hb_coll_team *team = spanning_team(r, &p);
    struct hpcboot_error err = {0};
    const char *wrong = NULL;
    char send[64] = {0}, recv[64];
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_ALLTOALL;
    a.type = HPCBOOT_BYTE;
    a.send = send;
    a.recv = recv;
    a.count = r->rank == 1 ? 16 : 8;
    int rc = r->rank < 2 ? hb_coll_run(team, &a, NULL, &err) : 0;
    if (r->rank == 0 &&
        (rc != HPCBOOT_ERR_USAGE ||
         strstr(err.text, "rank 0 alltoall of 8 bytes") == NULL ||
         strstr(err.text, "rank 1 alltoall of 16 bytes") == NULL)) {
        wrong = coll_text("%d: %s", rc, err.text);
    }
    coll_leave(r);
    hb_coll_team_destroy(team);
    return wrong;
}

static void calls_that_differ_on_a_node_are_told_as_they_were_made(void **state)
{
    struct coll_world w = {.ranks = 4, .extra_regions = 2,
                           .net_wish = "nodes", .alive = coll_rank_0_left};
    assert_int_equal(coll_world_run(&w, differ_on_a_node, NULL), 0);
    empty_queues();
}

/* Sanitizers end a program that asks for as much as follows. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* More than any memory has, at the root, which is to have all vectors. */
static const char *call_anew_without_memory(struct coll_rank *r)
{
    struct plan p = {.nodes = 2};
    struct hb_coll_team *team = spanning_team(r, &p);
    struct hpcboot_error err = {0};
    char recv[1];
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_REDUCE;
    a.type = HPCBOOT_UINT8;
    a.send = HPCBOOT_IN_PLACE;
    a.recv = recv;
    a.count = (size_t)1 << 54;
    a.flags = HPCBOOT_DETERMINISTIC;
    int rc = r->rank == 0 ? hb_coll_run(team, &a, NULL, &err)
                          : HPCBOOT_ERR_NOMEM;
    int then = hb_coll_barrier(team, &err);
    hb_coll_team_destroy(team);
    return rc == HPCBOOT_ERR_NOMEM && then == 0
               ? NULL : coll_text("%d, then %d: %s", rc, then, err.text);
}

static void a_call_that_finds_no_memory_has_not_been_made(void **state)
{
    struct coll_world w = {.ranks = 2, .extra_regions = 2};
    assert_int_equal(coll_world_run(&w, call_anew_without_memory, NULL), 0);
    empty_queues();
}

/* ---- who waits for a rank of its node, and who for the network ---- */

static _Atomic int turn;

static bool near_is_awaited(const struct hb_coll_team *t)
{
    return t->first != NULL && hb_net_waits_for_near(t->first->op.net);
}

#define NEAR_BYTES ((size_t)64 << 10)

/* Ranks 0 and 1 are on a node, and rank 1 gives its block before the others
 * do. The root, which looks on, is rank 0. */
static const char *near_comes_first(struct coll_rank *r)
{
    struct plan p = {.nodes = 2};
    struct hb_coll_team *team = spanning_team(r, &p);
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    struct hb_coll_req *req = NULL;
    const char *wrong = NULL;
    char *all = calloc(4, NEAR_BYTES), *mine = calloc(1, NEAR_BYTES);
    a.coll = HPCBOOT_COLL_GATHER;
    a.type = HPCBOOT_BYTE;
    a.send = mine;
    a.recv = all;
    a.count = NEAR_BYTES;
    while (r->rank > 0 && turn < (r->rank == 1 ? 1 : 2)) {
        sched_yield();
    }
    int rc = hb_coll_init(team, &a, NULL, &req, NULL);
    rc = rc == 0 ? hb_coll_start(req, NULL) : rc;
    if (r->rank == 0 && rc == 0) {
        wrong = near_is_awaited(team) ? NULL : "rank 1 is not awaited";
        turn = 1;
        while (wrong == NULL && near_is_awaited(team)) {
            (void)hb_coll_progress(r->engine);
        }
        wrong = hb_coll_under_way(req) ? wrong : "nobody is awaited";
    } else if (rc == 0 && near_is_awaited(team)) {
        wrong = "who only sends waits";
    }
    if (r->rank == 0) {
        turn = 2;
    }
    rc = rc == 0 ? hb_coll_wait(req, 0, NULL) : rc;
    hb_coll_req_destroy(req);
    hb_coll_team_destroy(team);
    free(all);
    free(mine);
    return rc < 0 ? "the gather failed" : wrong;
}

static void who_is_near_is_told_from_who_is_far(void **state)
{
    struct coll_world w = {.ranks = 4, .extra_regions = 2,
                           .wait_mode = HB_COLL_WAIT_YIELD,
                           .net_wish = "flat,gather=linear"};
    turn = 0;
    assert_int_equal(coll_world_run(&w, near_comes_first, NULL), 0);
    empty_queues();
}

/* ---- what hpcboot explain says is what a run takes ---- */

/* Of the call that a rank has just made: NULL, or how it differs. */
static const char *differs(const struct hb_coll_team *t,
                           const struct hb_net_answer *a)
{
    const struct hb_net_team *nt = t->net_team;
    const struct hb_sched *s = &nt->kept[(nt->next - 1) % HB_NET_KEPT].sched;
    if (s->n_phases != a->n_phases) {
        return coll_text("%d phases, %d told", s->n_phases, a->n_phases);
    }
    for (int i = 0; i < s->n_phases; i++) {
        const struct hb_phase *ran = &s->phases[i];
        const struct hb_phase *told = &a->phases[i].taken;
        if (ran->coll != told->coll || ran->size != told->size ||
            ran->bytes != told->bytes || ran->how.alg != told->how.alg ||
            ran->how.radix != told->how.radix ||
            ran->how.segment != told->how.segment) {
            return coll_text("%s of %zu by %s, told %s of %zu by %s",
                             hb_coll_name(ran->coll), ran->bytes,
                             hb_alg_name(ran->how.alg),
                             hb_coll_name(told->coll), told->bytes,
                             hb_alg_name(told->how.alg));
        }
    }
    return NULL;
}

static const char *told_is_taken(struct coll_rank *r, struct hb_coll_team *t,
                                 const struct plan *p, enum hpcboot_coll coll,
                                 size_t count)
{
    struct coll_case c = {.coll = coll, .type = HPCBOOT_DOUBLE,
                          .op = HPCBOOT_SUM, .count = count,
                          .ranks = r->size};
    struct hb_net_question q = {
        .coll = coll, .bytes = count * sizeof(double), .nodes = p->nodes,
        .per_node = r->size / p->nodes, .facts = t->net_facts,
        .wish = t->engine->config.net_wish};
    struct hb_net_answer a;
    struct coll_buffers b;
    struct hpcboot_error err = {0};
    const char *wrong = NULL;
    bool last = coll >= HPCBOOT_COLL_SCAN; /* of a node has all of it */
    coll_ref_make(&c, r->rank, NULL, &b);
    if (hb_coll_run(t, &b.args, NULL, &err) < 0 ||
        hb_net_explain(&q, &a, &err) < 0) {
        wrong = coll_text("%s", err.text);
    } else if (r->rank == (last ? q.per_node - 1 : 0)) {
        wrong = differs(t, &a);
    }
    coll_ref_free(&b, false);
    return wrong;
}

static const char *told_what_runs(struct coll_rank *r)
{
    static const size_t counts[] = {1, 600, 5000, 40000};
    const struct plan *p = r->arg;
    struct hb_coll_team *team = spanning_team(r, p);
    const char *wrong = team == NULL ? "no team" : NULL;
    for (int i = 0; i < 4 * HPCBOOT_COLLS && wrong == NULL; i++) {
        enum hpcboot_coll coll = (enum hpcboot_coll)(i / 4);
        bool rows = coll == HPCBOOT_COLL_SCATTERV ||
                    coll == HPCBOOT_COLL_GATHERV ||
                    coll == HPCBOOT_COLL_ALLGATHERV ||
                    coll == HPCBOOT_COLL_ALLTOALLV ||
                    coll == HPCBOOT_COLL_REDUCE_SCATTER; /* are not kept */
        wrong = rows ? NULL
                     : told_is_taken(r, team, p, coll, counts[i % 4]);
    }
    hb_coll_team_destroy(team);
    return wrong;
}

static void what_is_told_of_a_call_is_what_it_takes(void **state)
{
    static const char *const wishes[] = {
        NULL, "flat", "leaders=2",
        "allreduce=ring,bcast=knomial:4,scan=linear,alltoall=bruck"};
    for (int i = 0; i < 4 * 2; i++) {
        struct plan p = {.nodes = i < 4 ? 4 : 3};
        struct coll_world w = {.ranks = i < 4 ? 4 : 6,
                               .extra_regions = p.nodes,
                               .wait_mode = HB_COLL_WAIT_YIELD,
                               .net_wish = wishes[i % 4]};
        assert_int_equal(coll_world_run(&w, told_what_runs, &p), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_reference_over_nodes),
        cmocka_unit_test(agrees_with_several_leaders_on_each_node),
        cmocka_unit_test(agrees_where_leaves_are_known),
        cmocka_unit_test(an_average_is_finite_where_the_sum_is_not),
        cmocka_unit_test(a_network_error_ends_the_team),
        cmocka_unit_test(
            calls_that_differ_on_a_node_are_told_as_they_were_made),
        cmocka_unit_test(a_call_that_finds_no_memory_has_not_been_made),
        cmocka_unit_test(who_is_near_is_told_from_who_is_far),
        cmocka_unit_test(what_is_told_of_a_call_is_what_it_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
