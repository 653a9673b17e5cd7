/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* The module hb_hwloc: hwloc's tree read into plain data.
 *
 * Only the kinds of objects that placement knows are kept, which also keeps
 * the reading short; the x86 back end is left out, because it moves the
 * process onto each CPU in turn and adds nothing that Linux does not say.
 *
 * hwloc hides what the container's CPU set forbids. The affinity mask and a
 * topology from a file are not its business, so each processing unit is
 * compared with the allowed set again, and objects shrink to what is left of
 * them; an object without any is gone. NUMA nodes that share their CPUs with
 * another (two kinds of memory beside the same cores) are one here. */

#include "config.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/topo/topo.h"

static const hwloc_obj_type_t types[HB_TOPO_KINDS] = {
    [HB_TOPO_PU] = HWLOC_OBJ_PU,
    [HB_TOPO_CORE] = HWLOC_OBJ_CORE,
    [HB_TOPO_L1CACHE] = HWLOC_OBJ_L1CACHE,
    [HB_TOPO_L2CACHE] = HWLOC_OBJ_L2CACHE,
    [HB_TOPO_L3CACHE] = HWLOC_OBJ_L3CACHE,
    [HB_TOPO_NUMA] = HWLOC_OBJ_NUMANODE,
    [HB_TOPO_PACKAGE] = HWLOC_OBJ_PACKAGE,
};

#define SYNTHETIC "synthetic:"

static int set_source(hwloc_topology_t t, const char *source,
                      struct hpcboot_error *err)
{
    if (source == NULL) {
        return HPCBOOT_OK;
    }
    if (hb_starts_with(source, SYNTHETIC)) {
        if (hwloc_topology_set_synthetic(t, source + strlen(SYNTHETIC)) != 0) {
            return hb_fail(err, HPCBOOT_ERR_PARSE,
                           "topology \"%s\": hwloc does not understand it",
                           source);
        }
        return HPCBOOT_OK;
    }
    if (hwloc_topology_set_xml(t, source) != 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_PARSE,
                             "topology %s: hwloc cannot read it as XML",
                             source);
    }
    return HPCBOOT_OK;
}

static int open_topology(const char *source, hwloc_topology_t *out,
                         struct hpcboot_error *err)
{
    hwloc_topology_t t = NULL;
    int rc;

    if (hwloc_topology_init(&t) != 0) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "hwloc does not start");
    }
    hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (int kind = 0; kind < HB_TOPO_KINDS; kind++) {
        hwloc_topology_set_type_filter(t, types[kind],
                                       HWLOC_TYPE_FILTER_KEEP_ALL);
    }
    /* A NUMA node that is part of a package hangs below a group. */
    hwloc_topology_set_type_filter(t, HWLOC_OBJ_GROUP,
                                   HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                  "x86");
    rc = set_source(t, source, err);
    if (rc >= 0 && hwloc_topology_load(t) != 0) {
        rc = hb_fail(err, HPCBOOT_ERR_PARSE,
                     "hwloc cannot read the topology of %s",
                     source != NULL ? source : "this host");
    }
    if (rc < 0) {
        hwloc_topology_destroy(t);
        return rc;
    }
    *out = t;
    return HPCBOOT_OK;
}

/* The PUs that may be used, in logical order, each a span of its own. */
static void take_pus(hwloc_topology_t t, const struct hb_cpus *allowed,
                     struct hb_topo *out)
{
    unsigned n = (unsigned)hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU);
    struct hb_topo_level *level = &out->level[HB_TOPO_PU];

    out->pu_os = hb_xcalloc(n, sizeof(*out->pu_os));
    level->v = hb_xcalloc(n, sizeof(*level->v));
    for (unsigned i = 0; i < n; i++) {
        hwloc_obj_t pu = hwloc_get_obj_by_type(t, HWLOC_OBJ_PU, i);
        if (pu->os_index >= HB_MAX_CPUS ||
            (allowed != NULL && !hb_cpus_has(allowed, pu->os_index))) {
            continue;
        }
        out->pu_os[out->n_pus] = pu->os_index;
        level->v[out->n_pus] = (struct hb_topo_span){
            .first = out->n_pus, .n = 1, .os_index = pu->os_index};
        out->n_pus++;
    }
    level->n = out->n_pus;
}

/* The kept PUs of an object; n is 0 when there are none. */
static struct hb_topo_span span_of(const struct hb_topo *topo, hwloc_obj_t obj)
{
    struct hb_topo_span s = {0, 0, obj->os_index};

    for (uint32_t i = 0; i < topo->n_pus; i++) {
        if (hwloc_bitmap_isset(obj->cpuset, topo->pu_os[i])) {
            s.first = s.n == 0 ? i : s.first;
            s.n++;
        } else if (s.n > 0) {
            break;
        }
    }
    return s;
}

static int by_first(const void *va, const void *vb)
{
    const struct hb_topo_span *a = va, *b = vb;

    return (a->first > b->first) - (a->first < b->first);
}

static void take_level(hwloc_topology_t t, enum hb_topo_kind kind,
                       struct hb_topo *out)
{
    int n = hwloc_get_nbobjs_by_type(t, types[kind]);
    struct hb_topo_level *level = &out->level[kind];
    uint32_t kept = 0;

    if (n <= 0) {
        return;
    }
    level->v = hb_xcalloc((size_t)n, sizeof(*level->v));
    for (unsigned i = 0; i < (unsigned)n; i++) {
        hwloc_obj_t obj = hwloc_get_obj_by_type(t, types[kind], i);
        struct hb_topo_span s = span_of(out, obj);
        if (s.n > 0) {
            level->v[level->n++] = s;
        }
    }
    qsort(level->v, level->n, sizeof(*level->v), by_first);
    for (uint32_t i = 0; i < level->n; i++) {
        if (kept == 0 || level->v[i].first != level->v[kept - 1].first) {
            level->v[kept++] = level->v[i];
        }
    }
    level->n = kept;
}

/* A machine whose cores nobody names: each processing unit is one. */
static void cores_from_pus(struct hb_topo *out)
{
    struct hb_topo_level *core = &out->level[HB_TOPO_CORE];

    if (core->n == 0) {
        free(core->v);
        core->v = hb_xcalloc(out->n_pus, sizeof(*core->v));
        memcpy(core->v, out->level[HB_TOPO_PU].v,
               out->n_pus * sizeof(*core->v));
        core->n = out->n_pus;
    }
}

static int load(const char *source, const struct hb_cpus *allowed,
                struct hb_topo *out, struct hpcboot_error *err)
{
    hwloc_topology_t t = NULL;
    int rc = open_topology(source, &t, err);

    if (rc < 0) {
        return rc;
    }
    take_pus(t, allowed, out);
    if (out->n_pus == 0) {
        rc = hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                     "none of the allowed CPUs is in the topology that hwloc "
                     "shows");
    }
    for (int kind = HB_TOPO_CORE; rc >= 0 && kind < HB_TOPO_KINDS; kind++) {
        take_level(t, (enum hb_topo_kind)kind, out);
    }
    if (rc >= 0) {
        cores_from_pus(out);
    }
    hwloc_topology_destroy(t);
    return rc;
}

extern const struct hb_topo_source hb_hwloc_source;
const struct hb_topo_source hb_hwloc_source = {.load = load};
