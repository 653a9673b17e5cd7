/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The UCX carrier. Two ranks meet over TCP (tcp_conn.c), which tells each
 * that the other lives and is who it says; where both choose UCX the answer
 * to the greeting carries the address of UCX's worker, the endpoint is opened
 * then, and messages go there. The TCP connection stays, silent: its end is
 * the peer's end, which UCX alone would notice late.
 *
 * What is said is the TCP carrier's: messages, offers, takes, data. UCX may
 * bring a short message before a longer one that was sent earlier, so messages
 * and offers bear a number per peer and wait for their turn. A message also
 * bears a key that only ranks of the job know.
 *
 * UCX is loaded when it is to be used. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"
#include "lib/xport/tcp_impl.h"
#include "lib/xport/ucxlib.h"
#include "lib/xport/ucxload.h"

#define NS_PER_S ((int64_t)1000 * 1000 * 1000)
#define DRAIN_TURNS 64 /* of progress, before a loss is believed */
/* Up to here a message leaves from a copy: who gives it up need not wait for a
 * peer that computes. A device needs nobody at the peer to take what is sent at
 * once, mostly; by TCP it stays here once the system has no room for more. */
#define COPIED_BYTES ((size_t)4 << 10)
#define COPIED_BYTES_TCP HB_TCP_EAGER

struct held { /* came before its turn */
    struct held *next;
    struct hb_tcp_head head;
    char *data;
};

struct from {
    uint32_t expected;
    uint64_t count;
    struct held *held;
};

struct hb_ucx_side {
    struct hb_tcp *tcp;
    const struct hb_ucxlib *lib;
    struct hb_ucx *ucx;
    struct from **from; /* [size] */
    size_t copied_bytes;
    unsigned n_lost;    /* endpoints that await burial */
};

#define WIRE_HEAD (sizeof(struct hb_tcp_head) + sizeof(uint64_t))
_Static_assert(WIRE_HEAD <= HB_UCX_HEAD_MAX, "ucxlib.h takes no longer ones");

static uint64_t key_of(const unsigned char *token)
{
    uint64_t key;

    memcpy(&key, token, sizeof key);
    return key;
}

/* ---- what arrives ---- */

static struct from *from_of(struct hb_ucx_side *s, uint32_t source)
{
    if (s->from[source] == NULL) {
        s->from[source] = hb_xcalloc(1, sizeof *s->from[source]);
    }
    return s->from[source];
}

static void deliver(struct hb_ucx_side *s, const struct hb_tcp_head *h,
                    const char *data)
{
    if (h->kind == HB_TCP_OFFER) {
        hb_tcp_on_offer(s->tcp, h->source, h);
    } else {
        hb_xport_arrived(s->tcp->x, h->source, h->context, h->tag, data,
                         (size_t)h->size);
    }
}

static void hold(struct from *f, const struct hb_tcp_head *h, const void *data)
{
    struct held **at = &f->held, *new = hb_xcalloc(1, sizeof *new);
    size_t size = h->kind == HB_TCP_MESSAGE ? (size_t)h->size : 0;

    while (*at != NULL && (int32_t)((*at)->head.seq - h->seq) < 0) {
        at = &(*at)->next;
    }
    new->head = *h;
    new->data = hb_xmalloc(size + 1);
    memcpy(new->data, data, size);
    new->next = *at;
    *at = new;
}

static void in_turn(struct hb_ucx_side *s, const struct hb_tcp_head *h,
                    const void *data)
{
    struct from *f = from_of(s, h->source);

    if (h->seq != f->expected) {
        hold(f, h, data);
        return;
    }
    f->expected++;
    deliver(s, h, data);
    while (f->held != NULL && f->held->head.seq == f->expected) {
        struct held *next = f->held;

        f->held = next->next;
        f->expected++;
        deliver(s, &next->head, next->data);
        free(next->data);
        free(next);
    }
}

static void end_fetch(struct hb_ucx_side *s, struct hb_inbound *in,
                      const char *why)
{
    const struct hb_xport_job *job = &s->tcp->x->job;
    const struct hb_tcp_conn *c = s->tcp->out[in->source];
    struct hb_xport_req *r = in->req;

    r->fetching = 0;
    if (why == NULL) {
        hb_inbound_finish(in);
        return;
    }
    hb_fail(&r->err, HPCBOOT_ERR_PEER_DEAD, "a message of rank %u on %s did "
            "not come whole: %s", in->source,
            job->host(job->ctx, in->source),
            c != NULL && c->ep_lost && c->why[0] != '\0' ? c->why : why);
    free(in->own);
    free(in);
    hb_req_finish(r, HPCBOOT_ERR_PEER_DEAD);
}

/* The bytes of a message that we have asked for: 1: they are being fetched. */
static int on_data(struct hb_ucx_side *s, const struct hb_tcp_head *h,
                   const void *data, size_t size, void *message)
{
    const struct hb_tcp_conn *c = s->tcp->out[h->source];
    struct hb_inbound *in = hb_tcp_on_data(s->tcp, h->source, h);
    char why[256], *to;
    int rc = 1;

    if (in == NULL || size != in->size || c == NULL || c->ep == NULL) {
        free(in);
        return 0;
    }
    if (in->req->buffer == NULL) { /* given up meanwhile */
        hb_inbound_finish(in);
        return 0;
    }
    if (in->size > in->req->size) {
        hb_inbound_make_room(in);
    }
    if (in->lost) {
        hb_fail(&in->req->err, HPCBOOT_ERR_LIMIT, "a message of %llu bytes "
                "from rank %u came for a buffer of %zu, and there was no "
                "memory to take it in", (unsigned long long)in->size,
                in->source, in->req->size);
        in->req->info.size = (size_t)in->size;
        hb_req_finish(in->req, HPCBOOT_ERR_LIMIT);
        free(in);
        return 0;
    }
    to = in->own != NULL ? in->own : in->req->buffer;
    if (message == NULL) {
        memcpy(to, data, size);
    } else {
        in->req->fetching = 1;
        rc = s->lib->fetch(c->ep, message, to, size, in, why, sizeof why);
    }
    if (rc != 0) {
        end_fetch(s, in, rc < 0 ? why : NULL);
    }
    return 1;
}

static int arrived(void *ctx, const void *head, size_t head_len,
                   const void *data, size_t size, void *message)
{
    struct hb_ucx_side *s = ctx;
    struct hb_tcp_head h;
    uint64_t key;

    if (head_len != WIRE_HEAD || s->tcp->x == NULL || s->tcp->ends) {
        return 0;
    }
    memcpy(&h, head, sizeof h);
    memcpy(&key, (const char *)head + sizeof h, sizeof key);
    if (key != key_of(s->tcp->token) || h.source >= s->tcp->x->job.size) {
        return 0;
    }
    from_of(s, h.source)->count++;
    if (h.kind == HB_TCP_DATA) {
        return on_data(s, &h, data, size, message);
    }
    if (h.kind == HB_TCP_TAKE) {
        (void)hb_tcp_on_take(s->tcp, h.source, &h);
    } else if (h.kind == HB_TCP_CREDIT) {
        hb_tcp_on_credit(s->tcp, h.source, &h);
    } else if (h.kind == HB_TCP_OFFER ||
               (h.kind == HB_TCP_MESSAGE && data != NULL && size == h.size &&
                size <= HB_TCP_EAGER)) {
        in_turn(s, &h, data != NULL ? data : "");
    }
    return 0;
}

static void fetched(void *ctx, void *cookie, const char *why)
{
    end_fetch(ctx, cookie, why);
}

/* ---- what leaves ---- */

static void end_item(struct hb_tcp_item *i, const char *why)
{
    struct hb_tcp_conn *c = i->conn;

    *i->back = i->next;
    if (i->next != NULL) {
        i->next->back = i->back;
    }
    c->tcp->n_unwritten--;
    if (i->req != NULL && why != NULL) {
        hb_fail(&i->req->err, HPCBOOT_ERR_PEER_DEAD, "rank %u on %s cannot be "
                "reached: %s", c->peer,
                c->tcp->x->job.host(c->tcp->x->job.ctx, c->peer),
                c->why[0] != '\0' ? c->why : why);
    }
    if (i->req != NULL) {
        hb_req_finish(i->req, why != NULL ? HPCBOOT_ERR_PEER_DEAD : 0);
    }
    free(i);
}

static void sent(void *ctx, void *cookie, const char *why)
{
    end_item(cookie, why);
}

static void lost(void *ctx, void *peer, const char *why)
{
    struct hb_ucx_side *s = ctx;
    struct hb_tcp_conn *c = peer;

    if (!c->ep_lost) {
        c->ep_lost = 1;
        s->n_lost++;
        snprintf(c->why, sizeof c->why, "UCX: %s", why);
    }
}

static void fly(struct hb_tcp_conn *c, struct hb_tcp_item *i)
{
    i->conn = c;
    i->next = c->flying;
    i->back = &c->flying;
    if (i->next != NULL) {
        i->next->back = &i->next;
    }
    c->flying = i;
    i->key = key_of(c->endpoint.token);
    if (i->head.kind == HB_TCP_MESSAGE || i->head.kind == HB_TCP_OFFER) {
        i->head.seq = c->next_seq++;
    }
    c->n_sent++;
}

int hb_ucx_write(struct hb_tcp_conn *c)
{
    struct hb_ucx_side *s = c->tcp->ucx;
    char why[256];
    int moved = 0;

    while (c->first != NULL && !c->ep_lost) {
        struct hb_tcp_item *i = c->first;
        int rc;

        c->first = i->next;
        c->end = c->first == NULL ? &c->first : c->end;
        fly(c, i);
        rc = s->lib->send(c->ep, &i->head, WIRE_HEAD, i->data, i->size,
                          i->head.kind == HB_TCP_DATA, i, why, sizeof why);
        if (rc < 0) {
            lost(s, c, why);
        }
        if (rc != 0) {
            end_item(i, rc < 0 ? why : NULL);
        }
        moved = 1;
    }
    return moved;
}

int hb_ucx_connect(struct hb_tcp_conn *c, const void *address)
{
    struct hb_ucx_side *s = c->tcp->ucx;
    char why[256];

    if (s->lib->connect(s->ucx, address, c, &c->ep, why, sizeof why) < 0) {
        snprintf(c->why, sizeof c->why, "UCX: %s", why);
        return -1;
    }
    return 0;
}

void hb_ucx_disconnect(struct hb_tcp_conn *c)
{
    struct hb_ucx_side *s = c->tcp->ucx;

    if (c->ep != NULL) { /* else nothing flies */
        s->lib->disconnect(s->ucx, c->ep);
        c->ep = NULL;
        s->n_lost -= c->ep_lost;
    }
}

/* ---- progress ---- */

static void bury(struct hb_ucx_side *s)
{
    struct hb_tcp *t = s->tcp;

    for (uint32_t i = 0; i < t->x->job.size && s->n_lost > 0; i++) {
        if (t->out[i] != NULL && t->out[i]->ep_lost &&
            t->out[i]->state == HB_TCP_READY) {
            hb_tcp_lost(t->out[i], 0);
        }
    }
}

int hb_ucx_progress(struct hb_ucx_side *s)
{
    int moved = s->lib->progress(s->ucx);

    for (int i = 0; s->n_lost > 0 && i < DRAIN_TURNS; i++) {
        moved += s->lib->progress(s->ucx);
    }
    if (s->n_lost > 0) {
        bury(s);
        moved++;
    }
    return moved;
}

uint64_t hb_ucx_count(const struct hb_ucx_side *s, uint32_t source)
{
    return s->from[source] != NULL ? s->from[source]->count : 0;
}

/* Whether UCX uses the request's buffer. */
static int flies(const struct hb_tcp_conn *c, const struct hb_xport_req *req)
{
    const struct hb_tcp_item *i = c != NULL ? c->flying : NULL;

    while (i != NULL && i->req != req) {
        i = i->next;
    }
    return i != NULL && i->size > c->tcp->ucx->copied_bytes;
}

/* Bytes in flight may need as long as a peer may be silent: it lives, and is
 * only slow. One that has ended, or does not go on, loses its connection: UCX
 * then lets go of all that belongs to it. */
void hb_ucx_reclaim(struct hb_ucx_side *s, struct hb_xport_req *req)
{
    int64_t end = hb_now_ns() + s->tcp->limit_s * NS_PER_S;
    int peer = req->is_recv ? req->info.source : req->peer, is_gone = 0;
    struct hb_tcp_conn *c = peer >= 0 ? s->tcp->out[peer] : NULL;

    while ((req->fetching || flies(c, req)) && hb_now_ns() < end && !is_gone) {
        (void)s->lib->progress(s->ucx);
        is_gone = c != NULL && hb_tcp_has_hung_up(c);
    }
    if (c != NULL && c->ep != NULL && (req->fetching || flies(c, req))) {
        lost(s, c, is_gone ? "it is gone, in the midst of a message"
                           : "a message was given up when it was half sent, "
                             "and the rest of it does not move");
        hb_tcp_lost(c, 0);
    }
}

int hb_ucx_arm(struct hb_ucx_side *s)
{
    return s->lib->arm(s->ucx);
}

int hb_ucx_event_fd(struct hb_ucx_side *s)
{
    return s->lib->event_fd(s->ucx);
}

const void *hb_ucx_address(struct hb_ucx_side *s, size_t *len_out)
{
    return s->lib->address(s->ucx, len_out);
}

void hb_ucx_text(const struct hb_tcp_conn *c, char *text, size_t size)
{
    c->tcp->ucx->lib->describe(c->ep, text, size);
}

/* ---- opening ---- */

/* A device of RC tries eight times before it gives a silent peer up: all of
 * that takes longer than the peer may be silent. */
#define RC_TRIES 6

struct texts {
    char seconds[16], rc_ms[16];
};

static size_t settings_of(const struct hb_tcp *t, struct texts *texts,
                          struct hb_ucx_setting *to)
{
    const char *gid = getenv("HPCBOOT_FABRIC_GID_INDEX");
    const char *devices = t->ports != NULL ? t->ports : t->wish.devices;
    const char *seconds = texts->seconds;
    size_t n = 0;

    snprintf(texts->seconds, sizeof texts->seconds, "%us", t->limit_s);
    snprintf(texts->rc_ms, sizeof texts->rc_ms, "%ums",
             t->limit_s * 1000 / RC_TRIES);
    /* With "self" UCX opens also where no device can be used. */
    to[n++] = (struct hb_ucx_setting){
        "TLS", t->caps.ucx_kind == HB_UCX_TCP ? "tcp" : "ib", 0};
    to[n++] = (struct hb_ucx_setting){"KEEPALIVE_INTERVAL", seconds, 1};
    if (t->caps.ucx_kind == HB_UCX_TCP) {
        return n;
    }
    to[n++] = (struct hb_ucx_setting){"UD_TIMEOUT", seconds, 1};
    to[n++] = (struct hb_ucx_setting){"RC_TIMEOUT", texts->rc_ms, 1};
    if (devices != NULL) {
        to[n++] = (struct hb_ucx_setting){"NET_DEVICES", devices, 0};
    }
    if (gid != NULL && *gid != '\0') {
        to[n++] = (struct hb_ucx_setting){"IB_GID_INDEX", gid, 0};
    }
    if (t->caps.ucx_kind == HB_UCX_SOFT) { /* rxe fails this check of UCX's */
        to[n++] = (struct hb_ucx_setting){"UD_VERBS_ETH_DGID_CHECK", "n", 1};
    }
    return n;
}

static uint32_t number_of(const char *version)
{
    unsigned major, minor;

    return sscanf(version, "%u.%u", &major, &minor) == 2
               ? HB_UCX_VERSION(major, minor) : 0;
}

int hb_ucx_open(struct hb_tcp *t, struct hpcboot_error *err)
{
    struct hb_ucx_side *s = hb_xcalloc(1, sizeof *s);
    struct hb_ucx_setting settings[8];
    struct texts texts;
    char why[256];
    struct hb_ucx_config config = {
        .settings = settings, .ctx = s, .arrived = arrived, .sent = sent,
        .fetched = fetched, .lost = lost,
    };
    const void *lib = NULL;
    int rc = hb_ucx_load("hb_ucxlib", &lib, &config.shared, err);

    s->lib = lib;
    s->tcp = t;
    s->copied_bytes = t->caps.ucx_kind == HB_UCX_TCP ? COPIED_BYTES_TCP
                                                     : COPIED_BYTES;
    if (rc == 0) {
        config.copied_bytes = s->copied_bytes;
        config.n_settings = settings_of(t, &texts, settings);
        if (s->lib->open(&config, &s->ucx, why, sizeof why) < 0) {
            rc = hb_fail(err, HPCBOOT_ERR_UNSUPPORTED, "UCX %s cannot be used: "
                         "%s", s->lib->version(), why);
        }
    }
    if (rc < 0) {
        free(s);
        return rc;
    }
    t->ucx = s;
    t->caps.ucx_version = number_of(s->lib->version());
    return 0;
}

int hb_ucx_join(struct hb_ucx_side *s)
{
    s->from = hb_xcalloc(s->tcp->x->job.size, sizeof *s->from);
    return 0;
}

void hb_ucx_close(struct hb_ucx_side *s)
{
    if (s == NULL) {
        return;
    }
    s->lib->close(s->ucx);
    for (uint32_t i = 0; s->from != NULL && i < s->tcp->x->job.size; i++) {
        while (s->from[i] != NULL && s->from[i]->held != NULL) {
            struct held *h = s->from[i]->held;

            s->from[i]->held = h->next;
            free(h->data);
            free(h);
        }
        free(s->from[i]);
    }
    free(s->from);
    free(s);
}
