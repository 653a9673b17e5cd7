/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* One connection a turn of the loop, so that many of them do not keep others
 * waiting. */
#include "config.h"

#include "bin/hpcbootd/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "bin/hpcbootd/sure.h"
#include "lib/base/fd.h"
#include "lib/base/str.h"

#define REST_MS 200

struct listener {
    int fd, flags, told;
    struct event *ready, *rested;
    listener_taker take;
    void *arg;
};

static int is_out_of_room(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS ||
           error == ENOMEM;
}

static const struct timeval rest = {0, REST_MS * 1000};

static void on_ready(evutil_socket_t listen_fd, short what, void *arg)
{
    struct listener *l = arg;
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | l->flags);

    if (fd >= 0) {
        l->take(fd, l->arg);
        return;
    }
    if (!is_out_of_room(errno)) {
        return;
    }
    event_del(l->ready);
    sure_add(l->rested, &rest);
    if (!l->told) {
        l->told = 1;
        l->take(-1, l->arg);
    }
}

/* The kernel may have no memory for this, either. */
static void on_rested(evutil_socket_t fd, short what, void *arg)
{
    struct listener *l = arg;

    if (event_add(l->ready, NULL) != 0) {
        sure_add(l->rested, &rest);
    }
}

struct listener *listener_open(struct event_base *base, int fd, int flags,
                               listener_taker take, void *arg)
{
    struct listener *l = hb_xcalloc(1, sizeof *l);

    l->fd = fd;
    l->flags = flags;
    l->take = take;
    l->arg = arg;
    l->rested = sure_timer(base, on_rested, l);
    l->ready = sure_new(base, fd, EV_READ | EV_PERSIST, on_ready, l);
    sure_add(l->ready, NULL);
    return l;
}

void listener_close(struct listener *l)
{
    if (l == NULL) {
        return;
    }
    event_free(l->ready);
    event_free(l->rested);
    hb_fd_close(&l->fd);
    free(l);
}
