/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TRUST_HASH_H
#define HB_TRUST_HASH_H

#include "lib/trust/knownhosts.h"

/* What needs libcrypto. It is linked by the modules that have that library, not
 * by programs, whose start it would slow down. */
int hb_hmac_sha1(const unsigned char *key, size_t key_len, const char *text,
                 size_t len, unsigned char out[HB_SHA1_BYTES]);

#endif
