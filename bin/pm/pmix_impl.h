/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_PMIX_IMPL_H
#define HB_PM_PMIX_IMPL_H

#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>

#include "bin/pm/pm.h"
#include "lib/base/kvs.h"
#include "lib/base/strv.h"

/* Inside of the PMIx adapter (hb_pmix.so), shared by its files only:
 * pmix.c        the ops, the queue between libpmix's thread and the loop
 * pmix_gate.c   waiting for libpmix
 * pmix_answer.c answers to it
 * pmix_job.c    what is registered of the job
 * pmix_upcall.c what libpmix asks, copied and queued
 * pmix_fence.c  fences, direct modex
 * pmix_group.c  groups
 * pmix_join.c   connect and disconnect across jobs
 * pmix_spawn.c  spawned jobs that ranks start
 * pmix_log.c    what ranks have written for them
 * pmix_name.c   publish, lookup, unpublish
 * pmix_event.c  what ranks tell each other, and are told of lost ones
 *
 * Thread rule: upcalls run on libpmix's thread and do nothing but copy their
 * arguments into an event and queue it; everything else runs on the loop
 * thread. Callbacks of libpmix may be called from there, where they hand over
 * to its own thread themselves; those that do not go through pmix_answer.c. */

struct hb_pmix_event;
typedef void (*hb_pmix_run)(struct hb_pm *pm, struct hb_pmix_event *ev);

/* An upcall on its way to the loop. Whatever is not used is zero; all memory
 * is owned. */
struct hb_pmix_event {
    struct hb_pmix_event *next;
    int64_t since_ns; /* when libpmix has called; limits count from then */
    hb_pmix_run run;
    pmix_proc_t proc;
    pmix_proc_t *procs;
    size_t n_procs;
    pmix_info_t *infos;
    size_t n_infos;
    char **keys; /* NULL-terminated, or NULL */
    char *name;  /* of a group */
    char *data;  /* a blob, or a text with its NUL not counted in len */
    size_t len;
    int status;
    pmix_data_range_t range; /* of an event of PMIx */
    const char *word; /* constant; kind of a collective */
    /* how to answer: the one that is set */
    pmix_op_cbfunc_t op;
    pmix_modex_cbfunc_t modex;
    pmix_lookup_cbfunc_t lookup;
    pmix_spawn_cbfunc_t spawned;
    pmix_info_cbfunc_t grouped;
    void *cbdata;
    struct hb_pm_spawn spawn;
    /* a request of another node for a local rank's data */
    uint64_t id;
    void (*reply)(void *arg, uint64_t id, int status, struct hb_bytes data);
    void *reply_arg;
};

struct hb_pmix_fence;
struct hb_pmix_modex;
struct hb_pmix_names;
struct hb_pmix_join;
struct hb_pmix_ask;
struct hb_pmix_spawning;
struct hb_pmix_logged;

struct hb_pm {
    const struct hb_pm_job *job;
    struct hb_pm_host host;
    void *arg;
    pmix_nspace_t nspace;
    int running; /* libpmix is initialised */

    pthread_mutex_t lock; /* of the queue */
    struct hb_pmix_event *first, **last;
    int event_fd, timer_fd, epoll_fd;
    int ticking; /* the timer is on */

    uint64_t last_id;
    struct hb_pmix_fence *fences;
    struct hb_pmix_modex *modexes;
    struct hb_pmix_names *names;
    struct hb_kvs *rounds;  /* of fences: signature -> u32 */
    uint32_t n_groups;      /* this node has numbered */
    struct hb_pmix_join *joins;
    struct hb_pmix_ask *asks; /* about other jobs */
    struct hb_strv known;     /* other jobs that libpmix knows */
    struct hb_pmix_spawning *spawning;
    struct hb_pmix_logged *logged; /* whose answers wait for room */
    struct hb_strv nspaces; /* of spawned jobs, as libpmix was told them */
};

/* pmix.c */
void hb_pmix_post(struct hb_pmix_event *ev); /* any thread; takes ev */
void hb_pmix_event_free(struct hb_pmix_event *ev);
int hb_pmix_is_local(const struct hb_pm *pm, const pmix_proc_t *proc);
pmix_status_t hb_pmix_status(int status); /* ours to libpmix's */
void hb_pmix_timer(struct hb_pm *pm, int on); /* calls the ticks */
int hb_pmix_fail(struct hpcboot_error *err, const char *what,
                 pmix_status_t rc);

/* pmix_start.c */
const char *hb_pmix_no_start(void); /* what is in the way */
/* What HOME is to be where it is `set` so, or NULL: a user who is in no list of
 * users needs one. */
const char *hb_pmix_home(const char *set);

/* pmix_gate.c: a blocking wait for callbacks of libpmix */
struct hb_pmix_gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t open; /* callbacks still to come */
    pmix_status_t rc; /* the first that is not a success */
};
#define HB_PMIX_GATE_INIT                                                    \
    {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, PMIX_SUCCESS}
void hb_pmix_gate_add(struct hb_pmix_gate *g);
void hb_pmix_gate_done(pmix_status_t rc, void *gate); /* a pmix_op_cbfunc_t */
/* Takes account of what the call that was given the gate returned. */
void hb_pmix_gate_called(struct hb_pmix_gate *g, pmix_status_t rc);
pmix_status_t hb_pmix_gate_wait(struct hb_pmix_gate *g);

/* pmix_answer.c */
void hb_pmix_answer(pmix_op_cbfunc_t op, pmix_status_t rc, void *cbdata);
/* `found` is taken: n of its `room` are there, in its beginning; or NULL. */
void hb_pmix_answer_lookup(pmix_lookup_cbfunc_t lookup, pmix_status_t rc,
                           void *cbdata, pmix_pdata_t *found, size_t n,
                           size_t room);

/* pmix_job.c */
int hb_pmix_register_job(struct hb_pm *pm, struct hpcboot_error *err);
/* Without clients here, for those who ask about its ranks. */
int hb_pmix_register_other(struct hb_pm *pm, const char *nspace,
                           const struct hb_jobmap *map);

/* pmix_upcall.c; pmix_server_init has no argument for upcalls, so there is
 * one server in a process. */
extern pmix_server_module_t hb_pmix_module;
void hb_pmix_take_procs(struct hb_pmix_event *ev, const pmix_proc_t *procs,
                        size_t n);
void hb_pmix_take_infos(struct hb_pmix_event *ev, const pmix_info_t *infos,
                        size_t n);

/* pmix_log.c */
void hb_pmix_run_log(struct hb_pm *pm, struct hb_pmix_event *ev);
void hb_pmix_output_room(struct hb_pm *pm);
void hb_pmix_logged_destroy(struct hb_pm *pm);

/* pmix_fence.c: `run` of events, and answers from the job */
void hb_pmix_run_collective(struct hb_pm *pm, struct hb_pmix_event *ev);
void hb_pmix_run_modex(struct hb_pm *pm, struct hb_pmix_event *ev);
void hb_pmix_fence_done(struct hb_pm *pm, struct hb_bytes key, int status,
                        struct hb_bytes data);
void hb_pmix_modex_done(struct hb_pm *pm, uint64_t id, int status,
                        struct hb_bytes data);
void hb_pmix_modex_serve(struct hb_pm *pm, uint64_t id, uint32_t rank,
                         void (*reply)(void *arg, uint64_t id, int status,
                                       struct hb_bytes data), void *arg);
void hb_pmix_fences_destroy(struct hb_pm *pm);
int hb_pmix_fences_wait(const struct hb_pm *pm); /* for the timer */
void hb_pmix_fences_tick(struct hb_pm *pm);
int64_t hb_pmix_deadline(const struct hb_pmix_event *ev); /* or HB_NEVER */
/* The how manieth time a set of ranks does something. */
uint32_t hb_pmix_next_round(struct hb_pm *pm, const char *set);
/* A name of all participants that every job makes alike; free() it. They are
 * put in order. */
char *hb_pmix_name_of_all(struct hb_pmix_event *ev);
/* Nodes of ranks of this job, or of all; free() them. */
uint32_t hb_pmix_nodes_of(const struct hb_pm *pm, const uint32_t *ranks,
                          uint32_t n, int all, uint32_t **nodes_out);

/* pmix_group.c */
struct hb_pmix_grouping { /* a group that is constructed */
    pmix_info_cbfunc_t cb; /* NULL: none */
    void *cbdata;
    pmix_proc_t *procs; /* its members; owned */
    size_t n_procs;
};
void hb_pmix_offer_groups(pmix_server_module_t *module);
void hb_pmix_grouping_take(struct hb_pmix_grouping *g,
                           struct hb_pmix_event *ev);
/* What this node adds to the fence of a group's members. */
void hb_pmix_group_part(struct hb_pm *pm, const struct hb_pmix_event *ev,
                        struct hb_buf *out);
/* Answers; `data` is what that fence has collected. */
void hb_pmix_group_done(const struct hb_pmix_grouping *g, int status,
                        struct hb_bytes data);

/* pmix_join.c; word of an event: */
#define HB_PMIX_CONNECT "connect"
#define HB_PMIX_DISCONNECT "disconnect"
void hb_pmix_run_join(struct hb_pm *pm, struct hb_pmix_event *ev,
                      const uint32_t *ranks, uint32_t n, int all);
void hb_pmix_foreign_modex(struct hb_pm *pm, const struct hb_pmix_event *ev);
/* 1: it was about a join. */
int hb_pmix_join_fenced(struct hb_pm *pm, struct hb_bytes key, int status);
int hb_pmix_join_name_done(struct hb_pm *pm, uint64_t id, int status,
                           struct hb_bytes value);
int hb_pmix_joins_wait(const struct hb_pm *pm); /* for the timer */
void hb_pmix_joins_tick(struct hb_pm *pm);
void hb_pmix_joins_destroy(struct hb_pm *pm);

/* pmix_spawn.c */
/* On libpmix's thread. Negative: too much, or nothing, is asked for. */
int hb_pmix_take_apps(struct hb_pmix_event *ev, const pmix_info_t *infos,
                      size_t n_infos, const pmix_app_t *apps, size_t n_apps);
void hb_pmix_run_spawn(struct hb_pm *pm, struct hb_pmix_event *ev);
void hb_pmix_spawn_done(struct hb_pm *pm, uint64_t id,
                        const struct hb_pm_spawned *answer);
void hb_pmix_spawns_destroy(struct hb_pm *pm);

/* pmix_name.c */
int hb_pmix_names_create(struct hb_pm *pm, struct hpcboot_error *err);
void hb_pmix_names_destroy(struct hb_pm *pm);
void hb_pmix_run_publish(struct hb_pm *pm, struct hb_pmix_event *ev);
void hb_pmix_run_lookup(struct hb_pm *pm, struct hb_pmix_event *ev);
void hb_pmix_run_unpublish(struct hb_pm *pm, struct hb_pmix_event *ev);
void hb_pmix_name_done(struct hb_pm *pm, uint64_t id, int status,
                       struct hb_bytes value);
void hb_pmix_names_tick(struct hb_pm *pm);
void hb_pmix_names_gone(struct hb_pm *pm, uint32_t rank); /* has exited */

/* pmix_event.c */
int hb_pmix_event_travels(pmix_data_range_t range); /* to other nodes */
void hb_pmix_run_event(struct hb_pm *pm, struct hb_pmix_event *ev);
void hb_pmix_event_came(struct hb_pm *pm, const struct hb_pm_event *event);
void hb_pmix_ranks_lost(struct hb_pm *pm, const uint32_t *ranks, uint32_t n);

#endif
