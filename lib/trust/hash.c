/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Hashes, by libcrypto. */
#include "config.h"

#include "lib/trust/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

int hb_hmac_sha1(const unsigned char *key, size_t key_len, const char *text,
                 size_t len, unsigned char out[HB_SHA1_BYTES])
{
    unsigned int out_len = HB_SHA1_BYTES;

    return HMAC(EVP_sha1(), key, (int)key_len, (const unsigned char *)text,
                len, out, &out_len) != NULL;
}
