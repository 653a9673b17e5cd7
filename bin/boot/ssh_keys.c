/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Key files, read by libssh: every form and kind it can log in with. */
#include "config.h"

#include "bin/boot/keys.h"
#include "bin/boot/ssh_keys.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/buf.h"
#include "lib/base/str.h"
#include "lib/trust/base64.h"
#include "lib/trust/gangkey.h"

#define RSA_MIN_BITS 1024 /* of libssh and OpenSSH */

static const char *type_of(const ssh_key key)
{
    const char *ecdsa = ssh_pki_key_ecdsa_name(key);

    return ecdsa && hb_starts_with(ecdsa, "ecdsa")
        ? ecdsa : ssh_key_type_to_char(ssh_key_type(key));
}

/* Whether the file only stands for a key that a device holds (FIDO). */
static int is_of_device(const char *pem)
{
    static const char *const names[] = {"sk-ssh-ed25519@openssh.com",
                                        "sk-ecdsa-sha2-nistp256@openssh.com"};
    struct hb_key_sniff plain = {0};
    struct hb_secret body = {0};
    int yes = 0;

    if (hb_gang_secret(pem, &plain, "", &body, NULL) == HPCBOOT_OK) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            yes |= memmem(body.data, body.len, names[i], strlen(names[i]))
                != NULL;
        }
    }
    hb_secret_free(&body);
    return yes;
}

/* A view of a public key's bytes, behind the name of its kind; free() what is
 * returned when done with it. */
static unsigned char *open_blob(const char *blob, struct hb_buf *view)
{
    unsigned char *bytes = hb_xmalloc(HB_BASE64_ROOM(strlen(blob)));
    long n = hb_base64_decode(blob, strlen(blob), bytes);

    hb_buf_view(view, bytes, n > 0 ? (size_t)n : 0);
    (void)hb_buf_get_blob(view, (size_t)(n > 0 ? n : 0));
    return bytes;
}

/* A certificate has a number behind its kind, and then what the key has. */
int hb_ssh_cert_is_of(const ssh_key cert, const ssh_key key)
{
    unsigned char *cert_bytes, *key_bytes;
    char *cert_blob = NULL, *key_blob = NULL;
    struct hb_buf c, k;
    int yes;

    if (ssh_pki_export_pubkey_base64(cert, &cert_blob) != SSH_OK
        || ssh_pki_export_pubkey_base64(key, &key_blob) != SSH_OK) {
        ssh_string_free_char(cert_blob);
        return 0;
    }
    cert_bytes = open_blob(cert_blob, &c);
    key_bytes = open_blob(key_blob, &k);
    (void)hb_buf_get_blob(&c, hb_buf_left(&c));
    yes = hb_buf_left(&k) > 0 && hb_buf_left(&c) >= hb_buf_left(&k)
        && memcmp(hb_buf_next(&c), hb_buf_next(&k), hb_buf_left(&k)) == 0;
    free(cert_bytes);
    free(key_bytes);
    ssh_string_free_char(cert_blob);
    ssh_string_free_char(key_blob);
    return yes;
}

/* The bits of an RSA key's modulus, which follows its exponent. */
static size_t rsa_bits(const char *blob)
{
    struct hb_buf view;
    unsigned char *bytes = open_blob(blob, &view);
    const unsigned char *first;
    struct hb_bytes modulus;
    size_t bits;

    (void)hb_buf_get_blob(&view, view.len);
    modulus = hb_buf_get_blob(&view, view.len);
    first = modulus.data;
    bits = 8 * modulus.len;
    /* A zero in front keeps it from being taken for a negative number. */
    if (modulus.len > 0 && first[0] == 0) {
        bits -= 8;
    }
    free(bytes);
    return bits;
}

/* What keeps a key that was read from being of use; NULL: nothing does. */
static const char *useless(const ssh_key key, const char *blob)
{
    if (ssh_key_type(key) == SSH_KEYTYPE_DSS) {
        return "a DSA key, which no server takes any more";
    }
    if (ssh_key_type(key) == SSH_KEYTYPE_RSA
        && rsa_bits(blob) < RSA_MIN_BITS) {
        return "an RSA key of less than 1024 bits, which no server takes any "
               "more";
    }
    return NULL;
}

/* libssh reads an Ed25519 key in PKCS#8, and can do nothing with it; OpenSSH
 * does not read it either. */
int hb_ssh_key_import(const char *pem, ssh_key *out, const char **why_out)
{
    const char *why = "not a key that can be read";
    char *blob = NULL;

    *out = NULL;
    if (is_of_device(pem)) {
        why = "its secret is in a FIDO device (add it to ssh-agent)";
    } else if (ssh_pki_import_privkey_base64(pem, NULL, NULL, NULL, out)
                   == SSH_OK
               && ssh_pki_export_pubkey_base64(*out, &blob) == SSH_OK) {
        why = useless(*out, blob);
    }
    ssh_string_free_char(blob);
    if (why) {
        ssh_key_free(*out);
        *out = NULL;
        *why_out = why;
    }
    return why == NULL;
}

typedef int (*import_fn)(const char *path, ssh_key *key);

static void add_public(struct hb_strv *out, import_fn import, const char *path)
{
    ssh_key key = NULL;
    char *blob = NULL;

    if (import(path, &key) == SSH_OK
        && ssh_pki_export_pubkey_base64(key, &blob) == SSH_OK) {
        hb_strv_push(out, blob);
    }
    ssh_string_free_char(blob);
    ssh_key_free(key);
}

void hb_ssh_keys_public(const struct hb_strv *files,
                        const struct hb_strv *certificates,
                        struct hb_strv *out)
{
    for (size_t i = 0; i < files->n; i++) {
        char *beside = hb_xasprintf("%s.pub", files->v[i]);
        char *cert = hb_xasprintf("%s-cert.pub", files->v[i]);

        add_public(out, ssh_pki_import_pubkey_file, files->v[i]);
        add_public(out, ssh_pki_import_pubkey_file, beside);
        add_public(out, ssh_pki_import_cert_file, cert);
        free(beside);
        free(cert);
    }
    for (size_t i = 0; i < certificates->n; i++) {
        add_public(out, ssh_pki_import_cert_file, certificates->v[i]);
    }
}

static char *public_text(const char *pem, const char **why_out)
{
    ssh_key key = NULL;
    char *blob = NULL, *text = NULL;

    if (hb_ssh_key_import(pem, &key, why_out)
        && ssh_pki_export_pubkey_base64(key, &blob) == SSH_OK) {
        text = hb_xasprintf("%s %s", type_of(key), blob);
    }
    ssh_string_free_char(blob);
    ssh_key_free(key);
    return text;
}

extern const struct hb_key_ops hb_key_ops;
const struct hb_key_ops hb_key_ops = {.public_text = public_text};
