/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_XPORT_ADDRESS_H
#define HB_XPORT_ADDRESS_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "lib/base/buf.h"
#include "lib/xport/choose.h"

/* A rank's card, which all ranks of the job have: where it listens (a port, a
 * secret that callers show, and the addresses of its host that another host
 * may reach), and what carries its messages. */
#define HB_ADDRESS_TOKEN 16u
#define HB_ADDRESS_MOST 8u /* of one host; further ones are left out */

/* Where an address is: its network's prefix in bits, and the device, counted
 * from 1 on its host; 0: none that leads to another host. */
struct hb_network {
    uint8_t prefix, device;
    uint32_t mbps; /* 0: not known */
};

struct hb_interface {
    struct sockaddr_storage at, mask;
    struct hb_network net;
    int is_mute; /* a host was not reached there, and was by another one */
};

struct hb_interfaces {
    struct hb_interface list[HB_ADDRESS_MOST];
    unsigned n;
};

/* Those that are up, of a net device, or of all (NULL); link-local ones count
 * where there are no others, loopback comes last. Where there are too many,
 * those of bridges come behind the others. */
void hb_interfaces_read(const char *device, struct hb_interfaces *out);
int hb_interfaces_have(const struct hb_interfaces *ours,
                       const struct sockaddr_storage *at);

struct hb_endpoint {
    unsigned char token[HB_ADDRESS_TOKEN];
    struct sockaddr_storage at[HB_ADDRESS_MOST]; /* with the port */
    struct hb_network net[HB_ADDRESS_MOST];
    unsigned n;
    struct hb_caps caps; /* all 0: it does not say */
    struct hb_costs costs; /* the same */
};

void hb_endpoint_put(struct hb_buf *b, const struct hb_interfaces *ours,
                     uint16_t port, const unsigned char *token);
/* After hb_endpoint_put; may be left out. */
void hb_endpoint_put_caps(struct hb_buf *b, const struct hb_caps *caps);
void hb_endpoint_put_costs(struct hb_buf *b, const struct hb_costs *costs);
/* Those that share a subnet with one of ours come first, of these the fastest,
 * and where that subnet is mute, last; `ours` NULL: in the order of the card.
 * ERR_PROTOCOL. */
int hb_endpoint_get(struct hb_buf *b, const struct hb_interfaces *ours,
                    struct hb_endpoint *out);
/* The peer has answered at this of its addresses, and at none before it. */
void hb_endpoint_answered(const struct hb_endpoint *e, unsigned at,
                          struct hb_interfaces *ours);

/* A rail: a device at either end, in one network. */
#define HB_RAILS_MOST 4u
struct hb_rail {
    struct sockaddr_storage low, high; /* of the lower rank, the higher */
    uint32_t mbps;
};
/* The rails of two ranks, from their cards in their own order: the same at
 * both. Each device is of one rail. Returns how many. */
unsigned hb_rails_between(const struct hb_endpoint *low,
                          const struct hb_endpoint *high,
                          struct hb_rail out[HB_RAILS_MOST]);
socklen_t hb_sockaddr_len(const struct sockaddr_storage *a);
int hb_sockaddr_is_loopback(const struct sockaddr_storage *a);
void hb_sockaddr_clear_port(struct sockaddr_storage *a);
/* Whether both are the same address; ports and forms do not count. */
int hb_sockaddr_same(const struct sockaddr_storage *a,
                     const struct sockaddr_storage *b);
/* "10.0.0.3:4567", "[fd00::1]:4567" */
void hb_sockaddr_text(const struct sockaddr_storage *a, char *text,
                      size_t size);

#endif
