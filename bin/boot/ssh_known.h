/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_KNOWN_H
#define HB_BOOT_SSH_KNOWN_H

#include "lib/base/strv.h"
#include "lib/trust/knownhosts.h"

/* Adds what these known_hosts files say (lib/trust/knownhosts.h); `known`
 * starts as all zeros. A file is read once, and again when it has changed,
 * whatever the number of hosts that are asked about. Negative: one that is
 * there cannot be read, and only what it said before counts. Loop thread only.
 */
int hb_ssh_known_scan(const struct hb_strv *paths,
                      const struct hb_known_query *query,
                      struct hb_known *known, struct hpcboot_error *err);

/* What one of them says, borrowed until the next call; NULL: nothing. Negative:
 * it cannot be read now, and this is what it said before. */
int hb_ssh_known_text(const char *path, const char **text_out, size_t *len_out,
                      struct hpcboot_error *err);

/* Whether a file of RevokedHostKeys has this key, in base64: its line, or 0.
 * Negative: that cannot be said, since it cannot be read or is a key
 * revocation list, which the ssh program reads. */
int hb_ssh_known_revoked(const char *path, const char *blob,
                         struct hpcboot_error *err);

/* Whether a file is still the one that was read. */
struct stat;
int hb_ssh_is_same_file(const struct stat *a, const struct stat *b);

#endif
