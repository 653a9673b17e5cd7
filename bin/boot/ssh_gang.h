/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_GANG_H
#define HB_BOOT_SSH_GANG_H

#include "bin/boot/ssh_trust.h"
#include "lib/base/buf.h"

/* What follows from the secret of a gang, on the side that logs in. */

/* The member whose derived host key this is (base64): `host` itself where it
 * is its own, else the name of another one; NULL: nobody's. The result is
 * borrowed from the arguments. */
const char *hb_ssh_gang_member(const struct hb_ssh_gang *gang,
                               const char *host, const char *blob);
/* hb_boot_proves */
int hb_ssh_gang_proves(const struct hb_ssh_gang *gang, struct hb_bytes nonce,
                       const char *token, struct hb_bytes host_key,
                       struct hb_bytes proofs);

#endif
