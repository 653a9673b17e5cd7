/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_NET_ADDR_H
#define HB_NET_ADDR_H

#include <stdint.h>

#include "lib/base/error.h"

/* Where a host is reached: a name or a literal address, and a port. */
#define HB_HOST_MAX 253u /* of a DNS name; the longest literal is shorter */

struct hb_addr {
    char host[HB_HOST_MAX + 1]; /* without brackets; a scope stays in it */
    uint16_t port;              /* 0: none was given */
    int is_ipv6;                /* host is a literal IPv6 address */
};

/* "host", "host:port", "10.0.0.1:22", "fe80::1%eth0", "[fe80::1%eth0]:22".
 * Several colons without brackets are an IPv6 address without a port. Nothing
 * is looked up. A host name never begins with '-', so that no command takes
 * it for an option. ERR_PARSE says what is wrong. */
int hb_addr_parse(const char *text, struct hb_addr *addr_out,
                  struct hpcboot_error *err);
/* What hb_addr_parse reads as the same address; free() it. */
char *hb_addr_format(const struct hb_addr *addr);

#endif
