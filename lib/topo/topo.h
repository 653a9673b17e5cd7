/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_TOPO_H
#define HB_TOPO_TOPO_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/topo/cpus.h"

/* The inside of a host as plain data, cut down to the CPUs that may be used.
 * hwloc fills it (a module that is loaded when first asked for); all who
 * decide anything read only this. */
enum hb_topo_kind {
    HB_TOPO_PU, HB_TOPO_CORE, HB_TOPO_L1CACHE, HB_TOPO_L2CACHE,
    HB_TOPO_L3CACHE, HB_TOPO_NUMA, HB_TOPO_PACKAGE, HB_TOPO_KINDS
};

/* An object: the processing units first..first+n-1 in hwloc's order, which
 * keeps what belongs together side by side. */
struct hb_topo_span {
    uint32_t first, n; /* n > 0 */
    uint32_t os_index; /* the kernel's number for it, or UINT32_MAX */
};

struct hb_topo_level {
    struct hb_topo_span *v; /* sorted by `first`, disjoint */
    uint32_t n;
};

struct hb_topo {
    uint32_t n_pus;
    uint32_t *pu_os; /* [n_pus] the kernel's CPU numbers */
    struct hb_topo_level level[HB_TOPO_KINDS]; /* PU and CORE never empty */
};

/* `source`: NULL for this machine, "synthetic:DESCRIPTION" in hwloc's words,
 * else an XML file as lstopo writes it. `allowed`: NULL for all of it.
 * ERR_UNSUPPORTED: hwloc is not there. Takes milliseconds. */
int hb_topo_load(const char *source, const struct hb_cpus *allowed,
                 struct hb_topo **out, struct hpcboot_error *err);
void hb_topo_destroy(struct hb_topo *topo);
/* Checks what a module or a peer handed over: bounds, order, no overlap. */
int hb_topo_check(const struct hb_topo *topo, struct hpcboot_error *err);
/* The object of a kind around a processing unit, or NULL. */
const struct hb_topo_span *hb_topo_around(const struct hb_topo *topo,
                                          enum hb_topo_kind kind, uint32_t pu);
const char *hb_topo_kind_name(enum hb_topo_kind kind); /* "core" */

/* What the module hb_hwloc exports under the name hb_hwloc_source. */
struct hb_topo_source {
    int (*load)(const char *source, const struct hb_cpus *allowed,
                struct hb_topo *out, struct hpcboot_error *err);
};

#endif
