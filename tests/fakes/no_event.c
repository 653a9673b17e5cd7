/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* To be preloaded: while the file NO_EVENT exists there is no memory for
 * libevent to watch a socket of packets, as the one between the server of a pod
 * and its agent is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct event;
struct event_base;
typedef void (*callback)(int fd, short what, void *arg);
typedef struct event *(*maker)(struct event_base *base, int fd, short what,
                               callback cb, void *arg);

struct event *event_new(struct event_base *base, int fd, short what,
                        callback cb, void *arg)
{
    maker next = (maker)dlsym(RTLD_NEXT, "event_new");
    const char *file = getenv("NO_EVENT");
    socklen_t n = sizeof(int);
    int type = 0;

    if (file && access(file, F_OK) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 &&
        type == SOCK_SEQPACKET) {
        return NULL;
    }
    return next ? next(base, fd, what, cb, arg) : NULL;
}
