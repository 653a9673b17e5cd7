/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RDZV_NATIVE_IMPL_H
#define HB_RDZV_NATIVE_IMPL_H

/* Inside of the native server: native_conn.c cuts what ranks write into
 * frames, native_server.c answers them. */
#include "lib/rdzv/native.h"
#include "lib/rdzv/native_server.h"
#include "lib/rdzv/native_store.h"

enum meeting { NOWHERE, HELLO, NODE_FENCE, JOB_FENCE, FINALIZE };

struct hb_native_conn {
    struct hb_native_server *server;
    void *arg;
    int64_t rank;
    struct hb_buf in;
    struct hb_native_conn *next;
};

struct peer { /* a local rank */
    uint32_t rank;
    struct hb_native_conn *conn; /* where its answer goes */
    enum meeting waits;
    unsigned collect;
    unsigned in;   /* between hello and finalize */
    unsigned gone; /* its process has ended */
    unsigned asked; /* waits for a modex */
    char key[HB_NATIVE_KEY_MAX + 1];
    uint32_t key_rank;
    struct hb_buf address;
};

struct hb_native_server {
    struct hb_native_job job;
    struct hb_native_host host;
    void *arg;
    struct peer *peers; /* [n_local] by local rank */
    uint32_t n_local, generation, round;
    enum meeting open; /* a fence of the job is under way; NOWHERE: none */
    uint32_t *nodes;   /* all of them, for the engine */
    struct hb_segment memory;
    struct hb_native_store *store;
    struct hb_native_conn *conns;
    char dead[HB_DEATH_TEXT_MAX]; /* the first death; "" */
    char left[HB_DEATH_TEXT_MAX]; /* the first local process that ended; "" */
};

/* A rank of this node; NULL: it is not. */
struct peer *hb_native_peer(struct hb_native_server *s, int64_t rank);
int hb_native_on_frame(struct hb_native_conn *c, enum hb_native_kind kind,
                       struct hb_bytes body, struct hpcboot_error *err);

#endif
