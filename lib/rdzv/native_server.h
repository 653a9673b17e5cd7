/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RDZV_NATIVE_SERVER_H
#define HB_RDZV_NATIVE_SERVER_H

#include <stdint.h>

#include "lib/base/buf.h"
#include "lib/base/error.h"
#include "lib/base/jobmap.h"
#include "lib/rdzv/segment.h"

/* The agent's side of the native rendezvous (native.h), without I/O: its
 * owner feeds it what ranks wrote, and carries what it emits. It meets the
 * local ranks in hello, fence and finalize, passes those of the whole job to
 * the fence engine (fence.h), and keeps what was put.
 *
 * A job may run several programs one after the other, each with a hello and
 * a finalize of its own: generations. Each has a memory of its own. */
struct hb_native_server;
struct hb_native_conn; /* one rank's socket */

struct hb_native_host {
    /* Bytes for a socket; with fd >= 0 (borrowed), that descriptor too. */
    void (*send)(void *arg, void *conn_arg, const void *data, size_t len,
                 int fd);
    /* As in bin/pm/pm.h; answered with fence_done, modex_done. */
    void (*fence)(void *arg, struct hb_bytes key, const uint32_t *nodes,
                  uint32_t n_nodes, struct hb_bytes data);
    void (*modex)(void *arg, uint64_t id, uint32_t rank);
    void (*abort)(void *arg, uint32_t rank, int code, const char *text);
    void (*note)(void *arg, uint32_t rank, const char *text);
    /* HB_CONTACT_* of lib/wire, as a number. */
    void (*contact)(void *arg, uint32_t rank, unsigned bits);
    /* The memory for a generation, at its first hello. */
    int (*memory)(void *arg, const struct hb_jobmap *map,
                  struct hb_segment *out, struct hpcboot_error *err);
    /* A death is in the memory: wake who waits there. */
    void (*alarm)(void *arg, struct hb_segment *memory);
    /* A local rank has given up its connection to a rank of another node that
     * is not known to be dead. NULL: nobody wants to know. */
    void (*lost)(void *arg, uint32_t rank, const char *text);
    /* A rank that is stopped holds the memory's lock, and a death is not in it
     * yet: hb_native_look is to be called, now and then. */
    void (*later)(void *arg);
};

struct hb_native_job { /* borrowed */
    const struct hb_jobmap *map;
    uint32_t node, world; /* alike on all nodes that meet */
    const char *token;
};

/* Keys of its fences and ids of its modexes begin so, which tells them from
 * those of another server on the same node. */
#define HB_NATIVE_FENCE_PREFIX "native/"
#define HB_NATIVE_MODEX_BIT (1ull << 63)
/* The world (above) whose ranks the fence of that key is for; -1: it is another
 * server's. */
int64_t hb_native_fence_world(struct hb_bytes key);

struct hb_native_server *
hb_native_server_create(const struct hb_native_job *job,
                        const struct hb_native_host *host, void *arg);
void hb_native_server_destroy(struct hb_native_server *s); /* NULL-safe */

/* rank: whose socket it is, or -1: its hello will say. */
struct hb_native_conn *hb_native_conn_open(struct hb_native_server *s,
                                           int64_t rank, void *conn_arg);
/* Negative: it broke the protocol; close it. */
int hb_native_conn_feed(struct hb_native_conn *c, const void *data,
                        size_t len, struct hpcboot_error *err);
/* The socket has ended; c is freed. */
void hb_native_conn_close(struct hb_native_conn *c);

/* A local rank's process has ended; `text` as in struct hb_death. Not an
 * error of one that has finalised, or never came and does not any more. */
void hb_native_rank_gone(struct hb_native_server *s, uint32_t rank,
                         const char *text);
/* A rank of another node is dead. */
void hb_native_peer_dead(struct hb_native_server *s, uint32_t rank,
                         const char *text);

/* The job has another map, which begins with the one before (borrowed); ranks
 * on it begin. Those that meet from now on meet by it, in the world of that
 * number; a generation that is under way goes on as it is, and is told. In the
 * same world, and with as many ranks, a map has other names of nodes at most,
 * which those who wait for the others in hello see, too. */
void hb_native_grown(struct hb_native_server *s, const struct hb_jobmap *map,
                     uint32_t world, const uint32_t *ranks, uint32_t n);
/* Whether a map that it was given is still used. */
int hb_native_holds(const struct hb_native_server *s,
                    const struct hb_jobmap *map);
/* To those who are in a generation. */
void hb_native_tell(struct hb_native_server *s, enum hb_news_kind kind,
                    uint32_t rank, const char *text);

/* Looks what ranks have written down, and writes what could not be; now and
 * then while a memory is there. */
void hb_native_look(struct hb_native_server *s);

void hb_native_fence_done(struct hb_native_server *s, struct hb_bytes key,
                          int status, struct hb_bytes data);
void hb_native_modex_done(struct hb_native_server *s, uint64_t id, int status,
                          struct hb_bytes data);
/* What local `rank` has put for the job, for another node; free b. */
int hb_native_modex_serve(struct hb_native_server *s, uint32_t rank,
                          struct hb_buf *b);

#endif
