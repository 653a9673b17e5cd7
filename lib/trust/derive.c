/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Keys and proofs from one secret. Each use has a salt of its own, so that
 * what is seen of one says nothing about another. */
#include "config.h"

#include "lib/trust/derive.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <string.h>

#include "lib/base/str.h"
#include "lib/trust/base64.h"

#define HOST_KEY_SALT "hpcboot host key 1"
#define PROOF_SALT "hpcboot gang proof 1"
#define SESSION_SALT "hpcboot session login 1"

#define TYPE "ssh-ed25519"
#define PEM_WIDTH 70    /* as ssh-keygen writes it */
#define CIPHER_BLOCK 8  /* what an unencrypted key file is padded to */
#define TEXT_MAX_BYTES 4096

int hb_hmac_sha256(const void *key, size_t key_len, const void *data,
                   size_t len, unsigned char out[32])
{
    unsigned int out_len = 32;

    return HMAC(EVP_sha256(), key, (int)key_len, data, len, out, &out_len)
        != NULL;
}

/* HKDF-SHA256 (RFC 5869) of one block. */
static int hkdf(const char *salt, const void *ikm, size_t ikm_len,
                const char *info, unsigned char out[32])
{
    unsigned char prk[32], text[256];
    size_t n = strlen(info);
    int ok;

    if (n >= sizeof text) {
        return 0;
    }
    memcpy(text, info, n);
    text[n] = 1; /* the number of the block */
    ok = hb_hmac_sha256(salt, strlen(salt), ikm, ikm_len, prk)
        && hb_hmac_sha256(prk, sizeof prk, text, n + 1, out);
    explicit_bzero(prk, sizeof prk);
    return ok;
}

static int from_seed(struct hb_ed25519 *key)
{
    size_t len = sizeof key->pub;
    EVP_PKEY *pkey = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL,
                                                  key->seed, sizeof key->seed);
    int ok = pkey && EVP_PKEY_get_raw_public_key(pkey, key->pub, &len) == 1;

    EVP_PKEY_free(pkey);
    return ok;
}

int hb_ed25519_generate(struct hb_ed25519 *key)
{
    return RAND_priv_bytes(key->seed, sizeof key->seed) == 1
        && from_seed(key);
}

int hb_derive_host_key(const struct hb_secret *gang, const char *label,
                       struct hb_ed25519 *out)
{
    return hkdf(HOST_KEY_SALT, gang->data, gang->len, label, out->seed)
        && from_seed(out);
}

int hb_derive_session_login(const struct hb_secret *session,
                            struct hb_ed25519 *out)
{
    return hkdf(SESSION_SALT, session->data, session->len, "", out->seed)
        && from_seed(out);
}

int hb_gang_proof(const struct hb_secret *gang, struct hb_bytes nonce,
                  const char *token, struct hb_bytes host_key,
                  unsigned char out[HB_PROOF_BYTES])
{
    unsigned char key[32];
    struct hb_buf text;
    int ok;

    hb_buf_init(&text, TEXT_MAX_BYTES);
    hb_buf_put_blob(&text, nonce.data, nonce.len);
    hb_buf_put_blob(&text, token, strlen(token));
    hb_buf_put_blob(&text, host_key.data, host_key.len);
    ok = !hb_buf_failed(&text)
        && hkdf(PROOF_SALT, gang->data, gang->len, "", key)
        && hb_hmac_sha256(key, sizeof key, text.data, text.len, out);
    explicit_bzero(key, sizeof key);
    hb_buf_destroy(&text);
    return ok;
}

static void put_public(struct hb_buf *b, const struct hb_ed25519 *key)
{
    hb_buf_put_blob(b, TYPE, strlen(TYPE));
    hb_buf_put_blob(b, key->pub, sizeof key->pub);
}

void hb_ed25519_blob(const struct hb_ed25519 *key,
                     unsigned char out[HB_ED25519_BLOB_BYTES])
{
    struct hb_buf b;

    hb_buf_init(&b, HB_ED25519_BLOB_BYTES);
    put_public(&b, key);
    memcpy(out, b.data, HB_ED25519_BLOB_BYTES);
    hb_buf_destroy(&b);
}

char *hb_ed25519_public_text(const struct hb_ed25519 *key)
{
    unsigned char blob[HB_ED25519_BLOB_BYTES];
    struct hb_str text = HB_STR_INIT;

    hb_ed25519_blob(key, blob);
    hb_str_put(&text, TYPE " ");
    hb_base64_encode(&text, blob, sizeof blob, 0);
    return hb_str_steal(&text);
}

/* The part that would be encrypted: a number twice, by which a wrong
 * passphrase is noticed, key, comment, padding 1 2 3 ... */
static void put_private(struct hb_buf *b, const struct hb_ed25519 *key,
                        const char *comment)
{
    unsigned char pair[2 * HB_ED25519_BYTES];

    memcpy(pair, key->seed, HB_ED25519_BYTES);
    memcpy(pair + HB_ED25519_BYTES, key->pub, HB_ED25519_BYTES);
    hb_buf_put_u32(b, 0);
    hb_buf_put_u32(b, 0);
    put_public(b, key);
    hb_buf_put_blob(b, pair, sizeof pair);
    hb_buf_put_blob(b, comment, strlen(comment));
    for (uint8_t i = 1; b->len % CIPHER_BLOCK != 0; i++) {
        hb_buf_put_u8(b, i);
    }
    explicit_bzero(pair, sizeof pair);
}

char *hb_ed25519_private_text(const struct hb_ed25519 *key,
                              const char *comment)
{
    static const char magic[] = "openssh-key-v1"; /* with its NUL */
    struct hb_buf part, all;
    struct hb_str text = HB_STR_INIT;

    hb_buf_init(&part, TEXT_MAX_BYTES);
    put_public(&part, key);
    hb_buf_init(&all, TEXT_MAX_BYTES);
    hb_buf_put_raw(&all, magic, sizeof magic);
    hb_buf_put_blob(&all, "none", strlen("none")); /* cipher */
    hb_buf_put_blob(&all, "none", strlen("none")); /* key derivation */
    hb_buf_put_blob(&all, "", 0);
    hb_buf_put_u32(&all, 1); /* keys */
    hb_buf_put_blob(&all, part.data, part.len);
    hb_buf_clear(&part);
    put_private(&part, key, comment);
    hb_buf_put_blob(&all, part.data, part.len);
    hb_str_put(&text, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
    hb_base64_encode(&text, all.data, all.len, PEM_WIDTH);
    hb_str_put(&text, "-----END OPENSSH PRIVATE KEY-----\n");
    explicit_bzero(part.data, part.len);
    explicit_bzero(all.data, all.len);
    hb_buf_destroy(&part);
    hb_buf_destroy(&all);
    return hb_str_steal(&text);
}
