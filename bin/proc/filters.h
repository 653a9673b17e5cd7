/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_FILTERS_H
#define HB_PROC_FILTERS_H

#include <stdint.h>
#include <sys/types.h>

/* Filters that outlive the processes that write into them: a rank's
 * `exec > >(tee log)`, `> >(sort | gzip)`. They hold the rest of its output,
 * and end by themselves, as their input has ended. To be found below the
 * calling process, which is a subreaper: its children of the same session (a
 * daemon has one of its own) that it has not made the first of a process group
 * (those are ranks), whose standard input is a pipe, but none of ranks, or
 * closed, or which are ending just now, and what is below them. */
#define HB_FILTERS_MAX 256 /* more are not seen */

struct hb_filters {
    pid_t pid[HB_FILTERS_MAX];
    int n;        /* that are alive */
    int runs;     /* how many compute, or wait for a disk, at this moment */
    uint64_t cpu; /* clock ticks that they have computed so far */
};

/* but: by which the ranks themselves read their standard input; what they leave
 * behind may have it, too. Without /proc there are none. */
struct hb_pipes {
    ino_t *v; /* free it in the end */
    size_t n;
};
void hb_pipes_add(struct hb_pipes *p, int fd);
void hb_filters_find(struct hb_filters *out, const struct hb_pipes *but);
int hb_filters_has(const struct hb_filters *f, pid_t pid);

#endif
