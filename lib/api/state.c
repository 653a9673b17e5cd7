/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The one job of this process: begun by init, ended by finalize. In between
 * stand the client of the launcher, the memory of the node, the transport
 * where there are other nodes, the engine of the collectives, and the two
 * teams that always exist; they are closed in the opposite order. */
#include "config.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/api/api.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"
#include "lib/topo/allowed.h"

#define INIT_TIMEOUT_MS 300000 /* a large job's nodes boot one after another */
#define LINGER_NS (200 * 1000)
#define FIRST_CONTEXT 16u /* below: world, node team, and what may come */

struct api_state hb_api = {.lock = PTHREAD_MUTEX_INITIALIZER,
                           .rdzv_lock = PTHREAD_MUTEX_INITIALIZER,
                           .requests_lock = PTHREAD_MUTEX_INITIALIZER};

int64_t hb_api_deadline(int timeout_ms)
{
    return timeout_ms > 0 ? hb_deadline_in_ms(timeout_ms) : HB_NEVER;
}

static int net_progress(void *ctx)
{
    return hb_xport_progress(hb_api.xport);
}

static uint64_t net_moves(void *ctx)
{
    return hb_xport_moves(hb_api.xport);
}

/* Of a wait for the launcher. What has moved mostly moves on when the peer has
 * had its turn, and who sleeps meanwhile makes a nap of each piece. */
static int work(void)
{
    static int64_t moved_ns;
    int answers = hb_api_answer();
    int moved = hb_coll_progress_if_any(hb_api.engine);
    int64_t now = moved >= 0 ? hb_now_ns() : 0;

    hb_api_look_at_node();
    if (moved > 0) {
        moved_ns = now;
    } else if (moved == 0 && now - moved_ns < LINGER_NS) {
        sched_yield();
        moved = 1;
    }
    return moved < 0 && answers ? 0 : moved;
}

static void net_idle(void *ctx, int64_t ns)
{
    hb_xport_idle(hb_api.xport, ns);
}

/* What messages cost is measured by one rank of a host, where hbrun has said
 * which that is; teams read its card (describe_net). */
static int measures(const struct hpcboot_bootstrap *bootstrap)
{
    const char *local = getenv("HPCBOOT_LOCAL_RANK");

    return bootstrap != NULL || local == NULL ||
           getenv("HPCBOOT_FD") == NULL || strcmp(local, "0") == 0;
}

static int open_address(void *arg, struct hb_buf *out,
                        struct hpcboot_error *err)
{
    uint32_t send_ns, recv_ns;
    int rc = hb_xport_open(&hb_api.xport, out, err);

    if (rc == 0) {
        hb_coll_net_costs(measures(arg), &send_ns, &recv_ns);
        hb_xport_put_costs(out, send_ns, recv_ns);
    }
    return rc;
}

/* Ranks that nobody has placed: as many as CPUs, or more? */
static void prepare(void *arg, struct hb_segment *memory)
{
    struct hb_coll_node_page *page = hb_segment_page(memory);
    struct hb_allowed allowed;

    page->wait_mode = hb_topo_allowed("", &allowed, NULL) == 0 &&
                              hb_segment_locals(memory) > allowed.slots
                          ? HB_COLL_WAIT_YIELD : HB_COLL_WAIT_SPIN;
}

/* Who is where, from the memory of the node. */
static void read_table(void)
{
    struct api_state *s = &hb_api;

    s->memory = &s->rdzv->memory;
    s->rank = (int)s->rdzv->rank;
    s->size = (int)s->rdzv->size;
    s->node = (int)hb_segment_node(s->memory);
    s->nodes = (int)hb_segment_nodes(s->memory);
    s->local_rank = (int)hb_segment_local_rank(s->memory)[s->rank];
    s->local_size = (int)hb_segment_locals(s->memory);
    s->heap = hb_segment_heap(s->memory, &s->heap_size);
}

static void enter_slot(void)
{
    struct hb_segment_slot *slot =
        hb_segment_slot(hb_api.memory, (uint32_t)hb_api.local_rank);

    atomic_store(&slot->pid, (int32_t)getpid());
    atomic_store(&slot->pid_space, hb_segment_pid_space());
    atomic_store(&slot->state, HB_RANK_IN);
}

static int read_flag(const char *name, int *out, struct hpcboot_error *err)
{
    const char *text = getenv(name);

    *out = text != NULL && strcmp(text, "1") == 0;
    if (!*out && text != NULL && *text != '\0' && strcmp(text, "0") != 0) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "%s: \"%.64s\" is neither 0 "
                       "nor 1", name, text);
    }
    return 0;
}

/* Reads those of the user's variables that no other module reads. A wrong value
 * is an error before the ranks meet, so that no rank waits for one that has
 * failed by it. */
static int read_settings(struct hpcboot_error *err)
{
    struct api_state *s = &hb_api;
    int rc = read_flag("HPCBOOT_CHECK", &s->checks, err);

    if (rc == 0) {
        rc = read_flag("HPCBOOT_DETERMINISTIC", &s->deterministic, err);
    }
    if (rc == 0) {
        rc = hb_api_leaves_check(err);
    }
    return rc == 0 ? hb_rdzv_check_wishes(err) : rc;
}

/* ---- what the transport asks ---- */

static const void *address_of(void *ctx, uint32_t rank, size_t *len_out)
{
    return hb_segment_address(ctx, rank, len_out);
}

static const char *host_of(void *ctx, uint32_t rank)
{
    return hb_segment_name(ctx, hb_segment_node_of(ctx)[rank]);
}

static void *ring_of(void *ctx, uint32_t to, uint32_t from)
{
    size_t bytes;

    return hb_segment_ring(ctx, to, from, &bytes);
}

static int join_xport(struct hpcboot_error *err)
{
    struct hb_segment *m = hb_api.memory;
    struct hb_xport_job job = {
        .rank = (uint32_t)hb_api.rank, .size = (uint32_t)hb_api.size,
        .node = (uint32_t)hb_api.node,
        .local_rank = (uint32_t)hb_api.local_rank,
        .node_of = hb_segment_node_of(m),
        .local_rank_of = hb_segment_local_rank(m), .ctx = m,
        .n_local = (uint32_t)hb_api.local_size,
        .address = address_of, .host = host_of, .ring = ring_of,
        .lost = hb_api_connection_lost, .explain = hb_api_explain,
        .dropped = hb_api_message_dropped,
    };

    (void)hb_segment_ring(m, 0, 0, &job.ring_bytes);
    return hb_xport_join(&hb_api.xport, &job, err);
}

static int open_engines(struct hpcboot_error *err)
{
    struct api_state *s = &hb_api;
    struct hb_coll_config config = HB_COLL_CONFIG_INIT;
    int rc = join_xport(err);

    if (rc < 0) {
        return rc;
    }
    config.page = hb_segment_page(s->memory);
    config.heap = (struct hb_coll_heap){s->heap, s->heap_size};
    config.node_rank = s->local_rank;
    config.node_size = s->local_size;
    config.pid_space = hb_segment_pid_space();
    config.threads = s->threads;
    config.check = s->checks != 0;
    config.alive = hb_api_alive;
    config.stuck = hb_api_stuck;
    config.who = hb_api_who;
    config.progress = net_progress;
    config.moves = net_moves;
    config.node_only = s->nodes == 1;
    config.idle = s->nodes > 1 ? net_idle : NULL;
    config.net_wish = getenv("HPCBOOT_COLL_NET");
    if (config.page != NULL) {
        rc = hb_coll_model_share(config.page, s->local_size, err);
    }
    return rc < 0 ? rc : hb_coll_create(&config, &s->engine, err);
}

static void close_all(void)
{
    struct api_state *s = &hb_api;

    if (s->rdzv != NULL) {
        s->rdzv->work = NULL;
    }
    hb_api_requests_close();
    hb_api_teams_close();
    hb_coll_destroy(s->engine);
    s->engine = NULL;
    hb_xport_destroy(s->xport);
    s->xport = NULL;
    hb_api_stage_close();
    hb_move_close();
    hb_api_ops_close();
    hb_api_leaves_close();
    hb_api_counts_close();
    hb_rdzv_close(s->rdzv);
    s->rdzv = NULL;
    s->memory = NULL;
    hb_fd_let_standard_go(s->held);
    s->held = 0;
}

/* A library does not print; where nobody else can tell the user, the first
 * rank of the node does all the same: what is slow must have a reason. */
static void tell(const char *warning)
{
    struct api_state *s = &hb_api;

    if (warning[0] == '\0') {
        return;
    }
    if (s->rdzv->ops->note != NULL) {
        s->rdzv->ops->note(s->rdzv, warning);
    } else if (s->local_rank == 0) {
        fprintf(stderr, "libhpcboot: warning: rank %d on %s: %s\n", s->rank,
                hb_segment_name(s->memory, (uint32_t)s->node), warning);
    }
}

static int start(const struct hpcboot_bootstrap *bootstrap, int timeout_ms,
                 struct hpcboot_error *err)
{
    struct hpcboot_error refusal;
    int rc = read_settings(&refusal);
    const struct hb_rdzv_spec spec = {
        .bootstrap = bootstrap, .refusal = rc < 0 ? &refusal : NULL,
        .deadline_ns = hb_deadline_in_ms(timeout_ms > 0 ? timeout_ms
                                                        : INIT_TIMEOUT_MS),
        .address = open_address, .region_bytes = hb_coll_region_size,
        .region_small = hb_coll_region_small,
        .prepare = prepare, .arg = (void *)(uintptr_t)bootstrap,
    };

    if (rc == 0 || bootstrap != NULL) {
        rc = hb_rdzv_open(&hb_api.rdzv, &spec, err);
    } else if (err != NULL) {
        *err = refusal;
    }
    if (rc == 0) {
        read_table();
        hb_api_leaves_open();
        enter_slot();
        hb_api_counts_open();
        hb_api.next_context = FIRST_CONTEXT;
        rc = open_engines(err);
    }
    if (rc == 0) {
        tell(hb_xport_warning(hb_api.xport));
        hb_api.rdzv->work = work;
        rc = hb_api_teams_open(err);
    }
    if (rc < 0) {
        close_all();
    }
    return rc;
}

/* Its connections and its memory are the rank's own. */
static void forked(void)
{
    if (hb_api_is_in()) {
        atomic_store(&hb_api.phase, API_FORKED);
    }
}

static int check_options(const struct hpcboot_init_options *o,
                         struct hpcboot_error *err)
{
    const char *call = "hpcboot_init";
    int rc = hb_api_sized(call, "HPCBOOT_INIT_OPTIONS_INIT", o, sizeof *o,
                          err);

    if (rc == 0 && (unsigned)o->threads > HPCBOOT_THREADS_MULTIPLE) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "%s: threads is %d, neither "
                     "HPCBOOT_THREADS_SINGLE nor _MULTIPLE", call,
                     (int)o->threads);
    }
    return rc < 0 ? rc : hb_api_timeout(call, o->timeout_ms, err);
}

static int init(const struct hpcboot_bootstrap *bootstrap,
                const struct hpcboot_init_options *options,
                struct hpcboot_error *err)
{
    int before = API_BEFORE, rc;

    rc = options != NULL ? check_options(options, err) : 0;
    if (rc < 0) {
        return rc;
    }
    if (!atomic_compare_exchange_strong(&hb_api.phase, &before,
                                        API_STARTING)) {
        return hb_fail(err, HPCBOOT_ERR_USAGE, "hpcboot_init was called "
                       "before, and can be called once in a process");
    }
    hb_api.held = hb_fd_hold_standard();
    hb_api.threads = options != NULL &&
                     options->threads == HPCBOOT_THREADS_MULTIPLE;
    rc = start(bootstrap, options != NULL ? options->timeout_ms : 0, err);
    atomic_store(&hb_api.phase, rc == 0 ? API_IN : API_BEFORE);
    if (rc == 0) {
        (void)pthread_atfork(NULL, NULL, forked);
    }
    return rc;
}

int hpcboot_init(const struct hpcboot_init_options *options,
                 struct hpcboot_error *err)
{
    return init(NULL, options, err);
}

int hpcboot_init_with(const struct hpcboot_bootstrap *bootstrap,
                      const struct hpcboot_init_options *options,
                      struct hpcboot_error *err)
{
    const struct hpcboot_bootstrap *b = bootstrap;
    const char *call = "hpcboot_init_with";
    int rc = hb_api_sized(call, "HPCBOOT_BOOTSTRAP_INIT", b, sizeof *b, err);

    if (rc == 0 && (b->rank < 0 || b->rank >= b->size)) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "%s: rank %d of %d is none",
                     call, b->rank, b->size);
    }
    if (rc == 0 && b->allgather == NULL) {
        rc = hb_fail(err, HPCBOOT_ERR_USAGE, "%s: allgather is NULL", call);
    }
    return rc < 0 ? rc : init(b, options, err);
}

int hpcboot_finalize(struct hpcboot_error *err)
{
    int in = API_IN, rc = hb_api_ready("hpcboot_finalize", err);

    if (rc < 0 || !atomic_compare_exchange_strong(&hb_api.phase, &in,
                                                  API_ENDING)) {
        return rc < 0 ? rc : hb_api_ready("hpcboot_finalize", err);
    }
    hb_api_shows(HB_WAITS_FINALIZE);
    if (hb_api.rdzv->lazy) {
        hb_api_leave_together();
    }
    rc = hb_xport_flush(hb_api.xport, err);
    if (rc == 0) {
        rc = hb_api.rdzv->ops->finalize(hb_api.rdzv, err);
    }
    atomic_store(&hb_segment_slot(hb_api.memory,
                                  (uint32_t)hb_api.local_rank)->state,
                 HB_RANK_OUT);
    close_all();
    atomic_store(&hb_api.phase, API_OVER);
    return rc;
}

int hpcboot_is_initialized(void)
{
    return hb_api_is_in();
}
