/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Preloaded: in programs of the name $NO_WATCH_IN the kernel has no memory to
 * watch the $NO_WATCH_AT-th descriptor that is to be watched, and for all
 * others it has. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

static long left; /* until the one; 0: all can be watched */

__attribute__((constructor)) static void begin(void)
{
    const char *name = getenv("NO_WATCH_IN"), *at = getenv("NO_WATCH_AT");

    if (name != NULL && at != NULL &&
        strcmp(name, program_invocation_short_name) == 0) {
        left = strtol(at, NULL, 10);
    }
}

int epoll_ctl(int ep, int op, int fd, struct epoll_event *ev)
{
    static int (*real)(int, int, int, struct epoll_event *);

    if (real == NULL) {
        real = (int (*)(int, int, int, struct epoll_event *))dlsym(
            RTLD_NEXT, "epoll_ctl");
    }
    if (op == EPOLL_CTL_ADD && left > 0 && --left == 0) {
        errno = ENOMEM;
        return -1;
    }
    return real(ep, op, fd, ev);
}
