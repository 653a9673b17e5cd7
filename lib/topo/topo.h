/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_TOPO_H
#define HB_TOPO_TOPO_H

#include <stdint.h>

#include "lib/base/buf.h"
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

/* Devices that ranks can be placed at, in the order of their PCI addresses,
 * in which the vendors' variables count them too, or in that of a list in such
 * a variable. */
enum hb_topo_device_kind { HB_TOPO_GPU, HB_TOPO_NIC, HB_TOPO_DEVICE_KINDS };

#define HB_TOPO_NAME_MAX 32
#define HB_PCI_NVIDIA 0x10deu
#define HB_PCI_AMD 0x1002u
#define HB_PCI_INTEL 0x8086u
struct hb_topo_device {
    char name[HB_TOPO_NAME_MAX]; /* "mlx5_0", or the PCI address */
    char pci[HB_TOPO_NAME_MAX];  /* "0000:1b:00.0" */
    uint32_t vendor;             /* PCI vendor; 0: not known */
    struct hb_topo_span near;    /* the processing units next to it */
    /* Not among the bytes: one more than its number in the list of its vendor's
     * variable; 0: there is none, and it has the number that it is counted. */
    uint32_t listed;
};

struct hb_topo_devices {
    struct hb_topo_device *v;
    uint32_t n;
    uint32_t hidden; /* so many of them by lists of names, which do not tell
                      * the number; not among the bytes either */
};

struct hb_topo {
    uint32_t n_pus;
    uint32_t *pu_os; /* [n_pus] the kernel's CPU numbers */
    struct hb_topo_level level[HB_TOPO_KINDS]; /* PU and CORE never empty */
    struct hb_topo_devices device[HB_TOPO_DEVICE_KINDS];
};

struct hb_topo_request {
    const char *source; /* NULL: this machine; "synthetic:DESCRIPTION" in
                         * hwloc's words; else an XML file as lstopo writes
                         * it */
    const struct hb_cpus *allowed; /* NULL: all of it */
    int devices;        /* also look for GPUs and NICs; takes longer */
    char **xml_out;     /* or NULL: the whole topology as XML for others,
                         * cut down to `allowed`; free() it */
};

/* ERR_UNSUPPORTED: hwloc is not there. Takes milliseconds. */
int hb_topo_load(const struct hb_topo_request *req, struct hb_topo **out,
                 struct hpcboot_error *err);
void hb_topo_destroy(struct hb_topo *topo);
/* The same machine without the CPUs that are not in `allowed`; ERR_UNSUPPORTED
 * when none is left. */
int hb_topo_restrict(const struct hb_topo *topo, const struct hb_cpus *allowed,
                     struct hb_topo **out, struct hpcboot_error *err);
/* Checks what a module or a peer handed over: bounds, order, no overlap. */
int hb_topo_check(const struct hb_topo *topo, struct hpcboot_error *err);
/* The object of a kind around a processing unit, or NULL. */
const struct hb_topo_span *hb_topo_around(const struct hb_topo *topo,
                                          enum hb_topo_kind kind, uint32_t pu);
const char *hb_topo_kind_name(enum hb_topo_kind kind); /* "core" */
const char *hb_topo_device_name(enum hb_topo_device_kind kind); /* "gpu" */

/* describe.c: a topology as bytes, for the way to the launcher and for a
 * cache; equal machines give equal bytes. decode checks all of it. */
#define HB_TOPO_BYTES_MAX (1u << 20)
void hb_topo_encode(const struct hb_topo *topo, struct hb_buf *out);
int hb_topo_decode(struct hb_topo **out, struct hb_buf *in,
                   struct hpcboot_error *err);
/* "2 packages, 2 numa, 16 cores, 32 hwthreads, 4 gpus"; free() it. */
char *hb_topo_words(const struct hb_topo *topo);

/* What the module hb_hwloc exports under the name hb_hwloc_source. */
struct hb_topo_source {
    int (*load)(const struct hb_topo_request *req, struct hb_topo *out,
                struct hpcboot_error *err);
};

#endif
