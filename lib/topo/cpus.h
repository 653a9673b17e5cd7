/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TOPO_CPUS_H
#define HB_TOPO_CPUS_H

#include <sched.h>
#include <stddef.h>

#include "lib/base/error.h"

/* Twice the largest NR_CPUS of a Linux kernel. */
#define HB_MAX_CPUS 16384u

/* A set of CPUs by the kernel's numbers, of one size, so that it is copied
 * by assignment. `set` and its size go to sched_setaffinity as they are. */
struct hb_cpus {
    cpu_set_t set[HB_MAX_CPUS / CPU_SETSIZE];
};

void hb_cpus_zero(struct hb_cpus *c);
void hb_cpus_add(struct hb_cpus *c, unsigned cpu); /* beyond the end: ignored */
void hb_cpus_or(struct hb_cpus *c, const struct hb_cpus *other);
void hb_cpus_and(struct hb_cpus *c, const struct hb_cpus *other);
int hb_cpus_has(const struct hb_cpus *c, unsigned cpu);
/* The first one that is not below `from`; HB_MAX_CPUS: none. */
unsigned hb_cpus_next(const struct hb_cpus *c, unsigned from);
unsigned hb_cpus_count(const struct hb_cpus *c);
int hb_cpus_equal(const struct hb_cpus *a, const struct hb_cpus *b);

/* The kernel's list format, "0-3,8"; blanks around it and an empty list are
 * fine. ERR_PARSE says at which column what was expected. */
int hb_cpus_parse(const char *text, struct hb_cpus *out,
                  struct hpcboot_error *err);
/* The same format; free() it. "" for the empty set. */
char *hb_cpus_text(const struct hb_cpus *c);

#endif
