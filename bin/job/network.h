/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_NETWORK_H
#define HB_JOB_NETWORK_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

/* How hosts are connected, as a file says it, and the order of hosts that
 * follows from it. Pure. The forms, told apart by their look:
 *
 *   SwitchName=s0 Nodes=n[01-16]      Slurm's topology.conf; BlockName, too
 *   n01 zone-a/rack-3/switch-1        labels, from far to near
 *   n01 0 12.5 40                     a measured matrix, a row for each host
 *
 * '#' begins a comment. */

/* order_out[n]: indices into names, neighbours side by side; of hosts that are
 * equally near the one that was named first comes first. Hosts that the file
 * does not know come last, and *unknown_out counts them. leaf_out[n] (may be
 * NULL): in that order, the same number for hosts behind one switch, or under
 * the labels that are the farthest down which any two share; 0: not known.
 * ERR_PARSE says file, line and column, and what was expected. */
int hb_network_order(const char *file, const char *text,
                     const char *const *names, uint32_t n,
                     uint32_t *order_out, uint32_t *leaf_out,
                     uint32_t *unknown_out,
                     struct hpcboot_error *err);

#endif
