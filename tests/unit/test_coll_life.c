/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Collectives when things go wrong, and when several go on at once: dead
 * peers, deadlines, calls that do not match, wrong arguments, ranks that park
 * and are woken, teams that overlap. */

#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "coll_world.h"
#include "lib/base/clock.h"
#include "lib/coll/impl.h"

/* Rank 2 has died: whoever asks is told so once the page has changed. */
static int rank_2_is_dead(void *ctx, void *team_ctx,
                          struct hpcboot_error *err)
{
    (void)ctx;
    (void)team_ctx;
    strcpy(err->text, "rank 2 on host n1 was killed by signal 9");
    return err->code = HPCBOOT_ERR_PEER_DEAD;
}

static const char *meet_a_dead_rank(struct coll_rank *r)
{
    struct hpcboot_error err = {0};
    int in = 1, out = 0;
    struct hpcboot_coll_args a = coll_sum_of(&in, &out, 1);
    struct hb_coll_req *q = NULL;
    if (r->rank == 2) {
        hb_coll_node_changed(r->page);
        return NULL;
    }
    int rc = r->rank == 0 ? hb_coll_barrier(r->team, &err)
                          : hb_coll_init(r->team, &a, NULL, &q, &err);
    if (q != NULL) {
        hb_coll_start(q, NULL);
        rc = hb_coll_wait(q, 0, &err);
        hb_coll_req_destroy(q);
    }
    if (rc != HPCBOOT_ERR_PEER_DEAD || strstr(err.text, "host n1") == NULL) {
        return coll_text("%d: %s", rc, err.text);
    }
    return hb_coll_run(r->team, &a, NULL, NULL) == rc ? NULL
                                                      : "the team lived on";
}

static void a_dead_peer_ends_every_wait(void **state)
{
    for (int mode = HB_COLL_WAIT_SPIN; mode <= HB_COLL_WAIT_PARK; mode++) {
        struct coll_world w = {.ranks = 4, .wait_mode = mode,
                               .processes = mode == HB_COLL_WAIT_PARK,
                               .alive = rank_2_is_dead};
        assert_int_equal(coll_world_run(&w, meet_a_dead_rank, NULL), 0);
    }
}

struct parting {
    _Atomic int asked, over;
};

/* It is known, and the call that is under way may complete. */
static int rank_1_is_leaving(void *ctx, void *team_ctx,
                             struct hpcboot_error *err)
{
    struct parting *p = ((struct coll_rank *)ctx)->arg;
    (void)team_ctx;
    p->asked++;
    strcpy(err->text, "rank 1 has left");
    err->code = HPCBOOT_ERR_PEER_DEAD;
    return p->over ? HPCBOOT_ERR_PEER_DEAD : 1;
}

static const char *leave_after_the_call(struct coll_rank *r)
{
    struct parting *p = r->arg;
    if (r->rank == 1) {
        hb_coll_node_changed(r->page);
        while (p->asked < 3) {
            sched_yield();
        }
        return hb_coll_barrier(r->team, NULL) == 0 ? NULL : "rank 1 failed";
    }
    int rc = hb_coll_barrier(r->team, NULL);
    p->over = 1;
    int next = hb_coll_barrier(r->team, NULL);
    return rc == 0 && next == HPCBOOT_ERR_PEER_DEAD
               ? NULL : coll_text("%d %d", rc, next);
}

static void a_call_that_the_dead_took_part_in_completes(void **state)
{
    struct coll_world w = {.ranks = 2, .alive = rank_1_is_leaving};
    struct parting p = {0};
    assert_int_equal(coll_world_run(&w, leave_after_the_call, &p), 0);
}

static const char *miss_the_dead(struct coll_rank *r)
{
    struct hpcboot_error err = {0};
    if (r->rank == 1) {
        hb_coll_node_changed(r->page);
        return NULL;
    }
    hb_coll_team_set(r->team, 20, false);
    int rc = hb_coll_barrier(r->team, &err);
    return rc == HPCBOOT_ERR_PEER_DEAD && strstr(err.text, "has left") != NULL
               ? NULL : coll_text("%d: %s", rc, err.text);
}

static void a_deadline_that_passes_after_a_death_names_the_dead(void **state)
{
    struct coll_world w = {.ranks = 2, .alive = rank_1_is_leaving};
    struct parting p = {0};
    assert_int_equal(coll_world_run(&w, miss_the_dead, &p), 0);
}

static const char *call_something_else(struct coll_rank *r)
{
    struct hpcboot_error err = {0};
    int in[40] = {1}, out[40];
    struct hpcboot_coll_args a = coll_sum_of(in, out, r->rank == 1 ? 40 : 20);
    int rc = hb_coll_run(r->team, &a, NULL, &err);
    if (rc != HPCBOOT_ERR_USAGE || strstr(err.text, "160 bytes") == NULL ||
        strstr(err.text, "80 bytes") == NULL) {
        return coll_text("%d: %s", rc, err.text);
    }
    return NULL;
}

static void calls_that_differ_are_found_and_both_are_named(void **state)
{
    struct coll_world w = {.ranks = 2};
    assert_int_equal(coll_world_run(&w, call_something_else, NULL), 0);
}

/* Rank 0 of a bcast waits for nobody: only a check finds this. */
static const char *differ_in_root(struct coll_rank *r)
{
    struct hpcboot_error err = {0};
    int x = 1;
    struct hpcboot_coll_args a = coll_sum_of(NULL, &x, 1);
    a.coll = HPCBOOT_COLL_BCAST;
    a.root = r->rank;
    int rc = hb_coll_run(r->team, &a, NULL, &err);
    return rc == HPCBOOT_ERR_USAGE ? NULL : coll_text("%d: %s", rc, err.text);
}

static void with_check_every_rank_finds_it(void **state)
{
    struct coll_world w = {.ranks = 3, .check = true};
    assert_int_equal(coll_world_run(&w, differ_in_root, NULL), 0);
}

struct misuse {
    const char *says;
    int code;
    void (*spoil)(struct hpcboot_coll_args *a);
};

static void no_coll(struct hpcboot_coll_args *a) { a->coll = 99; }
static void no_type(struct hpcboot_coll_args *a) { a->type = 77; }
static void no_op(struct hpcboot_coll_args *a) { a->op = 55; }
static void bad_op(struct hpcboot_coll_args *a) { a->op = HPCBOOT_MINLOC; }
static void no_send(struct hpcboot_coll_args *a) { a->send = NULL; }
static void no_recv(struct hpcboot_coll_args *a) { a->recv = NULL; }
static void negative(struct hpcboot_coll_args *a) { a->count = (size_t)-1; }
static void user_op(struct hpcboot_coll_args *a) { a->op = 2000; }
static void overlap(struct hpcboot_coll_args *a)
{
    a->recv = (char *)a->send + 4;
    a->count = 2;
}
static void bad_root(struct hpcboot_coll_args *a)
{
    a->coll = HPCBOOT_COLL_REDUCE;
    a->root = 3;
}
static void no_root(struct hpcboot_coll_args *a)
{
    a->coll = HPCBOOT_COLL_BCAST;
    a->root = -1;
}
static void no_row(struct hpcboot_coll_args *a)
{
    a->coll = HPCBOOT_COLL_ALLGATHERV;
}
/* It would read 50 elements of itself where it sends one. */
static void own_row(struct hpcboot_coll_args *a)
{
    static const size_t one[] = {1, 1}, many[] = {50, 1};
    a->coll = HPCBOOT_COLL_ALLTOALLV;
    a->send_counts = one;
    a->recv_counts = many;
}
static void place_bcast(struct hpcboot_coll_args *a)
{
    a->coll = HPCBOOT_COLL_BCAST;
    a->recv = HPCBOOT_IN_PLACE;
}

static const struct misuse misuses[] = {
    {"there is no collective 99", HPCBOOT_ERR_USAGE, no_coll},
    {"there is no type 77", HPCBOOT_ERR_USAGE, no_type},
    {"there is no op 55", HPCBOOT_ERR_USAGE, no_op},
    {"minloc is not defined for int32", HPCBOOT_ERR_UNSUPPORTED, bad_op},
    {"send is NULL", HPCBOOT_ERR_USAGE, no_send},
    {"recv is NULL", HPCBOOT_ERR_USAGE, no_recv},
    {"count is negative", HPCBOOT_ERR_USAGE, negative},
    {"no such op", HPCBOOT_ERR_USAGE, user_op},
    {"overlap", HPCBOOT_ERR_USAGE, overlap},
    {"root is 3", HPCBOOT_ERR_USAGE, bad_root},
    {"root is -1", HPCBOOT_ERR_USAGE, no_root},
    {"recv_counts is NULL", HPCBOOT_ERR_USAGE, no_row},
    {"send_counts[0] is 1, and recv_counts[0] 50", HPCBOOT_ERR_USAGE, own_row},
    {"buffer is HPCBOOT_IN_PLACE", HPCBOOT_ERR_USAGE, place_bcast},
};

/* At one rank alone, and the team is as it was. */
static const char *misuse_it(struct coll_rank *r)
{
    int in[4] = {1}, out[4] = {0};
    for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++) {
        struct hpcboot_coll_args a = coll_sum_of(in, out, 1);
        struct hpcboot_error err = {0};
        misuses[i].spoil(&a);
        int rc = r->rank == 0 ? hb_coll_run(r->team, &a, NULL, &err) : 0;
        if (r->rank == 0 && (rc != misuses[i].code ||
                             strstr(err.text, misuses[i].says) == NULL)) {
            return coll_text("%d instead of \"%s\": %s", rc, misuses[i].says,
                             err.text);
        }
        a = coll_sum_of(in, out, 1);
        if (hb_coll_run(r->team, &a, NULL, &err) != 0 || out[0] != 2) {
            return coll_text("afterwards: %d, %s", out[0], err.text);
        }
    }
    return NULL;
}

/* The caller's arrays become something else once the request is there. */
static const char *prepare_rows(struct coll_rank *r)
{
    size_t counts[3] = {1, 2, 1}, mine = counts[r->rank], displs[3] = {0, 1, 3};
    int in[2] = {10 * r->rank + 1, 10 * r->rank + 2}, out[4];
    struct hpcboot_coll_args a = coll_sum_of(in, out, mine);
    struct hpcboot_error err = {0};
    struct hb_coll_req *q = NULL;
    a.coll = HPCBOOT_COLL_ALLGATHERV;
    a.recv_counts = counts;
    a.recv_displs = displs;
    int rc = hb_coll_init(r->team, &a, NULL, &q, &err);
    memset(counts, 0x7f, sizeof counts);
    memset(displs, 0x7f, sizeof displs);
    memset(&a, 0x7f, sizeof a);
    for (int i = 0; i < 3 && rc == 0; i++) {
        memset(out, 0, sizeof out);
        rc = hb_coll_start(q, &err);
        rc = rc == 0 ? hb_coll_wait(q, 0, &err) : rc;
        if (rc == 0 && (out[0] != 1 || out[1] != 11 || out[2] != 12 ||
                        out[3] != 21)) {
            return coll_text("%d %d %d %d", out[0], out[1], out[2], out[3]);
        }
    }
    hb_coll_req_destroy(q);
    return rc == 0 ? NULL : coll_text("%d: %s", rc, err.text);
}

static void a_request_has_rows_of_its_own(void **state)
{
    struct coll_world w = {.ranks = 3};
    assert_int_equal(coll_world_run(&w, prepare_rows, NULL), 0);
    w.check = true;
    assert_int_equal(coll_world_run(&w, prepare_rows, NULL), 0);
}

/* What a call does not take is whatever its caller left there. */
static const char *leave_what_is_not_taken(struct coll_rank *r)
{
    void *nothing = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                         0);
    size_t one[2] = {1, 1};
    int v[2] = {10 * r->rank, 10 * r->rank + 1};
    struct hpcboot_coll_args a = coll_sum_of(HPCBOOT_IN_PLACE, v, 1);
    struct hpcboot_error err = {0};
    struct hb_coll_req *q = NULL;
    a.coll = HPCBOOT_COLL_ALLTOALLV;
    a.recv_counts = one;
    a.send_counts = a.send_displs = nothing;
    int rc = hb_coll_run(r->team, &a, NULL, &err);
    rc = rc == 0 ? hb_coll_init(r->team, &a, NULL, &q, &err) : rc;
    rc = rc == 0 ? hb_coll_start(q, &err) : rc;
    rc = rc == 0 ? hb_coll_wait(q, 0, &err) : rc;
    hb_coll_req_destroy(q);
    if (rc != 0 || v[0] != 10 * r->rank || v[1] != 10 * r->rank + 1) {
        return coll_text("%d, %d %d: %s", rc, v[0], v[1], err.text);
    }
    a.coll = HPCBOOT_COLL_BCAST;
    rc = hb_coll_run(r->team, &a, NULL, &err);
    munmap(nothing, 1);
    return rc == 0 && v[0] == 0 ? NULL
                                : coll_text("%d, %d: %s", rc, v[0], err.text);
}

static void what_is_not_taken_is_not_looked_at(void **state)
{
    struct coll_world w = {.ranks = 2};
    assert_int_equal(coll_world_run(&w, leave_what_is_not_taken, NULL), 0);
    w.check = true;
    assert_int_equal(coll_world_run(&w, leave_what_is_not_taken, NULL), 0);
}

static void misuse_is_an_error_with_text(void **state)
{
    struct coll_world w = {.ranks = 2};
    assert_int_equal(coll_world_run(&w, misuse_it, NULL), 0);
}

/* Rank 1 comes when rank 0 sleeps until it does. */
static const char *come_when_it_sleeps(struct coll_rank *r)
{
    struct hpcboot_error err = {0};
    struct hb_coll_team *t = coll_further_team(r, 0);
    struct hb_shm_head *head = coll_world_region(r, 0);
    struct hb_shm_rank *ranks = (struct hb_shm_rank *)(head + 1);
    while (r->rank == 1 && atomic_load(&ranks[0].waits_for) != 2) {
        sched_yield();
    }
    int rc = hb_coll_barrier(t, &err);
    hb_coll_team_destroy(t);
    return rc == 0 ? NULL : coll_text("%s", err.text);
}

static void a_parked_rank_is_woken(void **state)
{
    for (int mode = HB_COLL_WAIT_SPIN; mode <= HB_COLL_WAIT_PARK; mode++) {
        struct coll_world w = {.ranks = 2, .wait_mode = mode,
                               .extra_regions = 1, .processes = mode == 1};
        assert_int_equal(coll_world_run(&w, come_when_it_sleeps, NULL), 0);
    }
}

/* Started on one team, ended during a blocking call on another: rank 0 waits
 * for A first, rank 1 for B. */
static const char *cross_over(struct coll_rank *r)
{
    struct hb_coll_team *b = coll_further_team(r, 0);
    struct hpcboot_error err = {0};
    int in[2] = {1, 2}, out[2] = {0};
    struct hpcboot_coll_args x = coll_sum_of(&in[0], &out[0], 1);
    struct hpcboot_coll_args y = coll_sum_of(&in[1], &out[1], 1);
    struct hb_coll_req *q = NULL;
    int rc = 0;
    for (int i = 0; i < 200 && rc == 0; i++) {
        bool first = (r->rank + i) % 2 == 0;
        rc = hb_coll_init(first ? r->team : b, first ? &x : &y, NULL, &q,
                          &err);
        rc = rc == 0 ? hb_coll_start(q, &err) : rc;
        rc = rc == 0 ? hb_coll_run(first ? b : r->team, first ? &y : &x, NULL,
                                   &err) : rc;
        rc = rc == 0 ? hb_coll_wait(q, 0, &err) : rc;
        hb_coll_req_destroy(q);
        q = NULL;
    }
    hb_coll_team_destroy(b);
    if (rc != 0 || out[0] != r->size || out[1] != 2 * r->size) {
        return coll_text("%d %d: %s", out[0], out[1], err.text);
    }
    return NULL;
}

static void teams_move_each_other_on(void **state)
{
    struct coll_world w = {.ranks = 2, .extra_regions = 1,
                           .wait_mode = HB_COLL_WAIT_YIELD};
    assert_int_equal(coll_world_run(&w, cross_over, NULL), 0);
    w.ranks = 4;
    w.processes = true;
    assert_int_equal(coll_world_run(&w, cross_over, NULL), 0);
}

struct caller {
    struct coll_rank *r;
    struct hb_coll_team *team;
    int rc;
};

static void *call_many(void *arg)
{
    struct caller *c = arg;
    for (int i = 0; i < 300 && c->rc == 0; i++) {
        c->rc = hb_coll_barrier(c->team, NULL);
    }
    return NULL;
}

static const char *call_from_two_threads(struct coll_rank *r)
{
    struct caller a = {r, r->team, 0}, b = {r, coll_further_team(r, 0), 0};
    pthread_t t;
    pthread_create(&t, NULL, call_many, &b);
    call_many(&a);
    pthread_join(t, NULL);
    hb_coll_team_destroy(b.team);
    return a.rc == 0 && b.rc == 0 ? NULL : coll_text("%d %d", a.rc, b.rc);
}

static void two_threads_use_two_teams(void **state)
{
    struct coll_world w = {.ranks = 2, .extra_regions = 1,
                           .threads_call = true,
                           .wait_mode = HB_COLL_WAIT_YIELD};
    assert_int_equal(coll_world_run(&w, call_from_two_threads, NULL), 0);
}

static int never(void *arg)
{
    (void)arg;
    return 0;
}

static const char *wait_for_nothing(struct coll_rank *r)
{
    int rc = hb_coll_wait_until(r->engine, never, NULL,
                                hb_deadline_in_ms(20), NULL);
    int in = 1, out = 0;
    struct hpcboot_coll_args a = coll_sum_of(&in, &out, 1);
    struct hb_coll_req *q = NULL;
    hb_coll_init(r->team, &a, NULL, &q, NULL);
    if (hb_coll_test(q, NULL) != 1 || rc != HPCBOOT_ERR_TIMED_OUT) {
        return coll_text("%d", rc);
    }
    if (r->rank == 0) {
        hb_coll_start(q, NULL);
        struct hpcboot_error err = {0};
        rc = hb_coll_wait(q, hb_deadline_in_ms(20), &err);
        if (rc != HPCBOOT_ERR_TIMED_OUT || !hb_coll_under_way(q) ||
            strstr(err.text, "allreduce on a team of 2: the wait's deadline "
                   "passed while rank 0 waited for rank 1") == NULL) {
            return coll_text("the wait ended with %d, %s", rc, err.text);
        }
        hb_coll_node_changed(r->page); /* tells rank 1 to start */
    } else {
        while (r->page->changes == 0) {
            sched_yield();
        }
        hb_coll_start(q, NULL);
    }
    rc = hb_coll_wait(q, 0, NULL);
    hb_coll_req_destroy(q);
    return rc == 0 && out == 2 ? NULL : coll_text("%d %d", rc, out);
}

static void a_wait_that_times_out_leaves_the_request(void **state)
{
    struct coll_world w = {.ranks = 2, .wait_mode = HB_COLL_WAIT_PARK};
    assert_int_equal(coll_world_run(&w, wait_for_nothing, NULL), 0);
}

/* Rank 1 comes when all has been sent. */
static const char *send_to_who_is_away(struct coll_rank *r)
{
    const int *calls = r->arg;
    struct hpcboot_error err = {0};
    int rc = 0, value = -1, i = 0;
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_BCAST;
    a.type = HPCBOOT_INT32;
    a.recv = &value;
    a.count = 1;
    while (r->rank == 1 && r->page->changes == 0) {
        sched_yield();
    }
    for (; i < *calls && rc == 0; i++) {
        value = r->rank == 0 ? i : -1;
        rc = hb_coll_run(r->team, &a, NULL, &err);
        if (rc == 0 && value != i) {
            return coll_text("call %d brought %d", i, value);
        }
    }
    if (r->rank == 0) {
        hb_coll_node_changed(r->page);
    }
    return rc == 0 ? NULL : coll_text("call %d: %s", i, err.text);
}

static void who_only_sends_runs_ahead(void **state)
{
    for (int mode = HB_COLL_WAIT_SPIN; mode <= HB_COLL_WAIT_YIELD; mode++) {
        struct coll_world w = {.ranks = 2, .wait_mode = mode};
        int ahead = 63;
        assert_int_equal(coll_world_run(&w, send_to_who_is_away, &ahead), 0);
    }
}

/* The same buffers and the same count, call after call; the rows are another
 * array's, then hold something else, then are wrong. */
static const char *gather_by_rows(struct coll_rank *r)
{
    struct hpcboot_error err = {0};
    int in = 10 + r->rank, out[4];
    size_t counts[2] = {1, 1}, counts_too[2] = {1, 1}, displs[2] = {0, 2};
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    a.coll = HPCBOOT_COLL_GATHERV;
    a.type = HPCBOOT_INT32;
    a.send = &in;
    a.recv = out;
    a.count = 1;
    a.recv_counts = counts;
    a.recv_displs = displs;
    for (int i = 0; i < 4; i++) {
        int at[2] = {i < 2 ? 0 : 3, i < 2 ? 2 : 1};
        memset(out, 0, sizeof out);
        a.recv_counts = i % 2 == 0 ? counts : counts_too;
        displs[0] = (size_t)at[0];
        displs[1] = (size_t)at[1];
        if (hb_coll_run(r->team, &a, NULL, &err) != 0 ||
            (r->rank == 0 && (out[at[0]] != 10 || out[at[1]] != 11))) {
            return coll_text("call %d: %d %d: %s", i, out[at[0]], out[at[1]],
                             err.text);
        }
    }
    counts_too[1] = SIZE_MAX / 4 + 2; /* times 4 it is the same again */
    int rc = r->rank == 0 ? hb_coll_run(r->team, &a, NULL, &err)
                          : HPCBOOT_ERR_USAGE;
    return rc == HPCBOOT_ERR_USAGE ? NULL : coll_text("%d", rc);
}

static void rows_that_change_between_calls_are_seen(void **state)
{
    struct coll_world w = {.ranks = 2};
    assert_int_equal(coll_world_run(&w, gather_by_rows, NULL), 0);
}

/* Who makes a team of survivors may not know of the last that has died. */
static void what_is_room_for_more_ranks_is_room_for_fewer(void **state)
{
    for (int p = 2; p <= 1024; p++) {
        assert_true(hb_coll_region_size(p) >= hb_coll_region_size(p - 1));
        assert_true(hb_coll_region_small(p) >= hb_coll_region_small(p - 1));
        assert_true(hb_coll_region_least(p) >= hb_coll_region_least(p - 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dead_peer_ends_every_wait),
        cmocka_unit_test(a_call_that_the_dead_took_part_in_completes),
        cmocka_unit_test(a_deadline_that_passes_after_a_death_names_the_dead),
        cmocka_unit_test(calls_that_differ_are_found_and_both_are_named),
        cmocka_unit_test(with_check_every_rank_finds_it),
        cmocka_unit_test(misuse_is_an_error_with_text),
        cmocka_unit_test(what_is_not_taken_is_not_looked_at),
        cmocka_unit_test(a_request_has_rows_of_its_own),
        cmocka_unit_test(a_parked_rank_is_woken),
        cmocka_unit_test(teams_move_each_other_on),
        cmocka_unit_test(two_threads_use_two_teams),
        cmocka_unit_test(a_wait_that_times_out_leaves_the_request),
        cmocka_unit_test(rows_that_change_between_calls_are_seen),
        cmocka_unit_test(who_only_sends_runs_ahead),
        cmocka_unit_test(what_is_room_for_more_ranks_is_room_for_fewer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
