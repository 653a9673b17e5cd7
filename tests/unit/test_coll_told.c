/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* What a long wait tells outsiders, and what comes of it when they know that
 * it has no end. */

#include "config.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/coll/impl.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_keeps_its_beginning_whatever_moves),
        cmocka_unit_test(a_call_ends_when_another_thread_breaks_its_team),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
