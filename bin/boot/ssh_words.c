/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
/* What libssh says of a session. Part of it may be the host's own words, as of
 * a disconnect message, and come before anything is known of the host: they
 * must not look like lines of ours. */
#include "config.h"

#include "bin/boot/ssh_words.h"

#include <stdio.h>

#include "lib/base/str.h"

#define LINE_BYTES HPCBOOT_ERROR_TEXT_MAX

const char *hb_ssh_words(ssh_session session)
{
    static char line[LINE_BYTES];
    const char *text = ssh_get_error(session);

    snprintf(line, sizeof line, "%s", text ? text : "");
    hb_mask_controls(line);
    return line;
}
