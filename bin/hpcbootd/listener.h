/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOTD_LISTENER_H
#define HB_HPCBOOTD_LISTENER_H

struct event_base;

/* Takes what connects to a listening socket. Where no descriptor can be had
 * for it, the socket stays ready and would be looked at without end: it is
 * left alone for a moment instead, and its owner told of the first time. */
struct listener;

/* fd: a connection (taken), or -1: there is one, and errno says why it cannot
 * be had. May close the listener. */
typedef void (*listener_taker)(int fd, void *arg);

/* fd: listens, non-blocking (taken). flags: of accept4, CLOEXEC is added. */
struct listener *listener_open(struct event_base *base, int fd, int flags,
                               listener_taker take, void *arg);
void listener_close(struct listener *l); /* NULL-safe */

#endif
