/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_PROBE_PAIR_H
#define HB_PROBE_PAIR_H

#include <stdint.h>

#include "lib/base/str.h"

struct pair_plan {
    uint32_t bytes; /* of a large message */
    uint32_t count; /* large messages in each direction */
};

/* Meets a peer by messages of libhpcboot, while the peer does the same, and
 * adds the lines about it. Takes at most some seconds. `round` keeps messages
 * of different rounds apart. -1: messages are left under way, and the library
 * cannot be finalised. */
int pair_meet(const struct pair_plan *plan, int round, int peer,
              struct hb_str *report);

#endif
