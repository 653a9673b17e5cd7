/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_TRUST_DERIVE_H
#define HB_TRUST_DERIVE_H

#include "lib/base/buf.h"
#include "lib/base/error.h"
#include "lib/trust/secret.h"

/* What is made of a gang's secret (gangkey.h) or of a job's session key, byte
 * for byte as hpcboot-protocol(7) has it. Needs libcrypto, and so belongs to
 * the modules that have it. */
#define HB_ED25519_BYTES 32
#define HB_ED25519_BLOB_BYTES 51 /* as SSH writes the public key */
#define HB_PROOF_BYTES 32
#define HB_NONCE_BYTES 32
#define HB_SESSION_KEY_BYTES 32

struct hb_ed25519 {
    unsigned char seed[HB_ED25519_BYTES]; /* RFC 8032's private key */
    unsigned char pub[HB_ED25519_BYTES];
};

int hb_hmac_sha256(const void *key, size_t key_len, const void *data,
                   size_t len, unsigned char out[32]);

/* All: 1 done, 0 libcrypto refused. */
int hb_ed25519_generate(struct hb_ed25519 *key);
int hb_derive_host_key(const struct hb_secret *gang, const char *label,
                       struct hb_ed25519 *out);
int hb_derive_session_login(const struct hb_secret *session,
                            struct hb_ed25519 *out);
int hb_gang_proof(const struct hb_secret *gang, struct hb_bytes nonce,
                  const char *token, struct hb_bytes host_key,
                  unsigned char out[HB_PROOF_BYTES]);

void hb_ed25519_blob(const struct hb_ed25519 *key,
                     unsigned char out[HB_ED25519_BLOB_BYTES]);
/* "ssh-ed25519 AAAA..." without a line end; free() it. */
char *hb_ed25519_public_text(const struct hb_ed25519 *key);
/* An OpenSSH private key file; wipe and free with hb_key_text_free. */
char *hb_ed25519_private_text(const struct hb_ed25519 *key,
                              const char *comment);

/* The same for a process that is linked without libcrypto, from a module. */
struct hb_trust_ops {
    int (*host_key)(const struct hb_secret *gang, const char *label,
                    struct hb_ed25519 *out);
    int (*generate)(struct hb_ed25519 *key);
    int (*proof)(const struct hb_secret *gang, struct hb_bytes nonce,
                 const char *token, struct hb_bytes host_key,
                 unsigned char out[HB_PROOF_BYTES]);
    char *(*public_text)(const struct hb_ed25519 *key);
    char *(*private_text)(const struct hb_ed25519 *key, const char *comment);
    int (*hmac_sha256)(const void *key, size_t key_len, const void *data,
                       size_t len, unsigned char out[32]);
};
#define HB_TRUST_MODULE "hb_trust"
#define HB_TRUST_SYMBOL "hb_trust_ops"

#endif
