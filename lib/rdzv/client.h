/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RDZV_CLIENT_H
#define HB_RDZV_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "hpcboot/job.h"
#include "lib/base/buf.h"
#include "lib/base/error.h"
#include "lib/rdzv/segment.h"

/* A rank's side of meeting the others, whoever started it: the agent of hbrun
 * (native.h), a PMIx or PMI-1 server, a communicator of the caller's, nobody.
 * One thread at a time. */
struct hb_rdzv;

struct hb_rdzv_ops {
    const char *name; /* hpcboot_launcher() */
    /* node_only: for the ranks of this node alone. */
    int (*put)(struct hb_rdzv *r, int node_only, const char *key,
               struct hb_bytes value, struct hpcboot_error *err);
    /* *value_out: free() it; a NUL stands behind it. */
    int (*get)(struct hb_rdzv *r, uint32_t rank, const char *key,
               void **value_out, size_t *size_out, struct hpcboot_error *err);
    int (*fence)(struct hb_rdzv *r, int node_only, int collect,
                 int64_t deadline_ns, struct hpcboot_error *err);
    /* A warning for the launcher's user. NULL: there is no such way. */
    void (*note)(struct hb_rdzv *r, const char *text);
    /* Whether ranks of this node are dead, which is written to its memory: how
     * many more than before. NULL: the agent sees to that. Any thread. */
    int (*look)(struct hb_rdzv *r);
    /* Waits for the living; then only destroy may follow. */
    int (*finalize)(struct hb_rdzv *r, struct hpcboot_error *err);
    void (*destroy)(struct hb_rdzv *r); /* frees r; not its memory */
};

struct hb_rdzv {
    const struct hb_rdzv_ops *ops;
    uint32_t rank, size;
    struct hb_segment memory; /* of this node: job table, regions, heap */
    /* Whom fences are for: all (0), or all but the dead that a shrunk world
     * goes on without. */
    uint32_t members;
    uint32_t *dead, n_dead; /* dead is freed with r */
    /* Called again and again while a call waits for other ranks, which may
     * need this one meanwhile: > 0: something moved; 0: nothing; negative:
     * there is nothing to be moved, and a look now and then will do. NULL:
     * there never is. */
    int (*work)(void);
    int lazy; /* 1: finalize never calls it */
    /* Set by it: the fence that waits is to end as if its deadline had passed.
     * That is so where the client says that it can be taken back. */
    int stop, may_stop;
};

/* Until the descriptor has one of `events`, or the moment comes (then 0); works
 * in between. */
int hb_rdzv_poll(struct hb_rdzv *r, int fd, short events, int64_t deadline_ns);

/* What a client needs of the layers above. */
struct hb_rdzv_spec {
    const struct hpcboot_bootstrap *bootstrap; /* NULL: look who started us */
    /* With a bootstrap: why this rank can be none, as the others are to hear
     * before open fails by it; NULL: it can. */
    const struct hpcboot_error *refusal;
    int64_t deadline_ns;
    int withdraw_ms; /* for an agent to let a fence go; 0: 10,000 */
    /* Asked when there are other nodes: this rank's address, at most
     * HB_SEGMENT_ADDRESS_MAX - 1 bytes. */
    int (*address)(void *arg, struct hb_buf *out, struct hpcboot_error *err);
    /* Of a team with so many ranks on a node; where memory is short. */
    size_t (*region_bytes)(int n_local);
    size_t (*region_small)(int n_local);
    /* Of a memory that ranks make themselves, before others see it. */
    void (*prepare)(void *arg, struct hb_segment *memory);
    void *arg;
};

/* Blocks until the ranks of the node (and, where there are addresses to be
 * exchanged, of the job) are here. */
int hb_rdzv_open(struct hb_rdzv **out, const struct hb_rdzv_spec *spec,
                 struct hpcboot_error *err);
void hb_rdzv_close(struct hb_rdzv *r); /* NULL-safe; unmaps the memory too */
/* Later fences are for all but `dead` (taken); every living rank says so with
 * the same `members`, which is greater than any before. */
void hb_rdzv_set_members(struct hb_rdzv *r, uint32_t members, uint32_t *dead,
                         uint32_t n_dead);

/* An inherited connection to the agent. While this process is a rank, programs
 * that it starts must not inherit the connection, as they would speak on it
 * too; after hpcboot_finalize the next program may. */
struct hb_rdzv_inherited {
    int fd; /* -1: none that others would inherit */
    uint64_t inode;
};
struct hb_rdzv_inherited hb_rdzv_keep(int fd);
void hb_rdzv_leave(const struct hb_rdzv_inherited *i);

/* The clients. 0 or an error; ERR_NOT_FOUND where the environment speaks of no
 * such launcher. */
int hb_rdzv_native_open(struct hb_rdzv **out, const struct hb_rdzv_spec *spec,
                        struct hpcboot_error *err);
int hb_rdzv_pmix_open(struct hb_rdzv **out, const struct hb_rdzv_spec *spec,
                      struct hpcboot_error *err);
int hb_rdzv_pmi1_open(struct hb_rdzv **out, const struct hb_rdzv_spec *spec,
                      struct hpcboot_error *err);
int hb_rdzv_with_open(struct hb_rdzv **out, const struct hb_rdzv_spec *spec,
                      struct hpcboot_error *err);
int hb_rdzv_alone_open(struct hb_rdzv **out, const struct hb_rdzv_spec *spec,
                       struct hpcboot_error *err);

/* Heap bytes of a memory that ranks make themselves: HPCBOOT_HEAP_MB, or what
 * is usual where that is no such number: then the check is ERR_USAGE. What is
 * usual may be less, see hb_segment_spec. */
size_t hb_rdzv_heap_bytes(void);
size_t hb_rdzv_heap_least(void);
int hb_rdzv_check_wishes(struct hpcboot_error *err);

#endif
