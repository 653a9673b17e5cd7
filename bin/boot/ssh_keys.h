/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_KEYS_H
#define HB_BOOT_SSH_KEYS_H

#include <libssh/libssh.h>

#include "lib/base/strv.h"

/* A private key that can be logged in with, out of its text. 1: *out is the
 * caller's; 0: it is none, *out is NULL, and *why_out says what it is. */
int hb_ssh_key_import(const char *pem, ssh_key *out, const char **why_out);
/* Whether a certificate vouches for this key; libssh does not compare them. */
int hb_ssh_cert_is_of(const ssh_key cert, const ssh_key key);
/* Adds what is public of these files, in base64: of a private key, encrypted
 * or not, or a public one; of FILE.pub and FILE-cert.pub beside each; and of
 * the certificates. */
void hb_ssh_keys_public(const struct hb_strv *files,
                        const struct hb_strv *certificates,
                        struct hb_strv *out);

#endif
