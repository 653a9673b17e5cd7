/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef NATIVE_AGENT_H
#define NATIVE_AGENT_H

/* An agent of hbrun as its rank sees it: a process of its own that answers
 * one rank, and does as badly as it is told. The rank is this process, whose
 * environment is set for it. */

#include <stdint.h>
#include <sys/types.h>

struct native_agent {
    uint32_t n_ranks, n_nodes; /* as many on each; this is rank 0 */
    /* Answers of fences, one after the other: 0 complete, 1 when it is
     * withdrawn, 2 never but before the answer to the next question; NULL:
     * all are complete. */
    const char *fences;

    /* filled by start */
    pid_t pid;
    int fd; /* the rank's end */
};

void native_agent_start(struct native_agent *a);
void native_agent_stop(struct native_agent *a);

#endif
