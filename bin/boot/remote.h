/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_REMOTE_H
#define HB_BOOT_REMOTE_H

#include "bin/boot/boot.h"
#include "lib/base/strv.h"

/* The words that start an agent on a host whose shell is not known:
 * `/bin/sh -c SCRIPT hpcbootd TOKEN HOST CANDIDATE...`. The script executes the
 * first candidate that is there, or says on stderr
 * "hpcbootd: not found on HOST (looked in ...)" and exits with 127. */
void hb_remote_words(const struct hb_boot_config *config,
                     const struct hb_boot_target *target,
                     struct hb_strv *words_out);

/* The name of the user this process runs as: the passwd entry, else USER or
 * LOGNAME, else "root" for uid 0, else NULL. free() it. */
char *hb_local_user(void);

#endif
