/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef SCHED_DATA_H
#define SCHED_DATA_H

/* The memory of a simulated rank, and what must be in it in the end; of calls
 * in place, which are allreduce and scans here, one is both. Elements
 * of four bytes are added; those of eight are maps x -> a x + b, which do not
 * commute. */

#include "lib/coll/sched.h"

struct sched_data {
    char *mem[HB_MEMS];
    size_t size[HB_MEMS], esize;
};

void sched_data_make(struct sched_data *d, const struct hb_call *c, int size,
                     int rank, size_t room);
void sched_data_free(struct sched_data *d);
char *sched_data_get(const struct sched_data *d, struct hb_at at,
                     size_t bytes);
void sched_data_put(struct sched_data *d, struct hb_at at, const char *bytes,
                    size_t n);
/* A step that touches this rank's memory alone. */
void sched_data_do(struct sched_data *d, const struct hb_step *s);
bool sched_data_right(const struct sched_data *d, const struct hb_call *c,
                      int size, int rank);

#endif
