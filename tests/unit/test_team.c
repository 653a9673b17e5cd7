/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The memory that the ranks of a team on one node share: there is enough of it
 * for all who may turn out to be in the team, and who cannot make the team
 * leaves it. One rank is this process; what the others say is written here. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/api/api.h"

static int create_team(struct hb_coll_engine *engine,
                       const struct hb_coll_team_args *args,
                       struct hb_coll_team **out, struct hpcboot_error *err);
static int alloc_region(struct hb_segment *s, uint32_t local, size_t bytes,
                        uint64_t *offset_out, struct hpcboot_error *err);
static int send_words(struct hb_xport *x, int dest, uint32_t context,
                      uint64_t tag, const void *data, size_t size,
                      struct hb_xport_req **out, struct hpcboot_error *err);
/* gcc would put it where shrink.c hears a smaller message, too, and warn. */
__attribute__((noinline))
static int hear_words(struct hb_xport *x, int source, uint32_t context,
                      uint64_t tag, uint64_t mask, void *data, size_t capacity,
                      struct hb_xport_req **out, struct hpcboot_error *err);
static void describe(const struct hb_xport *x, const int *ranks, int n,
                     struct hb_xport_net *out);
static int wait_until(const struct hb_api_awaited *what,
                      int (*ready)(void *arg), void *arg, int64_t deadline_ns,
                      struct hpcboot_error *err);
static void end_context(struct hb_xport *x, uint32_t context);

#define hb_coll_team_create create_team
#define hb_segment_alloc_shared alloc_region
#define hb_xport_send send_words
#define hb_xport_recv hear_words
#define hb_xport_net(...) describe(__VA_ARGS__)
#define hb_xport_end end_context
#define hb_api_wait_until wait_until
#include "lib/api/team.c" /* their engines are the functions above */
#include "lib/api/shrink.c"
#undef hb_segment_alloc_shared

#define LOCAL 18 /* more than 16: the next one has a longer region */
#define RANKS (1 + LOCAL)
#define CONTEXT 20u

static struct hb_segment memory;
static size_t taken;  /* bytes of the last region */
static size_t used;   /* of those that the team was to have */
static uint64_t told; /* region of this rank */
static uint32_t ended;
static void (*spoil)(struct decision *d); /* NULL: the leader decides well */

static int alloc_region(struct hb_segment *s, uint32_t local, size_t bytes,
                        uint64_t *offset_out, struct hpcboot_error *err)
{
    taken = bytes;
    return hb_segment_alloc_shared(s, local, bytes, offset_out, err);
}

static int create_team(struct hb_coll_engine *engine,
                       const struct hb_coll_team_args *args,
                       struct hb_coll_team **out, struct hpcboot_error *err)
{
    used = args->region_size;
    return hb_fail(err, HPCBOOT_ERR_NOMEM, "no memory for a team");
}

static int send_words(struct hb_xport *x, int dest, uint32_t context,
                      uint64_t tag, const void *data, size_t size,
                      struct hb_xport_req **out, struct hpcboot_error *err)
{
    const struct coming *c = data;

    assert_int_equal(dest, 0);
    assert_int_equal(size, sizeof *c);
    told = c->region;
    *out = NULL;
    return 0;
}

/* The leader has heard of everybody, and of nobody's death. */
static int hear_words(struct hb_xport *x, int source, uint32_t context,
                      uint64_t tag, uint64_t mask, void *data, size_t capacity,
                      struct hb_xport_req **out, struct hpcboot_error *err)
{
    struct decision *d = data;

    assert_int_equal(source, 0);
    d->size = RANKS;
    d->context = CONTEXT;
    d->again = 0;
    for (int r = 0; r < RANKS; r++) {
        d->members[r] = (struct member){r, r == 1 ? told : 0};
    }
    if (spoil != NULL) {
        spoil(d);
    }
    *out = NULL;
    return 0;
}

static int wait_until(const struct hb_api_awaited *what,
                      int (*ready)(void *arg), void *arg, int64_t deadline_ns,
                      struct hpcboot_error *err)
{
    return 1;
}

static void describe(const struct hb_xport *x, const int *ranks, int n,
                     struct hb_xport_net *out)
{
    memset(out, 0, sizeof *out);
}

static void end_context(struct hb_xport *x, uint32_t context)
{
    ended = context > ended ? context : ended;
}

static void make_memory(size_t heap)
{
    static uint32_t node_of[RANKS], local_rank[RANKS];
    char left[] = "left", right[] = "right", *names[] = {left, right};
    const struct hb_segment_spec spec = {
        .n_ranks = RANKS, .n_nodes = 2, .node = 1, .n_local = LOCAL,
        .node_of = node_of, .local_rank = local_rank, .names = names,
        .region_bytes = 4096, .heap_bytes = heap, .agent = 1,
    };

    for (uint32_t r = 1; r < RANKS; r++) {
        node_of[r] = 1;
        local_rank[r] = r - 1;
    }
    memory = (struct hb_segment)HB_SEGMENT_INIT;
    assert_int_equal(hb_segment_create(&memory, &spec, NULL), 0);
    hb_api.memory = &memory;
    hb_api.rank = hb_api.node = 1;
    hb_api.local_rank = 0;
    hb_api.size = RANKS;
    hb_api.nodes = 2;
    hb_api.local_size = LOCAL;
    atomic_store(&hb_api.phase, API_IN);
    taken = used = ended = 0;
}

static int set_up(void **state)
{
    make_memory((size_t)8 << 30);
    return 0;
}

static int tear_down(void **state)
{
    atomic_store(&hb_api.phase, API_BEFORE);
    hb_api.memory = NULL;
    hb_segment_close(&memory);
    return 0;
}

static int shrink_all(void)
{
    int world[RANKS];
    struct hpcboot_team team = {.world = world, .size = RANKS, .rank = 1,
                                .context = CONTEXT - 1,
                                .coll = (struct hb_coll_team *)world};
    struct hpcboot_team *out = NULL;

    for (int r = 0; r < RANKS; r++) {
        world[r] = r;
    }
    return hpcboot_team_shrink(&team, &out, NULL);
}

static void test_who_died_late_has_room_in_the_region(void **state)
{
    assert_int_equal(hb_segment_mark_dead(&memory, -1, LOCAL, "gone"), 1);
    assert_int_equal(shrink_all(), HPCBOOT_ERR_NOMEM);
    assert_true(used >= hb_coll_region_size(LOCAL));
    assert_true(taken >= used);
}

static void too_many(struct decision *d)
{
    d->size = RANKS + 1;
}

static void none(struct decision *d)
{
    d->size = 0;
}

static void a_rank_of_no_team(struct decision *d)
{
    d->members[RANKS - 1].rank = RANKS;
}

static void a_negative_rank(struct decision *d)
{
    d->members[0].rank = -1;
}

static void a_rank_twice(struct decision *d)
{
    d->members[3].rank = 2;
}

static void not_me(struct decision *d)
{
    d->size = 1;
}

static void an_old_number(struct decision *d)
{
    d->context = 0;
    hb_api.next_context = CONTEXT;
}

static void the_last_number(struct decision *d)
{
    d->context = UINT32_MAX;
}

static void a_region_beyond_memory(struct decision *d)
{
    d->members[1].region = (uint64_t)1 << 60;
}

static void a_region_that_is_none(struct decision *d)
{
    d->members[1].region += 4096;
}

static void test_a_decision_without_sense_makes_no_team(void **state)
{
    static void (*const how[])(struct decision *d) = {
        too_many, none, a_rank_of_no_team, a_negative_rank, a_rank_twice,
        not_me, an_old_number, the_last_number, a_region_beyond_memory,
        a_region_that_is_none,
    };

    for (size_t i = 0; i < sizeof how / sizeof how[0]; i++) {
        hb_api.next_context = 1;
        spoil = how[i];
        assert_int_equal(shrink_all(), HPCBOOT_ERR_PROTOCOL);
        assert_int_equal(used, 0);
    }
    spoil = NULL;
}

/* Two members of this node, one after the other. */
static int fail_to_make(int local, uint64_t region)
{
    int world[] = {1, 2};
    const uint64_t announced[] = {region, 0};
    struct hb_team_plan plan = {.world = world, .size = 2,
                                .context = CONTEXT};
    struct hpcboot_team *out = NULL;

    hb_api.local_rank = local;
    return hb_team_finish(&plan, announced, 0, &out, NULL);
}

static void test_a_region_is_small_where_there_is_little_room(void **state)
{
    static const size_t heaps[] = {(size_t)8 << 30, (size_t)32 << 20,
                                   (size_t)2 << 20};
    const size_t sizes[] = {hb_coll_region_size(2), hb_coll_region_small(2),
                            hb_coll_region_least(2)};

    for (int i = 0; i < 3; i++) {
        assert_int_equal(tear_down(state), 0);
        make_memory(heaps[i]);
        assert_int_equal(fail_to_make(0, hb_team_new_region(2)),
                         HPCBOOT_ERR_NOMEM);
        assert_int_equal(used, sizes[i]);
    }
}

static void test_who_cannot_make_a_team_leaves_its_region(void **state)
{
    uint64_t region = hb_team_new_region(2), same;

    assert_int_equal(fail_to_make(0, region), HPCBOOT_ERR_NOMEM);
    assert_true(hb_team_new_region(2) != region);
    assert_int_equal(fail_to_make(1, region), HPCBOOT_ERR_NOMEM);
    same = hb_team_new_region(2);
    assert_int_equal(same, region);
    assert_int_equal(ended, 2 * CONTEXT + 1);
}

static void test_the_dead_keep_no_region(void **state)
{
    uint64_t region = hb_team_new_region(2);

    assert_int_equal(hb_segment_mark_dead(&memory, -1, 2, "gone"), 1);
    assert_int_equal(fail_to_make(0, region), HPCBOOT_ERR_NOMEM);
    assert_int_equal(hb_team_new_region(2), region);
}

/* The first leader dies after it has told one of two. */
static void test_a_region_that_one_was_told_of_is_given_back(void **state)
{
    uint64_t region = hb_team_new_region(2), other;

    hb_team_put_aside(region, CONTEXT);
    assert_int_equal(fail_to_make(1, region), HPCBOOT_ERR_NOMEM);
    hb_api.local_rank = 0;
    hb_team_give_asides(CONTEXT + 1);
    other = hb_team_new_region(2);
    assert_true(other != region);
    hb_team_put_aside(other, CONTEXT); /* and this time none */
    hb_team_give_asides(CONTEXT);
    assert_int_equal(hb_team_new_region(2), region);
    assert_int_equal(hb_team_new_region(2), other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_who_died_late_has_room_in_the_region, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_decision_without_sense_makes_no_team, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_region_is_small_where_there_is_little_room, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(
            test_who_cannot_make_a_team_leaves_its_region, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_the_dead_keep_no_region, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_region_that_one_was_told_of_is_given_back, set_up,
            tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
