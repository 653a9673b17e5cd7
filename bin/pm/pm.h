/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_PM_H
#define HB_PM_PM_H

#include <stdint.h>

#include "bin/pm/spawn.h"
#include "lib/base/buf.h"
#include "lib/base/error.h"
#include "lib/base/jobmap.h"
#include "lib/base/strv.h"

/* The process-management servers of an agent behind one ops struct. One of
 * them runs per job on each node and serves that node's ranks. PMI-1 and
 * PMI-2 are protocol engines without I/O: the agent owns each rank's socket
 * and feeds what was read. PMIx is an adapter around libpmix, whose threads
 * hand their upcalls to the loop thread through an eventfd.
 *
 * Every upcall of struct hb_pm_host is made on the loop thread, from inside
 * feed, dispatch or one of the answers. */
enum hb_pm_family { HB_PM_NONE, HB_PM_PMI1, HB_PM_PMI2, HB_PM_PMIX };
const char *hb_pm_family_name(enum hb_pm_family family); /* "pmi1" */
int hb_pm_family_parse(const char *name, enum hb_pm_family *out,
                       struct hpcboot_error *err);

struct hb_pm_app {
    char *const *argv; /* NULL-terminated */
    const char *wdir;
};

struct hb_pm_job { /* all borrowed; must outlive the server */
    const char *job_id;      /* also the KVS name and the PMIx namespace */
    const char *session_dir; /* private 0700 directory of this job and node */
    const struct hb_jobmap *map;
    uint32_t node;           /* which of map's nodes this is */
    const struct hb_pm_app *apps; /* [map->n_apps] */
    uint32_t uid, gid;
    int oversubscribed;      /* tell Open MPI to yield */
    const char *topology_xml;  /* of this node, or NULL */
    const char *topology_file; /* the same in a file, or NULL */
    /* [local ranks] what each is bound to and near, or NULL: not bound */
    char *const *cpusets;
    char *const *localities;
    int flavour;             /* enum hb_mpi_flavour of family.h */
    uint32_t world;          /* alike on all nodes that meet */
    /* Of a spawned job that a rank of another job has started; else NULL, 0. */
    const char *parent_id; /* that job's */
    uint32_t parent_rank;
    char *const *preput; /* "KEY=VALUE" that its store begins with */
};

enum hb_pm_name_op { /* as NAME.op */
    HB_PM_PUBLISH, HB_PM_LOOKUP, HB_PM_UNPUBLISH,
    HB_PM_PUBLISH_ONCE = 4, /* for the first who looks it up alone */
    HB_PM_UNPUBLISH_OWN, /* where what is published begins with the value */
    HB_PM_WAIT, /* looks up, and is answered when it is there */
    HB_PM_GIVE_UP, /* what waits under this id is answered: not found */
    HB_PM_GONE /* the value, who has published, asks no more; no answer */
};

/* Names by which servers and launchers tell each other of jobs begin so. Ranks
 * neither publish nor remove nor see any. */
#define HB_PM_NAMES_OURS "hpcboot/"

/* What became of a request for a spawned job. */
struct hb_pm_spawned {
    int status;         /* 0, or why not */
    const char *job_id; /* its job */
    const char *text;   /* a sentence about the failure */
};

/* What a rank tells others of the job (PMIx_Notify_event); borrowed. */
struct hb_pm_event {
    uint32_t rank;
    int code, range; /* of PMIx */
    struct hb_bytes infos; /* packed by libpmix */
};

/* What a server asks of its agent. */
struct hb_pm_host {
    /* Bytes for a rank's socket; taken whole. */
    void (*send)(void *arg, uint32_t rank, const void *data, size_t len);
    /* All local participants of a fence have joined (lib/rdzv/fence.h). The
     * agent answers with ops->fence_done and the same key. Called also when
     * this node is the only participant. */
    void (*fence)(void *arg, struct hb_bytes key, const uint32_t *nodes,
                  uint32_t n_nodes, struct hb_bytes data);
    void (*abort)(void *arg, uint32_t rank, int code, const char *text);
    /* HB_CONTACT_* bits of lib/wire, given as a number: 1 connected,
     * 2 initialised, 4 finalised. Each time that MPI begins, so with the same
     * bits again where a second program does that in the rank's name. */
    void (*contact)(void *arg, uint32_t rank, unsigned bits);
    /* Fetch what `rank` (on another node) has put; ops->modex_done answers. */
    void (*modex)(void *arg, uint64_t id, uint32_t rank);
    /* Job-wide name service; ops->name_done answers. */
    void (*name)(void *arg, uint64_t id, enum hb_pm_name_op op,
                 const char *name, struct hb_bytes value);
    /* A rank broke the protocol: it is cut off, the text says why. */
    void (*violation)(void *arg, uint32_t rank, const char *text);
    /* The rank wants others started; ops->spawn_done answers. */
    void (*spawn)(void *arg, uint64_t id, uint32_t rank,
                  const struct hb_pm_spawn *what);
    /* Text that the rank has its server write for it: stream 1 or 2. Whether
     * more may come at once; if not, the rank is answered when ops->output_room
     * is called, so that it is slowed down as by a pipe that is full. */
    int (*output)(void *arg, uint32_t rank, unsigned stream,
                  struct hb_bytes text);
    /* For the servers of the other nodes; this one has told its ranks. */
    void (*event)(void *arg, const struct hb_pm_event *event);
};

struct hb_pm;

struct hb_pm_ops {
    enum hb_pm_family family;
    int wants_socket; /* each rank gets one end of a socketpair */
    int (*create)(struct hb_pm **out, const struct hb_pm_job *job,
                  const struct hb_pm_host *host, void *arg,
                  struct hpcboot_error *err);
    /* Variables for one rank, added to env. socket_fd: the descriptor number
     * the rank will have (wants_socket), else -1. */
    int (*rank_env)(struct hb_pm *pm, uint32_t rank, int socket_fd,
                    struct hb_strv *env, struct hpcboot_error *err);
    /* Bytes read from a rank's socket. Negative: cut the rank off. */
    int (*feed)(struct hb_pm *pm, uint32_t rank, const void *data, size_t len,
                struct hpcboot_error *err);
    /* The rank's socket is at its end / the rank has exited. */
    void (*rank_gone)(struct hb_pm *pm, uint32_t rank);
    /* Ranks of the job, here or elsewhere, that have failed while the others
     * go on: those are told, and wait for them no longer. */
    void (*ranks_lost)(struct hb_pm *pm, const uint32_t *ranks, uint32_t n);
    /* A local rank that is gone is about to be started once more. */
    void (*rank_again)(struct hb_pm *pm, uint32_t rank);
    void (*fence_done)(struct hb_pm *pm, struct hb_bytes key, int status,
                       struct hb_bytes data);
    void (*modex_done)(struct hb_pm *pm, uint64_t id, int status,
                       struct hb_bytes data);
    /* Another node wants what local `rank` has put; answered through `reply`,
     * at once or later, with the caller's id. */
    void (*modex_serve)(struct hb_pm *pm, uint64_t id, uint32_t rank,
                        void (*reply)(void *arg, uint64_t id, int status,
                                      struct hb_bytes data), void *arg);
    void (*name_done)(struct hb_pm *pm, uint64_t id, int status,
                      struct hb_bytes value);
    /* The spawned job runs, or will not. */
    void (*spawn_done)(struct hb_pm *pm, uint64_t id,
                       const struct hb_pm_spawned *answer);
    /* A rank of another node gives an event. NULL: the family has none. */
    void (*event)(struct hb_pm *pm, const struct hb_pm_event *event);
    /* There is room for more output. NULL: the family writes none. */
    void (*output_room)(struct hb_pm *pm);
    /* A descriptor that is readable when dispatch has work; -1: none. */
    int (*fd)(struct hb_pm *pm);
    void (*dispatch)(struct hb_pm *pm);
    void (*destroy)(struct hb_pm *pm); /* NULL-safe */
};

/* The server for a family; PMIx is loaded from hb_pmix.so at that moment.
 * HB_PM_NONE gives a server that only hands out variables. */
int hb_pm_ops_get(enum hb_pm_family family, const struct hb_pm_ops **out,
                  struct hpcboot_error *err);

/* What users' wrappers read (OMPI_COMM_WORLD_*, MPI_LOCALRANKID, MV2_*),
 * following the family, and HPCBOOT_RANK/SIZE/LOCAL_RANK/LOCAL_SIZE/NODE/NODES
 * always. `flavour` is enum hb_mpi_flavour of family.h. */
void hb_pm_personality_env(enum hb_pm_family family, int flavour,
                           const struct hb_jobmap *map, uint32_t rank,
                           const struct hb_pm_app *app, struct hb_strv *env);

#endif
