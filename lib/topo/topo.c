/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* A host's inside as plain data: checked, looked up, thrown away.
 *
 * Every object is a run of processing units in hwloc's logical order, so a
 * level is a sorted list of disjoint runs and "which package is this in" is a
 * binary search. What fills it lives in a module, because a job that binds
 * nothing should not pay for hwloc. */

#include "config.h"

#include "lib/topo/topo.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/module_load.h"
#include "lib/base/str.h"

static const char *const kind_names[HB_TOPO_KINDS] = {
    [HB_TOPO_PU] = "hwthread",     [HB_TOPO_CORE] = "core",
    [HB_TOPO_L1CACHE] = "l1cache", [HB_TOPO_L2CACHE] = "l2cache",
    [HB_TOPO_L3CACHE] = "l3cache", [HB_TOPO_NUMA] = "numa",
    [HB_TOPO_PACKAGE] = "package",
};

const char *hb_topo_kind_name(enum hb_topo_kind kind)
{
    return kind_names[kind];
}

void hb_topo_destroy(struct hb_topo *topo)
{
    if (topo == NULL) {
        return;
    }
    for (int kind = 0; kind < HB_TOPO_KINDS; kind++) {
        free(topo->level[kind].v);
    }
    free(topo->pu_os);
    free(topo);
}

static int check_level(const struct hb_topo *topo, enum hb_topo_kind kind,
                       struct hpcboot_error *err)
{
    const struct hb_topo_level *level = &topo->level[kind];
    uint32_t end = 0;

    for (uint32_t i = 0; i < level->n; i++) {
        const struct hb_topo_span *s = &level->v[i];
        if (s->n == 0 || s->first < end || s->first >= topo->n_pus ||
            s->n > topo->n_pus - s->first) {
            return hb_fail(err, HPCBOOT_ERR_PARSE,
                           "topology: %s %u of %u does not fit beside the "
                           "others", kind_names[kind], i, level->n);
        }
        end = s->first + s->n;
    }
    return HPCBOOT_OK;
}

int hb_topo_check(const struct hb_topo *topo, struct hpcboot_error *err)
{
    if (topo->n_pus == 0 || topo->n_pus > HB_MAX_CPUS) {
        return hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                       "topology: %u usable CPUs; expected 1 to %u",
                       topo->n_pus, HB_MAX_CPUS);
    }
    for (int kind = 0; kind < HB_TOPO_KINDS; kind++) {
        int rc = check_level(topo, (enum hb_topo_kind)kind, err);
        if (rc < 0) {
            return rc;
        }
    }
    if (topo->level[HB_TOPO_PU].n != topo->n_pus ||
        topo->level[HB_TOPO_CORE].n == 0) {
        return hb_fail(err, HPCBOOT_ERR_PARSE,
                       "topology: not every CPU belongs to a core");
    }
    return HPCBOOT_OK;
}

const struct hb_topo_span *hb_topo_around(const struct hb_topo *topo,
                                          enum hb_topo_kind kind, uint32_t pu)
{
    const struct hb_topo_level *level = &topo->level[kind];
    uint32_t low = 0, high = level->n;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct hb_topo_span *s = &level->v[mid];
        if (pu < s->first) {
            high = mid;
        } else if (pu - s->first >= s->n) {
            low = mid + 1;
        } else {
            return s;
        }
    }
    return NULL;
}

int hb_topo_load(const char *source, const struct hb_cpus *allowed,
                 struct hb_topo **out, struct hpcboot_error *err)
{
    const struct hb_topo_source *module;
    const void *symbol;
    struct hb_topo *topo;
    int rc = hb_module_open("hb_hwloc", "hb_hwloc_source", &symbol, err);

    if (rc < 0) {
        return rc;
    }
    module = symbol;
    topo = hb_xcalloc(1, sizeof(*topo));
    rc = module->load(source, allowed, topo, err);
    if (rc >= 0) {
        rc = hb_topo_check(topo, err);
    }
    if (rc >= 0) {
        *out = topo;
        topo = NULL;
    }
    hb_topo_destroy(topo);
    return rc < 0 ? rc : HPCBOOT_OK;
}
