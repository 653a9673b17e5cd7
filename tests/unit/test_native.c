/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The native rendezvous: two nodes of two ranks each, their servers joined by
 * a fence that this test completes by hand, one answer at a time. */
#include "config.h"

#include "lib/rdzv/native_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/collected.h"
#include "lib/rdzv/native.h"

#define NODES 2
#define RANKS 4

struct node {
    uint32_t number;
    struct hb_native_job job;
    struct hb_native_server *server;
    struct hb_buf key, data; /* its contribution to a fence */
    unsigned joined, alarms, modexes, losses;
    uint64_t modex_id;
    uint32_t modex_rank;
    char note[64];
};

struct rank {
    struct node *node;
    struct hb_native_conn *conn;
    unsigned answers;
    int status, fd;
    char value[64], text[200];
};

struct world {
    struct hb_jobmap *map;
    struct node nodes[NODES];
    struct rank ranks[RANKS];
    uint32_t members, out; /* what their fences say: all but `out` */
};

static void on_send(void *arg, void *conn_arg, const void *data, size_t len,
                    int fd)
{
    struct rank *r = conn_arg;
    enum hb_native_kind kind;
    struct hb_bytes body;
    struct hb_buf in, b;

    hb_buf_view(&in, data, len);
    assert_int_equal(hb_native_next(&in, &kind, &body, NULL), 1);
    assert_int_equal(kind, HB_NATIVE_ANSWER);
    hb_buf_view(&b, body.data, body.len);
    r->answers++;
    r->fd = fd;
    r->status = hb_buf_get_i32(&b);
    snprintf(r->text, sizeof r->text, "%s",
             hb_buf_get_str(&b, HB_NATIVE_TEXT_MAX));
    body = hb_buf_get_blob(&b, sizeof r->value - 1);
    memset(r->value, 0, sizeof r->value);
    memcpy(r->value, body.data, body.len);
}

static void on_fence(void *arg, struct hb_bytes key, const uint32_t *nodes,
                     uint32_t n_nodes, struct hb_bytes data)
{
    struct node *n = arg;

    assert_in_range(n_nodes, NODES, NODES + 1); /* one may come */
    hb_buf_clear(&n->key);
    hb_buf_clear(&n->data);
    hb_buf_put_raw(&n->key, key.data, key.len);
    hb_buf_put_raw(&n->data, data.data, data.len);
    n->joined++;
}

static void on_modex(void *arg, uint64_t id, uint32_t rank)
{
    struct node *n = arg;

    n->modexes++;
    n->modex_id = id;
    n->modex_rank = rank;
}

static void on_abort(void *arg, uint32_t rank, int code, const char *text)
{
}

static void on_note(void *arg, uint32_t rank, const char *text)
{
    struct node *n = arg;

    snprintf(n->note, sizeof n->note, "%u: %s", rank, text);
}

static void on_contact(void *arg, uint32_t rank, unsigned bits)
{
}

static int on_memory(void *arg, const struct hb_jobmap *map,
                     struct hb_segment *out, struct hpcboot_error *err)
{
    const struct node *n = arg;
    const struct hb_segment_spec spec = {
        .n_ranks = map->n_ranks, .n_nodes = map->n_nodes, .node = n->number,
        .n_local = 2, .node_of = map->node_of_rank,
        .local_rank = map->local_rank, .names = map->node_names,
        .region_bytes = 1, .heap_bytes = 1,
    };

    return hb_segment_create(out, &spec, err);
}

static void on_alarm(void *arg, struct hb_segment *memory)
{
    ((struct node *)arg)->alarms++;
}

static void on_lost(void *arg, uint32_t rank, const char *text)
{
    ((struct node *)arg)->losses++;
    assert_int_equal(rank, 2);
    assert_string_equal(text, "not heard");
}

static const struct hb_native_host host = {
    .send = on_send, .fence = on_fence, .modex = on_modex, .abort = on_abort,
    .note = on_note, .lost = on_lost,
    .contact = on_contact, .memory = on_memory, .alarm = on_alarm,
};

static int set_up(void **state)
{
    static const uint32_t node_of[RANKS] = {0, 0, 1, 1};
    static const struct hb_job_app app = {0, RANKS};
    char left[] = "left", right[] = "right", *names[] = {left, right};
    struct world *w = calloc(1, sizeof *w);

    assert_int_equal(hb_jobmap_create(&w->map, RANKS, node_of, NODES, names, 1,
                                      &app, RANKS, NULL), 0);
    for (uint32_t i = 0; i < NODES; i++) {
        struct node *n = &w->nodes[i];

        n->number = i;
        n->job = (struct hb_native_job){.map = w->map, .node = i,
                                        .token = "secret"};
        n->server = hb_native_server_create(&n->job, &host, n);
        hb_buf_init(&n->key, HB_FENCE_DATA_MAX);
        hb_buf_init(&n->data, HB_FENCE_DATA_MAX);
    }
    for (uint32_t i = 0; i < RANKS; i++) {
        w->ranks[i].node = &w->nodes[i / 2];
        w->ranks[i].conn = hb_native_conn_open(w->ranks[i].node->server, i,
                                               &w->ranks[i]);
    }
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    for (uint32_t i = 0; i < NODES; i++) {
        hb_native_server_destroy(w->nodes[i].server);
        hb_buf_destroy(&w->nodes[i].key);
        hb_buf_destroy(&w->nodes[i].data);
    }
    hb_jobmap_destroy(w->map);
    free(w);
    return 0;
}

static int feed(struct rank *r, struct hb_buf *b, size_t begun)
{
    int rc;

    hb_native_end(b, begun);
    rc = hb_native_conn_feed(r->conn, b->data, b->len, NULL);
    hb_buf_destroy(b);
    return rc;
}

static int say(struct world *w, uint32_t rank, enum hb_native_kind kind,
               unsigned x, unsigned y, const char *text, const char *value)
{
    struct hb_buf b;
    size_t begun;

    hb_buf_init(&b, HB_NATIVE_FRAME_MAX);
    begun = hb_native_begin(&b, kind);
    if (kind == HB_NATIVE_HELLO) {
        hb_buf_put_u32(&b, x);
        hb_buf_put_u32(&b, rank);
        hb_buf_put_str(&b, text);
        hb_buf_put_blob(&b, value, strlen(value));
    } else if (kind == HB_NATIVE_PUT) {
        hb_buf_put_u8(&b, (uint8_t)x);
        hb_buf_put_str(&b, text);
        hb_buf_put_blob(&b, value, strlen(value));
    } else if (kind == HB_NATIVE_NOTE) {
        hb_buf_put_str(&b, text);
    } else if (kind == HB_NATIVE_GET) {
        hb_buf_put_u32(&b, x);
        hb_buf_put_str(&b, text);
    } else if (kind == HB_NATIVE_FENCE) {
        hb_buf_put_u8(&b, (uint8_t)x);
        hb_buf_put_u8(&b, (uint8_t)y);
        hb_buf_put_u32(&b, w->members);
        hb_buf_put_u32(&b, w->members > 0);
        if (w->members > 0) {
            hb_buf_put_u32(&b, w->out);
        }
    }
    return feed(&w->ranks[rank], &b, begun);
}

/* All nodes have joined: everybody gets all contributions. */
static void complete(struct world *w)
{
    struct hb_buf all;

    hb_buf_init(&all, HB_FENCE_DATA_MAX);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(w->nodes[i].joined, 1);
        assert_int_equal(w->nodes[i].key.len, w->nodes[0].key.len);
        w->nodes[i].joined = 0;
        if (w->nodes[i].data.len > 0) {
            hb_buf_put_u32(&all, i);
            hb_buf_put_blob(&all, w->nodes[i].data.data, w->nodes[i].data.len);
        }
    }
    for (uint32_t i = 0; i < NODES; i++) {
        struct hb_bytes key = {w->nodes[i].key.data, w->nodes[i].key.len};

        hb_native_fence_done(w->nodes[i].server, key, 0,
                             (struct hb_bytes){all.data, all.len});
    }
    hb_buf_destroy(&all);
}

static void hello_all(struct world *w)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(say(w, r, HB_NATIVE_HELLO, HB_NATIVE_VERSION, 0, "",
                             "address"), 0);
    }
    complete(w);
}

static void fence_all(struct world *w, unsigned collect)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(say(w, r, HB_NATIVE_FENCE, 0, collect, NULL, NULL),
                         0);
    }
    complete(w);
}

static void test_hello_brings_the_memory(void **state)
{
    struct world *w = *state;

    hello_all(w);
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(w->ranks[r].answers, 1);
        assert_int_equal(w->ranks[r].status, 0);
        assert_true(w->ranks[r].fd >= 0);
    }
}

static void test_hello_waits_for_all_of_the_node(void **state)
{
    struct world *w = *state;

    assert_int_equal(say(w, 0, HB_NATIVE_HELLO, HB_NATIVE_VERSION, 0, "", ""),
                     0);
    assert_int_equal(w->nodes[0].joined, 0);
    assert_int_equal(w->ranks[0].answers, 0);
}

/* Once, but not of who is dead (3), is here (1), or is nobody. */
static void test_lost_connections_are_told(void **state)
{
    struct hb_segment m = HB_SEGMENT_INIT;
    struct world *w = *state;
    struct node *n = w->nodes;

    hello_all(w);
    assert_int_equal(hb_segment_attach(&m, dup(w->ranks[0].fd), NULL), 0);
    hb_native_peer_dead(n->server, 3, "it was killed");
    for (uint32_t lost = 1; lost <= RANKS; lost++) {
        hb_segment_mark_lost(&m, 0, lost, "not heard");
    }
    hb_native_look(n->server);
    hb_native_look(n->server);
    assert_int_equal(n->losses, 1);
    hb_segment_close(&m);
}

static void test_values_with_and_without_collecting(void **state)
{
    struct world *w = *state;

    hello_all(w);
    assert_int_equal(say(w, 2, HB_NATIVE_PUT, 0, 0, "key", "one"), 0);
    fence_all(w, 1);
    assert_int_equal(say(w, 0, HB_NATIVE_GET, 2, 0, "key", NULL), 0);
    assert_string_equal(w->ranks[0].value, "one");
    assert_int_equal(say(w, 2, HB_NATIVE_PUT, 0, 0, "key", "two"), 0);
    fence_all(w, 0);
    assert_int_equal(say(w, 0, HB_NATIVE_GET, 2, 0, "key", NULL), 0);
    assert_int_equal(w->nodes[0].modexes, 1);
    assert_int_equal(w->nodes[0].modex_rank, 2);
    struct hb_buf b;
    hb_buf_init(&b, HB_FENCE_DATA_MAX);
    assert_int_equal(hb_native_modex_serve(w->nodes[1].server, 2, &b), 0);
    hb_native_modex_done(w->nodes[0].server, w->nodes[0].modex_id, 0,
                         (struct hb_bytes){b.data, b.len});
    hb_buf_destroy(&b);
    assert_string_equal(w->ranks[0].value, "two");
    assert_int_equal(say(w, 1, HB_NATIVE_GET, 3, 0, "none", NULL), 0);
    assert_int_equal(w->nodes[0].modexes, 2);
}

static void test_a_value_of_the_node_stays_there(void **state)
{
    struct world *w = *state;

    hello_all(w);
    assert_int_equal(say(w, 0, HB_NATIVE_PUT, 1, 0, "near", "here"), 0);
    assert_int_equal(say(w, 0, HB_NATIVE_FENCE, 1, 0, NULL, NULL), 0);
    assert_int_equal(say(w, 1, HB_NATIVE_FENCE, 1, 0, NULL, NULL), 0);
    assert_int_equal(w->nodes[0].joined, 0);
    assert_int_equal(say(w, 1, HB_NATIVE_GET, 0, 0, "near", NULL), 0);
    assert_string_equal(w->ranks[1].value, "here");
    fence_all(w, 1);
    assert_int_equal(say(w, 2, HB_NATIVE_GET, 0, 0, "near", NULL), 0);
    assert_int_equal(w->ranks[2].status, HPCBOOT_ERR_NOT_FOUND);
}

static void test_different_fences_are_a_mistake(void **state)
{
    struct world *w = *state;

    hello_all(w);
    assert_int_equal(say(w, 0, HB_NATIVE_FENCE, 1, 0, NULL, NULL), 0);
    assert_int_equal(say(w, 1, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(w->ranks[0].status, HPCBOOT_ERR_USAGE);
    assert_int_equal(w->ranks[1].status, HPCBOOT_ERR_USAGE);
}

static void test_a_death_fails_who_waits_and_is_marked(void **state)
{
    struct world *w = *state;

    hello_all(w);
    assert_int_equal(say(w, 0, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    hb_native_rank_gone(w->nodes[0].server, 1, "rank 1 died");
    assert_int_equal(w->ranks[0].status, HPCBOOT_ERR_PEER_DEAD);
    assert_int_equal(w->nodes[0].alarms, 1);
    hb_native_peer_dead(w->nodes[1].server, 1, "rank 1 died");
    assert_int_equal(w->nodes[1].alarms, 1);
    assert_int_equal(say(w, 2, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(w->ranks[2].status, HPCBOOT_ERR_PEER_DEAD);
}

static void test_fences_go_on_without_those_the_world_shrank_by(void **state)
{
    struct world *w = *state;

    hello_all(w);
    assert_int_equal(say(w, 2, HB_NATIVE_PUT, 0, 0, "key", "one"), 0);
    assert_int_equal(say(w, 2, HB_NATIVE_FENCE, 0, 1, NULL, NULL), 0);
    assert_int_equal(say(w, 3, HB_NATIVE_FENCE, 0, 1, NULL, NULL), 0);
    assert_int_equal(w->nodes[1].joined, 1);
    hb_native_rank_gone(w->nodes[0].server, 1, "rank 1 died");
    hb_native_peer_dead(w->nodes[1].server, 1, "rank 1 died");
    assert_int_equal(w->ranks[2].status, HPCBOOT_ERR_PEER_DEAD);
    assert_int_equal(say(w, 0, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(w->ranks[0].status, HPCBOOT_ERR_PEER_DEAD);
    w->nodes[1].joined = 0; /* a fence that nobody waits for */
    w->members = 17;
    w->out = 1;
    for (uint32_t r = 0; r < RANKS; r += r == 0 ? 2 : 1) {
        assert_int_equal(say(w, r, HB_NATIVE_FENCE, 0, 1, NULL, NULL), 0);
    }
    complete(w);
    assert_int_equal(w->ranks[0].status, 0);
    assert_int_equal(w->ranks[3].status, 0);
    /* What was collected in vain is asked for. */
    assert_int_equal(say(w, 0, HB_NATIVE_GET, 2, 0, "key", NULL), 0);
    assert_true(strcmp(w->ranks[0].value, "one") == 0 ||
                w->nodes[0].modexes == 1);
    hb_native_peer_dead(w->nodes[1].server, 0, "rank 0 died");
    assert_int_equal(say(w, 2, HB_NATIVE_FENCE, 0, 1, NULL, NULL), 0);
    assert_int_equal(w->ranks[2].status, HPCBOOT_ERR_PEER_DEAD);
}

static void test_an_answer_that_nobody_waits_for_is_nobodys(void **state)
{
    struct world *w = *state;
    struct hb_bytes old = {"native/0/0/3/0/0", 16}, none = {NULL, 0};

    hello_all(w);
    assert_int_equal(say(w, 2, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    hb_native_fence_done(w->nodes[1].server, none, 0, none); /* opened: none */
    assert_int_equal(w->ranks[2].answers, 1); /* hello */
    assert_int_equal(say(w, 3, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(w->nodes[1].key.len, old.len);
    assert_memory_equal(w->nodes[1].key.data, old.data, old.len);
    hb_native_peer_dead(w->nodes[1].server, 1, "rank 1 died");
    w->members = 17;
    w->out = 1;
    assert_int_equal(say(w, 2, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(say(w, 3, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    hb_native_fence_done(w->nodes[1].server, old, 0, none);
    assert_int_equal(w->ranks[2].answers, 2); /* hello and the first fence */
}

static void test_the_living_finalize_without_the_dead(void **state)
{
    struct world *w = *state;

    hello_all(w);
    hb_native_rank_gone(w->nodes[0].server, 0, "rank 0 died");
    hb_native_rank_gone(w->nodes[0].server, 1, "rank 1 died");
    assert_false(say(w, 1, HB_NATIVE_FINALIZE, 0, 0, NULL, NULL)); /* late */
    assert_int_equal(say(w, 2, HB_NATIVE_FINALIZE, 0, 0, NULL, NULL), 0);
    assert_int_equal(say(w, 3, HB_NATIVE_FINALIZE, 0, 0, NULL, NULL), 0);
    complete(w);
    assert_int_equal(w->ranks[2].status, 0);
    assert_int_equal(w->ranks[3].status, 0);
    assert_int_equal(w->nodes[0].joined, 0);
}

static void test_a_second_program_begins_anew(void **state)
{
    struct world *w = *state;

    for (int turn = 0; turn < 2; turn++) {
        hello_all(w);
        for (uint32_t r = 0; r < RANKS; r++) {
            assert_false(say(w, r, HB_NATIVE_FINALIZE, 0, 0, NULL, NULL));
        }
        complete(w);
    }
    assert_int_equal(w->ranks[3].answers, 4);
}

static void test_questions_out_of_turn_are_cut_off(void **state)
{
    struct world *w = *state;

    assert_true(say(w, 0, HB_NATIVE_GET, 0, 0, "key", NULL) < 0);
    assert_true(say(w, 1, HB_NATIVE_HELLO, 99, 0, "", "") < 0);
}

static void test_a_fence_can_be_withdrawn_and_asked_for_again(void **state)
{
    struct world *w = *state;
    struct rank *r = &w->ranks[0];

    hello_all(w);
    assert_int_equal(say(w, 0, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    assert_int_equal(say(w, 0, HB_NATIVE_WITHDRAW, 0, 0, NULL, NULL), 0);
    assert_int_equal(r->answers, 2);
    assert_int_equal(r->status, HPCBOOT_ERR_TIMED_OUT);
    assert_string_equal(r->text, "hpcboot_fence: rank 1 of this host has not "
                        "come before the deadline");
    fence_all(w, 0);
    assert_int_equal(r->answers, 3);
    assert_int_equal(r->status, 0);
}

/* This node has said to the others that it has come. */
static void test_who_withdraws_late_is_in_the_same_fence_again(void **state)
{
    struct world *w = *state;

    hello_all(w);
    for (uint32_t r = 0; r < 2; r++) {
        assert_int_equal(say(w, r, HB_NATIVE_FENCE, 0, 0, NULL, NULL), 0);
    }
    for (uint32_t r = 0; r < 2; r++) {
        assert_int_equal(say(w, r, HB_NATIVE_WITHDRAW, 0, 0, NULL, NULL), 0);
        assert_int_equal(w->ranks[r].status, HPCBOOT_ERR_TIMED_OUT);
        assert_string_equal(w->ranks[r].text, "hpcboot_fence: all ranks of "
                            "this host have come, and not all of the others "
                            "before the deadline");
    }
    fence_all(w, 0);
    assert_int_equal(w->ranks[0].status, 0);
    assert_int_equal(w->ranks[3].status, 0);
}

static void test_what_is_answered_is_not_withdrawn(void **state)
{
    struct world *w = *state;

    hello_all(w);
    fence_all(w, 0);
    assert_int_equal(say(w, 1, HB_NATIVE_WITHDRAW, 0, 0, NULL, NULL), 0);
    assert_int_equal(w->ranks[1].answers, 2);
}

static void test_a_note_is_passed_on_and_not_answered(void **state)
{
    struct world *w = *state;

    hello_all(w);
    assert_int_equal(say(w, 3, HB_NATIVE_NOTE, 0, 0, "it is slow", NULL), 0);
    assert_string_equal(w->nodes[1].note, "3: it is slow");
    assert_int_equal(w->ranks[3].answers, 1);
}

static void test_a_stranger_needs_the_token(void **state)
{
    struct world *w = *state;

    hb_native_conn_close(w->ranks[0].conn);
    w->ranks[0].conn = hb_native_conn_open(w->nodes[0].server, -1,
                                           &w->ranks[0]);
    assert_true(say(w, 0, HB_NATIVE_HELLO, HB_NATIVE_VERSION, 0, "wrong",
                    "") < 0);
    assert_int_equal(say(w, 0, HB_NATIVE_HELLO, HB_NATIVE_VERSION, 0, "secret",
                         ""), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void test_those_who_wait_meet_by_the_grown_map(void **state)
{
    struct world *w = *state;
    struct node *n = &w->nodes[0];
    static const char key[] = "native/5/0/";
    const uint32_t begins = RANKS;
    struct hb_jobmap *grown;

    assert_int_equal(hb_jobmap_grow(w->map, "third", 1, &grown, NULL), 0);
    for (uint32_t r = 0; r < 2; r++) {
        assert_int_equal(say(w, r, HB_NATIVE_HELLO, HB_NATIVE_VERSION, 0, "",
                             "address"), 0);
    }
    n->joined = 0;
    hb_buf_clear(&n->key);
    hb_native_grown(n->server, grown, 5, &begins, 1);
    assert_int_equal(n->joined, 1);
    assert_true(n->key.len > strlen(key));
    assert_memory_equal(n->key.data, key, strlen(key));
    hb_native_server_destroy(n->server);
    n->server = NULL;
    hb_jobmap_destroy(grown);
}

static void test_a_generation_ends_as_it_began(void **state)
{
    struct world *w = *state;
    struct node *n = &w->nodes[0];
    const uint32_t begins = RANKS;
    struct hb_jobmap *grown;

    assert_int_equal(hb_jobmap_grow(w->map, "third", 1, &grown, NULL), 0);
    hello_all(w);
    hb_native_grown(n->server, grown, 5, &begins, 1);
    fence_all(w, 0);
    hb_native_server_destroy(n->server);
    n->server = NULL;
    hb_jobmap_destroy(grown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_hello_brings_the_memory),
        TEST(test_those_who_wait_meet_by_the_grown_map),
        TEST(test_a_generation_ends_as_it_began),
        TEST(test_lost_connections_are_told),
        TEST(test_hello_waits_for_all_of_the_node),
        TEST(test_values_with_and_without_collecting),
        TEST(test_a_value_of_the_node_stays_there),
        TEST(test_different_fences_are_a_mistake),
        TEST(test_a_death_fails_who_waits_and_is_marked),
        TEST(test_fences_go_on_without_those_the_world_shrank_by),
        TEST(test_an_answer_that_nobody_waits_for_is_nobodys),
        TEST(test_the_living_finalize_without_the_dead),
        TEST(test_a_second_program_begins_anew),
        TEST(test_questions_out_of_turn_are_cut_off),
        TEST(test_a_fence_can_be_withdrawn_and_asked_for_again),
        TEST(test_who_withdraws_late_is_in_the_same_fence_again),
        TEST(test_what_is_answered_is_not_withdrawn),
        TEST(test_a_note_is_passed_on_and_not_answered),
        TEST(test_a_stranger_needs_the_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
