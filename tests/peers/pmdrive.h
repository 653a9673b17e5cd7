/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef TESTS_PEERS_PMDRIVE_H
#define TESTS_PEERS_PMDRIVE_H

#include "bin/pm/pm.h"
#include "lib/wire/wire.h"

/* The smallest launcher around the process-management servers: one process
 * per simulated node, all on this host, and a hub between them. */
struct drive {
    enum hb_pm_family family;
    int flavour; /* enum hb_mpi_flavour */
    struct hb_jobmap *map;
    char **argv; /* the program */
};

/* One end of a stream between hub and node. */
struct conn {
    int fd;
    struct hb_buf in, out;
};
void conn_open(struct conn *c, int fd);
void conn_close(struct conn *c);
/* Reads and writes what is possible now; 0: the other side is gone. */
int conn_pump(struct conn *c);

/* The process of one node; never returns. */
void node_main(const struct drive *d, uint32_t node, int hub_fd)
    __attribute__((noreturn));

void die(const char *what) __attribute__((noreturn));

#endif
