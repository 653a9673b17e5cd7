/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_RECIPE_WORKER_H
#define HB_RECIPE_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/str.h"

/* How a rank of an elastic Horovod job is told that others want to join it. It
 * listens for that, and puts where and under which key at the key-value server:
 * as Python's pickle, and it is told in the same. No I/O. */
#define HB_WORKER_KEY_BYTES 32

struct hb_worker {
    uint16_t port;
    unsigned char key[HB_WORKER_KEY_BYTES]; /* of an HMAC-SHA256 of each word */
};

/* What a rank put, out of base64. 0, or -1: it is something else. */
int hb_worker_read(struct hb_worker *out, const unsigned char *data,
                   size_t len);
/* "Hosts have been added", to be told at a time in seconds; of two that say
 * the same time the rank takes the first. */
void hb_worker_hosts_added(struct hb_str *out, int64_t when_s);

#endif
