/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_KEYS_H
#define HB_BOOT_KEYS_H

/* What libssh knows of key files, for programs that are linked without it.
 * Exported by hb_ssh.so as hb_key_ops. */
struct hb_key_ops {
    /* The public half of an unencrypted private key, as authorized_keys has
     * it: "TYPE BASE64"; free() it. NULL: it cannot be used, *why_out says
     * what it is. */
    char *(*public_text)(const char *pem, const char **why_out);
};
#define HB_KEY_OPS_SYMBOL "hb_key_ops"

#endif
