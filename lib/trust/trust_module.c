/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* The module hb_trust.so: keys and proofs for processes that are linked
 * without libcrypto and seldom need it. */
#include "config.h"

#include "lib/trust/derive.h"

extern const struct hb_trust_ops hb_trust_ops;
const struct hb_trust_ops hb_trust_ops = {
    .host_key = hb_derive_host_key,
    .generate = hb_ed25519_generate,
    .proof = hb_gang_proof,
    .public_text = hb_ed25519_public_text,
    .private_text = hb_ed25519_private_text,
    .hmac_sha256 = hb_hmac_sha256,
};
