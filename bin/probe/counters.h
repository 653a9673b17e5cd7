/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROBE_COUNTERS_H
#define HB_PROBE_COUNTERS_H

#include <stdint.h>

#include "lib/base/str.h"

/* What the kernel has counted of this network namespace and of the RDMA
 * devices that are seen here: sent, and sent again. */
struct counters {
    uint64_t segments, repeated, packets, lost;
};
void counters_read(struct counters *out);
/* What came on top since `before`, as lines. */
void counters_report(const struct counters *before, struct hb_str *report);

#endif
