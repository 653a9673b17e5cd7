/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_ADVICE_H
#define HB_BOOT_SSH_ADVICE_H

#include "bin/boot/ssh_settings.h"

/* What a user types about a host key, as the messages of ssh_trust.c tell it.
 * free() what is returned. */

/* Adds the key of the host that was asked here, which the user called `host`,
 * to the first of its files that has a folder. */
char *hb_ssh_command_to_add(const struct hb_ssh_settings *s, const char *host);
/* Takes what `file` says of the host at that port away. */
char *hb_ssh_command_to_forget(const struct hb_ssh_settings *s, int port,
                               const char *file);

#endif
