/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROBE_RELAY_H
#define HB_PROBE_RELAY_H

#include <stddef.h>

/* What a probe says to the launcher, by way of its agent: frames on standard
 * output, and the answers on standard input. */
struct relay {
    int in, out;
    int size; /* probes */
};

/* For hpcboot_init_with: arg is a struct relay. */
int relay_allgather(void *arg, const void *send, void *recv,
                    size_t size_bytes);
/* 0, or -1: the agent is gone. */
int relay_report(struct relay *r, const char *text, size_t len);

#endif
