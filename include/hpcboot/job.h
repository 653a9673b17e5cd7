/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HPCBOOT_JOB_H
#define HPCBOOT_JOB_H

#include <stddef.h>

#include "hpcboot/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The job that this process is a rank of. */

enum hpcboot_threads {
    HPCBOOT_THREADS_SINGLE,  /* one thread at a time calls the library */
    HPCBOOT_THREADS_MULTIPLE /* any thread at any time; see coll.h, kvs.h */
};

struct hpcboot_init_options {
    size_t struct_size; /* HPCBOOT_INIT_OPTIONS_INIT sets it */
    enum hpcboot_threads threads;
    int timeout_ms;     /* for meeting the other ranks; 0: 300,000 */
};
#define HPCBOOT_INIT_OPTIONS_INIT HPCBOOT_SIZED_(struct hpcboot_init_options)

/* Finds out who started this process (hbrun, a PMIx launcher, a PMI-1
 * launcher, nobody: then it is rank 0 of 1), and meets the other ranks.
 * `options` may be NULL. Blocks until all ranks of the job have called it, at
 * most for the timeout. Once per process; afterwards each rank calls
 * hpcboot_finalize. ERR_USAGE: called before, or options or a variable of
 * hpcboot_init(3) are wrong; ERR_PEER_DEAD: a rank has ended before all had
 * come; ERR_PROTOCOL, ERR_CLOSED: the launcher is not one, or is gone;
 * ERR_TIMED_OUT; ERR_SYSTEM; ERR_NOMEM. */
int hpcboot_init(const struct hpcboot_init_options *options,
                 struct hpcboot_error *err);

/* Another way for the ranks to meet, for instance an MPI communicator
 * (hpcboot/mpi.h makes one of it). All `size` ranks call it. */
struct hpcboot_bootstrap {
    size_t struct_size; /* HPCBOOT_BOOTSTRAP_INIT sets it */
    int rank, size;
    const char *name;   /* what hpcboot_launcher answers; static */
    /* Gives each rank's `size_bytes` bytes to all: recv[size][size_bytes].
     * Returns 0, or anything else for a failure. */
    int (*allgather)(void *arg, const void *send, void *recv,
                     size_t size_bytes);
    void *arg;          /* borrowed until hpcboot_finalize returns */
};
#define HPCBOOT_BOOTSTRAP_INIT HPCBOOT_SIZED_(struct hpcboot_bootstrap)
int hpcboot_init_with(const struct hpcboot_bootstrap *bootstrap,
                      const struct hpcboot_init_options *options,
                      struct hpcboot_error *err);

/* Collective over the job's living ranks. Teams and requests that are left
 * end with it. No other call of the library but hpcboot_free, hpcboot_version
 * and hpcboot_is_initialized may follow. */
int hpcboot_finalize(struct hpcboot_error *err);
int hpcboot_is_initialized(void); /* 1 between init and finalize */

/* Where this rank is; ERR_USAGE before hpcboot_init and after
 * hpcboot_finalize. Ranks 0..size-1, nodes 0..nodes-1; a local rank counts
 * the ranks of one node in rank order. */
int hpcboot_rank(void);
int hpcboot_size(void);
int hpcboot_local_rank(void);
int hpcboot_local_size(void);
int hpcboot_node(void);
int hpcboot_nodes(void);
int hpcboot_node_of(int rank);
int hpcboot_local_rank_of(int rank);
/* The name of the rank's host, as the launcher calls it, until
 * hpcboot_finalize. NULL: no such rank, or not initialised. */
const char *hpcboot_host_of(int rank);
/* "hbrun", "pmix", "pmi1", "mpi", "alone", or a bootstrap's name. */
const char *hpcboot_launcher(void);
/* Of this life of the job: 0 at first, one more with each rank whose end in a
 * failure is known on this host. (HPCBOOT_EPOCH in the environment counts what
 * was started again.) */
unsigned hpcboot_epoch(void);

const char *hpcboot_version(void); /* "0.1.0", of the library that runs */
const char *hpcboot_status_text(int code); /* static; never NULL */

#ifdef __cplusplus
}
#endif

#endif
