/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Requests: begun, moved on by whoever carries their bytes, and ended by a
 * test. A send to this rank itself is a message that has arrived; one to a
 * rank of this node goes through its ring; all others over TCP. */
#include "config.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/xport/impl.h"

#define FLUSH_NAP_MS 1
#define BRIEFLY_NS (100 * 1000)
/* A peer that reads no more has no wish for what is left. */
#define FLUSH_NS ((int64_t)5 * 1000 * 1000 * 1000)

static struct hb_xport *new_xport(void)
{
    struct hb_xport *x = hb_xcalloc(1, sizeof *x);

    pthread_mutex_init(&x->lock, NULL);
    hb_match_init(x);
    return x;
}

int hb_xport_open(struct hb_xport **out, struct hb_buf *address,
                  struct hpcboot_error *err)
{
    struct hb_xport *x = new_xport();
    int rc = hb_tcp_open(&x->tcp, address, err);

    if (rc < 0) {
        hb_xport_destroy(x);
        return rc;
    }
    *out = x;
    return 0;
}

const char *hb_xport_warning(const struct hb_xport *x)
{
    return x != NULL && x->tcp != NULL ? hb_tcp_warning(x->tcp) : "";
}

int hb_xport_join(struct hb_xport **x, const struct hb_xport_job *job,
                  struct hpcboot_error *err)
{
    if (*x == NULL) {
        *x = new_xport();
    }
    (*x)->job = *job;
    hb_ring_join(*x);
    return (*x)->tcp != NULL ? hb_tcp_join((*x)->tcp, *x, err)
                             : hb_tcp_check_wishes(err);
}

void hb_xport_destroy(struct hb_xport *x)
{
    if (x == NULL) {
        return;
    }
    hb_tcp_destroy(x->tcp);
    hb_ring_leave(x);
    hb_match_destroy(x);
    pthread_mutex_destroy(&x->lock);
    free(x);
}

void hb_req_finish(struct hb_xport_req *req, int status)
{
    req->done = 1;
    req->status = status;
    if (req->orphan) {
        if (req->back != NULL) {
            hb_back_came(req);
        }
        free(req->copy);
        free(req);
    }
}

static void note_info(struct hb_xport_req *req, const struct hb_inbound *in)
{
    req->info = (struct hb_xport_info){(int)in->source, in->tag,
                                       (size_t)in->size};
}

void hb_req_meets(struct hb_xport *x, struct hb_xport_req *req,
                  const struct hb_inbound *in)
{
    note_info(req, in);
    req->order = in->order != 0 ? in->order : ++x->n_met;
}

void hb_inbound_make_room(struct hb_inbound *in)
{
    in->own = malloc((size_t)in->size + 1);
    in->lost = in->own == NULL;
}

void hb_inbound_deliver(struct hb_inbound *in)
{
    struct hb_xport_req *r = in->req;
    size_t has = (size_t)(in->size - in->missing);
    size_t fits = has < r->size ? has : r->size;
    int status = 0;

    note_info(r, in);
    if (in->own != NULL && r->buffer != NULL) {
        memcpy(r->buffer, in->own, fits);
    }
    r->has = fits;
    if (in->is_void) {
        status = hb_fail(&r->err, HPCBOOT_ERR_NOMEM, "rank %u gave up a "
                         "message of %llu bytes when some of it had been "
                         "sent, and had no memory to keep the rest",
                         in->source, (unsigned long long)in->size);
    } else if (in->lost) {
        status = hb_fail(&r->err, HPCBOOT_ERR_NOMEM, "a message of %llu bytes "
                         "from rank %u came before its receive, and there was "
                         "no memory to keep it; post receives of long "
                         "messages early", (unsigned long long)in->size,
                         in->source);
    } else if (in->size > fits) {
        status = hb_fail(&r->err, HPCBOOT_ERR_LIMIT, "a message of %llu bytes "
                         "from rank %u came for a buffer of %zu",
                         (unsigned long long)in->size, in->source, fits);
    }
    hb_req_finish(r, status);
}

void hb_inbound_finish(struct hb_inbound *in)
{
    hb_inbound_deliver(in);
    free(in->own);
    free(in);
}

static void received(struct hb_xport *x, uint32_t source, uint64_t size)
{
    if (x->tcp != NULL && x->job.node_of[source] != x->job.node) {
        hb_tcp_received(x->tcp, source, hb_xport_weight(size));
    }
}

void hb_xport_arrived(struct hb_xport *x, uint32_t source, uint32_t context,
                      uint64_t tag, const char *data, size_t size)
{
    struct hb_inbound *in = hb_xcalloc(1, sizeof *in);

    in->source = source;
    in->context = context;
    in->tag = tag;
    in->size = in->got = size;
    in->complete = 1;
    in->req = hb_match_posted(x, in);
    if (in->req == NULL) {
        hb_inbound_make_room(in);
        if (in->own != NULL) {
            memcpy(in->own, data, size);
        }
        hb_match_keep(x, in);
        return;
    }
    received(x, source, size);
    if (in->req->buffer != NULL && size > 0) {
        memcpy(in->req->buffer, data,
               size < in->req->size ? size : in->req->size);
    }
    hb_inbound_finish(in);
}

static struct hb_xport_req *new_req(int is_recv, int peer, uint32_t context,
                                    uint64_t tag)
{
    struct hb_xport_req *r = hb_xmalloc(sizeof *r);

    /* The text of an error is longer than all the rest. */
    memset(r, 0, offsetof(struct hb_xport_req, err.text) + 1);
    r->is_recv = is_recv;
    r->peer = peer;
    r->context = context;
    r->tag = tag;
    return r;
}

int hb_xport_send(struct hb_xport *x, int dest, uint32_t context, uint64_t tag,
                  const void *data, size_t size, struct hb_xport_req **out,
                  struct hpcboot_error *err)
{
    struct hb_xport_req *r = new_req(0, dest, context, tag);
    int rc = 0;

    r->data = data;
    r->size = size;
    pthread_mutex_lock(&x->lock);
    if ((uint32_t)dest == x->job.rank) {
        hb_xport_arrived(x, x->job.rank, context, tag, data != NULL ? data : "",
                         size);
        hb_req_finish(r, 0);
    } else if (x->job.node_of[dest] == x->job.node) {
        hb_ring_send(x, r);
    } else {
        rc = hb_tcp_send(x->tcp, r, &r->err);
    }
    if (rc == HPCBOOT_ERR_PEER_DEAD) {
        hb_req_finish(r, rc);
        rc = 0;
    }
    pthread_mutex_unlock(&x->lock);
    if (rc < 0) {
        if (err != NULL) {
            *err = r->err;
        }
        free(r);
        return rc;
    }
    *out = r;
    return 0;
}

void hb_xport_dropped(struct hb_xport *x, const struct hb_inbound *in)
{
    if (x->job.dropped != NULL) {
        x->job.dropped(x->job.ctx, in->source, in->context, in->tag);
    }
}

struct hb_xport_req *hb_req_nobody(struct hb_xport *x,
                                   const struct hb_inbound *in)
{
    struct hb_xport_req *r = new_req(1, (int)in->source, in->context, in->tag);

    r->size = SIZE_MAX;
    r->orphan = 1;
    hb_xport_dropped(x, in);
    return r;
}

static const struct hpcboot_error *why_lost(const struct hb_xport *x,
                                            int source)
{
    return x->tcp != NULL && source >= 0 &&
                   x->job.node_of[source] != x->job.node
               ? hb_tcp_why_lost(x->tcp, (uint32_t)source) : NULL;
}

/* A receive and a message that was sent at once, and came before it. */
static void meet(struct hb_xport *x, struct hb_inbound *in,
                 struct hb_xport_req *r)
{
    in->req = r;
    r->from = in;
    hb_req_meets(x, r, in);
    in->order = r->order;
    if (!in->is_counted) {
        in->is_counted = 1;
        received(x, in->source, in->size);
    }
    if (in->complete) {
        hb_inbound_finish(in);
    }
}

int hb_xport_recv(struct hb_xport *x, int source, uint32_t context,
                  uint64_t tag, uint64_t mask, void *data, size_t capacity,
                  struct hb_xport_req **out, struct hpcboot_error *err)
{
    struct hb_xport_req *r = new_req(1, source, context, tag);
    const struct hpcboot_error *why;
    struct hb_inbound *in;

    r->mask = mask;
    r->buffer = data;
    r->size = capacity;
    pthread_mutex_lock(&x->lock);
    in = hb_match_unexpected(x, r);
    if (in == NULL && (why = why_lost(x, source)) != NULL) {
        r->err = *why;
        hb_req_finish(r, why->code);
    } else if (in == NULL) {
        hb_match_post(x, r);
    } else if (in->is_offer) {
        hb_req_meets(x, r, in);
        hb_tcp_accept_offer(x->tcp, in, r);
    } else {
        meet(x, in, r);
    }
    pthread_mutex_unlock(&x->lock);
    *out = r;
    return 0;
}

/* From the beginning each time: to decline may end a connection, and with it
 * what has come in part. */
void hb_xport_end(struct hb_xport *x, uint32_t context)
{
    const struct hb_xport_req any = {.peer = HB_XPORT_ANY, .context = context};
    struct hb_inbound *in;

    pthread_mutex_lock(&x->lock);
    hb_match_end(x, context);
    while ((in = hb_match_unexpected(x, &any)) != NULL) {
        if (in->is_offer) {
            hb_tcp_decline_offer(x->tcp, in);
        } else {
            meet(x, in, hb_req_nobody(x, in));
        }
    }
    pthread_mutex_unlock(&x->lock);
}

static int progress(struct hb_xport *x)
{
    int moved = hb_ring_progress(x);

    moved += x->tcp != NULL ? hb_tcp_progress(x->tcp) : 0;
    if (moved > 0) { /* under the lock */
        atomic_store_explicit(
            &x->moves,
            atomic_load_explicit(&x->moves, memory_order_relaxed) + 1,
            memory_order_relaxed);
    }
    return moved;
}

uint64_t hb_xport_moves(const struct hb_xport *x)
{
    return atomic_load_explicit(&x->moves, memory_order_relaxed);
}

int hb_xport_progress(struct hb_xport *x)
{
    int moved;

    pthread_mutex_lock(&x->lock);
    moved = progress(x);
    pthread_mutex_unlock(&x->lock);
    return moved;
}

void hb_xport_idle(struct hb_xport *x, int64_t ns)
{
    enum hb_idle idle = HB_IDLE_LONG;
    int fds[2] = {-1, -1};

    if (x->tcp != NULL) {
        pthread_mutex_lock(&x->lock);
        idle = hb_tcp_arm_idle(x->tcp, fds);
        pthread_mutex_unlock(&x->lock);
    }
    if (idle != HB_IDLE_NOT) {
        int64_t most = idle == HB_IDLE_LONG || ns < BRIEFLY_NS ? ns
                                                               : BRIEFLY_NS;
        struct timespec ts = {most / 1000000000, most % 1000000000};
        struct pollfd p[] = {{.fd = fds[0], .events = POLLIN},
                             {.fd = fds[1], .events = POLLIN}};

        (void)ppoll(p, 2, &ts, NULL);
    }
}

const char *hb_xport_transport(struct hb_xport *x, uint32_t rank, char *detail,
                               size_t size)
{
    const char *name;

    snprintf(detail, size, "%s", "");
    if (rank == x->job.rank) {
        return "self";
    }
    if (x->job.node_of[rank] == x->job.node) {
        return "shm";
    }
    pthread_mutex_lock(&x->lock);
    name = hb_tcp_transport(x->tcp, rank, detail, size);
    pthread_mutex_unlock(&x->lock);
    return name;
}

int hb_xport_wanted(struct hb_xport *x, uint32_t odd,
                    struct hb_xport_wanted *out)
{
    const struct hb_xport_req *r = NULL;

    pthread_mutex_lock(&x->lock);
    for (const struct hb_link *l = x->posted.first; l != NULL && r == NULL;
         l = l->next) {
        const struct hb_xport_req *at = l->of;

        r = (at->context & 1) == odd ? at : NULL;
    }
    if (r != NULL) {
        *out = (struct hb_xport_wanted){
            .source = r->peer, .context = r->context, .tag = r->tag,
            .mask = r->mask};
    }
    pthread_mutex_unlock(&x->lock);
    return r != NULL;
}

uint64_t hb_xport_kept(struct hb_xport *x, int source, uint32_t but,
                       uint64_t tag_most)
{
    uint64_t n = 0;

    pthread_mutex_lock(&x->lock);
    for (const struct hb_link *l = x->unexpected.first; l != NULL;
         l = l->next) {
        const struct hb_inbound *in = l->of;

        n += in->source == (uint32_t)source && (in->context & 1) == 0 &&
             in->context != but && in->tag <= tag_most;
    }
    pthread_mutex_unlock(&x->lock);
    return n;
}

int hb_xport_other(struct hb_xport *x, uint32_t context, uint64_t tag,
                   uint64_t mask, uint64_t but, struct hb_xport_info *out)
{
    const struct hb_inbound *in = NULL;
    const struct hb_link *l;

    pthread_mutex_lock(&x->lock);
    for (l = x->unexpected.first; l != NULL; l = l->next) {
        in = l->of;
        if (in->context == context && ((in->tag ^ tag) & mask) == 0 &&
            ((in->tag ^ tag) & but) != 0) {
            *out = (struct hb_xport_info){(int)in->source, in->tag, in->size};
            break;
        }
    }
    pthread_mutex_unlock(&x->lock);
    return l != NULL;
}

static void look_for(struct hb_xport *x, const struct hb_xport_req *req)
{
    if (req->is_recv && x->tcp != NULL) {
        hb_tcp_part(x->tcp);
    }
    if (req->is_recv && req->peer >= 0 &&
        x->job.node_of[req->peer] != x->job.node) {
        hb_tcp_await(x->tcp, (uint32_t)req->peer);
    }
    (void)progress(x);
}

/* Whether it has failed, and why is not known yet. */
static int is_held(struct hb_xport *x, struct hb_xport_req *req)
{
    int peer = req->peer == HB_XPORT_ANY ? req->info.source : req->peer;

    if (req->status != HPCBOOT_ERR_PEER_DEAD || x->job.explain == NULL) {
        return 0;
    }
    if (req->lost_ns == 0) {
        req->lost_ns = hb_now_ns();
    }
    return x->job.explain(x->job.ctx, (uint32_t)peer, req->lost_ns,
                          &req->err) == 0;
}

int hb_xport_test(struct hb_xport *x, struct hb_xport_req *req,
                  struct hb_xport_info *info, struct hpcboot_error *err)
{
    int rc = 0;

    pthread_mutex_lock(&x->lock);
    if (!req->done) {
        look_for(x, req);
    }
    if (req->done && is_held(x, req)) {
        (void)progress(x);
    } else if (req->done) {
        rc = req->status < 0 ? req->status : 1;
        if (info != NULL && req->is_recv) {
            *info = req->info;
        }
        if (info != NULL && rc < 0 && rc != HPCBOOT_ERR_LIMIT) {
            info->source = req->peer;
        }
        if (rc < 0 && err != NULL) {
            *err = req->err;
        }
        free(req->copy);
        free(req);
    }
    pthread_mutex_unlock(&x->lock);
    return rc;
}

static void cancel(struct hb_xport *x, struct hb_xport_req *req)
{
    int free_now = 1;

    if (req->is_recv && req->on_list) {
        hb_match_unpost(x, req);
    } else if (!req->done && req->from != NULL) {
        free_now = 0; /* its message goes nowhere when it is whole */
        req->orphan = 1;
        req->buffer = NULL;
    } else if (!req->done) {
        /* Bytes that arrive go nowhere; those that leave go on from a copy. */
        free_now = !hb_ring_cancel(x, req);
        if (free_now && x->tcp != NULL) {
            free_now = hb_tcp_cancel(x->tcp, req);
        }
        req->orphan = !free_now;
        req->buffer = NULL;
    }
    if (free_now) {
        free(req->copy);
        free(req);
    }
}

void hb_xport_cancel(struct hb_xport *x, struct hb_xport_req *req)
{
    pthread_mutex_lock(&x->lock);
    cancel(x, req);
    pthread_mutex_unlock(&x->lock);
}

int hb_xport_meets(struct hb_xport *x, const struct hb_xport_req *req)
{
    int source;

    pthread_mutex_lock(&x->lock);
    source = req->is_recv && req->order != 0 ? req->info.source : -1;
    pthread_mutex_unlock(&x->lock);
    return source;
}

void hb_xport_put_back(struct hb_xport *x, struct hb_xport_req *req)
{
    pthread_mutex_lock(&x->lock);
    if (req->is_recv && !req->on_list) {
        hb_back_put(x, req);
    } else {
        cancel(x, req);
    }
    pthread_mutex_unlock(&x->lock);
}

int hb_xport_flush(struct hb_xport *x, struct hpcboot_error *err)
{
    int64_t begun = hb_now_ns();
    int busy = 1;

    while (busy && hb_now_ns() - begun < FLUSH_NS) {
        pthread_mutex_lock(&x->lock);
        (void)progress(x);
        busy = x->tcp != NULL && hb_tcp_busy(x->tcp);
        pthread_mutex_unlock(&x->lock);
        if (busy) {
            (void)poll(NULL, 0, FLUSH_NAP_MS);
        }
    }
    if (x->tcp != NULL) {
        hb_tcp_bye(x->tcp);
    }
    return 0;
}
