/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_CONF_H
#define HB_BOOT_SSH_CONF_H

#include "lib/base/strv.h"
#include "lib/trust/sshconfig.h"

/* Where the files are. */
struct hb_ssh_files {
    const char *named;          /* --ssh-config, "none", or NULL: the usual */
    const struct hb_strv *homes; /* the first is that of ~ */
    const char *passwd_home;     /* of them, ssh's own; or NULL */
};

/* Reads the files for one host, a second time where they ask for it. Of the
 * query, `connected` is set here. Runs no command.
 * ERR_PARSE names file and line; ERR_AUTH: others can say what is in a file. */
int hb_ssh_conf_read(struct hb_ssh_conf *conf, const struct hb_ssh_files *files,
                     const struct hb_ssh_query *query,
                     struct hpcboot_error *err);

/* In lower case, as OpenSSH has each host's name; free() it. */
char *hb_ssh_lower(const char *name);

#endif
