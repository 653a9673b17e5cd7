/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

#include "config.h"

#include "tests/unit/native_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/collected.h"

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

int set_up(void **state)
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

int tear_down(void **state)
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

int say(struct world *w, uint32_t rank, enum hb_native_kind kind,
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

void complete(struct world *w)
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

void hello_all(struct world *w)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(say(w, r, HB_NATIVE_HELLO, HB_NATIVE_VERSION, 0, "",
                             "address"), 0);
    }
    complete(w);
}

void fence_all(struct world *w, unsigned collect)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        assert_int_equal(say(w, r, HB_NATIVE_FENCE, 0, collect, NULL, NULL),
                         0);
    }
    complete(w);
}
