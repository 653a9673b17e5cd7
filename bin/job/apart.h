/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_JOB_APART_H
#define HB_JOB_APART_H

#include <stddef.h>
#include <stdint.h>

/* Decides which hosts are given up where some do not reach each other, though
 * the launcher reaches all: so many that those that are left reach each other.
 * No I/O.
 *
 * The first to go is the host that is cut off from most others, so that one
 * host alone is lost where many complain of it. Among equals it is the one that
 * more hosts complain of, then one that is not the launcher's own, then the
 * last. */
struct hb_apart { /* ranks on `by` have lost ranks on `from` */
    uint32_t by, from;
};

/* v[n], n > 0, of hosts below n_hosts; own: that of the launcher, or n_hosts.
 * The same pair may be there more than once; v is put into another order. */
uint32_t hb_apart_worst(struct hb_apart *v, size_t n, uint32_t n_hosts,
                        uint32_t own);

#endif
