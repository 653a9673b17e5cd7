/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_SSH_PROXY_H
#define HB_BOOT_SSH_PROXY_H

#include <stddef.h>

#include "lib/base/error.h"

struct event_base;

/* The command of ProxyJump or ProxyCommand: its stdin and stdout are the
 * connection to the host. */
struct hb_ssh_proxy;

typedef void (*hb_ssh_proxy_said)(void *arg, const char *text, size_t len);

/* *fd_out, nonblocking, is handed over. What the command prints on stderr goes
 * to `said`, until hb_ssh_proxy_mute. */
int hb_ssh_proxy_start(struct hb_ssh_proxy **out, int *fd_out,
                       struct event_base *base, char *const *argv,
                       hb_ssh_proxy_said said, void *arg,
                       struct hpcboot_error *err);
void hb_ssh_proxy_mute(struct hb_ssh_proxy *proxy); /* NULL-safe */
/* Reads what is there by now, as the loop would. */
void hb_ssh_proxy_drain(struct hb_ssh_proxy *proxy);
/* The last line that was read, or "". */
const char *hb_ssh_proxy_words(const struct hb_ssh_proxy *proxy);
/* The command gets a moment to end by itself. NULL-safe. */
void hb_ssh_proxy_destroy(struct hb_ssh_proxy *proxy);

#endif
