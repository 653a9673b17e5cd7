/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PM_PMI_H
#define HB_PM_PMI_H

#include "bin/pm/pm.h"
#include "bin/pm/pmi_wire.h"
#include "lib/base/kvs.h"

/* Inside of the PMI server, shared by its files only: pmi.c owns the ranks
 * and their input, pmi_store.c what was put and who waits for whom, pmi1.c
 * and pmi2.c are the two dialects. A rank begins in dialect 1 and changes to
 * dialect 2 when its init line asks for it, until the next such line. */

/* What clients in the wild were tested with. */
#define HB_PMI_NAME_MAX 256u
#define HB_PMI_KEY_MAX 64u
#define HB_PMI_VALUE_MAX 1024u

struct hb_pmi_rank {
    uint32_t rank;
    const struct hb_pmi_dialect *dialect;
    struct hb_buf in;
    unsigned contact; /* bits told to the host so far */
    int gone;
    struct hb_pm_spawn spawn; /* its blocks that have come */
    int no_spawn;             /* one of them was refused */
};

/* Somebody who gets his answer later. `thrid` and `group` are the client's
 * own words, given back to it; owned, may be NULL. */
struct hb_pmi_waiter {
    struct hb_pmi_rank *rank;
    char *thrid;
    char *group;
};

typedef int (*hb_pmi_handler)(struct hb_pm *pm, struct hb_pmi_rank *rank,
                              const struct hb_pmi_msg *msg,
                              struct hpcboot_error *err);
struct hb_pmi_command {
    const char *name;
    hb_pmi_handler run; /* negative: the rank is cut off */
};

struct hb_pmi_dialect {
    const char *name; /* in fence keys */
    const struct hb_pmi_command *commands; /* ends with a NULL name */
    hb_pmi_handler unknown;
    int (*next)(struct hb_buf *in, struct hb_bytes *out,
                struct hpcboot_error *err);
    int (*parse)(struct hb_pmi_msg *out, struct hb_bytes in,
                 struct hpcboot_error *err);
    void (*fence_reply)(struct hb_pm *pm, const struct hb_pmi_waiter *to,
                        int status);
    void (*name_reply)(struct hb_pm *pm, const struct hb_pmi_waiter *to,
                       enum hb_pm_name_op op, int status, const char *value);
    void (*spawn_reply)(struct hb_pm *pm, const struct hb_pmi_waiter *to,
                        const struct hb_pm_spawned *answer, uint32_t n_ranks);
};
extern const struct hb_pmi_dialect hb_pmi1_dialect, hb_pmi2_dialect;

struct hb_pmi_store;
struct hb_pmi_spawning;

struct hb_pm {
    enum hb_pm_family family;
    const struct hb_pm_job *job;
    struct hb_pm_host host;
    void *arg;
    struct hb_pmi_rank *ranks; /* [n_local], by rank number */
    uint32_t n_local;
    struct hb_pmi_store *store;
    struct hb_pmi_spawning *spawning; /* asked, and not answered */
    uint64_t last_spawn;
};

/* pmi.c */
void hb_pmi_send(struct hb_pm *pm, struct hb_pmi_rank *rank,
                 const struct hb_str *text);
/* Tells the host what is new, and each time that MPI begins. */
void hb_pmi_contact(struct hb_pm *pm, struct hb_pmi_rank *rank,
                    unsigned bits);
#define HB_PMI_CONNECTED 1u
#define HB_PMI_INITIALISED 2u
#define HB_PMI_FINALISED 4u
/* What becomes MPI_UNIVERSE_SIZE: how many processes the program can expect,
 * those that run among them. */
uint32_t hb_pmi_universe(const struct hb_pm *pm);
/* The command's code, or 1 where it gave none that can be read. */
int hb_pmi_exit_code(const char *text);

/* pmi_spawn.c */
int hb_pmi_on_spawn1(struct hb_pm *pm, struct hb_pmi_rank *rank,
                     const struct hb_pmi_msg *msg, struct hpcboot_error *err);
int hb_pmi_on_spawn2(struct hb_pm *pm, struct hb_pmi_rank *rank,
                     const struct hb_pmi_msg *msg, struct hpcboot_error *err);
void hb_pmi_spawn_done(struct hb_pm *pm, uint64_t id,
                       const struct hb_pm_spawned *answer);
void hb_pmi_spawns_destroy(struct hb_pm *pm);

/* pmi_store.c */
int hb_pmi_store_create(struct hb_pmi_store **out, const struct hb_pm *pm,
                        struct hpcboot_error *err);
void hb_pmi_store_destroy(struct hb_pmi_store *store);
int hb_pmi_store_preput(struct hb_pm *pm, struct hpcboot_error *err);

/* NULL when put, else the reason in one word without blanks. That another
 * rank of this node has put the key with another value ends the job. */
const char *hb_pmi_put(struct hb_pm *pm, const struct hb_pmi_rank *rank,
                       const char *key, const char *value);
/* The value, from what this node knows, or NULL. */
const char *hb_pmi_get(const struct hb_pm *pm, const char *key);
/* Node attributes of PMI-2: visible on this node, at once. */
const char *hb_pmi_node_put(struct hb_pm *pm, const char *key,
                            const char *value);
const char *hb_pmi_node_get(const struct hb_pm *pm, const char *key);
/* Parks a rank until `key` is put; then `wake` is called once. */
typedef void (*hb_pmi_wake)(struct hb_pm *pm, const struct hb_pmi_waiter *to,
                            const char *value);
void hb_pmi_node_wait(struct hb_pm *pm, const char *key,
                      struct hb_pmi_rank *rank, const char *thrid,
                      hb_pmi_wake wake);

/* `rank` joins a barrier of `group` ("WORLD:tag", "NODE:tag", "0,3,5:tag";
 * NULL: all ranks). The dialect's fence_reply answers. */
int hb_pmi_join(struct hb_pm *pm, struct hb_pmi_rank *rank,
                const char *group, const char *thrid,
                struct hpcboot_error *err);
/* Barriers with them fail, those that are open and those to come; their
 * numbers are in PMI_dead_processes from now on. */
void hb_pmi_ranks_lost(struct hb_pm *pm, const uint32_t *ranks, uint32_t n);
void hb_pmi_fence_done(struct hb_pm *pm, struct hb_bytes key, int status,
                       struct hb_bytes data);

/* Asks the job's name service; the dialect's name_reply answers. */
void hb_pmi_name(struct hb_pm *pm, struct hb_pmi_rank *rank,
                 enum hb_pm_name_op op, const char *name, const char *value,
                 const char *thrid);
void hb_pmi_name_done(struct hb_pm *pm, uint64_t id, int status,
                      struct hb_bytes value);

#endif
