/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_EXIT_H
#define HB_BOOT_SSH_EXIT_H

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

/* How the command of a channel has ended, as far as the server says it. It is
 * heard from before the command is asked for: an end may come in one piece
 * with the answer that it has begun, and libssh tells of it once. */
struct hb_ssh_exit {
    ssh_channel channel;
    int status;   /* -1: not said */
    char *signal; /* without SIG; NULL: none said */
    struct ssh_channel_callbacks_struct callbacks;
};

/* NULL: no memory. To be destroyed before the channel is. */
struct hb_ssh_exit *hb_ssh_exit_hear(ssh_channel channel);
void hb_ssh_exit_destroy(struct hb_ssh_exit *e); /* NULL does nothing */

#endif
