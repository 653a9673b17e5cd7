/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOTD_TCPLINKS_H
#define HB_HPCBOOTD_TCPLINKS_H

#include <netinet/in.h>
#include <stdint.h>

/* The TCP sockets of this network namespace, whosever they are. */

/* One end of a connection; IPv4 as IPv6 has it. To be compared by its bytes. */
struct tcp_end {
    struct in6_addr address;
    uint16_t port, pad;
};

struct tcp_link {
    struct tcp_end local, remote;
    uint64_t cookie; /* of this socket, closed or not; 0: unknown */
    int listens;
};

/* 0, or -1 where `text` is no address. */
int tcp_end_parse(const char *text, uint16_t port, struct tcp_end *out);

typedef void (*tcp_link_visit)(const struct tcp_link *l, void *arg);

/* Calls `each` for all there are; where the kernel does not tell, for none. */
void tcp_links(tcp_link_visit each, void *arg);

#endif
