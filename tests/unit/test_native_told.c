/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What the native rendezvous of a node writes into its memory while one of its
 * ranks has the memory's lock; which of the job's maps it goes by. */
#include "config.h"

#include "lib/rdzv/native_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/collected.h"
#include "lib/rdzv/native.h"
#include "lib/rdzv/segment_impl.h"

#define RANKS 3

struct agent {
    struct hb_native_job job;
    struct hb_native_server *server;
    struct hb_buf key, data; /* its contribution to a fence */
    int memory_fd;
    unsigned alarms, laters;
};

static void on_send(void *arg, void *conn_arg, const void *data, size_t len,
                    int fd)
{
    ((struct agent *)arg)->memory_fd = fd;
}

static void on_fence(void *arg, struct hb_bytes key, const uint32_t *nodes,
                     uint32_t n_nodes, struct hb_bytes data)
{
    struct agent *a = arg;

    hb_buf_put_raw(&a->key, key.data, key.len);
    hb_buf_put_u32(&a->data, 0);
    hb_buf_put_blob(&a->data, data.data, data.len);
}

static void on_contact(void *arg, uint32_t rank, unsigned bits)
{
}

static int on_memory(void *arg, const struct hb_jobmap *map,
                     struct hb_segment *out, struct hpcboot_error *err)
{
    const struct hb_segment_spec spec = {
        .n_ranks = RANKS, .n_nodes = 1, .n_local = RANKS,
        .node_of = map->node_of_rank, .local_rank = map->local_rank,
        .names = map->node_names, .region_bytes = 1, .heap_bytes = 1,
        .agent = 1,
    };

    return hb_segment_create(out, &spec, err);
}

static void on_alarm(void *arg, struct hb_segment *memory)
{
    ((struct agent *)arg)->alarms++;
}

static void on_later(void *arg)
{
    ((struct agent *)arg)->laters++;
}

static const struct hb_native_host host = {
    .send = on_send, .fence = on_fence, .contact = on_contact,
    .memory = on_memory, .alarm = on_alarm, .later = on_later,
};

static void hello(struct agent *a, uint32_t rank)
{
    struct hb_native_conn *c = hb_native_conn_open(a->server, rank, NULL);
    struct hb_buf b;
    size_t begun;

    hb_buf_init(&b, HB_NATIVE_FRAME_MAX);
    begun = hb_native_begin(&b, HB_NATIVE_HELLO);
    hb_buf_put_u32(&b, HB_NATIVE_VERSION);
    hb_buf_put_u32(&b, rank);
    hb_buf_put_str(&b, "");
    hb_buf_put_blob(&b, "address", 7);
    hb_native_end(&b, begun);
    assert_int_equal(hb_native_conn_feed(c, b.data, b.len, NULL), 0);
    hb_buf_destroy(&b);
}

static void meet(struct agent *a)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        hello(a, r);
    }
    hb_native_fence_done(a->server, (struct hb_bytes){a->key.data, a->key.len},
                         0, (struct hb_bytes){a->data.data, a->data.len});
    assert_true(a->memory_fd >= 0);
}

static struct hb_jobmap *open_server(struct agent *a)
{
    static const uint32_t node_of[RANKS];
    static const struct hb_job_app app = {0, RANKS};
    char name[] = "here", *names[] = {name};
    struct hb_jobmap *map;

    assert_int_equal(hb_jobmap_create(&map, RANKS, node_of, 1, names, 1, &app,
                                      RANKS, NULL), 0);
    a->job = (struct hb_native_job){.map = map, .token = "secret"};
    a->server = hb_native_server_create(&a->job, &host, a);
    a->memory_fd = -1;
    hb_buf_init(&a->key, HB_FENCE_DATA_MAX);
    hb_buf_init(&a->data, HB_FENCE_DATA_MAX);
    return map;
}

static void close_server(struct agent *a)
{
    hb_native_server_destroy(a->server);
    hb_buf_destroy(&a->key);
    hb_buf_destroy(&a->data);
}

/* In their order, and nobody is woken before. */
static void test_deaths_are_told_when_the_memory_is_free(void **state)
{
    struct hb_segment m = HB_SEGMENT_INIT;
    struct agent a = {0};
    struct hb_jobmap *map = open_server(&a);

    meet(&a);
    assert_int_equal(hb_segment_attach(&m, dup(a.memory_fd), NULL), 0);
    hb_segment_lock(&m, 1);
    hb_native_rank_gone(a.server, 2, "it was killed");
    hb_native_rank_gone(a.server, 1, "as was this one");
    hb_native_look(a.server);
    assert_int_equal(hb_segment_deaths(&m), 0);
    assert_int_equal(a.alarms, 0);
    assert_int_equal(a.laters, 3);
    hb_segment_unlock(&m);
    hb_native_look(a.server);
    hb_native_look(a.server);
    assert_int_equal(hb_segment_deaths(&m), 2);
    assert_int_equal(hb_segment_death(&m, 0)->rank, 2);
    assert_string_equal(hb_segment_death(&m, 1)->text, "as was this one");
    assert_int_equal(a.alarms, 1);
    assert_int_equal(a.laters, 3);
    hb_segment_close(&m);
    close_server(&a);
    hb_jobmap_destroy(map);
}

static struct hb_jobmap *renamed(const struct hb_jobmap *map, const char *name)
{
    struct hb_jobmap *copy;
    struct hb_buf b;

    hb_buf_init(&b, HB_FENCE_DATA_MAX);
    hb_jobmap_encode(map, &b);
    assert_int_equal(hb_jobmap_decode(&copy, &b, NULL), 0);
    hb_buf_destroy(&b);
    assert_true(hb_jobmap_rename(copy, 0, name));
    return copy;
}

/* A host takes the place of another again and again: a map that is held no
 * more can be freed, here under those who wait in hello. */
static void test_maps_of_former_names_are_let_go(void **state)
{
    struct agent a = {0};
    struct hb_jobmap *map = open_server(&a), *first = renamed(map, "a");
    struct hb_jobmap *second = renamed(map, "b");

    hello(&a, 0);
    hb_native_grown(a.server, first, 0, NULL, 0);
    assert_true(hb_native_holds(a.server, first));
    assert_true(hb_native_holds(a.server, map)); /* for what ranks put */
    hb_native_grown(a.server, second, 0, NULL, 0);
    assert_false(hb_native_holds(a.server, first));
    hb_jobmap_destroy(first);
    assert_true(hb_native_holds(a.server, second));
    hello(&a, 1);
    close_server(&a);
    hb_jobmap_destroy(second);
    hb_jobmap_destroy(map);
}

/* A generation is under way: the next will go by the latest map. */
static void test_maps_for_later_are_let_go(void **state)
{
    struct agent a = {0};
    struct hb_jobmap *map = open_server(&a), *grown, *latest;

    assert_int_equal(hb_jobmap_grow(map, "there", 1, &grown, NULL), 0);
    latest = renamed(grown, "a");
    meet(&a);
    hb_native_grown(a.server, grown, 5, NULL, 0);
    assert_true(hb_native_holds(a.server, map));
    assert_true(hb_native_holds(a.server, grown));
    hb_native_grown(a.server, latest, 5, NULL, 0);
    assert_false(hb_native_holds(a.server, grown));
    hb_jobmap_destroy(grown);
    assert_true(hb_native_holds(a.server, map));
    assert_true(hb_native_holds(a.server, latest));
    close_server(&a);
    hb_jobmap_destroy(latest);
    hb_jobmap_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deaths_are_told_when_the_memory_is_free),
        cmocka_unit_test(test_maps_of_former_names_are_let_go),
        cmocka_unit_test(test_maps_for_later_are_let_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
