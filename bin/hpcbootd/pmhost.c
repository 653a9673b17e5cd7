/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Between the process-management server of this node and the rest of the job:
 * what the server asks goes into the fence engine or up the link; what comes
 * down is handed to the server. A fence that concerns this node alone never
 * leaves it.
 *
 * Answers to the server are never given from inside its own question: they
 * are queued and delivered by the loop. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/hpcbootd/agent.h"
#include "bin/hpcbootd/sure.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/str.h"
#include "lib/rdzv/native_server.h"
#include "lib/rdzv/runs.h"

#define ABORT_TEXT_MAX 4096u /* above what a verdict shows */

/* A finished local fence on its way back to the server. */
struct local_fence {
    struct agent *agent;
    int status;
    struct hb_buf key, data;
};

static void pm_send(void *arg, uint32_t rank, const void *data, size_t len)
{
    struct rank *r = agent_rank(arg, rank);

    if (r != NULL) {
        rank_sink_put(&r->pm, data, len);
    }
}

static void note_fence(struct agent *a)
{
    if (a->fence_ns == 0) {
        a->fence_ns = hb_now_ns();
    }
}

/* To whoever of this node joined it. */
static void finish_fence(struct agent *a, struct hb_bytes key, int status,
                         struct hb_bytes data)
{
    note_fence(a);
    if (!agent_native_fence_done(a, key, status, data) && a->pm != NULL) {
        a->pm_ops->fence_done(a->pm, key, status, data);
    }
}

static void deliver_local_fence(evutil_socket_t fd, short what, void *arg)
{
    struct local_fence *f = arg;
    struct hb_bytes key = {f->key.data, f->key.len};
    struct hb_bytes data = {f->data.data, f->data.len};

    finish_fence(f->agent, key, f->status, data);
    hb_buf_destroy(&f->key);
    hb_buf_destroy(&f->data);
    free(f);
}

/* Queues an answer in the form that the engine gives, {node, blob}, of what it
 * would carry. */
static void answer_local_fence(struct agent *a, struct hb_bytes key,
                               int status, struct hb_bytes data)
{
    static const struct timeval now = {0, 0};
    struct local_fence *f = hb_xcalloc(1, sizeof *f);

    f->agent = a;
    f->status = status == HPCBOOT_OK && data.len > HB_FENCE_DATA_MAX
                    ? HPCBOOT_ERR_LIMIT : status;
    hb_buf_init(&f->key, key.len); /* also of one that the engine refuses */
    hb_buf_init(&f->data, HB_WIRE_FRAME);
    hb_buf_put_raw(&f->key, key.data, key.len);
    if (f->status == HPCBOOT_OK) {
        hb_buf_put_u32(&f->data, a->node);
        hb_buf_put_blob(&f->data, data.data, data.len);
    }
    if (hb_buf_failed(&f->key) || hb_buf_failed(&f->data)) {
        hb_no_memory(); /* who has joined it would wait for ever */
    }
    sure_once(a->base, deliver_local_fence, f, &now);
}

void agent_fence_join(struct agent *a, struct hb_bytes key,
                      const uint32_t *nodes, uint32_t n_nodes,
                      struct hb_bytes data)
{
    struct hpcboot_error err = {0};
    int rc;

    if (n_nodes == 1 && nodes[0] == a->node) {
        answer_local_fence(a, key, HPCBOOT_OK, data);
        return;
    }
    rc = hb_fence_join(a->fences, key, nodes, n_nodes, data, &err);
    if (rc < 0) {
        agent_note(a, HB_ERROR, "a fence cannot be joined: %s", err.text);
        answer_local_fence(a, key, rc, data);
    }
}

static void pm_fence(void *arg, struct hb_bytes key, const uint32_t *nodes,
                     uint32_t n_nodes, struct hb_bytes data)
{
    agent_fence_join(arg, key, nodes, n_nodes, data);
}

/* The text is of any length; what is said at the end is one sentence. */
void agent_rank_abort(struct agent *a, uint32_t rank, int code,
                      const char *text)
{
    char *begins = hb_xstrndup(text, ABORT_TEXT_MAX);

    AGENT_SEND(a, abort, .rank = rank, .code = code, .text = begins,
               .time_ns = (uint64_t)hb_now_ns());
    free(begins);
}

static void pm_abort(void *arg, uint32_t rank, int code, const char *text)
{
    agent_rank_abort(arg, rank, code, text);
}

void agent_rank_contact(struct agent *a, uint32_t rank, unsigned bits)
{
    struct rank *r = agent_rank(a, rank);

    if (r == NULL) {
        return;
    }
    r->contact |= bits;
    /* The launcher hears of the first: from then on a rank that ends without
     * having come here leaves others waiting for it. */
    if ((bits & HB_CONTACT_INIT) && !a->init_told) {
        a->init_told = 1;
        AGENT_SEND(a, contact, .rank = rank, .contact = r->contact);
    }
}

/* What a rank starts by system() or fork() has its variables and its socket,
 * and speaks in its name: both wait for answers that the other gets. A process
 * that begins again itself is none of these: MPICH does for each session. */
static void tell_if_twice(struct agent *a, struct rank *r, unsigned bits)
{
    if (bits & HB_CONTACT_FINALIZE) {
        r->in_mpi = 0;
    } else if (bits & HB_CONTACT_INIT) {
        int same = r->mpi_pid > 0 && r->mpi_pid == r->pm_writer;

        if (r->in_mpi && !same && !a->twice_told) {
            a->twice_told = 1;
            agent_note(a, HB_WARN, "rank %u begins MPI a second time without "
                       "having ended it: if a program that it has started "
                       "(system, fork) is an MPI program, too, both may wait "
                       "for ever. Start such a program without the variables "
                       "of this job (env -i), or by MPI_Comm_spawn", r->rank);
        }
        r->in_mpi = 1;
        r->mpi_pid = r->pm_writer;
    }
}

static void pm_contact(void *arg, uint32_t rank, unsigned bits)
{
    struct rank *r = agent_rank(arg, rank);

    if (r != NULL) {
        tell_if_twice(arg, r, bits);
        agent_rank_contact(arg, rank, bits);
    }
}

static void pm_modex(void *arg, uint64_t id, uint32_t rank)
{
    struct agent *a = arg;

    AGENT_SEND(a, modex, .id = id, .rank = rank);
}

static void pm_name(void *arg, uint64_t id, enum hb_pm_name_op op,
                    const char *name, struct hb_bytes value)
{
    struct agent *a = arg;

    AGENT_SEND(a, name, .id = id, .op = (uint8_t)op, .name = name,
               .value = value);
}

static void pm_violation(void *arg, uint32_t rank, const char *text)
{
    agent_note(arg, HB_WARN, "rank %u broke the %s protocol and is cut "
               "off from its server: %s", rank,
               hb_pm_family_name(((struct agent *)arg)->job.family), text);
}

static void pm_spawn(void *arg, uint64_t id, uint32_t rank,
                     const struct hb_pm_spawn *what)
{
    agent_spawn(arg, id, rank, what);
}

static int pm_output(void *arg, uint32_t rank, unsigned stream,
                     struct hb_bytes text)
{
    struct rank *r = agent_rank(arg, rank);

    return r == NULL || rank_put_output(r, stream, text);
}

/* Whoever gave it has been told that it is on its way: an agent that answers
 * later meets a fault of libpmix (bin/pm/pmix_upcall.c). So it is left out
 * where it cannot go. */
static void pm_event(void *arg, const struct hb_pm_event *event)
{
    struct agent *a = arg;
    size_t waiting = agent_unsent(a);

    if (event->infos.len <= HB_WIRE_EVENT && waiting <= HB_WIRE_EVENTS_WAIT) {
        AGENT_SEND(a, event, .rank = event->rank, .code = event->code,
                   .range = (uint8_t)event->range, .infos = event->infos);
    } else if (!a->event_told) {
        a->event_told = 1;
        agent_note(a, HB_WARN, "an event of rank %u (PMIx_Notify_event) does "
                   "not reach the ranks of other hosts: %s", event->rank,
                   waiting > HB_WIRE_EVENTS_WAIT
                       ? "they are given faster than they can be passed on"
                       : "it tells more than 64 KiB");
    }
}

static const struct hb_pm_host pm_host = {
    .send = pm_send, .fence = pm_fence, .abort = pm_abort,
    .contact = pm_contact, .modex = pm_modex, .name = pm_name,
    .violation = pm_violation, .spawn = pm_spawn, .output = pm_output,
    .event = pm_event,
};

static void fence_up(void *arg, struct hb_bytes key, const uint32_t *nodes,
                     uint32_t n_nodes, struct hb_bytes data)
{
    struct agent *a = arg;

    uint32_t *runs, n = hb_runs_of_nodes(nodes, n_nodes, &runs);

    AGENT_SEND(a, fence_up, .key = key, .nodes = {.v = runs, .n = n},
               .data = data);
    free(runs);
}

static void fence_down(void *arg, uint32_t child, struct hb_bytes key,
                       int status, struct hb_bytes data)
{
    const struct hb_msg_fence_down m = {
        .key = key, .status = status, .data = data,
    };

    agent_fence_down(arg, child, &m);
}

static void fence_done(void *arg, struct hb_bytes key, int status,
                       struct hb_bytes data)
{
    finish_fence(arg, key, status, data);
}

static const struct hb_fence_ops fence_ops = {
    .up = fence_up, .down = fence_down, .done = fence_done,
};

static void on_pm_work(evutil_socket_t fd, short what, void *arg)
{
    struct agent *a = arg;

    a->pm_ops->dispatch(a->pm);
}

int agent_fences_start(struct agent *a, struct hpcboot_error *err)
{
    uint32_t self = a->node != HB_NODE_UNSET ? a->node : HB_FENCE_ROOT;
    int rc = hb_fence_engine_create(&a->fences, self, 0, &fence_ops, a, err);

    return rc < 0 ? rc : agent_fence_children(a, err);
}

int agent_pm_start(struct agent *a, struct hpcboot_error *err)
{
    const struct hb_pm_job job = {
        .job_id = a->job_id, .session_dir = a->session_dir,
        .map = a->job.map, .node = a->node, .apps = a->job.pm_apps,
        .uid = (uint32_t)getuid(), .gid = (uint32_t)getgid(),
        .oversubscribed = agent_oversubscribed(a),
        .topology_xml = a->here.xml, .topology_file = a->topo_file,
        .cpusets = a->places.n > 0 ? hb_strv_view(&a->places) : NULL,
        .localities = a->places.n > 0 ? hb_strv_view(&a->localities) : NULL,
        .flavour = a->job.flavour, .world = a->job.world,
        .parent_id = a->job.parent_id, .parent_rank = a->job.parent_rank,
        .preput = hb_strv_view(&a->job.preput),
    };
    int fd, rc;

    rc = hb_pm_ops_get(a->job.family, &a->pm_ops, err);
    if (rc == 0) {
        a->pm_job = job;
        rc = a->pm_ops->create(&a->pm, &a->pm_job, &pm_host, a, err);
    }
    if (rc < 0) {
        return rc;
    }
    fd = a->pm_ops->fd(a->pm);
    if (fd >= 0) {
        a->pm_ev = sure_new(a->base, fd, EV_READ | EV_PERSIST, on_pm_work, a);
        sure_add(a->pm_ev, NULL);
    }
    return 0;
}

void agent_pm_stop(struct agent *a)
{
    if (a->pm_ev != NULL) {
        event_free(a->pm_ev);
        a->pm_ev = NULL;
    }
    if (a->pm != NULL) {
        a->pm_ops->destroy(a->pm);
        a->pm = NULL;
    }
    agent_spawns_destroy(a);
}

/* The answer to another node's direct modex; src of the question is kept in
 * the request, as several may be under way. */
struct modex_question {
    struct agent *agent;
    uint32_t host;
};

static void modex_answer(void *arg, uint64_t id, int status,
                         struct hb_bytes data)
{
    struct modex_question *q = arg;
    const struct hb_msg_modex_reply m = {
        .id = id, .status = status, .data = data,
    };

    (void)hb_wire_put_modex_reply(agent_out(q->agent), q->agent->epoch,
                                  q->agent->host, q->host, &m, NULL);
    agent_sent(q->agent);
    free(q);
}

static int on_modex(struct agent *a, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct modex_question *q;
    struct hb_msg_modex m;
    int rc = hb_wire_get_modex(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    q = hb_xmalloc(sizeof *q);
    q->agent = a;
    q->host = f->src;
    if (m.id & HB_NATIVE_MODEX_BIT) {
        struct hb_buf data;
        int status = agent_native_modex_serve(a, m.id, m.rank, &data);

        modex_answer(q, m.id, status, (struct hb_bytes){data.data, data.len});
        hb_buf_destroy(&data);
    } else if (a->pm == NULL || agent_rank(a, m.rank) == NULL) {
        modex_answer(q, m.id, HPCBOOT_ERR_NOT_FOUND, (struct hb_bytes){0});
    } else {
        a->pm_ops->modex_serve(a->pm, m.id, m.rank, modex_answer, q);
    }
    return 0;
}

int agent_fence_gather(struct agent *a, uint32_t child,
                       const struct hb_frame *f, struct hpcboot_error *err)
{
    struct hb_msg_fence_up m;
    uint32_t *nodes, n;
    int rc = hb_wire_get_fence_up(f, &m, err);

    if (rc < 0) {
        return rc;
    }
    if (a->fences == NULL) {
        return hb_fail(err, HPCBOOT_ERR_PROTOCOL, "a fence came too early");
    }
    rc = hb_runs_to_nodes(&m.nodes, &nodes, &n, err);
    if (rc == 0) {
        rc = hb_fence_from_child(a->fences, child, m.key, nodes, n, m.data,
                                 err);
        free(nodes);
    }
    return rc;
}

static int on_fence_down(struct agent *a, const struct hb_frame *f,
                         struct hpcboot_error *err)
{
    struct hb_msg_fence_down m;
    int rc = hb_wire_get_fence_down(f, &m, err);

    if (rc == 0 && a->fences != NULL) {
        agent_orphan_answered(a, m.key);
        rc = hb_fence_from_parent(a->fences, m.key, m.status, m.data, err);
    }
    return rc;
}

/* They have another way up, or none. */
static int on_moved(struct agent *a, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct hb_msg_moved m;
    int rc = hb_wire_get_moved(f, &m, err);
    uint32_t *nodes;

    if (rc == 0 && a->fences != NULL) {
        nodes = hb_xcalloc(m.nodes.n + 1, sizeof *nodes);
        for (uint32_t i = 0; i < m.nodes.n; i++) {
            nodes[i] = hb_wire_u32s_at(&m.nodes, i);
        }
        hb_fence_moved(a->fences, nodes, m.nodes.n);
        free(nodes);
    }
    return rc;
}

static int on_modex_reply(struct agent *a, const struct hb_frame *f,
                          struct hpcboot_error *err)
{
    struct hb_msg_modex_reply m;
    int rc = hb_wire_get_modex_reply(f, &m, err);

    if (rc == 0 && !agent_native_modex_done(a, m.id, m.status, m.data) &&
        a->pm != NULL) {
        a->pm_ops->modex_done(a->pm, m.id, m.status, m.data);
    }
    return rc;
}

static int on_name_reply(struct agent *a, const struct hb_frame *f,
                         struct hpcboot_error *err)
{
    struct hb_msg_name_reply m;
    int rc = hb_wire_get_name_reply(f, &m, err);

    if (rc == 0 && a->pm != NULL) {
        a->pm_ops->name_done(a->pm, m.id, m.status, m.value);
    }
    return rc;
}

static int on_event(struct agent *a, const struct hb_frame *f,
                    struct hpcboot_error *err)
{
    struct hb_msg_event m;
    int rc = hb_wire_get_event(f, &m, err);

    if (rc == 0 && a->pm != NULL && a->pm_ops->event != NULL) {
        const struct hb_pm_event event = {
            .rank = m.rank, .code = m.code, .range = m.range,
            .infos = m.infos,
        };

        a->pm_ops->event(a->pm, &event);
    }
    return rc;
}

int agent_pm_frame(struct agent *a, const struct hb_frame *f,
                   struct hpcboot_error *err)
{
    switch (f->type) {
    case HB_MSG_FENCE_DOWN:
        return on_fence_down(a, f, err);
    case HB_MSG_MOVED:
        return on_moved(a, f, err);
    case HB_MSG_MODEX:
        return on_modex(a, f, err);
    case HB_MSG_MODEX_REPLY:
        return on_modex_reply(a, f, err);
    case HB_MSG_SPAWNED:
        return agent_spawned(a, f, err);
    case HB_MSG_EVENT:
        return on_event(a, f, err);
    default:
        return on_name_reply(a, f, err);
    }
}
