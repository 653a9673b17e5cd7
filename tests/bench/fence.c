/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* How long a fence takes that costs no changes between processes: launcher and
 * agents in one process, over the links, frames and fence engines that hbrun
 * and hpcbootd use, each link a socket pair. Ranks are left out: an agent
 * joins as when the last of its ranks has come.
 *
 *   fence AGENTS BYTES ROUNDS [WIDTH]
 *
 * Each agent gives BYTES of its own. WIDTH: so many agents below the launcher
 * and below each agent; 0: all below the launcher. Prints median, p99 and the
 * slowest round, from the first agent's joining until the last has its answer,
 * and what is collected is looked at. */
#include "config.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bin/boot/fds.h"
#include "bin/link/link.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/rdzv/fence.h"
#include "lib/rdzv/runs.h"

#define AGENTS_MAX 16384u
#define NS_PER_US 1000.0
static const struct hb_bytes fence_key = {"bench", 5};

struct member { /* an agent; the launcher is the one behind the last */
    uint32_t id;
    struct hb_fence_engine *engine;
    struct hb_link *up; /* the agent's end */
    struct hb_link *from_above; /* the parent's end */
    struct member *parent;
};

static struct member *all;
static uint32_t n_agents, width, *everybody, n_done;
static struct event_base *base;
static size_t blob_bytes;

static void fail(const char *what, const struct hpcboot_error *err)
{
    fprintf(stderr, "fence: %s: %s\n", what, err->text);
    exit(1);
}

static void up(void *arg, struct hb_bytes key, const uint32_t *nodes,
               uint32_t n_nodes, struct hb_bytes data)
{
    struct hb_msg_fence_up m = {.key = key, .data = data};
    struct member *a = arg;
    uint32_t *runs;

    m.nodes.n = hb_runs_of_nodes(nodes, n_nodes, &runs);
    m.nodes.v = runs;
    hb_wire_put_fence_up(hb_link_out(a->up), 0, a->id, HB_NODE_LAUNCHER, &m,
                         NULL);
    hb_link_flush(a->up);
    free(runs);
}

static void down(void *arg, uint32_t child, struct hb_bytes key, int status,
                 struct hb_bytes data)
{
    const struct hb_msg_fence_down m = {
        .key = key, .status = status, .data = data,
    };

    hb_wire_put_fence_down(hb_link_out(all[child].from_above), 0,
                           HB_NODE_LAUNCHER, child, &m, NULL);
    hb_link_flush(all[child].from_above);
}

/* Whether each agent's part is there, and its own. */
static int is_whole(struct hb_bytes data)
{
    struct hb_buf view;
    struct hb_bytes blob;
    uint32_t node, n = 0;

    hb_buf_view(&view, data.data, data.len);
    while (hb_fence_data_next(&view, &node, &blob) > 0) {
        n += blob.len == blob_bytes &&
             *(const unsigned char *)blob.data == (unsigned char)node;
    }
    return n == n_agents;
}

static void done(void *arg, struct hb_bytes key, int status,
                 struct hb_bytes data)
{
    if (status != 0 || (blob_bytes > 0 && !is_whole(data))) {
        fprintf(stderr, "fence: status %d, or not all is there\n", status);
        exit(1);
    }
    if (++n_done == n_agents) {
        event_base_loopbreak(base);
    }
}

static const struct hb_fence_ops fence_ops = {
    .up = up, .down = down, .done = done,
};

static void lost(void *arg, const struct hpcboot_error *err)
{
    fail("a link is lost", err);
}

static void at_agent(void *arg, const struct hb_frame *f)
{
    struct member *a = arg;
    struct hpcboot_error err = {0};
    struct hb_msg_fence_down m;

    if (hb_wire_get_fence_down(f, &m, &err) < 0 ||
        hb_fence_from_parent(a->engine, m.key, m.status, m.data, &err) < 0) {
        fail("FENCE_DOWN", &err);
    }
}

static void at_parent(void *arg, const struct hb_frame *f)
{
    struct member *a = arg;
    struct hpcboot_error err = {0};
    struct hb_msg_fence_up m;
    uint32_t *nodes = NULL, n = 0;

    if (hb_wire_get_fence_up(f, &m, &err) < 0 ||
        hb_runs_to_nodes(&m.nodes, &nodes, &n, &err) < 0 ||
        hb_fence_from_child(a->parent->engine, a->id, m.key, nodes, n, m.data,
                            &err) < 0) {
        fail("FENCE_UP", &err);
    }
    free(nodes);
}

static const struct hb_link_events agent_events = {
    .frame = at_agent, .lost = lost,
};
static const struct hb_link_events parent_events = {
    .frame = at_parent, .lost = lost,
};

static struct hb_link *link_on(int fd, int is_parent, struct member *a)
{
    struct hpcboot_error err = {0};
    struct hb_channel *ch = NULL;

    if (hb_channel_from_fds(&ch, base, fd, fd, -1, &err) < 0) {
        fail("a link", &err);
    }
    return hb_link_create(base, ch, is_parent,
                          is_parent ? &parent_events : &agent_events, a);
}

static struct member *parent_of(uint32_t id)
{
    return &all[width == 0 || id < width ? n_agents : id / width - 1];
}

static void start(struct member *a)
{
    struct hpcboot_error err = {0};
    int pair[2];

    if (hb_fd_socketpair(pair, &err) < 0 ||
        hb_fence_engine_create(&a->engine, a->id, 0, &fence_ops, a, &err) < 0) {
        fail("an agent", &err);
    }
    a->parent = parent_of(a->id);
    a->from_above = link_on(pair[0], 1, a);
    a->up = link_on(pair[1], 0, a);
    hb_buf_put_raw(hb_link_out(a->up), HB_WIRE_MAGIC, HB_WIRE_MAGIC_LEN);
    hb_link_flush(a->up);
}

/* Whom a parent reaches by this child. */
static void tell_parent(struct member *a)
{
    uint32_t *below = hb_xcalloc(n_agents, sizeof *below), n = 0;
    struct hpcboot_error err = {0};

    for (uint32_t i = 0; i < n_agents; i++) {
        const struct member *at = &all[i];

        while (at->parent != NULL && at != a) {
            at = at->parent;
        }
        if (at == a) {
            below[n++] = i;
        }
    }
    if (hb_fence_set_child(a->parent->engine, a->id, below, n, &err) < 0) {
        fail("a subtree", &err);
    }
    free(below);
}

static void build(void)
{
    struct hpcboot_error err = {0};

    base = event_base_new();
    all = hb_xcalloc(n_agents + 1, sizeof *all);
    everybody = hb_xcalloc(n_agents, sizeof *everybody);
    all[n_agents].id = HB_FENCE_ROOT;
    if (hb_fence_engine_create(&all[n_agents].engine, HB_FENCE_ROOT, 1,
                               &fence_ops, &all[n_agents], &err) < 0) {
        fail("the launcher", &err);
    }
    for (uint32_t i = 0; i < n_agents; i++) {
        everybody[i] = all[i].id = i;
        start(&all[i]);
    }
    for (uint32_t i = 0; i < n_agents; i++) {
        tell_parent(&all[i]);
    }
    event_base_loop(base, EVLOOP_NONBLOCK); /* the magic */
}

static double one_round(void *blob)
{
    int64_t began = hb_now_ns();
    struct hpcboot_error err = {0};

    n_done = 0;
    for (uint32_t i = 0; i < n_agents; i++) {
        memset(blob, (int)(i & 0xff), blob_bytes);
        if (hb_fence_join(all[i].engine, fence_key, everybody, n_agents,
                          (struct hb_bytes){blob, blob_bytes}, &err) < 0) {
            fail("an agent joins", &err);
        }
    }
    event_base_dispatch(base);
    return (double)(hb_now_ns() - began) / NS_PER_US;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void destroy(void)
{
    for (uint32_t i = 0; i < n_agents; i++) {
        hb_link_destroy(all[i].up);
        hb_link_destroy(all[i].from_above);
        hb_fence_engine_destroy(all[i].engine);
    }
    hb_fence_engine_destroy(all[n_agents].engine);
    event_base_free(base);
    free(everybody);
    free(all);
}

int main(int argc, char **argv)
{
    int rounds = argc > 3 ? atoi(argv[3]) : 0;
    double *took;
    void *blob;

    n_agents = argc > 3 ? (uint32_t)atoi(argv[1]) : 0;
    blob_bytes = argc > 3 ? (size_t)atoi(argv[2]) : 0;
    width = argc > 4 ? (uint32_t)atoi(argv[4]) : 0;
    if (rounds < 1 || n_agents < 1 || n_agents > AGENTS_MAX) {
        fprintf(stderr, "usage: fence AGENTS BYTES ROUNDS [WIDTH]\n");
        return 2;
    }
    build();
    took = hb_xcalloc((size_t)rounds, sizeof *took);
    blob = hb_xcalloc(1, blob_bytes + 1);
    for (int i = 0; i < rounds; i++) {
        took[i] = one_round(blob);
    }
    qsort(took, (size_t)rounds, sizeof *took, compare);
    printf("fence of %u agents in one process, %zu B each, width %u: median "
           "%.0f us, p99 %.0f us, slowest %.0f us\n", n_agents, blob_bytes,
           width, took[rounds / 2], took[rounds * 99 / 100],
           took[rounds - 1]);
    free(blob);
    free(took);
    destroy();
    return 0;
}
