/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_TRUST_H
#define HB_BOOT_SSH_TRUST_H

#include <libssh/libssh.h>

#include "bin/boot/ssh_settings.h"

/* Whether a host is the one it should be. */

/* A host key equal to one of these is trusted: who has it holds the gang's
 * secret. Borrowed. */
struct hb_ssh_gang {
    const ssh_key *keys;
    size_t n;
};

/* The host key algorithms to ask for: kinds this host is known by first, then
 * the gang key's, then the rest. free() it. */
char *hb_ssh_host_key_order(const struct hb_ssh_settings *settings,
                            const struct hb_ssh_gang *gang);

/* Looks at the key a session was set up with. OK, or ERR_AUTH with what is
 * wrong and what to do. *pinned_out is the fingerprint (free() it) when the
 * key was accepted unverified, under HB_HOST_KEYS_PIN; it is remembered for
 * the life of the process, and another key of that host is then refused. */
int hb_ssh_host_key_check(ssh_session session, const char *host,
                          const struct hb_ssh_settings *settings,
                          const struct hb_ssh_gang *gang,
                          enum hb_host_keys mode, char **pinned_out,
                          struct hpcboot_error *err);

#endif
