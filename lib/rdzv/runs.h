/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RDZV_RUNS_H
#define HB_RDZV_RUNS_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/wire/wire.h"

/* The participants of a fence as FENCE_UP carries them: runs of node numbers,
 * each {first, count}. All nodes of a job, as usual, are one run; a list of
 * them in each of N contributions would be N * N numbers at the launcher. */

/* nodes[n] is sorted. Returns how many numbers *runs_out holds; free() it. */
uint32_t hb_runs_of_nodes(const uint32_t *nodes, uint32_t n,
                          uint32_t **runs_out);

/* The sorted list; free() it. ERR_PROTOCOL: runs that are empty, touch each
 * other, are out of order, or lead beyond HB_MAX_NODES. */
int hb_runs_to_nodes(const struct hb_wire_u32s *runs, uint32_t **nodes_out,
                     uint32_t *n_out, struct hpcboot_error *err);

#endif
