/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_AUTH_H
#define HB_BOOT_SSH_AUTH_H

#include <libssh/libssh.h>

#include "bin/boot/ssh_settings.h"
#include "bin/boot/ssh_trust.h"

/* Proving to a host who we are: private keys one by one, then ssh-agent.
 * Never a password. */
struct hb_ssh_auth;

/* Reads the keys of the settings; one that cannot be used is noted for the
 * error text, not an error. Settings are borrowed. `session`: the key of this
 * job's session, offered first to a host that has it; or NULL. */
struct hb_ssh_auth *hb_ssh_auth_create(const struct hb_ssh_settings *settings,
                                       const struct hb_boot_config *config,
                                       const struct hb_secret *session);
void hb_ssh_auth_destroy(struct hb_ssh_auth *auth); /* NULL-safe */

/* The keys that vouch for a host that has one of them as its host key. */
struct hb_ssh_gang hb_ssh_auth_gang(const struct hb_ssh_auth *auth);

/* Goes on as far as it can without waiting. 1: logged in; 0: call again when
 * something has come; ERR_AUTH: refused, with what was tried. */
int hb_ssh_auth_step(struct hb_ssh_auth *auth, ssh_session session,
                     const char *host, struct hpcboot_error *err);

#endif
