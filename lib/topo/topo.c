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
    for (int kind = 0; kind < HB_TOPO_DEVICE_KINDS; kind++) {
        free(topo->device[kind].v);
    }
    free(topo->pu_os);
    free(topo);
}

const char *hb_topo_device_name(enum hb_topo_device_kind kind)
{
    return kind == HB_TOPO_GPU ? "gpu" : "nic";
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

static int check_devices(const struct hb_topo *topo,
                         enum hb_topo_device_kind kind,
                         struct hpcboot_error *err)
{
    const struct hb_topo_devices *d = &topo->device[kind];

    for (uint32_t i = 0; i < d->n; i++) {
        const struct hb_topo_span *s = &d->v[i].near;
        if (s->n == 0 || s->first >= topo->n_pus ||
            s->n > topo->n_pus - s->first) {
            return hb_fail(err, HPCBOOT_ERR_PARSE,
                           "topology: %s %u is near no usable CPU",
                           hb_topo_device_name(kind), i);
        }
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
    for (int kind = 0; kind < HB_TOPO_DEVICE_KINDS; kind++) {
        int rc = check_devices(topo, (enum hb_topo_device_kind)kind, err);
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

int hb_topo_load(const struct hb_topo_request *req, struct hb_topo **out,
                 struct hpcboot_error *err)
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
    rc = module->load(req, topo, err);
    if (rc >= 0) {
        rc = hb_topo_check(topo, err);
    }
    if (rc >= 0) {
        *out = topo;
        topo = NULL;
    } else if (req->xml_out != NULL) {
        free(*req->xml_out);
        *req->xml_out = NULL;
    }
    hb_topo_destroy(topo);
    return rc < 0 ? rc : HPCBOOT_OK;
}

/* The kept part of a span: kept[i] is how many PUs before i stay. */
static struct hb_topo_span shrink(const struct hb_topo_span *s,
                                  const uint32_t *kept)
{
    struct hb_topo_span out = {kept[s->first],
                               kept[s->first + s->n] - kept[s->first],
                               s->os_index};

    return out;
}

static void restrict_level(const struct hb_topo_level *from,
                           const uint32_t *kept, struct hb_topo_level *to)
{
    to->v = hb_xcalloc(from->n > 0 ? from->n : 1, sizeof(*to->v));
    for (uint32_t i = 0; i < from->n; i++) {
        struct hb_topo_span s = shrink(&from->v[i], kept);
        if (s.n > 0) {
            to->v[to->n++] = s;
        }
    }
}

/* A device whose neighbourhood is not allowed is as near to one CPU as to
 * the other. */
static void restrict_devices(const struct hb_topo_devices *from,
                             const uint32_t *kept, uint32_t n_pus,
                             struct hb_topo_devices *to)
{
    to->v = hb_xcalloc(from->n > 0 ? from->n : 1, sizeof(*to->v));
    to->n = from->n;
    to->hidden = from->hidden;
    for (uint32_t i = 0; i < from->n; i++) {
        to->v[i] = from->v[i];
        to->v[i].near = shrink(&from->v[i].near, kept);
        if (to->v[i].near.n == 0) {
            to->v[i].near = (struct hb_topo_span){0, n_pus, UINT32_MAX};
        }
    }
}

int hb_topo_restrict(const struct hb_topo *topo, const struct hb_cpus *allowed,
                     struct hb_topo **out, struct hpcboot_error *err)
{
    uint32_t *kept = hb_xcalloc(topo->n_pus + 1, sizeof(*kept));
    struct hb_topo *t = hb_xcalloc(1, sizeof(*t));
    int rc;

    t->pu_os = hb_xcalloc(topo->n_pus, sizeof(*t->pu_os));
    for (uint32_t i = 0; i < topo->n_pus; i++) {
        kept[i] = t->n_pus;
        if (hb_cpus_has(allowed, topo->pu_os[i])) {
            t->pu_os[t->n_pus++] = topo->pu_os[i];
        }
    }
    kept[topo->n_pus] = t->n_pus;
    for (int kind = 0; kind < HB_TOPO_KINDS; kind++) {
        restrict_level(&topo->level[kind], kept, &t->level[kind]);
    }
    for (int kind = 0; kind < HB_TOPO_DEVICE_KINDS; kind++) {
        restrict_devices(&topo->device[kind], kept, t->n_pus,
                         &t->device[kind]);
    }
    free(kept);
    if (t->n_pus == 0) {
        rc = hb_fail(err, HPCBOOT_ERR_UNSUPPORTED,
                     "none of the CPUs that may be used is in the topology");
    } else {
        rc = hb_topo_check(t, err);
    }
    if (rc < 0) {
        hb_topo_destroy(t);
        return rc;
    }
    *out = t;
    return HPCBOOT_OK;
}
