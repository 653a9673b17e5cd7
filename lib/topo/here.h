/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_HERE_H
#define HB_TOPO_HERE_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/topo/topo.h"

/* This very host, looked at once: its topology cut down to what may be used,
 * and the same as XML for others. Start from zeros. */
struct hb_here {
    struct hb_topo *topo; /* NULL until it was loaded */
    char *xml;            /* as hwloc writes it */
    int from_cache;
    uint32_t us;          /* microseconds that loading took */
};

/* Loads it, unless it has been. A description that an earlier job left is
 * used when it is of the same boot, control group, and set of CPUs: hwloc
 * takes up to 40 ms, the cache none. It lies in a private directory in
 * /dev/shm, or where HPCBOOT_TOPO_CACHE names one; "off" there: nowhere. GPUs
 * that the container was not given are left out. */
int hb_here_load(struct hb_here *here, struct hpcboot_error *err);
void hb_here_clear(struct hb_here *here); /* leaves it empty */

#endif
