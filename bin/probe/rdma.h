/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROBE_RDMA_H
#define HB_PROBE_RDMA_H

#include "lib/base/str.h"

/* The port and GID that were chosen for this host, tried with the peers' by
 * verbs. All do nothing where none was chosen. */
struct rdma;

/* Collective: tells the others the address. Never NULL. */
struct rdma *rdma_open(struct hb_str *report);
void rdma_meet(struct rdma *r, int peer, struct hb_str *report);
void rdma_close(struct rdma *r);

#endif
