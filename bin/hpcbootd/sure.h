/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */
#ifndef HB_HPCBOOTD_SURE_H
#define HB_HPCBOOTD_SURE_H

#include <event2/event.h>
#include <stddef.h>

#include "lib/base/error.h"
#include "lib/base/str.h"

/* Events of the agent, which are had or hb_no_memory(): what no event watches,
 * as the output of a rank, would be missed by nobody, and whoever it is from
 * would wait for ever. The kernel, too, may have no memory for one. */
static inline struct event *sure_new(struct event_base *base, int fd,
                                     short what, event_callback_fn cb,
                                     void *arg)
{
    struct event *ev = event_new(base, fd, what, cb, arg);

    if (ev == NULL) {
        hb_no_memory();
    }
    return ev;
}

static inline struct event *sure_timer(struct event_base *base,
                                       event_callback_fn cb, void *arg)
{
    return sure_new(base, -1, 0, cb, arg);
}

static inline struct event *sure_signal(struct event_base *base, int signo,
                                        event_callback_fn cb, void *arg)
{
    return sure_new(base, signo, EV_SIGNAL | EV_PERSIST, cb, arg);
}

/* Pending; with `after` until then. */
static inline void sure_add(struct event *ev, const struct timeval *after)
{
    if (event_add(ev, after) != 0) {
        hb_no_memory();
    }
}

/* Called once, and not from inside who asks for it. */
static inline void sure_once(struct event_base *base, event_callback_fn cb,
                             void *arg, const struct timeval *after)
{
    if (event_base_once(base, -1, EV_TIMEOUT, cb, arg, after) != 0) {
        hb_no_memory();
    }
}

/* Until somebody leaves the loop. */
static inline int sure_loop(struct event_base *base, struct hpcboot_error *err)
{
    if (event_base_dispatch(base) < 0) {
        return hb_fail_errno(err, HPCBOOT_ERR_SYSTEM,
                             "events cannot be waited for (epoll_wait)");
    }
    return HPCBOOT_OK;
}

#endif
