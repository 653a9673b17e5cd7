/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_RANKS_HERE_H
#define HB_HPCBOOT_RANKS_HERE_H

#include <stddef.h>
#include <stdint.h>

/* A process that belongs to a rank of a job, as /proc shows it. */
struct hb_rank_process {
    uint32_t job;        /* names it: a digest of what its ranks have in
                          * common; never 0 */
    uint32_t rank, size; /* size 0: not known */
    int pid, ppid;
    char state;          /* as ps shows it */
    uint64_t starttime;  /* in ticks since boot */
    uint64_t ticks;      /* of CPU time, user and system */
};

/* The processes of ranks of this user on this host, in the order of /proc, but
 * for those of this command's own job; free() *out. */
size_t hb_ranks_here(struct hb_rank_process **out);

/* Reads /proc/PID/FILE, if it has at most so many bytes; free() *out. 0 or an
 * error. */
int hb_process_read(int pid, const char *file, size_t most, char **out,
                    size_t *len);
/* The words of its command line, each with its NUL, as far as they fit; returns
 * how many bytes, without the last NUL. 0: it has none, or is gone. */
#define HB_PROCESS_WORDS_MAX 8192 /* a path, and more than is shown */
size_t hb_process_words(int pid, char out[HB_PROCESS_WORDS_MAX]);
/* CPU time so far, in ticks; 0 when it is gone. */
uint64_t hb_process_ticks(int pid);
/* Clock ticks used within so many seconds, as percent of one CPU. */
unsigned hb_percent_of_cpu(uint64_t ticks, double seconds);

#endif
