/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_WORDS_H
#define HB_BOOT_SSH_WORDS_H

#include <libssh/libssh.h>

/* The last error of a session as one line without control characters; valid
 * until the next call. Loop thread only. */
const char *hb_ssh_words(ssh_session session);

#endif
