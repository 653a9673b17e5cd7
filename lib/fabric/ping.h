/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_FABRIC_PING_H
#define HB_FABRIC_PING_H

#include <stdint.h>

#include "lib/base/error.h"

/* Does a port reach another one by verbs? One GID of one port on each side; a
 * handle for the other's address, a datagram there and back (UD), and a
 * message of several packets over a connection (RC). */
struct hb_ping;

enum hb_ping_step { HB_PING_AH, HB_PING_UD, HB_PING_RC, HB_PING_STEPS };

struct hb_ping_address { /* plain bytes between machines of one order */
    uint8_t gid[16];
    uint32_t ud_qpn, rc_qpn, lid, mtu;
};

#define HB_PING_TEXT_MAX 240u
struct hb_ping_result {
    uint64_t ns[HB_PING_STEPS]; /* there and back; of a follower 1: it went
                                 * well; 0: not tried */
    char failed[HB_PING_STEPS][HB_PING_TEXT_MAX]; /* "": it did not fail */
};

/* The module hb_verbs exports this under the name hb_verbs_ping. */
struct hb_ping_ops {
    /* partition: 0: the first that the port is a full member of.
     * ERR_NOT_FOUND, ERR_UNSUPPORTED, ERR_NOMEM (memlock). */
    int (*open)(struct hb_ping **out, const char *device, uint32_t port,
                uint32_t gid_index, uint32_t partition,
                struct hpcboot_error *err);
    void (*address)(const struct hb_ping *p, struct hb_ping_address *out);
    /* Both sides call it at about the same time, one of them leads. Takes at
     * most some seconds. */
    void (*meet)(struct hb_ping *p, const struct hb_ping_address *peer,
                 int leads, struct hb_ping_result *out);
    void (*destroy)(struct hb_ping *p); /* NULL-safe */
};

#endif
