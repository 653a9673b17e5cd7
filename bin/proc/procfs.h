/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROC_PROCFS_H
#define HB_PROC_PROCFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One process as /proc/PID/stat has it. */
struct hb_procfs_stat {
    pid_t pid, ppid, pgrp, session;
    char state;         /* of its first thread: 'R', 'S', 'Z', ... */
    int threads;        /* a 'Z' with more than one is alive all the same */
    int exits;          /* it has begun to end, and may have closed its files */
    int is_copy;        /* it was forked, and has executed no program since */
    uint64_t cpu;       /* clock ticks it has computed, in the kernel, too */
    uint64_t starttime; /* with pid, the identity of a process */
};

/* Parses the text of a stat file; 0 or -1. Whatever a process calls itself,
 * its name cannot be mistaken for the fields that follow. */
int hb_procfs_parse_stat(const char *text, size_t len,
                         struct hb_procfs_stat *out);
/* Reads PROC/PID/stat (proc: usually "/proc"); 0 or -1 when the process is
 * gone. */
int hb_procfs_read_stat(const char *proc, pid_t pid,
                        struct hb_procfs_stat *out);

#endif
