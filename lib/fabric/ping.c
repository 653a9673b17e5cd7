/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The verbs ping, a part of the module hb_verbs.
 *
 * A port has one datagram queue pair and one for connections, on a common
 * completion queue; the second is reset and connected anew to each peer. The
 * leader sends a datagram until it comes back, then a message over the
 * connection, which the follower sends back. A follower answers datagrams all
 * the while: its answer may be lost. Nothing waits longer than LIMIT_NS. */
#include "config.h"

#include "lib/fabric/ping.h"

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/str.h"

#define LIMIT_NS (2 * INT64_C(1000000000))
#define AGAIN_NS (200 * INT64_C(1000000)) /* to the next datagram */
#define EAGER_NS INT64_C(1000000)         /* polled without a pause */
#define PAUSE_US 100u
#define QKEY 0x48424f54u
#define PKEY_FULL 0x8000u
#define PARTITION_MASK 0x7fffu
#define GRH_BYTES 40u /* in front of each datagram received */
#define UD_BYTES 64u
#define RC_BYTES 16384u /* several packets of any MTU */
#define RC_MESSAGES 8   /* each way, one after the other */
#define SLOTS 8u        /* datagrams that may wait to be looked at */
#define HOPS 64
/* 4.096 us * 2^14 = 67 ms to a repetition, of which 7 are made. */
#define RC_TIMEOUT 14
#define RC_RETRIES 7
#define RNR_TIMER 12

enum { SENT_UD = 1, SENT_RC, GOT_RC, GOT_UD };

struct hb_ping {
    struct ibv_context *ctx;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_qp *ud, *rc;
    struct ibv_port_attr port_attr;
    union ibv_gid gid;
    uint8_t port;
    uint32_t gid_index;
    uint16_t pkey_index;
    char *memory; /* what is sent, what RC receives, then SLOTS datagrams */
};

#define RC_AT RC_BYTES
#define UD_AT (2u * RC_BYTES)
#define SLOT_BYTES (GRH_BYTES + UD_BYTES)
#define MEMORY_BYTES (UD_AT + SLOTS * SLOT_BYTES)

static void ping_destroy(struct hb_ping *p)
{
    if (p == NULL) {
        return;
    }
    if (p->ud != NULL) {
        ibv_destroy_qp(p->ud);
    }
    if (p->rc != NULL) {
        ibv_destroy_qp(p->rc);
    }
    if (p->mr != NULL) {
        ibv_dereg_mr(p->mr);
    }
    if (p->cq != NULL) {
        ibv_destroy_cq(p->cq);
    }
    if (p->pd != NULL) {
        ibv_dealloc_pd(p->pd);
    }
    if (p->ctx != NULL) {
        ibv_close_device(p->ctx);
    }
    free(p->memory);
    free(p);
}

static struct ibv_context *open_device(const char *name)
{
    int n = 0;
    struct ibv_device **list = ibv_get_device_list(&n);
    struct ibv_context *ctx = NULL;

    for (int i = 0; list != NULL && i < n && ctx == NULL; i++) {
        if (strcmp(ibv_get_device_name(list[i]), name) == 0) {
            ctx = ibv_open_device(list[i]);
        }
    }
    if (list != NULL) {
        ibv_free_device_list(list);
    }
    return ctx;
}

static int post_slot(struct hb_ping *p, uint32_t slot)
{
    struct ibv_sge piece = {
        .addr = (uintptr_t)p->memory + UD_AT + slot * SLOT_BYTES,
        .length = SLOT_BYTES, .lkey = p->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = GOT_UD + slot, .sg_list = &piece,
                             .num_sge = 1}, *bad;

    return ibv_post_recv(p->ud, &wr, &bad);
}

static struct ibv_qp *make_qp(struct hb_ping *p, enum ibv_qp_type type)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = p->cq, .recv_cq = p->cq, .qp_type = type,
        .cap = {.max_send_wr = SLOTS, .max_recv_wr = SLOTS,
                .max_send_sge = 1, .max_recv_sge = 1}};

    return ibv_create_qp(p->pd, &attr);
}

static int ready_ud(struct hb_ping *p)
{
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = p->port,
                               .pkey_index = p->pkey_index, .qkey = QKEY};
    struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR};
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS};
    int failed = ibv_modify_qp(p->ud, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
                               IBV_QP_PORT | IBV_QP_QKEY) ||
                 ibv_modify_qp(p->ud, &rtr, IBV_QP_STATE) ||
                 ibv_modify_qp(p->ud, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN);

    for (uint32_t i = 0; i < SLOTS && !failed; i++) {
        failed = post_slot(p, i);
    }
    return failed;
}

/* Of a partition that the port is a full member of, as gid.c chooses: limited
 * members hear nothing of each other. */
static uint16_t find_pkey(const struct hb_ping *p, uint32_t partition)
{
    __be16 key = 0;

    for (int i = 0; i < p->port_attr.pkey_tbl_len; i++) {
        if (ibv_query_pkey(p->ctx, p->port, i, &key) == 0 &&
            (ntohs(key) & PKEY_FULL) != 0 &&
            (partition == 0 || (ntohs(key) & PARTITION_MASK) == partition)) {
            return (uint16_t)i;
        }
    }
    return 0;
}

static int make(struct hb_ping *p, uint32_t partition)
{
    p->pkey_index = find_pkey(p, partition);
    p->memory = hb_xcalloc(1, MEMORY_BYTES);
    p->pd = ibv_alloc_pd(p->ctx);
    p->cq = ibv_create_cq(p->ctx, 4 * SLOTS, NULL, NULL, 0);
    if (p->pd == NULL || p->cq == NULL) {
        return -1;
    }
    p->mr = ibv_reg_mr(p->pd, p->memory, MEMORY_BYTES, IBV_ACCESS_LOCAL_WRITE);
    p->ud = make_qp(p, IBV_QPT_UD);
    p->rc = make_qp(p, IBV_QPT_RC);
    return p->mr == NULL || p->ud == NULL || p->rc == NULL || ready_ud(p)
               ? -1 : 0;
}

static int ping_open(struct hb_ping **out, const char *device, uint32_t port,
                     uint32_t gid_index, uint32_t partition,
                     struct hpcboot_error *err)
{
    struct hb_ping *p = hb_xcalloc(1, sizeof *p);
    int rc = 0;

    p->port = (uint8_t)port;
    p->gid_index = gid_index;
    p->ctx = open_device(device);
    if (p->ctx == NULL) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_NOT_FOUND,
                           "the device %s cannot be opened", device);
    } else if (ibv_query_port(p->ctx, p->port, &p->port_attr) != 0 ||
               ibv_query_gid(p->ctx, p->port, (int)gid_index, &p->gid) != 0) {
        rc = hb_fail(err, HPCBOOT_ERR_NOT_FOUND, "%s has no port %u with a "
                     "GID %u", device, port, gid_index);
    } else if (make(p, partition) < 0) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_NOMEM, "no queue can be made on "
                           "%s (locked memory? ulimit -l)", device);
    }
    if (rc < 0) {
        ping_destroy(p);
        return rc;
    }
    *out = p;
    return 0;
}

static void ping_address(const struct hb_ping *p, struct hb_ping_address *out)
{
    *out = (struct hb_ping_address){
        .ud_qpn = p->ud->qp_num, .rc_qpn = p->rc->qp_num,
        .lid = p->port_attr.lid, .mtu = (uint32_t)p->port_attr.active_mtu};
    memcpy(out->gid, p->gid.raw, sizeof out->gid);
}

/* --- one meeting ----------------------------------------------------- */

struct meeting {
    struct hb_ping *p;
    const struct hb_ping_address *peer;
    struct hb_ping_result *out;
    struct ibv_ah *ah;
    int answers;           /* datagrams are sent back */
    int got_ud, got_rc;    /* what has come */
    int n_rc, sent_rc;     /* own messages that have arrived; all have */
    enum ibv_wc_status rc; /* of the connection's own sends */
};

/* The two addresses are what to look at first. */
static void failed(struct meeting *m, enum hb_ping_step step, const char *what,
                   const char *why)
{
    char from[INET6_ADDRSTRLEN] = "?", to[INET6_ADDRSTRLEN] = "?";

    (void)inet_ntop(AF_INET6, m->p->gid.raw, from, sizeof from);
    (void)inet_ntop(AF_INET6, m->peer->gid, to, sizeof to);
    snprintf(m->out->failed[step], HB_PING_TEXT_MAX, "%s: %s (from GID %s to "
             "%s)", what, why, from, to);
}

static struct ibv_ah_attr way_to(const struct meeting *m)
{
    const struct hb_ping *p = m->p;
    struct ibv_ah_attr a = {
        .dlid = (uint16_t)m->peer->lid, .port_num = p->port,
        .is_global = p->port_attr.link_layer == IBV_LINK_LAYER_ETHERNET,
        .grh = {.sgid_index = (uint8_t)p->gid_index, .hop_limit = HOPS}};

    memcpy(a.grh.dgid.raw, m->peer->gid, sizeof a.grh.dgid.raw);
    return a;
}

static int send_ud(struct meeting *m)
{
    struct hb_ping *p = m->p;
    struct ibv_sge piece = {.addr = (uintptr_t)p->memory, .length = UD_BYTES,
                            .lkey = p->mr->lkey};
    struct ibv_send_wr wr = {
        .wr_id = SENT_UD, .sg_list = &piece, .num_sge = 1,
        .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
        .wr.ud = {.ah = m->ah, .remote_qpn = m->peer->ud_qpn,
                  .remote_qkey = QKEY}}, *bad;

    return ibv_post_send(p->ud, &wr, &bad);
}

static int send_rc(struct meeting *m)
{
    struct hb_ping *p = m->p;
    struct ibv_sge piece = {.addr = (uintptr_t)p->memory, .length = RC_BYTES,
                            .lkey = p->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = SENT_RC, .sg_list = &piece,
                             .num_sge = 1, .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED}, *bad;

    return ibv_post_send(p->rc, &wr, &bad);
}

/* A datagram of an earlier peer may still come; it is answered to this one,
 * who throws away what it does not wait for. */
static void take_ud(struct meeting *m, uint32_t slot)
{
    m->got_ud = 1;
    (void)post_slot(m->p, slot);
    if (m->answers) {
        (void)send_ud(m);
    }
}

static void look(struct meeting *m)
{
    struct ibv_wc wc;

    while (ibv_poll_cq(m->p->cq, 1, &wc) > 0) {
        if (wc.wr_id >= GOT_UD && wc.status == IBV_WC_SUCCESS) {
            take_ud(m, (uint32_t)(wc.wr_id - GOT_UD));
        } else if (wc.wr_id == GOT_RC && wc.status == IBV_WC_SUCCESS) {
            m->got_rc = 1;
        } else if (wc.wr_id == SENT_RC && wc.status == IBV_WC_SUCCESS) {
            m->sent_rc = ++m->n_rc == RC_MESSAGES;
        } else if (wc.wr_id == SENT_RC) {
            m->rc = wc.status;
        }
    }
}

/* Until *what is set, the connection has failed, or the time is over. */
static int wait_for(struct meeting *m, const int *what, int64_t limit_ns)
{
    int64_t begun = hb_now_ns(), now = begun;

    while (!*what && m->rc == IBV_WC_SUCCESS && now - begun < limit_ns) {
        look(m);
        if (now - begun < EAGER_NS) {
            sched_yield();
        } else {
            usleep(PAUSE_US);
        }
        now = hb_now_ns();
    }
    return *what;
}

static void meet_ud(struct meeting *m, int leads)
{
    int64_t begun = hb_now_ns(), sent = begun;
    int came = 0;

    m->answers = !leads;
    if (!leads) {
        came = wait_for(m, &m->got_ud, LIMIT_NS);
    }
    while (leads && !came && hb_now_ns() - begun < LIMIT_NS) {
        sent = hb_now_ns();
        if (send_ud(m) != 0) {
            break;
        }
        came = wait_for(m, &m->got_ud, AGAIN_NS);
    }
    if (came) {
        m->out->ns[HB_PING_UD] = leads ? (uint64_t)(hb_now_ns() - sent) : 1;
    } else {
        failed(m, HB_PING_UD, "datagrams do not arrive",
               leads ? "none came back within 2 s" : "none came within 2 s");
    }
}

static int expect_rc(struct hb_ping *p)
{
    struct ibv_sge piece = {.addr = (uintptr_t)p->memory + RC_AT,
                            .length = RC_BYTES, .lkey = p->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = GOT_RC, .sg_list = &piece,
                             .num_sge = 1}, *bad;

    return ibv_post_recv(p->rc, &wr, &bad);
}

static int connect_rc(struct meeting *m)
{
    struct hb_ping *p = m->p;
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = p->port,
                               .pkey_index = p->pkey_index};
    uint32_t mtu = m->peer->mtu < (uint32_t)p->port_attr.active_mtu
                       ? m->peer->mtu : (uint32_t)p->port_attr.active_mtu;
    struct ibv_qp_attr rtr = {
        .qp_state = IBV_QPS_RTR, .path_mtu = (enum ibv_mtu)mtu,
        .dest_qp_num = m->peer->rc_qpn, .max_dest_rd_atomic = 1,
        .min_rnr_timer = RNR_TIMER, .ah_attr = way_to(m)};
    struct ibv_qp_attr rts = {
        .qp_state = IBV_QPS_RTS, .timeout = RC_TIMEOUT,
        .retry_cnt = RC_RETRIES, .rnr_retry = RC_RETRIES,
        .max_rd_atomic = 1};

    return ibv_modify_qp(p->rc, &reset, IBV_QP_STATE) ||
           ibv_modify_qp(p->rc, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
                         IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ||
           expect_rc(p) ||
           ibv_modify_qp(p->rc, &rtr, IBV_QP_STATE | IBV_QP_AV |
                         IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                         IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) ||
           ibv_modify_qp(p->rc, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT |
                         IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                         IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* There and back, or back and there. */
static int pass_rc(struct meeting *m, int leads)
{
    if (leads && send_rc(m) != 0) {
        return 0;
    }
    if (!wait_for(m, &m->got_rc, LIMIT_NS)) {
        return 0;
    }
    m->got_rc = 0;
    return expect_rc(m->p) == 0 && (leads || send_rc(m) == 0);
}

static void meet_rc(struct meeting *m, int leads)
{
    int64_t begun = hb_now_ns();
    int n = 0;

    while (n < RC_MESSAGES && pass_rc(m, leads)) {
        n++;
    }
    if (n == RC_MESSAGES) {
        m->out->ns[HB_PING_RC] =
            leads ? (uint64_t)(hb_now_ns() - begun) / RC_MESSAGES : 1;
        /* The last answer is on its way, and may have to be repeated. */
        (void)wait_for(m, &m->sent_rc, leads ? 0 : LIMIT_NS);
        return;
    }
    failed(m, HB_PING_RC, "a connection carries nothing",
           m->rc != IBV_WC_SUCCESS ? ibv_wc_status_str(m->rc)
                                   : "no message within 2 s");
}

static void ping_meet(struct hb_ping *p, const struct hb_ping_address *peer,
                      int leads, struct hb_ping_result *out)
{
    struct meeting m = {.p = p, .peer = peer, .out = out,
                        .rc = IBV_WC_SUCCESS};
    struct ibv_ah_attr way = way_to(&m);

    memset(out, 0, sizeof *out);
    look(&m); /* what is left of the last one */
    m.got_ud = m.got_rc = m.n_rc = m.sent_rc = 0;
    m.rc = IBV_WC_SUCCESS;
    m.ah = ibv_create_ah(p->pd, &way);
    if (m.ah == NULL) {
        failed(&m, HB_PING_AH, "no handle for its address", strerror(errno));
        return;
    }
    out->ns[HB_PING_AH] = 1;
    /* Before the first datagram: who leads sends over it once that is back. */
    if (connect_rc(&m) != 0) {
        failed(&m, HB_PING_RC, "a connection cannot be set up",
               strerror(errno));
    }
    meet_ud(&m, leads);
    if (out->failed[HB_PING_RC][0] == '\0') {
        meet_rc(&m, leads);
    }
    ibv_destroy_ah(m.ah);
}

extern const struct hb_ping_ops hb_verbs_ping;
const struct hb_ping_ops hb_verbs_ping = {
    .open = ping_open, .address = ping_address, .meet = ping_meet,
    .destroy = ping_destroy,
};
