/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_AGENT_KEYS_H
#define HB_BOOT_AGENT_KEYS_H

#include "lib/base/buf.h"
#include "lib/base/strv.h"

/* Messages of ssh-agent, as draft-miller-ssh-agent has them: u32 length of what
 * follows, u8 type, the rest. */
#define HB_AGENT_LENGTH_BYTES 4
#define HB_AGENT_TYPE_AT HB_AGENT_LENGTH_BYTES
#define HB_AGENT_LIST_KEYS 11 /* SSH_AGENTC_REQUEST_IDENTITIES */
#define HB_AGENT_KEYS 12      /* SSH_AGENT_IDENTITIES_ANSWER */
#define HB_AGENT_MAX_BYTES (256 * 1024 + HB_AGENT_LENGTH_BYTES) /* OpenSSH's */

/* An answer that lists keys, its type unread, is left with those whose public
 * part in base64 is among `only`; any other stays as it is. */
void hb_agent_keys_choose(struct hb_buf *answer, const struct hb_strv *only);
/* Whether it lists a key. */
int hb_agent_keys_any(const struct hb_buf *answer);

#endif
