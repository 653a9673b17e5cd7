/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What ranks of libhpcboot write to their agent, and what other agents send
 * for them: any bytes, in any order.
 *
 * The input is steps: a byte that says what and for which rank, a byte of
 * length, so many bytes. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/collected.h"
#include "lib/rdzv/native.h"
#include "lib/rdzv/native_server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOCAL 2u
#define RANKS 3u
#define REGION_BYTES 64u

enum step {
    RAW,      /* bytes as they are */
    FRAME,    /* a kind and the frame's inside */
    FENCED,   /* all nodes have come to the last fence */
    MODEXED,  /* what was asked of another node */
    GONE,     /* a rank here, or on the other node */
    CLOSED,
    SERVED,   /* another node asks */
    STEPS
};

struct agent {
    struct hb_native_job job;
    struct hb_native_server *server;
    struct hb_native_conn *conns[LOCAL];
    struct hb_buf fence, data; /* the last one: key, what we gave */
    uint64_t modex;
};

static void on_send(void *arg, void *conn_arg, const void *data, size_t len,
                    int fd)
{
    enum hb_native_kind kind;
    struct hb_bytes body;
    struct hb_buf in;

    hb_buf_view(&in, data, len);
    if (hb_native_next(&in, &kind, &body, NULL) != 1 ||
        kind != HB_NATIVE_ANSWER) {
        abort(); /* a rank would not understand it */
    }
}

static void on_fence(void *arg, struct hb_bytes key, const uint32_t *nodes,
                     uint32_t n_nodes, struct hb_bytes data)
{
    struct agent *a = arg;

    hb_buf_clear(&a->fence);
    hb_buf_put_raw(&a->fence, key.data, key.len);
    hb_buf_clear(&a->data);
    hb_buf_put_raw(&a->data, data.data, data.len);
}

static void on_modex(void *arg, uint64_t id, uint32_t rank)
{
    struct agent *a = arg;

    if (rank < LOCAL || rank >= RANKS) {
        abort(); /* nobody else can be asked */
    }
    a->modex = id;
}

static void on_abort(void *arg, uint32_t rank, int code, const char *text)
{
}

static void on_note(void *arg, uint32_t rank, const char *text)
{
    if (rank >= LOCAL || strlen(text) > HB_NATIVE_TEXT_MAX) {
        abort();
    }
}

static void on_contact(void *arg, uint32_t rank, unsigned bits)
{
}

static int on_memory(void *arg, const struct hb_jobmap *map,
                     struct hb_segment *out, struct hpcboot_error *err)
{
    const struct hb_segment_spec spec = {
        .n_ranks = map->n_ranks, .n_nodes = map->n_nodes, .n_local = LOCAL,
        .node_of = map->node_of_rank, .local_rank = map->local_rank,
        .names = map->node_names, .region_bytes = REGION_BYTES,
        .heap_bytes = REGION_BYTES,
    };

    return hb_segment_create(out, &spec, err);
}

static void on_alarm(void *arg, struct hb_segment *memory)
{
}

static const struct hb_native_host host = {
    .send = on_send, .fence = on_fence, .modex = on_modex, .abort = on_abort,
    .note = on_note,
    .contact = on_contact, .memory = on_memory, .alarm = on_alarm,
};

static void feed(struct agent *a, unsigned local, const void *data, size_t n)
{
    if (a->conns[local] != NULL &&
        hb_native_conn_feed(a->conns[local], data, n, NULL) < 0) {
        hb_native_conn_close(a->conns[local]);
        a->conns[local] = NULL;
    }
}

static void feed_frame(struct agent *a, unsigned local, struct hb_bytes in)
{
    const uint8_t *bytes = in.data;
    struct hb_buf b;
    size_t begun;

    hb_buf_init(&b, HB_NATIVE_FRAME_MAX);
    begun = hb_native_begin(&b, in.len > 0 ? bytes[0] : HB_NATIVE_HELLO);
    if (in.len > 0) {
        hb_buf_put_raw(&b, bytes + 1, in.len - 1);
    }
    hb_native_end(&b, begun);
    feed(a, local, b.data, b.len);
    hb_buf_destroy(&b);
}

/* Without bytes of its own: the other node has given what we gave. */
static void complete(struct agent *a, int status, struct hb_bytes in)
{
    const struct hb_bytes key = {a->fence.data, a->fence.len};
    struct hb_buf all;

    hb_buf_init(&all, HB_FENCE_DATA_MAX);
    for (uint32_t node = 0; in.len == 0 && node < 2; node++) {
        hb_buf_put_u32(&all, node);
        hb_buf_put_blob(&all, a->data.data, a->data.len);
    }
    hb_buf_put_raw(&all, in.data, in.len);
    hb_native_fence_done(a->server, key, status,
                         (struct hb_bytes){all.data, all.len});
    hb_buf_destroy(&all);
}

static void serve(struct agent *a, unsigned rank)
{
    struct hb_buf b;

    hb_buf_init(&b, HB_NATIVE_FRAME_MAX);
    (void)hb_native_modex_serve(a->server, rank, &b);
    hb_buf_destroy(&b);
}

static void step(struct agent *a, unsigned what, unsigned local,
                 struct hb_bytes in)
{
    const uint8_t *bytes = in.data;
    int status = in.len > 0 && bytes[0] == 'f' ? HPCBOOT_ERR_PEER_DEAD : 0;

    switch ((enum step)what) {
    case RAW: feed(a, local, in.data, in.len); break;
    case FRAME: feed_frame(a, local, in); break;
    case FENCED: complete(a, status, in); break;
    case MODEXED:
        hb_native_modex_done(a->server, a->modex, status, in);
        break;
    case GONE:
        if (status < 0) {
            hb_native_peer_dead(a->server, LOCAL, "is dead");
        } else {
            hb_native_rank_gone(a->server, local, "is dead");
        }
        break;
    case CLOSED:
        if (a->conns[local] != NULL) {
            hb_native_conn_close(a->conns[local]);
            a->conns[local] = NULL;
        }
        break;
    default: serve(a, local); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t node_of[RANKS] = {0, 0, 1};
    static const struct hb_job_app app = {0, RANKS};
    char here[] = "here", there[] = "there", *names[] = {here, there};
    struct hb_jobmap *map = NULL;
    struct agent a = {0};

    if (hb_jobmap_create(&map, RANKS, node_of, 2, names, 1, &app, RANKS,
                         NULL) < 0) {
        abort();
    }
    hb_buf_init(&a.fence, HB_FENCE_DATA_MAX);
    hb_buf_init(&a.data, HB_FENCE_DATA_MAX);
    a.job = (struct hb_native_job){.map = map, .token = "t"};
    a.server = hb_native_server_create(&a.job, &host, &a);
    a.conns[0] = hb_native_conn_open(a.server, 0, NULL);
    a.conns[1] = hb_native_conn_open(a.server, -1, NULL);
    while (size >= 2) {
        size_t n = data[1] < size - 2 ? data[1] : size - 2;

        step(&a, (data[0] & 0x7f) % STEPS, data[0] >> 7,
             (struct hb_bytes){data + 2, n});
        data += 2 + n;
        size -= 2 + n;
    }
    for (unsigned i = 0; i < LOCAL; i++) {
        if (a.conns[i] != NULL) {
            hb_native_conn_close(a.conns[i]);
        }
    }
    hb_native_server_destroy(a.server);
    hb_buf_destroy(&a.fence);
    hb_buf_destroy(&a.data);
    hb_jobmap_destroy(map);
    return 0;
}
