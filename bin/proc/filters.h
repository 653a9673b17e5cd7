/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_FILTERS_H
#define HB_PROC_FILTERS_H

#include <stdint.h>
#include <sys/types.h>

/* Filters of what a rank writes: `exec > >(tee log)`, `> >(sort | gzip)`. They
 * are of its process group, and not meant by its signals. They outlive it, hold
 * the rest of its output, and end by themselves, as their input has ended. */
#define HB_FILTERS_MAX 256 /* more are not seen */

struct hb_filters {
    pid_t pid[HB_FILTERS_MAX];
    int n;        /* that are alive */
    int runs;     /* how many compute, or wait for a disk, at this moment */
    uint64_t cpu; /* clock ticks that they have computed so far */
};

struct hb_pipes {
    ino_t *v; /* free it in the end */
    size_t n;
};
void hb_pipes_add(struct hb_pipes *p, int fd);
/* Those that have outlived their ranks, below the calling process, which is a
 * subreaper: its children of the same session (a daemon has one of its own)
 * that it has not made the first of a process group (those are ranks), whose
 * standard input is a pipe, or closed, or which are ending just now, or have
 * been forked just now and hold a pipe to read from, and what is below them.
 * but: the pipes by which ranks themselves read their standard input; what they
 * leave behind may have it, too. Without /proc there are none. */
void hb_filters_find(struct hb_filters *out, const struct hb_pipes *but);
/* Adds those of a rank that runs: what is below the process and reads what one
 * above it writes, by another pipe than the rank's own two, and what is below
 * that. */
void hb_filters_add_of(struct hb_filters *out, pid_t rank, const int own[2]);
int hb_filters_has(const struct hb_filters *f, pid_t pid);

#endif
