/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RDZV_NATIVE_IMPL_H
#define HB_RDZV_NATIVE_IMPL_H

/* Inside of the native server: native_conn.c cuts what ranks write into
 * frames, native_server.c answers them, native_meet.c is where ranks wait for
 * each other. */
#include "lib/rdzv/native.h"
#include "lib/rdzv/native_server.h"
#include "lib/rdzv/native_store.h"

/* What an agent is told of its ranks. */
#define CONTACT_CONNECTED 1u
#define CONTACT_INIT 2u
#define CONTACT_FINAL 4u
#define CONTACT_BEGUN 0x20u /* all have met in hpcboot_init */
#define ADDRESS_MAX (HB_SEGMENT_ADDRESS_MAX - 1)
/* The prefix and five numbers. */
#define HB_NATIVE_FENCE_KEY_SIZE 80u

enum meeting {
    NOWHERE, HELLO, NODE_FENCE, JOB_FENCE, FINALIZE,
    SEVERAL /* not all wait for the same one */
};

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
    enum meeting waits, gave_up; /* the latter: since its last meeting */
    unsigned away; /* its deadline passed in the fence that is open, */
    unsigned owed; /* or was, and its next one is to end like that: */
    struct hpcboot_error ended;
    unsigned collect;
    unsigned in;   /* between hello and finalize */
    unsigned gone; /* its process has ended */
    unsigned asked; /* waits for a modex */
    char key[HB_NATIVE_KEY_MAX + 1];
    uint32_t key_rank;
    struct hb_buf address;
};

struct untold {
    uint32_t rank;
    char text[HB_DEATH_TEXT_MAX];
};

struct hb_native_server {
    struct hb_native_job job;
    struct hb_native_host host;
    void *arg;
    struct peer *peers; /* [n_local] by local rank */
    uint32_t n_local, generation, round;
    enum meeting open; /* a fence of the job is under way; NOWHERE: none */
    char open_key[HB_NATIVE_FENCE_KEY_SIZE]; /* of that fence */
    uint32_t *nodes;   /* all of them, for the engine */
    /* The latest set of ranks that a fence was for, and who is out of it. */
    uint32_t members;
    unsigned char *out;     /* [n_ranks] */
    unsigned char *is_dead; /* [n_ranks], as this node knows */
    struct hb_segment memory;
    uint32_t n_looked; /* at so many of its lost connections */
    struct untold *untold; /* deaths that are to be in it */
    uint32_t n_untold;
    struct hb_native_store *store;
    struct hb_native_conn *conns;
    struct hb_native_job next; /* from the next meeting on; .map NULL: none */
    char dead[HB_DEATH_TEXT_MAX]; /* the first death; "" */
    char left[HB_DEATH_TEXT_MAX]; /* the first local process that ended; "" */
};

/* A rank of this node; NULL: it is not. */
struct peer *hb_native_peer(struct hb_native_server *s, int64_t rank);
/* The generation is over: its memory goes. */
void hb_native_drop_memory(struct hb_native_server *s);
/* Where nobody is in a generation, those who come meet by the next map. */
void hb_native_take_next(struct hb_native_server *s);
void hb_native_answer(struct peer *p, int status, const char *text,
                      struct hb_bytes value, int fd);
void hb_native_reply(struct peer *p, int status, const char *text);
/* Of one that is no rank's process. */
void hb_native_refuse(struct hb_native_conn *c, int status, const char *text);
void hb_native_join(struct peer *p, struct hb_native_server *s, enum meeting m,
                    unsigned collect);
/* The fence of the job that a rank left by its deadline is nothing to it. */
void hb_native_forget_fence(struct peer *p);
/* Looks whether all who can come have come. */
void hb_native_meet(struct hb_native_server *s);
/* Those who wait in this meeting hear why it cannot be. */
void hb_native_give_up(struct hb_native_server *s, enum meeting m,
                       const char *why);
/* What the memory says of a rank's death; NULL: nothing. */
const char *hb_native_death(const struct hb_native_server *s, uint32_t rank);
/* The set of members that a FENCE comes with: 1 it is this node's, 0 it is
 * older. */
int hb_native_members(struct hb_native_server *s, struct hb_buf *b,
                      struct hpcboot_error *err);
int hb_native_on_frame(struct hb_native_conn *c, enum hb_native_kind kind,
                       struct hb_bytes body, struct hpcboot_error *err);

#endif
