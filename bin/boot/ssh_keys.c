/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* Key files, read by libssh: every form and kind it can log in with. */
#include "config.h"

#include "bin/boot/keys.h"
#include "bin/boot/ssh_keys.h"

#include <string.h>

#include "lib/base/str.h"

static const char *type_of(const ssh_key key)
{
    const char *ecdsa = ssh_pki_key_ecdsa_name(key);

    return ecdsa && hb_starts_with(ecdsa, "ecdsa")
        ? ecdsa : ssh_key_type_to_char(ssh_key_type(key));
}

/* libssh reads an Ed25519 key in PKCS#8, and can do nothing with it; OpenSSH
 * does not read it either. */
int hb_ssh_key_import(const char *pem, ssh_key *out)
{
    char *blob = NULL;
    int ok = ssh_pki_import_privkey_base64(pem, NULL, NULL, NULL, out)
                 == SSH_OK;

    if (ok && ssh_pki_export_pubkey_base64(*out, &blob) != SSH_OK) {
        ssh_key_free(*out);
        *out = NULL;
        ok = 0;
    }
    ssh_string_free_char(blob);
    return ok;
}

static char *public_text(const char *pem)
{
    ssh_key key = NULL;
    char *blob = NULL, *text = NULL;

    if (hb_ssh_key_import(pem, &key)
        && ssh_pki_export_pubkey_base64(key, &blob) == SSH_OK) {
        text = hb_xasprintf("%s %s", type_of(key), blob);
    }
    ssh_string_free_char(blob);
    ssh_key_free(key);
    return text;
}

extern const struct hb_key_ops hb_key_ops;
const struct hb_key_ops hb_key_ops = {.public_text = public_text};
