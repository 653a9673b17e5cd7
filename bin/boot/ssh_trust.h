/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_TRUST_H
#define HB_BOOT_SSH_TRUST_H

#include "bin/boot/ssh_settings.h"
#include "lib/base/buf.h"
#include "lib/trust/secret.h"

/* Whether a host is the one it should be. */

/* libssh's ssh_key and ssh_session point to these. */
struct ssh_key_struct;
struct ssh_session_struct;

/* What vouches for a host; borrowed. A host key equal to one of `keys` is
 * trusted, and one that is derived from one of `secrets` for a member's name:
 * who has it holds that private key. */
struct hb_ssh_gang {
    struct ssh_key_struct *const *keys;
    size_t n;
    const struct hb_secret *secrets;
    size_t n_secrets;
    const char *const *members; /* NULL-terminated, or NULL */
    int operator_made; /* hosts may prove themselves after the login */
    const char *unusable; /* "FILE: why" of private keys, or "" */
};

/* What was found. Strings are owned. */
struct hb_ssh_verdict {
    char *unverified; /* the key's fingerprint: nothing vouches for it */
    char *host_key;   /* and the key itself, in base64 */
    int changed;      /* the host had another one before */
    char *reached;    /* it is the key of this other member */
};
void hb_ssh_verdict_destroy(struct hb_ssh_verdict *v);

/* The host key algorithms to ask for: kinds this host is known by first, then
 * the gang key's, then the rest. free() it. */
char *hb_ssh_host_key_order(const struct hb_ssh_settings *settings,
                            const struct hb_ssh_gang *gang);

/* Looks at the key a session was set up with. OK, or ERR_AUTH with what is
 * wrong and what to do. A key that is not known is accepted unverified under
 * HB_HOST_KEYS_PIN, and where the host can be asked for a proof; it is
 * remembered for the life of the process, and another key of that host is
 * then refused. */
int hb_ssh_host_key_check(struct ssh_session_struct *session, const char *host,
                          const struct hb_ssh_settings *settings,
                          const struct hb_ssh_gang *gang,
                          enum hb_host_keys mode,
                          struct hb_ssh_verdict *out,
                          struct hpcboot_error *err);

/* Is it an hpcbootd serve? That lets in by keys alone, whatever the name. */
int hb_ssh_is_serve(struct ssh_session_struct *session);

/* A host has proven itself after the login: this key of it, as SSH writes it,
 * counts as known. Of hosts that go by one name another may have shown another
 * one since. */
void hb_ssh_host_key_proven(const struct hb_ssh_settings *settings,
                            struct hb_bytes host_key);

#endif
