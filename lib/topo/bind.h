/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_BIND_H
#define HB_TOPO_BIND_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/topo/allowed.h"
#include "lib/topo/cpus.h"
#include "lib/topo/here.h"
#include "lib/topo/map.h"
#include "lib/topo/topo.h"

/* Which CPUs each rank of one host is bound to. Decided on that host, from
 * its own topology; pure but for hb_bind_here. */
enum hb_bind_to {
    HB_BIND_DEFAULT, HB_BIND_NONE, HB_BIND_HWTHREAD, HB_BIND_CORE,
    HB_BIND_L1CACHE, HB_BIND_L2CACHE, HB_BIND_L3CACHE, HB_BIND_NUMA,
    HB_BIND_PACKAGE
};

enum hb_bind_memory {
    HB_MEM_DEFAULT, HB_MEM_NONE, HB_MEM_PREFERRED, HB_MEM_BIND
};

#define HB_MAX_GPUS 1024u /* of a host; for what comes from outside */

struct hb_bind_policy {
    enum hb_bind_to to;
    int overload_allowed; /* more ranks than CPUs may be bound */
    int if_supported;     /* where binding cannot be done, do without */
    /* From the mapping: in which objects ranks stand, how they are numbered
     * over them, CPUs per rank, and what a CPU is. */
    enum hb_map_by by;
    enum hb_map_by ppr_object;
    uint32_t ppr;
    enum hb_rank_by rank_by;
    uint32_t pe;
    int hwtcpus;
    int ordered;
    enum hb_bind_memory memory;
    uint32_t gpus; /* that each rank shall see; 0: all */
    char list[HB_MAP_LIST_MAX]; /* HB_MAP_PE_LIST */
    /* HB_MAP_RANKFILE: for each rank of the host what its line says, or NULL;
     * borrowed. NULL: the file names no cores. */
    const char *const *slots;
    /* How many of the host's ranks each program has, which stand in this order;
     * borrowed. NULL: they are of one. */
    const uint32_t *programs;
    uint32_t n_programs;
};

/* "core:overload-allowed", "none", "numa:if-supported". NULL and "" leave
 * everything as it is. */
int hb_bind_to_parse(const char *text, struct hb_bind_policy *io,
                     struct hpcboot_error *err);
/* Takes over what the mapping decides about the inside of a host. */
void hb_bind_policy_map(struct hb_bind_policy *io,
                        const struct hb_map_policy *map);
/* The whole policy as one text that hb_bind_policy_parse reads back, for the
 * way from launcher to agent; free() it. */
char *hb_bind_policy_text(const struct hb_bind_policy *policy);
int hb_bind_policy_parse(const char *text, struct hb_bind_policy *io,
                         struct hpcboot_error *err);

struct hb_bind_plan {
    uint32_t n_ranks;
    int bound;            /* 0: no rank is bound */
    int unmet;            /* as the host lacks what the policy goes by */
    struct hb_cpus *cpus; /* [n_ranks], when bound */
    char **report;        /* [n_ranks] "bound to package 0[core 0[hwt 0]]:
                           * [B/.] (CPU 0)", when bound */
    char *why;            /* one sentence, never NULL */
};

/* Has the rank CPUs that no other one of the plan is bound to? */
int hb_bind_is_apart(const struct hb_bind_plan *plan, uint32_t rank);
/* Is a CPU of such ranks a hardware thread? Else it is a core. */
int hb_bind_by_threads(const struct hb_bind_policy *policy);
/* Ranks that have CPUs of their own on such a host; 0: as many as you like,
 * because nobody is bound. */
uint32_t hb_bind_room(const struct hb_bind_policy *policy,
                      const struct hb_topo *topo);
/* Objects or devices that the mapping places at; 0: the host has none. */
uint32_t hb_bind_objects(const struct hb_bind_policy *policy,
                         const struct hb_topo *topo);

/* n_ranks local ranks, in rank order. `topo` is cut down to what may be used.
 * ERR_LIMIT: more ranks than CPUs and no overload-allowed; ERR_UNSUPPORTED:
 * this host has no such object. */
int hb_bind_plan(const struct hb_bind_policy *policy,
                 const struct hb_topo *topo, uint32_t quota_milli,
                 uint32_t n_ranks, struct hb_bind_plan *out,
                 struct hpcboot_error *err);
void hb_bind_plan_destroy(struct hb_bind_plan *plan); /* leaves it empty */

/* Users of Open MPI expect ranks to be bound where nothing is said, users of
 * Hydra do not, and a plain program is left alone. 1: so it is with these ranks
 * (by_pmix: they find each other by PMIx), *out says so. 0: make a plan. */
int hb_bind_leave_alone(const struct hb_bind_policy *policy, int by_pmix,
                        uint32_t n_ranks, struct hb_bind_plan *out);

/* hb_bind_plan on this very host, whose topology is loaded into `here` only
 * when there is something to bind. Where hwloc is not there, or the container
 * may not set affinities, nothing is bound, which is said, unless binding was
 * asked for: then it is an error. */
int hb_bind_here(const struct hb_bind_policy *policy, uint32_t n_ranks,
                 struct hb_here *here, struct hb_bind_plan *out,
                 struct hpcboot_error *err);

/* memory.c: the NUMA nodes that a rank's memory comes from. */
#define HB_MAX_NUMA 1024u
struct hb_bind_mem {
    int mode; /* MPOL_*; 0: nothing to set */
    unsigned long nodes[HB_MAX_NUMA / (8 * sizeof(unsigned long))];
};
/* Unasked, only where there are several NUMA nodes. */
int hb_bind_memory_matters(const struct hb_bind_policy *policy,
                           const struct hb_topo *topo);
/* Memory follows the CPUs where they lie within the host's NUMA nodes. */
void hb_bind_memory_of(const struct hb_bind_policy *policy,
                       const struct hb_topo *topo, const struct hb_cpus *cpus,
                       struct hb_bind_mem *out);
/* Tries it once in this process: 0, or the errno with which a container
 * refuses memory policies. */
int hb_bind_memory_probe(void);

/* locality.c: where a rank is, in the words of PMIx, "SK0:L30:CR0-1:HT0-3";
 * free() it. */
char *hb_bind_locality(const struct hb_topo *topo, const struct hb_cpus *cpus);

/* Open MPI's picture of a set within a topology; free() it. */
char *hb_bind_picture(const struct hb_topo *topo, const struct hb_cpus *cpus);

#endif
