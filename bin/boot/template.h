/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_TEMPLATE_H
#define HB_BOOT_TEMPLATE_H

#include "lib/base/strv.h"

/* The command of --launch-with, made into the words of one host.
 *
 * The template is split the way a shell does (blanks, '...', "...", \), with
 * no expansion of any other kind; then in each word
 *
 *   %h  the host    %p  the port    %u  the user    %%  a percent sign
 *   %a  the command line that starts the agent, for a shell to read
 *
 * are replaced; a word never falls apart through what it received. A template
 * without %a gets the agent's part appended:
 *
 *   - a remote shell (the first word's last part is ssh, rsh, remsh or
 *     kubexec.sh) hands one string to a shell at the other end, as OpenSSH
 *     does: one word with the command line. Where the template has no %h, the
 *     host goes before it, and before that `-l USER` when a user was asked for
 *     and there is no %u (not for kubexec.sh), and for ssh `-p PORT` likewise.
 *   - everything else (srun -w %h -N1 -n1, kubectl exec -i %h --, docker exec
 *     -i %h) takes a program and its arguments: the words `/bin/sh -c SCRIPT
 *     ...`. */
struct hb_template_values {
    const char *host;
    const char *user; /* asked for, or NULL */
    const char *user_default; /* for %u without `user` */
    int port;         /* asked for, or 0 */
    const char *agent_line;       /* %a */
    char *const *agent_words;     /* NULL-terminated */
};

#define HB_TEMPLATE_MAX_BYTES 65536 /* a command line, not a script */

int hb_template_expand(const char *text, const struct hb_template_values *v,
                       struct hb_strv *argv_out, struct hpcboot_error *err);

#endif
