/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_BOOT_FDS_H
#define HB_BOOT_FDS_H

#include "bin/boot/boot.h"

/* Channels over descriptors, as bin/boot itself makes them. */

struct hb_fd_spec {
    int read_fd, write_fd; /* may be the same */
    int err_fd;            /* what the command prints beside the link; or -1 */
    pid_t pid;             /* the command behind them; or <= 0 */
    int holds_stream;      /* its end closes them: it needs no other watch */
    int term_after_ms;     /* after close: hb_child_release */
};

typedef void (*hb_fd_chatter)(void *arg, const char *text, size_t len);

/* Takes the descriptors, also when it fails. */
int hb_fd_channel_create(struct hb_channel **out, struct event_base *base,
                         const struct hb_fd_spec *spec,
                         struct hpcboot_error *err);
/* Where the text from err_fd goes; NULL: it is read and dropped. `ended` is
 * called when the channel is freed. */
void hb_fd_channel_set_chatter(struct hb_channel *ch, hb_fd_chatter chatter,
                               void (*ended)(void *arg), void *arg);

#endif
