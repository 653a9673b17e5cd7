/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_CHANNEL_H
#define HB_BOOT_SSH_CHANNEL_H

#include <libssh/libssh.h>

#include "lib/base/channel.h"

struct event_base;
struct hb_ssh_exit;
struct hb_ssh_proxy;

/* A logged-in session whose channel runs the agent, as a hb_channel. */
struct hb_ssh_parts { /* all handed over, also when it fails */
    int fd;           /* the session's socket; closed with the session */
    ssh_session session;
    ssh_channel channel;
    struct hb_ssh_exit *exit; /* what has been heard; NULL: begin now */
    struct hb_ssh_proxy *proxy; /* or NULL */
};

typedef void (*hb_ssh_chatter)(void *arg, const char *text, size_t len);

int hb_ssh_channel_create(struct hb_channel **out, struct event_base *base,
                          const struct hb_ssh_parts *parts,
                          struct hpcboot_error *err);
/* Where stderr goes; NULL: it is read and dropped. `ended` is called when the
 * channel is freed. */
void hb_ssh_channel_set_chatter(struct hb_channel *ch, hb_ssh_chatter chatter,
                                void (*ended)(void *arg), void *arg);
/* The server's end of a channel: text for the client's stderr, as much as the
 * client takes now; and the status of the command, before the channel is
 * closed (negative: none, and the client hears of no end but this one). */
void hb_ssh_channel_stderr(struct hb_channel *ch, const char *text,
                           size_t len);
void hb_ssh_channel_exit(struct hb_channel *ch, int status);
/* Ends the channels that were closed and still have bytes to send: a second
 * for all of them together, without the loop. */
void hb_ssh_channels_end(void);

#endif
