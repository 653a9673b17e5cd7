/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What a long wait tells outsiders, and what comes of it when they know that
 * it has no end; and how calls that differ are told. */

#include "config.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/coll/engine.h"

struct looker {
    int told, moved, changed; /* told: how often; moved: after so many */
    int64_t since_ns;
};

static int note_wait(void *ctx, void *team_ctx,
                     const struct hb_coll_stuck *what,
                     struct hpcboot_error *err)
{
    struct looker *l = ctx;
    (void)team_ctx;
    (void)err;
    if (what != NULL) {
        l->changed += l->told++ > 0 && l->since_ns != what->since_ns;
        l->since_ns = what->since_ns;
    }
    return 0;
}

/* A message comes after each telling, such as a question; the one that is
 * awaited does not. */
static int some_other_message(void *ctx)
{
    struct looker *l = ctx;
    bool comes = l->moved < l->told && l->told % 2 == 0;
    l->moved += comes;
    return comes;
}

static int after_several_tellings(void *arg)
{
    struct looker *l = arg;
    bool comes = l->moved < l->told && l->told % 2 == 1;
    l->moved += comes;
    return l->told >= 8 ? 1 : comes ? HB_COLL_MOVED : 0;
}

static void a_wait_keeps_its_beginning_whatever_moves(void **state)
{
    struct looker l = {0};
    struct hb_coll_config c = HB_COLL_CONFIG_INIT;
    struct hb_coll_engine *engine = NULL;
    c.node_size = 1;
    c.stuck = note_wait;
    c.progress = some_other_message;
    c.ctx = &l;
    assert_int_equal(hb_coll_create(&c, &engine, NULL), 0);
    assert_int_equal(hb_coll_wait_until(engine, after_several_tellings, &l, 0,
                                        NULL), 1);
    hb_coll_destroy(engine);
    assert_int_equal(l.changed, 0);
}

/* A thread that waits for something else hears that another one's call has no
 * end. */
static struct hb_coll_team *broken;

static int hear_for_the_other(void *ctx, void *team_ctx,
                              const struct hb_coll_stuck *what,
                              struct hpcboot_error *err)
{
    const struct hpcboot_error why = {.code = HPCBOOT_ERR_USAGE,
                                      .text = "rank 1 never comes"};
    struct hb_coll_stuck waits;
    (void)ctx;
    (void)err;
    if (what != NULL && team_ctx == NULL &&
        hb_coll_team_waits(broken, &waits)) {
        hb_coll_team_break(broken, &why);
    }
    return 0;
}

static void *call_who_never_comes(void *arg)
{
    struct hpcboot_error *err = arg;
    (void)hb_coll_barrier(broken, err);
    return NULL;
}

static int has_failed(void *arg)
{
    (void)arg;
    return hb_coll_team_error(broken, NULL) < 0;
}

static void a_call_ends_when_another_thread_breaks_its_team(void **state)
{
    struct hb_coll_config c = HB_COLL_CONFIG_INIT;
    struct hb_coll_team_args a = HB_COLL_TEAM_INIT;
    struct hb_coll_engine *engine = NULL;
    struct hpcboot_error err = {0};
    pthread_t thread;
    size_t size = (hb_coll_region_least(2) + 127) / 128 * 128;
    void *region = aligned_alloc(128, size);
    memset(region, 0, size);
    c.node_size = 2;
    c.threads = true;
    c.stuck = hear_for_the_other;
    a.size = 2;
    a.region = region;
    a.region_size = size;
    a.timeout_ms = 20000;
    assert_int_equal(hb_coll_create(&c, &engine, NULL), 0);
    assert_int_equal(hb_coll_team_create(engine, &a, &broken, NULL), 0);
    pthread_create(&thread, NULL, call_who_never_comes, &err);
    assert_int_equal(hb_coll_wait_until(engine, has_failed, NULL, 0, NULL),
                     1);
    pthread_join(thread, NULL);
    assert_string_equal(err.text, "rank 1 never comes");
    hb_coll_team_destroy(broken);
    hb_coll_destroy(engine);
    free(region);
}

/* ---- calls that differ ---- */

static void of_calls_with_rows_no_number_of_bytes_is_told(void **state)
{
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    struct hpcboot_error err;
    a.type = HPCBOOT_INT32;
    a.coll = HPCBOOT_COLL_SCATTERV;
    struct hb_coll_made one = {.sign = hb_call_sign(&a)};
    a.coll = HPCBOOT_COLL_ALLTOALLV;
    struct hb_coll_made other = {.sign = hb_call_sign(&a)};
    hb_coll_made_differ(0, &one, 1, &other, &err);
    assert_non_null(strstr(err.text, "rank 0 scatterv (type int32, root 0), "
                                     "rank 1 alltoallv (type int32)"));
    a.coll = HPCBOOT_COLL_ALLTOALL;
    other = (struct hb_coll_made){hb_call_sign(&a), 8};
    hb_coll_made_differ(0, &one, 1, &other, &err);
    assert_non_null(strstr(err.text, "alltoall of 8 bytes (type int32)"));
}

/* Of a root there is room for some bits beside a flag. */
static struct hb_coll_made bcast_of(int root)
{
    struct hpcboot_coll_args a = HPCBOOT_COLL_ARGS_INIT;
    struct hb_op op = {.coll = HPCBOOT_COLL_BCAST, .root = root};
    a.coll = HPCBOOT_COLL_BCAST;
    a.root = root;
    op.sign = hb_call_sign(&a) & ((1u << HB_SIGN_BITS) - 1);
    return (struct hb_coll_made){hb_op_sign(&op), 8};
}

static void roots_of_large_teams_are_told_from_each_other(void **state)
{
    struct hb_coll_made one = bcast_of(700), other = bcast_of(700 + 512);
    struct hpcboot_error err;
    assert_true(one.sign != other.sign);
    hb_coll_made_differ(0, &one, 1, &other, &err);
    assert_non_null(strstr(err.text, "rank 0 bcast of 8 bytes (type int8, "
                                     "root 700), rank 1 bcast of 8 bytes "
                                     "(type int8, root 1212)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_keeps_its_beginning_whatever_moves),
        cmocka_unit_test(a_call_ends_when_another_thread_breaks_its_team),
        cmocka_unit_test(of_calls_with_rows_no_number_of_bytes_is_told),
        cmocka_unit_test(roots_of_large_teams_are_told_from_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
