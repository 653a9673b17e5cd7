/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the hpcboot authors */

/* Ranks that do not reach others. A rank of libhpcboot writes a connection that
 * it has given up into the node's memory, whatever it does meanwhile and
 * whoever of its threads finds that out; so its agent has to look. It tells the
 * launcher, which knows whether the other host lives, and asks it (ALIVE); what
 * follows is the launcher's to decide, and comes as the death of ranks, or of
 * this agent's own.
 *
 * A job on one host, and one that does not use the library, has no timer; but
 * with one a death is also told that could not be, as a rank was stopped while
 * it had the lock of the memory. */
#include "config.h"

#include "bin/hpcbootd/agent.h"
#include "bin/hpcbootd/sure.h"

/* A part of what a rank waits for the word of its agent (lib/api/peers.c). */
#define LOOK_MS 250

static void on_look(evutil_socket_t fd, short what, void *arg)
{
    agent_native_look(arg);
}

void agent_lost_watch(struct agent *a)
{
    static const struct timeval often = {0, LOOK_MS * 1000};

    if (a->look_timer == NULL) {
        a->look_timer = sure_new(a->base, -1, EV_PERSIST, on_look, a);
        sure_add(a->look_timer, &often);
    }
}

int agent_alive(struct agent *a, const struct hb_frame *f,
                struct hpcboot_error *err)
{
    struct hb_msg_alive m;
    int rc = hb_wire_get_alive(f, &m, err);

    if (rc == 0) {
        AGENT_SEND(a, alive, .asked = m.asked);
    }
    return rc;
}
