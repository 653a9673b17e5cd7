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
 * another (two kinds of memory beside the same cores) are one here, and one
 * around others (memory as near to several packages) has the CPUs that have
 * no nearer one.
 *
 * Devices are PCI functions of the display classes (GPUs) and OpenFabrics
 * devices (NICs); what is next to one is what its first parent that is no I/O
 * object covers. Plug-ins that open vendors' drivers are kept out: they start
 * a context on every GPU, and take longer than all the rest. */

#include "config.h"

#include <hwloc.h>
#include <stdio.h>
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

#define XML_END "</topology>"
#define TAIL_BYTES 64

/* Does the file end as hwloc ends one? A file that is not there is its
 * business. */
static int is_whole(const char *path)
{
    char tail[TAIL_BYTES + 1];
    FILE *f = fopen(path, "re");
    size_t n;

    if (f == NULL) {
        return 1;
    }
    if (fseek(f, -TAIL_BYTES, SEEK_END) != 0) {
        rewind(f);
    }
    n = fread(tail, 1, TAIL_BYTES, f);
    fclose(f);
    tail[n] = '\0';
    return strstr(tail, XML_END) != NULL;
}

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
    if (!is_whole(source)) {
        return hb_fail(err, HPCBOOT_ERR_PARSE, "topology %s: it is cut short, "
                       "or no XML of hwloc: it does not end with " XML_END,
                       source);
    }
    if (hwloc_topology_set_xml(t, source) != 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_PARSE,
                             "topology %s: hwloc cannot read it as XML",
                             source);
    }
    return HPCBOOT_OK;
}

/* For others nothing is left out but caches of instructions; for this
 * program only what placement knows. */
static void set_filters(hwloc_topology_t t, const struct hb_topo_request *req)
{
    if (req->xml_out == NULL) {
        hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
        for (int kind = 0; kind < HB_TOPO_KINDS; kind++) {
            hwloc_topology_set_type_filter(t, types[kind],
                                           HWLOC_TYPE_FILTER_KEEP_ALL);
        }
        /* A NUMA node that is part of a package hangs below a group. */
        hwloc_topology_set_type_filter(t, HWLOC_OBJ_GROUP,
                                       HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    }
    if (req->devices) {
        hwloc_topology_set_io_types_filter(t,
                                           HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    }
    hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                  "x86");
}

/* What hwloc's plug-ins cost, and libxml, is spared: see above. */
#define PLUGINS_OUT "HWLOC_PLUGINS_BLACKLIST"
#define PLUGIN_NAMES "hwloc_gl.so,hwloc_opencl.so,hwloc_cuda.so,"            \
    "hwloc_nvml.so,hwloc_rsmi.so,hwloc_levelzero.so,hwloc_xml_libxml.so"

/* hwloc is steered by variables, which are about what a user wants to see of
 * a machine, and not about where ranks may run. They are put back, because
 * the environment of this process becomes that of the ranks. */
static const char *const variables[] = {
    PLUGINS_OUT, "HWLOC_COMPONENTS", "HWLOC_XMLFILE", "HWLOC_SYNTHETIC",
    "HWLOC_THISSYSTEM",
};
#define N_VARIABLES (sizeof(variables) / sizeof(variables[0]))

static void hide_variables(char *saved[N_VARIABLES])
{
    for (size_t i = 0; i < N_VARIABLES; i++) {
        const char *v = getenv(variables[i]);
        saved[i] = v != NULL ? hb_xstrdup(v) : NULL;
        unsetenv(variables[i]);
    }
    setenv(PLUGINS_OUT, PLUGIN_NAMES, 1);
}

static void restore_variables(char *saved[N_VARIABLES])
{
    unsetenv(PLUGINS_OUT);
    for (size_t i = 0; i < N_VARIABLES; i++) {
        if (saved[i] != NULL) {
            setenv(variables[i], saved[i], 1);
        }
        free(saved[i]);
    }
}

static int open_topology(const struct hb_topo_request *req,
                         hwloc_topology_t *out, struct hpcboot_error *err)
{
    hwloc_topology_t t = NULL;
    int rc;

    if (hwloc_topology_init(&t) != 0) {
        return hb_fail(err, HPCBOOT_ERR_NOMEM, "hwloc does not start");
    }
    set_filters(t, req);
    rc = set_source(t, req->source, err);
    if (rc >= 0 && hwloc_topology_load(t) != 0) {
        rc = hb_fail(err, HPCBOOT_ERR_PARSE,
                     "hwloc cannot read the topology of %s",
                     req->source != NULL ? req->source : "this host");
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

/* Of the objects that cover a processing unit, the smallest is its own, and of
 * equal ones the first. So what is left of an object around others may be two
 * spans. */
static void take_level(hwloc_topology_t t, enum hb_topo_kind kind,
                       struct hb_topo *out)
{
    int n = hwloc_get_nbobjs_by_type(t, types[kind]);
    struct hb_topo_level *level = &out->level[kind];
    struct hb_topo_span *all, *own = NULL, **owner;

    if (n <= 0) {
        return;
    }
    all = hb_xcalloc((size_t)n, sizeof(*all));
    owner = hb_xcalloc(out->n_pus, sizeof(*owner));
    for (unsigned i = 0; i < (unsigned)n; i++) {
        all[i] = span_of(out, hwloc_get_obj_by_type(t, types[kind], i));
        for (uint32_t k = all[i].first; k < all[i].first + all[i].n; k++) {
            owner[k] = owner[k] == NULL || all[i].n < owner[k]->n ? &all[i]
                                                                  : owner[k];
        }
    }
    level->v = hb_xcalloc(out->n_pus, sizeof(*level->v));
    for (uint32_t k = 0; k < out->n_pus; k++) {
        if (owner[k] != NULL && owner[k] != own) {
            level->v[level->n++] = (struct hb_topo_span){
                .first = k, .os_index = owner[k]->os_index};
        }
        own = owner[k];
        if (own != NULL) {
            level->v[level->n - 1].n++;
        }
    }
    free(owner);
    free(all);
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

/* The processing units next to a device; all of them when that is unknown or
 * none of its own may be used. */
static struct hb_topo_span span_near(hwloc_topology_t t, hwloc_obj_t obj,
                                     const struct hb_topo *topo)
{
    hwloc_obj_t parent = hwloc_get_non_io_ancestor_obj(t, obj);
    struct hb_topo_span s = {0, 0, UINT32_MAX};

    if (parent != NULL && parent->cpuset != NULL) {
        s = span_of(topo, parent);
    }
    if (s.n == 0) {
        s.first = 0;
        s.n = topo->n_pus;
    }
    s.os_index = UINT32_MAX;
    return s;
}

static hwloc_obj_t pci_of(hwloc_obj_t obj)
{
    while (obj != NULL && obj->type != HWLOC_OBJ_PCI_DEVICE) {
        obj = obj->parent;
    }
    return obj;
}

static void add_device(hwloc_topology_t t, hwloc_obj_t obj, const char *name,
                       const struct hb_topo *topo, struct hb_topo_devices *d)
{
    hwloc_obj_t pci = pci_of(obj);
    struct hb_topo_device v = {.near = span_near(t, obj, topo)};

    if (pci != NULL) {
        snprintf(v.pci, sizeof(v.pci), "%04x:%02x:%02x.%x",
                 (unsigned)pci->attr->pcidev.domain & 0xffffffffu,
                 (unsigned)pci->attr->pcidev.bus,
                 (unsigned)pci->attr->pcidev.dev,
                 (unsigned)pci->attr->pcidev.func);
        v.vendor = pci->attr->pcidev.vendor_id;
    }
    snprintf(v.name, sizeof(v.name), "%s", name != NULL ? name : v.pci);
    d->v = hb_xrealloc(d->v, (d->n + 1) * sizeof(*d->v));
    d->v[d->n++] = v;
}

static int by_pci(const void *va, const void *vb)
{
    const struct hb_topo_device *a = va, *b = vb;
    int order = strcmp(a->pci, b->pci);

    return order != 0 ? order : strcmp(a->name, b->name);
}

/* Display controllers (class 03xx) of those who make GPUs for computing, and
 * processing accelerators (12xx); not the text console of a server. */
static int is_gpu(const struct hwloc_pcidev_attr_s *pci)
{
    unsigned class = pci->class_id >> 8;
    int maker = pci->vendor_id == HB_PCI_NVIDIA ||
                pci->vendor_id == HB_PCI_AMD || pci->vendor_id == HB_PCI_INTEL;

    return maker && (class == 0x03 || class == 0x12);
}

static void take_devices(hwloc_topology_t t, struct hb_topo *out)
{
    hwloc_obj_t obj = NULL;

    while ((obj = hwloc_get_next_pcidev(t, obj)) != NULL) {
        if (is_gpu(&obj->attr->pcidev)) {
            add_device(t, obj, NULL, out, &out->device[HB_TOPO_GPU]);
        }
    }
    while ((obj = hwloc_get_next_osdev(t, obj)) != NULL) {
        if (obj->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS) {
            add_device(t, obj, obj->name, out, &out->device[HB_TOPO_NIC]);
        }
    }
    for (int kind = 0; kind < HB_TOPO_DEVICE_KINDS; kind++) {
        if (out->device[kind].n > 1) {
            qsort(out->device[kind].v, out->device[kind].n,
                  sizeof(*out->device[kind].v), by_pci);
        }
    }
}

/* Restricting comes last: it changes what the reading above relies on. */
static int take_xml(hwloc_topology_t t, const struct hb_cpus *allowed,
                    char **out, struct hpcboot_error *err)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    char *text = NULL;
    int len = 0, rc = HPCBOOT_OK;

    for (unsigned i = 0; allowed != NULL && i < HB_MAX_CPUS; i++) {
        if (hb_cpus_has(allowed, i)) {
            hwloc_bitmap_set(set, i);
        }
    }
    if ((allowed != NULL && hwloc_topology_restrict(t, set, 0) != 0) ||
        hwloc_topology_export_xmlbuffer(t, &text, &len, 0) != 0) {
        rc = hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                           "hwloc cannot write the topology as XML");
    } else {
        *out = hb_xstrdup(text);
        hwloc_free_xmlbuffer(t, text);
    }
    hwloc_bitmap_free(set);
    return rc;
}

static int load(const struct hb_topo_request *req, struct hb_topo *out,
                struct hpcboot_error *err)
{
    hwloc_topology_t t = NULL;
    char *saved[N_VARIABLES];
    int rc;

    hide_variables(saved);
    rc = open_topology(req, &t, err);
    restore_variables(saved);
    if (rc < 0) {
        return rc;
    }
    take_pus(t, req->allowed, out);
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
        if (req->devices) {
            take_devices(t, out);
        }
    }
    if (rc >= 0 && req->xml_out != NULL) {
        rc = take_xml(t, req->allowed, req->xml_out, err);
    }
    hwloc_topology_destroy(t);
    return rc;
}

extern const struct hb_topo_source hb_hwloc_source;
const struct hb_topo_source hb_hwloc_source = {.load = load};
