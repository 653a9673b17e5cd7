/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RDZV_FOREIGN_H
#define HB_RDZV_FOREIGN_H

#include "lib/base/kvs.h"
#include "lib/rdzv/client.h"

/* What ranks under another launcher have in common: there is no agent, so
 * they find out by themselves who shares a node, the lowest of each node makes
 * the memory and hands it to the others, and values travel in blobs.
 *
 * What a launcher offers is reduced to rounds: each rank publishes one blob
 * per round, all meet, and anybody's blob of a round can be fetched. */
#define HB_LOCAL_NAME_SIZE 32u
/* Of what a rank puts between two fences. */
#define HB_FOREIGN_ROUND_MAX ((size_t)256 << 20)

struct hb_foreign;

struct hb_foreign_ops {
    const char *name;
    /* This rank's blob of a round; once per round, in order. */
    int (*publish)(struct hb_foreign *f, uint32_t round, struct hb_bytes blob,
                   struct hpcboot_error *err);
    /* All ranks have published. collect: fetching is going to be local. */
    int (*sync)(struct hb_foreign *f, uint32_t round, int collect,
                int64_t deadline_ns, struct hpcboot_error *err);
    /* Adds the blob to `out`. */
    int (*fetch)(struct hb_foreign *f, uint32_t rank, uint32_t round,
                 struct hb_buf *out, struct hpcboot_error *err);
    /* Where there is no server that keeps rounds: the last one has been read.
     * NULL: rounds are read when somebody asks. */
    void (*drop)(struct hb_foreign *f);
    int (*finalize)(struct hb_foreign *f, struct hpcboot_error *err);
    void (*destroy)(struct hb_foreign *f); /* its own part; frees f */
};

struct hb_foreign {
    struct hb_rdzv r; /* first: the client is this one */
    const struct hb_foreign_ops *f;
    struct hb_kvs *visible; /* by "RANK/KEY" */
    struct hb_buf staged;   /* {str key, blob value} since the last fence */
    size_t published_len;   /* bytes of them that this round has */
    int published;          /* this round is, and not all have met */
    struct hb_buf staged_node; /* the same, of what is for the node alone */
    uint64_t *seen;         /* [local ranks] see node_values.c */
    uint32_t round;         /* blobs that every rank has published */
    uint32_t *fetched;      /* [size] rounds of which are in `visible` */
    int life_fd;            /* closed with this process; see local.c */
    char (*names)[HB_LOCAL_NAME_SIZE]; /* [local ranks] of their sockets */
};

/* Round 0: meets the ranks of the node in one memory. `f` has rank, size and
 * ops; on failure the caller destroys it with hb_foreign_destroy. */
int hb_foreign_meet(struct hb_foreign *f, const struct hb_rdzv_spec *spec,
                    struct hpcboot_error *err);
/* Makes f ready for use as a client of the name `f->f->name`. */
void hb_foreign_init(struct hb_foreign *f, const struct hb_foreign_ops *ops,
                     struct hb_rdzv_ops *client);
void hb_foreign_destroy(struct hb_foreign *f);

/* node_values.c: values within a node, through its memory. Publishing hangs
 * {str key, blob value} pieces before a rank's slot; taking adds those that
 * are new of a rank, in their order, each with `visit`. */
int hb_node_publish(struct hb_segment *s, uint32_t local, struct hb_buf *what,
                    struct hpcboot_error *err);
int hb_node_take(struct hb_segment *s, uint32_t local, uint64_t *seen,
                 int (*visit)(void *arg, struct hb_bytes piece,
                              struct hpcboot_error *err),
                 void *arg, struct hpcboot_error *err);
/* All local ranks come; ERR_TIMED_OUT: not all have. ERR_PEER_DEAD. */
int hb_node_meet(struct hb_rdzv *r, int64_t deadline_ns,
                 struct hpcboot_error *err);

/* local.c: hands the memory of `fd` to `n` processes of this user that come
 * to the socket, and takes it there. */
int hb_local_listen(char name[HB_LOCAL_NAME_SIZE], struct hpcboot_error *err);
int hb_local_hand_over(int listen_fd, int fd, uint32_t n, int64_t deadline_ns,
                       struct hpcboot_error *err);
int hb_local_receive(const char *name, int64_t deadline_ns,
                     struct hpcboot_error *err);
/* As long as the descriptor is open others of this network namespace see that
 * its owner lives, by the name. */
int hb_local_live(const char *name, struct hpcboot_error *err);
int hb_local_is_gone(const char *name);

#endif
