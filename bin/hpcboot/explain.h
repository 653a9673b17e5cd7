/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOT_EXPLAIN_H
#define HB_HPCBOOT_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/coll/coll.h"

/* What hpcboot explain is asked. */
struct explain_question {
    enum hpcboot_coll coll;
    uint64_t bytes, ranks, cpus; /* ranks: of a host */
    bool alloc;
    /* Of several hosts. */
    uint64_t nodes;              /* 1: the choice on one host is asked for */
    const char *network;         /* NULL: what this host has */
    uint64_t mbps;               /* 0: as this host's */
    bool pods, typical;
};

/* Prints what is asked about, up to where it runs. */
void explain_subject(const struct explain_question *q);

/* explain_net.c: prints the choice between hosts. */
int explain_between_hosts(const struct explain_question *q,
                          struct hpcboot_error *err);

#endif
